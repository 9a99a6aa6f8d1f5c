// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// An FMU of FMI 1.0 for tests: the oscillator of probe_fmu.c, both kinds in one binary. As some
// real FMUs it insists on the order of calls: the time before fmiInitialize, and before the states
// after a completed step or an event. It leaves nominal values untouched.
#include <math.h>

#include "fmiFunctionTypes.h"
#include "probe_fault.h"

#define NAME(function) probe1_##function
#define EXPORT         __attribute__((visibility("default")))

typedef struct probe {
  double x[2], k, u, du, time, last_time;
  int count, n, flag, initialized, time_known;
  char label[64], name[64];
  fmiModelCallbackFunctions callbacks;
  struct probe* next;
} probe;

// After a crash no one may free an instance, but it is not lost.
static probe* all;

enum { X1, X2, DX1, DX2, K, U, Y };

static int nan_wanted;

static fmiStatus status_of(probe* p, const char* function) {
  const char* kind;
  int status = wanted_status(function, &kind);
  nan_wanted = kind != NULL && strcmp(kind, "nan") == 0;
  if (status > 0 && p != NULL) {
    p->callbacks.logger(p, p->name, (fmiStatus)status, "log", "%s was told to fail, #r4# = %g\n",
                        function, p->k);
  }
  return (fmiStatus)status;
}

#define BEGIN   \
  probe* p = c; \
  fmiStatus status = status_of(p, __func__ + sizeof "probe1_" - 1);

static fmiStatus refuse(probe* p, const char* why) {
  p->callbacks.logger(p, p->name, fmiError, "order", "%s", why);
  return fmiError;
}

static probe* make(fmiString name, fmiString guid, const fmiModelCallbackFunctions* callbacks,
                   const char* function) {
  calls_so_far = 0;
  if (strcmp(guid, "{probe1}") != 0 || status_of(NULL, function) > fmiWarning) return NULL;
  probe* p = callbacks->allocateMemory(1, sizeof *p);
  if (p == NULL) return NULL;
  *p = (probe){.x = {1, 0}, .k = 4, .n = 3, .label = "probe", .callbacks = *callbacks};
  snprintf(p->name, sizeof p->name, "%s", name);
  p->next = all;
  all = p;
  return p;
}

//------------------------------------ both kinds ------------------------------------

EXPORT const char* NAME(fmiGetVersion)(void);
EXPORT const char* NAME(fmiGetVersion)(void) { return "1.0"; }
EXPORT const char* NAME(fmiGetModelTypesPlatform)(void);
EXPORT const char* NAME(fmiGetModelTypesPlatform)(void) { return "standard32"; }
EXPORT const char* NAME(fmiGetTypesPlatform)(void);
EXPORT const char* NAME(fmiGetTypesPlatform)(void) { return "standard32"; }

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

EXPORT fmiGetRealTYPE NAME(fmiGetReal);
fmiStatus NAME(fmiGetReal)(fmiComponent c, const fmiValueReference* refs, size_t n,
                           fmiReal* values) {
  BEGIN
  if (!p->initialized) return refuse(p, "outputs before the initialisation");
  for (size_t i = 0; i < n; i++) values[i] = real_of(p, refs[i]);
  if (nan_wanted) values[0] = (double)NAN;
  return status;
}

EXPORT fmiSetRealTYPE NAME(fmiSetReal);
fmiStatus NAME(fmiSetReal)(fmiComponent c, const fmiValueReference* refs, size_t n,
                           const fmiReal* values) {
  BEGIN
  for (size_t i = 0; i < n; i++) {
    if (refs[i] <= X2) p->x[refs[i]] = values[i];
    if (refs[i] == K) p->k = values[i];
    if (refs[i] == U) p->u = values[i];
  }
  return status;
}

EXPORT fmiGetIntegerTYPE NAME(fmiGetInteger);
fmiStatus NAME(fmiGetInteger)(fmiComponent c, const fmiValueReference* refs, size_t n,
                              fmiInteger* values) {
  BEGIN
  for (size_t i = 0; i < n; i++) values[i] = refs[i] == 0 ? p->count : p->n;
  return status;
}

EXPORT fmiSetIntegerTYPE NAME(fmiSetInteger);
fmiStatus NAME(fmiSetInteger)(fmiComponent c, const fmiValueReference* refs, size_t n,
                              const fmiInteger* values) {
  BEGIN
  for (size_t i = 0; i < n; i++) *(refs[i] == 0 ? &p->count : &p->n) = values[i];
  return status;
}

EXPORT fmiGetBooleanTYPE NAME(fmiGetBoolean);
fmiStatus NAME(fmiGetBoolean)(fmiComponent c, const fmiValueReference* refs, size_t n,
                              fmiBoolean* values) {
  BEGIN(void) refs;
  for (size_t i = 0; i < n; i++) values[i] = p->flag ? -1 : 0;  // as some compilers' booleans
  return status;
}

