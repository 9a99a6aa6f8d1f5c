// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Results and derivatives at values of the parameters.
#include "fit/points.h"

#include <math.h>

//------------------------------------ life ------------------------------------

cpl_status cpli_points_init(cpli_points* p, const cpli_points_def* def) {
  *p = (cpli_points){.ctx = def->trials->ctx, .def = *def, .m = def->m, .n = def->trials->n};
  const size_t each = p->n + p->m + p->m * p->n;
  p->memory = cpli_alloc(p->ctx, 2 * each + 2 * p->m + p->n, sizeof *p->memory);
  if (p->memory == NULL) return cpli_nomem(p->ctx);
  double* at = p->memory;
  cpli_fit_point* points[] = {&p->last, &p->best};
  for (int i = 0; i < 2; i++, at += each) {
    *points[i] = (cpli_fit_point){.x = at, .y = at + p->n, .derivatives = at + p->n + p->m};
    points[i]->x[0] = NAN;
    p->shifted[i] = p->memory + 2 * each + (size_t)i * p->m;
  }
  p->at = p->memory + 2 * each + 2 * p->m;
  // the error of a difference is that of the solver, divided by the step, and the step's square
  p->step = fmin(fmax(cbrt(def->trials->experiment.rtol), 1e-5), 1e-2);
  return CPL_OK;
}

void cpli_points_free(cpli_points* p) {
  if (p->ctx != NULL) cpli_free(p->ctx, p->memory);
}

double cpli_points_noise(const cpli_points* p) {
  return p->n_differences > 0 || !p->def.sensitivities ? 10 * p->step * p->step : 1e-6;
}

//------------------------------------ runs ------------------------------------

static cpl_status simulate(cpli_points* p, const double* x, double* y) {
  return p->def.simulate(p->def.user, x, y, NULL);
}

static bool is_at(const cpli_points* p, const cpli_fit_point* point, const double* x) {
  return memcmp(point->x, x, p->n * sizeof *x) == 0;
}

// Where a run with sensitivities fails, as at an event that is not differentiable, one without them
// may not.
static cpl_status compute(cpli_points* p, const double* x, double* y, double* derivatives,
                          bool* derived) {
  *derived = p->def.sensitivities;
  if (!p->def.sensitivities) return simulate(p, x, y);
  const cpl_status st = p->def.simulate(p->def.user, x, y, derivatives);
  *derived = st == CPL_OK;
  return st == CPL_RETRY ? simulate(p, x, y) : st;
}

static cpl_status point_at(cpli_points* p, const double* x, cpli_fit_point** out) {
  *out = &p->last;
  if (is_at(p, &p->last, x)) return CPL_OK;
  if (is_at(p, &p->best, x)) *out = &p->best;
  if (*out == &p->best) return CPL_OK;
  p->last.x[0] = NAN;
  p->last.has_derivatives = false;
  const cpl_status st = compute(p, x, p->last.y, p->last.derivatives, &p->last.has_derivatives);
  if (st >= 0 && st != CPL_RETRY) memcpy(p->last.x, x, p->n * sizeof *x);
  return st;
}

cpl_status cpli_points_at(cpli_points* p, const double* x, const cpli_fit_point** out) {
  cpli_fit_point* point = NULL;
  const cpl_status st = point_at(p, x, &point);
  *out = point;
  return st;
}

void cpli_points_keep(cpli_points* p) {
  const cpli_fit_point last = p->last;
  p->last = p->best;
  p->best = last;
  p->last.x[0] = NAN;
}

cpl_status cpli_points_repeat(cpli_points* p, const double* x, bool* same) {
  const cpli_fit_point* before = NULL;
  bool derived = false;
  cpl_status st = cpli_points_at(p, x, &before);
  if (st < 0 || st == CPL_RETRY) return st;
  double* again = before == &p->best ? p->last.derivatives : p->best.derivatives;
  if (before == &p->best) p->last.x[0] = NAN, p->last.has_derivatives = false;
  else p->best.x[0] = NAN;
  st = compute(p, x, p->shifted[0], again, &derived);
  *same = st == CPL_OK && memcmp(before->y, p->shifted[0], p->m * sizeof *before->y) == 0;
  return st;
}

//------------------------------------ differences ------------------------------------

double cpli_points_size(const cpli_points* p, size_t j, double x) {
  const cpl_varied* v = &p->def.trials->list[j];
  if (x != 0) return fmax(fabs(x), 1e-2 * fabs(v->guess));
  if (v->guess != 0) return fabs(v->guess);
  const double range = v->greatest - v->least;
  return isfinite(range) ? range : 1;
}

// Both steps stay within the bounds: at a bound they go to the same side.
static void choose_steps(const cpli_points* p, size_t j, double x, double h[2]) {
  const cpl_varied* v = &p->def.trials->list[j];
  double step = p->step * cpli_points_size(p, j, x);
  if (isfinite(v->greatest - v->least)) step = fmin(step, 0.2 * (v->greatest - v->least));
  h[0] = -step, h[1] = step;
  if (x + h[0] < v->least) h[0] = 2 * step;
  else if (x + h[1] > v->greatest) h[1] = -2 * step;
}

static cpl_status shift(cpli_points* p, const double* x, size_t j, double* h, double* y) {
  memcpy(p->at, x, p->n * sizeof *x);
  p->at[j] = x[j] + *h;
  *h = p->at[j] - x[j];
  return simulate(p, p->at, y);
}

// The slope at 0 of the parabola through three points.
static void differentiate(const cpli_points* p, const double* y, const double h[2], double* out) {
  const double a = h[1] / (h[0] * (h[1] - h[0])), b = -h[0] / (h[1] * (h[1] - h[0]));
  for (size_t i = 0; i < p->m; i++)
    out[i] = a * (p->shifted[0][i] - y[i]) + b * (p->shifted[1][i] - y[i]);
}

// Where the run on one side fails, both are made on the other one.
static cpl_status difference(cpli_points* p, cpli_fit_point* point, size_t j) {
  double h[2];
  choose_steps(p, j, point->x[j], h);
  cpl_status st[2];
  for (int i = 0; i < 2; i++) {
    st[i] = shift(p, point->x, j, &h[i], p->shifted[i]);
    if (st[i] < 0) return st[i];
  }
  if (st[0] == CPL_RETRY && st[1] == CPL_RETRY) return CPL_RETRY;
  for (int i = 0; i < 2; i++) {
    if (st[i] != CPL_RETRY) continue;
    h[i] = 0.5 * h[1 - i];
    st[i] = shift(p, point->x, j, &h[i], p->shifted[i]);
    if (st[i] < 0 || st[i] == CPL_RETRY) return st[i];
  }
  differentiate(p, point->y, h, point->derivatives + j * p->m);
  return CPL_OK;
}

cpl_status cpli_points_derive(cpli_points* p, const double* x, const cpli_fit_point** out) {
  cpli_fit_point* point = NULL;
  cpl_status st = point_at(p, x, &point);
  *out = point;
  if (st < 0 || st == CPL_RETRY || point->has_derivatives) return st;
  p->n_differences++;
  for (size_t j = 0; j < p->n && st >= 0; j++) {
    st = difference(p, point, j);
    if (st != CPL_RETRY) continue;
    return cpl_fail(p->ctx, CPL_ERR_SOLVER,
                    "no derivative for %s can be found at %.12g: runs on both sides fail: %s",
                    p->def.trials->list[j].name, x[j], p->def.trials->failure);
  }
  point->has_derivatives = st >= 0;
  return st;
}
