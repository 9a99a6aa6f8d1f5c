// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Both pendulums and the spring between them written as one model: the reference.
#include <couplet/model.h>
#include <math.h>

static const double pi_2 = 1.57079632679489661923;

static const cpl_declaration states[] = {{"left.x1", .start = pi_2, .output = true},
                                         {"left.x2", .output = true},
                                         {"right.x1", .start = -pi_2, .output = true},
                                         {"right.x2", .output = true},
                                         {0}};
static const cpl_declaration parameters[] = {
    {"g", .start = 9.82}, {"k", .start = 1}, {"a", .start = -2}, {"b", .start = 2}, {0}};

static int swing(const cpl_values* v, double* dx) {
  const double *x = v->x, *p = v->p;
  double g = p[0], k = p[1], a = p[2], b = p[3], w = sin(v->t), aw = -sin(v->t);
  double fx = k * ((sin(x[0]) - a + w) - (sin(x[2]) - b - w)), fy = k * (-cos(x[0]) + cos(x[2]));
  dx[0] = x[1];
  dx[1] = (-g + fy) * sin(x[0]) + (fx + aw) * cos(x[0]);
  dx[2] = x[3];
  dx[3] = (-g - fy) * sin(x[2]) + (-fx + aw) * cos(x[2]);
  return CPL_MODEL_OK;
}

const cpl_model_def couplet_model = {.name = "monolithic",
                                     .states = states,
                                     .parameters = parameters,
                                     .derivatives = swing,
                                     .stop_time = 5,
                                     .tolerance = 1e-12,
                                     .step_size = 0.05};
