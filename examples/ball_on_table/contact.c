// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The centre of a ball that touches a surface in motion: a mass on a spring and a damper.
#include <couplet/model.h>

enum { H, V };
enum { H0, V0 };
enum { G, M, R, C, D };

static const cpl_declaration states[] = {
    {"h", .start = 1, .unit = "m", .description = "height of the centre", .output = true},
    {"v", .start = 0, .unit = "m/s", .description = "velocity, upwards", .output = true},
    {0}};
static const cpl_declaration inputs[] = {
    {"h0", .unit = "m", .description = "of the surface"}, {"v0", .unit = "m/s"}, {0}};
static const cpl_declaration outputs[] = {{"force", .unit = "N", .description = "on the surface"},
                                          {0}};
static const cpl_declaration parameters[] = {
    {"g", .start = 9.81, .unit = "m/s2"},
    {"m", .start = 1, .unit = "kg"},
    {"r", .start = 1, .unit = "m", .description = "radius"},
    {"c", .start = 1000, .unit = "N/m", .description = "stiffness"},
    {"d", .start = 6, .unit = "N.s/m", .description = "damping"},
    {0}};

static double force(const cpl_values* v) {
  const double *x = v->x, *p = v->p, *u = v->u;
  return -p[C] * (x[H] - u[H0] - p[R]) - p[D] * (x[V] - u[V0]);
}

static int deform(const cpl_values* v, double* dx) {
  dx[H] = v->x[V];
  dx[V] = -v->p[G] + force(v) / v->p[M];
  return CPL_MODEL_OK;
}

static int output_values(const cpl_values* v, double* y) {
  y[0] = force(v);
  return CPL_MODEL_OK;
}

const cpl_model_def couplet_model = {.name = "contact",
                                     .description = "A ball on a surface",
                                     .states = states,
                                     .inputs = inputs,
                                     .outputs = outputs,
                                     .parameters = parameters,
                                     .derivatives = deform,
                                     .output_values = output_values};
