// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Macros define one guarded and logged wrapper per function of FMI 2.0 and of the extensions for
// constraints and for events of exported FMUs.
#include "fmi/fmi2_calls.h"

#include <stdlib.h>

#define CPLI_INSTANCE  cpli_fmi2
#define CPLI_FUNCTIONS cpli_fmi2_functions
#define CPLI_FN        cpli_fmi2_fn
enum { CPLI_FMI2_FUNCTIONS(CPLI_CALL_INDEX) };
static const cpli_fmu_call calls[] = {CPLI_FMI2_FUNCTIONS(CPLI_CALL_ROW)};

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

CPLI_DEFINE_CALL(fmi2GetTypesPlatform, (cpli_fmu_instance * base, const char** out),
                 (*out = cpli_fmi2_fn(in)->fmi2GetTypesPlatform(), fmi2OK), (""), ("s", *out))
CPLI_DEFINE_CALL(fmi2GetVersion, (cpli_fmu_instance * base, const char** out),
                 (*out = cpli_fmi2_fn(in)->fmi2GetVersion(), fmi2OK), (""), ("s", *out))
CPLI_DEFINE_CALL(fmi2Instantiate, (cpli_fmu_instance * base),
                 (in->base.instance = cpli_fmi2_fn(in)->fmi2Instantiate(
                      in->base.name, type_of(in), in->base.fmu->guid, in->base.resources,
                      &in->callbacks, fmi2False, in->base.fmu->logging)) != NULL
                     ? fmi2OK
                     : fmi2Error,
                 ("sissii", in->base.name, (int)type_of(in), in->base.fmu->guid, in->base.resources,
                  0, (int)in->base.fmu->logging),
                 (""))
CPLI_DEFINE_CALL(fmi2FreeInstance, (cpli_fmu_instance * base),
                 (cpli_fmi2_fn(in)->fmi2FreeInstance(in->base.instance), fmi2OK), (""), (""))
CPLI_DEFINE_CALL(fmi2SetupExperiment, (cpli_fmu_instance * base, const cpl_setup* s),
                 cpli_fmi2_fn(in)->fmi2SetupExperiment(in->base.instance, s->has_tolerance,
                                                       s->tolerance, s->start_time,
                                                       s->has_stop_time, s->stop_time),
                 ("iddid", (int)s->has_tolerance, s->tolerance, s->start_time,
                  (int)s->has_stop_time, s->stop_time),
                 (""))

CPLI_DEFINE_PLAIN(fmi2EnterInitializationMode)
CPLI_DEFINE_PLAIN(fmi2ExitInitializationMode)
CPLI_DEFINE_PLAIN(fmi2Terminate)
CPLI_DEFINE_PLAIN(fmi2Reset)
CPLI_DEFINE_PLAIN(fmi2EnterEventMode)
CPLI_DEFINE_PLAIN(fmi2EnterContinuousTimeMode)

// Values by reference: the standard's four types.
CPLI_DEFINE_VALUES(fmi2, Real, double, "D")
CPLI_DEFINE_VALUES(fmi2, Integer, int, "I")
CPLI_DEFINE_VALUES(fmi2, Boolean, int, "I")
CPLI_DEFINE_VALUES(fmi2, String, const char*, "S")

CPLI_DEFINE_STATES(fmi2GetFMUstate, fmi2SetFMUstate, fmi2FreeFMUstate, fmi2SerializedFMUstateSize,
                   fmi2SerializeFMUstate, fmi2DeSerializeFMUstate)
CPLI_DEFINE_CALL(fmi2GetDirectionalDerivative,
                 (cpli_fmu_instance * base, const uint32_t* unknowns, size_t n_unknowns,
                  const uint32_t* knowns, size_t n_knowns, const double* seed, double* result),
                 cpli_fmi2_fn(in)->fmi2GetDirectionalDerivative(in->base.instance, unknowns,
                                                                n_unknowns, knowns, n_knowns, seed,
                                                                result),
                 ("RRD", unknowns, n_unknowns, knowns, n_knowns, seed, n_knowns),
                 ("D", result, n_unknowns))

CPLI_DEFINE_CALL(fmi2NewDiscreteStates, (cpli_fmu_instance * base, fmi2EventInfo* info),
                 cpli_fmi2_fn(in)->fmi2NewDiscreteStates(in->base.instance, info), (""),
                 ("iiiiid", info->newDiscreteStatesNeeded, info->terminateSimulation,
                  info->nominalsOfContinuousStatesChanged, info->valuesOfContinuousStatesChanged,
                  info->nextEventTimeDefined, info->nextEventTime))
static fmi2Status complete(cpli_fmi2* in, bool no_way_back, bool* enter_event, bool* terminate) {
  fmi2Boolean event = fmi2False, end = fmi2False;
  fmi2Status status =
      cpli_fmi2_fn(in)->fmi2CompletedIntegratorStep(in->base.instance, no_way_back, &event, &end);
  *enter_event = event != fmi2False;
  *terminate = end != fmi2False;
  return status;
}

CPLI_DEFINE_CALL(fmi2CompletedIntegratorStep,
                 (cpli_fmu_instance * base, bool no_way_back, bool* enter_event, bool* terminate),
                 complete(in, no_way_back, enter_event, terminate), ("i", (int)no_way_back),
                 ("ii", (int)*enter_event, (int)*terminate))
CPLI_DEFINE_TIME_AND_STATES(fmi2)
CPLI_DEFINE_ARRAY(fmi2GetDerivatives)
CPLI_DEFINE_ARRAY(fmi2GetNominalsOfContinuousStates)

