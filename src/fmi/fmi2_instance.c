// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The life cycle, values, saved states and directional derivatives of an FMI 2.0 instance. Integers
// are converted between 64 and 32 bits; a value out of range is refused.
#include "fmi/fmi2_instance.h"

#include <math.h>

#include "fmi/fmi2_calls.h"

static cpli_fmi2* instance_of(cpl_component* c) { return (cpli_fmi2*)c; }

//------------------------------ values before the setup ------------------------------

// FMI 2.0 allows values to be set before fmi2SetupExperiment, but FMUs of some tools (20-sim) give
// all variables their start values in that call: what was set before is set again behind it.

static void forget_early(cpli_fmi2* in) {
  for (size_t i = 0; i < in->n_early; i++)
    cpli_free(in->base.head.component.ctx, in->early[i].text);
  in->n_early = 0;
}

// Nullable: the arrays of other types. Returns: st, or that there is no memory.
static cpl_status keep_early(cpli_fmi2* in, cpl_type type, const uint32_t* refs, size_t n,
                             const double* reals, const int64_t* integers, const char* const* texts,
                             cpl_status st) {
  cpl_context* ctx = in->base.head.component.ctx;
  if (in->base.phase != CPLI_INSTANTIATED || !isnan(in->base.time)) return st;
  for (size_t i = 0; i < n; i++) {
    if (!cpli_grow(ctx, (void**)&in->early, &in->cap_early, in->n_early, sizeof *in->early))
      return cpli_nomem(ctx);
    cpli_early_value* one = &in->early[in->n_early];
    *one = (cpli_early_value){.type = type, .ref = refs[i]};
    if (reals != NULL) one->real = reals[i];
    if (integers != NULL) one->integer = integers[i];
    if (texts != NULL) one->text = cpli_strdup(ctx, texts[i]);
    if (texts != NULL && one->text == NULL) return cpli_nomem(ctx);
    in->n_early++;
  }
  return st;
}

// Values of one type that were set one after the other: at most as many as the arrays have room
// for. Returns their number.
static size_t list_early(const cpli_fmi2* in, size_t first, size_t most, uint32_t* refs,
                         double* reals, int* integers, const char** texts) {
  size_t n = 0;
  for (; n < most && first + n < in->n_early; n++) {
    const cpli_early_value* one = &in->early[first + n];
    if (one->type != in->early[first].type) break;
    refs[n] = one->ref;
    reals[n] = one->real;
    integers[n] = one->type == CPL_BOOLEAN ? one->integer != 0 : (int)one->integer;
    texts[n] = one->text;
  }
  return n;
}

static cpl_status repeat_early(cpli_fmi2* in) {
  enum { MOST = 64 };
  uint32_t refs[MOST];
  double reals[MOST];
  int integers[MOST];
  const char* texts[MOST];
  cpl_status st = CPL_OK;
  for (size_t i = 0, n; i < in->n_early && st >= 0; i += n) {
    n = list_early(in, i, MOST, refs, reals, integers, texts);
    switch (in->early[i].type) {
      case CPL_REAL: st = cpli_fmi2SetReal(&in->base, refs, n, reals); break;
      case CPL_BOOLEAN: st = cpli_fmi2SetBoolean(&in->base, refs, n, integers); break;
      case CPL_STRING: st = cpli_fmi2SetString(&in->base, refs, n, texts); break;
      default: st = cpli_fmi2SetInteger(&in->base, refs, n, integers);
    }
  }
  forget_early(in);
  return st;
}

//------------------------------------ life cycle ------------------------------------

static cpl_status setup(cpl_component* c, const cpl_setup* s) {
  cpli_fmi2* in = instance_of(c);
  cpl_setup clean = *s;  // what is not defined must not look odd to an FMU that reads it anyway
  if (!clean.has_tolerance) clean.tolerance = 0;
  if (!clean.has_stop_time) clean.stop_time = 0;
  in->base.time = s->start_time;
  const cpl_status st = cpli_fmi2SetupExperiment(&in->base, &clean);
  return st < 0 ? st : repeat_early(in);
}

static cpl_status enter_init(cpl_component* c) {
  cpli_fmi2* in = instance_of(c);
  in->base.phase = CPLI_INITIALIZING;
  return cpli_fmi2EnterInitializationMode(&in->base);
}

