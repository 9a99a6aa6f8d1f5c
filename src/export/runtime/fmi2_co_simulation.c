// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// FMI 2.0 over the instance: co-simulation. A step runs through its events, as masters of FMI 2.0
// expect; one that uses coupletStopAtEvents or coupletLeaveEvents can request steps that end at
// each of them instead.
#include <math.h>

#include "export/runtime/fmu.h"
#include "fmi2Functions.h"

/// Not part of FMI: while it is on, fmi2DoStep returns fmi2Discard at every event inside the step,
/// with the event handled and fmi2LastSuccessfulTime its time; the next step may begin there.
FMI2_Export fmi2Status coupletStopAtEvents(fmi2Component c, fmi2Boolean on);
/// Not part of FMI: while it is on, fmi2DoStep returns fmi2Discard at every event of the step, also
/// at one at its end, with fmi2LastSuccessfulTime its time and the values before it. A step of size
/// zero handles it; the next step does, too, before it begins.
FMI2_Export fmi2Status coupletLeaveEvents(fmi2Component c, fmi2Boolean on);
/// Not part of FMI: whether the inputs that were set since the last step cause an event, which a
/// step of size zero would handle. *margin: how far event indicators are beyond their change;
/// negative: none has changed; NAN: not known. Between steps outputs follow inputs.
FMI2_Export fmi2Status coupletInputEvent(fmi2Component c, fmi2Boolean* wanted, fmi2Real* margin);
/// Not part of FMI: the highest order of derivatives that fmi2SetRealInputDerivatives accepts.
FMI2_Export fmi2Status coupletInputDerivativeOrder(fmi2Component c, fmi2Integer* order);
/// Not part of FMI (D. Broman et al., "Determinate composition of FMUs for co-simulation"): the
/// largest step that will be accepted from here; INFINITY: any.
FMI2_Export fmi2Status fmi2GetMaxStepSize(fmi2Component c, fmi2Real* size);

#define ENTER(states)                                 \
  fmu* f = fmu_enter_kind(c, __func__, states, true); \
  if (f == NULL) return fmi2Error

//------------------------------------ steps ------------------------------------

fmi2Status fmi2SetRealInputDerivatives(fmi2Component c, const fmi2ValueReference vr[], size_t nvr,
                                       const fmi2Integer order[], const fmi2Real value[]) {
  ENTER(FMU_INITIALIZING | FMU_STEPPED);
  return (fmi2Status)fmu_set_input_derivatives(f, __func__, vr, nvr, order, value);
}

fmi2Status fmi2GetRealOutputDerivatives(fmi2Component c, const fmi2ValueReference vr[], size_t nvr,
                                        const fmi2Integer order[], fmi2Real value[]) {
  ENTER(FMU_STEPPED | FMU_STEP_FAILED);
  for (size_t i = 0; i < nvr; i++)
    if (order[i] != 1)
      return (fmi2Status)fmu_refuse(f, __func__, "derivatives of order %d are not offered",
                                    (int)order[i]);
  return (fmi2Status)fmu_get_output_derivatives(f, __func__, vr, nvr, value);
}

fmi2Status fmi2DoStep(fmi2Component c, fmi2Real currentCommunicationPoint,
                      fmi2Real communicationStepSize,
                      fmi2Boolean noSetFMUStatePriorToCurrentPoint) {
  (void)noSetFMUStatePriorToCurrentPoint;
  ENTER(FMU_STEPPED);
  cpl_step_result result;
  fmu_status status =
      fmu_step(f, __func__, currentCommunicationPoint, communicationStepSize, &result);
  return status == FMU_OK && result.end != CPL_STEP_DONE ? fmi2Discard : (fmi2Status)status;
}

fmi2Status fmi2CancelStep(fmi2Component c) {
  ENTER(FMU_ANY);
  return (fmi2Status)fmu_refuse(f, __func__, "steps are not asynchronous");
}

fmi2Status coupletStopAtEvents(fmi2Component c, fmi2Boolean on) {
  ENTER(FMU_ANY);
  f->stop_at_events = on != fmi2False;
  return fmi2OK;
}

fmi2Status coupletLeaveEvents(fmi2Component c, fmi2Boolean on) {
  ENTER(FMU_ANY);
  f->leave_events = on != fmi2False;
  return fmi2OK;
}

fmi2Status coupletInputEvent(fmi2Component c, fmi2Boolean* wanted, fmi2Real* margin) {
  ENTER(FMU_STEPPED);
  bool event = false;
  if (wanted == NULL || margin == NULL) return fmi2Error;
  fmu_status status = fmu_input_event(f, __func__, &event, margin);
  *wanted = event ? fmi2True : fmi2False;
  return (fmi2Status)status;
}

fmi2Status coupletInputDerivativeOrder(fmi2Component c, fmi2Integer* order) {
  ENTER(FMU_ANY);
  if (order == NULL) return fmi2Error;
  *order = fmu_component(f) != NULL ? fmu_input_order(f) : 0;
  return fmi2OK;
}

fmi2Status fmi2GetMaxStepSize(fmi2Component c, fmi2Real* size) {
  ENTER(FMU_STEPPED);
  return size != NULL ? (fmi2Status)fmu_max_step(f, __func__, size) : fmi2Error;
}

//------------------------------------ status ------------------------------------

static fmi2Status no_status(fmi2Component c, const char* function) {
  fmu* f = fmu_enter_kind(c, function, FMU_ANY, true);
  if (f != NULL) fmu_refuse(f, function, "there is no status of this kind");
  return fmi2Discard;
}

fmi2Status fmi2GetStatus(fmi2Component c, const fmi2StatusKind kind, fmi2Status* value) {
  (void)kind, (void)value;
  return no_status(c, __func__);
}

fmi2Status fmi2GetRealStatus(fmi2Component c, const fmi2StatusKind kind, fmi2Real* value) {
  fmu* f = fmu_enter_kind(c, __func__, FMU_ANY, true);
  if (f == NULL || kind != fmi2LastSuccessfulTime) return no_status(c, __func__);
  *value = f->reached;
  return fmi2OK;
}

fmi2Status fmi2GetIntegerStatus(fmi2Component c, const fmi2StatusKind kind, fmi2Integer* value) {
  (void)kind, (void)value;
  return no_status(c, __func__);
}

fmi2Status fmi2GetBooleanStatus(fmi2Component c, const fmi2StatusKind kind, fmi2Boolean* value) {
  fmu* f = fmu_enter_kind(c, __func__, FMU_ANY, true);
  if (f == NULL || kind != fmi2Terminated) return no_status(c, __func__);
  *value = f->end_wanted ? fmi2True : fmi2False;
  return fmi2OK;
}

fmi2Status fmi2GetStringStatus(fmi2Component c, const fmi2StatusKind kind, fmi2String* value) {
  (void)kind, (void)value;
  return no_status(c, __func__);
}
