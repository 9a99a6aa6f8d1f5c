// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Both pendulums and the spring between them written as one model: the reference.
#include <couplet/model.h>
#include <math.h>

static const cpl_declaration states[] = {{"left.x1", .start = 1, .output = true},
                                         {"left.x2", .output = true},
                                         {"left.x3", .output = true},
                                         {"left.x4", .output = true},
                                         {"right.x1", .start = -1, .output = true},
                                         {"right.x2", .output = true},
                                         {"right.x3", .output = true},
                                         {"right.x4", .output = true},
                                         {0}};
static const cpl_declaration parameters[] = {
    {"g", .start = 9.82}, {"k", .start = 1}, {"a", .start = -2}, {"b", .start = 2}, {0}};

static void pendulum(const double* x, double fx, double fy, double* dx) {
  double along = x[0] * fx + x[1] * fy + x[2] * x[2] + x[3] * x[3];
  double lambda = along / (2 * (x[0] * x[0] + x[1] * x[1]));
  dx[0] = x[2];
  dx[1] = x[3];
  dx[2] = fx - 2 * x[0] * lambda;
  dx[3] = fy - 2 * x[1] * lambda;
}

static int move(const cpl_values* v, double* dx) {
  const double *l = v->x, *r = v->x + 4;
  double g = v->p[0], k = v->p[1], a = v->p[2], b = v->p[3], w = sin(v->t), aw = -sin(v->t);
  double fx = k * ((l[0] - a + w) - (r[0] - b - w)), fy = k * (l[1] - r[1]);
  pendulum(l, aw + fx, -g + fy, dx);
  pendulum(r, aw - fx, -g - fy, dx + 4);
  return CPL_MODEL_OK;
}

const cpl_model_def couplet_model = {.name = "monolithic",
                                     .states = states,
                                     .parameters = parameters,
                                     .derivatives = move,
                                     .stop_time = 5,
                                     .tolerance = 1e-12,
                                     .step_size = 0.05};
