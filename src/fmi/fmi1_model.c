// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A model over a model exchange FMU of FMI 1.0. It has no modes: what matters is that the time is
// told before the states after a completed step or an event.
#include <math.h>

#include "fmi/fmi1_calls.h"

static cpli_fmi1* instance_of(cpl_model* m) { return (cpli_fmi1*)m; }

static size_t n_states(const cpli_fmi1* in) { return (size_t)in->base.fmu->desc.n_states; }

//------------------------------------ events ------------------------------------

static cpl_status enter_event(cpl_model* m) {
  cpli_fmi1* in = instance_of(m);
  in->base.phase = CPLI_EVENT;
  in->event = (fmiEventInfo){0};
  return CPL_OK;
}

static cpl_status enter_continuous(cpl_model* m) {
  instance_of(m)->base.phase = CPLI_CONTINUOUS;
  return CPL_OK;
}

// Results that an update lacks were returned by an earlier one of the event. The initialisation was
// an event, too, but some FMUs tell the next time event only in an update after it, others only
// there.
static cpl_status update(cpli_fmi1* in) {
  fmiEventInfo initial = in->event, *e = &in->event;
  bool first = in->after_init;
  in->after_init = false;
  if (first) *e = (fmiEventInfo){0};
  e->iterationConverged = fmiTrue;
  in->time_due = true;
  cpl_status st = cpli_fmiEventUpdate(in, fmiFalse, e);
  if (first && e->upcomingTimeEvent == fmiFalse && initial.upcomingTimeEvent != fmiFalse &&
      initial.nextEventTime > in->base.time) {
    e->upcomingTimeEvent = fmiTrue;
    e->nextEventTime = initial.nextEventTime;
  }
  return st;
}

static cpl_status event_update(cpl_model* m, cpl_event_info* info) {
  *info = (cpl_event_info){.next_time = INFINITY};
  cpl_status st = update(instance_of(m));
  fmiEventInfo e = instance_of(m)->event;
  if (st != CPL_OK) return st;
  info->again = e.iterationConverged == fmiFalse;
  info->terminate = e.terminateSimulation != fmiFalse;
  // other variables chosen as states: their values are new at any rate
  info->states_changed =
      e.stateValuesChanged != fmiFalse || e.stateValueReferencesChanged != fmiFalse;
  info->nominals_changed = e.stateValueReferencesChanged != fmiFalse;
  if (e.upcomingTimeEvent != fmiFalse) info->next_time = e.nextEventTime;
  return st;
}

static cpl_status completed_step(cpl_model* m, bool* enter, bool* terminate) {
  cpli_fmi1* in = instance_of(m);
  fmiBoolean event = fmiFalse;
  *terminate = false;
  cpl_status st = cpli_fmiCompletedIntegratorStep(in, &event);
  in->time_due = true;
  *enter = event != fmiFalse;
  return st;
}

//------------------------------------ continuous time ------------------------------------

static cpl_status set_time(cpl_model* m, double t) {
  cpli_fmi1* in = instance_of(m);
  in->base.time = t;
  in->time_due = false;
  return cpli_fmiSetTime(in, t);
}

static cpl_status set_states(cpl_model* m, const double* x) {
  cpli_fmi1* in = instance_of(m);
  if (n_states(in) == 0) return CPL_OK;
  cpl_status st = in->time_due ? set_time(m, in->base.time) : CPL_OK;
  return st != CPL_OK ? st : cpli_fmiSetContinuousStates(in, x, n_states(in));
}

static cpl_status get_states(cpl_model* m, double* x) {
  cpli_fmi1* in = instance_of(m);
  return n_states(in) == 0 ? CPL_OK : cpli_fmiGetContinuousStates(in, x, n_states(in));
}

static cpl_status get_derivatives(cpl_model* m, double* dx) {
  cpli_fmi1* in = instance_of(m);
  return n_states(in) == 0 ? CPL_OK : cpli_fmiGetDerivatives(in, dx, n_states(in));
}

static cpl_status get_indicators(cpl_model* m, double* z) {
  cpli_fmi1* in = instance_of(m);
  size_t n = (size_t)in->base.fmu->desc.n_indicators;
  return n == 0 ? CPL_OK : cpli_fmiGetEventIndicators(in, z, n);
}

// Some FMUs leave the array untouched, put zeros into it, or cannot tell.
static cpl_status get_nominals(cpl_model* m, double* nominals) {
  cpli_fmi1* in = instance_of(m);
  size_t n = n_states(in);
  for (size_t i = 0; i < n; i++) nominals[i] = 1;
  if (n == 0 || in->fn.fmiGetNominalContinuousStates == NULL) return CPL_OK;
  cpl_status st = cpli_fmiGetNominalContinuousStates(in, nominals, n);
  cpli_clean_nominals(nominals, n);
  return st < 0 && in->base.health != CPLI_GOOD ? st : CPL_OK;
}

static const cpl_model_ops model_ops = {
    .enter_event = enter_event,
    .event_update = event_update,
    .enter_continuous = enter_continuous,
    .set_time = set_time,
    .set_states = set_states,
    .get_states = get_states,
    .get_nominals = get_nominals,
    .get_derivatives = get_derivatives,
    .get_indicators = get_indicators,
    .completed_step = completed_step,
};

cpl_status cpli_fmi1_make_model(cpl_source* src, const char* name, cpl_model** out) {
  cpli_fmi1* in = NULL;
  *out = NULL;
  cpl_status st = cpli_fmi1_create(src, name, false, &in);
  if (st < 0) return st;
  in->base.component_ops.kind = "fmi1-me";
  in->base.head.component.can.completed_step = true;  // required by every FMI 1.0 FMU
  in->base.head.model.ops = &model_ops;
  *out = &in->base.head.model;
  return CPL_OK;
}
