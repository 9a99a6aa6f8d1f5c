// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A mass that falls freely.
#include <couplet/model.h>

enum { X, Y, VX, VY };

static const cpl_declaration states[] = {{"x", .unit = "m", .output = true},
                                         {"y", .unit = "m", .output = true},
                                         {"vx", .unit = "m/s", .output = true},
                                         {"vy", .unit = "m/s", .output = true},
                                         {0}};
static const cpl_declaration parameters[] = {{"g", .start = 9.81, .unit = "m/s2"}, {0}};

static int fall(const cpl_values* v, double* dx) {
  dx[X] = v->x[VX];
  dx[Y] = v->x[VY];
  dx[VX] = 0;
  dx[VY] = -v->p[0];
  return CPL_MODEL_OK;
}

const cpl_model_def couplet_model = {.name = "falling",
                                     .description = "A mass that falls freely",
                                     .states = states,
                                     .parameters = parameters,
                                     .derivatives = fall};
