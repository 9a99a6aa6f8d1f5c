// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#include "fmi/fmi2_instance.h"

#include <math.h>
#include <stdlib.h>

#include "fmi/fmi2_calls.h"

static cpli_fmi2* instance_of(cpl_component* c) { return (cpli_fmi2*)c; }

//------------------------------------ life cycle ------------------------------------

static cpl_status setup(cpl_component* c, const cpl_setup* s) {
  cpli_fmi2* in = instance_of(c);
  cpl_setup clean = *s;  // what is not defined must not look odd to an FMU that reads it anyway
  if (!clean.has_tolerance) clean.tolerance = 0;
  if (!clean.has_stop_time) clean.stop_time = 0;
  in->time = s->start_time;
  return cpli_fmi2SetupExperiment(in, &clean);
}

static cpl_status enter_init(cpl_component* c) {
  cpli_fmi2* in = instance_of(c);
  in->phase = CPLI_FMI2_INITIALIZING;
  return cpli_fmi2EnterInitializationMode(in);
}

cpl_status cpli_fmi2_exit_init(cpli_fmi2* in, cpli_fmi2_phase next) {
  cpl_status st = cpli_fmi2ExitInitializationMode(in);
  if (st >= 0) in->phase = next;
  return st;
}

// A run that failed or never began has nothing to terminate: the standard forbids the call there.
static cpl_status terminate(cpl_component* c) {
  cpli_fmi2* in = instance_of(c);
  if (in->health != CPLI_FMI2_GOOD || in->lib->fatal) return CPL_OK;
  if (in->phase <= CPLI_FMI2_INITIALIZING || in->phase == CPLI_FMI2_TERMINATED) return CPL_OK;
  in->phase = CPLI_FMI2_TERMINATED;
  return cpli_fmi2Terminate(in);
}

static cpl_status reset(cpl_component* c) {
  cpli_fmi2* in = instance_of(c);
  cpl_status st = cpli_fmi2Reset(in);
  if (st < 0) return st;
  in->phase = CPLI_FMI2_INSTANTIATED;
  in->health = CPLI_FMI2_GOOD;
  in->time = NAN;
  return st;
}

//------------------------------------ values ------------------------------------

static cpl_status get_real(cpl_component* c, const uint32_t* refs, size_t n, double* values) {
  return n == 0 ? CPL_OK : cpli_fmi2GetReal(instance_of(c), refs, n, values);
}

static cpl_status set_real(cpl_component* c, const uint32_t* refs, size_t n, const double* values) {
  return n == 0 ? CPL_OK : cpli_fmi2SetReal(instance_of(c), refs, n, values);
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
    st = type == CPL_BOOLEAN ? cpli_fmi2GetBoolean(in, refs + done, m, in->integers)
                             : cpli_fmi2GetInteger(in, refs + done, m, in->integers);
    if (st != CPL_OK) break;
    for (size_t i = 0; i < m; i++) {
      values[done + i] = type == CPL_BOOLEAN ? in->integers[i] != 0 : in->integers[i];
    }
  }
  return st;
}

static cpl_status out_of_range(cpli_fmi2* in, cpl_type type, uint32_t ref, int64_t value) {
  const cpl_description* desc = &in->fmu->desc;
  const char* name = "an Integer";
  for (int32_t i = 0; i < desc->n_vars; i++) {
    if (desc->vars[i].type != type || desc->vars[i].ref != ref) continue;
    name = desc->vars[i].name;
    break;
  }
  return cpl_fail(in->head.component.ctx, CPL_ERR_INPUT,
                  "%s: %s cannot be set to %lld: FMI 2.0 knows integers of 32 bits only", in->name,
                  name, (long long)value);
}

static cpl_status set_integer(cpl_component* c, cpl_type type, const uint32_t* refs, size_t n,
                              const int64_t* values) {
  cpli_fmi2* in = instance_of(c);
  for (size_t i = 0; i < n && type != CPL_BOOLEAN; i++) {
    if (values[i] < INT32_MIN || values[i] > INT32_MAX) {
      return out_of_range(in, type, refs[i], values[i]);
    }
  }
  cpl_status st = CPL_OK;
  for (size_t done = 0, m; done < n && st == CPL_OK; done += m) {
    m = chunk_of(in, n - done);
    for (size_t i = 0; i < m; i++) {
      in->integers[i] = type == CPL_BOOLEAN ? values[done + i] != 0 : (int)values[done + i];
    }
    st = type == CPL_BOOLEAN ? cpli_fmi2SetBoolean(in, refs + done, m, in->integers)
                             : cpli_fmi2SetInteger(in, refs + done, m, in->integers);
  }
  return st;
}

static cpl_status get_string(cpl_component* c, const uint32_t* refs, size_t n,
                             const char** values) {
  if (n == 0) return CPL_OK;
  for (size_t i = 0; i < n; i++) values[i] = NULL;
  cpl_status st = cpli_fmi2GetString(instance_of(c), refs, n, values);
  for (size_t i = 0; i < n; i++) {
    if (values[i] == NULL) values[i] = "";  // seen in real FMUs
  }
  return st;
}

