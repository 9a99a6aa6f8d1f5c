// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The rest point of a model: states whose derivatives are zero, with discrete parts settled. Inputs
// and parameters can be freed so that given values are reached there (trimming).
//
//   cpl_steady* s = NULL;
//   cpl_steady_def def = cpl_default_steady_def();
//   cpl_status st = cpl_steady_create(model, &def, &s);
//   for (int32_t i = 0; st >= 0 && i < s->n_states; i++) printf("%s %g\n", s->names[i], s->x[i]);
//   cpl_steady_destroy(s);
#pragma once

#include "couplet/component.h"

#ifdef __cplusplus
extern "C" {
#endif

/// A value to be reached at the rest point.
typedef struct cpl_target {
  const char* name;  ///< a continuous Real variable
  double value;
} cpl_target;

/// What to solve for. Start from cpl_default_steady_def(), then change what you need.
typedef struct cpl_steady_def {
  size_t size;              ///< set by cpl_default_steady_def()
  const char* const* free;  ///< Real inputs and parameters that are unknowns; their present values
                            ///< are the guess
  int32_t n_free;
  const cpl_target* targets;  ///< as many as there are free variables
  int32_t n_targets;
  double time;  ///< the present time of the model
  /// How the model was initialised, needed to free parameters that are fixed during a run: it is
  /// reset and initialised again for each of their values. Nullable: setup
  const cpl_setup* setup;
  const cpl_start* starts;  ///< likewise: start values that were set
  size_t n_starts;
  bool newton_only;  ///< no pseudo-transient continuation where Newton's method fails
} cpl_steady_def;

CPL_DEFAULTS(steady_def)  ///< cpl_default_steady_def()

typedef struct cpl_steady {
  double time;
  int32_t n_states, n_free;
  const char *const *names, *const *free_names;  ///< of states, of free variables
  const double *x, *free;                        ///< the values found
  /// States that the equations do not determine, such as that of an integrator without feedback:
  /// there are many rest points, and this is the one that is reached from the start values.
  const int32_t* undetermined;
  int32_t n_undetermined;
  bool continued;       ///< Newton's method failed: found by pseudo-transient continuation
  bool time_dependent;  ///< derivatives change with time alone: it is at rest at this time only
  double until;         ///< the next time event, which may end the rest; INFINITY: none
  int32_t iterations;   ///< evaluations of the derivatives
  int32_t updates;      ///< rounds of settling discrete parts
} cpl_steady;

/// Search for a rest point from the present point of the model (in continuous time, after
/// initialisation), at which time stands still; the model is there afterwards, in continuous time.
/// Owned:    *out by the caller, who calls cpl_steady_destroy().
/// Nullable: def
/// Returns:  CPL_ERR_MODEL when there is none, or none is found: the message names the states that
///           keep changing; CPL_ERR_INPUT for names that cannot be free or targets.
CPL_API cpl_status cpl_steady_create(cpl_model* m, const cpl_steady_def* def, cpl_steady** out);
CPL_API void cpl_steady_destroy(cpl_steady* s);  ///< Nullable: s

/// For cpl_solver_def.at_start: the model begins at its rest point. Warns where that point is one
/// of many, or at rest at this time only.
CPL_API cpl_status cpl_steady_start(cpl_model* m, double t, double* next_time);
/// The same warnings.
CPL_API void cpl_steady_warn(const cpl_steady* s);

#ifdef __cplusplus
}
#endif
