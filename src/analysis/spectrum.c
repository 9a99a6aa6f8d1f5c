// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Eigenvalues of a model at a point. Small ones: of the dense matrix A, on the tangent space of the
// constraints. Large ones: those nearest to several shifts, from the sparse descriptor form; a
// shift at zero gives the slowest, positive ones those furthest to the right.
#include "couplet/spectrum.h"

#include <math.h>
#include <stdlib.h>

#include "analysis/rest.h"
#include "model/adopt.h"
#include "numeric/eigen.h"
#include "numeric/matrix.h"

enum { MAX_STATES = 5, MAX_VECTORS = 10, ALL_VECTORS = 60 };
static const double rounding = 1e-10;  // of derivatives, relative to the sum of their terms

typedef struct spectrum {
  cpl_spectrum shown;
  cpl_context* ctx;
  cpl_model* m;
  cpl_spectrum_def def;
  int32_t n;
  double *x, *nominal;
  cpli_descriptor* d;
  cpl_eigen_mode* modes;
  int32_t n_modes, cap;
  cpli_arena arena;
} spectrum;

void cpl_init_spectrum_def(cpl_spectrum_def* def, size_t size) {
  const cpl_spectrum_def all = {.largest = 400, .nearest = 10};
  cpli_init_def(def, size, &all, sizeof all);
}

const char* cpl_stability_name(cpl_stability stability) {
  static const char* const names[] = {"stable", "unstable", "marginal"};
  return stability >= CPL_STABLE && stability <= CPL_MARGINAL ? names[stability] : "?";
}

//------------------------------------ modes ------------------------------------

static void add_mode(spectrum* s, double re, double im, bool zero) {
  if (im < 0 || s->n_modes == s->cap) return;
  s->modes[s->n_modes++] = (cpl_eigen_mode){.re = zero ? 0 : re, .im = zero ? 0 : im};
}

// The largest of the weights of all states, which then add up to one.
static cpl_status add_states(spectrum* s, cpl_eigen_mode* mode, double* weight) {
  double sum = 0;
  cpl_participation* list = cpli_arena_alloc(&s->arena, MAX_STATES, sizeof *list);
  if (list == NULL) return cpli_nomem(s->ctx);
  for (int32_t i = 0; i < s->n; i++) sum += weight[i];
  for (int k = 0; k < MAX_STATES && sum > 0; k++) {
    int32_t best = 0;
    for (int32_t i = 1; i < s->n; i++) {
      if (weight[i] > weight[best]) best = i;
    }
    if (!(weight[best] >= 0.01 * sum)) break;
    list[k] = (cpl_participation){best, weight[best] / sum};
    weight[best] = 0;
    mode->n_states = k + 1;
  }
  mode->states = list;
  return CPL_OK;
}

//------------------------------------ all of a small model ------------------------------------

typedef struct dense {
  int32_t n, n_free;      // states; dimension of the tangent space
  double *a, *basis, *t;  // A; n x n_free, orthonormal; A on the tangent space
  double *re, *im, *v_re, *v_im, *work, *weight;
  size_t* pivot;
} dense;

// The columns of I - Q Q', with Q the orthonormal basis of the gradients.
static void project(size_t n, int32_t rank, const double* q, double* out) {
  memset(out, 0, n * n * sizeof *out);
  for (size_t j = 0; j < n; j++) {
    out[j * n + j] = 1;
    for (size_t k = 0; k < (size_t)rank; k++) {
      for (size_t i = 0; i < n; i++) out[j * n + i] -= q[k * n + j] * q[k * n + i];
    }
  }
}

// Gradients of length 1: their units do not matter.
static void normalise(size_t n, size_t count, double* gradients) {
  for (size_t k = 0; k < count; k++) {
    double* v = gradients + k * n;
    double size = 0;
    for (size_t i = 0; i < n; i++) size += v[i] * v[i];
    for (size_t i = 0; i < n && size > 0; i++) v[i] /= sqrt(size);
  }
}

// An orthonormal basis of the vectors that change no constraint.
static cpl_status tangent_space(spectrum* s, dense* q) {
  size_t count = 0, n = (size_t)s->n;
  cpl_status st = s->m->base.desc->n_constraints > 0 && s->m->ops->constraints != NULL
                      ? s->m->ops->constraints->count(s->m, &count)
                      : CPL_OK;
  double* gradients = cpli_alloc(s->ctx, (2 * count + n) * n, sizeof *gradients);
  if (gradients == NULL) return cpli_nomem(s->ctx);
  double *basis = gradients + count * n, *rest = basis + count * n;
  if (st == CPL_OK && count > 0)
    st = cpli_constraint_gradients(s->m, s->x, (int32_t)count, gradients);
  normalise(n, st == CPL_OK ? count : 0, gradients);
  int32_t rank = cpli_basis(s->n, (int32_t)count, gradients, 1e-8, (int32_t)count, basis, NULL);
  project(n, rank, basis, rest);
  if (rank == 0) memcpy(q->basis, rest, n * n * sizeof *rest);
  else cpli_basis(s->n, s->n, rest, 1e-6, s->n - rank, q->basis, NULL);
  s->shown.n_constrained = rank;
  q->n_free = s->n - rank;
  cpli_free(s->ctx, gradients);
  return st;
}

