// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#include <math.h>

#include "export/runtime/fmu.h"

static fmu* enter(fmi2Component c, const char* function, unsigned states) {
  fmu* f = fmu_enter(c, function, states);
  if (f == NULL || f->type == fmi2ModelExchange) return f;
  fmu_refuse(f, function, "the instance is not for model exchange");
  return NULL;
}

static bool right_size(fmu* f, const char* function, size_t given, size_t there) {
  if (given == there) return true;
  fmu_refuse(f, function, "the array has %lu elements instead of %lu", (unsigned long)given,
             (unsigned long)there);
  return false;
}

fmi2Status fmi2EnterEventMode(fmi2Component c) {
  fmu* f = enter(c, __func__, FMU_CONTINUOUS | FMU_EVENT);
  if (f == NULL) return fmi2Error;
  f->state = FMU_EVENT;
  return fmu_result(f, __func__, f->model->ops->enter_event(f->model));
}

fmi2Status fmi2NewDiscreteStates(fmi2Component c, fmi2EventInfo* info) {
  fmu* f = enter(c, __func__, FMU_EVENT);
  if (f == NULL || info == NULL) return fmi2Error;
  cpl_event_info news = {.next_time = INFINITY};
  cpl_status st = f->model->ops->event_update(f->model, &news);
  info->newDiscreteStatesNeeded = news.again;
  info->terminateSimulation = news.terminate;
  info->nominalsOfContinuousStatesChanged = news.nominals_changed;
  info->valuesOfContinuousStatesChanged = news.states_changed;
  info->nextEventTimeDefined = isfinite(news.next_time) ? fmi2True : fmi2False;
  info->nextEventTime = isfinite(news.next_time) ? news.next_time : 0;
  return fmu_result(f, __func__, st);
}

fmi2Status fmi2EnterContinuousTimeMode(fmi2Component c) {
  fmu* f = enter(c, __func__, FMU_EVENT);
  if (f == NULL) return fmi2Error;
  f->state = FMU_CONTINUOUS;
  return fmu_result(f, __func__, f->model->ops->enter_continuous(f->model));
}

fmi2Status fmi2CompletedIntegratorStep(fmi2Component c,
                                       fmi2Boolean noSetFMUStatePriorToCurrentPoint,
                                       fmi2Boolean* enterEventMode,
                                       fmi2Boolean* terminateSimulation) {
  (void)noSetFMUStatePriorToCurrentPoint;
  fmu* f = enter(c, __func__, FMU_CONTINUOUS);
  if (f == NULL) return fmi2Error;
  bool event = false, end = false;
  cpl_status st = f->model->ops->completed_step(f->model, &event, &end);
  if (enterEventMode != NULL) *enterEventMode = event;
  if (terminateSimulation != NULL) *terminateSimulation = end;
  return fmu_result(f, __func__, st);
}

fmi2Status fmi2SetTime(fmi2Component c, fmi2Real time) {
  fmu* f = enter(c, __func__, FMU_EVENT | FMU_CONTINUOUS);
  if (f == NULL) return fmi2Error;
  if (!isfinite(time)) return fmu_refuse(f, __func__, "%g is not a time", time);
  return fmu_result(f, __func__, f->model->ops->set_time(f->model, time));
}

fmi2Status fmi2SetContinuousStates(fmi2Component c, const fmi2Real x[], size_t nx) {
  fmu* f = enter(c, __func__, FMU_CONTINUOUS | FMU_EVENT);
  if (f == NULL || !right_size(f, __func__, nx, f->cm->at.nx)) return fmi2Error;
  return nx > 0 ? fmu_result(f, __func__, f->model->ops->set_states(f->model, x)) : fmi2OK;
}

static const unsigned readable = FMU_INITIALIZING | FMU_EVENT | FMU_CONTINUOUS | FMU_TERMINATED;

fmi2Status fmi2GetDerivatives(fmi2Component c, fmi2Real derivatives[], size_t nx) {
  fmu* f = enter(c, __func__, readable);
  if (f == NULL || !right_size(f, __func__, nx, f->cm->at.nx)) return fmi2Error;
  if (nx == 0) return fmi2OK;
  return fmu_result(f, __func__, f->model->ops->get_derivatives(f->model, derivatives));
}

fmi2Status fmi2GetEventIndicators(fmi2Component c, fmi2Real indicators[], size_t ni) {
  fmu* f = enter(c, __func__, readable);
  if (f == NULL || !right_size(f, __func__, ni, f->cm->at.nz)) return fmi2Error;
  if (ni == 0) return fmi2OK;
  return fmu_result(f, __func__, f->model->ops->get_indicators(f->model, indicators));
}

fmi2Status fmi2GetContinuousStates(fmi2Component c, fmi2Real x[], size_t nx) {
  fmu* f = enter(c, __func__, readable | FMU_INSTANTIATED);
  if (f == NULL || !right_size(f, __func__, nx, f->cm->at.nx)) return fmi2Error;
  if (nx == 0) return fmi2OK;
  return fmu_result(f, __func__, f->model->ops->get_states(f->model, x));
}

fmi2Status fmi2GetNominalsOfContinuousStates(fmi2Component c, fmi2Real nominals[], size_t nx) {
  fmu* f = enter(c, __func__, readable | FMU_INSTANTIATED);
  if (f == NULL || !right_size(f, __func__, nx, f->cm->at.nx)) return fmi2Error;
  return fmu_result(f, __func__, f->model->ops->get_nominals(f->model, nominals));
}
