// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// What an event does to the adjoint variables: lambda- = S' lambda+ with S = dx+/dx- at a fixed
// time. A column of S is a central difference: the model is brought back to before the event with
// one state a little changed, is moved along its slopes to the time at which it has the event
// itself, is updated there, and is moved back along the slopes after the event.
#include <float.h>
#include <math.h>
#include <stdio.h>

#include "analysis/adjoint.h"

enum { MAX_ROUNDS = 1000, MAX_ITERATIONS = 8 };
static const double beyond = 1e-9;  // as in sensitivity_events.c

typedef struct column {
  cpli_adjoint* a;
  const cpli_jump* j;
  cpl_model* m;
  double *x, *to;             // before and after the event, changed
  double *z, *slopes, *z_at;  // indicators
  double* reals;              // discrete ones after it, for one side and the other
} column;

static cpl_status fail(const column* k, size_t state, const char* why) {
  const cpl_description* d = k->m->base.desc;
  const char* name = d->vars[d->states[state]].name;
  return cpl_fail_in(k->m->base.ctx, CPL_ERR_MODEL, k->a->s.base.base.name, name, k->j->t,
                     "no adjoint gradients across the event at t=%.12g: with another %s %s; "
                     "sensitivities without --adjoint may go across it",
                     k->j->t, name, why);
}

//------------------------------------ one column ------------------------------------

static cpl_status go_back(const column* k) {
  return k->m->base.ops->restore(&k->m->base, &k->j->saved[0]);
}

static cpl_status move(column* k, double shift) {
  size_t n = k->a->s.n;
  for (size_t i = 0; i < n; i++) k->to[i] = k->x[i] + shift * k->j->f_before[i];
  cpl_status st = k->m->ops->set_time(k->m, k->j->t + shift);
  return st == CPL_OK ? k->m->ops->set_states(k->m, k->to) : st;
}

// The indicators at the event, and their slopes along the solution.
static cpl_status get_slopes(column* k) {
  size_t nz = k->a->s.nz;
  if (!k->j->crosses) return CPL_OK;
  double h = k->j->step > 0 ? 1e-3 * k->j->step : 1e-9 * fmax(1, fabs(k->j->t));
  memcpy(k->x, k->j->before, k->a->s.n * sizeof *k->x);
  cpl_status st = go_back(k);
  if (st == CPL_OK) st = move(k, -h);
  if (st == CPL_OK) st = k->m->ops->get_indicators(k->m, k->slopes);
  if (st == CPL_OK) st = move(k, 0);
  if (st == CPL_OK) st = k->m->ops->get_indicators(k->m, k->z);
  for (size_t i = 0; i < nz; i++) k->slopes[i] = (k->z[i] - k->slopes[i]) / h;
  return st;
}

// Where an indicator has just passed zero, by as much on both sides.
static cpl_status find_shift(column* k, size_t i, double* shift) {
  double t = k->j->t, begun = k->a->s.t_start, slope = k->slopes[i];
  double resolution = DBL_EPSILON * fmax(fabs(t), t - begun);
  double past =
      fmax(fmax(16 * resolution, beyond * k->j->longest) * fabs(slope), 4 * fabs(k->z[i]));
  double target = k->z[i] > 0 ? past : -past, error = INFINITY;
  *shift = 0;
  for (int n = 0; n < MAX_ITERATIONS && slope != 0; n++) {
    cpl_status st = move(k, *shift);
    if (st == CPL_OK) st = k->m->ops->get_indicators(k->m, k->z_at);
    if (st != CPL_OK) return st;
    error = k->z_at[i] - target;
    if (fabs(error) <= resolution * fabs(slope)) break;
    *shift -= error / slope;
    if (!(fabs(*shift) <= 1e-2 * fmax(t - begun, 1e-6 * fabs(t)))) return CPL_RETRY;
  }
  return fabs(error) <= 0.5 * past ? CPL_OK : CPL_RETRY;
}

static cpl_status find_time(column* k, size_t state, double* shift) {
  bool any = false;
  *shift = 0;
  for (size_t i = 0; i < k->a->s.nz && k->j->crosses; i++) {
    double own = 0;
    if (!k->j->crossed[i]) continue;
    cpl_status st = find_shift(k, i, &own);
    if (st == CPL_RETRY) return fail(k, state, "its time changes too much to be differentiated");
    if (st != CPL_OK) return st;
    if (any && fabs(own - *shift) > 1e-4 * fabs(*shift) + 1e-3 * DBL_EPSILON)
      return fail(k, state, "several events are no longer at one instant");
    *shift = any ? fmax(own, *shift) : own;
    any = true;
  }
  if (k->j->due && fabs(*shift) > 0)
    return fail(k, state, "a state event and a time event are no longer at one instant");
  return CPL_OK;
}

static cpl_status update(column* k, size_t state) {
  cpl_event_info info = {.again = true};
  cpl_status st = k->m->ops->enter_event(k->m);
  for (int rounds = 0; st == CPL_OK && info.again; rounds++) {
    if (rounds == MAX_ROUNDS) return fail(k, state, "it does not settle");
    info = (cpl_event_info){.next_time = INFINITY};
    st = k->m->ops->event_update(k->m, &info);
  }
  if (st == CPL_OK && info.terminate) return fail(k, state, "it ends the run");
  if (st == CPL_OK && info.next_time != k->j->next &&
      !(fabs(info.next_time - k->j->next) <= 4 * DBL_EPSILON * fabs(k->j->next)))
    return fail(k, state, "the time of the next time event is another one");
  return st == CPL_OK ? k->m->ops->enter_continuous(k->m) : st;
}