// t = N' A N, or A itself.
static cpl_status restrict_matrix(spectrum* s, dense* q) {
  size_t n = (size_t)q->n, f;
  cpl_status st = CPL_OK;
  q->n_free = q->n;
  if (s->m->base.desc->n_constraints > 0) st = tangent_space(s, q);
  f = (size_t)q->n_free;
  if (st != CPL_OK || s->shown.n_constrained == 0) {
    memcpy(q->t, q->a, n * n * sizeof *q->t);
    memset(q->basis, 0, n * n * sizeof *q->basis);
    for (size_t i = 0; i < n; i++) q->basis[i * n + i] = 1;
    return st;
  }
  for (size_t c = 0; c < f; c++) {
    for (size_t i = 0; i < n; i++) {
      q->weight[i] = 0;
      for (size_t j = 0; j < n; j++) q->weight[i] += q->a[j * n + i] * q->basis[c * n + j];
    }
    for (size_t k = 0; k < f; k++) {
      q->t[c * f + k] = 0;
      for (size_t i = 0; i < n; i++) q->t[c * f + k] += q->basis[k * n + i] * q->weight[i];
    }
  }
  return CPL_OK;
}

static double largest(size_t n, const double* values) {
  double max = 0;
  for (size_t i = 0; i < n; i++) max = fmax(max, fabs(values[i]));
  return max;
}

// Whether the motion leaves all derivatives at the rounding errors of their terms.
static bool is_zero(const dense* q, double re, double im) {
  size_t n = (size_t)q->n_free;
  double size = hypot(re, im);
  if (size == 0) return true;
  if (size > 1e-6 * largest(n * n, q->t)) return false;
  cpli_eigenvector(q->n_free, q->t, re, im, false, q->v_re, q->v_im, q->work, q->pivot);
  for (size_t i = 0; i < n; i++) {
    double terms = 0;
    for (size_t j = 0; j < n; j++) terms += fabs(q->t[j * n + i]) * hypot(q->v_re[j], q->v_im[j]);
    if (size * hypot(q->v_re[i], q->v_im[i]) > rounding * terms) return false;
  }
  return true;
}

// Back from the tangent space to all states.
static double full_entry(const dense* q, const double* v, size_t i) {
  double sum = 0;
  for (size_t k = 0; k < (size_t)q->n_free; k++) sum += q->basis[k * (size_t)q->n + i] * v[k];
  return sum;
}

// Participation factors: the products of the entries of both eigenvectors, which do not depend on
// units.
static cpl_status participate(spectrum* s, dense* q, cpl_eigen_mode* mode) {
  for (int side = 0; side < 2; side++) {
    cpli_eigenvector(q->n_free, q->t, mode->re, mode->im, side == 1, q->v_re, q->v_im, q->work,
                     q->pivot);
    for (size_t i = 0; i < (size_t)q->n; i++) {
      double size = hypot(full_entry(q, q->v_re, i), full_entry(q, q->v_im, i));
      q->weight[i] = side == 0 ? size : q->weight[i] * size;
    }
  }
  return add_states(s, mode, q->weight);
}

static cpl_status allocate_dense(spectrum* s, dense* q) {
  size_t n = (size_t)q->n;
  q->a = cpli_arena_alloc(&s->arena, 7 * n * n + 8 * n, sizeof *q->a);
  q->pivot = cpli_arena_alloc(&s->arena, n, sizeof *q->pivot);
  if (q->a == NULL || q->pivot == NULL) return cpli_nomem(s->ctx);
  q->basis = q->a + n * n;
  q->t = q->basis + n * n;
  q->work = q->t + n * n;
  q->re = q->work + 4 * n * n + 2 * n;
  q->im = q->re + n;
  q->v_re = q->im + n;
  q->v_im = q->v_re + n;
  q->weight = q->v_im + n;
  return CPL_OK;
}

static int by_magnitude(const void* a, const void* b) {
  const cpl_eigen_mode *x = a, *y = b;
  double p = hypot(x->re, x->im), q = hypot(y->re, y->im);
  if (p != q) return p < q ? -1 : 1;
  return x->re != y->re ? (x->re < y->re ? -1 : 1) : 0;
}

