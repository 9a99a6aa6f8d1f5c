// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Co-simulation: the model with CVODE inside. A step runs through its events, as masters of FMI 2.0
// expect; one that knows coupletStopAtEvents can ask to be stopped at each of them instead. The
// integrator begins anew at every step, so that a restored state leads to the same bits.
#include <math.h>

#include "couplet/solver.h"
#include "export/runtime/fmu.h"
#include "solver/integrate.h"

/// Not part of FMI: while it is on, fmi2DoStep returns fmi2Discard at every event inside the step,
/// with the event handled and fmi2LastSuccessfulTime its time; the next step may begin there.
FMI2_Export fmi2Status coupletStopAtEvents(fmi2Component c, fmi2Boolean on);
/// Not part of FMI (D. Broman et al., "Determinate composition of FMUs for co-simulation"): the
/// largest step that will be accepted from here; INFINITY: any.
FMI2_Export fmi2Status fmi2GetMaxStepSize(fmi2Component c, fmi2Real* size);

static fmu* enter(fmi2Component c, const char* function, unsigned states) {
  fmu* f = fmu_enter(c, function, states);
  if (f == NULL || f->type == fmi2CoSimulation) return f;
  fmu_refuse(f, function, "the instance is not for co-simulation");
  return NULL;
}

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
  // beginning anew costs about one tolerance of error at every communication point, so that a run
  // of a hundred steps would be a hundred times worse than what was asked for
  f->rtol = rtol;
  def.rtol = fmin(rtol, fmax(0.01 * rtol, 1e-12));
  def.restart_each_step = true;
  memset(f->has_curve, 0, f->cm->at.nu * sizeof *f->has_curve);
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

fmi2Status fmi2SetRealInputDerivatives(fmi2Component c, const fmi2ValueReference vr[], size_t nvr,
                                       const fmi2Integer order[], const fmi2Real value[]) {
  fmu* f = enter(c, __func__, FMU_INITIALIZING | FMU_STEPPED);
  if (f == NULL) return fmi2Error;
  for (size_t i = 0; i < nvr; i++) {
    const cpl_variable* v = fmu_variable(f, vr[i]);
    if (v == NULL || v->causality != CPL_INPUT || v->variability != CPL_CONTINUOUS) {
      return fmu_refuse(f, __func__, "value reference %u is no continuous input", vr[i]);
    }
    if (order[i] != 1) return fmu_refuse(f, __func__, "order %d is not 1", order[i]);
    if (!isfinite(value[i]))
      return fmu_refuse(f, __func__, "the derivative of %s is %g", v->name, value[i]);
  }
  for (size_t i = 0; i < nvr; i++) f->input_slopes[vr[i] - f->cm->at.u] = value[i];
  return fmi2OK;
}

fmi2Status fmi2GetRealOutputDerivatives(fmi2Component c, const fmi2ValueReference vr[], size_t nvr,
                                        const fmi2Integer order[], fmi2Real value[]) {
  (void)vr, (void)nvr, (void)order, (void)value;
  fmu* f = enter(c, __func__, FMU_ANY);
  if (f == NULL) return fmi2Error;
  return fmu_refuse(f, __func__, "derivatives of outputs are not offered");
}

// From here on the input is a line through its present value.
static cpl_status draw_line(fmu* f, uint32_t input, double slope) {
  uint32_t ref = f->cm->at.u + input;
  cpl_curve line = {.from = f->time, .order = 1, .coefficient = {0, slope}};
  cpl_status st = f->model->base.ops->get_real(&f->model->base, &ref, 1, &line.coefficient[0]);
  if (st >= 0) st = f->stepper->ops->set_curve(f->stepper, ref, &line);
  f->has_curve[input] = st >= 0;
  return st;
}

// Inputs with a slope are lines over the step that comes; those that were lines before are held
// again.
static cpl_status draw_inputs(fmu* f) {
  for (uint32_t i = 0; i < f->cm->at.nu; i++) {
    if (!f->has_curve[i] && f->input_slopes[i] == 0) continue;
    cpl_status st = draw_line(f, i, f->input_slopes[i]);
    if (st < 0) return st;
    f->input_slopes[i] = 0;  // slopes are given anew for every step
  }
  return CPL_OK;
}

cpl_status fmu_hold_inputs(fmu* f) {
  cpl_status st = CPL_OK;
  for (uint32_t i = 0; i < f->cm->at.nu && st >= 0; i++) {
    if (f->has_curve[i]) st = draw_line(f, i, 0);
  }
  return st;
}

//------------------------------------ steps ------------------------------------

// To t_end through all events, or to the first event when it shall stop there. Events are handled
// when it returns, one at t_end too.
static cpl_status advance(fmu* f, double t_end, cpl_step_result* result) {
  cpl_stepper* s = f->stepper;
  for (;;) {
    cpl_status st = s->ops->step(s, t_end, t_end, result);
    if (st < 0 || result->end != CPL_STEP_EVENT) return st;
    fmu_log(f, fmi2OK, FMU_LOG_EVENTS, "event at t=%.17g", result->time);
    if (!f->stop_at_events && result->time < t_end) continue;  // the next step handles it
    double t = result->time;
    st = s->ops->step(s, t, t, result);
    if (st < 0 || result->end != CPL_STEP_DONE) return st;
    if (t < t_end) result->end = CPL_STEP_EVENT;
    return CPL_OK;
  }
}

