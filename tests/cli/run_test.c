// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The options of `couplet run` that say how to simulate, on a model in C and on an FMU.
#include "command.h"

static int set_up(void** state) {
  (void)state;
  write_text("decay.c", decay_model);
  make_probe("probe.fmu", "probe", NULL);
  return 0;
}

//------------------------------------ times ------------------------------------

static void default_experiment_and_name(void** state) {
  (void)state;
  unlink("decay.csv");
  CHECK_CODE(0, "run", "decay.c");
  CHECK_STR(complained, "");
  CHECK(strncmp(printed, "decay: t = 0 to 1 in ", 21) == 0);
  CHECK_CONTAINS(printed, " 501 points -> decay.csv\n");
  CHECK_INT(count_rows("decay.csv"), 501);
  CHECK(strncmp(text_of("decay.csv"), "time,x,y\n0,1,2\n", 15) == 0);
  CHECK_NEAR(last_value("decay.csv", 0), 1, 0);
  CHECK_NEAR(last_value("decay.csv", 1), exp(-1), 1e-5);
  unlink("probe.csv");
  CHECK_CODE(0, "run", "probe.fmu", "--set", "n=100");
  CHECK_CONTAINS(printed, "probe: t = 0 to 2 in ");
  CHECK_NEAR(last_value("probe.csv", 1), cos(4), 1e-3);
}

static void times(void** state) {
  (void)state;
  CHECK_CODE(0, "run", "decay.c", "--start-time", "2", "--stop-time", "4.5", "--interval", "0.5");
  CHECK_INT(count_rows("decay.csv"), 6);
  CHECK(strncmp(text_of("decay.csv"), "time,x,y\n2,1,2\n2.5,", 19) == 0);
  CHECK_NEAR(last_value("decay.csv", 0), 4.5, 0);
  CHECK_NEAR(last_value("decay.csv", 1), exp(-2.5), 1e-5);
  // the last interval is shorter, and the end is hit
  CHECK_CODE(0, "run", "decay.c", "--stop-time=1", "--interval=0.4");
  CHECK_INT(count_rows("decay.csv"), 4);
  CHECK_NEAR(last_value("decay.csv", 0), 1, 0);
  // negative times, and a run of no length
  CHECK_CODE(0, "run", "decay.c", "--start-time", "-3", "--stop-time", "-2");
  CHECK_NEAR(last_value("decay.csv", 0), -2, 0);
  CHECK_CODE(0, "run", "decay.c", "--start-time", "1", "--stop-time", "1");
  CHECK_NEAR(last_value("decay.csv", 1), 1, 0);
  // very short ones
  CHECK_CODE(0, "run", "decay.c", "--stop-time", "1e-9");
  CHECK_INT(count_rows("decay.csv"), 501);
}

static void times_that_cannot_be(void** state) {
  (void)state;
  CHECK_FAILS(2,
              "decay: the run goes from 0 to -1: the stop time must not lie before the start "
              "time",
              "run", "decay.c", "--stop-time", "-1");
  CHECK_FAILS(2, "interval must be positive, not 0", "run", "decay.c", "--interval", "0");
  CHECK_FAILS(2, "interval must be positive, not -1", "run", "decay.c", "--interval", "-1");
  CHECK_FAILS(2, "step must be positive, not -0.1", "run", "decay.c", "--step", "-0.1");
  CHECK_FAILS_WITH(2, "decay: 1 s in steps of 1e-14 s are too many steps for a run", "run",
                   "decay.c", "--interval", "1e-14");
}

//------------------------------------ solvers ------------------------------------

static void solvers(void** state) {
  (void)state;
  static const struct {
    const char* name;
    double tolerance;
  } list[] = {{"cvode", 1e-5}, {"adams", 1e-5}, {"rk4", 1e-9}, {"euler", 1e-2}};
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
    CHECK_CODE(0, "run", "decay.c", "--solver", list[i].name, "--stats");
    CHECK_NEAR(last_value("decay.csv", 1), exp(-1), list[i].tolerance);
    CHECK_CONTAINS(printed, "  solver               ");
    CHECK_CONTAINS(printed, list[i].name);
    CHECK_CODE(0, "run", "probe.fmu", "--solver", list[i].name, "--set", "n=100", "--step", "1e-4");
    CHECK_NEAR(last_value("probe.csv", 1), cos(4), 2e-3);
  }
}

