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

//------------------------------------ every function ------------------------------------

enum way { WARNING, DISCARD, ERROR, FATAL, SEGV, EXIT, N_WAYS };
static const char* const way_names[] = {"warning", "discard", "error", "fatal", "segv", "exit"};

static const char* out_of(enum way way) {
  static const char* const files[] = {"w.csv", "d.csv", "e.csv", "f.mat", "s.csv", "x.csv"};
  return files[way];
}

static const char* words_of(const fault_suite* suite, const fault* f, enum way way) {
  static char words[64];
  if (way == SEGV) return "crashed (SIGSEGV: invalid memory access)";
  if (way == EXIT) return "crashed (it called exit() or _exit() to end the whole program)";
  if (is_instantiation(f)) return "failed: ";
  const char* name = way == DISCARD ? "Discard" : way == ERROR ? "Error" : "Fatal";
  snprintf(words, sizeof words, "returned %s%s", suite->prefix, name);
  return words;
}

// A word in the log and no more. Some have no instance yet that could say it.
static void check_warning(const fault_suite* suite, const fault* f) {
  char said[64];
  bool silent = is_instantiation(f) || strcmp(f->function, "fmi2DoStep") == 0;
  snprintf(said, sizeof said, "couplet: warning: %s: [log", suite->name);
  if (!silent) CHECK_CONTAINS(complained, said);
  CHECK_NEAR(last_value(out_of(WARNING), 0), suite->stop, 0);
}

static void check_end(const fault_suite* suite, const fault* f, enum way way, int code) {
  bool goes_on = way == WARNING || (way == DISCARD && code == 0) ||  // tried again
                 (way == ERROR && is_optional(f));
  if (code != !goes_on) {
    fail_msg("%s:%d:%s (%s): exit code %d\n%s", f->function, f->n, way_names[way], suite->as, code,
             complained);
  }
  if (way == WARNING) check_warning(suite, f);
  if (goes_on) return;
  if (way == DISCARD && !is_instantiation(f)) {  // the solver may say where it was
    CHECK_CONTAINS(complained, f->function);
    CHECK_CONTAINS(complained, words_of(suite, f, way));
  } else {
    check_complaint(suite, f, words_of(suite, f, way));
  }
  check_results(out_of(way), f);
  bool silent = is_instantiation(f) || strcmp(f->function, "fmi2DoStep") == 0 || way > FATAL;
  if (!silent) CHECK_CONTAINS(complained, "told to fail");  // the FMU's own words
}

// All ways at the same time.
static void show_all(const fault_suite* suite, const fault* f) {
  static const char* const said[] = {"w.txt", "d.txt", "e.txt", "f.txt", "s.txt", "x.txt"};
  pid_t running[N_WAYS];
  for (int way = 0; way < N_WAYS; way++) {
    const char* level = way == WARNING ? "warning" : "error";
    unlink(out_of((enum way)way));
    provoke(f->function, f->n, way_names[way]);
    int fd = create(said[way]);
    running[way] = start_couplet(
        suite_args(suite, out_of((enum way)way), (const char*[]){"-q", "--log-level", level, NULL}),
        fd, fd);
    close(fd);
  }
  int codes[N_WAYS];
  for (int way = 0; way < N_WAYS; way++) codes[way] = end_of(running[way]);
  for (int way = 0; way < N_WAYS; way++) {
    read_text(said[way], complained, sizeof complained);
    check_end(suite, f, (enum way)way, codes[way]);
  }
  CHECK(is_empty("tmp"));
}

static void every_function_in_every_way(void** state) {
  (void)state;
  for (size_t i = 0; i < N_SUITES; i++) {
    for (size_t k = 0; k < suites[i].n; k++) show_all(&suites[i], &suites[i].faults[k]);
  }
}

// Runs into the fault and looks at everything it leaves.
static void fails(const fault_suite* suite, const fault* f, const char* kind, const char* how) {
  unlink("fault.csv");
  run_into(suite, f, kind, 1, "fault.csv", (const char*[]){"--log-level", "error", NULL});
  check_complaint(suite, f, how);
  check_results("fault.csv", f);
}

