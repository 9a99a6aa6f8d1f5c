// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A pendulum of unit mass and length in Cartesian coordinates. Its constraint x1^2 + x2^2 = 1, of
// index 3, is differentiated twice, which gives lambda.
#include <couplet/model.h>

enum { X1, X2, X3, X4 };  // states: position and velocity, relative to the pivot
enum { U1, U2, U3, W };   // inputs
enum { G };               // parameters

static const cpl_declaration states[] = {{"x1", .start = 1, .unit = "m"},
                                         {"x2", .unit = "m"},
                                         {"x3", .unit = "m/s"},
                                         {"x4", .unit = "m/s"},
                                         {0}};

static const cpl_declaration inputs[] = {
    {"u1", .unit = "m/s2", .description = "acceleration by the motion of the pivot"},
    {"u2", .unit = "N", .description = "force on the bob, x"},
    {"u3", .unit = "N", .description = "force on the bob, y"},
    {"w", .unit = "m", .description = "displacement of the pivot; the motion does not need it"},
    {0}};

static const cpl_declaration outputs[] = {
    {"y1", .unit = "m", .description = "position of the bob, x"},
    {"y2", .unit = "m", .description = "position of the bob, y"},
    {0}};

static const cpl_declaration parameters[] = {{"g", .start = 9.82, .unit = "m/s2"}, {0}};

static int move(const cpl_values* v, double* dx) {
  const double *x = v->x, *u = v->u;
  double g = v->p[G], fx = u[U1] + u[U2], fy = -g + u[U3];
  double along = x[X1] * fx + x[X2] * fy + x[X3] * x[X3] + x[X4] * x[X4];
  double lambda = along / (2 * (x[X1] * x[X1] + x[X2] * x[X2]));
  dx[X1] = x[X3];
  dx[X2] = x[X4];
  dx[X3] = fx - 2 * x[X1] * lambda;
  dx[X4] = fy - 2 * x[X2] * lambda;
  return CPL_MODEL_OK;
}

static int output_values(const cpl_values* v, double* y) {
  y[0] = v->x[X1];
  y[1] = v->x[X2];
  return CPL_MODEL_OK;
}

const cpl_model_def couplet_model = {.name = "pendulum",
                                     .description = "A pendulum in Cartesian coordinates",
                                     .states = states,
                                     .inputs = inputs,
                                     .outputs = outputs,
                                     .parameters = parameters,
                                     .derivatives = move,
                                     .output_values = output_values};
