// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Co-simulation: the model with a solver inside. A step runs through its events, unless the
// importer handles them itself or requested steps that end at each of them. Continuous inputs are
// curves to the integrator, so that a new value is an event only where an indicator changes its
// side. The integrator begins anew at every step, so that a restored state leads to the same bits.
#include <math.h>

#include "couplet/solver.h"
#include "export/runtime/fmu.h"
#include "solver/integrate.h"

//------------------------------------ stepper ------------------------------------

static double tolerance_of(const fmu* f) {
  if (f->setup.has_tolerance) return f->setup.tolerance;
  const cpl_default_experiment* e = &f->cm->desc.experiment;
  return e->has_tolerance ? e->tolerance : 1e-6;
}

// The present model with all its values moves into a new one, so that the old stepper can go.
static cpl_status detach_model(fmu* f) {
  cpl_model* old = f->model;
  cpl_model* fresh = NULL;
  cpl_snapshot values = {NULL};
  cpl_status st = old->base.ops->save(&old->base, &values);
  if (st >= 0) st = cpli_cmodel_instance(f->cm, f->ctx, f->name, &fresh);
  if (st >= 0) st = fresh->base.ops->restore(&fresh->base, &values);
  old->base.ops->forget(&old->base, &values);
  if (st < 0) {
    if (fresh != NULL) fresh->base.ops->destroy(&fresh->base);
    return st;
  }
  fmu_drop_model(f);
  f->model = fresh;
  return CPL_OK;
}

cpl_status fmu_make_stepper(fmu* f) {
  double rtol = tolerance_of(f);
  if (f->stepper != NULL && f->rtol == rtol) return CPL_OK;
  if (f->stepper != NULL) {
    cpl_status st = detach_model(f);
    if (st < 0) return st;
  }
  cpl_solver_def def = cpl_default_solver_def();
  def.rtol = f->rtol = rtol;
  def.restart_each_step = true;
  memset(f->has_curve, 0, f->cm->at.nu * sizeof *f->has_curve);
  memset(f->has_slope, 0, f->cm->at.nu * sizeof *f->has_slope);
  cpl_status st = cpl_integrate(f->model, &def, &f->stepper);
  if (st < 0) f->model = NULL;  // it belonged to the stepper
  return st;
}

size_t fmu_serialize_stepper(fmu* f, const cpl_snapshot* snapshot, unsigned char* bytes) {
  size_t own = cpli_integrate_serialize(f->stepper, snapshot, bytes);
  const cpl_snapshot* model = cpli_integrate_model_snapshot(snapshot);
  return own + cpli_cmodel_serialize(f->model, model, bytes != NULL ? bytes + own : NULL);
}

cpl_status fmu_deserialize_stepper(fmu* f, const unsigned char* bytes, size_t size,
                                   cpl_snapshot* snapshot) {
  size_t own = 0;
  cpl_status st = cpli_integrate_deserialize(f->stepper, bytes, size, snapshot, &own);
  if (st < 0) return st;
  return cpli_cmodel_deserialize(f->model, bytes + own, size - own,
                                 cpli_integrate_model_snapshot(snapshot));
}

//------------------------------------ inputs ------------------------------------

// From here on the input is a polynomial with these derivatives.
static cpl_status draw(fmu* f, uint32_t input, double value, const double* derivatives) {
  const double* d = derivatives;
  cpl_curve curve = {.from = f->time, .coefficient = {value, d[0], d[1] / 2, d[2] / 6}};
  for (int32_t k = FMU_ORDERS; k > 0 && curve.order == 0; k--) curve.order = d[k - 1] != 0 ? k : 0;
  cpl_status st = f->stepper->ops->set_curve(f->stepper, f->cm->at.u + input, &curve);
  f->has_curve[input] = st >= 0;
  f->has_slope[input] = st >= 0 && curve.order > 0;
  return st;
}

// The same through its present value.
static cpl_status draw_on(fmu* f, uint32_t input, const double* derivatives) {
  uint32_t ref = f->cm->at.u + input;
  double value;
  cpl_status st = f->model->base.ops->get_real(&f->model->base, &ref, 1, &value);
  return st < 0 ? st : draw(f, input, value, derivatives);
}

static const double flat[FMU_ORDERS] = {0};

// The value is read back, so that the model has it: what is saved now has it, too.
cpl_status fmu_set_input(fmu* f, uint32_t input, double value) {
  uint32_t ref = f->cm->at.u + input;
  cpl_component* part = &f->stepper->base;
  cpl_status st = draw(f, input, value, flat);
  if (st >= 0 && f->state == FMU_EVENT) st = part->ops->set_real(part, &ref, 1, &value);
  return st < 0 ? st : part->ops->get_real(part, &ref, 1, &value);
}

fmu_status fmu_input_event(fmu* f, const char* function, bool* wanted, double* margin) {
  return fmu_result(f, function, f->stepper->ops->wants_update(f->stepper, wanted, margin));
}

// Inputs with derivatives are polynomials over the next step; those that had some before are
// constant again.
static cpl_status draw_inputs(fmu* f) {
  for (uint32_t i = 0; i < f->cm->at.nu; i++) {
    double* d = f->input_derivatives + FMU_ORDERS * i;
    if (!f->has_slope[i] && memcmp(d, flat, sizeof flat) == 0) continue;
    cpl_status st = draw_on(f, i, d);
    if (st < 0) return st;
    memcpy(d, flat, sizeof flat);  // they are set again for every step
  }
  return CPL_OK;
}

cpl_status fmu_hold_inputs(fmu* f) {
  cpl_status st = CPL_OK;
  for (uint32_t i = 0; i < f->cm->at.nu && st >= 0; i++) {
    if (f->has_curve[i]) st = draw_on(f, i, flat);
  }
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
  for (;;) {
    cpl_status st = s->ops->step(s, t_end, t_end, result);
    if (st < 0 || result->end != CPL_STEP_EVENT) return st;
    double t = result->time;
    fmu_log(f, FMU_OK, FMU_LOG_EVENTS, "event at t=%.17g", t);
    if (f->leave_events || (f->event_mode && (f->early_return || t >= t_end))) return CPL_OK;
    bool stop = importer_returns(f, t, &t_end) || f->stop_at_events;
    if (!stop && t < t_end) continue;  // the next step handles it
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
  if (result->end != CPL_STEP_TERMINATE) return;
  f->end_wanted = true;
  f->state = FMU_STEP_FAILED;
  fmu_log(f, FMU_DISCARD, FMU_LOG_DISCARD, "the model ended the simulation at t=%.17g",
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
  *info = (cpl_event_info){.again = f->update_due,
                           .terminate = f->end_wanted,
                           .next_time = cpli_cmodel_next_time(f->model)};
  return fmu_result(f, function, st);
}

// A stepper that stops at events can predict time events, but not state events.
fmu_status fmu_max_step(fmu* f, const char* function, double* size) {
  bool stops = f->event_mode || f->stop_at_events || f->leave_events;
  *size = INFINITY;
  if (!stops) return FMU_OK;
  if (f->model->base.desc->n_indicators > 0 || f->model->base.can.completed_step) {
    fmu_log(f, FMU_DISCARD, FMU_LOG_DISCARD, "%s: the next event depends on the states", function);
    return FMU_DISCARD;
  }
  *size = fmax(cpli_cmodel_next_time(f->model) - f->time, 0);
  return FMU_OK;
}
