// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A mass on a rope of length L, hung up at (xs, ys). The angle is measured from the downward
// vertical, and the rope pulls while rope_force, per mass, is positive.
#include <couplet/model.h>
#include <math.h>

enum { PHI, DPHI };
enum { X, Y, VX, VY, ROPE_FORCE };
enum { L, G, D, XS, YS };

static const cpl_declaration states[] = {{"phi", .unit = "rad", .description = "angle"},
                                         {"dphi", .unit = "rad/s", .description = "its velocity"},
                                         {0}};

static const cpl_declaration outputs[] = {{"x", .unit = "m"},
                                          {"y", .unit = "m"},
                                          {"vx", .unit = "m/s"},
                                          {"vy", .unit = "m/s"},
                                          {"rope_force", .unit = "m/s2"},
                                          {0}};

static const cpl_declaration parameters[] = {
    {"L", .start = 2, .unit = "m", .description = "length of the rope"},
    {"g", .start = 9.81, .unit = "m/s2"},
    {"D", .start = 0, .unit = "1/s", .description = "damping, per mass"},
    {"xs", .start = 0, .unit = "m", .description = "where it is hung up"},
    {"ys", .start = 0, .unit = "m"},
    {0}};

static int swing(const cpl_values* v, double* dx) {
  const double *x = v->x, *p = v->p;
  dx[PHI] = x[DPHI];
  dx[DPHI] = -p[G] / p[L] * sin(x[PHI]) - p[D] * x[DPHI];
  return CPL_MODEL_OK;
}

static int output_values(const cpl_values* v, double* y) {
  const double *x = v->x, *p = v->p;
  double s = sin(x[PHI]), c = cos(x[PHI]);
  y[X] = p[XS] + p[L] * s;
  y[Y] = p[YS] - p[L] * c;
  y[VX] = p[L] * c * x[DPHI];
  y[VY] = p[L] * s * x[DPHI];
  y[ROPE_FORCE] = p[L] * x[DPHI] * x[DPHI] + p[G] * c;
  return CPL_MODEL_OK;
}

const cpl_model_def couplet_model = {.name = "pendulum",
                                     .description = "A mass on a rope",
                                     .states = states,
                                     .outputs = outputs,
                                     .parameters = parameters,
                                     .derivatives = swing,
                                     .output_values = output_values};
