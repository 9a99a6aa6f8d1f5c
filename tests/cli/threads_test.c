// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Models in several threads: what a user sees when one of them fails, crashes, ends the program or
// does not return.
#include "terminal.h"

// One of two ways, and what is to happen from t = 0.1 on.
static const char bad_model[] =
    MODEL("bad",
          "#include <stdlib.h>\n"
          "static const cpl_declaration x[] = {{\"x\", .start = 1, .output = true}, {0}};\n"
          "static const cpl_declaration u[] = {{\"u\"}, {0}};\n"
          "static const cpl_declaration p[] = {{\"how\"}, {\"k\", .start = 1}, {0}};\n"
          "static _Thread_local volatile int go = 1;\n"
          "static int f(const cpl_values* v, double* dx) {\n"
          "  int how = v->t > 0.1 ? (int)v->p[0] : 0;\n"
          "  double s = 0;\n"
          "  for (int i = 0; i < 2000; i++) s += v->x[0] / (1 + s * s);\n"
          "  dx[0] = v->p[1] * (v->u[0] - v->x[0]) + 1e-6 * s;\n"
          "  if (how == 1) return cpl_model_error(v, \"it is out of order\");\n"
          "  if (how == 2) *(volatile int*)0 = 1;\n"
          "  if (how == 3) exit(0);\n"
          "  if (how == 4) fclose(fopen(\"stuck.now\", \"w\"));\n"
          "  while (how == 4 && go) {\n  }\n"
          "  return 0;\n"
          "}",
          ".states = x, .inputs = u, .parameters = p, .derivatives = f, .stop_time = 1,\n"
          "  .dependencies = (const cpl_dependency[]){{\"der(x)\", \"x u\"}, {0}}");

enum { N = 7 };

// how: of models 3 and 5.
static void write_system(const char* path, int how3, int how5) {
  char text[4096];
  int n = snprintf(text, sizeof text, "couplet: 1\nname: seven\nmodels:\n");
  for (int i = 0; i < N; i++)
    n += snprintf(text + n, sizeof text - (size_t)n, "  m%d: {c: bad.c, start: {how: %d, k: %d}}\n",
                  i,
                  i == 3   ? how3
                  : i == 5 ? how5
                           : 0,
                  i + 1);
  n += snprintf(text + n, sizeof text - (size_t)n, "connections:\n");
  for (int i = 0; i < N; i++)
    n += snprintf(text + n, sizeof text - (size_t)n, "  m%d.u: sin(m%d.x)\n", i, (i + 1) % N);
  write_text(path, text);
}

static int set_up(void** state) {
  (void)state;
  write_text("bad.c", bad_model);
  write_system("good.yaml", 0, 0);
  CHECK_CODE(0, "info", "bad.c");  // compiled and cached
  return 0;
}

static void the_same_results(void** state) {
  (void)state;
  static const char* const solvers[] = {"cvode", "erk8"};
  for (int i = 0; i < 2; i++) {
    CHECK_CODE(0, "run", "good.yaml", "--threads", "1", "--solver", solvers[i], "-o", "1.csv",
               "-q");
    char* one = strdup(text_of("1.csv"));
    for (int threads = 2; threads <= 8; threads += 3) {
      char number[8];
      snprintf(number, sizeof number, "%d", threads);
      CHECK_CODE(0, "run", "good.yaml", "--threads", number, "--solver", solvers[i], "-o", "n.csv",
                 "--stats");
      CHECK_STR(text_of("n.csv"), one);
      char expected[32];
      snprintf(expected, sizeof expected, "threads              %d\n", threads < N ? threads : N);
      CHECK_CONTAINS(printed, expected);
    }
    CHECK_CODE(0, "run", "good.yaml", "--solver", solvers[i], "-o", "n.csv", "-q");
    CHECK_STR(text_of("n.csv"), one);
    CHECK_CODE(0, "run", "good.yaml", "--isolate", "--threads", "3", "--solver", solvers[i], "-o",
               "n.csv", "-q");
    CHECK_STR(text_of("n.csv"), one);
    free(one);
  }
}

// Both fail at the same point: the first is named, whichever thread is faster.
static void failures_are_named(void** state) {
  (void)state;
  static const struct {
    int how;
    const char* text;
  } ways[] = {{1, "it is out of order"}, {2, "SIGSEGV"}, {3, "exit"}};
  for (int i = 0; i < 3; i++) {
    write_system("bad.yaml", ways[i].how, 1);
    char* alone = NULL;
    for (int threads = 1; threads <= 5; threads += 2) {
      char number[8];
      snprintf(number, sizeof number, "%d", threads);
      unlink("bad.csv");
      CHECK_CODE(1, "run", "bad.yaml", "--threads", number, "-o", "bad.csv");
      CHECK_CONTAINS(complained, "m3");
      CHECK_CONTAINS(complained, ways[i].text);
      CHECK(strstr(complained, "m5") == NULL);
      CHECK(count_rows("bad.csv") > 5);
      if (alone == NULL) alone = strdup(complained);
      CHECK_STR(complained, alone);
      CHECK(is_empty("tmp"));
    }
    free(alone);
  }
}

// Waits a minute at most.
static void wait_for(const char* path) {
  for (int i = 0; i < 3000; i++) {
    if (access(path, F_OK) == 0) return;
    pause_s(0.02);
  }
  fail_msg("%s is not written", path);
}

static void a_call_that_hangs_is_left(void** state) {
  (void)state;
#ifdef __SANITIZE_THREAD__  // it holds signals back in code that it has not compiled
  skip();
#endif
  write_system("stuck.yaml", 0, 4);
  for (int threads = 1; threads <= 4; threads += 3) {
    char number[8];
    snprintf(number, sizeof number, "%d", threads);
    unlink("stuck.now");
    int out = create("stdout.txt"), err = create("stderr.txt");
    pid_t pid = start_couplet(
        (const char* const[]){"run", "stuck.yaml", "--threads", number, "-o", "stuck.csv", NULL},
        out, err);
    close(out);
    close(err);
    wait_for("stuck.now");
    kill(pid, SIGINT);
    CHECK_INT(end_of(pid), 1);
    CHECK_CONTAINS(text_of("stderr.txt"), "interrupted inside derivatives at t=0.1");
    CHECK_CONTAINS(text_of("stderr.txt"), "m5");
    CHECK(count_rows("stuck.csv") > 5);
    CHECK(is_empty("tmp"));
  }
}

static void calls_that_take_too_long_end_the_run(void** state) {
  (void)state;
  write_system("stuck.yaml", 0, 4);
  CHECK_CODE(1, "run", "stuck.yaml", "--threads", "4", "--call-timeout", "1", "-o", "stuck.csv");
  CHECK_CONTAINS(complained, "m5");
  CHECK_CONTAINS(complained, "did not return within 1 s");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_same_results),
      cmocka_unit_test(failures_are_named),
      cmocka_unit_test(a_call_that_hangs_is_left),
      cmocka_unit_test(calls_that_take_too_long_end_the_run),
  };
  return cmocka_run_group_tests_name("cli/threads", tests, set_up, NULL);
}
