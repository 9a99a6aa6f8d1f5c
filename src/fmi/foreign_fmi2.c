// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The functions of FMI 2.0 of a binary for another platform.
#include "fmi/foreign_stubs.h"

#define STATUS fmi2Status

// The instance in this process stands for the only one in the host.
static fmi2Component stub_fmi2Instantiate(fmi2String name, fmi2Type type, fmi2String guid,
                                          fmi2String resources,
                                          const fmi2CallbackFunctions* functions,
                                          fmi2Boolean visible, fmi2Boolean logging) {
  cpli_foreign* f = cpli_foreign_selected();
  (void)functions;  // the host has its own, whose messages arrive by cpli_foreign_call()
  if (f == NULL) return NULL;
  const int status =
      FORWARD(f, fmi2Instantiate, CPLI_TEXT_IN(name), CPLI_INTEGER(type), CPLI_TEXT_IN(guid),
              CPLI_TEXT_IN(resources), CPLI_INTEGER(visible), CPLI_INTEGER(logging));
  return status == CPLI_FMU_OK ? f : NULL;
}

static fmi2Status stub_fmi2SetupExperiment(fmi2Component c, fmi2Boolean has_tolerance,
                                           fmi2Real tolerance, fmi2Real start, fmi2Boolean has_stop,
                                           fmi2Real stop) {
  return FORWARD(c, fmi2SetupExperiment, CPLI_INTEGER(has_tolerance), CPLI_REAL(tolerance),
                 CPLI_REAL(start), CPLI_INTEGER(has_stop), CPLI_REAL(stop));
}

static fmi2Status stub_fmi2GetDirectionalDerivative(
    fmi2Component c, const fmi2ValueReference unknowns[], size_t n_unknowns,
    const fmi2ValueReference knowns[], size_t n_knowns, const fmi2Real seed[], fmi2Real result[]) {
  return FORWARD(c, fmi2GetDirectionalDerivative, CPLI_IN(unknowns, n_unknowns),
                 CPLI_IN(knowns, n_knowns), CPLI_IN(seed, n_knowns), CPLI_OUT(result, n_unknowns));
}

// Padding of the struct differs between platforms: its members are transferred.
static fmi2Status stub_fmi2NewDiscreteStates(fmi2Component c, fmi2EventInfo* info) {
  int flags[] = {info->newDiscreteStatesNeeded, info->terminateSimulation,
                 info->nominalsOfContinuousStatesChanged, info->valuesOfContinuousStatesChanged,
                 info->nextEventTimeDefined};
  const fmi2Status status = FORWARD(c, fmi2NewDiscreteStates, CPLI_OUT(flags, CPLI_COUNT(flags)),
                                    CPLI_OUT(&info->nextEventTime, 1));
  info->newDiscreteStatesNeeded = flags[0];
  info->terminateSimulation = flags[1];
  info->nominalsOfContinuousStatesChanged = flags[2];
  info->valuesOfContinuousStatesChanged = flags[3];
  info->nextEventTimeDefined = flags[4];
  return status;
}

static fmi2Status stub_fmi2CompletedIntegratorStep(fmi2Component c, fmi2Boolean no_way_back,
                                                   fmi2Boolean* event, fmi2Boolean* terminate) {
  return FORWARD(c, fmi2CompletedIntegratorStep, CPLI_INTEGER(no_way_back), CPLI_OUT(event, 1),
                 CPLI_OUT(terminate, 1));
}

static fmi2Status stub_fmi2DoStep(fmi2Component c, fmi2Real t, fmi2Real h,
                                  fmi2Boolean no_way_back) {
  return FORWARD(c, fmi2DoStep, CPLI_REAL(t), CPLI_REAL(h), CPLI_INTEGER(no_way_back));
}

WIRE_FORWARDED2(STUB)

const cpli_forwarder* cpli_foreign_fmi2(size_t* n) {
  static const cpli_forwarder stubs[] = {WIRE_FORWARDED2(STUB_ROW)};
  *n = CPLI_COUNT(stubs);
  return stubs;
}
