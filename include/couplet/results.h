// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Result files: CSV and MAT, written during a run and read into tables.
//
//   cpl_results_def def = cpl_default_results_def();
//   def.path = "pair.csv";
//   cpl_status st = cpl_results_open(ctx, &def, columns, n, &res);  // in cpl_run_def.on_columns
//   if (st >= 0) st = cpl_results_record(res, t, values);           // in cpl_run_def.on_point
//   ...
//   cpl_results_close(res);
//   st = cpl_results_read(ctx, "pair.csv", &table);
#pragma once

#include "couplet/run.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cpl_results cpl_results;

/// How far results are in their file: these bytes are in a checkpoint.
typedef struct cpl_results_mark {
  int64_t size;    ///< of the file
  int64_t header;  ///< of these, before the first row
  int64_t rows;
  double first_time, last_time;
  uint64_t header_hash[2], rows_hash[2];
} cpl_results_mark;

/// How to write results. Start from cpl_default_results_def(), then change what you need.
typedef struct cpl_results_def {
  size_t size;          ///< set by cpl_default_results_def()
  const char* path;     ///< .csv or .mat; "-": CSV to standard output
  bool units;           ///< CSV: append units to the names, "v [m/s]"
  const char* comment;  ///< MAT: becomes the description of time. Nullable.
  int standard_output;  ///< the file descriptor for "-"; 0: 1, which models may print to, too
  bool marks;           ///< cpl_results_mark_now() will be called: rows are hashed
  /// Go on behind this mark: the file up to there is kept, and must be what it was. Nullable.
  const cpl_results_mark* resume;
  const char* resume_path;  ///< the file with that mark, which is copied. Nullable: `path`
} cpl_results_def;

CPL_DEFAULTS(results_def)  ///< cpl_default_results_def()

/// The content of a result file.
typedef struct cpl_results_kept {
  int64_t rows;
  double last_time;  ///< of the last of them
} cpl_results_kept;

/// Create a result file. An existing file is not changed until a row with a later time than the
/// first is recorded, or until a flush or close. The file is complete and readable after every
/// flush, also when the program ends abnormally. It is locked until it is closed, where the file
/// system supports locks.
/// Order:    open, then record any number of times with t non-decreasing, then close or finish.
/// Owned:    *out by the caller, who calls cpl_results_close() or cpl_results_finish() even after a
///           failed record.
/// Borrowed: def and columns only during the call.
/// Returns:  CPL_ERR_INPUT when the file cannot be created or another run has it open; *out is
///           then NULL.
CPL_API cpl_status cpl_results_open(cpl_context* ctx, const cpl_results_def* def,
                                    const cpl_column* columns, size_t n, cpl_results** out);
/// Record a row. Memory is allocated only where a row is longer than the buffer. The first rows are
/// flushed at once, others when the buffer is full or half a second has passed. After a failed
/// write every call fails. A closed pipe raises SIGPIPE, or gives CPL_ERR_IO where the program
/// ignores the signal.
CPL_API cpl_status cpl_results_record(cpl_results* res, double t, const cpl_value* values);
CPL_API cpl_status cpl_results_flush(cpl_results* res);
/// Flush, and say where that is. The file is on the disk then.
/// Returns: CPL_ERR_UNSUPPORTED for standard output and pipes.
CPL_API cpl_status cpl_results_mark_now(cpl_results* res, cpl_results_mark* mark);
CPL_API cpl_status cpl_results_close(cpl_results* res);  ///< Nullable: res
/// Close the file after a run. When the run failed before its first step, an earlier file is
/// unchanged and *kept has no rows.
/// Nullable: res, kept
CPL_API cpl_status cpl_results_finish(cpl_results* res, bool failed, cpl_results_kept* kept);

/// Read a .csv or .mat file into a table, also an incomplete one of an interrupted program: a last
/// row of a .csv without a line end, and rows of a .mat beyond the count in its header, are omitted
/// with a warning. Columns of Strings are omitted; values may be NaN.
/// Owned: *out by the caller, who calls cpl_table_destroy().
CPL_API cpl_status cpl_results_read(cpl_context* ctx, const char* path, cpl_table** out);

#ifdef __cplusplus
}
#endif
