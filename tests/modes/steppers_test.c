// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Modes of steppers, and modes that chatter: small system files, run by the command.
#include "examples/running.h"

// x' = rate + u
static const char model[] =
    "#include <couplet/model.h>\n"
    "static const cpl_declaration states[] = {{\"x\", .start = 0.8, .output = true}, {0}};\n"
    "static const cpl_declaration inputs[] = {{\"u\"}, {0}};\n"
    "static const cpl_declaration parameters[] = {{\"rate\", .start = 1}, {0}};\n"
    "static int f(const cpl_values* v, double* dx) {\n"
    "  dx[0] = v->p[0] + v->u[0];\n  return 0;\n}\n"
    "const cpl_model_def couplet_model = {.name = \"m\", .states = states, .inputs = inputs, "
    ".parameters = parameters, .derivatives = f};\n";

static void write_file(const char* path, const char* text) {
  FILE* f = fopen(path, "w");
  CHECK(f != NULL);
  fputs(text, f);
  fclose(f);
}

static int setup(void** state) {
  write_file("m.c", model);
  return make_context(state);
}

// Falls with 0.5, rises with 0.25, between two guards; `how` is how the model is run.
static void write_triangle(const char* path, const char* how, const char* low, const char* high) {
  FILE* f = fopen(path, "w");
  CHECK(f != NULL);
  fprintf(f,
          "couplet: 1\nexperiment: {stop: 9, interval: 0.35, rtol: 1e-9}\nmodes:\n  start: down\n"
          "  down:\n    models: {m: {c: m.c, start: {rate: -0.5}%s}}\n"
          "    leave: [{when: m.x < %s, to: up, set: {m.x: m.x}}]\n"
          "  up:\n    models: {m: {c: m.c, start: {rate: 0.25}%s}}\n"
          "    leave: [{when: m.x > %s, to: down, set: {m.x: m.x}}]\n"
          "observe: {x: m.x}\n",
          how, low, how, high);
  fclose(f);
}

static size_t switches_of(const cpl_table* t, double* times, size_t most) {
  const double* mode = column(t, "mode");
  size_t n = 0;
  for (size_t i = 1; i < t->n_rows; i++) {
    if (mode[i] == mode[i - 1]) continue;
    assert_true(n < most);
    times[n++] = t->time[i];
  }
  return n;
}

// 0.8 at the start, 0.3 after 1 s, 0.7 after 1.6 more, 0.3 after 0.8 more, ...
static void check_triangle(cpl_context* ctx) {
  cpl_table* t = read_table(ctx, "out.csv");
  double times[20], expected = 1;
  size_t n = switches_of(t, times, 20);
  CHECK_INT(n, 7);
  for (size_t i = 0; i < n; i++, expected += i % 2 == 1 ? 1.6 : 0.8)
    CHECK_NEAR(times[i], expected, 1e-8);
  cpl_table_destroy(t);
}

// Whatever values inputs have inside of a step: an expression of a value makes it an input.
static void every_master_leaves_modes_where_guards_turn(void** state) {
  static const char* const masters[] = {"determinate", "jacobi", "gauss-seidel", "iterative"};
  for (size_t i = 0; i < 4; i++) {
    for (int order = 0; order < 3; order++) {
      char how[200];
      snprintf(how, sizeof how,
               ", as: cs}}\n    connections: {m.u: 0*sin(m.x)}\n"
               "    master: {algorithm: %s, order: %d, step: 0.13, steps: {",
               masters[i], order);
      write_triangle("s.yaml", how, "0.3", "0.7");
      must_do("run s.yaml -o out.csv");
      check_triangle(*state);
    }
  }
}

static void modes_of_steppers_are_left_where_guards_turn(void** state) {
  write_triangle("s.yaml", ", as: cs", "0.3", "0.7");
  must_do("run s.yaml -o out.csv");
  check_triangle(*state);
  must_do("build m.c -o m.fmu");
  must_do("build --fmi 3 m.c -o m3.fmu");
  static const char* const files[] = {"m.fmu", "m3.fmu"};
  for (size_t i = 0; i < 2; i++) {
    char text[2000];
    snprintf(text, sizeof text,
             "couplet: 1\nexperiment: {stop: 9, interval: 0.35, rtol: 1e-9}\nmodes:\n"
             "  start: down\n  down:\n    models: {m: {fmu: %s, as: cs, start: {rate: -0.5}}}\n"
             "    leave: [{when: m.x < 0.3, to: up, set: {m.x: m.x}}]\n"
             "  up:\n    models: {m: {fmu: %s, as: cs, start: {rate: 0.25}}}\n"
             "    leave: [{when: m.x > 0.7, to: down, set: {m.x: m.x}}]\nobserve: {x: m.x}\n",
             files[i], files[i]);
    write_file("s.yaml", text);
    must_do("run s.yaml -o out.csv");
    check_triangle(*state);
  }
}

