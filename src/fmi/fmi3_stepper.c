// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A stepper over an FMU of FMI 3.0 for co-simulation or scheduled execution. With event mode it
// stops where the FMU or a clock requests an event; the event is handled at the beginning of the
// next step, or in a step of size zero. Scheduled execution has events only: time advances from one
// tick of a clock to the next.
#include <math.h>

#include "fmi/fmi3_calls.h"

static cpli_fmi3* instance_of(cpl_stepper* s) { return (cpli_fmi3*)s; }

//------------------------------------ step ------------------------------------

// Handles the event that is due; `asked`: one update only, requested by a step of size zero.
static cpl_status handle_event(cpli_fmi3* in, bool asked, cpl_step_result* result) {
  bool due = asked || in->events.pending || in->base.phase == CPLI_EVENT;
  if (!in->event_mode || (!due && !(in->base.scheduled && cpli_fmi3_clocks_due(in)))) return CPL_OK;
  cpli_fmi3_clocks_forget(in);
  cpl_status st = cpli_fmi3_open_event(in);
  if (st == CPL_OK) st = asked ? cpli_fmi3_event_round(in) : cpli_fmi3_finish_event(in);
  result->event_handled = st == CPL_OK;
  result->again = st == CPL_OK && in->events.rounds > 0;
  if (result->again) result->end = CPL_STEP_EVENT;
  return st;
}

// No further than the next event that is known.
static double limit_of(const cpli_fmi3* in, double t_end) {
  double event = fmin(in->events.next, cpli_fmi3_clocks_time(in));
  return in->event_mode && event > in->base.time && event < t_end ? event : t_end;
}

static cpl_status advance(cpli_fmi3* in, double t_end, cpl_step_result* result) {
  double target = limit_of(in, t_end);
  cpli_fmi3_clocks_forget(in);
  cpli_fmi3_step done = {.reached = target};
  cpl_status st = in->n_inputs > 0 ? cpli_fmi3_inputs_begin(in, target) : CPL_OK;
  if (st == CPL_OK && !in->base.scheduled)
    st = cpli_fmi3DoStep(&in->base, target - in->base.time, in->base.snapshots == 0, &done);
  if (st >= 0 && in->n_inputs > 0) {
    cpl_status asked = cpli_fmi3_inputs_end(in, target);
    if (asked != CPL_OK) st = CPL_ERR_MODEL;
  }
  if (st < 0) return st;
  bool refused = st == CPL_RETRY;  // discarded
  bool early = refused || (done.early && done.reached != target);
  // a discarded step did not reach its end, even if the FMU did not return a time
  if (refused && done.reached == target) done.reached = in->base.time;
  st = early ? cpli_step_stopped(&in->base, "lastSuccessfulTime", done.reached, target, result)
             : CPL_OK;
  if (st < 0) return st;
  if (refused) {
    result->end = done.terminate ? CPL_STEP_TERMINATE : CPL_STEP_REFUSED;
    return CPL_OK;
  }
  if (!early) in->base.time = target;  // exactly, whatever time + h rounds to
  bool due = in->events.next <= in->base.time || cpli_fmi3_clocks_due(in);
  in->events.pending = in->event_mode && (done.event || due);
  result->time = in->base.time;
  result->end = done.terminate                               ? CPL_STEP_TERMINATE
                : in->events.pending || result->time < t_end ? CPL_STEP_EVENT
                                                             : CPL_STEP_DONE;
  return CPL_OK;
}

static cpl_status step(cpl_stepper* s, double t_end, double t_limit, cpl_step_result* result) {
  (void)t_limit;
  cpli_fmi3* in = instance_of(s);
  *result = (cpl_step_result){.end = CPL_STEP_DONE, .time = in->base.time};
  cpl_status st = cpli_check_step(&in->base, t_end);
  bool asked = t_end == in->base.time;
  if (st >= 0) st = handle_event(in, asked, result);
  if (st < 0) return st;
  if (in->events.terminated) {
    result->end = CPL_STEP_TERMINATE;
    return CPL_OK;
  }
  return asked ? CPL_OK : advance(in, t_end, result);
}

// Clocks stop it, too, and the FMU may not count them. In scheduled execution nothing else does.
static cpl_status max_step(cpl_stepper* s, double* h) {
  cpli_fmi3* in = instance_of(s);
  if (in->base.scheduled) {
    double tick = cpli_fmi3_clocks_time(in);
    *h = tick > in->base.time ? tick - in->base.time : INFINITY;
    return CPL_OK;
  }
  *h = NAN;
  cpl_status st = cpli_fmi3GetMaxStepSize(&in->base, h);
  // discarded: no prediction
  *h = st == CPL_OK ? cpli_step_predicted(&in->base, "fmi3GetMaxStepSize", *h) : NAN;
  double event = fmin(in->events.next, cpli_fmi3_clocks_time(in));
  if (event > in->base.time && event - in->base.time < *h) *h = event - in->base.time;
  return st < 0 ? st : CPL_OK;
}

