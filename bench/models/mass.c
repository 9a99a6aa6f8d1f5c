// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A mass between two neighbours: springs to both, and a damper to the ground.
#include <couplet/model.h>

static const cpl_declaration states[] = {{"x", .start = 1}, {.name = "v"}, {0}};
static const cpl_declaration inputs[] = {{.name = "left"}, {.name = "right"}, {0}};
static const cpl_declaration outputs[] = {{.name = "y"}, {0}};

static int move(const cpl_values* v, double* dx) {
  dx[0] = v->x[1];
  dx[1] = 100 * (v->u[0] - 2 * v->x[0] + v->u[1]) - 0.5 * v->x[1];
  return CPL_MODEL_OK;
}

static int position(const cpl_values* v, double* y) {
  y[0] = v->x[0];
  return CPL_MODEL_OK;
}

const cpl_model_def couplet_model = {.name = "mass",
                                     .states = states,
                                     .inputs = inputs,
                                     .outputs = outputs,
                                     .derivatives = move,
                                     .output_values = position};
