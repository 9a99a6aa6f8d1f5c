// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Sparse linear systems with a fixed pattern, factorised without a library: the left-looking
// method of J. R. Gilbert and T. Peierls ("Sparse partial pivoting in time proportional to
// arithmetic operations", 1988). Columns are ordered once by minimum degree; rows are exchanged
// where a pivot would be much smaller than others of its column.
#pragma once

#include "base/base.h"

typedef struct cpli_left_looking cpli_left_looking;

/// For matrices of this pattern (numeric/sparse.h). *out is NULL with CPL_OK when more than that
/// fraction of all entries would be filled in.
/// Owned:    *out by the caller, who calls cpli_left_looking_destroy().
/// Borrowed: first and row, as long as *out lives.
cpl_status cpli_left_looking_make(cpl_context* ctx, int32_t n, const int32_t* first,
                                  const int32_t* row, double max_filled, cpli_left_looking** out);
void cpli_left_looking_destroy(cpli_left_looking* f);  // Nullable: f

/// The number of entries of the factors, if no rows are exchanged.
double cpli_left_looking_fill(const cpli_left_looking* f);

/// Chooses pivots. Returns: the column without a pivot; -1: none; INT32_MAX: out of memory.
int32_t cpli_left_looking_factor(cpli_left_looking* f, const double* entries);
/// The same with the pivots of the last successful factorisation, and without allocations.
/// Returns: the estimated reciprocal condition number; 0: there are no pivots, or one vanished.
double cpli_left_looking_refactor(cpli_left_looking* f, const double* entries);

void cpli_left_looking_solve(cpli_left_looking* f, double* b);
/// With the transposed matrix.
void cpli_left_looking_solve_transposed(cpli_left_looking* f, double* b);
