// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The shortest way onto constraints. With weights w, W = diag(w), residuals c and their gradients
// D, it is S = -W^-2 D' (D W^-2 D')^-1 c; what D does not see of a vector e is (I - W^-2 D' (D W^-2
// D')^-1 D) e. Both come from an orthonormal basis of the columns of W^-1 D', found with pivoting,
// so that constraints that depend on each other do no harm. Some depend on each other only where
// all of them hold: away from there their gradients differ by as much as they have turned on the
// way, and what that difference says is noise, which would lead along the manifold.
#pragma once

#include "base/base.h"

typedef struct cpli_manifold {
  size_t n, most, active;  // states, constraints there is room for, constraints
  double* weight;          // n; set by the caller
  double* gradients;       // most x n, row after row; set by the caller
  double turn;   // gradients turn about so much on a way of weighted length 1; by the caller
  double* size;  // most: of the gradients over the weights
  size_t rank;
  double* left;  // most: what is left of a gradient without those before it, compared with itself
  size_t used;   // of the rank, by steps
  bool judged;   // whether `used` is known for these gradients
  double *basis, *r, *coefficient;
  size_t* order;
  double* block;
  cpl_context* ctx;
} cpli_manifold;

/// Owned: what is inside by the caller, who calls cpli_manifold_free(), also after a failure.
cpl_status cpli_manifold_init(cpli_manifold* k, cpl_context* ctx, size_t n, size_t most);
void cpli_manifold_free(cpli_manifold* k);

/// After gradients and weights have been set.
void cpli_manifold_factor(cpli_manifold* k);
void cpli_manifold_step(cpli_manifold* k, const double* residuals, double* change);
/// Takes that share of what lies along the gradients out of a vector.
void cpli_manifold_remove(const cpli_manifold* k, double share, double* error);
/// The root mean square of weighted values.
double cpli_manifold_norm(const cpli_manifold* k, const double* change);
