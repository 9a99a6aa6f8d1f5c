// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Calls of FMI functions as bytes in shared memory (base/shared.h), between this library and the
// host program of a binary for another platform. All fields have fixed widths and natural
// alignment, and offsets take the place of pointers, so that the layout is the same for all
// platforms. Offsets count from the end of cpli_shared.
//
// A request is a wire_call at wire_head.call. The host executes it and writes results into its
// arrays; texts and bytes that it returns are put behind wire_call.end. Instead of an answer the
// host may send a callback, also as a wire_call; while it is executed, further requests may be
// made, and WIRE_RETURN ends it.
#pragma once

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "fmi/fmi1_functions.h"
#include "fmi/fmi2_functions.h"
#include "fmi/fmi3_functions.h"

enum { WIRE_VERSION = 2, WIRE_ARGS = 12, WIRE_ALIGN = 16, WIRE_TEXT = 1024 };

typedef union wire_value {
  double real;
  int64_t integer;
  uint64_t offset;  // of an array
} wire_value;

typedef struct wire_arg {
  wire_value value;
  uint64_t count;  // elements of an array
} wire_arg;

typedef struct wire_call {
  uint32_t function;  // wire_function
  int32_t status;     // of the answer
  uint64_t end;       // the first byte behind the call and its arrays
  uint64_t next;      // the call that follows; 0: none
  uint64_t unused;
  wire_arg args[WIRE_ARGS];
} wire_call;

// Bytes that are returned: texts are terminated, their size includes that.
typedef struct wire_bytes {
  uint64_t offset;  // 0: none
  uint64_t size;
} wire_bytes;

typedef struct wire_head {
  uint32_t version;   // WIRE_VERSION
  uint32_t alone;     // there is one processor: do not spin
  uint32_t started;   // by the host, when it answers for the first time
  uint32_t callback;  // wire_callback; none: this is an answer
  uint32_t crash;     // the code of an exception, or a signal; 0: none
  uint32_t unused;
  uint64_t crash_at;     // its address in the module
  uint64_t size;         // of the data
  uint64_t call;         // the request, or the callback
  char text[WIRE_TEXT];  // why the binary could not be loaded; the module of a crash
} wire_head;

static_assert(sizeof(wire_arg) == 16 && offsetof(wire_call, args) == 32 &&
                  sizeof(wire_call) == 32 + 16 * WIRE_ARGS && sizeof(wire_bytes) == 16 &&
                  offsetof(wire_head, crash_at) == 24 && offsetof(wire_head, text) == 48 &&
                  sizeof(wire_head) == 48 + WIRE_TEXT,
              "the layout is the same on all platforms");

typedef enum wire_callback { WIRE_NO_CALLBACK, WIRE_UPDATE, WIRE_CLOCK_UPDATE } wire_callback;

// Numbers of functions: those of the standard, by version in the order of their lists.
#define WIRE_NUMBER(name, flags) WIRE_##name,
typedef enum wire_function {
  WIRE_START,   // no arguments: the host is there
  WIRE_LOAD,    // path, identifier, version, folder for temporary files; exported: bool[]
  WIRE_RETURN,  // end of a callback
  WIRE_END,     // of the host
  WIRE_FMI1,
  CPLI_FMI1_FUNCTIONS(WIRE_NUMBER) WIRE_FMI2,
  CPLI_FMI2_FUNCTIONS(WIRE_NUMBER) WIRE_FMI3,
  CPLI_FMI3_FUNCTIONS(WIRE_NUMBER) WIRE_FUNCTIONS
} wire_function;
#undef WIRE_NUMBER

//------------------------------------ functions ------------------------------------

