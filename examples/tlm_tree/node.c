// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A mass with three places to fix something to: x' = v, m v' = F1 + F2 + F3.
#include "couplet/model.h"

enum { X, V };

static int derivatives(const cpl_values* v, double* dx) {
  dx[X] = v->x[V];
  dx[V] = (v->u[0] + v->u[1] + v->u[2]) / v->p[0];
  return CPL_MODEL_OK;
}

static int directional(const cpl_values* v, const double* d_x, const double* d_u, double* d_dx,
                       double* d_y) {
  (void)d_y;
  if (d_dx == NULL) return CPL_MODEL_OK;
  d_dx[X] = d_x[V];
  d_dx[V] = (d_u[0] + d_u[1] + d_u[2]) / v->p[0];
  return CPL_MODEL_OK;
}

static const cpl_declaration states[] = {
    {"x", .unit = "m", .output = true}, {"v", .unit = "m/s", .output = true}, {0}};
static const cpl_declaration inputs[] = {{"F", .unit = "N", .size = 3}, {0}};
static const cpl_declaration parameters[] = {{"m", .start = 1, .unit = "kg"}, {0}};

CPL_MODEL_EXPORT const cpl_model_def couplet_model = {.name = "node",
                                                      .states = states,
                                                      .inputs = inputs,
                                                      .parameters = parameters,
                                                      .derivatives = derivatives,
                                                      .directional = directional,
                                                      .stop_time = 1};
