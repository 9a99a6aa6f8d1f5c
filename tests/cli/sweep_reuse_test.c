// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// couplet sweep: every case begins at the beginning, whatever the model keeps; cases give the bits
// of single runs; factors that are fixed when a file is opened; studies that differ in one setting.
#include <signal.h>

#include "base/base.h"
#include "faults.h"
#include "sweep.h"

//------------------------------------ what models keep ------------------------------------

// x' = -k x, from 1, or from 2 when it has made steps in this process before.
static const char remembering[] =
    "#include <couplet/model.h>\n"
    "static int has_run;\n"
    "static const cpl_declaration states[] = {{\"x\", .start = 1, .output = true}, {0}};\n"
    "static const cpl_declaration parameters[] = {{\"k\", .start = 1}, {0}};\n"
    "static int f(const cpl_values* v, double* dx) {\n"
    "  dx[0] = -v->p[0]*v->x[0];\n"
    "  return CPL_MODEL_OK;\n"
    "}\n"
    "static int begin(const cpl_values* v, cpl_event_actions* a) {\n"
    "  a->x[0] = v->x[0] + has_run;\n"
    "  return CPL_MODEL_OK;\n"
    "}\n"
    "static int step(const cpl_values* v, bool* event) {\n"
    "  has_run = 1;\n"
    "  return CPL_MODEL_OK;\n"
    "}\n"
    "const cpl_model_def couplet_model = {.name = \"remembering\", .states = states,\n"
    "  .parameters = parameters, .derivatives = f, .initialize = begin,\n"
    "  .completed_step = step};\n";

static void a_model_that_remembers(void** state) {
  (void)state;
  use_folders();
  write_text("remembering.c", remembering);
  CHECK_INT(COUPLET("sweep", "remembering.c", "--over", "k=0.5:2:16", "--stop", "1", "--rtol",
                    "1e-9", "-m", "end=final(x)", "-j", "2", "-o", "s.csv"),
            0);
  CHECK_CONTAINS(complained, "a process of its own");
  const table t = read_table("s.csv");
  CHECK_INT(t.n, 16);
  for (size_t i = 0; i < t.n; i++) CHECK_NEAR(t.values[i][1], exp(-t.values[i][0]), 1e-7);
  CHECK(is_empty("tmp"));
}

static void a_reset_that_does_nothing(void** state) {
  (void)state;
  use_folders();
  make_probe("probe.fmu", "probe", NULL);
  setenv("PROBE_KEEPS_STATE", "1", 1);
  const int code = COUPLET("sweep", "probe.fmu", "--over", "k=1:4:8", "--set", "n=100", "--stop",
                           "1", "--rtol", "1e-9", "-m", "end=final(x1)", "-j", "2", "-o", "s.csv");
  unsetenv("PROBE_KEEPS_STATE");
  CHECK_INT(code, 0);
  CHECK_CONTAINS(complained, "made anew for each case");
  CHECK(strstr(complained, "process of its own") == NULL);
  const table t = read_table("s.csv");
  CHECK_INT(t.n, 8);
  for (size_t i = 0; i < t.n; i++) CHECK_NEAR(t.values[i][1], cos(sqrt(t.values[i][0])), 1e-6);
}

//------------------------------------ single runs ------------------------------------

// Measures do not change the steps, and resets leave nothing behind.
static void the_bits_of_single_runs(void** state) {
  (void)state;
  use_folders();
  char file[4096];
  snprintf(file, sizeof file, "%s/examples/two_masses/two_masses.yaml",
           getenv("COUPLET_SOURCE_DIR"));
  CHECK_INT(COUPLET("sweep", file, "--over", "left.m=0.5:2:5", "-m", "end=final(right.x)", "-m",
                    "area=integral(left.x)", "-j", "1", "-q", "-o", "s.csv"),
            0);
  const table t = read_table("s.csv");
  CHECK_INT(t.n, 5);
  for (size_t i = 0; i < t.n; i++) {
    char set[64];
    snprintf(set, sizeof set, "left.m=%.17g", t.values[i][0]);
    // output points would change when an event is found, by rounding
    CHECK_INT(COUPLET("run", file, "--set", set, "--record", "right.x", "--interval", "10", "-q",
                      "-o", "r.csv"),
              0);
    CHECK_NEAR(last_value("r.csv", 1), t.values[i][1], 0);
  }
}

//------------------------------------ what is fixed ------------------------------------

static const char integrator[] =
    "#include <couplet/model.h>\n"
    "static const cpl_declaration states[] = {{\"x\", .output = true}, {0}};\n"
    "static const cpl_declaration inputs[] = {{\"u\"}, {0}};\n"
    "static const cpl_declaration parameters[] = {{\"a\"}, {0}};\n"
    "static int f(const cpl_values* v, double* dx) {\n"
    "  dx[0] = v->p[0] + v->u[0];\n"
    "  return CPL_MODEL_OK;\n"
    "}\n"
    "const cpl_model_def couplet_model = {.name = \"integrator\", .states = states,\n"
    "  .inputs = inputs, .parameters = parameters, .derivatives = f};\n";

