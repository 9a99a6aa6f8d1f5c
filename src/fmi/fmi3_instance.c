// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The modes, events, life cycle and saved states of an FMI 3.0 instance. An event mode or an
// intermediate update that the description promises and the binary refuses is given up with a
// warning.
#include "fmi/fmi3_instance.h"

#include <assert.h>
#include <math.h>

#include "fmi/fmi3_calls.h"

//------------------------------------ modes ------------------------------------

// Sizes may depend on structural parameters, but the description is made with those it was opened
// with.
static cpl_status check_sizes(cpli_fmi3* in) {
  const cpl_description* desc = &in->base.fmu->desc;
  size_t states = (size_t)desc->n_states, indicators = (size_t)desc->n_indicators;
  cpl_status st = CPL_OK;
  if (in->base.co_simulation) return CPL_OK;
  if (cpli_fmi3_fn(in)->fmi3GetNumberOfContinuousStates != NULL) {
    st = cpli_fmi3GetNumberOfContinuousStates(&in->base, &states);
  }
  if (st == CPL_OK && cpli_fmi3_fn(in)->fmi3GetNumberOfEventIndicators != NULL) {
    st = cpli_fmi3GetNumberOfEventIndicators(&in->base, &indicators);
  }
  if (st != CPL_OK) return st;
  if (states == (size_t)desc->n_states && indicators == (size_t)desc->n_indicators) return CPL_OK;
  return cpl_fail_in(in->base.head.component.ctx, CPL_ERR_MODEL, in->base.name, NULL, in->base.time,
                     "with these structural parameters there are %zu states and %zu event "
                     "indicators, but its description gives %d and %d",
                     states, indicators, desc->n_states, desc->n_indicators);
}

cpl_status cpli_fmi3_settle(cpli_fmi3* in) {
  if (in->base.phase == CPLI_CONFIGURING) {
    in->base.phase = CPLI_INSTANTIATED;
    cpl_status st = cpli_fmi3ExitConfigurationMode(&in->base);
    return st < 0 ? st : check_sizes(in);
  }
  bool event = in->base.phase == CPLI_EVENT && in->base.co_simulation && in->events.rounds == 0;
  return event ? cpli_fmi3_finish_event(in) : CPL_OK;
}

void cpli_fmi3_begin_event(cpli_fmi3* in) {
  cpli_fmi3_events* e = &in->events;
  e->terminate = e->nominals_changed = e->states_changed = e->timed = false;
}

cpl_status cpli_fmi3_open_event(cpli_fmi3* in) {
  if (in->base.phase == CPLI_EVENT) return CPL_OK;
  // in scheduled execution an event is nothing but the partitions that are run in it
  cpl_status st = in->base.scheduled ? CPL_OK : cpli_fmi3EnterEventMode(&in->base);
  cpli_fmi3_begin_event(in);
  if (st == CPL_OK) in->base.phase = CPLI_EVENT;
  return st;
}

cpl_status cpli_fmi3_event_round(cpli_fmi3* in) {
  enum { MOST = 1000 };
  if (in->base.scheduled) return cpli_fmi3_run_partitions(in);
  cpl_event_info info = {0};
  if (in->events.rounds++ == MOST) {
    return cpl_fail_in(in->base.head.component.ctx, CPL_ERR_MODEL, in->base.name, NULL,
                       in->base.time, "the event at t=%.12g does not come to an end",
                       in->base.time);
  }
  cpl_status st = cpli_fmi3_update(in, &info);
  in->events.terminated = in->events.terminated || info.terminate;
  if (st != CPL_OK || (info.again && !in->events.terminated)) return st;
  in->events.pending = false;
  in->events.rounds = 0;
  st = cpli_fmi3EnterStepMode(&in->base);
  if (st == CPL_OK) in->base.phase = CPLI_STEPPING;
  return st;
}

cpl_status cpli_fmi3_finish_event(cpli_fmi3* in) {
  cpl_status st = CPL_OK;
  do {
    st = cpli_fmi3_event_round(in);
  } while (st == CPL_OK && in->events.rounds > 0);
  return st;
}

//------------------------------------ life cycle ------------------------------------

