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

/// Where such a function fails, the run goes on without it.
static inline bool is_optional(const fault* f) {
  return strstr(f->function, "DirectionalDerivative") != NULL ||
         strstr(f->function, "InputDerivatives") != NULL;
}

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

static const fault fmi1_me_faults[] = {
    {"fmiInstantiateModel", 1, false},
    {"fmiSetTime", 1, false},
    {"fmiInitialize", 1, false},
    {"fmiSetReal", 1, false},
    {"fmiEventUpdate", 1, false},
    {"fmiGetContinuousStates", 1, false},
    {"fmiGetReal", 1, true},
    {"fmiGetReal", 20, true},
    {"fmiSetTime", 40, true},
    {"fmiSetContinuousStates", 40, true},
    {"fmiGetDerivatives", 30, true},
    {"fmiGetEventIndicators", 30, true},
    {"fmiCompletedIntegratorStep", 10, true},
    {"fmiEventUpdate", 3, true},
    {"fmiTerminate", 1, true},
};

static const fault fmi1_cs_faults[] = {
    {"fmiInstantiateSlave", 1, false}, {"fmiInitializeSlave", 1, false}, {"fmiGetReal", 7, true},
    {"fmiDoStep", 20, true},           {"fmiTerminateSlave", 1, true},
};

static const fault fmi1_value_faults[] = {
    {"fmiSetInteger", 1, false}, {"fmiSetBoolean", 1, false}, {"fmiSetString", 1, false},
    {"fmiGetInteger", 9, true},  {"fmiGetBoolean", 9, true},  {"fmiGetString", 9, true},
};

static const fault fmi3_me_faults[] = {
    {"fmi3InstantiateModelExchange", 1, false},
    {"fmi3EnterConfigurationMode", 1, false},
    {"fmi3ExitConfigurationMode", 1, false},
    {"fmi3GetNumberOfContinuousStates", 1, false},
    {"fmi3GetNumberOfEventIndicators", 1, false},
    {"fmi3EnterInitializationMode", 1, false},
    {"fmi3GetIntervalDecimal", 1, false},
    {"fmi3GetIntervalFraction", 1, false},
    {"fmi3GetShiftDecimal", 1, false},
    {"fmi3GetShiftFraction", 1, false},
    {"fmi3ExitInitializationMode", 1, false},
    {"fmi3SetFloat64", 1, false},
    {"fmi3UpdateDiscreteStates", 1, false},
    {"fmi3EnterContinuousTimeMode", 1, false},
    {"fmi3GetContinuousStates", 1, false},
    {"fmi3GetNominalsOfContinuousStates", 1, false},
    {"fmi3GetFloat64", 20, true},
    {"fmi3SetTime", 40, true},
    {"fmi3SetContinuousStates", 40, true},
    {"fmi3GetContinuousStateDerivatives", 30, true},
    {"fmi3GetDirectionalDerivative", 20, true},
    {"fmi3EnterEventMode", 2, true},
    {"fmi3SetClock", 5, true},
    {"fmi3GetClock", 5, true},
    {"fmi3GetIntervalDecimal", 20, true},
    {"fmi3UpdateDiscreteStates", 4, true},
    {"fmi3Terminate", 1, true},
};

static const fault fmi3_cs_faults[] = {
    {"fmi3InstantiateCoSimulation", 1, false},
    {"fmi3EnterConfigurationMode", 1, false},
    {"fmi3ExitConfigurationMode", 1, false},
    {"fmi3EnterInitializationMode", 1, false},
    {"fmi3ExitInitializationMode", 1, false},
    {"fmi3UpdateDiscreteStates", 1, false},
    {"fmi3EnterStepMode", 1, false},
    {"fmi3GetFloat64", 20, true},
    {"fmi3DoStep", 20, true},
    {"fmi3EnterEventMode", 2, true},
    {"fmi3SetClock", 5, true},
    {"fmi3UpdateDiscreteStates", 4, true},
    {"fmi3EnterStepMode", 4, true},
    {"fmi3Terminate", 1, true},
};

