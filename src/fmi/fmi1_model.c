// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A model over a model exchange FMU of FMI 1.0: its events, and its calls for model.c. There are no
// modes, but the time must be set before the states after a completed step or an event.
#include <math.h>

#include "fmi/fmi1_calls.h"

static cpli_fmi1* instance_of(cpl_model* m) { return (cpli_fmi1*)m; }

//------------------------------------ events ------------------------------------

static cpl_status enter_event(cpl_model* m) {
  cpli_fmi1* in = instance_of(m);
  in->base.phase = CPLI_EVENT;
  in->event = (fmiEventInfo){0};
  return CPL_OK;
}

// Results that an update lacks were returned by an earlier one of the event. The initialisation was
// an event, too, but some FMUs return the next time event only in an update after it, others
// only there.
static cpl_status update(cpli_fmi1* in) {
  fmiEventInfo initial = in->event, *e = &in->event;
  bool first = in->after_init;
  in->after_init = false;
  if (first) *e = (fmiEventInfo){0};
  e->iterationConverged = fmiTrue;
  in->time_due = true;
  cpl_status st = cpli_fmiEventUpdate(&in->base, fmiFalse, e);
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

static cpl_status completed_step(cpli_fmu_instance* in, bool no_way_back, bool* enter,
                                 bool* terminate) {
  (void)no_way_back;
  (void)terminate;
  fmiBoolean event = fmiFalse;
  cpl_status st = cpli_fmiCompletedIntegratorStep(in, &event);
  ((cpli_fmi1*)in)->time_due = true;
  *enter = event != fmiFalse;
  return st;
}

//------------------------------------ continuous time ------------------------------------

static cpl_status set_time(cpli_fmu_instance* in, double t) {
  ((cpli_fmi1*)in)->time_due = false;
  return cpli_fmiSetTime(in, t);
}

static cpl_status set_states(cpli_fmu_instance* in, const double* x, size_t n) {
  cpl_status st = ((cpli_fmi1*)in)->time_due ? set_time(in, in->time) : CPL_OK;
  return st != CPL_OK ? st : cpli_fmiSetContinuousStates(in, x, n);
}

// Some FMUs cannot give them.
static cpl_status get_nominals(cpli_fmu_instance* in, double* nominals, size_t n) {
  if (cpli_fmi1_fn((const cpli_fmi1*)in)->fmiGetNominalContinuousStates == NULL) return CPL_OK;
  cpl_status st = cpli_fmiGetNominalContinuousStates(in, nominals, n);
  return st < 0 && in->health != CPLI_GOOD ? st : CPL_OK;
}

cpl_status cpli_fmi1_make_model(cpl_source* src, const char* name, cpl_model** out) {
  static const cpli_model_calls calls = {
      .enter_event = enter_event,
      .event_update = event_update,
      .completed_step = completed_step,
      .set_time = set_time,
      .set_states = set_states,
      .get_states = cpli_fmiGetContinuousStates,
      .get_derivatives = cpli_fmiGetDerivatives,
      .get_indicators = cpli_fmiGetEventIndicators,
      .get_nominals = get_nominals,
  };
  cpli_fmi1* in = NULL;
  cpl_status st = cpli_fmi1_create(src, name, false, &in);
  *out = st < 0 ? NULL : cpli_offer_model(&in->base, "fmi1-me", &calls);
  if (st < 0) return st;
  (*out)->base.can.completed_step = true;  // required by every FMI 1.0 FMU
  cpli_instance_share_ops(&in->base);
  return st;
}
