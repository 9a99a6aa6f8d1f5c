// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// y = k u + c
#include <couplet/model.h>

static const cpl_declaration inputs[] = {{"u"}, {0}};
static const cpl_declaration outputs[] = {{"y"}, {0}};
static const cpl_declaration parameters[] = {
    {"k", .start = 1, .tunable = true}, {"c", .tunable = true}, {0}};

static int output_values(const cpl_values* v, double* y) {
  y[0] = v->p[0] * v->u[0] + v->p[1];
  return CPL_MODEL_OK;
}

static int directional(const cpl_values* v, const double* d_x, const double* d_u, double* d_dx,
                       double* d_y) {
  (void)d_x, (void)d_dx;
  if (d_y != NULL) d_y[0] = v->p[0] * d_u[0];
  return CPL_MODEL_OK;
}

const cpl_model_def couplet_model = {.name = "gain",
                                     .inputs = inputs,
                                     .outputs = outputs,
                                     .parameters = parameters,
                                     .output_values = output_values,
                                     .directional = directional};