static const fault fmi3_value_faults[] = {
    {"fmi3SetFloat32", 1, false}, {"fmi3SetInt8", 1, false},   {"fmi3SetUInt8", 1, false},
    {"fmi3SetInt16", 1, false},   {"fmi3SetUInt16", 1, false}, {"fmi3SetInt32", 1, false},
    {"fmi3SetUInt32", 1, false},  {"fmi3SetInt64", 1, false},  {"fmi3SetUInt64", 2, false},
    {"fmi3SetBoolean", 1, false}, {"fmi3SetString", 1, false}, {"fmi3SetBinary", 1, false},
    {"fmi3GetFloat32", 9, true},  {"fmi3GetInt8", 9, true},    {"fmi3GetUInt8", 9, true},
    {"fmi3GetInt16", 9, true},    {"fmi3GetUInt16", 9, true},  {"fmi3GetInt32", 19, true},
    {"fmi3GetUInt32", 9, true},   {"fmi3GetInt64", 9, true},   {"fmi3GetUInt64", 9, true},
    {"fmi3GetBoolean", 9, true},  {"fmi3GetString", 9, true},  {"fmi3GetBinary", 9, true},
};

typedef struct fault_suite {
  const char *file, *as;
  const char *name, *prefix;  // of the model, of the standard's functions
  double stop;
  const char* const* sets;  // "--set", "name=value", ..., ended by NULL
  const fault* faults;
  size_t n;
} fault_suite;

static const char* const few_sets[] = {"--set",      "k=4",   "--set",   "n=100", "--set",
                                       "flag=false", "--set", "label=a", NULL};
static const char* const many_sets[] = {
    "--set", "k=4",      "--set", "m=3",      "--set", "f32_in=1",  "--set", "i8_in=1",
    "--set", "u8_in=1",  "--set", "i16_in=1", "--set", "u16_in=1",  "--set", "i32_in=1",
    "--set", "u32_in=1", "--set", "i64_in=1", "--set", "u64_in=1",  "--set", "b_in=true",
    "--set", "e_in=two", "--set", "s_in=a",   "--set", "bin_in=ff", NULL};

#define SUITE(file, as, name, prefix, stop, sets, list) \
  { file, as, name, prefix, stop, sets, list, sizeof(list) / sizeof *(list) }
static const fault_suite suites[] = {
    SUITE("probe.fmu", "me", "probe", "fmi2", 2, few_sets, fmi2_me_faults),
    SUITE("probe.fmu", "cs", "probe", "fmi2", 2, few_sets, fmi2_cs_faults),
    SUITE("probe.fmu", "me", "probe", "fmi2", 2, few_sets, fmi2_value_faults),
    SUITE("probe1_me.fmu", "me", "probe1", "fmi", 2, few_sets, fmi1_me_faults),
    SUITE("probe1_cs.fmu", "cs", "probe1", "fmi", 2, few_sets, fmi1_cs_faults),
    SUITE("probe1_me.fmu", "me", "probe1", "fmi", 2, few_sets, fmi1_value_faults),
    SUITE("probe3.fmu", "me", "probe3", "fmi3", 1, many_sets, fmi3_me_faults),
    SUITE("probe3.fmu", "cs", "probe3", "fmi3", 1, many_sets, fmi3_cs_faults),
    SUITE("probe3.fmu", "me", "probe3", "fmi3", 1, many_sets, fmi3_value_faults),
};
enum { N_SUITES = sizeof suites / sizeof *suites };

/// `which` as in tests/fmi/probes.h; `binary`: where its library lies.
static inline void make_other_probe(const char* path, const char* which, const char* binary) {
  char file[4096];
  size_t xml_size, so_size;
  snprintf(file, sizeof file, "%s%s/modelDescription.xml", getenv("COUPLET_PROBE"), which);
  char* xml = read_bytes(file, &xml_size);
  snprintf(file, sizeof file, "%s%s/%s", getenv("COUPLET_PROBE"), which, binary);
  char* library = read_bytes(file, &so_size);
  make_archive(path, (archive_entry[]){{.name = "modelDescription.xml", .text = xml},
                                       {.name = binary, .text = library, .size = so_size},
                                       {0}});
  free(xml);
  free(library);
}

