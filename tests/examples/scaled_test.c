// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The same system in other units of length and time: modes against their analytic solution, a delay
// line against the run in the usual units.
#include "running.h"

static const double units[] = {1, 1e-9, 1e9};
enum { UNITS = sizeof units / sizeof *units };

static cpl_table* run_text(cpl_context* ctx, const char* text) {
  FILE* f = fopen("s.yaml", "w");
  CHECK(f != NULL);
  fputs(text, f);
  fclose(f);
  must_do("run s.yaml -o out.csv");
  return read_table(ctx, "out.csv");
}

static void write_lag(void) {
  FILE* f = fopen("lag.c", "w");
  CHECK(f != NULL);
  fputs(
      "#include <couplet/model.h>\n"
      "static const cpl_declaration states[] = {{\"x\", .output = true}, {0}};\n"
      "static const cpl_declaration parameters[] = {{\"to\"}, {\"time\", .start = 1}, {0}};\n"
      "static int f(const cpl_values* v, double* dx) {\n"
      "  dx[0] = (v->p[0] - v->x[0]) / v->p[1];\n  return 0;\n}\n"
      "const cpl_model_def couplet_model = {.name = \"lag\", .states = states,\n"
      "  .parameters = parameters, .derivatives = f};\n",
      f);
  fclose(f);
}

// Up to 0.8 towards 1.1, down to 0.3 towards -0.2, again and again. Times of the switches:
static double switch_time(int k) {
  double first = log(1.1 / 0.3), down = log(1.0 / 0.5), up = log(0.8 / 0.3);
  return first + k / 2 * (down + up) + (k % 2 == 1 ? down : 0);
}

static void modes_do_not_depend_on_units(void** state) {
  static char text[1500];
  write_lag();
  for (int i = 0; i < UNITS * UNITS; i++) {
    double size = units[i % UNITS], time = units[i / UNITS];
    snprintf(text, sizeof text,
             "couplet: 1\nname: s\nparameters: {S: %g, T: %g}\n"
             "modes:\n  start: up\n"
             "  up:\n    models: {m: {c: lag.c, start: {to: 1.1*S, time: T}}}\n"
             "    leave: [{when: m.x > 0.8*S, to: down, set: {m.x: m.x}}]\n"
             "  down:\n    models: {m: {c: lag.c, start: {to: -0.2*S, time: T}}}\n"
             "    leave: [{when: m.x < 0.3*S, to: up, set: {m.x: m.x}}]\n"
             "observe: {x: m.x}\n"
             "experiment: {stop: %.17g, interval: %.17g, rtol: 1e-9, atol: %g}\n",
             size, time, 7.5 * time, 1.5 * time, 1e-9 * size);
    cpl_table* t = run_text(*state, text);
    const double *mode = column(t, "mode"), *x = column(t, "x");
    int n = 0;
    for (size_t r = 1; r < t->n_rows; r++) {
      if (mode[r] == mode[r - 1]) continue;
      CHECK_NEAR(t->time[r] / time, switch_time(n), 1e-7);
      CHECK_NEAR(x[r] / size, n % 2 == 0 ? 0.8 : 0.3, 1e-7);
      n++;
    }
    CHECK_INT(n, 8);
    cpl_table_destroy(t);
  }
}

// Two masses on a line; one is pushed.
static cpl_table* run_line(cpl_context* ctx, double size, double time) {
  static char text[1500];
  snprintf(text, sizeof text,
           "couplet: 1\nname: s\n"
           "models:\n  a: {c: tlm_spring/mass.c, start: {m: 1.3, v: %.17g}}\n"
           "  b: {c: tlm_spring/mass.c, start: {m: 0.7}}\n"
           "parameters: {delay: %.17g}\n"
           "interfaces:\n  a.end: {kind: translational, position: x, speed: v, force: F}\n"
           "  b.end: {kind: translational, position: x, speed: v, force: F}\n"
           "tlm:\n  - {from: a.end, to: b.end, delay: delay, Zf: %.17g}\n"
           "record: [a.v, b.v, a.x, b.x]\n"
           "experiment: {stop: %.17g, interval: %.17g, rtol: 1e-8, atol: %g}\n",
           0.6 * size / time, 2e-2 * time, 1.7 / time, 3 * time, 0.3 * time,
           1e-8 * fmin(size, size / time));
  return run_text(ctx, text);
}

static void delay_lines_do_not_depend_on_units(void** state) {
  static const char* const names[] = {"a.v", "b.v", "a.x", "b.x"};
  cpl_context* ctx = *state;
  copy_example("tlm_spring");
  cpl_table* usual = run_line(ctx, 1, 1);
  for (int i = 1; i < UNITS * UNITS; i++) {
    double size = units[i % UNITS], time = units[i / UNITS];
    cpl_table* t = run_line(ctx, size, time);
    CHECK_INT(t->n_rows, usual->n_rows);
    for (int c = 0; c < 4; c++) {
      double unit = c < 2 ? size / time : size;
      for (size_t r = 0; r < t->n_rows; r++)
        CHECK_NEAR(column(t, names[c])[r] / unit, column(usual, names[c])[r], 1e-5);
    }
    // what is lost by one is with the other: momentum, but for what is under way on the line
    size_t last = t->n_rows - 1;
    double momentum = (1.3 * column(t, "a.v")[last] + 0.7 * column(t, "b.v")[last]) * time / size;
    CHECK_NEAR(momentum, 1.3 * 0.6, 0.1);
    cpl_table_destroy(t);
  }
  cpl_table_destroy(usual);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(modes_do_not_depend_on_units, make_context, drop_context),
      cmocka_unit_test_setup_teardown(delay_lines_do_not_depend_on_units, make_context,
                                      drop_context)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
