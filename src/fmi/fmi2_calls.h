// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The functions of FMI 2.0, called as calls.h says.
#pragma once

#include "fmi/fmi2_instance.h"

/// The functions in their order, for the table of the version.
const cpli_fmu_call* cpli_fmi2_call_list(size_t* n);

/// The callbacks handed to the FMU.
fmi2CallbackFunctions cpli_fmi2_callbacks(cpli_fmi2* in);

cpl_status cpli_fmi2GetTypesPlatform(cpli_fmi2* in, const char** out);
cpl_status cpli_fmi2GetVersion(cpli_fmi2* in, const char** out);
cpl_status cpli_fmi2Instantiate(cpli_fmi2* in);
cpl_status cpli_fmi2FreeInstance(cpli_fmi2* in);
cpl_status cpli_fmi2SetupExperiment(cpli_fmi2* in, const cpl_setup* setup);
cpl_status cpli_fmi2EnterInitializationMode(cpli_fmi2* in);
cpl_status cpli_fmi2ExitInitializationMode(cpli_fmi2* in);
cpl_status cpli_fmi2Terminate(cpli_fmi2* in);
cpl_status cpli_fmi2Reset(cpli_fmi2* in);

cpl_status cpli_fmi2GetReal(cpli_fmi2* in, const uint32_t* refs, size_t n, double* values);
cpl_status cpli_fmi2GetInteger(cpli_fmi2* in, const uint32_t* refs, size_t n, int* values);
cpl_status cpli_fmi2GetBoolean(cpli_fmi2* in, const uint32_t* refs, size_t n, int* values);
cpl_status cpli_fmi2GetString(cpli_fmi2* in, const uint32_t* refs, size_t n, const char** values);
cpl_status cpli_fmi2SetReal(cpli_fmi2* in, const uint32_t* refs, size_t n, const double* values);
cpl_status cpli_fmi2SetInteger(cpli_fmi2* in, const uint32_t* refs, size_t n, const int* values);
cpl_status cpli_fmi2SetBoolean(cpli_fmi2* in, const uint32_t* refs, size_t n, const int* values);
cpl_status cpli_fmi2SetString(cpli_fmi2* in, const uint32_t* refs, size_t n,
                              const char* const* values);

cpl_status cpli_fmi2GetFMUstate(cpli_fmi2* in, fmi2FMUstate* state);
cpl_status cpli_fmi2SetFMUstate(cpli_fmi2* in, fmi2FMUstate state);
cpl_status cpli_fmi2FreeFMUstate(cpli_fmi2* in, fmi2FMUstate* state);
cpl_status cpli_fmi2SerializedFMUstateSize(cpli_fmi2* in, fmi2FMUstate state, size_t* size);
cpl_status cpli_fmi2SerializeFMUstate(cpli_fmi2* in, fmi2FMUstate state, fmi2Byte* bytes,
                                      size_t size);
cpl_status cpli_fmi2DeSerializeFMUstate(cpli_fmi2* in, const fmi2Byte* bytes, size_t size,
                                        fmi2FMUstate* state);
cpl_status cpli_fmi2GetDirectionalDerivative(cpli_fmi2* in, const uint32_t* unknowns,
                                             size_t n_unknowns, const uint32_t* knowns,
                                             size_t n_knowns, const double* seed, double* result);

cpl_status cpli_fmi2EnterEventMode(cpli_fmi2* in);
cpl_status cpli_fmi2NewDiscreteStates(cpli_fmi2* in, fmi2EventInfo* info);
cpl_status cpli_fmi2EnterContinuousTimeMode(cpli_fmi2* in);
cpl_status cpli_fmi2CompletedIntegratorStep(cpli_fmi2* in, int no_way_back, int* enter_event,
                                            int* terminate);
cpl_status cpli_fmi2SetTime(cpli_fmi2* in, double t);
cpl_status cpli_fmi2SetContinuousStates(cpli_fmi2* in, const double* x, size_t n);
cpl_status cpli_fmi2GetDerivatives(cpli_fmi2* in, double* dx, size_t n);
cpl_status cpli_fmi2GetEventIndicators(cpli_fmi2* in, double* z, size_t n);
cpl_status cpli_fmi2GetContinuousStates(cpli_fmi2* in, double* x, size_t n);
cpl_status cpli_fmi2GetNominalsOfContinuousStates(cpli_fmi2* in, double* nominals, size_t n);

cpl_status cpli_fmi2SetRealInputDerivatives(cpli_fmi2* in, const uint32_t* refs, size_t n,
                                            const int* orders, const double* values);
/// CPL_RETRY: discarded or pending, see in->base.last.
cpl_status cpli_fmi2DoStep(cpli_fmi2* in, double h, int no_way_back);
cpl_status cpli_fmi2GetStatus(cpli_fmi2* in, fmi2StatusKind kind, fmi2Status* value);
cpl_status cpli_fmi2GetRealStatus(cpli_fmi2* in, fmi2StatusKind kind, double* value);
cpl_status cpli_fmi2GetBooleanStatus(cpli_fmi2* in, fmi2StatusKind kind, int* value);
cpl_status cpli_fmi2GetMaxStepSize(cpli_fmi2* in, double* h);
cpl_status cpli_coupletStopAtEvents(cpli_fmi2* in, int on);
cpl_status cpli_coupletLeaveEvents(cpli_fmi2* in, int on);
cpl_status cpli_coupletInputDerivativeOrder(cpli_fmi2* in, int* order);
cpl_status cpli_coupletInputEvent(cpli_fmi2* in, int* wanted, double* margin);

/// What a failed step means for the instance, once the stepper has found out (asynchronous FMUs).
cpl_status cpli_fmi2_step_ended(cpli_fmi2* in, fmi2Status status);

/// Constraints: C has room for n values, J for n rows, S and P for the states. CPL_RETRY: there is
/// no way onto them.
cpl_status cpli_fmi2GetNumberOfConstraints(cpli_fmi2* in, size_t* n);
cpl_status cpli_fmi2Constraint(cpli_fmi2* in, double* c, size_t n);
cpl_status cpli_fmi2ConstraintJacobian(cpli_fmi2* in, double* jac, size_t n);
cpl_status cpli_fmi2ProjectionStep(cpli_fmi2* in, double* change, size_t n);
cpl_status cpli_fmi2Projection(cpli_fmi2* in, double tolerance, size_t limit, double* change,
                               size_t n);
