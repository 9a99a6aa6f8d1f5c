// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A model over a model exchange FMU of FMI 3.0: its events with their clocks, and its calls for
// model.c.
#include "fmi/fmi3_calls.h"

// Clocks that are due tick at once, so that their effects reach other models in the first round.
static cpl_status enter_event(cpl_model* m) {
  cpli_fmi3* in = (cpli_fmi3*)m;
  cpl_status st = cpli_fmi3EnterEventMode(&in->base);
  if (st < 0) return st;
  cpli_fmi3_begin_event(in);
  cpli_fmi3_clocks_forget(in);
  in->base.phase = CPLI_EVENT;
  return cpli_fmi3_clocks_tick(in);
}

static cpl_status event_update(cpl_model* m, cpl_event_info* info) {
  return cpli_fmi3_update((cpli_fmi3*)m, info);
}

cpl_status cpli_fmi3_make_model(cpl_source* src, const char* name, cpl_model** out) {
  static const cpli_model_calls calls = {
      .enter_event = enter_event,
      .event_update = event_update,
      .enter_continuous = cpli_fmi3EnterContinuousTimeMode,
      .completed_step = cpli_fmi3CompletedIntegratorStep,
      .set_time = cpli_fmi3SetTime,
      .set_states = cpli_fmi3SetContinuousStates,
      .get_states = cpli_fmi3GetContinuousStates,
      .get_derivatives = cpli_fmi3GetContinuousStateDerivatives,
      .get_indicators = cpli_fmi3GetEventIndicators,
      .get_nominals = cpli_fmi3GetNominalsOfContinuousStates,
      CPLI_CONSTRAINT_CALLS(fmi3),
  };
  cpli_fmi3* in = NULL;
  *out = NULL;
  cpl_status st = cpli_fmi3_create(src, name, &((cpl_fmu*)src)->me, &in);
  if (st < 0) return st;
  cpl_model* m = cpli_offer_model(&in->base, "fmi3-me", &calls);
  st = cpli_fmi3_offer_residuals(in);
  if (st >= 0) cpli_instance_share_ops(&in->base);
  if (st < 0) cpli_instance_destroy(&m->base);
  else *out = m;
  return st;
}
