// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Macros define one guarded and logged wrapper per function of FMI 3.0 and of the extensions; the
// callbacks for messages, intermediate updates and clock updates are here, too.
#include "fmi/fmi3_calls.h"

#include <math.h>

#define CPLI_INSTANCE  cpli_fmi3
#define CPLI_FUNCTIONS cpli_fmi3_functions
#define CPLI_FN        cpli_fmi3_fn
enum { CPLI_FMI3_FUNCTIONS(CPLI_CALL_INDEX) };
static const cpli_fmu_call calls[] = {CPLI_FMI3_FUNCTIONS(CPLI_CALL_ROW)};

const cpli_fmu_call* cpli_fmi3_call_list(size_t* n) {
  *n = CPLI_COUNT(calls);
  return calls;
}

//------------------------------------ callbacks ------------------------------------

// Called by the FMU, perhaps from a thread of its own.
static void on_message(fmi3InstanceEnvironment environment, fmi3Status status, fmi3String category,
                       fmi3String message) {
  cpli_fmi3* in = environment;
  char text[2048];
  if (in == NULL || message == NULL) return;
  snprintf(text, sizeof text, "%s", message);
  cpli_message(&in->base, (int)status, category, text);
}

// Steps end where clocks tick and events are known to be, so there is no early return to ask for.
static void on_update(fmi3InstanceEnvironment environment, fmi3Float64 time, fmi3Boolean set,
                      fmi3Boolean get, fmi3Boolean finished, fmi3Boolean can_return,
                      fmi3Boolean* return_early, fmi3Float64* return_time) {
  (void)get;
  (void)finished;
  (void)can_return;
  if (return_early != NULL) *return_early = fmi3False;
  if (return_time != NULL) *return_time = time;
  if (set && environment != NULL) cpli_fmi3_inputs_at(environment, time);
}

// Scheduled execution: called while a model partition runs.
static void on_clock_update(fmi3InstanceEnvironment environment) {
  if (environment != NULL) cpli_fmi3_clock_update(environment);
}

// Model partitions are run one after the other on one thread: nothing preempts them.
static void on_preemption(void) {}

//------------------------------------ life cycle ------------------------------------

static fmi3Status made(cpli_fmi3* in, fmi3Instance c) {
  in->base.instance = c;
  return c != NULL ? fmi3OK : fmi3Error;
}

static bool may_return_early(const cpli_fmi3* in) {
  const cpli_fmu_kind* kind = in->base.kind;
  return kind->early_return || kind->early_return_on_request || kind->event_mode;
}

CPLI_DEFINE_CALL(fmi3GetVersion, (cpli_fmu_instance * base, const char** out),
                 (*out = cpli_fmi3_fn(in)->fmi3GetVersion(), fmi3OK), (""), ("s", *out))
CPLI_DEFINE_CALL(
    fmi3InstantiateModelExchange, (cpli_fmu_instance * base),
    made(in, cpli_fmi3_fn(in)->fmi3InstantiateModelExchange(in->base.name, in->base.fmu->guid,
                                                            in->base.resources, fmi3False,
                                                            in->base.fmu->logging, in, on_message)),
    ("sssii", in->base.name, in->base.fmu->guid, in->base.resources, 0, (int)in->base.fmu->logging),
    (""))
CPLI_DEFINE_CALL(fmi3InstantiateCoSimulation, (cpli_fmu_instance * base),
                 made(in,
                      cpli_fmi3_fn(in)->fmi3InstantiateCoSimulation(
                          in->base.name, in->base.fmu->guid, in->base.resources, fmi3False,
                          in->base.fmu->logging, in->event_mode, may_return_early(in),
                          in->n_intermediate > 0 ? in->intermediate_refs : NULL, in->n_intermediate,
                          in, on_message, in->base.kind->intermediate_update ? on_update : NULL)),
                 ("sssiiii", in->base.name, in->base.fmu->guid, in->base.resources, 0,
                  (int)in->base.fmu->logging, (int)in->event_mode, (int)may_return_early(in)),
                 (""))
