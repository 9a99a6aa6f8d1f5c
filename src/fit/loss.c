// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The losses of CPL_LOSS_LIST.
#include "fit/loss.h"

#include <assert.h>
#include <math.h>

#include "base/base.h"

// Scales for which a fit to normally distributed errors is 95 % as accurate as least squares, but
// for the smooth one.
static const double scales[] = {INFINITY, 1.345, 1, 2.385};
static const char* const names[] = {
#define X(kind, name, text) name,
    CPL_LOSS_LIST(X)
#undef X
};
static_assert(CPLI_COUNT(scales) == CPLI_COUNT(names), "one scale per loss");

bool cpl_loss_by_name(const char* name, cpl_loss* out) {
  const int32_t i = cpli_find_text(names, CPLI_COUNT(names), name);
  if (i >= 0) *out = (cpl_loss)i;
  return i >= 0;
}

double cpli_loss_scale(cpl_loss kind) { return scales[kind]; }

double cpli_loss_influence(cpl_loss kind, double c, double r, double* slope) {
  const double z = r / c, z2 = z * z, root = sqrt(1 + z2);
  *slope = 1;
  switch (kind) {
    case CPL_LOSS_OF_FILE:
    case CPL_LOSS_SQUARES: return r;
    case CPL_LOSS_HUBER:
      if (fabs(r) <= c) return r;
      *slope = 0;
      return copysign(c, r);
    case CPL_LOSS_SOFT_L1: *slope = 1 / (root * root * root); return r / root;
    case CPL_LOSS_CAUCHY: *slope = (1 - z2) / ((1 + z2) * (1 + z2)); return r / (1 + z2);
  }
  return r;
}

static double rho(cpl_loss kind, double c, double r) {
  const double z = r / c, z2 = z * z;
  switch (kind) {
    case CPL_LOSS_OF_FILE:
    case CPL_LOSS_SQUARES: break;
    case CPL_LOSS_HUBER: return fabs(r) <= c ? r * r : 2 * c * fabs(r) - c * c;
    case CPL_LOSS_SOFT_L1: return 2 * r * r / (sqrt(1 + z2) + 1);
    case CPL_LOSS_CAUCHY: return c * c * log1p(z2);
  }
  return r * r;
}

double cpli_loss_residual(cpl_loss kind, double c, double r, double* slope) {
  double unused;
  *slope = 1;
  if (kind == CPL_LOSS_SQUARES || fabs(r) < 1e-8 * c) return r;
  const double f = copysign(sqrt(rho(kind, c, r)), r);
  *slope = cpli_loss_influence(kind, c, r, &unused) / f;
  return f;
}