// The error follows the tolerance and the step.
static void tolerances_and_steps(void** state) {
  (void)state;
  CHECK_CODE(0, "run", "decay.c", "--rtol", "1e-3");
  double coarse = fabs(last_value("decay.csv", 1) - exp(-1));
  CHECK_CODE(0, "run", "decay.c", "--rtol", "1e-10", "--atol", "1e-12");
  double fine = fabs(last_value("decay.csv", 1) - exp(-1));
  CHECK(fine < 1e-8 && fine < coarse / 100);
  CHECK_CODE(0, "run", "decay.c", "--solver", "euler", "--step", "0.1");
  coarse = fabs(last_value("decay.csv", 1) - exp(-1));
  CHECK_CODE(0, "run", "decay.c", "--solver", "euler", "--step", "0.01");
  fine = fabs(last_value("decay.csv", 1) - exp(-1));
  CHECK_NEAR(fine / coarse, 0.1, 0.02);
  // the longest step of a variable-step solver
  CHECK_CODE(0, "run", "decay.c", "--step", "1e-3", "--stats");
  int steps = 0;
  CHECK(sscanf(strstr(printed, "  steps "), "  steps %d", &steps) == 1 && steps >= 1000);
}

static void tolerances_that_cannot_be(void** state) {
  (void)state;
  CHECK_FAILS(2, "decay: the relative tolerance is 0; it must lie between 0 and 1", "run",
              "decay.c", "--rtol", "0");
  CHECK_FAILS(2, "decay: the relative tolerance is -1; it must lie between 0 and 1", "run",
              "decay.c", "--rtol", "-1");
  CHECK_FAILS(2, "decay: the absolute tolerance is -1; it must be positive", "run", "decay.c",
              "--atol", "-1");
}

//------------------------------------ kinds ------------------------------------

static void kinds(void** state) {
  (void)state;
  CHECK_CODE(0, "run", "probe.fmu", "--as", "me", "--set", "n=100", "--stats");
  CHECK_CONTAINS(printed, "right-hand sides");
  CHECK_CODE(0, "run", "probe.fmu", "--as", "cs", "--step", "0.125", "--stats");
  CHECK_CONTAINS(printed, "  communication steps  16\n");
  CHECK_CODE(0, "run", "probe.fmu", "--as", "cs", "--step", "0.125", "--interval", "0.5");
  CHECK_INT(count_rows("probe.csv"), 5);
  CHECK_CODE(0, "run", "decay.c", "--as", "cs", "--step", "0.25", "--stop", "1");
  CHECK_CONTAINS(printed, ", 5 points");
  CHECK_FAILS(2,
              "probe.fmu: solver rk4: a co-simulation FMU brings its own solver (--as me takes "
              "the model exchange side, if there is one)",
              "run", "probe.fmu", "--as", "cs", "--solver", "rk4");
}

static void kinds_that_are_missing(void** state) {
  (void)state;
  size_t size;
  char path[4096];
  snprintf(path, sizeof path, "%s/modelDescription.xml", getenv("COUPLET_PROBE"));
  char* xml = read_bytes(path, &size);
  char* me = strstr(xml, "<ModelExchange");
  memcpy(me, "<!--", 4);
  memcpy(strstr(me, "/>") - 1, "-->", 3);  // swallows the quote and "/>"
  make_probe("cs_only.fmu", "probe", xml);
  free(xml);
  CHECK_CODE(0, "run", "cs_only.fmu");
  CHECK_FAILS(2, "cs_only.fmu: --as me: there is only co-simulation in it", "run", "cs_only.fmu",
              "--as", "me");
}

// The probe asks to end after n event updates.
static void a_model_may_end_the_run(void** state) {
  (void)state;
  CHECK_CODE(0, "run", "probe.fmu");
  CHECK_CONTAINS(printed, "(the model ended the run)");
  CHECK(last_value("probe.csv", 0) < 1);
}

static void a_folder_and_other_files(void** state) {
  (void)state;
  CHECK_CODE(0, "run", getenv("COUPLET_PROBE"), "--set", "n=100", "-o", "folder.csv");
  CHECK_NEAR(last_value("folder.csv", 0), 2, 0);
  write_text("model.txt", "");
  CHECK_FAILS(
      2, "model.txt: the name ends in none of .fmu, .c, .yaml, .xml, .ssp and .ssd: what is it?",
      "run", "model.txt");
  CHECK_FAILS(2, "missing.fmu: No such file or directory", "run", "missing.fmu");
  CHECK_FAILS(2, "missing.c: No such file or directory", "run", "missing.c");
  CHECK_FAILS(2, "tmp: not an FMU: no modelDescription.xml inside", "run", "tmp");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(default_experiment_and_name),
      cmocka_unit_test(times),
      cmocka_unit_test(times_that_cannot_be),
      cmocka_unit_test(solvers),
      cmocka_unit_test(tolerances_and_steps),
      cmocka_unit_test(tolerances_that_cannot_be),
      cmocka_unit_test(kinds),
      cmocka_unit_test(kinds_that_are_missing),
      cmocka_unit_test(a_model_may_end_the_run),
      cmocka_unit_test(a_folder_and_other_files),
  };
  return cmocka_run_group_tests(tests, set_up, NULL);
}
