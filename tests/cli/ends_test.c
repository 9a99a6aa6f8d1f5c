// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// One signal ends a command wherever it is: a model that never returns, in each of its functions,
// threads, processes, co-simulation between output points. What was recorded is kept, and the
// message says where it was. A model leaves the file "there" when it has come to that point.
#include "command.h"

// A model that never returns from `place`, which is its parameter: 1 initialize, 2 derivatives,
// 3 outputs, 4 event; later than t = 0.31 with 12, 13, and so on.
static const char stuck_model[] = MODEL(
    "stuck",
    "#include <stdio.h>\n#include <stdlib.h>\n"
    "static _Thread_local volatile int go = 1;\n"
    "static void perhaps(const cpl_values* v, int place) {\n"
    "  if (v->p[0] != place && (v->p[0] != 10 + place || v->t < 0.31)) return;\n"
    "  fclose(fopen(\"there\", \"w\"));\n"
    "  while (go) {\n  }\n"
    "}\n"
    "static const cpl_declaration x[] = {{.name = \"x\", .start = 2}, {0}};\n"
    "static const cpl_declaration u[] = {{.name = \"u\"}, {0}};\n"
    "static const cpl_declaration y[] = {{.name = \"y\"}, {0}};\n"
    "static const cpl_declaration p[] = {{.name = \"place\", .start = PLACE}, {0}};\n"
    "static int begin(const cpl_values* v, cpl_event_actions* a) {\n"
    "  perhaps(v, 1);\n  a->next_time = 0.4;\n  return 0;\n}\n"
    "static int f(const cpl_values* v, double* dx) {\n"
    "  perhaps(v, 2);\n  dx[0] = v->u[0] - 3 * v->x[0];\n  return 0;\n}\n"
    "static int g(const cpl_values* v, double* out) {\n"
    "  perhaps(v, 3);\n  out[0] = v->x[0];\n  return 0;\n}\n"
    "static int event(const cpl_values* v, cpl_event_actions* a) {\n"
    "  perhaps(v, 4);\n  a->next_time = v->t < 0.4 ? 0.4 : INFINITY;\n  return 0;\n}\n"
    "static const cpl_dependency known[] = {{\"der(x)\", \"x u\", NULL}, {\"y\", \"x\", NULL}, "
    "{0}};\n",
    ".states = x, .inputs = u, .outputs = y, .parameters = p, .initialize = begin,\n"
    ".derivatives = f, .output_values = g, .event = event, DEPENDENCIES .stop_time = 0.9");

static void write_stuck(const char* path, const char* place, bool known) {
  char text[1 << 13];
  snprintf(text, sizeof text, "#define PLACE %s\n#define DEPENDENCIES %s\n%s", place,
           known ? ".dependencies = known," : "", stuck_model);
  write_text(path, text);
}

static int set_up(void** state) {
  (void)state;
  write_stuck("stuck.c", "0", true);
  write_stuck("unknown.c", "2", false);
  CHECK_CODE(0, "build", "stuck.c", "-o", "stuck2.fmu");
  CHECK_CODE(0, "build", "stuck.c", "--fmi", "3", "-o", "stuck3.fmu");
  return 0;
}

static pid_t begin(const char* const* args) {
  int out = create("stdout.txt"), err = create("stderr.txt");
  unlink("there");
  pid_t pid = start_couplet(args, out, err);
  close(out);
  close(err);
  return pid;
}

static bool is_there(const char* path) { return access(path, F_OK) == 0; }

// Machines are slow at times: it is given a minute.
static void wait_for(const char* path) {
  for (int i = 0; i < 6000 && !is_there(path); i++) pause_s(0.01);
  if (!is_there(path)) fail_msg("%s is not written: %s", path, text_of("stderr.txt"));
}

// One signal, and it ends; a limit that only what never ends exceeds.
static int interrupt(pid_t pid, int signal_number) {
  int status = 0;
  kill(pid, signal_number);
  for (int i = 0; i < 3000; i++) {
    if (waitpid(pid, &status, WNOHANG) == pid)
      return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    pause_s(0.01);
  }
  kill(pid, SIGKILL);
  waitpid(pid, NULL, 0);
  fail_msg("the signal does not end it");
  return 0;
}

