// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A solver takes steps of an ordinary differential equation x' = f(t, x), independent of models and
// events: integrate.c provides the functions, crossings.c finds events on its dense output. Its
// time starts at zero with the run, so that large times cost no accuracy. One file per method.
#pragma once

#include "base/base.h"
#include "couplet/solver.h"
#include "numeric/pattern.h"

/// The equation. Functions return CPL_OK, CPL_RETRY (try a shorter step) or a failure.
typedef struct cpli_ode {
  size_t n;
  void* user;
  cpl_status (*rhs)(void* user, double t, const double* x, double* dx);
  const char* (*name)(void* user, size_t i);  // name of an unknown, for messages
  /// df/dx, by columns. Nullable: the method is explicit, or the equation solves the linear system
  /// itself.
  cpl_status (*jacobian)(void* user, double t, const double* x, double* out);
  const cpli_pattern* pattern;  // sparsity pattern. Nullable: full
  /// Only the entries of the pattern. Nullable: without a pattern.
  cpl_status (*entries)(void* user, double t, const double* x, double* out);
  /// The linear system (I - gamma df/dx) dx = r of Newton's method, solved by the equation itself
  /// with its structure. Nullable, both: the solver factorises a dense matrix.
  cpl_status (*newton_setup)(void* user, double t, const double* x, double gamma, bool fresh);
  cpl_status (*newton_solve)(void* user, const double* r, double* dx);
  /// out = df/dx v. Nullable: GMRES uses differences.
  cpl_status (*jacobian_times)(void* user, double t, const double* x, const double* v, double* out);
  /// Projects the end of a step onto the constraints where that is due. CPL_RETRY: not possible, or
  /// only further than `limit` in units of the tolerance. Nullable.
  cpl_status (*project)(void* user, double t, double* x, double limit);
  /// The same for solvers that project in their error control: the correction, of any length, and
  /// the error with the component removed by the projection reduced to a tenth. error: Nullable.
  cpl_status (*correct)(void* user, double t, const double* x, double* correction, double* error);
  /// The vector to add to x where its magnitude matters: error weights. Nullable.
  const double* shift;
  /// The last so many of x are algebraic variables: rhs gives their residuals, which are zero on
  /// the solution, jacobian their derivatives, and newton_solve includes them unscaled.
  size_t n_algebraic;
  /// Slopes of the algebraic variables, for a start: written behind the given ones of the states.
  /// Required if there are any.
  cpl_status (*slopes)(void* user, double t, const double* x, double* dx);
} cpli_ode;

struct cpli_serial;

typedef struct cpli_solver cpli_solver;

typedef struct cpli_solver_ops {
  void (*destroy)(cpli_solver* s);
  /// Restart at (t, x) with absolute tolerances atol[n].
  cpl_status (*start)(cpli_solver* s, double t, const double* x, const double* atol);
  /// One step of the method, limited by t_limit and max_step; *t and x are its end.
  cpl_status (*step)(cpli_solver* s, double t_limit, double max_step, double* t, double* x);
  /// The solution inside the last step.
  cpl_status (*interpolate)(cpli_solver* s, double t, double* x);
  /// Repeats the last step from its beginning with the length h, at most its own; x is its end. For
  /// methods whose steps are more accurate than their dense output. CPL_RETRY: not possible.
  /// Nullable.
  cpl_status (*again)(cpli_solver* s, double h, double* x);
  /// The solution inside the last step, as accurate as its end, at the cost of a step. CPL_RETRY:
  /// not possible. Nullable: interpolate is that accurate.
  cpl_status (*solution)(cpli_solver* s, double t, double* x);
  /// Lists all that the next step depends on, to write it and to set it again after a start
  /// (model/serial.h). Nullable: it has none, or it is not accessible.
  void (*history)(cpli_solver* s, struct cpli_serial* serial);
} cpli_solver_ops;

struct cpli_solver {
  const cpli_solver_ops* ops;
  cpl_context* ctx;
  const char* name;         // name of the model, for messages
  const double* origin;     // the model's time at the solver's time zero, likewise
  cpl_solver_stats* stats;  // updated by the solver
};

/// The model's time, for messages.
static inline double cpli_solver_time(const cpli_solver* s, double t) { return *s->origin + t; }

//------------------------------------ methods.c ------------------------------------

/// Makes a solver of an equation. name and origin are set by the caller.
typedef cpl_status cpli_solver_create(cpl_context* ctx, const cpli_ode* ode,
                                      const cpl_solver_def* def, cpl_solver_stats* stats,
                                      cpli_solver** out);

/// What is to be known of a method.
typedef struct cpli_method {
  cpli_solver_create* create;     // NULL: FMUs do not contain it
  cpli_solver_create* projected;  // for equations with a projection. Nullable: create
  bool implicit;                  // it needs a Jacobian
  bool takes_systems;             // it can delegate linear systems to the model
  bool residuals;                 // it integrates algebraic variables and constraints as equations
  bool projects;                  // it projects in its own error control
  bool fixed;                     // it needs a step size
  bool multistep;                 // it has a history of earlier steps
  bool not_dense;                 // its dense output has a lower order: output points end steps
  cpl_solver_kind one_step;       // with multistep: a one-step method that can replace it
} cpli_method;

const cpli_method* cpli_method_of(cpl_solver_kind kind);

cpli_solver_create cpli_cvode_create, cpli_radau_create, cpli_arkode_create, cpli_ida_create,
    cpli_fixed_create;
/// Adams with projection.
cpli_solver_create cpli_shifted_create;
