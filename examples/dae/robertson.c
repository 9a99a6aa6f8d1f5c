// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Robertson's chemical kinetics: three substances, of which the third follows from the sum of all.
//   y1' = -0.04 y1 + 1e4 y2 y3
//   y2' =  0.04 y1 - 1e4 y2 y3 - 3e7 y2^2
//   0   = y1 + y2 + y3 - 1
#include <couplet/model.h>

static const cpl_declaration states[] = {
    {"y1", .start = 1, .output = true},
    {"y2", .start = 0, .output = true, .nominal = 1e-4},
    {0},
};
// doc:begin residuals
static const cpl_declaration algebraics[] = {{"y3", .output = true}, {0}};

static int derivatives(const cpl_values* v, double* dx) {
  double slow = 0.04 * v->x[0], back = 1e4 * v->x[1] * v->z[0], fast = 3e7 * v->x[1] * v->x[1];
  dx[0] = -slow + back;
  dx[1] = slow - back - fast;
  return CPL_MODEL_OK;
}

static int residuals(const cpl_values* v, double* g) {
  g[0] = v->x[0] + v->x[1] + v->z[0] - 1;
  return CPL_MODEL_OK;
}
// doc:end

const cpl_model_def couplet_model = {
    .name = "robertson",
    .description = "chemical kinetics with a conservation law",
    .states = states,
    .algebraics = algebraics,
    .derivatives = derivatives,
    .residuals = residuals,
    .stop_time = 40,
};
