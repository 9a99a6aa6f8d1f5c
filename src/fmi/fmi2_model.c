// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A model over a model exchange FMU of FMI 2.0: its events, and its calls for model.c.
#include <math.h>

#include "fmi/fmi2_calls.h"

static cpl_status enter_event(cpl_model* m) {
  cpli_fmi2* in = (cpli_fmi2*)m;
  cpl_status st = cpli_fmi2EnterEventMode(&in->base);
  in->event = (fmi2EventInfo){0};
  if (st >= 0) in->base.phase = CPLI_EVENT;
  return st;
}

static cpl_status event_update(cpl_model* m, cpl_event_info* info) {
  cpli_fmi2* in = (cpli_fmi2*)m;
  *info = (cpl_event_info){.next_time = INFINITY};
  in->event.newDiscreteStatesNeeded = fmi2False;
  cpl_status st = cpli_fmi2NewDiscreteStates(&in->base, &in->event);
  fmi2EventInfo e = in->event;
  if (st != CPL_OK) return st;
  info->again = e.newDiscreteStatesNeeded != fmi2False;
  info->terminate = e.terminateSimulation != fmi2False;
  info->states_changed = e.valuesOfContinuousStatesChanged != fmi2False;
  info->nominals_changed = e.nominalsOfContinuousStatesChanged != fmi2False;
  if (e.nextEventTimeDefined != fmi2False) info->next_time = e.nextEventTime;
  return st;
}

cpl_status cpli_fmi2_make_model(cpl_source* src, const char* name, cpl_model** out) {
  static const cpli_model_calls calls = {
      .enter_event = enter_event,
      .event_update = event_update,
      .enter_continuous = cpli_fmi2EnterContinuousTimeMode,
      .completed_step = cpli_fmi2CompletedIntegratorStep,
      .set_time = cpli_fmi2SetTime,
      .set_states = cpli_fmi2SetContinuousStates,
      .get_states = cpli_fmi2GetContinuousStates,
      .get_derivatives = cpli_fmi2GetDerivatives,
      .get_indicators = cpli_fmi2GetEventIndicators,
      .get_nominals = cpli_fmi2GetNominalsOfContinuousStates,
      .evaluate = cpli_coupletEvaluate,
      CPLI_CONSTRAINT_CALLS(fmi2),
  };
  cpli_fmi2* in = NULL;
  cpl_status st = cpli_fmi2_create(src, name, false, &in);
  *out = st < 0 ? NULL : cpli_offer_model(&in->base, "fmi2-me", &calls);
  if (st >= 0) cpli_instance_share_ops(&in->base);
  return st;
}
