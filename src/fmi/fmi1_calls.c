// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Macros define one guarded and logged wrapper per function of FMI 1.0. The logger of FMI 1.0
// receives no pointer of the importer, so that messages find their instance through a global list.
#include "fmi/fmi1_calls.h"

#include <stdlib.h>

// Properties of each function, by its index in the list.
enum {
#define X(name, flags) CALL_##name,
  CPLI_FMI1_FUNCTIONS(X)
#undef X
};

static const cpli_fmu_call calls[] = {
#define X(name, flags) {#name, flags, offsetof(cpli_fmi1_functions, name)},
    CPLI_FMI1_FUNCTIONS(X)
#undef X
};

const cpli_fmu_call* cpli_fmi1_call_list(size_t* n) {
  *n = CPLI_COUNT(calls);
  return calls;
}

cpl_status cpli_fmi1_step_ended(cpli_fmi1* in, fmiStatus status) {
  in->base.last = status;
  return cpli_check_result(&in->base, &calls[CALL_fmiDoStep], status, 0);
}

//------------------------------------ callbacks ------------------------------------

// The logger of FMI 1.0 gets no user pointer, so a list of all instances is needed.
static pthread_mutex_t listeners_lock = PTHREAD_MUTEX_INITIALIZER;
static cpli_fmi1* listeners;

void cpli_fmi1_listen(cpli_fmi1* in) {
  pthread_mutex_lock(&listeners_lock);
  in->next = listeners;
  listeners = in;
  pthread_mutex_unlock(&listeners_lock);
}

void cpli_fmi1_stop_listening(cpli_fmi1* in) {
  pthread_mutex_lock(&listeners_lock);
  for (cpli_fmi1** at = &listeners; *at != NULL; at = &(*at)->next) {
    if (*at != in) continue;
    *at = in->next;
    break;
  }
  pthread_mutex_unlock(&listeners_lock);
}

// By the FMU's pointer; by name while it has none, or hands over another than it should.
static cpli_fmi1* listener(fmiComponent c, const char* name) {
  cpli_fmi1 *found = NULL, *in = NULL;
  pthread_mutex_lock(&listeners_lock);
  for (in = listeners; in != NULL && found == NULL; in = in->next) {
    if (c != NULL && in->base.instance == c) found = in;
  }
  for (in = listeners; in != NULL && found == NULL; in = in->next) {
    if (name != NULL && strcmp(in->base.name, name) == 0) found = in;
  }
  pthread_mutex_unlock(&listeners_lock);
  return found;
}

// Called by the FMU. Formatting comes before any lock, since the FMU's arguments may crash it.
static void on_message(fmiComponent c, fmiString instance, fmiStatus status, fmiString category,
                       fmiString message, ...) {
  if (message == NULL) return;
  cpli_fmi1* in = listener(c, instance);
  if (in == NULL) return;
  va_list args;
  va_start(args, message);
  cpli_message_args(&in->base, status, category, message, args);
  va_end(args);
}

static void* allocate(size_t count, size_t size) { return calloc(count, size); }

static void release(void* memory) { free(memory); }

static const fmiModelCallbackFunctions model_callbacks = {
    .logger = on_message, .allocateMemory = allocate, .freeMemory = release};
// no stepFinished: a pending step is asked for
static const fmiSlaveCallbackFunctions slave_callbacks = {
    .logger = on_message, .allocateMemory = allocate, .freeMemory = release};

//------------------------------------ calls ------------------------------------

#define DEFINE_TEXT(name)                                                                         \
  CPLI_DEFINE_CALL(name, (cpli_fmi1 * in, const char** out), (*out = in->fn.name(), fmiOK), (""), \
                   ("s", *out))
DEFINE_TEXT(fmiGetModelTypesPlatform)
DEFINE_TEXT(fmiGetTypesPlatform)
DEFINE_TEXT(fmiGetVersion)

static fmiStatus made(cpli_fmi1* in, fmiComponent c) {
  in->base.instance = c;
  return c != NULL ? fmiOK : fmiError;
}

static const char mime_type[] = "application/x-fmu-sharedlibrary";

CPLI_DEFINE_CALL(fmiInstantiateModel, (cpli_fmi1 * in),
                 made(in, in->fn.fmiInstantiateModel(in->base.name, in->base.fmu->guid,
                                                     model_callbacks, in->base.fmu->logging)),
                 ("ssi", in->base.name, in->base.fmu->guid, (int)in->base.fmu->logging), (""))
CPLI_DEFINE_CALL(fmiInstantiateSlave, (cpli_fmi1 * in),
                 made(in,
                      in->fn.fmiInstantiateSlave(in->base.name, in->base.fmu->guid,
                                                 in->base.resources, mime_type, 0, fmiFalse,
                                                 fmiFalse, slave_callbacks, in->base.fmu->logging)),
                 ("ssssdiii", in->base.name, in->base.fmu->guid, in->base.resources, mime_type, 0.0,
                  0, 0, (int)in->base.fmu->logging),
                 (""))
CPLI_DEFINE_CALL(fmiFreeModelInstance, (cpli_fmi1 * in),
                 (in->fn.fmiFreeModelInstance(in->base.instance), fmiOK), (""), (""))
