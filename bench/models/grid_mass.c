// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A mass of a grid that moves across it: forces of four springs, and a damper to the ground.
#include <couplet/model.h>

static const cpl_declaration states[] = {{"x"}, {"v"}, {0}};
static const cpl_declaration inputs[] = {{"west"}, {"east"}, {"north"}, {"south"}, {0}};
static const cpl_declaration outputs[] = {{"y"}, {0}};

static int derivatives(const cpl_values* v, double* dx) {
  dx[0] = v->x[1];
  dx[1] = v->u[0] + v->u[1] + v->u[2] + v->u[3] - 0.5 * v->x[1];
  return CPL_MODEL_OK;
}

static int position(const cpl_values* v, double* y) {
  y[0] = v->x[0];
  return CPL_MODEL_OK;
}

static const cpl_dependency dependencies[] = {{"der(x)", "v", "constant"},
                                              {"der(v)", "v west east north south", "constant"},
                                              {"y", "x", "constant"},
                                              {0}};

const cpl_model_def couplet_model = {.name = "grid_mass",
                                     .states = states,
                                     .inputs = inputs,
                                     .outputs = outputs,
                                     .derivatives = derivatives,
                                     .output_values = position,
                                     .dependencies = dependencies};
