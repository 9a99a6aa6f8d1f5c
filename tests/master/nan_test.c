// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A value that becomes NaN at an event and stays so is one change: who takes it is updated once,
// and the event settles.
#include "examples/running.h"

// d, and y = d: NaN from t = 0.4 on
static const char source[] =
    "#include <couplet/model.h>\n#include <math.h>\n"
    "static const cpl_declaration outputs[] = {{\"y\"}, {0}};\n"
    "static const cpl_declaration discrete[] = {{\"d\", .start = 2, .output = true}, {0}};\n"
    "static int g(const cpl_values* v, double* y) {\n  y[0] = v->w[0];\n  return 0;\n}\n"
    "static int init(const cpl_values* v, cpl_event_actions* a) {\n"
    "  (void)v;\n  a->next_time = 0.4;\n  return 0;\n}\n"
    "static int e(const cpl_values* v, cpl_event_actions* a) {\n"
    "  (void)v;\n  if (a->time_event) a->w[0] = NAN;\n  return 0;\n}\n"
    "const cpl_model_def couplet_model = {.name = \"source\", .outputs = outputs, "
    ".discrete = discrete, .initialize = init, .output_values = g, .event = e};\n";

// x' = 3; n counts changes of u, and updates are all its events
static const char sink[] =
    "#include <couplet/model.h>\n"
    "static const cpl_declaration states[] = {{\"x\", .output = true}, {0}};\n"
    "static const cpl_declaration inputs[] = {{\"u\"%s}, {0}};\n"
    "static const cpl_declaration discrete[] = {{\"updates\", .output = true}, {0}};\n"
    "static int f(const cpl_values* v, double* dx) {\n  (void)v;\n  dx[0] = 3;\n  return 0;\n}\n"
    "static int e(const cpl_values* v, cpl_event_actions* a) {\n"
    "  a->w[0] = v->w[0] + 1;\n  return 0;\n}\n"
    "const cpl_model_def couplet_model = {.name = \"sink\", .states = states, .inputs = inputs, "
    ".discrete = discrete, .derivatives = f, .event = e};\n";

static void put(const char* path, const char* text, const char* detail) {
  FILE* f = fopen(path, "w");
  assert_non_null(f);
  fprintf(f, text, detail);
  CHECK_INT(fclose(f), 0);
}

static int make_files(void** state) {
  FILE* f = fopen("source.c", "w");
  assert_non_null(f);
  fputs(source, f);
  fclose(f);
  put("discrete.c", sink, ", .discrete = true");
  put("smooth.c", sink, "");
  return make_context(state);
}

// algorithm NULL: one aggregate
static void check_run(cpl_context* ctx, const char* sink_file, const char* value,
                      const char* algorithm) {
  char text[1000], master[100] = "";
  const char* as = algorithm != NULL ? ", as: cs" : "";
  if (algorithm != NULL)
    snprintf(master, sizeof master, "master: {algorithm: %s, step: 0.05}\n", algorithm);
  snprintf(text, sizeof text,
           "couplet: 1\nexperiment: {stop: 1, interval: 0.25}\n"
           "models: {a: {c: source.c%s}, b: {c: %s%s}}\nconnections: {b.u: %s}\n%s",
           as, sink_file, as, value, master);
  put("s.yaml", "%s", text);
  must_do("run s.yaml -o out.csv");
  cpl_table* t = read_table(ctx, "out.csv");
  size_t last = t->n_rows - 1;
  CHECK(isnan(column(t, "a.d")[last]));
  CHECK_NEAR(column(t, "b.x")[last], 3, 1e-9);
  CHECK(column(t, "b.updates")[last] >= 1);
  CHECK(column(t, "b.updates")[last] <= 4);  // not one in each of the 12 steps that follow
  cpl_table_destroy(t);
}

static void a_value_that_stays_nan_settles(void** state) {
  static const char* const algorithms[] = {"determinate", "gauss-seidel", "iterative", NULL};
  for (size_t i = 0; i < 4; i++) {
    check_run(*state, "discrete.c", "a.d", algorithms[i]);
    check_run(*state, "smooth.c", "a.d", algorithms[i]);
    check_run(*state, "smooth.c", "a.y", algorithms[i]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_value_that_stays_nan_settles)};
  return cmocka_run_group_tests(tests, make_files, drop_context);
}
