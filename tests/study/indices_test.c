// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Sensitivity measures of functions for which they are known in closed form.
#include "study_designs.h"

typedef double function(const double* x);

static double* evaluate(const cpl_design* d, function* f) {
  const int64_t n = cpl_design_cases(d);
  double *y = malloc((size_t)n * sizeof *y), x[MOST_FACTORS];
  for (int64_t i = 0; i < n; i++) {
    cpl_design_values(d, i, x);
    y[i] = f(x);
  }
  return y;
}

//------------------------------------ Sobol' indices ------------------------------------

static const double pi = 3.14159265358979323846;

// Ishigami and Homma (1990), a = 7, b = 0.1, and an offset that the estimators must not notice.
static double ishigami(const double* x) {
  return 1000 + sin(x[0]) + 7 * pow(sin(x[1]), 2) + 0.1 * pow(x[2], 4) * sin(x[0]);
}

static void indices_of_the_ishigami_function(void** state) {
  cpl_context* ctx = *state;
  const double a = 7, b = 0.1;
  const double v1 = 0.5 * pow(1 + b * pow(pi, 4) / 5, 2), v2 = a * a / 8;
  const double v13 = b * b * pow(pi, 8) * (1.0 / 18 - 1.0 / 50), v = v1 + v2 + v13;
  const double first[] = {v1 / v, v2 / v, 0}, total[] = {(v1 + v13) / v, v2 / v, v13 / v};
  CHECK_NEAR(first[0], 0.3139, 5e-5);
  CHECK_NEAR(total[2], 0.2437, 5e-5);
  char range[64];
  const char* texts[4] = {NULL};
  char text[3][80];
  snprintf(range, sizeof range, "%.17g:%.17g", -pi, pi);
  for (int i = 0; i < 3; i++) {
    snprintf(text[i], sizeof text[i], "x%d=%s", i + 1, range);
    texts[i] = text[i];
  }
  for (uint64_t seed = 0; seed < 4; seed++) {
    cpl_design* d = make_design(ctx, CPL_DESIGN_SALTELLI, 4096, seed, texts);
    double* y = evaluate(d, ishigami);
    cpl_sobol_index s[3];
    CHECK_OK(ctx, cpl_sobol_indices(d, y, NULL, s));
    for (int i = 0; i < 3; i++) {
      CHECK_NEAR(s[i].first, first[i], 0.01);
      CHECK_NEAR(s[i].total, total[i], 0.01);
      CHECK(s[i].first_low <= s[i].first && s[i].first <= s[i].first_high);
      CHECK(s[i].total_low <= s[i].total && s[i].total <= s[i].total_high);
      CHECK(s[i].first_low <= first[i] && first[i] <= s[i].first_high);
      CHECK(s[i].total_low <= total[i] && total[i] <= s[i].total_high);
      CHECK(s[i].first_high - s[i].first_low < 0.15 && s[i].total_high - s[i].total_low < 0.1);
      CHECK_INT(s[i].n, 4096);
    }
    free(y);
    cpl_design_destroy(d);
  }
}

// Sobol's g-function: the product of (|4 x - 2| + a) / (1 + a).
static const double g_of[] = {0, 1, 4.5, 9, 99, 99, 99, 99};
static double g_function(const double* x) {
  double product = 1;
  for (int i = 0; i < 8; i++) product *= (fabs(4 * x[i] - 2) + g_of[i]) / (1 + g_of[i]);
  return product;
}

