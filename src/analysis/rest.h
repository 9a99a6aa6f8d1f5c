// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The equations of a rest point: derivatives f(x, p) = 0, values h(x, p) = their targets, and
// constraints c(x) = 0, with the states x and freed inputs and parameters p as unknowns. The matrix
// of these equations is that of the descriptor form with rows and columns added, sparse for any
// size. With constraints there are more equations than unknowns, which all hold at a solution:
// steps are then least squares, by the sparse augmented system [-I M; M' 0].
#pragma once

#include "aggregate/descriptor.h"
#include "couplet/steady.h"
#include "numeric/sparse.h"

/// How a freed variable is set.
typedef enum cpli_way { CPLI_WAY_INPUT, CPLI_WAY_TUNABLE, CPLI_WAY_FIXED } cpli_way;

typedef struct cpli_rest {
  cpl_context* ctx;
  cpl_model* m;
  const cpl_steady_def* def;
  int32_t n, n_free, n_targets, n_constraints, all;  // all: unknowns, states and free ones
  int32_t *free_vars, *target_vars;
  cpli_way* ways;
  bool any_tunable, any_fixed;
  double* targets;
  double* held;                    // values of the free variables
  bool holds_free;                 // equations p = held stand in the place of those of the targets
  double *nominal, *at, *settled;  // of x and p; p that were set last; x where events settled last
  int32_t n_kept;                  // inputs that are not free, for a new initialisation
  uint32_t* kept_refs;
  double* kept;
  double* gradients;  // n_constraints x n, by rows
  int8_t* signs;      // of the event indicators
  double* indicators;
  double shift;  // 1 / step of implicit Euler; 0: Newton's method

  double* residues;  // of the constraints, at the last residuals
  cpli_descriptor* d;
  cpli_compressed matrix;  // M: equations of the descriptor, targets, constraints
  int32_t n_rows;
  cpli_compressed system;  // M, or the augmented system
  double* weights;         // of the equations in it
  double* b;
  cpli_sparse* factors;

  int32_t evaluations, updates;
  double until;  // next time event
  cpli_arena arena;
} cpli_rest;

/// Owned: the contents by the caller, who calls cpli_rest_free(), also after a failure.
cpl_status cpli_rest_init(cpli_rest* r, cpl_model* m, const cpl_steady_def* def);
void cpli_rest_free(cpli_rest* r);

/// z: all unknowns; from the present point of the model.
cpl_status cpli_rest_start(cpli_rest* r, double* z);
/// g[all]: CPL_RETRY: there are no finite values at z.
cpl_status cpli_rest_residuals(void* rest, const double* z, double* g);
/// The matrix at the point of the last residuals, with the shift. CPL_RETRY: it is singular.
cpl_status cpli_rest_factor(void* rest);
cpl_status cpli_rest_solve(void* rest, const double* g, double* step);
/// Whether all equations hold at z, where g are the last residuals: with constraints, steps also
/// vanish where the equations contradict each other as little as they can.
cpl_status cpli_rest_holds(cpli_rest* r, const double* z, const double* g, bool* holds);
/// Event iteration at z, whose states may change; *crossed (Nullable): only where an event
/// indicator has changed its sign.
cpl_status cpli_rest_settle(cpli_rest* r, double* z, bool* crossed);
/// The unknowns that the equations do not determine at z, as a vector of their changes; *none: they
/// determine all.
cpl_status cpli_rest_null_vector(cpli_rest* r, const double* z, double* v, bool* none);

const char* cpli_rest_name(const cpli_rest* r, int32_t unknown);

/// dc/dx, row after row, at the present point, x its states; at most the constraints that are
/// active. Shared with the spectrum.
cpl_status cpli_constraint_gradients(cpl_model* m, const double* x, int32_t n_constraints,
                                     double* out);
