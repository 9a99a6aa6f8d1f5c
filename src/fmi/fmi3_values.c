// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Values of FMI 3.0: from elements to arrays, from double and int64_t to the FMU's own types. What
// a caller asks for is cut into groups that one call of the FMU can serve.
#include <math.h>
#include <stdlib.h>

#include "fmi/fmi3_calls.h"

//------------------------------------ types ------------------------------------

typedef struct number {
  const char* name;
  size_t size;
  cpl_status (*get)(cpli_fmu_instance* in, const uint32_t* refs, size_t n, void* values,
                    size_t n_values);
  cpl_status (*set)(cpli_fmu_instance* in, const uint32_t* refs, size_t n, const void* values,
                    size_t n_values);
  double (*real)(const void* buffer, size_t i);
  int64_t (*integer)(const void* buffer, size_t i);
  void (*put_real)(void* buffer, size_t i, double value);
  void (*put_integer)(void* buffer, size_t i, int64_t value);
} number;

#define X(name, ctype, letter)                                                                     \
  static double real_##name(const void* b, size_t i) { return (double)((const ctype*)b)[i]; }      \
  static int64_t integer_##name(const void* b, size_t i) { return (int64_t)((const ctype*)b)[i]; } \
  static void put_real_##name(void* b, size_t i, double v) { ((ctype*)b)[i] = (ctype)v; }          \
  static void put_integer_##name(void* b, size_t i, int64_t v) { ((ctype*)b)[i] = (ctype)v; }
CPLI_FMI3_NUMBERS(X)
#undef X

