// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The shortest projection onto constraints. With weights w, W = diag(w), residuals c and their
// gradients D, it is S = -W^-2 D' (D W^-2 D')^-1 c; the component of a vector e in the null space
// of D is (I - W^-2 D' (D W^-2 D')^-1 D) e. Both come from an orthonormal basis of the columns of
// W^-1 D', found with pivoting, so that dependent constraints are harmless. Some depend on each
// other only where all of them hold: elsewhere their gradients differ by as much as they turn along
// the projection, and that difference is noise, which would lead along the manifold.
#pragma once

#include "base/base.h"

typedef struct cpli_manifold {
  size_t n, max, active;  // states, maximum number of constraints, active constraints
  double* weight;         // n; set by the caller
  double* gradients;      // max x n, by rows; set by the caller
  double turn;   // approximate rotation of gradients over a weighted length of 1; set by the caller
  double* size;  // max: of the gradients over the weights
  size_t rank;
  double* left;     // max: remaining fraction of a gradient without those before it
  size_t used;      // of the rank, by steps
  bool determined;  // whether `used` is valid for these gradients
  double *basis, *r, *coefficient;
  size_t* order;
  double* block;
  cpl_context* ctx;
} cpli_manifold;

/// Owned: the contents by the caller, who calls cpli_manifold_free(), also after a failure.
cpl_status cpli_manifold_init(cpli_manifold* k, cpl_context* ctx, size_t n, size_t max);
void cpli_manifold_free(cpli_manifold* k);

/// After gradients and weights have been set.
void cpli_manifold_factor(cpli_manifold* k);
void cpli_manifold_step(cpli_manifold* k, const double* residuals, double* change);
/// Removes that fraction of the component along the gradients from a vector.
void cpli_manifold_remove(const cpli_manifold* k, double share, double* error);
/// The root mean square of weighted values.
double cpli_manifold_norm(const cpli_manifold* k, const double* change);
