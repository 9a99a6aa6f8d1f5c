// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Input clocks of FMI 3.0. The FMU returns the times of ticks that are known in advance; at that
// time there is an event, in which the clock is activated by us and becomes inactive with the
// update.
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "fmi/fmi3_calls.h"

static double seconds(uint64_t counter, uint64_t resolution) {
  return resolution > 0 ? (double)counter / (double)resolution : NAN;
}

static bool is_triggered(const cpli_ticking* k) {
  return k->clock->interval == CPLI_INTERVAL_TRIGGERED;
}

static bool is_periodic(const cpli_ticking* k) {
  return k->clock->interval < CPLI_INTERVAL_CHANGING;
}

static cpl_status check_interval(const cpli_fmi3* in, const cpli_ticking* k, double interval) {
  if (interval > 0 || (interval == 0 && !is_periodic(k))) return CPL_OK;
  return cpl_fail_in(in->base.head.component.ctx, CPL_ERR_MODEL, in->base.name,
                     in->base.fmu->desc.vars[k->clock->var].name, in->base.time,
                     "the interval of clock %s at t=%.12g is %g",
                     in->base.fmu->desc.vars[k->clock->var].name, in->base.time, interval);
}

// The interval that the FMU requests from now on; `*changed`: it differs, or is the first.
static cpl_status ask_interval(cpli_fmi3* in, cpli_ticking* k, double* interval, bool* changed) {
  fmi3IntervalQualifier qualifier = fmi3IntervalNotYetKnown;
  cpl_status st = CPL_OK;
  if (k->clock->supports_fraction && cpli_fmi3_fn(in)->fmi3GetIntervalFraction != NULL) {
    uint64_t counter = 0, resolution = 0;
    st = cpli_fmi3GetIntervalFraction(&in->base, k->value_ref, &counter, &resolution, &qualifier);
    *interval = seconds(counter, resolution);
  } else {
    st = cpli_fmi3GetIntervalDecimal(&in->base, k->value_ref, interval, &qualifier);
  }
  *changed = st == CPL_OK && qualifier == fmi3IntervalChanged;
  return *changed ? check_interval(in, k, *interval) : st;
}

static cpl_status ask_shift(cpli_fmi3* in, const cpli_ticking* k, double* shift) {
  if (k->clock->supports_fraction && cpli_fmi3_fn(in)->fmi3GetShiftFraction != NULL) {
    uint64_t counter = 0, resolution = 1;
    cpl_status st = cpli_fmi3GetShiftFraction(&in->base, k->value_ref, &counter, &resolution);
    *shift = seconds(counter, resolution);
    return st;
  }
  if (cpli_fmi3_fn(in)->fmi3GetShiftDecimal == NULL) return CPL_OK;
  return cpli_fmi3GetShiftDecimal(&in->base, k->value_ref, shift);
}

static void count_from(cpli_ticking* k, double since) {
  k->since = since;
  k->count = 0;
  k->next = since;
}

// The intervals of some clocks are in the description, those of the others come from the FMU.
static cpl_status start(cpli_fmi3* in, cpli_ticking* k) {
  const cpli_clock* clock = k->clock;
  double t = in->base.time, shift = clock->shift_decimal;
  bool changed = false;
  if (is_triggered(k)) return CPL_OK;
  if (is_periodic(k) && clock->has_counter) {
    k->interval = seconds(clock->interval_counter, clock->resolution);
    count_from(k, t + seconds(clock->shift_counter, clock->resolution));
    return check_interval(in, k, k->interval);
  }
  if (is_periodic(k) && clock->has_interval) {
    k->interval = clock->interval_decimal;
    count_from(k, t + shift);
    return check_interval(in, k, k->interval);
  }
  cpl_status st = ask_interval(in, k, &k->interval, &changed);
  if (st == CPL_OK && is_periodic(k)) st = ask_shift(in, k, &shift);
  if (st != CPL_OK || !changed) return st;
  count_from(k, is_periodic(k) ? t + shift : t + k->interval);
  return st;
}

void cpli_fmi3_clocks_reset(cpli_fmi3* in) {
  for (int32_t i = 0; i < in->n_ticking; i++) {
    cpli_ticking* k = &in->ticking[i];
    k->active = false;
    k->next = INFINITY;
    k->last = -INFINITY;
  }
}