static void indices_of_the_g_function(void** state) {
  cpl_context* ctx = *state;
  double part[8], all = 1;
  for (int i = 0; i < 8; i++) {
    part[i] = 1 / (3 * pow(1 + g_of[i], 2));
    all *= 1 + part[i];
  }
  cpl_design* d = make_design(ctx, CPL_DESIGN_SALTELLI, 8192, 1,
                              (const char*[]){"a=0:1", "b=0:1", "c=0:1", "d=0:1", "e=0:1", "f=0:1",
                                              "g=0:1", "h=0:1", NULL});
  double* y = evaluate(d, g_function);
  cpl_sobol_index s[8];
  cpl_sobol_def def = cpl_default_sobol_def();
  def.resamples = 0;
  CHECK_OK(ctx, cpl_sobol_indices(d, y, &def, s));
  for (int i = 0; i < 8; i++) {
    CHECK_NEAR(s[i].first, part[i] / (all - 1), 0.01);
    CHECK_NEAR(s[i].total, part[i] * all / (1 + part[i]) / (all - 1), 0.01);
    CHECK(isnan(s[i].first_low) && isnan(s[i].total_high));
  }
  free(y);
  cpl_design_destroy(d);
}

// Shares of the variance of 3 a - 2 b + 0 c: 9 / 10, 1 / 10, 0; without interactions both agree.
static double linear(const double* x) { return 3 * x[0] - 2 * x[1] + 1; }
static const char* const normal[] = {"a=normal:10:1", "b=normal:5:0.5", "c=normal:0:9", NULL};

static void failed_cases_are_left_out(void** state) {
  cpl_context* ctx = *state;
  enum { N = 4096, K = 3 };
  cpl_design* d = make_design(ctx, CPL_DESIGN_SALTELLI, N, 1, normal);
  double* y = evaluate(d, linear);
  const double expected[] = {0.9, 0.1, 0};
  int64_t whole = 0, of_first = 0;
  for (int64_t j = 0; j < N; j++) {  // at random: regular numbers are strata of the points
    const int at = (int)((uint32_t)j * 2654435761u >> 16) % 8;
    if (at == 0) y[j * (K + 2)] = NAN;          // A
    if (at == 1) y[j * (K + 2) + K + 1] = NAN;  // B
    if (at == 2) y[j * (K + 2) + 1] = NAN;      // of the first factor
    whole += at > 1;
    of_first += at > 2;
  }
  cpl_sobol_index s[K], again[K];
  CHECK_OK(ctx, cpl_sobol_indices(d, y, NULL, s));
  for (int i = 0; i < K; i++) {
    CHECK_NEAR(s[i].first, expected[i], 0.1);  // what is left is no better than random points
    CHECK_NEAR(s[i].total, expected[i], 0.05);
    CHECK_INT(s[i].n, i == 0 ? of_first : whole);
  }
  // the seed decides the intervals, and nothing else
  CHECK_OK(ctx, cpl_sobol_indices(d, y, NULL, again));
  CHECK(memcmp(s, again, sizeof s) == 0);
  cpl_sobol_def def = cpl_default_sobol_def();
  def.seed = 2;
  CHECK_OK(ctx, cpl_sobol_indices(d, y, &def, again));
  CHECK(s[0].first == again[0].first && s[0].first_low != again[0].first_low);

  for (int64_t i = 0; i < N * (K + 2); i++) y[i] = 5;
  CHECK_OK(ctx, cpl_sobol_indices(d, y, NULL, s));
  CHECK(isnan(s[0].first) && isnan(s[0].total));
  for (int64_t i = 0; i < N * (K + 2); i++) y[i] = NAN;
  CHECK_OK(ctx, cpl_sobol_indices(d, y, NULL, s));
  CHECK(isnan(s[0].first) && s[0].n == 0);

  def.level = 1;
  CHECK_INT(cpl_sobol_indices(d, y, &def, s), CPL_ERR_INPUT);
  free(y);
  cpl_design_destroy(d);
}

// An interval of 90 percent has the exact value in 90 percent of independent studies. Sobol' points
// make it wider than needed, so that it may have it more often.
static void intervals_cover_the_exact_value(void** state) {
  cpl_context* ctx = *state;
  enum { STUDIES = 200 };
  cpl_sobol_def def = cpl_default_sobol_def();
  def.resamples = 200;
  def.level = 0.9;
  int first = 0, total = 0;
  for (uint64_t seed = 0; seed < STUDIES; seed++) {
    cpl_design* d = make_design(ctx, CPL_DESIGN_SALTELLI, 256, seed, normal);
    double* y = evaluate(d, linear);
    cpl_sobol_index s[3];
    CHECK_OK(ctx, cpl_sobol_indices(d, y, &def, s));
    first += s[1].first_low <= 0.1 && 0.1 <= s[1].first_high;
    total += s[1].total_low <= 0.1 && 0.1 <= s[1].total_high;
    free(y);
    cpl_design_destroy(d);
  }
  if (first < 0.85 * STUDIES || total < 0.85 * STUDIES) fail_msg("%d %d", first, total);
}

