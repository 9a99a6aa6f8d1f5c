// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// What the command says about itself, and about arguments it does not understand.
#include "command.h"

static void help(void** state) {
  (void)state;
  CHECK_CODE(0, "--help");
  CHECK_CONTAINS(printed, "usage: couplet VERB");
  CHECK_CONTAINS(printed, "Exit codes: 0 success, 1 ");
  CHECK_STR(complained, "");
  static const char* const verbs[] = {"run", "info", "check", "build", "view"};
  for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++) {
    char head[64];
    snprintf(head, sizeof head, "couplet %s ", verbs[i]);
    CHECK_CODE(0, "--help");
    CHECK_CONTAINS(printed, verbs[i]);
    CHECK_CODE(0, verbs[i], "--help");
    CHECK(strncmp(printed, head, strlen(head)) == 0);
    CHECK_CONTAINS(printed, "--help");
    CHECK_CODE(0, "help", verbs[i]);
    CHECK(strncmp(printed, head, strlen(head)) == 0);
    CHECK_CODE(0, verbs[i], "-h");
  }
  CHECK_FAILS(2, "unknown verb \"rum\" (is it run?)", "help", "rum");
}

// Nothing is wider than a terminal.
static void help_fits_80_columns(void** state) {
  (void)state;
  static const char* const verbs[] = {"run", "info", "check", "build", "view"};
  for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++) {
    CHECK_CODE(0, verbs[i], "--help");
    for (const char *line = printed, *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
      if (end - line > 80) fail_msg("%s: %.*s", verbs[i], (int)(end - line), line);
    }
  }
}

static void verbs_of_two_words(void** state) {
  (void)state;
  static const char* const words[] = {"inspect", "serve", "join", "watch"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    char head[64];
    snprintf(head, sizeof head, "couplet tlm %s ", words[i]);
    CHECK_CODE(0, "help", "tlm", words[i]);
    CHECK(strncmp(printed, head, strlen(head)) == 0);
    CHECK_CODE(0, "tlm", words[i], "--help");
    CHECK(strncmp(printed, head, strlen(head)) == 0);
    for (const char *line = printed, *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
      if (end - line > 80) fail_msg("%s: %.*s", words[i], (int)(end - line), line);
    }
  }
  CHECK_CODE(0, "tlm", "serve", "--help");
  CHECK_CONTAINS(printed, "--join-folder DIR");  // its own options, and those of run
  CHECK_CONTAINS(printed, "--stop TIME");
  CHECK_FAILS(
      2, "tlm: the second word of the verb is missing or unknown (inspect, serve, join, watch)",
      "tlm");
  CHECK_FAILS(
      2, "tlm: the second word of the verb is missing or unknown (inspect, serve, join, watch)",
      "tlm", "save");
  CHECK_FAILS(2, "tlm join: unknown option --keyfile (is it --key-file?)", "tlm", "join",
              "--keyfile");
}

static void run_lists_every_option(void** state) {
  (void)state;
  static const char* const options[] = {
      "--output", "--as",    "--start", "--stop",  "--interval",  "--step",
      "--solver", "--rtol",  "--atol",  "--set",   "--input",     "--record",
      "--units",  "--stats", "--json",  "--quiet", "--log-level", "--call-log"};
  CHECK_CODE(0, "run", "--help");
  for (size_t i = 0; i < sizeof options / sizeof *options; i++) CHECK_CONTAINS(printed, options[i]);
}

static void version(void** state) {
  (void)state;
  CHECK_CODE(0, "--version");
  CHECK_CONTAINS(printed, "couplet ");
  CHECK_CONTAINS(printed, cpl_version());
}

static void man_and_completion(void** state) {
  (void)state;
  CHECK_CODE(0, "--man");
  CHECK_CONTAINS(printed, ".TH COUPLET 1");
  CHECK_CONTAINS(printed, "\\-\\-stop");
  CHECK_CODE(0, "--completion");
  CHECK_CONTAINS(printed, "complete -o filenames -F _couplet couplet");
  CHECK_CONTAINS(
      printed,
      "\"run\",--solver) words=\"cvode adams rk4 euler radau dopri5 erk8 esdirk5 ida heun\"");
}

