// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Long runs: Ctrl-C and other ends from outside, and the progress bar of a terminal.
#include <poll.h>
#include <sys/ioctl.h>

#include "command.h"

// Takes its time: 1 ms an evaluation, and a fixed step needs thousands of them.
static const char slow_model[] =
    MODEL("slow",
          "#include <unistd.h>\n"
          "static const cpl_declaration x[] = {{.name = \"x\", .start = 1}, {0}};\n"
          "static int f(const cpl_values* v, double* dx) {\n"
          "  usleep(1000);\n"
          "  dx[0] = -v->x[0];\n"
          "  return 0;\n"
          "}",
          ".states = x, .derivatives = f, .stop_time = 1000, .step_size = 0.01,\n"
          ".dependencies = (const cpl_dependency[]){{\"der(x)\", \"x\", NULL}, {0}}");

// Does not come back.
static const char stuck_model[] =
    MODEL("stuck",
          "static const cpl_declaration x[] = {{.name = \"x\", .start = 1}, {0}};\n"
          "static volatile int go = 1;\n"
          "static int f(const cpl_values* v, double* dx) {\n"
          "  while (v->t > 0.1 && go) {\n  }\n"
          "  dx[0] = -v->x[0];\n"
          "  return 0;\n"
          "}",
          ".states = x, .derivatives = f,\n"
          ".dependencies = (const cpl_dependency[]){{\"der(x)\", \"x\", NULL}, {0}}");

static int set_up(void** state) {
  (void)state;
  write_text("slow.c", slow_model);
  write_text("stuck.c", stuck_model);
  make_probe("probe.fmu", "probe", NULL);
  CHECK_CODE(0, "info", "slow.c");  // compiled and cached
  CHECK_CODE(0, "info", "stuck.c");
  return 0;
}

// Starts a run, and waits until it has written results.
static pid_t begin(const char* const* args, const char* result) {
  unlink(result);
  int out = create("stdout.txt"), err = create("stderr.txt");
  pid_t pid = start_couplet(args, out, err);
  close(out);
  close(err);
  struct stat info;
  for (int i = 0; i < 1000; i++) {
    pause_s(0.02);
    if (stat(result, &info) == 0 && info.st_size > 10) return pid;
  }
  fail_msg("%s is not written", result);
  return pid;
}

static void check_table(const char* path) {
  cpl_context* ctx = test_context();
  cpl_table* table = NULL;
  CHECK_OK(ctx, cpl_results_read(ctx, path, &table));
  CHECK(table->n_rows > 5);
  cpl_table_destroy(table);
  cpl_context_destroy(ctx);
}

static void interrupted(void** state) {
  (void)state;
  static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
  static const char* const files[] = {"slow.csv", "slow.mat", "slow.csv"};
  for (int i = 0; i < 3; i++) {
    pid_t pid = begin((const char* const[]){"run", "slow.c", "--solver", "rk4", "--interval",
                                            "0.01", "-o", files[i], NULL},
                      files[i]);
    pause_s(0.1);
    kill(pid, signals[i]);
    CHECK_INT(end_of(pid), 1);
    const char* said = text_of("stderr.txt");
    CHECK(strncmp(said, "couplet: slow: interrupted at t=", 32) == 0);
    CHECK(atof(said + 32) > 0 && atof(said + 32) < 1000);
    check_table(files[i]);
    CHECK(is_empty("tmp"));
  }
}

// Output points may be far apart: the run ends before the next one.
static void interrupted_between_points(void** state) {
  (void)state;
  pid_t pid = begin(
      (const char* const[]){"run", "slow.c", "--solver", "rk4", "--interval", "900", "--units",
                            "-o", "far.csv", "--record", "x", "--record", "der(x)", NULL},
      "far.csv");
  kill(pid, SIGINT);
  CHECK_INT(end_of(pid), 1);
  CHECK_CONTAINS(text_of("stderr.txt"), "slow: interrupted at t=");
}

static void fmu_interrupted(void** state) {
  (void)state;
  pid_t pid = begin((const char* const[]){"run", "probe.fmu", "--as", "cs", "--stop-time", "1e6",
                                          "--step", "1e-3", NULL},
                    "probe.csv");
  CHECK(!is_empty("tmp"));  // the FMU is unpacked there
  kill(pid, SIGINT);
  CHECK_INT(end_of(pid), 1);
  CHECK_CONTAINS(text_of("stderr.txt"), "couplet: probe: interrupted at t=");
  CHECK(is_empty("tmp"));
  check_table("probe.csv");
}

