// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Clocked variables of FMI 3.0 may be read and set in initialisation mode, and in an event while
// one of their clocks is active. At other times they have the value that was read last, and what is
// set waits for the next tick. Clocks themselves are not gated. In scheduled execution all inputs
// are set before each model partition they belong to, those without clocks before every one.
#include "fmi/fmi3_calls.h"

static const cpl_type numbers[] = {CPL_REAL, CPL_INTEGER, CPL_BOOLEAN, CPL_ENUMERATION};

static bool is_gated(cpl_type type) { return type != CPL_CLOCK; }

// The others must be asked.
static bool is_ours(const cpli_fmi3* in, const cpli_clock* clock) {
  return in->base.fmu->desc.vars[clock->var].causality == CPL_CAUSALITY_INPUT;
}

void cpli_fmi3_clocked_wait(cpli_fmi3* in, uint32_t ref) { in->gates[ref] = CPLI_WAITING; }

//------------------------------------ to the FMU ------------------------------------

// All that wait and are of one type.
static cpl_status set_waiting(cpli_fmi3* in, cpl_type type) {
  cpl_component* c = &in->base.head.component;
  uint32_t* refs = in->clocked_refs;
  double* reals = in->clocked_values;
  int64_t* integers = in->clocked_values;
  size_t n = 0;
  for (int32_t i = 0; i < in->n_clocked; i++) {
    const cpl_variable* v = &in->base.fmu->desc.vars[in->clocked[i].var];
    if (v->type != type || in->gates[v->ref] != CPLI_DUE) continue;
    in->gates[v->ref] = CPLI_OPEN;
    if (type == CPL_REAL) reals[n] = in->reals[v->ref];
    if (type != CPL_REAL) integers[n] = in->integers[v->ref];
    refs[n++] = v->ref;
  }
  if (n == 0) return CPL_OK;
  return type == CPL_REAL ? cpli_fmi3_set_real(c, refs, n, reals)
                          : cpli_fmi3_set_integer(c, type, refs, n, integers);
}

static cpl_status set_waiting_texts(cpli_fmi3* in) {
  cpl_status st = CPL_OK;
  for (int32_t i = 0; i < in->n_clocked && st == CPL_OK; i++) {
    const cpl_variable* v = &in->base.fmu->desc.vars[in->clocked[i].var];
    bool text = v->type == CPL_STRING || v->type == CPL_BINARY;
    if (!text || in->gates[v->ref] != CPLI_DUE) continue;
    in->gates[v->ref] = CPLI_OPEN;
    st = cpli_fmi3_text_set(in, v);
  }
  return st;
}

// True for a variable that is set although it did not change: a model partition may have changed
// its input.
static bool is_set_again(const cpli_fmi3* in, const cpl_variable* v) {
  return in->base.scheduled && in->base.phase == CPLI_EVENT && v->causality == CPL_CAUSALITY_INPUT;
}

// Of one clock, or of all (-1). All are open before the first is set: an array may be split.
static cpl_status open_gates(cpli_fmi3* in, int32_t clock) {
  cpl_status st = CPL_OK;
  bool waiting = false;
  for (int32_t i = 0; i < in->n_clocked; i++) {
    const cpl_variable* v = &in->base.fmu->desc.vars[in->clocked[i].var];
    int32_t of = in->clocked[i].clock;
    if ((clock >= 0 && of >= 0 && of != clock) || !is_gated((cpl_type)v->type)) continue;
    uint8_t* gate = &in->gates[v->ref];
    if (*gate == CPLI_WAITING || (*gate == CPLI_CLOSED && is_set_again(in, v))) *gate = CPLI_DUE;
    if (*gate == CPLI_CLOSED) *gate = CPLI_OPEN;
    waiting = waiting || *gate == CPLI_DUE;
  }
  if (!waiting) return CPL_OK;
  for (size_t i = 0; i < CPLI_COUNT(numbers) && st == CPL_OK; i++) st = set_waiting(in, numbers[i]);
  return st == CPL_OK ? set_waiting_texts(in) : st;
}

cpl_status cpli_fmi3_clocked_open(cpli_fmi3* in) { return open_gates(in, -1); }

cpl_status cpli_fmi3_clocked_tick(cpli_fmi3* in, uint32_t clock_ref) {
  const cpl_fmu* fmu = in->base.fmu;
  for (int32_t i = 0; i < fmu->n_clocks && in->n_clocked > 0; i++) {
    if (fmu->clocks[i].ref == clock_ref) return open_gates(in, i);
  }
  return CPL_OK;
}

//------------------------------------ from the FMU ------------------------------------

