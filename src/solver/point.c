// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The model as seen by the solver: an ordinary differential equation and root functions.
#include <math.h>

#include "model/input_curve.h"
#include "model/jacobian.h"
#include "solver/integrated.h"

cpl_status cpli_set_inputs(cpli_integrate* s, double t) {
  if (s->n_curves == 0) return CPL_OK;
  for (size_t i = 0; i < s->n_curves; i++) s->curve_values[i] = cpli_curve_at(&s->curves[i], t);
  return s->m->base.ops->set_real(&s->m->base, s->curve_refs, s->n_curves, s->curve_values);
}

cpl_status cpli_set_point(cpli_integrate* s, double t, const double* x) {
  cpl_status st = s->m->ops->set_time(s->m, t);
  if (st == CPL_OK && s->n > 0) st = s->m->ops->set_states(s->m, x);
  if (st == CPL_OK && s->na > 0) st = s->m->ops->dae->set_algebraics(s->m, x + s->n);
  if (st == CPL_OK) st = cpli_set_inputs(s, t);
  return st;
}

static const char* name_of(const cpli_integrate* s, size_t i) {
  const cpl_description* d = s->base.base.desc;
  size_t n = s->n;
  if (i < n) return d->derivatives[i] >= 0 ? d->vars[d->derivatives[i]].name : "a derivative";
  if (i >= n + s->na) return "a constraint";
  bool named = i - n < (size_t)d->n_algebraics && d->residuals[i - n] >= 0;
  return named ? d->vars[d->residuals[i - n]].name : "a residual";
}

static const char* name_of_unknown(void* user, size_t i) {
  const cpli_integrate* s = user;
  const cpl_description* d = s->base.base.desc;
  size_t n = s->n;
  if (i < n) return d->states[i] >= 0 ? d->vars[d->states[i]].name : "a state";
  if (i >= n + s->na) return "a multiplier";
  bool named = i - n < (size_t)d->n_algebraics && d->algebraics[i - n] >= 0;
  return named ? d->vars[d->algebraics[i - n]].name : "an algebraic variable";
}

cpl_status cpli_run_away(cpli_integrate* s) {
  for (size_t i = 0; i < s->all; i++) {
    if (isfinite(s->x[i])) continue;
    return cpl_fail_in(s->base.base.ctx, CPL_ERR_SOLVER, s->base.base.name, name_of_unknown(s, i),
                       s->t_step, "the solution runs away: %s is %g at t=%.12g",
                       name_of_unknown(s, i), s->x[i], s->t_step);
  }
  return CPL_OK;
}

cpl_status cpli_check_order(cpli_integrate* s, double begin) {
  if (s->t_step >= begin) return CPL_OK;
  if (!(begin - s->t_step <= 1e-12 * fabs(begin)))
    return cpl_fail_in(s->base.base.ctx, CPL_ERR_SOLVER, s->base.base.name, NULL, begin,
                       "%s went back from t=%.12g to t=%.12g; was its state read from a damaged "
                       "file?",
                       cpl_solver_name(s->def.kind), begin, s->t_step);
  s->t_step = begin;
  return CPL_OK;
}

cpl_status cpli_check_states(cpli_integrate* s) {
  for (size_t i = 0; i < s->n + s->na; i++) {
    if (isfinite(s->x[i])) continue;
    const char* name = name_of_unknown(s, i);
    return cpl_fail_in(s->base.base.ctx, CPL_ERR_MODEL, s->base.base.name, name, s->t,
                       "%s is %g %s t=%.12g", name, s->x[i],
                       s->t > s->t_start ? "after the event at" : "at the start,", s->t);
  }
  return CPL_OK;
}

// The input that is a function of time and has no finite value; NULL: none.
static const cpl_variable* wrong_input(const cpli_integrate* s, double* value) {
  const cpl_description* d = s->base.base.desc;
  for (size_t i = 0; i < s->n_curves; i++) {
    if (isfinite(s->curve_values[i])) continue;
    *value = s->curve_values[i];
    for (int32_t k = 0; k < d->n_vars; k++) {
      const cpl_variable* v = &d->vars[k];
      if (v->type == CPL_REAL && v->ref == s->curve_refs[i] && v->alias_of < 0) return v;
    }
  }
  return NULL;
}

static cpl_status not_finite(cpli_integrate* s, double t, const double* dx) {
  double value = NAN;
  const cpl_variable* input = wrong_input(s, &value);
  if (input != NULL)
    return cpl_fail_in(s->base.base.ctx, CPL_RETRY, s->base.base.name, input->name, t,
                       "the input %s is %g at t=%.12g", input->name, value, t);
  for (size_t i = 0; i < s->all; i++) {
    if (isfinite(dx[i])) continue;
    const char* name = name_of(s, i);
    return cpl_fail_in(s->base.base.ctx, CPL_RETRY, s->base.base.name, name, t,
                       "%s is %g at t=%.12g", name, dx[i], t);
  }
  return CPL_OK;
}

