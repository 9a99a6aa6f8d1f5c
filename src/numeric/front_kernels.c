// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Each kernel is compiled twice from one text where there are processors with AVX2.
#include "numeric/front_kernels.h"

#include <stddef.h>

enum { BLOCK = 16, WIDE = 4 };  // pivots per block, numbers per vector

// Four numbers at any address of numbers.
typedef double four __attribute__((vector_size(32), aligned(8), may_alias));

#define INLINE static inline __attribute__((always_inline))

//------------------------------------ elimination ------------------------------------

// Rows begin to end of column y minus u times those of column x.
INLINE void subtract_column(double* y, const double* x, double u, int32_t begin, int32_t end) {
  int32_t i = begin;
  for (; i + WIDE <= end; i += WIDE) *(four*)(y + i) -= *(const four*)(x + i) * u;
  for (; i < end; i++) y[i] -= x[i] * u;
}

// Columns from to to - 1 of L and U; rows down to the last one.
INLINE void panel(double* a, int32_t s, int32_t from, int32_t to) {
  for (int32_t j = from; j < to; j++) {
    double *x = a + (ptrdiff_t)j * s, inverse = 1 / x[j];
    for (int32_t i = j + 1; i < s; i++) x[i] *= inverse;
    for (int32_t c = j + 1; c < to; c++) {
      double* y = a + (ptrdiff_t)c * s;
      subtract_column(y, x, y[j], j + 1, s);
    }
  }
}

// Four columns of the rest at once: u has the multipliers, four for each of n columns x of L.
INLINE void update_four(double* c, const double* x, const double* u, int32_t s, int32_t begin,
                        int32_t n) {
  double *c0 = c, *c1 = c + s, *c2 = c1 + s, *c3 = c2 + s;
  int32_t i = begin;
  for (; i + 2 * WIDE <= s; i += 2 * WIDE) {
    four a0 = *(four*)(c0 + i), a1 = *(four*)(c1 + i), a2 = *(four*)(c2 + i), a3 = *(four*)(c3 + i);
    four b0 = *(four*)(c0 + i + WIDE), b1 = *(four*)(c1 + i + WIDE);
    four b2 = *(four*)(c2 + i + WIDE), b3 = *(four*)(c3 + i + WIDE);
    for (int32_t k = 0; k < n; k++) {
      const double *l = x + (ptrdiff_t)k * s + i, *v = u + WIDE * k;
      const four l0 = *(const four*)l, l1 = *(const four*)(l + WIDE);
      a0 -= l0 * v[0], a1 -= l0 * v[1], a2 -= l0 * v[2], a3 -= l0 * v[3];
      b0 -= l1 * v[0], b1 -= l1 * v[1], b2 -= l1 * v[2], b3 -= l1 * v[3];
    }
    *(four*)(c0 + i) = a0, *(four*)(c1 + i) = a1, *(four*)(c2 + i) = a2, *(four*)(c3 + i) = a3;
    *(four*)(c0 + i + WIDE) = b0, *(four*)(c1 + i + WIDE) = b1;
    *(four*)(c2 + i + WIDE) = b2, *(four*)(c3 + i + WIDE) = b3;
  }
  for (; i < s; i++) {
    four a = {c0[i], c1[i], c2[i], c3[i]};
    for (int32_t k = 0; k < n; k++) a -= x[(ptrdiff_t)k * s + i] * *(const four*)(u + WIDE * k);
    c0[i] = a[0], c1[i] = a[1], c2[i] = a[2], c3[i] = a[3];
  }
}

// Rows from to to - 1 of U in column c.
INLINE void upper(double* c, const double* a, int32_t s, int32_t from, int32_t to) {
  for (int32_t j = from; j < to; j++) {
    const double *x = a + (ptrdiff_t)j * s, u = c[j];
    for (int32_t i = j + 1; i < to; i++) c[i] -= x[i] * u;
  }
}

