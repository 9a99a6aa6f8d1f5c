// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The life cycle and the values of an FMI 1.0 instance. Negated aliases change their sign here; an
// instance that has no function for a reset is freed and instantiated again.
#include "fmi/fmi1_instance.h"

#include <math.h>

#include "fmi/fmi1_calls.h"

static cpli_fmi1* instance_of(cpl_component* c) { return (cpli_fmi1*)c; }

//------------------------------------ life cycle ------------------------------------

static cpl_status setup(cpl_component* c, const cpl_setup* s) {
  cpli_fmi1* in = instance_of(c);
  in->base.setup = *s;  // what is not defined must not look odd to an FMU that reads it anyway
  if (!s->has_tolerance) in->base.setup.tolerance = 0;
  if (!s->has_stop_time) in->base.setup.stop_time = 0;
  in->base.time = s->start_time;
  return CPL_OK;
}

static cpl_status enter_init(cpl_component* c) {
  instance_of(c)->base.phase = CPLI_INITIALIZING;
  return CPL_OK;
}

// Some FMUs insist on hearing the time first.
static cpl_status initialize(cpli_fmi1* in) {
  if (in->initialized) return CPL_OK;
  in->initialized = true;
  if (in->base.co_simulation) return cpli_fmiInitializeSlave(&in->base);
  cpl_status st = cpli_fmiSetTime(&in->base, in->base.time);
  in->event = (fmiEventInfo){.iterationConverged = fmiTrue};
  in->after_init = true;
  if (st >= 0) st = cpli_fmiInitialize(&in->base, &in->event);
  in->time_due = true;
  return st;
}

// Initial values can be read only after that call.
static cpl_status before_reading(cpli_fmi1* in) {
  return in->base.phase == CPLI_INITIALIZING ? initialize(in) : CPL_OK;
}

static cpl_status exit_init(cpl_component* c) {
  cpli_fmi1* in = instance_of(c);
  cpl_status st = initialize(in);
  if (st >= 0) in->base.phase = in->base.co_simulation ? CPLI_STEPPING : CPLI_EVENT;
  return st;
}

//------------------------------------ values ------------------------------------

static bool is_negated(const cpli_fmi1* in, uint32_t ref) {
  const cpl_fmu* fmu = in->base.fmu;
  return fmu->slots != NULL && ref < fmu->n_slots && fmu->slots[ref].negated;
}

// The FMU's own references, as many as go at a time.
static const uint32_t* value_refs(cpli_fmi1* in, const uint32_t* refs, size_t n) {
  const cpl_fmu* fmu = in->base.fmu;
  if (fmu->slots == NULL) return refs;
  for (size_t i = 0; i < n; i++) {
    in->refs[i] = refs[i] < fmu->n_slots ? fmu->slots[refs[i]].value_ref : refs[i];
  }
  return in->refs;
}

static size_t chunk_of(const cpli_fmi1* in, size_t left) {
  return left < in->n_buffer ? left : in->n_buffer;
}

static cpl_status get_real(cpl_component* c, const uint32_t* refs, size_t n, double* values) {
  cpli_fmi1* in = instance_of(c);
  cpl_status st = n == 0 ? CPL_OK : before_reading(in);
  for (size_t done = 0, m; done < n && st == CPL_OK; done += m) {
    m = chunk_of(in, n - done);
    st = cpli_fmiGetReal(&in->base, value_refs(in, refs + done, m), m, values + done);
    for (size_t i = done; i < done + m; i++) {
      if (is_negated(in, refs[i])) values[i] = -values[i];
    }
  }
  return st;
}

// A negated alias is set one by one: rare, and the values are the caller's.
static cpl_status set_real(cpl_component* c, const uint32_t* refs, size_t n, const double* values) {
  cpli_fmi1* in = instance_of(c);
  cpl_status st = CPL_OK;
  for (size_t done = 0, m = 0; done < n && st == CPL_OK; done += m) {
    for (m = 0; m < chunk_of(in, n - done) && !is_negated(in, refs[done + m]);) m++;
    double negated = -values[done];
    const double* from = m > 0 ? values + done : &negated;
    if (m == 0) m = 1;
    st = cpli_fmiSetReal(&in->base, value_refs(in, refs + done, m), m, from);
  }
  return st;
}