EXPORT fmiSetBooleanTYPE NAME(fmiSetBoolean);
fmiStatus NAME(fmiSetBoolean)(fmiComponent c, const fmiValueReference* refs, size_t n,
                              const fmiBoolean* values) {
  BEGIN(void) refs;
  for (size_t i = 0; i < n; i++) p->flag = values[i];
  return status;
}

EXPORT fmiGetStringTYPE NAME(fmiGetString);
fmiStatus NAME(fmiGetString)(fmiComponent c, const fmiValueReference* refs, size_t n,
                             fmiString* values) {
  BEGIN
  for (size_t i = 0; i < n; i++) values[i] = refs[i] == 0 ? p->label : NULL;
  return status;
}

EXPORT fmiSetStringTYPE NAME(fmiSetString);
fmiStatus NAME(fmiSetString)(fmiComponent c, const fmiValueReference* refs, size_t n,
                             const fmiString* values) {
  BEGIN(void) refs;
  for (size_t i = 0; i < n; i++) snprintf(p->label, sizeof p->label, "%s", values[i]);
  return status;
}

//------------------------------------ model exchange ------------------------------------

EXPORT fmiInstantiateModelTYPE NAME(fmiInstantiateModel);
fmiComponent NAME(fmiInstantiateModel)(fmiString name, fmiString guid,
                                       fmiModelCallbackFunctions callbacks, fmiBoolean logging) {
  (void)logging;
  return make(name, guid, &callbacks, "fmiInstantiateModel");
}

EXPORT fmiFreeModelInstanceTYPE NAME(fmiFreeModelInstance);
void NAME(fmiFreeModelInstance)(fmiComponent c) {
  probe *p = c, **at = &all;
  while (*at != p) at = &(*at)->next;
  *at = p->next;
  p->callbacks.freeMemory(p);
}

EXPORT fmiSetTimeTYPE NAME(fmiSetTime);
fmiStatus NAME(fmiSetTime)(fmiComponent c, fmiReal time) {
  BEGIN updates_so_far = 0;
  p->time = time;
  p->time_known = 1;
  return status;
}

// A time event every 0.5 s; the third update changes the states, the count ends the simulation.
static void tell(probe* p, fmiEventInfo* info) {
  memset(info, 0, sizeof *info);
  info->iterationConverged = fmiTrue;
  info->terminateSimulation = p->count > p->n;
  info->stateValuesChanged = p->count == 3;
  info->upcomingTimeEvent = fmiTrue;
  info->nextEventTime = 0.5 * (floor(p->time / 0.5) + 1);
}

EXPORT fmiInitializeTYPE NAME(fmiInitialize);
fmiStatus NAME(fmiInitialize)(fmiComponent c, fmiBoolean controlled, fmiReal tolerance,
                              fmiEventInfo* info) {
  BEGIN(void) controlled;
  (void)tolerance;
  if (!p->time_known) return refuse(p, "no time before the initialisation");
  p->initialized = 1;
  p->time_known = 0;
  tell(p, info);
  return status;
}

EXPORT fmiEventUpdateTYPE NAME(fmiEventUpdate);
fmiStatus NAME(fmiEventUpdate)(fmiComponent c, fmiBoolean intermediate, fmiEventInfo* info) {
  BEGIN(void) intermediate;
  p->count++;
  p->time_known = 0;
  info->iterationConverged = !tells_once();
  if (has_told()) {
    info->iterationConverged = fmiTrue;
    return status;
  }
  tell(p, info);
  if (tells_once()) info->iterationConverged = fmiFalse;
  if (p->count == 3) p->x[1] += 1;
  return status;
}

EXPORT fmiCompletedIntegratorStepTYPE NAME(fmiCompletedIntegratorStep);
fmiStatus NAME(fmiCompletedIntegratorStep)(fmiComponent c, fmiBoolean* event) {
  BEGIN* event = (char)p->flag;
  p->time_known = 0;
  return status;
}

EXPORT fmiSetContinuousStatesTYPE NAME(fmiSetContinuousStates);
fmiStatus NAME(fmiSetContinuousStates)(fmiComponent c, const fmiReal* x, size_t n) {
  BEGIN
  if (!p->time_known) return refuse(p, "states before the time");
  memcpy(p->x, x, n * sizeof *x);
  return status;
}

EXPORT fmiGetContinuousStatesTYPE NAME(fmiGetContinuousStates);
fmiStatus NAME(fmiGetContinuousStates)(fmiComponent c, fmiReal* x, size_t n) {
  BEGIN memcpy(x, p->x, n * sizeof *x);
  return status;
}

