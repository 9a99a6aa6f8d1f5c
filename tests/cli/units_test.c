// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Units on every path a value can take. Values of the model `emit` are in K, rad, s and Pa and grow
// linearly; `take` has degC, deg, min and bar. What arrives is computed by hand.
#include "command.h"

// T = 280 K + 10 t, a = 0.5 rad + t, d = 30 s + 60 t, p = 1e5 Pa + 2e5 t
static const char emit_model[] =
    MODEL("emit",
          "static const cpl_declaration x[] = {\n"
          "    {\"T\", .start = 280, .unit = \"K\", .output = true},\n"
          "    {\"a\", .start = 0.5, .unit = \"rad\", .output = true},\n"
          "    {\"d\", .start = 30, .unit = \"s\", .output = true},\n"
          "    {\"p\", .start = 1e5, .unit = \"Pa\", .output = true}, {0}};\n"
          "static int f(const cpl_values* v, double* dx) {\n"
          "  (void)v;\n"
          "  dx[0] = 10, dx[1] = 1, dx[2] = 60, dx[3] = 2e5;\n"
          "  return 0;\n"
          "}",
          ".states = x, .derivatives = f, .stop_time = 1, .tolerance = 1e-9");

// Outputs repeat the inputs; states integrate them.
static const char take_model[] = MODEL(
    "take",
    "static const cpl_declaration x[] = {{\"IT\", .unit = \"degC.s\"}, {\"Ia\"}, {\"Id\"},\n"
    "    {\"Ip\"}, {0}};\n"
    "static const cpl_declaration u[] = {\n"
    "    {\"T\", .start = 1, .unit = \"degC\"}, {\"a\", .start = 1, .unit = \"deg\"},\n"
    "    {\"d\", .start = 1, .unit = \"min\"}, {\"p\", .start = 1, .unit = \"bar\"}, {0}};\n"
    "static const cpl_declaration y[] = {\n"
    "    {\"yT\", .unit = \"degC\"}, {\"ya\", .unit = \"deg\"},\n"
    "    {\"yd\", .unit = \"min\"}, {\"yp\", .unit = \"bar\"}, {0}};\n"
    "static const cpl_declaration par[] = {{\"T0\", .unit = \"degC\", .tunable = true}, {0}};\n"
    "static int f(const cpl_values* v, double* dx) {\n"
    "  for (int i = 0; i < 4; i++) dx[i] = v->u[i];\n"
    "  return 0;\n"
    "}\n"
    "static int g(const cpl_values* v, double* y) {\n"
    "  for (int i = 0; i < 4; i++) y[i] = v->u[i];\n"
    "  return 0;\n"
    "}",
    ".states = x, .inputs = u, .outputs = y, .parameters = par, .derivatives = f,\n"
    ".output_values = g, .stop_time = 1, .tolerance = 1e-9");

static const double at_end[] = {290 - 273.15, 1.5 * 180 / 3.14159265358979323846, 1.5, 3};
static const double integrals[] = {285 - 273.15, 180 / 3.14159265358979323846, 1, 2};

#define LINKS  "connections: {t.T: e.T, t.a: e.a, t.d: e.d, t.p: e.p}\n"
#define RECORD "record: [t.yT, t.ya, t.yd, t.yp, t.IT, t.Ia, t.Id, t.Ip]\n"
#define HEAD   "couplet: 1\n"
#define TIMES  "experiment: {stop: 1, interval: 0.25, rtol: 1e-9, atol: 1e-9}\n"

static int set_up(void** state) {
  (void)state;
  write_text("emit.c", emit_model);
  write_text("take.c", take_model);
  CHECK_CODE(0, "build", "-q", "emit.c", "-o", "emit2.fmu");
  CHECK_CODE(0, "build", "-q", "take.c", "-o", "take2.fmu");
  CHECK_CODE(0, "build", "-q", "--fmi", "3", "emit.c", "-o", "emit3.fmu");
  CHECK_CODE(0, "build", "-q", "--fmi", "3", "take.c", "-o", "take3.fmu");
  return 0;
}

static void check_end(const char* file, const double* expected, int first, double tolerance) {
  for (int i = 0; i < 4; i++)
    CHECK_NEAR(last_value(file, first + i), expected[i], tolerance * (1 + fabs(expected[i])));
}

// Values at the end arrive as exactly as said, integrals as exactly as the coupling is.
static void run_system(const char* text, double exactly, double tolerance) {
  write_text("s.yaml", text);
  CHECK_CODE(0, "run", "s.yaml", "-q", "-o", "out.csv");
  check_end("out.csv", at_end, 1, exactly);
  check_end("out.csv", integrals, 5, tolerance);
}