static cpl_status set_string(cpl_component* c, const uint32_t* refs, size_t n,
                             const char* const* values) {
  return n == 0 ? CPL_OK : cpli_fmi2SetString(instance_of(c), refs, n, values);
}

static cpl_status directional(cpl_component* c, const uint32_t* unknowns, size_t n_unknowns,
                              const uint32_t* knowns, size_t n_knowns, const double* seed,
                              double* sensitivity) {
  if (n_unknowns == 0) return CPL_OK;
  if (n_knowns == 0) {
    memset(sensitivity, 0, n_unknowns * sizeof *sensitivity);
    return CPL_OK;
  }
  return cpli_fmi2GetDirectionalDerivative(instance_of(c), unknowns, n_unknowns, knowns, n_knowns,
                                           seed, sensitivity);
}

//------------------------------------ saved states ------------------------------------

// What the FMU saves, and what we know of it at that moment.
typedef struct saved {
  fmi2FMUstate state;
  double time;
  cpli_fmi2_phase phase;
} saved;

static cpl_status save(cpl_component* c, cpl_snapshot* snapshot) {
  cpli_fmi2* in = instance_of(c);
  saved* s = snapshot->data;
  if (s == NULL) {
    s = cpli_alloc(c->ctx, 1, sizeof *s);
    if (s == NULL) return cpli_nomem(c->ctx);
    snapshot->data = s;
    in->snapshots++;
  }
  s->time = in->time;
  s->phase = in->phase;
  return cpli_fmi2GetFMUstate(in, &s->state);
}

static cpl_status restore(cpl_component* c, const cpl_snapshot* snapshot) {
  cpli_fmi2* in = instance_of(c);
  const saved* s = snapshot->data;
  cpl_status st = cpli_fmi2SetFMUstate(in, s->state);
  if (st < 0) return st;
  in->health = CPLI_FMI2_GOOD;
  in->time = s->time;
  in->phase = s->phase;
  return st;
}

static void forget(cpl_component* c, cpl_snapshot* snapshot) {
  cpli_fmi2* in = instance_of(c);
  saved* s = snapshot->data;
  if (s == NULL) return;
  if (s->state != NULL && in->health != CPLI_FMI2_DEAD && !in->lib->fatal) {
    cpli_fmi2FreeFMUstate(in, &s->state);
  }
  cpli_free(c->ctx, s);
  snapshot->data = NULL;
  in->snapshots--;
}

//------------------------------------ making and ending ------------------------------------

static const cpl_component_ops common_ops = {
    .destroy = cpli_fmi2_destroy,
    .setup = setup,
    .enter_init = enter_init,
    .terminate = terminate,
    .reset = reset,
    .get_real = get_real,
    .set_real = set_real,
    .get_integer = get_integer,
    .set_integer = set_integer,
    .get_string = get_string,
    .set_string = set_string,
    .save = save,
    .restore = restore,
    .forget = forget,
    .directional = directional,
};

// The place of the resources as a URI; every byte that is not plain in a path is encoded.
static char* resource_uri(cpl_context* ctx, const char* folder) {
  static const char plain[] = "/-._~ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
  char* real = realpath(folder, NULL);
  if (real == NULL) real = strdup(folder);
  if (real == NULL) return NULL;
  static const char head[] = "file://", tail[] = "/resources", hex[] = "0123456789ABCDEF";
  char* uri = cpli_alloc(ctx, sizeof head + sizeof tail + 3 * strlen(real), 1);
  char* at = uri;
  if (uri != NULL) at = stpcpy(at, head);
  for (const char* p = real; uri != NULL && *p != '\0'; p++) {
    if (strchr(plain, *p) != NULL) {
      *at++ = *p;
    } else {
      *at++ = '%';
      *at++ = hex[(unsigned char)*p >> 4];
      *at++ = hex[(unsigned char)*p & 15];
    }
  }
  if (uri != NULL) strcpy(at, tail);
  free(real);
  return uri;
}

static cpl_status allocate(cpli_fmi2* in, const char* name) {
  cpl_context* ctx = in->head.component.ctx;
  const cpl_description* desc = &in->fmu->desc;
  in->n_integers = 1;
  for (int32_t i = 0; i < desc->n_vars; i++) {
    uint8_t type = desc->vars[i].type;
    if (type != CPL_REAL && type != CPL_STRING) in->n_integers++;
  }
  in->name = cpli_strdup(ctx, name);
  in->resources = resource_uri(ctx, in->fmu->folder);
  in->integers = cpli_alloc(ctx, in->n_integers, sizeof *in->integers);
  bool ok = in->name != NULL && in->resources != NULL && in->integers != NULL;
  return ok ? CPL_OK : cpli_nomem(ctx);
}

