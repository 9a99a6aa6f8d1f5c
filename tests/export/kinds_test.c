// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// One model is coupled alike, whatever it comes as: in C, as FMU of FMI 2.0 or 3.0, for model
// exchange or co-simulation. A thermostat with a sampler: a room with feed-through, a relay with
// hysteresis (events of its input), a sampler (events in time).
#include "examples/running.h"

static const double T = 1.3, Q = 3, D = 0.25, LOW = 0.8, HIGH = 1.9, PERIOD = 0.37, STOP = 6;

static const char room[] =
    "#include <couplet/model.h>\n"
    "static const cpl_declaration states[] = {{\"x\", .start = 0.5, .output = true}, {0}};\n"
    "static const cpl_declaration inputs[] = {{\"q\"}, {0}};\n"
    "static const cpl_declaration outputs[] = {{\"y\"}, {0}};\n"
    "static int f(const cpl_values* v, double* dx) {\n"
    "  dx[0] = (v->u[0] - v->x[0]) / 1.3;\n"
    "  return CPL_MODEL_OK;\n"
    "}\n"
    "static int g(const cpl_values* v, double* y) {\n"
    "  y[0] = v->x[0] + 0.25 * v->u[0];\n"
    "  return CPL_MODEL_OK;\n"
    "}\n"
    "const cpl_model_def couplet_model = {.name = \"room\", .states = states, .inputs = inputs,\n"
    "  .outputs = outputs, .derivatives = f, .output_values = g};\n";

static const char relay[] =
    "#include <couplet/model.h>\n"
    "static const cpl_declaration inputs[] = {{\"u\", .start = 0.5}, {0}};\n"
    "static const cpl_declaration outputs[] = {{\"q\"}, {0}};\n"
    "static const cpl_declaration discrete[] = {{\"on\", .type = CPL_BOOLEAN, .start = 1,\n"
    "  .output = true}, {0}};\n"
    "static int g(const cpl_values* v, double* y) {\n"
    "  y[0] = v->w[0] != 0 ? 3 : 0;\n"
    "  return CPL_MODEL_OK;\n"
    "}\n"
    "static int z(const cpl_values* v, double* z) {\n"
    "  z[0] = v->w[0] != 0 ? v->u[0] - 1.9 : 0.8 - v->u[0];\n"
    "  return CPL_MODEL_OK;\n"
    "}\n"
    "static int e(const cpl_values* v, cpl_event_actions* a) {\n"
    "  if (a->crossed[0] > 0) a->w[0] = v->w[0] == 0;\n"
    "  return CPL_MODEL_OK;\n"
    "}\n"
    "const cpl_model_def couplet_model = {.name = \"relay\", .inputs = inputs, .outputs = "
    "outputs,\n"
    "  .discrete = discrete, .n_indicators = 1, .output_values = g, .indicators = z, .event = "
    "e};\n";

static const char sampler[] =
    "#include <couplet/model.h>\n"
    "static const cpl_declaration inputs[] = {{\"u\"}, {0}};\n"
    "static const cpl_declaration discrete[] = {{\"s\", .output = true},\n"
    "  {\"n\", .type = CPL_INTEGER, .output = true}, {0}};\n"
    "static int i(const cpl_values* v, cpl_event_actions* a) {\n"
    "  (void)v;\n"
    "  a->next_time = 0.37;\n"
    "  return CPL_MODEL_OK;\n"
    "}\n"
    "static int e(const cpl_values* v, cpl_event_actions* a) {\n"
    "  if (!a->time_event) return CPL_MODEL_OK;\n"
    "  a->w[0] = v->u[0];\n"
    "  a->w[1] += 1;\n"
    "  a->next_time = (a->w[1] + 1) * 0.37;\n"
    "  return CPL_MODEL_OK;\n"
    "}\n"
    "const cpl_model_def couplet_model = {.name = \"sampler\", .inputs = inputs,\n"
    "  .discrete = discrete, .initialize = i, .event = e};\n";

static void put(const char* path, const char* text) {
  FILE* f = fopen(path, "w");
  assert_non_null(f);
  CHECK(fputs(text, f) >= 0);
  CHECK_INT(fclose(f), 0);
}

static int make_models(void** state) {
  static const char* const names[] = {"room", "relay", "sampler"};
  (void)state;
  put("room.c", room), put("relay.c", relay), put("sampler.c", sampler);
  for (int i = 0; i < 3; i++) {
    must_do("build -q %s.c -o %s2.fmu", names[i], names[i]);
    must_do("build -q --fmi 3 %s.c -o %s3.fmu", names[i], names[i]);
  }
  return 0;
}

