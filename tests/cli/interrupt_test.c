// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Long runs: Ctrl-C and other ends from outside, and the progress bar of a terminal.
#include "terminal.h"

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

// Does not come back, and leaves a file where it is stuck.
static const char stuck_model[] =
    MODEL("stuck",
          "static const cpl_declaration x[] = {{.name = \"x\", .start = 1}, {0}};\n"
          "static volatile int go = 1;\n"
          "static int f(const cpl_values* v, double* dx) {\n"
          "  if (v->t > 0.1) fclose(fopen(\"stuck.now\", \"w\"));\n"
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

static off_t size_of(const char* path) {
  struct stat info;
  return stat(path, &info) == 0 ? info.st_size : -1;
}

// Waits until a file is there and this large. Machines are slow at times: it is given a minute.
static void wait_for(const char* path, off_t size) {
  for (int i = 0; i < 3000; i++) {
    if (size_of(path) >= size) return;
    pause_s(0.02);
  }
  fail_msg("%s is not written", path);
}

// Starts a run, and waits until the head of its results is written.
static pid_t begin(const char* const* args, const char* result) {
  unlink(result);
  int out = create("stdout.txt"), err = create("stderr.txt");
  pid_t pid = start_couplet(args, out, err);
  close(out);
  close(err);
  wait_for(result, 11);
  return pid;
}

// The same, and until there are many rows.
static pid_t begin_rows(const char* const* args, const char* result) {
  pid_t pid = begin(args, result);
  wait_for(result, size_of(result) + 1000);
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
    pid_t pid = begin_rows((const char* const[]){"run", "slow.c", "--solver", "rk4", "--interval",
                                                 "0.01", "-o", files[i], NULL},
                           files[i]);
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
  pid_t pid = begin_rows((const char* const[]){"run", "probe.fmu", "--as", "cs", "--stop-time",
                                               "1e6", "--step", "1e-3", NULL},
                         "probe.csv");
  CHECK(!is_empty("tmp"));  // the FMU is unpacked there
  kill(pid, SIGINT);
  CHECK_INT(end_of(pid), 1);
  CHECK_CONTAINS(text_of("stderr.txt"), "couplet: probe: interrupted at t=");
  CHECK(is_empty("tmp"));
  check_table("probe.csv");
}

// A call that does not return is left.
static void a_call_that_hangs(void** state) {
  (void)state;
  unlink("stuck.now");
  pid_t pid = begin((const char* const[]){"run", "stuck.c", "--solver", "rk4", NULL}, "stuck.csv");
  wait_for("stuck.now", 0);
  kill(pid, SIGINT);
  CHECK_INT(end_of(pid), 1);
  CHECK_CONTAINS(text_of("stderr.txt"), "couplet: stuck: interrupted inside derivatives at t=0.1");
  check_table("stuck.csv");
}

// A crash of our own, wherever we are: the results are kept, the temporary folder is removed.
static void crash_from_nowhere(void** state) {
  (void)state;
  static const int signals[] = {SIGSEGV, SIGABRT, SIGFPE};
  for (int i = 0; i < 3; i++) {
    pid_t pid = begin_rows((const char* const[]){"run", "probe.fmu", "--as", "cs", "--stop-time",
                                                 "1e6", "--step", "1e-3", NULL},
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
  pid_t pid = begin_rows((const char* const[]){"run", "probe.fmu", "--as", "cs", "--stop-time",
                                               "1e6", "--step", "1e-3", NULL},
                         "probe.csv");
  kill(pid, SIGINT);
  kill(pid, SIGTERM);
  CHECK_INT(end_of(pid), 1);
  CHECK(is_empty("tmp"));
  check_table("probe.csv");
}

//------------------------------------ progress ------------------------------------

static void progress_on_a_terminal(void** state) {
  (void)state;
  char seen[16384];
  const char* const shown[] = {"run", "slow.c", "--solver", "rk4", "--interval", "0.01", NULL};
  CHECK_INT(watch_terminal(shown, 80, " left  0 events", 60, seen, sizeof seen), 1);
  CHECK_CONTAINS(seen, "\r▕");
  CHECK_CONTAINS(seen, " %  t = ");
  CHECK_CONTAINS(seen, "x real time  ");
  CHECK_CONTAINS(seen, " min ");  // left: a thousand seconds at four evaluations a hundredth
  CHECK_CONTAINS(seen, " left  0 events");
  CHECK_CONTAINS(seen, "\r\033[Kcouplet: slow: interrupted");  // wiped before the message
  for (const char* line = strstr(seen, "\r▕"); line != NULL; line = strstr(line + 1, "\r▕")) {
    CHECK((int)width_of(line + 1) < 80);  // it would wrap, and could not be overwritten
  }
  CHECK_INT(watch_terminal(shown, 24, " %  t = ", 60, seen, sizeof seen), 1);  // no room for a bar
  CHECK(strstr(seen, "▕") == NULL);
  CHECK_CONTAINS(seen, " %  t = ");
  const char* const hidden[] = {"run", "slow.c", "--solver", "rk4", "--quiet", NULL};
  CHECK_INT(watch_terminal(hidden, 80, "real time", 1.4, seen, sizeof seen), 1);
  CHECK(strstr(seen, "real time") == NULL);
}

static void progress_for_programs(void** state) {
  (void)state;
  CHECK_CODE(0, "run", "slow.c", "--solver", "rk4", "--stop-time", "1", "--progress", "json");
  int lines = 0;
  bool done = false;
  for (char* line = strtok(complained, "\n"); line != NULL; line = strtok(NULL, "\n"), lines++) {
    double time = -1, part = -1, events = -1;
    CHECK(strncmp(line, "{\"progress\": \"", 14) == 0);
    CHECK(line[strlen(line) - 1] == '}');
    sscanf(strstr(line, "\"time\": "), "\"time\": %lf", &time);
    sscanf(strstr(line, "\"part\": "), "\"part\": %lf", &part);
    sscanf(strstr(line, "\"events\": "), "\"events\": %lf", &events);
    CHECK_NEAR(part, time, 1e-12);  // from 0 to 1
    CHECK(events == 0);
    CHECK(!done);  // only the last line; one before it can have the same time
    done = strstr(line, "\"done\"") != NULL;
    CHECK(!done || time == 1);
  }
  CHECK(done);
  CHECK(lines >= 3);  // 400 evaluations of at least a millisecond, a line each tenth of a second
  CHECK_CODE(0, "run", "slow.c", "--solver", "rk4", "--stop-time", "1", "--progress", "none");
  CHECK_STR(complained, "");
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
  const char* said = text_of("stdout.txt");
  CHECK(strncmp(said, "slow: kept ", 11) == 0 && strchr(said, '\n')[1] == '\0');
}

// A compiler that is ended may remove its temporary files. On a busy machine it may not get to it.
static void interrupted_compilers_clean_up(void** state) {
  (void)state;
  static const char* const args[] = {"build", "fresh.c", "-o", "fresh.fmu", "-q", NULL};
  write_text("fresh.c", slow_model);
  write_text("compiler.sh",
             "#!/bin/sh\ntrap 'rm -f compiling.s; exit 1' TERM\n: > compiling.s\n"
             "while :; do sleep 0.01; done\n");
  CHECK_INT(chmod("compiler.sh", 0700), 0);
  setenv("CC", "./compiler.sh", 1);
  bool removed = false;
  for (int i = 0; i < 20 && !removed; i++) {
    unlink("compiling.s");
    int out = create("stdout.txt"), err = create("stderr.txt");
    pid_t pid = start_couplet(args, out, err);
    for (int k = 0; k < 6000 && access("compiling.s", F_OK) != 0; k++) pause_s(0.01);
    kill(pid, SIGTERM);
    CHECK_INT(end_of(pid), 1);
    close(out);
    close(err);
    CHECK_CONTAINS(text_of("stderr.txt"), "fresh.c: interrupted");
    removed = access("compiling.s", F_OK) != 0;
  }
  unsetenv("CC");
  CHECK(removed);
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
      cmocka_unit_test(progress_for_programs),
      cmocka_unit_test(no_progress_in_a_pipe),
      cmocka_unit_test(interrupted_compilers_clean_up),
  };
  return cmocka_run_group_tests(tests, set_up, NULL);
}
