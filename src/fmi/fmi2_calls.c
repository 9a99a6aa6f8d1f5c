// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Macros define one guarded and logged wrapper per function of FMI 2.0 and of the extensions for
// constraints and for events of exported FMUs.
#include "fmi/fmi2_calls.h"

#include <stdlib.h>

// Properties of each function, by its index in the list.
enum {
#define X(name, flags) CALL_##name,
  CPLI_FMI2_FUNCTIONS(X)
#undef X
};

static const cpli_fmu_call calls[] = {
#define X(name, flags) {#name, flags, offsetof(cpli_fmi2_functions, name)},
    CPLI_FMI2_FUNCTIONS(X)
#undef X
};

const cpli_fmu_call* cpli_fmi2_call_list(size_t* n) {
  *n = CPLI_COUNT(calls);
  return calls;
}

cpl_status cpli_fmi2_step_ended(cpli_fmi2* in, fmi2Status status) {
  in->base.last = status;
  return cpli_check_result(&in->base, &calls[CALL_fmi2DoStep], status, 0);
}

//------------------------------------ callbacks ------------------------------------

// Called by the FMU. Formatting comes before any lock, since the FMU's arguments may crash it.
static void on_message(fmi2ComponentEnvironment environment, fmi2String instance, fmi2Status status,
                       fmi2String category, fmi2String message, ...) {
  cpli_fmi2* in = environment;
  (void)instance;
  if (in == NULL || message == NULL) return;
  va_list args;
  va_start(args, message);
  cpli_message_args(&in->base, status, category, message, args);
  va_end(args);
}

static void* allocate(size_t count, size_t size) { return calloc(count, size); }

static void release(void* memory) { free(memory); }

fmi2CallbackFunctions cpli_fmi2_callbacks(cpli_fmi2* in) {
  // no stepFinished: a pending step is asked for
  return (fmi2CallbackFunctions){.logger = on_message,
                                 .allocateMemory = allocate,
                                 .freeMemory = release,
                                 .componentEnvironment = in};
}

//------------------------------------ calls ------------------------------------

static fmi2Type type_of(const cpli_fmi2* in) {
  return in->base.co_simulation ? fmi2CoSimulation : fmi2ModelExchange;
}

CPLI_DEFINE_CALL(fmi2GetTypesPlatform, (cpli_fmi2 * in, const char** out),
                 (*out = in->fn.fmi2GetTypesPlatform(), fmi2OK), (""), ("s", *out))
CPLI_DEFINE_CALL(fmi2GetVersion, (cpli_fmi2 * in, const char** out),
                 (*out = in->fn.fmi2GetVersion(), fmi2OK), (""), ("s", *out))
CPLI_DEFINE_CALL(fmi2Instantiate, (cpli_fmi2 * in),
                 (in->base.instance = in->fn.fmi2Instantiate(in->base.name, type_of(in),
                                                             in->base.fmu->guid, in->base.resources,
                                                             &in->callbacks, fmi2False,
                                                             in->base.fmu->logging)) != NULL
                     ? fmi2OK
                     : fmi2Error,
                 ("sissii", in->base.name, (int)type_of(in), in->base.fmu->guid, in->base.resources,
                  0, (int)in->base.fmu->logging),
                 (""))
CPLI_DEFINE_CALL(fmi2FreeInstance, (cpli_fmi2 * in),
                 (in->fn.fmi2FreeInstance(in->base.instance), fmi2OK), (""), (""))
CPLI_DEFINE_CALL(fmi2SetupExperiment, (cpli_fmi2 * in, const cpl_setup* s),
                 in->fn.fmi2SetupExperiment(in->base.instance, s->has_tolerance, s->tolerance,
                                            s->start_time, s->has_stop_time, s->stop_time),
                 ("iddid", (int)s->has_tolerance, s->tolerance, s->start_time,
                  (int)s->has_stop_time, s->stop_time),
                 (""))

// Functions of the instance alone.
#define DEFINE_PLAIN(name) \
  CPLI_DEFINE_CALL(name, (cpli_fmi2 * in), in->fn.name(in->base.instance), (""), (""))
DEFINE_PLAIN(fmi2EnterInitializationMode)
DEFINE_PLAIN(fmi2ExitInitializationMode)
DEFINE_PLAIN(fmi2Terminate)
DEFINE_PLAIN(fmi2Reset)
DEFINE_PLAIN(fmi2EnterEventMode)
DEFINE_PLAIN(fmi2EnterContinuousTimeMode)