cpl_status cpli_fmi3_clocks_start(cpli_fmi3* in) {
  cpl_status st = CPL_OK;
  for (int32_t i = 0; i < in->n_ticking && st == CPL_OK; i++) st = start(in, &in->ticking[i]);
  return st;
}

cpl_status cpli_fmi3_clocks_trigger(cpli_fmi3* in, uint32_t ref) {
  for (int32_t i = 0; i < in->n_ticking; i++) {
    cpli_ticking* k = &in->ticking[i];
    if (k->clock->ref != ref) continue;
    if (is_triggered(k)) {
      k->next = in->base.time;
      return CPL_OK;
    }
    return cpl_fail_in(in->base.head.component.ctx, CPL_ERR_INPUT, in->base.name,
                       in->base.fmu->desc.vars[k->clock->var].name, in->base.time,
                       "clock %s ticks at times of its own (%s) and cannot be activated from "
                       "outside",
                       in->base.fmu->desc.vars[k->clock->var].name,
                       cpli_interval_name((cpli_interval)k->clock->interval));
  }
  return CPL_OK;
}

bool cpli_fmi3_clock_due(const cpli_fmi3* in, const cpli_ticking* k) {
  double t = in->base.time;
  return k->next <= t + 8 * DBL_EPSILON * fabs(t);
}

bool cpli_fmi3_clocks_due(const cpli_fmi3* in) {
  for (int32_t i = 0; i < in->n_ticking; i++) {
    if (cpli_fmi3_clock_due(in, &in->ticking[i])) return true;
  }
  return false;
}

cpl_status cpli_fmi3_clocks_tick(cpli_fmi3* in) {
  cpl_status st = CPL_OK;
  for (int32_t i = 0; i < in->n_ticking && st == CPL_OK; i++) {
    cpli_ticking* k = &in->ticking[i];
    if (k->active || !cpli_fmi3_clock_due(in, k)) continue;
    k->active = true;
    st = cpli_fmi3SetClock(&in->base, &k->value_ref, 1, (bool[]){true}, 1);
    if (st == CPL_OK) st = cpli_fmi3_clocked_tick(in, k->clock->ref);
  }
  return st;
}

// Periodic ticks are multiples of the interval, so that errors do not add up.
void cpli_fmi3_clock_pass(cpli_ticking* k) {
  k->next = is_periodic(k) ? k->since + (double)++k->count * k->interval : INFINITY;
}

cpl_status cpli_fmi3_clock_ask(cpli_fmi3* in, cpli_ticking* k, bool ticked) {
  double t = in->base.time, interval = k->interval;
  bool changed = false;
  uint8_t kind = k->clock->interval;
  bool ask = kind == CPLI_INTERVAL_COUNTDOWN || (kind == CPLI_INTERVAL_CHANGING && ticked) ||
             (kind == CPLI_INTERVAL_TUNABLE && !k->clock->has_interval && !k->clock->has_counter);
  if (!ask) return CPL_OK;
  cpl_status st = ask_interval(in, k, &interval, &changed);
  // a clock that changes is marked so, but an interval like the last one may be marked unchanged
  if (st == CPL_OK && kind == CPLI_INTERVAL_CHANGING && !changed) k->next = t + k->interval;
  if (st != CPL_OK || !changed || (is_periodic(k) && interval == k->interval)) return st;
  k->interval = interval;
  count_from(k, t + interval);
  return st;
}

// In event mode, after an update: when will they tick next?
static cpl_status look_ahead(cpli_fmi3* in) {
  cpl_status st = CPL_OK;
  for (int32_t i = 0; i < in->n_ticking && st == CPL_OK; i++) {
    cpli_ticking* k = &in->ticking[i];
    bool ticked = k->active;
    k->active = false;
    if (ticked) cpli_fmi3_clock_pass(k);
    st = cpli_fmi3_clock_ask(in, k, ticked);
  }
  return st;
}

double cpli_fmi3_clocks_time(const cpli_fmi3* in) {
  double t = INFINITY;
  for (int32_t i = 0; i < in->n_ticking; i++) t = fmin(t, in->ticking[i].next);
  return t;
}

