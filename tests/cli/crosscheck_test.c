// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A small tree of FMUs as the official set is laid out: one that matches, one that does not, one
// that crashes, one that hangs, one for another platform, one that is no FMU.
#include "command.h"

static const char hanging_model[] =
    MODEL("hangs",
          "static const cpl_declaration x[] = {{.name = \"x\", .start = 1}, {0}};\n"
          "static int f(const cpl_values* v, double* dx) {\n"
          "  dx[0] = -v->x[0];\n"
          "  for (volatile int i = 0; v->t > 0.3; i++) {\n"
          "  }\n"
          "  return 0;\n"
          "}",
          ".states = x, .derivatives = f");

#define PLACE(kind, platform, model) "tree/fmus/2.0/" kind "/" platform "/couplet/1/" model "/"

static void copy(const char* from, const char* to) {
  size_t size;
  char* bytes = read_bytes(from, &size);
  char path[512];
  snprintf(path, sizeof path, "%s", to);
  for (char* p = strchr(path, '/'); p != NULL; p = strchr(p + 1, '/')) {
    *p = '\0';
    mkdir(path, 0700);
    *p = '/';
  }
  write_bytes(to, bytes, size);
  free(bytes);
}

static const char options_text[] = "StartTime, 0\nStopTime, 1\nStepSize, 0.001\nRelTol, 1e-6\n";

// x' = -x from 1, in 11 rows.
static void write_reference(const char* path, double factor) {
  char text[2048];
  int n = snprintf(text, sizeof text, "\"time\",\"x\",\"y\"\n");
  for (int i = 0; i <= 10; i++)
    n += snprintf(text + n, sizeof text - (size_t)n, "%g,%.9g,%.9g\n", 0.1 * i,
                  factor * exp(-0.1 * i), 2 * exp(-0.1 * i));
  write_text(path, text);
}

static int set_up(void** state) {
  (void)state;
  unsetenv("PROBE_FAULT");
  CHECK_INT(system("rm -rf tree plain late"), 0);
  write_text("decay.c", decay_model);
  write_text("hangs.c", hanging_model);
  CHECK_CODE(0, "build", "decay.c");
  CHECK_CODE(0, "build", "hangs.c");
  make_probe("probe.fmu", "probe", NULL);
  copy("decay.fmu", PLACE("me", "linux64", "good") "good.fmu");
  write_reference(PLACE("me", "linux64", "good") "good_ref.csv", 1);
  write_text(PLACE("me", "linux64", "good") "good_ref.opt", options_text);
  copy("decay.fmu", PLACE("cs", "linux64", "good") "good.fmu");
  write_reference(PLACE("cs", "linux64", "good") "good_ref.csv", 1);
  write_text(PLACE("cs", "linux64", "good") "good_ref.opt", "StopTime=1\nStepSize=0\n");
  copy("decay.fmu", PLACE("me", "linux64", "off") "off.fmu");
  write_reference(PLACE("me", "linux64", "off") "off_ref.csv", 1.5);
  copy("decay.fmu", PLACE("me", "linux64", "driven") "driven.fmu");
  write_text(PLACE("me", "linux64", "driven") "driven_ref.csv", "time;x\n0;1\n0.5;1\n1;1\n");
  write_text(PLACE("me", "linux64", "driven") "driven_in.csv", "time;u\n0;1\n1;1\n");
  copy("decay.fmu", PLACE("me", "win64", "good") "good.fmu");
  copy("probe.fmu", PLACE("me", "linux64", "crash") "crash.fmu");
  write_text(PLACE("me", "linux64", "crash") "crash_ref.csv", "time,x1\n0,1\n1,1\n");
  copy("decay.c", PLACE("me", "linux64", "broken") "broken.fmu");
  return 0;
}

// A line of the table: the FMU, then these words.
static void check_line(const char* fmu, const char* words) {
  char squeezed[1024];
  size_t n = 0;
  const char* line = strstr(printed, fmu);
  if (line != NULL) line += *line == '\n';
  if (line == NULL) fail_msg("%s is not in the table:\n%s", fmu, printed);
  for (; *line != '\0' && *line != '\n' && n + 1 < sizeof squeezed; line++) {
    if (*line != ' ' || (n > 0 && squeezed[n - 1] != ' ')) squeezed[n++] = *line;
  }
  squeezed[n] = '\0';
  CHECK_CONTAINS(squeezed, words);
}