static void connections(void** state) {
  (void)state;
  static const char* const members[][2] = {
      {"c: emit.c", "c: take.c"},
      {"fmu: emit2.fmu", "fmu: take2.fmu"},
      {"fmu: emit3.fmu", "fmu: take3.fmu"},
      {"fmu: emit2.fmu, as: cs", "fmu: take2.fmu, as: cs"},
      {"fmu: emit3.fmu, as: cs", "fmu: take3.fmu, as: cs"},
      {"c: emit.c", "fmu: take2.fmu, as: cs"},
      {"fmu: emit3.fmu, as: cs", "c: take.c"},
  };
  static const char* const masters[] = {"", "master: {algorithm: iterative, step: 0.05}\n",
                                        "master: {algorithm: jacobi, step: 0.05}\n",
                                        "master: {algorithm: gauss-seidel, step: 0.05}\n"};
  for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
    for (size_t k = 0; k < sizeof masters / sizeof *masters; k++) {
      bool steppers = i >= 3;
      if ((!steppers && k > 0) || (i >= 5 && k >= 2)) continue;
      char text[1024];
      snprintf(text, sizeof text, HEAD "models: {e: {%s}, t: {%s}}\n" LINKS "%s" RECORD TIMES,
               members[i][0], members[i][1], masters[k]);
      // held inputs lag by half a step, FMI 3.0 has no derivatives of inputs; outputs
      // that follow inputs lag by a step with some masters
      run_system(text, k >= 2 ? 0.05 : 1e-9, !steppers ? 1e-8 : k == 1 && i != 4 ? 1e-6 : 0.5);
    }
  }
}

static void nested_systems(void** state) {
  (void)state;
  write_text("inner_e.yaml", HEAD
             "models: {e: {c: emit.c}}\n"
             "outputs: {T: e.T, a: e.a, d: e.d, p: e.p}\n");
  write_text("inner_t.yaml", HEAD
             "models: {t: {c: take.c}}\n"
             "inputs: {T: {start: 0}, a: {start: 0}, d: {start: 0}, p: {start: 0, unit: bar}}\n"
             "connections: {t.T: T, t.a: a, t.d: d, t.p: p}\n");
  static const char* const as[] = {"", ", as: cs"};
  for (size_t i = 0; i < 2; i++) {
    char text[1024];
    snprintf(text, sizeof text,
             HEAD
             "models: {e: {system: inner_e.yaml}, s: {system: inner_t.yaml%s}}\n"
             "connections: {s.T: e.T, s.a: e.a, s.d: e.d, s.p: e.p}\n"
             "record: [s.t.yT, s.t.ya, s.t.yd, s.t.yp, s.t.IT, s.t.Ia, s.t.Id, s.t.Ip]\n" TIMES,
             as[i]);
    run_system(text, 1e-9, i == 0 ? 1e-8 : 0.6);
  }
}

// An input in degF has to become degC and K.
static void unit_of_an_input(void** state) {
  (void)state;
  write_text("s.yaml", HEAD
             "models: {t: {c: take.c}, e: {c: take.c}}\n"
             "inputs: {T: {start: 50 degF, unit: K}}\n"
             "connections: {t.T: T, e.T: {from: T, convert-units: false}}\n"
             "record: [t.yT, e.yT, T]\n" TIMES);
  CHECK_CODE(0, "run", "s.yaml", "-q", "-o", "out.csv");
  CHECK_NEAR(last_value("out.csv", 1), 10, 1e-10);
  CHECK_NEAR(last_value("out.csv", 2), 283.15, 1e-10);
  CHECK_NEAR(last_value("out.csv", 3), 283.15, 1e-10);
  CHECK_CODE(0, "run", "s.yaml", "-q", "-o", "out.csv", "--set", "T=20 degC");
  CHECK_NEAR(last_value("out.csv", 1), 20, 1e-10);
  CHECK_NEAR(last_value("out.csv", 3), 293.15, 1e-10);
  write_text("in.csv", "time,T [degF]\n0,32\n1,212\n");
  CHECK_CODE(0, "run", "s.yaml", "-q", "-o", "out.csv", "--input", "in.csv", "--units");
  CHECK_NEAR(last_value("out.csv", 1), 100, 1e-10);
  CHECK_NEAR(last_value("out.csv", 3), 373.15, 1e-10);
  CHECK_CONTAINS(text_of("out.csv"), "time [s],t.yT [degC],e.yT [degC],T [K]\n");
  write_text("s.yaml", HEAD
             "models: {t: {c: take.c}}\n"
             "inputs: {T: {start: 3 bar, unit: K}}\nconnections: {t.T: T}\n");
  CHECK_FAILS(2, "s.yaml:3:21: input T is in K, and there is no conversion from \"bar\"", "run",
              "s.yaml");
  write_text("s.yaml", HEAD
             "models: {t: {c: take.c}}\n"
             "inputs: {u: {start: 3, unit: bar}}\nconnections: {t.T: u}\n");
  CHECK_FAILS_WITH(2, "s.yaml:4:20: the units differ: t.T (Real input in degC; ", "run", "s.yaml");
}

