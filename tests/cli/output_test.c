// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Where results go, what is in them, and what else is printed.
#include <sys/resource.h>

#include "command.h"

// A probe that prints to standard output, whose name ends in brackets, and whose variables look
// like patterns.
static const char names_model[] =
    MODEL("names",
          "static const cpl_declaration x[] = {{.name = \"x\", .size = 3, .unit = \"m\"}, {0}};\n"
          "static const cpl_declaration y[] = {{.name = \"a*b\"}, {.name = \"axb\"},\n"
          "    {.name = \"with, comma\"}, {0}};\n"
          "static int f(const cpl_values* v, double* dx) {\n"
          "  (void)v;\n"
          "  dx[0] = dx[1] = dx[2] = 1;\n"
          "  return 0;\n"
          "}\n"
          "static int g(const cpl_values* v, double* y_) {\n"
          "  y_[0] = y_[1] = y_[2] = v->t;\n"
          "  return 0;\n"
          "}",
          ".states = x, .outputs = y, .derivatives = f, .output_values = g");

static const char chatty_model[] =
    MODEL("chatty",
          "#include <stdio.h>\n"
          "#include <unistd.h>\n"
          "static const cpl_declaration x[] = {{.name = \"x\"}, {0}};\n"
          "static int f(const cpl_values* v, double* dx) {\n"
          "  printf(\"at %g\\n\", v->t);\n"
          "  if (write(1, \"raw\\n\", 4) < 0) return CPL_MODEL_ERROR;\n"
          "  dx[0] = 1;\n"
          "  return 0;\n"
          "}",
          ".states = x, .derivatives = f");

static int set_up(void** state) {
  (void)state;
  write_text("decay.c", decay_model);
  write_text("names.c", names_model);
  write_text("chatty.c", chatty_model);
  make_probe("probe.fmu", "probe", NULL);
  return 0;
}

static bool is_json(const char* text) {
  write_text("text.json", text);
  return system("python3 -m json.tool text.json >/dev/null 2>&1") == 0;
}

//------------------------------------ files ------------------------------------

static void formats(void** state) {
  (void)state;
  CHECK_CODE(0, "run", "decay.c", "-o", "out.CSV");
  CHECK_CODE(0, "run", "decay.c", "-oout.mat");
  CHECK_CONTAINS(printed, "-> out.mat\n");
  cpl_context* ctx = test_context();
  cpl_table* table = NULL;
  CHECK_OK(ctx, cpl_results_read(ctx, "out.mat", &table));
  CHECK_INT(table->n_rows, 501);
  CHECK_NEAR(table->values[500], exp(-1), 1e-5);
  cpl_table_destroy(table);
  cpl_context_destroy(ctx);
  CHECK_CODE(0, "run", "decay.c", "--output=-", "--interval", "0.5");
  CHECK(strncmp(printed, "time,x,y\n0,1,2\n0.5,", 19) == 0);
  CHECK_CONTAINS(complained, "decay: t = 0 to 1 in");  // the summary is no part of the results
  CHECK(strstr(complained, "->") == NULL);
}

static void places_that_cannot_be(void** state) {
  (void)state;
  CHECK_FAILS(2, "no/such/folder.csv: cannot be written: No such file or directory", "run",
              "decay.c", "-o", "no/such/folder.csv");
  CHECK_FAILS(2, "out.xls: results are written to files that end in .csv or .mat", "run", "decay.c",
              "-o", "out.xls");
  CHECK_FAILS_WITH(2, "results are written to files that end in", "run", "decay.c", "-o", "");
  CHECK_FAILS(2, "tmp.csv: cannot be written: Is a directory", "run", "decay.c", "-o", "tmp.csv");
}

// A failure before the run leaves an earlier result alone.
static void results_are_kept_when_nothing_begins(void** state) {
  (void)state;
  write_text("kept.csv", "precious\n");
  CHECK_CODE(2, "run", "decay.c", "-o", "kept.csv", "--set", "nothing=1");
  CHECK_STR(text_of("kept.csv"), "precious\n");
  CHECK_CODE(2, "run", "decay.c", "-o", "kept.csv", "--record", "nothing");
  CHECK_STR(text_of("kept.csv"), "precious\n");
}

