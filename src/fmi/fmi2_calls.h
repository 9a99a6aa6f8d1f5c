// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The functions of FMI 2.0, as guarded calls (calls.h).
#pragma once

#include "fmi/fmi2_instance.h"

/// The functions in their order, for the table of the version.
const cpli_fmu_call* cpli_fmi2_call_list(size_t* n);

/// The callbacks handed to the FMU.
fmi2CallbackFunctions cpli_fmi2_callbacks(cpli_fmi2* in);

cpl_status cpli_fmi2GetTypesPlatform(cpli_fmu_instance* in, const char** out);
cpl_status cpli_fmi2GetVersion(cpli_fmu_instance* in, const char** out);
cpl_status cpli_fmi2Instantiate(cpli_fmu_instance* in);
cpl_status cpli_fmi2FreeInstance(cpli_fmu_instance* in);
cpl_status cpli_fmi2SetupExperiment(cpli_fmu_instance* in, const cpl_setup* setup);
cpl_status cpli_fmi2EnterInitializationMode(cpli_fmu_instance* in);
cpl_status cpli_fmi2ExitInitializationMode(cpli_fmu_instance* in);
cpl_status cpli_fmi2Terminate(cpli_fmu_instance* in);
cpl_status cpli_fmi2Reset(cpli_fmu_instance* in);

cpl_status cpli_fmi2GetReal(cpli_fmu_instance* in, const uint32_t* refs, size_t n, double* values);
cpl_status cpli_fmi2GetInteger(cpli_fmu_instance* in, const uint32_t* refs, size_t n, int* values);
cpl_status cpli_fmi2GetBoolean(cpli_fmu_instance* in, const uint32_t* refs, size_t n, int* values);
cpl_status cpli_fmi2GetString(cpli_fmu_instance* in, const uint32_t* refs, size_t n,
                              const char** values);
cpl_status cpli_fmi2SetReal(cpli_fmu_instance* in, const uint32_t* refs, size_t n,
                            const double* values);
cpl_status cpli_fmi2SetInteger(cpli_fmu_instance* in, const uint32_t* refs, size_t n,
                               const int* values);
cpl_status cpli_fmi2SetBoolean(cpli_fmu_instance* in, const uint32_t* refs, size_t n,
                               const int* values);
cpl_status cpli_fmi2SetString(cpli_fmu_instance* in, const uint32_t* refs, size_t n,
                              const char* const* values);

cpl_status cpli_fmi2GetFMUstate(cpli_fmu_instance* in, void** state);
cpl_status cpli_fmi2SetFMUstate(cpli_fmu_instance* in, void* state);
cpl_status cpli_fmi2FreeFMUstate(cpli_fmu_instance* in, void** state);
cpl_status cpli_fmi2SerializedFMUstateSize(cpli_fmu_instance* in, void* state, size_t* size);
cpl_status cpli_fmi2SerializeFMUstate(cpli_fmu_instance* in, void* state, uint8_t* bytes,
                                      size_t size);
cpl_status cpli_fmi2DeSerializeFMUstate(cpli_fmu_instance* in, const uint8_t* bytes, size_t size,
                                        void** state);
cpl_status cpli_fmi2GetDirectionalDerivative(cpli_fmu_instance* in, const uint32_t* unknowns,
                                             size_t n_unknowns, const uint32_t* knowns,
                                             size_t n_knowns, const double* seed, double* result);

cpl_status cpli_fmi2EnterEventMode(cpli_fmu_instance* in);
cpl_status cpli_fmi2NewDiscreteStates(cpli_fmu_instance* in, fmi2EventInfo* info);
cpl_status cpli_fmi2EnterContinuousTimeMode(cpli_fmu_instance* in);
cpl_status cpli_fmi2CompletedIntegratorStep(cpli_fmu_instance* in, bool no_way_back,
                                            bool* enter_event, bool* terminate);
cpl_status cpli_fmi2SetTime(cpli_fmu_instance* in, double t);
cpl_status cpli_fmi2SetContinuousStates(cpli_fmu_instance* in, const double* x, size_t n);
cpl_status cpli_fmi2GetDerivatives(cpli_fmu_instance* in, double* dx, size_t n);
cpl_status cpli_fmi2GetEventIndicators(cpli_fmu_instance* in, double* z, size_t n);
cpl_status cpli_fmi2GetContinuousStates(cpli_fmu_instance* in, double* x, size_t n);
cpl_status cpli_fmi2GetNominalsOfContinuousStates(cpli_fmu_instance* in, double* nominals,
                                                  size_t n);

cpl_status cpli_fmi2SetRealInputDerivatives(cpli_fmu_instance* in, const uint32_t* refs, size_t n,
                                            const int* orders, const double* values);
cpl_status cpli_fmi2GetRealOutputDerivatives(cpli_fmu_instance* in, const uint32_t* refs, size_t n,
                                             const int* orders, double* values);
/// CPL_RETRY: discarded or pending, see in->base.last.
cpl_status cpli_fmi2DoStep(cpli_fmu_instance* in, double h, int no_way_back);
cpl_status cpli_fmi2GetStatus(cpli_fmu_instance* in, fmi2StatusKind kind, fmi2Status* value);
cpl_status cpli_fmi2GetRealStatus(cpli_fmu_instance* in, fmi2StatusKind kind, double* value);
cpl_status cpli_fmi2GetBooleanStatus(cpli_fmu_instance* in, fmi2StatusKind kind, int* value);
cpl_status cpli_fmi2GetMaxStepSize(cpli_fmu_instance* in, double* h);
cpl_status cpli_coupletStopAtEvents(cpli_fmu_instance* in, int on);
cpl_status cpli_coupletLeaveEvents(cpli_fmu_instance* in, int on);
cpl_status cpli_coupletInputDerivativeOrder(cpli_fmu_instance* in, int* order);
/// Evaluates the first of these models by one guarded call, as cpl_model_ops.evaluate does. *done
/// is how many; CPL_OK with none: the ordinary calls are needed for the first one.
cpl_status cpli_coupletEvaluate(cpl_model* const* models, size_t n, const cpl_evaluation* e,
                                size_t* done);
cpl_status cpli_coupletInputEvent(cpli_fmu_instance* in, int* wanted, double* margin);

/// The result of an asynchronous step, when its status is known.
cpl_status cpli_fmi2_step_ended(cpli_fmi2* in, fmi2Status status);

/// Constraints: C has room for n values, J for n rows, S and P for the states. CPL_RETRY: the
/// projection does not converge.
cpl_status cpli_fmi2GetNumberOfConstraints(cpli_fmu_instance* in, size_t* n);
cpl_status cpli_fmi2Constraint(cpli_fmu_instance* in, double* c, size_t n);
cpl_status cpli_fmi2ConstraintJacobian(cpli_fmu_instance* in, double* jac, size_t n);
cpl_status cpli_fmi2ProjectionStep(cpli_fmu_instance* in, double* change, size_t n);
cpl_status cpli_fmi2Projection(cpli_fmu_instance* in, double tolerance, size_t limit,
                               double* change, size_t n);
