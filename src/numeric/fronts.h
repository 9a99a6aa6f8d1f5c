// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Factors of a large sparse matrix with given pivots, by the multifrontal method: pivots whose
// columns have the same structure are eliminated together in a small dense matrix (a front), whose
// rest is added to the front of its parent in the elimination tree. The structure of L and U is
// that of the symmetrised pattern.
#pragma once

#include "base/base.h"

typedef struct cpli_fronts cpli_fronts;

/// Step k eliminates the entry in row rows[k] and column columns[k] of a matrix whose column j has
/// the rows row[first[j]] to row[first[j + 1] - 1], each once.
/// Owned: *out by the caller; NULL, with CPL_OK, when the factors would have more entries than
/// max_filled.
cpl_status cpli_fronts_make(cpl_context* ctx, int32_t n, const int32_t* first, const int32_t* row,
                            const int32_t* rows, const int32_t* columns, double max_filled,
                            cpli_fronts** out);
void cpli_fronts_destroy(cpli_fronts* f);  // Nullable: f

/// Entries are in the order of the pattern.
/// Returns: the ratio of the smallest to the largest pivot, each relative to the largest entry of
/// its row, which estimates the reciprocal condition number; 0: there is a pivot that is zero or no
/// number.
double cpli_fronts_factor(cpli_fronts* f, const double* entries);
void cpli_fronts_solve(cpli_fronts* f, double* b);