// fed.csv is the name that results of fed.c have unless told otherwise.
static void inputs_are_not_overwritten(void** state) {
  static const char table[] = "time,u\n0,1\n4,3\n";
  static const char system[] =
      "couplet: 1\nmodels: {m: {c: fed.c}}\ninputs: {u: {file: outer.csv}}\nconnections: {m.u: "
      "u}\n";
  (void)state;
  write_text(
      "fed.c",
      "#include <couplet/model.h>\n"
      "static int d(const cpl_values* v, double* dx) { dx[0] = v->u[0]; return 0; }\n"
      "static const cpl_declaration x[] = {{\"x\", .output = true}, {0}}, u[] = {{\"u\"}, {0}};\n"
      "const cpl_model_def couplet_model = {.name = \"fed\", .states = x, .inputs = u, "
      ".derivatives = d, .stop_time = 4};\n");
  write_text("fed.csv", table);
  write_text("outer.csv", table);
  write_text("inner.yaml", system);
  write_text("outer.yaml", "couplet: 1\nmodels: {s: {system: inner.yaml}}\n");
  const char* words = "inputs are read from this file; -o gives the results another one";
  CHECK_FAILS_WITH(2, words, "run", "fed.c", "--input", "./fed.csv");
  CHECK_STR(text_of("fed.csv"), table);
  CHECK_FAILS_WITH(2, words, "run", "inner.yaml", "-o", "outer.csv");
  CHECK_FAILS_WITH(2, words, "run", "outer.yaml");
  CHECK_STR(text_of("outer.csv"), table);
  CHECK_CODE(0, "run", "outer.yaml", "-o", "else.csv");
  CHECK_CODE(0, "run", "outer.yaml", "-o", "else.csv");
}

static void full_disk(void** state) {
  (void)state;
  unlink("full.csv");
  CHECK_INT(symlink("/dev/full", "full.csv"), 0);
  CHECK_FAILS(2, "full.csv: cannot be written: No space left on device", "run", "decay.c", "-o",
              "full.csv");
  int full = open("/dev/full", O_WRONLY), err = create("stderr.txt");
  const char* const args[] = {"run", "decay.c", "-o", "-", NULL};
  CHECK_INT(end_of(start_couplet(args, full, err)), 2);
  CHECK_STR(text_of("stderr.txt"),
            "couplet: standard output: cannot be written: No space left on device\n");
  const char* const json[] = {"run", "decay.c", "--json", NULL};
  CHECK_INT(end_of(start_couplet(json, full, err)), 2);
  // more than a buffer: the write that failed is not the last
  const char* const many[] = {"sensitivity", "decay.c",    "--of", "x",      "--to",
                              "x",           "--interval", "1e-3", "--json", NULL};
  CHECK_INT(ftruncate(err, 0), 0);
  CHECK_INT((int)lseek(err, 0, SEEK_SET), 0);
  CHECK_INT(end_of(start_couplet(many, full, err)), 2);
  CHECK_STR(text_of("stderr.txt"),
            "couplet: standard output: cannot be written: No space left on device\n");
  close(full);
  close(err);
}

// What is said to be in the file is there.
static void full_disk_in_the_middle(void** state) {
  (void)state;
  struct rlimit before, little;
  CHECK_INT(getrlimit(RLIMIT_FSIZE, &before), 0);
  little = before, little.rlim_cur = 1000000;
  CHECK_INT(setrlimit(RLIMIT_FSIZE, &little), 0);
  CHECK_CODE(2, "sensitivity", "decay.c", "--of", "x", "--to", "x", "--interval", "1e-6", "-o",
             "long.csv");
  CHECK_CONTAINS(complained, "long.csv: cannot be written: File too large");
  CHECK_INT(setrlimit(RLIMIT_FSIZE, &before), 0);
  char words[64];
  snprintf(words, sizeof words, "until t=%.12g are in long.csv", last_value("long.csv", 0));
  CHECK_CONTAINS(complained, words);
}

static void closed_pipe(void** state) {
  (void)state;
  int ends[2], err = create("stderr.txt");
  CHECK_INT(pipe(ends), 0);
  const char* const args[] = {"run", "decay.c", "-o", "-", "--interval", "1e-5", NULL};
  fcntl(ends[0], F_SETFD, FD_CLOEXEC);
  pid_t pid = start_couplet(args, ends[1], err);
  close(ends[1]);
  char some[100];
  CHECK(read(ends[0], some, sizeof some) > 0);
  close(ends[0]);
  CHECK_INT(end_of(pid), -SIGPIPE);  // as every program whose reader has seen enough
  CHECK_STR(text_of("stderr.txt"), "");
  CHECK(is_empty("tmp"));
  close(err);
}

