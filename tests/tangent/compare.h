// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Tangent functions of a model in C against differences of the functions that they were made of:
// central ones at shrinking steps, extrapolated (Ridders), whose error is estimated.
#pragma once

#include <math.h>

#include "model/csource.h"
#include "testing.h"

// One function of a model at one point.
typedef struct compared {
  int (*f)(const cpl_values*, double*);
  int (*tangent)(const cpl_values*, const cpl_values*, double*, double*);
  size_t nx, nu, np, nw, nz, n_out, memory_size;
  bool parameters, fresh_memory;
} compared;

typedef struct point_data {
  cpl_values v;
  double *x, *u, *p, *w, *z;
  char* memory;
} point_data;

static inline void ignore_report(const cpl_model_host* host, const char* text) {
  (void)host, (void)text;
}

static inline point_data make_point(const compared* c) {
  static const cpl_model_host host = {.report = ignore_report};
  point_data d = {.x = calloc(c->nx + 1, sizeof(double)),
                  .u = calloc(c->nu + 1, sizeof(double)),
                  .p = calloc(c->np + 1, sizeof(double)),
                  .w = calloc(c->nw + 1, sizeof(double)),
                  .z = calloc(c->nz + 1, sizeof(double)),
                  .memory = calloc(c->memory_size + 1, 1)};
  d.v = (cpl_values){
      .x = d.x, .u = d.u, .p = d.p, .w = d.w, .z = d.z, .memory = d.memory, .host = &host};
  return d;
}

static inline void free_point(point_data* d) {
  free(d->x), free(d->u), free(d->p), free(d->w), free(d->z), free(d->memory);
}

// A reproducible number between -1 and 1.
static inline double next_random(uint64_t* state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (double)(int64_t)(*state >> 11) / 4503599627370496.0 - 1;
}

static inline void shift(const compared* c, const point_data* at, const point_data* d, double h,
                         point_data* to) {
  for (size_t i = 0; i < c->nx; i++) to->x[i] = at->x[i] + h * d->x[i];
  for (size_t i = 0; i < c->nu; i++) to->u[i] = at->u[i] + h * d->u[i];
  for (size_t i = 0; i < c->np; i++) to->p[i] = at->p[i] + h * d->p[i];
  for (size_t i = 0; i < c->nz; i++) to->z[i] = at->z[i] + h * d->z[i];
  for (size_t i = 0; i < c->nw; i++) to->w[i] = at->w[i] + h * d->w[i];
  memset(to->memory, 0, c->memory_size);
  to->v.t = at->v.t + h * d->v.t;
}

// The slope of every result in direction d, and how far it can be trusted; infinite: not at all.
static inline bool differentiate(const compared* c, const point_data* at, const point_data* d,
                                 double* slope, double* error) {
  enum { ROUNDS = 10 };
  const double shrink = 1.6;
  size_t n = c->n_out;
  double* table = calloc(ROUNDS * ROUNDS * n + 1, sizeof(double));
  double *plus = calloc(n + 1, sizeof(double)), *minus = calloc(n + 1, sizeof(double));
  point_data moved = make_point(c);
  bool good = true;
  double h = 1e-2;
  for (size_t i = 0; i < n; i++) error[i] = INFINITY, slope[i] = 0;
  for (int k = 0; k < ROUNDS && good; k++, h /= shrink) {
    shift(c, at, d, h, &moved);
    good = c->f(&moved.v, plus) == 0;
    shift(c, at, d, -h, &moved);
    good = good && c->f(&moved.v, minus) == 0;
    for (size_t i = 0; i < n && good; i++) {
      double* a = table + i * ROUNDS * ROUNDS;
      double factor = shrink * shrink;
      a[k] = (plus[i] - minus[i]) / (2 * h);
      for (int j = 1; j <= k; j++, factor *= shrink * shrink) {
        a[j * ROUNDS + k] =
            (a[(j - 1) * ROUNDS + k] * factor - a[(j - 1) * ROUNDS + k - 1]) / (factor - 1);
        double e = fmax(fabs(a[j * ROUNDS + k] - a[(j - 1) * ROUNDS + k]),
                        fabs(a[j * ROUNDS + k] - a[(j - 1) * ROUNDS + k - 1]));
        if (e < error[i]) error[i] = e, slope[i] = a[j * ROUNDS + k];
      }
    }
  }
  free_point(&moved);
  free(table), free(plus), free(minus);
  return good;
}

// The number of results that were compared; fails where one differs.
static inline int compare(const compared* c, const point_data* at, const point_data* d,
                          double tolerance, const char* what) {
  size_t n = c->n_out;
  double* slope = calloc(n + 1, sizeof(double));
  double *error = calloc(n + 1, sizeof(double)), *y = calloc(n + 1, sizeof(double));
  double *same = calloc(n + 1, sizeof(double)), *d_y = calloc(n + 1, sizeof(double));
  char *fresh = calloc(c->memory_size + 1, 1), *shadow = calloc(c->memory_size + 1, 1);
  cpl_values v = at->v, seed = d->v;
  int compared_values = 0;
  memset(at->memory, 0, c->memory_size);
  v.memory = fresh, seed.memory = shadow;
  if (c->f(&at->v, y) == 0 && c->tangent(&v, &seed, same, d_y) == 0 &&
      differentiate(c, at, d, slope, error)) {
    for (size_t i = 0; i < n; i++) {
      const double size = fmax(fabs(slope[i]), 1);
      if (!(error[i] < 0.1 * tolerance * size) || !isfinite(y[i])) continue;
      if (memcmp(&same[i], &y[i], sizeof(double)) != 0)
        fail_msg("%s: value %zu is %.17g, and %.17g of the tangent function", what, i, y[i],
                 same[i]);
      if (!(fabs(d_y[i] - slope[i]) <= tolerance * size))
        fail_msg("%s: derivative %zu is %.17g, by differences %.17g +- %.3g", what, i, d_y[i],
                 slope[i], error[i]);
      compared_values++;
    }
  }
  free(slope), free(error), free(y), free(same), free(d_y), free(fresh), free(shadow);
  return compared_values;
}
