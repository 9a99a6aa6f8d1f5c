// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Right-looking elimination, column by column; the size of a pivot is |re| + |im|.
#include "numeric/complex_lu.h"

#include <assert.h>
#include <math.h>

static void swap_entries(double* x, size_t i, size_t j) {
  double kept = x[i];
  x[i] = x[j];
  x[j] = kept;
}

static double size_of(double re, double im) { return fabs(re) + fabs(im); }

static void divide(double* re, double* im, double d_re, double d_im) {
  double square = d_re * d_re + d_im * d_im, kept = *re;
  *re = (kept * d_re + *im * d_im) / square;
  *im = (*im * d_re - kept * d_im) / square;
}

// to[i] -= f * from[i] for i from `first` to n - 1
static void subtract(size_t first, size_t n, double f_re, double f_im, const double* from_re,
                     const double* from_im, double* to_re, double* to_im) {
  for (size_t i = first; i < n; i++) {
    to_re[i] -= f_re * from_re[i] - f_im * from_im[i];
    to_im[i] -= f_re * from_im[i] + f_im * from_re[i];
  }
}

bool cpli_clu_factor(size_t n, double* re, double* im, size_t* pivot) {
  for (size_t k = 0; k < n; k++) {
    double *c_re = re + k * n, *c_im = im + k * n;
    size_t best = k;
    for (size_t i = k + 1; i < n; i++) {
      if (size_of(c_re[i], c_im[i]) > size_of(c_re[best], c_im[best])) best = i;
    }
    pivot[k] = best;
    double size = size_of(c_re[best], c_im[best]);
    if (!(size > 0) || isinf(size)) return false;
    for (size_t j = 0; best != k && j < n; j++) {
      swap_entries(re + j * n, k, best);
      swap_entries(im + j * n, k, best);
    }
    for (size_t i = k + 1; i < n; i++) divide(&c_re[i], &c_im[i], c_re[k], c_im[k]);
    for (size_t j = k + 1; j < n; j++)
      subtract(k + 1, n, re[j * n + k], im[j * n + k], c_re, c_im, re + j * n, im + j * n);
  }
  return true;
}

void cpli_clu_solve(size_t n, const double* re, const double* im, const size_t* pivot, double* b_re,
                    double* b_im) {
  for (size_t k = 0; k < n; k++) {
    assert(pivot[k] >= k && pivot[k] < n);
    swap_entries(b_re, k, pivot[k]);
    swap_entries(b_im, k, pivot[k]);
  }
  for (size_t k = 0; k < n; k++)
    subtract(k + 1, n, b_re[k], b_im[k], re + k * n, im + k * n, b_re, b_im);
  for (size_t k = n; k-- > 0;) {
    divide(&b_re[k], &b_im[k], re[k * n + k], im[k * n + k]);
    subtract(0, k, b_re[k], b_im[k], re + k * n, im + k * n, b_re, b_im);
  }
}
