// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The list of FMI 3.0 functions: once for the struct of pointers, once for dlsym, once for what a
// failing call means. The standard requires all of them; real binaries lack what they do not use.
#pragma once

#include "fmi/headers/fmi3FunctionTypes.h"

// Beyond the standard, exported by FMUs that couplet builds.
typedef fmi3Status fmi3GetMaxStepSizeTYPE(fmi3Instance c, fmi3Float64* size);
typedef fmi3Status coupletSetInputDerivatives3TYPE(fmi3Instance c, const fmi3ValueReference refs[],
                                                   const fmi3Int32 elements[], size_t n,
                                                   const fmi3Int32 orders[],
                                                   const fmi3Float64 values[]);
typedef fmi3Status coupletInputEvent3TYPE(fmi3Instance c, fmi3Boolean* wanted, fmi3Float64* margin);

// Types whose functions have the same parameters: name, C type, letter in the call log. Numbers are
// in the order of cpl_width.
#define CPLI_FMI3_NUMBERS(X) \
  X(Float32, float, "F")     \
  X(Float64, double, "D")    \
  X(Int8, int8_t, "b")       \
  X(UInt8, uint8_t, "B")     \
  X(Int16, int16_t, "h")     \
  X(UInt16, uint16_t, "H")   \
  X(Int32, int32_t, "I")     \
  X(UInt32, uint32_t, "U")   \
  X(Int64, int64_t, "l")     \
  X(UInt64, uint64_t, "L")   \
  X(Boolean, bool, "T")
#define CPLI_FMI3_TYPES(X) CPLI_FMI3_NUMBERS(X) X(String, const char*, "S")

// Constraints, an extension (docs/fmi-extensions.md).
typedef fmi3Status fmi3GetNumberOfConstraintsTYPE(fmi3Instance c, size_t* N);
typedef fmi3Status fmi3ConstraintTYPE(fmi3Instance c, fmi3Float64 C[]);
typedef fmi3Status fmi3ConstraintJacobianTYPE(fmi3Instance c, fmi3Float64 J[]);
typedef fmi3Status fmi3ProjectionStepTYPE(fmi3Instance c, fmi3Float64 S[]);
typedef fmi3Status fmi3ProjectionTYPE(fmi3Instance c, fmi3Float64 P[],
                                      fmi3Float64 projectionTolerance, size_t iterationLimit,
                                      fmi3Boolean apply);

