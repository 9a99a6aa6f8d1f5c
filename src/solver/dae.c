// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Models with algebraic variables z that are integrated together with the states: x' = f(t, x, z),
// 0 = g(t, x, z). The solver's unknowns are x followed by z. At the start and after events,
// consistent z are solved for with the states fixed.
#include <float.h>
#include <math.h>

#include "numeric/algebra.h"
#include "solver/integrated.h"

struct cpli_dae {
  cpli_algebra algebra;
  double t;                // the point at which z is solved for
  double* x;               // states at t
  double *right, *change;  // of the model's own system
  double* block;
};

//------------------------------------ the model's form ------------------------------------

static bool wanted(const cpli_integrate* s) {
  const cpl_solver_def* def = &s->def;
  if (s->m->ops->dae == NULL || s->m->ops->structure != NULL) return false;
  return def->form == CPL_FORM_DAE ||
         (def->form == CPL_FORM_AS_FITS && cpli_method_of(def->kind)->residuals &&
          s->base.base.desc->n_algebraics > 0);
}

cpl_status cpli_dae_use(cpli_integrate* s) {
  if (s->def.form == CPL_FORM_DAE && !cpli_method_of(s->def.kind)->residuals) {
    return cpl_fail_in(s->base.base.ctx, CPL_ERR_INPUT, s->base.base.name, NULL, NAN,
                       "solver %s cannot integrate algebraic variables together with states; ida "
                       "can",
                       cpl_solver_name(s->def.kind));
  }
  if (s->def.form == CPL_FORM_DAE && s->m->ops->structure != NULL) {
    return cpl_fail_in(s->base.base.ctx, CPL_ERR_INPUT, s->base.base.name, NULL, NAN,
                       "a model of variable structure (modes) cannot be integrated together with "
                       "algebraic variables or loops as rows");
  }
  const char* broken = s->base.base.desc->form_error;
  if (broken != NULL && cpli_method_of(s->def.kind)->residuals && s->def.form != CPL_FORM_ODE) {
    return cpl_fail_in(s->base.base.ctx, CPL_ERR_INPUT, s->base.base.name, NULL, NAN,
                       "%s; without that form (form ode) it can be run", broken);
  }
  cpl_status st = wanted(s) ? s->m->ops->dae->use_residuals(s->m, &s->na) : CPL_OK;
  s->stats.algebraics = (int32_t)s->na;
  return st;
}

//------------------------------------ consistent values ------------------------------------

static cpl_status residuals(void* user, const double* z, double* g) {
  cpli_integrate* s = user;
  struct cpli_dae* k = s->dae;
  memcpy(k->x + s->n, z, s->na * sizeof *z);
  cpl_status st = cpli_set_point(s, k->t, k->x);
  if (st == CPL_OK) st = s->m->ops->dae->get_residuals(s->m, g);
  double sum = 0;
  for (size_t i = 0; i < s->na && st == CPL_OK; i++) sum += g[i] - g[i];
  return sum == 0 ? st : CPL_RETRY;
}

static cpl_status own_factor(void* user) {
  cpli_integrate* s = user;
  cpli_multipliers_leave(s);
  return s->m->ops->newton->setup(s->m, 0, true);
}

static cpl_status own_solve(void* user, const double* g, double* step) {
  cpli_integrate* s = user;
  struct cpli_dae* k = s->dae;
  memset(k->right, 0, s->all * sizeof *g);
  memcpy(k->right + s->n, g, s->na * sizeof *g);
  cpl_status st = s->m->ops->newton->solve(s->m, k->right, k->change);
  memcpy(step, k->change + s->n, s->na * sizeof *step);
  return st;
}

static const char* name_of(const cpli_integrate* s, int32_t algebraic) {
  const cpl_description* d = s->base.base.desc;
  if (algebraic < 0 || algebraic >= d->n_algebraics || d->algebraics[algebraic] < 0) return NULL;
  return d->vars[d->algebraics[algebraic]].name;
}

static cpl_status no_way(const cpli_integrate* s) {
  const struct cpli_dae* k = s->dae;
  const char* culprit = name_of(s, k->algebra.bad);
  double max = 0;
  for (size_t i = 0; i < s->na; i++) max = fmax(max, fabs(k->algebra.g[i]));
  if (k->algebra.bad >= 0) {
    return cpl_fail_in(s->base.base.ctx, CPL_ERR_MODEL, s->base.base.name, culprit, s->t,
                       "the residuals do not determine %s at t=%.12g: they do not depend on it, "
                       "or only in combination with others",
                       culprit != NULL ? culprit : "an algebraic variable", s->t);
  }
  return cpl_fail_prefix(
      s->base.base.ctx, CPL_ERR_MODEL,
      "%s: no algebraic variables were found that are consistent with the states at "
      "t=%.12g (largest residual %.3g)",
      s->base.base.name, s->t, max);
}

