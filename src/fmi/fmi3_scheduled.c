// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Scheduled execution of FMI 3.0: every input clock has a model partition, which is activated when
// the clock ticks. At one instant partitions are run one after the other in the order of their
// priorities; nothing takes time, so none is preempted. A partition may make output clocks and
// countdown clocks tick, which the FMU reports in a callback.
#include <math.h>

#include "fmi/fmi3_calls.h"

static const char* name_of(const cpli_fmi3* in, const cpli_clock* clock) {
  return in->base.fmu->desc.vars[clock->var].name;
}

//------------------------------------ callback ------------------------------------

// The tick of an output clock can be read only once.
static cpl_status ask_outputs(cpli_fmi3* in) {
  const cpl_fmu* fmu = in->base.fmu;
  cpl_status st = CPL_OK;
  for (int32_t i = 0; i < fmu->n_clocks && st == CPL_OK; i++) {
    bool active = false;
    uint32_t ref = cpli_fmi3_value_ref(in, fmu->clocks[i].ref);
    if (fmu->desc.vars[fmu->clocks[i].var].causality != CPL_CAUSALITY_OUTPUT) continue;
    st = cpli_fmi3GetClock(&in->base, &ref, 1, &active, 1);
    if (st != CPL_OK || !active) continue;
    in->ticked[i] = true;
    in->events.tick_time = in->base.time;
    in->integers[fmu->clocks[i].ref] = 1;
  }
  return st;
}

void cpli_fmi3_clock_update(cpli_fmi3* in) {
  if (in->updating || in->update_status != CPL_OK) return;
  in->updating = true;
  cpl_status st = ask_outputs(in);
  for (int32_t i = 0; i < in->n_ticking && st == CPL_OK; i++) {
    cpli_ticking* k = &in->ticking[i];
    if (k->clock->interval == CPLI_INTERVAL_COUNTDOWN) st = cpli_fmi3_clock_ask(in, k, false);
  }
  in->updating = false;
  in->update_status = st;
}

//------------------------------------ partitions ------------------------------------

// Variables of output clocks that ticked in the partition can be read after it.
static cpl_status open_ticked(cpli_fmi3* in) {
  const cpl_fmu* fmu = in->base.fmu;
  cpl_status st = CPL_OK;
  for (int32_t i = 0; i < fmu->n_clocks && st == CPL_OK; i++) {
    if (in->ticked[i]) st = cpli_fmi3_clocked_tick(in, fmu->clocks[i].ref);
    in->ticked[i] = false;
  }
  return st;
}

static cpl_status activate(cpli_fmi3* in, cpli_ticking* k) {
  cpl_status st = CPL_OK;
  if (!(in->base.time > k->last)) {
    return cpl_fail_in(in->base.head.component.ctx, CPL_ERR_MODEL, in->base.name,
                       name_of(in, k->clock), in->base.time,
                       "clock %s ticks twice at t=%.12g, but scheduled execution activates a "
                       "model partition only once at a time",
                       name_of(in, k->clock), in->base.time);
  }
  k->last = in->base.time;
  cpli_fmi3_clock_pass(k);  // before the partition, which may give a countdown clock its next tick
  st = cpli_fmi3_clocked_tick(in, k->clock->ref);
  if (st == CPL_OK) st = cpli_fmi3ActivateModelPartition(&in->base, k->value_ref);
  if (st == CPL_OK) st = in->update_status;
  if (st == CPL_OK) st = open_ticked(in);
  if (st == CPL_OK) st = cpli_fmi3_clocked_read(in);
  cpli_fmi3_clocked_close(in);
  for (int32_t i = 0; i < in->n_ticking && st == CPL_OK; i++) {
    cpli_ticking* other = &in->ticking[i];
    if (other->clock->interval == CPLI_INTERVAL_COUNTDOWN) continue;  // asked in the callback
    st = cpli_fmi3_clock_ask(in, other, other == k);
  }
  return st;
}

static cpli_ticking* most_urgent(const cpli_fmi3* in) {
  for (int32_t i = 0; i < in->n_ticking; i++) {
    if (cpli_fmi3_clock_due(in, &in->ticking[i])) return &in->ticking[i];
  }
  return NULL;
}

cpl_status cpli_fmi3_run_partitions(cpli_fmi3* in) {
  cpl_status st = in->update_status;
  for (cpli_ticking* k; st == CPL_OK && (k = most_urgent(in)) != NULL;) st = activate(in, k);
  if (st != CPL_OK) return st;
  in->events.pending = false;
  in->base.phase = CPLI_STEPPING;
  return CPL_OK;
}
