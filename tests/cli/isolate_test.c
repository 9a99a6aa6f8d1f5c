// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Models in processes of their own: the same results to the byte, and whatever a model does to its
// process is an ordinary error that names model, call, time and cause.
#include "faults.h"

static int set_up(void** state) {
  (void)state;
  make_probes();
  write_text("decay.c", decay_model);
  CHECK_CODE(0, "build", "decay.c");
  return 0;
}

//------------------------------------ the same results ------------------------------------

static void the_same_to_the_byte(void** state) {
  (void)state;
  write_text("u.csv", "time,u\n0,0\n0.4,1\n0.4,2\n1.5,-1\n");
  static const char* const kinds[] = {"me", "cs"};
  for (int i = 0; i < 2; i++) {
    CHECK_CODE(0, "run", "probe.fmu", "--as", kinds[i], "-o", "in.csv", "--record", "*", "--set",
               "n=100", "--set", "label=a b", "--input", "u.csv");
    CHECK(count_rows("in.csv") > 400);
    CHECK_CODE(0, "run", "probe.fmu", "--as", kinds[i], "-o", "out.csv", "--record", "*", "--set",
               "n=100", "--set", "label=a b", "--input", "u.csv", "--isolate");
    check_same_files("in.csv", "out.csv");
    CHECK_CODE(0, "run", "decay.fmu", "--as", kinds[i], "-o", "in.csv", "--set", "a=1.5");
    CHECK_CODE(0, "run", "decay.fmu", "--as", kinds[i], "-o", "out.csv", "--set", "a=1.5",
               "--isolate");
    check_same_files("in.csv", "out.csv");
  }
}

#define SYSTEM(extra)                                                                   \
  "couplet: 1\nmodels:\n  left: {fmu: probe.fmu, start: {n: 100, x1: 2}" extra          \
  "}\n"                                                                                 \
  "  right: {fmu: probe.fmu, start: {n: 100}}\n  slow: {c: decay.c}\n"                  \
  "connections: {left.u: 0.3*(right.x1 - left.x1), right.u: slow.y, slow.u: left.x1}\n" \
  "experiment: {stop: 2, interval: 0.01}\n"

static void systems_too(void** state) {
  (void)state;
  write_text("plain.yaml", SYSTEM(""));
  write_text("one.yaml", SYSTEM(", isolate: true"));
  write_text("outer.yaml",
             "couplet: 1\nmodels: {in: {system: plain.yaml, isolate: true}}\n"
             "experiment: {stop: 2, interval: 0.01}\n");
  CHECK_CODE(0, "run", "plain.yaml", "-o", "in.csv");
  CHECK(count_rows("in.csv") > 200);
  CHECK_CODE(0, "run", "one.yaml", "-o", "out.csv");
  check_same_files("in.csv", "out.csv");
  CHECK_CODE(0, "run", "plain.yaml", "-o", "out.csv", "--isolate");
  check_same_files("in.csv", "out.csv");
  CHECK_CODE(0, "run", "outer.yaml", "-o", "out.csv");
  write_text("bad.yaml", SYSTEM(", isolate: perhaps"));
  CHECK_FAILS_WITH(2, "bad.yaml:3:59: isolate needs true or false", "run", "bad.yaml");
}

// A model of a system that ends its process is named.
static void a_system_survives_its_model(void** state) {
  (void)state;
  write_text("plain.yaml", SYSTEM(""));
  provoke("fmi2EnterEventMode", 1, "quit");
  CHECK_FAILS_WITH(1, "left: fmi2EnterEventMode at t=0.", "run", "plain.yaml", "--isolate", "-o",
                   "s.csv");
  CHECK_CONTAINS(complained, "crashed (it called exit() or _exit()");
  CHECK(count_rows("s.csv") > 20);
}

static void once_per_process(void** state) {
  (void)state;
  char path[4096];
  size_t size;
  snprintf(path, sizeof path, "%s/modelDescription.xml", getenv("COUPLET_PROBE"));
  char* xml = read_bytes(path, &size);
  char* changed = malloc(size + 200);
  const char* at = strstr(xml, "<ModelExchange ") + strlen("<ModelExchange ");
  sprintf(changed, "%.*scanBeInstantiatedOnlyOncePerProcess=\"true\" %s", (int)(at - xml), xml, at);
  make_probe("single.fmu", "probe", changed);
  free(changed);
  free(xml);
  write_text("two.yaml",
             "couplet: 1\nmodels:\n  a: {fmu: single.fmu, start: {n: 100}}\n"
             "  b: {fmu: single.fmu, start: {n: 100, x1: 3}}\n"
             "experiment: {stop: 1}\n");
  CHECK_CODE(0, "run", "two.yaml", "-o", "two.csv", "--log-level", "info");
  CHECK_CONTAINS(complained, "can be instantiated only once per process, and is used 2 times");
  CHECK_NEAR(last_value("two.csv", 1), cos(2), 1e-3);
  write_text("one.yaml",
             "couplet: 1\nmodels:\n  a: {fmu: single.fmu, start: {n: 100}}\n"
             "experiment: {stop: 1}\n");
  CHECK_CODE(0, "run", "one.yaml", "-o", "one.csv", "--log-level", "info");
  CHECK(strstr(complained, "once per process") == NULL);
}

//------------------------------------ faults ------------------------------------

