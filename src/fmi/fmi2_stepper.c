// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A stepper over a co-simulation FMU of FMI 2.0.
#include <math.h>

#include "fmi/fmi2_calls.h"

static cpli_fmi2* instance_of(cpl_stepper* s) { return (cpli_fmi2*)s; }

//------------------------------------ step ------------------------------------

static cpl_status ask_status(cpli_fmu_instance* in, int* now) {
  fmi2Status status = fmi2Pending;
  cpl_status st = cpli_fmi2GetStatus(in, fmi2DoStepStatus, &status);
  *now = status;
  return st;
}

// After fmi2Discard: reads the time reached and whether the FMU terminated; both are optional.
static cpl_status ask_why(cpli_fmi2* in, double t_end, cpl_step_result* result) {
  double reached = in->base.time;
  int terminated = fmi2False;
  if (cpli_fmi2_fn(in)->fmi2GetRealStatus == NULL ||
      cpli_fmi2GetRealStatus(&in->base, fmi2LastSuccessfulTime, &reached) != CPL_OK) {
    reached = in->base.time;
  }
  if (cpli_fmi2_fn(in)->fmi2GetBooleanStatus == NULL ||
      cpli_fmi2GetBooleanStatus(&in->base, fmi2Terminated, &terminated) != CPL_OK) {
    terminated = fmi2False;
  }
  cpl_status st = cpli_step_stopped(&in->base, "fmi2LastSuccessfulTime", reached, t_end, result);
  if (terminated != fmi2False) result->end = CPL_STEP_TERMINATE;
  return in->base.health == CPLI_GOOD ? st : CPL_ERR_MODEL;
}

static cpl_status step(cpl_stepper* s, double t_end, double t_limit, cpl_step_result* result) {
  (void)t_limit;
  cpli_fmi2* in = instance_of(s);
  *result = (cpl_step_result){.end = CPL_STEP_DONE, .time = in->base.time};
  cpl_status st = cpli_check_step(&in->base, t_end);
  if (st < 0) return st;
  double h = t_end - in->base.time;
  // FMI 2.0 requires steps greater than zero; without the extension a zero step does nothing
  if (h == 0 && !s->base.can.zero_step) return CPL_OK;
  result->event_handled = h == 0;

  st = cpli_fmi2DoStep(&in->base, h, in->base.snapshots == 0);
  if (st == CPL_RETRY && in->base.last == fmi2Pending) {
    int now = cpli_wait_for_step(&in->base, ask_status);
    st = now < 0 ? CPL_ERR_MODEL : cpli_fmi2_step_ended(in, (fmi2Status)now);
  }
  if (st < 0) return st;
  if (st == CPL_RETRY) {
    st = ask_why(in, t_end, result);
    result->again = h == 0 && result->end == CPL_STEP_EVENT;
    return st;
  }
  in->base.time = t_end;  // exactly, whatever time + h rounds to
  result->time = t_end;
  return CPL_OK;
}

//------------------------------------ inputs ------------------------------------

static cpl_status set_curve(cpl_stepper* s, uint32_t ref, const cpl_curve* curve) {
  cpli_fmi2* in = instance_of(s);
  cpli_curve_orders o = cpli_curve_now(&in->base, curve);
  cpl_status st = cpli_fmi2SetReal(&in->base, &ref, 1, &o.value);
  if (st != CPL_OK || o.n == 0) return st;
  uint32_t refs[CPLI_COUNT(o.orders)] = {ref, ref, ref};
  st = cpli_fmi2SetRealInputDerivatives(&in->base, refs, (size_t)o.n, o.orders, o.values);
  return st == CPL_OK ? st : cpli_without_derivatives(&in->base, "fmi2SetRealInputDerivatives");
}

