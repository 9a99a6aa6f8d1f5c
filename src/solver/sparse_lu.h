// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Sparse linear systems with a fixed pattern, real and complex: d I - J, factorised by KLU.
#pragma once

#include "base/base.h"
#include "graph/pattern.h"

typedef struct cpli_sparse_lu cpli_sparse_lu;

/// Whether a matrix of that pattern is large and empty enough. Nullable: p
static inline bool cpli_sparse_lu_pays(const cpli_pattern* p) {
  enum { SMALL = 40 };                   // systems are dense below
  static const double dense_from = 0.2;  // and from this part of the entries on
  return p != NULL && p->n_columns >= SMALL &&
         p->n_entries <= dense_from * (double)p->n_columns * (double)p->n_columns;
}

/// The pattern is that of J; the diagonal is added.
/// Owned: *out by the caller, who calls cpli_sparse_lu_destroy().
cpl_status cpli_sparse_lu_make(cpl_context* ctx, const cpli_pattern* pattern, cpli_sparse_lu** out);
void cpli_sparse_lu_destroy(cpli_sparse_lu* s);  // Nullable: s

/// jac is dense, column after column. Factorises real I - J and (re + i im) I - J.
/// Returns: false when one of them is singular.
bool cpli_sparse_lu_factor(cpli_sparse_lu* s, const double* jac, double real, double re, double im);
/// Factorises real I - J in the first n rows, and J itself in the rows behind them.
bool cpli_sparse_lu_factor_mixed(cpli_sparse_lu* s, const double* jac, double real, int32_t n);
void cpli_sparse_lu_solve(cpli_sparse_lu* s, double* b);
void cpli_sparse_lu_solve_pair(cpli_sparse_lu* s, double* b_re, double* b_im);