// Begins, waits until the model is stuck, interrupts; it says `text`, and leaves nothing.
static void check_end(int signal_number, const char* const* args, const char* text) {
  pid_t pid = begin(args);
  wait_for("there");
  CHECK_INT(interrupt(pid, signal_number), 1);
  const char* said = text_of("stderr.txt");
  CHECK_CONTAINS(said, text);
  CHECK(strchr(said, '\n') == strrchr(said, '\n'));
  CHECK(is_empty("tmp"));
}
#define CHECK_END(signal_number, text, ...) \
  check_end(signal_number, (const char* const[]){__VA_ARGS__, NULL}, text)

//------------------------------------ a call that never returns
//------------------------------------

static void every_function_of_a_model_in_c(void** state) {
  (void)state;
  CHECK_END(SIGTERM, "stuck: interrupted inside initialize at t=0 (", "run", "stuck.c", "--set",
            "place=1");
  CHECK_END(SIGINT, "inside derivatives at t=0 (", "run", "stuck.c", "--set", "place=2");
  CHECK_END(SIGHUP, "inside output_values at t=0 (", "run", "stuck.c", "--set", "place=3");
  CHECK_END(SIGTERM, "inside event at t=0.4 (", "run", "stuck.c", "--set", "place=14", "--interval",
            "0.1");
  CHECK_INT(count_rows("stuck.csv"), 5);  // the left side of the event, too
  CHECK_END(SIGTERM, "inside derivatives at t=0.3", "run", "stuck.c", "--set", "place=12",
            "--interval", "0.05", "-o", "stuck.mat", "--step", "0.01");
}

// The structure of a model is found out before it runs.
static void what_looks_at_a_model(void** state) {
  (void)state;
  static const char* const verbs[] = {"run", "info", "check", "linearize", "build"};
  for (int i = 0; i < 5; i++)
    CHECK_END(SIGTERM, "stuck: interrupted inside derivatives at t=0 (", verbs[i], "unknown.c");
  write_text("unknown.yaml", "couplet: 1\nmodels: {a: {c: unknown.c}}\n");
  CHECK_END(SIGINT, "interrupted inside derivatives", "graph", "unknown.yaml");
  CHECK_END(SIGINT, "interrupted inside derivatives", "run", "unknown.yaml", "--isolate");
}

static void fmus(void** state) {
  (void)state;
  CHECK_END(SIGTERM, "stuck: interrupted inside fmi2GetDerivatives", "run", "stuck2.fmu", "--as",
            "me", "--set", "place=12");
  CHECK_END(SIGTERM, "stuck: interrupted inside fmi2DoStep at t=0.", "run", "stuck2.fmu", "--as",
            "cs", "--set", "place=12");
  CHECK_END(SIGINT, "stuck: interrupted inside fmi3DoStep at t=0.", "run", "stuck3.fmu", "--as",
            "cs", "--set", "place=12");
  CHECK_END(SIGINT, "its process was ended", "run", "stuck3.fmu", "--as", "cs", "--set", "place=12",
            "--isolate");
}

// What is found out before a run is found out under the same limit as the run.
static void limits_hold_before_the_run(void** state) {
  (void)state;
  static const char* const verbs[] = {"run", "info", "linearize"};
  for (int i = 0; i < 3; i++)
    CHECK_FAILS(1,
                "unknown.c: stuck: derivatives did not return within 1 s when it was tested "
                "before the run; its process was ended",
                verbs[i], "unknown.c", "--call-timeout", "1");
  write_text("unknown.yaml", "couplet: 1\nmodels: {a: {c: unknown.c}}\n");
  CHECK_FAILS_WITH(1, "derivatives did not return within 1 s", "graph", "unknown.yaml",
                   "--call-timeout", "1");
  CHECK_CODE(2, "check", "unknown.yaml", "--call-timeout", "1");
  CHECK_CONTAINS(printed, "derivatives did not return within 1 s");
}

