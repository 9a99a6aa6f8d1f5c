// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Sensitivities: how variables of a model change along a run when parameters, inputs or start
// values of states change. A model and its sensitivities are one model, which any solver
// integrates; its variables "dy/dk" are the derivatives of y with respect to k.
//
//   const char* of[] = {"h"};
//   const char* to[] = {"e", "v"};
//   cpl_sensitivity_def def = cpl_default_sensitivity_def();
//   def.of = of, def.n_of = 1, def.to = to, def.n_to = 2;
//   cpl_solver_def solver = cpl_default_solver_def();
//   cpl_status st = cpl_sensitivity_model(source, NULL, &def, &model);
//   if (st >= 0) st = cpl_integrate(model, &solver, &stepper);  // records "dh/de" and "dh/dv"
//
// cpl_experiment_settings.sensitivity (couplet/experiment.h) adds them to the run of a file.
#pragma once

#include "couplet/component.h"

#ifdef __cplusplus
extern "C" {
#endif

/// What to differentiate, and with respect to what. Start from cpl_default_sensitivity_def(), then
/// change what you need.
typedef struct cpl_sensitivity_def {
  size_t size;            ///< set by cpl_default_sensitivity_def()
  const char* const* of;  ///< Real variables
  size_t n_of;
  const char* const* to;  ///< Real parameters, inputs, and states (their start values)
  size_t n_to;
  bool differences;  ///< do not use the model's own directional derivatives
  /// Gradients at the end of the run by the adjoint method, whose cost hardly depends on n_to:
  /// cpl_experiment_gradients(). `of` then also has "final(NAME)", the same as NAME, and
  /// "integral(NAME)", the integral over the run.
  bool adjoint;
  /// The magnitude of each of `to`, where it is more than its value: what a change of it is
  /// compared with, for the errors of its sensitivities. Not with `adjoint`. Nullable: values, or
  /// nominals
  const double* sizes;
} cpl_sensitivity_def;

CPL_DEFAULTS(sensitivity_def)  ///< cpl_default_sensitivity_def()

/// Make a model of the source together with its sensitivities. It has all variables of the source's
/// model under their names, then for each y of `of` and each k of `to` (k running fastest) an
/// output "dy/dk", and the sensitivities of all states, which are states.
///
/// s = dx/dk is integrated with x: s' = f_x s + f_k, by central differences between two instances
/// of the model with k a little larger and smaller, which stay on x + s dk and x - s dk:
/// derivatives contain couplings, loops, dependent parameters, initial equations and discrete
/// Reals. Between events directional derivatives replace the differences where the model has them
/// (cpl_capabilities.parameter_directions, or k does not change a parameter of a model without):
/// one evaluation per k instead of two. They are compared with differences after each event. At an
/// event the two instances have it at the times that they have it, so that sensitivities jump as
/// the event time changes with k. Where an event is not differentiable (two instances that branch
/// differently, an indicator that touches zero) the run fails with the time and the names.
///
/// Start values that belong to `to` are set as usual (cpl_start) before the initialisation. Where
/// the model has constraints, sensitivities are kept on their tangent space.
/// Owned:    *out by the caller, who destroys it before the source.
/// Borrowed: name and def only during the call.
/// Nullable: name, that of the source's description
/// Returns:  CPL_ERR_INPUT for names that do not exist, are not Real, or cannot be changed, and for
///           def->adjoint;
///           CPL_ERR_UNSUPPORTED for a source that is no model (steppers, delay lines), or can have
///           one instance only.
CPL_API cpl_status cpl_sensitivity_model(cpl_source* source, const char* name,
                                         const cpl_sensitivity_def* def, cpl_model** out);

#ifdef __cplusplus
}
#endif
