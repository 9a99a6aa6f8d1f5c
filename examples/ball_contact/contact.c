// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The centre of a ball on the ground: a mass on a spring and a damper.
#include <couplet/model.h>

enum { H, V };
enum { G, M, R, C, D };

static const cpl_declaration states[] = {
    {"h", .start = 1, .unit = "m", .description = "height of the centre", .output = true},
    {"v", .start = 0, .unit = "m/s", .description = "velocity, upwards", .output = true},
    {0}};

static const cpl_declaration parameters[] = {
    {"g", .start = 9.81, .unit = "m/s2"},
    {"m", .start = 1, .unit = "kg"},
    {"r", .start = 1, .unit = "m", .description = "radius"},
    {"c", .start = 1000, .unit = "N/m", .description = "stiffness"},
    {"d", .start = 6, .unit = "N.s/m", .description = "damping"},
    {0}};

static int deform(const cpl_values* v, double* dx) {
  const double *x = v->x, *p = v->p;
  dx[H] = x[V];
  dx[V] = -p[G] - (p[C] * (x[H] - p[R]) + p[D] * x[V]) / p[M];
  return CPL_MODEL_OK;
}

const cpl_model_def couplet_model = {.name = "contact",
                                     .description = "A ball on the ground",
                                     .states = states,
                                     .parameters = parameters,
                                     .derivatives = deform};
