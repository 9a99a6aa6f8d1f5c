// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Connections to parameters: fixed ones get the value of the start, tunable ones follow at events
// and communication points.
#include "command.h"

// s' = 2 from 3; an event doubles g at t = 0.5; q = 5 is a parameter
static const char giver[] = MODEL(
    "giver",
    "static const cpl_declaration x[] = {{\"s\", .start = 3, .unit = \"km\", .output = true},\n"
    "    {0}};\n"
    "static const cpl_declaration p[] = {{\"q\", .start = 5}, {0}};\n"
    "static const cpl_declaration w[] = {{\"g\", .start = 4, .output = true}, {0}};\n"
    "static int f(const cpl_values* v, double* dx) {\n"
    "  (void)v;\n"
    "  dx[0] = 2;\n"
    "  return 0;\n"
    "}\n"
    "static int event(const cpl_values* v, cpl_event_actions* e) {\n"
    "  if (e->time_event) e->w[0] = 8;\n"
    "  e->next_time = v->t < 0.5 ? 0.5 : INFINITY;\n"
    "  return 0;\n"
    "}",
    ".states = x, .parameters = p, .discrete = w, .derivatives = f, .event = event,\n"
    ".stop_time = 1, .tolerance = 1e-9");

// x' = a from 10 a; y = b + c, of fixed a and c and a tunable b
static const char taker[] =
    MODEL("taker",
          "static const cpl_declaration x[] = {{\"x\", .output = true}, {0}};\n"
          "static const cpl_declaration p[] = {{\"a\", .start = 1, .unit = \"m\"},\n"
          "    {\"b\", .start = 1, .tunable = true}, {\"c\", .start = 1}, {0}};\n"
          "static const cpl_declaration y[] = {{\"y\"}, {0}};\n"
          "static int f(const cpl_values* v, double* dx) {\n"
          "  dx[0] = v->p[0];\n"
          "  return 0;\n"
          "}\n"
          "static int g(const cpl_values* v, double* y) {\n"
          "  y[0] = v->p[1] + v->p[2];\n"
          "  return 0;\n"
          "}",
          ".states = x, .parameters = p, .outputs = y, .derivatives = f, .output_values = g,\n"
          ".stop_time = 1, .tolerance = 1e-9");

static int set_up(void** state) {
  (void)state;
  write_text("giver.c", giver);
  write_text("taker.c", taker);
  CHECK_CODE(0, "build", "-q", "giver.c", "-o", "giver2.fmu");
  CHECK_CODE(0, "build", "-q", "taker.c", "-o", "taker2.fmu");
  CHECK_CODE(0, "build", "-q", "--fmi", "3", "giver.c", "-o", "giver3.fmu");
  CHECK_CODE(0, "build", "-q", "--fmi", "3", "taker.c", "-o", "taker3.fmu");
  return 0;
}

static const char system_text[] =
    "couplet: 1\n"
    "models: {g: {%s}, t: {%s}, r: {%s}}\n"
    "parameters: {k: 7}\n"
    "connections: {t.a: g.s, t.b: g.g, t.c: g.q, r.a: k, r.b: t.y, r.c: g.g + 1}\n"
    "record: [t.x, t.y, r.x, r.y, t.a, r.c]\n"
    "experiment: {stop: 1, interval: 0.25, rtol: 1e-9, atol: 1e-9}\n";

