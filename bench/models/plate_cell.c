// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A cell of a heated plate: heat flows from four neighbours, and radiation.
#include <couplet/model.h>

static const cpl_declaration states[] = {{"T", .start = 300}, {0}};
static const cpl_declaration inputs[] = {{"west"}, {"east"}, {"north"}, {"south"}, {0}};
static const cpl_declaration outputs[] = {{"y", .start = 300}, {0}};

static int derivatives(const cpl_values* v, double* dx) {
  double T = v->x[0];
  dx[0] = v->u[0] + v->u[1] + v->u[2] + v->u[3] - 1e-10 * (T * T * T * T - 8.1e9);
  return CPL_MODEL_OK;
}

static int temperature(const cpl_values* v, double* y) {
  y[0] = v->x[0];
  return CPL_MODEL_OK;
}

static const cpl_dependency dependencies[] = {
    {"der(T)", "T west east north south"}, {"y", "T", "constant"}, {0}};

const cpl_model_def couplet_model = {.name = "plate_cell",
                                     .states = states,
                                     .inputs = inputs,
                                     .outputs = outputs,
                                     .derivatives = derivatives,
                                     .output_values = temperature,
                                     .dependencies = dependencies};
