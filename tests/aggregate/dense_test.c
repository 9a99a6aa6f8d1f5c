// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#include "aggregate/dense.h"

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

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(solves_what_needs_many_exchanges),
      cmocka_unit_test(finds_the_singular_column),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
