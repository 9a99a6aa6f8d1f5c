// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Newton's method with the natural monotonicity test (P. Deuflhard): a step is halved until the
// following correction with the same matrix is smaller. Where the search stops before convergence,
// the residuals are tested for their rounding errors.
#include "numeric/algebra.h"

#include <assert.h>
#include <float.h>
#include <math.h>

#include "numeric/lu.h"

enum { MAX_ITERATIONS = 50 };
static const double arrived = 1e-13;   // convergence: step relative to the value itself
static const double at_floor = 1e-11;  // a step this small that no longer shrinks is rounding
static const double shortest = 1e-4;   // smallest damping factor
static const double good_rate = 0.05;  // ratio of consecutive steps up to which the matrix is kept

// A step in units of the values before or after the step that is about to be taken from z.
static double size_of(const cpli_algebra* a, const double* step, const double* z) {
  double max = 0;
  for (size_t i = 0; i < a->n; i++) {
    if (step[i] == 0) continue;
    double magnitude = fmax(fabs(z[i]), fabs(z[i] - a->step[i]));
    double size = fabs(step[i]) / fmax(magnitude, a->relevant * a->nominal[i]);
    if (!(size <= max)) max = size;
  }
  return max;
}

//------------------------------------ the linear system ------------------------------------

// Increments are relative to the nominal values. Where these fail, they are relative to the values
// themselves, which may be much smaller.
static double increment(const cpli_algebra* a, const double* z, size_t j) {
  double size = a->own_increments && z[j] != 0 ? fabs(z[j]) : fmax(fabs(z[j]), a->nominal[j]);
  return sqrt(DBL_EPSILON) * size;
}

static cpl_status by_differences(cpli_algebra* a, const double* z) {
  memcpy(a->z_next, z, a->n * sizeof *z);
  for (size_t j = 0; j < a->n; j++) {
    double* column = a->matrix + j * a->n;
    a->z_next[j] = z[j] + increment(a, z, j);
    double delta = a->z_next[j] - z[j];
    cpl_status st = a->residuals(a->user, a->z_next, column);
    if (st != CPL_OK) return st;
    for (size_t i = 0; i < a->n; i++) column[i] = (column[i] - a->g[i]) / delta;
    a->z_next[j] = z[j];
  }
  cpli_lu_equilibrate(a->matrix, (int32_t)a->n, a->row, a->column);
  a->bad = cpli_lu_factor(a->matrix, a->pivot, (int32_t)a->n);
  return a->bad < 0 ? CPL_OK : CPL_RETRY;
}

// a->g belongs to z already, but the model may be at another point.
static cpl_status factor(cpli_algebra* a, const double* z) {
  cpl_status st = CPL_OK;
  if (a->factor == NULL) {
    st = by_differences(a, z);
    if (st == CPL_RETRY && !a->own_increments) {
      int32_t bad = a->bad;
      a->own_increments = true;
      st = by_differences(a, z);
      a->bad = bad;
    }
  } else {
    st = a->residuals(a->user, z, a->g);
    if (st == CPL_OK) st = a->factor(a->user);
  }
  a->ready = st == CPL_OK;
  return st;
}

cpl_status cpli_algebra_apply(cpli_algebra* a, const double* g, double* step) {
  if (a->solve != NULL) return a->solve(a->user, g, step);
  assert(a->matrix != NULL && a->ready);
  for (size_t i = 0; i < a->n; i++) step[i] = g[i] * a->row[i];
  cpli_lu_solve(a->matrix, a->pivot, (int32_t)a->n, step);
  for (size_t i = 0; i < a->n; i++) step[i] *= a->column[i];
  return CPL_OK;
}

//------------------------------------ Newton's method ------------------------------------

// Line search along a->step until the following correction is smaller: z, a->g and a->step are then
// those of the new point. *gone: fraction of the full step; 0: no progress.
static cpl_status advance(cpli_algebra* a, double* z, double size, double* gone) {
  for (double part = 1; part >= shortest; part /= 2) {
    for (size_t i = 0; i < a->n; i++) a->z_next[i] = z[i] - part * a->step[i];
    cpl_status st = a->residuals(a->user, a->z_next, a->g_next);
    if (st == CPL_OK) st = cpli_algebra_apply(a, a->g_next, a->next);
    if (st < 0) return st;
    if (st != CPL_OK || !(size_of(a, a->next, z) <= (1 - part / 2) * size)) continue;
    memcpy(z, a->z_next, a->n * sizeof *z);
    memcpy(a->g, a->g_next, a->n * sizeof *z);
    memcpy(a->step, a->next, a->n * sizeof *z);
    *gone = part;
    return CPL_OK;
  }
  *gone = 0;
  return CPL_OK;
}

