// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Adds the diagonal to the pattern of J and fills in the real and the complex matrix;
// numeric/sparse.c factorises them.
#include "numeric/sparse_lu.h"

#include <assert.h>

#include "numeric/sparse.h"

struct cpli_sparse_lu {
  cpl_context* ctx;
  int32_t n;
  int32_t *first, *row;
  int32_t* from;        // entry of J; -1: a diagonal without one
  double *real, *pair;  // entries; of the complex matrix two numbers each
  double* b;            // 2 n
  cpli_sparse* factors;
};

#ifdef NDEBUG
#define check_entries(s, p) ((void)0)
#else
// sparse_lu invariants: 1 every column has its diagonal, once; 2 every entry of J is used once, in
// the order of its pattern.
static void check_entries(const cpli_sparse_lu* s, const cpli_pattern* p) {
  int32_t used = 0;
  for (int32_t j = 0; j < s->n; j++) {
    bool diagonal = false;
    for (int32_t k = s->first[j]; k < s->first[j + 1]; k++) {
      assert(s->from[k] == -1 ? s->row[k] == j : s->from[k] == used++);
      assert(s->from[k] == -1 || s->row[k] == p->row[s->from[k]]);
      diagonal = diagonal || s->row[k] == j;
    }
    assert(diagonal);
  }
  assert(used == p->n_entries);
}
#endif

static bool in_column(const cpli_pattern* p, int32_t column, int32_t row) {
  for (int32_t k = p->first[column]; k < p->first[column + 1]; k++) {
    if (p->row[k] == row) return true;
  }
  return false;
}

// Rows ascend in the pattern; the diagonal is inserted in order.
static void take_pattern(cpli_sparse_lu* s, const cpli_pattern* p) {
  int32_t n = 0;
  for (int32_t j = 0; j < p->n_columns; j++) {
    s->first[j] = n;
    bool placed = in_column(p, j, j);
    for (int32_t k = p->first[j]; k < p->first[j + 1]; k++) {
      if (!placed && p->row[k] > j) s->from[n] = -1, s->row[n++] = j, placed = true;
      s->from[n] = k;
      s->row[n++] = p->row[k];
    }
    if (!placed) s->from[n] = -1, s->row[n++] = j;
  }
  s->first[p->n_columns] = n;
  check_entries(s, p);
}

cpl_status cpli_sparse_lu_make(cpl_context* ctx, const cpli_pattern* pattern,
                               cpli_sparse_lu** out) {
  size_t n = (size_t)pattern->n_columns, max = (size_t)pattern->n_entries + n;
  assert(pattern->n_rows == pattern->n_columns);
  cpli_sparse_lu* s = *out = cpli_alloc(ctx, 1, sizeof *s);
  if (s == NULL) return cpli_nomem(ctx);
  s->ctx = ctx;
  s->n = (int32_t)n;
  s->first = cpli_alloc(ctx, n + 1, sizeof *s->first);
  s->row = cpli_alloc(ctx, 2 * max, sizeof *s->row);
  s->real = cpli_alloc(ctx, 3 * max, sizeof *s->real);
  s->b = cpli_alloc(ctx, 2 * n, sizeof *s->b);
  if (s->first == NULL || s->row == NULL || s->real == NULL || s->b == NULL) return cpli_nomem(ctx);
  s->from = s->row + max;
  s->pair = s->real + max;
  take_pattern(s, pattern);
  return cpli_sparse_make(ctx, s->n, s->first, s->row, false, &s->factors);
}

void cpli_sparse_lu_destroy(cpli_sparse_lu* s) {
  if (s == NULL) return;
  cpli_sparse_destroy(s->factors);
  void* all[] = {s->first, s->row, s->real, s->b};
  for (size_t i = 0; i < CPLI_COUNT(all); i++) cpli_free(s->ctx, all[i]);
  cpli_free(s->ctx, s);
}

static void fill(cpli_sparse_lu* s, const double* entries, double real, double re, double im) {
  for (int32_t j = 0; j < s->n; j++) {
    for (int32_t k = s->first[j]; k < s->first[j + 1]; k++) {
      double entry = s->from[k] >= 0 ? -entries[s->from[k]] : 0;
      bool diagonal = s->row[k] == j;
      s->real[k] = entry + (diagonal ? real : 0);
      s->pair[2 * k] = entry + (diagonal ? re : 0);
      s->pair[2 * k + 1] = diagonal ? im : 0;
    }
  }
}

bool cpli_sparse_lu_factor(cpli_sparse_lu* s, const double* entries, double real, double re,
                           double im) {
  fill(s, entries, real, re, im);
  return cpli_sparse_factor(s->factors, s->real) && cpli_sparse_factor_complex(s->factors, s->pair);
}

void cpli_sparse_lu_forget(cpli_sparse_lu* s) { cpli_sparse_forget(s->factors); }

bool cpli_sparse_lu_factor_mixed(cpli_sparse_lu* s, const double* entries, double real, int32_t n) {
  for (int32_t j = 0; j < s->n; j++) {
    for (int32_t k = s->first[j]; k < s->first[j + 1]; k++) {
      double entry = s->from[k] >= 0 ? entries[s->from[k]] : 0;
      s->real[k] = s->row[k] >= n ? entry : (s->row[k] == j ? real : 0) - entry;
    }
  }
  return cpli_sparse_factor(s->factors, s->real);
}

void cpli_sparse_lu_solve(cpli_sparse_lu* s, double* b) { cpli_sparse_solve(s->factors, b); }

void cpli_sparse_lu_solve_pair(cpli_sparse_lu* s, double* b_re, double* b_im) {
  for (int32_t i = 0; i < s->n; i++) s->b[2 * i] = b_re[i], s->b[2 * i + 1] = b_im[i];
  cpli_sparse_solve_complex(s->factors, s->b);
  for (int32_t i = 0; i < s->n; i++) b_re[i] = s->b[2 * i], b_im[i] = s->b[2 * i + 1];
}

struct cpli_sparse* cpli_sparse_lu_factors(cpli_sparse_lu* s) {
  return s->factors;
}

double* cpli_sparse_lu_entries(cpli_sparse_lu* s, bool complex, size_t* n) {
  *n = (size_t)s->first[s->n] * (complex ? 2 : 1);
  return complex ? s->pair : s->real;
}
