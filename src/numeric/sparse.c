// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Pivots are reused as long as the estimated reciprocal condition number stays above 1e-14. Without
// KLU the same interface is implemented by factors of our own (left_looking.h) and, for matrices
// that are small or become full, by dense LU. A complex matrix is then a real one of twice the
// size. Large matrices that fill in are refactorised by fronts.h, with the pivots that KLU chose.
#include "numeric/sparse.h"

#include <assert.h>
#include <math.h>

#include "numeric/complex_lu.h"
#include "numeric/followers.h"
#include "numeric/fronts.h"
#include "numeric/klu.h"
#include "numeric/left_looking.h"
#include "numeric/lu.h"
#include "numeric/pattern.h"

// Instead of KLU's factors: matrices by columns, allocated at first use.
typedef struct dense {
  double *real, *re, *im;
  int32_t* pivot;
  size_t* complex_pivot;
  double* b;  // real parts, then imaginary parts
} dense;

// A matrix of twice the size that has [re -im; im re] for every complex entry.
typedef struct pairs {
  int32_t *first, *row;
  double* entries;
  cpli_left_looking* factors;
} pairs;

struct cpli_sparse {
  cpl_context* ctx;
  int32_t n;
  const int32_t *first, *row;
  bool by_rows;
  int32_t singular;
  dense dense;
  cpli_left_looking* own;  // Nullable: KLU or the dense matrices
  pairs pairs;             // where there is `own`, at first use
  const cpli_klu* klu;     // Nullable: those above
#ifdef CPL_KLU
  klu_common common;
  klu_symbolic* symbolic;
  double fill;  // estimated entries of the factors
  klu_numeric *real, *complex;
  cpli_fronts* fronts;  // Nullable: of no use, or not known yet
  bool has_tried;       // to make them, with the pivots of `real`
  bool by_fronts;       // the last real factors are theirs
#endif
  bool anew, anew_complex;       // pivots are not reused
  cpli_sparse_pivots pivots[2];  // real, complex
};

void cpli_sparse_forget(cpli_sparse* s) { s->anew = s->anew_complex = true; }

int32_t cpli_sparse_singular(const cpli_sparse* s) { return s->singular; }

//------------------------------------ dense ------------------------------------

static size_t square(const cpli_sparse* s) { return (size_t)s->n * (size_t)s->n; }

static size_t dense_index(const cpli_sparse* s, int32_t j, int32_t k) {
  size_t n = (size_t)s->n, other = (size_t)s->row[k];
  return s->by_rows ? other * n + (size_t)j : (size_t)j * n + other;
}

static bool dense_factor(cpli_sparse* s, const double* entries) {
  dense* d = &s->dense;
  if (d->real == NULL) d->real = cpli_alloc(s->ctx, square(s), sizeof *d->real);
  if (d->pivot == NULL) d->pivot = cpli_alloc(s->ctx, (size_t)s->n, sizeof *d->pivot);
  if (d->real == NULL || d->pivot == NULL) return false;
  memset(d->real, 0, square(s) * sizeof *d->real);
  for (int32_t j = 0; j < s->n; j++) {
    for (int32_t k = s->first[j]; k < s->first[j + 1]; k++)
      d->real[dense_index(s, j, k)] = entries[k];
  }
  s->singular = cpli_lu_factor(d->real, d->pivot, s->n);
  return s->singular < 0;
}

static bool dense_factor_complex(cpli_sparse* s, const double* entries) {
  dense* d = &s->dense;
  size_t n = (size_t)s->n;
  if (d->re == NULL) {
    d->re = cpli_alloc(s->ctx, 2 * square(s), sizeof *d->re);
    d->complex_pivot = cpli_alloc(s->ctx, n, sizeof *d->complex_pivot);
    d->b = cpli_alloc(s->ctx, 2 * n, sizeof *d->b);
  }
  if (d->re == NULL || d->complex_pivot == NULL || d->b == NULL) return false;
  d->im = d->re + square(s);
  memset(d->re, 0, 2 * square(s) * sizeof *d->re);
  for (int32_t j = 0; j < s->n; j++) {
    for (int32_t k = s->first[j]; k < s->first[j + 1]; k++) {
      d->re[dense_index(s, j, k)] = entries[2 * k];
      d->im[dense_index(s, j, k)] = entries[2 * k + 1];
    }
  }
  return cpli_clu_factor(n, d->re, d->im, d->complex_pivot);
}

