// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// --no-run: nothing of a model is executed, and what is wrong without that is found.
#include "command.h"

// It leaves a file where it is as much as loaded.
static const char telling_model[] =
    MODEL("telling",
          "#include <stdio.h>\n"
          "__attribute__((constructor)) static void now(void) {\n"
          "  FILE* f = fopen(\"loaded\", \"w\");\n"
          "  if (f) fclose(f);\n"
          "}\n"
          "static const cpl_declaration x[] = {{.name = \"x\", .start = 1}, {0}};\n"
          "static int f(const cpl_values* v, double* dx) {\n"
          "  dx[0] = -v->x[0];\n"
          "  return 0;\n"
          "}",
          ".states = x, .derivatives = f");

static int set_up(void** state) {
  (void)state;
  write_text("telling.c", telling_model);
  CHECK_CODE(0, "build", "-q", "telling.c");
  write_text("both.yaml",
             "couplet: 1\nmodels:\n  a: {c: telling.c}\n  b: {fmu: telling.fmu}\n"
             "inputs: {w: {start: 0}}\noutputs: {z: a.x + b.x}\n");
  write_text("fmus.yaml",
             "couplet: 1\nmodels:\n  b: {fmu: telling.fmu}\n  n: {system: both.yaml}\n");
  return 0;
}

static bool was_loaded(void) { return unlink("loaded") == 0; }

static void nothing_is_executed(void** state) {
  (void)state;
  static const char* const verbs[] = {"info", "check", "graph"};
  static const char* const files[] = {"telling.c", "both.yaml", "fmus.yaml"};
  for (int i = 0; i < 3; i++) {
    for (int k = 0; k < 3; k++) {
      was_loaded();
      CHECK_CODE(0, verbs[i], files[k], "--no-run");
      CHECK(printed[0] != '\0');
      CHECK(!was_loaded());
      CHECK_CODE(0, verbs[i], files[k]);
      CHECK(was_loaded());  // this test can fail
    }
  }
  CHECK_CODE(0, "info", "telling.fmu", "--no-run");
  CHECK_CODE(0, "check", "telling.fmu", "--no-run");
  CHECK_FAILS_WITH(2, "couplet info reads its description", "graph", "telling.fmu", "--no-run");
  CHECK(!was_loaded());
}

static void models_and_connections_are_listed(void** state) {
  (void)state;
  write_text("decay.c", decay_model);
  write_text("list.yaml",
             "couplet: 1\nmodels: {p: {c: decay.c}, q: {c: decay.c}}\n"
             "connections: {p.u: -q.y, q.u: 0.5*p.x}\n");
  CHECK_CODE(0, "graph", "list.yaml", "--no-run");
  CHECK_CONTAINS(printed, "\nModels\n  p  C  decay.c\n  q  C  decay.c\n");
  CHECK_CONTAINS(printed, "\nConnections\n  p.u = -q.y\n  q.u = 0.5*p.x\n");
  CHECK_CODE(0, "info", "list.yaml", "--no-run", "--json");
  CHECK_CONTAINS(printed, "{\"to\": \"q.u\", \"from\": \"0.5*p.x\"}");
  CHECK_FAILS_WITH(2, "--no-run lists models", "graph", "list.yaml", "--no-run", "--dot");
  CHECK_FAILS_WITH(2, "--rollback runs the model", "check", "list.yaml", "--no-run", "--rollback");
}

static void mistakes_are_found(void** state) {
  (void)state;
  write_text("wrong.c", "int f( {\n");
  write_text("wrong.yaml", "couplet: 1\nmodels: {p: {c: wrong.c}}\n");
  write_text("missing.yaml", "couplet: 1\nmodels: {p: {fmu: none.fmu}}\n");
  write_text("inner.yaml", "couplet: 1\nmodels: {p: {system: missing.yaml}}\n");
  write_text("itself.yaml", "couplet: 1\nmodels: {p: {system: itself.yaml}}\n");
  write_text("key.yaml", "couplet: 1\nmodel: {}\n");
  CHECK_CODE(2, "check", "wrong.c", "--no-run");
  CHECK_CONTAINS(printed, "wrong.c:1:8: error: ");
  CHECK_CODE(2, "check", "wrong.yaml", "--no-run");
  CHECK_CONTAINS(printed, "model p: ");
  CHECK_CODE(2, "check", "missing.yaml", "--no-run");
  CHECK_CONTAINS(printed, "none.fmu");
  CHECK_CODE(2, "check", "inner.yaml", "--no-run");
  CHECK_CONTAINS(printed, "none.fmu");
  CHECK_CODE(2, "check", "itself.yaml", "--no-run");
  CHECK_CODE(2, "check", "key.yaml", "--no-run");
  CHECK_CODE(2, "info", "wrong.c", "--no-run");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(nothing_is_executed),
      cmocka_unit_test(models_and_connections_are_listed),
      cmocka_unit_test(mistakes_are_found),
  };
  return cmocka_run_group_tests(tests, set_up, NULL);
}