static cpl_status setup(cpl_component* c, const cpl_setup* s) {
  cpli_fmi3* in = (cpli_fmi3*)c;
  in->base.setup = *s;  // what is not defined must not look odd to an FMU that reads it anyway
  if (!s->has_tolerance) in->base.setup.tolerance = 0;
  if (!s->has_stop_time) in->base.setup.stop_time = 0;
  in->base.time = s->start_time;
  in->events = (cpli_fmi3_events){.next = INFINITY, .tick_time = NAN};
  in->update_status = CPL_OK;
  cpli_fmi3_clocks_reset(in);
  const cpl_fmu* fmu = in->base.fmu;
  bool only_residuals = fmu->dae.present && fmu->dae.enable < 0 && !in->base.co_simulation;
  if (only_residuals && !in->as_residuals) {
    return cpl_fail_in(c->ctx, CPL_ERR_INPUT, c->name, NULL, NAN,
                       "it has %d algebraic variable%s and no parameter that makes it compute them "
                       "(EnableDAE): only solver ida can run it, and not as part of a system",
                       (int)fmu->desc.n_algebraics, fmu->desc.n_algebraics == 1 ? "" : "s");
  }
  return cpli_fmi3_settle(in);
}

static cpl_status enter_init(cpl_component* c) {
  cpli_fmi3* in = (cpli_fmi3*)c;
  in->base.phase = CPLI_INITIALIZING;
  cpl_status st = cpli_fmi3EnterInitializationMode(&in->base);
  return st < 0 ? st : cpli_fmi3_clocked_open(in);
}

// It ends with an event where there is an event mode.
static cpl_status exit_init(cpl_component* c) {
  cpli_fmi3* in = (cpli_fmi3*)c;
  cpl_status st = cpli_fmi3_clocks_start(in);
  if (st == CPL_OK) st = cpli_fmi3_clocked_read(in);
  if (st == CPL_OK) st = cpli_fmi3ExitInitializationMode(&in->base);
  cpli_fmi3_begin_event(in);
  cpli_fmi3_clocked_close(in);
  if (st != CPL_OK) return st;
  in->base.phase = in->base.co_simulation && !in->event_mode ? CPLI_STEPPING : CPLI_EVENT;
  return in->base.co_simulation ? cpli_fmi3_settle(in) : cpli_announce_constraints(&in->base);
}

//------------------------------------ saved states ------------------------------------

// Adapter state that the FMU lacks: future events, ticks, values that were set last. It becomes
// bytes, which another process may read: there are neither pointers nor gaps in it.
typedef struct saved_events {
  double next, tick_time, time;
  int32_t rounds;
  uint8_t pending, terminated, terminate, nominals_changed, states_changed, timed, unused[6];
} saved_events;
static_assert(sizeof(saved_events) == 40, "no padding");

typedef struct saved_ticking {
  double interval, since, next, last;
  int64_t count, active;
} saved_ticking;

typedef struct part {
  void* data;
  size_t size;
} part;

enum { N_PARTS = 4 };

static void list_parts(const cpli_fmi3* in, part parts[N_PARTS]) {
  const part all[N_PARTS] = {
      {in->reals, in->room * sizeof *in->reals},
      {in->integers, in->room * sizeof *in->integers},
      {in->known, in->room * sizeof *in->known},
      {in->gates, in->room * sizeof *in->gates},
  };
  memcpy(parts, all, sizeof all);
}

static size_t fixed_size(const cpli_fmi3* in) {
  part parts[N_PARTS];
  size_t size = sizeof(saved_events) + (size_t)in->n_ticking * sizeof(saved_ticking);
  list_parts(in, parts);
  for (int i = 0; i < N_PARTS; i++) size += parts[i].size;
  return size;
}

static size_t own_size(const cpli_fmu_instance* in) {
  return fixed_size((const cpli_fmi3*)in) + cpli_fmi3_texts_size((const cpli_fmi3*)in);
}

static char* save_events(const cpli_fmi3* in, char* to) {
  const cpli_fmi3_events* e = &in->events;
  const saved_events k = {.next = e->next,
                          .tick_time = e->tick_time,
                          .time = e->time,
                          .rounds = e->rounds,
                          .pending = e->pending,
                          .terminated = e->terminated,
                          .terminate = e->terminate,
                          .nominals_changed = e->nominals_changed,
                          .states_changed = e->states_changed,
                          .timed = e->timed};
  memcpy(to, &k, sizeof k);
  to += sizeof k;
  for (int32_t i = 0; i < in->n_ticking; i++, to += sizeof(saved_ticking)) {
    const cpli_ticking* t = &in->ticking[i];
    const saved_ticking one = {t->interval, t->since, t->next, t->last, t->count, t->active};
    memcpy(to, &one, sizeof one);
  }
  return to;
}

