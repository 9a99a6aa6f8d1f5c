// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Clocked variables of FMI 3.0 may be read and set in initialisation mode, and in an event while
// one of their clocks is active. At other times they have the value that was read last, and what is
// set waits for the next tick. Clocks themselves are not gated.
#include "fmi/fmi3_calls.h"

static bool is_gated(cpl_type type) { return type != CPL_CLOCK; }

// The others must be asked.
static bool is_ours(const cpli_fmi3* in, const cpli_clock* clock) {
  return in->base.fmu->desc.vars[clock->var].causality == CPL_INPUT;
}

void cpli_fmi3_clocked_wait(cpli_fmi3* in, uint32_t ref) { in->gates[ref] = CPLI_WAITING; }

//------------------------------------ to the FMU ------------------------------------

// An array is set as a whole; elements that were not set keep what they have.
static cpl_status set_waiting(cpli_fmi3* in, const cpl_variable* v) {
  uint32_t ref = v->ref;
  in->gates[ref] = CPLI_OPEN;
  if (v->type == CPL_STRING || v->type == CPL_BINARY) return cpli_fmi3_text_set(in, v);
  return v->type == CPL_REAL
             ? cpli_fmi3_set_real(&in->base.head.component, &ref, 1, &in->reals[ref])
             : cpli_fmi3_set_integer(&in->base.head.component, (cpl_type)v->type, &ref, 1,
                                     &in->integers[ref]);
}

// Of one clock, or of all (-1). All are open before the first is set: an array may be in parts.
static cpl_status open_gates(cpli_fmi3* in, int32_t clock) {
  const cpl_fmu* fmu = in->base.fmu;
  cpl_status st = CPL_OK;
  bool waiting = false;
  for (int32_t i = 0; i < fmu->n_clocked; i++) {
    const cpl_variable* v = &fmu->desc.vars[fmu->clocked[i].var];
    if ((clock >= 0 && fmu->clocked[i].clock != clock) || !is_gated((cpl_type)v->type)) continue;
    if (in->gates[v->ref] == CPLI_CLOSED) in->gates[v->ref] = CPLI_OPEN;
    waiting = waiting || in->gates[v->ref] == CPLI_WAITING;
  }
  for (int32_t i = 0; i < fmu->n_clocked && waiting && st == CPL_OK; i++) {
    const cpl_variable* v = &fmu->desc.vars[fmu->clocked[i].var];
    if ((clock >= 0 && fmu->clocked[i].clock != clock) || !is_gated((cpl_type)v->type)) continue;
    if (in->gates[v->ref] == CPLI_WAITING) st = set_waiting(in, v);
  }
  return st;
}

cpl_status cpli_fmi3_clocked_open(cpli_fmi3* in) { return open_gates(in, -1); }

cpl_status cpli_fmi3_clocked_tick(cpli_fmi3* in, uint32_t clock_ref) {
  const cpl_fmu* fmu = in->base.fmu;
  for (int32_t i = 0; i < fmu->n_clocks && fmu->n_clocked > 0; i++) {
    if (fmu->clocks[i].ref == clock_ref) return open_gates(in, i);
  }
  return CPL_OK;
}

//------------------------------------ from the FMU ------------------------------------

cpl_status cpli_fmi3_clocked_ask(cpli_fmi3* in) {
  const cpl_fmu* fmu = in->base.fmu;
  cpl_status st = CPL_OK;
  for (int32_t i = 0; i < fmu->n_clocks && fmu->n_clocked > 0 && st == CPL_OK; i++) {
    bool active = false;
    uint32_t ref = cpli_fmi3_value_ref(in, fmu->clocks[i].ref);
    if (is_ours(in, &fmu->clocks[i])) continue;
    st = cpli_fmi3GetClock(in, &ref, 1, &active, 1);
    if (st == CPL_OK && active) st = open_gates(in, i);
  }
  return st;
}

