// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Optimizations with known optima: Rosenbrock's function of parameters through a model, with bounds
// and constraints, a decay, failing runs, and mistakes.
#include <couplet/fit.h>

#include "models.h"

// obj' = (1 - x)^2 + 100 (y - x^2)^2 over a second; circle: x^2 + y^2
static int valley_slope(const cpl_values* v, double* dx) {
  const double x = v->p[0], y = v->p[1];
  if (x > 4) return CPL_MODEL_ERROR;
  dx[0] = (1 - x) * (1 - x) + 100 * (y - x * x) * (y - x * x);
  dx[1] = x * x + y * y;
  return CPL_MODEL_OK;
}
static const cpl_declaration valley_states[] = {
    {"valley", .output = true}, {"circle", .output = true}, {0}};
static const cpl_declaration valley_parameters[] = {{"x", .start = -1.2}, {"y", .start = 1}, {0}};
static const cpl_model_def valley = {.name = "valley",
                                     .states = valley_states,
                                     .parameters = valley_parameters,
                                     .derivatives = valley_slope,
                                     .stop_time = 1};

typedef struct searching {
  cpl_source* source;
  cpl_experiment_settings settings;
  cpl_optimize_def def;
  cpl_vary vary[2];
  const char* subject_to[2];
  cpl_optimum* optimum;
} searching;

static void begin(cpl_context* ctx, searching* s, const cpl_model_def* model, const char* a,
                  const char* b) {
  *s =
      (searching){.settings = cpl_default_experiment_settings(), .def = cpl_default_optimize_def()};
  CHECK_OK(ctx, cpl_c_define(ctx, model, &s->source));
  s->settings.source = s->source;
  s->def.experiment = &s->settings;
  s->def.vary = s->vary;
  s->def.subject_to = s->subject_to;
  CHECK_OK(ctx, cpl_vary_read(ctx, a, &s->vary[0]));
  s->def.n_vary = 1;
  if (b == NULL) return;
  CHECK_OK(ctx, cpl_vary_read(ctx, b, &s->vary[1]));
  s->def.n_vary = 2;
}

static cpl_status run(cpl_context* ctx, searching* s) {
  cpl_optimum_destroy(s->optimum);
  return cpl_optimize_run(ctx, &s->def, &s->optimum);
}

static void end(cpl_context* ctx, searching* s) {
  cpl_optimum_destroy(s->optimum);
  for (size_t i = 0; i < s->def.n_vary; i++) cpl_vary_free(ctx, &s->vary[i]);
  cpl_source_destroy(s->source);
}

static void check_values(const searching* s, double x, double y, double tolerance) {
  CHECK(s->optimum->converged);
  CHECK_NEAR(s->optimum->parameters[0].value, x, tolerance);
  CHECK_NEAR(s->optimum->parameters[1].value, y, tolerance);
}

static void the_valley_of_rosenbrock(void** state) {
  cpl_context* ctx = *state;
  searching s;
  begin(ctx, &s, &valley, "x", "y");
  s.def.minimize = "final(valley)";
  CHECK_OK(ctx, run(ctx, &s));
  check_values(&s, 1, 1, 1e-3);
  CHECK_NEAR(s.optimum->value, 0, 1e-6);
  end(ctx, &s);
}

// In the unit circle: x = 0.786415, y = 0.617698, the minimum is 0.0456748.
static void constraints_and_bounds_hold(void** state) {
  cpl_context* ctx = *state;
  searching s;
  begin(ctx, &s, &valley, "x=0.1:-1.5:1.5", "y=0.1:-1.5:1.5");
  s.def.minimize = "final(valley)";
  s.subject_to[0] = "final(circle) <= 1";
  s.def.n_subject_to = 1;
  CHECK_OK(ctx, run(ctx, &s));
  check_values(&s, 0.7864151, 0.6176983, 1e-4);
  CHECK_NEAR(s.optimum->value, 0.0456748, 1e-6);
  CHECK(s.optimum->constraints[0].active && s.optimum->constraints[0].met);
  // the minimum with x = 0.5: y = x^2, and the circle is not reached
  end(ctx, &s);
  begin(ctx, &s, &valley, "x=0.1:-1.5:0.5", "y=0.1:-1.5:1.5");
  s.def.minimize = "final(valley)";
  s.subject_to[0] = "1 >= final(circle)";
  s.def.n_subject_to = 1;
  CHECK_OK(ctx, run(ctx, &s));
  check_values(&s, 0.5, 0.25, 1e-4);
  CHECK_INT(s.optimum->parameters[0].at_bound, 1);
  CHECK(!s.optimum->constraints[0].active);
  CHECK_NEAR(s.optimum->constraints[0].excess, 0.25 + 0.0625 - 1, 1e-3);
  // on the line x + y = 1: the sum of both squares is least in the middle
  s.def.minimize = "final(circle)";
  s.subject_to[0] = "final(x) + final(y) == 0.8";
  CHECK_OK(ctx, run(ctx, &s));
  check_values(&s, 0.4, 0.4, 1e-4);
  s.def.method = CPL_OPTIMIZER_COBYLA;
  s.def.tolerance = 1e-4;
  CHECK_OK(ctx, run(ctx, &s));
  check_values(&s, 0.4, 0.4, 1e-2);
  end(ctx, &s);
}

