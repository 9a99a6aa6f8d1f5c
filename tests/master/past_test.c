// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Extrapolation of inputs across events. An event of one part does not affect the outputs of
// others: those are extrapolated from their values before it. A part with an event of its own, and
// one whose inputs have a kink there, begin anew.
#include "examples/running.h"

// x' = u - x, with an event of no effect at every `every`
static const char ticking[] =
    "#include <couplet/model.h>\n"
    "static const cpl_declaration states[] = {{\"x\", .start = 0.4, .output = true}, {0}};\n"
    "static const cpl_declaration inputs[] = {{\"u\"}, {0}};\n"
    "static const cpl_declaration parameters[] = {{\"every\", .start = 1}, {0}};\n"
    "static const cpl_declaration discrete[] = {{\"n\"}, {0}};\n"
    "static int f(const cpl_values* v, double* dx) {\n"
    "  dx[0] = v->u[0] - v->x[0];\n  return 0;\n}\n"
    "static int i(const cpl_values* v, cpl_event_actions* a) {\n"
    "  a->next_time = v->p[0];\n  return 0;\n}\n"
    "static int e(const cpl_values* v, cpl_event_actions* a) {\n"
    "  if (!a->time_event) return 0;\n"
    "  a->w[0] = v->w[0] + 1;\n  a->next_time = (v->w[0] + 2) * v->p[0];\n  return 0;\n}\n"
    "const cpl_model_def couplet_model = {.name = \"ticking\", .states = states, .inputs = inputs, "
    ".parameters = parameters, .discrete = discrete, .derivatives = f, .initialize = i, "
    ".event = e};\n";

// s = 1.5 sin(2 t), c = 1.5 cos(2 t)
static const char wave[] =
    "#include <couplet/model.h>\n"
    "static const cpl_declaration states[] = {{\"s\"}, "
    "{\"c\", .start = 1.5, .output = true}, {0}};\n"
    "static int f(const cpl_values* v, double* dx) {\n"
    "  dx[0] = 2 * v->x[1], dx[1] = -2 * v->x[0];\n  return 0;\n}\n"
    "const cpl_model_def couplet_model = {.name = \"wave\", .states = states, .derivatives = f};\n";

// A line of slope 3, and of slope -3 from `turn` on.
static const char roof[] =
    "#include <couplet/model.h>\n"
    "static const cpl_declaration states[] = {{\"y\", .output = true}, {0}};\n"
    "static const cpl_declaration parameters[] = {{\"turn\", .start = 1}, {0}};\n"
    "static const cpl_declaration discrete[] = {{\"way\", .start = 1}, {0}};\n"
    "static int f(const cpl_values* v, double* dx) {\n"
    "  dx[0] = 3 * v->w[0];\n  return 0;\n}\n"
    "static int i(const cpl_values* v, cpl_event_actions* a) {\n"
    "  a->next_time = v->p[0];\n  return 0;\n}\n"
    "static int e(const cpl_values* v, cpl_event_actions* a) {\n"
    "  (void)v;\n  if (a->time_event) a->w[0] = -1;\n  return 0;\n}\n"
    "const cpl_model_def couplet_model = {.name = \"roof\", .states = states, "
    ".parameters = parameters, .discrete = discrete, .derivatives = f, .initialize = i, "
    ".event = e};\n";

// y = 2 u at once
static const char gain[] =
    "#include <couplet/model.h>\n"
    "static const cpl_declaration inputs[] = {{\"u\"}, {0}};\n"
    "static const cpl_declaration outputs[] = {{\"y\"}, {0}};\n"
    "static int g(const cpl_values* v, double* y) {\n  y[0] = 2 * v->u[0];\n  return 0;\n}\n"
    "const cpl_model_def couplet_model = {.name = \"gain\", .inputs = inputs, "
    ".outputs = outputs, .output_values = g};\n";

// x' = u
static const char sum[] =
    "#include <couplet/model.h>\n"
    "static const cpl_declaration states[] = {{\"x\", .output = true}, {0}};\n"
    "static const cpl_declaration inputs[] = {{\"u\"}, {0}};\n"
    "static int f(const cpl_values* v, double* dx) {\n  dx[0] = v->u[0];\n  return 0;\n}\n"
    "const cpl_model_def couplet_model = {.name = \"sum\", .states = states, .inputs = inputs, "
    ".derivatives = f};\n";

