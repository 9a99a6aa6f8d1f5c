// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// One matrix [A B; C D] is transformed in place: rows and columns of states that must stay zero
// become outputs of the rest.
#include "numeric/zeros.h"

#include <float.h>
#include <math.h>

#include "numeric/eigen.h"
#include "numeric/lu.h"

// [A B; C D] by columns, with `height` rows of memory: n states, m inputs, p outputs.
typedef struct compound {
  int32_t n, m, p;
  size_t height;
  double *at, *v;  // entries; scratch of a reflection
  double tolerance;
} compound;

static double* entry(const compound* s, int32_t row, int32_t column) {
  return s->at + (size_t)column * s->height + (size_t)row;
}

// Length of the column's part from row `from` to `end`.
static double norm(const compound* s, int32_t column, int32_t from, int32_t end) {
  double sum = 0;
  for (int32_t i = from; i < end; i++) sum += *entry(s, i, column) * *entry(s, i, column);
  return sqrt(sum);
}

static double row_norm(const compound* s, int32_t row, int32_t from, int32_t end) {
  double sum = 0;
  for (int32_t j = from; j < end; j++) sum += *entry(s, row, j) * *entry(s, row, j);
  return sqrt(sum);
}

// The reflection that maps v[from..end) to its first entry; false: it is zero already.
static bool make_reflection(double* v, int32_t from, int32_t end) {
  double sum = 0;
  for (int32_t i = from; i < end; i++) sum += v[i] * v[i];
  double size = sqrt(sum);
  if (size == 0) return false;
  v[from] += copysign(size, v[from]);
  sum = 0;
  for (int32_t i = from; i < end; i++) sum += v[i] * v[i];
  size = sqrt(sum / 2);
  for (int32_t i = from; i < end; i++) v[i] /= size;
  return true;
}

static void reflect_rows(const compound* s, int32_t from, int32_t end) {
  for (int32_t j = 0; j < s->n + s->m; j++) {
    double dot = 0;
    for (int32_t i = from; i < end; i++) dot += s->v[i] * *entry(s, i, j);
    for (int32_t i = from; i < end; i++) *entry(s, i, j) -= dot * s->v[i];
  }
}

static void reflect_columns(const compound* s, int32_t from, int32_t end) {
  for (int32_t i = 0; i < s->n + s->p; i++) {
    double dot = 0;
    for (int32_t j = from; j < end; j++) dot += s->v[j] * *entry(s, i, j);
    for (int32_t j = from; j < end; j++) *entry(s, i, j) -= dot * s->v[j];
  }
}

// Outputs are combined until D has its rank in its first rows and is zero below.
static int32_t compress_outputs(const compound* s) {
  int32_t rank = 0, end = s->n + s->p;
  for (; rank < s->p && rank < s->m; rank++) {
    int32_t best = s->n, first = s->n + rank;
    for (int32_t j = s->n; j < s->n + s->m; j++) {
      if (norm(s, j, first, end) > norm(s, best, first, end)) best = j;
    }
    if (norm(s, best, first, end) <= s->tolerance) break;
    for (int32_t i = first; i < end; i++) s->v[i] = *entry(s, i, best);
    if (make_reflection(s->v, first, end)) reflect_rows(s, first, end);
  }
  return rank;
}

// States are transformed until those that outputs from `first` on depend on come first. Returns
// their number.
static int32_t compress_states(const compound* s, int32_t first) {
  int32_t count = 0, end = s->n + s->p;
  for (; count < s->n && count < end - first; count++) {
    int32_t best = first;
    for (int32_t i = first; i < end; i++) {
      if (row_norm(s, i, count, s->n) > row_norm(s, best, count, s->n)) best = i;
    }
    if (row_norm(s, best, count, s->n) <= s->tolerance) break;
    for (int32_t j = count; j < s->n; j++) s->v[j] = *entry(s, best, j);
    if (!make_reflection(s->v, count, s->n)) break;
    reflect_columns(s, count, s->n);
    reflect_rows(s, count, s->n);
  }
  return count;
}

// The first `kill` states are zero: their equations become outputs, behind the first `rank` ones.
static void remove_states(compound* s, int32_t kill, int32_t rank, double* room) {
  int32_t n = s->n - kill, p = rank + kill, columns = n + s->m;
  size_t height = (size_t)(n + p);
  for (int32_t j = 0; j < columns; j++) {
    double* to = room + (size_t)j * height;
    for (int32_t i = 0; i < n; i++) to[i] = *entry(s, kill + i, kill + j);
    for (int32_t i = 0; i < rank; i++) to[n + i] = *entry(s, s->n + i, kill + j);
    for (int32_t i = 0; i < kill; i++) to[n + rank + i] = *entry(s, i, kill + j);
  }
  s->n = n, s->p = p;
  s->height = height;
  memcpy(s->at, room, height * (size_t)columns * sizeof *room);
}

// Until D has full row rank.
static void reduce(compound* s, double* room) {
  for (;;) {
    int32_t rank = compress_outputs(s);
    if (rank == s->p) return;
    int32_t kill = compress_states(s, s->n + rank);
    remove_states(s, kill, rank, room);
    if (kill == 0) return;
  }
}

