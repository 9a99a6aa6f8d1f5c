// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Eigenvalues of matrices with known ones, dense and by Arnoldi's method.
#include "numeric/eigen.h"

#include "testing.h"

static cpl_context* ctx;

// The computed eigenvalue next to a known one is within the tolerance.
static void check_has(int n, const double* re, const double* im, double known_re, double known_im,
                      double tolerance) {
  double best = INFINITY;
  for (int i = 0; i < n; i++) best = fmin(best, hypot(re[i] - known_re, im[i] - known_im));
  CHECK_NEAR(best, 0, tolerance);
}

static void difference_matrices_have_cosines(void** state) {
  (void)state;
  enum { N = 80 };
  static double a[N * N], re[N], im[N];
  memset(a, 0, sizeof a);
  // the matrix with -2 on the diagonal and 1 beside it, every third unknown in other units
  for (int i = 0; i < N; i++) {
    a[i * N + i] = -2;
    if (i == 0) continue;
    double ratio = (i % 3 == 0 ? 1e6 : 1) / ((i - 1) % 3 == 0 ? 1e6 : 1);
    a[(i - 1) * N + i] = ratio, a[i * N + i - 1] = 1 / ratio;
  }
  CHECK(cpli_eigenvalues(N, a, re, im));
  for (int k = 1; k <= N; k++) check_has(N, re, im, -2 + 2 * cos(k * M_PI / (N + 1)), 0, 1e-11);
  for (int i = 0; i < N; i++) CHECK_NEAR(im[i], 0, 1e-11);
}

static void cyclic_shifts_have_roots_of_unity(void** state) {
  (void)state;
  for (int n = 1; n <= 40; n++) {
    double a[40 * 40] = {0}, re[40], im[40];
    for (int i = 0; i < n; i++) a[i * n + (i + 1) % n] = 1;
    CHECK(cpli_eigenvalues(n, a, re, im));
    for (int k = 0; k < n; k++)
      check_has(n, re, im, cos(2 * M_PI * k / n), sin(2 * M_PI * k / n), 1e-12);
  }
}

static void full_matrices_keep_trace_and_conjugates(void** state) {
  (void)state;
  enum { N = 120 };
  static double a[N * N], re[N], im[N];
  unsigned seed = 1;
  double trace = 0, sum = 0, odd = 0;
  for (int i = 0; i < N * N; i++) {
    seed = seed * 1664525u + 1013904223u;
    a[i] = (double)(seed >> 8) / (1 << 24) - 0.5;
  }
  for (int i = 0; i < N; i++) trace += a[i * N + i];
  CHECK(cpli_eigenvalues(N, a, re, im));
  for (int i = 0; i < N; i++) sum += re[i], odd += im[i];
  CHECK_NEAR(sum, trace, 1e-10);
  CHECK_NEAR(odd, 0, 1e-12);
  for (int i = 0; i < N; i++) {
    if (im[i] > 0) CHECK_NEAR(im[i + 1], -im[i], 0);
  }
}

static void known_vectors_are_found(void** state) {
  (void)state;
  // a block with -1 +- 3i and one with 2, turned by a similarity that is known
  const double a[9] = {-1, -3, 0, 3, -1, 0, 1, 1, 2};  // by columns
  double re[3], im[3], work[42], copy[9];
  size_t pivot[3];
  memcpy(copy, a, sizeof a);
  CHECK(cpli_eigenvalues(3, copy, re, im));
  check_has(3, re, im, -1, 3, 1e-13);
  check_has(3, re, im, 2, 0, 1e-13);
  for (int k = 0; k < 3; k++) {
    for (int left = 0; left < 2; left++) {
      double v_re[3], v_im[3];
      cpli_eigenvector(3, a, re[k], im[k], left == 1, v_re, v_im, work, pivot);
      for (int i = 0; i < 3; i++) {
        double x = -re[k] * v_re[i] + im[k] * v_im[i], y = -re[k] * v_im[i] - im[k] * v_re[i];
        for (int j = 0; j < 3; j++) {
          double entry = left ? a[i * 3 + j] : a[j * 3 + i];
          x += entry * v_re[j], y += entry * v_im[j];
        }
        CHECK_NEAR(hypot(x, y), 0, 1e-9);
      }
    }
  }
}

static void what_is_not_finite_is_refused(void** state) {
  (void)state;
  double a[4] = {1, 2, NAN, 4}, re[2], im[2];
  CHECK(!cpli_eigenvalues(2, a, re, im));
}

// The inverse of a band matrix: its largest eigenvalues are 1 / (2 - 2 cos), with a rotation added.
enum { LARGE = 500 };

static void inverse_of_band(void* user, const double* x, double* y) {
  double c[LARGE], d[LARGE];
  (void)user;
  // Thomas' algorithm for -1, 2, -1
  c[0] = -0.5, d[0] = x[0] / 2;
  for (int i = 1; i < LARGE; i++) {
    double m = 2 + c[i - 1];
    c[i] = -1 / m, d[i] = (x[i] + d[i - 1]) / m;
  }
  y[LARGE - 1] = d[LARGE - 1];
  for (int i = LARGE - 1; i-- > 0;) y[i] = d[i] - c[i] * y[i + 1];
}

static void arnoldi_finds_the_largest(void** state) {
  (void)state;
  cpli_operator op = {.n = LARGE, .apply = inverse_of_band};
  cpli_ritz r, again;
  CHECK_OK(ctx, cpli_arnoldi(ctx, &op, 8, &r));
  CHECK_OK(ctx, cpli_arnoldi(ctx, &op, 8, &again));
  CHECK_INT(r.n, 8);
  for (int k = 0; k < 8; k++) {
    double s = sin((k + 1) * M_PI / (2 * (LARGE + 1))), known = 1 / (4 * s * s);
    CHECK_NEAR(r.re[k] / known, 1, 1e-8);
    CHECK_NEAR(r.im[k], 0, 1e-8 * known);
    CHECK(r.re[k] == again.re[k]);
    double applied[LARGE];
    inverse_of_band(NULL, r.v_re + k * LARGE, applied);
    for (int i = 0; i < LARGE; i++)
      CHECK_NEAR(applied[i], known * r.v_re[k * LARGE + i], 1e-7 * known);
  }
  cpli_ritz_free(ctx, &r);
  cpli_ritz_free(ctx, &again);
}

static void rotate(void* user, const double* x, double* y) {
  (void)user;
  y[0] = -2 * x[1], y[1] = 2 * x[0], y[2] = x[2];
}

static void small_spaces_are_exhausted(void** state) {
  (void)state;
  cpli_operator op = {.n = 3, .apply = rotate};
  cpli_ritz r;
  CHECK_OK(ctx, cpli_arnoldi(ctx, &op, 10, &r));
  CHECK_INT(r.n, 3);
  check_has(r.n, r.re, r.im, 0, 2, 1e-12);
  check_has(r.n, r.re, r.im, 0, -2, 1e-12);
  check_has(r.n, r.re, r.im, 1, 0, 1e-12);
  cpli_ritz_free(ctx, &r);
}

int main(void) {
  ctx = cpl_context_create(NULL);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(difference_matrices_have_cosines),
      cmocka_unit_test(cyclic_shifts_have_roots_of_unity),
      cmocka_unit_test(full_matrices_keep_trace_and_conjugates),
      cmocka_unit_test(known_vectors_are_found),
      cmocka_unit_test(what_is_not_finite_is_refused),
      cmocka_unit_test(arnoldi_finds_the_largest),
      cmocka_unit_test(small_spaces_are_exhausted),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  cpl_context_destroy(ctx);
  return failed;
}
