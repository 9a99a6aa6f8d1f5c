// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A stepper over a stand-alone co-simulation FMU of FMI 1.0.
#include <math.h>
#include <time.h>

#include "fmi/fmi1_calls.h"

static cpli_fmi1* instance_of(cpl_stepper* s) { return (cpli_fmi1*)s; }

//------------------------------------ step ------------------------------------

static cpl_status ask_status(cpli_fmu_instance* in, int* now) {
  fmiStatus status = fmiPending;
  cpl_status st = cpli_fmiGetStatus(in, fmiDoStepStatus, &status);
  *now = status;
  return st;
}

// After fmiDiscard: reads the time reached, which is optional.
static cpl_status ask_why(cpli_fmi1* in, double t_end, cpl_step_result* result) {
  double reached = in->base.time;
  if (cpli_fmi1_fn(in)->fmiGetRealStatus == NULL ||
      cpli_fmiGetRealStatus(&in->base, fmiLastSuccessfulTime, &reached) != CPL_OK) {
    reached = in->base.time;
  }
  cpl_status st = cpli_step_stopped(&in->base, "fmiLastSuccessfulTime", reached, t_end, result);
  return in->base.health == CPLI_GOOD ? st : CPL_ERR_MODEL;
}

static cpl_status step(cpl_stepper* s, double t_end, double t_limit, cpl_step_result* result) {
  (void)t_limit;
  cpli_fmi1* in = instance_of(s);
  *result = (cpl_step_result){.end = CPL_STEP_DONE, .time = in->base.time};
  cpl_status st = cpli_check_step(&in->base, t_end);
  double h = t_end - in->base.time;
  if (st < 0 || (h == 0 && !s->base.can.zero_step)) return st;
  st = cpli_fmiDoStep(&in->base, h);
  if (st == CPL_RETRY && in->base.last == fmiPending) {
    int now = cpli_wait_for_step(&in->base, ask_status);
    st = now < 0 ? CPL_ERR_MODEL : cpli_fmi1_step_ended(in, (fmiStatus)now);
  }
  if (st < 0) return st;
  if (st == CPL_RETRY) return ask_why(in, t_end, result);
  in->base.time = t_end;  // exactly, whatever time + h rounds to
  result->time = t_end;
  return CPL_OK;
}

//------------------------------------ inputs ------------------------------------

static cpl_status set_curve(cpl_stepper* s, uint32_t ref, const cpl_curve* curve) {
  cpli_fmi1* in = instance_of(s);
  cpl_component* c = &s->base;
  cpli_curve_orders o = cpli_curve_now(&in->base, curve);
  cpl_status st = c->ops->set_real(c, &ref, 1, &o.value);
  if (st != CPL_OK || o.n == 0) return st;
  const cpli_slot* slot = in->base.fmu->slots != NULL ? &in->base.fmu->slots[ref] : NULL;
  uint32_t refs[CPLI_COUNT(o.orders)];
  for (int k = 0; k < o.n; k++) {
    refs[k] = slot != NULL ? slot->value_ref : ref;
    if (slot != NULL && slot->negated) o.values[k] = -o.values[k];
  }
  st = cpli_fmiSetRealInputDerivatives(&in->base, refs, (size_t)o.n, o.orders, o.values);
  return st == CPL_OK ? st : cpli_without_derivatives(&in->base, "fmiSetRealInputDerivatives");
}

static cpl_status output_derivatives(cpli_fmu_instance* in, const uint32_t* refs, size_t n,
                                     double* values) {
  const cpli_slot* slots = in->fmu->slots;
  uint32_t own[CPLI_DERIVATIVES] = {0};
  for (size_t i = 0; i < n; i++) own[i] = slots != NULL ? slots[refs[i]].value_ref : refs[i];
  cpl_status st = cpli_fmiGetRealOutputDerivatives(in, own, n, cpli_first_orders, values);
  for (size_t i = 0; i < n && slots != NULL; i++)
    if (slots[refs[i]].negated) values[i] = -values[i];
  return st;
}

cpl_status cpli_fmi1_make_stepper(cpl_source* src, const char* name, cpl_stepper** out) {
  cpli_fmi1* in = NULL;
  *out = NULL;
  cpl_status st = cpli_fmi1_create(src, name, true, &in);
  if (st < 0) return st;
  cpl_stepper* s = &in->base.head.stepper;
  if (cpli_fmi1_fn(in)->fmiSetRealInputDerivatives == NULL) s->base.can.input_derivatives = 0;
  in->base.component_ops.kind = "fmi1-cs";
  in->base.stepper_ops = (cpl_stepper_ops){.size = sizeof(cpl_stepper_ops), .step = step};
  if (s->base.can.input_derivatives > 0) in->base.stepper_ops.set_curve = set_curve;
  cpli_offer_output_derivatives(&in->base, "fmiGetRealOutputDerivatives", output_derivatives);
  s->ops = &in->base.stepper_ops;
  *out = s;
  return CPL_OK;
}