// x' = 0.7; counts how often u + x rises above 0.2 and falls below it.
static const char counter[] =
    "#include <couplet/model.h>\n"
    "static const cpl_declaration states[] = {{\"x\", .output = true}, {0}};\n"
    "static const cpl_declaration inputs[] = {{\"u\"}, {0}};\n"
    "static const cpl_declaration discrete[] = {{\"up\", .output = true}, "
    "{\"down\", .output = true}, {0}};\n"
    "static int f(const cpl_values* v, double* dx) {\n"
    "  (void)v;\n  dx[0] = 0.7;\n  return 0;\n}\n"
    "static int z(const cpl_values* v, double* z) {\n"
    "  z[0] = v->u[0] + v->x[0] - 0.2;\n  return 0;\n}\n"
    "static int e(const cpl_values* v, cpl_event_actions* a) {\n"
    "  if (a->crossed[0] > 0) a->w[0] = v->w[0] + 1;\n"
    "  if (a->crossed[0] < 0) a->w[1] = v->w[1] + 1;\n  return 0;\n}\n"
    "const cpl_model_def couplet_model = {.name = \"counter\", .states = states, "
    ".inputs = inputs, .discrete = discrete, .n_indicators = 1, .derivatives = f, "
    ".indicators = z, .event = e};\n";

static void put(const char* path, const char* text) {
  FILE* f = fopen(path, "w");
  assert_non_null(f);
  CHECK(fputs(text, f) >= 0);
  CHECK_INT(fclose(f), 0);
}

static int make_files(void** state) {
  put("ticking.c", ticking), put("wave.c", wave), put("roof.c", roof), put("gain.c", gain);
  put("sum.c", sum), put("counter.c", counter);
  return make_context(state);
}

static double at_end(cpl_context* ctx, const char* solver, const char* name) {
  char command[200];
  snprintf(command, sizeof command, "run s.yaml -o out.csv --stats --solver %s", solver);
  must_do("%s", command);
  cpl_table* t = read_table(ctx, "out.csv");
  double value = column(t, name)[t->n_rows - 1];
  cpl_table_destroy(t);
  return value;
}

// x' = 1.5 cos(2 t) - x
static double exact(double t) {
  return 0.6 * sin(2 * t) + 0.3 * cos(2 * t) + (0.4 - 0.3) * exp(-t);
}

// Some of the events are shortly after a communication point. The wave begins level, because the
// first step has no past.
static void inputs_keep_their_order(void** state) {
  for (double h = 0.05; h > 0.006; h /= 2) {
    char text[1000];
    snprintf(text, sizeof text,
             "couplet: 1\nexperiment: {stop: 2.5, interval: 2.5, rtol: 1e-11}\n"
             "models: {a: {c: ticking.c, as: cs, start: {every: 0.1531}}, "
             "w: {c: wave.c, as: cs}}\n"
             "connections: {a.u: w.c}\nmaster: {algorithm: determinate, order: 2, step: %.17g}\n",
             h);
    put("s.yaml", text);
    CHECK_NEAR(at_end(*state, "cvode", "a.x"), exact(2.5), 3.2 * h * h * h);
  }
}

// The turn passes through the gain. In the step after it the input is constant, 2 * 3 * h * h / 2
// too high in the end; the line before it would be wrong by twice as much.
static void a_kink_begins_anew(void** state) {
  static const double h = 0.05;
  char text[1000];
  snprintf(text, sizeof text,
           "couplet: 1\nexperiment: {stop: 1, interval: 1, rtol: 1e-11}\n"
           "models: {r: {c: roof.c, as: cs, start: {turn: 0.6}}, g: {c: gain.c, as: cs}, "
           "s: {c: sum.c, as: cs}}\n"
           "connections: {g.u: r.y, s.u: g.y}\n"
           "master: {algorithm: determinate, order: 1, step: %.17g}\n",
           h);
  put("s.yaml", text);
  double right = 2 * (3 * 0.6 * 0.6 / 2 + 3 * 0.6 * 0.4 - 3 * 0.4 * 0.4 / 2);
  // the first step begins without a past, too: as much too low
  CHECK_NEAR(at_end(*state, "cvode", "s.x") - right, 0, 0.1 * 3 * h * h);
}

// u = 1 - t, so that u + x = 1 - 0.3 t falls through 0.2 at t = 8/3. With a constant u it would
// rise.
static void a_condition_does_not_change_back(void** state) {
  static const char* const solvers[] = {"cvode", "adams", "dopri5", "radau"};
  for (size_t i = 0; i < 4; i++) {
    size_t size;
    put("s.yaml",
        "couplet: 1\nexperiment: {stop: 4, interval: 4, rtol: 1e-7}\n"
        "models: {k: {c: counter.c, as: cs}, s: {c: sum.c, as: cs, start: {x: 1, u: -1}}}\n"
        "connections: {k.u: s.x}\nmaster: {algorithm: determinate, order: 1, step: 0.1}\n");
    CHECK_NEAR(at_end(*state, solvers[i], "k.down"), 1, 0);
    CHECK_NEAR(at_end(*state, solvers[i], "k.up"), 0, 0);
    char* text = read_all("out.txt", &size);
    const char* at = strstr(text, "communication steps");
    assert_non_null(at);
    CHECK(atoi(at + strlen("communication steps")) < 45);
    free(text);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(inputs_keep_their_order),
      cmocka_unit_test(a_kink_begins_anew),
      cmocka_unit_test(a_condition_does_not_change_back),
  };
  return cmocka_run_group_tests(tests, make_files, drop_context);
}