static void every_crash(void** state) {
  (void)state;
  static const struct {
    int suite;
    fault fault;
  } places[] = {{0, {"fmi2GetDerivatives", 30, true}},
                {1, {"fmi2DoStep", 20, true}},
                {3, {"fmiGetDerivatives", 30, true}},
                {4, {"fmiDoStep", 20, true}},
                {6, {"fmi3GetContinuousStateDerivatives", 30, true}},
                {7, {"fmi3DoStep", 20, true}}};
  static const struct {
    const char *kind, *how;
  } kinds[] = {{"segv", "crashed (SIGSEGV"},
               {"bus", "crashed (SIGBUS"},
               {"fpe", "crashed (SIGFPE"},
               {"ill", "crashed (SIGILL"},
               {"abort", "crashed (SIGABRT"},
               {"overflow", "crashed (SIGSEGV"},
               {"exit", "crashed (it called exit() or _exit() to end the whole program)"}};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    for (size_t k = 0; k < sizeof places / sizeof *places; k++)
      fails(&suites[places[k].suite], &places[k].fault, kinds[i].kind, kinds[i].how);
  }
}

// A crash when all is done does not spoil the run.
static void crash_in_free_instance(void** state) {
  (void)state;
  provoke("fmi2FreeInstance", 1, "segv");
  CHECK_CODE(0, "run", "probe.fmu", "--set", "n=100");
  CHECK_NEAR(last_value("probe.csv", 0), 2, 0);
}

// The solver tries a shorter step.
static void discard_is_not_the_end(void** state) {
  (void)state;
  static const struct {
    const char *file, *function, *set;
  } places[] = {{"probe.fmu", "fmi2GetDerivatives", "n=100"},
                {"probe1_me.fmu", "fmiGetDerivatives", "n=100"},
                {"probe3.fmu", "fmi3GetContinuousStateDerivatives", "m=2"}};
  static const char* const kinds[] = {"no fault", "discard", "nan"};
  for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
    double last[3];
    for (int k = 0; k < 3; k++) {
      provoke(places[i].function, 31, kinds[k]);
      CHECK_CODE(0, "run", places[i].file, "--as", "me", "-o", "d.csv", "--log-level", "error",
                 "--rtol", "1e-6", "--set", places[i].set);
      last[k] = last_value("d.csv", 1);
      CHECK_NEAR(last[k], last[0], 1e-4);
    }
    CHECK(last[1] != last[0] && last[2] != last[0]);  // it did happen
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
  static const struct {
    const char* file;
    fault fault;
    const char *set, *told;
  } places[] = {
      {"probe.fmu", {"fmi2GetEventIndicators", 30, 0}, "n=100", "indicator 1 is NaN at t=0."},
      {"probe.fmu", {"fmi2GetDerivatives", 1, 0}, "n=100", "der(x1) is nan at t=0"},
      {"probe1_me.fmu", {"fmiGetEventIndicators", 30, 0}, "n=100", "indicator 1 is NaN at t=0."},
      {"probe1_me.fmu", {"fmiGetDerivatives", 1, 0}, "n=100", "a derivative is nan at t=0"},
      {"probe3.fmu", {"fmi3GetContinuousStateDerivatives", 1, 0}, "m=2", "is nan at t=0"},
  };
  for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
    provoke(places[i].fault.function, places[i].fault.n, "nan");
    CHECK_FAILS_WITH(1, places[i].told, "run", places[i].file, "--as", "me", "--set",
                     places[i].set);
  }
  // an output that is NaN is recorded as it is
  static const fault outputs[] = {
      {"fmi2GetReal", 20, 0}, {"fmiGetReal", 20, 0}, {"fmi3GetFloat64", 20, 0}};
  for (size_t i = 0; i < 3; i++) {
    run_into(&suites[3 * i], &outputs[i], "nan", 0, "nan.csv", (const char*[]){NULL});
    CHECK_CONTAINS(text_of("nan.csv"), "nan");
  }
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
      cmocka_unit_test_teardown(every_function_in_every_way, tear_down),
      cmocka_unit_test_teardown(every_crash, tear_down),
      cmocka_unit_test_teardown(crash_in_free_instance, tear_down),
      cmocka_unit_test_teardown(discard_is_not_the_end, tear_down),
      cmocka_unit_test_teardown(discard_where_nothing_can_be_retried, tear_down),
      cmocka_unit_test_teardown(nan_is_told, tear_down),
      cmocka_unit_test_teardown(unknown_status, tear_down),
      cmocka_unit_test_teardown(refused_at_the_start, tear_down),
  };
  return cmocka_run_group_tests(tests, set_up, NULL);
}
