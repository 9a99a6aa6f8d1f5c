// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Models that do to their process what a model should not: they fork, end the program, leave
// threads and other programs behind. A run gives the right numbers or says what happened, and what
// a model started ends with the run.
#include "command.h"

// x' = -2 x; at the first evaluation past t = 0.25 (deed 1: at twenty) it does what `deed` says.
static const char model[] =
    MODEL("hostile",
          "#include <pthread.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <unistd.h>\n"
          "static const cpl_declaration x[] = {{.name = \"x\", .start = 3}, {0}};\n"
          "static const cpl_declaration p[] = {{.name = \"deed\"}, {0}};\n"
          "static volatile long counted;\n"
          "static int done;\n"
          "static void* count(void* unused) {\n"
          "  for (;;) counted++;\n"
          "  return unused;\n"
          "}\n"
          "static void note(const char* name) {\n"
          "  FILE* f = fopen(name, \"w\");\n"
          "  fprintf(f, \"%d\\n\", (int)getpid());\n"
          "  fclose(f);\n"
          "}\n"
          "static int f(const cpl_values* v, double* dx) {\n"
          "  dx[0] = -2 * v->x[0];\n"
          "  if (v->t < 0.25 || done++ > (v->p[0] == 1 ? 20 : 0)) return 0;\n"
          "  pthread_t thread;\n"
          "  switch ((int)v->p[0]) {\n"
          "    case 1: if (fork() == 0) { usleep(500); dx[0] = 1e3; } break;\n"  // the copy goes on
          "    case 2: if (fork() == 0) { note(\"copy\"); pause(); } break;\n"   // for ever
          "    case 3: if (fork() == 0) exit(0); break;\n"
          "    case 4: if (fork() == 0) _exit(0); break;\n"
          "    case 5: exit(0);\n"
          "    case 6: _exit(0);\n"
          "    case 7: _Exit(0);\n"
          "    case 8: quick_exit(0);\n"
          "    case 9: pthread_create(&thread, NULL, count, NULL); break;\n"
          "    case 10: if (system(\"sh -c 'echo $$ > copy; exec sleep 1000' &\")) { } break;\n"
          "    case 11: if (fork() == 0) { note(\"copy\"); pause(); }\n"
          "      while (access(\"copy\", F_OK) != 0) { }\n"
          "      note(\"there\"); for (;;) pause();\n"
          "    default: break;\n"
          "  }\n"
          "  return 0;\n"
          "}",
          ".states = x, .parameters = p, .derivatives = f, .stop_time = 1,\n"
          ".dependencies = (const cpl_dependency[]){{\"der(x)\", \"x\", NULL}, {0}}");

static int set_up(void** state) {
  (void)state;
  write_text("hostile.c", model);
  CHECK_CODE(0, "build", "hostile.c", "-o", "hostile2.fmu");
  CHECK_CODE(0, "build", "hostile.c", "--fmi", "3", "-o", "hostile3.fmu");
  return 0;
}

static const char* const files[] = {"hostile.c", "hostile2.fmu", "hostile3.fmu"};

// Whoever has ended may still be listed, until somebody asks how.
static bool is_alive(const char* file) {
  int pid = atoi(text_of(file));
  char path[64], name[64], kind = 'Z';
  CHECK(pid > 1);
  snprintf(path, sizeof path, "/proc/%d/stat", pid);
  FILE* f = fopen(path, "r");
  if (f == NULL) return false;
  if (fscanf(f, "%*d %63s %c", name, &kind) != 2) kind = 'Z';
  fclose(f);
  return kind != 'Z' && kind != 'X';
}

// The end of a process that was killed takes a moment.
static void check_gone(const char* file) {
  for (int i = 0; i < 3000 && is_alive(file); i++) pause_s(0.01);
  if (is_alive(file)) fail_msg("what the model started is still there");
}

static void wait_for(const char* path) {
  struct stat info = {0};
  for (int i = 0; i < 6000 && (stat(path, &info) != 0 || info.st_size < 2); i++) pause_s(0.01);
  CHECK(info.st_size >= 2);
}

static void check_solution(const char* path) {
  CHECK_INT(count_rows(path), 21);
  CHECK_NEAR(last_value(path, 1), 3 * exp(-2), 1e-4);
}

// There is one run, however many copies of it a model makes, and its numbers are right.
static void copies_of_the_process(void** state) {
  (void)state;
  static const char* const deeds[] = {"deed=1", "deed=3", "deed=4"};
  for (int i = 0; i < 3; i++) {
    for (int k = 0; k < 3; k++) {
      CHECK_CODE(0, "run", files[i], "--as", "me", "--set", deeds[k], "--interval", "0.05", "-o",
                 "here.csv");
      check_solution("here.csv");
      CHECK_CODE(0, "run", files[i], "--as", "me", "--set", deeds[k], "--interval", "0.05", "-o",
                 "apart.csv", "--isolate");
      check_same_files("here.csv", "apart.csv");
    }
  }
}