static void dense_solve_complex(cpli_sparse* s, double* b) {
  const dense* d = &s->dense;
  size_t n = (size_t)s->n;
  for (size_t i = 0; i < n; i++) d->b[i] = b[2 * i], d->b[n + i] = b[2 * i + 1];
  cpli_clu_solve(n, d->re, d->im, d->complex_pivot, d->b, d->b + n);
  for (size_t i = 0; i < n; i++) b[2 * i] = d->b[i], b[2 * i + 1] = d->b[n + i];
}

//------------------------------------ factors of our own ------------------------------------

static const double worst_condition = 1e-14;  // below it new pivots are chosen

enum { SMALLEST = 32 };                // below it dense matrices are as fast
static const double max_filled = 0.2;  // above this density, too

static cpl_status own_make(cpli_sparse* s) {
  if (s->klu != NULL || s->n < SMALLEST) return CPL_OK;
  return cpli_left_looking_make(s->ctx, s->n, s->first, s->row, max_filled, &s->own);
}

// Old pivots where they are good enough. Returns as cpli_left_looking_factor().
static int32_t own_factor(cpli_left_looking* f, const double* entries, bool* anew, bool* chose) {
  bool reuses = !*anew;
  *anew = *chose = false;
  if (reuses && cpli_left_looking_refactor(f, entries) > worst_condition) return -1;
  *chose = true;
  return cpli_left_looking_factor(f, entries);
}

static bool make_pairs(cpli_sparse* s) {
  pairs* p = &s->pairs;
  size_t n = 2 * (size_t)s->n, entries = 4 * (size_t)s->first[s->n];
  p->first = cpli_alloc(s->ctx, n + 1, sizeof *p->first);
  p->row = cpli_alloc(s->ctx, entries, sizeof *p->row);
  p->entries = cpli_alloc(s->ctx, entries, sizeof *p->entries);
  if (p->first == NULL || p->row == NULL || p->entries == NULL) return false;
  int32_t at = 0;
  for (int32_t j = 0; j < 2 * s->n; j++) {
    p->first[j] = at;
    for (int32_t k = s->first[j / 2]; k < s->first[j / 2 + 1]; k++) {
      p->row[at++] = 2 * s->row[k];
      p->row[at++] = 2 * s->row[k] + 1;
    }
  }
  p->first[2 * s->n] = at;
  return cpli_left_looking_make(s->ctx, 2 * s->n, p->first, p->row, 1, &p->factors) >= 0;
}

static bool own_factor_complex(cpli_sparse* s, const double* entries, bool* chose) {
  pairs* p = &s->pairs;
  if (p->factors == NULL && !make_pairs(s)) return false;
  for (int32_t j = 0, at = 0; j < 2 * s->n; j++) {
    for (int32_t k = s->first[j / 2]; k < s->first[j / 2 + 1]; k++) {
      double re = entries[2 * k], im = entries[2 * k + 1];
      p->entries[at++] = j % 2 == 0 ? re : -im;
      p->entries[at++] = j % 2 == 0 ? im : re;
    }
  }
  return own_factor(p->factors, p->entries, &s->anew_complex, chose) < 0;
}

static void own_free(cpli_sparse* s) {
  cpli_left_looking_destroy(s->own);
  cpli_left_looking_destroy(s->pairs.factors);
  cpli_free(s->ctx, s->pairs.first);
  cpli_free(s->ctx, s->pairs.row);
  cpli_free(s->ctx, s->pairs.entries);
}

//------------------------------------ KLU ------------------------------------

#ifdef CPL_KLU