static void tables(void** state) {
  (void)state;
  // --input of a single model, time in minutes, quoted heads
  write_text(
      "in.csv",
      "Time [min],\"T [K]\",a [rad],d [s],p [Pa]\n0,280,0.5,30,1e5\n1,880,60.5,3630,121e5\n");
  CHECK_CODE(0, "run", "take.c", "-q", "--input", "in.csv", "-o", "out.csv", "--interval", "0.25",
             "--record", "y*", "--record", "I*");
  check_end("out.csv", at_end, 1, 1e-9);
  check_end("out.csv", integrals, 5, 1e-7);
  CHECK_CODE(0, "run", "take3.fmu", "--as", "cs", "-q", "--input", "in.csv", "-o", "out.csv",
             "--record", "y*", "--step", "0.001");
  check_end("out.csv", at_end, 1, 2e-3);
  // tables of a system; two of them say in which unit they are wanted
  write_text("s.yaml", HEAD
             "models: {t: {c: take.c}, e: {c: take.c}}\n"
             "inputs:\n"
             "  T: {file: in.csv}\n"
             "  angle: {file: in.csv, column: a}\n"
             "  d: {file: in.csv, column: d, unit: h}\n"
             "  p: {file: in.csv, column: \"p [Pa]\", unit: kPa}\n"
             "connections: {t.T: T, t.a: angle, t.d: d, t.p: p, e.p: p + 0*1, e.d: 1*d}\n"
             "record: [t.yT, t.ya, t.yd, t.yp, t.IT, t.Ia, t.Id, t.Ip, e.yp, e.yd]\n" TIMES);
  CHECK_CODE(0, "run", "s.yaml", "-q", "-o", "out.csv");
  check_end("out.csv", at_end, 1, 1e-9);
  check_end("out.csv", integrals, 5, 1e-7);
  CHECK_NEAR(last_value("out.csv", 9), 300, 1e-9);  // units do not count in expressions
  CHECK_NEAR(last_value("out.csv", 10), 0.025, 1e-12);
}

// What couplet wrote, with units, is an input of the next run.
static void results_as_inputs(void** state) {
  (void)state;
  static const char* const files[] = {"emit.csv", "emit.mat"};
  for (size_t i = 0; i < 2; i++) {
    CHECK_CODE(0, "run", "emit.c", "-q", "--units", "-o", files[i], "--interval", "0.125");
    CHECK_CODE(0, "run", "take.c", "-q", "--input", files[i], "-o", "out.csv", "--record", "y*");
    check_end("out.csv", at_end, 1, 1e-9);
  }
}

static void tables_that_do_not_fit(void** state) {
  (void)state;
  static const struct {
    const char *head, *message;
  } cases[] = {
      {"time,T [bar]", "in.csv: column \"T [bar]\": T is in degC, and bar is none of its units"},
      {"time,T [furlong]",
       "in.csv: column \"T [furlong]\": T is in degC, and furlong cannot be converted to that"},
      {"time,a [1]", "in.csv: column \"a [1]\": a is in deg, and 1 cannot be converted to that"},
      {"time [K],T", "in.csv:1:1: the unit of time is \"K\", not s, min, h, ..."},
      {"\"time [aeon]\",T", "in.csv:1:1: the unit of time is \"aeon\", not s, min, h, ..."},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[256];
    snprintf(text, sizeof text, "%s\n0,1\n1,2\n", cases[i].head);
    write_text("in.csv", text);
    CHECK_CODE(2, "run", "take.c", "--input", "in.csv", "-o", "out.csv");
    CHECK_CONTAINS(complained, cases[i].message);
  }
  write_text("in.csv", "time,T [bar]\n0,1\n");
  write_text("s.yaml", HEAD
             "models: {t: {c: take.c}}\ninputs: {T: {file: in.csv}}\n"
             "connections: {t.T: T}\n");
  CHECK_FAILS_WITH(2, "the units differ: t.T (Real input in degC; ", "run", "s.yaml");
  CHECK_CONTAINS(complained, " and the input T of the system (in bar)");
  write_text("s.yaml", HEAD
             "models: {t: {c: take.c}}\ninputs: {T: {file: in.csv, unit: K}}\n"
             "connections: {t.T: T}\n");
  CHECK_FAILS(2, "s.yaml:3:34: input T: in.csv: column \"T [bar]\" cannot be converted to K", "run",
              "s.yaml");
}

