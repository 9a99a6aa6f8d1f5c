// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A stepper over a co-simulation FMU of FMI 2.0.
#include <math.h>
#include <time.h>

#include "fmi/fmi2_calls.h"

static cpli_fmi2* instance_of(cpl_stepper* s) { return (cpli_fmi2*)s; }

static cpl_status exit_init(cpl_component* c) {
  return cpli_fmi2_exit_init((cpli_fmi2*)c, CPLI_FMI2_STEPPING);
}

//------------------------------------ step ------------------------------------

// An asynchronous FMU computes on while we ask, at growing intervals.
static cpl_status wait_for_step(cpli_fmi2* in) {
  fmi2Status now = fmi2Pending;
  for (long pause = 1000; now == fmi2Pending; pause = pause < 5000000 ? 2 * pause : pause) {
    struct timespec ts = {.tv_nsec = pause};
    nanosleep(&ts, NULL);
    cpl_status st = cpli_fmi2GetStatus(in, fmi2DoStepStatus, &now);
    if (st < 0) return st;
    if (st != CPL_OK) now = fmi2Error;  // it cannot tell: there is nothing to wait for
  }
  return cpli_fmi2_step_ended(in, now);
}

// After fmi2Discard: how far did it come, and why did it stop? Neither question needs an answer.
static void ask_why(cpli_fmi2* in, double t_end, cpl_step_result* result) {
  double reached = in->time;
  int terminated = fmi2False;
  if (in->fn.fmi2GetRealStatus == NULL ||
      cpli_fmi2GetRealStatus(in, fmi2LastSuccessfulTime, &reached) != CPL_OK) {
    reached = in->time;
  }
  if (in->fn.fmi2GetBooleanStatus == NULL ||
      cpli_fmi2GetBooleanStatus(in, fmi2Terminated, &terminated) != CPL_OK) {
    terminated = fmi2False;
  }
  if (!(reached >= in->time)) reached = in->time;  // NaN too
  if (reached > t_end) reached = t_end;
  in->time = reached;
  result->time = reached;
  result->end = terminated != fmi2False              ? CPL_STEP_TERMINATE
                : in->head.component.can.stops_early ? CPL_STEP_EVENT
                                                     : CPL_STEP_REFUSED;
}

static cpl_status step(cpl_stepper* s, double t_end, double t_limit, cpl_step_result* result) {
  (void)t_limit;
  cpli_fmi2* in = instance_of(s);
  *result = (cpl_step_result){.end = CPL_STEP_DONE, .time = in->time};
  double h = t_end - in->time;
  if (!(h >= 0)) {
    return cpl_fail(s->base.ctx, CPL_ERR_INPUT, "%s: cannot step from t=%.12g back to t=%.12g",
                    in->name, in->time, t_end);
  }
  // FMI 2.0 demands steps greater than zero; to those who did not ask for more it is no step at all
  if (h == 0 && !s->base.can.zero_step) return CPL_OK;

  cpl_status st = cpli_fmi2DoStep(in, h, in->snapshots == 0);
  if (st == CPL_RETRY && in->last == fmi2Pending) st = wait_for_step(in);
  if (st < 0) return st;
  if (st == CPL_RETRY) {
    ask_why(in, t_end, result);
    return in->health == CPLI_FMI2_GOOD ? CPL_OK : CPL_ERR_MODEL;
  }
  in->time = t_end;  // exactly, whatever time + h rounds to
  result->time = t_end;
  return CPL_OK;
}

//------------------------------------ inputs ------------------------------------

// The k-th derivative of the curve's polynomial at t.
static double derivative_at(const cpl_curve* curve, double t, int k) {
  double sum = 0, dt = t - curve->from;
  for (int i = curve->order; i >= k; i--) {
    double factor = 1;
    for (int j = 0; j < k; j++) factor *= i - j;
    sum = sum * dt + factor * curve->coefficient[i];
  }
  return sum;
}

static cpl_status set_curve(cpl_stepper* s, uint32_t ref, const cpl_curve* curve) {
  cpli_fmi2* in = instance_of(s);
  double value = curve->value != NULL ? curve->value(curve->user, in->time)
                                      : derivative_at(curve, in->time, 0);
  cpl_status st = cpli_fmi2SetReal(in, &ref, 1, &value);
  if (st != CPL_OK) return st;

  // every order the FMU knows is set each time: a curve that became flat must not leave a slope
  enum { MOST = CPLI_COUNT(curve->coefficient) - 1 };
  uint32_t refs[MOST];
  int orders[MOST], n = s->base.can.input_derivatives < MOST ? s->base.can.input_derivatives : MOST;
  double values[MOST];
  for (int k = 1; k <= n; k++) {
    refs[k - 1] = ref;
    orders[k - 1] = k;
    values[k - 1] = curve->value != NULL ? 0 : derivative_at(curve, in->time, k);
  }
  return cpli_fmi2SetRealInputDerivatives(in, refs, (size_t)n, orders, values);
}

static cpl_status max_step(cpl_stepper* s, double* h) {
  *h = INFINITY;
  cpl_status st = cpli_fmi2GetMaxStepSize(instance_of(s), h);
  if (st != CPL_OK || !(*h > 0)) *h = INFINITY;
  return st < 0 ? st : CPL_OK;
}

//------------------------------------ making ------------------------------------

static cpl_status prepare(cpli_fmi2* in) {
  cpl_stepper* s = &in->head.stepper;
  if (in->fn.fmi2SetRealInputDerivatives == NULL) s->base.can.input_derivatives = 0;
  in->component_ops.kind = "fmi2-cs";
  in->component_ops.exit_init = exit_init;
  in->stepper_ops = (cpl_stepper_ops){.step = step};
  if (s->base.can.input_derivatives > 0) in->stepper_ops.set_curve = set_curve;
  if (in->fn.fmi2GetMaxStepSize != NULL) {
    in->stepper_ops.max_step = max_step;
    s->base.can.predicts = true;
  }
  s->ops = &in->stepper_ops;
  if (in->fn.coupletStopAtEvents == NULL) return CPL_OK;
  cpl_status st = cpli_coupletStopAtEvents(in, fmi2True);
  s->base.can.stops_early = st == CPL_OK;
  return in->health == CPLI_FMI2_GOOD ? CPL_OK : st;
}

cpl_status cpli_fmi2_make_stepper(cpl_source* src, const char* name, cpl_stepper** out) {
  cpli_fmi2* in = NULL;
  *out = NULL;
  cpl_status st = cpli_fmi2_create(src, name, fmi2CoSimulation, &in);
  if (st < 0) return st;
  st = prepare(in);
  if (st < 0) {
    cpli_fmi2_destroy(&in->head.component);
    return st;
  }
  *out = &in->head.stepper;
  return CPL_OK;
}