// Drop what the description promises and the binary does not hold.
static void trim(cpli_fmi2* in) {
  cpl_capabilities* can = &in->head.component.can;
  can->directional = can->directional && in->fn.fmi2GetDirectionalDerivative != NULL;
  can->save_restore = can->save_restore && in->fn.fmi2GetFMUstate != NULL &&
                      in->fn.fmi2SetFMUstate != NULL && in->fn.fmi2FreeFMUstate != NULL;
  can->serialize = can->serialize && can->save_restore && in->fn.fmi2SerializeFMUstate != NULL &&
                   in->fn.fmi2SerializedFMUstateSize != NULL &&
                   in->fn.fmi2DeSerializeFMUstate != NULL;
  in->component_ops = common_ops;
  if (!can->directional) in->component_ops.directional = NULL;
  if (!can->save_restore) {
    in->component_ops.save = NULL;
    in->component_ops.restore = NULL;
    in->component_ops.forget = NULL;
  }
}

// A binary of another version or with other types cannot be trusted, but real ones often misspell.
static cpl_status check_version(cpli_fmi2* in) {
  const char* text = "2.0";
  cpl_status st = in->fn.fmi2GetVersion != NULL ? cpli_fmi2GetVersion(in, &text) : CPL_OK;
  if (st < 0) return st;
  if (text == NULL || strncmp(text, "2.", 2) != 0) {
    cpl_log(in->head.component.ctx, CPL_LOG_WARNING, in->name,
            "the binary says it is of FMI version \"%s\", not 2.0", text != NULL ? text : "");
  }
  text = "default";
  st = in->fn.fmi2GetTypesPlatform != NULL ? cpli_fmi2GetTypesPlatform(in, &text) : CPL_OK;
  if (st >= 0 && (text == NULL || strcmp(text, "default") != 0)) {
    cpl_log(in->head.component.ctx, CPL_LOG_WARNING, in->name,
            "the binary uses types \"%s\", not \"default\"", text != NULL ? text : "");
  }
  return st;
}

static cpl_status load(cpli_fmi2* in, const char* name) {
  cpl_context* ctx = in->head.component.ctx;
  cpl_status st = cpli_fmu_extract(in->fmu);
  if (st < 0) return st;
  st = allocate(in, name);
  if (st < 0) return st;
  in->head.component.name = in->name;
  st = cpli_library_acquire(in->fmu, in->kind, &in->lib);
  if (st < 0) return st;
  if (in->kind->can.once_per_process && in->lib->users > 1) {
    return cpl_fail(ctx, CPL_ERR_UNSUPPORTED,
                    "%s: %s can be instantiated only once per process, and there is an instance "
                    "already",
                    name, in->fmu->base.path);
  }
  if (in->lib->fatal) {
    return cpl_fail(ctx, CPL_ERR_MODEL, "%s: another instance of %s ended with fmi2Fatal", name,
                    in->fmu->base.path);
  }
  st = cpli_fmi2_bind(in);
  if (st < 0) return st;
  trim(in);
  return check_version(in);
}

static cpl_status instantiate(cpli_fmi2* in) {
  in->callbacks = cpli_fmi2_callbacks(in);
  cpl_status st = cpli_fmi2Instantiate(in);
  if (st < 0 && in->health == CPLI_FMI2_FAILED) {
    const char* said = in->message[0] != '\0' ? in->message : "the FMU does not say why";
    return cpl_fail(in->head.component.ctx, st, "%s: fmi2Instantiate failed: %s", in->name, said);
  }
  return st;
}

cpl_status cpli_fmi2_create(cpl_source* src, const char* name, fmi2Type type, cpli_fmi2** out) {
  *out = NULL;
  cpl_fmu* fmu = (cpl_fmu*)src;
  cpli_fmi2* in = cpli_alloc(src->ctx, 1, sizeof *in);
  if (in == NULL) return cpli_nomem(src->ctx);
  in->fmu = fmu;
  in->type = type;
  in->kind = type == fmi2ModelExchange ? &fmu->me : &fmu->cs;
  in->time = NAN;
  in->head.component.ctx = src->ctx;
  in->head.component.desc = src->desc;
  in->head.component.can = in->kind->can;
  in->head.component.ops = &in->component_ops;
  pthread_mutex_init(&in->mutex, NULL);
  fmu->live_instances++;

  cpl_status st = load(in, name);
  if (st >= 0) st = instantiate(in);
  if (st < 0) {
    cpli_fmi2_destroy(&in->head.component);
    return st;
  }
  *out = in;
  return CPL_OK;
}

void cpli_fmi2_destroy(cpl_component* c) {
  if (c == NULL) return;
  cpli_fmi2* in = instance_of(c);
  cpl_context* ctx = c->ctx;
  if (in->instance != NULL && in->health != CPLI_FMI2_DEAD && !in->lib->fatal) {
    cpli_fmi2FreeInstance(in);
  }
  cpli_library_release(in->lib);
  in->fmu->live_instances--;
  pthread_mutex_destroy(&in->mutex);
  cpli_free(ctx, in->integers);
  cpli_free(ctx, in->resources);
  cpli_free(ctx, in->name);
  cpli_free(ctx, in);
}
