// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A mass that falls freely, with some damping.
#include <couplet/model.h>

enum { X, Y, VX, VY };
enum { G, D };

static const cpl_declaration states[] = {{"x", .unit = "m", .output = true},
                                         {"y", .unit = "m", .output = true},
                                         {"vx", .unit = "m/s", .output = true},
                                         {"vy", .unit = "m/s", .output = true},
                                         {0}};

static const cpl_declaration parameters[] = {
    {"g", .start = 9.81, .unit = "m/s2"},
    {"D", .start = 0, .unit = "1/s", .description = "damping, per mass"},
    {0}};

static int fall(const cpl_values* v, double* dx) {
  const double *x = v->x, *p = v->p;
  dx[X] = x[VX];
  dx[Y] = x[VY];
  dx[VX] = -p[D] * x[VX];
  dx[VY] = -p[G] - p[D] * x[VY];
  return CPL_MODEL_OK;
}

const cpl_model_def couplet_model = {.name = "falling_mass",
                                     .description = "A mass that falls freely",
                                     .states = states,
                                     .parameters = parameters,
                                     .derivatives = fall};
