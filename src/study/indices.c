// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Elementary effects and Sobol' indices, from the results of the designs made for them.
#include <math.h>
#include <stdlib.h>

#include "study/design.h"
#include "study/distribution.h"
#include "study/statistics.h"

static cpl_status check_kind(const cpl_design* d, cpl_design_kind kind, const char* what) {
  if (d->def.kind == kind) return CPL_OK;
  return cpl_fail(d->ctx, CPL_ERR_INPUT, "%s need a design of kind %s, not %s", what,
                  cpl_design_kind_text(kind), cpl_design_kind_text(d->def.kind));
}

static bool all_finite(const double* y, int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    if (!isfinite(y[i])) return false;
  }
  return true;
}

//------------------------------------ Morris ------------------------------------

// Adds the effect of each factor in one trajectory; y has its results.
static void add_effects(const cpl_design* d, int64_t trajectory, const double* y,
                        cpl_moments* effects, cpl_moments* sizes) {
  const cpli_trajectory t = cpli_trajectory_of(d, trajectory);
  for (size_t f = 0; f < d->def.n_factors; f++) {
    const cpli_move move = cpli_trajectory_move(&t, f);
    const double distance = (double)(move.to - move.from) / (d->def.levels - 1);
    const double effect = (y[move.step] - y[move.step - 1]) / distance;
    cpl_moments_add(&effects[f], effect);
    cpl_moments_add(&sizes[f], fabs(effect));
  }
}

cpl_status cpl_morris_effects(const cpl_design* d, const double* y, cpl_morris_effect* out,
                              int64_t* left_out) {
  cpl_status st = check_kind(d, CPL_DESIGN_MORRIS, "elementary effects");
  if (st < 0) return st;
  const size_t k = d->def.n_factors;
  cpl_moments* effects = cpli_alloc(d->ctx, 2 * k, sizeof *effects);
  if (effects == NULL) return cpli_nomem(d->ctx);
  int64_t without = 0;
  for (int64_t t = 0; t < d->def.n; t++) {
    const double* results = y + t * ((int64_t)k + 1);
    if (all_finite(results, (int64_t)k + 1)) {
      add_effects(d, t, results, effects, effects + k);
    } else {
      without++;
    }
  }
  const bool none = without == d->def.n;
  for (size_t f = 0; f < k; f++) {
    out[f] = (cpl_morris_effect){none ? (double)NAN : effects[f].mean,
                                 none ? (double)NAN : effects[k + f].mean,
                                 cpl_moments_deviation(&effects[f])};
  }
  if (left_out != NULL) *left_out = without;
  cpli_free(d->ctx, effects);
  return CPL_OK;
}

//------------------------------------ Sobol' ------------------------------------

void cpl_init_sobol_def(cpl_sobol_def* def, size_t size) {
  const cpl_sobol_def all = {.size = sizeof all, .resamples = 500, .level = 0.95, .seed = 1};
  cpli_init_def(def, size, &all, sizeof all);
}

// Sums over base points that have no missing result of A and B. Results are relative to `mean`.
typedef struct sums {
  double n, all, squares;  // of A and B
  double* first;           // per factor: B (AB - A)
  double* total;           // (A - AB)^2
  double* count;           // base points with AB
} sums;

static void clear(sums* s, size_t k) {
  s->n = s->all = s->squares = 0;
  memset(s->first, 0, 3 * k * sizeof *s->first);  // the three arrays are one block
}

static void add_point(sums* s, size_t k, const double* y, double mean) {
  const double a = y[0] - mean, b = y[k + 1] - mean;
  if (!isfinite(a) || !isfinite(b)) return;
  s->n++;
  s->all += a + b;
  s->squares += a * a + b * b;
  for (size_t f = 0; f < k; f++) {
    const double ab = y[1 + f] - mean;
    if (!isfinite(ab)) continue;
    s->first[f] += b * (ab - a);
    s->total[f] += (a - ab) * (a - ab);
    s->count[f]++;
  }
}

static void evaluate(const sums* s, size_t k, double* first, double* total) {
  const double mean = s->all / (2 * s->n), variance = s->squares / (2 * s->n) - mean * mean;
  for (size_t f = 0; f < k; f++) {
    const double scale = s->n > 0 && variance > 0 ? 1 / (s->count[f] * variance) : (double)NAN;
    first[f] = s->first[f] * scale;
    total[f] = 0.5 * s->total[f] * scale;
  }
}

