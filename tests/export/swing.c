// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A pendulum in Cartesian coordinates with its constraints, for drift_test.c.
#include <couplet/model.h>

static const cpl_declaration states[] = {
    {"x", .output = true}, {"y", .start = -1.3}, {"vx", .start = 2.9}, {"vy"}, {0}};

static int derivatives(const cpl_values* v, double* dx) {
  const double* s = v->x;
  double r2 = s[0] * s[0] + s[1] * s[1];
  double pull = (s[2] * s[2] + s[3] * s[3] - 9.81 * s[1]) / r2;
  dx[0] = s[2];
  dx[1] = s[3];
  dx[2] = -pull * s[0];
  dx[3] = -pull * s[1] - 9.81;
  return CPL_MODEL_OK;
}

static int constraints(const cpl_values* v, double* c) {
  const double* s = v->x;
  c[0] = (s[0] * s[0] + s[1] * s[1] - 1.69) / 2;
  c[1] = s[0] * s[2] + s[1] * s[3];
  return CPL_MODEL_OK;
}

const cpl_model_def couplet_model = {.name = "swing",
                                     .states = states,
                                     .derivatives = derivatives,
                                     .n_constraints = 2,
                                     .constraints = constraints};