static cpl_status exit_init(cpl_component* c) {
  cpli_fmi2* in = instance_of(c);
  cpl_status st = cpli_fmi2ExitInitializationMode(&in->base);
  in->event = (fmi2EventInfo){0};
  if (st < 0) return st;
  in->base.phase = in->base.co_simulation ? CPLI_STEPPING : CPLI_EVENT;
  return cpli_announce_constraints(&in->base);
}

//------------------------------------ values ------------------------------------

static cpl_status get_real(cpl_component* c, const uint32_t* refs, size_t n, double* values) {
  return n == 0 ? CPL_OK : cpli_fmi2GetReal(&instance_of(c)->base, refs, n, values);
}

static cpl_status set_real(cpl_component* c, const uint32_t* refs, size_t n, const double* values) {
  if (n == 0) return CPL_OK;
  const cpl_status st = cpli_fmi2SetReal(&instance_of(c)->base, refs, n, values);
  return st < 0 ? st : keep_early(instance_of(c), CPL_REAL, refs, n, values, NULL, NULL, st);
}

static size_t chunk_of(const cpli_fmi2* in, size_t left) {
  return left < in->n_integers ? left : in->n_integers;
}

static cpl_status get_integer(cpl_component* c, cpl_type type, const uint32_t* refs, size_t n,
                              int64_t* values) {
  cpli_fmi2* in = instance_of(c);
  cpl_status st = CPL_OK;
  for (size_t done = 0, m; done < n && st == CPL_OK; done += m) {
    m = chunk_of(in, n - done);
    st = type == CPL_BOOLEAN ? cpli_fmi2GetBoolean(&in->base, refs + done, m, in->integers)
                             : cpli_fmi2GetInteger(&in->base, refs + done, m, in->integers);
    if (st != CPL_OK) break;
    for (size_t i = 0; i < m; i++) {
      values[done + i] = type == CPL_BOOLEAN ? in->integers[i] != 0 : in->integers[i];
    }
  }
  return st;
}

static cpl_status out_of_range(cpli_fmu_instance* in, cpl_type type, uint32_t ref, int64_t value) {
  return cpl_fail_in(in->head.component.ctx, CPL_ERR_INPUT, in->name,
                     cpli_instance_variable(in, type, ref), in->time,
                     "%s cannot be set to %lld: FMI 2.0 has integers of 32 bits only",
                     cpli_instance_variable(in, type, ref), (long long)value);
}

static cpl_status set_integer(cpl_component* c, cpl_type type, const uint32_t* refs, size_t n,
                              const int64_t* values) {
  cpli_fmi2* in = instance_of(c);
  for (size_t i = 0; i < n && type != CPL_BOOLEAN; i++) {
    if (values[i] < INT32_MIN || values[i] > INT32_MAX) {
      return out_of_range(&in->base, type, refs[i], values[i]);
    }
  }
  cpl_status st = CPL_OK;
  for (size_t done = 0, m; done < n && st == CPL_OK; done += m) {
    m = chunk_of(in, n - done);
    for (size_t i = 0; i < m; i++) {
      in->integers[i] = type == CPL_BOOLEAN ? values[done + i] != 0 : (int)values[done + i];
    }
    st = type == CPL_BOOLEAN ? cpli_fmi2SetBoolean(&in->base, refs + done, m, in->integers)
                             : cpli_fmi2SetInteger(&in->base, refs + done, m, in->integers);
  }
  return st < 0 ? st : keep_early(in, type, refs, n, NULL, values, NULL, st);
}

static cpl_status get_string(cpl_component* c, const uint32_t* refs, size_t n,
                             const char** values) {
  if (n == 0) return CPL_OK;
  for (size_t i = 0; i < n; i++) values[i] = NULL;
  cpl_status st = cpli_fmi2GetString(&instance_of(c)->base, refs, n, values);
  for (size_t i = 0; i < n; i++) {
    if (values[i] == NULL) values[i] = "";  // seen in real FMUs
  }
  return st;
}

static cpl_status set_string(cpl_component* c, const uint32_t* refs, size_t n,
                             const char* const* values) {
  if (n == 0) return CPL_OK;
  const cpl_status st = cpli_fmi2SetString(&instance_of(c)->base, refs, n, values);
  return st < 0 ? st : keep_early(instance_of(c), CPL_STRING, refs, n, NULL, NULL, values, st);
}

