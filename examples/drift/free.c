// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The same pendulum as a model that knows nothing of its constraints, with a force on the bob.
#include <couplet/model.h>

enum { X, Y, VX, VY };

static int derivatives(const cpl_values* v, double* dx) {
  const double *x = v->x, *f = v->u;
  double g = v->p[0], ax = f[0], ay = f[1] - g;
  double along = x[X] * ax + x[Y] * ay + x[VX] * x[VX] + x[VY] * x[VY];
  double force = -along / (x[X] * x[X] + x[Y] * x[Y]);
  dx[X] = x[VX];
  dx[Y] = x[VY];
  dx[VX] = ax + force * x[X];
  dx[VY] = ay + force * x[Y];
  return CPL_MODEL_OK;
}

static const cpl_declaration states[] = {{"x", .start = 1, .unit = "m", .output = true},
                                         {"y", .unit = "m", .output = true},
                                         {"vx", .unit = "m/s", .output = true},
                                         {"vy", .unit = "m/s", .output = true},
                                         {0}};
static const cpl_declaration inputs[] = {{"fx", .unit = "N"}, {"fy", .unit = "N"}, {0}};
static const cpl_declaration parameters[] = {{"g", .start = 9.81, .unit = "m/s2"}, {0}};

const cpl_model_def couplet_model = {.name = "free",
                                     .description = "Cartesian pendulum, constraints not told",
                                     .states = states,
                                     .inputs = inputs,
                                     .parameters = parameters,
                                     .derivatives = derivatives,
                                     .stop_time = 100};