// A call that does not come back is left at the second Ctrl-C.
static void a_call_that_hangs(void** state) {
  (void)state;
  pid_t pid = begin((const char* const[]){"run", "stuck.c", "--solver", "rk4", NULL}, "stuck.csv");
  pause_s(0.1);
  kill(pid, SIGINT);
  pause_s(0.1);
  CHECK_INT(waitpid(pid, NULL, WNOHANG), 0);  // it is still there
  kill(pid, SIGINT);
  CHECK_INT(end_of(pid), 1);
  CHECK_CONTAINS(text_of("stderr.txt"), "couplet: stuck: derivatives at t=0.1");
  CHECK_CONTAINS(text_of("stderr.txt"), "broken off by the user");
  check_table("stuck.csv");
}

// A crash of our own, wherever we are: the results are kept, the temporary folder is removed.
static void crash_from_nowhere(void** state) {
  (void)state;
  static const int signals[] = {SIGSEGV, SIGABRT, SIGFPE};
  for (int i = 0; i < 3; i++) {
    pid_t pid = begin((const char* const[]){"run", "probe.fmu", "--as", "cs", "--stop-time", "1e6",
                                            "--step", "1e-3", NULL},
                      "probe.csv");
    kill(pid, signals[i]);
    CHECK_INT(end_of(pid), 1);
    CHECK_CONTAINS(text_of("stderr.txt"), "crashed");
    CHECK(is_empty("tmp"));
    CHECK(count_rows("probe.csv") > 5);
  }
}

// Impatience does no harm.
static void interrupted_twice(void** state) {
  (void)state;
  pid_t pid = begin((const char* const[]){"run", "probe.fmu", "--as", "cs", "--stop-time", "1e6",
                                          "--step", "1e-3", NULL},
                    "probe.csv");
  kill(pid, SIGINT);
  kill(pid, SIGTERM);
  CHECK_INT(end_of(pid), 1);
  CHECK(is_empty("tmp"));
  check_table("probe.csv");
}

//------------------------------------ progress ------------------------------------

// What a terminal sees during two seconds of a run.
static void watch_terminal(const char* const* args, char* seen, size_t size) {
  int terminal = posix_openpt(O_RDWR | O_NOCTTY);
  if (terminal < 0 || grantpt(terminal) != 0 || unlockpt(terminal) != 0)
    skip();  // a chroot has none
  int end = open(ptsname(terminal), O_RDWR | O_NOCTTY);
  assert_true(end >= 0);
  pid_t pid = start_couplet(args, end, end);
  close(end);
  size_t used = 0;
  bool killed = false;
  time_t began = time(NULL);
  for (;;) {  // until no one is on the other side
    struct pollfd ready = {.fd = terminal, .events = POLLIN};
    if (poll(&ready, 1, 100) == 1) {
      ssize_t n = read(terminal, seen + used, size - 1 - used);
      if (n <= 0) break;
      used += (size_t)n;
    }
    if (!killed && time(NULL) - began > 2) killed = kill(pid, SIGINT) == 0;
  }
  CHECK_INT(end_of(pid), 1);
  seen[used] = '\0';
  close(terminal);
}

static void progress_on_a_terminal(void** state) {
  (void)state;
  char seen[16384];
  const char* const shown[] = {"run", "slow.c", "--solver", "rk4", "--interval", "0.01", NULL};
  watch_terminal(shown, seen, sizeof seen);
  CHECK_CONTAINS(seen, "\r[");
  CHECK_CONTAINS(seen, " %  t = ");
  CHECK_CONTAINS(seen, " left ");
  CHECK_CONTAINS(seen, "\r\033[Kcouplet: slow: interrupted");  // wiped before the message
  const char* const hidden[] = {"run", "slow.c", "--solver", "rk4", "--quiet", NULL};
  watch_terminal(hidden, seen, sizeof seen);
  CHECK(strstr(seen, "\r[") == NULL);
}

static void no_progress_in_a_pipe(void** state) {
  (void)state;
  pid_t pid =
      begin((const char* const[]){"run", "slow.c", "--solver", "rk4", "--interval", "0.01", NULL},
            "slow.csv");
  pause_s(1.5);
  kill(pid, SIGINT);
  CHECK_INT(end_of(pid), 1);
  CHECK(strncmp(text_of("stderr.txt"), "couplet: slow: interrupted", 26) == 0);
  CHECK_STR(text_of("stdout.txt"), "");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(interrupted),
      cmocka_unit_test(interrupted_between_points),
      cmocka_unit_test(fmu_interrupted),
      cmocka_unit_test(a_call_that_hangs),
      cmocka_unit_test(crash_from_nowhere),
      cmocka_unit_test(interrupted_twice),
      cmocka_unit_test(progress_on_a_terminal),
      cmocka_unit_test(no_progress_in_a_pipe),
  };
  return cmocka_run_group_tests(tests, set_up, NULL);
}
