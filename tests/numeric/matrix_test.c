// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Products, bases and singular values of matrices with known ones.
#include "numeric/matrix.h"

#include "testing.h"

enum { N = 12 };

// A reflection I - 2 v v' / v'v: orthogonal, and full.
static void reflection(int n, int which, double* q) {
  double v[N], size = 0;
  for (int i = 0; i < n; i++) v[i] = 1 + (i * which) % 5, size += v[i] * v[i];
  for (int j = 0; j < n; j++) {
    for (int i = 0; i < n; i++) q[j * n + i] = (i == j) - 2 * v[i] * v[j] / size;
  }
}

// Singular values over twelve decades, each accurate by itself.
static void graded_singular_values(void** state) {
  (void)state;
  double u[N * N], d[N * N] = {0}, a[N * N], v[N * N], sigma[N];
  reflection(N, 2, u);
  for (int i = 0; i < N; i++) d[i * N + i] = pow(10, -(double)((5 * i) % N));
  cpli_multiply(N, N, N, u, d, a);  // its columns are orthogonal already, in any order
  cpli_singular_values(N, N, a, v, sigma);
  for (int i = 0; i < N; i++) CHECK_NEAR(sigma[i] * pow(10, i), 1, 1e-12);
  double w[N * N], product[N * N];
  reflection(N, 3, w);
  cpli_multiply(N, N, N, u, d, a);
  cpli_multiply(N, N, N, a, w, product);
  memcpy(a, product, sizeof a);
  cpli_singular_values(N, N, a, v, sigma);
  for (int i = 0; i < N; i++) CHECK_NEAR(sigma[i], pow(10, -i), 1e-15 * N);
  // a v' is the original
  double turned[N * N];
  cpli_transpose(N, N, v, turned);
  cpli_multiply(N, N, N, a, turned, w);
  for (int i = 0; i < N * N; i++) CHECK_NEAR(w[i], product[i], 1e-14);
}

static void wide_and_zero_matrices(void** state) {
  (void)state;
  double a[2 * 3] = {3, 0, 0, 4, 0, 0}, v[9], sigma[3], zero[4] = {0}, two[4];
  cpli_singular_values(2, 3, a, v, sigma);
  CHECK_NEAR(sigma[0], 4, 0);
  CHECK_NEAR(sigma[1], 3, 0);
  CHECK_NEAR(sigma[2], 0, 0);
  cpli_singular_values(2, 2, zero, two, sigma);
  CHECK_NEAR(sigma[0], 0, 0);
}

static void bases(void** state) {
  (void)state;
  // columns: e1 + e2, 2 (e1 + e2), 1e-9 e3
  double a[9] = {1, 1, 0, 2, 2, 0, 0, 0, 1e-9}, copy[9], q[9], r[9], product[9];
  memcpy(copy, a, sizeof a);
  CHECK_INT(cpli_basis(3, 3, copy, 1e-6, 3, q, NULL), 1);
  CHECK_NEAR(fabs(q[0]), sqrt(0.5), 1e-15);
  memcpy(copy, a, sizeof a);
  memset(r, 0, sizeof r);
  CHECK_INT(cpli_basis(3, 3, copy, 1e-12, 3, q, r), 2);
  cpli_multiply(3, 2, 3, q, (double[]){r[0], r[1], r[3], r[4], r[6], r[7]}, product);
  for (int i = 0; i < 9; i++) CHECK_NEAR(product[i], a[i], 1e-15);
  memset(copy, 0, sizeof copy);
  CHECK_INT(cpli_basis(3, 3, copy, 1e-12, 3, q, r), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(graded_singular_values),
      cmocka_unit_test(wide_and_zero_matrices),
      cmocka_unit_test(bases),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
