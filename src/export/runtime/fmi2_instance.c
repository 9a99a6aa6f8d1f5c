// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
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

static void send(const fmi2CallbackFunctions* callbacks, const char* name, fmi2Status status,
                 int category, const char* text) {
  if (callbacks->logger == NULL) return;
  // the message is a format for printf, but some importers print it as it is
  bool plain = strchr(text, '%') == NULL;
  callbacks->logger(callbacks->componentEnvironment, name, status, categories[category],
                    plain ? text : "%s", text);
}

void fmu_log(fmu* f, fmi2Status status, int category, const char* fmt, ...) {
  char text[2048];
  va_list args;
  // errors are told even when logging is off: a failure without a word helps nobody
  if (status < fmi2Error && !f->log_on[category]) return;
  va_start(args, fmt);
  vsnprintf(text, sizeof text, fmt, args);
  va_end(args);
  send(&f->callbacks, f->name, status, category, text);
}

fmi2Status fmu_refuse(fmu* f, const char* function, const char* fmt, ...) {
  char text[1024];
  va_list args;
  va_start(args, fmt);
  vsnprintf(text, sizeof text, fmt, args);
  va_end(args);
  fmu_log(f, fmi2Error, FMU_LOG_ERROR, "%s: %s", function, text);
  return fmi2Error;
}

fmi2Status fmu_result(fmu* f, const char* function, cpl_status st) {
  if (st == CPL_RETRY) {
    fmu_log(f, fmi2Discard, FMU_LOG_DISCARD, "%s: %s", function, cpl_context_error(f->ctx));
    return fmi2Discard;
  }
  if (st >= 0) return fmi2OK;
  fmu_log(f, fmi2Error, FMU_LOG_ERROR, "%s: %s", function, cpl_context_error(f->ctx));
  if (st != CPL_ERR_INPUT) f->state = FMU_FAILED;
  return fmi2Error;
}

// Warnings and the like from inside (the integrator) on their way to the importer.
static void forward(void* user, cpl_log_level level, const char* who, const char* text) {
  (void)who;
  bool news = level > CPL_LOG_WARNING;
  fmu_log(user, news ? fmi2OK : fmi2Warning, news ? FMU_LOG_ALL : FMU_LOG_WARNING, "%s", text);
}

static const char* state_name(unsigned state) {
  switch (state) {
    case FMU_INSTANTIATED: return "before initialization";
    case FMU_INITIALIZING: return "in Initialization Mode";
    case FMU_EVENT: return "in Event Mode";
    case FMU_CONTINUOUS: return "in Continuous-Time Mode";
    case FMU_STEPPED: return "after a completed step";
    case FMU_STEP_FAILED: return "after a discarded step";
    case FMU_TERMINATED: return "after fmi2Terminate";
    default: return "after an error";
  }
}

fmu* fmu_enter(fmi2Component c, const char* function, unsigned states) {
  fmu* f = c;
  if (f == NULL) return NULL;
  if ((f->state & states) != 0) return f;
  fmu_refuse(f, function, "this function must not be called %s", state_name(f->state));
  return NULL;
}

cpl_component* fmu_component(fmu* f) {
  return f->stepper != NULL ? &f->stepper->base : &f->model->base;
}

const char* fmi2GetTypesPlatform(void) { return fmi2TypesPlatform; }
const char* fmi2GetVersion(void) { return fmi2Version; }

