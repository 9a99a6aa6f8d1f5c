// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The call log of a system, and the names of what is inside of one.
#include "examples/running.h"

static void put(const char* path, const char* text) {
  FILE* f = fopen(path, "w");
  assert_non_null(f);
  CHECK(fputs(text, f) >= 0);
  CHECK_INT(fclose(f), 0);
}

static int make_files(void** state) {
  (void)state;
  put("lag.c",
      "#include <couplet/model.h>\n"
      "static const cpl_declaration states[] = {{\"x\", .output = true}, {0}};\n"
      "static const cpl_declaration inputs[] = {{\"u\"}, {0}};\n"
      "static int f(const cpl_values* v, double* dx) {\n"
      "  dx[0] = v->u[0] - v->x[0];\n"
      "  return CPL_MODEL_OK;\n"
      "}\n"
      "const cpl_model_def couplet_model = {.name = \"lag\", .states = states,\n"
      "  .inputs = inputs, .derivatives = f};\n");
  put("inner.yaml",
      "couplet: 1\nmodels: {a: {fmu: lag.fmu, as: cs}, b: {c: lag.c}}\n"
      "connections: {a.u: b.x, b.u: 1}\nmaster: {step: 0.05}\noutputs: {y: a.x}\n");
  put("outer.yaml",
      "couplet: 1\nmodels:\n  left: {system: inner.yaml}\n  right: {system: inner.yaml}\n"
      "  last: {fmu: lag.fmu, as: cs}\nconnections: {last.u: \"left.y + right.y\"}\n"
      "master: {step: 0.1, threads: 3}\nexperiment: {stop: 1}\n");
  put("plain.yaml", "couplet: 1\nmodels: {b: {c: lag.c}}\nexperiment: {stop: 1}\n");
  must_do("build -q lag.c -o lag.fmu");
  return 0;
}

typedef struct seen {
  int steps[3], lines, other;
} seen;

// Every line is one call of one instance, whole from its time to its status.
static seen read_log(const char* path) {
  static const char* const names[] = {"last", "left.a", "right.a"};
  seen s = {0};
  char line[4096], name[64], call[64];
  FILE* f = fopen(path, "r");
  assert_non_null(f);
  while (fgets(line, sizeof line, f) != NULL) {
    s.lines++;
    CHECK(sscanf(line, "%*s %63s %63[^(]", name, call) == 2);
    CHECK_CONTAINS(line, ") -> fmi2OK");
    CHECK(strstr(strstr(line, " -> ") + 1, " -> ") == NULL);
    int k = 0;
    while (k < 3 && strcmp(name, names[k]) != 0) k++;
    if (k == 3) s.other++;
    else s.steps[k] += strcmp(call, "fmi2DoStep") == 0;
  }
  fclose(f);
  return s;
}

static void every_fmu_of_a_system_is_recorded(void** state) {
  (void)state;
  static const char* const more[] = {"", "--isolate"};
  for (int i = 0; i < 2; i++) {
    must_do("run outer.yaml --call-log calls.txt %s", more[i]);
    seen s = read_log("calls.txt");
    CHECK_INT(s.other, 0);
    CHECK_INT(s.steps[0], 10);
    CHECK_INT(s.steps[1], 20);
    CHECK_INT(s.steps[2], 20);
  }
  CHECK_INT(couplet("run plain.yaml --call-log calls.txt"), 2);
  check_message("plain.yaml: it contains no FMU, and only the calls of FMUs can be recorded");
  CHECK_INT(couplet("run outer.yaml --call-log no/calls.txt"), 2);
  check_message("no/calls.txt: cannot be written");
}

static void groups_have_names_of_their_own(void** state) {
  (void)state;
  size_t n;
  must_do("run outer.yaml --stats");
  char* text = read_all("out.txt", &n);
  CHECK_CONTAINS(text, "\n  system.expressions: ");
  CHECK_CONTAINS(text, "\n    left.models: ");
  CHECK_CONTAINS(text, "\n    right.models: ");
  CHECK_CONTAINS(text, "\n  time in master ");
  free(text);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_fmu_of_a_system_is_recorded),
                                     cmocka_unit_test(groups_have_names_of_their_own)};
  return cmocka_run_group_tests(tests, make_files, NULL);
}
