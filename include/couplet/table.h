// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Tables of values over time, which drive inputs and hold results.
//
//   cpl_table* table = NULL;
//   cpl_status st = cpl_table_read(ctx, "window.csv", &table);
//   ptrdiff_t column = st >= 0 ? cpl_table_find(table, "T_room") : -1;
//   if (column >= 0) printf("%g\n", table->values[(size_t)column * table->n_rows]);
//   cpl_table_destroy(table);
#pragma once

#include "couplet/interface.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Values over time: an input file, a result file, or arrays of the caller.
/// Times do not decrease; a repeated time is a discontinuity, with the left value first.
typedef struct cpl_table {
  size_t n_rows, n_columns;
  const char* const* names;  ///< of the columns, without time
  const char* const* units;  ///< Nullable, and each may be NULL
  const double* time;        ///< [s]; n_rows
  const double* values;      ///< column after column: values[column * n_rows + row]
  const char* path;          ///< of the file it was read from, for messages. Nullable.
  const bool* rounded;       ///< columns with integers beyond the precision of double. Nullable.
} cpl_table;

/// Read an input table from a CSV file (RFC 4180; separated by commas, semicolons or tabs): a
/// header with a column `time` (upper or lower case) and the names of the others, optionally
/// `name [unit]`, then rows of numbers or true and false. Times are converted to seconds; the
/// values of other columns are converted where they are used (cpl_run(), system files).
/// The table passes cpl_table_check().
/// Owned:   *out by the caller, who calls cpl_table_destroy().
/// Returns: CPL_ERR_INPUT with file, line and column of what is wrong; *out is then NULL.
CPL_API cpl_status cpl_table_read(cpl_context* ctx, const char* path, cpl_table** out);

/// Only for tables made by cpl_table_read() and cpl_results_read(), not for the caller's own.
CPL_API void cpl_table_destroy(cpl_table* table);  ///< Nullable: table

/// The index of a column; -1: there is none of that name.
CPL_API ptrdiff_t cpl_table_find(const cpl_table* table, const char* name);

/// Check that a table can drive an input: it has a row, times are finite and do not decrease,
/// values are finite. `who` names it in the message.
CPL_API cpl_status cpl_table_check(cpl_context* ctx, const cpl_table* table, const char* who);

#ifdef __cplusplus
}
#endif
