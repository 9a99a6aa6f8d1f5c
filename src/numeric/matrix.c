// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Gram-Schmidt orthogonalisation, each column twice, and the one-sided Jacobi method.
#include "numeric/matrix.h"

#include <float.h>
#include <math.h>

void cpli_multiply(int32_t n, int32_t k, int32_t m, const double* a, const double* b, double* c) {
  size_t rows = (size_t)n, inner = (size_t)k;
  for (size_t j = 0; j < (size_t)m; j++) {
    double* to = c + j * rows;
    for (size_t i = 0; i < rows; i++) to[i] = 0;
    for (size_t l = 0; l < inner; l++) {
      const double *from = a + l * rows, times = b[j * inner + l];
      if (times == 0) continue;
      for (size_t i = 0; i < rows; i++) to[i] += from[i] * times;
    }
  }
}

void cpli_transpose(int32_t n, int32_t m, const double* a, double* b) {
  for (size_t j = 0; j < (size_t)m; j++) {
    for (size_t i = 0; i < (size_t)n; i++) b[i * (size_t)m + j] = a[j * (size_t)n + i];
  }
}

static double dot(const double* x, const double* y, size_t n) {
  double sum = 0;
  for (size_t i = 0; i < n; i++) sum += x[i] * y[i];
  return sum;
}

// Removes the component of v along the unit vector q and returns its length.
static double remove_along(const double* q, double* v, size_t n) {
  double share = dot(q, v, n);
  for (size_t i = 0; i < n; i++) v[i] -= share * q[i];
  return share;
}

int32_t cpli_basis(int32_t n, int32_t m, double* a, double tolerance, int32_t most, double* q,
                   double* r) {
  size_t rows = (size_t)n, columns = (size_t)m;
  double first = 0;
  for (int32_t rank = 0;; rank++) {
    size_t best = 0;
    double largest = -1;
    if (rank == most || rank == n) return rank;
    for (size_t j = 0; j < columns; j++) {
      double size = dot(a + j * rows, a + j * rows, rows);
      if (size > largest) largest = size, best = j;
    }
    largest = largest > 0 ? sqrt(largest) : 0;
    if (rank == 0) first = largest;
    if (!(largest > tolerance * first)) return rank;
    double* unit = q + (size_t)rank * rows;
    memcpy(unit, a + best * rows, rows * sizeof *unit);
    for (int pass = 0; pass < 2; pass++) {
      double size = sqrt(dot(unit, unit, rows));
      for (size_t i = 0; i < rows; i++) unit[i] /= size;
      for (int32_t k = 0; k < rank; k++) remove_along(q + (size_t)k * rows, unit, rows);
    }
    double size = sqrt(dot(unit, unit, rows));
    for (size_t i = 0; i < rows; i++) unit[i] /= size;
    for (size_t j = 0; j < columns; j++) {
      double share = remove_along(unit, a + j * rows, rows);
      if (r != NULL) r[j * (size_t)most + (size_t)rank] = share;
    }
  }
}

// The rotation that makes columns x and y orthogonal; false: they are.
static bool rotation(const double* x, const double* y, size_t n, double* c, double* s) {
  double xx = dot(x, x, n), yy = dot(y, y, n), xy = dot(x, y, n);
  if (!(fabs(xy) > (double)n * DBL_EPSILON * sqrt(xx) * sqrt(yy))) return false;
  double zeta = (yy - xx) / (2 * xy);
  double t = copysign(1, zeta) / (fabs(zeta) + hypot(1, zeta));
  *c = 1 / hypot(1, t);
  *s = *c * t;
  return true;
}

static void rotate(double* x, double* y, size_t n, double c, double s) {
  for (size_t i = 0; i < n; i++) {
    double before = x[i];
    x[i] = c * before - s * y[i];
    y[i] = s * before + c * y[i];
  }
}

static void exchange(double* x, double* y, size_t n) {
  for (size_t i = 0; i < n; i++) {
    double before = x[i];
    x[i] = y[i];
    y[i] = before;
  }
}

void cpli_singular_values(int32_t n, int32_t m, double* a, double* v, double* sigma) {
  enum { MAX_SWEEPS = 60 };
  size_t rows = (size_t)n, columns = (size_t)m;
  for (size_t j = 0; j < columns; j++) {
    for (size_t i = 0; i < columns; i++) v[j * columns + i] = i == j;
  }
  bool rotated = true;
  for (int sweep = 0; rotated && sweep < MAX_SWEEPS; sweep++) {
    rotated = false;
    for (size_t i = 0; i < columns; i++) {
      for (size_t j = i + 1; j < columns; j++) {
        double c, s, *x = a + i * rows, *y = a + j * rows;
        if (!rotation(x, y, rows, &c, &s)) continue;
        rotate(x, y, rows, c, s);
        rotate(v + i * columns, v + j * columns, columns, c, s);
        rotated = true;
      }
    }
  }
  for (size_t j = 0; j < columns; j++) sigma[j] = sqrt(dot(a + j * rows, a + j * rows, rows));
  for (size_t j = 0; j < columns; j++) {
    size_t best = j;
    for (size_t k = j + 1; k < columns; k++) {
      if (sigma[k] > sigma[best]) best = k;
    }
    if (best == j) continue;
    exchange(a + j * rows, a + best * rows, rows);
    exchange(v + j * columns, v + best * columns, columns);
    exchange(sigma + j, sigma + best, 1);
  }
}