// The functions that are forwarded, each with its shape, which determines the code on both sides
// (stubs.h, host_calls.h): X(shape, name, ...).
#define WIRE_FORWARDED2(X)                          \
  X(TEXT, fmi2GetTypesPlatform)                     \
  X(TEXT, fmi2GetVersion)                           \
  X(OWN, fmi2Instantiate)                           \
  X(FREE, fmi2FreeInstance)                         \
  X(OWN, fmi2SetupExperiment)                       \
  X(PLAIN, fmi2EnterInitializationMode)             \
  X(PLAIN, fmi2ExitInitializationMode)              \
  X(PLAIN, fmi2Terminate)                           \
  X(PLAIN, fmi2Reset)                               \
  X(GET, fmi2GetReal, double)                       \
  X(GET, fmi2GetInteger, int)                       \
  X(GET, fmi2GetBoolean, int)                       \
  X(GET_TEXTS, fmi2GetString)                       \
  X(SET, fmi2SetReal, double)                       \
  X(SET, fmi2SetInteger, int)                       \
  X(SET, fmi2SetBoolean, int)                       \
  X(SET_TEXTS, fmi2SetString)                       \
  X(GET_STATE, fmi2GetFMUstate)                     \
  X(SET_STATE, fmi2SetFMUstate)                     \
  X(FREE_STATE, fmi2FreeFMUstate)                   \
  X(STATE_SIZE, fmi2SerializedFMUstateSize)         \
  X(WRITE_STATE, fmi2SerializeFMUstate, char)       \
  X(READ_STATE, fmi2DeSerializeFMUstate, char)      \
  X(OWN, fmi2GetDirectionalDerivative)              \
  X(PLAIN, fmi2EnterEventMode)                      \
  X(OWN, fmi2NewDiscreteStates)                     \
  X(PLAIN, fmi2EnterContinuousTimeMode)             \
  X(OWN, fmi2CompletedIntegratorStep)               \
  X(REAL_IN, fmi2SetTime)                           \
  X(REALS_IN, fmi2SetContinuousStates)              \
  X(REALS_OUT, fmi2GetDerivatives)                  \
  X(REALS_OUT, fmi2GetEventIndicators)              \
  X(REALS_OUT, fmi2GetContinuousStates)             \
  X(REALS_OUT, fmi2GetNominalsOfContinuousStates)   \
  X(DERIVATIVES_IN, fmi2SetRealInputDerivatives)    \
  X(DERIVATIVES_OUT, fmi2GetRealOutputDerivatives)  \
  X(OWN, fmi2DoStep)                                \
  X(ASK, fmi2GetStatus, fmi2StatusKind, fmi2Status) \
  X(ASK, fmi2GetRealStatus, fmi2StatusKind, double) \
  X(ASK, fmi2GetIntegerStatus, fmi2StatusKind, int) \
  X(ASK, fmi2GetBooleanStatus, fmi2StatusKind, int) \
  X(OUT_ONE, fmi2GetMaxStepSize, double)            \
  X(INTEGER_IN, coupletStopAtEvents)                \
  X(INTEGER_IN, coupletLeaveEvents)                 \
  X(OUT_TWO, coupletInputEvent, int, double)        \
  X(OUT_ONE, coupletInputDerivativeOrder, int)

#define WIRE_FORWARDED1(X)                        \
  X(TEXT, fmiGetModelTypesPlatform)               \
  X(TEXT, fmiGetTypesPlatform)                    \
  X(TEXT, fmiGetVersion)                          \
  X(GET, fmiGetReal, double)                      \
  X(GET, fmiGetInteger, int)                      \
  X(GET, fmiGetBoolean, char)                     \
  X(GET_TEXTS, fmiGetString)                      \
  X(SET, fmiSetReal, double)                      \
  X(SET, fmiSetInteger, int)                      \
  X(SET, fmiSetBoolean, char)                     \
  X(SET_TEXTS, fmiSetString)                      \
  X(OWN, fmiInstantiateModel)                     \
  X(FREE, fmiFreeModelInstance)                   \
  X(REAL_IN, fmiSetTime)                          \
  X(REALS_IN, fmiSetContinuousStates)             \
  X(OUT_ONE, fmiCompletedIntegratorStep, char)    \
  X(OWN, fmiInitialize)                           \
  X(REALS_OUT, fmiGetDerivatives)                 \
  X(REALS_OUT, fmiGetEventIndicators)             \
  X(OWN, fmiEventUpdate)                          \
  X(REALS_OUT, fmiGetContinuousStates)            \
  X(REALS_OUT, fmiGetNominalContinuousStates)     \
  X(PLAIN, fmiTerminate)                          \
  X(OWN, fmiInstantiateSlave)                     \
  X(OWN, fmiInitializeSlave)                      \
  X(PLAIN, fmiTerminateSlave)                     \
  X(PLAIN, fmiResetSlave)                         \
  X(FREE, fmiFreeSlaveInstance)                   \
  X(DERIVATIVES_IN, fmiSetRealInputDerivatives)   \
  X(DERIVATIVES_OUT, fmiGetRealOutputDerivatives) \
  X(OWN, fmiDoStep)                               \
  X(ASK, fmiGetStatus, fmiStatusKind, fmiStatus)  \
  X(ASK, fmiGetRealStatus, fmiStatusKind, double)

