// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Standardised regression coefficients and rank correlations.
#include <math.h>
#include <stdlib.h>

#include "study/design.h"
#include "study/statistics.h"

//------------------------------------ regression ------------------------------------

// Means and sums of products of the deviations of the factors and, last, of the result.
typedef struct products {
  size_t n;  // variables
  int64_t cases;
  double *mean, *off, *value, *sums;  // sums: n * n
} products;

static void add_case(products* p) {
  p->cases++;
  for (size_t i = 0; i < p->n; i++) {
    p->off[i] = p->value[i] - p->mean[i];
    p->mean[i] += p->off[i] / (double)p->cases;
  }
  for (size_t i = 0; i < p->n; i++) {
    const double after = p->value[i] - p->mean[i];
    for (size_t j = 0; j <= i; j++) p->sums[i * p->n + j] += after * p->off[j];
  }
}

// Whether a variable varies at all, beyond the rounding of its mean.
static bool varies(const products* p, size_t i) {
  const double rounding = 1e-14 * fabs(p->mean[i]);
  return p->sums[i * p->n + i] > rounding * rounding * (double)p->cases;
}

// The correlation matrix, by the Cholesky method row by row: a factor that depends linearly on
// those before it has no coefficient. L is made in place, in the lower triangle.
static void regress(products* p, cpl_sensitivity* out, double* r_squared) {
  const size_t n = p->n, k = n - 1;
  double* l = p->sums;
  double *scale = p->off, *solution = p->value;
  for (size_t i = 0; i < n; i++) scale[i] = varies(p, i) ? 1 / sqrt(l[i * n + i]) : 0;
  for (size_t i = 0; i < n; i++) {
    for (size_t j = 0; j <= i; j++) l[i * n + j] *= scale[i] * scale[j];
  }
  for (size_t i = 0; i < n; i++) {
    for (size_t j = 0; j < i; j++) {
      for (size_t m = 0; m < j; m++) l[i * n + j] -= l[i * n + m] * l[j * n + m];
      l[i * n + j] = l[j * n + j] > 0 ? l[i * n + j] / l[j * n + j] : 0;
    }
    for (size_t m = 0; m < i; m++) l[i * n + i] -= l[i * n + m] * l[i * n + m];
    l[i * n + i] = l[i * n + i] > 1e-10 ? sqrt(l[i * n + i]) : 0;
  }
  // the last row is the right-hand side after forward substitution
  double explained = 0;
  for (size_t i = k; i-- > 0;) {
    double sum = l[k * n + i];
    explained += sum * sum;
    for (size_t j = i + 1; j < k; j++) sum -= l[j * n + i] * solution[j];
    solution[i] = l[i * n + i] > 0 ? sum / l[i * n + i] : 0;
    const bool dependent = scale[i] > 0 && l[i * n + i] == 0;
    out[i].regression = dependent ? (double)NAN : solution[i];
  }
  if (r_squared != NULL) *r_squared = scale[k] > 0 ? explained : (double)NAN;
}

static cpl_status regression(const cpl_design* d, const double* y, cpl_sensitivity* out,
                             double* r_squared) {
  const size_t n = d->def.n_factors + 1;
  double* memory = cpli_alloc(d->ctx, n, (n + 3) * sizeof *memory);
  if (memory == NULL) return cpli_nomem(d->ctx);
  products p = {n, 0, memory, memory + n, memory + 2 * n, memory + 3 * n};
  for (int64_t i = 0; i < d->cases; i++) {
    if (!isfinite(y[i])) continue;
    cpl_design_values(d, i, p.value);
    p.value[n - 1] = y[i];
    add_case(&p);
  }
  if (p.cases > (int64_t)n) {
    regress(&p, out, r_squared);
  } else {
    for (size_t i = 0; i + 1 < n; i++) out[i].regression = (double)NAN;
    if (r_squared != NULL) *r_squared = (double)NAN;
  }
  cpli_free(d->ctx, memory);
  return CPL_OK;
}

//------------------------------------ ranks ------------------------------------

typedef struct ranked {
  double value;
  int64_t i;
} ranked;

static int by_value(const void* a, const void* b) {
  const double x = ((const ranked*)a)->value, y = ((const ranked*)b)->value;
  return (x > y) - (x < y);
}

// Ranks relative to their mean; equal values share the mean of their ranks.
static void rank(ranked* items, int64_t n, double* ranks) {
  qsort(items, (size_t)n, sizeof *items, by_value);
  for (int64_t first = 0, last; first < n; first = last + 1) {
    for (last = first; last + 1 < n && items[last + 1].value == items[first].value;) last++;
    for (int64_t i = first; i <= last; i++)
      ranks[items[i].i] = 0.5 * (double)(first + last) - 0.5 * (double)(n - 1);
  }
}

static double correlate(const double* a, const double* b, int64_t n) {
  double aa = 0, bb = 0, ab = 0;
  for (int64_t i = 0; i < n; i++) {
    aa += a[i] * a[i];
    bb += b[i] * b[i];
    ab += a[i] * b[i];
  }
  return aa > 0 && bb > 0 ? ab / sqrt(aa * bb) : 0;
}

static cpl_status correlations(const cpl_design* d, const double* y, cpl_sensitivity* out) {
  const size_t k = d->def.n_factors, most = (size_t)d->cases;
  ranked* items = cpli_alloc(d->ctx, most, sizeof *items);
  double* ranks = cpli_alloc(d->ctx, most, 2 * sizeof *ranks);
  cpl_status st = items != NULL && ranks != NULL ? CPL_OK : cpli_nomem(d->ctx);
  int64_t n = 0;
  for (int64_t i = 0; st >= 0 && i < d->cases; i++) {
    if (!isfinite(y[i])) continue;
    items[n] = (ranked){y[i], n};
    n++;
  }
  if (st >= 0) rank(items, n, ranks);
  for (size_t f = 0; st >= 0 && f < k; f++) {
    int64_t m = 0;
    for (int64_t i = 0; i < d->cases; i++) {
      if (!isfinite(y[i])) continue;
      items[m] = (ranked){cpli_design_value(d, i, f), m};
      m++;
    }
    rank(items, n, ranks + most);
    out[f].correlation = n > 1 ? correlate(ranks, ranks + most, n) : (double)NAN;
  }
  cpli_free(d->ctx, items);
  cpli_free(d->ctx, ranks);
  return st;
}

cpl_status cpl_sensitivities(const cpl_design* d, const double* y, cpl_sensitivity* out,
                             double* r_squared) {
  cpl_status st = regression(d, y, out, r_squared);
  return st < 0 ? st : correlations(d, y, out);
}
