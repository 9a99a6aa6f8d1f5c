// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// FMI 3.0 over the instance: its life, events, states, model exchange and co-simulation.
#include <assert.h>
#include <math.h>

#include "export/runtime/fmu.h"
#include "fmi3Functions.h"

/// Not part of FMI (D. Broman et al., "Determinate composition of FMUs for co-simulation"): the
/// largest step that will be accepted from here; INFINITY: any.
FMI3_Export fmi3Status fmi3GetMaxStepSize(fmi3Instance instance, fmi3Float64* size);
/// Not part of FMI: whether the inputs that were set in Step Mode since the last step cause an
/// event, for which the importer may enter Event Mode. *margin: how far event indicators are beyond
/// their change; negative: none has changed; NAN: not known. In Step Mode outputs follow inputs.
FMI3_Export fmi3Status coupletInputEvent3(fmi3Instance instance, fmi3Boolean* wanted,
                                          fmi3Float64* margin);
/// Not part of FMI: what fmi2SetRealInputDerivatives is in FMI 2.0, orders 1 to 3. elements: in the
/// arrays of the value references, from 0; 0 for scalars.
FMI3_Export fmi3Status coupletSetInputDerivatives3(fmi3Instance instance,
                                                   const fmi3ValueReference valueReferences[],
                                                   const fmi3Int32 elements[], size_t n,
                                                   const fmi3Int32 orders[],
                                                   const fmi3Float64 values[]);

const char* fmi3GetVersion(void) { return fmi3Version; }

//------------------------------------ instance ------------------------------------

static void send(const fmu_host* host, const char* instance, fmu_status status,
                 const char* category, const char* text) {
  fmi3LogMessageCallback logger = (fmi3LogMessageCallback)host->logger;
  (void)instance;
  if (logger != NULL) logger(host->environment, (fmi3Status)status, category, text);
}

static bool look_in(const fmu_host* host, double t, bool may_return, double* until) {
  fmi3IntermediateUpdateCallback callback = (fmi3IntermediateUpdateCallback)host->intermediate;
  fmi3Boolean wanted = fmi3False;
  callback(host->environment, t, fmi3False, fmi3True, fmi3True, may_return, &wanted, until);
  return wanted;
}

fmi3Instance fmi3InstantiateModelExchange(fmi3String instanceName, fmi3String instantiationToken,
                                          fmi3String resourcePath, fmi3Boolean visible,
                                          fmi3Boolean loggingOn,
                                          fmi3InstanceEnvironment instanceEnvironment,
                                          fmi3LogMessageCallback logMessage) {
  (void)visible;
  fmu_host host = {
      .send = send, .environment = instanceEnvironment, .logger = (void (*)(void))logMessage};
  fmu_birth birth = {__func__, instanceName, instantiationToken, false, loggingOn, resourcePath};
  return fmu_create(&birth, &host);
}

fmi3Instance fmi3InstantiateCoSimulation(
    fmi3String instanceName, fmi3String instantiationToken, fmi3String resourcePath,
    fmi3Boolean visible, fmi3Boolean loggingOn, fmi3Boolean eventModeUsed,
    fmi3Boolean earlyReturnAllowed, const fmi3ValueReference requiredIntermediateVariables[],
    size_t nRequiredIntermediateVariables, fmi3InstanceEnvironment instanceEnvironment,
    fmi3LogMessageCallback logMessage, fmi3IntermediateUpdateCallback intermediateUpdate) {
  // every variable can be read in intermediate updates
  (void)requiredIntermediateVariables, (void)nRequiredIntermediateVariables;
  (void)visible;
  fmu_host host = {.send = send,
                   .look_in = intermediateUpdate != NULL ? look_in : NULL,
                   .environment = instanceEnvironment,
                   .logger = (void (*)(void))logMessage,
                   .intermediate = (void (*)(void))intermediateUpdate};
  fmu_birth birth = {__func__, instanceName, instantiationToken, true, loggingOn, resourcePath};
  fmu* f = fmu_create(&birth, &host);
  if (f == NULL) return NULL;
  f->event_mode = eventModeUsed && f->stepper->base.can.zero_step;
  f->early_return = earlyReturnAllowed;
  return f;
}

