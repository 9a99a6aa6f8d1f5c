// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Tables of --input into a master: its inputs follow them at every communication step, not only at
// output points. x' = u with a triangle u, whose integral is known.
#include "examples/running.h"

static const char integrator[] =
    "#include <couplet/model.h>\n"
    "static const cpl_declaration states[] = {{\"x\", .output = true}, {0}};\n"
    "static const cpl_declaration inputs[] = {{\"u\"}, {0}};\n"
    "static int f(const cpl_values* v, double* dx) {\n  dx[0] = v->u[0];\n  return 0;\n}\n"
    "const cpl_model_def couplet_model = {.name = \"integrator\", .states = states, "
    ".inputs = inputs, .derivatives = f};\n";

static void put(const char* path, const char* text) {
  FILE* f = fopen(path, "w");
  assert_non_null(f);
  fputs(text, f);
  CHECK_INT(fclose(f), 0);
}

static void inputs_follow_their_table(void** state) {
  static const char* const masters[] = {"algorithm: determinate", "algorithm: jacobi",
                                        "algorithm: determinate, tolerance: 1e-4"};
  put("m.c", integrator);
  put("in.csv", "time,u\n0,0\n0.37,3\n1,0\n");
  for (size_t i = 0; i < 3; i++) {
    char text[500];
    snprintf(text, sizeof text,
             "couplet: 1\nmodels: {a: {c: m.c, as: cs}, b: {c: m.c, as: cs}}\n"
             "inputs: {u: {start: 0}}\nconnections: {a.u: u, b.u: a.x}\n"
             "experiment: {stop: 1, interval: 1}\nmaster: {%s, step: 0.004}\n",
             masters[i]);
    put("s.yaml", text);
    must_do("run s.yaml --input in.csv -o out.csv");
    cpl_table* t = read_table(*state, "out.csv");
    size_t last = t->n_rows - 1;
    CHECK_NEAR(column(t, "a.x")[last], 1.5, 0.02);  // the kink is passed within a step
    CHECK_NEAR(column(t, "b.x")[last], 1.5 - 1.5 * (1 + 0.37) / 3, 0.02);
    cpl_table_destroy(t);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(inputs_follow_their_table)};
  return cmocka_run_group_tests(tests, make_context, drop_context);
}