CPLI_DEFINE_CALL(fmi3InstantiateScheduledExecution, (cpli_fmu_instance * base),
                 made(in, cpli_fmi3_fn(in)->fmi3InstantiateScheduledExecution(
                              in->base.name, in->base.fmu->guid, in->base.resources, fmi3False,
                              in->base.fmu->logging, in, on_message, on_clock_update, on_preemption,
                              on_preemption)),
                 ("sssii", in->base.name, in->base.fmu->guid, in->base.resources, 0,
                  (int)in->base.fmu->logging),
                 (""))
CPLI_DEFINE_CALL(fmi3FreeInstance, (cpli_fmu_instance * base),
                 (cpli_fmi3_fn(in)->fmi3FreeInstance(in->base.instance), fmi3OK), (""), (""))
CPLI_DEFINE_CALL(fmi3EnterInitializationMode, (cpli_fmu_instance * base),
                 cpli_fmi3_fn(in)->fmi3EnterInitializationMode(
                     in->base.instance, in->base.setup.has_tolerance, in->base.setup.tolerance,
                     in->base.setup.start_time, in->base.setup.has_stop_time,
                     in->base.setup.stop_time),
                 ("iddid", (int)in->base.setup.has_tolerance, in->base.setup.tolerance,
                  in->base.setup.start_time, (int)in->base.setup.has_stop_time,
                  in->base.setup.stop_time),
                 (""))

CPLI_DEFINE_PLAIN(fmi3EnterConfigurationMode)
CPLI_DEFINE_PLAIN(fmi3ExitConfigurationMode)
CPLI_DEFINE_PLAIN(fmi3ExitInitializationMode)
CPLI_DEFINE_PLAIN(fmi3EnterEventMode)
CPLI_DEFINE_PLAIN(fmi3Terminate)
CPLI_DEFINE_PLAIN(fmi3Reset)
CPLI_DEFINE_PLAIN(fmi3EnterContinuousTimeMode)
CPLI_DEFINE_PLAIN(fmi3EnterStepMode)

//------------------------------------ values ------------------------------------

#define X(type, ctype, letter)                                                                    \
  CPLI_DEFINE_CALL(                                                                               \
      fmi3Get##type,                                                                              \
      (cpli_fmu_instance * base, const uint32_t* refs, size_t n, void* values, size_t n_values),  \
      cpli_fmi3_fn(in)->fmi3Get##type(in->base.instance, refs, n, values, n_values),              \
      ("R", refs, n), (letter, values, n_values))                                                 \
  CPLI_DEFINE_CALL(fmi3Set##type,                                                                 \
                   (cpli_fmu_instance * base, const uint32_t* refs, size_t n, const void* values, \
                    size_t n_values),                                                             \
                   cpli_fmi3_fn(in)->fmi3Set##type(in->base.instance, refs, n, values, n_values), \
                   ("R" letter, refs, n, values, n_values), (""))
CPLI_FMI3_TYPES(X)
#undef X

CPLI_DEFINE_CALL(fmi3GetClock,
                 (cpli_fmu_instance * base, const uint32_t* refs, size_t n, void* values,
                  size_t n_values),
                 cpli_fmi3_fn(in)->fmi3GetClock(in->base.instance, refs, n, values), ("R", refs, n),
                 ("T", values, n_values))
CPLI_DEFINE_CALL(fmi3SetClock,
                 (cpli_fmu_instance * base, const uint32_t* refs, size_t n, const void* values,
                  size_t n_values),
                 cpli_fmi3_fn(in)->fmi3SetClock(in->base.instance, refs, n, values),
                 ("RT", refs, n, values, n_values), (""))
CPLI_DEFINE_CALL(fmi3GetBinary,
                 (cpli_fmu_instance * base, const uint32_t* refs, size_t n, size_t* sizes,
                  const uint8_t** values, size_t n_values),
                 cpli_fmi3_fn(in)->fmi3GetBinary(in->base.instance, refs, n, sizes, values,
                                                 n_values),
                 ("R", refs, n), ("X", sizes, n_values))
