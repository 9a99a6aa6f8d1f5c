// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Inputs that are polynomials over a communication step, of every order: a model takes them alike
// in C, as FMU of FMI 2.0 and of FMI 3.0, finds the same events inside of steps, and its inputs are
// recorded as they are at the time of a row.
#include "examples/running.h"

static const double STOP = 3, LEVEL = 0.4;

static const char wave[] =
    "#include <couplet/model.h>\n"
    "static const cpl_declaration states[] = {{\"c\", .start = 1, .output = true},\n"
    "  {\"s\", .output = true}, {0}};\n"
    "static int f(const cpl_values* v, double* dx) {\n"
    "  dx[0] = -2 * v->x[1];\n"
    "  dx[1] = 2 * v->x[0];\n"
    "  return CPL_MODEL_OK;\n"
    "}\n"
    "const cpl_model_def couplet_model = {.name = \"wave\", .states = states, .derivatives = f};\n";

// An array as the input; the time when its second element last crossed a level.
static const char meter[] =
    "#include <couplet/model.h>\n"
    "static const cpl_declaration states[] = {{\"x\", .output = true}, {0}};\n"
    "static const cpl_declaration inputs[] = {{\"u\", .size = 2}, {0}};\n"
    "static const cpl_declaration discrete[] = {{\"n\", .type = CPL_INTEGER, .output = true},\n"
    "  {\"at\", .output = true}, {0}};\n"
    "static int f(const cpl_values* v, double* dx) {\n"
    "  dx[0] = v->u[0] + 3 * v->u[1] - v->x[0];\n"
    "  return CPL_MODEL_OK;\n"
    "}\n"
    "static int z(const cpl_values* v, double* z) {\n"
    "  z[0] = v->u[1] - 0.4;\n"
    "  return CPL_MODEL_OK;\n"
    "}\n"
    "static int e(const cpl_values* v, cpl_event_actions* a) {\n"
    "  if (a->crossed[0] != 0) a->w[0] += 1, a->w[1] = v->t;\n"
    "  return CPL_MODEL_OK;\n"
    "}\n"
    "const cpl_model_def couplet_model = {.name = \"meter\", .states = states, .inputs = inputs,\n"
    "  .discrete = discrete, .n_indicators = 1, .derivatives = f, .indicators = z, .event = e};\n";

// Friction that turns with the velocity: just behind its event the indicator, which is zero there,
// changes its side again, so that a step stops where it began.
static const char slider[] =
    "#include <couplet/model.h>\n"
    "static const cpl_declaration states[] = {{\"v\", .start = 0.5, .output = true}, {0}};\n"
    "static const cpl_declaration inputs[] = {{\"u\"}, {0}};\n"
    "static const cpl_declaration discrete[] = {{\"way\", .start = 1, .output = true}, {0}};\n"
    "static int f(const cpl_values* v, double* dx) {\n"
    "  dx[0] = -v->u[0] - 0.2 * v->w[0];\n"
    "  return CPL_MODEL_OK;\n"
    "}\n"
    "static int z(const cpl_values* v, double* z) {\n"
    "  z[0] = v->w[0] * v->x[0];\n"
    "  return CPL_MODEL_OK;\n"
    "}\n"
    "static int e(const cpl_values* v, cpl_event_actions* a) {\n"
    "  if (a->crossed[0] < 0) a->w[0] = -v->w[0], a->x[0] = 0;\n"
    "  return CPL_MODEL_OK;\n"
    "}\n"
    "const cpl_model_def couplet_model = {.name = \"slider\", .states = states, .inputs = inputs,\n"
    "  .discrete = discrete, .n_indicators = 1, .derivatives = f, .indicators = z, .event = e};\n";

static void put(const char* path, const char* text) {
  FILE* f = fopen(path, "w");
  assert_non_null(f);
  CHECK(fputs(text, f) >= 0);
  CHECK_INT(fclose(f), 0);
}

static int make_models(void** state) {
  (void)state;
  put("wave.c", wave), put("meter.c", meter), put("slider.c", slider);
  must_do("build -q slider.c -o slider2.fmu");
  must_do("build -q --fmi 3 slider.c -o slider3.fmu");
  must_do("build -q meter.c -o meter2.fmu");
  must_do("build -q --fmi 3 meter.c -o meter3.fmu");
  return 0;
}

static cpl_table* run_order(cpl_context* ctx, const char* what, const char* algorithm, int order) {
  FILE* f = fopen("s.yaml", "w");
  assert_non_null(f);
  fprintf(f,
          "couplet: 1\n"
          "models: {wave: {c: wave.c, as: cs}, meter: {%s, as: cs}}\n"
          "connections: {'meter.u[1]': wave.c, 'meter.u[2]': wave.s}\n"
          "record: [meter.x, meter.at, meter.n, 'meter.u[1]', 'meter.u[2]']\n"
          "experiment: {stop: %g, interval: 0.3}\n"
          "master: {step: 0.1, algorithm: %s, order: %d}\n",
          what, STOP, algorithm, order);
  CHECK_INT(fclose(f), 0);
  return run_with(ctx, "s.yaml", 1e-9);
}

