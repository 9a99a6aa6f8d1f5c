// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// I - gamma J of a large model with few dependencies, factorised without a library: FMUs that
// couplet builds have none for it. Unknowns are ordered once, those with few neighbours first,
// which limits fill-in; pivots stay on the diagonal, where I keeps them away from zero for short
// steps.
#pragma once

#include "numeric/pattern.h"

typedef struct cpli_factors cpli_factors;

/// For matrices of this pattern. *out is NULL with CPL_OK when more than that fraction of all
/// entries would be filled in, so that a dense matrix is faster.
/// Owned:    *out by the caller, who calls cpli_factors_destroy().
/// Borrowed: pattern, as long as *out lives.
cpl_status cpli_factors_make(cpl_context* ctx, const cpli_pattern* pattern, double max_filled,
                             cpli_factors** out);
void cpli_factors_destroy(cpli_factors* e);  // Nullable: e

/// The order of the unknowns alone, for columns with these rows: order[n]. *filled: the entries of
/// L without its diagonal, if pivots stay there. *sparse: no more than that fraction is filled in;
/// otherwise the order is not complete.
cpl_status cpli_minimum_degree(cpl_context* ctx, int32_t n, const int32_t* first,
                               const int32_t* row, double max_filled, int32_t* order,
                               size_t* filled, bool* sparse);

/// jac has the entries of J, in the order of the pattern. false: a pivot vanished.
bool cpli_factors_find(cpli_factors* e, const double* jac, double gamma);
/// The same for a symmetric positive semidefinite matrix: unknowns whose pivot is not larger than
/// `min` are left out, that is, zero. pivots[n] gets those of all unknowns, zero for those left
/// out. Nullable: without; the unknowns that are left out in any case.
void cpli_factors_find_rank(cpli_factors* e, const double* jac, double gamma, double min,
                            const bool* without, double* pivots);
/// (I - gamma J) x = b
void cpli_factors_solve(cpli_factors* e, const double* b, double* x);