// What a model comes as: a letter each for room, relay and sampler: c, 2 or 3.
static cpl_table* run_kind(cpl_context* ctx, const char* what, const char* as, const char* more,
                           bool apart) {
  static const char* const names[] = {"room", "relay", "sampler"};
  FILE* f = fopen("s.yaml", "w");
  assert_non_null(f);
  fprintf(f, "couplet: 1\nmodels:\n");
  for (int i = 0; i < 3; i++) {
    if (what[i] == 'c') fprintf(f, "  %s: {c: %s.c%s}\n", names[i], names[i], as);
    else fprintf(f, "  %s: {fmu: %s%c.fmu%s}\n", names[i], names[i], what[i], as);
  }
  fprintf(f,
          "connections: {room.q: relay.q, relay.u: room.x, sampler.u: room.y}\n%s"
          "record: [room.x, room.y, relay.q, sampler.s, sampler.n]\n"
          "experiment: {stop: %g, interval: 0.5}\n",
          more, STOP);
  CHECK_INT(fclose(f), 0);
  return run_with(ctx, apart ? "s.yaml --isolate" : "s.yaml", 1e-9);
}

static void check_same(const cpl_table* a, const cpl_table* b, double tolerance, const char* what) {
  if (a->n_rows != b->n_rows) fail_msg("%s: %d rows, not %d", what, (int)b->n_rows, (int)a->n_rows);
  for (size_t i = 0; i < a->n_rows * (size_t)a->n_columns; i++) {
    if (!(fabs(a->values[i] - b->values[i]) <= tolerance))
      fail_msg("%s: value %d: %.17g, not %.17g", what, (int)i, b->values[i], a->values[i]);
  }
}

//------------------------------------ the exact solution ------------------------------------

// The state of the room at t, with the switching times from logarithms.
static double exact(double t, double* heat) {
  double x = 0.5, q = Q, now = 0;
  for (;;) {
    double level = q > 0 ? HIGH : LOW, until = now + T * log((q - x) / (q - level));
    if (until > t) break;
    x = level, q = Q - q, now = until;
  }
  *heat = q;
  return q + (x - q) * exp(-(t - now) / T);
}

// Every row, with both sides of every event: the room against the solution, the samples against
// what it was at the ticks.
static void check_exact(const cpl_table* t) {
  const double *x = column(t, "room.x"), *y = column(t, "room.y"), *q = column(t, "relay.q");
  const double *s = column(t, "sampler.s"), *n = column(t, "sampler.n");
  int ticks = 0;
  for (size_t i = 0; i < t->n_rows; i++) {
    double heat, time = t->time[i];
    bool left = i + 1 < t->n_rows && t->time[i + 1] == time;
    CHECK_NEAR(x[i], exact(time, &heat), 1e-6);
    CHECK_NEAR(y[i], x[i] + D * q[i], 1e-9);
    double due = floor(time / PERIOD + 1e-9), last = ceil(time / PERIOD - 1e-9) - 1;
    bool tick = due > last && due > 0;
    CHECK_NEAR(n[i], tick && left ? last : due, 0);
    ticks += tick && left;
    if (n[i] == 0) continue;
    double sampled = exact(n[i] * PERIOD, &heat);
    CHECK_NEAR(s[i], sampled + D * heat, 1e-6);
  }
  CHECK_INT(ticks, (int)(STOP / PERIOD));
}

//------------------------------------ co-simulation ------------------------------------

static void steppers_of_every_kind_are_alike(void** state) {
  (void)state;
  static const char* const kinds[] = {"222", "333", "c23", "3c2", "23c"};
  cpl_context* ctx = test_context();
  const char* master = "master: {step: 0.05}\n";
  cpl_table* c = run_kind(ctx, "ccc", ", as: cs", master, false);
  check_exact(c);
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
    cpl_table* other = run_kind(ctx, kinds[i], ", as: cs", master, false);
    check_same(c, other, 1e-12, kinds[i]);  // FMUs are given step sizes, which are rounded
    cpl_table_destroy(other);
  }
  cpl_table* apart = run_kind(ctx, "232", ", as: cs", master, true);
  check_same(c, apart, 1e-12, "in processes of their own");
  cpl_table_destroy(apart);
  cpl_table_destroy(c);
  cpl_context_destroy(ctx);
}

//------------------------------------ model exchange ------------------------------------

static void models_of_every_kind_are_alike(void** state) {
  (void)state;
  static const char* const kinds[] = {"222", "333", "c23"};
  cpl_context* ctx = test_context();
  cpl_table* c = run_kind(ctx, "ccc", "", "", false);
  check_exact(c);
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
    cpl_table* other = run_kind(ctx, kinds[i], ", as: me", "", false);
    check_same(c, other, 1e-12, kinds[i]);
    cpl_table_destroy(other);
  }
  cpl_table_destroy(c);
  cpl_context_destroy(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(steppers_of_every_kind_are_alike),
                                     cmocka_unit_test(models_of_every_kind_are_alike)};
  return cmocka_run_group_tests(tests, make_models, NULL);
}