CPLI_DEFINE_CALL(fmi2SetRealInputDerivatives,
                 (cpli_fmu_instance * base, const uint32_t* refs, size_t n, const int* orders,
                  const double* values),
                 cpli_fmi2_fn(in)->fmi2SetRealInputDerivatives(in->base.instance, refs, n, orders,
                                                               values),
                 ("RID", refs, n, orders, n, values, n), (""))
CPLI_DEFINE_CALL(fmi2GetRealOutputDerivatives,
                 (cpli_fmu_instance * base, const uint32_t* refs, size_t n, const int* orders,
                  double* values),
                 cpli_fmi2_fn(in)->fmi2GetRealOutputDerivatives(base->instance, refs, n, orders,
                                                                values),
                 ("RI", refs, n, orders, n), ("D", values, n))
CPLI_DEFINE_CALL(fmi2DoStep, (cpli_fmu_instance * base, double h, int no_way_back),
                 cpli_fmi2_fn(in)->fmi2DoStep(in->base.instance, in->base.time, h, no_way_back),
                 ("ddi", in->base.time, h, no_way_back), (""))
CPLI_DEFINE_CALL(fmi2GetStatus, (cpli_fmu_instance * base, fmi2StatusKind kind, fmi2Status* value),
                 cpli_fmi2_fn(in)->fmi2GetStatus(in->base.instance, kind, value), ("i", (int)kind),
                 ("i", (int)*value))
CPLI_DEFINE_CALL(fmi2GetRealStatus, (cpli_fmu_instance * base, fmi2StatusKind kind, double* value),
                 cpli_fmi2_fn(in)->fmi2GetRealStatus(in->base.instance, kind, value),
                 ("i", (int)kind), ("d", *value))
CPLI_DEFINE_CALL(fmi2GetBooleanStatus, (cpli_fmu_instance * base, fmi2StatusKind kind, int* value),
                 cpli_fmi2_fn(in)->fmi2GetBooleanStatus(in->base.instance, kind, value),
                 ("i", (int)kind), ("i", *value))
CPLI_DEFINE_CALL(fmi2GetMaxStepSize, (cpli_fmu_instance * base, double* h),
                 cpli_fmi2_fn(in)->fmi2GetMaxStepSize(in->base.instance, h), (""), ("d", *h))
CPLI_DEFINE_CALL(coupletStopAtEvents, (cpli_fmu_instance * base, int on),
                 cpli_fmi2_fn(in)->coupletStopAtEvents(in->base.instance, on), ("i", on), (""))
CPLI_DEFINE_CALL(coupletLeaveEvents, (cpli_fmu_instance * base, int on),
                 cpli_fmi2_fn(in)->coupletLeaveEvents(in->base.instance, on), ("i", on), (""))
CPLI_DEFINE_CALL(coupletInputDerivativeOrder, (cpli_fmu_instance * base, int* order),
                 cpli_fmi2_fn(in)->coupletInputDerivativeOrder(in->base.instance, order), (""),
                 ("i", *order))

// What must survive the jump out of a crash is not in the frame of the guarded call.
typedef struct many {
  fmi2Component instances[64];
  size_t n, done;
  int status, signal;
} many;

static void evaluate(const cpli_fmi2* in, const cpl_evaluation* e, many* m) {
  m->status = CPLI_CRASHED;
  CPLI_GUARDED(m->status = (int)cpli_fmi2_fn(in)->coupletEvaluate(m->instances, m->n, e->t, e->x,
                                                                  e->inputs, e->u, e->outputs, e->y,
                                                                  e->first, e->dx, &m->done),
               m->signal = crash_signal);
}

// As many as may be called.
static void take_instances(cpl_model* const* models, size_t n, const cpl_evaluation* e,
                           const cpli_fmu_call* call, many* m) {
  while (m->n < n && m->n < CPLI_COUNT(m->instances)) {
    cpli_fmu_instance* in = (cpli_fmu_instance*)models[m->n];
    if (!cpli_callable(in, call, true) || in->fmu->call_log != NULL) return;
    if (in->has_message) cpli_forget_message(in);
    if (e->x != NULL) in->time = e->t;
    m->instances[m->n++] = in->instance;
  }
}

cpl_status cpli_coupletEvaluate(cpl_model* const* models, size_t n, const cpl_evaluation* e,
                                size_t* done) {
  // the call that it stands for: the last one
  const cpli_fmu_call* call = &calls[e->dx != NULL ? CALL_fmi2GetDerivatives : CALL_fmi2GetReal];
  many m = {.n = 0};
  *done = 0;
  take_instances(models, n, e, call, &m);
  if (m.n == 0) return CPL_OK;
  const cpli_fmi2* in = (cpli_fmi2*)models[0];
  cpli_guard_noted(call->name);
  const uint32_t modes = cpli_float_before();
  evaluate(in, e, &m);
  if (cpli_float_modes() != modes) cpli_float_restore(modes, in->base.x87);
  *done = m.done < m.n ? m.done : m.n;
  if (m.status == CPLI_FMU_WARNING || *done == m.n) return CPL_OK;
  cpli_fmu_instance* failed = (cpli_fmu_instance*)models[*done];
  failed->last = m.status;
  return cpli_check_result(failed, call, m.status, m.signal);
}

CPLI_DEFINE_CALL(coupletInputEvent, (cpli_fmu_instance * base, int* wanted, double* margin),
                 cpli_fmi2_fn(in)->coupletInputEvent(in->base.instance, wanted, margin), (""),
                 ("id", *wanted, *margin))

//------------------------------------ constraints ------------------------------------

CPLI_DEFINE_CONSTRAINTS(fmi2)