static const char* restore_events(cpli_fmi3* in, const char* from) {
  saved_events k;
  memcpy(&k, from, sizeof k);
  from += sizeof k;
  in->events = (cpli_fmi3_events){.next = k.next,
                                  .tick_time = k.tick_time,
                                  .time = k.time,
                                  .rounds = k.rounds,
                                  .pending = k.pending != 0,
                                  .terminated = k.terminated != 0,
                                  .terminate = k.terminate != 0,
                                  .nominals_changed = k.nominals_changed != 0,
                                  .states_changed = k.states_changed != 0,
                                  .timed = k.timed != 0};
  for (int32_t i = 0; i < in->n_ticking; i++, from += sizeof(saved_ticking)) {
    cpli_ticking* t = &in->ticking[i];
    saved_ticking one;
    memcpy(&one, from, sizeof one);
    t->interval = one.interval, t->since = one.since, t->next = one.next, t->last = one.last;
    t->count = one.count, t->active = one.active != 0;
  }
  return from;
}

static void own_save(const cpli_fmu_instance* base, void* own) {
  const cpli_fmi3* in = (const cpli_fmi3*)base;
  part parts[N_PARTS];
  char* to = save_events(in, own);
  list_parts(in, parts);
  for (int i = 0; i < N_PARTS; to += parts[i++].size) {
    if (parts[i].size > 0) memcpy(to, parts[i].data, parts[i].size);
  }
  cpli_fmi3_texts_save(in, to);
}

// Whether flags and gates have values that exist.
static bool are_sound(const cpli_fmi3* in, const char* own) {
  const unsigned char* at = (const unsigned char*)own + fixed_size(in);
  const unsigned char* gates = at - in->room * sizeof *in->gates;
  const unsigned char* known = gates - in->room * sizeof *in->known;
  bool sound = true;
  for (size_t i = 0; i < in->room; i++) sound = sound && known[i] <= 1 && gates[i] <= CPLI_DUE;
  return sound;
}

static cpl_status own_restore(cpli_fmu_instance* base, const void* own, size_t size) {
  cpli_fmi3* in = (cpli_fmi3*)base;
  part parts[N_PARTS];
  size_t fixed = fixed_size(in);
  if (size < fixed || !are_sound(in, own))
    return cpl_fail_in(base->head.component.ctx, CPL_ERR_INPUT, base->name, NULL, base->time,
                       "these bytes are no saved state");
  const char* from = restore_events(in, own);
  list_parts(in, parts);
  for (int i = 0; i < N_PARTS; from += parts[i++].size) {
    if (parts[i].size > 0) memcpy(parts[i].data, from, parts[i].size);
  }
  return cpli_fmi3_texts_restore(in, from, size - fixed);
}

//------------------------------------ making and ending ------------------------------------

static const cpl_component_ops common_ops = {
    .size = sizeof common_ops,
    .setup = setup,
    .enter_init = enter_init,
    .exit_init = exit_init,
    .get_real = cpli_fmi3_get_real,
    .set_real = cpli_fmi3_set_real,
    .get_integer = cpli_fmi3_get_integer,
    .set_integer = cpli_fmi3_set_integer,
    .get_string = cpli_fmi3_get_string,
    .set_string = cpli_fmi3_set_string,
    .get_binary = cpli_fmi3_get_binary,
    .set_binary = cpli_fmi3_set_binary,
    .directional = cpli_fmi3_directional,
};

static cpl_status prepare(cpli_fmu_instance* base) {
  cpli_fmi3* in = (cpli_fmi3*)base;
  in->event_mode = base->scheduled || (base->co_simulation && base->kind->event_mode);
  in->events.next = INFINITY;
  cpl_status st = cpli_fmi3_values_prepare(in);
  if (st >= 0) st = cpli_fmi3_clocked_prepare(in);
  if (st >= 0) st = cpli_fmi3_clocks_prepare(in);
  return st < 0 ? st : cpli_fmi3_inputs_prepare(in);
}

static void release(cpli_fmu_instance* base) {
  cpli_fmi3_values_release((cpli_fmi3*)base);
  cpli_fmi3_clocks_release((cpli_fmi3*)base);
  cpli_fmi3_inputs_release((cpli_fmi3*)base);
  cpli_fmi3_clocked_release((cpli_fmi3*)base);
  cpli_fmi3_residuals_release((cpli_fmi3*)base);
}

