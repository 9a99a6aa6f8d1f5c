// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "couplet/interface.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum cpl_solver_kind {
  CPL_SOLVER_CVODE,    ///< CVODE, BDF: variable order and step, implicit
  CPL_SOLVER_ADAMS,    ///< CVODE, Adams-Moulton: for models that are not stiff
  CPL_SOLVER_RK4,      ///< the classical Runge-Kutta method, fixed step
  CPL_SOLVER_EULER,    ///< explicit Euler, fixed step
  CPL_SOLVER_RADAU,    ///< Radau IIA of order 5, implicit, one step
  CPL_SOLVER_DOPRI5,   ///< Dormand and Prince 5(4), explicit, one step (ARKODE)
  CPL_SOLVER_ERK8,     ///< Prince and Dormand 8(7), explicit, one step (ARKODE)
  CPL_SOLVER_ESDIRK5,  ///< ESDIRK of order 5(4), implicit, one step (ARKODE)
  CPL_SOLVER_IDA,      ///< IDA, BDF, with the equation as a residual
} cpl_solver_kind;

/// How CVODE solves the linear systems of its Newton iteration.
typedef enum cpl_linear_solver {
  CPL_LINEAR_DIRECT,  ///< factorises: the model's own sparse system, or a dense matrix
  CPL_LINEAR_GMRES,   ///< matrix-free: products of the Jacobian with vectors, by the model's
                      ///< directional derivatives where it has them, else by differences
} cpl_linear_solver;

/// When states are brought back onto the constraints of a model that has some.
typedef enum cpl_projection {
  CPL_PROJECT_AS_FITS,  ///< with CVODE every step, which its error control wants, else lazily
  CPL_PROJECT_LAZILY,   ///< where a residual is larger than the absolute tolerance, or going back
                        ///< would take more than the error test allows
  CPL_PROJECT_EVERY_STEP,
  CPL_PROJECT_BY_EVENTS,  ///< as lazily, but by an event and a restart of the solver
  CPL_PROJECT_NEVER,
} cpl_projection;

/// Whether algebraic variables are integrated together with the states (IDA only), or the model
/// solves for them in every evaluation.
typedef enum cpl_form {
  CPL_FORM_AS_FITS,  ///< together where the solver can and the model is meant for it (its
                     ///< description has algebraic variables)
  CPL_FORM_ODE,      ///< the model solves for them
  CPL_FORM_DAE,      ///< together; a model without such a form is refused
} cpl_form;

/// How to integrate. Start from cpl_default_solver_def(), then change what you need.
typedef struct cpl_solver_def {
  cpl_solver_kind kind;
  cpl_linear_solver linear;  ///< CPL_SOLVER_CVODE only
  cpl_projection projection;
  cpl_form form;
  double rtol;  ///< relative tolerance
  double atol;  ///< absolute tolerance, times the nominal of each state; 0: rtol
  double step;  ///< fixed-step solvers: the step; others: the longest step; 0: the solver decides
  bool restart_each_step;  ///< begin every step() anew, so that rolling back changes no bit. CVODE,
                           ///< IDA (of an ODE) and Adams, which would begin with order one each
                           ///< time, are Radau and Dormand and Prince then, and tolerances are a
                           ///< hundredth
  bool stop_at_steps_end;  ///< never look past t_end of step(), even where t_limit would allow it
  bool one_solver;         ///< also for parts of the model that do not influence each other
  bool timing;             ///< measure the time spent in the model (stats.in_models_s)
  int32_t max_events;      ///< so many events without progress in time are chattering; 0: 100
} cpl_solver_def;

/// The solver of one model of a system.
typedef struct cpl_model_solver {
  const char* model;
  cpl_solver_kind kind;
} cpl_model_solver;

/// Counters over the whole life of a stepper made by cpl_integrate().
typedef struct cpl_solver_stats {
  int64_t steps, rejected, rhs_evals, jac_evals, newton_iters;
  int64_t indicator_evals;  ///< of all event indicators
  int64_t state_events, time_events, step_events;
  int64_t restarts;
  int64_t switches;           ///< of the model's structure
  int32_t structures;         ///< that the model has had, beside the first
  int64_t linear_iters;       ///< of GMRES
  int64_t products;           ///< Jacobian times vector, by the model's directional derivatives
  int64_t projections;        ///< onto constraints, of step ends, output points and events
  double largest_projection;  ///< in units of the tolerance
  double largest_residual;    ///< of constraints, seen before a projection
  int32_t algebraics;         ///< integrated together with the states
  int32_t groups;             ///< of parts that do not influence each other: as many solvers
  double in_models_s;         ///< only with def.timing
} cpl_solver_stats;

CPL_API cpl_solver_def cpl_default_solver_def(void);

/// "cvode", "adams", "rk4", "euler", "radau", "dopri5", "erk8", "esdirk5", "ida" -> kind, and names
/// of the TLM framework: "CVODE", "IDA", "RungeKutta", "Euler". Returns false for any other name.
CPL_API bool cpl_solver_by_name(const char* name, cpl_solver_kind* out);
CPL_API const char* cpl_solver_name(cpl_solver_kind kind);
/// All names, with commas, for messages.
CPL_API const char* cpl_solver_names(void);
/// "auto", "lazy", "every", "events", "off". Returns false for any other name.
CPL_API bool cpl_projection_by_name(const char* name, cpl_projection* out);
CPL_API const char* cpl_projection_name(cpl_projection when);
/// What CPL_PROJECT_AS_FITS is with this solver; anything else is itself.
CPL_API cpl_projection cpl_projection_of(const cpl_solver_def* def);
/// "auto", "ode", "dae". Returns false for any other name.
CPL_API bool cpl_form_by_name(const char* name, cpl_form* out);
/// "direct", "gmres". Returns false for any other name.
CPL_API bool cpl_linear_solver_by_name(const char* name, cpl_linear_solver* out);
/// How algebraic loops of an aggregate are solved: "as-rows" makes *form CPL_FORM_DAE, so that
/// their equations are rows of IDA's system; "nested" leaves any other form as it is: they are
/// solved in every evaluation. Returns false for any other name.
CPL_API bool cpl_loops_by_name(const char* name, cpl_form* form);

/// Make a stepper of a model: the composer "integrate". A model that consists of parts that do not
/// influence each other gets a solver for each, unless def->one_solver: an event in one of them
/// costs the others nothing. Such a model is taken apart: who wants to ask it on its own later
/// (cpl_linearize) needs def->one_solver.
/// A step that meets an event stops there, before the event update (outputs are those left of it);
/// a step of size zero then makes the update, and so does the beginning of the next step.
/// Owned:    *out by the caller, who calls cpl_stepper_destroy(). The model belongs to the stepper
/// from
///           here on, also when this function fails.
CPL_API cpl_status cpl_integrate(cpl_model* model, const cpl_solver_def* def, cpl_stepper** out);

/// Returns: NULL when the stepper was not made by cpl_integrate().
CPL_API const cpl_solver_stats* cpl_integrate_stats(const cpl_stepper* s);

#ifdef __cplusplus
}
#endif