static cpl_status max_step(cpl_stepper* s, double* h) {
  *h = NAN;
  cpli_fmi2* in = instance_of(s);
  cpl_status st = cpli_fmi2GetMaxStepSize(&in->base, h);
  // discarded: no prediction
  *h = st == CPL_OK ? cpli_step_predicted(&in->base, "fmi2GetMaxStepSize", *h) : NAN;
  return st < 0 ? st : CPL_OK;
}

static cpl_status wants_update(cpl_stepper* s, bool* wanted, double* margin) {
  int event = fmi2False;
  *margin = NAN;
  cpl_status st = cpli_coupletInputEvent(&instance_of(s)->base, &event, margin);
  *wanted = st == CPL_OK && event != fmi2False;
  return st;
}

static cpl_status output_derivatives(cpli_fmu_instance* in, const uint32_t* refs, size_t n,
                                     double* values) {
  return cpli_fmi2GetRealOutputDerivatives(in, refs, n, cpli_first_orders, values);
}

//------------------------------------ making ------------------------------------

// FMUs made by couplet stop at events and leave them to us; older ones handle them first.
static cpl_status choose_events(cpli_fmi2* in) {
  cpl_stepper* s = &in->base.head.stepper;
  cpl_status st = CPL_OK;
  if (cpli_fmi2_fn(in)->coupletLeaveEvents != NULL && cpli_fmi2_fn(in)->coupletInputEvent != NULL) {
    st = cpli_coupletLeaveEvents(&in->base, fmi2True);
    s->base.can.stops_early = s->base.can.zero_step = s->base.can.get_after_set = st == CPL_OK;
    if (st == CPL_OK) in->base.stepper_ops.wants_update = wants_update;
  } else if (cpli_fmi2_fn(in)->coupletStopAtEvents != NULL) {
    st = cpli_coupletStopAtEvents(&in->base, fmi2True);
    s->base.can.stops_early = st == CPL_OK;
  }
  return in->base.health == CPLI_GOOD ? CPL_OK : st;
}

// The standard does not say how many derivatives an FMU takes; those made by couplet do.
static cpl_status choose_order(cpli_fmi2* in) {
  int32_t* known = &in->base.head.stepper.base.can.input_derivatives;
  int order = 0;
  if (cpli_fmi2_fn(in)->fmi2SetRealInputDerivatives == NULL) *known = 0;
  if (*known == 0 || cpli_fmi2_fn(in)->coupletInputDerivativeOrder == NULL) return CPL_OK;
  cpl_status st = cpli_coupletInputDerivativeOrder(&in->base, &order);
  if (st == CPL_OK && order > *known) *known = order;
  return in->base.health == CPLI_GOOD ? CPL_OK : st;
}

static cpl_status prepare(cpli_fmi2* in) {
  cpl_stepper* s = &in->base.head.stepper;
  cpl_status st = choose_order(in);
  if (st < 0) return st;
  in->base.component_ops.kind = "fmi2-cs";
  in->base.stepper_ops = (cpl_stepper_ops){.size = sizeof(cpl_stepper_ops), .step = step};
  if (s->base.can.input_derivatives > 0) in->base.stepper_ops.set_curve = set_curve;
  if (cpli_fmi2_fn(in)->fmi2GetMaxStepSize != NULL) {
    in->base.stepper_ops.max_step = max_step;
    s->base.can.predicts = true;
  }
  cpli_offer_output_derivatives(&in->base, "fmi2GetRealOutputDerivatives", output_derivatives);
  s->ops = &in->base.stepper_ops;
  return choose_events(in);
}

cpl_status cpli_fmi2_make_stepper(cpl_source* src, const char* name, cpl_stepper** out) {
  cpli_fmi2* in = NULL;
  *out = NULL;
  cpl_status st = cpli_fmi2_create(src, name, true, &in);
  if (st < 0) return st;
  st = prepare(in);
  if (st < 0) {
    cpli_instance_destroy(&in->base.head.component);
    return st;
  }
  *out = &in->base.head.stepper;
  return CPL_OK;
}
