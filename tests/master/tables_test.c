// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Tables and conditions around FMUs that cannot go back, or keep a grid of their own: integrals by
// hand, and the time at which a body falls through a level.
#include "../examples/running.h"

static void write_file(const char* path, const char* text) {
  FILE* f = fopen(path, "w");
  assert_non_null(f);
  fputs(text, f);
  fclose(f);
}

// Unpacks an FMU into a folder, with another description.
static void alter(const char* fmu, const char* folder, const char* edit) {
  char command[1024];
  snprintf(command, sizeof command,
           "rm -rf %s && python3 -m zipfile -e %s %s && sed -i '%s' %s/modelDescription.xml",
           folder, fmu, folder, edit, folder);
  CHECK_INT(system(command), 0);
}

static int setup(void** state) {
  write_file("sum.c",
             "#include <couplet/model.h>\n"
             "static const cpl_declaration u[] = {{\"u\"}, {0}};\n"
             "static const cpl_declaration x[] = {{\"x\", .output = true}, {0}};\n"
             "static int f(const cpl_values* v, double* dx) { dx[0] = v->u[0]; return 0; }\n"
             "const cpl_model_def couplet_model = {.name = \"sum\", .inputs = u, .states = x,\n"
             "  .derivatives = f};\n");
  write_file("body.c",
             "#include <couplet/model.h>\n"
             "static const cpl_declaration x[] = {{\"h\", .start = 6, .output = true},\n"
             "  {\"v\", .start = 3}, {0}};\n"
             "static int f(const cpl_values* v, double* dx) {\n"
             "  dx[0] = v->x[1], dx[1] = -9.81;\n  return 0;\n}\n"
             "const cpl_model_def couplet_model = {.name = \"body\", .states = x,\n"
             "  .derivatives = f};\n");
  write_file("note.c",
             "#include <couplet/model.h>\n"
             "static const cpl_declaration x[] = {{\"at\", .start = -1, .output = true}, {0}};\n"
             "static int f(const cpl_values* v, double* dx) { (void)v, dx[0] = 0; return 0; }\n"
             "const cpl_model_def couplet_model = {.name = \"note\", .states = x,\n"
             "  .derivatives = f};\n");
  write_file("jump.csv", "time,u\n0,2\n0.71,2\n0.71,-3\n3,-3\n");
  write_file("kink.csv", "time,u\n0,0\n0.3,0\n0.3,2\n0.71,2\n1.21,-3\n3,-3\n");
  must_do("build -q sum.c -o sum.fmu");
  must_do("build -q body.c -o body.fmu");
  alter("sum.fmu", "onward", "s/can[A-Za-z]*FMUstate=\"true\"//g");
  alter("sum.fmu", "grid",
        "s/can[A-Za-z]*FMUstate=\"true\"//g; s/canHandleVariableCommunicationStepSize=\"true\"//");
  alter("body.fmu", "falling", "s/can[A-Za-z]*FMUstate=\"true\"//g");
  alter("body.fmu", "falling_grid",
        "s/can[A-Za-z]*FMUstate=\"true\"//g; s/canHandleVariableCommunicationStepSize=\"true\"//");
  return make_context(state);
}

static double run_table(cpl_context* ctx, const char* model, const char* table,
                        const char* master) {
  char text[512];
  snprintf(text, sizeof text,
           "couplet: 1\nmodels: {b: {%s, as: cs}}\ninputs: {u: {file: %s, column: u}}\n"
           "connections: {b.u: u}\nmaster: {%s}\nrecord: [b.x]\n"
           "experiment: {stop: 2, interval: 1, rtol: 1e-9}\n",
           model, table, master);
  write_file("table.yaml", text);
  must_do("run table.yaml -o out.csv");
  cpl_table* t = read_table(ctx, "out.csv");
  double x = column(t, "b.x")[t->n_rows - 1];
  cpl_table_destroy(t);
  return x;
}

// 0.71 is no multiple of 0.3. Whoever can step to it does; a grid of its own is reported.
static void a_jump_of_a_table_is_a_communication_point(void** state) {
  static const char* const models[] = {"c: sum.c", "fmu: sum.fmu", "fmu: onward"};
  static const char* const masters[] = {"step: 0.3", "step: 0.3, algorithm: jacobi, order: 1",
                                        "step: 0.3, algorithm: iterative",
                                        "step: 0.3, tolerance: 1e-5"};
  double exact = 2 * 0.71 - 3 * 1.29;
  for (int i = 0; i < 12; i++)
    CHECK_NEAR(run_table(*state, models[i % 3], "jump.csv", masters[i / 3]), exact, 1e-9);
  run_table(*state, "fmu: grid", "jump.csv", masters[0]);
  check_message("b.u jumps from 2 to -3 at t=0.71, within a step of b, which keeps its own");
}

