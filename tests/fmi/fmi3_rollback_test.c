// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// An FMI 3.0 FMU with clocks of every kind (probe3_fmu.c) in masters that repeat steps: with a
// tolerance, to locate a condition of another model, in loops. Ticks of steps that were taken back
// count once; their numbers and times follow from the intervals. The same FMU without
// canGetAndSetFMUState runs in the same masters: its ticks and states are right, and what cannot be
// located or repeated is said.
#include "examples/running.h"

static const char swing[] =
    "#include <couplet/model.h>\n"
    "static const cpl_declaration states[] = {{\"x\", .start = 1, .output = true}, {\"v\"}, {0}};\n"
    "static const cpl_declaration inputs[] = {{\"u\"}, {0}};\n"
    "static int f(const cpl_values* v, double* dx) {\n"
    "  dx[0] = v->x[1];\n  dx[1] = -25 * v->x[0] + 0 * v->u[0];\n  return 0;\n}\n"
    "const cpl_model_def couplet_model = {.name = \"swing\", .states = states, .inputs = inputs, "
    ".derivatives = f};\n";

static const char mark[] =
    "#include <couplet/model.h>\n"
    "static const cpl_declaration states[] = {{\"y\", .output = true}, {0}};\n"
    "static const cpl_declaration inputs[] = {{\"u\"}, {0}};\n"
    "static const cpl_declaration discrete[] = {{\"when\", .start = -1, .output = true}, {0}};\n"
    "static int f(const cpl_values* v, double* dx) {\n  dx[0] = v->u[0];\n  return 0;\n}\n"
    "static int z(const cpl_values* v, double* z) {\n  z[0] = v->u[0] + 0.3;\n  return 0;\n}\n"
    "static int e(const cpl_values* v, cpl_event_actions* a) {\n"
    "  if (a->crossed[0] < 0 && v->w[0] < 0) a->w[0] = v->t;\n  return 0;\n}\n"
    "const cpl_model_def couplet_model = {.name = \"mark\", .states = states, .inputs = inputs, "
    ".discrete = discrete, .n_indicators = 1, .derivatives = f, .indicators = z, .event = e};\n";

static const struct {
  const char* name;
  int ticks;
  double last;
} expected[] = {
    {"constant", 10, 0.95},   // 0.05, 0.15, ...
    {"fixed", 5, 0.9},        // 0.1, 0.3, ...
    {"calculated", 5, 1},     // 0, 0.25, ...
    {"tunable", 6, 1},        // 0, 0.2, ...
    {"changing", 4, 1},       // 0.1, 0.3, 0.6, 1
    {"countdown", 10, 0.98},  // 0.03 after each tick of `constant`
};

static const char* const algorithms[] = {"determinate", "jacobi", "gauss-seidel", "iterative"};

static void put(const char* path, const char* text) {
  FILE* f = fopen(path, "w");
  assert_non_null(f);
  CHECK(fputs(text, f) >= 0);
  CHECK_INT(fclose(f), 0);
}

// The FMU as a folder, and a copy that cannot save its state.
static int make_files(void** state) {
  char command[9000];
  put("swing.c", swing);
  put("mark.c", mark);
  snprintf(command, sizeof command,
           "rm -rf saves forgets && cp -r '%s3' saves && cp -r '%s3' forgets && "
           "sed -i 's/canGetAndSetFMUState=\"true\"//' forgets/modelDescription.xml",
           getenv("COUPLET_PROBE"), getenv("COUPLET_PROBE"));
  CHECK_INT(system(command), 0);
  return make_context(state);
}

// The alarm of a, every second tick of `fixed`, triggers b: at 0.3 and at 0.7.
static void write_system(const char* fmu, const char* algorithm, const char* more) {
  char text[1200];
  snprintf(text, sizeof text,
           "couplet: 1\nexperiment: {stop: 1, interval: 0.5, rtol: 1e-8}\n"
           "models:\n  a: {fmu: %s, as: cs}\n  b: {fmu: %s, as: cs}\n"
           "  q: {c: swing.c, as: cs}\n  k: {c: mark.c, as: cs}\n"
           "connections:\n  q.u: k.y\n  k.u: q.x\n  a.u[1]: q.x\n  b.trigger: a.alarm\n"
           "master: {algorithm: %s, order: 1, step: 0.2%s}\n",
           fmu, fmu, algorithm, more);
  put("s.yaml", text);
}