// The least x^2 + 2 y^2 with x + y >= 3 is 6, at x = 2, y = 1. On the way COBYLA meets two points
// with one value.
static void equal_values_are_no_optimum(void** state) {
  cpl_context* ctx = *state;
  searching s;
  begin(ctx, &s, &valley, "x=0.5", "y=0.5");
  s.def.minimize = "final(x)^2 + 2*final(y)^2";
  s.subject_to[0] = "final(x) + final(y) >= 3";
  s.def.n_subject_to = 1;
  for (int i = 0; i < 2; i++) {
    s.def.method = i == 0 ? CPL_OPTIMIZER_SLSQP : CPL_OPTIMIZER_COBYLA;
    CHECK_OK(ctx, run(ctx, &s));
    check_values(&s, 2, 1, 1e-5);
  }
  end(ctx, &s);
}

// The time at which 2 exp(-a t) is 1 is log(2)/a; the mean over 5 s is 2 (1 - exp(-5 a))/(5 a).
static void measures_of_a_decay(void** state) {
  cpl_context* ctx = *state;
  searching s;
  begin(ctx, &s, &decay, "a=0.5:0.1:10", NULL);
  const cpl_measure_def half = {.name = "half", .text = "time_when(x < 1)"};
  s.def.measures = &half, s.def.n_measures = 1;
  s.def.minimize = "(half - 0.25)^2";
  CHECK_OK(ctx, run(ctx, &s));
  CHECK_NEAR(s.optimum->parameters[0].value, log(2) / 0.25, 1e-3);
  CHECK_STR(s.optimum->parameters[0].unit, "1/s");
  // the slowest decay that is down to 1 after half a second
  s.def.minimize = "mean(x)";
  s.def.maximize = true;
  s.subject_to[0] = "half <= 0.5";
  s.def.n_subject_to = 1;
  CHECK_OK(ctx, run(ctx, &s));
  const double a = log(2) / 0.5;
  CHECK_NEAR(s.optimum->parameters[0].value, a, 1e-4);
  CHECK_NEAR(s.optimum->value, 2 * (1 - exp(-5 * a)) / (5 * a), 1e-5);
  end(ctx, &s);
}

static void failures_are_survived(void** state) {
  cpl_context* ctx = *state;
  searching s;
  begin(ctx, &s, &valley, "x=3.9", "y=0");  // the model fails above 4
  s.def.minimize = "final(valley)";
  CHECK_OK(ctx, run(ctx, &s));
  CHECK_NEAR(s.optimum->value, 0, 1e-4);
  s.vary[0].guess = 5;
  CHECK_INT(run(ctx, &s), CPL_ERR_MODEL);
  CHECK_CONTAINS(cpl_context_error(ctx), "the run with the guesses failed: valley");
  CHECK(s.optimum == NULL);
  s.vary[0].guess = -1;
  s.def.max_runs = 4;
  CHECK_INT(run(ctx, &s), CPL_ERR_SOLVER);
  CHECK(s.optimum != NULL && !s.optimum->converged && s.optimum->runs == 4);
  s.def.max_runs = 0;
  s.subject_to[0] = "final(circle) <= -1";
  s.def.n_subject_to = 1;
  CHECK_INT(run(ctx, &s), CPL_ERR_SOLVER);
  CHECK_CONTAINS(cpl_context_error(ctx), "no values that meet all constraints were found");
  end(ctx, &s);
}

static void mistakes_are_explained(void** state) {
  cpl_context* ctx = *state;
  searching s;
  static const struct {
    const char *minimize, *subject_to, *message;
  } bad[] = {
      {NULL, NULL, "there is nothing to optimize"},
      {"final(valey)", NULL, "valley"},
      {"finale(valley)", NULL, "final"},
      {"valley", NULL, "--minimize"},
      {"final(valley)", "final(circle)", "expected EXPR <= EXPR"},
      {"final(valley)", "1 <= final(circle) <= 2", "expected EXPR <= EXPR"},
      {"final(valley)", "final(circle) => 2", "expected EXPR <= EXPR"},
      {"final(valley)", "final(circl) <= 2", "circle"},
  };
  begin(ctx, &s, &valley, "x", "y");
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    s.def.minimize = bad[i].minimize;
    s.subject_to[0] = bad[i].subject_to;
    s.def.n_subject_to = bad[i].subject_to != NULL;
    CHECK_INT(run(ctx, &s), CPL_ERR_INPUT);
    CHECK_CONTAINS(cpl_context_error(ctx), bad[i].message);
    CHECK(s.optimum == NULL);
  }
  end(ctx, &s);
}

static void memory_may_fail_at_any_time(void** state) {
  (void)state;
  for (long k = 0;; k += k < 300 ? 1 : 61) {
    test_heap heap = {.fail_at = -1};
    cpl_context* ctx = test_context_with_heap(&heap);
    searching s;
    begin(ctx, &s, &decay, "a=0.9:0.1:1", NULL);
    s.def.minimize = "final(x)";
    s.subject_to[0] = "final(x) >= 0.01";
    s.def.n_subject_to = 1;
    heap.fail_at = heap.calls + k;
    const cpl_status st = run(ctx, &s);
    if (st < 0) CHECK_INT(st, CPL_ERR_NOMEM);
    const bool reached = heap.calls > heap.fail_at;
    end(ctx, &s);
    cpl_context_destroy(ctx);
    CHECK_INT(heap.live, 0);
    if (!reached) break;
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_valley_of_rosenbrock),    cmocka_unit_test(constraints_and_bounds_hold),
      cmocka_unit_test(measures_of_a_decay),         cmocka_unit_test(failures_are_survived),
      cmocka_unit_test(mistakes_are_explained),      cmocka_unit_test(memory_may_fail_at_any_time),
      cmocka_unit_test(equal_values_are_no_optimum),
  };
  return cmocka_run_group_tests(tests, make_context, drop_context);
}
