// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The Van der Pol oscillator, stiff, with its Jacobian.
#include <couplet/model.h>

static const cpl_declaration states[] = {
    {"x", .start = 2, .description = "displacement", .output = true},
    {"y", .start = 0, .description = "velocity", .nominal = 1e-3, .output = true},
    {0}};

static const cpl_declaration parameters[] = {
    {"mu", .start = 1000, .min = 0, .max = 1e9, .description = "damping; large: stiff"}, {0}};

static int derivatives(const cpl_values* v, double* dx) {
  double x = v->x[0], y = v->x[1], mu = v->p[0];
  dx[0] = y;
  dx[1] = mu * (1 - x * x) * y - x;
  return CPL_MODEL_OK;
}

// doc:begin directional
static int directional(const cpl_values* v, const double* d_x, const double* d_u, double* d_dx,
                       double* d_y) {
  double x = v->x[0], y = v->x[1], mu = v->p[0];
  (void)d_u, (void)d_y;
  if (d_dx != NULL) {
    d_dx[0] = d_x[1];
    d_dx[1] = (-2 * mu * x * y - 1) * d_x[0] + mu * (1 - x * x) * d_x[1];
  }
  return CPL_MODEL_OK;
}
// doc:end

const cpl_model_def couplet_model = {
    .name = "van_der_pol",
    .description = "The Van der Pol oscillator",
    .states = states,
    .parameters = parameters,
    .derivatives = derivatives,
    .directional = directional,
    .stop_time = 2000,
    .tolerance = 1e-6,
};