static bool is_output(const cpli_fmi3* in, const cpli_clock* clock) {
  return in->base.fmu->desc.vars[clock->var].causality == CPL_CAUSALITY_OUTPUT;
}

// An event may be over before anyone can ask which clocks of the FMU ticked in it.
static cpl_status note_outputs(cpli_fmi3* in) {
  const cpl_fmu* fmu = in->base.fmu;
  cpl_status st = CPL_OK;
  in->events.tick_time = in->base.time;
  for (int32_t i = 0; i < fmu->n_clocks && st == CPL_OK; i++) {
    bool active = false;
    uint32_t ref = cpli_fmi3_value_ref(in, fmu->clocks[i].ref);
    if (!is_output(in, &fmu->clocks[i])) continue;
    st = cpli_fmi3GetClock(&in->base, &ref, 1, &active, 1);
    if (st == CPL_OK && active) in->integers[fmu->clocks[i].ref] = 1;
    if (st == CPL_OK && active) st = cpli_fmi3_clocked_tick(in, fmu->clocks[i].ref);
  }
  return st;
}

void cpli_fmi3_clocks_forget(cpli_fmi3* in) {
  const cpl_fmu* fmu = in->base.fmu;
  for (int32_t i = 0; i < fmu->n_clocks; i++) {
    if (is_output(in, &fmu->clocks[i])) in->integers[fmu->clocks[i].ref] = 0;
  }
}

cpl_status cpli_fmi3_update(cpli_fmi3* in, cpl_event_info* info) {
  *info = (cpl_event_info){.next_time = INFINITY};
  cpl_status st = cpli_fmi3_clocks_tick(in);
  if (st == CPL_OK) st = note_outputs(in);
  if (st == CPL_OK) st = cpli_fmi3_clocked_ask(in);
  if (st == CPL_OK) st = cpli_fmi3_clocked_read(in);
  if (st == CPL_OK) st = cpli_fmi3UpdateDiscreteStates(&in->base, info);
  cpli_fmi3_clocked_close(in);
  if (st != CPL_OK) return st;
  in->events.next = info->next_time;
  if (in->n_ticking == 0) return st;
  st = look_ahead(in);
  info->next_time = fmin(info->next_time, cpli_fmi3_clocks_time(in));
  if (cpli_fmi3_clocks_due(in)) info->again = true;
  return st;
}

//------------------------------------ making ------------------------------------

// The most urgent first; of clocks that are alike, as the description has them.
static int by_priority(const void* x, const void* y) {
  const cpli_clock *a = ((const cpli_ticking*)x)->clock, *b = ((const cpli_ticking*)y)->clock;
  if (a->has_priority != b->has_priority) return a->has_priority ? -1 : 1;
  if (a->priority != b->priority) return a->priority < b->priority ? -1 : 1;
  return a < b ? -1 : a > b;
}

cpl_status cpli_fmi3_clocks_prepare(cpli_fmi3* in) {
  const cpl_fmu* fmu = in->base.fmu;
  cpl_context* ctx = in->base.head.component.ctx;
  in->ticking = cpli_alloc(ctx, (size_t)fmu->n_clocks + 1, sizeof *in->ticking);
  in->ticked = cpli_alloc(ctx, (size_t)fmu->n_clocks + 1, sizeof *in->ticked);
  if (in->ticking == NULL || in->ticked == NULL) return cpli_nomem(ctx);
  for (int32_t i = 0; i < fmu->n_clocks; i++) {
    const cpli_clock* clock = &fmu->clocks[i];
    if (fmu->desc.vars[clock->var].causality != CPL_CAUSALITY_INPUT) continue;
    in->ticking[in->n_ticking++] =
        (cpli_ticking){.clock = clock, .value_ref = cpli_fmi3_value_ref(in, clock->ref)};
  }
  if (in->base.scheduled)
    qsort(in->ticking, (size_t)in->n_ticking, sizeof *in->ticking, by_priority);
  cpli_fmi3_clocks_reset(in);
  return CPL_OK;
}

void cpli_fmi3_clocks_release(cpli_fmi3* in) {
  cpli_free(in->base.head.component.ctx, in->ticking);
  cpli_free(in->base.head.component.ctx, in->ticked);
}