fmi3Instance fmi3InstantiateScheduledExecution(
    fmi3String instanceName, fmi3String instantiationToken, fmi3String resourcePath,
    fmi3Boolean visible, fmi3Boolean loggingOn, fmi3InstanceEnvironment instanceEnvironment,
    fmi3LogMessageCallback logMessage, fmi3ClockUpdateCallback clockUpdate,
    fmi3LockPreemptionCallback lockPreemption, fmi3UnlockPreemptionCallback unlockPreemption) {
  (void)instanceName, (void)instantiationToken, (void)resourcePath, (void)visible, (void)loggingOn;
  (void)clockUpdate, (void)lockPreemption, (void)unlockPreemption;
  if (logMessage != NULL) {
    logMessage(instanceEnvironment, fmi3Error, "logStatusError",
               "fmi3InstantiateScheduledExecution: the FMU is for model exchange and "
               "co-simulation only");
  }
  return NULL;
}

void fmi3FreeInstance(fmi3Instance instance) { fmu_destroy(instance); }

// Every function: the instance, when it may be called now, then the work.
#define ENTER(states)                             \
  fmu* f = fmu_enter(instance, __func__, states); \
  if (f == NULL) return fmi3Error
#define ENTER_ME(states)                                      \
  fmu* f = fmu_enter_kind(instance, __func__, states, false); \
  if (f == NULL) return fmi3Error
#define ENTER_CS(states)                                     \
  fmu* f = fmu_enter_kind(instance, __func__, states, true); \
  if (f == NULL) return fmi3Error
#define DO(call) return (fmi3Status)(call)
static_assert((int)FMU_OK == fmi3OK && (int)FMU_WARNING == fmi3Warning &&
                  (int)FMU_DISCARD == fmi3Discard && (int)FMU_ERROR == fmi3Error,
              "fmu_status has the numbers of the standard");

fmi3Status fmi3SetDebugLogging(fmi3Instance instance, fmi3Boolean loggingOn, size_t nCategories,
                               const fmi3String categories[]) {
  ENTER(FMU_ANY);
  DO(fmu_set_logging(f, __func__, loggingOn, nCategories, categories));
}

fmi3Status fmi3EnterInitializationMode(fmi3Instance instance, fmi3Boolean toleranceDefined,
                                       fmi3Float64 tolerance, fmi3Float64 startTime,
                                       fmi3Boolean stopTimeDefined, fmi3Float64 stopTime) {
  ENTER(FMU_INSTANTIATED);
  cpl_setup setup = {.size = sizeof(cpl_setup),
                     .start_time = startTime,
                     .has_stop_time = stopTimeDefined,
                     .stop_time = stopTime,
                     .has_tolerance = toleranceDefined,
                     .tolerance = tolerance};
  if (f->configuring) DO(fmu_refuse(f, __func__, "the instance is in Configuration Mode"));
  fmu_status status = fmu_set_up(f, __func__, &setup);
  DO(status == FMU_OK ? fmu_enter_init(f, __func__) : status);
}

fmi3Status fmi3ExitInitializationMode(fmi3Instance instance) {
  ENTER(FMU_INITIALIZING);
  DO(fmu_exit_init(f, __func__));
}

fmi3Status fmi3Terminate(fmi3Instance instance) {
  ENTER(FMU_RUNNING);
  DO(fmu_terminate(f, __func__));
}

fmi3Status fmi3Reset(fmi3Instance instance) {
  ENTER(FMU_AT_REST);
  DO(fmu_reset(f, __func__));
}

// The one structural parameter there may be turns a model with algebraic variables to its form with
// residuals (FMI-LS-DAE); fmi3SetBoolean sets it.
fmi3Status fmi3EnterConfigurationMode(fmi3Instance instance) {
  ENTER(FMU_INSTANTIATED);
  if (f->desc->n_algebraics == 0) DO(fmu_refuse(f, __func__, "there are no structural parameters"));
  if (f->configuring) DO(fmu_refuse(f, __func__, "the instance is in Configuration Mode"));
  f->configuring = true;
  return fmi3OK;
}