// Uses the order of the followers, then of the rest as KLU orders that, where it fills in less.
static cpl_status take_order(cpli_sparse* s, cpli_followers* f) {
  const cpli_klu* k = s->klu;
  klu_symbolic* rest = k->klu_analyze(f->n_rest, f->first, f->row, &s->common);
  if (rest == NULL) return cpli_nomem(s->ctx);
  const double fill = rest->lnz + rest->unz + f->filled;
  int32_t* order = f->row;  // not needed any more
  memcpy(order, f->order, (size_t)f->n * sizeof *order);
  for (int32_t i = 0; i < f->n_rest; i++) order[f->n + i] = f->order[f->n + rest->Q[i]];
  const bool better = rest->nblocks == 1 && fill < 0.8 * s->fill;
  k->klu_free_symbolic(&rest, &s->common);
  if (!better) return CPL_OK;
  const int btf = s->common.btf;
  s->common.btf = 0;
  klu_symbolic* all =
      k->klu_analyze_given(s->n, (int*)s->first, (int*)s->row, order, order, &s->common);
  s->common.btf = btf;
  if (all == NULL) return cpli_nomem(s->ctx);
  k->klu_free_symbolic(&s->symbolic, &s->common);
  s->symbolic = all;
  s->fill = fill;
  return CPL_OK;
}

// Large mechanical systems: half of the unknowns are positions.
static cpl_status try_followers(cpli_sparse* s) {
  enum { MIN_UNKNOWNS = 1000, MIN_SHARE = 4 };  // a quarter
  cpli_followers f = {.n = 0};
  if (s->by_rows || s->n < MIN_UNKNOWNS || s->symbolic->nblocks != 1) return CPL_OK;
  cpl_status st = cpli_followers_find(s->ctx, s->n, s->first, s->row, &f);
  if (st >= 0 && f.n >= s->n / MIN_SHARE) st = take_order(s, &f);
  cpli_followers_free(s->ctx, &f);
  return st;
}

static cpl_status by_klu_make(cpli_sparse* s) {
  if (s->klu == NULL || s->n == 0) return CPL_OK;
  s->klu->klu_defaults(&s->common);
  s->symbolic = s->klu->klu_analyze(s->n, (int*)s->first, (int*)s->row, &s->common);
  if (s->symbolic == NULL) return cpli_nomem(s->ctx);
  s->fill = s->symbolic->lnz + s->symbolic->unz;
  return try_followers(s);
}

static void by_klu_free(cpli_sparse* s) {
  if (s->klu == NULL) return;
  cpli_fronts_destroy(s->fronts);
  if (s->real != NULL) s->klu->klu_free_numeric(&s->real, &s->common);
  if (s->complex != NULL) s->klu->klu_z_free_numeric(&s->complex, &s->common);
  if (s->symbolic != NULL) s->klu->klu_free_symbolic(&s->symbolic, &s->common);
}

static double by_klu_fill(const cpli_sparse* s) { return s->fill; }

// Fronts pay where the factors have many entries and much is computed for each, but not where the
// symmetrised pattern has many more of them. Without memory for them there is KLU.
static void try_fronts(cpli_sparse* s) {
  enum { MIN_FILL = 100000, MIN_FLOPS = 30 };
  const double fill = (double)s->real->lnz + s->real->unz;
  if (s->has_tried) return;
  s->has_tried = true;
  if (s->by_rows || s->symbolic->nblocks != 1 || fill < MIN_FILL) return;
  if (!s->klu->klu_flops(s->symbolic, s->real, &s->common) || s->common.flops < MIN_FLOPS * fill)
    return;
  cpli_fronts_make(s->ctx, s->n, s->first, s->row, s->real->Pnum, s->symbolic->Q, 1.3 * fill,
                   &s->fronts);
}

static bool refactor(cpli_sparse* s, double* entries) {
  const cpli_klu* k = s->klu;
  try_fronts(s);
  s->by_fronts = s->fronts != NULL;
  if (s->by_fronts) return cpli_fronts_factor(s->fronts, entries) > worst_condition;
  return k->klu_refactor((int*)s->first, (int*)s->row, entries, s->symbolic, s->real, &s->common) &&
         k->klu_rcond(s->symbolic, s->real, &s->common) && s->common.rcond > worst_condition;
}

