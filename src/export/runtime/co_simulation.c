// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Co-simulation: a stepper of the content. A step runs through its events, unless the importer
// handles them itself or requested steps that end at each of them. Continuous inputs are curves to
// the stepper, so that a new value is an event only where an indicator changes its side; a stepper
// without curves has constant inputs.
#include <math.h>

#include "export/runtime/fmu.h"

//------------------------------------ inputs ------------------------------------

static const double flat[FMU_ORDERS] = {0};

int32_t fmu_input_order(const fmu* f) {
  int32_t most = f->stepper->ops->set_curve != NULL ? f->stepper->base.can.input_derivatives : 0;
  return most < FMU_ORDERS ? most : FMU_ORDERS;
}

// From here on the input is a polynomial with these derivatives.
static cpl_status draw(fmu* f, uint32_t input, double value, const double* derivatives) {
  const double* d = derivatives;
  cpl_curve curve = {.from = f->time, .coefficient = {value, d[0], d[1] / 2, d[2] / 6}};
  for (int32_t k = FMU_ORDERS; k > 0 && curve.order == 0; k--) curve.order = d[k - 1] != 0 ? k : 0;
  cpl_status st = f->stepper->ops->set_curve(f->stepper, f->input_refs[input], &curve);
  f->has_curve[input] = st >= 0;
  f->has_slope[input] = st >= 0 && curve.order > 0;
  return st;
}

// The value is read back, so that the model has it: what is saved now has it, too.
cpl_status fmu_set_input(fmu* f, uint32_t input, double value) {
  uint32_t ref = f->input_refs[input];
  cpl_component* part = &f->stepper->base;
  if (f->stepper->ops->set_curve == NULL) return part->ops->set_real(part, &ref, 1, &value);
  cpl_status st = draw(f, input, value, flat);
  if (st >= 0 && f->state != FMU_STEPPED) st = part->ops->set_real(part, &ref, 1, &value);
  if (st >= 0 && f->state == FMU_INSTANTIATED)
    st = fmu_keep_start(f, &(fmu_values){CPL_REAL, &ref, 1, &value});
  return st < 0 ? st : part->ops->get_real(part, &ref, 1, &value);
}

fmu_status fmu_input_event(fmu* f, const char* function, bool* wanted, double* margin) {
  *wanted = false;
  *margin = NAN;
  if (f->stepper->ops->wants_update == NULL) return FMU_OK;
  return fmu_result(f, function, f->stepper->ops->wants_update(f->stepper, wanted, margin));
}

// Inputs with derivatives are polynomials over the next step; those that had some before are
// constant again.
static cpl_status draw_inputs(fmu* f) {
  cpl_component* part = &f->stepper->base;
  for (uint32_t i = 0; i < f->nu; i++) {
    double value, *d = f->input_derivatives + FMU_ORDERS * i;
    if (!f->has_slope[i] && memcmp(d, flat, sizeof flat) == 0) continue;
    cpl_status st = part->ops->get_real(part, &f->input_refs[i], 1, &value);
    if (st >= 0) st = draw(f, i, value, d);
    if (st < 0) return st;
    memcpy(d, flat, sizeof flat);  // they are set again for every step
  }
  return CPL_OK;
}

cpl_status fmu_hold_inputs(fmu* f, const double* values) {
  cpl_status st = CPL_OK;
  for (uint32_t i = 0; i < f->nu && st >= 0; i++)
    if (f->has_curve[i]) st = draw(f, i, values[i], flat);
  return st;
}

//------------------------------------ steps ------------------------------------

// True when the importer ends the step here; when it ends it later, *t_end is changed.
static bool importer_returns(fmu* f, double t, double* t_end) {
  double until = t;
  unsigned before = f->state;
  if (f->host.look_in == NULL) return false;
  double time = f->time;
  f->time = t;
  f->state = FMU_INTERMEDIATE;
  bool wanted = f->host.look_in(&f->host, t, f->early_return, &until) && f->early_return;
  f->state = before;
  f->time = time;
  if (!wanted || !(until > t)) return wanted;
  *t_end = fmin(*t_end, until);
  return false;
}

