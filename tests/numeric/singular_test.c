// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Singular values against closed forms, and the product of the factors against the matrix.
#include "numeric/singular.h"

#include "testing.h"

static void a_rotated_diagonal_has_its_values(void** state) {
  (void)state;
  // columns of [u1 u2] diag(3, 1e-8) [v1 v2]' with rotations by 0.4 and 1.1
  const double a = 0.4, b = 1.1, big = 3, small = 1e-8;
  double m[] = {big * cos(a) * cos(b) + small * sin(a) * sin(b),
                big * sin(a) * cos(b) - small * cos(a) * sin(b),
                0,
                big * cos(a) * sin(b) - small * sin(a) * cos(b),
                big * sin(a) * sin(b) + small * cos(a) * cos(b),
                0};
  double s[2], v[4];
  cpli_singular_values(3, 2, m, s, v);
  CHECK_NEAR(s[0], big, 1e-14);
  CHECK_NEAR(s[1] / small, 1, 1e-6);
  CHECK_NEAR(fabs(v[0]), cos(b), 1e-12);
  CHECK_NEAR(fabs(v[2]), sin(b), 1e-12);
}

// Hilbert's matrix of 5 rows and 3 columns, with a column that is the sum of two others.
static void factors_multiply_to_the_matrix(void** state) {
  (void)state;
  enum { M = 5, N = 4 };
  double a[N * M], u[N * M], s[N], v[N * N];
  for (int j = 0; j < 3; j++)
    for (int i = 0; i < M; i++) a[j * M + i] = 1.0 / (i + j + 1);
  for (int i = 0; i < M; i++) a[3 * M + i] = a[i] + a[2 * M + i];
  memcpy(u, a, sizeof a);
  cpli_singular_values(M, N, u, s, v);
  for (int i = 0; i + 1 < N; i++) CHECK(s[i] >= s[i + 1]);
  CHECK(s[3] < 1e-15 * s[0] && s[2] > 1e-4 * s[0]);
  for (int j = 0; j < N; j++)
    for (int i = 0; i < M; i++) {
      double sum = 0;
      for (int k = 0; k < N; k++) sum += u[k * M + i] * v[k * N + j];
      CHECK_NEAR(sum, a[j * M + i], 1e-14);
    }
  for (int j = 0; j < N; j++)
    for (int k = 0; k < N; k++) {
      double sum = 0;
      for (int i = 0; i < N; i++) sum += v[j * N + i] * v[k * N + i];
      CHECK_NEAR(sum, j == k, 1e-14);
    }
}

static void small_and_broken_ones_end(void** state) {
  (void)state;
  double one[] = {3, 4}, s[2], v[4];
  cpli_singular_values(2, 1, one, s, v);
  CHECK_NEAR(s[0], 5, 1e-15);
  CHECK(v[0] == 1);
  double broken[] = {1, 2, NAN, 4};
  cpli_singular_values(2, 2, broken, s, v);
  CHECK(isnan(s[0]) || isnan(s[1]));
  double zero[] = {0, 0, 0, 0};
  cpli_singular_values(2, 2, zero, s, v);
  CHECK(s[0] == 0 && s[1] == 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_rotated_diagonal_has_its_values),
      cmocka_unit_test(factors_multiply_to_the_matrix),
      cmocka_unit_test(small_and_broken_ones_end),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