static void no_arguments(void** state) {
  (void)state;
  CHECK_INT(run_couplet((const char* const[]){NULL}), 2);
  CHECK_CONTAINS(complained, "usage: couplet VERB");
  CHECK_STR(printed, "");
}

static void unknown_words(void** state) {
  (void)state;
  CHECK_FAILS(2, "unknown verb \"rnu\" (is it run?)", "rnu");
  CHECK_FAILS(2, "unknown verb \"simulate-it\"; see couplet --help", "simulate-it");
  CHECK_FAILS(2, "run: unknown option --stop-tme (is it --stop-time, --start-time or --stop?)",
              "run", "m.c", "--stop-tme", "1");
  CHECK_FAILS(2, "run: unknown option --stop-tme (is it --stop-time, --start-time or --stop?)",
              "run", "m.c", "--stop-tme=1");
  CHECK_FAILS(2, "run: unknown option --zzzzzz; see couplet run --help", "run", "--zzzzzz");
  CHECK_FAILS(2, "run: unknown option -z; see couplet run --help", "run", "-z");
  CHECK_FAILS(2, "info: unknown option --josn (is it --json?)", "info", "--josn", "m.fmu");
  CHECK_FAILS(2, "check: unknown option --al (is it --all?)", "check", "--al", "m.fmu");
}

static void misuse(void** state) {
  (void)state;
  CHECK_FAILS(2, "run: FILE is missing; usage: couplet run FILE [options]", "run");
  CHECK_FAILS(2, "check: FILE is missing; usage: couplet check FILE... [options]", "check");
  CHECK_FAILS(2, "run: takes one FILE, not a.c and b.c", "run", "a.c", "b.c");
  CHECK_FAILS(2, "run: --stop needs a value: TIME", "run", "m.c", "--stop-time");
  CHECK_FAILS(2, "run: --stop takes a number, not \"soon\"", "run", "m.c", "--stop-time", "soon");
  CHECK_FAILS(2, "run: --stop takes a number, not \"inf\"", "run", "m.c", "--stop-time=inf");
  CHECK_FAILS(2, "run: --stop takes a number, not \"\"", "run", "m.c", "--stop-time=");
  CHECK_FAILS(2, "run: --json takes no value", "run", "m.c", "--json=yes");
#define KNOWN "; solvers are cvode, adams, rk4, euler, radau, dopri5, erk8, esdirk5, ida, heun"
  CHECK_FAILS(2, "--solver cvod: there is no solver cvod (did you mean cvode?)" KNOWN, "run", "m.c",
              "--solver", "cvod");
  CHECK_FAILS(2, "--solver left=idda: there is no solver idda (did you mean ida?)" KNOWN, "run",
              "m.c", "--solver", "left=idda");
  CHECK_FAILS(2, "run: --as takes me|cs, not \"ms\"", "run", "m.c", "--as", "ms");
  CHECK_FAILS(2, "run: --log-level takes error|warning|info|debug, not \"all\"", "run", "m.c",
              "--log-level", "all");
}

static void mistakes_of_strangers(void** state) {
  (void)state;
  write_text("decay.c", decay_model);
  write_text("s.yaml", "couplet: 1\nmodels: {a: {c: decay.c}}\nexperiment: {solver: cvod}\n");
  CHECK_FAILS_WITH(2, "s.yaml: there is no solver cvod (did you mean cvode?); solvers are", "run",
                   "s.yaml");
  CHECK_FAILS_WITH(2, "s.yaml: there is no solver cvod (did you mean cvode?)", "linearize",
                   "s.yaml");
  CHECK_FAILS_WITH(2, "s.yaml:3:22: cvod is not known (cvode, ", "build", "s.yaml");
  CHECK_FAILS(2,
              "s.txt: an FMU is made of a model in C or of a system: of a name that ends in .c, "
              ".yaml, .xml, .ssp or .ssd",
              "build", "s.txt");
  CHECK_FAILS(2,
              "tlm.config: one sub-model that waits for a manager cannot become an FMU; its "
              "composite model (.xml) can",
              "build", "tlm.config");
  write_text("s.yaml", "couplet: 1\nmodels: {a: {c: decay.c}}\nconstraints: {e: a.x = at strat}\n");
  CHECK_FAILS(2, "s.yaml:3:18: constraint: on its right stands an expression, or `at start`", "run",
              "s.yaml");
}

