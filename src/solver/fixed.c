// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Explicit methods with a fixed step, each stage of which uses the slope of the one before: one row
// of coefficients per method. Events are located by shorter steps from the beginning of the last
// one, so that the state at an event has the order of the method.
#include <math.h>

#include "model/serial.h"
#include "solver/solver.h"

enum { MAX_STAGES = 4 };

typedef struct coefficients {
  int n;                                        // stages
  double node[MAX_STAGES], weight[MAX_STAGES];  // of each stage: its time, its share in the step
} coefficients;

static const coefficients methods[] = {
    [CPL_SOLVER_EULER] = {1, {0}, {1}},
    [CPL_SOLVER_HEUN] = {2, {0, 1}, {0.5, 0.5}},
    [CPL_SOLVER_RK4] = {4, {0, 0.5, 0.5, 1}, {1.0 / 6, 1.0 / 3, 1.0 / 3, 1.0 / 6}},
};

typedef struct fixed {
  cpli_solver base;
  cpli_ode ode;
  double h;
  const coefficients* method;
  double t0, t1;    // the last step
  double *x0, *x1;  // its ends
  double *d0, *d1;  // derivatives at its ends
  double *k, *stage, *sum;
  bool d0_known;  // d0 belongs to (t1, x1)
  double*
      growth;  // growth of the increments of each state while they alternate in sign and increase
} fixed;

static cpl_status rhs(fixed* s, double t, const double* x, double* dx) {
  s->base.stats->rhs_evals++;
  return s->ode.rhs(s->ode.user, t, x, dx);
}

// x = one step of length h from (t, x0), whose derivative is d0.
static cpl_status advance(fixed* s, double t, double h, double* x) {
  const coefficients* m = s->method;
  size_t n = s->ode.n;
  for (size_t i = 0; i < n; i++) s->sum[i] = m->weight[0] * s->d0[i];
  const double* before = s->d0;
  for (int k = 1; k < m->n; k++) {
    for (size_t i = 0; i < n; i++) s->stage[i] = s->x0[i] + m->node[k] * h * before[i];
    cpl_status st = rhs(s, t + m->node[k] * h, s->stage, s->k);
    if (st != CPL_OK) return st;
    for (size_t i = 0; i < n; i++) s->sum[i] += m->weight[k] * s->k[i];
    before = s->k;
  }
  for (size_t i = 0; i < n; i++) x[i] = s->x0[i] + h * s->sum[i];
  return CPL_OK;
}

// A step that is too long for the model makes states alternate with growing amplitude. A single
// step counts for no more than a doubling: the first one may start from rest.
static cpl_status watch_swings(fixed* s) {
  static const double too_wide = 1e5;
  for (size_t i = 0; i < s->ode.n; i++) {
    double before = s->d0[i], now = s->d1[i];
    bool wider = now * before < 0 && fabs(now) >= fabs(before);
    s->growth[i] = wider ? s->growth[i] * fmin(2, fabs(now / before)) : 1;
    if (s->growth[i] < too_wide) continue;
    return cpl_fail_in(
        s->base.ctx, CPL_ERR_SOLVER, s->base.name, s->ode.name(s->ode.user, i),
        cpli_solver_time(&s->base, s->t1),
        "the solution runs away: %s is %.3g at t=%.12g and oscillates ever wider from "
        "step to step; the step %g is too long for this model: take a shorter one or "
        "another solver",
        s->ode.name(s->ode.user, i), s->x1[i], cpli_solver_time(&s->base, s->t1), s->h);
  }
  return CPL_OK;
}

static cpl_status whole_step(fixed* s, double h) {
  cpl_status st = advance(s, s->t0, h, s->x1);
  if (st == CPL_OK && s->ode.project != NULL)
    st = s->ode.project(s->ode.user, s->t0 + h, s->x1, INFINITY);
  return st;
}

//------------------------------------ steps ------------------------------------

static cpl_status start(cpli_solver* base, double t, const double* x, const double* atol) {
  fixed* s = (fixed*)base;
  (void)atol;
  s->t0 = s->t1 = t;
  memcpy(s->x1, x, s->ode.n * sizeof *x);
  s->d0_known = false;
  for (size_t i = 0; i < s->ode.n; i++) s->growth[i] = 1;
  base->stats->restarts++;
  return CPL_OK;
}

static void swap(double** a, double** b) {
  double* kept = *a;
  *a = *b;
  *b = kept;
}