static cpl_status directional(cpl_component* c, const uint32_t* unknowns, size_t n_unknowns,
                              const uint32_t* knowns, size_t n_knowns, const double* seed,
                              double* sensitivity) {
  if (n_unknowns == 0) return CPL_OK;
  if (n_knowns == 0) {
    memset(sensitivity, 0, n_unknowns * sizeof *sensitivity);
    return CPL_OK;
  }
  return cpli_fmi2GetDirectionalDerivative(&instance_of(c)->base, unknowns, n_unknowns, knowns,
                                           n_knowns, seed, sensitivity);
}

//------------------------------------ making and ending ------------------------------------

static const cpl_component_ops common_ops = {
    .size = sizeof common_ops,
    .setup = setup,
    .enter_init = enter_init,
    .exit_init = exit_init,
    .get_real = get_real,
    .set_real = set_real,
    .get_integer = get_integer,
    .set_integer = set_integer,
    .get_string = get_string,
    .set_string = set_string,
    .directional = directional,
};

static cpl_status prepare(cpli_fmu_instance* base) {
  cpli_fmi2* in = (cpli_fmi2*)base;
  const cpl_description* desc = &base->fmu->desc;
  in->n_integers = 1;
  for (int32_t i = 0; i < desc->n_vars; i++) {
    uint8_t type = desc->vars[i].type;
    if (type != CPL_REAL && type != CPL_STRING) in->n_integers++;
  }
  in->integers = cpli_alloc(base->head.component.ctx, in->n_integers, sizeof *in->integers);
  return in->integers != NULL ? CPL_OK : cpli_nomem(base->head.component.ctx);
}

static void release(cpli_fmu_instance* base) {
  cpli_fmi2* in = (cpli_fmi2*)base;
  forget_early(in);
  cpli_free(base->head.component.ctx, in->early);
  cpli_free(base->head.component.ctx, in->integers);
}

// What was set before does not count after it.
static cpl_status reset(cpli_fmu_instance* base) {
  forget_early((cpli_fmi2*)base);
  return cpli_fmi2Reset(base);
}

// A binary of another version or with other types cannot be trusted, but real ones often misspell.
static cpl_status check_version(cpli_fmi2* in) {
  const char* text = "2.0";
  cpl_status st =
      cpli_fmi2_fn(in)->fmi2GetVersion != NULL ? cpli_fmi2GetVersion(&in->base, &text) : CPL_OK;
  if (st < 0) return st;
  cpli_instance_compare(&in->base, "says it is of FMI version", text, "2.");
  text = "default";
  st = cpli_fmi2_fn(in)->fmi2GetTypesPlatform != NULL ? cpli_fmi2GetTypesPlatform(&in->base, &text)
                                                      : CPL_OK;
  if (st >= 0) cpli_instance_compare(&in->base, "uses types", text, "default");
  return st;
}

static cpl_status instantiate(cpli_fmu_instance* base) {
  cpli_fmi2* in = (cpli_fmi2*)base;
  in->callbacks = cpli_fmi2_callbacks(in);
  cpl_status st = check_version(in);
  return st < 0 ? st : cpli_fmi2Instantiate(&in->base);
}

static bool has_directional(const cpli_fmu_instance* in) {
  return in->kind->can.directional &&
         cpli_fmi2_fn((const cpli_fmi2*)in)->fmi2GetDirectionalDerivative != NULL;
}

cpl_status cpli_fmi2_create(cpl_source* src, const char* name, bool co_simulation,
                            cpli_fmi2** out) {
  static const cpli_api api = {
      .prefix = "fmi2",
      .version = "2.0",
      .size = sizeof(cpli_fmi2),
      .calls = cpli_fmi2_call_list,
      .ops = &common_ops,
      .prepare = prepare,
      .instantiate = instantiate,
      .free_instance = cpli_fmi2FreeInstance,
      .terminate = cpli_fmi2Terminate,
      .reset = reset,
      .release = release,
      .get_state = cpli_fmi2GetFMUstate,
      .set_state = cpli_fmi2SetFMUstate,
      .free_state = cpli_fmi2FreeFMUstate,
      .state_size = cpli_fmi2SerializedFMUstateSize,
      .write_state = cpli_fmi2SerializeFMUstate,
      .read_state = cpli_fmi2DeSerializeFMUstate,
      .has_directional = has_directional,
  };
  cpli_fmu_instance* in = NULL;
  const cpl_fmu* fmu = (const cpl_fmu*)src;
  cpl_status st = cpli_instance_create(src, name, &api, co_simulation ? &fmu->cs : &fmu->me, &in);
  *out = (cpli_fmi2*)in;
  return st;
}
