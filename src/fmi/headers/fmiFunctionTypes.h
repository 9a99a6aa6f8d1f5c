// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The function types of FMI 1.0, model exchange and stand-alone co-simulation. Names and types are
// fixed by the standard. A binary exports them with the prefix "modelIdentifier_".
#ifndef fmiFunctionTypes_h
#define fmiFunctionTypes_h

#include <stddef.h>

#include "fmiPlatformTypes.h"

typedef enum { fmiOK, fmiWarning, fmiDiscard, fmiError, fmiFatal, fmiPending } fmiStatus;

typedef enum { fmiDoStepStatus, fmiPendingStatus, fmiLastSuccessfulTime } fmiStatusKind;

//------------------------------------ callbacks ------------------------------------

typedef void (*fmiCallbackLogger)(fmiComponent c, fmiString instanceName, fmiStatus status,
                                  fmiString category, fmiString message, ...);
typedef void* (*fmiCallbackAllocateMemory)(size_t count, size_t size);
typedef void (*fmiCallbackFreeMemory)(void* memory);
typedef void (*fmiStepFinished)(fmiComponent c, fmiStatus status);

// Of model exchange; co-simulation has one more at the end. Both are passed by value.
typedef struct {
  fmiCallbackLogger logger;
  fmiCallbackAllocateMemory allocateMemory;
  fmiCallbackFreeMemory freeMemory;
} fmiModelCallbackFunctions;

typedef struct {
  fmiCallbackLogger logger;
  fmiCallbackAllocateMemory allocateMemory;
  fmiCallbackFreeMemory freeMemory;
  fmiStepFinished stepFinished;
} fmiSlaveCallbackFunctions;

typedef struct {
  fmiBoolean iterationConverged;
  fmiBoolean stateValueReferencesChanged;
  fmiBoolean stateValuesChanged;
  fmiBoolean terminateSimulation;
  fmiBoolean upcomingTimeEvent;
  fmiReal nextEventTime;
} fmiEventInfo;

//------------------------------------ both kinds ------------------------------------

typedef const char* fmiGetVersionTYPE(void);
typedef fmiStatus fmiSetDebugLoggingTYPE(fmiComponent c, fmiBoolean loggingOn);
typedef fmiStatus fmiGetRealTYPE(fmiComponent c, const fmiValueReference vr[], size_t nvr,
                                 fmiReal value[]);
typedef fmiStatus fmiGetIntegerTYPE(fmiComponent c, const fmiValueReference vr[], size_t nvr,
                                    fmiInteger value[]);
typedef fmiStatus fmiGetBooleanTYPE(fmiComponent c, const fmiValueReference vr[], size_t nvr,
                                    fmiBoolean value[]);
typedef fmiStatus fmiGetStringTYPE(fmiComponent c, const fmiValueReference vr[], size_t nvr,
                                   fmiString value[]);
typedef fmiStatus fmiSetRealTYPE(fmiComponent c, const fmiValueReference vr[], size_t nvr,
                                 const fmiReal value[]);
typedef fmiStatus fmiSetIntegerTYPE(fmiComponent c, const fmiValueReference vr[], size_t nvr,
                                    const fmiInteger value[]);
typedef fmiStatus fmiSetBooleanTYPE(fmiComponent c, const fmiValueReference vr[], size_t nvr,
                                    const fmiBoolean value[]);
typedef fmiStatus fmiSetStringTYPE(fmiComponent c, const fmiValueReference vr[], size_t nvr,
                                   const fmiString value[]);

//------------------------------------ model exchange ------------------------------------

typedef const char* fmiGetModelTypesPlatformTYPE(void);
typedef fmiComponent fmiInstantiateModelTYPE(fmiString instanceName, fmiString GUID,
                                             fmiModelCallbackFunctions functions,
                                             fmiBoolean loggingOn);
typedef void fmiFreeModelInstanceTYPE(fmiComponent c);
typedef fmiStatus fmiSetTimeTYPE(fmiComponent c, fmiReal time);
typedef fmiStatus fmiSetContinuousStatesTYPE(fmiComponent c, const fmiReal x[], size_t nx);
typedef fmiStatus fmiCompletedIntegratorStepTYPE(fmiComponent c, fmiBoolean* callEventUpdate);
typedef fmiStatus fmiInitializeTYPE(fmiComponent c, fmiBoolean toleranceControlled,
                                    fmiReal relativeTolerance, fmiEventInfo* eventInfo);
typedef fmiStatus fmiGetDerivativesTYPE(fmiComponent c, fmiReal derivatives[], size_t nx);
typedef fmiStatus fmiGetEventIndicatorsTYPE(fmiComponent c, fmiReal eventIndicators[], size_t ni);
typedef fmiStatus fmiEventUpdateTYPE(fmiComponent c, fmiBoolean intermediateResults,
                                     fmiEventInfo* eventInfo);
typedef fmiStatus fmiGetContinuousStatesTYPE(fmiComponent c, fmiReal states[], size_t nx);
typedef fmiStatus fmiGetNominalContinuousStatesTYPE(fmiComponent c, fmiReal x_nominal[], size_t nx);
typedef fmiStatus fmiGetStateValueReferencesTYPE(fmiComponent c, fmiValueReference vrx[],
                                                 size_t nx);
typedef fmiStatus fmiTerminateTYPE(fmiComponent c);

//------------------------------------ co-simulation ------------------------------------

typedef const char* fmiGetTypesPlatformTYPE(void);
typedef fmiComponent fmiInstantiateSlaveTYPE(fmiString instanceName, fmiString fmuGUID,
                                             fmiString fmuLocation, fmiString mimeType,
                                             fmiReal timeout, fmiBoolean visible,
                                             fmiBoolean interactive,
                                             fmiSlaveCallbackFunctions functions,
                                             fmiBoolean loggingOn);
typedef fmiStatus fmiInitializeSlaveTYPE(fmiComponent c, fmiReal tStart, fmiBoolean StopTimeDefined,
                                         fmiReal tStop);
typedef fmiStatus fmiTerminateSlaveTYPE(fmiComponent c);
typedef fmiStatus fmiResetSlaveTYPE(fmiComponent c);
typedef void fmiFreeSlaveInstanceTYPE(fmiComponent c);
typedef fmiStatus fmiSetRealInputDerivativesTYPE(fmiComponent c, const fmiValueReference vr[],
                                                 size_t nvr, const fmiInteger order[],
                                                 const fmiReal value[]);
typedef fmiStatus fmiGetRealOutputDerivativesTYPE(fmiComponent c, const fmiValueReference vr[],
                                                  size_t nvr, const fmiInteger order[],
                                                  fmiReal value[]);
typedef fmiStatus fmiCancelStepTYPE(fmiComponent c);
typedef fmiStatus fmiDoStepTYPE(fmiComponent c, fmiReal currentCommunicationPoint,
                                fmiReal communicationStepSize, fmiBoolean newStep);
typedef fmiStatus fmiGetStatusTYPE(fmiComponent c, const fmiStatusKind s, fmiStatus* value);
typedef fmiStatus fmiGetRealStatusTYPE(fmiComponent c, const fmiStatusKind s, fmiReal* value);
typedef fmiStatus fmiGetIntegerStatusTYPE(fmiComponent c, const fmiStatusKind s, fmiInteger* value);
typedef fmiStatus fmiGetBooleanStatusTYPE(fmiComponent c, const fmiStatusKind s, fmiBoolean* value);
typedef fmiStatus fmiGetStringStatusTYPE(fmiComponent c, const fmiStatusKind s, fmiString* value);

#endif