// Whether the remaining residuals are rounding errors: a small fraction of the step leaves their
// bits unchanged, and where they change, they jump by their own magnitude. *hidden is set; a step
// that is not small compared with the nominal values is not rounding.
static cpl_status test_resolution(cpli_algebra* a, const double* z, bool* hidden) {
  enum { FIRST = -60, LAST = 6 };
  size_t open = 0;
  *hidden = false;
  for (size_t i = 0; i < a->n; i++) {
    if (!(fabs(a->step[i]) <= at_floor * fmax(fabs(z[i]), a->nominal[i]))) return CPL_OK;
    a->next[i] = a->g[i] != 0;  // whether it has not changed yet
    open += a->g[i] != 0;
  }
  for (int power = FIRST; power <= LAST && open > 0; power++) {
    for (size_t i = 0; i < a->n; i++) a->z_next[i] = z[i] - ldexp(a->step[i], power);
    cpl_status st = a->residuals(a->user, a->z_next, a->g_next);
    if (st != CPL_OK) return st < 0 ? st : CPL_OK;
    for (size_t i = 0; i < a->n; i++) {
      double change = fabs(a->g_next[i] - a->g[i]);
      if (a->next[i] == 0 || change == 0) continue;
      if (change < 0.25 * fabs(a->g[i])) return CPL_OK;
      a->next[i] = 0;
      open--;
    }
  }
  *hidden = open == 0;
  return CPL_OK;
}

// The search has stopped at z, with the derivatives of this point.
static cpl_status end_search(cpli_algebra* a, const double* z, double size, bool* again) {
  bool hidden = size <= 100 * at_floor;
  cpl_status st = hidden ? CPL_OK : test_resolution(a, z, &hidden);
  if (st < 0) return st;
  if (hidden) return a->residuals(a->user, z, a->g);
  *again = a->factor == NULL && !a->own_increments;
  a->own_increments = *again;
  a->ready = false;
  a->bad = -1;
  return *again ? a->residuals(a->user, z, a->g) : CPL_RETRY;
}

cpl_status cpli_algebra_solve(cpli_algebra* a, double* z) {
  bool fresh = false;
  a->bad = -1;
  cpl_status st = a->residuals(a->user, z, a->g);
  if (st == CPL_OK && a->ready) st = cpli_algebra_apply(a, a->g, a->step);
  for (int i = 0; i < MAX_ITERATIONS && st == CPL_OK; i++) {
    if (!a->ready) {
      bool stuck = a->own_increments;
      st = factor(a, z);
      if (st == CPL_OK) st = cpli_algebra_apply(a, a->g, a->step);
      if (st != CPL_OK && stuck) a->bad = -1;  // a minimum of the residuals
      if (st != CPL_OK) a->own_increments = false;
      if (st != CPL_OK) return st;
      fresh = true;
    }
    double gone = 0, size = size_of(a, a->step, z);
    bool again = false;
    if (size <= arrived) return a->residuals(a->user, z, a->g);
    st = advance(a, z, size, &gone);
    if (st != CPL_OK) return st;
    if (gone == 0 && size <= at_floor) return a->residuals(a->user, z, a->g);
    if (gone == 0 && fresh) {
      st = end_search(a, z, size, &again);
      if (st != CPL_OK || !again) return st;
    }
    a->ready = gone == 1 && size_of(a, a->step, z) <= good_rate * size;
    fresh = false;
  }
  return st == CPL_OK ? CPL_RETRY : st;
}

//------------------------------------ life ------------------------------------

cpl_status cpli_algebra_init(cpli_algebra* a, cpl_context* ctx) {
  size_t n = a->n;
  assert(a->residuals != NULL && (a->factor == NULL) == (a->solve == NULL));
  a->ctx = ctx;
  a->bad = -1;
  a->nominal = cpli_alloc(ctx, 8 * n, sizeof(double));
  if (a->nominal == NULL) return cpli_nomem(ctx);
  a->g = a->nominal + n;
  a->g_next = a->g + n;
  a->step = a->g_next + n;
  a->next = a->step + n;
  a->z_next = a->next + n;
  a->row = a->z_next + n;
  a->column = a->row + n;
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
