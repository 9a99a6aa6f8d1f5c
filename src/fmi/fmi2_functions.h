// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The list of FMI 2.0 functions: once for the struct of pointers, once for dlsym, once for what a
// failing call means. A binary may lack what is not required for its kind; real ones do.
#pragma once

#include "fmi/headers/fmi2FunctionTypes.h"

// Two functions beyond the standard, exported by FMUs that couplet builds.
typedef fmi2Status fmi2GetMaxStepSizeTYPE(fmi2Component c, fmi2Real* size);
typedef fmi2Status coupletStopAtEventsTYPE(fmi2Component c, fmi2Boolean stop);

enum {
  CPLI_FMI2_ME = 1,       // required in a model exchange FMU
  CPLI_FMI2_CS = 2,       // required in a co-simulation FMU
  CPLI_FMI2_BOTH = 3,     //
  CPLI_FMI2_DISCARD = 4,  // may return fmi2Discard: try elsewhere
  CPLI_FMI2_ALWAYS = 8,   // may be called after an error
  CPLI_FMI2_ASIDE = 16,   // a failure means no answer; the instance stays as it was
};

#define CPLI_FMI2_FUNCTIONS(X)                                                    \
  X(fmi2GetTypesPlatform, CPLI_FMI2_ALWAYS | CPLI_FMI2_ASIDE)                     \
  X(fmi2GetVersion, CPLI_FMI2_ALWAYS | CPLI_FMI2_ASIDE)                           \
  X(fmi2SetDebugLogging, CPLI_FMI2_ALWAYS | CPLI_FMI2_ASIDE)                      \
  X(fmi2Instantiate, CPLI_FMI2_BOTH)                                              \
  X(fmi2FreeInstance, CPLI_FMI2_BOTH | CPLI_FMI2_ALWAYS)                          \
  X(fmi2SetupExperiment, CPLI_FMI2_BOTH)                                          \
  X(fmi2EnterInitializationMode, CPLI_FMI2_BOTH)                                  \
  X(fmi2ExitInitializationMode, CPLI_FMI2_BOTH)                                   \
  X(fmi2Terminate, CPLI_FMI2_BOTH)                                                \
  X(fmi2Reset, CPLI_FMI2_ALWAYS)                                                  \
  X(fmi2GetReal, CPLI_FMI2_BOTH | CPLI_FMI2_DISCARD | CPLI_FMI2_ALWAYS)           \
  X(fmi2GetInteger, CPLI_FMI2_DISCARD | CPLI_FMI2_ALWAYS)                         \
  X(fmi2GetBoolean, CPLI_FMI2_DISCARD | CPLI_FMI2_ALWAYS)                         \
  X(fmi2GetString, CPLI_FMI2_DISCARD | CPLI_FMI2_ALWAYS)                          \
  X(fmi2SetReal, CPLI_FMI2_BOTH | CPLI_FMI2_DISCARD)                              \
  X(fmi2SetInteger, CPLI_FMI2_DISCARD)                                            \
  X(fmi2SetBoolean, CPLI_FMI2_DISCARD)                                            \
  X(fmi2SetString, CPLI_FMI2_DISCARD)                                             \
  X(fmi2GetFMUstate, 0)                                                           \
  X(fmi2SetFMUstate, CPLI_FMI2_ALWAYS)                                            \
  X(fmi2FreeFMUstate, CPLI_FMI2_ALWAYS)                                           \
  X(fmi2SerializedFMUstateSize, 0)                                                \
  X(fmi2SerializeFMUstate, 0)                                                     \
  X(fmi2DeSerializeFMUstate, 0)                                                   \
  X(fmi2GetDirectionalDerivative, CPLI_FMI2_DISCARD)                              \
  X(fmi2EnterEventMode, CPLI_FMI2_ME)                                             \
  X(fmi2NewDiscreteStates, CPLI_FMI2_ME)                                          \
  X(fmi2EnterContinuousTimeMode, CPLI_FMI2_ME)                                    \
  X(fmi2CompletedIntegratorStep, CPLI_FMI2_ME)                                    \
  X(fmi2SetTime, CPLI_FMI2_ME | CPLI_FMI2_DISCARD)                                \
  X(fmi2SetContinuousStates, CPLI_FMI2_ME | CPLI_FMI2_DISCARD)                    \
  X(fmi2GetDerivatives, CPLI_FMI2_ME | CPLI_FMI2_DISCARD)                         \
  X(fmi2GetEventIndicators, CPLI_FMI2_ME | CPLI_FMI2_DISCARD)                     \
  X(fmi2GetContinuousStates, CPLI_FMI2_ME | CPLI_FMI2_DISCARD)                    \
  X(fmi2GetNominalsOfContinuousStates, CPLI_FMI2_ME)                              \
  X(fmi2SetRealInputDerivatives, CPLI_FMI2_DISCARD)                               \
  X(fmi2GetRealOutputDerivatives, CPLI_FMI2_DISCARD)                              \
  X(fmi2DoStep, CPLI_FMI2_CS | CPLI_FMI2_DISCARD)                                 \
  X(fmi2CancelStep, 0)                                                            \
  X(fmi2GetStatus, CPLI_FMI2_ALWAYS | CPLI_FMI2_ASIDE | CPLI_FMI2_DISCARD)        \
  X(fmi2GetRealStatus, CPLI_FMI2_ALWAYS | CPLI_FMI2_ASIDE | CPLI_FMI2_DISCARD)    \
  X(fmi2GetIntegerStatus, CPLI_FMI2_ALWAYS | CPLI_FMI2_ASIDE | CPLI_FMI2_DISCARD) \
  X(fmi2GetBooleanStatus, CPLI_FMI2_ALWAYS | CPLI_FMI2_ASIDE | CPLI_FMI2_DISCARD) \
  X(fmi2GetStringStatus, CPLI_FMI2_ALWAYS | CPLI_FMI2_ASIDE | CPLI_FMI2_DISCARD)  \
  X(fmi2GetMaxStepSize, CPLI_FMI2_ASIDE | CPLI_FMI2_DISCARD)                      \
  X(coupletStopAtEvents, CPLI_FMI2_ASIDE)

typedef struct cpli_fmi2_functions {
#define X(name, flags) name##TYPE* name;
  CPLI_FMI2_FUNCTIONS(X)
#undef X
} cpli_fmi2_functions;
