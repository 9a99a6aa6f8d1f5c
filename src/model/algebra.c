// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#include "model/algebra.h"

#include <float.h>
#include <math.h>

#include "model/lu.h"

enum { MOST_ITERATIONS = 50 };
static const double arrived = 1e-13;   // a step so small, relative to value and nominal
static const double at_floor = 1e-11;  // a step so small that becomes no smaller is rounding
static const double shortest = 1e-4;   // the most that a step is damped
static const double good_rate = 0.05;  // of two steps that follow each other: keep the matrix

static double size_of(const cpli_algebra* a, const double* step, const double* z) {
  double most = 0;
  for (size_t i = 0; i < a->n; i++) {
    double size = fabs(step[i]) / (fabs(z[i]) + a->nominal[i]);
    if (!(size <= most)) most = size;
  }
  return most;
}

//------------------------------------ the linear system ------------------------------------

static cpl_status by_differences(cpli_algebra* a, const double* z) {
  memcpy(a->z_next, z, a->n * sizeof *z);
  for (size_t j = 0; j < a->n; j++) {
    double* column = a->matrix + j * a->n;
    a->z_next[j] = z[j] + sqrt(DBL_EPSILON) * fmax(fabs(z[j]), a->nominal[j]);
    double delta = a->z_next[j] - z[j];
    cpl_status st = a->residuals(a->user, a->z_next, column);
    if (st != CPL_OK) return st;
    for (size_t i = 0; i < a->n; i++) column[i] = (column[i] - a->g[i]) / delta;
    a->z_next[j] = z[j];
  }
  a->bad = cpli_lu_factor(a->matrix, a->pivot, (int32_t)a->n);
  return a->bad < 0 ? CPL_OK : CPL_RETRY;
}

// a->g belongs to z already, but the model may be elsewhere by now.
static cpl_status factor(cpli_algebra* a, const double* z) {
  cpl_status st = CPL_OK;
  if (a->factor == NULL) {
    st = by_differences(a, z);
  } else {
    st = a->residuals(a->user, z, a->g);
    if (st == CPL_OK) st = a->factor(a->user);
  }
  a->ready = st == CPL_OK;
  return st;
}

cpl_status cpli_algebra_apply(cpli_algebra* a, const double* g, double* step) {
  if (a->solve != NULL) return a->solve(a->user, g, step);
  memcpy(step, g, a->n * sizeof *g);
  cpli_lu_solve(a->matrix, a->pivot, (int32_t)a->n, step);
  return CPL_OK;
}

//------------------------------------ Newton's method ------------------------------------

// Goes along a->step until the correction that would follow is smaller: z, a->g and a->step are
// those of the new point then. *gone: how far, of the whole step; 0: nowhere.
static cpl_status advance(cpli_algebra* a, double* z, double size, double* gone) {
  for (double part = 1; part >= shortest; part /= 2) {
    for (size_t i = 0; i < a->n; i++) a->z_next[i] = z[i] - part * a->step[i];
    cpl_status st = a->residuals(a->user, a->z_next, a->g_next);
    if (st == CPL_OK) st = cpli_algebra_apply(a, a->g_next, a->next);
    if (st < 0) return st;
    if (st != CPL_OK || !(size_of(a, a->next, a->z_next) <= (1 - part / 2) * size)) continue;
    memcpy(z, a->z_next, a->n * sizeof *z);
    memcpy(a->g, a->g_next, a->n * sizeof *z);
    memcpy(a->step, a->next, a->n * sizeof *z);
    *gone = part;
    return CPL_OK;
  }
  *gone = 0;
  return CPL_OK;
}

// The last step is taken, small as it is: values may be small against their nominals, too.
static cpl_status take_last(cpli_algebra* a, double* z) {
  for (size_t i = 0; i < a->n; i++) z[i] -= a->step[i];
  return a->residuals(a->user, z, a->g);
}

cpl_status cpli_algebra_solve(cpli_algebra* a, double* z) {
  bool fresh = false;
  a->bad = -1;
  cpl_status st = a->residuals(a->user, z, a->g);
  if (st == CPL_OK && a->ready) st = cpli_algebra_apply(a, a->g, a->step);
  for (int i = 0; i < MOST_ITERATIONS && st == CPL_OK; i++) {
    if (!a->ready) {
      st = factor(a, z);
      if (st == CPL_OK) st = cpli_algebra_apply(a, a->g, a->step);
      if (st != CPL_OK) return st;
      fresh = true;
    }
    double gone = 0, size = size_of(a, a->step, z);
    if (size <= arrived) return take_last(a, z);
    st = advance(a, z, size, &gone);
    if (st != CPL_OK) return st;
    if (gone == 0 && size <= (fresh ? 100 : 1) * at_floor) return a->residuals(a->user, z, a->g);
    if (gone == 0 && fresh) return CPL_RETRY;
    a->ready = gone == 1 && size_of(a, a->step, z) <= good_rate * size;
    fresh = false;
  }
  return st == CPL_OK ? CPL_RETRY : st;
}

//------------------------------------ life ------------------------------------

cpl_status cpli_algebra_init(cpli_algebra* a, cpl_context* ctx) {
  size_t n = a->n;
  a->ctx = ctx;
  a->bad = -1;
  a->nominal = cpli_alloc(ctx, 6 * n, sizeof(double));
  if (a->nominal == NULL) return cpli_nomem(ctx);
  a->g = a->nominal + n;
  a->g_next = a->g + n;
  a->step = a->g_next + n;
  a->next = a->step + n;
  a->z_next = a->next + n;
  if (a->factor != NULL) return CPL_OK;
  a->matrix = cpli_alloc(ctx, n * n, sizeof(double));
  a->pivot = cpli_alloc(ctx, n, sizeof *a->pivot);
  return a->matrix == NULL || a->pivot == NULL ? cpli_nomem(ctx) : CPL_OK;
}

void cpli_algebra_free(cpli_algebra* a) {
  cpli_free(a->ctx, a->nominal);
  cpli_free(a->ctx, a->matrix);
  cpli_free(a->ctx, a->pivot);
}