fmi3Status fmi3ExitConfigurationMode(fmi3Instance instance) {
  ENTER(FMU_INSTANTIATED);
  if (f->desc->n_algebraics == 0) DO(fmu_refuse(f, __func__, "there are no structural parameters"));
  if (!f->configuring) DO(fmu_refuse(f, __func__, "the instance is not in Configuration Mode"));
  f->configuring = false;
  DO(fmu_configured(f, __func__));
}

//------------------------------------ states ------------------------------------

fmi3Status fmi3GetFMUState(fmi3Instance instance, fmi3FMUState* FMUState) {
  ENTER(FMU_AT_REST);
  DO(fmu_save(f, __func__, FMUState));
}

fmi3Status fmi3SetFMUState(fmi3Instance instance, fmi3FMUState FMUState) {
  ENTER(FMU_AT_REST);
  DO(fmu_restore(f, __func__, FMUState));
}

fmi3Status fmi3FreeFMUState(fmi3Instance instance, fmi3FMUState* FMUState) {
  ENTER(FMU_ANY);
  DO(fmu_forget(f, FMUState));
}

fmi3Status fmi3SerializedFMUStateSize(fmi3Instance instance, fmi3FMUState FMUState, size_t* size) {
  ENTER(FMU_ANY);
  DO(fmu_state_size(f, __func__, FMUState, size));
}

fmi3Status fmi3SerializeFMUState(fmi3Instance instance, fmi3FMUState FMUState,
                                 fmi3Byte serializedState[], size_t size) {
  ENTER(FMU_ANY);
  DO(fmu_write_state(f, __func__, FMUState, serializedState, size));
}

fmi3Status fmi3DeserializeFMUState(fmi3Instance instance, const fmi3Byte serializedState[],
                                   size_t size, fmi3FMUState* FMUState) {
  ENTER(FMU_AT_REST);
  DO(fmu_read_state(f, __func__, serializedState, size, FMUState));
}

//------------------------------------ events ------------------------------------

fmi3Status fmi3EnterEventMode(fmi3Instance instance) {
  ENTER(FMU_CONTINUOUS | FMU_EVENT | FMU_STEPPED);
  if (!f->stepping) DO(fmu_enter_event(f, __func__));
  if (!f->event_mode) DO(fmu_refuse(f, __func__, "the instance was made without event mode"));
  f->state = FMU_EVENT;
  f->update_due = true;
  return fmi3OK;
}

fmi3Status fmi3EvaluateDiscreteStates(fmi3Instance instance) {
  ENTER(FMU_ANY);
  DO(fmu_refuse(f, __func__, "evaluation without an update is not offered"));
}

fmi3Status fmi3UpdateDiscreteStates(fmi3Instance instance, fmi3Boolean* discreteStatesNeedUpdate,
                                    fmi3Boolean* terminateSimulation,
                                    fmi3Boolean* nominalsOfContinuousStatesChanged,
                                    fmi3Boolean* valuesOfContinuousStatesChanged,
                                    fmi3Boolean* nextEventTimeDefined, fmi3Float64* nextEventTime) {
  ENTER(FMU_EVENT);
  cpl_event_info info;
  fmu_status status =
      f->stepping ? fmu_step_update(f, __func__, &info) : fmu_update(f, __func__, &info);
  if (discreteStatesNeedUpdate != NULL) *discreteStatesNeedUpdate = info.again;
  if (terminateSimulation != NULL) *terminateSimulation = info.terminate;
  if (nominalsOfContinuousStatesChanged != NULL)
    *nominalsOfContinuousStatesChanged = info.nominals_changed;
  if (valuesOfContinuousStatesChanged != NULL)
    *valuesOfContinuousStatesChanged = info.states_changed;
  if (nextEventTimeDefined != NULL) *nextEventTimeDefined = isfinite(info.next_time) != 0;
  if (nextEventTime != NULL) *nextEventTime = isfinite(info.next_time) ? info.next_time : 0;
  return (fmi3Status)status;
}

//------------------------------------ model exchange ------------------------------------

static const unsigned readable = FMU_INITIALIZING | FMU_EVENT | FMU_CONTINUOUS | FMU_TERMINATED;

fmi3Status fmi3EnterContinuousTimeMode(fmi3Instance instance) {
  ENTER_ME(FMU_EVENT);
  DO(fmu_enter_continuous(f, __func__));
}