// Values by reference: the standard's four types.
#define DEFINE_VALUES(type, ctype, letter)                                                         \
  CPLI_DEFINE_CALL(fmi2Get##type, (cpli_fmi2 * in, const uint32_t* refs, size_t n, ctype* values), \
                   in->fn.fmi2Get##type(in->base.instance, refs, n, values), ("R", refs, n),       \
                   (letter, values, n))                                                            \
  CPLI_DEFINE_CALL(fmi2Set##type,                                                                  \
                   (cpli_fmi2 * in, const uint32_t* refs, size_t n, ctype const* values),          \
                   in->fn.fmi2Set##type(in->base.instance, refs, n, values),                       \
                   ("R" letter, refs, n, values, n), (""))
DEFINE_VALUES(Real, double, "D")
DEFINE_VALUES(Integer, int, "I")
DEFINE_VALUES(Boolean, int, "I")
DEFINE_VALUES(String, const char*, "S")

CPLI_DEFINE_CALL(fmi2GetFMUstate, (cpli_fmi2 * in, fmi2FMUstate* state),
                 in->fn.fmi2GetFMUstate(in->base.instance, state), (""), (""))
CPLI_DEFINE_CALL(fmi2SetFMUstate, (cpli_fmi2 * in, fmi2FMUstate state),
                 in->fn.fmi2SetFMUstate(in->base.instance, state), (""), (""))
CPLI_DEFINE_CALL(fmi2FreeFMUstate, (cpli_fmi2 * in, fmi2FMUstate* state),
                 in->fn.fmi2FreeFMUstate(in->base.instance, state), (""), (""))
CPLI_DEFINE_CALL(fmi2SerializedFMUstateSize, (cpli_fmi2 * in, fmi2FMUstate state, size_t* size),
                 in->fn.fmi2SerializedFMUstateSize(in->base.instance, state, size), (""), (""))
CPLI_DEFINE_CALL(fmi2SerializeFMUstate,
                 (cpli_fmi2 * in, fmi2FMUstate state, fmi2Byte* bytes, size_t size),
                 in->fn.fmi2SerializeFMUstate(in->base.instance, state, bytes, size), (""), (""))
CPLI_DEFINE_CALL(fmi2DeSerializeFMUstate,
                 (cpli_fmi2 * in, const fmi2Byte* bytes, size_t size, fmi2FMUstate* state),
                 in->fn.fmi2DeSerializeFMUstate(in->base.instance, bytes, size, state), (""), (""))
CPLI_DEFINE_CALL(fmi2GetDirectionalDerivative,
                 (cpli_fmi2 * in, const uint32_t* unknowns, size_t n_unknowns,
                  const uint32_t* knowns, size_t n_knowns, const double* seed, double* result),
                 in->fn.fmi2GetDirectionalDerivative(in->base.instance, unknowns, n_unknowns,
                                                     knowns, n_knowns, seed, result),
                 ("RRD", unknowns, n_unknowns, knowns, n_knowns, seed, n_knowns),
                 ("D", result, n_unknowns))

CPLI_DEFINE_CALL(fmi2NewDiscreteStates, (cpli_fmi2 * in, fmi2EventInfo* info),
                 in->fn.fmi2NewDiscreteStates(in->base.instance, info), (""),
                 ("iiiiid", info->newDiscreteStatesNeeded, info->terminateSimulation,
                  info->nominalsOfContinuousStatesChanged, info->valuesOfContinuousStatesChanged,
                  info->nextEventTimeDefined, info->nextEventTime))
CPLI_DEFINE_CALL(fmi2CompletedIntegratorStep,
                 (cpli_fmi2 * in, int no_way_back, int* enter_event, int* terminate),
                 in->fn.fmi2CompletedIntegratorStep(in->base.instance, no_way_back, enter_event,
                                                    terminate),
                 ("i", no_way_back), ("ii", *enter_event, *terminate))
CPLI_DEFINE_CALL(fmi2SetTime, (cpli_fmi2 * in, double t), in->fn.fmi2SetTime(in->base.instance, t),
                 ("d", t), (""))