#define WIRE_FORWARDED3(X)                        \
  X(TEXT, fmi3GetVersion)                         \
  X(OWN, fmi3InstantiateModelExchange)            \
  X(OWN, fmi3InstantiateCoSimulation)             \
  X(OWN, fmi3InstantiateScheduledExecution)       \
  X(FREE, fmi3FreeInstance)                       \
  X(OWN, fmi3EnterInitializationMode)             \
  X(PLAIN, fmi3ExitInitializationMode)            \
  X(PLAIN, fmi3EnterEventMode)                    \
  X(PLAIN, fmi3Terminate)                         \
  X(PLAIN, fmi3Reset)                             \
  X(PLAIN, fmi3EnterConfigurationMode)            \
  X(PLAIN, fmi3ExitConfigurationMode)             \
  X(GET_N, fmi3GetFloat32, float)                 \
  X(GET_N, fmi3GetFloat64, double)                \
  X(GET_N, fmi3GetInt8, int8_t)                   \
  X(GET_N, fmi3GetUInt8, uint8_t)                 \
  X(GET_N, fmi3GetInt16, int16_t)                 \
  X(GET_N, fmi3GetUInt16, uint16_t)               \
  X(GET_N, fmi3GetInt32, int32_t)                 \
  X(GET_N, fmi3GetUInt32, uint32_t)               \
  X(GET_N, fmi3GetInt64, int64_t)                 \
  X(GET_N, fmi3GetUInt64, uint64_t)               \
  X(GET_N, fmi3GetBoolean, bool)                  \
  X(OWN, fmi3GetString)                           \
  X(OWN, fmi3GetBinary)                           \
  X(GET, fmi3GetClock, bool)                      \
  X(SET_N, fmi3SetFloat32, float)                 \
  X(SET_N, fmi3SetFloat64, double)                \
  X(SET_N, fmi3SetInt8, int8_t)                   \
  X(SET_N, fmi3SetUInt8, uint8_t)                 \
  X(SET_N, fmi3SetInt16, int16_t)                 \
  X(SET_N, fmi3SetUInt16, uint16_t)               \
  X(SET_N, fmi3SetInt32, int32_t)                 \
  X(SET_N, fmi3SetUInt32, uint32_t)               \
  X(SET_N, fmi3SetInt64, int64_t)                 \
  X(SET_N, fmi3SetUInt64, uint64_t)               \
  X(SET_N, fmi3SetBoolean, bool)                  \
  X(OWN, fmi3SetString)                           \
  X(OWN, fmi3SetBinary)                           \
  X(SET, fmi3SetClock, bool)                      \
  X(GET_STATE, fmi3GetFMUState)                   \
  X(SET_STATE, fmi3SetFMUState)                   \
  X(FREE_STATE, fmi3FreeFMUState)                 \
  X(STATE_SIZE, fmi3SerializedFMUStateSize)       \
  X(WRITE_STATE, fmi3SerializeFMUState, uint8_t)  \
  X(READ_STATE, fmi3DeserializeFMUState, uint8_t) \
  X(OWN, fmi3GetDirectionalDerivative)            \
  X(OWN, fmi3GetAdjointDerivative)                \
  X(OWN, fmi3GetIntervalDecimal)                  \
  X(OWN, fmi3GetIntervalFraction)                 \
  X(GET, fmi3GetShiftDecimal, double)             \
  X(OWN, fmi3GetShiftFraction)                    \
  X(PLAIN, fmi3EvaluateDiscreteStates)            \
  X(OWN, fmi3UpdateDiscreteStates)                \
  X(PLAIN, fmi3EnterContinuousTimeMode)           \
  X(OWN, fmi3CompletedIntegratorStep)             \
  X(REAL_IN, fmi3SetTime)                         \
  X(REALS_IN, fmi3SetContinuousStates)            \
  X(REALS_OUT, fmi3GetContinuousStateDerivatives) \
  X(REALS_OUT, fmi3GetEventIndicators)            \
  X(REALS_OUT, fmi3GetContinuousStates)           \
  X(REALS_OUT, fmi3GetNominalsOfContinuousStates) \
  X(SIZE_OUT, fmi3GetNumberOfEventIndicators)     \
  X(SIZE_OUT, fmi3GetNumberOfContinuousStates)    \
  X(PLAIN, fmi3EnterStepMode)                     \
  X(OWN, fmi3DoStep)                              \
  X(OWN, fmi3ActivateModelPartition)              \
  X(OWN, fmi3GetOutputDerivatives)                \
  X(OUT_ONE, fmi3GetMaxStepSize, double)          \
  X(OUT_TWO, coupletInputEvent3, bool, double)    \
  X(OWN, coupletSetInputDerivatives3)