// The structural parameters that the FMU was opened with, before anything else is set.
cpl_status cpli_fmi3_configure(cpli_fmi3* in) {
  const cpl_fmu* fmu = in->base.fmu;
  cpl_component* c = &in->base.head.component;
  cpl_status st = CPL_OK;
  for (size_t i = 0; i < fmu->n_starts && st == CPL_OK; i++) {
    int32_t var = cpl_find_variable(&fmu->desc, fmu->starts[i].name);
    if (var < 0 || !fmu->desc.vars[var].structural) continue;
    const cpl_variable* v = &fmu->desc.vars[var];
    int64_t value = (int64_t)v->start;
    st = cpli_fmi3_set_integer(c, (cpl_type)v->type, &v->ref, 1, &value);
  }
  if (st == CPL_OK && in->as_residuals && fmu->dae.enable >= 0) {
    int64_t yes = 1;
    st = cpli_fmi3_set_integer(c, CPL_BOOLEAN, &fmu->desc.vars[fmu->dae.enable].ref, 1, &yes);
  }
  return st < 0 ? st : cpli_fmi3_settle(in);
}

// Once more without what the description promises and the FMU refuses; `what` names it.
static cpl_status make_without(cpli_fmi3* in, const char* what) {
  char why[sizeof in->base.message];
  memcpy(why, in->base.message, sizeof why);
  in->base.health = CPLI_GOOD;
  cpl_status st = cpli_fmi3InstantiateCoSimulation(&in->base);
  if (st < 0) return st;
  cpl_log(in->base.head.component.ctx, CPL_LOG_WARNING, in->base.name,
          "the description promises %s, but the FMU refuses it (%s)", what, why);
  return st;
}

static cpl_status make_stepper(cpli_fmi3* in) {
  cpl_status st = cpli_fmi3InstantiateCoSimulation(&in->base);
  if (st < 0 && in->n_intermediate > 0 && in->base.health == CPLI_FAILED) {
    in->n_intermediate = 0;
    st = make_without(in, "an intermediate update of inputs");
  }
  if (st < 0 && in->event_mode && in->base.health == CPLI_FAILED) {
    in->event_mode = false;
    st = make_without(in, "an event mode");
  }
  return st;
}

static cpl_status instantiate(cpli_fmu_instance* base) {
  cpli_fmi3* in = (cpli_fmi3*)base;
  const char* text = "3.0";
  cpl_status st =
      cpli_fmi3_fn(in)->fmi3GetVersion != NULL ? cpli_fmi3GetVersion(&in->base, &text) : CPL_OK;
  if (st < 0) return st;
  cpli_instance_compare(base, "says it is of FMI version", text, "3.");
  st = base->scheduled       ? cpli_fmi3InstantiateScheduledExecution(&in->base)
       : base->co_simulation ? make_stepper(in)
                             : cpli_fmi3InstantiateModelExchange(&in->base);
  return st < 0 ? st : cpli_fmi3_configure(in);
}

static cpl_status reset(cpli_fmu_instance* base) {
  cpli_fmi3* in = (cpli_fmi3*)base;
  cpli_fmi3_values_forget(in);
  cpli_fmi3_clocked_reset(in);
  cpl_status st = cpli_fmi3_texts_reset(in);
  if (st >= 0) st = cpli_fmi3Reset(&in->base);
  if (st < 0) return st;
  base->phase = CPLI_INSTANTIATED;
  base->health = CPLI_GOOD;
  return cpli_fmi3_configure(in);
}

static bool has_directional(const cpli_fmu_instance* in) {
  const cpli_fmi3_functions* fn = cpli_fmi3_fn((const cpli_fmi3*)in);
  return (in->kind->can.directional && fn->fmi3GetDirectionalDerivative != NULL) ||
         (in->kind->adjoint && fn->fmi3GetAdjointDerivative != NULL);
}

cpl_status cpli_fmi3_create(cpl_source* src, const char* name, const cpli_fmu_kind* kind,
                            cpli_fmi3** out) {
  static const cpli_api api = {
      .prefix = "fmi3",
      .version = "3.0",
      .size = sizeof(cpli_fmi3),
      .calls = cpli_fmi3_call_list,
      .ops = &common_ops,
      .resource_path = true,
      .prepare = prepare,
      .instantiate = instantiate,
      .free_instance = cpli_fmi3FreeInstance,
      .terminate = cpli_fmi3Terminate,
      .reset = reset,
      .release = release,
      .get_state = cpli_fmi3GetFMUState,
      .set_state = cpli_fmi3SetFMUState,
      .free_state = cpli_fmi3FreeFMUState,
      .state_size = cpli_fmi3SerializedFMUStateSize,
      .write_state = cpli_fmi3SerializeFMUState,
      .read_state = cpli_fmi3DeserializeFMUState,
      .own_size = own_size,
      .own_save = own_save,
      .own_restore = own_restore,
      .has_directional = has_directional,
  };
  cpli_fmu_instance* in = NULL;
  cpl_status st = cpli_instance_create(src, name, &api, kind, &in);
  *out = (cpli_fmi3*)in;
  return st;
}
