// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// An FMU for tests: an oscillator x1' = x2, x2' = -k x1 + u, y = x1 + 2 u, with all basic types, a
// state event at x1 = 0, a time event every 0.5 s, and a fault on demand (probe_fault.h): the N-th
// call of a function can also return warning, discard, error, fatal or 42, give nan (Reals,
// derivatives, indicators), or print to the logger with odd arguments (odd).
//
// Variants: PROBE_BARE lacks all optional functions, PROBE_BROKEN lacks required ones, PROBE_EXTRAS
// has the two beyond the standard, PROBE_SIBLING needs a library beside it, PROBE_BAD_START and
// PROBE_BAD_END crash when loaded and unloaded.
#include <math.h>

#include "fmi2Functions.h"
#include "probe_fault.h"

typedef struct probe {
  double x[2], k, u, du, time, last_time, stop;
  int count, n, mode, flag, terminated, polls, stops_at_events;
  char label[64];
  fmi2Type type;
  fmi2CallbackFunctions callbacks;
} probe;

enum { X1, X2, DX1, DX2, K, U, Y, N_REALS };

//------------------------------------ faults ------------------------------------

static int nan_wanted;

static void say(const probe* p, fmi2Status status, const char* function) {
  if (p == NULL) return;
  p->callbacks.logger(p->callbacks.componentEnvironment, "probe", status, "logStatus",
                      "%s was told to fail, #r4# = %g\n", function, p->k);
}

static void say_odd_things(const probe* p) {
  fmi2CallbackLogger log = p->callbacks.logger;
  void* env = p->callbacks.componentEnvironment;
  log(NULL, NULL, fmi2OK, NULL, NULL);
  log(env, NULL, fmi2Warning, NULL, NULL);
  log(env, NULL, fmi2Warning, NULL, "");
  log(env, NULL, fmi2Warning, NULL, "100 %% of ## and #r99# and #r4");
  log(env, "", (fmi2Status)77, "", "no such status");
  char text[5000];
  memset(text, 'x', sizeof text);
  text[sizeof text - 1] = '\0';
  log(env, "", fmi2OK, text, text);
}

static fmi2Status status_of(const probe* p, const char* function) {
  const char* kind;
  int status = wanted_status(function, &kind);
  nan_wanted = kind != NULL && strcmp(kind, "nan") == 0;
  if (kind != NULL && strcmp(kind, "odd") == 0) say_odd_things(p);
  if (status > 0 && status < 42) say(p, (fmi2Status)status, function);
  return (fmi2Status)status;
}

#define BEGIN                                 \
  probe* p = c;                               \
  fmi2Status status = status_of(p, __func__); \
  (void)p;

//------------------------------------ memory ------------------------------------

// All blocks in a list: after a crash or fmi2Fatal no one may free them, but they are not lost.
typedef struct block {
  struct block *before, *after;
} block;

static block blocks = {&blocks, &blocks};

static void* take(const fmi2CallbackFunctions* callbacks, size_t size) {
  block* b = callbacks->allocateMemory(1, sizeof *b + size);
  if (b == NULL) return NULL;
  *b = (block){&blocks, blocks.after};
  b->before->after = b->after->before = b;
  return b + 1;
}

static void give_back(const fmi2CallbackFunctions* callbacks, void* memory) {
  block* b = (block*)memory - 1;
  b->before->after = b->after;
  b->after->before = b->before;
  callbacks->freeMemory(b);
}

//------------------------------------ both kinds ------------------------------------

static void start(probe* p) {
  p->x[0] = 1;
  p->x[1] = 0;
  p->k = 4;
  p->u = p->du = 0;
  p->n = 3;
  p->mode = 1;
  p->count = p->flag = p->terminated = 0;
  strcpy(p->label, "probe");
}

const char* fmi2GetVersion(void) { return fmi2Version; }
const char* fmi2GetTypesPlatform(void) { return fmi2TypesPlatform; }

fmi2Component fmi2Instantiate(fmi2String name, fmi2Type type, fmi2String guid, fmi2String resources,
                              const fmi2CallbackFunctions* callbacks, fmi2Boolean visible,
                              fmi2Boolean logging) {
  (void)name;
  (void)resources;
  (void)visible;
  (void)logging;
  probe before = {.callbacks = *callbacks, .k = 4};
  calls_so_far = 0;
  if (status_of(&before, "fmi2Instantiate") > fmi2Warning) return NULL;
  if (strcmp(guid, "{probe}") != 0) return NULL;
  probe* p = take(callbacks, sizeof *p);
  if (p == NULL) return NULL;
  p->type = type;
  p->callbacks = *callbacks;
  start(p);
  return p;
}

