// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A pendulum of unit mass and length on a pivot that moves by w, with a force on the bob. States
// are absolute, so that its constraints depend on inputs: the position and velocity of the pivot.
#include <couplet/model.h>

enum { X, Y, VX, VY };
enum { W, DW, DDW, FX, FY };

static int derivatives(const cpl_values* v, double* dx) {
  const double *x = v->x, *u = v->u;
  double px = x[X] - u[W], py = x[Y], vx = x[VX] - u[DW], vy = x[VY];
  double ax = u[FX], ay = u[FY] - v->p[0];
  double along = px * (ax - u[DDW]) + py * ay + vx * vx + vy * vy;
  double force = -along / (px * px + py * py);
  dx[X] = x[VX];
  dx[Y] = x[VY];
  dx[VX] = ax + force * px;
  dx[VY] = ay + force * py;
  return CPL_MODEL_OK;
}

static int constraints(const cpl_values* v, double* c) {
  const double *x = v->x, *u = v->u;
  double px = x[X] - u[W], py = x[Y];
  c[0] = px * px + py * py - 1;
  c[1] = px * (x[VX] - u[DW]) + py * x[VY];
  return CPL_MODEL_OK;
}

static const cpl_declaration states[] = {{"x", .start = 1, .unit = "m", .output = true},
                                         {"y", .unit = "m", .output = true},
                                         {"vx", .unit = "m/s", .output = true},
                                         {"vy", .unit = "m/s", .output = true},
                                         {0}};
static const cpl_declaration inputs[] = {{"w", .unit = "m"},      {"dw", .unit = "m/s"},
                                         {"ddw", .unit = "m/s2"}, {"fx", .unit = "N"},
                                         {"fy", .unit = "N"},     {0}};
static const cpl_declaration parameters[] = {{"g", .start = 9.82, .unit = "m/s2"}, {0}};

const cpl_model_def couplet_model = {.name = "driven",
                                     .description = "Cartesian pendulum on a moving pivot",
                                     .states = states,
                                     .inputs = inputs,
                                     .parameters = parameters,
                                     .derivatives = derivatives,
                                     .n_constraints = 2,
                                     .constraints = constraints,
                                     .stop_time = 100};