static int64_t turned(const cpli_fmi1* in, cpl_type type, uint32_t ref, int64_t value) {
  if (type == CPL_BOOLEAN) return (value != 0) != is_negated(in, ref);
  return is_negated(in, ref) ? -value : value;
}

static cpl_status get_integer(cpl_component* c, cpl_type type, const uint32_t* refs, size_t n,
                              int64_t* values) {
  cpli_fmi1* in = instance_of(c);
  cpl_status st = n == 0 ? CPL_OK : before_reading(in);
  for (size_t done = 0, m; done < n && st == CPL_OK; done += m) {
    m = chunk_of(in, n - done);
    const uint32_t* own = value_refs(in, refs + done, m);
    st = type == CPL_BOOLEAN ? cpli_fmiGetBoolean(&in->base, own, m, in->booleans)
                             : cpli_fmiGetInteger(&in->base, own, m, in->integers);
    for (size_t i = 0; i < m && st == CPL_OK; i++) {
      int64_t value = type == CPL_BOOLEAN ? in->booleans[i] : in->integers[i];
      values[done + i] = turned(in, type, refs[done + i], value);
    }
  }
  return st;
}

static cpl_status set_integer(cpl_component* c, cpl_type type, const uint32_t* refs, size_t n,
                              const int64_t* values) {
  cpli_fmi1* in = instance_of(c);
  cpl_status st = CPL_OK;
  for (size_t i = 0; i < n && type != CPL_BOOLEAN; i++) {
    if (values[i] >= INT32_MIN && values[i] <= INT32_MAX) continue;
    return cpl_fail_in(c->ctx, CPL_ERR_INPUT, c->name,
                       cpli_instance_variable(&in->base, type, refs[i]), NAN,
                       "%s cannot be set to %lld: FMI 1.0 has integers of 32 bits only",
                       cpli_instance_variable(&in->base, type, refs[i]), (long long)values[i]);
  }
  for (size_t done = 0, m; done < n && st == CPL_OK; done += m) {
    m = chunk_of(in, n - done);
    const uint32_t* own = value_refs(in, refs + done, m);
    for (size_t i = 0; i < m; i++) {
      int64_t value = turned(in, type, refs[done + i], values[done + i]);
      in->integers[i] = (int)value;
      in->booleans[i] = (char)value;
    }
    st = type == CPL_BOOLEAN ? cpli_fmiSetBoolean(&in->base, own, m, in->booleans)
                             : cpli_fmiSetInteger(&in->base, own, m, in->integers);
  }
  return st;
}

static cpl_status get_string(cpl_component* c, const uint32_t* refs, size_t n,
                             const char** values) {
  cpli_fmi1* in = instance_of(c);
  cpl_status st = n == 0 ? CPL_OK : before_reading(in);
  for (size_t i = 0; i < n; i++) values[i] = NULL;
  for (size_t done = 0, m; done < n && st == CPL_OK; done += m) {
    m = chunk_of(in, n - done);
    st = cpli_fmiGetString(&in->base, value_refs(in, refs + done, m), m, values + done);
  }
  for (size_t i = 0; i < n; i++) {
    if (values[i] == NULL) values[i] = "";  // seen in real FMUs
  }
  return st;
}

static cpl_status set_string(cpl_component* c, const uint32_t* refs, size_t n,
                             const char* const* values) {
  cpli_fmi1* in = instance_of(c);
  cpl_status st = CPL_OK;
  for (size_t done = 0, m; done < n && st == CPL_OK; done += m) {
    m = chunk_of(in, n - done);
    st = cpli_fmiSetString(&in->base, value_refs(in, refs + done, m), m, values + done);
  }
  return st;
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
};

