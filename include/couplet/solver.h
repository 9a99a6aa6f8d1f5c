// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The composer "integrate": a model and a solver become a stepper.
//
//   cpl_solver_def def = cpl_default_solver_def();
//   def.kind = CPL_SOLVER_DOPRI5, def.rtol = 1e-8;
//   cpl_stepper* stepper = NULL;
//   cpl_status st = cpl_integrate(model, &def, &stepper);  // owns model from here on
#pragma once

#include "couplet/interface.h"

#ifdef __cplusplus
extern "C" {
#endif

/// The solvers: constant, name, description. The same table is in
/// docs/system-file.md.
#define CPL_SOLVER_LIST(X)                                                               \
  X(CPL_SOLVER_CVODE, "cvode", "CVODE, BDF: variable order and step, implicit")          \
  X(CPL_SOLVER_ADAMS, "adams", "CVODE, Adams-Moulton: for models that are not stiff")    \
  X(CPL_SOLVER_RK4, "rk4", "the classical Runge-Kutta method of order 4, fixed step")    \
  X(CPL_SOLVER_EULER, "euler", "explicit Euler, fixed step")                             \
  X(CPL_SOLVER_RADAU, "radau", "Radau IIA of order 5, implicit, one step")               \
  X(CPL_SOLVER_DOPRI5, "dopri5", "Dormand and Prince 5(4), explicit, one step (ARKODE)") \
  X(CPL_SOLVER_ERK8, "erk8", "Prince and Dormand 8(7), explicit, one step (ARKODE)")     \
  X(CPL_SOLVER_ESDIRK5, "esdirk5", "ESDIRK of order 5(4), implicit, one step (ARKODE)")  \
  X(CPL_SOLVER_IDA, "ida", "IDA, BDF, with the equation as a residual")                  \
  X(CPL_SOLVER_HEUN, "heun", "Heun's method of order 2, explicit, fixed step")

typedef enum cpl_solver_kind {
#define X(kind, name, text) kind,
  CPL_SOLVER_LIST(X)
#undef X
} cpl_solver_kind;

/// How CVODE solves the linear systems of its Newton iteration.
typedef enum cpl_linear_solver {
  CPL_LINEAR_DIRECT,  ///< by factorisation of the model's sparse system or of a dense matrix
  CPL_LINEAR_GMRES,   ///< matrix-free: Jacobian times vector by the model's directional
                      ///< derivatives, or by differences where it has none
} cpl_linear_solver;

/// When states are projected onto the constraints of a model.
typedef enum cpl_projection {
  CPL_PROJECT_AS_FITS,  ///< with CVODE at every step, as its error control requires, else lazily
  CPL_PROJECT_LAZILY,   ///< where a residual exceeds the absolute tolerance, or the projection
                        ///< would change states by more than the error test allows
  CPL_PROJECT_EVERY_STEP,
  CPL_PROJECT_BY_EVENTS,  ///< as lazily, but by an event and a restart of the solver
  CPL_PROJECT_NEVER,
} cpl_projection;

/// Whether algebraic variables are integrated together with the states (IDA only), or the model
/// solves for them in every evaluation.
typedef enum cpl_form {
  CPL_FORM_AS_FITS,  ///< together where the solver supports it and the description of the model
                     ///< has algebraic variables
  CPL_FORM_ODE,      ///< the model solves for them
  CPL_FORM_DAE,      ///< together; a model without such a form is rejected
} cpl_form;

/// How to integrate. Start from cpl_default_solver_def(), then change what you need.
typedef struct cpl_solver_def {
  size_t size;  ///< set by cpl_default_solver_def()
  cpl_solver_kind kind;
  cpl_linear_solver linear;  ///< CPL_SOLVER_CVODE only
  cpl_projection projection;
  cpl_form form;
  double rtol;  ///< relative tolerance
  double atol;  ///< absolute tolerance, times the nominal of each state; 0: rtol
  double step;  ///< fixed-step solvers: the step; others: the maximum step; 0: the solver decides
  bool restart_each_step;  ///< restart the solver at every step(), so that a rollback changes no
                           ///< bit. CVODE, IDA (of an ODE) and Adams, which would restart with
                           ///< order one each time, are replaced by Radau and Dormand-Prince, with
                           ///< a hundredth of the tolerances
  bool stop_at_steps_end;  ///< never integrate past t_end of step(), even where t_limit allows it
  bool one_solver;         ///< one solver for all subsystems of the model
  bool timing;             ///< measure the time spent in the model (stats.in_models_s)
  int32_t max_events;      ///< events without progress in time that are chattering; 0: 100
  bool saves_states;       ///< offer saved states, where the model does: the solver is restarted
                           ///< after a restore, which changes results within the tolerances
  /// Called with the model at the end of its initialisation, in continuous time, to change its
  /// states, e.g. cpl_steady_start(); *next_time is its next time event. Nullable.
  cpl_status (*at_start)(cpl_model* m, double t, double* next_time);
  double reserved[4];  ///< for later versions; 0
} cpl_solver_def;

/// The solver of one model of a system.
typedef struct cpl_model_solver {
  const char* model;
  cpl_solver_kind kind;
} cpl_model_solver;

/// Counters over the whole life of a stepper made by cpl_integrate(), which cpl_component_inspect()
/// gives by name.
typedef struct cpl_solver_stats {
  int64_t steps, rejected, rhs_evals, jac_evals, newton_iters;
  int64_t indicator_evals;  ///< of all event indicators
  int64_t state_events, time_events, step_events;
  int64_t restarts;
  int64_t switches;           ///< of the model's structure
  int32_t structures;         ///< of the model that occurred, except the first
  int64_t linear_iters;       ///< of GMRES
  int64_t products;           ///< Jacobian times vector, by the model's directional derivatives
  int64_t projections;        ///< onto constraints, of step ends, output points and events
  double largest_projection;  ///< in units of the tolerance
  double largest_residual;    ///< of constraints, before a projection
  int32_t algebraics;         ///< integrated together with the states
  int32_t groups;             ///< subsystems, each with a solver of its own
  double in_models_s;         ///< only with def.timing
} cpl_solver_stats;

CPL_DEFAULTS(solver_def)  ///< cpl_default_solver_def()

/// The names of CPL_SOLVER_LIST, and those of the TLM framework: "CVODE", "IDA", "RungeKutta",
/// "Euler". Returns false for any other name.
CPL_API bool cpl_solver_by_name(const char* name, cpl_solver_kind* out);
CPL_API const char* cpl_solver_name(cpl_solver_kind kind);
CPL_API int32_t cpl_solver_count(void);  ///< kinds are numbers below it
/// Whether the method has a fixed step, which cpl_solver_def.step has to give.
CPL_API bool cpl_solver_is_fixed_step(cpl_solver_kind kind);
/// All names, separated by commas, for messages.
CPL_API const char* cpl_solver_names(void);
/// "auto", "lazy", "every", "events", "off". Returns false for any other name.
CPL_API bool cpl_projection_by_name(const char* name, cpl_projection* out);
CPL_API const char* cpl_projection_name(cpl_projection when);
/// The projection in effect: CPL_PROJECT_AS_FITS is replaced by the choice for this solver.
CPL_API cpl_projection cpl_projection_of(const cpl_solver_def* def);
/// "auto", "ode", "dae". Returns false for any other name.
CPL_API bool cpl_form_by_name(const char* name, cpl_form* out);
CPL_API const char* cpl_form_name(cpl_form form);
/// "direct", "gmres". Returns false for any other name.
CPL_API bool cpl_linear_solver_by_name(const char* name, cpl_linear_solver* out);
CPL_API const char* cpl_linear_solver_name(cpl_linear_solver linear);
/// How algebraic loops of an aggregate are solved: "as-rows" makes *form CPL_FORM_DAE, so that
/// their equations are rows of IDA's system; "nested" does not change *form: they are solved in
/// every evaluation. Returns false for any other name.
CPL_API bool cpl_loops_by_name(const char* name, cpl_form* form);

/// Make a stepper of a model. Each subsystem of the model gets its own solver, unless
/// def->one_solver: an event in one of them does not restart the solvers of the others. The model
/// is split for that; callers that use it later themselves (cpl_linearize) need def->one_solver.
/// A step that meets an event stops there, before the event update (outputs are those before it);
/// a step of size zero, or the beginning of the next step, makes the update.
/// Owned:    *out by the caller, who calls cpl_stepper_destroy(). The model belongs to the stepper
///           from here on, also when this function fails.
CPL_API cpl_status cpl_integrate(cpl_model* model, const cpl_solver_def* def, cpl_stepper** out);

#ifdef __cplusplus
}
#endif
