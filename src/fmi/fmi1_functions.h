// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The list of FMI 1.0 functions: once for the struct of pointers, once for dlsym, once for what a
// failing call means.
#pragma once

#include "fmi/headers/fmiFunctionTypes.h"

#define CPLI_FMI1_FUNCTIONS(X)                                    \
  X(fmiGetModelTypesPlatform, CPLI_ALWAYS | CPLI_ASIDE)           \
  X(fmiGetTypesPlatform, CPLI_ALWAYS | CPLI_ASIDE)                \
  X(fmiGetVersion, CPLI_ALWAYS | CPLI_ASIDE)                      \
  X(fmiGetReal, CPLI_DISCARD | CPLI_ALWAYS)                       \
  X(fmiGetInteger, CPLI_DISCARD | CPLI_ALWAYS)                    \
  X(fmiGetBoolean, CPLI_DISCARD | CPLI_ALWAYS)                    \
  X(fmiGetString, CPLI_DISCARD | CPLI_ALWAYS)                     \
  X(fmiSetReal, CPLI_DISCARD)                                     \
  X(fmiSetInteger, CPLI_DISCARD)                                  \
  X(fmiSetBoolean, CPLI_DISCARD)                                  \
  X(fmiSetString, CPLI_DISCARD)                                   \
  X(fmiInstantiateModel, CPLI_ME | CPLI_LIFE)                     \
  X(fmiFreeModelInstance, CPLI_ME | CPLI_ALWAYS | CPLI_LIFE)      \
  X(fmiSetTime, CPLI_ME | CPLI_DISCARD)                           \
  X(fmiSetContinuousStates, CPLI_ME | CPLI_DISCARD)               \
  X(fmiCompletedIntegratorStep, CPLI_ME)                          \
  X(fmiInitialize, CPLI_ME | CPLI_LIFE)                           \
  X(fmiGetDerivatives, CPLI_ME | CPLI_DISCARD)                    \
  X(fmiGetEventIndicators, CPLI_ME | CPLI_DISCARD)                \
  X(fmiEventUpdate, CPLI_ME | CPLI_BUSY)                          \
  X(fmiGetContinuousStates, CPLI_ME | CPLI_DISCARD)               \
  X(fmiGetNominalContinuousStates, CPLI_ASIDE)                    \
  X(fmiTerminate, CPLI_ME | CPLI_LIFE)                            \
  X(fmiInstantiateSlave, CPLI_CS | CPLI_LIFE)                     \
  X(fmiInitializeSlave, CPLI_CS | CPLI_LIFE)                      \
  X(fmiTerminateSlave, CPLI_CS | CPLI_LIFE)                       \
  X(fmiResetSlave, CPLI_ALWAYS | CPLI_LIFE)                       \
  X(fmiFreeSlaveInstance, CPLI_CS | CPLI_ALWAYS | CPLI_LIFE)      \
  X(fmiSetRealInputDerivatives, CPLI_ASIDE | CPLI_DISCARD)        \
  X(fmiGetRealOutputDerivatives, CPLI_ASIDE | CPLI_DISCARD)       \
  X(fmiDoStep, CPLI_CS | CPLI_DISCARD | CPLI_PENDING | CPLI_BUSY) \
  X(fmiGetStatus, CPLI_ALWAYS | CPLI_ASIDE | CPLI_DISCARD)        \
  X(fmiGetRealStatus, CPLI_ALWAYS | CPLI_ASIDE | CPLI_DISCARD)

typedef struct cpli_fmi1_functions {
#define X(name, flags) name##TYPE* name;
  CPLI_FMI1_FUNCTIONS(X)
#undef X
} cpli_fmi1_functions;
