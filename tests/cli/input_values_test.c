// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// What stands in input tables and cannot be meant so: a message, never another value in silence.
#include "command.h"

static const char model[] = MODEL(
    "sum",
    "static const char* const colours[] = {\"red\", \"green\", NULL};\n"
    "static const cpl_declaration x[] = {{.name = \"x\", .output = true}, {0}};\n"
    "static const cpl_declaration u[] = {{.name = \"u\"}, {.name = \"n\", .type = CPL_INTEGER},\n"
    "    {.name = \"b\", .type = CPL_BOOLEAN},\n"
    "    {.name = \"e\", .type = CPL_ENUMERATION, .items = colours, .start = 1}, {0}};\n"
    "static int f(const cpl_values* v, double* dx) {\n"
    "  dx[0] = v->u[0];\n"
    "  return 0;\n"
    "}",
    ".states = x, .inputs = u, .derivatives = f, .stop_time = 2, .tolerance = 1e-8");

static int set_up(void** state) {
  (void)state;
  write_text("sum.c", model);
  return 0;
}

static void refused(const char* table, const char* message) {
  write_text("in.csv", table);
  CHECK_CODE(2, "run", "sum.c", "--input", "in.csv", "-o", "out.csv");
  CHECK_CONTAINS(complained, message);
}

static void values_of_another_type(void** state) {
  (void)state;
  refused("time,n\n0,1\n1,2.5\n", "in.csv: column \"n\": row 2: n is an Integer and cannot be 2.5");
  refused("time,b\n0,0.5\n", "in.csv: column \"b\": row 1: b is a Boolean and cannot be 0.5");
  refused("time,b\n0,true\n1,2\n", "row 2: b is a Boolean and cannot be 2");
  refused("time,e\n0,1.5\n", "row 1: e is an Enumeration and cannot be 1.5");
  refused("time,n\n0,9007199254740993\n", "row 1: n is an Integer and cannot be");
  write_text("in.csv", "time,n,b\n0,-3,true\n1,4,false\n2,4,0\n");
  CHECK_CODE(0, "run", "sum.c", "-q", "--input", "in.csv", "-o", "out.csv", "--record", "n",
             "--record", "b");
  CHECK_STR(last_row("out.csv"), "2,4,0");
}

static void numbers_that_are_none(void** state) {
  (void)state;
  refused("time,u\n0,inf\n", "in.csv:2:3: u is not finite");
  refused("time;u\n0;0,5\n", "in.csv:2:3: u: \"0,5\" is not a number");
  refused("time,u\n0,5,1,5\n", "in.csv:2:5: more fields than the 2 names of the header");
  refused("time,u\n0,0x10\n", "\"0x10\" is not a number");
  refused("time,u\n0,1e999\n", "\"1e999\" is not a number");
  refused("time,u\n0,1\n0.5,1\n0.25,1\n", "in.csv:4:1: time goes back from 0.5 to 0.25");
  refused("time [min],u\n0,1\n1,1\n0.5,1\n", "in.csv:4:1: time goes back from 60 to 30");
}

// Semicolons and tabs separate; points are decimal in every locale.
static void separators(void** state) {
  (void)state;
  static const char* const tables[] = {"time;u\n0;0.5\n2;0.5\n", "time\tu\n0\t0.5\n2\t0.5\n",
                                       "\"time [s]\";\"u\"\n0;5e-1\n2;+.5\n"};
  setenv("LC_ALL", "de_DE.UTF-8", 1);
  for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
    write_text("in.csv", tables[i]);
    CHECK_CODE(0, "run", "sum.c", "-q", "--input", "in.csv", "-o", "out.csv", "--record", "x");
    CHECK_NEAR(last_value("out.csv", 1), 1, 1e-6);
  }
  unsetenv("LC_ALL");
}

// The first value is held, and that is said.
static void a_late_start(void** state) {
  (void)state;
  write_text("in.csv", "time,u\n1,3\n2,3\n");
  CHECK_CODE(0, "run", "sum.c", "--input", "in.csv", "-o", "out.csv", "--record", "x");
  CHECK_NEAR(last_value("out.csv", 1), 6, 1e-6);
  CHECK_CONTAINS(complained, "in.csv: the table begins at t=1, after the start of the run at t=0");
  CHECK_CODE(0, "run", "sum.c", "--input", "in.csv", "-o", "out.csv", "--start-time", "1",
             "--record", "x");
  CHECK(strstr(complained, "begins") == NULL);
  write_text("s.yaml",
             "couplet: 1\nmodels: {m: {c: sum.c}}\ninputs: {u: {file: in.csv}}\n"
             "connections: {m.u: u}\nexperiment: {stop: 2}\n");
  CHECK_CODE(0, "run", "s.yaml", "-o", "out.csv", "--record", "m.x");
  CHECK_NEAR(last_value("out.csv", 1), 6, 1e-6);
  CHECK_CONTAINS(complained, "in.csv: column \"u\" begins at t=1, after the start of the run at");
  const char* first = strstr(complained, "begins");
  CHECK(strstr(first + 1, "begins") == NULL);  // once
  CHECK_CODE(0, "run", "s.yaml", "-o", "out.csv", "--start-time", "1.5");
  CHECK(strstr(complained, "begins") == NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(values_of_another_type),
                                     cmocka_unit_test(numbers_that_are_none),
                                     cmocka_unit_test(separators), cmocka_unit_test(a_late_start)};
  return cmocka_run_group_tests(tests, set_up, NULL);
}
