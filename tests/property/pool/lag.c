// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// x' = a (k u - x), with exact derivatives
#include <couplet/model.h>

static const cpl_declaration states[] = {{"x", .output = true}, {0}};
static const cpl_declaration inputs[] = {{"u"}, {0}};
static const cpl_declaration parameters[] = {
    {"a", .start = 1, .tunable = true}, {"k", .start = 1, .tunable = true}, {0}};

static int derivatives(const cpl_values* v, double* dx) {
  dx[0] = v->p[0] * (v->p[1] * v->u[0] - v->x[0]);
  return CPL_MODEL_OK;
}

static int directional(const cpl_values* v, const double* d_x, const double* d_u, double* d_dx,
                       double* d_y) {
  (void)d_y;
  if (d_dx != NULL) d_dx[0] = v->p[0] * (v->p[1] * d_u[0] - d_x[0]);
  return CPL_MODEL_OK;
}

const cpl_model_def couplet_model = {.name = "lag",
                                     .states = states,
                                     .inputs = inputs,
                                     .parameters = parameters,
                                     .derivatives = derivatives,
                                     .directional = directional};
