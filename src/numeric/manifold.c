// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The modified Gram-Schmidt method with pivoting by relative length, and reorthogonalisation of
// each pivot.
#include "numeric/manifold.h"

#include <assert.h>
#include <math.h>

static const double dependent = 1e-6;  // fraction of a gradient outside the span of the others
static const double noise = 10;  // multiple of it that the distance to the constraints explains,
static const double different = 0.03;  // and a fraction that it never explains

static double dot(const double* a, const double* b, size_t n) {
  double sum = 0;
  for (size_t i = 0; i < n; i++) sum += a[i] * b[i];
  return sum;
}

static void swap_rows(cpli_manifold* p, size_t i, size_t k) {
  size_t kept = p->order[i];
  p->order[i] = p->order[k];
  p->order[k] = kept;
  for (size_t j = 0; i != k && j < p->n; j++) {
    double entry = p->basis[i * p->n + j];
    p->basis[i * p->n + j] = p->basis[k * p->n + j];
    p->basis[k * p->n + j] = entry;
  }
  for (size_t j = 0; i != k && j < p->rank; j++) {
    double entry = p->r[i * p->max + j];
    p->r[i * p->max + j] = p->r[k * p->max + j];
    p->r[k * p->max + j] = entry;
  }
}

// Removes the projection on the basis vectors from the gradient in row k; r gets the coefficients.
static void orthogonalise(cpli_manifold* p, size_t k, size_t first) {
  double* row = p->basis + k * p->n;
  for (size_t j = first; j < p->rank; j++) {
    const double* q = p->basis + j * p->n;
    double part = dot(q, row, p->n);
    p->r[k * p->max + j] += part;
    for (size_t i = 0; i < p->n; i++) row[i] -= part * q[i];
  }
}

// Gram-Schmidt with pivoting: the next gradient has the largest remainder relative to its own
// length, so that the scaling of a constraint has no effect.
void cpli_manifold_factor(cpli_manifold* p) {
  size_t n = p->n, m = p->active;
  assert(m <= p->max);
  for (size_t k = 0; k < m; k++) {
    p->order[k] = k;
    for (size_t i = 0; i < n; i++) p->basis[k * n + i] = p->gradients[k * n + i] / p->weight[i];
    p->size[k] = sqrt(dot(p->basis + k * n, p->basis + k * n, n));
  }
  memset(p->r, 0, p->max * p->max * sizeof *p->r);
  p->determined = false;
  for (p->rank = 0; p->rank < m;) {
    size_t best = p->rank;
    double max = 0;
    for (size_t k = p->rank; k < m; k++) {
      double* row = p->basis + k * n;
      double own = p->size[p->order[k]], left = own > 0 ? sqrt(dot(row, row, n)) / own : 0;
      if (left > max) best = k, max = left;
    }
    if (!(max > dependent)) break;
    swap_rows(p, p->rank, best);
    orthogonalise(p, p->rank, 0);  // reorthogonalisation against rounding
    double* row = p->basis + p->rank * n;
    double length = sqrt(dot(row, row, n));
    for (size_t i = 0; i < n; i++) row[i] /= length;
    p->r[p->rank * p->max + p->rank] = length;
    p->left[p->rank] = max;
    p->rank++;
    for (size_t k = p->rank; k < m; k++) orthogonalise(p, k, p->rank - 1);
  }
  assert(p->rank <= m);
}

void cpli_manifold_step(cpli_manifold* p, const double* residuals, double* change) {
  size_t rank = p->determined ? p->used : p->rank;
  double length2 = 0;  // its square
  memset(change, 0, p->n * sizeof *change);
  for (size_t k = 0; k < rank; k++) {
    if (!p->determined && p->left[k] < fmin(different, noise * p->turn * sqrt(length2))) rank = k;
    if (k == rank) break;
    double y = -residuals[p->order[k]];
    for (size_t j = 0; j < k; j++) y -= p->r[k * p->max + j] * p->coefficient[j];
    p->coefficient[k] = y /= p->r[k * p->max + k];
    length2 += y * y;
    for (size_t i = 0; i < p->n; i++) change[i] += y * p->basis[k * p->n + i];
  }
  for (size_t i = 0; i < p->n; i++) change[i] /= p->weight[i];
  assert(rank <= p->rank && p->rank <= p->active);
  p->used = rank;
  p->determined = true;
}

void cpli_manifold_remove(const cpli_manifold* p, double share, double* error) {
  size_t rank = p->determined ? p->used : p->rank;
  for (size_t i = 0; i < p->n; i++) error[i] *= p->weight[i];
  for (size_t k = 0; k < rank; k++) {
    const double* q = p->basis + k * p->n;
    double part = share * dot(q, error, p->n);
    for (size_t i = 0; i < p->n; i++) error[i] -= part * q[i];
  }
  for (size_t i = 0; i < p->n; i++) error[i] /= p->weight[i];
}

double cpli_manifold_norm(const cpli_manifold* p, const double* change) {
  double sum = 0;
  for (size_t i = 0; i < p->n; i++) sum += change[i] * p->weight[i] * (change[i] * p->weight[i]);
  return p->n > 0 ? sqrt(sum / (double)p->n) : 0;
}

cpl_status cpli_manifold_init(cpli_manifold* p, cpl_context* ctx, size_t n, size_t max) {
  *p = (cpli_manifold){.n = n, .max = max, .active = max, .ctx = ctx};
  p->block = cpli_alloc(ctx, n + 2 * max * n + max * max + 3 * max, sizeof(double));
  p->order = cpli_alloc(ctx, max, sizeof *p->order);
  if (p->block == NULL || p->order == NULL) return cpli_nomem(ctx);
  p->weight = p->block;
  p->gradients = p->weight + n;
  p->basis = p->gradients + max * n;
  p->r = p->basis + max * n;
  p->size = p->r + max * max;
  p->coefficient = p->size + max;
  p->left = p->coefficient + max;
  return CPL_OK;
}

void cpli_manifold_free(cpli_manifold* p) {
  if (p->ctx == NULL) return;
  cpli_free(p->ctx, p->block);
  cpli_free(p->ctx, p->order);
}