#define CPLI_FMI3_FUNCTIONS(X)                                 \
  X(fmi3GetVersion, CPLI_ALWAYS | CPLI_ASIDE)                  \
  X(fmi3InstantiateModelExchange, CPLI_ME | CPLI_LIFE)         \
  X(fmi3InstantiateCoSimulation, CPLI_CS | CPLI_LIFE)          \
  X(fmi3InstantiateScheduledExecution, CPLI_SE | CPLI_LIFE)    \
  X(fmi3FreeInstance, CPLI_EVERY | CPLI_ALWAYS | CPLI_LIFE)    \
  X(fmi3EnterInitializationMode, CPLI_EVERY | CPLI_LIFE)       \
  X(fmi3ExitInitializationMode, CPLI_EVERY | CPLI_LIFE)        \
  X(fmi3EnterEventMode, CPLI_ME)                               \
  X(fmi3Terminate, CPLI_EVERY | CPLI_LIFE)                     \
  X(fmi3Reset, CPLI_ALWAYS | CPLI_LIFE)                        \
  X(fmi3EnterConfigurationMode, 0)                             \
  X(fmi3ExitConfigurationMode, 0)                              \
  X(fmi3GetFloat32, CPLI_DISCARD | CPLI_ALWAYS)                \
  X(fmi3GetFloat64, CPLI_DISCARD | CPLI_ALWAYS)                \
  X(fmi3GetInt8, CPLI_DISCARD | CPLI_ALWAYS)                   \
  X(fmi3GetUInt8, CPLI_DISCARD | CPLI_ALWAYS)                  \
  X(fmi3GetInt16, CPLI_DISCARD | CPLI_ALWAYS)                  \
  X(fmi3GetUInt16, CPLI_DISCARD | CPLI_ALWAYS)                 \
  X(fmi3GetInt32, CPLI_DISCARD | CPLI_ALWAYS)                  \
  X(fmi3GetUInt32, CPLI_DISCARD | CPLI_ALWAYS)                 \
  X(fmi3GetInt64, CPLI_DISCARD | CPLI_ALWAYS)                  \
  X(fmi3GetUInt64, CPLI_DISCARD | CPLI_ALWAYS)                 \
  X(fmi3GetBoolean, CPLI_DISCARD | CPLI_ALWAYS)                \
  X(fmi3GetString, CPLI_DISCARD | CPLI_ALWAYS)                 \
  X(fmi3GetBinary, CPLI_DISCARD | CPLI_ALWAYS)                 \
  X(fmi3GetClock, CPLI_DISCARD | CPLI_ALWAYS)                  \
  X(fmi3SetFloat32, CPLI_DISCARD)                              \
  X(fmi3SetFloat64, CPLI_DISCARD)                              \
  X(fmi3SetInt8, CPLI_DISCARD)                                 \
  X(fmi3SetUInt8, CPLI_DISCARD)                                \
  X(fmi3SetInt16, CPLI_DISCARD)                                \
  X(fmi3SetUInt16, CPLI_DISCARD)                               \
  X(fmi3SetInt32, CPLI_DISCARD)                                \
  X(fmi3SetUInt32, CPLI_DISCARD)                               \
  X(fmi3SetInt64, CPLI_DISCARD)                                \
  X(fmi3SetUInt64, CPLI_DISCARD)                               \
  X(fmi3SetBoolean, CPLI_DISCARD)                              \
  X(fmi3SetString, CPLI_DISCARD)                               \
  X(fmi3SetBinary, CPLI_DISCARD)                               \
  X(fmi3SetClock, CPLI_DISCARD)                                \
  X(fmi3GetFMUState, CPLI_ASIDE | CPLI_SAVES)                  \
  X(fmi3SetFMUState, CPLI_ALWAYS | CPLI_SAVES)                 \
  X(fmi3FreeFMUState, CPLI_ALWAYS | CPLI_SAVES)                \
  X(fmi3SerializedFMUStateSize, CPLI_BYTES)                    \
  X(fmi3SerializeFMUState, CPLI_BYTES)                         \
  X(fmi3DeserializeFMUState, CPLI_BYTES)                       \
  X(fmi3GetDirectionalDerivative, CPLI_ASIDE | CPLI_DISCARD)   \
  X(fmi3GetAdjointDerivative, CPLI_ASIDE | CPLI_DISCARD)       \
  X(fmi3GetIntervalDecimal, CPLI_DISCARD)                      \
  X(fmi3GetIntervalFraction, CPLI_DISCARD)                     \
  X(fmi3GetShiftDecimal, CPLI_DISCARD)                         \
  X(fmi3GetShiftFraction, CPLI_DISCARD)                        \
  X(fmi3EvaluateDiscreteStates, 0)                             \
  X(fmi3UpdateDiscreteStates, CPLI_ME | CPLI_BUSY)             \
  X(fmi3EnterContinuousTimeMode, CPLI_ME)                      \
  X(fmi3CompletedIntegratorStep, CPLI_ME)                      \
  X(fmi3SetTime, CPLI_ME | CPLI_DISCARD)                       \
  X(fmi3SetContinuousStates, CPLI_ME | CPLI_DISCARD)           \
  X(fmi3GetContinuousStateDerivatives, CPLI_ME | CPLI_DISCARD) \
  X(fmi3GetEventIndicators, CPLI_ME | CPLI_DISCARD)            \
  X(fmi3GetContinuousStates, CPLI_ME | CPLI_DISCARD)           \
  X(fmi3GetNominalsOfContinuousStates, CPLI_ME)                \
  X(fmi3GetNumberOfEventIndicators, 0)                         \
  X(fmi3GetNumberOfContinuousStates, 0)                        \
  X(fmi3EnterStepMode, 0)                                      \
  X(fmi3DoStep, CPLI_CS | CPLI_DISCARD | CPLI_BUSY)            \
  X(fmi3ActivateModelPartition, CPLI_SE | CPLI_BUSY)           \
  X(fmi3GetOutputDerivatives, CPLI_ASIDE | CPLI_DISCARD)       \
  X(fmi3GetMaxStepSize, CPLI_ASIDE | CPLI_DISCARD)             \
  X(coupletInputEvent3, CPLI_ASIDE)                            \
  X(coupletSetInputDerivatives3, CPLI_ASIDE)                   \
  X(fmi3GetNumberOfConstraints, CPLI_DISCARD)                  \
  X(fmi3Constraint, CPLI_DISCARD)                              \
  X(fmi3ConstraintJacobian, CPLI_DISCARD)                      \
  X(fmi3ProjectionStep, CPLI_DISCARD)                          \
  X(fmi3Projection, CPLI_DISCARD)

typedef struct cpli_fmi3_functions {
#define X(name, flags) name##TYPE* name;
  CPLI_FMI3_FUNCTIONS(X)
#undef X
} cpli_fmi3_functions;
