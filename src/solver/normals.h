// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The gradients of all constraints of a model, by components: constraints that share no state,
// directly or through others, are projected separately (numeric/manifold.h), so that the cost grows
// linearly with their number, not with its cube. A large component in which each constraint depends
// on few states has its normal equations (D W^-2 D') y = c factorised with sparse factors;
// constraints whose pivot vanishes depend on others and are left out.
#pragma once

#include "base/base.h"

typedef struct cpli_normals {
  cpl_context* ctx;
  size_t n, max, active;  // states, maximum number of constraints, active constraints
  double* weight;         // n; set by the caller
  double turn;  // approximate rotation of gradients over a weighted length of 1; set by the caller
  const int32_t* first;   // active + 1: begin of each constraint in `column` and `entries`
  const int32_t* column;  // the states it may depend on
  double* entries;        // of the gradients; set by the caller
  double* size;           // per constraint: weighted length of the gradient
  double* left;           // max: remaining fraction of a gradient without those before it;
                          // 0: it depends on them
  struct cpli_component* components;
  size_t n_components;
  double* room;  // scratch of a component
  bool* seen;    // max x n: entries of full matrices that were other than zero. Nullable.
  cpli_arena arena;
} cpli_normals;

/// Owned: the contents by the caller, who calls cpli_normals_free(), also after a failure.
cpl_status cpli_normals_init(cpli_normals* k, cpl_context* ctx, size_t n, size_t max);
void cpli_normals_free(cpli_normals* k);

/// Set the number of constraints and the states each may depend on. Does nothing where both are
/// unchanged. Nullable: first and column; each constraint may depend on all states.
cpl_status cpli_normals_shape(cpli_normals* k, size_t active, const int32_t* first,
                              const int32_t* column);

/// Entries from a full matrix by rows, most of whose entries are zero: the entries that were
/// nonzero so far are the sparsity pattern.
cpl_status cpli_normals_take(cpli_normals* k, size_t active, const double* matrix);

/// After entries and weights have been set.
void cpli_normals_factor(cpli_normals* k);
/// The shortest change that removes the residuals, to first order.
void cpli_normals_step(cpli_normals* k, const double* residuals, double* change);
/// Removes that fraction of the component along the gradients from a vector.
void cpli_normals_remove(cpli_normals* k, double share, double* error);
/// Whether the last step left out independent constraints because their gradients almost depend on
/// others.
bool cpli_normals_left_some(const cpli_normals* k);
/// What earlier factorisations have left.
void cpli_normals_forget(cpli_normals* k);
/// For a history: the lengths of the gradients, and the entries seen so far.
struct cpli_serial;
void cpli_normals_list(cpli_normals* k, struct cpli_serial* s);
/// The root mean square of weighted values.
double cpli_normals_norm(const cpli_normals* k, const double* change);
