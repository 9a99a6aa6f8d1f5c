// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Writers of result files. A format encodes rows into the buffer of the results; results.c decides
// when the buffer goes to the file, and sees to it that only whole rows get there: when a write
// fails half way, the file is cut back to the last whole row.
#pragma once

#include <sys/types.h>

#include "base/base.h"
#include "couplet/results.h"

typedef struct cpli_writer_ops {
  const char* ending;  // of file names, ".csv"
  bool needs_seek;     // only regular files will do
  // required
  /// Allocate what is needed and write everything before the first row.
  cpl_status (*begin)(cpl_results* res, const cpl_results_def* def, const cpl_column* columns);
  /// Encode one row with cpli_results_room().
  cpl_status (*row)(cpl_results* res, double t, const cpl_value* values);
  void (*end)(cpl_results* res);  // releases what begin allocated
  // optional
  /// After rows were appended to the file: mend its header.
  cpl_status (*appended)(cpl_results* res);
} cpli_writer_ops;

extern const cpli_writer_ops cpli_csv_writer, cpli_mat_writer;

struct cpl_results {
  cpl_context* ctx;
  const cpli_writer_ops* ops;
  char* path;  // for messages
  int fd;
  bool own_fd, regular;
  cpl_type* types;  // of the columns
  bool* without_sign;
  size_t n_columns;

  char* buffer;
  size_t used, cap;
  size_t whole;     // bytes of whole rows in the buffer
  size_t split;     // bytes of a row in the making that are in the file already
  off_t file_size;  // up to the last whole row in the file
  int64_t rows;     // recorded, the one in the making not counted
  double flushed_at;
  cpl_status failed;  // < 0: a write failed, and nothing is written any more

  void* format;  // the format's own
};

/// Room for n more bytes at the end of the buffer: write there, then add to res->used. Whole rows
/// in the buffer are written to the file when it is full, and a row longer than it in parts. `n` is
/// at most CPLI_RESULTS_ROOM. Returns NULL when writing failed.
enum { CPLI_RESULTS_BUFFER = 256 * 1024, CPLI_RESULTS_ROOM = 4096 };
char* cpli_results_room(cpl_results* res, size_t n);

/// Append bytes that are no rows (headers) to the file, at once.
cpl_status cpli_results_append(cpl_results* res, const void* bytes, size_t n);
/// Change bytes that are already in the file.
cpl_status cpli_results_patch(cpl_results* res, off_t at, const void* bytes, size_t n);