// A state that jumps with the model is near it afterwards.
static cpl_status compare(const column* k, size_t state, double shift) {
  static const double near = 0.01, far = 0.3;
  for (size_t i = 0; i < k->a->s.n; i++) {
    double jump = fabs(k->j->after[i] - k->j->before[i]);
    double moved = fabs(k->x[i] - k->j->before[i] + shift * k->j->f_before[i]);
    if (jump > 0 && moved <= near * jump && fabs(k->to[i] - k->j->after[i]) > far * jump)
      return fail(k, state, "states jump elsewhere");
  }
  return CPL_OK;
}

// The states after the event, at its own time, where one before it is another: in k->to.
static cpl_status jump_from(column* k, size_t state, double h, double* shift, double* reals) {
  size_t n = k->a->s.n;
  bool ignored = false, ends = false;
  memcpy(k->x, k->j->before, n * sizeof *k->x);
  k->x[state] += h;
  cpl_status st = go_back(k);
  if (st == CPL_OK) st = find_time(k, state, shift);
  if (st == CPL_OK) st = move(k, *shift);
  if (st == CPL_OK) st = k->m->ops->completed_step(k->m, &ignored, &ends);
  if (st == CPL_OK) st = update(k, state);
  if (st == CPL_OK) st = k->m->ops->get_states(k->m, k->to);
  if (st == CPL_OK && k->a->n_reals > 0)
    st = k->m->base.ops->get_real(&k->m->base, k->a->reals, k->a->n_reals, reals);
  if (st != CPL_OK) return st < 0 ? st : CPL_ERR_MODEL;
  for (size_t i = 0; i < n; i++) k->to[i] -= *shift * k->j->f_after[i];
  return compare(k, state, *shift);
}

// Of a discrete Real that depends on states, a derivative would have to be carried on.
static cpl_status check_reals(const column* k, size_t state) {
  const cpl_description* d = k->m->base.desc;
  size_t n = k->a->n_reals;
  for (size_t i = 0; i < n; i++) {
    if (k->reals[i] == k->reals[n + i]) continue;
    const char* name = "";
    for (int32_t v = 0; v < d->n_vars; v++) {
      if (d->vars[v].type == CPL_REAL && d->vars[v].ref == k->a->reals[i] &&
          d->vars[v].alias_of < 0)
        name = d->vars[v].name;
    }
    return cpl_fail_in(k->m->base.ctx, CPL_ERR_UNSUPPORTED, k->a->s.base.base.name, name, k->j->t,
                       "no adjoint gradients across the event at t=%.12g: the discrete variable %s "
                       "depends on %s; sensitivities without --adjoint follow it",
                       k->j->t, name, d->vars[d->states[state]].name);
  }
  return CPL_OK;
}

//------------------------------------ all ------------------------------------

// difference: dx+ (n) and the time, by the state before.
static cpl_status differentiate(column* k, size_t state, double nominal, double* difference) {
  size_t n = k->a->s.n;
  double at = k->j->before[state], shift[2] = {0, 0};
  double h = cbrt(DBL_EPSILON) * fmax(fabs(at), nominal), width = (at + h) - (at - h);
  cpl_status st = jump_from(k, state, h, &shift[0], k->reals);
  if (st != CPL_OK) return st;
  memcpy(difference, k->to, n * sizeof *k->to);
  st = jump_from(k, state, -h, &shift[1], k->reals + k->a->n_reals);
  if (st != CPL_OK) return st;
  for (size_t i = 0; i < n; i++) difference[i] = (difference[i] - k->to[i]) / width;
  difference[n] = (shift[0] - shift[1]) / width;
  return check_reals(k, state);
}

static cpl_status jump_all(column* k, const double* nominal, double* difference, double* lambda,
                           size_t stride, double* before) {
  cpli_adjoint* a = k->a;
  size_t n = a->s.n, of = a->s.n_of;
  cpl_status st = get_slopes(k);
  for (size_t state = 0; state < n && st == CPL_OK; state++) {
    st = differentiate(k, state, nominal[state], difference);
    for (size_t s = 0; s < of; s++) {
      double sum =
          a->scalars[s].integral ? (k->j->y_before[s] - k->j->y_after[s]) * difference[n] : 0;
      for (size_t i = 0; i < n; i++) sum += lambda[stride * s + i] * difference[i];
      before[n * s + state] = sum;
    }
  }
  if (st != CPL_OK) return st;
  for (size_t s = 0; s < of; s++) memcpy(lambda + stride * s, before + n * s, n * sizeof *before);
  return CPL_OK;
}

cpl_status cpli_adjoint_jump(cpli_adjoint* a, const cpli_jump* j, double* lambda, size_t stride) {
  size_t n = a->s.n, nz = a->s.nz, of = a->s.n_of;
  cpl_context* ctx = a->s.base.base.ctx;
  if (!j->changes && a->n_reals == 0) return CPL_OK;
  double* room = cpli_alloc(ctx, 4 * n + 1 + 3 * nz + 2 * a->n_reals + of * n, sizeof *room);
  if (room == NULL) return cpli_nomem(ctx);
  column k = {.a = a, .j = j, .m = a->s.m, .x = room, .to = room + n};
  double *nominal = room + 2 * n, *difference = room + 3 * n, *before = difference + n + 1;
  k.z = before + of * n;
  k.slopes = k.z + nz;
  k.z_at = k.slopes + nz;
  k.reals = k.z_at + nz;
  cpl_status st = k.m->ops->get_nominals(k.m, nominal);
  if (st == CPL_OK) st = jump_all(&k, nominal, difference, lambda, stride, before);
  cpli_free(ctx, room);
  return st == CPL_RETRY ? CPL_ERR_MODEL : st;
}
