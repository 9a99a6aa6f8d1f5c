// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A solver takes steps of an ordinary differential equation x' = f(t, x). It knows nothing of
// models and events: integrate.c hands it the functions, crossings.c finds events on its dense
// output. Its time begins at zero with the run, so that large times cost no accuracy. One file per
// method.
#pragma once

#include "base/base.h"
#include "couplet/solver.h"
#include "numeric/pattern.h"

/// The equation. Functions return CPL_OK, CPL_RETRY (try a shorter step) or a failure.
typedef struct cpli_ode {
  size_t n;
  void* user;
  cpl_status (*rhs)(void* user, double t, const double* x, double* dx);
  const char* (*name)(void* user, size_t i);  // of an unknown, for messages
  /// df/dx, column after column. Nullable: the method is explicit, or the linear system is the
  /// equation's own.
  cpl_status (*jacobian)(void* user, double t, const double* x, double* out);
  const cpli_pattern* pattern;  // where it may be other than zero. Nullable: anywhere
  /// The same, only the entries of the pattern. Nullable: without a pattern.
  cpl_status (*entries)(void* user, double t, const double* x, double* out);
  /// The linear system (I - gamma df/dx) dx = r of Newton's method, solved by the equation itself:
  /// it knows its structure. Nullable, both: the solver factorises a dense matrix.
  cpl_status (*newton_setup)(void* user, double t, const double* x, double gamma, bool fresh);
  cpl_status (*newton_solve)(void* user, const double* r, double* dx);
  /// out = df/dx v. Nullable: GMRES uses differences.
  cpl_status (*jacobian_times)(void* user, double t, const double* x, const double* v, double* out);
  /// Brings the end of a step back onto the constraints where that is wanted. CPL_RETRY: it cannot,
  /// or it would have to go further than `limit` in units of the tolerance. Nullable.
  cpl_status (*project)(void* user, double t, double* x, double limit);
  /// The same for solvers that project in their error control: the correction, however long, and
  /// the error with a tenth of what the projection removes. error: Nullable.
  cpl_status (*correct)(void* user, double t, const double* x, double* correction, double* error);
  /// What has to be added to x where its size matters: error weights. Nullable.
  const double* shift;
  /// The last so many of x are algebraic variables: rhs gives residuals for them, which are zero on
  /// the solution, jacobian their derivatives, and newton_solve has them as they are.
  size_t n_algebraic;
  /// Slopes of the algebraic variables, for a start: written behind those of the states, which are
  /// there. Required with some.
  cpl_status (*slopes)(void* user, double t, const double* x, double* dx);
} cpli_ode;

typedef struct cpli_solver cpli_solver;

typedef struct cpli_solver_ops {
  void (*destroy)(cpli_solver* s);
  /// Begin anew at (t, x) with absolute tolerances atol[n].
  cpl_status (*start)(cpli_solver* s, double t, const double* x, const double* atol);
  /// One step of the method, not past t_limit and not longer than max_step; *t and x are its end.
  cpl_status (*step)(cpli_solver* s, double t_limit, double max_step, double* t, double* x);
  /// The solution inside the last step.
  cpl_status (*interpolate)(cpli_solver* s, double t, double* x);
  /// Repeats the last step from its beginning with the length h, at most its own; x is its end. For
  /// methods whose steps are more accurate than what they interpolate. CPL_RETRY: it cannot.
  /// Nullable.
  cpl_status (*again)(cpli_solver* s, double h, double* x);
  /// The solution inside the last step as accurate as its end, at the cost of a step. CPL_RETRY: it
  /// cannot. Nullable: interpolate is that accurate.
  cpl_status (*solution)(cpli_solver* s, double t, double* x);
} cpli_solver_ops;

struct cpli_solver {
  const cpli_solver_ops* ops;
  cpl_context* ctx;
  const char* who;          // name of the model, for messages
  const double* origin;     // the model's time where the solver's is zero, likewise
  cpl_solver_stats* stats;  // counted into
};

/// The model's time, for messages.
static inline double cpli_solver_time(const cpli_solver* s, double t) { return *s->origin + t; }

cpl_status cpli_cvode_create(cpl_context* ctx, const cpli_ode* ode, const cpl_solver_def* def,
                             cpl_solver_stats* stats, cpli_solver** out);
/// Adams with projection.
cpl_status cpli_shifted_create(cpl_context* ctx, const cpli_ode* ode, const cpl_solver_def* def,
                               cpl_solver_stats* stats, cpli_solver** out);
cpl_status cpli_radau_create(cpl_context* ctx, const cpli_ode* ode, const cpl_solver_def* def,
                             cpl_solver_stats* stats, cpli_solver** out);
cpl_status cpli_arkode_create(cpl_context* ctx, const cpli_ode* ode, const cpl_solver_def* def,
                              cpl_solver_stats* stats, cpli_solver** out);
cpl_status cpli_ida_create(cpl_context* ctx, const cpli_ode* ode, const cpl_solver_def* def,
                           cpl_solver_stats* stats, cpli_solver** out);
cpl_status cpli_fixed_create(cpl_context* ctx, const cpli_ode* ode, const cpl_solver_def* def,
                             cpl_solver_stats* stats, cpli_solver** out);
