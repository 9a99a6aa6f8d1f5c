// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Instances of an exported FMU, independent of the version of FMI: creation, the states of the life
// cycle and the functions they permit, log categories and messages. In sources for model exchange,
// stubs at the end of the file replace co-simulation.
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "export/runtime/fmu.h"

static const char* const categories[FMU_LOGS] = {
    [FMU_LOG_EVENTS] = "logEvents",
    [FMU_LOG_WARNING] = "logStatusWarning",
    [FMU_LOG_DISCARD] = "logStatusDiscard",
    [FMU_LOG_ERROR] = "logStatusError",
    [FMU_LOG_ALL] = "logAll",
};

//------------------------------------ messages ------------------------------------

void fmu_log(fmu* f, fmu_status status, int category, const char* fmt, ...) {
  char text[2048];
  va_list args;
  // errors are reported even when logging is off
  if (status < FMU_ERROR && !f->log_on[category]) return;
  va_start(args, fmt);
  vsnprintf(text, sizeof text, fmt, args);
  va_end(args);
  f->host.send(&f->host, f->name, status, categories[category], text);
}

fmu_status fmu_refuse(fmu* f, const char* function, const char* fmt, ...) {
  char text[1024];
  va_list args;
  va_start(args, fmt);
  vsnprintf(text, sizeof text, fmt, args);
  va_end(args);
  fmu_log(f, FMU_ERROR, FMU_LOG_ERROR, "%s: %s", function, text);
  return FMU_ERROR;
}

static_assert(FMU_ANY == 2 * FMU_INTERMEDIATE - 1, "each state of an instance is one bit");

fmu_status fmu_result(fmu* f, const char* function, cpl_status st) {
  if (st == CPL_RETRY) {
    fmu_log(f, FMU_DISCARD, FMU_LOG_DISCARD, "%s: %s", function, cpl_context_error(f->ctx));
    return FMU_DISCARD;
  }
  if (st >= 0) return FMU_OK;
  fmu_log(f, FMU_ERROR, FMU_LOG_ERROR, "%s: %s", function, cpl_context_error(f->ctx));
  if (st != CPL_ERR_INPUT) f->state = FMU_FAILED;
  return FMU_ERROR;
}

// Passes warnings and other messages of the integrator to the importer.
static void forward(void* user, cpl_log_level level, const char* who, const char* text) {
  (void)who;
  bool news = level > CPL_LOG_WARNING;
  fmu_log(user, news ? FMU_OK : FMU_WARNING, news ? FMU_LOG_ALL : FMU_LOG_WARNING, "%s", text);
}

static const char* state_name(unsigned state) {
  switch (state) {
    case FMU_INSTANTIATED: return "before initialization";
    case FMU_INITIALIZING: return "in Initialization Mode";
    case FMU_EVENT: return "in Event Mode";
    case FMU_CONTINUOUS: return "in Continuous-Time Mode";
    case FMU_STEPPED: return "after a completed step";
    case FMU_STEP_FAILED: return "after a discarded step";
    case FMU_TERMINATED: return "after termination";
    case FMU_INTERMEDIATE: return "while the importer looks into a step";
    default: return "after an error";
  }
}

fmu* fmu_enter(void* c, const char* function, unsigned states) {
  fmu* f = c;
  if (f == NULL) return NULL;
  if ((f->state & states) != 0) return f;
  fmu_refuse(f, function, "this function must not be called %s", state_name(f->state));
  return NULL;
}

cpl_component* fmu_component(fmu* f) {
  return f->stepper != NULL ? &f->stepper->base : &f->model->base;
}

fmu* fmu_enter_kind(void* c, const char* function, unsigned states, bool stepping) {
  fmu* f = fmu_enter(c, function, states);
  if (f == NULL || f->stepping == stepping) return f;
  fmu_refuse(f, function, "the instance is not for %s",
             stepping ? "co-simulation" : "model exchange");
  return NULL;
}

fmu_status fmu_set_logging(fmu* f, const char* function, bool on, size_t n,
                           const char* const names[]) {
  fmu_status result = FMU_OK;
  for (int k = 0; k < FMU_LOGS; k++) {
    if (n == 0 || !on) f->log_on[k] = on;
  }
  for (size_t i = 0; on && i < n; i++) {
    int k = 0;
    while (k < FMU_LOGS && (names[i] == NULL || strcmp(names[i], categories[k]) != 0)) k++;
    if (k == FMU_LOGS) {
      result = FMU_WARNING;
      fmu_log(f, result, FMU_LOG_WARNING, "%s: there is no category \"%s\"", function,
              names[i] != NULL ? names[i] : "");
    } else if (k == FMU_LOG_ALL) {
      for (int all = 0; all < FMU_LOGS; all++) f->log_on[all] = true;
    } else {
      f->log_on[k] = true;
    }
  }
  return result;
}

