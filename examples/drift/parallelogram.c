// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A beam hung on three parallel rods of the same length: with two of them the mechanism is
// complete, the third is redundant. Six constraints (lengths and velocities along the rods) have
// rank four, and rank two where the rods lie in line with the beam, y = 0: the mechanism could turn
// over there. The beam does not turn, so that its middle moves like a pendulum.
#include <couplet/model.h>

enum { X, Y, PHI, VX, VY, OMEGA };
enum { G, R };
enum { RODS = 3 };
static const double at[RODS] = {-1, 0, 1};  // along the beam, and of the pivots

static int derivatives(const cpl_values* v, double* dx) {
  const double* x = v->x;
  double square = x[X] * x[X] + x[Y] * x[Y];
  double force = (v->p[G] * x[Y] - x[VX] * x[VX] - x[VY] * x[VY]) / square;
  for (int i = 0; i < 3; i++) dx[i] = x[VX + i];
  dx[VX] = force * x[X];
  dx[VY] = force * x[Y] - v->p[G];
  dx[OMEGA] = 0;
  return CPL_MODEL_OK;
}

// For small angles of the beam, which is all it has: errors.
static int constraints(const cpl_values* v, double* c) {
  const double* x = v->x;
  for (int i = 0; i < RODS; i++) {
    double dx = x[X], dy = x[Y] + at[i] * x[PHI], ux = x[VX], uy = x[VY] + at[i] * x[OMEGA];
    c[i] = dx * dx + dy * dy - v->p[R] * v->p[R];
    c[RODS + i] = dx * ux + dy * uy;
  }
  return CPL_MODEL_OK;
}

static const cpl_declaration states[] = {{"x", .start = 1, .unit = "m", .output = true},
                                         {"y", .unit = "m", .output = true},
                                         {"phi", .unit = "rad", .output = true},
                                         {"vx", .unit = "m/s"},
                                         {"vy", .unit = "m/s"},
                                         {"omega", .unit = "rad/s"},
                                         {0}};
static const cpl_declaration outputs[] = {{"drift", .unit = "m2"}, {0}};
static const cpl_declaration parameters[] = {
    {"g", .start = 9.81, .unit = "m/s2"}, {"R", .start = 1, .unit = "m"}, {0}};

static int output_values(const cpl_values* v, double* y) {
  y[0] = v->x[X] * v->x[X] + v->x[Y] * v->x[Y] - v->p[R] * v->p[R];
  return CPL_MODEL_OK;
}

const cpl_model_def couplet_model = {.name = "parallelogram",
                                     .description = "beam on three rods, one too many",
                                     .states = states,
                                     .outputs = outputs,
                                     .parameters = parameters,
                                     .derivatives = derivatives,
                                     .output_values = output_values,
                                     .n_constraints = 2 * RODS,
                                     .constraints = constraints,
                                     .stop_time = 100,
                                     .tolerance = 1e-6};
