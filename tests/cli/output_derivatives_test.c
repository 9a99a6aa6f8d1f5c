// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Derivatives of outputs between steppers: the order of convergence rises by one, for models in C
// and for their FMUs, and polynomials need no history after an event.
#include <math.h>

#include "command.h"

// x' = a x + b u
static const char half[] =
    MODEL("half",
          "static const cpl_declaration x[] = {{.name = \"x\", .start = 1, .output = true}, {0}};\n"
          "static const cpl_declaration u[] = {{.name = \"u\"}, {0}};\n"
          "static const cpl_declaration p[] = {{.name = \"a\"}, {.name = \"b\"}, {0}};\n"
          "static int f(const cpl_values* v, double* dx) {\n"
          "  dx[0] = v->p[0] * v->x[0] + v->p[1] * v->u[0];\n"
          "  return 0;\n"
          "}",
          ".states = x, .inputs = u, .parameters = p, .derivatives = f, .tolerance = 1e-10");

// x' = 1.3 from 0.1 to 0.9, then from 0.1 again
static const char saw[] = MODEL(
    "saw",
    "static const cpl_declaration x[] = {{.name = \"x\", .start = 0.1, .output = true}, {0}};\n"
    "static int f(const cpl_values* v, double* dx) {\n"
    "  (void)v;\n"
    "  dx[0] = 1.3;\n"
    "  return 0;\n"
    "}\n"
    "static int z(const cpl_values* v, double* out) {\n"
    "  out[0] = v->x[0] - 0.9;\n"
    "  return 0;\n"
    "}\n"
    "static int reset(const cpl_values* v, cpl_event_actions* a) {\n"
    "  if (v->x[0] > 0.5) a->x[0] = 0.1;\n"
    "  return 0;\n"
    "}",
    ".states = x, .derivatives = f, .n_indicators = 1, .indicators = z, .event = reset,\n"
    ".tolerance = 1e-10");

static void write_models(void) {
  use_folders();
  write_text("half.c", half);
  write_text("saw.c", saw);
  CHECK_CODE(0, "build", "half.c", "--fmi", "2", "-o", "half2.fmu");
  CHECK_CODE(0, "build", "half.c", "--fmi", "3", "-o", "half3.fmu");
  CHECK_CODE(0, "build", "saw.c", "--fmi", "2", "-o", "saw2.fmu");
  CHECK_CODE(0, "build", "saw.c", "--fmi", "3", "-o", "saw3.fmu");
}

//------------------------------------ order of convergence ------------------------------------

// l' = -0.3 l + 1.7 r, r' = -1.1 l - 0.2 r, from 1 each: the eigenvalues are -0.25 +- i w
static void exact(double t, double* l, double* r) {
  double w = sqrt(0.3 * 0.2 + 1.7 * 1.1 - 0.25 * 0.25), damped = exp(-0.25 * t);
  double c = cos(w * t), s = sin(w * t) / w;
  *l = damped * (c + s * (-0.3 + 1.7 + 0.25));
  *r = damped * (c + s * (-1.1 - 0.2 + 0.25));
}

static void run_pair(const char* model, const char* how, double step) {
  char text[1024];
  snprintf(text, sizeof text,
           "couplet: 1\nmodels:\n"
           "  l: {%s, start: {a: -0.3, b: 1.7}}\n"
           "  r: {%s, start: {a: -0.2, b: -1.1}}\n"
           "connections:\n  l.u: r.x\n  r.u: l.x\n"
           "master: {step: %g, %s}\nrecord: [l.x, r.x]\n"
           "experiment: {stop: 1.6, interval: 0.8, rtol: 1e-10}\n",
           model, model, step, how);
  write_text("pair.yaml", text);
  CHECK_CODE(0, "run", "pair.yaml", "-o", "pair.csv");
  CHECK_STR(complained, "");
}

static double error_of(const char* model, const char* how, double step) {
  double l, r;
  run_pair(model, how, step);
  exact(last_value("pair.csv", 0), &l, &r);
  return fmax(fabs(last_value("pair.csv", 1) - l), fabs(last_value("pair.csv", 2) - r));
}

static void the_order_rises_by_one(void** state) {
  (void)state;
  static const char* const models[] = {"c: half.c, as: cs", "fmu: half2.fmu, as: cs",
                                       "fmu: half3.fmu, as: cs"};
  static const struct {
    const char* how;
    double order;
  } cases[] = {{"algorithm: determinate, order: 0", 1},
               {"algorithm: jacobi, order: 1", 2},
               {"algorithm: gauss-seidel, order: 1", 2},
               {"algorithm: iterative, order: 2", 3}};
  for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
    double first = 0;
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++) {
      char with[128];
      snprintf(with, sizeof with, "%s, output-derivatives: true", cases[k].how);
      double plain = error_of(models[i], cases[k].how, 0.04);
      double coarse = error_of(models[i], with, 0.08), fine = error_of(models[i], with, 0.04);
      CHECK_NEAR(log2(coarse / fine), cases[k].order + 1, 0.15);
      CHECK(fine < plain / 10);
      if (i == 0) first = fine;
      CHECK(fine == first);  // the same bits in C and as FMUs
    }
  }
}

