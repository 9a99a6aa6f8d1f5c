// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The example of the layered standard FMI-LS-DAE: one state and two algebraic variables.
//   x' = y,  0 = y + 2 z - x,  0 = y - 3 z - 2 x
// so that x' = 7/5 x, y = 7/5 x and z = -x/5.
#include <couplet/model.h>

static const cpl_declaration states[] = {{"x", .start = 1, .output = true}, {0}};
static const cpl_declaration algebraics[] = {{"y", .output = true}, {"z", .output = true}, {0}};

static int derivatives(const cpl_values* v, double* dx) {
  dx[0] = v->z[0];
  return CPL_MODEL_OK;
}

static int residuals(const cpl_values* v, double* g) {
  g[0] = v->z[0] + 2 * v->z[1] - v->x[0];
  g[1] = v->z[0] - 3 * v->z[1] - 2 * v->x[0];
  return CPL_MODEL_OK;
}

const cpl_model_def couplet_model = {
    .name = "hello",
    .description = "a linear system with two algebraic variables",
    .states = states,
    .algebraics = algebraics,
    .derivatives = derivatives,
    .residuals = residuals,
    .stop_time = 1,
};