static cpl_status all_of_a_small_model(spectrum* s) {
  dense q = {.n = s->n};
  cpli_responses* r = NULL;
  cpl_status st = allocate_dense(s, &q);
  if (st >= 0) st = cpli_responses_make(s->d, s->m->base.name, &r);
  for (int32_t c = 0; c < s->n && st >= 0; c++)
    cpli_responses_of(r, c, q.a + (size_t)c * (size_t)s->n, NULL);
  cpli_responses_destroy(r);
  if (st >= 0) st = restrict_matrix(s, &q);
  if (st != CPL_OK) return st;
  memcpy(q.work, q.t, (size_t)q.n_free * (size_t)q.n_free * sizeof *q.t);
  if (!cpli_eigenvalues(q.n_free, q.work, q.re, q.im))
    return cpl_fail_in(s->ctx, CPL_ERR_MODEL, s->m->base.name, NULL, NAN,
                       "the iteration for its eigenvalues does not converge");
  for (int32_t i = 0; i < q.n_free; i++)
    add_mode(s, q.re[i], q.im[i], is_zero(&q, q.re[i], q.im[i]));
  qsort(s->modes, (size_t)s->n_modes, sizeof *s->modes, by_magnitude);
  for (int32_t i = 0; i < s->n_modes && st == CPL_OK; i++) {
    bool shown = i < MAX_VECTORS || s->n <= ALL_VECTORS || s->modes[i].re > 0;
    if (shown) st = participate(s, &q, &s->modes[i]);
  }
  return st;
}

//------------------------------------ some of a large model ------------------------------------

typedef struct shifted {
  int32_t n, all;  // states, unknowns
  cpli_compressed matrix;
  cpli_sparse* factors;
  double* b;
} shifted;

static void free_shifted(spectrum* s, shifted* q) {
  cpli_sparse_destroy(q->factors);
  cpli_compressed_free(s->ctx, &q->matrix);
  cpli_free(s->ctx, q->b);
}

// J - shift E; *fine: it is regular.
static cpl_status factor_shifted(spectrum* s, shifted* q, double shift, bool* fine) {
  const cpli_compressed* j = &s->d->j;
  cpli_triplets t = {.ctx = s->ctx};
  cpl_status st = CPL_OK;
  cpli_sparse_destroy(q->factors);
  cpli_compressed_free(s->ctx, &q->matrix);
  q->factors = NULL;
  for (int32_t c = 0; c < q->all && st >= 0; c++) {
    for (int32_t e = j->first[c]; e < j->first[c + 1] && st >= 0; e++)
      st = cpli_triplets_add(&t, j->row[e], c, j->entries[e]);
    if (c < q->n && st >= 0) st = cpli_triplets_add(&t, c, c, -shift);
  }
  if (st >= 0) st = cpli_triplets_compress(&t, q->all, q->all, &q->matrix);
  cpli_triplets_free(&t);
  if (st >= 0)
    st = cpli_sparse_make(s->ctx, q->all, q->matrix.first, q->matrix.row, false, &q->factors);
  *fine = st >= 0 && cpli_sparse_factor(q->factors, q->matrix.entries);
  return st;
}

static void apply_shifted(void* user, const double* x, double* y) {
  shifted* q = user;
  memset(q->b, 0, (size_t)q->all * sizeof *q->b);
  memcpy(q->b, x, (size_t)q->n * sizeof *x);
  cpli_sparse_solve(q->factors, q->b);
  memcpy(y, q->b, (size_t)q->n * sizeof *y);
}

static bool is_known(const spectrum* s, double re, double im) {
  for (int32_t i = 0; i < s->n_modes; i++) {
    double size = hypot(s->modes[i].re, s->modes[i].im);
    if (hypot(re - s->modes[i].re, im - s->modes[i].im) <= 1e-6 * fmax(size, hypot(re, im)))
      return true;
  }
  return false;
}

static cpl_status near_shift(spectrum* s, shifted* q, double shift, double scale, double* weight) {
  bool fine = false;
  cpli_ritz ritz;
  cpl_status st = factor_shifted(s, q, shift, &fine);
  if (st < 0 || !fine) return st;
  cpli_operator op = {.n = s->n, .user = q, .apply = apply_shifted};
  st = cpli_arnoldi(s->ctx, &op, s->def.nearest, &ritz);
  for (int32_t k = 0; k < ritz.n && st >= 0; k++) {
    double square = ritz.re[k] * ritz.re[k] + ritz.im[k] * ritz.im[k];
    double re = shift + ritz.re[k] / square, im = -ritz.im[k] / square;
    if (im < 0 || is_known(s, re, im) || s->n_modes == s->cap) continue;
    // positive shifts are there for what is furthest to the right
    if (shift > 0 && s->n_modes >= s->def.nearest && re < 0) continue;
    add_mode(s, re, im, hypot(re, im) <= 1e-13 * scale);
    for (int32_t i = 0; i < s->n; i++) {
      size_t at = (size_t)k * (size_t)s->n + (size_t)i;
      double size = hypot(ritz.v_re[at], ritz.v_im[at]) / s->nominal[i];
      weight[i] = size * size;
    }
    st = add_states(s, &s->modes[s->n_modes - 1], weight);
  }
  cpli_ritz_free(s->ctx, &ritz);
  return st;
}

