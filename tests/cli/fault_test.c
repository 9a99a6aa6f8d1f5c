// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// FMUs that fail or crash in any call of any phase: exit code 1, one message that says which model,
// which call, what time; results up to there can be read.
#include "command.h"

typedef struct fault {
  const char* function;
  int n;        // which call of it fails
  bool during;  // while time runs: there are results
} fault;

static const fault me_faults[] = {
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

static const fault cs_faults[] = {
    {"fmi2Instantiate", 1, false},
    {"fmi2SetupExperiment", 1, false},
    {"fmi2EnterInitializationMode", 1, false},
    {"fmi2ExitInitializationMode", 1, false},
    {"fmi2GetReal", 7, true},
    {"fmi2DoStep", 20, true},
    {"fmi2Terminate", 1, true},
};

static int set_up(void** state) {
  (void)state;
  make_probe("probe.fmu", "probe", NULL);
  return 0;
}

static int tear_down(void** state) {
  (void)state;
  unsetenv("PROBE_FAULT");
  return 0;
}

static void provoke(const char* function, int n, const char* kind) {
  char text[128];
  snprintf(text, sizeof text, "%s:%d:%s", function, n, kind);
  setenv("PROBE_FAULT", text, 1);
}

// Runs into the fault and looks at everything it leaves.
static void fails(const fault* f, const char* as, const char* kind, const char* how) {
  char head[128];
  static const char* const files[] = {"probe.csv", "probe.mat"};
  for (int i = 0; i < 2; i++) {
    unlink(files[i]);
    provoke(f->function, f->n, kind);
    CHECK_CODE(1, "run", "probe.fmu", "--as", as, "--set", "k=4", "-o", files[i], "--interval",
               "0.01");
    snprintf(head, sizeof head, "probe: %s", f->function);
    CHECK_CONTAINS(complained, head);
    CHECK_CONTAINS(complained, how);
    CHECK(strncmp(complained, "couplet: probe: ", 16) == 0);
    CHECK(strchr(complained, '\n')[1] == '\0');  // one message
    bool timeless =
        strcmp(f->function, "fmi2Instantiate") == 0 || strcmp(f->function, "fmi2SetReal") == 0;
    if (!timeless) CHECK_CONTAINS(complained, " at t=");
    if (!f->during) continue;
    cpl_context* ctx = test_context();
    cpl_table* table = NULL;
    CHECK_OK(ctx, cpl_results_read(ctx, files[i], &table));
    if (f->n > 1 && strcmp(f->function, "fmi2NewDiscreteStates") != 0) CHECK(table->n_rows > 0);
    cpl_table_destroy(table);
    cpl_context_destroy(ctx);
  }
}

static void errors(void** state) {
  (void)state;
  for (size_t i = 0; i < sizeof me_faults / sizeof *me_faults; i++) {
    bool makes = strcmp(me_faults[i].function, "fmi2Instantiate") == 0;
    fails(&me_faults[i], "me", "error", makes ? "failed: " : "returned fmi2Error");
    fails(&me_faults[i], "me", "fatal", makes ? "failed: " : "returned fmi2Fatal");
    CHECK_CONTAINS(complained, "was told to fail");  // the FMU's own words
  }
  for (size_t i = 0; i < sizeof cs_faults / sizeof *cs_faults; i++) {
    bool makes = strcmp(cs_faults[i].function, "fmi2Instantiate") == 0;
    fails(&cs_faults[i], "cs", "error", makes ? "failed: " : "returned fmi2Error");
    fails(&cs_faults[i], "cs", "fatal", makes ? "failed: " : "returned fmi2Fatal");
  }
}

static void crashes_everywhere(void** state) {
  (void)state;
  for (size_t i = 0; i < sizeof me_faults / sizeof *me_faults; i++)
    fails(&me_faults[i], "me", "segv", "crashed (SIGSEGV: invalid memory access)");
  for (size_t i = 0; i < sizeof cs_faults / sizeof *cs_faults; i++)
    fails(&cs_faults[i], "cs", "segv", "crashed (SIGSEGV: invalid memory access)");
}

static void every_crash(void** state) {
  (void)state;
  static const fault mid_run = {"fmi2GetDerivatives", 30, true}, step = {"fmi2DoStep", 20, true};
  static const struct {
    const char *kind, *how;
  } kinds[] = {{"segv", "crashed (SIGSEGV"},
               {"bus", "crashed (SIGBUS"},
               {"fpe", "crashed (SIGFPE"},
               {"ill", "crashed (SIGILL"},
               {"abort", "crashed (SIGABRT"},
               {"overflow", "crashed (SIGSEGV"},
               {"exit", "crashed (it called exit() to end the whole program)"}};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    fails(&mid_run, "me", kinds[i].kind, kinds[i].how);
    fails(&step, "cs", kinds[i].kind, kinds[i].how);
  }
}

// A crash when all is done does not spoil the run.
static void crash_in_free_instance(void** state) {
  (void)state;
  provoke("fmi2FreeInstance", 1, "segv");
  CHECK_CODE(0, "run", "probe.fmu", "--set", "n=100");
  CHECK_NEAR(last_value("probe.csv", 0), 2, 0);
}

static void discard_is_not_the_end(void** state) {
  (void)state;
  provoke("fmi2GetDerivatives", 30, "discard");
  CHECK_CODE(0, "run", "probe.fmu", "--set", "n=100", "--log-level", "error");
  CHECK_NEAR(last_value("probe.csv", 1), cos(4), 1e-3);
  provoke("fmi2GetDerivatives", 30, "nan");
  CHECK_CODE(0, "run", "probe.fmu", "--set", "n=100", "--log-level", "error");
  CHECK_NEAR(last_value("probe.csv", 1), cos(4), 1e-3);
}

static void unknown_status(void** state) {
  (void)state;
  provoke("fmi2GetDerivatives", 30, "42");
  CHECK_CODE(1, "run", "probe.fmu", "--log-level", "error");
  CHECK_CONTAINS(complained, "probe: fmi2GetDerivatives at t=");
}

static void refused_at_the_start(void** state) {
  (void)state;
  char path[4096];
  size_t size;
  snprintf(path, sizeof path, "%s/modelDescription.xml", getenv("COUPLET_PROBE"));
  char* xml = read_bytes(path, &size);
  memcpy(strstr(xml, "{probe}"), "{other}", 7);
  make_probe("guid.fmu", "probe", xml);
  free(xml);
  CHECK_FAILS(1, "probe: fmi2Instantiate failed: the FMU does not say why", "run", "guid.fmu");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_teardown(errors, tear_down),
      cmocka_unit_test_teardown(crashes_everywhere, tear_down),
      cmocka_unit_test_teardown(every_crash, tear_down),
      cmocka_unit_test_teardown(crash_in_free_instance, tear_down),
      cmocka_unit_test_teardown(discard_is_not_the_end, tear_down),
      cmocka_unit_test_teardown(unknown_status, tear_down),
      cmocka_unit_test_teardown(refused_at_the_start, tear_down),
  };
  return cmocka_run_group_tests(tests, set_up, NULL);
}