CPLI_DEFINE_CALL(fmi3SetBinary,
                 (cpli_fmu_instance * base, const uint32_t* refs, size_t n, const size_t* sizes,
                  const uint8_t* const* values, size_t n_values),
                 cpli_fmi3_fn(in)->fmi3SetBinary(in->base.instance, refs, n, sizes, values,
                                                 n_values),
                 ("RX", refs, n, sizes, n_values), (""))

CPLI_DEFINE_STATES(fmi3GetFMUState, fmi3SetFMUState, fmi3FreeFMUState, fmi3SerializedFMUStateSize,
                   fmi3SerializeFMUState, fmi3DeserializeFMUState)
CPLI_DEFINE_CALL(fmi3GetDirectionalDerivative,
                 (cpli_fmu_instance * base, const cpli_fmi3_group* unknowns,
                  const cpli_fmi3_group* knowns, const double* seed, double* result),
                 cpli_fmi3_fn(in)->fmi3GetDirectionalDerivative(
                     in->base.instance, unknowns->refs, unknowns->n_refs, knowns->refs,
                     knowns->n_refs, seed, knowns->n_values, result, unknowns->n_values),
                 ("RRD", unknowns->refs, unknowns->n_refs, knowns->refs, knowns->n_refs, seed,
                  knowns->n_values),
                 ("D", result, unknowns->n_values))
CPLI_DEFINE_CALL(fmi3GetAdjointDerivative,
                 (cpli_fmu_instance * base, const cpli_fmi3_group* unknowns,
                  const cpli_fmi3_group* knowns, const double* seed, double* result),
                 cpli_fmi3_fn(in)->fmi3GetAdjointDerivative(
                     in->base.instance, unknowns->refs, unknowns->n_refs, knowns->refs,
                     knowns->n_refs, seed, unknowns->n_values, result, knowns->n_values),
                 ("RRD", unknowns->refs, unknowns->n_refs, knowns->refs, knowns->n_refs, seed,
                  unknowns->n_values),
                 ("D", result, knowns->n_values))

//------------------------------------ events ------------------------------------

CPLI_DEFINE_CALL(fmi3GetIntervalDecimal,
                 (cpli_fmu_instance * base, uint32_t ref, double* interval,
                  fmi3IntervalQualifier* qualifier),
                 cpli_fmi3_fn(in)->fmi3GetIntervalDecimal(in->base.instance, &ref, 1, interval,
                                                          qualifier),
                 ("i", (int)ref), ("di", *interval, (int)*qualifier))
CPLI_DEFINE_CALL(fmi3GetIntervalFraction,
                 (cpli_fmu_instance * base, uint32_t ref, uint64_t* counter, uint64_t* resolution,
                  fmi3IntervalQualifier* qualifier),
                 cpli_fmi3_fn(in)->fmi3GetIntervalFraction(in->base.instance, &ref, 1, counter,
                                                           resolution, qualifier),
                 ("i", (int)ref), ("ddi", (double)*counter, (double)*resolution, (int)*qualifier))
CPLI_DEFINE_CALL(fmi3GetShiftDecimal, (cpli_fmu_instance * base, uint32_t ref, double* shift),
                 cpli_fmi3_fn(in)->fmi3GetShiftDecimal(in->base.instance, &ref, 1, shift),
                 ("i", (int)ref), ("d", *shift))
CPLI_DEFINE_CALL(fmi3GetShiftFraction,
                 (cpli_fmu_instance * base, uint32_t ref, uint64_t* counter, uint64_t* resolution),
                 cpli_fmi3_fn(in)->fmi3GetShiftFraction(in->base.instance, &ref, 1, counter,
                                                        resolution),
                 ("i", (int)ref), ("dd", (double)*counter, (double)*resolution))

static fmi3Status update(cpli_fmi3* in, cpl_event_info* info) {
  cpli_fmi3_events* e = &in->events;
  info->again = false;
  fmi3Status status = cpli_fmi3_fn(in)->fmi3UpdateDiscreteStates(
      in->base.instance, &info->again, &e->terminate, &e->nominals_changed, &e->states_changed,
      &e->timed, &e->time);
  info->terminate = e->terminate;
  info->nominals_changed = e->nominals_changed;
  info->states_changed = e->states_changed;
  info->next_time = e->timed ? e->time : INFINITY;
  return status;
}