cpl_status cpli_dae_solve(cpli_integrate* s, double t, double* x) {
  struct cpli_dae* k = s->dae;
  double since = cpli_clock_if(s);
  k->t = t;
  memcpy(k->x, x, s->all * sizeof *x);
  memcpy(k->algebra.nominal, s->nominal + s->n, s->na * sizeof(double));
  k->algebra.ready = false;  // an event may have changed the system
  cpl_status st = cpli_algebra_solve(&k->algebra, x + s->n);
  cpli_account(s, since);
  return st;
}

cpl_status cpli_dae_consistent(cpli_integrate* s) {
  cpl_status st = cpli_dae_solve(s, s->t, s->x);
  return st == CPL_RETRY ? no_way(s) : st;
}

// Shortly later, where the states have moved along their slopes, the residuals show how far z has
// moved. A first step needs only its order of magnitude.
cpl_status cpli_dae_slopes(void* user, double t, const double* x, double* dx) {
  cpli_integrate* s = user;
  struct cpli_dae* k = s->dae;
  double fastest = 0;
  memset(dx + s->n, 0, (s->na + s->nm) * sizeof *dx);
  if (s->na == 0) return CPL_OK;
  for (size_t i = 0; i < s->n; i++)
    fastest = fmax(fastest, fabs(dx[i]) / (fabs(x[i]) + s->nominal[i]));
  double length = isfinite(s->t_stop) ? s->t_stop - s->t_start
                  : fastest > 0       ? 1 / fastest
                                      : fmax(fabs(t), 1);
  double later = sqrt(DBL_EPSILON) * length;
  if (fastest * later > 1e-4) later = 1e-4 / fastest;
  later = fmax(later, 1e4 * DBL_EPSILON * fabs(t));  // distinguishable from t
  k->t = t + later;
  // no model has to be evaluated past those limits, and an equal time gives no slope
  if (k->t > fmin(s->t_stop, s->next_time) || !(k->t > t)) return CPL_OK;
  for (size_t i = 0; i < s->n; i++) k->x[i] = x[i] + later * dx[i];
  cpl_status st = residuals(s, x + s->n, k->algebra.g);
  if (st == CPL_OK) st = cpli_algebra_apply(&k->algebra, k->algebra.g, k->algebra.step);
  for (size_t i = 0; i < s->na && st == CPL_OK; i++)
    dx[s->n + i] = -k->algebra.step[i] / (k->t - t);
  return st < 0 ? st : cpli_set_point(s, t, x);
}

//------------------------------------ life ------------------------------------

cpl_status cpli_dae_make(cpli_integrate* s) {
  cpl_context* ctx = s->base.base.ctx;
  if (s->na + s->nm == 0) return CPL_OK;
  struct cpli_dae* k = cpli_alloc(ctx, 1, sizeof *k);
  if (k == NULL) return cpli_nomem(ctx);
  s->dae = k;
  bool own = s->m->ops->newton != NULL;
  k->algebra = (cpli_algebra){.n = s->na,
                              .user = s,
                              .residuals = residuals,
                              .factor = own ? own_factor : NULL,
                              .solve = own ? own_solve : NULL};
  cpl_status st = cpli_algebra_init(&k->algebra, ctx);
  k->block = cpli_alloc(ctx, 3 * s->all, sizeof(double));
  if (st < 0 || k->block == NULL) return cpli_nomem(ctx);
  k->x = k->block;
  k->right = k->x + s->all;
  k->change = k->right + s->all;
  return own ? CPL_OK : cpli_dae_jacobian_make(s);
}

// The model's own system is part of the model's history.
void cpli_dae_list(cpli_integrate* s, cpli_serial* serial) {
  cpli_serial_same(serial, s->dae != NULL);
  if (s->dae == NULL || serial->st < 0) return;
  cpli_serial_bool(serial, &s->dae->algebra.own_increments);
  cpli_dae_jacobian_list(s, serial);
}

void cpli_dae_destroy(cpli_integrate* s) {
  struct cpli_dae* k = s->dae;
  if (k == NULL) return;
  cpli_algebra_free(&k->algebra);
  cpli_free(s->base.base.ctx, k->block);
  cpli_free(s->base.base.ctx, k);
}

//------------------------------------ names ------------------------------------

bool cpl_loops_by_name(const char* name, cpl_form* form) {
  bool rows = strcmp(name, "as-rows") == 0;
  if (!rows && strcmp(name, "nested") != 0) return false;
  if (rows) *form = CPL_FORM_DAE;
  else if (*form == CPL_FORM_DAE) *form = CPL_FORM_AS_FITS;
  return true;
}

static const char* const form_names[] = {
    [CPL_FORM_AS_FITS] = "auto", [CPL_FORM_ODE] = "ode", [CPL_FORM_DAE] = "dae"};

bool cpl_form_by_name(const char* name, cpl_form* out) {
  int32_t i = cpli_find_text(form_names, CPLI_COUNT(form_names), name);
  if (i >= 0) *out = (cpl_form)i;
  return i >= 0;
}

const char* cpl_form_name(cpl_form form) { return form_names[form]; }