fmi2Status fmi2SetDebugLogging(fmi2Component c, fmi2Boolean loggingOn, size_t nCategories,
                               const fmi2String names[]) {
  fmu* f = fmu_enter(c, "fmi2SetDebugLogging", FMU_ANY);
  if (f == NULL) return fmi2Error;
  bool on = loggingOn != fmi2False;
  fmi2Status result = fmi2OK;
  for (int k = 0; k < FMU_LOGS; k++) {
    if (nCategories == 0 || !on) f->log_on[k] = on;
  }
  for (size_t i = 0; on && i < nCategories; i++) {
    int k = 0;
    while (k < FMU_LOGS && (names[i] == NULL || strcmp(names[i], categories[k]) != 0)) k++;
    if (k == FMU_LOGS) {
      result = fmi2Warning;
      fmu_log(f, result, FMU_LOG_WARNING, "fmi2SetDebugLogging: there is no category \"%s\"",
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

cpl_status fmu_make_model(fmu* f) {
  return cpli_cmodel_instance(f->cm, f->ctx, f->name, &f->model);
}

void fmu_drop_model(fmu* f) {
  if (f->stepper != NULL) f->stepper->base.ops->destroy(&f->stepper->base);  // and the model in it
  else if (f->model != NULL) f->model->base.ops->destroy(&f->model->base);
  f->stepper = NULL;
  f->model = NULL;
}

static void destroy(fmu* f) {
  if (f == NULL) return;
  if (f->ctx != NULL) {
    fmu_drop_model(f);
    cpli_cmodel_destroy(f->cm);
    cpli_free(f->ctx, f->var_of_ref);
    cpli_free(f->ctx, f->input_slopes);
    cpli_free(f->ctx, f->has_curve);
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
  f->input_slopes = cpli_alloc(f->ctx, at->nu, sizeof *f->input_slopes);
  f->has_curve = cpli_alloc(f->ctx, at->nu, sizeof *f->has_curve);
  if (f->var_of_ref == NULL || f->input_slopes == NULL || f->has_curve == NULL) {
    return cpli_nomem(f->ctx);
  }
  for (int32_t i = 0; i < f->cm->desc.n_vars; i++) {
    const cpl_variable* v = &f->cm->desc.vars[i];
    if (v->type != CPL_STRING) f->var_of_ref[v->ref] = i;
  }
  return fmu_make_model(f);
}

static const char* why_not(fmi2String name, fmi2Type type, fmi2String guid) {
  if (name == NULL || name[0] == '\0') return "the instance has no name";
  if (guid == NULL || strcmp(guid, cpl_fmu_guid) != 0)
    return "the GUID is not the one of this FMU: the model description belongs to another binary";
#ifndef CPL_FMU_CO_SIMULATION
  if (type == fmi2CoSimulation) return "the sources are for model exchange only";
#endif
  if (type != fmi2ModelExchange && type != fmi2CoSimulation) return "unknown kind of FMU";
  return NULL;
}

fmi2Component fmi2Instantiate(fmi2String instanceName, fmi2Type fmuType, fmi2String fmuGUID,
                              fmi2String fmuResourceLocation,
                              const fmi2CallbackFunctions* functions, fmi2Boolean visible,
                              fmi2Boolean loggingOn) {
  (void)fmuResourceLocation, (void)visible;
  fmi2CallbackFunctions none = {NULL, NULL, NULL, NULL, NULL};
  const fmi2CallbackFunctions* callbacks = functions != NULL ? functions : &none;
  const char* name = instanceName != NULL ? instanceName : "";
  const char* reason = why_not(instanceName, fmuType, fmuGUID);
  fmu* f = reason == NULL ? calloc(1, sizeof *f) : NULL;
  if (f == NULL) {
    if (reason == NULL) reason = "out of memory";
    char text[256];
    snprintf(text, sizeof text, "fmi2Instantiate: %s", reason);
    send(callbacks, name, fmi2Error, FMU_LOG_ERROR, text);
    return NULL;
  }
  f->type = fmuType;
  f->callbacks = *callbacks;
  f->state = FMU_INSTANTIATED;
  for (int k = 0; k < FMU_LOGS; k++) f->log_on[k] = loggingOn != fmi2False;
  f->name = malloc(strlen(name) + 1);
  if (f->name != NULL) strcpy(f->name, name);
  cpl_context_def def = cpl_default_context_def();
  def.log = forward;
  def.user = f;
  f->ctx = f->name != NULL ? cpl_context_create(&def) : NULL;
  cpl_status st = f->ctx != NULL ? prepare(f) : CPL_ERR_NOMEM;
  if (st < 0) {
    send(callbacks, name, fmi2Error, FMU_LOG_ERROR,
         f->ctx != NULL ? cpl_context_error(f->ctx) : "out of memory");
    destroy(f);
    return NULL;
  }
  return f;
}

void fmi2FreeInstance(fmi2Component c) { destroy(c); }

//------------------------------------ life ------------------------------------

fmi2Status fmi2SetupExperiment(fmi2Component c, fmi2Boolean toleranceDefined, fmi2Real tolerance,
                               fmi2Real startTime, fmi2Boolean stopTimeDefined, fmi2Real stopTime) {
  fmu* f = fmu_enter(c, __func__, FMU_INSTANTIATED);
  if (f == NULL) return fmi2Error;
  if (!(startTime > -1e300 && startTime < 1e300)) {
    return fmu_refuse(f, __func__, "the start time %g is not a time", startTime);
  }
  if (stopTimeDefined && !(stopTime >= startTime)) {
    return fmu_refuse(f, __func__, "the stop time %g is before the start time %g", stopTime,
                      startTime);
  }
  if (toleranceDefined && !(tolerance > 0 && tolerance < 1)) {
    return fmu_refuse(f, __func__, "the tolerance %g is not between 0 and 1", tolerance);
  }
  f->setup = (cpl_setup){.start_time = startTime,
                         .has_stop_time = stopTimeDefined != fmi2False,
                         .stop_time = stopTime,
                         .has_tolerance = toleranceDefined != fmi2False,
                         .tolerance = tolerance};
  return fmi2OK;
}

fmi2Status fmi2EnterInitializationMode(fmi2Component c) {
  fmu* f = fmu_enter(c, __func__, FMU_INSTANTIATED);
  if (f == NULL) return fmi2Error;
  // only now the tolerance is known for sure
  cpl_status st = f->type == fmi2CoSimulation ? fmu_make_stepper(f) : CPL_OK;
  if (st < 0) {
    f->state = FMU_FAILED;
    return fmu_result(f, __func__, st);
  }
  cpl_component* part = fmu_component(f);
  st = part->ops->setup(part, &f->setup);
  if (st >= 0) st = part->ops->enter_init(part);
  if (st >= 0) f->state = FMU_INITIALIZING;
  return fmu_result(f, __func__, st);
}

fmi2Status fmi2ExitInitializationMode(fmi2Component c) {
  fmu* f = fmu_enter(c, __func__, FMU_INITIALIZING);
  if (f == NULL) return fmi2Error;
  cpl_component* part = fmu_component(f);
  cpl_status st = part->ops->exit_init(part);
  if (st == CPL_RETRY) st = CPL_ERR_MODEL;  // there is no other point to begin at
  if (st >= 0) {
    f->state = f->type == fmi2CoSimulation ? FMU_STEPPED : FMU_EVENT;
    f->time = f->reached = f->setup.start_time;
  }
  return fmu_result(f, __func__, st);
}

fmi2Status fmi2Terminate(fmi2Component c) {
  fmu* f = fmu_enter(c, __func__, FMU_RUNNING);
  if (f == NULL) return fmi2Error;
  cpl_component* part = fmu_component(f);
  cpl_status st = part->ops->terminate(part);
  f->state = FMU_TERMINATED;
  return fmu_result(f, __func__, st);
}

fmi2Status fmi2Reset(fmi2Component c) {
  fmu* f = fmu_enter(c, __func__, FMU_ANY);
  if (f == NULL) return fmi2Error;
  memset(f->input_slopes, 0, f->cm->at.nu * sizeof *f->input_slopes);
  f->end_wanted = false;
  f->setup = (cpl_setup){.start_time = 0};
  f->time = f->reached = 0;
  // a stepper that is there stays until the next initialisation: it may be needed to release saved
  // states, but it remembers the lines its inputs were
  f->rtol = 0;
  cpl_component* part = f->model != NULL ? fmu_component(f) : NULL;
  cpl_status st = part != NULL ? part->ops->reset(part) : fmu_make_model(f);
  f->state = st >= 0 ? FMU_INSTANTIATED : FMU_FAILED;
  return fmu_result(f, __func__, st);
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

size_t fmu_serialize_stepper(fmu* f, const cpl_snapshot* snapshot, unsigned char* bytes) {
  (void)f, (void)snapshot, (void)bytes;
  return 0;
}

cpl_status fmu_deserialize_stepper(fmu* f, const unsigned char* bytes, size_t size,
                                   cpl_snapshot* snapshot) {
  (void)bytes, (void)size, (void)snapshot;
  return fmu_make_stepper(f);
}
#endif
