// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Transmission zeros of systems with known ones.
#include "numeric/zeros.h"

#include "testing.h"

static cpl_context* ctx;
enum { MAX = 30 };

typedef struct answer {
  int32_t rank, n;
  double re[MAX], im[MAX];
} answer;

static answer zeros(int n, int m, int p, const double* a, const double* b, const double* c,
                    const double* d) {
  answer out = {0};
  CHECK_OK(ctx, cpli_zeros(ctx, n, m, p, a, b, c, d, &out.rank, &out.n, out.re, out.im));
  return out;
}

static void check_has(const answer* z, double re, double im, double tolerance) {
  double best = INFINITY;
  for (int i = 0; i < z->n; i++) best = fmin(best, hypot(z->re[i] - re, z->im[i] - im));
  CHECK_NEAR(best, 0, tolerance);
}

// The controller form of (s^n + ...) with a numerator: its zeros are the roots of the numerator.
static answer of_numerator(int n, const double* numerator, const double* scale) {
  double a[MAX * MAX] = {0}, b[MAX] = {0}, d = 0, c[MAX];
  for (int i = 0; i + 1 < n; i++) a[(i + 1) * n + i] = scale[i] / scale[i + 1];
  for (int i = 0; i < n; i++) {
    a[i * n + n - 1] = -(i + 1.0) * scale[n - 1] / scale[i];
    c[i] = numerator[i] / scale[i];
  }
  b[n - 1] = scale[n - 1];
  return zeros(n, 1, 1, a, b, c, &d);
}

static void numerators_have_their_roots(void** state) {
  (void)state;
  static const double ones[6] = {1, 1, 1, 1, 1, 1}, units[6] = {1, 1e6, 1e-3, 1e3, 1e-6, 1};
  static const double constant[5] = {3}, line[5] = {2, 1}, square[5] = {5, 2, 1};
  static const double cubic[5] = {-6, 11, -6, 1};
  const double* scales[] = {ones, units};
  for (int k = 0; k < 2; k++) {
    answer z = of_numerator(5, constant, scales[k]);
    CHECK_INT(z.n, 0);
    CHECK_INT(z.rank, 1);
    z = of_numerator(5, line, scales[k]);
    CHECK_INT(z.n, 1);
    check_has(&z, -2, 0, 1e-10);
    z = of_numerator(5, square, scales[k]);
    CHECK_INT(z.n, 2);
    check_has(&z, -1, 2, 1e-10);
    check_has(&z, -1, -2, 1e-10);
    z = of_numerator(5, cubic, scales[k]);
    CHECK_INT(z.n, 3);
    for (int root = 1; root <= 3; root++) check_has(&z, root, 0, 1e-9);
  }
}

static void direct_feed_through_gives_as_many_zeros_as_poles(void** state) {
  (void)state;
  // (s + 3) (s + 4) / ((s + 1) (s + 2)) = 1 + (4 s + 10) / (s^2 + 3 s + 2)
  const double a[] = {0, -2, 1, -3}, b[] = {0, 1}, c[] = {10, 4}, d[] = {1};
  answer z = zeros(2, 1, 1, a, b, c, d);
  CHECK_INT(z.n, 2);
  check_has(&z, -3, 0, 1e-12);
  check_has(&z, -4, 0, 1e-12);
}

static void several_inputs_and_outputs(void** state) {
  (void)state;
  // [1/(s+1), 2/(s+3); 1/(s+1), 1/(s+1)]: a zero at 1
  const double a[] = {-1, 0, 0, 0, -3, 0, 0, 0, -1};
  const double b[] = {1, 0, 0, 0, 1, 1};
  const double c[] = {1, 1, 2, 0, 0, 1}, d[] = {0, 0, 0, 0};
  answer z = zeros(3, 2, 2, a, b, c, d);
  CHECK_INT(z.rank, 2);
  CHECK_INT(z.n, 1);
  check_has(&z, 1, 0, 1e-11);
  // one input, two outputs without a common zero: none
  const double b1[] = {1, 1, 0}, c1[] = {1, 0, 0, 1, 0, 0}, d1[] = {0, 0};
  z = zeros(2, 1, 2, (double[]){-1, 0, 0, -3}, b1, c1, d1);
  CHECK_INT(z.rank, 1);
  CHECK_INT(z.n, 0);
}

static void what_neither_inputs_nor_outputs_reach_is_a_zero(void** state) {
  (void)state;
  // the second state is not reached, the third not seen
  const double a[] = {-1, 0, 1, 1, -7, 0, 0, 0, -9}, b[] = {1, 0, 0}, c[] = {1, 0, 0}, d[] = {0};
  answer z = zeros(3, 1, 1, a, b, c, d);
  CHECK_INT(z.n, 2);
  check_has(&z, -7, 0, 1e-11);
  check_has(&z, -9, 0, 1e-11);
}

static void a_response_that_is_zero_has_no_rank(void** state) {
  (void)state;
  const double a[] = {-1, 0, 0, -2}, b[] = {1, 0}, c[] = {0, 1}, d[] = {0};
  answer z = zeros(2, 1, 1, a, b, c, d);
  CHECK_INT(z.rank, 0);
}

static void every_failed_allocation_is_survived(void** state) {
  (void)state;
  const double one = 1;
  for (long n = 0;; n++) {
    test_heap heap = {.fail_at = n};
    cpl_context* other = test_context_with_heap(&heap);
    if (other == NULL) continue;
    int32_t rank, count;
    double re, im;
    cpl_status st = cpli_zeros(other, 1, 1, 1, &one, &one, &one, &one, &rank, &count, &re, &im);
    cpl_context_destroy(other);
    CHECK_INT(heap.live, 0);
    if (st >= 0) break;
    CHECK_INT(st, CPL_ERR_NOMEM);
  }
}

int main(void) {
  ctx = cpl_context_create(NULL);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(numerators_have_their_roots),
      cmocka_unit_test(direct_feed_through_gives_as_many_zeros_as_poles),
      cmocka_unit_test(several_inputs_and_outputs),
      cmocka_unit_test(what_neither_inputs_nor_outputs_reach_is_a_zero),
      cmocka_unit_test(a_response_that_is_zero_has_no_rank),
      cmocka_unit_test(every_failed_allocation_is_survived),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  cpl_context_destroy(ctx);
  return failed;
}
