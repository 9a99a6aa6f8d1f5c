// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// FMI 2.0 over the instance: what both kinds share, and model exchange.
#include <assert.h>
#include <math.h>

#include "export/runtime/fmu.h"
#include "fmi2Functions.h"

const char* fmi2GetTypesPlatform(void) { return fmi2TypesPlatform; }
const char* fmi2GetVersion(void) { return fmi2Version; }

//------------------------------------ instance ------------------------------------

static void send(const fmu_host* host, const char* instance, fmu_status status,
                 const char* category, const char* text) {
  fmi2CallbackLogger logger = (fmi2CallbackLogger)host->logger;
  if (logger == NULL) return;
  // the message is a format for printf, but some importers print it unformatted
  bool plain = strchr(text, '%') == NULL;
  logger(host->environment, instance, (fmi2Status)status, category, plain ? text : "%s", text);
}

static int hex(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  c = (char)(c | 0x20);
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// The path of a file URI: file:/a, file:///a or file://localhost/a, with %20 for a blank; importers
// also give plain paths. NULL: there is none, or not enough room.
static const char* path_of(const char* uri, char* path, size_t size) {
  size_t n = 0;
  if (uri == NULL) return NULL;
  bool is_uri = strncmp(uri, "file:", 5) == 0;
  const char* s = is_uri ? uri + 5 : uri;
  if (is_uri && s[0] == '/' && s[1] == '/') {
    s = strchr(s + 2, '/');
    if (s == NULL) return NULL;
  }
  for (; *s != '\0'; s++) {
    if (n + 1 >= size) return NULL;
    bool coded = is_uri && *s == '%' && hex(s[1]) >= 0 && hex(s[2]) >= 0;
    path[n++] = coded ? (char)(hex(s[1]) * 16 + hex(s[2])) : *s;
    if (coded) s += 2;
  }
  path[n] = '\0';
  return path;
}

fmi2Component fmi2Instantiate(fmi2String instanceName, fmi2Type fmuType, fmi2String fmuGUID,
                              fmi2String fmuResourceLocation,
                              const fmi2CallbackFunctions* functions, fmi2Boolean visible,
                              fmi2Boolean loggingOn) {
  (void)visible;
  char path[4096];
  fmu_host host = {.send = send};
  fmu_birth birth = {.function = __func__,
                     .name = instanceName,
                     .guid = fmuGUID,
                     .stepping = fmuType == fmi2CoSimulation,
                     .logging = loggingOn != fmi2False,
                     .resources = path_of(fmuResourceLocation, path, sizeof path)};
  if (functions != NULL) {
    host.environment = functions->componentEnvironment;
    host.logger = (void (*)(void))functions->logger;
  }
  if (fmuType != fmi2ModelExchange && fmuType != fmi2CoSimulation) {
    send(&host, instanceName != NULL ? instanceName : "", FMU_ERROR, "logStatusError",
         "fmi2Instantiate: unknown kind of FMU");
    return NULL;
  }
  return fmu_create(&birth, &host);
}

void fmi2FreeInstance(fmi2Component c) { fmu_destroy(c); }

// Every function: the instance, when it may be called now, then the work.
#define ENTER(states)                      \
  fmu* f = fmu_enter(c, __func__, states); \
  if (f == NULL) return fmi2Error
#define ENTER_ME(states)                               \
  fmu* f = fmu_enter_kind(c, __func__, states, false); \
  if (f == NULL) return fmi2Error
#define DO(call) return (fmi2Status)(call)
static_assert((int)FMU_OK == fmi2OK && (int)FMU_WARNING == fmi2Warning &&
                  (int)FMU_DISCARD == fmi2Discard && (int)FMU_ERROR == fmi2Error,
              "fmu_status has the numbers of the standard");

fmi2Status fmi2SetDebugLogging(fmi2Component c, fmi2Boolean loggingOn, size_t nCategories,
                               const fmi2String categories[]) {
  ENTER(FMU_ANY);
  DO(fmu_set_logging(f, __func__, loggingOn != fmi2False, nCategories, categories));
}

fmi2Status fmi2SetupExperiment(fmi2Component c, fmi2Boolean toleranceDefined, fmi2Real tolerance,
                               fmi2Real startTime, fmi2Boolean stopTimeDefined, fmi2Real stopTime) {
  ENTER(FMU_INSTANTIATED);
  cpl_setup setup = {.size = sizeof(cpl_setup),
                     .start_time = startTime,
                     .has_stop_time = stopTimeDefined != fmi2False,
                     .stop_time = stopTime,
                     .has_tolerance = toleranceDefined != fmi2False,
                     .tolerance = tolerance};
  DO(fmu_set_up(f, __func__, &setup));
}

fmi2Status fmi2EnterInitializationMode(fmi2Component c) {
  ENTER(FMU_INSTANTIATED);
  DO(fmu_enter_init(f, __func__));
}

fmi2Status fmi2ExitInitializationMode(fmi2Component c) {
  ENTER(FMU_INITIALIZING);
  DO(fmu_exit_init(f, __func__));
}

fmi2Status fmi2Terminate(fmi2Component c) {
  ENTER(FMU_RUNNING);
  DO(fmu_terminate(f, __func__));
}

fmi2Status fmi2Reset(fmi2Component c) {
  ENTER(FMU_ANY);
  DO(fmu_reset(f, __func__));
}

//------------------------------------ values ------------------------------------

// An Enumeration is read and written as an Integer.
static const fmu_kinds reals = {FMU_REAL, "Real"};
static const fmu_integers integers = {{FMU_INTEGER | FMU_ENUMERATION, "Integer"}, FMU_INT32};
static const fmu_integers booleans = {{FMU_BOOLEAN, "Boolean"}, FMU_INT32};

fmi2Status fmi2GetReal(fmi2Component c, const fmi2ValueReference vr[], size_t nvr,
                       fmi2Real value[]) {
  ENTER(FMU_ANY);
  DO(fmu_get_reals(f, __func__, &reals, vr, nvr, value));
}

fmi2Status fmi2SetReal(fmi2Component c, const fmi2ValueReference vr[], size_t nvr,
                       const fmi2Real value[]) {
  ENTER(FMU_SETTABLE);
  DO(fmu_set_reals(f, __func__, &reals, vr, nvr, value));
}

fmi2Status fmi2GetInteger(fmi2Component c, const fmi2ValueReference vr[], size_t nvr,
                          fmi2Integer value[]) {
  ENTER(FMU_ANY);
  DO(fmu_get_integers(f, __func__, &integers, vr, nvr, value));
}

fmi2Status fmi2SetInteger(fmi2Component c, const fmi2ValueReference vr[], size_t nvr,
                          const fmi2Integer value[]) {
  ENTER(FMU_SETTABLE);
  DO(fmu_set_integers(f, __func__, &integers, vr, nvr, value));
}

fmi2Status fmi2GetBoolean(fmi2Component c, const fmi2ValueReference vr[], size_t nvr,
                          fmi2Boolean value[]) {
  ENTER(FMU_ANY);
  DO(fmu_get_integers(f, __func__, &booleans, vr, nvr, value));
}

fmi2Status fmi2SetBoolean(fmi2Component c, const fmi2ValueReference vr[], size_t nvr,
                          const fmi2Boolean value[]) {
  ENTER(FMU_SETTABLE);
  DO(fmu_set_integers(f, __func__, &booleans, vr, nvr, value));
}

fmi2Status fmi2GetString(fmi2Component c, const fmi2ValueReference vr[], size_t nvr,
                         fmi2String value[]) {
  ENTER(FMU_ANY);
  DO(fmu_get_strings(f, __func__, vr, nvr, value));
}

fmi2Status fmi2SetString(fmi2Component c, const fmi2ValueReference vr[], size_t nvr,
                         const fmi2String value[]) {
  ENTER(FMU_SETTABLE);
  DO(fmu_set_strings(f, __func__, vr, nvr, value));
}

fmi2Status fmi2GetDirectionalDerivative(fmi2Component c, const fmi2ValueReference unknown[],
                                        size_t nUnknown, const fmi2ValueReference known[],
                                        size_t nKnown, const fmi2Real dKnown[],
                                        fmi2Real dUnknown[]) {
  ENTER(FMU_INITIALIZING | FMU_RUNNING | FMU_TERMINATED);
  fmu_derivative d = {unknown, known, nUnknown, nKnown, dKnown, dUnknown};
  DO(fmu_directional(f, __func__, &d));
}

//------------------------------------ states ------------------------------------

fmi2Status fmi2GetFMUstate(fmi2Component c, fmi2FMUstate* state) {
  ENTER(FMU_ANY);
  DO(fmu_save(f, __func__, state));
}

fmi2Status fmi2SetFMUstate(fmi2Component c, fmi2FMUstate state) {
  ENTER(FMU_ANY);
  DO(fmu_restore(f, __func__, state));
}

fmi2Status fmi2FreeFMUstate(fmi2Component c, fmi2FMUstate* state) {
  ENTER(FMU_ANY);
  DO(fmu_forget(f, state));
}

fmi2Status fmi2SerializedFMUstateSize(fmi2Component c, fmi2FMUstate state, size_t* size) {
  ENTER(FMU_ANY);
  DO(fmu_state_size(f, __func__, state, size));
}

fmi2Status fmi2SerializeFMUstate(fmi2Component c, fmi2FMUstate state, fmi2Byte bytes[],
                                 size_t size) {
  ENTER(FMU_ANY);
  DO(fmu_write_state(f, __func__, state, (unsigned char*)bytes, size));
}

fmi2Status fmi2DeSerializeFMUstate(fmi2Component c, const fmi2Byte bytes[], size_t size,
                                   fmi2FMUstate* state) {
  ENTER(FMU_ANY);
  DO(fmu_read_state(f, __func__, (const unsigned char*)bytes, size, state));
}

//------------------------------------ model exchange ------------------------------------

static const unsigned readable = FMU_INITIALIZING | FMU_EVENT | FMU_CONTINUOUS | FMU_TERMINATED;

fmi2Status fmi2EnterEventMode(fmi2Component c) {
  ENTER_ME(FMU_CONTINUOUS | FMU_EVENT);
  DO(fmu_enter_event(f, __func__));
}

fmi2Status fmi2NewDiscreteStates(fmi2Component c, fmi2EventInfo* info) {
  ENTER_ME(FMU_EVENT);
  cpl_event_info news;
  if (info == NULL) return fmi2Error;
  fmu_status status = fmu_update(f, __func__, &news);
  info->newDiscreteStatesNeeded = news.again;
  info->terminateSimulation = news.terminate;
  info->nominalsOfContinuousStatesChanged = news.nominals_changed;
  info->valuesOfContinuousStatesChanged = news.states_changed;
  info->nextEventTimeDefined = isfinite(news.next_time) ? fmi2True : fmi2False;
  info->nextEventTime = isfinite(news.next_time) ? news.next_time : 0;
  return (fmi2Status)status;
}

fmi2Status fmi2EnterContinuousTimeMode(fmi2Component c) {
  ENTER_ME(FMU_EVENT);
  DO(fmu_enter_continuous(f, __func__));
}

fmi2Status fmi2CompletedIntegratorStep(fmi2Component c,
                                       fmi2Boolean noSetFMUStatePriorToCurrentPoint,
                                       fmi2Boolean* enterEventMode,
                                       fmi2Boolean* terminateSimulation) {
  (void)noSetFMUStatePriorToCurrentPoint;
  ENTER_ME(FMU_CONTINUOUS);
  bool event, end;
  fmu_status status = fmu_completed_step(f, __func__, &event, &end);
  if (enterEventMode != NULL) *enterEventMode = event;
  if (terminateSimulation != NULL) *terminateSimulation = end;
  return (fmi2Status)status;
}

fmi2Status fmi2SetTime(fmi2Component c, fmi2Real time) {
  ENTER_ME(FMU_EVENT | FMU_CONTINUOUS);
  DO(fmu_set_time(f, __func__, time));
}

fmi2Status fmi2SetContinuousStates(fmi2Component c, const fmi2Real x[], size_t nx) {
  ENTER_ME(FMU_CONTINUOUS | FMU_EVENT);
  DO(fmu_set_states(f, __func__, x, nx));
}

fmi2Status fmi2GetDerivatives(fmi2Component c, fmi2Real derivatives[], size_t nx) {
  ENTER_ME(readable);
  DO(fmu_get_vector(f, __func__, FMU_DERIVATIVES, derivatives, nx));
}

fmi2Status fmi2GetEventIndicators(fmi2Component c, fmi2Real indicators[], size_t ni) {
  ENTER_ME(readable);
  DO(fmu_get_vector(f, __func__, FMU_INDICATORS, indicators, ni));
}

fmi2Status fmi2GetContinuousStates(fmi2Component c, fmi2Real x[], size_t nx) {
  ENTER_ME(readable | FMU_INSTANTIATED);
  DO(fmu_get_vector(f, __func__, FMU_STATES, x, nx));
}

fmi2Status fmi2GetNominalsOfContinuousStates(fmi2Component c, fmi2Real nominals[], size_t nx) {
  ENTER_ME(readable | FMU_INSTANTIATED);
  DO(fmu_get_vector(f, __func__, FMU_NOMINALS, nominals, nx));
}

//------------------------------------ constraints ------------------------------------

// Beyond the standard: docs/fmi-extensions.md. There is no header that declares them.
FMI2_Export fmi2Status fmi2GetNumberOfConstraints(fmi2Component c, size_t* N);
FMI2_Export fmi2Status fmi2Constraint(fmi2Component c, fmi2Real C[]);
FMI2_Export fmi2Status fmi2ConstraintJacobian(fmi2Component c, fmi2Real J[]);
FMI2_Export fmi2Status fmi2ProjectionStep(fmi2Component c, fmi2Real S[]);
FMI2_Export fmi2Status fmi2Projection(fmi2Component c, fmi2Real P[], fmi2Real projectionTolerance,
                                      size_t iterationLimit, fmi2Boolean apply);

FMI2_Export fmi2Status coupletEvaluate(const fmi2Component c[], size_t n, fmi2Real time,
                                       const fmi2Real x[], const fmi2ValueReference inputs[],
                                       const fmi2Real u[], const fmi2ValueReference outputs[],
                                       fmi2Real y[], const fmi2Integer first[], fmi2Real dx[],
                                       size_t* done);

fmi2Status fmi2GetNumberOfConstraints(fmi2Component c, size_t* N) {
  ENTER_ME(readable);
  DO(fmu_count_constraints(f, __func__, N));
}

fmi2Status fmi2Constraint(fmi2Component c, fmi2Real C[]) {
  ENTER_ME(readable);
  DO(fmu_constraints(f, __func__, C));
}

fmi2Status fmi2ConstraintJacobian(fmi2Component c, fmi2Real J[]) {
  ENTER_ME(readable);
  DO(fmu_constraint_jacobian(f, __func__, J));
}

fmi2Status fmi2ProjectionStep(fmi2Component c, fmi2Real S[]) {
  ENTER_ME(readable);
  DO(fmu_projection_step(f, __func__, S));
}

fmi2Status fmi2Projection(fmi2Component c, fmi2Real P[], fmi2Real projectionTolerance,
                          size_t iterationLimit, fmi2Boolean apply) {
  ENTER_ME(readable);
  DO(fmu_projection(f, __func__, projectionTolerance, iterationLimit, apply != fmi2False, P));
}

fmi2Status coupletEvaluate(const fmi2Component c[], size_t n, fmi2Real time, const fmi2Real x[],
                           const fmi2ValueReference inputs[], const fmi2Real u[],
                           const fmi2ValueReference outputs[], fmi2Real y[],
                           const fmi2Integer first[], fmi2Real dx[], size_t* done) {
  const cpl_evaluation e = {.t = time,
                            .x = x,
                            .inputs = inputs,
                            .u = u,
                            .outputs = outputs,
                            .y = y,
                            .first = first,
                            .dx = dx};
  DO(fmu_evaluate(dx != NULL ? "fmi2GetDerivatives" : "fmi2GetReal", c, n, &e, done));
}
