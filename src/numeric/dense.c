// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Power iteration with a matrix without negative entries: the largest ratio of two successive
// vectors is an upper bound of the spectral radius (L. Collatz, H. Wielandt).
#include "numeric/dense.h"

#include <math.h>

static void multiply(const double* m, int32_t n, const double* v, double* out) {
  for (int32_t i = 0; i < n; i++) out[i] = 0;
  for (int32_t j = 0; j < n; j++) {
    for (int32_t i = 0; i < n; i++) out[i] += m[(size_t)j * (size_t)n + (size_t)i] * v[j];
  }
}

// Powers of a matrix without negative entries: the ratio of two consecutive vectors bounds the
// radius from above and converges to it. Near a singular matrix the first ratio is sufficient.
double cpli_lu_growth(const double* m, const int32_t* pivot, int32_t n, const double* sizes,
                      const double* nominal, double* work) {
  enum { POWERS = 4 };
  size_t size = (size_t)n;
  double *inverse = work, *v = work + size * size, *product = v + size, *next = product + size;
  for (int32_t j = 0; j < n; j++) {
    double* column = inverse + (size_t)j * size;
    for (int32_t i = 0; i < n; i++) column[i] = i == j;
    cpli_lu_solve(m, pivot, n, column);
    for (int32_t i = 0; i < n; i++) column[i] = fabs(column[i]);
  }
  double ratio = 0;
  for (int32_t i = 0; i < n; i++) v[i] = nominal[i];
  for (int power = 0; power < POWERS; power++) {
    double largest = 0;
    ratio = 0;
    multiply(sizes, n, v, product);
    multiply(inverse, n, product, next);
    for (int32_t i = 0; i < n; i++) {
      if (!(next[i] < INFINITY)) return INFINITY;
      if (v[i] > 0) ratio = fmax(ratio, next[i] / v[i]);
      largest = fmax(largest, next[i]);
    }
    for (int32_t i = 0; i < n; i++) v[i] = largest > 0 ? next[i] / largest : 0;
  }
  return ratio;
}