static void the_whole_tree(void** state) {
  (void)state;
  setenv("PROBE_FAULT", "fmi2GetDerivatives:3:segv", 1);
  CHECK_CODE(1, "crosscheck", "tree", "-j", "3");
  check_line("me/linux64/couplet/1/good/good.fmu", "good.fmu yes yes yes");
  check_line("cs/linux64/couplet/1/good/good.fmu", "good.fmu yes yes yes");
  check_line("driven.fmu", "driven.fmu yes yes yes");
  check_line("off.fmu", "off.fmu yes yes no");
  check_line("off.fmu", "x: 100 % is off");
  check_line("crash.fmu", "crash.fmu yes no no");
  check_line("crash.fmu", "probe: fmi2GetDerivatives at t=");
  check_line("broken.fmu", "broken.fmu no no no");
  check_line("2.0      me    couplet", "2.0 me couplet 5 4 3 2");
  check_line("2.0      cs    couplet", "2.0 cs couplet 1 1 1 1");
  check_line("\nall ", "all 6 5 4 3");
  CHECK_CONTAINS(printed, "1 more are for other platforms");
  CHECK_STR(complained, "");
}

// The reference is in another unit than the model; time in milliseconds.
static void units_of_a_reference(void** state) {
  (void)state;
  copy("decay.fmu", "units/cm.fmu");
  write_text("units/cm_ref.csv", "Time [ms],x [cm]\n0,100\n500,60.653\n1000,36.788\n");
  copy("decay.fmu", "units/bad.fmu");
  write_text("units/bad_ref.csv", "time,x [bar]\n0,1\n0.5,0.60653\n1,0.36788\n");
  CHECK_CODE(1, "crosscheck", "units");
  check_line("cm.fmu", "cm.fmu yes yes yes");
  check_line("bad.fmu", "x: the unit of the reference, bar, is none of the model's");
}

// By itself: on a busy machine the others may need as long as this one is given.
static void one_that_hangs(void** state) {
  (void)state;
  copy("hangs.fmu", "late/hang.fmu");
  write_text("late/hang_ref.csv", "time,x\n0,1\n1,1\n");
  CHECK_CODE(1, "crosscheck", "late", "--timeout", "6");
  check_line("hang.fmu", "hang.fmu yes no no");
  check_line("hang.fmu", "did not end within 6 s");
}

static void some_of_them(void** state) {
  (void)state;
  CHECK_CODE(0, "crosscheck", "tree/fmus/", "--only", "*/good.fmu", "--json", "--isolate");
  CHECK_CONTAINS(printed, "\"fmu\": \"2.0/cs/linux64/couplet/1/good/good.fmu\"");
  CHECK_CONTAINS(printed, "\"matches\": true");
  CHECK_CONTAINS(printed, "\"other_platforms\": 1");
  CHECK(strstr(printed, "off.fmu") == NULL);
  CHECK_CODE(0, "crosscheck", "tree", "--only", "*good.fmu", "-q");
  CHECK(strstr(printed, ".fmu") == NULL);
}

static void plain_folder_with_settings(void** state) {
  (void)state;
  copy("decay.fmu", "plain/a.fmu");
  write_text("plain/a_ref.csv", "duration,y\n0.5,6\n1,6\n");  // y = 2 x stays where x = u / a
  write_text("settings.yaml", "\"*.fmu\": {stop: 1.5, set: {x: 3, u: 3}, shift: 0.2}\n");
  CHECK_CODE(1, "crosscheck", "plain");
  CHECK_CODE(0, "crosscheck", "plain", "--settings", "settings.yaml");
  check_line("a.fmu", "a.fmu yes yes yes");
  CHECK_CONTAINS(printed, "-        -     -");
  CHECK_CODE(1, "crosscheck", "plain", "--settings", test_path("docs/fmi-cross-check.yaml"));
  CHECK_STR(complained, "");  // none of its patterns fits
  write_text("settings.yaml", "\"none\": {stopp: 1}\n");
  CHECK_FAILS_WITH(2, "settings.yaml:1:10: unknown key stopp", "crosscheck", "plain", "--settings",
                   "settings.yaml");
}

