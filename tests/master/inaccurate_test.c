// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// What a master with a tolerance does with errors it cannot avoid, and with kinks of tables that a
// run gives it.
#include "examples/running.h"

static void put(const char* path, const char* text) {
  FILE* f = fopen(path, "w");
  assert_non_null(f);
  CHECK(fputs(text, f) >= 0);
  CHECK_INT(fclose(f), 0);
}

static int make_files(void** state) {
  put("sum.c",
      "#include <couplet/model.h>\n"
      "static const cpl_declaration states[] = {{\"x\", .output = true}, {0}};\n"
      "static const cpl_declaration inputs[] = {{\"u\"}, {0}};\n"
      "static int f(const cpl_values* v, double* dx) {\n  dx[0] = v->u[0];\n  return 0;\n}\n"
      "const cpl_model_def couplet_model = {.name = \"sum\", .states = states, .inputs = inputs, "
      ".derivatives = f};\n");
  must_do("build -q sum.c -o sum.fmu");
  CHECK_INT(system("rm -rf legacy && python3 -m zipfile -e sum.fmu legacy && sed -i "
                   "'s/canGetAndSetFMUstate=\"true\"//; s/canSerializeFMUstate=\"true\"//' "
                   "legacy/modelDescription.xml"),
            0);
  return make_context(state);
}

// An oscillator of two integrators: x'' = -400 x. The first steps have too large an error.
static void write_oscillator(const char* second) {
  char text[1000];
  snprintf(text, sizeof text,
           "couplet: 1\nexperiment: {stop: 1, interval: 0.5}\n"
           "models: {a: {c: sum.c, as: cs, start: {x: 1}}, b: {%s, as: cs}}\n"
           "connections: {a.u: 20*b.x, b.u: -20*a.x}\n"
           "master: {algorithm: jacobi, order: 1, step: 0.1, tolerance: 1e-3}\n",
           second);
  put("s.yaml", text);
}

static void errors_that_stay_are_named_and_counted(void** state) {
  (void)state;
  write_oscillator("fmu: legacy");
  must_do("run s.yaml -o out.csv");
  check_message("has an error of about");
  check_message("more than the tolerance of 0.001, and is accepted: b cannot be rolled back");
  check_message("communication steps had a larger error than the tolerance of 0.001");
  size_t size;
  char* text = read_all("err.txt", &size);
  const char* first = strstr(text, "and is accepted");
  CHECK(strstr(first + 1, "and is accepted") == NULL);
  free(text);
}

static void errors_that_are_taken_back_are_not(void** state) {
  (void)state;
  write_oscillator("fmu: sum.fmu");
  must_do("run s.yaml -o out.csv");
  size_t size;
  char* text = read_all("err.txt", &size);
  CHECK(strstr(text, "tolerance") == NULL);
  free(text);
}

// x' = u, where u rises to 2 at t = 0.31, falls to 0.5 at t = 0.47 and is 1 at t = 1.
static void kinks_of_tables_from_outside_are_communication_points(void** state) {
  static const double exact = 0.31 + 0.2 + 0.75 * 0.53;  // 2*0.31/2 + (2 + 0.5)*0.16/2 + ...
  put("in.csv", "time,w\n0,0\n0.31,2\n0.47,0.5\n1,1\n");
  put("s.yaml",
      "couplet: 1\nexperiment: {stop: 1, interval: 1}\ninputs: {w: {start: 0}}\n"
      "models: {a: {c: sum.c, as: cs}}\nconnections: {a.u: w}\n"
      "master: {step: 1, tolerance: 1e-4}\n");
  must_do("run s.yaml --input in.csv -o out.csv");
  cpl_table* t = read_table(*state, "out.csv");
  CHECK_NEAR(column(t, "a.x")[t->n_rows - 1], exact, 1e-4);
  CHECK_INT(t->n_rows, 2);
  cpl_table_destroy(t);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(errors_that_stay_are_named_and_counted),
      cmocka_unit_test(errors_that_are_taken_back_are_not),
      cmocka_unit_test(kinks_of_tables_from_outside_are_communication_points),
  };
  return cmocka_run_group_tests(tests, make_files, drop_context);
}