// With error control kinks are communication points: the error of a step that cannot be taken back
// is that of its first part, a hundredth of the step long, in which the slope is not known yet.
static void a_kink_of_a_table_is_a_communication_point(void** state) {
  double exact = 2 * 0.41 - 0.5 * 0.5 - 3 * 0.79, slope = 10, first = 0.3 / 100;
  double bound = 2 * slope * first * first / 2;
  CHECK_NEAR(run_table(*state, "c: sum.c", "kink.csv", "step: 0.3, tolerance: 1e-6"), exact, 1e-5);
  CHECK_NEAR(run_table(*state, "fmu: onward", "kink.csv", "step: 0.3, tolerance: 1e-6"), exact,
             2 * bound);
}

// h = 6 + 3 t - 9.81 t^2 / 2 falls through 1.5: with three points the prediction is exact.
static void a_falling_body_is_seen_when_it_passes(void** state) {
  double exact = (3 + sqrt(9 + 2 * 9.81 * 4.5)) / 9.81;
  static const struct {
    const char* fmu;
    double step, error;
  } ways[] = {{"falling", 0.37, 1e-6},
              {"falling", 0.11, 1e-6},
              {"falling", 0.02, 1e-6},
              {"falling_grid", 0.11, 0.11}};
  for (int i = 0; i < 4; i++) {
    char text[512];
    snprintf(text, sizeof text,
             "couplet: 1\nmodels: {b: {fmu: %s, as: cs}, n: {c: note.c}}\n"
             "events: {pass: {when: b.h < 1.5, set: {n.at: time}}}\nmaster: {step: %g}\n"
             "record: [n.at]\nexperiment: {stop: 2.2, interval: 1.1, rtol: 1e-11, atol: 1e-11}\n",
             ways[i].fmu, ways[i].step);
    write_file("fall.yaml", text);
    must_do("run fall.yaml -o out.csv");
    cpl_table* t = read_table(*state, "out.csv");
    CHECK_NEAR(column(t, "n.at")[t->n_rows - 1], exact, ways[i].error);
    cpl_table_destroy(t);
    size_t n;
    double low, high, estimate;
    char* said = read_all("err.txt", &n);
    const char* at = strstr(said, "changed between t=");
    assert_non_null(at);
    CHECK_INT(sscanf(at, "changed between t=%lf and t=%lf (by interpolation at %lf", &low, &high,
                     &estimate),
              3);
    CHECK(low <= exact && exact <= high);
    CHECK_NEAR(estimate, exact, 1e-8);
    free(said);
  }
}

// x = 2 t is left at 0.6, with every algorithm, also where a condition sees the values of the end
// of the step from its beginning on.
static void a_mode_is_left_where_its_condition_turns(void** state) {
  static const char* const algorithms[] = {"determinate", "jacobi", "gauss-seidel",
                                           "gauss-seidel, order: 1", "iterative"};
  static const char* const models[] = {"c: sum.c", "fmu: sum.fmu", "fmu: onward"};
  for (int i = 0; i < 15; i++) {
    char text[768];
    snprintf(text, sizeof text,
             "couplet: 1\nmodes:\n  start: a\n  a:\n"
             "    models: {p: {%s, as: cs, start: {u: 2}}, q: {c: sum.c, as: cs}}\n"
             "    connections: {q.u: p.x}\n    master: {step: 0.17, algorithm: %s}\n"
             "    leave: [{when: p.x > 0.6, to: b, set: {p.x: p.x}}]\n"
             "  b:\n    models: {p: {c: sum.c}}\n    connections: {p.u: 0}\n"
             "observe: {x: p.x}\nexperiment: {stop: 1, interval: 0.5, rtol: 1e-9}\n",
             models[i % 3], algorithms[i / 3]);
    write_file("modes.yaml", text);
    must_do("run modes.yaml -o out.csv");
    cpl_table* t = read_table(*state, "out.csv");
    CHECK_NEAR(column(t, "x")[t->n_rows - 1], 0.6, i % 3 == 2 ? 4 * 0.17e-4 : 1e-9);
    cpl_table_destroy(t);
  }
}

// Richardson's estimate repeats every step.
static void an_estimate_that_needs_a_way_back_is_refused(void** state) {
  (void)state;
  static const char* const models[] = {"onward", "grid"};
  for (int i = 0; i < 2; i++) {
    char text[512];
    snprintf(text, sizeof text,
             "couplet: 1\nname: s\nmodels: {b: {fmu: %s, as: cs}}\nconnections: {b.u: time}\n"
             "master: {step: 0.3, tolerance: 1e-4, estimate: richardson}\n"
             "experiment: {stop: 1}\n",
             models[i]);
    write_file("halves.yaml", text);
    CHECK(couplet("run halves.yaml -o out.csv") != 0);
    check_message("s: estimate: richardson repeats steps, but b can");
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_jump_of_a_table_is_a_communication_point),
      cmocka_unit_test(a_kink_of_a_table_is_a_communication_point),
      cmocka_unit_test(a_falling_body_is_seen_when_it_passes),
      cmocka_unit_test(a_mode_is_left_where_its_condition_turns),
      cmocka_unit_test(an_estimate_that_needs_a_way_back_is_refused),
  };
  return cmocka_run_group_tests(tests, setup, drop_context);
}