// To t_end through all events; or to the first one, when the importer handles events, or when the
// step is to end there. Unless the importer handles them, events are handled when this returns, one
// at t_end too.
static cpl_status advance(fmu* f, double t_end, cpl_step_result* result) {
  cpl_stepper* s = f->stepper;
  for (double before = f->time;; before = result->time) {
    cpl_status st = s->ops->step(s, t_end, t_end, result);
    // a step that was too long goes on from where it ended
    if (st >= 0 && result->end == CPL_STEP_REFUSED && result->time > before) continue;
    if (st < 0 || result->end != CPL_STEP_EVENT) return st;
    double t = result->time;
    fmu_log(f, FMU_OK, FMU_LOG_EVENTS, "event at t=%.17g", t);
    if (f->leave_events || (f->event_mode && (f->early_return || t >= t_end))) {
      result->event_handled = false;  // what was handled is an event where the step began
      return CPL_OK;
    }
    bool stop = importer_returns(f, t, &t_end) || f->stop_at_events;
    if (!stop && t < t_end) continue;  // the next step handles it
    if (!s->base.can.zero_step) return CPL_OK;
    do {
      st = s->ops->step(s, t, t, result);
    } while (st >= 0 && result->again);
    if (st < 0 || result->end != CPL_STEP_DONE) return st;
    if (t < t_end) result->end = CPL_STEP_EVENT;
    return CPL_OK;
  }
}

static const char* bad_step(const fmu* f, double from, double h) {
  if (!isfinite(from) || !isfinite(h)) return "times must be finite";
  if (h < 0) return "the step is negative";
  // masters accumulate steps differently: rounding is tolerated
  double slack = 1e-9 * fmax(fabs(f->time), fabs(from)) + 1e-6 * h + 1e-14;
  if (fabs(from - f->time) > slack) return "the step does not begin where the last one ended";
  if (f->setup.has_stop_time && from + h > f->setup.stop_time + slack)
    return "the step leads past the stop time";
  return NULL;
}

// Updates time and state of the instance at the end of a step.
static void arrive(fmu* f, double t_end, const cpl_step_result* result) {
  bool all = result->end == CPL_STEP_DONE && result->time >= t_end;
  f->time = all ? t_end : result->time;
  bool refused = result->end == CPL_STEP_REFUSED;
  if (result->end != CPL_STEP_TERMINATE && !refused) return;
  f->end_wanted = !refused;
  f->state = FMU_STEP_FAILED;
  fmu_log(
      f, FMU_DISCARD, FMU_LOG_DISCARD,
      refused ? "no step from t=%.17g was accepted" : "the model ended the simulation at t=%.17g",
      result->time);
}

fmu_status fmu_step(fmu* f, const char* function, double from, double h, cpl_step_result* result) {
  const char* bad = bad_step(f, from, h);
  *result = (cpl_step_result){.time = f->time};
  if (bad != NULL) {
    return fmu_refuse(f, function, "%s (from %.17g by %g, the last step ended at %.17g)", bad, from,
                      h, f->time);
  }
  double t_end = fmax(from + h, f->time);
  if (t_end <= f->time && !f->stepper->base.can.zero_step) return FMU_OK;
  cpl_status st = draw_inputs(f);
  if (st >= 0) st = advance(f, t_end, result);
  f->reached = result->time;
  if (st < 0) {
    fmu_status status = fmu_result(f, function, st);
    f->state = FMU_FAILED;
    return status;
  }
  arrive(f, t_end, result);
  return FMU_OK;
}

fmu_status fmu_step_update(fmu* f, const char* function, cpl_event_info* info) {
  cpl_step_result result = {.time = f->time};
  cpl_stepper* s = f->stepper;
  cpl_status st = f->update_due ? s->ops->step(s, f->time, f->time, &result) : CPL_OK;
  f->update_due = st >= 0 && result.again;
  if (st >= 0) arrive(f, f->time, &result);
  *info = (cpl_event_info){
      .again = f->update_due, .terminate = f->end_wanted, .next_time = fmu_next_event(f)};
  return fmu_result(f, function, st);
}

double fmu_next_event(fmu* f) {
  double next = INFINITY;
  bool sure;
  if (!f->stepping) return f->next_time;
  if (f->stepper->ops->next_event == NULL) return INFINITY;
  return f->stepper->ops->next_event(f->stepper, &next, &sure) == CPL_OK ? next : INFINITY;
}

// A stepper that stops at events can predict time events, but not state events.
fmu_status fmu_max_step(fmu* f, const char* function, double* size) {
  bool stops = f->event_mode || f->stop_at_events || f->leave_events, sure = false;
  const cpl_stepper_ops* ops = f->stepper->ops;
  double next = INFINITY;
  cpl_status st = CPL_OK;
  *size = INFINITY;
  if (ops->max_step != NULL) {
    st = ops->max_step(f->stepper, size);
    sure = !isnan(*size);
  } else if (ops->next_event != NULL) {
    st = ops->next_event(f->stepper, &next, &sure);
    sure = sure || !stops;
    if (stops) *size = fmax(next - f->time, 0);
  }
  if (st < 0 || sure) return fmu_result(f, function, st);
  fmu_log(f, FMU_DISCARD, FMU_LOG_DISCARD, "%s: the next event depends on the states", function);
  return FMU_DISCARD;
}