cpl_status cpli_fmi3_clocked_ask(cpli_fmi3* in) {
  const cpl_fmu* fmu = in->base.fmu;
  cpl_status st = CPL_OK;
  for (int32_t i = 0; i < fmu->n_clocks && in->n_clocked > 0 && st == CPL_OK; i++) {
    bool active = false;
    uint32_t ref = cpli_fmi3_value_ref(in, fmu->clocks[i].ref);
    if (is_ours(in, &fmu->clocks[i])) continue;
    st = cpli_fmi3GetClock(&in->base, &ref, 1, &active, 1);
    if (st == CPL_OK && active) st = open_gates(in, i);
  }
  return st;
}

// Inputs of a model partition are what was set.
static bool is_read(const cpli_fmi3* in, const cpl_variable* v) {
  return !(in->base.scheduled && in->base.phase == CPLI_EVENT &&
           v->causality == CPL_CAUSALITY_INPUT);
}

static cpl_status read_type(cpli_fmi3* in, cpl_type type) {
  uint32_t* refs = in->clocked_refs;
  size_t n = 0;
  for (int32_t i = 0; i < in->n_clocked; i++) {
    const cpl_variable* v = &in->base.fmu->desc.vars[in->clocked[i].var];
    bool again = i > 0 && in->clocked[i - 1].var == in->clocked[i].var;  // it has several clocks
    bool open = v->type == type && in->gates[v->ref] == CPLI_OPEN;
    if (open && !again && is_read(in, v)) refs[n++] = v->ref;
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
  cpl_status st = CPL_OK;
  if (in->n_clocked == 0) return CPL_OK;
  for (size_t i = 0; i < CPLI_COUNT(numbers) && st == CPL_OK; i++) st = read_type(in, numbers[i]);
  return st == CPL_OK ? cpli_fmi3_texts_read(in) : st;
}

void cpli_fmi3_clocked_close(cpli_fmi3* in) {
  for (int32_t i = 0; i < in->n_clocked; i++) {
    const cpl_variable* v = &in->base.fmu->desc.vars[in->clocked[i].var];
    if (is_gated((cpl_type)v->type) && in->gates[v->ref] == CPLI_OPEN) {
      in->gates[v->ref] = CPLI_CLOSED;
    }
  }
}

//------------------------------------ making ------------------------------------

void cpli_fmi3_clocked_reset(cpli_fmi3* in) {
  for (int32_t i = 0; i < in->n_clocked; i++) {
    const cpl_variable* v = &in->base.fmu->desc.vars[in->clocked[i].var];
    if (!is_gated((cpl_type)v->type)) continue;
    in->gates[v->ref] = CPLI_CLOSED;
    in->reals[v->ref] = v->start;
    in->integers[v->ref] = (int64_t)v->start;
  }
}

// Scheduled execution: values may be set before a partition is activated, and nothing may be read
// between. So inputs and tunable parameters without clocks wait, too.
static bool waits_for_any(const cpli_fmi3* in, const cpl_variable* v) {
  bool tunable =
      v->causality == CPL_CAUSALITY_PARAMETER && v->variability == CPL_VARIABILITY_TUNABLE;
  return in->base.scheduled && is_gated((cpl_type)v->type) && !v->structural && v->alias_of < 0 &&
         (v->causality == CPL_CAUSALITY_INPUT || tunable);
}

static cpl_status list_gated(cpli_fmi3* in) {
  const cpl_fmu* fmu = in->base.fmu;
  cpl_context* ctx = in->base.head.component.ctx;
  size_t most = (size_t)fmu->n_clocked + (in->base.scheduled ? (size_t)fmu->desc.n_vars : 0) + 1;
  in->clocked = cpli_alloc(ctx, most, sizeof *in->clocked);
  if (in->clocked == NULL) return cpli_nomem(ctx);
  for (int32_t i = 0; i < fmu->n_clocked; i++) in->clocked[in->n_clocked++] = fmu->clocked[i];
  int32_t at = 0;  // clocked ones are in the order of variables
  for (int32_t i = 0; i < fmu->desc.n_vars && in->base.scheduled; i++) {
    while (at < fmu->n_clocked && fmu->clocked[at].var < i) at++;
    bool clocked = at < fmu->n_clocked && fmu->clocked[at].var == i;
    if (!clocked && waits_for_any(in, &fmu->desc.vars[i]))
      in->clocked[in->n_clocked++] = (cpli_clocked){i, -1};
  }
  return CPL_OK;
}

cpl_status cpli_fmi3_clocked_prepare(cpli_fmi3* in) {
  cpl_context* ctx = in->base.head.component.ctx;
  cpl_status st = list_gated(in);
  if (st < 0) return st;
  size_t n = (size_t)in->n_clocked + 1;
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
  cpli_free(ctx, in->clocked);
  cpli_free(ctx, in->clocked_refs);
  cpli_free(ctx, in->clocked_values);
}