void fmi2FreeInstance(fmi2Component c) {
  BEGIN
  if (status == fmi2OK) {
    fmi2CallbackFunctions callbacks = p->callbacks;
    give_back(&callbacks, p);
  }
}

fmi2Status fmi2SetupExperiment(fmi2Component c, fmi2Boolean has_tolerance, fmi2Real tolerance,
                               fmi2Real start_time, fmi2Boolean has_stop, fmi2Real stop) {
  BEGIN(void) has_tolerance;
  (void)tolerance;
  if (getenv("PROBE_STARTS_LATE") != NULL) start(p);  // as FMUs of 20-sim do
  p->time = p->last_time = start_time;
  p->stop = has_stop ? stop : INFINITY;
  return status;
}

fmi2Status fmi2EnterInitializationMode(fmi2Component c) { BEGIN return status; }
fmi2Status fmi2ExitInitializationMode(fmi2Component c) { BEGIN return status; }
fmi2Status fmi2Terminate(fmi2Component c) { BEGIN return status; }

static double real_of(const probe* p, unsigned int ref) {
  switch (ref) {
    case X1: return p->x[0];
    case X2:
    case DX1: return p->x[1];
    case DX2: return -p->k * p->x[0] + p->u;
    case K: return p->k;
    case U: return p->u;
    default: return p->x[0] + 2 * p->u;
  }
}

fmi2Status fmi2GetReal(fmi2Component c, const fmi2ValueReference* refs, size_t n,
                       fmi2Real* values) {
  BEGIN
  for (size_t i = 0; i < n; i++) values[i] = nan_wanted ? NAN : real_of(p, refs[i]);
  return status;
}

fmi2Status fmi2SetReal(fmi2Component c, const fmi2ValueReference* refs, size_t n,
                       const fmi2Real* values) {
  BEGIN
  for (size_t i = 0; i < n; i++) {
    if (refs[i] <= X2) p->x[refs[i]] = values[i];
    if (refs[i] == K) p->k = values[i];
    if (refs[i] == U) p->u = values[i];
  }
  return status;
}

#ifndef PROBE_BARE
// With PROBE_KEEPS_STATE it leaves everything as it is.
fmi2Status fmi2Reset(fmi2Component c) {
  BEGIN if (getenv("PROBE_KEEPS_STATE") == NULL) start(p);
  return status;
}

fmi2Status fmi2SetDebugLogging(fmi2Component c, fmi2Boolean on, size_t n,
                               const fmi2String* categories) {
  BEGIN(void) on;
  (void)n;
  (void)categories;
  return status;
}

static int* integer_of(probe* p, unsigned int ref) {
  return ref == 0 ? &p->count : ref == 1 ? &p->n : &p->mode;
}

fmi2Status fmi2GetInteger(fmi2Component c, const fmi2ValueReference* refs, size_t n,
                          fmi2Integer* values) {
  BEGIN
  for (size_t i = 0; i < n; i++) values[i] = *integer_of(p, refs[i]);
  return status;
}

fmi2Status fmi2SetInteger(fmi2Component c, const fmi2ValueReference* refs, size_t n,
                          const fmi2Integer* values) {
  BEGIN
  for (size_t i = 0; i < n; i++) *integer_of(p, refs[i]) = values[i];
  return status;
}

fmi2Status fmi2GetBoolean(fmi2Component c, const fmi2ValueReference* refs, size_t n,
                          fmi2Boolean* values) {
  BEGIN(void) refs;
  for (size_t i = 0; i < n; i++) values[i] = p->flag ? 255 : 0;  // as some compilers' booleans
  return status;
}

fmi2Status fmi2SetBoolean(fmi2Component c, const fmi2ValueReference* refs, size_t n,
                          const fmi2Boolean* values) {
  BEGIN(void) refs;
  for (size_t i = 0; i < n; i++) p->flag = values[i];
  return status;
}

fmi2Status fmi2GetString(fmi2Component c, const fmi2ValueReference* refs, size_t n,
                         fmi2String* values) {
  BEGIN
  for (size_t i = 0; i < n; i++) values[i] = refs[i] == 0 ? p->label : NULL;
  return status;
}

