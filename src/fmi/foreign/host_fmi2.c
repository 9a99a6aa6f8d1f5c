// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Calls of FMI 2.0 in the host.
#include <string.h>

#include "fmi/foreign/host_calls.h"

static void on_message(fmi2ComponentEnvironment environment, fmi2String instance, fmi2Status status,
                       fmi2String category, fmi2String message, ...) {
  va_list args;
  (void)environment;
  (void)instance;
  va_start(args, message);
  host_message((int)status, category, message, args);
  va_end(args);
}

static int serve_fmi2Instantiate(wire_call* c) {
  static const fmi2CallbackFunctions functions = {.logger = on_message,
                                                  .allocateMemory = host_allocate,
                                                  .freeMemory = host_release,
                                                  .componentEnvironment = &the_host};
  the_host.instance =
      FN(fmi2Instantiate)(host_kept_text(c, 0), (fmi2Type)host_integer(c, 1), host_kept_text(c, 2),
                          host_kept_text(c, 3), &functions, host_integer(c, 4), host_integer(c, 5));
  return the_host.instance != NULL ? fmi2OK : fmi2Error;
}

static int serve_fmi2SetupExperiment(wire_call* c) {
  return CALL(fmi2SetupExperiment, host_integer(c, 0), host_real(c, 1), host_real(c, 2),
              host_integer(c, 3), host_real(c, 4));
}

static int serve_fmi2GetDirectionalDerivative(wire_call* c) {
  return CALL(fmi2GetDirectionalDerivative, host_array(c, 0), host_count(c, 0), host_array(c, 1),
              host_count(c, 1), host_array(c, 2), host_array(c, 3));
}

static int serve_fmi2NewDiscreteStates(wire_call* c) {
  int* flags = host_array(c, 0);
  fmi2EventInfo info = {flags[0], flags[1], flags[2],
                        flags[3], flags[4], *(double*)host_array(c, 1)};
  const fmi2Status status = FN(fmi2NewDiscreteStates)(the_host.instance, &info);
  flags[0] = info.newDiscreteStatesNeeded;
  flags[1] = info.terminateSimulation;
  flags[2] = info.nominalsOfContinuousStatesChanged;
  flags[3] = info.valuesOfContinuousStatesChanged;
  flags[4] = info.nextEventTimeDefined;
  *(double*)host_array(c, 1) = info.nextEventTime;
  return (int)status;
}

static int serve_fmi2CompletedIntegratorStep(wire_call* c) {
  return CALL(fmi2CompletedIntegratorStep, host_integer(c, 0), host_array(c, 1), host_array(c, 2));
}

static int serve_fmi2DoStep(wire_call* c) {
  return CALL(fmi2DoStep, host_real(c, 0), host_real(c, 1), host_integer(c, 2));
}

int host_call_fmi2(wire_call* c) {
  switch (c->function) {
    WIRE_FORWARDED2(SERVE)
    default: return fmi2Error;
  }
}
