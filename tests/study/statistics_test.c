// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Moments, quantiles and histograms, with missing results, against closed forms.
#include "study/statistics.h"

#include "study_designs.h"

// 1, 2, ..., n far from zero: mean and variance are known; a sum of squares would lose all digits.
static void moments_are_accurate_far_from_zero(void** state) {
  (void)state;
  enum { N = 10001 };
  cpl_moments m = {0}, parts[3] = {{0}}, merged = {0};
  for (int i = 1; i <= N; i++) {
    cpl_moments_add(&m, 1e9 + i);
    cpl_moments_add(&parts[i % 2], 1e9 + i);
  }
  cpl_moments_add(&m, NAN);
  cpl_moments_add(&parts[1], INFINITY);
  for (int i = 0; i < 3; i++) cpl_moments_merge(&merged, &parts[i]);
  const cpl_moments* both[] = {&m, &merged};
  for (int i = 0; i < 2; i++) {
    CHECK_INT(both[i]->n, N);
    CHECK_INT(both[i]->missing, 1);
    CHECK_NEAR(both[i]->mean, 1e9 + (N + 1) / 2.0, 1e-6);
    CHECK_NEAR(cpl_moments_deviation(both[i]), sqrt(N * (N + 1.0) / 12), 1e-7);
    CHECK(both[i]->least == 1e9 + 1 && both[i]->greatest == 1e9 + N);
  }
  const cpl_moments none = {0};
  CHECK(isnan(cpl_moments_deviation(&none)));
  cpl_moments one = {0};
  cpl_moments_add(&one, -7);
  CHECK(one.mean == -7 && one.least == -7 && one.greatest == -7);
  CHECK(isnan(cpl_moments_deviation(&one)));
}

// The values of numpy.quantile([15, 20, 35, 40, 50, 37], p).
static void quantiles_are_of_type_7(void** state) {
  cpl_context* ctx = *state;
  const double y[] = {40, NAN, 15, 50, 35, 20, -INFINITY, 37};
  const double p[] = {0, 0.05, 0.25, 0.4, 0.5, 0.9, 1};
  const double expected[] = {15, 16.25, 23.75, 35, 36, 45, 50};
  double q[7];
  CHECK_OK(ctx, cpl_quantiles(ctx, y, 8, p, 7, q));
  for (int i = 0; i < 7; i++) CHECK_NEAR(q[i], expected[i], 1e-13);
  CHECK_OK(ctx, cpl_quantiles(ctx, y + 1, 1, p, 1, q));
  CHECK(isnan(q[0]));
  CHECK_OK(ctx, cpl_quantiles(ctx, y, 0, p, 1, q));
  CHECK(isnan(q[0]));
  CHECK_INT(cpl_quantiles(ctx, y, 8, (double[]){1.5}, 1, q), CPL_ERR_INPUT);
  CHECK_INT(cpl_quantiles(ctx, y, 8, (double[]){NAN}, 1, q), CPL_ERR_INPUT);
}

static void histograms_count_every_result_once(void** state) {
  cpl_context* ctx = *state;
  const double y[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 10, NAN};
  cpl_histogram h;
  CHECK_OK(ctx, cpl_histogram_make(ctx, y, 11, 5, &h));
  CHECK_INT(h.n_bins, 5);
  const int64_t expected[] = {2, 2, 2, 2, 2};
  for (int i = 0; i < 5; i++) {
    CHECK_NEAR(h.edges[i], 2 * i, 1e-15);
    CHECK_INT(h.counts[i], expected[i]);
  }
  CHECK_NEAR(h.edges[5], 10, 0);
  cpl_histogram_free(ctx, &h);

  // 2 IQR / n^(1/3) of 900 uniform values: bins of at most 0.104
  static double many[900];
  for (int i = 0; i < 900; i++) many[i] = (i + 0.5) / 900;
  CHECK_OK(ctx, cpl_histogram_make(ctx, many, 900, 0, &h));
  CHECK_INT(h.n_bins, 10);
  int64_t sum = 0;
  for (size_t i = 0; i < h.n_bins; i++) sum += h.counts[i];
  CHECK_INT(sum, 900);
  cpl_histogram_free(ctx, &h);

  CHECK_OK(ctx, cpl_histogram_make(ctx, y + 3, 1, 0, &h));
  CHECK(h.n_bins == 1 && h.counts[0] == 1 && h.edges[0] == 3 && h.edges[1] == 3);
  cpl_histogram_free(ctx, &h);
  CHECK_OK(ctx, cpl_histogram_make(ctx, y + 10, 1, 0, &h));
  CHECK_INT(h.n_bins, 0);
  const double far[] = {-1e308, 1e308, 0};  // the range exceeds the largest number
  CHECK_OK(ctx, cpl_histogram_make(ctx, far, 3, 4, &h));
  CHECK(h.counts[0] == 1 && h.counts[2] == 1 && h.counts[3] == 1);
  cpl_histogram_free(ctx, &h);
}

// y = 3 a - 2 b + 1 of normal parameters is normal: mean, deviation and quantiles of the results of
// Sobol' points converge to those of the distribution.
static void results_of_a_linear_model(void** state) {
  cpl_context* ctx = *state;
  enum { N = 1 << 14 };
  static double y[N];
  const double mean = 21, deviation = sqrt(10);
  cpl_design* d = make_design(ctx, CPL_DESIGN_SOBOL, N, 1,
                              (const char*[]){"a=normal:10:1", "b=normal:5:0.5", NULL});
  cpl_moments m = {0};
  for (int64_t i = 0; i < N; i++) {
    double v[2];
    cpl_design_values(d, i, v);
    y[i] = 3 * v[0] - 2 * v[1] + 1;
    cpl_moments_add(&m, y[i]);
  }
  CHECK_NEAR(m.mean, mean, 1e-3);
  CHECK_NEAR(cpl_moments_deviation(&m), deviation, 2e-3);
  const double p[] = {0.05, 0.25, 0.5, 0.75, 0.95};
  const double z[] = {-1.6448536269514722, -0.6744897501960817, 0, 0.6744897501960817,
                      1.6448536269514722};
  double q[5];
  CHECK_OK(ctx, cpl_quantiles(ctx, y, N, p, 5, q));
  for (int i = 0; i < 5; i++) CHECK_NEAR(q[i], mean + deviation * z[i], 0.03);
  cpl_design_destroy(d);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(moments_are_accurate_far_from_zero),
      cmocka_unit_test(quantiles_are_of_type_7),
      cmocka_unit_test(histograms_count_every_result_once),
      cmocka_unit_test(results_of_a_linear_model),
  };
  return cmocka_run_group_tests(tests, make_context, drop_context);
}
