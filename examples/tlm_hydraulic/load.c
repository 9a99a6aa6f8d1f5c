// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A resistance to the tank: q = -p / R, counted into the pipe.
#include "couplet/model.h"

static int outputs(const cpl_values* v, double* y) {
  y[0] = -v->u[0] / v->p[0];
  return CPL_MODEL_OK;
}

static int directional(const cpl_values* v, const double* d_x, const double* d_u, double* d_dx,
                       double* d_y) {
  (void)d_x, (void)d_dx;
  if (d_y != NULL) d_y[0] = -d_u[0] / v->p[0];
  return CPL_MODEL_OK;
}

static const cpl_declaration inputs[] = {{"p", .unit = "Pa"}, {0}};
static const cpl_declaration output_list[] = {{"q", .unit = "m3/s"}, {0}};
static const cpl_declaration parameters[] = {{"R", .start = 5e8}, {0}};

CPL_MODEL_EXPORT const cpl_model_def couplet_model = {.name = "load",
                                                      .inputs = inputs,
                                                      .outputs = output_list,
                                                      .parameters = parameters,
                                                      .output_values = outputs,
                                                      .directional = directional,
                                                      .stop_time = 0.3};