static void events_over_steppers_are_located(void** state) {
  write_file("s.yaml",
             "couplet: 1\nexperiment: {stop: 3, interval: 0.7, rtol: 1e-9}\n"
             "models: {a: {c: m.c, as: cs}, b: {c: m.c, as: cs, start: {x: 0, rate: 0.4}}, "
             "n: {c: m.c, start: {x: 0, rate: 0}}}\n"
             "events: {e: {when: a.x - 3*b.x < 0.4, set: {n.x: time}}}\n");
  must_do("run s.yaml -o out.csv");
  cpl_table* t = read_table(*state, "out.csv");
  CHECK_NEAR(column(t, "n.x")[t->n_rows - 1], 2, 1e-8);
  cpl_table_destroy(t);
}

//------------------------------------ chattering ------------------------------------

static void modes_that_chatter_are_named(void** state) {
  (void)state;
  static const char* const how[] = {"", ", as: cs"};
  for (size_t i = 0; i < 2; i++) {
    write_triangle("s.yaml", how[i], "0.3", "0.3");
    CHECK_INT(couplet("run s.yaml -o out.csv"), 1);
    check_message(
        "chattering between modes: mode down is left (1: to mode up, s.yaml:7:20: m.x < "
        "0.3) as soon as it is entered, 50 times in a row, the last at t=1.00");
  }
}

static void they_are_inside_of_an_aggregate_too(void** state) {
  (void)state;
  static const char* const how[] = {"me", "cs"};
  write_triangle("inner.yaml", "", "0.3", "0.3");
  for (size_t i = 0; i < 2; i++) {
    char text[500];
    snprintf(text, sizeof text,
             "couplet: 1\nexperiment: {stop: 9, interval: 0.3}\n"
             "models: {s: {system: inner.yaml, as: %s}, m: {c: m.c}}\nconnections: {m.u: s.x}\n",
             how[i]);
    write_file("s.yaml", text);
    CHECK_INT(couplet("run s.yaml -o out.csv"), 1);
    check_message("chattering");  // found by the integrator, or by the guard
    check_message("mode down");
    check_message("to mode up");
    check_message("t=1.0000");
  }
}

// Thousands of switches, each far away from the last one on the scale of the guard.
static void fast_switches_are_none(void** state) {
  write_triangle("s.yaml", "", "0.3", "0.3001");
  must_do("run s.yaml -o out.csv");
  cpl_table* t = read_table(*state, "out.csv");
  static double times[30000];
  // 0.0006 s a period
  CHECK_NEAR((double)switches_of(t, times, 30000), 2 * 8 / 0.0006, 3);
  cpl_table_destroy(t);
}

// A ball that loses 40 % of its speed at each impact: impacts end at sqrt(2 h/g) (1 + 2 e/(1 - e)).
static void the_time_where_switches_accumulate_is_known(void** state) {
  (void)state;
  write_file("fly.c",
             "#include <couplet/model.h>\n"
             "static const cpl_declaration states[] = {{\"h\", .start = 2, .output = true}, "
             "{\"v\", .output = true}, {0}};\n"
             "static int f(const cpl_values* v, double* dx) {\n"
             "  dx[0] = v->x[1], dx[1] = -10;\n  return 0;\n}\n"
             "const cpl_model_def couplet_model = {.name = \"fly\", .states = states, "
             ".derivatives = f};\n");
  write_file("s.yaml",
             "couplet: 1\nexperiment: {stop: 9, interval: 0.1, rtol: 1e-9}\nmodes:\n  start: a\n"
             "  a:\n    models: {b: {c: fly.c}}\n"
             "    leave: [{when: b.h < 0, to: a, set: {b.h: 0, b.v: -0.6*b.v}}]\n"
             "observe: {h: b.h}\n");
  CHECK_INT(couplet("run s.yaml -o out.csv"), 1);
  size_t size;
  char* text = read_all("err.txt", &size);
  const char* at = strstr(text, "accumulate at t=");
  assert_non_null(at);
  CHECK_NEAR(atof(at + strlen("accumulate at t=")), sqrt(0.4) * 4, 3e-7);
  free(text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(modes_of_steppers_are_left_where_guards_turn),
      cmocka_unit_test(every_master_leaves_modes_where_guards_turn),
      cmocka_unit_test(events_over_steppers_are_located),
      cmocka_unit_test(modes_that_chatter_are_named),
      cmocka_unit_test(they_are_inside_of_an_aggregate_too),
      cmocka_unit_test(fast_switches_are_none),
      cmocka_unit_test(the_time_where_switches_accumulate_is_known),
  };
  return cmocka_run_group_tests(tests, setup, drop_context);
}
