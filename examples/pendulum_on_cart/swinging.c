// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A mass on a rope that is hung up at a point in motion. The angle is measured from the downward
// vertical. The rope pulls with `rope` and, at the point it hangs on, with `force` to the side;
// both follow the acceleration of that point at once.
#include <couplet/model.h>
#include <math.h>

enum { PHI, DPHI };
enum { S, V, A };
enum { X, Y, VX, VY, ROPE, FORCE };
enum { L, G, M };

static const cpl_declaration states[] = {{"phi", .unit = "rad"}, {"dphi", .unit = "rad/s"}, {0}};
static const cpl_declaration inputs[] = {{"s", .unit = "m", .description = "where it is hung up"},
                                         {"v", .unit = "m/s"},
                                         {"a", .unit = "m/s2"},
                                         {0}};
static const cpl_declaration outputs[] = {{"x", .unit = "m"},
                                          {"y", .unit = "m"},
                                          {"vx", .unit = "m/s"},
                                          {"vy", .unit = "m/s"},
                                          {"rope", .unit = "N"},
                                          {"force", .unit = "N"},
                                          {0}};
static const cpl_declaration parameters[] = {{"L", .start = 2, .unit = "m"},
                                             {"g", .start = 9.81, .unit = "m/s2"},
                                             {"m", .start = 1, .unit = "kg"},
                                             {0}};

static int swing(const cpl_values* v, double* dx) {
  const double *x = v->x, *p = v->p;
  dx[PHI] = x[DPHI];
  dx[DPHI] = -(p[G] * sin(x[PHI]) + v->u[A] * cos(x[PHI])) / p[L];
  return CPL_MODEL_OK;
}

static int output_values(const cpl_values* v, double* y) {
  const double *x = v->x, *p = v->p, *u = v->u;
  double s = sin(x[PHI]), c = cos(x[PHI]);
  y[X] = u[S] + p[L] * s;
  y[Y] = -p[L] * c;
  y[VX] = u[V] + p[L] * c * x[DPHI];
  y[VY] = p[L] * s * x[DPHI];
  y[ROPE] = p[M] * (p[L] * x[DPHI] * x[DPHI] + p[G] * c - u[A] * s);
  y[FORCE] = y[ROPE] * s;
  return CPL_MODEL_OK;
}

const cpl_model_def couplet_model = {.name = "swinging",
                                     .description = "A mass on a rope",
                                     .states = states,
                                     .inputs = inputs,
                                     .outputs = outputs,
                                     .parameters = parameters,
                                     .derivatives = swing,
                                     .output_values = output_values};