// A child finds the same as this process.
static void found_out_in_another_process(void** state) {
  (void)state;
  write_stuck("free.c", "0", false);
  CHECK_CODE(0, "graph", "free.c", "--json");
  char here[1 << 14];
  snprintf(here, sizeof here, "%s", printed);
  CHECK_CONTAINS(here, "detected");
  CHECK_CODE(0, "graph", "free.c", "--json", "--isolate");
  CHECK_STR(printed, here);
  CHECK_CODE(0, "run", "free.c", "-o", "in.csv");
  CHECK_CODE(0, "run", "free.c", "-o", "out.csv", "--isolate");
  check_same_files("in.csv", "out.csv");
}

// Time in which the command does not run does not count: on a busy machine it ends in the same way.
static void a_process_that_gets_no_processor(void** state) {
  (void)state;
  pid_t pid = begin((const char* const[]){"run", "unknown.c", "--isolate", NULL});
  wait_for("there");
  kill(pid, SIGTERM);
  pause_s(0.05);
  kill(pid, SIGSTOP);
  pause_s(2.5);
  kill(pid, SIGCONT);
  CHECK_INT(interrupt(pid, 0), 1);
  CHECK_CONTAINS(text_of("stderr.txt"), "stuck: interrupted inside derivatives");
  CHECK(is_empty("tmp"));
}

//------------------------------------ systems ------------------------------------

#define PAIR(kind, more)                                                              \
  "couplet: 1\nname: pair\nmodels:\n  a: {" kind ", start: {place: 12}}\n  b: {" kind \
  "}\nconnections: {a.u: b.y, b.u: a.y}\n" more

static void systems(void** state) {
  (void)state;
  write_text("one.yaml", PAIR("c: stuck.c", ""));
  write_text("steps.yaml", PAIR("fmu: stuck2.fmu, as: cs", "master: {step: 0.1}\n"));
  write_text("inner.yaml", "couplet: 1\nmodels: {in: {system: steps.yaml}}\n");
  CHECK_END(SIGTERM, "couplet: a: interrupted inside derivatives", "run", "one.yaml");
  CHECK_END(SIGTERM, "couplet: a: interrupted inside fmi2DoStep", "run", "steps.yaml");
  CHECK_END(SIGTERM, "couplet: a: interrupted inside fmi2DoStep", "run", "steps.yaml", "--threads",
            "2");
  CHECK_END(SIGTERM, "couplet: a: interrupted inside fmi2DoStep", "run", "steps.yaml", "--isolate");
  CHECK_END(SIGTERM, "interrupted inside fmi2DoStep", "run", "inner.yaml");
}

static void delay_lines(void** state) {
  (void)state;
  write_text("lines.yaml",
             "couplet: 1\nname: lines\nmodels:\n  a: {c: stuck.c, start: {place: 12}}\n"
             "  b: {c: stuck.c}\ninterfaces:\n  a.end: {kind: translational, speed: x, force: u}\n"
             "  b.end: {kind: translational, speed: x, force: u}\n"
             "tlm: [{from: a.end, to: b.end, delay: 0.01, Zf: 1}]\n");
  CHECK_END(SIGTERM, "couplet: a: interrupted inside derivatives", "run", "lines.yaml", "--threads",
            "1");
  CHECK_END(SIGTERM, "couplet: a: interrupted inside derivatives", "run", "lines.yaml", "--threads",
            "2");
  CHECK_END(SIGTERM, "couplet: a: interrupted inside ", "run", "lines.yaml", "--processes");
}

// A run that will not end says so while it goes on.
static void check_slow(const char* const* args, const char* who, const char* step) {
  char text[128];
  pid_t pid = begin(args);
  snprintf(text, sizeof text, "couplet: warning: %s: makes little progress: its last 10000 steps",
           who);
  for (int i = 0; i < 6000 && strstr(text_of("stderr.txt"), text) == NULL; i++) pause_s(0.01);
  CHECK_CONTAINS(text_of("stderr.txt"), text);
  CHECK_CONTAINS(text_of("stderr.txt"), step);
  CHECK_INT(interrupt(pid, SIGTERM), 1);
  const char* said = text_of("stderr.txt");  // once, and that it was interrupted
  CHECK_CONTAINS(strchr(said, '\n'), ": interrupted at t=");
  if (strchr(strchr(said, '\n') + 1, '\n') != strrchr(said, '\n')) fail_msg("%s", said);
}