//------------------------------------ Morris ------------------------------------

// Effects of 4 a - 6 b + 8 c d over the ranges 0 to 2, 0 to 1, 0 to 1, 0 to 1: 8, -6, 8 d and 8 c.
static double plane(const double* x) { return 4 * x[0] - 6 * x[1] + 8 * x[2] * x[3]; }

static void effects_of_a_plane_and_an_interaction(void** state) {
  cpl_context* ctx = *state;
  enum { N = 4000, K = 5 };
  cpl_design* d = make_design(ctx, CPL_DESIGN_MORRIS, N, 1,
                              (const char*[]){"a=0:2", "b=0:1", "c=0:1", "d=0:1", "e=0:1", NULL});
  double* y = evaluate(d, plane);
  y[7] = NAN;                // the second trajectory
  y[12] = y[17] = INFINITY;  // the third, twice
  cpl_morris_effect e[K];
  int64_t left_out = 0;
  CHECK_OK(ctx, cpl_morris_effects(d, y, e, &left_out));
  CHECK_INT(left_out, 2);
  CHECK_NEAR(e[0].mean, 8, 1e-12);
  CHECK_NEAR(e[0].mean_abs, 8, 1e-12);
  CHECK_NEAR(e[0].deviation, 0, 1e-12);
  CHECK_NEAR(e[1].mean, -6, 1e-12);
  CHECK_NEAR(e[1].mean_abs, 6, 1e-12);
  // d is 0, 1/3, 2/3 or 1 with equal probability: mean 1/2, variance 5/36
  for (int k = 2; k < 4; k++) {
    CHECK_NEAR(e[k].mean, 4, 5 * 8 * sqrt(5.0 / 36 / N));
    CHECK_NEAR(e[k].deviation, 8 * sqrt(5.0 / 36), 0.1);
  }
  CHECK(e[4].mean == 0 && e[4].mean_abs == 0 && e[4].deviation == 0);

  for (int64_t i = 0; i < N * (K + 1); i += K) y[i] = NAN;
  CHECK_OK(ctx, cpl_morris_effects(d, y, e, &left_out));
  CHECK_INT(left_out, N);
  CHECK(isnan(e[0].mean) && isnan(e[0].mean_abs) && isnan(e[0].deviation));
  free(y);
  cpl_design_destroy(d);
}

static void other_designs_are_refused(void** state) {
  cpl_context* ctx = *state;
  cpl_design* d = make_design(ctx, CPL_DESIGN_LHS, 10, 1, normal);
  double y[10] = {0};
  cpl_morris_effect e[3];
  cpl_sobol_index s[3];
  CHECK_INT(cpl_morris_effects(d, y, e, NULL), CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(ctx), "need a design of kind morris, not lhs");
  CHECK_INT(cpl_sobol_indices(d, y, NULL, s), CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(ctx), "need a design of kind saltelli, not lhs");
  cpl_design_destroy(d);
}

//------------------------------------ regression and ranks ------------------------------------

