// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Left-looking LU, column by column, and equilibration with powers of two (D. Ruiz).
#include "numeric/lu.h"

#include <assert.h>
#include <float.h>
#include <math.h>

static double largest_of(const double* column, int32_t n) {
  double max = 0;
  for (int32_t i = 0; i < n; i++) {
    double size = fabs(column[i]);
    if (!(size <= max)) max = size;  // also when it is NaN
  }
  return max;
}

// The inner loop of both functions, written for vectorisation.
static inline void subtract(double* restrict to, const double* restrict from, double times,
                            int32_t first, int32_t end) {
  for (int32_t i = first; i < end; i++) to[i] -= from[i] * times;
}

int32_t cpli_lu_factor(double* m, int32_t* pivot, int32_t n) {
  int32_t exchanged = 0;  // one past the last column that exchanged rows
  for (int32_t k = 0; k < n; k++) {
    double* column = m + (size_t)k * (size_t)n;
    double size = largest_of(column, n);
    // apply the columns before it to this column: all row exchanges first, since the finished
    // columns have them all
    for (int32_t j = 0; j < exchanged; j++) {
      double top = column[pivot[j]];
      column[pivot[j]] = column[j];
      column[j] = top;
    }
    for (int32_t j = 0; j < k; j++) {
      const double* before = m + (size_t)j * (size_t)n;
      double top = column[j];
      if (top == 0) continue;  // blocks of uncoupled models
      subtract(column, before, top, j + 1, n);
    }
    int32_t best = k;
    for (int32_t i = k + 1; i < n; i++) {
      if (fabs(column[i]) > fabs(column[best])) best = i;
    }
    if (!(fabs(column[best]) > 16 * DBL_EPSILON * fmax(size, DBL_MIN))) return k;
    pivot[k] = best;
    double top = column[best];
    column[best] = column[k];
    column[k] = top;
    for (int32_t i = k + 1; i < n; i++) column[i] /= top;
    if (best != k) exchanged = k + 1;
    for (int32_t j = 0; best != k && j < k; j++) {  // rows of the finished columns move with it
      double* before = m + (size_t)j * (size_t)n;
      double kept = before[best];
      before[best] = before[k];
      before[k] = kept;
    }
  }
  return -1;
}

void cpli_lu_solve(const double* m, const int32_t* pivot, int32_t n, double* b) {
  for (int32_t k = 0; k < n; k++) {
    assert(pivot[k] >= k && pivot[k] < n);  // the matrix was factorised
    double top = b[pivot[k]];
    b[pivot[k]] = b[k];
    b[k] = top;
  }
  for (int32_t k = 0; k < n; k++) {
    const double* column = m + (size_t)k * (size_t)n;
    subtract(b, column, b[k], k + 1, n);
  }
  for (int32_t k = n - 1; k >= 0; k--) {
    const double* column = m + (size_t)k * (size_t)n;
    b[k] /= column[k];
    subtract(b, column, b[k], 0, k);
  }
}

// The power of two closest to 1 / sqrt(size); 1 for size zero.
static double inverse_root(double size) {
  if (!(size > 0) || !isfinite(size)) return 1;
  return ldexp(1, -(int)floor(0.5 * ilogb(size) + 0.5));
}

// Rows and columns are repeatedly divided by the roots of their largest entries, which balances
// them (Ruiz): every pass halves the distance in exponents.
void cpli_lu_equilibrate(double* m, int32_t n, double* row, double* column) {
  enum { MAX_PASSES = 12 };
  for (int32_t i = 0; i < n; i++) row[i] = column[i] = 1;
  for (int pass = 0; pass < MAX_PASSES; pass++) {
    bool changed = false;
    for (int32_t i = 0; i < n; i++) {
      double size = 0;
      for (int32_t j = 0; j < n; j++) size = fmax(size, fabs(m[(size_t)j * (size_t)n + (size_t)i]));
      double factor = inverse_root(size);
      changed = changed || factor != 1;
      row[i] *= factor;
      for (int32_t j = 0; j < n && factor != 1; j++) m[(size_t)j * (size_t)n + (size_t)i] *= factor;
    }
    for (int32_t j = 0; j < n; j++) {
      double* entries = m + (size_t)j * (size_t)n;
      double factor = inverse_root(largest_of(entries, n));
      changed = changed || factor != 1;
      column[j] *= factor;
      for (int32_t i = 0; i < n && factor != 1; i++) entries[i] *= factor;
    }
    if (!changed) return;
  }
}