static cpl_status step(cpli_solver* base, double t_limit, double max_step, double* t, double* x) {
  fixed* s = (fixed*)base;
  double h = fmin(s->h, max_step);
  s->t0 = s->t1;
  if (!(t_limit > s->t1)) {  // below the resolution of the solver's time
    memcpy(s->x0, s->x1, s->ode.n * sizeof *x);
    memcpy(s->d0, s->d1, s->ode.n * sizeof *x);
    memcpy(x, s->x1, s->ode.n * sizeof *x);
    *t = t_limit;
    return CPL_OK;
  }
  s->t1 = s->t0 + h;
  // a last step that is longer than the others by a rounding error is one step, not two
  if (s->t1 > t_limit || t_limit - s->t1 < 1e-9 * h) s->t1 = t_limit;
  if (!(s->t1 > s->t0)) {
    return cpl_fail_in(base->ctx, CPL_ERR_SOLVER, base->name, NULL, cpli_solver_time(base, s->t0),
                       "the step %g is too short to advance the time t=%.12g", h,
                       cpli_solver_time(base, s->t0));
  }
  swap(&s->x0, &s->x1);
  swap(&s->d0, &s->d1);
  cpl_status st = s->d0_known ? CPL_OK : rhs(s, s->t0, s->x0, s->d0);
  if (st == CPL_OK) st = whole_step(s, s->t1 - s->t0);
  if (st == CPL_OK) st = rhs(s, s->t1, s->x1, s->d1);  // for the next step and for interpolation
  if (st == CPL_RETRY)
    return cpl_fail_prefix(base->ctx, CPL_ERR_MODEL,
                           "%s: a solver with a fixed step cannot try a shorter one at t=%.12g",
                           base->name, cpli_solver_time(base, s->t0));
  if (st == CPL_OK) st = watch_swings(s);
  if (st < 0) return st;
  s->d0_known = true;
  base->stats->steps++;
  *t = s->t1;
  memcpy(x, s->x1, s->ode.n * sizeof *x);
  return CPL_OK;
}

static cpl_status again(cpli_solver* base, double h, double* x) {
  fixed* s = (fixed*)base;
  cpl_status st = whole_step(s, h);
  s->t1 = s->t0 + h;
  if (st == CPL_OK) st = rhs(s, s->t1, s->x1, s->d1);
  memcpy(x, s->x1, s->ode.n * sizeof *x);
  return st;
}

// Cubic Hermite interpolation between the ends of the step; Euler: linear, in line with its order.
static cpl_status interpolate(cpli_solver* base, double t, double* x) {
  fixed* s = (fixed*)base;
  double h = s->t1 - s->t0;
  double r = h > 0 ? (t - s->t0) / h : 1;
  for (size_t i = 0; i < s->ode.n; i++) {
    double d = s->x1[i] - s->x0[i];
    x[i] = s->x0[i] + r * d;
    if (s->method->n > 1)
      x[i] += r * (r - 1) * ((1 - 2 * r) * d + h * ((r - 1) * s->d0[i] + r * s->d1[i]));
  }
  return CPL_OK;
}

//------------------------------------ create ------------------------------------

static void destroy(cpli_solver* base) {
  if (base == NULL) return;
  fixed* s = (fixed*)base;
  double* all[] = {s->x0, s->x1, s->d0, s->d1, s->k, s->stage, s->sum, s->growth};
  for (size_t i = 0; i < CPLI_COUNT(all); i++) cpli_free(base->ctx, all[i]);
  cpli_free(base->ctx, s);
}

static void history(cpli_solver* base, cpli_serial* serial) {
  fixed* s = (fixed*)base;
  double* all[] = {s->x0, s->x1, s->d0, s->d1, s->growth};
  cpli_serial_real(serial, &s->t0);
  cpli_serial_real(serial, &s->t1);
  cpli_serial_bool(serial, &s->d0_known);
  for (size_t i = 0; i < CPLI_COUNT(all); i++) cpli_serial_reals(serial, all[i], s->ode.n);
}

static const cpli_solver_ops ops = {.destroy = destroy,
                                    .start = start,
                                    .step = step,
                                    .interpolate = interpolate,
                                    .again = again,
                                    .history = history};

cpl_status cpli_fixed_create(cpl_context* ctx, const cpli_ode* ode, const cpl_solver_def* def,
                             cpl_solver_stats* stats, cpli_solver** out) {
  *out = NULL;
  fixed* s = cpli_alloc(ctx, 1, sizeof *s);
  if (s == NULL) return cpli_nomem(ctx);
  *s = (fixed){.base = {.ops = &ops, .ctx = ctx, .name = "", .stats = stats},
               .ode = *ode,
               .h = def->step,
               .method = &methods[def->kind]};
  size_t n = ode->n;
  double** of_states[] = {&s->x0, &s->x1, &s->d0, &s->d1, &s->stage, &s->sum, &s->growth};
  bool fine = (s->k = cpli_alloc(ctx, n, sizeof(double))) != NULL;
  for (size_t i = 0; i < CPLI_COUNT(of_states); i++)
    fine = (*of_states[i] = cpli_alloc(ctx, n, sizeof(double))) != NULL && fine;
  if (!fine) {
    destroy(&s->base);
    return cpli_nomem(ctx);
  }
  *out = &s->base;
  return CPL_OK;
}