static void start_values(void** state) {
  (void)state;
  write_text("s.yaml", HEAD
             "models:\n"
             "  t: {c: take.c, start: {T: 300 K, a: 1.5rad, d: 1 h, p: -2e5 Pa}}\n"
             "record: [t.yT, t.ya, t.yd, t.yp]\n" TIMES);
  CHECK_CODE(0, "run", "s.yaml", "-q", "-o", "out.csv");
  const double expected[] = {26.85, at_end[1], 60, -2};
  check_end("out.csv", expected, 1, 1e-12);
  CHECK_CODE(0, "run", "s.yaml", "-q", "-o", "out.csv", "--set", "t.T=50 degF", "--set",
             "t.a=0.25 rev", "--set", "t.d=30 s", "--set", "t.p=1 kPa");
  const double others[] = {10, 90, 0.5, 0.01};
  check_end("out.csv", others, 1, 1e-12);
  write_text("s.yaml", HEAD "models: {t: {c: take.c, start: {T: 3 bar}}}\n");
  CHECK_FAILS_WITH(2, "its unit is degC, and there is no conversion from \"bar\"", "run", "s.yaml");
}

static void events(void** state) {
  (void)state;
  write_text("s.yaml", HEAD
             "models: {e: {c: emit.c}, t: {c: take.c}, f: {c: emit.c}}\n"
             "inputs: {k: {start: 10, unit: degC}}\n"
             "events:\n"
             "  one: {at: 0.5, set: {t.T: e.T, t.d: e.d, f.T: k, t.T0: e.T}}\n"
             "  two: {at: 0.75, set: {t.p: e.p/1e5}}\n"
             "record: [t.yT, t.yd, f.T, t.T0, t.yp]\n" TIMES);
  CHECK_CODE(0, "run", "s.yaml", "-q", "-o", "out.csv");
  CHECK_NEAR(last_value("out.csv", 1), 285 - 273.15, 1e-9);
  CHECK_NEAR(last_value("out.csv", 2), 1, 1e-9);
  CHECK_NEAR(last_value("out.csv", 3), 283.15 + 5, 1e-9);
  CHECK_NEAR(last_value("out.csv", 4), 285 - 273.15, 1e-9);
  CHECK_NEAR(last_value("out.csv", 5), 2.5, 1e-9);
  write_text("s.yaml", HEAD
             "models: {e: {c: emit.c}, t: {c: take.c}}\n"
             "events: {one: {at: 0.5, set: {t.T: e.p}}}\n" TIMES);
  CHECK_FAILS_WITH(2, "s.yaml:3:36: the units differ: t.T (", "run", "s.yaml");
}

static void modes(void** state) {
  (void)state;
  write_text("s.yaml", HEAD
             "modes:\n"
             "  start: warm\n"
             "  warm:\n"
             "    models: {e: {c: emit.c}}\n"
             "    leave: [{at: 0.5, to: cold, set: {t.T: e.T, t.a: e.a, t.d: e.d,\n"
             "                                      t.p: e.p}}]\n"
             "  cold:\n"
             "    models: {t: {c: take.c}}\n"
             "    leave: [{at: 0.75, to: warm, set: {e.T: t.yT, e.d: warm.e.p}}]\n"
             "record: [cold.t.yT, cold.t.ya, cold.t.yd, cold.t.yp]\n" TIMES);
  CHECK_FAILS_WITH(2, "the units differ: e.p is in Pa, e.d of the new mode in s", "run", "s.yaml");
  char text[1024];
  snprintf(text, sizeof text, "%s", text_of("s.yaml"));
  memcpy(strstr(text, "warm.e.p"), "warm.e.d", 8);
  write_text("s.yaml", text);
  CHECK_CODE(0, "run", "s.yaml", "-q", "-o", "out.csv", "--stop-time", "0.7");
  const double expected[] = {285 - 273.15, 180 / 3.14159265358979323846, 1, 2};
  check_end("out.csv", expected, 1, 1e-9);
  CHECK_CODE(0, "run", "s.yaml", "-q", "-o", "out.csv", "--record", "warm.e.T", "--record",
             "warm.e.d");
  CHECK_NEAR(last_value("out.csv", 1), 285 + 2.5, 1e-9);
  CHECK_NEAR(last_value("out.csv", 2), 60 + 15, 1e-9);
  // one name, two units
  write_text("s.yaml", HEAD
             "modes:\n"
             "  start: warm\n"
             "  warm:\n"
             "    models: {e: {c: emit.c}}\n"
             "    leave: [{at: 0.5, to: cold}]\n"
             "  cold:\n"
             "    models: {t: {c: take.c}}\n"
             "observe: {T: {warm: e.T, cold: t.yT}}\n" TIMES);
  CHECK_FAILS_WITH(2, "T is in K in mode warm and in degC in mode cold", "run", "s.yaml");
}