static void little_progress(void** state) {
  (void)state;
  write_text("slow.yaml",
             "couplet: 1\nname: slow\nmodels:\n  a: {fmu: stuck2.fmu, as: cs}\n"
             "  b: {fmu: stuck3.fmu, as: cs}\nconnections: {b.u: a.y}\nmaster: {step: 3e-7}\n"
             "experiment: {stop: 800, interval: 80}\n");
  check_slow((const char* const[]){"run", "slow.yaml", NULL}, "slow", " 3e-07 s long");
  check_slow((const char* const[]){"run", "stuck2.fmu", "--as", "cs", "--step", "4e-7",
                                   "--stop-time", "800", "--interval", "80", NULL},
             "stuck", " 4e-07 s long");
  check_slow((const char* const[]){"run", "stuck.c", "--solver", "rk4", "--step", "5e-7",
                                   "--stop-time", "800", "--interval", "80", NULL},
             "stuck", " 5e-07 s long");
  // the bar moves between output points
  pid_t pid = begin((const char* const[]){"run", "stuck.c", "--solver", "rk4", "--step", "5e-7",
                                          "--stop-time", "800", "--interval", "80", "--progress",
                                          "json", NULL});
  for (int i = 0; i < 6000 && strstr(text_of("stderr.txt"), "\"step\"") == NULL; i++) pause_s(0.01);
  CHECK_CONTAINS(text_of("stderr.txt"), "\"step\": ");
  CHECK_INT(interrupt(pid, SIGTERM), 1);
}

// Steps that are far shorter than the distance of output points.
static void between_output_points(void** state) {
  (void)state;
  write_text("tiny.yaml",
             "couplet: 1\nname: tiny\nmodels:\n  a: {fmu: stuck2.fmu, as: cs}\n"
             "  b: {fmu: stuck3.fmu, as: cs}\nconnections: {b.u: a.y}\nmaster: {step: 2e-7}\n"
             "experiment: {stop: 8000, interval: 800}\n");
  static const char* const solvers[] = {"rk4", "euler", "cvode", "radau", "dopri5", "ida"};
  unlink("tiny.csv");
  pid_t pid = begin((const char* const[]){"run", "tiny.yaml", NULL});
  wait_for("tiny.csv");
  CHECK_INT(interrupt(pid, SIGTERM), 1);
  CHECK_CONTAINS(text_of("stderr.txt"), "couplet: tiny: interrupted at t=");
  for (int i = 0; i < 6; i++) {
    unlink("far.csv");
    pid = begin((const char* const[]){"run", "stuck.c", "--solver", solvers[i], "--step", "1e-6",
                                      "--stop-time", "8000", "--interval", "800", "-o", "far.csv",
                                      NULL});
    wait_for("far.csv");
    CHECK_INT(interrupt(pid, SIGINT), 1);
    CHECK_CONTAINS(text_of("stderr.txt"), "couplet: stuck: interrupted at t=");
  }
}

// A compiler that takes long is ended with what it has started.
static void a_slow_compiler(void** state) {
  (void)state;
  write_text("cc.sh", "#!/bin/sh\ntouch there\nsleep 1000\n");
  chmod("cc.sh", 0700);
  char here[4096], path[4200];
  assert_non_null(getcwd(here, sizeof here));
  snprintf(path, sizeof path, "%s/cc.sh", here);
  setenv("CC", path, 1);
  CHECK_END(SIGTERM, "unknown.c: interrupted", "run", "unknown.c");
  CHECK_END(SIGTERM, "stuck.c: interrupted", "build", "stuck.c");
  unsetenv("CC");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_function_of_a_model_in_c),
      cmocka_unit_test(what_looks_at_a_model),
      cmocka_unit_test(limits_hold_before_the_run),
      cmocka_unit_test(found_out_in_another_process),
      cmocka_unit_test(a_process_that_gets_no_processor),
      cmocka_unit_test(fmus),
      cmocka_unit_test(systems),
      cmocka_unit_test(delay_lines),
      cmocka_unit_test(between_output_points),
      cmocka_unit_test(little_progress),
      cmocka_unit_test(a_slow_compiler),
  };
  return cmocka_run_group_tests(tests, set_up, NULL);
}