EXPORT fmiGetDerivativesTYPE NAME(fmiGetDerivatives);
fmiStatus NAME(fmiGetDerivatives)(fmiComponent c, fmiReal* dx, size_t n) {
  BEGIN
  for (size_t i = 0; i < n; i++) dx[i] = real_of(p, DX1 + (unsigned int)i);
  if (nan_wanted) dx[0] = (double)NAN;
  return status;
}

EXPORT fmiGetEventIndicatorsTYPE NAME(fmiGetEventIndicators);
fmiStatus NAME(fmiGetEventIndicators)(fmiComponent c, fmiReal* z, size_t n) {
  BEGIN
  if (n > 0) z[0] = nan_wanted ? (double)NAN : p->x[0] + 10;
  return status;
}

EXPORT fmiGetNominalContinuousStatesTYPE NAME(fmiGetNominalContinuousStates);
fmiStatus NAME(fmiGetNominalContinuousStates)(fmiComponent c, fmiReal* nominals, size_t n) {
  BEGIN(void) nominals;
  (void)n;
  return status;
}

EXPORT fmiTerminateTYPE NAME(fmiTerminate);
fmiStatus NAME(fmiTerminate)(fmiComponent c) { BEGIN return status; }

//------------------------------------ co-simulation ------------------------------------

EXPORT fmiInstantiateSlaveTYPE NAME(fmiInstantiateSlave);
fmiComponent NAME(fmiInstantiateSlave)(fmiString name, fmiString guid, fmiString location,
                                       fmiString mime, fmiReal timeout, fmiBoolean visible,
                                       fmiBoolean interactive, fmiSlaveCallbackFunctions callbacks,
                                       fmiBoolean logging) {
  (void)timeout;
  (void)logging;
  if (strncmp(location, "file:///", 8) != 0 || visible || interactive) return NULL;
  if (strcmp(mime, "application/x-fmu-sharedlibrary") != 0) return NULL;
  fmiModelCallbackFunctions own = {callbacks.logger, callbacks.allocateMemory,
                                   callbacks.freeMemory};
  return make(name, guid, &own, "fmiInstantiateSlave");
}

EXPORT fmiFreeSlaveInstanceTYPE NAME(fmiFreeSlaveInstance);
void NAME(fmiFreeSlaveInstance)(fmiComponent c) { NAME(fmiFreeModelInstance)(c); }

EXPORT fmiInitializeSlaveTYPE NAME(fmiInitializeSlave);
fmiStatus NAME(fmiInitializeSlave)(fmiComponent c, fmiReal start, fmiBoolean has_stop,
                                   fmiReal stop) {
  BEGIN(void) has_stop;
  (void)stop;
  p->time = p->last_time = start;
  p->initialized = 1;
  return status;
}

EXPORT fmiTerminateSlaveTYPE NAME(fmiTerminateSlave);
fmiStatus NAME(fmiTerminateSlave)(fmiComponent c) { BEGIN return status; }

EXPORT fmiResetSlaveTYPE NAME(fmiResetSlave);
fmiStatus NAME(fmiResetSlave)(fmiComponent c) {
  BEGIN p->x[0] = 1;
  p->x[1] = 0;
  p->initialized = 0;
  return status;
}

EXPORT fmiSetRealInputDerivativesTYPE NAME(fmiSetRealInputDerivatives);
fmiStatus NAME(fmiSetRealInputDerivatives)(fmiComponent c, const fmiValueReference* refs, size_t n,
                                           const fmiInteger* orders, const fmiReal* values) {
  BEGIN(void) refs;
  for (size_t i = 0; i < n; i++) {
    if (orders[i] == 1) p->du = values[i];
  }
  return status;
}

// One step of the midpoint rule; a discarded step comes half way.
EXPORT fmiDoStepTYPE NAME(fmiDoStep);
fmiStatus NAME(fmiDoStep)(fmiComponent c, fmiReal t, fmiReal h, fmiBoolean new_step) {
  BEGIN
  if (!new_step || !p->initialized || t != p->last_time) return refuse(p, "not here");
  if (status == fmiDiscard) h /= 2;
  double a = real_of(p, DX2);
  p->x[0] += h * (p->x[1] + 0.5 * h * a);
  p->x[1] += h * a;
  p->u += h * p->du;
  p->last_time = p->time = t + h;
  return status;
}

EXPORT fmiGetRealStatusTYPE NAME(fmiGetRealStatus);
fmiStatus NAME(fmiGetRealStatus)(fmiComponent c, const fmiStatusKind kind, fmiReal* value) {
  BEGIN
  if (kind != fmiLastSuccessfulTime) return fmiDiscard;
  *value = p->last_time;
  return status;
}