//------------------------------------ making ------------------------------------

// Makes a fresh model, as after instantiation.
static cpl_status make_model(fmu* f) {
  return cpli_cmodel_instance(f->cm, f->ctx, f->name, &f->model);
}

void fmu_drop_model(fmu* f) {
  if (f->stepper != NULL) f->stepper->base.ops->destroy(&f->stepper->base);  // and the model in it
  else if (f->model != NULL) f->model->base.ops->destroy(&f->model->base);
  f->stepper = NULL;
  f->model = NULL;
}

void fmu_destroy(fmu* f) {
  if (f == NULL) return;
  if (f->ctx != NULL) {
    fmu_drop_model(f);
    cpli_cmodel_destroy(f->cm);
    cpli_free(f->ctx, f->var_of_ref);
    cpli_free(f->ctx, f->input_derivatives);
    cpli_free(f->ctx, f->has_curve);
    cpli_free(f->ctx, f->has_slope);
    cpli_free(f->ctx, f->refs);
    cpli_free(f->ctx, f->indicators);
    cpl_context_destroy(f->ctx);
  }
  free(f->name);
  free(f);
}

static cpl_status prepare(fmu* f) {
  f->def = couplet_model;
  if (cpl_fmu_dependencies != NULL) f->def.dependencies = cpl_fmu_dependencies;
  cpl_status st = cpli_cmodel_create(f->ctx, &f->def, false, &f->cm);
  if (st < 0) return st;
  const cpli_layout* at = &f->cm->at;
  f->var_of_ref = cpli_alloc(f->ctx, at->n, sizeof *f->var_of_ref);
  f->input_derivatives = cpli_alloc(f->ctx, FMU_ORDERS * at->nu, sizeof *f->input_derivatives);
  f->has_curve = cpli_alloc(f->ctx, at->nu, sizeof *f->has_curve);
  f->has_slope = cpli_alloc(f->ctx, at->nu, sizeof *f->has_slope);
  f->indicators = cpli_alloc(f->ctx, at->nz, sizeof *f->indicators);
  if (f->var_of_ref == NULL || f->input_derivatives == NULL || f->has_curve == NULL ||
      f->has_slope == NULL || f->indicators == NULL) {
    return cpli_nomem(f->ctx);
  }
  for (int32_t i = 0; i < f->cm->desc.n_vars; i++) {
    const cpl_variable* v = &f->cm->desc.vars[i];
    if (v->type != CPL_STRING) f->var_of_ref[v->ref] = i;
  }
  return make_model(f);
}

static const char* why_not(const fmu_birth* birth) {
  if (birth->name == NULL || birth->name[0] == '\0') return "the instance has no name";
  if (birth->guid == NULL || strcmp(birth->guid, cpl_fmu_guid) != 0)
    return "the GUID is not the one of this FMU: the model description belongs to another binary";
#ifndef CPL_FMU_CO_SIMULATION
  if (birth->stepping) return "the sources are for model exchange only";
#endif
  return NULL;
}

static fmu* not_created(const fmu_birth* birth, const fmu_host* host, const char* why) {
  char text[1024];
  snprintf(text, sizeof text, "%s: %s", birth->function, why);
  host->send(host, birth->name != NULL ? birth->name : "", FMU_ERROR, categories[FMU_LOG_ERROR],
             text);
  return NULL;
}

fmu* fmu_create(const fmu_birth* birth, const fmu_host* host) {
  const char* reason = why_not(birth);
  if (reason != NULL) return not_created(birth, host, reason);
  fmu* f = calloc(1, sizeof *f);
  if (f == NULL) return not_created(birth, host, "out of memory");
  f->stepping = birth->stepping;
  f->host = *host;
  f->state = FMU_INSTANTIATED;
  for (int k = 0; k < FMU_LOGS; k++) f->log_on[k] = birth->logging;
  f->name = malloc(strlen(birth->name) + 1);
  if (f->name != NULL) strcpy(f->name, birth->name);
  cpl_context_def def = cpl_default_context_def();
  def.log = forward;
  def.user = f;
  f->ctx = f->name != NULL ? cpl_context_create(&def) : NULL;
  cpl_status st = f->ctx != NULL ? prepare(f) : CPL_ERR_NOMEM;
  if (st < 0) {
    not_created(birth, host, f->ctx != NULL ? cpl_context_error(f->ctx) : "out of memory");
    fmu_destroy(f);
    return NULL;
  }
  return f;
}

//------------------------------------ life ------------------------------------