static inline void make_probes(void) {
  make_probe("probe.fmu", "probe", NULL);
  make_other_probe("probe1_me.fmu", "1_me", "binaries/linux64/probe1.so");
  make_other_probe("probe1_cs.fmu", "1_cs", "binaries/linux64/probe1.so");
  make_other_probe("probe3.fmu", "3", "binaries/x86_64-linux/probe3.so");
}

static inline void provoke(const char* function, int n, const char* kind) {
  char text[128];
  snprintf(text, sizeof text, "%s:%d:%s", function, n, kind);
  setenv("PROBE_FAULT", text, 1);
}

/// The arguments of couplet run with all values set and recorded; `more` is ended by NULL.
static inline const char* const* suite_args(const fault_suite* suite, const char* out,
                                            const char* const more[]) {
  static const char* args[64];
  const char* const head[] = {"run", suite->file,  "--as", suite->as, "--record",
                              "*",   "--interval", "0.01", "-o",      out};
  size_t n = sizeof head / sizeof *head;
  memcpy(args, head, sizeof head);
  for (size_t i = 0; suite->sets[i] != NULL; i++) args[n++] = suite->sets[i];
  for (size_t i = 0; more[i] != NULL; i++) args[n++] = more[i];
  args[n] = NULL;
  return args;
}

/// Run into a fault.
static inline void run_into(const fault_suite* suite, const fault* f, const char* kind, int code,
                            const char* out, const char* const more[]) {
  provoke(f->function, f->n, kind);
  int got = run_couplet(suite_args(suite, out, more));
  if (got != code) {
    fail_msg("%s:%d:%s (%s): exit code %d, expected %d\n%s", f->function, f->n, kind, suite->as,
             got, code, complained);
  }
}

static inline bool is_instantiation(const fault* f) {
  return strstr(f->function, "Instantiate") != NULL;
}

/// Calls before there is a time, and those whose value may be set at any.
static inline bool is_timeless(const fault* f) {
  return is_instantiation(f) || strstr(f->function, "Configuration") != NULL ||
         strstr(f->function, "NumberOf") != NULL || strstr(f->function, "Set") != NULL;
}

/// Whether the message is about the model and function of the fault.
static inline bool names_fault(const fault_suite* suite, const fault* f) {
  char head[128];
  snprintf(head, sizeof head, "couplet: %s: %s", suite->name, f->function);
  return strncmp(complained, head, strlen(head)) == 0;
}

/// One message that names model, function, what happened and when.
static inline void check_complaint(const fault_suite* suite, const fault* f, const char* how) {
  if (!names_fault(suite, f)) fail_msg("%s, not %s: %s", complained, suite->name, f->function);
  CHECK_CONTAINS(complained, how);
  CHECK(strchr(complained, '\n')[1] == '\0');
  if (!is_timeless(f)) CHECK_CONTAINS(complained, " at t=");
}

/// Are there rows of results when the fault shows?
static inline bool has_rows(const fault* f) {
  return f->during && f->n > 1 && strcmp(f->function, "fmi2NewDiscreteStates") != 0;
}

/// The results up to the fault can be read.
static inline void check_results(const char* file, const fault* f) {
  if (!f->during) return;
  cpl_context* ctx = test_context();
  cpl_table* table = NULL;
  CHECK_OK(ctx, cpl_results_read(ctx, file, &table));
  if (has_rows(f)) CHECK(table->n_rows > 0);
  cpl_table_destroy(table);
  cpl_context_destroy(ctx);
}

static inline int tear_down(void** state) {
  (void)state;
  unsetenv("PROBE_FAULT");
  return 0;
}
