// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The list of FMI 2.0 functions: once for the struct of pointers, once for dlsym, once for what a
// failing call means. A binary may lack what is not required for its kind; real ones do.
#pragma once

#include "fmi/headers/fmi2FunctionTypes.h"

// Functions beyond the standard, exported by FMUs that couplet builds.
typedef fmi2Status fmi2GetMaxStepSizeTYPE(fmi2Component c, fmi2Real* size);
typedef fmi2Status coupletStopAtEventsTYPE(fmi2Component c, fmi2Boolean on);
typedef fmi2Status coupletLeaveEventsTYPE(fmi2Component c, fmi2Boolean on);
typedef fmi2Status coupletInputDerivativeOrderTYPE(fmi2Component c, fmi2Integer* order);
typedef fmi2Status coupletInputEventTYPE(fmi2Component c, fmi2Boolean* wanted, fmi2Real* margin);
typedef fmi2Status coupletEvaluateTYPE(const fmi2Component c[], size_t n, fmi2Real time,
                                       const fmi2Real x[], const fmi2ValueReference inputs[],
                                       const fmi2Real u[], const fmi2ValueReference outputs[],
                                       fmi2Real y[], const fmi2Integer first[], fmi2Real dx[],
                                       size_t* done);

// Constraints, an extension (docs/fmi-extensions.md).
typedef fmi2Status fmi2GetNumberOfConstraintsTYPE(fmi2Component c, size_t* N);
typedef fmi2Status fmi2ConstraintTYPE(fmi2Component c, fmi2Real C[]);
typedef fmi2Status fmi2ConstraintJacobianTYPE(fmi2Component c, fmi2Real J[]);
typedef fmi2Status fmi2ProjectionStepTYPE(fmi2Component c, fmi2Real S[]);
typedef fmi2Status fmi2ProjectionTYPE(fmi2Component c, fmi2Real P[], fmi2Real projectionTolerance,
                                      size_t iterationLimit, fmi2Boolean apply);

#define CPLI_FMI2_FUNCTIONS(X)                                     \
  X(fmi2GetTypesPlatform, CPLI_ALWAYS | CPLI_ASIDE)                \
  X(fmi2GetVersion, CPLI_ALWAYS | CPLI_ASIDE)                      \
  X(fmi2SetDebugLogging, CPLI_ALWAYS | CPLI_ASIDE)                 \
  X(fmi2Instantiate, CPLI_BOTH | CPLI_LIFE)                        \
  X(fmi2FreeInstance, CPLI_BOTH | CPLI_ALWAYS | CPLI_LIFE)         \
  X(fmi2SetupExperiment, CPLI_BOTH | CPLI_LIFE)                    \
  X(fmi2EnterInitializationMode, CPLI_BOTH | CPLI_LIFE)            \
  X(fmi2ExitInitializationMode, CPLI_BOTH | CPLI_LIFE)             \
  X(fmi2Terminate, CPLI_BOTH | CPLI_LIFE)                          \
  X(fmi2Reset, CPLI_ALWAYS | CPLI_LIFE)                            \
  X(fmi2GetReal, CPLI_BOTH | CPLI_DISCARD | CPLI_ALWAYS)           \
  X(fmi2GetInteger, CPLI_DISCARD | CPLI_ALWAYS)                    \
  X(fmi2GetBoolean, CPLI_DISCARD | CPLI_ALWAYS)                    \
  X(fmi2GetString, CPLI_DISCARD | CPLI_ALWAYS)                     \
  X(fmi2SetReal, CPLI_BOTH | CPLI_DISCARD)                         \
  X(fmi2SetInteger, CPLI_DISCARD)                                  \
  X(fmi2SetBoolean, CPLI_DISCARD)                                  \
  X(fmi2SetString, CPLI_DISCARD)                                   \
  X(fmi2GetFMUstate, CPLI_ASIDE | CPLI_SAVES)                      \
  X(fmi2SetFMUstate, CPLI_ALWAYS | CPLI_SAVES)                     \
  X(fmi2FreeFMUstate, CPLI_ALWAYS | CPLI_SAVES)                    \
  X(fmi2SerializedFMUstateSize, CPLI_BYTES)                        \
  X(fmi2SerializeFMUstate, CPLI_BYTES)                             \
  X(fmi2DeSerializeFMUstate, CPLI_BYTES)                           \
  X(fmi2GetDirectionalDerivative, CPLI_ASIDE | CPLI_DISCARD)       \
  X(fmi2EnterEventMode, CPLI_ME)                                   \
  X(fmi2NewDiscreteStates, CPLI_ME | CPLI_BUSY)                    \
  X(fmi2EnterContinuousTimeMode, CPLI_ME)                          \
  X(fmi2CompletedIntegratorStep, CPLI_ME)                          \
  X(fmi2SetTime, CPLI_ME | CPLI_DISCARD)                           \
  X(fmi2SetContinuousStates, CPLI_ME | CPLI_DISCARD)               \
  X(fmi2GetDerivatives, CPLI_ME | CPLI_DISCARD)                    \
  X(fmi2GetEventIndicators, CPLI_ME | CPLI_DISCARD)                \
  X(fmi2GetContinuousStates, CPLI_ME | CPLI_DISCARD)               \
  X(fmi2GetNominalsOfContinuousStates, CPLI_ME)                    \
  X(fmi2SetRealInputDerivatives, CPLI_ASIDE | CPLI_DISCARD)        \
  X(fmi2GetRealOutputDerivatives, CPLI_ASIDE | CPLI_DISCARD)       \
  X(fmi2DoStep, CPLI_CS | CPLI_DISCARD | CPLI_PENDING | CPLI_BUSY) \
  X(fmi2CancelStep, 0)                                             \
  X(fmi2GetStatus, CPLI_ALWAYS | CPLI_ASIDE | CPLI_DISCARD)        \
  X(fmi2GetRealStatus, CPLI_ALWAYS | CPLI_ASIDE | CPLI_DISCARD)    \
  X(fmi2GetIntegerStatus, CPLI_ALWAYS | CPLI_ASIDE | CPLI_DISCARD) \
  X(fmi2GetBooleanStatus, CPLI_ALWAYS | CPLI_ASIDE | CPLI_DISCARD) \
  X(fmi2GetStringStatus, CPLI_ALWAYS | CPLI_ASIDE | CPLI_DISCARD)  \
  X(fmi2GetMaxStepSize, CPLI_ASIDE | CPLI_DISCARD)                 \
  X(coupletStopAtEvents, CPLI_ASIDE)                               \
  X(coupletLeaveEvents, CPLI_ASIDE)                                \
  X(coupletInputEvent, CPLI_ASIDE)                                 \
  X(coupletInputDerivativeOrder, CPLI_ASIDE)                       \
  X(coupletEvaluate, CPLI_DISCARD)                                 \
  X(fmi2GetNumberOfConstraints, CPLI_DISCARD)                      \
  X(fmi2Constraint, CPLI_DISCARD)                                  \
  X(fmi2ConstraintJacobian, CPLI_DISCARD)                          \
  X(fmi2ProjectionStep, CPLI_DISCARD)                              \
  X(fmi2Projection, CPLI_DISCARD)

typedef struct cpli_fmi2_functions {
#define X(name, flags) name##TYPE* name;
  CPLI_FMI2_FUNCTIONS(X)
#undef X
} cpli_fmi2_functions;
