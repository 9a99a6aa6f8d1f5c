// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// x' = a v, v' = a (mu (1 - (x/s)^2) v - x + k u), with exact derivatives
#include <couplet/model.h>

static const cpl_declaration states[] = {{"x", .output = true}, {"v", .output = true}, {0}};
static const cpl_declaration inputs[] = {{"u"}, {0}};
static const cpl_declaration parameters[] = {
    {"a", .start = 1}, {"mu", .start = 1}, {"s", .start = 1}, {"k", .start = 1}, {0}};

static int derivatives(const cpl_values* v, double* dx) {
  double r = v->x[0] / v->p[2];
  dx[0] = v->p[0] * v->x[1];
  dx[1] = v->p[0] * (v->p[1] * (1 - r * r) * v->x[1] - v->x[0] + v->p[3] * v->u[0]);
  return CPL_MODEL_OK;
}

static int directional(const cpl_values* v, const double* d_x, const double* d_u, double* d_dx,
                       double* d_y) {
  double r = v->x[0] / v->p[2];
  (void)d_y;
  if (d_dx == NULL) return CPL_MODEL_OK;
  d_dx[0] = v->p[0] * d_x[1];
  d_dx[1] = v->p[0] * ((-2 * v->p[1] * r / v->p[2] * v->x[1] - 1) * d_x[0] +
                       v->p[1] * (1 - r * r) * d_x[1] + v->p[3] * d_u[0]);
  return CPL_MODEL_OK;
}

const cpl_model_def couplet_model = {.name = "vanderpol",
                                     .states = states,
                                     .inputs = inputs,
                                     .parameters = parameters,
                                     .derivatives = derivatives,
                                     .directional = directional};
