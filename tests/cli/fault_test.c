// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// FMUs that fail or crash in any call of any phase: exit code 1, one message that says which model,
// which call, what time; results up to there can be read.
#include "command.h"
#include "faults.h"

static int set_up(void** state) {
  (void)state;
  make_probes();
  return 0;
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
  for (size_t i = 0; i < sizeof fmi2_me_faults / sizeof *fmi2_me_faults; i++) {
    bool makes = strcmp(fmi2_me_faults[i].function, "fmi2Instantiate") == 0;
    fails(&fmi2_me_faults[i], "me", "error", makes ? "failed: " : "returned fmi2Error");
    fails(&fmi2_me_faults[i], "me", "fatal", makes ? "failed: " : "returned fmi2Fatal");
    CHECK_CONTAINS(complained, "was told to fail");  // the FMU's own words
  }
  for (size_t i = 0; i < sizeof fmi2_cs_faults / sizeof *fmi2_cs_faults; i++) {
    bool makes = strcmp(fmi2_cs_faults[i].function, "fmi2Instantiate") == 0;
    fails(&fmi2_cs_faults[i], "cs", "error", makes ? "failed: " : "returned fmi2Error");
    fails(&fmi2_cs_faults[i], "cs", "fatal", makes ? "failed: " : "returned fmi2Fatal");
  }
}

static void crashes_everywhere(void** state) {
  (void)state;
  for (size_t i = 0; i < sizeof fmi2_me_faults / sizeof *fmi2_me_faults; i++)
    fails(&fmi2_me_faults[i], "me", "segv", "crashed (SIGSEGV: invalid memory access)");
  for (size_t i = 0; i < sizeof fmi2_cs_faults / sizeof *fmi2_cs_faults; i++)
    fails(&fmi2_cs_faults[i], "cs", "segv", "crashed (SIGSEGV: invalid memory access)");
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

// A warning is a word in the log and no more.
static void warnings_are_no_end(void** state) {
  (void)state;
  for (size_t i = 0; i < N_SUITES; i++) {
    for (size_t k = 0; k < suites[i].n; k++) {
      provoke(suites[i].faults[k].function, suites[i].faults[k].n, "warning");
      CHECK_CODE(0, "run", suites[i].file, "--as", suites[i].as, "-o", "w.csv", "--set", "n=100",
                 "--set", "k=4", "--set", "flag=false", "--set", "label=a", "--record", "*",
                 "--interval", "0.01");
      bool silent = strcmp(suites[i].faults[k].function, "fmi2DoStep") == 0;
      if (!silent) CHECK_CONTAINS(complained, "couplet: warning: probe: [logStatus] fmi2");
      CHECK_NEAR(last_value("w.csv", 0), 2, 0);
    }
  }
}

// Where a shorter step cannot help, fmi2Discard ends the run.
static void discard_where_nothing_can_be_retried(void** state) {
  (void)state;
  static const fault faults[] = {
      {"fmi2SetupExperiment", 1, false},        {"fmi2EnterInitializationMode", 1, false},
      {"fmi2ExitInitializationMode", 1, false}, {"fmi2NewDiscreteStates", 1, false},
      {"fmi2GetContinuousStates", 1, false},    {"fmi2GetDerivatives", 1, true},
      {"fmi2GetEventIndicators", 1, true},      {"fmi2GetReal", 20, true},
      {"fmi2EnterEventMode", 1, true},          {"fmi2Terminate", 1, true},
  };
  for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
    provoke(faults[i].function, faults[i].n, "discard");
    CHECK_CODE(1, "run", "probe.fmu", "--interval", "0.01", "--log-level", "error");
    CHECK_CONTAINS(complained, faults[i].function);
    CHECK_CONTAINS(complained, "returned fmi2Discard");
    CHECK_CONTAINS(complained, " at t=");
  }
}

// NaN never becomes a state: it is an error that names what was NaN and when.
static void nan_is_told(void** state) {
  (void)state;
  provoke("fmi2GetEventIndicators", 30, "nan");
  CHECK_FAILS_WITH(1, "event indicator 1 is NaN at t=0.5", "run", "probe.fmu", "--set", "n=100");
  provoke("fmi2GetDerivatives", 1, "nan");
  CHECK_FAILS_WITH(1, "der(x1) is nan at t=0", "run", "probe.fmu", "--set", "n=100");
  provoke("fmi2GetReal", 20, "nan");
  CHECK_CODE(0, "run", "probe.fmu", "--set", "n=100");
  CHECK_CONTAINS(text_of("probe.csv"), "nan");  // an output that is NaN is recorded as it is
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
      cmocka_unit_test_teardown(warnings_are_no_end, tear_down),
      cmocka_unit_test_teardown(discard_where_nothing_can_be_retried, tear_down),
      cmocka_unit_test_teardown(nan_is_told, tear_down),
      cmocka_unit_test_teardown(unknown_status, tear_down),
      cmocka_unit_test_teardown(refused_at_the_start, tear_down),
  };
  return cmocka_run_group_tests(tests, set_up, NULL);
}