static const number numbers[] = {
#define X(name, ctype, letter)                                          \
  {#name,       sizeof(ctype),  cpli_fmi3Get##name, cpli_fmi3Set##name, \
   real_##name, integer_##name, put_real_##name,    put_integer_##name},
    CPLI_FMI3_NUMBERS(X)
#undef X
        {"Clock", sizeof(bool), cpli_fmi3GetClock, cpli_fmi3SetClock, real_Boolean, integer_Boolean,
         put_real_Boolean, put_integer_Boolean},
};

enum { BOOLEAN = CPL_WIDTH_UINT64, CLOCK };

static const cpli_slot* slot_of(const cpli_fmi3* in, uint32_t ref) {
  return &in->base.fmu->slots[ref];
}

uint32_t cpli_fmi3_value_ref(const cpli_fmi3* in, uint32_t ref) {
  return slot_of(in, ref)->value_ref;
}

static const cpl_variable* variable_of(const cpli_fmi3* in, uint32_t ref) {
  int32_t var = in->var_of[ref];
  return var >= 0 ? &in->base.fmu->desc.vars[var] : NULL;
}

static int number_of(const cpli_fmi3* in, cpl_type type, uint32_t ref) {
  int width = slot_of(in, ref)->width;
  switch (type) {
    case CPL_REAL: return (width == CPL_WIDTH_OWN ? CPL_WIDTH_FLOAT64 : width) - 1;
    case CPL_BOOLEAN: return BOOLEAN;
    case CPL_CLOCK: return CLOCK;
    case CPL_ENUMERATION: return CPL_WIDTH_INT64 - 1;
    default: return (width == CPL_WIDTH_OWN ? CPL_WIDTH_INT32 : width) - 1;
  }
}

//------------------------------------ groups ------------------------------------

// One more element; false: there is no room.
static bool take(const cpli_fmi3* in, cpli_fmi3_group* g, uint32_t ref) {
  const cpli_slot* slot = slot_of(in, ref);
  bool same = g->n_refs > 0 && g->refs[g->n_refs - 1] == slot->value_ref;
  if (!same) {
    if (g->n_values + (size_t)slot->count > in->room) return false;
    g->refs[g->n_refs++] = slot->value_ref;
    g->n_values += (size_t)slot->count;
  }
  if (g->taken == in->room) return false;
  size_t at = g->n_values - (size_t)slot->count + (size_t)slot->element;
  g->straight = g->straight && at == g->taken;
  g->at[g->taken++] = at;
  return true;
}

// As many elements as one call can serve: those of one of the FMU's types. The first is open.
static void gather(const cpli_fmi3* in, cpli_fmi3_group* g, cpl_type type, const uint32_t* refs,
                   size_t n) {
  int first = number_of(in, type, refs[0]);
  g->n_refs = g->n_values = g->taken = 0;
  g->straight = true;
  while (g->taken < n && number_of(in, type, refs[g->taken]) == first) {
    if (in->gates[refs[g->taken]] != CPLI_OPEN || !take(in, g, refs[g->taken])) break;
  }
  g->straight = g->straight && g->taken == g->n_values;
}

static void gather_any(const cpli_fmi3* in, cpli_fmi3_group* g, const uint32_t* refs, size_t n) {
  g->n_refs = g->n_values = g->taken = 0;
  g->straight = true;
  while (g->taken < n && take(in, g, refs[g->taken])) continue;
  g->straight = g->straight && g->taken == g->n_values;
}

//------------------------------------ numbers ------------------------------------

// Closed ones at the beginning: what they were last.
static size_t skip_reals(const cpli_fmi3* in, const uint32_t* refs, size_t n, double* values) {
  size_t i = 0;
  for (; i < n && in->gates[refs[i]] != CPLI_OPEN; i++) values[i] = in->reals[refs[i]];
  return i;
}

static size_t skip_integers(const cpli_fmi3* in, const uint32_t* refs, size_t n, int64_t* values) {
  size_t i = 0;
  for (; i < n && in->gates[refs[i]] != CPLI_OPEN; i++) values[i] = in->integers[refs[i]];
  return i;
}

cpl_status cpli_fmi3_read_real(cpli_fmi3* in, const uint32_t* refs, size_t n, double* values) {
  cpli_fmi3_group* g = &in->left;
  cpl_status st = CPL_OK;
  for (size_t done = skip_reals(in, refs, n, values); done < n && st == CPL_OK;) {
    int width = number_of(in, CPL_REAL, refs[done]);
    gather(in, g, CPL_REAL, refs + done, n - done);
    bool straight = g->straight && width == CPL_WIDTH_FLOAT64 - 1;
    void* to = straight ? values + done : in->buffer;
    st = numbers[width].get(&in->base, g->refs, g->n_refs, to, g->n_values);
    for (size_t i = 0; i < g->taken && !straight && st == CPL_OK; i++) {
      values[done + i] = numbers[width].real(to, g->at[i]);
    }
    done += g->taken;
    done += skip_reals(in, refs + done, n - done, values + done);
  }
  return st;
}

cpl_status cpli_fmi3_read_integer(cpli_fmi3* in, cpl_type type, const uint32_t* refs, size_t n,
                                  int64_t* values) {
  cpli_fmi3_group* g = &in->left;
  cpl_status st = CPL_OK;
  for (size_t done = skip_integers(in, refs, n, values); done < n && st == CPL_OK;) {
    const number* of = &numbers[number_of(in, type, refs[done])];
    gather(in, g, type, refs + done, n - done);
    st = of->get(&in->base, g->refs, g->n_refs, in->buffer, g->n_values);
    for (size_t i = 0; i < g->taken && st == CPL_OK; i++) {
      values[done + i] = of->integer(in->buffer, g->at[i]);
    }
    done += g->taken;
    done += skip_integers(in, refs + done, n - done, values + done);
  }
  return st;
}

// In an event a clock of the FMU may have become active.
static cpl_status look_at_clocks(cpli_fmi3* in, const uint32_t* refs, size_t n) {
  if (in->base.phase != CPLI_EVENT || in->n_clocked == 0) return CPL_OK;
  for (size_t i = 0; i < n; i++) {
    if (in->gates[refs[i]] != CPLI_OPEN) return cpli_fmi3_clocked_ask(in);
  }
  return CPL_OK;
}

cpl_status cpli_fmi3_get_real(cpl_component* c, const uint32_t* refs, size_t n, double* values) {
  cpli_fmi3* in = (cpli_fmi3*)c;
  cpl_status st = cpli_fmi3_settle(in);
  if (st == CPL_OK) st = look_at_clocks(in, refs, n);
  return st != CPL_OK ? st : cpli_fmi3_read_real(in, refs, n, values);
}

// Clocks are active within an event only; those that ticked in the last one are remembered where it
// is over at once.
static cpl_status get_clocks(cpli_fmi3* in, const uint32_t* refs, size_t n, int64_t* values) {
  cpl_status st = in->base.scheduled ? cpli_fmi3_settle(in) : CPL_OK;
  if (in->base.phase != CPLI_EVENT || in->events.rounds > 0 || st != CPL_OK) {
    bool now = in->events.tick_time == in->base.time;
    for (size_t i = 0; i < n; i++) values[i] = now ? in->integers[refs[i]] : 0;
    return st;
  }
  st = cpli_fmi3_read_integer(in, CPL_CLOCK, refs, n, values);
  for (size_t i = 0; i < n && st == CPL_OK; i++) {
    if (values[i] != 0) st = cpli_fmi3_clocked_tick(in, refs[i]);
  }
  return st;
}

cpl_status cpli_fmi3_get_integer(cpl_component* c, cpl_type type, const uint32_t* refs, size_t n,
                                 int64_t* values) {
  cpli_fmi3* in = (cpli_fmi3*)c;
  if (type == CPL_CLOCK) return get_clocks(in, refs, n, values);
  cpl_status st = cpli_fmi3_settle(in);
  if (st == CPL_OK) st = look_at_clocks(in, refs, n);
  return st != CPL_OK ? st : cpli_fmi3_read_integer(in, type, refs, n, values);
}

// The rest of an array of which some elements are set: from the description, or from the FMU.
static cpl_status load_array(cpli_fmi3* in, cpl_type type, uint32_t first) {
  const cpli_slot* slot = slot_of(in, first);
  const number* of = &numbers[number_of(in, type, first)];
  const cpl_variable* v = variable_of(in, first);
  bool described = v != NULL && in->base.phase <= CPLI_INITIALIZING;
  for (int32_t k = 0; k < slot->count && described; k++) described = v[k].has_start;
  if (!described) {
    cpl_status st = of->get(&in->base, &slot->value_ref, 1, in->buffer, (size_t)slot->count);
    if (st != CPL_OK) return st;
  }
  for (uint32_t k = 0; k < (uint32_t)slot->count; k++) {
    if (in->known[first + k]) continue;
    in->reals[first + k] = described ? v[k].start : of->real(in->buffer, k);
    in->integers[first + k] = described ? (int64_t)v[k].start : of->integer(in->buffer, k);
    in->known[first + k] = true;
  }
  return CPL_OK;
}

static cpl_status load_arrays(cpli_fmi3* in, cpl_type type, const uint32_t* refs, size_t n) {
  cpl_status st = CPL_OK;
  for (size_t i = 0; i < n && st == CPL_OK; i++) {
    const cpli_slot* slot = slot_of(in, refs[i]);
    uint32_t first = refs[i] - (uint32_t)slot->element;
    for (uint32_t k = 0; k < (uint32_t)slot->count; k++) {
      if (!in->known[first + k]) {
        st = load_array(in, type, first);
        break;
      }
    }
  }
  return st;
}

// Fill the buffer of a group with all elements of its arrays, as they were set last.
static void fill(cpli_fmi3* in, const number* of, cpl_type type, const uint32_t* refs,
                 const cpli_fmi3_group* g) {
  size_t at = 0;
  for (size_t i = 0; i < g->taken; i++) {
    const cpli_slot* slot = slot_of(in, refs[i]);
    uint32_t first = refs[i] - (uint32_t)slot->element;
    if (i > 0 && slot_of(in, refs[i - 1])->value_ref == slot->value_ref) continue;
    for (uint32_t k = 0; k < (uint32_t)slot->count; k++, at++) {
      if (type == CPL_REAL) of->put_real(in->buffer, at, in->reals[first + k]);
      if (type != CPL_REAL) of->put_integer(in->buffer, at, in->integers[first + k]);
    }
  }
}

static bool needs_event(const cpli_fmi3* in, uint32_t ref) {
  const cpl_variable* v = variable_of(in, ref);
  return v != NULL &&
         (v->variability == CPL_VARIABILITY_DISCRETE || v->variability == CPL_VARIABILITY_TUNABLE);
}

// Structural parameters are set in configuration mode, discrete inputs and tunable parameters of
// co-simulation in event mode, clocked inputs when their clock ticks. `changed`: values that differ
// from what was set last.
static cpl_status prepare_setting(cpli_fmi3* in, uint32_t ref, bool changed) {
  const cpl_variable* v = variable_of(in, ref);
  bool structural = v != NULL && v->structural;
  if (in->gates[ref] != CPLI_OPEN) {
    cpli_fmi3_clocked_wait(in, ref);
    return CPL_OK;
  }
  if (structural && in->base.phase == CPLI_INSTANTIATED) {
    in->base.phase = CPLI_CONFIGURING;
    return cpli_fmi3EnterConfigurationMode(&in->base);
  }
  if (!structural && in->base.phase == CPLI_CONFIGURING) return cpli_fmi3_settle(in);
  if (in->event_mode && in->base.phase == CPLI_STEPPING && changed && needs_event(in, ref)) {
    return cpli_fmi3_open_event(in);
  }
  return CPL_OK;
}

// One of a run of values, noted as set.
static bool note_real(cpli_fmi3* in, uint32_t ref, double value) {
  bool changed = !in->known[ref] || in->reals[ref] != value;
  in->reals[ref] = value;
  in->known[ref] = true;
  return changed;
}

static bool note_integer(cpli_fmi3* in, uint32_t ref, int64_t value) {
  bool changed = !in->known[ref] || in->integers[ref] != value;
  in->integers[ref] = value;
  in->known[ref] = true;
  return changed;
}

static size_t count_closed(const cpli_fmi3* in, const uint32_t* refs, size_t n) {
  size_t i = 0;
  while (i < n && in->gates[refs[i]] != CPLI_OPEN) i++;
  return i;
}

static cpl_status set_group(cpli_fmi3* in, cpl_type type, const uint32_t* refs,
                            const cpli_fmi3_group* g) {
  const number* of = &numbers[number_of(in, type, refs[0])];
  if (!g->straight) {
    cpl_status st = load_arrays(in, type, refs, g->taken);
    if (st != CPL_OK) return st;
  }
  fill(in, of, type, refs, g);
  return of->set(&in->base, g->refs, g->n_refs, in->buffer, g->n_values);
}

cpl_status cpli_fmi3_set_real(cpl_component* c, const uint32_t* refs, size_t n,
                              const double* values) {
  cpli_fmi3* in = (cpli_fmi3*)c;
  cpli_fmi3_group* g = &in->left;
  cpl_status st = CPL_OK;
  for (size_t i = 0; i < n && st == CPL_OK; i++) {
    st = prepare_setting(in, refs[i], note_real(in, refs[i], values[i]));
  }
  for (size_t done = 0; done < n && st == CPL_OK; done += g->taken) {
    done += count_closed(in, refs + done, n - done);
    if (done == n) break;
    gather(in, g, CPL_REAL, refs + done, n - done);
    if (g->straight && number_of(in, CPL_REAL, refs[done]) == CPL_WIDTH_FLOAT64 - 1) {
      st = cpli_fmi3SetFloat64(&in->base, g->refs, g->n_refs, values + done, g->n_values);
    } else {
      st = set_group(in, CPL_REAL, refs + done, g);
    }
  }
  return st;
}

static cpl_status check_range(cpli_fmi3* in, cpl_type type, uint32_t ref, int64_t value) {
  const number* of = &numbers[number_of(in, type, ref)];
  uint64_t room[1];
  if (type == CPL_BOOLEAN || type == CPL_CLOCK) return CPL_OK;
  of->put_integer(room, 0, value);
  if (of->integer(room, 0) == value) return CPL_OK;
  return cpl_fail_in(in->base.head.component.ctx, CPL_ERR_INPUT, in->base.name,
                     cpli_instance_variable(&in->base, type, ref), in->base.time,
                     "%s cannot be set to %lld: it is of type %s",
                     cpli_instance_variable(&in->base, type, ref), (long long)value, of->name);
}

// Clocks are activated; they become inactive by themselves. In initialisation they wait for the
// event at its end, in scheduled execution for the turn of their model partition.
static cpl_status set_clocks(cpli_fmi3* in, const uint32_t* refs, size_t n, const int64_t* values) {
  cpl_status st = CPL_OK;
  for (size_t i = 0; i < n && st == CPL_OK; i++) {
    if (values[i] == 0) continue;
    if (in->event_mode && in->base.phase == CPLI_STEPPING) st = cpli_fmi3_open_event(in);
    if (st != CPL_OK) continue;
    if (in->base.scheduled || in->base.phase == CPLI_INITIALIZING) {
      st = cpli_fmi3_clocks_trigger(in, refs[i]);
      continue;
    }
    if (in->base.phase != CPLI_EVENT) continue;
    uint32_t ref = cpli_fmi3_value_ref(in, refs[i]);
    st = cpli_fmi3SetClock(&in->base, &ref, 1, (bool[]){true}, 1);
    if (st == CPL_OK) st = cpli_fmi3_clocked_tick(in, refs[i]);
  }
  return st;
}

cpl_status cpli_fmi3_set_integer(cpl_component* c, cpl_type type, const uint32_t* refs, size_t n,
                                 const int64_t* values) {
  cpli_fmi3* in = (cpli_fmi3*)c;
  cpli_fmi3_group* g = &in->left;
  cpl_status st = CPL_OK;
  if (type == CPL_CLOCK) return set_clocks(in, refs, n, values);
  for (size_t i = 0; i < n && st == CPL_OK; i++) st = check_range(in, type, refs[i], values[i]);
  for (size_t i = 0; i < n && st == CPL_OK; i++) {
    int64_t value = type == CPL_BOOLEAN ? values[i] != 0 : values[i];
    st = prepare_setting(in, refs[i], note_integer(in, refs[i], value));
  }
  // what is the same as before needs no event
  if (st == CPL_OK && in->event_mode && in->base.phase == CPLI_STEPPING) return CPL_OK;
  for (size_t done = 0; done < n && st == CPL_OK; done += g->taken) {
    done += count_closed(in, refs + done, n - done);
    if (done == n) break;
    gather(in, g, type, refs + done, n - done);
    st = set_group(in, type, refs + done, g);
  }
  return st;
}

//------------------------------------ strings and binaries ------------------------------------

cpl_status cpli_fmi3_read_string(cpli_fmi3* in, const uint32_t* refs, size_t n,
                                 const char** values) {
  cpli_fmi3_group* g = &in->left;
  const char** buffer = in->buffer;
  cpl_status st = CPL_OK;
  for (size_t i = 0; i < n; i++)
    values[i] = in->gates[refs[i]] != CPLI_OPEN ? cpli_fmi3_text_string(in, refs[i]) : "";
  for (size_t done = 0; done < n && st == CPL_OK; done += g->taken) {
    done += count_closed(in, refs + done, n - done);
    if (done == n) break;
    gather(in, g, CPL_STRING, refs + done, n - done);
    for (size_t i = 0; i < g->n_values; i++) buffer[i] = NULL;
    st = cpli_fmi3GetString(&in->base, g->refs, g->n_refs, buffer, g->n_values);
    for (size_t i = 0; i < g->taken && st == CPL_OK; i++) {
      if (buffer[g->at[i]] != NULL) values[done + i] = buffer[g->at[i]];
    }
  }
  return st;
}

cpl_status cpli_fmi3_read_binary(cpli_fmi3* in, const uint32_t* refs, size_t n,
                                 cpl_binary* values) {
  cpli_fmi3_group* g = &in->left;
  cpl_status st = CPL_OK;
  for (size_t i = 0; i < n; i++) {
    if (in->gates[refs[i]] != CPLI_OPEN) values[i] = cpli_fmi3_text_binary(in, refs[i]);
  }
  for (size_t done = 0; done < n && st == CPL_OK; done += g->taken) {
    done += count_closed(in, refs + done, n - done);
    if (done == n) break;
    gather(in, g, CPL_BINARY, refs + done, n - done);
    memset(in->sizes, 0, g->n_values * sizeof *in->sizes);
    st = cpli_fmi3GetBinary(&in->base, g->refs, g->n_refs, in->sizes, in->bytes, g->n_values);
    for (size_t i = 0; i < g->taken && st == CPL_OK; i++) {
      values[done + i] = (cpl_binary){in->bytes[g->at[i]], in->sizes[g->at[i]]};
      if (values[done + i].data == NULL) values[done + i].size = 0;
    }
  }
  return st;
}

cpl_status cpli_fmi3_get_string(cpl_component* c, const uint32_t* refs, size_t n,
                                const char** values) {
  cpli_fmi3* in = (cpli_fmi3*)c;
  cpl_status st = cpli_fmi3_settle(in);
  if (st == CPL_OK) st = look_at_clocks(in, refs, n);
  return st != CPL_OK ? st : cpli_fmi3_read_string(in, refs, n, values);
}

cpl_status cpli_fmi3_get_binary(cpl_component* c, const uint32_t* refs, size_t n,
                                cpl_binary* values) {
  cpli_fmi3* in = (cpli_fmi3*)c;
  cpl_status st = cpli_fmi3_settle(in);
  if (st == CPL_OK) st = look_at_clocks(in, refs, n);
  return st != CPL_OK ? st : cpli_fmi3_read_binary(in, refs, n, values);
}

// Pointers returned by an FMU are invalid after a set: keep copies, all in one block.
static cpl_status copy_all(cpl_context* ctx, const uint8_t** bytes, const size_t* sizes, size_t n,
                           void** block) {
  size_t total = 1;
  for (size_t i = 0; i < n; i++) total += sizes[i];
  uint8_t* at = *block = cpli_alloc(ctx, total, 1);
  if (at == NULL) return cpli_nomem(ctx);
  for (size_t i = 0; i < n; i++) {
    if (sizes[i] > 0) memcpy(at, bytes[i], sizes[i]);
    bytes[i] = at;
    at += sizes[i];
  }
  return CPL_OK;
}

// The elements of a group of which not all are set: what the FMU has.
static cpl_status load_texts(cpli_fmi3* in, const cpli_fmi3_group* g, bool strings, void** block) {
  cpl_status st = CPL_OK;
  if (strings) {
    st = cpli_fmi3GetString(&in->base, g->refs, g->n_refs, in->buffer, g->n_values);
    for (size_t i = 0; i < g->n_values && st == CPL_OK; i++) {
      const char* text = ((const char**)in->buffer)[i];
      in->bytes[i] = (const uint8_t*)(text != NULL ? text : "");
      in->sizes[i] = strlen((const char*)in->bytes[i]) + 1;
    }
  } else {
    st = cpli_fmi3GetBinary(&in->base, g->refs, g->n_refs, in->sizes, in->bytes, g->n_values);
  }
  return st != CPL_OK
             ? st
             : copy_all(in->base.head.component.ctx, in->bytes, in->sizes, g->n_values, block);
}

static cpl_status set_texts(cpli_fmi3* in, cpl_type type, const uint32_t* refs, size_t n,
                            const char* const* texts, const cpl_binary* binaries) {
  cpli_fmi3_group* g = &in->left;
  cpl_status st = CPL_OK;
  for (size_t i = 0; i < n && st == CPL_OK; i++) {
    st = prepare_setting(in, refs[i], true);
    if (st != CPL_OK || in->gates[refs[i]] == CPLI_OPEN) continue;
    st = texts != NULL ? cpli_fmi3_text_keep(in, refs[i], texts[i], strlen(texts[i]))
                       : cpli_fmi3_text_keep(in, refs[i], binaries[i].data, binaries[i].size);
  }
  for (size_t done = 0; done < n && st == CPL_OK; done += g->taken) {
    void* block = NULL;
    done += count_closed(in, refs + done, n - done);
    if (done == n) break;
    gather(in, g, type, refs + done, n - done);
    if (!g->straight) st = load_texts(in, g, texts != NULL, &block);
    for (size_t i = 0; i < g->taken && st == CPL_OK; i++) {
      size_t at = g->at[i];
      in->bytes[at] = texts != NULL ? (const uint8_t*)texts[done + i] : binaries[done + i].data;
      in->sizes[at] = texts != NULL ? 0 : binaries[done + i].size;
    }
    if (st == CPL_OK) {
      st = texts != NULL ? cpli_fmi3SetString(&in->base, g->refs, g->n_refs, in->bytes, g->n_values)
                         : cpli_fmi3SetBinary(&in->base, g->refs, g->n_refs, in->sizes, in->bytes,
                                              g->n_values);
    }
    cpli_free(in->base.head.component.ctx, block);
  }
  return st;
}

cpl_status cpli_fmi3_set_string(cpl_component* c, const uint32_t* refs, size_t n,
                                const char* const* values) {
  return set_texts((cpli_fmi3*)c, CPL_STRING, refs, n, values, NULL);
}

cpl_status cpli_fmi3_set_binary(cpl_component* c, const uint32_t* refs, size_t n,
                                const cpl_binary* values) {
  return set_texts((cpli_fmi3*)c, CPL_BINARY, refs, n, NULL, values);
}

//------------------------------------ derivatives ------------------------------------

// A row of the Jacobian for each unknown, multiplied with the seed.
static cpl_status by_adjoint(cpli_fmi3* in, cpli_fmi3_group* u, cpli_fmi3_group* k,
                             const double* seed, double* sensitivity) {
  cpl_status st = CPL_OK;
  memset(u->values, 0, u->n_values * sizeof *u->values);
  for (size_t i = 0; i < u->taken && st == CPL_OK; i++) {
    u->values[u->at[i]] = 1;
    st = cpli_fmi3GetAdjointDerivative(&in->base, u, k, u->values, k->values);
    u->values[u->at[i]] = 0;
    for (size_t j = 0; j < k->taken && st == CPL_OK; j++) {
      sensitivity[i] += k->values[k->at[j]] * seed[j];
    }
  }
  return st;
}

static cpl_status by_seed(cpli_fmi3* in, cpli_fmi3_group* u, cpli_fmi3_group* k, const double* seed,
                          double* sensitivity) {
  memset(k->values, 0, k->n_values * sizeof *k->values);
  for (size_t j = 0; j < k->taken; j++) k->values[k->at[j]] = seed[j];
  cpl_status st = cpli_fmi3GetDirectionalDerivative(&in->base, u, k, k->values, u->values);
  for (size_t i = 0; i < u->taken && st == CPL_OK; i++) sensitivity[i] += u->values[u->at[i]];
  return st;
}

// An FMU may offer either kind of derivatives.
cpl_status cpli_fmi3_directional(cpl_component* c, const uint32_t* unknowns, size_t n_unknowns,
                                 const uint32_t* knowns, size_t n_knowns, const double* seed,
                                 double* sensitivity) {
  cpli_fmi3* in = (cpli_fmi3*)c;
  bool seeds =
      in->base.kind->can.directional && cpli_fmi3_fn(in)->fmi3GetDirectionalDerivative != NULL;
  cpli_fmi3_group *u = &in->left, *k = &in->right;
  cpl_status st = CPL_OK;
  memset(sensitivity, 0, n_unknowns * sizeof *sensitivity);
  for (size_t i = 0; i < n_unknowns && st == CPL_OK; i += u->taken) {
    gather_any(in, u, unknowns + i, n_unknowns - i);
    for (size_t j = 0; j < n_knowns && st == CPL_OK; j += k->taken) {
      gather_any(in, k, knowns + j, n_knowns - j);
      st = seeds ? by_seed(in, u, k, seed + j, sensitivity + i)
                 : by_adjoint(in, u, k, seed + j, sensitivity + i);
    }
  }
  return st;
}

//------------------------------------ memory ------------------------------------

static bool group_prepare(cpl_context* ctx, cpli_fmi3_group* g, size_t room) {
  g->refs = cpli_alloc(ctx, room, sizeof *g->refs);
  g->at = cpli_alloc(ctx, room, sizeof *g->at);
  g->values = cpli_alloc(ctx, room, sizeof *g->values);
  return g->refs != NULL && g->at != NULL && g->values != NULL;
}

static void group_release(cpl_context* ctx, cpli_fmi3_group* g) {
  cpli_free(ctx, g->refs);
  cpli_free(ctx, g->at);
  cpli_free(ctx, g->values);
}

cpl_status cpli_fmi3_values_prepare(cpli_fmi3* in) {
  cpl_context* ctx = in->base.head.component.ctx;
  const cpl_fmu* fmu = in->base.fmu;
  size_t room = in->room = (size_t)fmu->n_slots + 1;
  bool ok = group_prepare(ctx, &in->left, room) && group_prepare(ctx, &in->right, room);
  in->buffer = cpli_alloc(ctx, room, sizeof(uint64_t));
  in->bytes = cpli_alloc(ctx, room, sizeof *in->bytes);
  in->sizes = cpli_alloc(ctx, room, sizeof *in->sizes);
  in->var_of = cpli_alloc(ctx, room, sizeof *in->var_of);
  in->reals = cpli_alloc(ctx, room, sizeof *in->reals);
  in->integers = cpli_alloc(ctx, room, sizeof *in->integers);
  in->known = cpli_alloc(ctx, room, sizeof *in->known);
  ok = ok && in->buffer != NULL && in->bytes != NULL && in->sizes != NULL && in->var_of != NULL &&
       in->reals != NULL && in->integers != NULL && in->known != NULL;
  if (!ok) return cpli_nomem(ctx);
  for (size_t i = 0; i < room; i++) in->var_of[i] = -1;
  for (int32_t i = fmu->desc.n_vars - 1; i >= 0; i--) {
    if (fmu->desc.vars[i].ref < fmu->n_slots) in->var_of[fmu->desc.vars[i].ref] = i;
  }
  return CPL_OK;
}

void cpli_fmi3_values_release(cpli_fmi3* in) {
  cpl_context* ctx = in->base.head.component.ctx;
  group_release(ctx, &in->left);
  group_release(ctx, &in->right);
  cpli_free(ctx, in->buffer);
  cpli_free(ctx, in->bytes);
  cpli_free(ctx, in->sizes);
  cpli_free(ctx, in->var_of);
  cpli_free(ctx, in->reals);
  cpli_free(ctx, in->integers);
  cpli_free(ctx, in->known);
}

void cpli_fmi3_values_forget(cpli_fmi3* in) { memset(in->known, 0, in->room * sizeof *in->known); }