static void off_is_off(void** state) {
  (void)state;
  run_pair("fmu: half2.fmu, as: cs", "order: 1", 0.1);
  CHECK_INT(rename("pair.csv", "plain.csv"), 0);
  run_pair("fmu: half2.fmu, as: cs", "order: 1, output-derivatives: false", 0.1);
  check_same_files("pair.csv", "plain.csv");
}

static void isolated_models_give_them_too(void** state) {
  (void)state;
  const char how[] = "order: 1, output-derivatives: true";
  run_pair("fmu: half3.fmu, as: cs", how, 0.1);
  CHECK_INT(rename("pair.csv", "plain.csv"), 0);
  run_pair("fmu: half3.fmu, as: cs, isolate: true", how, 0.1);
  check_same_files("pair.csv", "plain.csv");
}

// The estimate knows the higher order: the error follows the tolerance.
static void errors_follow_the_tolerance(void** state) {
  (void)state;
  static const char* const estimates[] = {"predictor", "richardson"};
  for (size_t i = 0; i < sizeof estimates / sizeof estimates[0]; i++) {
    double last = 1;
    for (double tolerance = 1e-3; tolerance > 1e-6; tolerance /= 10) {
      char how[160];
      snprintf(how, sizeof how, "tolerance: %g, estimate: %s, order: 1, output-derivatives: true",
               tolerance, estimates[i]);
      double error = error_of("fmu: half2.fmu, as: cs", how, 0.4);
      CHECK(error < 10 * tolerance && error < last);
      last = error;
    }
  }
}

//------------------------------------ events ------------------------------------

// The integral of the saw from 0 to t.
static double area(double t) {
  double period = 0.8 / 1.3, whole = floor(t / period), rest = t - whole * period;
  return whole * period * 0.5 + rest * (0.1 + 1.3 * rest / 2);
}

static double area_error(const char* saw_model, const char* model, const char* how) {
  char text[1024];
  snprintf(text, sizeof text,
           "couplet: 1\nmodels:\n"
           "  saw: {%s}\n"
           "  sum: {%s, start: {x: 0, b: 1}}\n"
           "connections:\n  sum.u: saw.x\n"
           "master: {step: 0.125, %s}\nrecord: [sum.x]\n"
           "experiment: {stop: 2, interval: 1, rtol: 1e-10}\n",
           saw_model, model, how);
  write_text("saw.yaml", text);
  CHECK_CODE(0, "run", "saw.yaml", "-o", "saw.csv");
  return fabs(last_value("saw.csv", 1) - area(2));
}

// The input is a straight line between events: its value and slope are enough.
static void no_history_is_needed_after_events(void** state) {
  (void)state;
  static const char* const models[][2] = {{"c: saw.c, as: cs", "c: half.c, as: cs"},
                                          {"fmu: saw2.fmu, as: cs", "fmu: half2.fmu, as: cs"},
                                          {"fmu: saw3.fmu, as: cs", "fmu: half3.fmu, as: cs"}};
  for (size_t i = 0; i < sizeof models / sizeof models[0]; i++) {
    CHECK(area_error(models[i][0], models[i][1], "algorithm: jacobi, order: 1") > 1e-3);
    CHECK_NEAR(area_error(models[i][0], models[i][1],
                          "algorithm: jacobi, order: 0, output-derivatives: true"),
               0, 1e-8);
  }
}

//------------------------------------ without ------------------------------------

static void a_system_without_derivatives_is_named(void** state) {
  (void)state;
  write_text("decay.c", decay_model);
  write_text("none.yaml",
             "couplet: 1\nmodels:\n  a: {c: decay.c, as: cs}\n  b: {c: decay.c, as: cs}\n"
             "connections:\n  b.u: a.y\nmaster: {step: 0.1, output-derivatives: true}\n");
  CHECK_CODE(0, "run", "none.yaml", "-o", "none.csv");
  CHECK_CONTAINS(complained, "output-derivatives: no model gives derivatives of outputs");
  write_text("none.yaml",
             "couplet: 1\nmodels:\n  a: {c: decay.c, as: cs}\nmaster: {output-derivatives: 2}\n");
  CHECK_FAILS_WITH(2, "output-derivatives needs true or false", "run", "none.yaml", "-o",
                   "wrong.csv");
}

int main(void) {
  write_models();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_order_rises_by_one),
      cmocka_unit_test(off_is_off),
      cmocka_unit_test(isolated_models_give_them_too),
      cmocka_unit_test(errors_follow_the_tolerance),
      cmocka_unit_test(no_history_is_needed_after_events),
      cmocka_unit_test(a_system_without_derivatives_is_named),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