static cpl_status read_type(cpli_fmi3* in, cpl_type type) {
  const cpl_fmu* fmu = in->base.fmu;
  uint32_t* refs = in->clocked_refs;
  size_t n = 0;
  for (int32_t i = 0; i < fmu->n_clocked; i++) {
    const cpl_variable* v = &fmu->desc.vars[fmu->clocked[i].var];
    bool again = i > 0 && fmu->clocked[i - 1].var == fmu->clocked[i].var;  // it has several clocks
    if (v->type == type && in->gates[v->ref] == CPLI_OPEN && !again) refs[n++] = v->ref;
  }
  if (n == 0) return CPL_OK;
  double* reals = in->clocked_values;
  int64_t* integers = in->clocked_values;
  cpl_status st = type == CPL_REAL ? cpli_fmi3_read_real(in, refs, n, reals)
                                   : cpli_fmi3_read_integer(in, type, refs, n, integers);
  for (size_t i = 0; i < n && st == CPL_OK; i++) {
    if (type == CPL_REAL) in->reals[refs[i]] = reals[i];
    if (type != CPL_REAL) in->integers[refs[i]] = integers[i];
    in->known[refs[i]] = true;
  }
  return st;
}

cpl_status cpli_fmi3_clocked_read(cpli_fmi3* in) {
  static const cpl_type types[] = {CPL_REAL, CPL_INTEGER, CPL_BOOLEAN, CPL_ENUMERATION};
  cpl_status st = CPL_OK;
  if (in->base.fmu->n_clocked == 0) return CPL_OK;
  for (size_t i = 0; i < CPLI_COUNT(types) && st == CPL_OK; i++) st = read_type(in, types[i]);
  return st == CPL_OK ? cpli_fmi3_texts_read(in) : st;
}

void cpli_fmi3_clocked_close(cpli_fmi3* in) {
  const cpl_fmu* fmu = in->base.fmu;
  for (int32_t i = 0; i < fmu->n_clocked; i++) {
    const cpl_variable* v = &fmu->desc.vars[fmu->clocked[i].var];
    if (is_gated((cpl_type)v->type) && in->gates[v->ref] == CPLI_OPEN) {
      in->gates[v->ref] = CPLI_CLOSED;
    }
  }
}

//------------------------------------ making ------------------------------------

void cpli_fmi3_clocked_reset(cpli_fmi3* in) {
  const cpl_fmu* fmu = in->base.fmu;
  for (int32_t i = 0; i < fmu->n_clocked; i++) {
    const cpl_variable* v = &fmu->desc.vars[fmu->clocked[i].var];
    if (!is_gated((cpl_type)v->type)) continue;
    in->gates[v->ref] = CPLI_CLOSED;
    in->reals[v->ref] = v->start;
    in->integers[v->ref] = (int64_t)v->start;
  }
}

cpl_status cpli_fmi3_clocked_prepare(cpli_fmi3* in) {
  cpl_context* ctx = in->base.head.component.ctx;
  size_t n = (size_t)in->base.fmu->n_clocked + 1;
  in->gates = cpli_alloc(ctx, in->room, sizeof *in->gates);
  in->clocked_refs = cpli_alloc(ctx, n, sizeof *in->clocked_refs);
  in->clocked_values = cpli_alloc(ctx, n, sizeof(double));
  if (in->gates == NULL || in->clocked_refs == NULL || in->clocked_values == NULL) {
    return cpli_nomem(ctx);
  }
  cpli_fmi3_clocked_reset(in);
  return cpli_fmi3_texts_prepare(in);
}

void cpli_fmi3_clocked_release(cpli_fmi3* in) {
  cpl_context* ctx = in->base.head.component.ctx;
  cpli_fmi3_texts_release(in);
  cpli_free(ctx, in->gates);
  cpli_free(ctx, in->clocked_refs);
  cpli_free(ctx, in->clocked_values);
}
