// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#include "numeric/dense.h"

#include "testing.h"

enum { MOST = 60 };

static double uniform(uint32_t* seed) {  // -1 to 1
  *seed = *seed * 1664525u + 1013904223u;
  return (double)(*seed >> 8) / (1 << 23) - 1;
}

static void solves_what_needs_many_exchanges(void** state) {
  (void)state;
  static double m[MOST * MOST], kept[MOST * MOST];
  double x[MOST], b[MOST];
  int32_t pivot[MOST];
  uint32_t seed = 1;
  for (int32_t n = 1; n <= MOST; n++) {
    for (int32_t i = 0; i < n * n; i++) kept[i] = m[i] = uniform(&seed);
    for (int32_t i = 0; i < n; i++) x[i] = b[i] = uniform(&seed);
    CHECK_INT(cpli_lu_factor(m, pivot, n), -1);
    cpli_lu_solve(m, pivot, n, x);
    for (int32_t r = 0; r < n; r++) {
      double sum = 0;
      for (int32_t c = 0; c < n; c++) sum += kept[c * n + r] * x[c];
      CHECK_NEAR(sum, b[r], 1e-9);
    }
  }
}

static void finds_the_singular_column(void** state) {
  (void)state;
  double m[] = {1, 2, 3, 2, 4, 6, 1, 0, 1};  // the second column is twice the first
  int32_t pivot[3];
  CHECK_INT(cpli_lu_factor(m, pivot, 3), 1);
}

// Growth of errors does not see units: a well-posed matrix keeps its number when its unknowns are
// measured otherwise, and a nearly singular one is found whatever they are measured in.
static void growth_tells_singular_from_badly_scaled(void** state) {
  (void)state;
  for (int step = 0; step < 12; step++) {
    double unit = pow(10, step), gap = pow(10, -step);
    double good[] = {-1, 0.5 * unit, 0.5 / unit, -1}, good_sizes[] = {1, 0.5 * unit, 0.5 / unit, 1};
    double bad[] = {-1, unit, (1 - gap) / unit, -1}, bad_sizes[] = {1, unit, (1 - gap) / unit, 1};
    double nominal[] = {1, 1}, work[10];
    int32_t pivot[2];
    CHECK_INT(cpli_lu_factor(good, pivot, 2), -1);
    // |M^-1| = 4/3 (1, u/2; 1/(2u), 1), times the sizes: radius 4/3 * 9/4
    CHECK_NEAR(cpli_lu_growth(good, pivot, 2, good_sizes, nominal, work), 3, 0.03);
    if (step == 0 || cpli_lu_factor(bad, pivot, 2) >= 0) continue;
    double growth = cpli_lu_growth(bad, pivot, 2, bad_sizes, nominal, work);
    CHECK(growth > 2 / gap && growth < 8 / gap);  // 4 / gap to leading order
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(solves_what_needs_many_exchanges),
      cmocka_unit_test(finds_the_singular_column),
      cmocka_unit_test(growth_tells_singular_from_badly_scaled),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
