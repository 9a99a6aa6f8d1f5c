// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Both pendulums, the spring between them and the walls written as one model.
#include <couplet/model.h>

static const cpl_declaration states[] = {{"left.x1", .start = 1, .output = true},
                                         {"left.x2", .output = true},
                                         {"left.x3", .output = true},
                                         {"left.x4", .output = true},
                                         {"right.x1", .start = -1, .output = true},
                                         {"right.x2", .output = true},
                                         {"right.x3", .output = true},
                                         {"right.x4", .output = true},
                                         {0}};
enum { G, K, A, B, LEFT_WALL, RIGHT_WALL };
static const cpl_declaration parameters[] = {{"g", .start = 9.82},
                                             {"k", .start = 1},
                                             {"a", .start = -2},
                                             {"b", .start = 2},
                                             {"left_wall"},
                                             {"right_wall", .start = 0.3},
                                             {0}};

static void pendulum(const double* x, double fx, double fy, double* dx) {
  double along = x[0] * fx + x[1] * fy + x[2] * x[2] + x[3] * x[3];
  double lambda = along / (2 * (x[0] * x[0] + x[1] * x[1]));
  dx[0] = x[2];
  dx[1] = x[3];
  dx[2] = fx - 2 * x[0] * lambda;
  dx[3] = fy - 2 * x[1] * lambda;
}

static int move(const cpl_values* v, double* dx) {
  const double *l = v->x, *r = v->x + 4, *p = v->p;
  double fx = p[K] * ((l[0] - p[A]) - (r[0] - p[B])), fy = p[K] * (l[1] - r[1]);
  pendulum(l, fx, -p[G] + fy, dx);
  pendulum(r, -fx, -p[G] - fy, dx + 4);
  return CPL_MODEL_OK;
}

static int walls(const cpl_values* v, double* z) {
  z[0] = v->x[0] - v->p[LEFT_WALL];
  z[1] = v->p[RIGHT_WALL] - v->x[4];
  return CPL_MODEL_OK;
}

static int bounce(const cpl_values* v, cpl_event_actions* a) {
  for (int k = 0; k < 2; k++) {
    if (a->crossed[k] >= 0) continue;
    a->x[4 * k + 2] = -v->x[4 * k + 2];
    a->x[4 * k + 3] = -v->x[4 * k + 3];
  }
  return CPL_MODEL_OK;
}

const cpl_model_def couplet_model = {.name = "monolithic",
                                     .states = states,
                                     .parameters = parameters,
                                     .n_indicators = 2,
                                     .derivatives = move,
                                     .indicators = walls,
                                     .event = bounce,
                                     .stop_time = 5,
                                     .tolerance = 1e-10};
