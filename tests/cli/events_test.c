// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Events of systems as a user writes them, against solutions by hand.
#include "../examples/running.h"

static void write_file(const char* path, const char* text) {
  FILE* f = fopen(path, "w");
  assert_non_null(f);
  fputs(text, f);
  fclose(f);
}

static const char* const solvers[] = {"cvode", "adams",   "radau", "dopri5",
                                      "erk8",  "esdirk5", "ida",   "rk4 --step 0.3"};
enum { N_SOLVERS = sizeof solvers / sizeof *solvers };

static const char integrator[] =
    "#include <couplet/model.h>\n"
    "static const cpl_declaration states[] = {{\"x\", .output = true}, {0}};\n"
    "static const cpl_declaration inputs[] = {{\"u\"}, {0}};\n"
    "static int f(const cpl_values* v, double* dx) { dx[0] = v->u[0]; return CPL_MODEL_OK; }\n"
    "const cpl_model_def couplet_model = {.name = \"i\", .states = states, .inputs = inputs,\n"
    "                                     .derivatives = f};\n";

static double last(const cpl_table* t, const char* name) { return column(t, name)[t->n_rows - 1]; }

//------------------------------------ two crossings in a step ------------------------------------

// Conditions that nobody's steps are short for: of time by itself, of time through a signal, and of
// a state. Three groups with solvers of their own, or one solver for all.
static void conditions_are_looked_at_inside_of_steps(void** state) {
  cpl_context* ctx = *state;
  write_file("i.c", integrator);
  write_file("pulses.yaml",
             "couplet: 1\n"
             "models: {a: {c: i.c}, b: {c: i.c}, n: {c: i.c}, m: {c: i.c}, k: {c: i.c}}\n"
             "inputs: {w: cos(1.5*time)}\n"
             "connections:\n"
             "  a.u: 1\n"
             "  b.u: if 6*a.x - a.x*a.x > 8.4 then 1 else 0\n"
             "  n.u: if sin(3*time) > 0.95 then 1 else 0\n"
             "  m.u: if w < -0.9 then 1 else 0\n"
             "  k.u: 0\n"
             "events: {e: {when: sin(1.1*time) > 0.98, set: {k.x: k.x + 2}}}\n"
             "outputs: {z: 6*a.x - a.x*a.x - 8.4, y: sin(3*time) - 0.95}\n"
             "record: [b.x, n.x, m.x, k.x, b.u, n.u, z, y]\n"
             "experiment: {stop: 5.9, interval: 0.25}\n");
  double third = acos(0.95) * 2 / 3, wave = acos(0.9) * 2 / 1.5;
  for (size_t k = 0; k < 2 * N_SOLVERS; k++) {
    must_do("run pulses.yaml -q -o out.csv --solver %s %s", solvers[k / 2],
            k % 2 == 0 ? "" : "--one-solver");
    cpl_table* t = read_table(ctx, "out.csv");
    CHECK_NEAR(last(t, "b.x"), 2 * sqrt(0.6), 1e-6);
    CHECK_NEAR(last(t, "n.x"), 3 * third, 1e-6);
    CHECK_NEAR(last(t, "m.x"), wave, 1e-6);
    CHECK_NEAR(last(t, "k.x"), 2, 1e-9);
    for (size_t i = 1; i + 1 < t->n_rows; i++) {  // rows at events show both sides
      if (t->time[i] == t->time[i - 1] || t->time[i] == t->time[i + 1]) continue;
      CHECK_INT(column(t, "b.u")[i], column(t, "z")[i] > 0);
      CHECK_INT(column(t, "n.u")[i], column(t, "y")[i] > 0);
    }
    cpl_table_destroy(t);
  }
}

//------------------------------------ knots of tables ------------------------------------

static const double knots[][2] = {{0, 1},   {0.7, -2}, {1.9, 4},   {2.2, 3.5}, {4, 3.5},
                                  {5.3, 0}, {6.1, 7},  {7.77, -1}, {9, 2}};
enum { N_KNOTS = sizeof knots / sizeof *knots };

// x' = 3 (u - x), x(0) = 0, with u linear between the knots.
static double lag_at(double t) {
  double x = 0;
  for (int i = 0; i + 1 < N_KNOTS && t > knots[i][0]; i++) {
    double d = fmin(t, knots[i + 1][0]) - knots[i][0];
    double slope = (knots[i + 1][1] - knots[i][1]) / (knots[i + 1][0] - knots[i][0]);
    double line = knots[i][1] - slope / 3;
    x = (x - line) * exp(-3 * d) + line + slope * d;
  }
  return x;
}

static double lag_error(cpl_context* ctx, const char* what, const char* solver, double tol) {
  must_do("run %s -q -o out.csv --solver %s --rtol %g --atol %g", what, solver, tol, tol);
  cpl_table* t = read_table(ctx, "out.csv");
  double worst = 0;
  for (size_t i = 0; i < t->n_rows; i++)
    worst = fmax(worst, fabs(t->values[i] - lag_at(t->time[i])));
  cpl_table_destroy(t);
  return worst;
}

