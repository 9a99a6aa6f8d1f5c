// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// One-sided Jacobi rotations: columns are rotated in pairs until all are orthogonal.
#include "numeric/singular.h"

#include <math.h>

enum { MAX_SWEEPS = 60 };

static double product(size_t m, const double* a, const double* b) {
  double sum = 0;
  for (size_t i = 0; i < m; i++) sum += a[i] * b[i];
  return sum;
}

static void rotate(size_t m, double* a, double* b, double c, double s) {
  for (size_t i = 0; i < m; i++) {
    const double x = a[i], y = b[i];
    a[i] = c * x - s * y;
    b[i] = s * x + c * y;
  }
}

// Returns whether the columns were not orthogonal.
static bool make_orthogonal(size_t m, size_t n, double* a, double* b, double* va, double* vb) {
  const double aa = product(m, a, a), bb = product(m, b, b), ab = product(m, a, b);
  if (!(fabs(ab) > 1e-15 * sqrt(aa) * sqrt(bb))) return false;
  const double z = (bb - aa) / (2 * ab);
  const double t = (z >= 0 ? 1 : -1) / (fabs(z) + sqrt(1 + z * z)), c = 1 / sqrt(1 + t * t);
  rotate(m, a, b, c, c * t);
  rotate(n, va, vb, c, c * t);
  return true;
}

static void swap(size_t n, double* a, double* b) {
  for (size_t i = 0; i < n; i++) {
    const double x = a[i];
    a[i] = b[i];
    b[i] = x;
  }
}

void cpli_singular_values(size_t m, size_t n, double* a, double* s, double* v) {
  for (size_t i = 0; i < n * n; i++) v[i] = i % (n + 1) == 0 ? 1 : 0;
  bool changed = n > 1;
  for (int sweep = 0; changed && sweep < MAX_SWEEPS; sweep++) {
    changed = false;
    for (size_t i = 0; i + 1 < n; i++)
      for (size_t k = i + 1; k < n; k++)
        changed |= make_orthogonal(m, n, a + i * m, a + k * m, v + i * n, v + k * n);
  }
  for (size_t i = 0; i < n; i++) s[i] = sqrt(product(m, a + i * m, a + i * m));
  for (size_t i = 0; i < n; i++) {
    size_t largest = i;
    for (size_t k = i + 1; k < n; k++)
      if (s[k] > s[largest]) largest = k;
    if (largest == i) continue;
    swap(1, &s[i], &s[largest]);
    swap(m, a + i * m, a + largest * m);
    swap(n, v + i * n, v + largest * n);
  }
}
