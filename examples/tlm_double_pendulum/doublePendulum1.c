// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The first half of the first rod: 0.5 kg, 0.25 m, hung up at the origin, swinging in the plane of
// x and y. phi is measured from the downward vertical. Its free end is an interface in three
// dimensions: position, orientation (row by row), speeds; f and t are what the rod gives to the
// interface, as flow variables of Modelica are, so that -f acts on it.
#include <math.h>

#include "couplet/model.h"

enum { PHI, W };
enum { R, A = R + 3, V = A + 9, OMEGA = V + 3 };

static const double mass = 0.5, length = 0.25, g = 9.81;

static int derivatives(const cpl_values* v, double* dx) {
  double s = sin(v->x[PHI]), c = cos(v->x[PHI]);
  double fx = -v->u[0], fy = -v->u[1], torque = -v->u[5];
  dx[PHI] = v->x[W];
  dx[W] = (length * (s * fy + c * fx) + torque - mass * g * length / 2 * s) /
          (mass * length * length / 3);
  return CPL_MODEL_OK;
}

static int outputs(const cpl_values* v, double* y) {
  double s = sin(v->x[PHI]), c = cos(v->x[PHI]), w = v->x[W];
  for (int i = 0; i < OMEGA + 3; i++) y[i] = 0;
  y[R] = length * s, y[R + 1] = -length * c;
  y[A] = s, y[A + 1] = c, y[A + 3] = -c, y[A + 4] = s, y[A + 8] = 1;  // turned by phi - pi/2
  y[V] = length * c * w, y[V + 1] = length * s * w;
  y[OMEGA + 2] = w;
  return CPL_MODEL_OK;
}

static const cpl_declaration states[] = {
    {"phi", .start = 1.5707963267948966, .output = true}, {"omega", .output = true}, {0}};
static const cpl_declaration inputs[] = {{"f", .size = 3}, {"t", .size = 3}, {0}};
static const cpl_declaration output_list[] = {
    {"r", .size = 3}, {"A", .size = 9}, {"v", .size = 3}, {"w", .size = 3}, {0}};
static const cpl_dependency dependencies[] = {{"r", "phi", NULL},          {"A", "phi", NULL},
                                              {"v", "phi omega", NULL},    {"w", "omega", NULL},
                                              {"der(phi)", "omega", NULL}, {0}};

CPL_MODEL_EXPORT const cpl_model_def couplet_model = {.name = "doublePendulum1",
                                                      .states = states,
                                                      .inputs = inputs,
                                                      .outputs = output_list,
                                                      .derivatives = derivatives,
                                                      .output_values = outputs,
                                                      .dependencies = dependencies,
                                                      .tolerance = 1e-8,
                                                      .stop_time = 3};