// What a model started ends with the run: deed 10 is no child of couplet, as its parent has ended.
static void copies_that_stay(void** state) {
  (void)state;
  static const char* const deeds[] = {"deed=2", "deed=10"};
  for (int k = 0; k < 4; k++) {
    const bool apart = k >= 2;
    unlink("copy");
    CHECK_CODE(0, "run", files[k % 2], "--as", "me", "--set", deeds[k % 2], "--interval", "0.05",
               "-o", "here.csv", apart ? "--isolate" : NULL);
    check_solution("here.csv");
    if (!apart) CHECK_CONTAINS(complained, "warning: a model started process ");
    if (!apart) CHECK_CONTAINS(complained, "and left it running: it was ended");
    struct stat info;  // it may have had no time to begin
    if (stat("copy", &info) == 0 && info.st_size > 1) check_gone("copy");
  }
}

// A daemon stays: the server of a compiler's cache.
static void what_a_compiler_starts(void** state) {
  (void)state;
  char here[4096], path[4200], text[8400];
  assert_non_null(getcwd(here, sizeof here));
  snprintf(path, sizeof path, "%s/cc.sh", here);
  snprintf(text, sizeof text,
           "#!/bin/sh\nmkdir %s/begun 2>/dev/null && setsid sh -c 'echo $$ > %s/server; exec sleep "
           "1000' "
           ">/dev/null 2>&1 &\nexec cc \"$@\"\n",
           here, here);
  write_text("cc.sh", text);
  chmod("cc.sh", 0700);
  setenv("CC", path, 1);
  CHECK_CODE(0, "run", "hostile.c", "-o", "here.csv");
  unsetenv("CC");
  CHECK_STR(complained, "");
  wait_for("server");
  CHECK(is_alive("server"));
  kill(atoi(text_of("server")), SIGKILL);
}

// Also where couplet is killed, and the model hangs.
static void everything_ends_with_a_killed_run(void** state) {
  (void)state;
  static const int signals[] = {SIGKILL, SIGTERM};
  for (int k = 0; k < 4; k++) {
    unlink("there");
    unlink("copy");
    int out = create("stdout.txt");
    pid_t pid = start_couplet((const char* const[]){"run", "hostile.c", "--set", "deed=11", "-o",
                                                    "here.csv", k < 2 ? "--isolate" : NULL, NULL},
                              out, out);
    close(out);
    wait_for("there");
    wait_for("copy");
    kill(pid, signals[k % 2]);
    end_of(pid);
    check_gone("there");
    check_gone("copy");
  }
  if (system("rm -rf tmp") != 0) fail_msg("tmp");
}

static void the_end_of_the_program(void** state) {
  (void)state;
  static const char* const deeds[] = {"deed=5", "deed=6", "deed=7", "deed=8"};
  static const char* const functions[] = {"derivatives", "fmi2GetDerivatives",
                                          "fmi3GetContinuousStateDerivatives"};
  for (int i = 0; i < 3; i++) {
    for (int k = 0; k < 4; k++) {
      CHECK_FAILS_WITH(1, "it called exit() or _exit() to end the whole program", "run", files[i],
                       "--as", "me", "--set", deeds[k], "--interval", "0.05", "-o", "here.csv");
      CHECK_CONTAINS(complained, functions[i]);
      CHECK(count_rows("here.csv") >= 4 && count_rows("here.csv") <= 6);
      CHECK_FAILS_WITH(1, "it called exit() or _exit()", "run", files[i], "--as", "me", "--set",
                       deeds[k], "-o", "apart.csv", "--isolate");
    }
  }
}

// A library whose threads still run stays where it is.
static void threads_that_stay(void** state) {
  (void)state;
  for (int i = 0; i < 6; i++) {
    CHECK_CODE(0, "run", files[i % 3], "--as", "me", "--set", "deed=9", "--interval", "0.05", "-o",
               "here.csv");
    check_solution("here.csv");
  }
  CHECK_CODE(0, "run", "hostile2.fmu", "--as", "cs", "--set", "deed=9", "-o", "here.csv");
  CHECK_CODE(0, "run", "hostile2.fmu", "--as", "cs", "--set", "deed=9", "-o", "here.csv",
             "--isolate");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(copies_of_the_process),  cmocka_unit_test(copies_that_stay),
      cmocka_unit_test(what_a_compiler_starts), cmocka_unit_test(everything_ends_with_a_killed_run),
      cmocka_unit_test(the_end_of_the_program), cmocka_unit_test(threads_that_stay),
  };
  return cmocka_run_group_tests(tests, set_up, NULL);
}