// The file is opened for each case: b.x' = a.x(t - d) and a.x = a t.
static void delays(void** state) {
  (void)state;
  use_folders();
  write_text("integrator.c", integrator);
  write_text("line.yaml",
             "couplet: 1\nmodels:\n"
             "  a: {c: integrator.c, interfaces: {out: {kind: signal, value: x}}}\n"
             "  b: {c: integrator.c, interfaces: {in: {kind: signal, value: u}}}\n"
             "parameters: {d: 0.2}\n"
             "tlm: [{from: a.out, to: b.in, delay: d}]\n"
             "experiment: {stop: 1, rtol: 1e-9}\n");
  CHECK_INT(COUPLET("sweep", "line.yaml", "--over", "d=-0.1:0.7:5", "--over", "a.a=1,2", "-m",
                    "end=final(b.x)", "-o", "s.csv"),
            0);
  const table t = read_table("s.csv");
  CHECK_INT(t.n, 10);
  for (size_t i = 0; i < t.n; i++) {
    const double s = 1 - t.values[i][0];
    if (i < 2) CHECK_CONTAINS(t.failure[i], "its delay must be positive");
    else CHECK_NEAR(t.values[i][2], t.values[i][1] * s * s / 2, 1e-7);
  }
  CHECK(is_empty("tmp"));
}

//------------------------------------ another study ------------------------------------

static const char decay[] =
    "#include <couplet/model.h>\n"
    "#include <unistd.h>\n"
    "static const cpl_declaration states[] = {{\"x\", .start = 1, .output = true}, {0}};\n"
    "static const cpl_declaration inputs[] = {{\"u\"}, {0}};\n"
    "static const cpl_declaration parameters[] = {{\"k\", .start = 1}, {0}};\n"
    "static int f(const cpl_values* v, double* dx) {\n"
    "  if (v->p[0] > 2) usleep(20000);\n"
    "  dx[0] = v->u[0] - v->p[0]*v->x[0];\n"
    "  return CPL_MODEL_OK;\n"
    "}\n"
    "const cpl_model_def couplet_model = {.name = \"decay\", .states = states, .inputs = inputs,\n"
    "  .parameters = parameters, .derivatives = f};\n";

#define STUDY "sweep", "one.yaml", "--over", "a.k=1,2,5,6", "--stop", "50", "-j", "1", "-o", "i.csv"

static void interrupt_a_study(void) {
  const char* const slow[] = {STUDY, "--input", "u.csv", "-q", NULL};
  const pid_t pid = start_couplet(slow, -1, -1);
  for (int i = 0; i < 2000 && access("i.csv.journal", F_OK) != 0; i++) usleep(10000);
  usleep(300000);
  kill(pid, SIGINT);
  CHECK_INT(end_of(pid), 1);
}

// What one case depends on distinguishes studies: the rest of another one is not added to it.
static void other_settings_are_another_study(void** state) {
  (void)state;
  use_folders();
  write_text("decay.c", decay);
  write_text("one.yaml",
             "couplet: 1\nmeasures: {end: final(a.x)}\nmodels: {a: {c: decay.c}}\ninputs: {u: "
             "{start: 0}}\nconnections: {a.u: u}\n");
  write_text("u.csv", "time,u\n0,1\n50,1\n");
  write_text("v.csv", "time,u\n0,1\n50,2\n");
  interrupt_a_study();
  static const struct {
    const char *options[5], *differs;
  } others[] = {
      {{"--input", "v.csv"}, "content of the input table"},
      {{"--input", "u.csv", "--as", "cs"}, "as: cs"},
      {{"--input", "u.csv", "--solver", "rk4"}, "solver: rk4"},
      {{"--input", "u.csv", "--set", "a.x=2"}, "set: a.x = 2"},
  };
  for (size_t i = 0; i < CPLI_COUNT(others); i++) {
    const char* args[24] = {STUDY, "--resume"};
    size_t n = 11;
    for (size_t k = 0; k < 5 && others[i].options[k] != NULL; k++) args[n++] = others[i].options[k];
    const int code = run_couplet(args);
    if (code != 2) printf("%zu: %d %s\n", i, code, complained);
    CHECK_INT(code, 2);
    CHECK_CONTAINS(complained, "another study");
    CHECK_CONTAINS(complained, others[i].differs);
  }
  // a model that the file names
  char changed[sizeof decay + 16];
  snprintf(changed, sizeof changed, "%s\n// new\n", decay);
  write_text("decay.c", changed);
  CHECK_INT(COUPLET(STUDY, "--resume", "--input", "u.csv"), 2);
  CHECK_CONTAINS(complained, "decay.c");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_model_that_remembers),
      cmocka_unit_test(a_reset_that_does_nothing),
      cmocka_unit_test(the_bits_of_single_runs),
      cmocka_unit_test(delays),
      cmocka_unit_test(other_settings_are_another_study),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