CPLI_DEFINE_CALL(fmi2SetContinuousStates, (cpli_fmi2 * in, const double* x, size_t n),
                 in->fn.fmi2SetContinuousStates(in->base.instance, x, n), ("D", x, n), (""))

// Arrays of the FMU's own length.
#define DEFINE_ARRAY(name)                                           \
  CPLI_DEFINE_CALL(name, (cpli_fmi2 * in, double* values, size_t n), \
                   in->fn.name(in->base.instance, values, n), (""), ("D", values, n))
DEFINE_ARRAY(fmi2GetDerivatives)
DEFINE_ARRAY(fmi2GetEventIndicators)
DEFINE_ARRAY(fmi2GetContinuousStates)
DEFINE_ARRAY(fmi2GetNominalsOfContinuousStates)

CPLI_DEFINE_CALL(fmi2SetRealInputDerivatives,
                 (cpli_fmi2 * in, const uint32_t* refs, size_t n, const int* orders,
                  const double* values),
                 in->fn.fmi2SetRealInputDerivatives(in->base.instance, refs, n, orders, values),
                 ("RID", refs, n, orders, n, values, n), (""))
CPLI_DEFINE_CALL(fmi2DoStep, (cpli_fmi2 * in, double h, int no_way_back),
                 in->fn.fmi2DoStep(in->base.instance, in->base.time, h, no_way_back),
                 ("ddi", in->base.time, h, no_way_back), (""))
CPLI_DEFINE_CALL(fmi2GetStatus, (cpli_fmi2 * in, fmi2StatusKind kind, fmi2Status* value),
                 in->fn.fmi2GetStatus(in->base.instance, kind, value), ("i", (int)kind),
                 ("i", (int)*value))
CPLI_DEFINE_CALL(fmi2GetRealStatus, (cpli_fmi2 * in, fmi2StatusKind kind, double* value),
                 in->fn.fmi2GetRealStatus(in->base.instance, kind, value), ("i", (int)kind),
                 ("d", *value))
CPLI_DEFINE_CALL(fmi2GetBooleanStatus, (cpli_fmi2 * in, fmi2StatusKind kind, int* value),
                 in->fn.fmi2GetBooleanStatus(in->base.instance, kind, value), ("i", (int)kind),
                 ("i", *value))
CPLI_DEFINE_CALL(fmi2GetMaxStepSize, (cpli_fmi2 * in, double* h),
                 in->fn.fmi2GetMaxStepSize(in->base.instance, h), (""), ("d", *h))
CPLI_DEFINE_CALL(coupletStopAtEvents, (cpli_fmi2 * in, int on),
                 in->fn.coupletStopAtEvents(in->base.instance, on), ("i", on), (""))
CPLI_DEFINE_CALL(coupletLeaveEvents, (cpli_fmi2 * in, int on),
                 in->fn.coupletLeaveEvents(in->base.instance, on), ("i", on), (""))
CPLI_DEFINE_CALL(coupletInputDerivativeOrder, (cpli_fmi2 * in, int* order),
                 in->fn.coupletInputDerivativeOrder(in->base.instance, order), (""), ("i", *order))
CPLI_DEFINE_CALL(coupletInputEvent, (cpli_fmi2 * in, int* wanted, double* margin),
                 in->fn.coupletInputEvent(in->base.instance, wanted, margin), (""),
                 ("id", *wanted, *margin))

//------------------------------------ constraints ------------------------------------

CPLI_DEFINE_CALL(fmi2GetNumberOfConstraints, (cpli_fmi2 * in, size_t* n),
                 in->fn.fmi2GetNumberOfConstraints(in->base.instance, n), (""), ("i", (int)*n))
#define DEFINE_RESULT(name)                                          \
  CPLI_DEFINE_CALL(name, (cpli_fmi2 * in, double* values, size_t n), \
                   in->fn.name(in->base.instance, values), (""), ("D", values, n))
DEFINE_RESULT(fmi2Constraint)
DEFINE_RESULT(fmi2ConstraintJacobian)
DEFINE_RESULT(fmi2ProjectionStep)
CPLI_DEFINE_CALL(fmi2Projection,
                 (cpli_fmi2 * in, double tolerance, size_t limit, double* change, size_t n),
                 in->fn.fmi2Projection(in->base.instance, change, tolerance, limit, fmi2False),
                 ("di", tolerance, (int)limit), ("D", change, n))