static cpl_status prepare(cpli_fmu_instance* base) {
  cpli_fmi1* in = (cpli_fmi1*)base;
  cpl_context* ctx = base->head.component.ctx;
  in->n_buffer = (size_t)base->fmu->desc.n_vars + 1;
  in->refs = cpli_alloc(ctx, in->n_buffer, sizeof *in->refs);
  in->integers = cpli_alloc(ctx, in->n_buffer, sizeof *in->integers);
  in->booleans = cpli_alloc(ctx, in->n_buffer, sizeof *in->booleans);
  bool ok = in->refs != NULL && in->integers != NULL && in->booleans != NULL;
  if (ok) cpli_fmi1_listen(in);
  return ok ? CPL_OK : cpli_nomem(ctx);
}

static void release(cpli_fmu_instance* base) {
  cpli_fmi1* in = (cpli_fmi1*)base;
  cpl_context* ctx = base->head.component.ctx;
  cpli_fmi1_stop_listening(in);
  cpli_free(ctx, in->refs);
  cpli_free(ctx, in->integers);
  cpli_free(ctx, in->booleans);
}

static cpl_status check_version(cpli_fmi1* in) {
  const char *version = "1.0", *types = fmiPlatform;
  cpl_status st =
      cpli_fmi1_fn(in)->fmiGetVersion != NULL ? cpli_fmiGetVersion(&in->base, &version) : CPL_OK;
  if (st < 0) return st;
  cpli_instance_compare(&in->base, "says it is of FMI version", version, "1.");
  if (cpli_fmi1_fn(in)->fmiGetModelTypesPlatform != NULL && !in->base.co_simulation) {
    st = cpli_fmiGetModelTypesPlatform(&in->base, &types);
  } else if (cpli_fmi1_fn(in)->fmiGetTypesPlatform != NULL && in->base.co_simulation) {
    st = cpli_fmiGetTypesPlatform(&in->base, &types);
  }
  if (st >= 0) cpli_instance_compare(&in->base, "uses types", types, fmiPlatform);
  return st;
}

static cpl_status make(cpli_fmi1* in) {
  return in->base.co_simulation ? cpli_fmiInstantiateSlave(&in->base)
                                : cpli_fmiInstantiateModel(&in->base);
}

static cpl_status instantiate(cpli_fmu_instance* base) {
  cpli_fmi1* in = (cpli_fmi1*)base;
  cpl_status st = check_version(in);
  return st < 0 ? st : make(in);
}

static cpl_status free_instance(cpli_fmu_instance* base) {
  cpli_fmi1* in = (cpli_fmi1*)base;
  return base->co_simulation ? cpli_fmiFreeSlaveInstance(&in->base)
                             : cpli_fmiFreeModelInstance(&in->base);
}

static cpl_status terminate(cpli_fmu_instance* base) {
  cpli_fmi1* in = (cpli_fmi1*)base;
  return base->co_simulation ? cpli_fmiTerminateSlave(&in->base) : cpli_fmiTerminate(&in->base);
}

// Models cannot be reset, and slaves need not support it: a new instance replaces the old one.
static cpl_status reset(cpli_fmu_instance* base) {
  cpli_fmi1* in = (cpli_fmi1*)base;
  in->initialized = false;
  if (base->co_simulation && cpli_fmi1_fn(in)->fmiResetSlave != NULL)
    return cpli_fmiResetSlave(&in->base);
  cpl_status st = free_instance(base);
  if (st < 0) return st;
  base->instance = NULL;
  base->health = CPLI_GOOD;
  return make(in);
}

cpl_status cpli_fmi1_create(cpl_source* src, const char* name, bool co_simulation,
                            cpli_fmi1** out) {
  static const cpli_api api = {
      .prefix = "fmi",
      .version = "1.0",
      .size = sizeof(cpli_fmi1),
      .calls = cpli_fmi1_call_list,
      .ops = &common_ops,
      .prepare = prepare,
      .instantiate = instantiate,
      .free_instance = free_instance,
      .terminate = terminate,
      .reset = reset,
      .release = release,
  };
  cpli_fmu_instance* in = NULL;
  const cpl_fmu* fmu = (const cpl_fmu*)src;
  cpl_status st = cpli_instance_create(src, name, &api, co_simulation ? &fmu->cs : &fmu->me, &in);
  *out = (cpli_fmi1*)in;
  return st;
}
