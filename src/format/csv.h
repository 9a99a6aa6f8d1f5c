// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Comma-separated values (RFC 4180), read field by field from a file in memory. Separators are
// commas, semicolons or tabs, found from the first row; a byte order mark, blank lines and lines
// that begin with # are skipped; blanks around unquoted fields are not part of them. Files are not
// trusted: every error has file, line and column, and nothing is larger than a limit.
#pragma once

#include "base/base.h"

typedef struct cpli_csv_field {
  const char* text;  // without quotes; not ended by '\0'; valid until the file is closed
  size_t len;
  size_t line, column;  // where it begins, from 1; columns count bytes
  bool quoted;
  bool last;  // of its row
} cpli_csv_field;

typedef struct cpli_csv {
  cpl_context* ctx;
  const char* path;  // borrowed
  char* text;
  char *at, *end;    // what is still to be read
  char* line_start;  // of the present line
  size_t line;
  char separator;
} cpli_csv;

/// Owned:    csv by the caller, who calls cpli_csv_close(), not needed after a failure.
/// Borrowed: path until then.
cpl_status cpli_csv_open(cpl_context* ctx, const char* path, cpli_csv* csv);
void cpli_csv_close(cpli_csv* csv);

/// Go to the next row: false at the end of the file.
bool cpli_csv_next_row(cpli_csv* csv);
/// The next field of the row; after one that is `last` call cpli_csv_next_row().
cpl_status cpli_csv_next_field(cpli_csv* csv, cpli_csv_field* field);

/// A number, or true and false as 1 and 0. False when it is neither.
bool cpli_csv_number(const cpli_csv_field* field, double* out);

/// Upper bound of the rows still to come.
size_t cpli_csv_rows_left(const cpli_csv* csv);

/// CPL_ERR_INPUT with "file:line:column: message".
CPL_PRINTF(4, 5)
cpl_status cpli_csv_error(const cpli_csv* csv, size_t line, size_t column, const char* fmt, ...);

//------------------------------------ writing ------------------------------------

/// Whether a field must stand in quotes, so that any reader gives it back unchanged.
bool cpli_csv_needs_quotes(const char* text);