// Rows and columns are in the units of their variables.
static void linearized(void** state) {
  (void)state;
  write_text("s.yaml", HEAD "models: {e: {c: emit.c}, t: {c: take.c}}\n" LINKS TIMES);
  CHECK_CODE(0, "linearize", "s.yaml", "-o", "m.json");
  const char* text = text_of("m.json");
  CHECK_CONTAINS(text, "57.2957795130823");
  CHECK_CONTAINS(text, "0.0166666666666666");
  CHECK_CONTAINS(text, "1e-5");
}

// A number in another unit as it is, also where the dimensions differ.
static void suppressed(void** state) {
  (void)state;
  write_text("s.yaml", HEAD
             "models: {e: {c: emit.c}, t: {c: take.c}}\n"
             "connections:\n"
             "  t.T: {from: e.T, convert-units: false}\n"
             "  t.p: {from: e.a, convert-units: false}\n"
             "record: [t.yT, t.yp]\n" TIMES);
  CHECK_CODE(0, "run", "s.yaml", "-q", "-o", "out.csv");
  CHECK_NEAR(last_value("out.csv", 1), 290, 1e-9);
  CHECK_NEAR(last_value("out.csv", 2), 1.5, 1e-9);
}

static void delay_lines(void** state) {
  (void)state;
  static const char mass[] =
      MODEL("mass",
            "static const cpl_declaration x[] = {{\"v\", .start = 1, .unit = SPEED,\n"
            "    .output = true}, {0}};\n"
            "static const cpl_declaration u[] = {{\"F\", .unit = FORCE}, {0}};\n"
            "static int f(const cpl_values* v, double* dx) {\n"
            "  dx[0] = v->u[0];\n"
            "  return 0;\n"
            "}",
            ".states = x, .inputs = u, .derivatives = f");
  static const struct {
    const char *name, *speed, *force;
  } kinds[] = {
      {"a.c", "m/s", "N"}, {"b.c", "m/s", "kN"}, {"c.c", "km/h", "N"}, {"d.c", "m/s", "N"}};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    char text[1024];
    snprintf(text, sizeof text, "#define SPEED \"%s\"\n#define FORCE \"%s\"\n%s", kinds[i].speed,
             kinds[i].force, mass);
    write_text(kinds[i].name, text);
  }
  for (size_t i = 1; i < sizeof kinds / sizeof *kinds; i++) {
    char text[1024];
    snprintf(text, sizeof text,
             HEAD
             "models: {l: {c: a.c, start: {F: 1e-3 kN}}, r: {c: %s, start: {F: -1 N}}}\n"
             "interfaces:\n"
             "  l.end: {kind: translational, speed: v, force: F}\n"
             "  r.end: {kind: translational, speed: v, force: F}\n"
             "tlm: [{from: l.end, to: r.end, delay: 1e-2, Zf: 1}]\n" TIMES,
             kinds[i].name);
    write_text("s.yaml", text);
    int code = COUPLET("run", "s.yaml", "-q", "-o", "out.csv");
    CHECK_INT(code, i == 3 ? 0 : 2);
    if (i < 3) CHECK_CONTAINS(complained, "both ends of a line must have the same units");
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(connections),
      cmocka_unit_test(nested_systems),
      cmocka_unit_test(unit_of_an_input),
      cmocka_unit_test(tables),
      cmocka_unit_test(start_values),
      cmocka_unit_test(tables_that_do_not_fit),
      cmocka_unit_test(events),
      cmocka_unit_test(results_as_inputs),
      cmocka_unit_test(modes),
      cmocka_unit_test(linearized),
      cmocka_unit_test(suppressed),
      cmocka_unit_test(delay_lines),
  };
  return cmocka_run_group_tests(tests, set_up, NULL);
}
