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

/// Create a result file. The file is complete and readable after every flush, also when the program
/// dies later.
/// Order:    open, then record any number of times with t non-decreasing, then close.
/// Owned:    *out by the caller, who calls cpl_results_close() even after a failed record.
/// Borrowed: def and columns only during the call.
/// Returns:  CPL_ERR_IO when the file cannot be made; *out is then NULL.
CPL_API cpl_status cpl_results_open(cpl_context* ctx, const cpl_results_def* def,
                                    const cpl_column* columns, size_t n, cpl_results** out);
/// Nothing is allocated. The row is in the file after a flush: the first at once, others when the
/// buffer is full or half a second has passed. After a failed write every call fails.
/// A closed pipe raises SIGPIPE unless the program ignores it; then it is CPL_ERR_IO.
CPL_API cpl_status cpl_results_record(cpl_results* res, double t, const cpl_value* values);
CPL_API cpl_status cpl_results_flush(cpl_results* res);
CPL_API cpl_status cpl_results_close(cpl_results* res);  ///< Nullable: res

/// Read a .csv or .mat file into a table, also one that an interrupted program left. Columns that
/// are not numbers (Strings) are left out; values may be NaN.
/// Owned: *out by the caller, who calls cpl_table_destroy().
CPL_API cpl_status cpl_results_read(cpl_context* ctx, const char* path, cpl_table** out);

#ifdef __cplusplus
}
#endif