static cpl_status rhs(void* user, double t, const double* x, double* dx) {
  cpli_integrate* s = user;
  t += s->t_start;
  double since = cpli_clock_if(s);
  cpl_status st = cpli_set_point(s, t, x);
  if (st == CPL_OK && s->n > 0) st = s->m->ops->get_derivatives(s->m, dx);
  if (st == CPL_OK && s->na > 0) st = s->m->ops->dae->get_residuals(s->m, dx + s->n);
  if (st == CPL_OK && s->nm > 0) st = cpli_multipliers_apply(s, x, dx);
  cpli_account(s, since);
  s->refused = s->refused || st == CPL_RETRY;
  if (st != CPL_OK) return st;
  double sum = 0;  // NaN or infinite when any is; the search for the culprit is rarely needed
  for (size_t i = 0; i < s->all; i++) sum += dx[i] - dx[i];
  s->refused = s->refused || sum != 0;
  return sum == 0 ? CPL_OK : not_finite(s, t, dx);
}

// Between the limits; the lower one where it is NaN.
static double limited(double size) {
  return !(size > 1e-150) ? 1e-150 : size < 1e150 ? size : 1e150;
}

cpl_status cpli_indicators_here(cpli_integrate* s, double t, double* z) {
  double since = cpli_clock_if(s);
  cpl_status st = s->m->ops->get_indicators(s->m, z);
  s->stats.indicator_evals++;
  cpli_account(s, since);
  for (size_t i = 0; i < s->nz && st == CPL_OK; i++) {
    if (isnan(z[i])) {
      st = cpl_fail_in(s->base.base.ctx, CPL_ERR_MODEL, s->base.base.name, NULL, t,
                       "event indicator %zu is NaN at t=%.12g", i + 1, t);
    }
    z[i] = z[i] > 0 ? limited(z[i]) : -limited(-z[i]);
  }
  return st;
}

cpl_status cpli_indicators(cpli_integrate* s, double t, const double* x, double* z) {
  double since = cpli_clock_if(s);
  cpl_status st = CPL_OK;
  if (s->projected != NULL) {  // events are located on the projected solution
    memcpy(s->projected, x, s->all * sizeof *x);
    st = cpli_projection_apply(s, t, s->projected, INFINITY);
    x = s->projected;
  }
  if (st == CPL_OK) st = cpli_set_point(s, t, x);
  cpli_account(s, since);
  return st == CPL_OK ? cpli_indicators_here(s, t, z) : st;
}

static cpl_status differentiate(cpli_integrate* s, double t, const double* x,
                                cpl_status (*evaluate)(cpl_jacobian*, const double*, double*),
                                size_t n, double* out) {
  double since = cpli_clock_if(s), sum = 0;
  cpl_status st = cpli_set_point(s, t, x);
  if (st == CPL_OK) st = evaluate(s->jac, x, out);
  cpli_account(s, since);
  for (size_t i = 0; i < n && st == CPL_OK; i++) sum += out[i] - out[i];
  if (st != CPL_OK || sum == 0) return st;
  return cpl_fail_in(s->base.base.ctx, CPL_RETRY, s->base.base.name, NULL, t,
                     "the Jacobian is not finite at t=%.12g", t);
}

static cpl_status jacobian(void* user, double t, const double* x, double* out) {
  cpli_integrate* s = user;
  return differentiate(s, s->t_start + t, x, cpl_jacobian_evaluate, s->n * s->n, out);
}

static cpl_status entries(void* user, double t, const double* x, double* out) {
  cpli_integrate* s = user;
  size_t n = (size_t)cpli_jacobian_pattern(s->jac)->n_entries;
  return differentiate(s, s->t_start + t, x, cpli_jacobian_entries, n, out);
}

// Of all unknowns of the solver: dae_jacobian.c.
static cpl_status all_jacobian(void* user, double t, const double* x, double* out) {
  cpli_integrate* s = user;
  return cpli_dae_jacobian(s, s->t_start + t, x, out);
}

static cpl_status all_entries(void* user, double t, const double* x, double* out) {
  cpli_integrate* s = user;
  return cpli_dae_entries(s, s->t_start + t, x, out);
}

static cpl_status slopes(void* user, double t, const double* x, double* dx) {
  cpli_integrate* s = user;
  return cpli_dae_slopes(s, s->t_start + t, x, dx);
}

