// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// --input: tables that inputs and tunable parameters follow.
#include "command.h"

// x' = u: the integral of what is fed in. d is discrete, n Integer, b Boolean, a tunable.
static const char integral_model[] = MODEL(
    "integral",
    "static const cpl_declaration x[] = {{.name = \"x\", .output = true}, {0}};\n"
    "static const cpl_declaration u[] = {{.name = \"u\"}, {.name = \"d\", .discrete = true},\n"
    "    {.name = \"n\", .type = CPL_INTEGER}, {.name = \"b\", .type = CPL_BOOLEAN}, {0}};\n"
    "static const cpl_declaration p[] = {{.name = \"a\", .tunable = true}, {.name = \"f\"},\n"
    "    {0}};\n"
    "static const cpl_string_declaration s[] = {{.name = \"text\", .role = CPL_STRING_INPUT},\n"
    "    {0}};\n"
    "static int f_(const cpl_values* v, double* dx) {\n"
    "  dx[0] = v->u[0] + v->p[0];\n"
    "  return 0;\n"
    "}",
    ".states = x, .inputs = u, .parameters = p, .strings = s, .derivatives = f_,\n"
    ".stop_time = 2, .tolerance = 1e-8");

static int set_up(void** state) {
  (void)state;
  write_text("integral.c", integral_model);
  make_probe("probe.fmu", "probe", NULL);
  return 0;
}

#define RUN(...) \
  CHECK_CODE(0, "run", "integral.c", "--input", "in.csv", "-o", "out.csv", __VA_ARGS__)
#define REFUSED(message) \
  CHECK_FAILS(2, message, "run", "integral.c", "--input", "in.csv", "-o", "out.csv")

// Rows whose time is `t`, one after the other.
static void rows_at(const char* path, const char* t, char* rows, size_t size) {
  size_t used = 0, len = strlen(t);
  rows[0] = '\0';
  for (const char *line = text_of(path), *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
    if (strncmp(line, t, len) == 0 && line[len] == ',') {
      used += (size_t)snprintf(rows + used, size - used, "%.*s;", (int)(end - line), line);
    }
  }
}

static void a_line_and_beyond(void** state) {
  (void)state;
  write_text("in.csv", "time,u\n0,0\n1,2\n");
  RUN("--record", "u", "--record", "x", "--interval", "0.5");
  char rows[256];
  rows_at("out.csv", "0.5", rows, sizeof rows);
  CHECK(strncmp(rows, "0.5,1,0.25", 10) == 0);
  CHECK_NEAR(last_value("out.csv", 1), 2, 0);  // held behind the last row
  CHECK_NEAR(last_value("out.csv", 2), 3, 1e-6);
}

static void a_jump(void** state) {
  (void)state;
  write_text("in.csv", "time,u\n0,1\n0.7,1\n0.7,-1\n2,-1\n");
  RUN("--record", "u", "--record", "x", "--interval", "0.5");
  char rows[256];
  rows_at("out.csv", "0.7", rows, sizeof rows);
  CHECK(strncmp(rows, "0.7,1,", 6) == 0);
  CHECK_CONTAINS(rows, ";0.7,-1,");  // both sides
  CHECK_NEAR(last_value("out.csv", 2), 0.7 - 1.3, 1e-6);
}

static void held_values(void** state) {
  (void)state;
  write_text("in.csv", "time,d,n,b\n0,1,2,0\n1,3,-4,1\n");
  RUN("--record", "d", "--record", "n", "--record", "b", "--interval", "0.5");
  char rows[256];
  rows_at("out.csv", "0.5", rows, sizeof rows);
  CHECK_STR(rows, "0.5,1,2,0;");
  rows_at("out.csv", "1", rows, sizeof rows);
  CHECK_STR(rows, "1,1,2,0;1,3,-4,1;");
  CHECK_STR(last_row("out.csv"), "2,3,-4,1");
}

static void a_tunable_parameter(void** state) {
  (void)state;
  write_text("in.csv", "time,a\n0,1\n1,3\n");
  RUN("--record", "a", "--record", "x");
  CHECK_NEAR(last_value("out.csv", 2), 1 + 3, 1e-6);
}