static void steps_end_at_knots_of_tables(void** state) {
  FILE* f = fopen("knots.csv", "w");
  assert_non_null(f);
  fputs("time,u\n", f);
  for (int i = 0; i < N_KNOTS; i++) fprintf(f, "%.17g,%.17g\n", knots[i][0], knots[i][1]);
  fclose(f);
  write_file("lag.c",
             "#include <couplet/model.h>\n"
             "static const cpl_declaration states[] = {{\"x\", .output = true}, {0}};\n"
             "static const cpl_declaration inputs[] = {{\"u\"}, {0}};\n"
             "static int f(const cpl_values* v, double* dx) {\n"
             "  dx[0] = 3 * (v->u[0] - v->x[0]);\n"
             "  return CPL_MODEL_OK;\n"
             "}\n"
             "const cpl_model_def couplet_model = {.name = \"lag\", .states = states,\n"
             "  .inputs = inputs, .derivatives = f, .stop_time = 9};\n");
  write_file("lag.yaml",
             "couplet: 1\n"
             "models: {l: {c: lag.c}}\n"
             "inputs: {u: {file: knots.csv, column: u}}\n"
             "connections: {l.u: u}\n"
             "record: [l.x]\n"
             "experiment: {stop: 9}\n");
  for (size_t k = 0; k + 1 < N_SOLVERS; k++) {
    for (double tol = 1e-5; tol > 1e-10; tol *= 1e-2) {
      double single = lag_error(*state, "lag.c --input knots.csv", solvers[k], tol);
      double coupled = lag_error(*state, "lag.yaml", solvers[k], tol);
      if (fmax(single, coupled) > 200 * tol)
        fail_msg("%s, tolerance %g: errors %g and %g", solvers[k], tol, single, coupled);
    }
  }
}

// 20,000 rows of a smooth curve: their kinks do not matter.
static void kinks_below_the_tolerance_are_passed(void** state) {
  (void)state;
  FILE* f = fopen("dense.csv", "w");
  assert_non_null(f);
  fputs("time,u\n", f);
  for (int i = 0; i <= 20000; i++) fprintf(f, "%.17g,%.17g\n", i * 5e-4, cos(0.8 * i * 5e-4));
  fclose(f);
  must_do("run lag.c --input dense.csv --json -o dense_out.csv --rtol 1e-6 --solver dopri5");
  size_t n;
  char* text = read_all("out.txt", &n);
  const char* steps = strstr(text, "\"steps\": ");
  assert_non_null(steps);
  CHECK(atoi(steps + strlen("\"steps\": ")) < 500);
  free(text);
}

//------------------------------------ simultaneous events ------------------------------------

static void two_values_for_one_variable_are_an_error(void** state) {
  cpl_context* ctx = *state;
  write_file("i.c", integrator);
  const char head[] =
      "couplet: 1\nmodels: {a: {c: i.c}, b: {c: i.c}}\nconnections: {a.u: 1, b.u: 0}\n"
      "experiment: {stop: 2}\n";
  char text[1024];
  snprintf(text, sizeof text, "%s%s", head,
           "events:\n  one: {at: 1.5, set: {b.x: a.x + 2}}\n"
           "  two: {when: time >= 1.5, set: {b.x: 4, a.x: b.x}}\n");
  write_file("two.yaml", text);
  CHECK_INT(couplet("run two.yaml -q -o out.csv"), 1);
  check_message("the events one and two happen both at t=1.5 and set b.x to 3.5 and to 4");
  // equal values, and values that are exchanged
  snprintf(text, sizeof text, "%s%s", head,
           "events:\n  one: {at: [1.5, 1.5], set: {b.x: 7, a.x: b.x}}\n"
           "  two: {when: time >= 1.5, set: {b.x: 7}}\n");
  write_file("two.yaml", text);
  must_do("run two.yaml -q -o out.csv --rtol 1e-10");
  cpl_table* t = read_table(ctx, "out.csv");
  CHECK_NEAR(last(t, "b.x"), 7, 1e-12);
  CHECK_NEAR(last(t, "a.x"), 0.5, 1e-9);
  cpl_table_destroy(t);
}

//------------------------------------ accumulation ------------------------------------

// A ball from 0.7 that keeps 0.6 of its speed: impacts accumulate at sqrt(2 h/g) (1 + e)/(1 - e).
static void the_accumulation_point_is_extrapolated(void** state) {
  (void)state;
  write_file("ball.c",
             "#include <couplet/model.h>\n"
             "static const cpl_declaration states[] = {{\"h\", .start = 0.7}, {\"v\"}, {0}};\n"
             "static int f(const cpl_values* v, double* dx) {\n"
             "  dx[0] = v->x[1], dx[1] = -9.81;\n"
             "  return CPL_MODEL_OK;\n"
             "}\n"
             "static int z(const cpl_values* v, double* z) { z[0] = v->x[0]; return 0; }\n"
             "static int hit(const cpl_values* v, cpl_event_actions* a) {\n"
             "  if (a->crossed[0] < 0) a->x[0] = 0, a->x[1] = -0.6 * v->x[1];\n"
             "  return CPL_MODEL_OK;\n"
             "}\n"
             "const cpl_model_def couplet_model = {.name = \"ball\", .states = states,\n"
             "  .n_indicators = 1, .derivatives = f, .indicators = z, .event = hit,\n"
             "  .stop_time = 3};\n");
  char expected[64];
  double end = sqrt(2 * 0.7 / 9.81) * 1.6 / 0.4;
  CHECK_INT(couplet("run ball.c -q -o out.csv --rtol 1e-10"), 1);
  snprintf(expected, sizeof expected, "accumulate at t=%.6f", end);
  expected[strlen("accumulate at t=") + 7] = '\0';  // five digits after the point
  check_message(expected);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(conditions_are_looked_at_inside_of_steps),
      cmocka_unit_test(steps_end_at_knots_of_tables),
      cmocka_unit_test(kinks_below_the_tolerance_are_passed),
      cmocka_unit_test(two_values_for_one_variable_are_an_error),
      cmocka_unit_test(the_accumulation_point_is_extrapolated),
  };
  return cmocka_run_group_tests(tests, make_context, drop_context);
}
