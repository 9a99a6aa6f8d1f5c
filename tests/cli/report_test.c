// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// couplet run --view: the page and the report of the run in it.
#include "command.h"

static char page[1 << 21];

static const char* example(const char* name) {
  static char path[4096];
  snprintf(path, sizeof path, "%s/examples/%s", getenv("COUPLET_SOURCE_DIR"), name);
  return path;
}

static void writes_a_page_with_a_report(void** state) {
  (void)state;
  unlink("walls.html");
  CHECK_CODE(0, "run", example("pendulums_walls/pendulums_walls.yaml"), "-o", "walls.csv", "--view",
             "--set", "left.x1=0.9");
  CHECK_CONTAINS(printed, "walls.html\n");
  read_text("walls.html", page, sizeof page);
  CHECK_CONTAINS(page, "\"report\":[");
  CHECK_CONTAINS(page, " --view --set left.x1=0.9\"");  // how to repeat it
  CHECK_CONTAINS(page, "[\"left.x1 [m]\", \"0.9\"]");
  CHECK_CONTAINS(page, "[\"method\", \"cvode\"]");
  CHECK_CONTAINS(page, "[\"ended\", \"as planned\"]");
  CHECK_CONTAINS(page, "\"C\", \"pendulum");
  CHECK_CONTAINS(page, "[\"none\", \"\"]");  // no warnings
}

// Parameters have units: that of the variable, or the one that was given with the value.
static void parameters_have_units(void** state) {
  (void)state;
  write_text("beam.c", MODEL("beam",
                             "static const cpl_declaration x[] = {{.name = \"x\"}, {0}};\n"
                             "static const cpl_declaration p[] = {\n"
                             "  {.name = \"length\", .start = 2, .unit = \"m\"},\n"
                             "  {.name = \"angle\", .start = 1, .unit = \"rad\"},\n"
                             "  {.name = \"mass\", .start = 3, .unit = \"kg\"},\n"
                             "  {.name = \"ratio\", .start = 0.5}, {0}};\n"
                             "static int f(const cpl_values* v, double* dx) {\n"
                             "  (void)v;\n  dx[0] = 1;\n  return 0;\n}",
                             ".states = x, .parameters = p, .derivatives = f"));
  CHECK_CODE(0, "run", "beam.c", "--view", "--set", "mass=4", "--set", "angle=30 deg");
  read_text("beam.html", page, sizeof page);
  CHECK_CONTAINS(page, "[\"length [m]\", 2]");
  CHECK_CONTAINS(page, "[\"mass [kg]\", \"4\"]");
  CHECK_CONTAINS(page, "[\"angle\", \"30 deg\"]");
  CHECK_CONTAINS(page, "[\"ratio\", 0.5]");
}

// Clocks change no bit of a result.
static void measuring_changes_nothing(void** state) {
  (void)state;
  char plain[1 << 19];
  CHECK_CODE(0, "run", example("race_car/race_car.yaml"), "-o", "a.csv", "--stop-time", "2");
  CHECK_CODE(0, "run", example("race_car/race_car.yaml"), "-o", "b.csv", "--stop-time", "2",
             "--view");
  read_text("a.csv", plain, sizeof plain);
  CHECK(strlen(plain) > 10000);
  CHECK(strcmp(plain, text_of("b.csv")) == 0);
  // each of the four wheels was called, and it took time
  read_text("b.html", page, sizeof page);
  static const char* const names[] = {"chassis", "fl", "fr", "rl", "rr"};
  for (int i = 0; i < 5; i++) {
    char row[64];
    double calls = 0, seconds = 0;
    snprintf(row, sizeof row, "[\"%s\", ", names[i]);
    const char* at = strstr(page, row);
    assert_non_null(at);
    CHECK_INT(sscanf(at + strlen(row), "%lf, %lf", &seconds, &calls), 2);
    CHECK(calls > 1000);
    CHECK(seconds > 0 && seconds < 60);
  }
}

// Systems with modes count their events and switches with and without a page.
static void modes_are_counted(void** state) {
  (void)state;
  CHECK_CODE(0, "run", example("breaking_pendulum/breaking_pendulum.yaml"), "-o", "b.csv");
  CHECK_CONTAINS(printed, ", 2 events, 2 switches -> b.csv");
  CHECK_CODE(0, "run", example("breaking_pendulum/breaking_pendulum.yaml"), "-o", "b.csv",
             "--view");
  CHECK_CONTAINS(printed, ", 2 events, 2 switches -> b.csv");
  read_text("b.html", page, sizeof page);
  CHECK_CONTAINS(page, "[\"events\", 2]");
  CHECK_CONTAINS(page, "[\"switches of mode\", 2]");
  CHECK_CONTAINS(page, "[\"method\", \"cvode\"]");
}

static void failures_are_told_in_the_page_too(void** state) {
  (void)state;
  write_text("fails.c", MODEL("fails",
                              "static const cpl_declaration x[] = {{.name = \"x\"}, {0}};\n"
                              "static int f(const cpl_values* v, double* dx) {\n"
                              "  dx[0] = 1;\n"
                              "  return v->t > 0.5 ? cpl_model_error(v, \"too <hot>\") : 0;\n"
                              "}",
                              ".states = x, .derivatives = f"));
  CHECK_CODE(1, "run", "fails.c", "--view");
  read_text("fails.html", page, sizeof page);
  CHECK_CONTAINS(page, "[\"ended\", \"fails: ");
  CHECK_CONTAINS(page, "too \\u003chot>");
  unlink("none.html");
  CHECK_CODE(2, "run", example("bouncing_ball/bouncing_ball.c"), "--set", "none=1", "--view", "-o",
             "none.csv");
  CHECK_INT(access("none.html", F_OK), -1);
  CHECK_FAILS_WITH(2, "--view", "run", example("bouncing_ball/bouncing_ball.c"), "--view", "-o",
                   "-");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(writes_a_page_with_a_report),       cmocka_unit_test(parameters_have_units),
      cmocka_unit_test(measuring_changes_nothing),         cmocka_unit_test(modes_are_counted),
      cmocka_unit_test(failures_are_told_in_the_page_too),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