fmi2Status fmi2SetString(fmi2Component c, const fmi2ValueReference* refs, size_t n,
                         const fmi2String* values) {
  BEGIN(void) refs;
  for (size_t i = 0; i < n; i++) snprintf(p->label, sizeof p->label, "%s", values[i]);
  return status;
}

fmi2Status fmi2GetFMUstate(fmi2Component c, fmi2FMUstate* state) {
  BEGIN
  if (*state == NULL) *state = take(&p->callbacks, sizeof *p);
  memcpy(*state, p, sizeof *p);
  return status;
}

fmi2Status fmi2SetFMUstate(fmi2Component c, fmi2FMUstate state) {
  BEGIN memcpy(p, state, sizeof *p);
  return status;
}

fmi2Status fmi2FreeFMUstate(fmi2Component c, fmi2FMUstate* state) {
  BEGIN give_back(&p->callbacks, *state);
  *state = NULL;
  return status;
}

fmi2Status fmi2GetDirectionalDerivative(fmi2Component c, const fmi2ValueReference* unknowns,
                                        size_t n_unknowns, const fmi2ValueReference* knowns,
                                        size_t n_knowns, const fmi2Real* seed, fmi2Real* result) {
  BEGIN
  probe d = {.k = p->k};
  for (size_t i = 0; i < n_knowns; i++) {
    if (knowns[i] <= X2) d.x[knowns[i]] = seed[i];
    if (knowns[i] == U) d.u = seed[i];
  }
  for (size_t i = 0; i < n_unknowns; i++) result[i] = real_of(&d, unknowns[i]);
  return status;
}
#endif

//------------------------------------ model exchange ------------------------------------

fmi2Status fmi2EnterEventMode(fmi2Component c) { BEGIN return status; }
fmi2Status fmi2EnterContinuousTimeMode(fmi2Component c) { BEGIN return status; }

fmi2Status fmi2NewDiscreteStates(fmi2Component c, fmi2EventInfo* info) {
  BEGIN
  if (has_told()) {
    info->newDiscreteStatesNeeded = fmi2False;
    return status;
  }
  memset(info, 0, sizeof *info);
  p->count++;
  info->newDiscreteStatesNeeded = p->count == 1 || tells_once();
  info->valuesOfContinuousStatesChanged = p->count == 2;
  info->nominalsOfContinuousStatesChanged = p->count == 3;
  info->terminateSimulation = p->count > p->n;
  info->nextEventTimeDefined = p->count < 5;
  info->nextEventTime = 0.5 * (floor(p->time / 0.5) + 1);
  return status;
}

fmi2Status fmi2CompletedIntegratorStep(fmi2Component c, fmi2Boolean no_way_back, fmi2Boolean* event,
                                       fmi2Boolean* terminate) {
  BEGIN(void) no_way_back;
  *event = p->flag;
  *terminate = p->terminated;
  return status;
}

fmi2Status fmi2SetTime(fmi2Component c, fmi2Real time) {
  BEGIN updates_so_far = 0;
  p->time = time;
  return status;
}

fmi2Status fmi2SetContinuousStates(fmi2Component c, const fmi2Real* x, size_t n) {
  BEGIN memcpy(p->x, x, n * sizeof *x);
  return status;
}

fmi2Status fmi2GetContinuousStates(fmi2Component c, fmi2Real* x, size_t n) {
  BEGIN memcpy(x, p->x, n * sizeof *x);
  return status;
}

fmi2Status fmi2GetEventIndicators(fmi2Component c, fmi2Real* z, size_t n) {
  BEGIN
  if (n > 0) z[0] = nan_wanted ? NAN : p->x[0];
  return status;
}

fmi2Status fmi2GetNominalsOfContinuousStates(fmi2Component c, fmi2Real* nominals, size_t n) {
  BEGIN
  for (size_t i = 0; i < n; i++) nominals[i] = p->mode == 1 ? 10 : p->mode == 2 ? 0 : NAN;
  if (p->mode == 1 && n > 1) nominals[1] = 5e-324;
  return status;
}

#ifndef PROBE_BROKEN
fmi2Status fmi2GetDerivatives(fmi2Component c, fmi2Real* dx, size_t n) {
  BEGIN
  for (size_t i = 0; i < n; i++) dx[i] = nan_wanted ? NAN : real_of(p, DX1 + (unsigned int)i);
  return status;
}

//------------------------------------ co-simulation ------------------------------------