// Time events and ticks of clocks. In scheduled execution there is nothing else.
static cpl_status next_event(cpl_stepper* s, double* time, bool* sure) {
  const cpli_fmi3* in = instance_of(s);
  double next = fmin(in->events.next, cpli_fmi3_clocks_time(in));
  *time = in->events.pending || in->base.phase == CPLI_EVENT ? in->base.time
          : next >= in->base.time                            ? next
                                                             : (double)INFINITY;
  *sure = in->base.scheduled;
  return CPL_OK;
}

static cpl_status wants_update(cpl_stepper* s, bool* wanted, double* margin) {
  cpli_fmi3* in = instance_of(s);
  *margin = NAN;
  *wanted = in->base.phase == CPLI_EVENT;  // an event is open, and with it all inputs are given
  return *wanted ? CPL_OK : cpli_coupletInputEvent3(&in->base, wanted, margin);
}

// FMI 3.0 has no derivatives of inputs; FMUs made by couplet take them.
static cpl_status set_curve(cpl_stepper* s, uint32_t ref, const cpl_curve* curve) {
  enum { ORDERS = CPLI_COUNT(((cpli_curve_orders*)NULL)->orders) };
  cpli_fmi3* in = instance_of(s);
  const cpli_slot* slot = &in->base.fmu->slots[ref];
  cpli_curve_orders o = cpli_curve_now(&in->base, curve);
  cpl_status st = s->base.ops->set_real(&s->base, &ref, 1, &o.value);
  if (st != CPL_OK || o.n == 0) return st;
  uint32_t refs[ORDERS] = {slot->value_ref, slot->value_ref, slot->value_ref};
  const int32_t elements[ORDERS] = {slot->element, slot->element, slot->element};
  st = cpli_coupletSetInputDerivatives3(&in->base, refs, elements, (size_t)o.n, o.orders, o.values);
  return st == CPL_OK ? st : cpli_without_derivatives(&in->base, "coupletSetInputDerivatives3");
}

// The derivative of an array has the derivatives of all its elements.
static cpl_status output_derivatives(cpli_fmu_instance* base, const uint32_t* refs, size_t n,
                                     double* values) {
  cpli_fmi3* in = (cpli_fmi3*)base;
  const cpli_slot* slots = base->fmu->slots;
  cpl_status st = CPL_OK;
  for (size_t i = 0; i < n && st == CPL_OK; i++) {
    const cpli_slot* slot = &slots[refs[i]];
    double* all = in->buffer;
    st = cpli_fmi3GetOutputDerivatives(base, &slot->value_ref, 1, cpli_first_orders, all,
                                       (size_t)slot->count);
    values[i] = all[slot->element];
  }
  return st;
}

//------------------------------------ making ------------------------------------

static cpl_status make(cpl_source* src, const char* name, const cpli_fmu_kind* kind,
                       cpli_fmi3** out) {
  cpl_status st = cpli_fmi3_create(src, name, kind, out);
  if (st < 0) return st;
  cpli_fmi3* in = *out;
  in->base.component_ops.kind = in->base.scheduled ? "fmi3-se" : "fmi3-cs";
  in->base.stepper_ops = (cpl_stepper_ops){.size = sizeof(cpl_stepper_ops), .step = step};
  in->base.head.stepper.ops = &in->base.stepper_ops;
  return st;
}

cpl_status cpli_fmi3_make_scheduled(cpl_source* src, const char* name, cpl_stepper** out) {
  cpli_fmi3* in = NULL;
  *out = NULL;
  cpl_status st = make(src, name, &((cpl_fmu*)src)->se, &in);
  if (st < 0) return st;
  cpl_capabilities* can = &in->base.head.component.can;
  can->zero_step = can->stops_early = can->variable_step = can->predicts = can->samples = true;
  in->base.stepper_ops.max_step = max_step;
  in->base.stepper_ops.next_event = next_event;
  *out = &in->base.head.stepper;
  return CPL_OK;
}

cpl_status cpli_fmi3_make_stepper(cpl_source* src, const char* name, cpl_stepper** out) {
  cpli_fmi3* in = NULL;
  *out = NULL;
  cpl_status st = make(src, name, &((cpl_fmu*)src)->cs, &in);
  if (st < 0) return st;
  cpl_stepper* s = &in->base.head.stepper;
  cpl_capabilities* can = &s->base.can;
  can->input_derivatives = cpli_fmi3_fn(in)->coupletSetInputDerivatives3 != NULL ? 3 : 0;
  if (can->input_derivatives > 0) in->base.stepper_ops.set_curve = set_curve;
  else cpli_fmi3_offer_inputs(in);
  can->zero_step = can->stops_early = in->event_mode;
  if (in->event_mode) in->base.stepper_ops.next_event = next_event;
  if (in->event_mode && cpli_fmi3_fn(in)->coupletInputEvent3 != NULL) {
    can->get_after_set = true;
    in->base.stepper_ops.wants_update = wants_update;
  }
  if (cpli_fmi3_fn(in)->fmi3GetMaxStepSize != NULL) {
    in->base.stepper_ops.max_step = max_step;
    can->predicts = true;
  }
  cpli_offer_output_derivatives(&in->base, "fmi3GetOutputDerivatives", output_derivatives);
  *out = s;
  return CPL_OK;
}
