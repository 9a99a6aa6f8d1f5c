// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Linearisation of a model at a point: the matrices of x' = A x + B u, y = C x + D u.
//
//   cpl_linear* l = NULL;
//   cpl_linearize_def def = cpl_default_linearize_def();
//   cpl_status st = cpl_linearize(model, &def, &l);
//   if (st >= 0) printf("a11 = %g\n", l->a[0]);
//   cpl_linear_destroy(l);
#pragma once

#include "couplet/interface.h"

#ifdef __cplusplus
extern "C" {
#endif

/// What to linearise. Start from cpl_default_linearize_def(), then change what you need.
typedef struct cpl_linearize_def {
  size_t size;              ///< set by cpl_default_linearize_def()
  const char* const* only;  ///< states, inputs and outputs: names, or patterns with * and ?
  size_t n_only;            ///< 0: all
  bool lenient;             ///< items of `only` that match nothing are no error
  const char* prefix;       ///< of every name, also for matching `only`. Nullable.
  bool all_states;  ///< `only` selects inputs and outputs; those of which it names none are all
                    ///< there
} cpl_linearize_def;

CPL_DEFAULTS(linearize_def)  ///< cpl_default_linearize_def()

/// x' = A x + B u, y = C x + D u for small deviations from a point. Matrices are stored column
/// after column: the entry in row r and column c of A is a[c * n_states + r], of C it is
/// c[c * n_outputs + r].
typedef struct cpl_linear {
  int32_t n_states, n_inputs, n_outputs;
  const char *const *states, *const *inputs, *const *outputs;  ///< names
  const double *x, *dx, *u, *y;                                ///< the point, and the derivatives
  const double *a, *b, *c, *d;
} cpl_linear;

/// Linearise a model at its present point (in continuous time, after initialisation), which is
/// restored afterwards.
///
/// The inputs and outputs of an aggregate are its signals (CPL_SIGNAL_INPUT and CPL_SIGNAL_OUTPUT);
/// without any: the uncoupled inputs and all outputs of its models. Only continuous Reals are
/// included. An aggregate is linearised exactly from the blocks of its models and the gradients of
/// its couplings; blocks of models without directional derivatives are central differences.
/// Owned:    *out by the caller, who calls cpl_linear_destroy().
/// Returns:  CPL_ERR_INPUT when nothing matches an item of `only`, CPL_ERR_MODEL when a loop of
///           the aggregate is singular.
CPL_API cpl_status cpl_linearize(cpl_model* m, const cpl_linearize_def* def, cpl_linear** out);
CPL_API void cpl_linear_destroy(cpl_linear* l);  ///< Nullable: l

#ifdef __cplusplus
}
#endif
