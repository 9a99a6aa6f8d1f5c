// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Writers of result files. A format encodes rows into the buffer of the results; results.c decides
// when the buffer is written to the file, and writes whole rows only, with one call: when a write
// fails, the file is truncated to the last complete row.
//
// Where there is a file of an earlier run, it stays as it was until the first step is made: until
// then everything is in the buffer.
#pragma once

#include <sys/types.h>

#include "base/base.h"
#include "couplet/results.h"
#include "format/hash.h"

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
  /// Going on behind a mark: the header as it was then, from that of the file.
  void (*resumed)(cpl_results* res, const cpl_results_mark* mark, char* header);
} cpli_writer_ops;

extern const cpli_writer_ops cpli_csv_writer, cpli_mat_writer;

struct cpl_results {
  cpl_context* ctx;
  const cpli_writer_ops* ops;
  char* path;  // for messages
  int fd;
  bool own_fd, regular;
  bool made;        // by us: there was no file of that name
  bool pending;     // nothing is written yet
  cpl_type* types;  // of the columns
  bool* is_unsigned;
  size_t n_columns;

  char* buffer;
  size_t used, cap;
  size_t whole;                  // bytes of whole rows in the buffer
  off_t file_size;               // up to the last whole row in the file; the buffer follows
  int64_t rows;                  // recorded, the one in the making not counted
  double first_time, last_time;  // of these
  cpl_results_kept kept;         // what is in the file
  double flushed_at;
  cpl_status failed;  // < 0: a write failed, and nothing is written any more

  bool marks;      // rows are hashed
  off_t header;    // bytes before the first row
  cpli_hash hash;  // of the rows in the file

  void* format;  // the format's own
};

/// Room for n more bytes at the end of the buffer: write there, then add to res->used. Whole rows
/// in the buffer are written to the file when it is full; it grows where one row is longer. Returns
/// NULL when writing failed or memory is out.
enum { CPLI_RESULTS_BUFFER = 256 * 1024 };
char* cpli_results_room(cpl_results* res, size_t n);

/// Append bytes to the buffer; false: as cpli_results_room().
bool cpli_results_put(cpl_results* res, const void* bytes, size_t n);
/// Change bytes that were put before, wherever they are now.
cpl_status cpli_results_patch(cpl_results* res, off_t at, const void* bytes, size_t n);

/// Instead of writing the header, which is in the buffer: the file up to the mark is kept, and rows
/// follow it.
cpl_status cpli_results_resume(cpl_results* res, const cpl_results_def* def);