static void every_function_ends_its_process(void** state) {
  (void)state;
  static const struct {
    const char *kind, *how;
  } kinds[] = {{"quit", "crashed (it called exit() or _exit()"},
               {"error", "Error"},
               {"fatal", "Fatal"},
               {"segv", "crashed (SIGSEGV"},
               {"abort", "crashed (SIGABRT"},
               {"fpe", "crashed (SIGFPE"},
               {"exit", "crashed (it called exit() or _exit()"},
               {"kill", "crashed (signal 9: Killed)"}};
  static const char* const isolated[] = {"--isolate", NULL};
  for (size_t i = 0; i < N_SUITES; i++) {
    for (size_t k = 0; k < suites[i].n; k++) {
      const fault* f = &suites[i].faults[k];
      // what can be had in the same process is tried there (fault_test.c), but for some
      size_t n = f->n == 20 ? sizeof kinds / sizeof *kinds : 1;
      for (size_t j = 0; j < n; j++) {
        if (is_optional(f) && strcmp(kinds[j].kind, "error") == 0) continue;
        run_into(&suites[i], f, kinds[j].kind, 1, "fault.csv", isolated);
        check_complaint(&suites[i], f, kinds[j].how);
        check_results("fault.csv", f);
      }
    }
  }
}

// On a busy machine the limit may be reached before the call that hangs: alone and with more time
// it is that call.
static void hangs_alone(const fault_suite* suite, const fault* f, const char* out) {
  static const char* const patient[] = {"--isolate", "--call-timeout", "20", NULL};
  run_into(suite, f, "hang", 1, out, patient);
  check_complaint(suite, f, "did not return within 20 s; its process was ended");
}

// All at the same time, as each waits for its limit.
static void every_function_hangs(void** state) {
  (void)state;
#ifdef __SANITIZE_THREAD__  // most limits would be reached before the calls
  skip();
#endif
  enum { MOST = 160 };
  static const char* const limited[] = {"--isolate", "--call-timeout", "4", NULL};
  pid_t running[MOST];
  int n = 0;
  char out[32], err[32];
  for (size_t i = 0; i < N_SUITES; i++) {
    for (size_t k = 0; k < suites[i].n; k++, n++) {
      const fault* f = &suites[i].faults[k];
      CHECK(n < MOST);
      provoke(f->function, f->n, "hang");
      snprintf(out, sizeof out, "hang%d.csv", n);
      snprintf(err, sizeof err, "hang%d.txt", n);
      int fd = create(err), nothing = create("/dev/null");
      running[n] = start_couplet(suite_args(&suites[i], out, limited), nothing, fd);
      close(nothing);
      close(fd);
    }
  }
  for (int k = 0; k < n; k++) CHECK_INT(end_of(running[k]), 1);
  n = 0;
  for (size_t i = 0; i < N_SUITES; i++) {
    for (size_t k = 0; k < suites[i].n; k++, n++) {
      const fault* f = &suites[i].faults[k];
      snprintf(out, sizeof out, "hang%d.csv", n);
      snprintf(err, sizeof err, "hang%d.txt", n);
      read_text(err, complained, sizeof complained);
      CHECK_CONTAINS(complained, "did not return within 4 s; its process was ended");
      if (names_fault(&suites[i], f)) {
        check_complaint(&suites[i], f, "did not return");
      } else {
        hangs_alone(&suites[i], f, out);
      }
      check_results(out, f);
    }
  }
  CHECK(is_empty("tmp"));
}

static void crash_when_all_is_done(void** state) {
  (void)state;
  static const char* const kinds[] = {"segv", "quit", "kill", "hang"};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    provoke("fmi2FreeInstance", 1, kinds[i]);
    CHECK_CODE(0, "run", "probe.fmu", "--set", "n=100", "--isolate", "--call-timeout", "3");
    CHECK_NEAR(last_value("probe.csv", 0), 2, 0);
  }
}

//------------------------------------ words and files ------------------------------------

static void its_words_arrive(void** state) {
  (void)state;
  provoke("fmi2GetDerivatives", 3, "odd");
  CHECK_CODE(0, "run", "probe.fmu", "--set", "n=100", "--log-level", "debug");
  char without[sizeof complained / 8];
  snprintf(without, sizeof without, "%s", complained);
  CHECK_CODE(0, "run", "probe.fmu", "--set", "n=100", "--log-level", "debug", "--isolate");
  CHECK_STR(complained, without);
  CHECK_CONTAINS(complained, "100 % of # and #r99# and #r4");
}

static void the_call_log_is_complete(void** state) {
  (void)state;
  unsetenv("PROBE_FAULT");
  CHECK_CODE(0, "run", "probe.fmu", "--call-log", "in.txt", "--set", "n=100");
  CHECK_CODE(0, "run", "probe.fmu", "--call-log", "out.txt", "--set", "n=100", "--isolate");
  CHECK_INT(count_rows("in.txt"), count_rows("out.txt"));
  CHECK(count_rows("in.txt") > 1000);
}

static void bad_limits_are_refused(void** state) {
  (void)state;
  CHECK_FAILS(2, "--call-timeout must be positive, not -1", "run", "probe.fmu", "--call-timeout",
              "-1");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_teardown(the_same_to_the_byte, tear_down),
      cmocka_unit_test_teardown(systems_too, tear_down),
      cmocka_unit_test_teardown(a_system_survives_its_model, tear_down),
      cmocka_unit_test_teardown(once_per_process, tear_down),
      cmocka_unit_test_teardown(every_function_ends_its_process, tear_down),
      cmocka_unit_test_teardown(every_function_hangs, tear_down),
      cmocka_unit_test_teardown(crash_when_all_is_done, tear_down),
      cmocka_unit_test_teardown(its_words_arrive, tear_down),
      cmocka_unit_test_teardown(the_call_log_is_complete, tear_down),
      cmocka_unit_test_teardown(bad_limits_are_refused, tear_down),
  };
  return cmocka_run_group_tests(tests, set_up, NULL);
}