static void transpose(compound* s, double* room) {
  int32_t rows = s->n + s->p, columns = s->n + s->m, p = s->p;
  for (int32_t j = 0; j < columns; j++) {
    for (int32_t i = 0; i < rows; i++)
      room[(size_t)i * (size_t)columns + (size_t)j] = *entry(s, i, j);
  }
  memcpy(s->at, room, (size_t)rows * (size_t)columns * sizeof *room);
  s->height = (size_t)columns;
  s->p = s->m, s->m = p;
}

// A - B D^-1 C, into room.
static bool eliminate(const compound* s, double* room, double* d, int32_t* pivot) {
  int32_t n = s->n, m = s->m;
  for (int32_t j = 0; j < m; j++) {
    for (int32_t i = 0; i < m; i++) d[(size_t)j * (size_t)m + (size_t)i] = *entry(s, n + i, n + j);
  }
  if (m > 0 && cpli_lu_factor(d, pivot, m) >= 0) return false;
  for (int32_t j = 0; j < n; j++) {
    for (int32_t i = 0; i < m; i++) s->v[i] = *entry(s, n + i, j);
    if (m > 0) cpli_lu_solve(d, pivot, m, s->v);
    for (int32_t i = 0; i < n; i++) {
      double sum = *entry(s, i, j);
      for (int32_t k = 0; k < m; k++) sum -= *entry(s, i, n + k) * s->v[k];
      room[(size_t)j * (size_t)n + (size_t)i] = sum;
    }
  }
  return true;
}

// Powers of two that make the row and the column of each state similar, then those of inputs and
// outputs; none of them moves a zero.
static void equilibrate(compound* s) {
  int32_t rows = s->n + s->p, columns = s->n + s->m;
  for (int pass = 0; pass < 20; pass++) {
    for (int32_t k = 0; k < s->n; k++) {
      double r = 0, c = 0;
      for (int32_t j = 0; j < columns; j++) r += j != k ? fabs(*entry(s, k, j)) : 0;
      for (int32_t i = 0; i < rows; i++) c += i != k ? fabs(*entry(s, i, k)) : 0;
      int power = r > 0 && c > 0 ? (int)lround(0.5 * log2(r / c)) : 0;
      for (int32_t j = 0; j < columns; j++) *entry(s, k, j) = ldexp(*entry(s, k, j), -power);
      for (int32_t i = 0; i < rows; i++) *entry(s, i, k) = ldexp(*entry(s, i, k), power);
    }
    for (int32_t i = s->n; i < rows; i++) {
      double size = row_norm(s, i, 0, columns);
      for (int32_t j = 0; j < columns && size > 0; j++)
        *entry(s, i, j) = ldexp(*entry(s, i, j), -ilogb(size));
    }
    for (int32_t j = s->n; j < columns; j++) {
      double size = norm(s, j, 0, rows);
      for (int32_t i = 0; i < rows && size > 0; i++)
        *entry(s, i, j) = ldexp(*entry(s, i, j), -ilogb(size));
    }
  }
}

static void fill(compound* s, const double* a, const double* b, const double* c, const double* d) {
  size_t n = (size_t)s->n, m = (size_t)s->m, p = (size_t)s->p;
  double most = 0;
  for (size_t j = 0; j < n + m; j++) {
    const double* top = j < n ? a + j * n : b + (j - n) * n;
    const double* bottom = j < n ? c + j * p : d + (j - n) * p;
    if (n > 0) memcpy(s->at + j * s->height, top, n * sizeof *a);
    if (p > 0) memcpy(s->at + j * s->height + n, bottom, p * sizeof *a);
  }
  equilibrate(s);
  for (size_t j = 0; j < n + m; j++) most = fmax(most, norm(s, (int32_t)j, 0, s->n + s->p));
  s->tolerance = 100 * DBL_EPSILON * (double)(n + m + p) * most;
}

cpl_status cpli_zeros(cpl_context* ctx, int32_t n, int32_t m, int32_t p, const double* a,
                      const double* b, const double* c, const double* d, int32_t* rank,
                      int32_t* count, double* re, double* im) {
  size_t side = (size_t)n + (size_t)m + (size_t)p + 1;
  compound s = {.n = n, .m = m, .p = p, .height = (size_t)n + (size_t)p};
  s.at = cpli_alloc(ctx, side * side, sizeof *s.at);
  double* room = cpli_alloc(ctx, 2 * side * side + side, sizeof *room);
  int32_t* pivot = cpli_alloc(ctx, side, sizeof *pivot);
  cpl_status st = s.at != NULL && room != NULL && pivot != NULL ? CPL_OK : cpli_nomem(ctx);
  *rank = *count = 0;
  if (st >= 0) {
    s.v = room + 2 * side * side;
    fill(&s, a, b, c, d);
    reduce(&s, room);
    transpose(&s, room);
    reduce(&s, room);
    bool square = s.m == s.p && eliminate(&s, room, room + side * side, pivot);
    if (!square || !cpli_eigenvalues(s.n, room, re, im))
      st = cpl_fail(ctx, CPL_ERR_MODEL,
                    "the zeros cannot be computed: the reduction of the system "
                    "does not converge");
    *rank = s.m;
    *count = s.n;
  }
  cpli_free(ctx, s.at);
  cpli_free(ctx, room);
  cpli_free(ctx, pivot);
  return st;
}
