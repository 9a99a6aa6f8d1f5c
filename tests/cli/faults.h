// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The functions of an FMU and the call of each that a test lets go wrong. Versions of the standard
// are rows of `suites`.
#pragma once

#include "command.h"

typedef struct fault {
  const char* function;
  int n;        // which call of it fails
  bool during;  // while time runs: there are results
} fault;

static const fault fmi2_me_faults[] = {
    {"fmi2Instantiate", 1, false},
    {"fmi2SetupExperiment", 1, false},
    {"fmi2EnterInitializationMode", 1, false},
    {"fmi2ExitInitializationMode", 1, false},
    {"fmi2SetReal", 1, false},
    {"fmi2NewDiscreteStates", 1, false},
    {"fmi2EnterContinuousTimeMode", 1, false},
    {"fmi2GetContinuousStates", 1, false},
    {"fmi2GetReal", 1, true},
    {"fmi2GetReal", 20, true},
    {"fmi2SetTime", 40, true},
    {"fmi2SetContinuousStates", 40, true},
    {"fmi2GetDerivatives", 30, true},
    {"fmi2GetEventIndicators", 30, true},
    {"fmi2CompletedIntegratorStep", 10, true},
    {"fmi2EnterEventMode", 1, true},
    {"fmi2NewDiscreteStates", 3, true},
    {"fmi2Terminate", 1, true},
};

static const fault fmi2_cs_faults[] = {
    {"fmi2Instantiate", 1, false},
    {"fmi2SetupExperiment", 1, false},
    {"fmi2EnterInitializationMode", 1, false},
    {"fmi2ExitInitializationMode", 1, false},
    {"fmi2GetReal", 7, true},
    {"fmi2DoStep", 20, true},
    {"fmi2Terminate", 1, true},
};

// Of no importance to the run, but set and read: --set and --record name one variable a type.
static const fault fmi2_value_faults[] = {
    {"fmi2SetInteger", 1, false}, {"fmi2SetBoolean", 1, false}, {"fmi2SetString", 1, false},
    {"fmi2GetInteger", 9, true},  {"fmi2GetBoolean", 9, true},  {"fmi2GetString", 9, true},
};

typedef struct fault_suite {
  const char *file, *as;
  const fault* faults;
  size_t n;
} fault_suite;

#define SUITE(file, as, list) \
  { file, as, list, sizeof(list) / sizeof *(list) }
static const fault_suite suites[] = {
    SUITE("probe.fmu", "me", fmi2_me_faults),
    SUITE("probe.fmu", "cs", fmi2_cs_faults),
    SUITE("probe.fmu", "me", fmi2_value_faults),
};
enum { N_SUITES = sizeof suites / sizeof *suites };

static inline void make_probes(void) { make_probe("probe.fmu", "probe", NULL); }

static inline void provoke(const char* function, int n, const char* kind) {
  char text[128];
  snprintf(text, sizeof text, "%s:%d:%s", function, n, kind);
  setenv("PROBE_FAULT", text, 1);
}

static inline int tear_down(void** state) {
  (void)state;
  unsetenv("PROBE_FAULT");
  return 0;
}