static bool by_klu_factor_real(cpli_sparse* s, double* entries, bool* chose) {
  const cpli_klu* k = s->klu;
  int *first = (int*)s->first, *row = (int*)s->row;
  bool reuses = s->real != NULL && !s->anew;
  s->anew = false;
  *chose = false;
  if (reuses && refactor(s, entries)) return true;
  *chose = true;
  cpli_fronts_destroy(s->fronts);
  s->fronts = NULL;
  s->has_tried = s->by_fronts = false;
  if (s->real != NULL) k->klu_free_numeric(&s->real, &s->common);
  s->real = k->klu_factor(first, row, entries, s->symbolic, &s->common);
  s->singular = s->real != NULL ? -1 : s->common.singular_col;
  return s->real != NULL && s->common.status == KLU_OK;
}

static bool by_klu_factor_complex(cpli_sparse* s, double* entries, bool* chose) {
  const cpli_klu* k = s->klu;
  int *first = (int*)s->first, *row = (int*)s->row;
  bool reuses = s->complex != NULL && !s->anew_complex;
  s->anew_complex = false;
  *chose = false;
  if (reuses && k->klu_z_refactor(first, row, entries, s->symbolic, s->complex, &s->common) &&
      k->klu_z_rcond(s->symbolic, s->complex, &s->common) && s->common.rcond > worst_condition)
    return true;
  *chose = true;
  if (s->complex != NULL) k->klu_z_free_numeric(&s->complex, &s->common);
  s->complex = k->klu_z_factor(first, row, entries, s->symbolic, &s->common);
  return s->complex != NULL && s->common.status == KLU_OK;
}

static void by_klu_solve_real(cpli_sparse* s, double* b) {
  assert(s->n == 0 || s->real != NULL);
  if (s->by_fronts) cpli_fronts_solve(s->fronts, b);
  else if (s->by_rows) s->klu->klu_tsolve(s->symbolic, s->real, s->n, 1, b, &s->common);
  else s->klu->klu_solve(s->symbolic, s->real, s->n, 1, b, &s->common);
}

static void by_klu_solve_complex(cpli_sparse* s, double* b) {
  assert(s->n == 0 || s->complex != NULL);
  s->klu->klu_z_solve(s->symbolic, s->complex, s->n, 1, b, &s->common);
}

#else  // s->klu is always NULL

static cpl_status by_klu_make(cpli_sparse* s) { return (void)s, CPL_OK; }
static void by_klu_free(cpli_sparse* s) { (void)s; }
static double by_klu_fill(const cpli_sparse* s) { return (void)s, 0; }
static bool by_klu_factor_real(cpli_sparse* s, double* e, bool* chose) {
  return (void)s, (void)e, (void)chose, false;
}
static bool by_klu_factor_complex(cpli_sparse* s, double* e, bool* chose) {
  return (void)s, (void)e, (void)chose, false;
}
static void by_klu_solve_real(cpli_sparse* s, double* b) { (void)s, (void)b; }
static void by_klu_solve_complex(cpli_sparse* s, double* b) { (void)s, (void)b; }

#endif

//------------------------------------ any of them ------------------------------------

cpl_status cpli_sparse_make(cpl_context* ctx, int32_t n, const int32_t* first, const int32_t* row,
                            bool by_rows, cpli_sparse** out) {
  cpli_check_compressed(n, first, row, n);
  cpli_sparse* s = *out = cpli_alloc(ctx, 1, sizeof *s);
  if (s == NULL) return cpli_nomem(ctx);
  *s = (cpli_sparse){.ctx = ctx,
                     .n = n,
                     .first = first,
                     .row = row,
                     .by_rows = by_rows,
                     .singular = -1,
                     .klu = cpli_klu_load()};
  cpl_status st = by_klu_make(s);
  if (st >= 0) st = own_make(s);
  if (st < 0) return st;
  return cpli_sparse_history(s, false) != NULL ? CPL_OK : cpli_nomem(ctx);  // not in the first step
}

void cpli_sparse_destroy(cpli_sparse* s) {
  if (s == NULL) return;
  by_klu_free(s);
  own_free(s);
  cpli_free(s->ctx, s->pivots[0].chosen);
  cpli_free(s->ctx, s->pivots[1].chosen);
  void* all[] = {s->dense.real, s->dense.re, s->dense.pivot, s->dense.complex_pivot, s->dense.b};
  for (size_t i = 0; i < CPLI_COUNT(all); i++) cpli_free(s->ctx, all[i]);
  cpli_free(s->ctx, s);
}