static void values_arrive(void** state) {
  (void)state;
  static const char* const members[][2] = {
      {"c: giver.c", "c: taker.c"},
      {"fmu: giver2.fmu", "fmu: taker2.fmu"},
      {"fmu: giver3.fmu", "fmu: taker3.fmu"},
      {"fmu: giver2.fmu, as: cs", "fmu: taker2.fmu, as: cs"},
      {"fmu: giver3.fmu, as: cs", "fmu: taker3.fmu, as: cs"},
      {"c: giver.c", "fmu: taker2.fmu, as: cs"},
      {"fmu: giver2.fmu, as: cs", "c: taker.c"},
      {"c: giver.c, as: cs", "c: taker.c, as: cs"},
  };
  for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
    char text[1024];
    snprintf(text, sizeof text, system_text, members[i][0], members[i][1], members[i][1]);
    write_text("s.yaml", text);
    CHECK_CODE(0, "run", "s.yaml", "-q", "-o", "out.csv");
    CHECK_NEAR(last_value("out.csv", 1), 3000, 1e-5);  // 3 km, of the start
    CHECK_NEAR(last_value("out.csv", 2), 8 + 5, 1e-9);
    CHECK_NEAR(last_value("out.csv", 3), 7, 1e-6);
    CHECK_NEAR(last_value("out.csv", 4), 13 + 5, 1e-9);
    CHECK_NEAR(last_value("out.csv", 5), 3000, 1e-9);
    CHECK_NEAR(last_value("out.csv", 6), 5, 1e-9);  // fixed: as it was at the start
  }
}

// A discrete input of a model follows a co-simulation model, also by an expression: 4 until 0.5,
// then 8.
static void discrete_inputs(void** state) {
  (void)state;
  write_text("held.c",
             MODEL("held",
                   "static const cpl_declaration x[] = {{\"x\", .output = true}, {0}};\n"
                   "static const cpl_declaration u[] = {{\"d\", .discrete = true}, {0}};\n"
                   "static int f(const cpl_values* v, double* dx) {\n"
                   "  dx[0] = v->u[0];\n"
                   "  return 0;\n"
                   "}",
                   ".states = x, .inputs = u, .derivatives = f"));
  static const char* const sources[] = {"g.g", "2*g.g", "g.s"};
  static const char* const givers[] = {"fmu: giver2.fmu, as: cs", "fmu: giver3.fmu, as: cs",
                                       "c: giver.c"};
  static const double expected[] = {0.5 * 4 + 0.5 * 8, 0.5 * 8 + 0.5 * 16,
                                    0.25 * (3 + 3.5 + 4 + 4.5)};  // of communication points
  for (size_t i = 0; i < 3; i++) {
    for (size_t k = 0; k < 3; k++) {
      if (k == 2 && i == 2)
        continue;  // in one system of equations there is no event but that at 0.5
      char text[512];
      snprintf(text, sizeof text,
               "couplet: 1\nmodels: {g: {%s}, h: {c: held.c}}\nconnections: {h.d: %s}\n"
               "record: [h.x]\nexperiment: {stop: 1, interval: 0.25, rtol: 1e-9, atol: 1e-9}\n",
               givers[k], sources[i]);
      write_text("s.yaml", text);
      CHECK_CODE(0, "run", "s.yaml", "-q", "-o", "out.csv");
      CHECK_NEAR(last_value("out.csv", 1), expected[i], 1e-6);
    }
  }
}

static void what_is_refused(void** state) {
  (void)state;
  char text[1024];
  snprintf(text, sizeof text, system_text, "c: giver.c", "c: taker.c", "c: taker.c");
  write_text("s.yaml", text);
  CHECK_FAILS_WITH(2, "t.a cannot be set to \"2\": the model computes it", "run", "s.yaml", "--set",
                   "t.a=2");
  write_text("s.yaml",
             "couplet: 1\nmodels: {g: {c: giver.c}, t: {c: taker.c}}\n"
             "connections: {t.x: g.s}\n");
  CHECK_FAILS_WITH(2, "only inputs and parameters can be connected to something, not t.x", "run",
                   "s.yaml");
  write_text("s.yaml",
             "couplet: 1\nmodels: {g: {c: giver.c}, t: {c: taker.c}}\n"
             "connections: {t.b: g.s}\nevents: {e: {at: 0.5, set: {t.b: 1}}}\n");
  CHECK_FAILS_WITH(2, "t.b is connected", "run", "s.yaml");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(values_arrive),
                                     cmocka_unit_test(discrete_inputs),
                                     cmocka_unit_test(what_is_refused)};
  return cmocka_run_group_tests(tests, set_up, NULL);
}