CPLI_DEFINE_CALL(fmiFreeSlaveInstance, (cpli_fmi1 * in),
                 (in->fn.fmiFreeSlaveInstance(in->base.instance), fmiOK), (""), (""))

// Functions of the instance alone.
#define DEFINE_PLAIN(name) \
  CPLI_DEFINE_CALL(name, (cpli_fmi1 * in), in->fn.name(in->base.instance), (""), (""))
DEFINE_PLAIN(fmiTerminate)
DEFINE_PLAIN(fmiTerminateSlave)
DEFINE_PLAIN(fmiResetSlave)

// Values by reference: the standard's four types.
#define DEFINE_VALUES(type, ctype, letter)                                                        \
  CPLI_DEFINE_CALL(fmiGet##type, (cpli_fmi1 * in, const uint32_t* refs, size_t n, ctype* values), \
                   in->fn.fmiGet##type(in->base.instance, refs, n, values), ("R", refs, n),       \
                   (letter, values, n))                                                           \
  CPLI_DEFINE_CALL(fmiSet##type,                                                                  \
                   (cpli_fmi1 * in, const uint32_t* refs, size_t n, ctype const* values),         \
                   in->fn.fmiSet##type(in->base.instance, refs, n, values),                       \
                   ("R" letter, refs, n, values, n), (""))
DEFINE_VALUES(Real, double, "D")
DEFINE_VALUES(Integer, int, "I")
DEFINE_VALUES(Boolean, char, "b")
DEFINE_VALUES(String, const char*, "S")

#define EVENT_INFO                                                               \
  ("iiiiid", info->iterationConverged, info->stateValueReferencesChanged,        \
   info->stateValuesChanged, info->terminateSimulation, info->upcomingTimeEvent, \
   info->nextEventTime)
CPLI_DEFINE_CALL(fmiInitialize, (cpli_fmi1 * in, fmiEventInfo* info),
                 in->fn.fmiInitialize(in->base.instance, in->base.setup.has_tolerance,
                                      in->base.setup.tolerance, info),
                 ("id", (int)in->base.setup.has_tolerance, in->base.setup.tolerance), EVENT_INFO)
CPLI_DEFINE_CALL(fmiEventUpdate, (cpli_fmi1 * in, int intermediate, fmiEventInfo* info),
                 in->fn.fmiEventUpdate(in->base.instance, (fmiBoolean)intermediate, info),
                 ("i", intermediate), EVENT_INFO)
CPLI_DEFINE_CALL(fmiCompletedIntegratorStep, (cpli_fmi1 * in, char* event_update),
                 in->fn.fmiCompletedIntegratorStep(in->base.instance, event_update), (""),
                 ("i", *event_update))
CPLI_DEFINE_CALL(fmiSetTime, (cpli_fmi1 * in, double t), in->fn.fmiSetTime(in->base.instance, t),
                 ("d", t), (""))
CPLI_DEFINE_CALL(fmiSetContinuousStates, (cpli_fmi1 * in, const double* x, size_t n),
                 in->fn.fmiSetContinuousStates(in->base.instance, x, n), ("D", x, n), (""))

// Arrays of the FMU's own length.
#define DEFINE_ARRAY(name)                                           \
  CPLI_DEFINE_CALL(name, (cpli_fmi1 * in, double* values, size_t n), \
                   in->fn.name(in->base.instance, values, n), (""), ("D", values, n))
DEFINE_ARRAY(fmiGetDerivatives)
DEFINE_ARRAY(fmiGetEventIndicators)
DEFINE_ARRAY(fmiGetContinuousStates)
DEFINE_ARRAY(fmiGetNominalContinuousStates)

CPLI_DEFINE_CALL(fmiInitializeSlave, (cpli_fmi1 * in),
                 in->fn.fmiInitializeSlave(in->base.instance, in->base.setup.start_time,
                                           in->base.setup.has_stop_time, in->base.setup.stop_time),
                 ("did", in->base.setup.start_time, (int)in->base.setup.has_stop_time,
                  in->base.setup.stop_time),
                 (""))
CPLI_DEFINE_CALL(fmiSetRealInputDerivatives,
                 (cpli_fmi1 * in, const uint32_t* refs, size_t n, const int* orders,
                  const double* values),
                 in->fn.fmiSetRealInputDerivatives(in->base.instance, refs, n, orders, values),
                 ("RID", refs, n, orders, n, values, n), (""))
CPLI_DEFINE_CALL(fmiDoStep, (cpli_fmi1 * in, double h),
                 in->fn.fmiDoStep(in->base.instance, in->base.time, h, fmiTrue),
                 ("ddi", in->base.time, h, 1), (""))
CPLI_DEFINE_CALL(fmiGetStatus, (cpli_fmi1 * in, fmiStatusKind kind, fmiStatus* value),
                 in->fn.fmiGetStatus(in->base.instance, kind, value), ("i", (int)kind),
                 ("i", (int)*value))
CPLI_DEFINE_CALL(fmiGetRealStatus, (cpli_fmi1 * in, fmiStatusKind kind, double* value),
                 in->fn.fmiGetRealStatus(in->base.instance, kind, value), ("i", (int)kind),
                 ("d", *value))
