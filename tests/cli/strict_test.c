// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// What is left to defaults, and what a newcomer is told about names, limits and columns.
#include "command.h"

static const char model[] =
    "#include <couplet/model.h>\n"
    "#include <math.h>\n"
    "static const cpl_declaration x[] = {{\"x\", .output = true}, {0}};\n"
    "static const cpl_declaration u[] = {{\"u\", .start = 3}, {\"w\"}, {0}};\n"
    "static const cpl_declaration p[] = {{\"ratio\", .start = 0.5, .unit = \"1\", .max = 1},\n"
    "  {\"gain\", .start = 2, .min = 1}, {\"under\", .start = -2, .max = -1},\n"
    "  {\"wide\", .start = 9, .min = 10, .max = 20}, {0}};\n"
    "static int f(const cpl_values* v, double* dx) {\n  dx[0] = v->u[0];\n  return 0;\n}\n"
    "const cpl_model_def couplet_model = {.name = \"m\", .states = x, .inputs = u, .parameters = "
    "p, "
    ".derivatives = f, .start_time = 1, .stop_time = 4};\n";

static int set_up(void** state) {
  (void)state;
  write_text("m.c", model);
  write_text("s.yaml",
             "couplet: 1\n"
             "models:\n"
             "  a: {c: m.c, start: {w: 1}}\n"
             "  b: {c: m.c}\n"
             "connections: {b.u: a.x, b.w: a.x}\n");
  return 0;
}

static void defaults_are_told(void** state) {
  (void)state;
  CHECK_CODE(0, "check", "s.yaml");
  CHECK_CONTAINS(printed, "s.yaml: no findings");
  CHECK_CODE(0, "check", "--strict", "s.yaml");
  CHECK_CONTAINS(printed,
                 "s.yaml:3: warning: input a.u is not connected: it keeps 3 [unconnected]");
  CHECK(strstr(printed, "input a.w") == NULL);  // its value is given
  CHECK(strstr(printed, "input b.") == NULL);
  CHECK_CONTAINS(printed, "experiment has no stop: it is 4, the longest of the models [default]");
  CHECK_CONTAINS(printed, "experiment has no solver: it is cvode [default]");
  CHECK_CONTAINS(printed, "the start value 9 of a.wide is less than its minimum 10 [range]");
  CHECK_CODE(0, "check", "--strict", "m.c");
  CHECK_CONTAINS(printed, "m.c: warning: input u is not connected: it keeps 3 [unconnected]");
}

// What a run would refuse, and where it stands.
static void names_to_record(void** state) {
  (void)state;
  write_text("record.yaml",
             "couplet: 1\nmodels: {a: {c: m.c}}\nrecord:\n  - a.x\n  - 'a.[x]*'\n  - a.xx\n");
  CHECK_CODE(2, "check", "record.yaml");
  CHECK_CONTAINS(printed, "record.yaml:5:6: error: record: no variable matches \"a.[x]*\" [open]");
  write_text("record.yaml", "couplet: 1\nmodels: {a: {c: m.c}}\nrecord: [a.x, '*.x', a.xx]\n");
  CHECK_CODE(2, "check", "record.yaml");
  CHECK_CONTAINS(
      printed, "record.yaml:3:22: error: record: there is no variable \"a.xx\" (did you mean a.x");
  CHECK_FAILS_WITH(2, "record.yaml:3:22: record: there is no variable \"a.xx\"", "run",
                   "record.yaml", "-o", "out.csv");
  CHECK_FAILS_WITH(2, "record.yaml:3:22: record: there is no variable \"a.xx\"", "build",
                   "record.yaml", "-o", "out.fmu");
}

static void places_are_data(void** state) {
  (void)state;
  write_text("bad.yaml",
             "couplet: 1\nmodels: {a: {c: m.c}}\nconnections: {a.u: \"a.x > 0 ? 1 : 2\"}\n");
  CHECK_CODE(2, "check", "--json", "bad.yaml");
  CHECK_CONTAINS(printed, "\"line\": 3, \"column\": 29, \"rule\": \"open\"");
  CHECK_CONTAINS(printed, "write if c then a else b");
  write_text("bad.yaml",
             "couplet: 1\nmodels: {a: {c: m.c}}\nconnections:\n  a.u: a.x > 0 ? 1 : 2\n");
  CHECK_CODE(2, "check", "bad.yaml");
  CHECK_CONTAINS(printed, "a condition is written if c then a else b");
  CHECK_CODE(0, "check", "--json", "--strict", "m.c");
  CHECK(strstr(printed, "\"line\"") == NULL);
}

// The longest stop time of the models, unless the file or the command says another.
static void models_say_when_to_stop(void** state) {
  (void)state;
  CHECK_CODE(0, "run", "s.yaml", "-o", "out.csv", "--set", "a.wide=15", "--set", "b.wide=15");
  CHECK_CONTAINS(printed, "t = 1 to 4");
  CHECK_NEAR(last_value("out.csv", 0), 4, 0);
  CHECK_CODE(0, "run", "s.yaml", "-o", "out.csv", "--start", "0", "--stop=2");
  CHECK_NEAR(last_value("out.csv", 0), 2, 0);
  CHECK_CODE(0, "run", "s.yaml", "-o", "out.csv", "--start-time", "0", "--stop-time=3");
  CHECK_NEAR(last_value("out.csv", 0), 3, 0);
}

static void limits_of_one_side(void** state) {
  (void)state;
  CHECK_FAILS_WITH(2, "its maximum is 1\n", "run", "m.c", "--set", "ratio=2");
  CHECK_FAILS_WITH(2, "its minimum is 1", "run", "m.c", "--set", "gain=0.5");
  CHECK_FAILS_WITH(2, "its maximum is -1", "run", "m.c", "--set", "under=0");
  CHECK_CODE(0, "run", "m.c", "-q", "-o", "out.csv", "--set", "gain=1e6", "--set", "under=-1e6");
}

// The integral of u = t, taken at communication points only: 0 + 0.5 + 1 + 1.5 + ... steps held.
static void a_model_as_a_stepper(void** state) {
  (void)state;
  write_text("in.csv", "time,u,extra\n0,0,7\n4,4,7\n");
  CHECK_FAILS_WITH(2, "there is no input \"extra\"", "run", "m.c", "--input", "in.csv");
  CHECK_CODE(0, "run", "m.c", "-o", "out.csv", "--input", "in.csv", "--input-ignore-extra",
             "--start", "0", "--stop", "2");
  CHECK_NEAR(last_value("out.csv", 1), 2, 1e-5);
  CHECK_CODE(0, "run", "m.c", "-o", "out.csv", "--input", "in.csv", "--input-ignore-extra",
             "--start", "0", "--stop", "2", "--as", "cs", "--step", "0.5");
  CHECK_CONTAINS(printed, "5 points");
  write_text("in.csv",
             "time,ratios\n0,0\n4,4\n");  // a parameter that is not tunable takes no table
  CHECK_FAILS_WITH(2, "there is no input \"ratios\" (couplet", "run", "m.c", "--input", "in.csv");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(defaults_are_told),       cmocka_unit_test(places_are_data),
      cmocka_unit_test(models_say_when_to_stop), cmocka_unit_test(limits_of_one_side),
      cmocka_unit_test(a_model_as_a_stepper),    cmocka_unit_test(names_to_record),
  };
  return cmocka_run_group_tests(tests, set_up, NULL);
}