// 3 a - 2 b: the coefficients are 3 / sqrt(10) and -1 / sqrt(10), and all is explained.
static void coefficients_of_a_linear_model(void** state) {
  cpl_context* ctx = *state;
  enum { N = 20000 };
  const double expected[] = {3 / sqrt(10), -1 / sqrt(10), 0};
  for (int kind = CPL_DESIGN_RANDOM; kind <= CPL_DESIGN_SOBOL; kind++) {
    cpl_design* d = make_design(ctx, (cpl_design_kind)kind, N, 1, normal);
    double* y = evaluate(d, linear);
    y[17] = y[100] = NAN;
    cpl_sensitivity s[3];
    double r_squared = 0;
    CHECK_OK(ctx, cpl_sensitivities(d, y, s, &r_squared));
    CHECK_NEAR(r_squared, 1, 1e-12);
    for (int i = 0; i < 3; i++) {
      CHECK_NEAR(s[i].regression, expected[i], 0.02);
      // of ranks of normal variables: 6 / pi asin(r / 2)
      CHECK_NEAR(s[i].correlation, 6 / pi * asin(expected[i] / 2), 0.03);
    }
    free(y);
    cpl_design_destroy(d);
  }
}

// A monotonic function has a rank correlation of 1, however nonlinear.
static double steep(const double* x) { return exp(20 * x[0]); }

static void ranks_of_a_monotonic_function(void** state) {
  cpl_context* ctx = *state;
  cpl_design* d = make_design(ctx, CPL_DESIGN_LHS, 1000, 1, (const char*[]){"a=0:1", "b=5", NULL});
  double* y = evaluate(d, steep);
  cpl_sensitivity s[2];
  double r_squared;
  CHECK_OK(ctx, cpl_sensitivities(d, y, s, &r_squared));
  CHECK_NEAR(s[0].correlation, 1, 1e-12);
  CHECK(s[0].regression < 0.7 && r_squared < 0.5);
  CHECK(s[1].correlation == 0 && s[1].regression == 0);
  for (int i = 0; i < 1000; i++) y[i] = i < 2 ? i : NAN;
  CHECK_OK(ctx, cpl_sensitivities(d, y, s, &r_squared));
  CHECK(isnan(s[0].regression) && isnan(r_squared));
  free(y);
  cpl_design_destroy(d);
}

// Spearman's coefficient with ties, by hand: ranks 1 2.5 2.5 4 and 1 2 3 4.
static void equal_values_share_a_rank(void** state) {
  cpl_context* ctx = *state;
  write_file("cases.csv", "a,b,c\n1,2,1\n2,4,-1\n2,4,1\n5,10,-1\n");
  cpl_design_def def = cpl_default_design_def();
  def.kind = CPL_DESIGN_TABLE;
  def.table = "cases.csv";
  cpl_design* d = NULL;
  CHECK_OK(ctx, cpl_design_create(ctx, &def, &d));
  const double y[] = {0, 1, 2, 8};
  cpl_sensitivity s[3];
  CHECK_OK(ctx, cpl_sensitivities(d, y, s, NULL));
  CHECK_NEAR(s[0].correlation, 4.5 / sqrt(4.5 * 5), 1e-14);
  CHECK(isnan(s[0].regression));  // four cases do not determine three coefficients and a residual
  cpl_design_destroy(d);

  write_file("cases.csv", "a,b,c\n1,2,1\n2,4,-1\n2,4,1\n5,10,-1\n3,6,0\n4,8,0\n");
  CHECK_OK(ctx, cpl_design_create(ctx, &def, &d));
  const double z[] = {0, 1, 2, 8, 3, 5};
  CHECK_OK(ctx, cpl_sensitivities(d, z, s, NULL));
  CHECK(isfinite(s[0].regression) && isnan(s[1].regression) && isfinite(s[2].regression));
  cpl_design_destroy(d);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(indices_of_the_ishigami_function),
      cmocka_unit_test(indices_of_the_g_function),
      cmocka_unit_test(failed_cases_are_left_out),
      cmocka_unit_test(intervals_cover_the_exact_value),
      cmocka_unit_test(effects_of_a_plane_and_an_interaction),
      cmocka_unit_test(other_designs_are_refused),
      cmocka_unit_test(coefficients_of_a_linear_model),
      cmocka_unit_test(ranks_of_a_monotonic_function),
      cmocka_unit_test(equal_values_share_a_rank),
  };
  return cmocka_run_group_tests(tests, make_context, drop_context);
}
