// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A system with modes stands beside a model without a connection to it. Events of the model have
// their two rows, and none of them is missed, wherever the ends of steps and the output points lie.
#include "examples/running.h"

static void put(const char* path, const char* text) {
  FILE* f = fopen(path, "w");
  assert_non_null(f);
  CHECK(fputs(text, f) >= 0);
  CHECK_INT(fclose(f), 0);
}

static int make_files(void** state) {
  put("m.c",
      "#include <couplet/model.h>\n"
      "static const cpl_declaration states[] = {{\"x\", .output = true}, {0}};\n"
      "static const cpl_declaration inputs[] = {{\"u\"}, {0}};\n"
      "static int f(const cpl_values* v, double* dx) {\n"
      "  dx[0] = v->u[0];\n  return 0;\n}\n"
      "const cpl_model_def couplet_model = {.name = \"m\", .states = states, .inputs = inputs, "
      ".derivatives = f};\n");
  put("gain.c",
      "#include <couplet/model.h>\n"
      "static const cpl_declaration inputs[] = {{\"u\"}, {0}};\n"
      "static const cpl_declaration outputs[] = {{\"y\"}, {0}};\n"
      "static int f(const cpl_values* v, double* y) {\n"
      "  y[0] = 2 * v->u[0];\n  return 0;\n}\n"
      "const cpl_model_def couplet_model = {.name = \"gain\", .inputs = inputs, .outputs = "
      "outputs, "
      ".output_values = f};\n");
  put("modes.yaml",
      "couplet: 1\nmodes:\n  start: a\n"
      "  a:\n    models: {m: {c: m.c, start: {x: 0.4}}}\n    connections: {m.u: 0.9 - m.x}\n"
      "    leave: [{when: m.x > 0.6, to: b, set: {}}]\n"
      "  b:\n    models: {n: {c: m.c, start: {x: 0.2}}}\n    connections: {n.u: 0.1 - n.x}\n");
  return make_context(state);
}

static void write_system(const char* condition, const char* with, const char* interval) {
  FILE* f = fopen("s.yaml", "w");
  assert_non_null(f);
  fprintf(f,
          "couplet: 1\nexperiment: {stop: 3.1, interval: %s, rtol: 1e-8, atol: 1e-8}\n"
          "models: {g: {c: gain.c}%s}\n"
          "connections: {g.u: 'if %s then 1.5 else 0.5'}\n",
          interval, with, condition);
  fclose(f);
}

// Rows before and after each of n times; the values there are 1 and 3 in turn.
static void check_rows(cpl_context* ctx, const double* times, size_t n) {
  cpl_table* t = read_table(ctx, "out.csv");
  const double* y = column(t, "g.y");
  size_t found = 0;
  for (size_t i = 1; i < t->n_rows; i++) {
    if (y[i] == y[i - 1]) continue;
    assert_true(found < n);
    CHECK_NEAR(t->time[i], times[found], 1e-7);
    CHECK(t->time[i] == t->time[i - 1]);
    CHECK_NEAR(y[i], found++ % 2 == 0 ? 3 : 1, 1e-12);
  }
  CHECK_INT(found, n);
  cpl_table_destroy(t);
}

static const char* const others[] = {"", ", box: {system: modes.yaml}"};
static const char* const solvers[] = {"cvode", "dopri5"};

// The condition is on its other side at the end of the run, and was so before. A model that depends
// on time only is integrated in one step.
static void changes_before_one_that_shows_are_found(void** state) {
  // sin(3 t) > 0.5: between pi/18 and 5 pi/18, and from 13 pi/18 on
  const double times[] = {M_PI / 18, 5 * M_PI / 18, 13 * M_PI / 18, 17 * M_PI / 18};
  for (size_t i = 0; i < 2; i++) {
    for (size_t s = 0; s < 2; s++) {
      for (int coarse = 0; coarse < 2; coarse++) {
        write_system("sin(3*time) > 0.5", others[i], coarse != 0 ? "2.7" : "0.27");
        must_do("run s.yaml --one-solver --stop-time 2.7 --record g.y -o out.csv --solver %s",
                solvers[s]);
        check_rows(*state, times, 3);
        must_do("run s.yaml --stop-time 2.7 --record '*' -o out.csv --solver %s", solvers[s]);
        check_rows(*state, times, 3);
      }
    }
  }
}

// A change for less time than between two looks of the solver, where an output point happens to
// lie in it.
static void changes_that_only_output_points_show_have_their_rows(void** state) {
  // exp(-((t - 1.3)/0.001)^2) > 0.5
  const double half = 1e-3 * sqrt(log(2)), times[] = {1.3 - half, 1.3 + half};
  for (size_t i = 0; i < 2; i++) {
    for (size_t s = 0; s < 2; s++) {
      write_system("exp(-((time - 1.3)/0.001)^2) > 0.5", others[i], "0.65");
      must_do("run s.yaml --one-solver --record '*' -o out.csv --solver %s", solvers[s]);
      check_rows(*state, times, 2);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(changes_before_one_that_shows_are_found),
      cmocka_unit_test(changes_that_only_output_points_show_have_their_rows),
  };
  return cmocka_run_group_tests(tests, make_files, drop_context);
}