static cpl_status newton_setup(void* user, double t, const double* x, double gamma, bool fresh) {
  cpli_integrate* s = user;
  double since = cpli_clock_if(s);
  cpl_status st = cpli_set_point(s, s->t_start + t, x);
  if (st == CPL_OK) st = s->m->ops->newton->setup(s->m, gamma, fresh);
  cpli_account(s, since);
  return st;
}

static cpl_status newton_solve(void* user, const double* r, double* dx) {
  cpli_integrate* s = user;
  return s->m->ops->newton->solve(s->m, r, dx);
}

static cpl_status jacobian_times(void* user, double t, const double* x, const double* v,
                                 double* out) {
  cpli_integrate* s = user;
  double since = cpli_clock_if(s);
  cpl_status st = cpli_set_point(s, s->t_start + t, x);
  if (st == CPL_OK) st = s->m->ops->jacobian_times(s->m, v, out);
  cpli_account(s, since);
  return st;
}

static cpl_status project(void* user, double t, double* x, double limit) {
  cpli_integrate* s = user;
  return cpli_projection_apply(s, s->t_start + t, x, limit);
}

static cpl_status correct(void* user, double t, const double* x, double* correction,
                          double* error) {
  cpli_integrate* s = user;
  return cpli_projection_correct(s, s->t_start + t, x, correction, error);
}

//------------------------------------ the solver of it ------------------------------------

static cpl_status make_jacobian(cpli_integrate* s) {
  const cpl_description* d = s->base.base.desc;
  const cpli_method* method = cpli_method_of(s->def.kind);
  bool own = method->takes_systems && s->m->ops->newton != NULL;
  if (!method->implicit || s->n == 0 || s->dae != NULL || own) return CPL_OK;
  for (int32_t k = 0; k < d->n_states; k++) {
    if (d->states[k] < 0 || d->derivatives[k] < 0)
      return cpli_dae_jacobian_make(s);  // hidden states
  }
  cpl_jacobian_def def = cpl_default_jacobian_def();
  def.rows = d->derivatives;
  def.columns = d->states;
  def.n_rows = def.n_columns = d->n_states;
  return cpl_jacobian_create(s->m, &def, &s->jac);
}

cpl_status cpli_integrate_make_solver(cpli_integrate* s) {
  cpl_context* ctx = s->base.base.ctx;
  cpl_status st = make_jacobian(s);
  if (st < 0) return st;
  cpli_ode ode = {.n = s->all,
                  .n_algebraic = s->na + s->nm,
                  .slopes = slopes,
                  .user = s,
                  .rhs = rhs,
                  .name = name_of_unknown,
                  .jacobian = s->columns != NULL ? all_jacobian
                              : s->jac != NULL   ? jacobian
                                                 : NULL,
                  .pattern = s->jac != NULL ? cpli_jacobian_pattern(s->jac) : cpli_dae_pattern(s),
                  .entries = s->columns != NULL ? all_entries
                             : s->jac != NULL   ? entries
                                                : NULL};
  if (s->m->ops->newton != NULL && s->nm > 0)
    ode.newton_setup = cpli_multipliers_setup, ode.newton_solve = cpli_multipliers_solve;
  else if (s->m->ops->newton != NULL)
    ode.newton_setup = newton_setup, ode.newton_solve = newton_solve;
  else if (cpli_method_of(s->def.kind)->takes_systems) st = cpli_linear_make(s, &ode);
  if (st < 0) return st;
  if (s->m->ops->jacobian_times != NULL && s->na == 0) ode.jacobian_times = jacobian_times;
  if (s->projection != NULL && s->def.projection != CPL_PROJECT_BY_EVENTS) {
    ode.project = project, ode.correct = correct;
    if (s->nz > 0) s->projected = cpli_alloc(ctx, s->all, sizeof(double));
    if (s->nz > 0 && s->projected == NULL) return cpli_nomem(ctx);
  }
  cpl_solver_def def = s->def;
  const cpli_method* method = cpli_method_of(def.kind);
  s->multistep = method->multistep;
  if (s->all == 0) {  // nothing to integrate: one step to every requested point
    if (!(def.step > 0)) def.step = INFINITY;
    def.kind = CPL_SOLVER_EULER;
    s->def.stop_at_steps_end = true;
    st = cpli_fixed_create(ctx, &ode, &def, &s->stats, &s->solver);
  } else if (method->fixed && !(def.step > 0)) {
    return cpl_fail(ctx, CPL_ERR_INPUT, "solver %s needs a step", cpl_solver_name(def.kind));
  } else {
    bool projected = method->projected != NULL && ode.project != NULL;
    s->def.stop_at_steps_end = s->def.stop_at_steps_end || method->not_dense;
    st = (projected ? method->projected : method->create)(ctx, &ode, &def, &s->stats, &s->solver);
  }
  if (st >= 0) s->solver->name = s->base.base.name, s->solver->origin = &s->t_start;
  return st;
}
