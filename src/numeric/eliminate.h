// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The Jacobian of a small system, dense. Without algebraic loops every node is a sum over states
// and nodes before it, so its derivatives with respect to the states follow from theirs, row by
// row; the rows of the states are the Jacobian. Faster where the sparse factors would have as many
// entries.
#pragma once

#include "base/base.h"

// One contribution to an entry of the integrator's matrix; unknowns are states, then nodes.
typedef struct cpli_term {
  int32_t row, column;  // unknowns
  int32_t from;   // component: entry of its Jacobian; coupling: index of the source; diagonal: 0
  int32_t owner;  // >= 0: component; < -1: coupling -(owner + 2); -1: diagonal
  int32_t entry;  // in the matrix
  double weight;  // product of the plain couplings between the column and its reader
} cpli_term;

typedef struct cpli_elimination cpli_elimination;

/// Borrowed: terms only during the call.
/// Returns:  *out is NULL, with CPL_OK, when the nodes have no order: there is a loop.
cpl_status cpli_elimination_make(cpl_context* ctx, int32_t n_states, int32_t n,
                                 const cpli_term* terms, size_t n_terms, cpli_elimination** out);
void cpli_elimination_destroy(cpli_elimination* e);  // Nullable: e

/// The Jacobian from the values of the terms; kept for the following factorisations.
void cpli_elimination_refresh(cpli_elimination* e, const double* values);
/// Factorise I - gamma J. Returns -1, or the state in whose column no pivot was found.
int32_t cpli_elimination_factor(cpli_elimination* e, double gamma);
void cpli_elimination_solve(cpli_elimination* e, const double* r, double* dx);