static double last(const cpl_table* t, const char* model, const char* kind, const char* name) {
  char full[60];
  snprintf(full, sizeof full, "%s.%s%s", model, kind, name);
  return column(t, full)[t->n_rows - 1];
}

static void check_ticks(const cpl_table* t, const char* model) {
  for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
    CHECK_NEAR(last(t, model, "n_", expected[i].name), expected[i].ticks, 0);
    CHECK_NEAR(last(t, model, "t_", expected[i].name), expected[i].last, 1e-12);
  }
  CHECK_NEAR(last(t, model, "", "x[1]"), cos(2), 1e-9);
}

static int rolled_back(const char* model) {
  size_t size;
  char *text = read_all("out.txt", &size), line[20];
  snprintf(line, sizeof line, "  %s: ", model);
  const char* at = strstr(text, line);
  assert_non_null(at);
  const char* end = strstr(at, " rolled back");
  assert_non_null(end);
  while (end[-1] != ' ') end--;
  int n = atoi(end);
  free(text);
  return n;
}

static cpl_table* run_it(cpl_context* ctx) {
  must_do("run s.yaml -o out.csv --stats");
  cpl_table* t = read_table(ctx, "out.csv");
  check_ticks(t, "a");
  check_ticks(t, "b");
  CHECK_NEAR(last(t, "a", "n_", "trigger"), 0, 0);
  CHECK_NEAR(last(t, "b", "n_", "trigger"), 2, 0);
  CHECK_NEAR(last(t, "b", "t_", "trigger"), 0.7, 1e-12);
  return t;
}

// cos 5t falls to -0.3
static double crossing(void) { return acos(-0.3) / 5; }

static void ticks_of_repeated_steps_count_once(void** state) {
  for (size_t i = 0; i < 4; i++) {
    write_system("saves", algorithms[i], ", tolerance: 1e-3");
    cpl_table* t = run_it(*state);
    CHECK(rolled_back("a") > 5);
    CHECK(rolled_back("b") > 5);
    CHECK_NEAR(last(t, "q", "", "x"), cos(5), 1e-6);
    CHECK_NEAR(last(t, "k", "", "y"), sin(5) / 5, 3e-3);
    CHECK_NEAR(last(t, "k", "", "when"), crossing(), 3e-3);
    cpl_table_destroy(t);
  }
}

static void ticks_of_steps_that_locate_a_condition_count_once(void** state) {
  int n = 0;
  for (size_t i = 0; i < 4; i++) {
    write_system("saves", algorithms[i], "");
    cpl_table* t = run_it(*state);
    n += rolled_back("a");
    CHECK_NEAR(last(t, "q", "", "x"), cos(5), 1e-6);
    CHECK_NEAR(last(t, "k", "", "when"), crossing(), 0.01);
    cpl_table_destroy(t);
  }
  CHECK(n > 5);  // at least in loops
}

static void an_fmu_without_a_state_to_save(void** state) {
  for (size_t i = 0; i < 8; i++) {
    bool controlled = i % 2 == 0;
    write_system("forgets", algorithms[i / 2], controlled ? ", tolerance: 1e-3" : "");
    cpl_table* t = run_it(*state);
    CHECK_INT(rolled_back("a"), 0);
    CHECK_INT(rolled_back("b"), 0);
    if (controlled) check_message("cannot be rolled back");
    CHECK_NEAR(last(t, "q", "", "x"), cos(5), 1e-6);
    CHECK_NEAR(last(t, "k", "", "y"), sin(5) / 5, 0.02);
    CHECK_NEAR(last(t, "k", "", "when"), crossing(), 0.05);  // within a communication step
    cpl_table_destroy(t);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(ticks_of_repeated_steps_count_once),
      cmocka_unit_test(ticks_of_steps_that_locate_a_condition_count_once),
      cmocka_unit_test(an_fmu_without_a_state_to_save),
  };
  return cmocka_run_group_tests(tests, make_files, drop_context);
}
