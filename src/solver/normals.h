// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The gradients of all constraints of a model, by components: constraints that share no state, also
// not by way of others, are projected apart (numeric/manifold.h), so that the work grows with their
// number and not with its cube. A large component in which each constraint depends on few states
// has its normal equations (D W^-2 D') y = c factorised with sparse factors; constraints whose
// pivot vanishes depend on others and are left out.
#pragma once

#include "base/base.h"

typedef struct cpli_normals {
  cpl_context* ctx;
  size_t n, most, active;  // states, constraints there can be, constraints
  double* weight;          // n; set by the caller
  double turn;  // gradients turn about so much on a way of weighted length 1; by the caller
  const int32_t* first;   // active + 1: where each constraint begins in `column` and `entries`
  const int32_t* column;  // the states it may depend on
  double* entries;        // of the gradients; set by the caller
  double* size;           // most: weighted length of the gradients
  double* left;  // most: what is left of a gradient without those before it, compared with itself;
                 // 0: it depends on them
  struct cpli_component* components;
  size_t n_components;
  double* room;  // of a component, for the work
  bool* seen;    // most x n: entries of full matrices that were other than zero. Nullable.
  cpli_arena arena;
} cpli_normals;

/// Owned: what is inside by the caller, who calls cpli_normals_free(), also after a failure.
cpl_status cpli_normals_init(cpli_normals* k, cpl_context* ctx, size_t n, size_t most);
void cpli_normals_free(cpli_normals* k);

/// How many constraints there are now, and which states each may depend on. Does nothing where both
/// are what they were. Nullable: first and column; any of them on all.
cpl_status cpli_normals_shape(cpli_normals* k, size_t active, const int32_t* first,
                              const int32_t* column);

/// Entries from a full matrix, row after row, most of whose entries are zero: what was other than
/// zero so far is the shape.
cpl_status cpli_normals_take(cpli_normals* k, size_t active, const double* matrix);

/// After entries and weights have been set.
void cpli_normals_factor(cpli_normals* k);
/// The shortest change that takes the residuals away, as far as gradients say.
void cpli_normals_step(cpli_normals* k, const double* residuals, double* change);
/// Takes that share of what lies along the gradients out of a vector.
void cpli_normals_remove(cpli_normals* k, double share, double* error);
/// Whether the last step left out constraints that are independent, because their gradients all but
/// depend on others.
bool cpli_normals_left_some(const cpli_normals* k);
/// The root mean square of weighted values.
double cpli_normals_norm(const cpli_normals* k, const double* change);