fmi3Status fmi3CompletedIntegratorStep(fmi3Instance instance,
                                       fmi3Boolean noSetFMUStatePriorToCurrentPoint,
                                       fmi3Boolean* enterEventMode,
                                       fmi3Boolean* terminateSimulation) {
  (void)noSetFMUStatePriorToCurrentPoint;
  ENTER_ME(FMU_CONTINUOUS);
  bool event, end;
  fmu_status status = fmu_completed_step(f, __func__, &event, &end);
  if (enterEventMode != NULL) *enterEventMode = event;
  if (terminateSimulation != NULL) *terminateSimulation = end;
  return (fmi3Status)status;
}

fmi3Status fmi3SetTime(fmi3Instance instance, fmi3Float64 time) {
  ENTER_ME(FMU_EVENT | FMU_CONTINUOUS);
  DO(fmu_set_time(f, __func__, time));
}

fmi3Status fmi3SetContinuousStates(fmi3Instance instance, const fmi3Float64 continuousStates[],
                                   size_t nContinuousStates) {
  ENTER_ME(FMU_EVENT | FMU_CONTINUOUS);
  DO(fmu_set_states(f, __func__, continuousStates, nContinuousStates));
}

fmi3Status fmi3GetContinuousStateDerivatives(fmi3Instance instance, fmi3Float64 derivatives[],
                                             size_t nContinuousStates) {
  ENTER_ME(readable);
  DO(fmu_get_vector(f, __func__, FMU_DERIVATIVES, derivatives, nContinuousStates));
}

fmi3Status fmi3GetEventIndicators(fmi3Instance instance, fmi3Float64 eventIndicators[],
                                  size_t nEventIndicators) {
  ENTER_ME(readable);
  DO(fmu_get_vector(f, __func__, FMU_INDICATORS, eventIndicators, nEventIndicators));
}

fmi3Status fmi3GetContinuousStates(fmi3Instance instance, fmi3Float64 continuousStates[],
                                   size_t nContinuousStates) {
  ENTER_ME(readable);
  DO(fmu_get_vector(f, __func__, FMU_STATES, continuousStates, nContinuousStates));
}

fmi3Status fmi3GetNominalsOfContinuousStates(fmi3Instance instance, fmi3Float64 nominals[],
                                             size_t nContinuousStates) {
  ENTER_ME(readable);
  DO(fmu_get_vector(f, __func__, FMU_NOMINALS, nominals, nContinuousStates));
}

fmi3Status fmi3GetNumberOfEventIndicators(fmi3Instance instance, size_t* nEventIndicators) {
  ENTER_ME(FMU_ANY);
  *nEventIndicators = (size_t)f->desc->n_indicators;
  return fmi3OK;
}

fmi3Status fmi3GetNumberOfContinuousStates(fmi3Instance instance, size_t* nContinuousStates) {
  ENTER_ME(FMU_ANY);
  *nContinuousStates = (size_t)f->desc->n_states;
  return fmi3OK;
}

//------------------------------------ co-simulation ------------------------------------

fmi3Status fmi3EnterStepMode(fmi3Instance instance) {
  ENTER_CS(FMU_EVENT);
  f->state = FMU_STEPPED;
  return fmi3OK;
}

fmi3Status fmi3DoStep(fmi3Instance instance, fmi3Float64 currentCommunicationPoint,
                      fmi3Float64 communicationStepSize,
                      fmi3Boolean noSetFMUStatePriorToCurrentPoint,
                      fmi3Boolean* eventHandlingNeeded, fmi3Boolean* terminateSimulation,
                      fmi3Boolean* earlyReturn, fmi3Float64* lastSuccessfulTime) {
  (void)noSetFMUStatePriorToCurrentPoint;
  ENTER_CS(FMU_STEPPED);
  double from = currentCommunicationPoint, h = communicationStepSize;
  cpl_step_result result;
  fmu_status status = fmu_step(f, __func__, from, h, &result);
  bool waits = result.end == CPL_STEP_EVENT && !result.event_handled && f->event_mode;
  if (eventHandlingNeeded != NULL) *eventHandlingNeeded = waits;
  if (terminateSimulation != NULL) *terminateSimulation = f->end_wanted;
  if (earlyReturn != NULL) *earlyReturn = f->early_return && f->time < from + h;
  if (lastSuccessfulTime != NULL) *lastSuccessfulTime = f->time;
  return status == FMU_OK && result.end == CPL_STEP_REFUSED ? fmi3Discard : (fmi3Status)status;
}