static void advance(probe* p, double h) {
  double k1 = real_of(p, DX2), mid = p->x[1] + 0.5 * h * k1;
  p->x[0] += h * mid;
  p->x[1] += h * k1;
  p->u += h * p->du;
  p->time += h;
  p->last_time = p->time;
}

// As wanted_fault(), with odd messages.
static const char* fault(const probe* p, const char* function) {
  const char* kind = wanted_fault(function);
  if (kind != NULL && strcmp(kind, "odd") == 0) say_odd_things(p);
  return kind;
}

fmi2Status fmi2DoStep(fmi2Component c, fmi2Real t, fmi2Real h, fmi2Boolean no_way_back) {
  probe* p = c;
  (void)no_way_back;
  p->time = t;
  const char* kind = fault(p, __func__);
  if (kind != NULL && strcmp(kind, "terminate") == 0) p->terminated = 1;
  if (kind != NULL && strcmp(kind, "pending") == 0) p->polls = 3;
  if (kind != NULL && strcmp(kind, "error") == 0) say(p, fmi2Error, __func__);
  if (kind != NULL && strcmp(kind, "error") == 0) return fmi2Error;
  if (kind != NULL && strcmp(kind, "fatal") == 0) return fmi2Fatal;
  int halfway =
      kind != NULL && (strcmp(kind, "discard") == 0 || tells_bad_time(kind) || p->terminated);
  advance(p, halfway ? h / 2 : h);
  p->last_time = wanted_time(kind, t, h, p->last_time);
  return halfway ? fmi2Discard : p->polls > 0 ? fmi2Pending : fmi2OK;
}
#endif

#ifndef PROBE_BARE
fmi2Status fmi2CancelStep(fmi2Component c) { BEGIN return status; }

fmi2Status fmi2SetRealInputDerivatives(fmi2Component c, const fmi2ValueReference* refs, size_t n,
                                       const fmi2Integer* orders, const fmi2Real* values) {
  BEGIN(void) refs;
  for (size_t i = 0; i < n; i++) {
    if (orders[i] == 1) p->du = values[i];
  }
  return status;
}

fmi2Status fmi2GetRealOutputDerivatives(fmi2Component c, const fmi2ValueReference* refs, size_t n,
                                        const fmi2Integer* orders, fmi2Real* values) {
  BEGIN(void) refs;
  (void)orders;
  for (size_t i = 0; i < n; i++) values[i] = p->x[1];
  return status;
}

fmi2Status fmi2GetStatus(fmi2Component c, const fmi2StatusKind kind, fmi2Status* value) {
  BEGIN(void) kind;
  *value = --p->polls > 0 ? fmi2Pending : fmi2OK;
  return status;
}

fmi2Status fmi2GetRealStatus(fmi2Component c, const fmi2StatusKind kind, fmi2Real* value) {
  BEGIN
  if (kind != fmi2LastSuccessfulTime) return fmi2Discard;
  *value = p->last_time;
  return status;
}

fmi2Status fmi2GetBooleanStatus(fmi2Component c, const fmi2StatusKind kind, fmi2Boolean* value) {
  BEGIN
  if (kind != fmi2Terminated) return fmi2Discard;
  *value = p->terminated;
  return status;
}
#endif

#ifdef PROBE_EXTRAS
FMI2_Export fmi2Status fmi2GetMaxStepSize(fmi2Component c, fmi2Real* size);
fmi2Status fmi2GetMaxStepSize(fmi2Component c, fmi2Real* size) {
  BEGIN* size = nan_wanted ? NAN : 0.125;
  return status;
}

FMI2_Export fmi2Status coupletStopAtEvents(fmi2Component c, fmi2Boolean stop);
fmi2Status coupletStopAtEvents(fmi2Component c, fmi2Boolean stop) {
  BEGIN p->stops_at_events = stop;
  return status;
}
#endif

// The host has a function of the same name; we must get our own.
FMI2_Export int probe_interposed(void);
int probe_interposed(void) { return 1; }
FMI2_Export int probe_calls_interposed(void);
int probe_calls_interposed(void) { return probe_interposed(); }

#ifdef PROBE_SIBLING
extern int probe_sibling(void);
int probe_use_sibling(void);
int probe_use_sibling(void) { return probe_sibling(); }
#endif
#ifdef PROBE_BAD_START
__attribute__((constructor)) static void begin_badly(void) { abort(); }
#endif
#ifdef PROBE_BAD_END
__attribute__((destructor)) static void end_badly(void) { abort(); }
#endif