static const char* bad_step(const fmu* f, double from, double h) {
  if (!isfinite(from) || !isfinite(h)) return "times must be finite";
  if (h < 0) return "the step is negative";
  // masters add up steps in their own way: rounding is forgiven
  double slack = 1e-9 * fmax(fabs(f->time), fabs(from)) + 1e-6 * h + 1e-14;
  if (fabs(from - f->time) > slack) return "the step does not begin where the last one ended";
  if (f->setup.has_stop_time && from + h > f->setup.stop_time + slack)
    return "the step leads past the stop time";
  return NULL;
}

static fmi2Status stop_short(fmu* f, const cpl_step_result* result) {
  f->time = result->time;
  if (result->end == CPL_STEP_TERMINATE) {
    f->end_wanted = true;
    f->state = FMU_STEP_FAILED;
    fmu_log(f, fmi2Discard, FMU_LOG_DISCARD, "the model ended the simulation at t=%.17g",
            result->time);
  }
  return fmi2Discard;
}

fmi2Status fmi2DoStep(fmi2Component c, fmi2Real currentCommunicationPoint,
                      fmi2Real communicationStepSize,
                      fmi2Boolean noSetFMUStatePriorToCurrentPoint) {
  (void)noSetFMUStatePriorToCurrentPoint;
  fmu* f = enter(c, __func__, FMU_STEPPED);
  if (f == NULL) return fmi2Error;
  const char* bad = bad_step(f, currentCommunicationPoint, communicationStepSize);
  if (bad != NULL) {
    return fmu_refuse(f, __func__, "%s (from %.17g by %g, the last step ended at %.17g)", bad,
                      currentCommunicationPoint, communicationStepSize, f->time);
  }
  cpl_step_result result = {.time = f->time};
  double t_end = currentCommunicationPoint + communicationStepSize;
  cpl_status st = draw_inputs(f);
  if (st >= 0) st = advance(f, fmax(t_end, f->time), &result);
  f->reached = result.time;
  if (st < 0) {
    fmi2Status status = fmu_result(f, __func__, st);
    f->state = FMU_FAILED;
    return status;
  }
  if (result.end != CPL_STEP_DONE) return stop_short(f, &result);
  f->time = t_end;
  return fmi2OK;
}

fmi2Status fmi2CancelStep(fmi2Component c) {
  fmu* f = enter(c, __func__, FMU_ANY);
  if (f == NULL) return fmi2Error;
  return fmu_refuse(f, __func__, "steps are not asynchronous");
}

fmi2Status coupletStopAtEvents(fmi2Component c, fmi2Boolean on) {
  fmu* f = enter(c, __func__, FMU_ANY);
  if (f == NULL) return fmi2Error;
  f->stop_at_events = on != fmi2False;
  return fmi2OK;
}

fmi2Status fmi2GetMaxStepSize(fmi2Component c, fmi2Real* size) {
  fmu* f = enter(c, __func__, FMU_STEPPED);
  if (f == NULL || size == NULL) return fmi2Error;
  *size = INFINITY;
  if (!f->stop_at_events || f->stepper->ops->max_step == NULL) return fmi2OK;
  return fmu_result(f, __func__, f->stepper->ops->max_step(f->stepper, size));
}

//------------------------------------ status ------------------------------------

static fmi2Status no_status(fmi2Component c, const char* function) {
  fmu* f = enter(c, function, FMU_ANY);
  if (f != NULL) fmu_refuse(f, function, "there is no status of this kind");
  return fmi2Discard;
}

fmi2Status fmi2GetStatus(fmi2Component c, const fmi2StatusKind kind, fmi2Status* value) {
  (void)kind, (void)value;
  return no_status(c, __func__);
}

fmi2Status fmi2GetRealStatus(fmi2Component c, const fmi2StatusKind kind, fmi2Real* value) {
  fmu* f = enter(c, __func__, FMU_ANY);
  if (f == NULL || kind != fmi2LastSuccessfulTime) return no_status(c, __func__);
  *value = f->reached;
  return fmi2OK;
}

fmi2Status fmi2GetIntegerStatus(fmi2Component c, const fmi2StatusKind kind, fmi2Integer* value) {
  (void)kind, (void)value;
  return no_status(c, __func__);
}

fmi2Status fmi2GetBooleanStatus(fmi2Component c, const fmi2StatusKind kind, fmi2Boolean* value) {
  fmu* f = enter(c, __func__, FMU_ANY);
  if (f == NULL || kind != fmi2Terminated) return no_status(c, __func__);
  *value = f->end_wanted ? fmi2True : fmi2False;
  return fmi2OK;
}

fmi2Status fmi2GetStringStatus(fmi2Component c, const fmi2StatusKind kind, fmi2String* value) {
  (void)kind, (void)value;
  return no_status(c, __func__);
}
