// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The functions of FMI 3.0, as guarded calls (calls.h).
#pragma once

#include "fmi/fmi3_instance.h"

/// The functions in their order, for the table of the version.
const cpli_fmu_call* cpli_fmi3_call_list(size_t* n);

cpl_status cpli_fmi3GetVersion(cpli_fmu_instance* in, const char** out);
cpl_status cpli_fmi3InstantiateModelExchange(cpli_fmu_instance* in);
cpl_status cpli_fmi3InstantiateCoSimulation(cpli_fmu_instance* in);
cpl_status cpli_fmi3InstantiateScheduledExecution(cpli_fmu_instance* in);
cpl_status cpli_fmi3FreeInstance(cpli_fmu_instance* in);
cpl_status cpli_fmi3EnterConfigurationMode(cpli_fmu_instance* in);
cpl_status cpli_fmi3ExitConfigurationMode(cpli_fmu_instance* in);
cpl_status cpli_fmi3EnterInitializationMode(cpli_fmu_instance* in);
cpl_status cpli_fmi3ExitInitializationMode(cpli_fmu_instance* in);
cpl_status cpli_fmi3EnterEventMode(cpli_fmu_instance* in);
cpl_status cpli_fmi3Terminate(cpli_fmu_instance* in);
cpl_status cpli_fmi3Reset(cpli_fmu_instance* in);

#define X(type, ctype, letter)                                                         \
  cpl_status cpli_fmi3Get##type(cpli_fmu_instance* in, const uint32_t* refs, size_t n, \
                                void* values, size_t n_values);                        \
  cpl_status cpli_fmi3Set##type(cpli_fmu_instance* in, const uint32_t* refs, size_t n, \
                                const void* values, size_t n_values);
CPLI_FMI3_TYPES(X)
#undef X
/// The same parameters as above, although clocks are no arrays.
cpl_status cpli_fmi3GetClock(cpli_fmu_instance* in, const uint32_t* refs, size_t n, void* values,
                             size_t n_values);
cpl_status cpli_fmi3SetClock(cpli_fmu_instance* in, const uint32_t* refs, size_t n,
                             const void* values, size_t n_values);
cpl_status cpli_fmi3GetBinary(cpli_fmu_instance* in, const uint32_t* refs, size_t n, size_t* sizes,
                              const uint8_t** values, size_t n_values);
cpl_status cpli_fmi3SetBinary(cpli_fmu_instance* in, const uint32_t* refs, size_t n,
                              const size_t* sizes, const uint8_t* const* values, size_t n_values);

cpl_status cpli_fmi3GetFMUState(cpli_fmu_instance* in, void** state);
cpl_status cpli_fmi3SetFMUState(cpli_fmu_instance* in, void* state);
cpl_status cpli_fmi3FreeFMUState(cpli_fmu_instance* in, void** state);
cpl_status cpli_fmi3SerializedFMUStateSize(cpli_fmu_instance* in, void* state, size_t* size);
cpl_status cpli_fmi3SerializeFMUState(cpli_fmu_instance* in, void* state, uint8_t* bytes,
                                      size_t size);
cpl_status cpli_fmi3DeserializeFMUState(cpli_fmu_instance* in, const uint8_t* bytes, size_t size,
                                        void** state);
cpl_status cpli_fmi3GetDirectionalDerivative(cpli_fmu_instance* in, const cpli_fmi3_group* unknowns,
                                             const cpli_fmi3_group* knowns, const double* seed,
                                             double* result);
cpl_status cpli_fmi3GetAdjointDerivative(cpli_fmu_instance* in, const cpli_fmi3_group* unknowns,
                                         const cpli_fmi3_group* knowns, const double* seed,
                                         double* result);

cpl_status cpli_fmi3GetIntervalDecimal(cpli_fmu_instance* in, uint32_t ref, double* interval,
                                       fmi3IntervalQualifier* qualifier);
cpl_status cpli_fmi3GetIntervalFraction(cpli_fmu_instance* in, uint32_t ref, uint64_t* counter,
                                        uint64_t* resolution, fmi3IntervalQualifier* qualifier);
cpl_status cpli_fmi3GetShiftDecimal(cpli_fmu_instance* in, uint32_t ref, double* shift);
cpl_status cpli_fmi3GetShiftFraction(cpli_fmu_instance* in, uint32_t ref, uint64_t* counter,
                                     uint64_t* resolution);
cpl_status cpli_fmi3UpdateDiscreteStates(cpli_fmu_instance* in, cpl_event_info* info);

cpl_status cpli_fmi3EnterContinuousTimeMode(cpli_fmu_instance* in);
cpl_status cpli_fmi3CompletedIntegratorStep(cpli_fmu_instance* in, bool no_way_back,
                                            bool* enter_event, bool* terminate);
cpl_status cpli_fmi3SetTime(cpli_fmu_instance* in, double t);
cpl_status cpli_fmi3SetContinuousStates(cpli_fmu_instance* in, const double* x, size_t n);
cpl_status cpli_fmi3GetContinuousStateDerivatives(cpli_fmu_instance* in, double* dx, size_t n);
cpl_status cpli_fmi3GetEventIndicators(cpli_fmu_instance* in, double* z, size_t n);
cpl_status cpli_fmi3GetContinuousStates(cpli_fmu_instance* in, double* x, size_t n);
cpl_status cpli_fmi3GetNominalsOfContinuousStates(cpli_fmu_instance* in, double* nominals,
                                                  size_t n);
cpl_status cpli_fmi3GetNumberOfEventIndicators(cpli_fmu_instance* in, size_t* n);
cpl_status cpli_fmi3GetNumberOfContinuousStates(cpli_fmu_instance* in, size_t* n);

// Results of a step.
typedef struct cpli_fmi3_step {
  bool event, terminate, early;
  double reached;
} cpli_fmi3_step;

cpl_status cpli_fmi3EnterStepMode(cpli_fmu_instance* in);
cpl_status cpli_fmi3DoStep(cpli_fmu_instance* in, double h, bool no_way_back, cpli_fmi3_step* step);
cpl_status cpli_fmi3ActivateModelPartition(cpli_fmu_instance* in, uint32_t clock);
cpl_status cpli_fmi3GetOutputDerivatives(cpli_fmu_instance* in, const uint32_t* refs, size_t n,
                                         const int32_t* orders, double* values, size_t n_values);
cpl_status cpli_fmi3GetMaxStepSize(cpli_fmu_instance* in, double* h);
cpl_status cpli_coupletSetInputDerivatives3(cpli_fmu_instance* in, const uint32_t* refs,
                                            const int32_t* elements, size_t n,
                                            const int32_t* orders, const double* values);
cpl_status cpli_coupletInputEvent3(cpli_fmu_instance* in, bool* wanted, double* margin);

/// Constraints: C has room for n values, J for n rows, S and P for the states. CPL_RETRY: the
/// projection does not converge.
cpl_status cpli_fmi3GetNumberOfConstraints(cpli_fmu_instance* in, size_t* n);
cpl_status cpli_fmi3Constraint(cpli_fmu_instance* in, double* c, size_t n);
cpl_status cpli_fmi3ConstraintJacobian(cpli_fmu_instance* in, double* jac, size_t n);
cpl_status cpli_fmi3ProjectionStep(cpli_fmu_instance* in, double* change, size_t n);
cpl_status cpli_fmi3Projection(cpli_fmu_instance* in, double tolerance, size_t limit,
                               double* change, size_t n);