CPLI_DEFINE_CALL(fmi3UpdateDiscreteStates, (cpli_fmu_instance * base, cpl_event_info* info),
                 update(in, info), (""),
                 ("iiiid", (int)info->again, (int)info->terminate, (int)info->nominals_changed,
                  (int)info->states_changed, info->next_time))

//------------------------------------ model exchange ------------------------------------

CPLI_DEFINE_CALL(fmi3CompletedIntegratorStep,
                 (cpli_fmu_instance * base, bool no_way_back, bool* enter_event, bool* terminate),
                 cpli_fmi3_fn(in)->fmi3CompletedIntegratorStep(in->base.instance, no_way_back,
                                                               enter_event, terminate),
                 ("i", (int)no_way_back), ("ii", (int)*enter_event, (int)*terminate))
CPLI_DEFINE_TIME_AND_STATES(fmi3)
CPLI_DEFINE_ARRAY(fmi3GetContinuousStateDerivatives)
CPLI_DEFINE_ARRAY(fmi3GetNominalsOfContinuousStates)
CPLI_DEFINE_CALL(fmi3GetNumberOfEventIndicators, (cpli_fmu_instance * base, size_t* n),
                 cpli_fmi3_fn(in)->fmi3GetNumberOfEventIndicators(in->base.instance, n), (""),
                 ("i", (int)*n))
CPLI_DEFINE_CALL(fmi3GetNumberOfContinuousStates, (cpli_fmu_instance * base, size_t* n),
                 cpli_fmi3_fn(in)->fmi3GetNumberOfContinuousStates(in->base.instance, n), (""),
                 ("i", (int)*n))

//------------------------------------ co-simulation ------------------------------------

CPLI_DEFINE_CALL(fmi3DoStep,
                 (cpli_fmu_instance * base, double h, bool no_way_back, cpli_fmi3_step* step),
                 cpli_fmi3_fn(in)->fmi3DoStep(in->base.instance, in->base.time, h, no_way_back,
                                              &step->event, &step->terminate, &step->early,
                                              &step->reached),
                 ("ddi", in->base.time, h, (int)no_way_back),
                 ("iiid", (int)step->event, (int)step->terminate, (int)step->early, step->reached))
CPLI_DEFINE_CALL(fmi3GetOutputDerivatives,
                 (cpli_fmu_instance * base, const uint32_t* refs, size_t n, const int32_t* orders,
                  double* values, size_t n_values),
                 cpli_fmi3_fn(in)->fmi3GetOutputDerivatives(base->instance, refs, n, orders, values,
                                                            n_values),
                 ("RI", refs, n, orders, n), ("D", values, n_values))
CPLI_DEFINE_CALL(fmi3GetMaxStepSize, (cpli_fmu_instance * base, double* h),
                 cpli_fmi3_fn(in)->fmi3GetMaxStepSize(in->base.instance, h), (""), ("d", *h))
CPLI_DEFINE_CALL(coupletSetInputDerivatives3,
                 (cpli_fmu_instance * base, const uint32_t* refs, const int32_t* elements, size_t n,
                  const int32_t* orders, const double* values),
                 cpli_fmi3_fn(in)->coupletSetInputDerivatives3(in->base.instance, refs, elements, n,
                                                               orders, values),
                 ("RIID", refs, n, elements, n, orders, n, values, n), (""))
CPLI_DEFINE_CALL(coupletInputEvent3, (cpli_fmu_instance * base, bool* wanted, double* margin),
                 cpli_fmi3_fn(in)->coupletInputEvent3(in->base.instance, wanted, margin), (""),
                 ("id", (int)*wanted, *margin))

//------------------------------------ scheduled execution ------------------------------------

CPLI_DEFINE_CALL(fmi3ActivateModelPartition, (cpli_fmu_instance * base, uint32_t clock),
                 cpli_fmi3_fn(in)->fmi3ActivateModelPartition(in->base.instance, clock,
                                                              in->base.time),
                 ("id", (int)clock, in->base.time), (""))

//------------------------------------ constraints ------------------------------------

CPLI_DEFINE_CONSTRAINTS(fmi3)