fmu_status fmu_set_up(fmu* f, const char* function, const cpl_setup* s) {
  if (!(s->start_time > -1e300 && s->start_time < 1e300)) {
    return fmu_refuse(f, function, "the start time %g is not a time", s->start_time);
  }
  if (s->has_stop_time && !(s->stop_time >= s->start_time)) {
    return fmu_refuse(f, function, "the stop time %g is before the start time %g", s->stop_time,
                      s->start_time);
  }
  if (s->has_tolerance && !(s->tolerance > 0 && s->tolerance < 1)) {
    return fmu_refuse(f, function, "the tolerance %g is not between 0 and 1", s->tolerance);
  }
  f->setup = *s;
  return FMU_OK;
}

fmu_status fmu_enter_init(fmu* f, const char* function) {
  // only now the tolerance is known for sure
  cpl_status st = f->stepping ? fmu_make_stepper(f) : CPL_OK;
  if (st < 0) {
    f->state = FMU_FAILED;
    return fmu_result(f, function, st);
  }
  cpl_component* part = fmu_component(f);
  st = part->ops->setup(part, &f->setup);
  if (st >= 0) st = part->ops->enter_init(part);
  if (st >= 0) {
    f->state = FMU_INITIALIZING;
    f->time = f->setup.start_time;
  }
  return fmu_result(f, function, st);
}

fmu_status fmu_exit_init(fmu* f, const char* function) {
  cpl_component* part = fmu_component(f);
  cpl_status st = part->ops->exit_init(part);
  if (st == CPL_RETRY) st = CPL_ERR_MODEL;  // there is no other point to begin at
  if (st >= 0) {
    f->state = f->stepping && !f->event_mode ? FMU_STEPPED : FMU_EVENT;
    f->time = f->reached = f->setup.start_time;
    f->update_due = false;  // a stepper has made the first one itself
  }
  return fmu_result(f, function, st);
}

fmu_status fmu_terminate(fmu* f, const char* function) {
  cpl_component* part = fmu_component(f);
  cpl_status st = part->ops->terminate(part);
  f->state = FMU_TERMINATED;
  return fmu_result(f, function, st);
}

fmu_status fmu_reset(fmu* f, const char* function) {
  memset(f->input_derivatives, 0, FMU_ORDERS * f->cm->at.nu * sizeof *f->input_derivatives);
  f->end_wanted = f->update_due = false;
  f->setup = (cpl_setup){.size = sizeof(cpl_setup)};
  f->time = f->reached = 0;
  // a stepper that is there stays until the next initialisation: it may be needed to release saved
  // states, but it remembers the lines its inputs were
  f->rtol = 0;
  cpl_component* part = f->model != NULL ? fmu_component(f) : NULL;
  cpl_status st = part != NULL ? part->ops->reset(part) : make_model(f);
  f->state = st >= 0 ? FMU_INSTANTIATED : FMU_FAILED;
  return fmu_result(f, function, st);
}

//------------------------------------ without co-simulation ------------------------------------

#ifndef CPL_FMU_CO_SIMULATION
cpl_status fmu_make_stepper(fmu* f) {
  return cpl_fail(f->ctx, CPL_ERR_UNSUPPORTED, "the sources are for model exchange only");
}

cpl_status fmu_hold_inputs(fmu* f) {
  (void)f;
  return CPL_OK;
}

cpl_status fmu_set_input(fmu* f, uint32_t input, double value) {
  (void)input, (void)value;
  return fmu_make_stepper(f);
}

fmu_status fmu_input_event(fmu* f, const char* function, bool* wanted, double* margin) {
  *wanted = false;
  *margin = NAN;
  return fmu_result(f, function, fmu_make_stepper(f));
}

size_t fmu_serialize_stepper(fmu* f, const cpl_snapshot* snapshot, unsigned char* bytes) {
  (void)f, (void)snapshot, (void)bytes;
  return 0;
}

cpl_status fmu_deserialize_stepper(fmu* f, const unsigned char* bytes, size_t size,
                                   cpl_snapshot* snapshot) {
  (void)bytes, (void)size, (void)snapshot;
  return fmu_make_stepper(f);
}

fmu_status fmu_step(fmu* f, const char* function, double from, double h, cpl_step_result* result) {
  (void)from, (void)h;
  *result = (cpl_step_result){.time = f->time};
  return fmu_result(f, function, fmu_make_stepper(f));
}

fmu_status fmu_step_update(fmu* f, const char* function, cpl_event_info* info) {
  *info = (cpl_event_info){.terminate = false};
  return fmu_result(f, function, fmu_make_stepper(f));
}

fmu_status fmu_max_step(fmu* f, const char* function, double* size) {
  *size = 0;
  return fmu_result(f, function, fmu_make_stepper(f));
}
#endif
