// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "couplet/run.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cpl_results cpl_results;

/// How to write results. Start from cpl_default_results_def(), then change what you need.
typedef struct cpl_results_def {
  const char* path;     ///< .csv or .mat; "-": CSV to standard output
  bool units;           ///< CSV: put units into the names, "v [m/s]"
  const char* comment;  ///< MAT: goes into the description of time. Nullable.
  int standard_output;  ///< the descriptor that "-" stands for; 0: 1, where models may print too
} cpl_results_def;

CPL_API cpl_results_def cpl_default_results_def(void);

/// What is in a result file.
typedef struct cpl_results_kept {
  int64_t rows;
  double last_time;  ///< of the last of them
} cpl_results_kept;

/// Create a result file. One of that name stays as it was until a row of a later time than the
/// first is recorded, or until a flush or close. The file is complete and readable after every
/// flush, also when the program dies later. It is locked until it is closed, where the
/// file system can do that.
/// Order:    open, then record any number of times with t non-decreasing, then close or finish.
/// Owned:    *out by the caller, who calls cpl_results_close() or cpl_results_finish() even after a
///           failed record.
/// Borrowed: def and columns only during the call.
/// Returns:  CPL_ERR_INPUT when the file cannot be made, or when another run has it open; *out is
///           then NULL.
CPL_API cpl_status cpl_results_open(cpl_context* ctx, const cpl_results_def* def,
                                    const cpl_column* columns, size_t n, cpl_results** out);
/// Memory is allocated only where a row is longer than the buffer. The row is in the file after a
/// flush: the first ones at once, others when the buffer is full or half a second has
/// passed. After a failed write every call fails. A closed pipe raises SIGPIPE unless the program
/// ignores it; then it is CPL_ERR_IO.
CPL_API cpl_status cpl_results_record(cpl_results* res, double t, const cpl_value* values);
CPL_API cpl_status cpl_results_flush(cpl_results* res);
CPL_API cpl_status cpl_results_close(cpl_results* res);  ///< Nullable: res
/// Close it after a run. Where one failed before its first step, an earlier file is as it was, and
/// *kept has no rows.
/// Nullable: res, kept
CPL_API cpl_status cpl_results_finish(cpl_results* res, bool failed, cpl_results_kept* kept);

/// Read a .csv or .mat file into a table, also one that an interrupted program left: a last row of
/// a .csv without a line end, and rows of a .mat that its header does not count, are left out with
/// a warning. Columns that are not numbers (Strings) are left out; values may be NaN. Owned: *out
/// by the caller, who calls cpl_table_destroy().
CPL_API cpl_status cpl_results_read(cpl_context* ctx, const char* path, cpl_table** out);

#ifdef __cplusplus
}
#endif