static void mistakes_in_constraints(void** state) {
  (void)state;
  static const struct {
    int code;
    const char *equation, *message;
  } bad[] = {
      {2, "at start = a.x", "s.yaml:3:18: constraint: on its right stands an expression"},
      {2, "a.x == 1", "s.yaml:3:18: constraint: left = right, with one ="},
      {2, "a.x > 0", "constraint e: an equation is needed, not a comparison"},
      {2, "time = at start", "constraint e: it names no variable of a model"},
      {2, "2*k = 4", "constraint e: it names no variable of a model"},
      {1, "a.x = 1", "the equations do not keep the constraints"},
      {1, "a.x = 1", "they change e at a rate of 1"},
      {1, "a.x^2 = -1", "no projection onto the constraints was found at t=0 (largest residual"},
  };
  write_text("decay.c", decay_model);
  write_text(
      "s.yaml",
      "couplet: 1\nmodels: {a: {c: decay.c}}\nconstraints: {e: a.x = 1}\noutputs: {e: a.x}\n");
  CHECK_FAILS_WITH(2,
                   "s.yaml:3:15: constraint e: a variable, output or observed value has this name",
                   "run", "s.yaml");
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    char text[300];
    snprintf(text, sizeof text,
             "couplet: 1\nmodels: {a: {c: decay.c}}\nconstraints: {e: %s}\nparameters: {k: 2}\n"
             "experiment: {stop: 1}\n",
             bad[i].equation);
    write_text("s.yaml", text);
    CHECK_FAILS_WITH(bad[i].code, bad[i].message, "run", "s.yaml");
  }
}

// Start values that are not on the constraints are moved; who gave them hears of it.
static void start_values_off_the_constraints(void** state) {
  (void)state;
  write_text("decay.c", decay_model);
  write_text("s.yaml",
             "couplet: 1\nmodels: {a: {c: decay.c}, b: {c: decay.c, start: {x: 1.5}}}\n"
             "constraints: {same: a.x = b.x}\nexperiment: {stop: 1}\n");
  CHECK_CODE(0, "run", "s.yaml", "-o", "s.csv");
  CHECK_CONTAINS(complained,
                 "the states at t=0 do not meet the constraints (same is off by 0.5) and were "
                 "moved onto them: ");
  write_text("s.yaml",
             "couplet: 1\nmodels: {a: {c: decay.c}, b: {c: decay.c, start: {x: 1.00001}}}\n"
             "constraints: {same: a.x = b.x}\nexperiment: {stop: 1}\n");
  CHECK_CODE(0, "run", "s.yaml", "-o", "s.csv");
  CHECK_STR(complained, "");
}

static void standard_output_that_is_full(void** state) {
  (void)state;
  int full = open("/dev/full", O_WRONLY), err = create("stderr.txt");
  CHECK_INT(end_of(start_couplet((const char* const[]){"--help", NULL}, full, err)), 2);
  CHECK_STR(text_of("stderr.txt"),
            "couplet: standard output: cannot be written: No space left on device\n");
  close(full);
  close(err);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(help),
      cmocka_unit_test(help_fits_80_columns),
      cmocka_unit_test(verbs_of_two_words),
      cmocka_unit_test(run_lists_every_option),
      cmocka_unit_test(version),
      cmocka_unit_test(man_and_completion),
      cmocka_unit_test(no_arguments),
      cmocka_unit_test(unknown_words),
      cmocka_unit_test(misuse),
      cmocka_unit_test(mistakes_of_strangers),
      cmocka_unit_test(mistakes_in_constraints),
      cmocka_unit_test(start_values_off_the_constraints),
      cmocka_unit_test(standard_output_that_is_full),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