static void check_same(const cpl_table* a, const cpl_table* b, const char* what, int order) {
  CHECK_INT(b->n_rows, a->n_rows);
  for (size_t i = 0; i < a->n_rows * (size_t)a->n_columns; i++) {
    if (!(fabs(a->values[i] - b->values[i]) <= 1e-12))
      fail_msg("%s, order %d: value %d: %.17g, not %.17g", what, order, (int)i, b->values[i],
               a->values[i]);
  }
}

// x' = cos 2t + 3 sin 2t - x; the level is crossed upwards and downwards.
static void check_exact(const cpl_table* t, int order) {
  static const double errors[] = {0.2, 0.02, 0.002};
  const double *x = column(t, "meter.x"), *at = column(t, "meter.at"), *n = column(t, "meter.n");
  const double *u = column(t, "meter.u[1]"), *v = column(t, "meter.u[2]");
  double up = asin(LEVEL) / 2, down = (acos(-1) - asin(LEVEL)) / 2;
  for (size_t i = 0; i < t->n_rows; i++) {
    double s = t->time[i];
    CHECK_NEAR(x[i], sin(2 * s) - cos(2 * s) + exp(-s), errors[order]);
    CHECK_NEAR(u[i], cos(2 * s), 1e-8);
    CHECK_NEAR(v[i], sin(2 * s), 1e-8);
    if (n[i] > 0) CHECK_NEAR(at[i], n[i] == 1 ? up : down, 1e-8);
  }
  CHECK_NEAR(n[t->n_rows - 1], 2, 0);
}

static void every_kind_takes_every_order(void** state) {
  (void)state;
  static const char* const algorithms[] = {"gauss-seidel", "jacobi"};
  static const char* const kinds[] = {"fmu: meter2.fmu", "fmu: meter3.fmu",
                                      "fmu: meter3.fmu, isolate: true"};
  cpl_context* ctx = test_context();
  for (int a = 0; a < 2; a++) {
    for (int order = 0; order < 3; order++) {
      cpl_table* c = run_order(ctx, "c: meter.c", algorithms[a], order);
      if (a == 0) check_exact(c, order);
      for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        cpl_table* other = run_order(ctx, kinds[i], algorithms[a], order);
        check_same(c, other, kinds[i], order);
        cpl_table_destroy(other);
      }
      cpl_table_destroy(c);
    }
  }
  cpl_context_destroy(ctx);
}

// The velocity at t: it turns at the root of 0.5 cos 2t = 0.2 t.
static double sliding(double t) {
  double low = 0, high = 1;
  for (int k = 0; k < 60; k++) {
    double middle = (low + high) / 2;
    if (0.5 * cos(2 * middle) > 0.2 * middle) low = middle;
    else high = middle;
  }
  if (t < low) return 0.5 * cos(2 * t) - 0.2 * t;
  return 0.5 * (cos(2 * t) - cos(2 * low)) + 0.2 * (t - low);
}

static void inputs_go_on_behind_an_event(void** state) {
  (void)state;
  static const char* const kinds[] = {"c: slider.c", "fmu: slider2.fmu", "fmu: slider3.fmu"};
  cpl_context* ctx = test_context();
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
    FILE* f = fopen("f.yaml", "w");
    assert_non_null(f);
    fprintf(f,
            "couplet: 1\n"
            "models: {wave: {c: wave.c, as: cs}, slider: {%s, as: cs}}\n"
            "connections: {slider.u: wave.s}\n"
            "record: [slider.v, slider.way]\n"
            "experiment: {stop: 1.5, interval: 0.1}\n"
            "master: {step: 0.1, order: 2, algorithm: gauss-seidel}\n",
            kinds[i]);
    CHECK_INT(fclose(f), 0);
    cpl_table* t = run_with(ctx, "f.yaml", 1e-9);
    const double *v = column(t, "slider.v"), *way = column(t, "slider.way");
    for (size_t k = 0; k < t->n_rows; k++) CHECK_NEAR(v[k], sliding(t->time[k]), 3e-4);
    CHECK_NEAR(way[t->n_rows - 1], -1, 0);
    cpl_table_destroy(t);
  }
  cpl_context_destroy(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_kind_takes_every_order),
                                     cmocka_unit_test(inputs_go_on_behind_an_event)};
  return cmocka_run_group_tests(tests, make_models, NULL);
}