// Explicit Euler with a step of 0.1 and an input that comes early: x = u (1 - 0.9^i).
static void solver_and_input_shift(void** state) {
  (void)state;
  copy("decay.fmu", "euler/a.fmu");
  char text[1024];
  int n = snprintf(text, sizeof text, "time,x\n");
  for (int i = 0; i <= 20; i++)
    n += snprintf(text + n, sizeof text - (size_t)n, "%g,%.9g\n", 0.1 * i,
                  i < 5 ? 0 : 1 - pow(0.9, i - 5));
  write_text("euler/a_ref.csv", text);
  write_text("euler/a_in.csv", "time,u\n0,0\n0.8,0\n0.8,1\n2.5,1\n");
#define SETTINGS(more) "\"*.fmu\": {set: {x: 0}, interval: 0.1, step: 0.1, solver: " more "}\n"
  write_text("settings.yaml", SETTINGS("euler"));
  CHECK_CODE(1, "crosscheck", "euler", "--settings", "settings.yaml");
  write_text("settings.yaml", SETTINGS("cvode, input_shift: -0.3"));
  CHECK_CODE(1, "crosscheck", "euler", "--settings", "settings.yaml");
  write_text("settings.yaml", SETTINGS("euler, input_shift: -0.3"));
  CHECK_CODE(0, "crosscheck", "euler", "--settings", "settings.yaml");
  write_text("settings.yaml", SETTINGS("leap"));
  CHECK_CODE(1, "crosscheck", "euler", "--settings", "settings.yaml");
  CHECK_CONTAINS(printed, "--solver");
}

// A reference may have each row twice: the step is that of the file then, not half of it. The FMU
// takes one step of its own in each.
static void rows_that_are_there_twice(void** state) {
  (void)state;
  static char once[8192], twice[16384];
  const char* const place = "twice/2.0/cs/linux64/probe/1/m/";
  char path[128];
  snprintf(path, sizeof path, "%sprobe.fmu", place);
  copy("probe.fmu", path);
  CHECK_CODE(0, "run", "probe.fmu", "--as", "cs", "--set", "n=1", "--step", "0.2", "--interval",
             "0.2", "-o", "once.csv");
  read_text("once.csv", once, sizeof once);
  int n = 0;
  for (const char* line = strtok(once, "\n"); line != NULL; line = strtok(NULL, "\n"))
    for (int k = n == 0 ? 1 : 0; k < 2; k++)
      n += snprintf(twice + n, sizeof twice - (size_t)n, "%s\n", line);
  snprintf(path, sizeof path, "%sprobe_ref.csv", place);
  write_text(path, twice);
  snprintf(path, sizeof path, "%sprobe_ref.opt", place);
  write_text(path, "StartTime, 0\nStopTime, 2\nStepSize, 0.2\nRelTol, 1e-6\n");
  write_text("settings.yaml", "\"*probe.fmu\": {set: {n: 1}}\n");
  CHECK_CODE(0, "crosscheck", "twice", "--settings", "settings.yaml");
  write_text("settings.yaml", "\"*probe.fmu\": {set: {n: 1}, step: 0.1}\n");
  CHECK_CODE(1, "crosscheck", "twice", "--settings", "settings.yaml");
}

static void bad_usage(void** state) {
  (void)state;
  CHECK_FAILS_WITH(2, "nowhere: No such file", "crosscheck", "nowhere");
  CHECK_FAILS(2, "tree: there is no FMU that fits x", "crosscheck", "tree", "--only", "x");
  CHECK_FAILS(2, "--timeout must be positive, not 0", "crosscheck", "tree", "--timeout", "0");
  CHECK_FAILS(2, "--jobs must be at least 1, not 0", "crosscheck", "tree", "-j", "0");
}

static int tear_down(void** state) {
  (void)state;
  unsetenv("PROBE_FAULT");
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test_teardown(the_whole_tree, tear_down),
                                     cmocka_unit_test(units_of_a_reference),
                                     cmocka_unit_test(one_that_hangs),
                                     cmocka_unit_test(some_of_them),
                                     cmocka_unit_test(plain_folder_with_settings),
                                     cmocka_unit_test(solver_and_input_shift),
                                     cmocka_unit_test(rows_that_are_there_twice),
                                     cmocka_unit_test(bad_usage)};
  return cmocka_run_group_tests(tests, set_up, NULL);
}