fmi3Status fmi3GetMaxStepSize(fmi3Instance instance, fmi3Float64* size) {
  ENTER_CS(FMU_STEPPED);
  if (size == NULL) return fmi3Error;
  DO(fmu_max_step(f, __func__, size));
}

fmi3Status coupletInputEvent3(fmi3Instance instance, fmi3Boolean* wanted, fmi3Float64* margin) {
  ENTER_CS(FMU_STEPPED);
  if (wanted == NULL || margin == NULL) return fmi3Error;
  DO(fmu_input_event(f, __func__, wanted, margin));
}

fmi3Status coupletSetInputDerivatives3(fmi3Instance instance,
                                       const fmi3ValueReference valueReferences[],
                                       const fmi3Int32 elements[], size_t n,
                                       const fmi3Int32 orders[], const fmi3Float64 values[]) {
  ENTER_CS(FMU_INITIALIZING | FMU_STEPPED | FMU_EVENT);
  fmu_status status = FMU_OK;
  for (size_t i = 0; i < n && status == FMU_OK; i++) {
    uint32_t first = valueReferences[i], ref = first + (uint32_t)elements[i];  // of a Real
    if (elements[i] < 0 || (uint32_t)elements[i] >= fmu_extent3(f, first))
      return (fmi3Status)fmu_refuse(f, __func__, "value reference %u has no element %d",
                                    (unsigned)first, (int)elements[i]);
    status = fmu_set_input_derivatives(f, __func__, &ref, 1, &orders[i], &values[i]);
  }
  return (fmi3Status)status;
}

fmi3Status fmi3ActivateModelPartition(fmi3Instance instance, fmi3ValueReference clockReference,
                                      fmi3Float64 activationTime) {
  (void)clockReference, (void)activationTime;
  ENTER(FMU_ANY);
  DO(fmu_refuse(f, __func__, "the FMU is not for scheduled execution"));
}

//------------------------------------ constraints ------------------------------------

// Beyond the standard: docs/fmi-extensions.md. There is no header that declares them.
FMI3_Export fmi3Status fmi3GetNumberOfConstraints(fmi3Instance instance, size_t* N);
FMI3_Export fmi3Status fmi3Constraint(fmi3Instance instance, fmi3Float64 C[]);
FMI3_Export fmi3Status fmi3ConstraintJacobian(fmi3Instance instance, fmi3Float64 J[]);
FMI3_Export fmi3Status fmi3ProjectionStep(fmi3Instance instance, fmi3Float64 S[]);
FMI3_Export fmi3Status fmi3Projection(fmi3Instance instance, fmi3Float64 P[],
                                      fmi3Float64 projectionTolerance, size_t iterationLimit,
                                      fmi3Boolean apply);

fmi3Status fmi3GetNumberOfConstraints(fmi3Instance instance, size_t* N) {
  ENTER_ME(readable);
  DO(fmu_count_constraints(f, __func__, N));
}

fmi3Status fmi3Constraint(fmi3Instance instance, fmi3Float64 C[]) {
  ENTER_ME(readable);
  DO(fmu_constraints(f, __func__, C));
}

fmi3Status fmi3ConstraintJacobian(fmi3Instance instance, fmi3Float64 J[]) {
  ENTER_ME(readable);
  DO(fmu_constraint_jacobian(f, __func__, J));
}

fmi3Status fmi3ProjectionStep(fmi3Instance instance, fmi3Float64 S[]) {
  ENTER_ME(readable);
  DO(fmu_projection_step(f, __func__, S));
}

fmi3Status fmi3Projection(fmi3Instance instance, fmi3Float64 P[], fmi3Float64 projectionTolerance,
                          size_t iterationLimit, fmi3Boolean apply) {
  ENTER_ME(readable);
  DO(fmu_projection(f, __func__, projectionTolerance, iterationLimit, apply != fmi3False, P));
}