// Every verb: an output that cannot be written is exit code 2.
static void no_standard_output(void** state) {
  (void)state;
  static const char* const verbs[][5] = {{"run", "decay.c", "-o", "-"}, {"steady", "decay.c"},
                                         {"linearize", "decay.c"},      {"graph", "decay.c"},
                                         {"info", "decay.c"},           {"sweep", "decay.c"}};
  for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
    int err = create("stderr.txt");
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
      close(STDOUT_FILENO);
      _exit(end_of(start_couplet(verbs[i], -1, err)));
    }
    CHECK_INT(end_of(pid), 2);
    close(err);
  }
}

static void appended_to_a_file(void** state) {
  (void)state;
  write_text("stdout.txt", "before\n");
  int out = open("stdout.txt", O_WRONLY | O_APPEND), err = create("stderr.txt");
  const char* const args[] = {"run", "decay.c", "-o", "-", NULL};
  CHECK_INT(end_of(start_couplet(args, out, err)), 0);
  CHECK(strncmp(text_of("stdout.txt"), "before\ntime,x,y\n0,1,2\n", 22) == 0);
  close(out);
  close(err);
}

// The same run gives the same bytes.
static void same_bytes(void** state) {
  (void)state;
  static const char* const endings[] = {"csv", "mat"};
  static const char* const models[] = {"decay.c", "probe.fmu"};
  for (int i = 0; i < 4; i++) {
    char names[2][32];
    for (int k = 0; k < 2; k++) {
      snprintf(names[k], sizeof names[k], "same%d.%s", k, endings[i % 2]);
      CHECK_CODE(0, "run", models[i / 2], "-o", names[k]);
    }
    size_t a, b;
    char *one = read_bytes(names[0], &a), *two = read_bytes(names[1], &b);
    CHECK_INT(a, b);
    CHECK(memcmp(one, two, a) == 0);
    free(one);
    free(two);
  }
}

//------------------------------------ columns ------------------------------------

static const char* header_of(const char* record1, const char* record2) {
  static char line[256];
  CHECK_CODE(0, "run", "names.c", "-o", "-", "--record", record1, "--record", record2);
  snprintf(line, sizeof line, "%.*s", (int)strcspn(printed, "\n"), printed);
  return line;
}

static void record(void** state) {
  (void)state;
  CHECK_STR(header_of("axb", "x[1]"), "time,axb,x[1]");  // in the order asked for
  CHECK_STR(header_of("a*b", "a*b"), "time,a*b");        // a name, not a pattern
  CHECK_STR(header_of("a?b", "axb"), "time,a*b,axb");    // a pattern, each once
  CHECK_STR(header_of("x*", "der(x[2])"), "time,x[1],x[2],x[3],der(x[2])");
  CHECK_STR(header_of("with*", "x[3]"), "time,\"with, comma\",x[3]");
}

static void record_nothing(void** state) {
  (void)state;
  CHECK_FAILS(2, "names: no variable matches \"z*\"", "run", "names.c", "--record", "z*");
  CHECK_FAILS_WITH(2, "names: there is no variable \"x[4]\" (is it x[", "run", "names.c",
                   "--record", "x[4]");
  CHECK_FAILS_WITH(2, "names: there is no variable \"\"", "run", "names.c", "--record", "");
}

static void units(void** state) {
  (void)state;
  CHECK_CODE(0, "run", "names.c", "-o", "-", "--units", "--record", "x[1]", "--record", "axb");
  CHECK(strncmp(printed, "time [s],x[1] [m],axb\n", 22) == 0);
}

//------------------------------------ what else is printed ------------------------------------

static void quiet(void** state) {
  (void)state;
  CHECK_CODE(0, "run", "decay.c", "--quiet");
  CHECK_STR(printed, "");
  CHECK_STR(complained, "");
  CHECK_CODE(0, "run", "decay.c", "-q", "--stats");
  CHECK_CONTAINS(printed, "right-hand sides");
  CHECK_FAILS_WITH(2, "no variable \"z\"", "run", "decay.c", "-q", "--set", "z=1");
}

static void stats(void** state) {
  (void)state;
  static const char* const words[] = {"steps",          "rejected steps", "right-hand sides",
                                      "Jacobians",      "events",         "time in models",
                                      "time in solver", "time in output"};
  CHECK_CODE(0, "run", "probe.fmu", "--set", "n=100", "--stats");
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) CHECK_CONTAINS(printed, words[i]);
  CHECK_CONTAINS(printed, "1 state, 2 time, 0 step\n");
  CHECK_CODE(0, "run", "probe.fmu", "--as", "cs", "--stats", "-o", "-");
  CHECK_CONTAINS(complained, "communication steps  500\n");
}

