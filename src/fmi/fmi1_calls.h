// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The functions of FMI 1.0, as guarded calls (calls.h).
#pragma once

#include "fmi/fmi1_instance.h"

/// The functions in their order, for the table of the version.
const cpli_fmu_call* cpli_fmi1_call_list(size_t* n);

/// Register an instance for messages, which carry only the pointer of the FMU.
void cpli_fmi1_listen(cpli_fmi1* in);
void cpli_fmi1_stop_listening(cpli_fmi1* in);

cpl_status cpli_fmiGetModelTypesPlatform(cpli_fmu_instance* in, const char** out);
cpl_status cpli_fmiGetTypesPlatform(cpli_fmu_instance* in, const char** out);
cpl_status cpli_fmiGetVersion(cpli_fmu_instance* in, const char** out);
cpl_status cpli_fmiGetReal(cpli_fmu_instance* in, const uint32_t* refs, size_t n, double* values);
cpl_status cpli_fmiGetInteger(cpli_fmu_instance* in, const uint32_t* refs, size_t n, int* values);
cpl_status cpli_fmiGetBoolean(cpli_fmu_instance* in, const uint32_t* refs, size_t n, char* values);
cpl_status cpli_fmiGetString(cpli_fmu_instance* in, const uint32_t* refs, size_t n,
                             const char** values);
cpl_status cpli_fmiSetReal(cpli_fmu_instance* in, const uint32_t* refs, size_t n,
                           const double* values);
cpl_status cpli_fmiSetInteger(cpli_fmu_instance* in, const uint32_t* refs, size_t n,
                              const int* values);
cpl_status cpli_fmiSetBoolean(cpli_fmu_instance* in, const uint32_t* refs, size_t n,
                              const char* values);
cpl_status cpli_fmiSetString(cpli_fmu_instance* in, const uint32_t* refs, size_t n,
                             const char* const* values);

cpl_status cpli_fmiInstantiateModel(cpli_fmu_instance* in);
cpl_status cpli_fmiFreeModelInstance(cpli_fmu_instance* in);
cpl_status cpli_fmiSetTime(cpli_fmu_instance* in, double t);
cpl_status cpli_fmiSetContinuousStates(cpli_fmu_instance* in, const double* x, size_t n);
cpl_status cpli_fmiCompletedIntegratorStep(cpli_fmu_instance* in, char* event_update);
cpl_status cpli_fmiInitialize(cpli_fmu_instance* in, fmiEventInfo* info);
cpl_status cpli_fmiGetDerivatives(cpli_fmu_instance* in, double* dx, size_t n);
cpl_status cpli_fmiGetEventIndicators(cpli_fmu_instance* in, double* z, size_t n);
cpl_status cpli_fmiEventUpdate(cpli_fmu_instance* in, int intermediate, fmiEventInfo* info);
cpl_status cpli_fmiGetContinuousStates(cpli_fmu_instance* in, double* x, size_t n);
cpl_status cpli_fmiGetNominalContinuousStates(cpli_fmu_instance* in, double* nominals, size_t n);
cpl_status cpli_fmiTerminate(cpli_fmu_instance* in);

cpl_status cpli_fmiInstantiateSlave(cpli_fmu_instance* in);
cpl_status cpli_fmiInitializeSlave(cpli_fmu_instance* in);
cpl_status cpli_fmiTerminateSlave(cpli_fmu_instance* in);
cpl_status cpli_fmiResetSlave(cpli_fmu_instance* in);
cpl_status cpli_fmiFreeSlaveInstance(cpli_fmu_instance* in);
cpl_status cpli_fmiSetRealInputDerivatives(cpli_fmu_instance* in, const uint32_t* refs, size_t n,
                                           const int* orders, const double* values);
cpl_status cpli_fmiGetRealOutputDerivatives(cpli_fmu_instance* in, const uint32_t* refs, size_t n,
                                            const int* orders, double* values);
/// CPL_RETRY: discarded or pending, see in->base.last.
cpl_status cpli_fmiDoStep(cpli_fmu_instance* in, double h);
cpl_status cpli_fmiGetStatus(cpli_fmu_instance* in, fmiStatusKind kind, fmiStatus* value);
cpl_status cpli_fmiGetRealStatus(cpli_fmu_instance* in, fmiStatusKind kind, double* value);

/// The result of an asynchronous step, when its status is known.
cpl_status cpli_fmi1_step_ended(cpli_fmi1* in, fmiStatus status);
