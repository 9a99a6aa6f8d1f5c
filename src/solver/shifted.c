// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Projection for a method whose history is not accessible (Adams of CVODE, which projects with BDF
// only): the method integrates w' = f(t, w + s), where w + s is the solution. The correction of a
// projection is added to s, and the history of w remains unchanged. The history consists of
// derivatives, which a projection changes by no more than the tolerance times df/dx, far less than
// the error test resolves; a restart instead would keep the method at order 1.
#include <math.h>

#include "model/serial.h"
#include "solver/solver.h"

enum { MAX_TRIES = 10 };
static const double too_far = 10;  // longest projection accepted, in units of the tolerance

typedef struct shifted {
  cpli_solver base;
  cpli_ode ode;  // of the solution
  cpli_solver* inner;
  double *s, *last_s;  // current shift, and the shift during the last step
  double *at, *work;   // w + s
  double *x0, *atol;   // where the last step began
  double t0, t1;       // the last step
} shifted;

static const double* shift_state(shifted* p, const double* w) {
  for (size_t i = 0; i < p->ode.n; i++) p->at[i] = w[i] + p->s[i];
  return p->at;
}

static cpl_status rhs(void* user, double t, const double* w, double* dx) {
  shifted* p = user;
  return p->ode.rhs(p->ode.user, t, shift_state(p, w), dx);
}

//------------------------------------ steps ------------------------------------

static cpl_status start(cpli_solver* base, double t, const double* x, const double* atol) {
  shifted* p = (shifted*)base;
  size_t size = p->ode.n * sizeof(double);
  memset(p->s, 0, size);
  memset(p->last_s, 0, size);
  memmove(p->atol, atol, size);
  memmove(p->x0, x, size);
  p->t0 = p->t1 = t;
  p->inner->name = base->name;
  p->inner->origin = base->origin;
  return p->inner->ops->start(p->inner, t, x, atol);
}

// From the end of the last step to x, which is then projected. CPL_RETRY: not possible.
static cpl_status try_step(shifted* p, double t_limit, double max_step, double* t, double* x) {
  for (size_t i = 0; i < p->ode.n; i++) x[i] -= p->s[i];  // also valid without a step
  cpl_status st = p->inner->ops->step(p->inner, t_limit, max_step, t, x);
  if (st < 0) return st;
  memcpy(p->last_s, p->s, p->ode.n * sizeof *x);
  memcpy(p->work, x, p->ode.n * sizeof *x);
  for (size_t i = 0; i < p->ode.n; i++) x[i] += p->s[i];
  cpl_status projected = p->ode.project(p->ode.user, *t, x, too_far);
  for (size_t i = 0; i < p->ode.n && projected == CPL_OK; i++) p->s[i] = x[i] - p->work[i];
  return projected;
}

static cpl_status step(cpli_solver* base, double t_limit, double max_step, double* t, double* x) {
  shifted* p = (shifted*)base;
  p->t0 = p->t1;
  memcpy(p->x0, x, p->ode.n * sizeof *x);
  for (int tries = 0;; tries++) {
    double reached = p->t0;
    cpl_status st = try_step(p, t_limit, max_step, &reached, x);
    if (st != CPL_RETRY) {
      *t = p->t1 = reached;
      return st;
    }
    base->stats->rejected++;
    max_step = (reached - p->t0) / 4;
    if (tries == MAX_TRIES || !(p->t0 + max_step > p->t0))
      return cpl_fail_prefix(
          base->ctx, CPL_ERR_MODEL,
          "%s: the solver stopped at t=%.12g (step %.3g): the constraints cannot "
          "be met even with the shortest step",
          base->name, cpli_solver_time(base, p->t0), max_step);
    memcpy(x, p->x0, p->ode.n * sizeof *x);
    st = start(base, p->t0, x, p->atol);
    if (st < 0) return st;
  }
}

// The shift grows linearly over the step, so that the solution is continuous.
static cpl_status interpolate(cpli_solver* base, double t, double* x) {
  shifted* p = (shifted*)base;
  double part = p->t1 > p->t0 ? fmin(fmax((t - p->t0) / (p->t1 - p->t0), 0), 1) : 1;
  cpl_status st = p->inner->ops->interpolate(p->inner, t, x);
  for (size_t i = 0; i < p->ode.n; i++) x[i] += p->last_s[i] + part * (p->s[i] - p->last_s[i]);
  return st;
}

//------------------------------------ life ------------------------------------

static void destroy(cpli_solver* base) {
  if (base == NULL) return;
  shifted* p = (shifted*)base;
  if (p->inner != NULL) p->inner->ops->destroy(p->inner);
  cpli_free(base->ctx, p->s);
  cpli_free(base->ctx, p);
}

static void history(cpli_solver* base, cpli_serial* serial) {
  shifted* p = (shifted*)base;
  double* all[] = {p->s, p->last_s, p->x0, p->atol};
  cpli_serial_real(serial, &p->t0);
  cpli_serial_real(serial, &p->t1);
  for (size_t i = 0; i < CPLI_COUNT(all); i++) cpli_serial_reals(serial, all[i], p->ode.n);
  if (p->inner->ops->history != NULL) p->inner->ops->history(p->inner, serial);
  else cpli_serial_lacks(serial, serial->c, "adams");
}

static const cpli_solver_ops ops = {.destroy = destroy,
                                    .start = start,
                                    .step = step,
                                    .interpolate = interpolate,
                                    .history = history};

cpl_status cpli_shifted_create(cpl_context* ctx, const cpli_ode* ode, const cpl_solver_def* def,
                               cpl_solver_stats* stats, cpli_solver** out) {
  *out = NULL;
  shifted* p = cpli_alloc(ctx, 1, sizeof *p);
  if (p == NULL) return cpli_nomem(ctx);
  *p = (shifted){.base = {.ops = &ops, .ctx = ctx, .name = "", .stats = stats}, .ode = *ode};
  p->s = cpli_alloc(ctx, 6 * ode->n, sizeof(double));
  cpl_status st = p->s != NULL ? CPL_OK : cpli_nomem(ctx);
  if (st >= 0) {
    p->last_s = p->s + ode->n;
    p->at = p->last_s + ode->n;
    p->work = p->at + ode->n;
    p->x0 = p->work + ode->n;
    p->atol = p->x0 + ode->n;
    cpli_ode inner = *ode;
    inner.user = p;
    inner.rhs = rhs;
    inner.project = NULL;
    inner.correct = NULL;
    inner.shift = p->s;
    st = cpli_cvode_create(ctx, &inner, def, stats, &p->inner);
  }
  if (st < 0) destroy(&p->base);
  else *out = &p->base;
  return st;
}