static void json(void** state) {
  (void)state;
  CHECK_CODE(0, "run", "decay.c", "--json");
  CHECK(is_json(printed));
  CHECK_CONTAINS(printed, "\"exit_code\": 0");
  CHECK_CONTAINS(printed, "\"status\": \"ok\"");
  CHECK_CODE(0, "run", "decay.c", "--json", "-o", "-");
  CHECK(is_json(complained));
  // a failure is told in JSON too, wherever it happens
  CHECK_CODE(2, "run", "decay.c", "--json", "--set", "z=\"1\"");
  CHECK(is_json(printed));
  CHECK_CONTAINS(printed, "\"exit_code\": 2");
  CHECK_CONTAINS(printed, "there is no variable");
  CHECK_CODE(2, "run", "missing.fmu", "--json");
  CHECK(is_json(printed));
  CHECK_CONTAINS(printed, "No such file");
  setenv("PROBE_FAULT", "fmi2GetDerivatives:30:error", 1);
  CHECK_CODE(1, "run", "probe.fmu", "--json");
  unsetenv("PROBE_FAULT");
  CHECK(is_json(printed));
  CHECK_CONTAINS(printed, "\"exit_code\": 1");
  CHECK_CODE(0, "info", "probe.fmu", "--json");
  CHECK(is_json(printed));
  CHECK_CODE(0, "check", "probe.fmu", "--json");
  CHECK(is_json(printed));
  CHECK_CODE(0, "info", "decay.c", "--json");
  CHECK(is_json(printed));
}

static void log_levels(void** state) {
  (void)state;
  setenv("PROBE_FAULT", "fmi2GetDerivatives:3:warning", 1);
  CHECK_CODE(0, "run", "probe.fmu");
  CHECK_CONTAINS(complained, "couplet: warning: probe: [logStatus] fmi2GetDerivatives was told");
  CHECK_CODE(0, "run", "probe.fmu", "--log-level", "error");
  CHECK_STR(complained, "");
  CHECK_CODE(0, "run", "probe.fmu", "--quiet");
  CHECK_STR(complained, "");
  setenv("PROBE_FAULT", "fmi2GetDerivatives:3:odd", 1);
  CHECK_CODE(0, "run", "probe.fmu", "--log-level", "info");
  CHECK_CONTAINS(complained, "couplet: info: probe: ");
  unsetenv("PROBE_FAULT");
}

static void call_log(void** state) {
  (void)state;
  CHECK_CODE(0, "run", "probe.fmu", "--call-log", "calls.txt");
  CHECK_CONTAINS(text_of("calls.txt"), "fmi2Instantiate");
  CHECK_CONTAINS(text_of("calls.txt"), "fmi2EnterInitializationMode");
  CHECK_CONTAINS(text_of("calls.txt"), "fmi2FreeInstance");
  CHECK_FAILS_WITH(2, "no/calls.txt: cannot be written: No such file", "run", "probe.fmu",
                   "--call-log", "no/calls.txt");
  CHECK_FAILS(2, "decay.c: only the calls of FMUs can be recorded", "run", "decay.c", "--call-log",
              "calls.txt");
}

// What a model prints gets neither into the results nor into the JSON.
static void models_that_print(void** state) {
  (void)state;
  CHECK_CODE(0, "run", "chatty.c", "-o", "-", "--interval", "0.5");
  CHECK(strstr(printed, "at ") == NULL && strstr(printed, "raw") == NULL);
  CHECK(strncmp(printed, "time,x\n0,0\n0.5,", 15) == 0);
  CHECK_CONTAINS(complained, "at 0\n");
  CHECK_CONTAINS(complained, "raw\n");
  CHECK_CODE(0, "run", "chatty.c", "--json");
  CHECK(is_json(printed));
}

int main(void) {
  mkdir("tmp.csv", 0700);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(formats),
      cmocka_unit_test(places_that_cannot_be),
      cmocka_unit_test(results_are_kept_when_nothing_begins),
      cmocka_unit_test(inputs_are_not_overwritten),
      cmocka_unit_test(full_disk),
      cmocka_unit_test(full_disk_in_the_middle),
      cmocka_unit_test(closed_pipe),
      cmocka_unit_test(no_standard_output),
      cmocka_unit_test(appended_to_a_file),
      cmocka_unit_test(same_bytes),
      cmocka_unit_test(record),
      cmocka_unit_test(record_nothing),
      cmocka_unit_test(units),
      cmocka_unit_test(quiet),
      cmocka_unit_test(stats),
      cmocka_unit_test(json),
      cmocka_unit_test(log_levels),
      cmocka_unit_test(call_log),
      cmocka_unit_test(models_that_print),
  };
  return cmocka_run_group_tests(tests, set_up, NULL);
}