static cpl_status some_of_a_large_model(spectrum* s) {
  static const double shifts[] = {0, 1e-9, 1e-6, 1e-3, 1};
  shifted q = {.n = s->n, .all = s->d->n};
  double scale = largest((size_t)s->d->j.first[s->d->n], s->d->j.entries);
  double* weight = cpli_arena_alloc(&s->arena, (size_t)s->n, sizeof *weight);
  q.b = cpli_alloc(s->ctx, (size_t)q.all, sizeof *q.b);
  cpl_status st = weight != NULL && q.b != NULL ? CPL_OK : cpli_nomem(s->ctx);
  for (size_t k = 0; k < CPLI_COUNT(shifts) && st >= 0; k++)
    st = near_shift(s, &q, shifts[k] * scale, scale, weight);
  free_shifted(s, &q);
  qsort(s->modes, (size_t)s->n_modes, sizeof *s->modes, by_magnitude);
  return st;
}

//------------------------------------ the whole ------------------------------------

static cpl_status compute(spectrum* s) {
  bool small = s->n <= s->def.largest;
  if (s->n == 0) return CPL_OK;
  if (!small && s->m->base.desc->n_constraints > 0)
    return cpl_fail_in(s->ctx, CPL_ERR_UNSUPPORTED, s->m->base.name, NULL, NAN,
                       "eigenvalues of a model with constraints are computed for up to %d states; "
                       "it has %d",
                       s->def.largest, s->n);
  cpl_status st = s->m->ops->get_states(s->m, s->x);
  if (st == CPL_OK) st = s->m->ops->get_nominals(s->m, s->nominal);
  if (st == CPL_OK) st = cpli_descriptor_make(s->m, s->x, NULL, 0, NULL, 0, &s->d);
  if (st != CPL_OK) return st;
  return small ? all_of_a_small_model(s) : some_of_a_large_model(s);
}

static void judge(spectrum* s) {
  cpl_spectrum* o = &s->shown;
  o->modes = s->modes;
  o->n_modes = s->n_modes;
  o->complete = s->n <= s->def.largest;
  o->stability = CPL_STABLE;
  for (int32_t i = 0; i < s->n_modes; i++) {
    double re = s->modes[i].re, size = hypot(re, s->modes[i].im);
    if (re > 1e-9 * size) o->stability = CPL_UNSTABLE;
    else if (re >= -1e-9 * size && o->stability == CPL_STABLE) o->stability = CPL_MARGINAL;
  }
}

cpl_status cpl_spectrum_create(cpl_model* m, const cpl_spectrum_def* given, cpl_spectrum** out) {
  *out = NULL;
  cpl_context* ctx = m->base.ctx;
  cpl_spectrum_def def = cpl_default_spectrum_def();
  cpl_status st =
      given != NULL ? cpli_read_def(ctx, "cpl_spectrum_def", given, &def, sizeof def) : CPL_OK;
  if (st >= 0) st = cpli_adopt_model(m);
  if (st < 0) return st;
  spectrum* s = cpli_alloc(ctx, 1, sizeof *s);
  if (s == NULL) return cpli_nomem(ctx);
  s->ctx = ctx;
  s->m = m;
  s->def = def;
  s->n = m->base.desc->n_states;
  s->cap = s->n <= def.largest ? s->n : 6 * def.nearest;
  cpli_arena_init(&s->arena, ctx);
  s->x = cpli_arena_alloc(&s->arena, 2 * (size_t)s->n, sizeof *s->x);
  s->modes = cpli_arena_alloc(&s->arena, (size_t)s->cap, sizeof *s->modes);
  st = s->x != NULL && s->modes != NULL ? CPL_OK : cpli_nomem(ctx);
  s->nominal = s->x != NULL ? s->x + s->n : NULL;
  if (st >= 0) st = compute(s);
  if (st == CPL_RETRY) st = CPL_ERR_MODEL;
  judge(s);
  if (st < 0) cpl_spectrum_destroy(&s->shown);
  else *out = &s->shown;
  return st;
}

void cpl_spectrum_destroy(cpl_spectrum* shown) {
  if (shown == NULL) return;
  spectrum* s = (spectrum*)shown;
  cpl_context* ctx = s->ctx;
  cpli_descriptor_destroy(s->d);
  cpli_arena_free(&s->arena);
  cpli_free(ctx, s);
}
