// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Moments, quantiles and histograms of results.
#include <math.h>
#include <stdlib.h>

#include "study/distribution.h"
#include "study/statistics.h"

//------------------------------------ moments ------------------------------------

void cpl_moments_add(cpl_moments* m, double y) {
  if (!isfinite(y)) {
    m->missing++;
    return;
  }
  m->least = m->n == 0 ? y : fmin(m->least, y);
  m->greatest = m->n == 0 ? y : fmax(m->greatest, y);
  m->n++;
  const double off = y - m->mean;
  m->mean += off / (double)m->n;
  m->squares += off * (y - m->mean);
}

void cpl_moments_merge(cpl_moments* m, const cpl_moments* other) {
  const int64_t missing = m->missing + other->missing;
  if (other->n > 0 && m->n > 0) {
    const double n = (double)m->n, k = (double)other->n, off = other->mean - m->mean;
    m->squares += other->squares + off * off * n * k / (n + k);
    m->mean += off * k / (n + k);
    m->least = fmin(m->least, other->least);
    m->greatest = fmax(m->greatest, other->greatest);
    m->n += other->n;
  } else if (other->n > 0) {
    *m = *other;
  }
  m->missing = missing;
}

double cpl_moments_deviation(const cpl_moments* m) {
  return m->n > 1 ? sqrt(m->squares / (double)(m->n - 1)) : (double)NAN;
}

//------------------------------------ order ------------------------------------

static int by_size(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

cpl_status cpli_sorted(cpl_context* ctx, const double* y, int64_t n, double** out, int64_t* count) {
  double* sorted = cpli_alloc(ctx, (size_t)n, sizeof *sorted);
  *out = sorted;
  *count = 0;
  if (sorted == NULL) return cpli_nomem(ctx);
  for (int64_t i = 0; i < n; i++) {
    if (isfinite(y[i])) sorted[(*count)++] = y[i];
  }
  qsort(sorted, (size_t)*count, sizeof *sorted, by_size);
  return CPL_OK;
}

cpl_status cpl_quantiles(cpl_context* ctx, const double* y, int64_t n, const double* p, size_t n_p,
                         double* out) {
  for (size_t i = 0; i < n_p; i++) {
    if (!(p[i] >= 0 && p[i] <= 1))
      return cpl_fail(ctx, CPL_ERR_INPUT, "the probability of a quantile is from 0 to 1, not %g",
                      p[i]);
  }
  double* sorted = NULL;
  int64_t count = 0;
  cpl_status st = cpli_sorted(ctx, y, n, &sorted, &count);
  for (size_t i = 0; st >= 0 && i < n_p; i++)
    out[i] = count > 0 ? cpli_sorted_quantile(sorted, count, p[i]) : (double)NAN;
  cpli_free(ctx, sorted);
  return st;
}

//------------------------------------ histograms ------------------------------------

enum { MAX_BINS = 200 };

// Bins of twice the distance of the quartiles over the cubic root of the number.
static size_t automatic_bins(const double* sorted, int64_t count) {
  const double range = sorted[count - 1] - sorted[0];
  const double spread =
      cpli_sorted_quantile(sorted, count, 0.75) - cpli_sorted_quantile(sorted, count, 0.25);
  const double width = 2 * spread / cbrt((double)count);
  if (!(range > 0)) return 1;
  const double bins = width > 0 ? ceil(range / width) : ceil(sqrt((double)count));
  return (size_t)fmin(fmax(bins, 1), MAX_BINS);
}

// Values in order: the bin of each is that of the last edge that is not above it.
static void count_bins(const double* sorted, int64_t count, cpl_histogram* h) {
  const double a = sorted[0], b = sorted[count - 1];
  for (size_t i = 0; i <= h->n_bins; i++) {
    const double part = (double)i / (double)h->n_bins;
    h->edges[i] = i == h->n_bins ? b : a * (1 - part) + b * part;
  }
  size_t bin = 0;
  for (int64_t i = 0; i < count; i++) {
    while (bin + 1 < h->n_bins && sorted[i] >= h->edges[bin + 1]) bin++;
    h->counts[bin]++;
  }
}

cpl_status cpl_histogram_make(cpl_context* ctx, const double* y, int64_t n, size_t n_bins,
                              cpl_histogram* out) {
  double* sorted = NULL;
  int64_t count = 0;
  *out = (cpl_histogram){0};
  cpl_status st = cpli_sorted(ctx, y, n, &sorted, &count);
  if (st >= 0 && count > 0) {
    out->n_bins = n_bins > 0 ? n_bins : automatic_bins(sorted, count);
    out->edges = cpli_alloc(ctx, out->n_bins + 1, sizeof *out->edges);
    out->counts = cpli_alloc(ctx, out->n_bins, sizeof *out->counts);
    if (out->edges != NULL && out->counts != NULL) {
      count_bins(sorted, count, out);
    } else {
      cpl_histogram_free(ctx, out);
      st = cpli_nomem(ctx);
    }
  }
  cpli_free(ctx, sorted);
  return st;
}

void cpl_histogram_free(cpl_context* ctx, cpl_histogram* h) {
  if (h == NULL) return;
  cpli_free(ctx, h->edges);
  cpli_free(ctx, h->counts);
  *h = (cpl_histogram){0};
}