// The mean of A and B, which is subtracted from the results: the estimator of first-order indices
// is more accurate so.
static double mean_result(const cpl_design* d, const double* y) {
  const int64_t k = (int64_t)d->def.n_factors;
  cpl_moments m = {0};
  for (int64_t j = 0; j < d->def.n; j++) {
    cpl_moments_add(&m, y[j * (k + 2)]);
    cpl_moments_add(&m, y[j * (k + 2) + k + 1]);
  }
  return m.mean;
}

// Indices of base points drawn with replacement, resample after resample: for each factor the
// first-order ones, then the total ones, are consecutive in `values`.
static void bootstrap(const cpl_design* d, const double* y, double mean, const cpl_sobol_def* def,
                      sums* s, double* row, double* values) {
  const size_t k = d->def.n_factors, resamples = (size_t)def->resamples;
  for (size_t r = 0; r < resamples; r++) {
    clear(s, k);
    for (int64_t j = 0; j < d->def.n; j++) {
      const double u = cpli_unit_interval(
          cpli_random_bits(def->seed, (uint64_t)j, cpli_stream(CPLI_STREAM_BOOTSTRAP, r)).part[0]);
      const int64_t drawn = (int64_t)(u * (double)d->def.n);
      add_point(s, k, y + drawn * ((int64_t)k + 2), mean);
    }
    evaluate(s, k, row, row + k);
    for (size_t i = 0; i < 2 * k; i++) values[i * resamples + r] = row[i];
  }
}

// The interval of one index. A resample without any result has none.
static cpl_status interval(cpl_context* ctx, const double* values, const cpl_sobol_def* def,
                           double* low, double* high) {
  const double p[] = {0.5 * (1 - def->level), 0.5 * (1 + def->level)};
  double ends[2];
  cpl_status st = cpl_quantiles(ctx, values, def->resamples, p, 2, ends);
  if (st < 0) return st;
  *low = ends[0];
  *high = ends[1];
  return CPL_OK;
}

static cpl_status compute_indices(const cpl_design* d, const double* y, const cpl_sobol_def* def,
                                  double* memory, cpl_sobol_index* out) {
  const size_t k = d->def.n_factors, resamples = (size_t)def->resamples;
  sums s = {.first = memory, .total = memory + k, .count = memory + 2 * k};
  double *row = memory + 3 * k, *values = memory + 5 * k;
  const double mean = mean_result(d, y);

  clear(&s, k);
  for (int64_t j = 0; j < d->def.n; j++) add_point(&s, k, y + j * ((int64_t)k + 2), mean);
  evaluate(&s, k, row, row + k);
  for (size_t f = 0; f < k; f++) {
    const double none = (double)NAN;
    out[f] = (cpl_sobol_index){row[f], none, none, row[k + f], none, none, (int64_t)s.count[f]};
  }
  if (resamples == 0 || s.n == 0) return CPL_OK;

  bootstrap(d, y, mean, def, &s, row, values);
  cpl_status st = CPL_OK;
  for (size_t f = 0; st >= 0 && f < k; f++) {
    st = interval(d->ctx, values + f * resamples, def, &out[f].first_low, &out[f].first_high);
    if (st >= 0)
      st = interval(d->ctx, values + (k + f) * resamples, def, &out[f].total_low,
                    &out[f].total_high);
  }
  return st;
}

cpl_status cpl_sobol_indices(const cpl_design* d, const double* y, const cpl_sobol_def* given,
                             cpl_sobol_index* out) {
  cpl_sobol_def def = cpl_default_sobol_def();
  cpl_status st = check_kind(d, CPL_DESIGN_SALTELLI, "Sobol' indices");
  if (st >= 0 && given != NULL)
    st = cpli_read_def(d->ctx, "cpl_sobol_def", given, &def, sizeof def);
  if (st < 0) return st;
  if (def.resamples < 0 || !(def.level > 0 && def.level < 1))
    return cpl_fail(d->ctx, CPL_ERR_INPUT,
                    "the level of confidence is between 0 and 1, and resamples are not negative");
  const size_t k = d->def.n_factors;
  double* memory = cpli_alloc(d->ctx, k, (5 + 2 * (size_t)def.resamples) * sizeof *memory);
  if (memory == NULL) return cpli_nomem(d->ctx);
  st = compute_indices(d, y, &def, memory, out);
  cpli_free(d->ctx, memory);
  return st;
}
