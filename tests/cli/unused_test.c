// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// What a file says and a run does not use is said; a system inside of another one may be empty.
#include "command.h"

static const char model[] =
    "#include <couplet/model.h>\n"
    "static const cpl_declaration x[] = {{\"x\", .output = true}, {0}};\n"
    "static const cpl_declaration u[] = {{\"u\"}, {0}};\n"
    "static const cpl_declaration y[] = {{\"y\"}, {0}};\n"
    "static int f(const cpl_values* v, double* dx) {\n  dx[0] = v->u[0];\n  return 0;\n}\n"
    "static int o(const cpl_values* v, double* y) {\n  y[0] = 0.2 * v->u[0] * v->u[0];\n"
    "  return 0;\n}\n"
    "const cpl_model_def couplet_model = {.name = \"m\", .states = x, .inputs = u, .outputs = y, "
    ".derivatives = f, .output_values = o, .stop_time = 4};\n";

static int set_up(void** state) {
  (void)state;
  write_text("m.c", model);
  return 0;
}

#define RUN(...) CHECK_CODE(0, "run", "s.yaml", "-o", "out.csv", __VA_ARGS__)

static void start_values_of_connected_inputs(void** state) {
  (void)state;
  static const char* const how[] = {"me", "cs"};
  for (int i = 0; i < 2; i++) {
    char text[500];
    snprintf(text, sizeof text,
             "couplet: 1\nmodels: {a: {c: m.c}, b: {c: m.c, as: %s, start: {u: 7}}}\n"
             "connections: {b.u: a.x + 1}\n",
             how[i]);
    write_text("s.yaml", text);
    RUN("--record", "b.x");
    CHECK_CONTAINS(complained, "s.yaml:2:51: the start value of b.u is not used");
    CHECK_CONTAINS(complained, "the input is connected (b.u: a.x + 1)");
  }
}

// u = 1 + 0.2 u^2 / 1.4 has two solutions; the start value chooses the one it is next to.
static void loops_begin_with_them(void** state) {
  (void)state;
  static const struct {
    const char* start;
    double u;
  } cases[] = {{"1", 3.5 - 0.5 * 4.58257569495584}, {"6", 3.5 + 0.5 * 4.58257569495584}};
  for (int i = 0; i < 2; i++) {
    char text[500];
    snprintf(text, sizeof text,
             "couplet: 1\nmodels: {a: {c: m.c, start: {u: %s}}}\n"
             "connections: {a.u: 1 + a.y/1.4}\nexperiment: {stop: 1, interval: 1}\n",
             cases[i].start);
    write_text("s.yaml", text);
    RUN("--record", "a.u");
    CHECK_NEAR(last_value("out.csv", 1), cases[i].u, 1e-9);
    CHECK(strstr(complained, "not used") == NULL);
  }
}

static void tables_that_end_early(void** state) {
  (void)state;
  write_text("t.csv", "time,u,v\n0,0,1\n1.5,3,1\n2.5,1,2\n");
  write_text("u.csv", "time,u\n0,0\n1.5,3\n2.5,1\n");
  CHECK_CODE(0, "run", "m.c", "--input", "u.csv", "-o", "out.csv", "--stop-time", "4");
  CHECK_CONTAINS(complained, "input u ends at t=2.5, before the stop time 4");
  CHECK_CODE(0, "run", "m.c", "--input", "u.csv", "-o", "out.csv", "--stop-time", "2.5");
  CHECK(strstr(complained, "ends at") == NULL);
  write_text("s.yaml",
             "couplet: 1\nmodels: {a: {c: m.c}, b: {c: m.c}, c: {c: m.c}}\ninputs:\n"
             "  w: {file: t.csv, column: u}\n  h: {file: t.csv, column: v, interpolation: hold}\n"
             "connections: {a.u: w, b.u: h, c.u: w + a.x}\n");
  RUN("--stop-time", "4");
  CHECK_CONTAINS(complained, "t.csv: column \"u\" ends at t=2.5: its last value is used");
  CHECK(strstr(strstr(complained, "ends at") + 1, "ends at") == NULL);  // once; v is held anyway
  RUN("--stop-time", "2.5");
  CHECK(strstr(complained, "ends at") == NULL);
}

static void systems_without_models(void** state) {
  (void)state;
  static const char* const texts[] = {"couplet: 1\nmodels: {}\n", "couplet: 1\nname: nothing\n"};
  static const char* const how[] = {"", ", as: cs"};
  for (int i = 0; i < 4; i++) {
    char text[500];
    write_text("empty.yaml", texts[i % 2]);
    snprintf(text, sizeof text,
             "couplet: 1\nmodels: {a: {c: m.c%s}, n: {system: empty.yaml}}\n"
             "connections: {a.u: 2}\n",
             how[i / 2]);
    write_text("s.yaml", text);
    RUN("--stop-time", "3", "--record", "a.x");
    CHECK_NEAR(last_value("out.csv", 1), 6, 1e-6);
    CHECK(strstr(complained, "warning") == NULL);
    CHECK_CODE(0, "graph", "s.yaml");
    CHECK_CODE(2, "run", "empty.yaml", "-o", "out.csv");
    CHECK_CONTAINS(complained, "the system has no models");
  }
  // one that only computes
  write_text("empty.yaml", "couplet: 1\ninputs: {u: {start: 1}}\noutputs: {y: 3*u}\n");
  write_text("s.yaml",
             "couplet: 1\nmodels: {a: {c: m.c}, n: {system: empty.yaml}}\n"
             "connections: {a.u: n.y, n.u: 0.5}\n");
  RUN("--stop-time", "2", "--record", "a.x");
  CHECK_NEAR(last_value("out.csv", 1), 3, 1e-6);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(start_values_of_connected_inputs),
      cmocka_unit_test(loops_begin_with_them),
      cmocka_unit_test(tables_that_end_early),
      cmocka_unit_test(systems_without_models),
  };
  return cmocka_run_group_tests(tests, set_up, NULL);
}
