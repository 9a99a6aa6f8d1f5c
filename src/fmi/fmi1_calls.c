// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Macros define one guarded and logged wrapper per function of FMI 1.0. The logger of FMI 1.0
// receives no pointer of the importer, so that messages find their instance through a global list.
#include "fmi/fmi1_calls.h"

#include <stdlib.h>

#define CPLI_INSTANCE  cpli_fmi1
#define CPLI_FUNCTIONS cpli_fmi1_functions
#define CPLI_FN        cpli_fmi1_fn
enum { CPLI_FMI1_FUNCTIONS(CPLI_CALL_INDEX) };
static const cpli_fmu_call calls[] = {CPLI_FMI1_FUNCTIONS(CPLI_CALL_ROW)};

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
  cpli_lock(&listeners_lock);
  in->next = listeners;
  listeners = in;
  cpli_unlock(&listeners_lock);
}

void cpli_fmi1_stop_listening(cpli_fmi1* in) {
  cpli_lock(&listeners_lock);
  for (cpli_fmi1** at = &listeners; *at != NULL; at = &(*at)->next) {
    if (*at != in) continue;
    *at = in->next;
    break;
  }
  cpli_unlock(&listeners_lock);
}

// By the FMU's pointer; by name while it has none, or hands over another than it should.
static cpli_fmi1* listener(fmiComponent c, const char* name) {
  cpli_fmi1 *found = NULL, *in = NULL;
  cpli_lock(&listeners_lock);
  for (in = listeners; in != NULL && found == NULL; in = in->next) {
    if (c != NULL && in->base.instance == c) found = in;
  }
  for (in = listeners; in != NULL && found == NULL; in = in->next) {
    if (name != NULL && strcmp(in->base.name, name) == 0) found = in;
  }
  cpli_unlock(&listeners_lock);
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

#define DEFINE_TEXT(name)                                              \
  CPLI_DEFINE_CALL(name, (cpli_fmu_instance * base, const char** out), \
                   (*out = cpli_fmi1_fn(in)->name(), fmiOK), (""), ("s", *out))
DEFINE_TEXT(fmiGetModelTypesPlatform)
DEFINE_TEXT(fmiGetTypesPlatform)
DEFINE_TEXT(fmiGetVersion)

static fmiStatus made(cpli_fmi1* in, fmiComponent c) {
  in->base.instance = c;
  return c != NULL ? fmiOK : fmiError;
}

static const char mime_type[] = "application/x-fmu-sharedlibrary";

CPLI_DEFINE_CALL(fmiInstantiateModel, (cpli_fmu_instance * base),
                 made(in, cpli_fmi1_fn(in)->fmiInstantiateModel(in->base.name, in->base.fmu->guid,
                                                                model_callbacks,
                                                                in->base.fmu->logging)),
                 ("ssi", in->base.name, in->base.fmu->guid, (int)in->base.fmu->logging), (""))
CPLI_DEFINE_CALL(fmiInstantiateSlave, (cpli_fmu_instance * base),
                 made(in, cpli_fmi1_fn(in)->fmiInstantiateSlave(in->base.name, in->base.fmu->guid,
                                                                in->base.resources, mime_type, 0,
                                                                fmiFalse, fmiFalse, slave_callbacks,
                                                                in->base.fmu->logging)),
                 ("ssssdiii", in->base.name, in->base.fmu->guid, in->base.resources, mime_type, 0.0,
                  0, 0, (int)in->base.fmu->logging),
                 (""))
CPLI_DEFINE_CALL(fmiFreeModelInstance, (cpli_fmu_instance * base),
                 (cpli_fmi1_fn(in)->fmiFreeModelInstance(in->base.instance), fmiOK), (""), (""))
CPLI_DEFINE_CALL(fmiFreeSlaveInstance, (cpli_fmu_instance * base),
                 (cpli_fmi1_fn(in)->fmiFreeSlaveInstance(in->base.instance), fmiOK), (""), (""))

CPLI_DEFINE_PLAIN(fmiTerminate)
CPLI_DEFINE_PLAIN(fmiTerminateSlave)
CPLI_DEFINE_PLAIN(fmiResetSlave)

// Values by reference: the standard's four types.
CPLI_DEFINE_VALUES(fmi, Real, double, "D")
CPLI_DEFINE_VALUES(fmi, Integer, int, "I")
CPLI_DEFINE_VALUES(fmi, Boolean, char, "b")
CPLI_DEFINE_VALUES(fmi, String, const char*, "S")

#define EVENT_INFO                                                               \
  ("iiiiid", info->iterationConverged, info->stateValueReferencesChanged,        \
   info->stateValuesChanged, info->terminateSimulation, info->upcomingTimeEvent, \
   info->nextEventTime)
CPLI_DEFINE_CALL(fmiInitialize, (cpli_fmu_instance * base, fmiEventInfo* info),
                 cpli_fmi1_fn(in)->fmiInitialize(in->base.instance, in->base.setup.has_tolerance,
                                                 in->base.setup.tolerance, info),
                 ("id", (int)in->base.setup.has_tolerance, in->base.setup.tolerance), EVENT_INFO)
CPLI_DEFINE_CALL(fmiEventUpdate, (cpli_fmu_instance * base, int intermediate, fmiEventInfo* info),
                 cpli_fmi1_fn(in)->fmiEventUpdate(in->base.instance, (fmiBoolean)intermediate,
                                                  info),
                 ("i", intermediate), EVENT_INFO)
CPLI_DEFINE_CALL(fmiCompletedIntegratorStep, (cpli_fmu_instance * base, char* event_update),
                 cpli_fmi1_fn(in)->fmiCompletedIntegratorStep(in->base.instance, event_update),
                 (""), ("i", *event_update))
CPLI_DEFINE_TIME_AND_STATES(fmi)
CPLI_DEFINE_ARRAY(fmiGetDerivatives)
CPLI_DEFINE_ARRAY(fmiGetNominalContinuousStates)

CPLI_DEFINE_CALL(fmiInitializeSlave, (cpli_fmu_instance * base),
                 cpli_fmi1_fn(in)->fmiInitializeSlave(in->base.instance, in->base.setup.start_time,
                                                      in->base.setup.has_stop_time,
                                                      in->base.setup.stop_time),
                 ("did", in->base.setup.start_time, (int)in->base.setup.has_stop_time,
                  in->base.setup.stop_time),
                 (""))
CPLI_DEFINE_CALL(fmiSetRealInputDerivatives,
                 (cpli_fmu_instance * base, const uint32_t* refs, size_t n, const int* orders,
                  const double* values),
                 cpli_fmi1_fn(in)->fmiSetRealInputDerivatives(in->base.instance, refs, n, orders,
                                                              values),
                 ("RID", refs, n, orders, n, values, n), (""))
CPLI_DEFINE_CALL(fmiGetRealOutputDerivatives,
                 (cpli_fmu_instance * base, const uint32_t* refs, size_t n, const int* orders,
                  double* values),
                 cpli_fmi1_fn(in)->fmiGetRealOutputDerivatives(base->instance, refs, n, orders,
                                                               values),
                 ("RI", refs, n, orders, n), ("D", values, n))
CPLI_DEFINE_CALL(fmiDoStep, (cpli_fmu_instance * base, double h),
                 cpli_fmi1_fn(in)->fmiDoStep(in->base.instance, in->base.time, h, fmiTrue),
                 ("ddi", in->base.time, h, 1), (""))
CPLI_DEFINE_CALL(fmiGetStatus, (cpli_fmu_instance * base, fmiStatusKind kind, fmiStatus* value),
                 cpli_fmi1_fn(in)->fmiGetStatus(in->base.instance, kind, value), ("i", (int)kind),
                 ("i", (int)*value))
CPLI_DEFINE_CALL(fmiGetRealStatus, (cpli_fmu_instance * base, fmiStatusKind kind, double* value),
                 cpli_fmi1_fn(in)->fmiGetRealStatus(in->base.instance, kind, value),
                 ("i", (int)kind), ("d", *value))
