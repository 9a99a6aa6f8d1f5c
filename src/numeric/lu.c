// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Left-looking LU, column by column, and equilibration with powers of two (D. Ruiz).
#include "numeric/lu.h"

#include <assert.h>
#include <float.h>
#include <math.h>

static inline double larger(double a, double b) { return a > b ? a : b; }

// Four at a time do not wait for each other. NaN counts as nothing.
static double largest_of(const double* column, int32_t n) {
  double max[4] = {0, 0, 0, 0};
  int32_t i = 0;
  for (; i + 4 <= n; i += 4) {
    for (int32_t k = 0; k < 4; k++) max[k] = larger(fabs(column[i + k]), max[k]);
  }
  for (; i < n; i++) max[0] = larger(fabs(column[i]), max[0]);
  return larger(larger(max[0], max[1]), larger(max[2], max[3]));
}

// The inner loops of both functions, written for vectorisation. Two columns at a time need half the
// loads and stores; the operations on each element and their order are those of one after the
// other.
static inline void subtract(double* restrict to, const double* restrict from, double times,
                            int32_t first, int32_t end) {
  for (int32_t i = first; i < end; i++) to[i] -= from[i] * times;
}

static inline void subtract_two(double* restrict to, const double* restrict from, double times,
                                const double* restrict then, double times_then, int32_t first,
                                int32_t end) {
  for (int32_t i = first; i < end; i++) to[i] = to[i] - from[i] * times - then[i] * times_then;
}

// Applies the finished columns before column k to it; those of uncoupled models have a zero there.
static void apply_finished(const double* m, double* column, int32_t k, int32_t n) {
  for (int32_t j = 0; j < k;) {
    const double* before = m + (size_t)j * (size_t)n;
    const double top = column[j++];
    if (top == 0) continue;
    const double next = j < k ? column[j] - before[j] * top : 0;
    if (next == 0) {
      subtract(column, before, top, j, n);
      continue;
    }
    column[j++] = next;
    subtract_two(column, before, top, before + n, next, j, n);
  }
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
    apply_finished(m, column, k, n);
    int32_t best = k;
    double most = fabs(column[k]);
    for (int32_t i = k + 1; i < n; i++) {
      if (fabs(column[i]) > most) best = i, most = fabs(column[i]);
    }
    if (!(most > 16 * DBL_EPSILON * fmax(size, DBL_MIN))) return k;
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
  for (int32_t k = 0; k + 1 < n; k += 2) {
    const double* column = m + (size_t)k * (size_t)n;
    b[k + 1] -= column[k + 1] * b[k];
    subtract_two(b, column, b[k], column + n, b[k + 1], k + 2, n);
  }
  for (int32_t k = n - 1; k > 0; k -= 2) {
    const double* column = m + (size_t)k * (size_t)n;
    b[k] /= column[k];
    b[k - 1] = (b[k - 1] - column[k - 1] * b[k]) / column[k - 1 - n];
    subtract_two(b, column, b[k], column - n, b[k - 1], 0, k - 1);
  }
  if (n % 2 == 1) b[0] /= m[0];
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
