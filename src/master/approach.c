// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Locates changes of conditions over values of parts that cannot be rolled back. The margins at the
// last communication points predict when a condition changes. A step that would contain the change
// ends before it, by the error of the prediction; the next steps use better predictions, and the
// last one, a short one, ends just past the change. No rollback is needed.
#include <float.h>
#include <math.h>

#include "master/master.h"

enum { MAX_EXTRA = 12 };  // steps for one change

// Lower limit of a step, as a fraction of the usual one: parts may have steps of their own.
static const double min_fraction = 1e-4;

//------------------------------------ polynomials ------------------------------------

// The polynomial through the points of a trace, in d = t - t[0]: a d^2 + b d + margin[0].
typedef struct parabola {
  double a, b;
} parabola;

static parabola through(const cpli_trace* k, int32_t n) {
  double slope = (k->margin[0] - k->margin[1]) / (k->t[0] - k->t[1]);
  if (n < 3) return (parabola){0, slope};
  double before = (k->margin[1] - k->margin[2]) / (k->t[1] - k->t[2]);
  double a = (slope - before) / (k->t[0] - k->t[2]);
  return (parabola){a, slope + a * (k->t[0] - k->t[1])};
}

// The roots of a d^2 + b d + c, without cancellation; NAN: there are none.
static void roots_of(parabola p, double c, double roots[2]) {
  double q = -(p.b + copysign(sqrt(p.b * p.b - 4 * p.a * c), p.b)) / 2;
  roots[0] = c / q;
  roots[1] = p.a != 0 ? q / p.a : NAN;
}

// The first root between low and high, both distances from t[0]; NAN: none.
static double first_root(const cpli_trace* k, int32_t n, double low, double high) {
  double roots[2], first = NAN;
  roots_of(through(k, n), k->margin[0], roots);
  for (int i = 0; i < 2; i++) {
    if (roots[i] > low && roots[i] <= high) first = fmin(first, roots[i]);
  }
  return first;
}

//------------------------------------ the trace ------------------------------------

static bool can_vary(const cpli_master* m) {
  for (int32_t i = 0; i < m->n_parts; i++) {
    if (m->parts[i].step > 0 || m->parts[i].keeps_own) return false;
  }
  return true;
}

void cpli_master_trace(cpli_master* m) {
  cpli_trace* k = &m->trace;
  if (m->margin_t != m->t || isnan(m->margin) || isinf(m->margin)) {
    k->n = 0;
    return;
  }
  int32_t n = k->n < CPLI_SAMPLES ? k->n : CPLI_SAMPLES - 1;
  for (int32_t i = n; i > 0; i--) k->t[i] = k->t[i - 1], k->margin[i] = k->margin[i - 1];
  k->t[0] = m->t;
  k->margin[0] = m->margin;
  k->n = n + 1;
}

// After the start and after events the trace is empty: all inputs are set again, unchanged, to
// measure the margins of the conditions.
static cpl_status begin_trace(cpli_master* m) {
  m->trace = (cpli_trace){0};
  cpl_status st = cpli_master_settle(m);
  if (st >= 0) st = cpli_master_ask(m);
  if (st >= 0) cpli_master_trace(m);
  return st;
}

double cpli_master_crossing(const cpli_master* m, double begin, double* error) {
  const cpli_trace* k = &m->trace;
  if (k->n < 2 || k->t[1] != begin || !(k->margin[0] >= 0) || !(k->margin[1] <= 0)) return NAN;
  double low = begin - k->t[0], line = fmax(low, fmin(0, -k->margin[0] / through(k, 2).b));
  double curve = k->n > 2 ? first_root(k, 3, low, 0) : NAN;
  *error = isnan(curve) ? fmax(-line, line - low) : fabs(curve - line);
  return k->t[0] + (isnan(curve) ? line : curve);
}

//------------------------------------ the next step ------------------------------------

// The predicted time until the condition changes, and an estimate of its error.
static double predict(const cpli_trace* k, double* error) {
  double line = first_root(k, 2, 0, INFINITY);
  if (k->n < 3) {
    *error = line / 4;
    return line;
  }
  double curve = first_root(k, 3, 0, INFINITY);
  *error = isnan(line) ? curve / 2 : fabs(curve - line);
  return curve;
}

cpl_status cpli_master_approach(cpli_master* m, double* target) {
  cpli_trace* k = &m->trace;
  double usual = m->def.step > 0 ? m->def.step : *target - m->t, error = 0;
  double min_h = fmax(min_fraction * usual, 64 * DBL_EPSILON * fabs(m->t));
  if (!can_vary(m)) return CPL_OK;
  if (m->margin_t != m->t || k->n == 0 || k->t[0] != m->t) {
    cpl_status st = begin_trace(m);
    if (st < 0) return st;
  }
  if (k->n > 0 && k->margin[0] >= 0) *k = (cpli_trace){0};  // it changed: the trace starts anew
  double until = k->n > 1 ? predict(k, &error) : NAN, all = *target - m->t;
  if (!(until - error < all)) {
    k->extra = 0;
    return CPL_OK;
  }
  if (k->extra++ >= MAX_EXTRA) return CPL_OK;
  double before = until - fmax(error, min_h), past = until + 2 * error;
  double h = before > min_h ? before : fmax(past, min_h);
  if (h < all - min_h) *target = m->t + h;
  return CPL_OK;
}
