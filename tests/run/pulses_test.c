// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Inputs of co-simulation that jump between communication points: x' = u under a pulse that is
// shorter than a step has the area of the pulse.
#include "examples/running.h"

static const double FROM = 0.37, UNTIL = 0.415, HEIGHT = 2.5;

static void put(const char* path, const char* text) {
  FILE* f = fopen(path, "w");
  assert_non_null(f);
  CHECK(fputs(text, f) >= 0);
  CHECK_INT(fclose(f), 0);
}

// An FMU as a folder, with its description edited by sed.
static void alter(const char* fmu, const char* folder, const char* edit) {
  char command[512];
  snprintf(command, sizeof command,
           "rm -rf %s && python3 -m zipfile -e %s %s && sed -i '%s' %s/modelDescription.xml",
           folder, fmu, folder, edit, folder);
  CHECK_INT(system(command), 0);
}

static int make_files(void** state) {
  (void)state;
  put("sum.c",
      "#include <couplet/model.h>\n"
      "static const cpl_declaration states[] = {{\"x\", .output = true}, {0}};\n"
      "static const cpl_declaration inputs[] = {{\"u\"}, {0}};\n"
      "static int f(const cpl_values* v, double* dx) {\n"
      "  dx[0] = v->u[0];\n"
      "  return CPL_MODEL_OK;\n"
      "}\n"
      "const cpl_model_def couplet_model = {.name = \"sum\", .states = states,\n"
      "  .inputs = inputs, .derivatives = f};\n");
  put("pulse.csv", "time,u\n0,0\n0.37,0\n0.37,2.5\n0.415,2.5\n0.415,0\n1,0\n");
  must_do("build -q sum.c -o sum2.fmu");
  must_do("build -q --fmi 3 sum.c -o sum3.fmu");
  alter("sum3.fmu", "plain", "s/hasEventMode=\"true\"//");
  alter("sum3.fmu", "grid",
        "s/hasEventMode=\"true\"//; s/canHandleVariableCommunicationStepSize=\"true\"//");
  return 0;
}

static double exact(double t) { return HEIGHT * (fmin(fmax(t, FROM), UNTIL) - FROM); }

static cpl_table* run_pulse(cpl_context* ctx, const char* fmu) {
  must_do(
      "run %s --as cs --step 0.1 --interval 0.25 --input pulse.csv --stop-time 1 --record x "
      "--record u -o out.csv",
      fmu);
  return read_table(ctx, "out.csv");
}

static void short_pulses_arrive(void** state) {
  (void)state;
  static const char* const fmus[] = {"sum2.fmu", "sum3.fmu", "plain"};
  for (int i = 0; i < 3; i++) {
    cpl_context* ctx = test_context();
    cpl_table* t = run_pulse(ctx, fmus[i]);
    const double *x = column(t, "x"), *u = column(t, "u");
    int left[2] = {0}, right[2] = {0};
    for (size_t k = 0; k < t->n_rows; k++) {
      CHECK_NEAR(x[k], exact(t->time[k]), 1e-9);
      left[0] += t->time[k] == FROM && u[k] == 0;
      right[0] += t->time[k] == FROM && u[k] == HEIGHT;
      left[1] += t->time[k] == UNTIL && u[k] == HEIGHT;
      right[1] += t->time[k] == UNTIL && u[k] == 0;
    }
    // the side after a jump can be shown where outputs follow inputs
    for (int k = 0; k < 2; k++) CHECK(left[k] == 1 && right[k] == (i < 2));
    cpl_table_destroy(t);
    cpl_context_destroy(ctx);
  }
}

static void what_is_lost_is_said(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  cpl_table* t = run_pulse(ctx, "grid");
  check_message("sum: an input jumps at t=0.37, but the communication step cannot vary");
  cpl_table_destroy(t);
  cpl_context_destroy(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(short_pulses_arrive),
                                     cmocka_unit_test(what_is_lost_is_said)};
  return cmocka_run_group_tests(tests, make_files, NULL);
}