INLINE void eliminate(double* a, int32_t s, int32_t n) {
  double u[BLOCK * WIDE];
  for (int32_t from = 0; from < n; from += BLOCK) {
    const int32_t to = n - from < BLOCK ? n : from + BLOCK;
    const double* x = a + (ptrdiff_t)from * s;
    panel(a, s, from, to);
    int32_t c = to;
    for (; c + WIDE <= s; c += WIDE) {
      double* y = a + (ptrdiff_t)c * s;
      for (int32_t k = 0; k < WIDE; k++) upper(y + (ptrdiff_t)k * s, a, s, from, to);
      for (int32_t k = 0; k < WIDE; k++)
        for (int32_t j = from; j < to; j++) u[WIDE * (j - from) + k] = y[(ptrdiff_t)k * s + j];
      update_four(y, x, u, s, to, to - from);
    }
    for (; c < s; c++) {
      double* y = a + (ptrdiff_t)c * s;
      upper(y, a, s, from, to);
      for (int32_t j = from; j < to; j++) subtract_column(y, a + (ptrdiff_t)j * s, y[j], to, s);
    }
  }
}

//------------------------------------ solution ------------------------------------

INLINE void subtract(double* y, const double* a, const double* x, int32_t rows, int32_t n) {
  int32_t k = 0;
  for (; k + WIDE <= n; k += WIDE) {
    const double *a0 = a + (ptrdiff_t)k * rows, *a1 = a0 + rows, *a2 = a1 + rows, *a3 = a2 + rows;
    const double x0 = x[k], x1 = x[k + 1], x2 = x[k + 2], x3 = x[k + 3];
    int32_t i = 0;
    for (; i + WIDE <= rows; i += WIDE)
      *(four*)(y + i) = *(four*)(y + i) - *(const four*)(a0 + i) * x0 -
                        *(const four*)(a1 + i) * x1 - *(const four*)(a2 + i) * x2 -
                        *(const four*)(a3 + i) * x3;
    for (; i < rows; i++) y[i] = y[i] - a0[i] * x0 - a1[i] * x1 - a2[i] * x2 - a3[i] * x3;
  }
  for (; k < n; k++) subtract_column(y, a + (ptrdiff_t)k * rows, x[k], 0, rows);
}

INLINE void subtract_transposed(double* y, const double* a, const double* x, int32_t rows,
                                int32_t n) {
  for (int32_t k = 0; k < n; k++) {
    const double* c = a + (ptrdiff_t)k * rows;
    four sum = {0, 0, 0, 0};
    int32_t i = 0;
    for (; i + WIDE <= rows; i += WIDE) sum += *(const four*)(c + i) * *(const four*)(x + i);
    double all = (sum[0] + sum[1]) + (sum[2] + sum[3]);
    for (; i < rows; i++) all += c[i] * x[i];
    y[k] -= all;
  }
}

//------------------------------------ versions ------------------------------------

#define VERSION(name, TARGET)                                                                     \
  TARGET static void eliminate_##name(double* a, int32_t s, int32_t n) { eliminate(a, s, n); }    \
  TARGET static void subtract_##name(double* y, const double* a, const double* x, int32_t rows,   \
                                     int32_t n) {                                                 \
    subtract(y, a, x, rows, n);                                                                   \
  }                                                                                               \
  TARGET static void transposed_##name(double* y, const double* a, const double* x, int32_t rows, \
                                       int32_t n) {                                               \
    subtract_transposed(y, a, x, rows, n);                                                        \
  }                                                                                               \
  static const cpli_front_kernels name = {                                                        \
      .eliminate = eliminate_##name,                                                              \
      .subtract = subtract_##name,                                                                \
      .subtract_transposed = transposed_##name,                                                   \
  };

VERSION(plain, )

const cpli_front_kernels* cpli_front_kernels_plain(void) { return &plain; }

#ifdef __x86_64__

VERSION(avx2, __attribute__((target("avx2"))))

const cpli_front_kernels* cpli_front_kernels_find(void) {
  return __builtin_cpu_supports("avx2") ? &avx2 : &plain;
}

#else

const cpli_front_kernels* cpli_front_kernels_find(void) { return &plain; }

#endif