bool cpli_sparse_has_fronts(const cpli_sparse* s) {
#ifdef CPL_KLU
  return s->by_fronts;
#else
  return (void)s, false;
#endif
}

double cpli_sparse_fill(const cpli_sparse* s) {
  if (s->klu != NULL) return by_klu_fill(s);
  return s->own != NULL ? cpli_left_looking_fill(s->own) : (double)s->n * s->n;
}

//------------------------------------ history ------------------------------------

static size_t n_numbers(const cpli_sparse* s, bool complex) {
  return (size_t)s->first[s->n] * (complex ? 2 : 1);
}

cpli_sparse_pivots* cpli_sparse_history(cpli_sparse* s, bool complex) {
  cpli_sparse_pivots* k = &s->pivots[complex];
  if (k->chosen != NULL) return k;
  k->n = n_numbers(s, complex);
  k->chosen = cpli_alloc(s->ctx, k->n, sizeof *k->chosen);
  k->anew = complex ? &s->anew_complex : &s->anew;
  return k->chosen != NULL ? k : NULL;
}

// Whether the last factorisation chose its pivots: only then are the entries kept.
static void note(cpli_sparse* s, bool complex, const double* entries, bool chose, bool fine) {
  cpli_sparse_pivots* k = cpli_sparse_history(s, complex);
  if (k == NULL) return;
  if (chose) memcpy(k->chosen, entries, k->n * sizeof *entries);
  k->reused = !chose;
  k->has = fine;
}

bool cpli_sparse_repeat(cpli_sparse* s, bool complex, const double* last) {
  cpli_sparse_pivots* k = cpli_sparse_history(s, complex);
  bool (*factor)(cpli_sparse*, const double*) =
      complex ? cpli_sparse_factor_complex : cpli_sparse_factor;
  if (k == NULL || !k->has) return false;
  bool reused = k->reused, anew = *k->anew;
  double* chosen = k->chosen;
  k->chosen = NULL;  // it is noted anew
  *k->anew = true;
  bool fine = factor(s, chosen);
  if (fine && reused) fine = factor(s, last);
  cpli_free(s->ctx, chosen);
  *k->anew = anew;
  return fine;
}

//------------------------------------ any of them ------------------------------------

static bool factor_real(cpli_sparse* s, const double* entries, bool* chose) {
  if (s->klu != NULL) return by_klu_factor_real(s, (double*)entries, chose);
  if (s->own == NULL) return dense_factor(s, entries);
  int32_t column = own_factor(s->own, entries, &s->anew, chose);
  s->singular = column == INT32_MAX ? -1 : column;
  return column < 0;
}

bool cpli_sparse_factor(cpli_sparse* s, const double* entries) {
  bool chose = true;
  bool fine = factor_real(s, entries, &chose);
  note(s, false, entries, chose, fine);
  return fine;
}

void cpli_sparse_solve(cpli_sparse* s, double* b) {
  if (s->klu != NULL) by_klu_solve_real(s, b);
  else if (s->own == NULL) cpli_lu_solve(s->dense.real, s->dense.pivot, s->n, b);
  else if (s->by_rows) cpli_left_looking_solve_transposed(s->own, b);
  else cpli_left_looking_solve(s->own, b);
}

static bool factor_complex(cpli_sparse* s, const double* entries, bool* chose) {
  if (s->klu != NULL) return by_klu_factor_complex(s, (double*)entries, chose);
  return s->own != NULL ? own_factor_complex(s, entries, chose) : dense_factor_complex(s, entries);
}

bool cpli_sparse_factor_complex(cpli_sparse* s, const double* entries) {
  assert(!s->by_rows);
  bool chose = true;
  bool fine = factor_complex(s, entries, &chose);
  note(s, true, entries, chose, fine);
  return fine;
}

void cpli_sparse_solve_complex(cpli_sparse* s, double* b) {
  if (s->klu != NULL) by_klu_solve_complex(s, b);
  else if (s->own != NULL) cpli_left_looking_solve(s->pairs.factors, b);
  else dense_solve_complex(s, b);
}
