// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// One state, two neighbours: the member of a large ring, with its own directional derivatives.
#include <couplet/model.h>

static const cpl_declaration states[] = {{"x", .start = 1}, {0}};
static const cpl_declaration inputs[] = {{.name = "a"}, {.name = "b"}, {0}};
static const cpl_declaration outputs[] = {{.name = "y"}, {0}};

static int derivatives(const cpl_values* v, double* dx) {
  dx[0] = -3 * v->x[0] + v->u[0] + v->u[1];
  return CPL_MODEL_OK;
}

static int output_values(const cpl_values* v, double* y) {
  y[0] = v->x[0];
  return CPL_MODEL_OK;
}

static int directional(const cpl_values* v, const double* d_x, const double* d_u, double* d_dx,
                       double* d_y) {
  (void)v;
  if (d_dx != NULL) d_dx[0] = -3 * d_x[0] + d_u[0] + d_u[1];
  if (d_y != NULL) d_y[0] = d_x[0];
  return CPL_MODEL_OK;
}

static const cpl_dependency dependencies[] = {
    {"der(x)", "x a b", "constant"}, {"y", "x", "constant"}, {0}};

const cpl_model_def couplet_model = {.name = "ring_one",
                                     .states = states,
                                     .inputs = inputs,
                                     .outputs = outputs,
                                     .derivatives = derivatives,
                                     .output_values = output_values,
                                     .directional = directional,
                                     .dependencies = dependencies};
