// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Sparse linear systems with a fixed pattern, real and complex: d I - J, factorised by KLU.
#pragma once

#include "base/base.h"
#include "numeric/pattern.h"

typedef struct cpli_sparse_lu cpli_sparse_lu;

/// The pattern is that of J; the diagonal is added.
/// Owned: *out by the caller, who calls cpli_sparse_lu_destroy().
cpl_status cpli_sparse_lu_make(cpl_context* ctx, const cpli_pattern* pattern, cpli_sparse_lu** out);
void cpli_sparse_lu_destroy(cpli_sparse_lu* s);  // Nullable: s

/// The entries are those of J in the order of its pattern. Factorises real I - J and
/// (re + i im) I - J.
/// Returns: false when one of them is singular.
bool cpli_sparse_lu_factor(cpli_sparse_lu* s, const double* entries, double real, double re,
                           double im);
/// The next factorisation chooses its pivots anew.
void cpli_sparse_lu_forget(cpli_sparse_lu* s);
/// Factorises real I - J in the first n rows, and J itself in the rows behind them.
bool cpli_sparse_lu_factor_mixed(cpli_sparse_lu* s, const double* entries, double real, int32_t n);
void cpli_sparse_lu_solve(cpli_sparse_lu* s, double* b);
void cpli_sparse_lu_solve_pair(cpli_sparse_lu* s, double* b_re, double* b_im);

/// For histories (sparse.h): the pivots of real and complex factors, and the entries of the matrix.
struct cpli_sparse* cpli_sparse_lu_factors(cpli_sparse_lu* s);
double* cpli_sparse_lu_entries(cpli_sparse_lu* s, bool complex, size_t* n);