static void forms_of_files(void** state) {
  (void)state;
  write_text("in.csv", "\xef\xbb\xbf\"time\",\"u\"\r\n0,1\r\n2,1\r\n\r\n");  // as Excel writes it
  RUN("--record", "x");
  CHECK_NEAR(last_value("out.csv", 1), 2, 1e-6);
  write_text("in.csv", "u;Time\n1;0\n1;2\n");
  RUN("--record", "x");
  CHECK_NEAR(last_value("out.csv", 1), 2, 1e-6);
  write_text("in.csv", "time [s],u [m]\n0,1\n2,1");  // no end of the last line
  RUN("--record", "x");
  CHECK_NEAR(last_value("out.csv", 1), 2, 1e-6);
}

static void an_fmu_follows(void** state) {
  (void)state;
  write_text("in.csv", "time,u\n0,0\n1,0\n1,1\n2,2\n");
  CHECK_CODE(0, "run", "probe.fmu", "--input", "in.csv", "--record", "u", "--set", "n=100", "-o",
             "me.csv");
  CHECK_NEAR(last_value("me.csv", 1), 2, 1e-12);
  CHECK_CODE(0, "run", "probe.fmu", "--as", "cs", "--step", "0.5", "--input", "in.csv", "--record",
             "u", "-o", "cs.csv");
  CHECK_NEAR(last_value("cs.csv", 0), 2, 0);
}

static void files_that_are_none(void** state) {
  (void)state;
  CHECK_FAILS(2, "none.csv: No such file or directory", "run", "integral.c", "--input", "none.csv");
  write_text("in.csv", "t,u\n0,1\n");
  REFUSED("in.csv:1:1: there is no column \"time\"; the columns are: t, u");
  write_text("in.csv", "");
  REFUSED("in.csv: is empty");
  write_text("in.csv", "time,u\n");
  REFUSED("in.csv: has no rows");
  write_text("in.csv", "time,u\n0,1\n1\n");
  REFUSED("in.csv:3:1: the row has 1 fields, the header has 2");
  write_text("in.csv", "time,u\n0,1\n1,2,3\n");
  REFUSED("in.csv:3:5: more fields than the 2 names of the header");
  CHECK_FAILS_WITH(2, "tmp: ", "run", "integral.c", "--input", "tmp");
}

static void values_that_are_none(void** state) {
  (void)state;
  write_text("in.csv", "time,u\n0,1\n2,1\n1,1\n");
  REFUSED("in.csv:4:1: time goes back from 2 to 1");
  write_text("in.csv", "time,u\n0,nan\n");
  REFUSED("in.csv:2:3: u is not finite");
  write_text("in.csv", "time,u\nnan,1\n");
  REFUSED("in.csv:2:1: time is not finite");
  write_text("in.csv", "time,u\n0,one\n");
  REFUSED("in.csv:2:3: u: \"one\" is not a number");
  write_text("in.csv", "time,u\n0,\n");
  REFUSED("in.csv:2:3: u has no value here");
  write_text("in.csv", "time;u\n0;1,5\n");
  REFUSED("in.csv:2:3: u: \"1,5\" is not a number (decimals have a point, no comma)");
  write_text("in.csv", "time,n\n0,1\n1,3e9\n");
  REFUSED("in.csv: column \"n\": row 2: n is an Integer and cannot be 3000000000");
}

static void columns_that_are_none(void** state) {
  (void)state;
  write_text("in.csv", "time,w\n0,1\n");
  CHECK_FAILS_WITH(2, "in.csv: integral: there is no input \"w\"", "run", "integral.c", "--input",
                   "in.csv");
  write_text("in.csv", "time,u,u\n0,1,2\n");
  REFUSED("in.csv:1:8: there are two columns \"u\"");
  write_text("in.csv", "time,x\n0,1\n");
  REFUSED("integral: x is neither an input nor a tunable parameter: it cannot follow a table");
  write_text("in.csv", "time,f\n0,1\n");
  REFUSED("integral: f is neither an input nor a tunable parameter: it cannot follow a table");
  write_text("in.csv", "time,text\n0,1\n");
  REFUSED("integral: text is a String: it cannot follow a table");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_line_and_beyond),     cmocka_unit_test(a_jump),
      cmocka_unit_test(held_values),           cmocka_unit_test(a_tunable_parameter),
      cmocka_unit_test(forms_of_files),        cmocka_unit_test(an_fmu_follows),
      cmocka_unit_test(files_that_are_none),   cmocka_unit_test(values_that_are_none),
      cmocka_unit_test(columns_that_are_none),
  };
  return cmocka_run_group_tests(tests, set_up, NULL);
}
