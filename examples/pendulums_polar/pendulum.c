// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A pendulum of unit mass and length in polar coordinates, with its directional derivatives.
#include <couplet/model.h>
#include <math.h>

enum { X1, X2 };         // states: angle and angular velocity
enum { U1, U2, U3, W };  // inputs
enum { G };              // parameters

static const cpl_declaration states[] = {{"x1", .unit = "rad"}, {"x2", .unit = "rad/s"}, {0}};

static const cpl_declaration inputs[] = {
    {"u1", .unit = "m/s2", .description = "acceleration by the motion of the pivot"},
    {"u2", .unit = "N", .description = "force on the bob, x"},
    {"u3", .unit = "N", .description = "force on the bob, y"},
    {"w", .unit = "m", .description = "displacement of the pivot; the motion does not need it"},
    {0}};

static const cpl_declaration outputs[] = {{"y", .unit = "rad", .description = "angle"},
                                          {"y1", .unit = "rad/s", .description = "its velocity"},
                                          {0}};

static const cpl_declaration parameters[] = {{"g", .start = 9.82, .unit = "m/s2"}, {0}};

static int swing(const cpl_values* v, double* dx) {
  const double *x = v->x, *u = v->u;
  dx[X1] = x[X2];
  dx[X2] = (-v->p[G] + u[U3]) * sin(x[X1]) + (u[U1] + u[U2]) * cos(x[X1]);
  return CPL_MODEL_OK;
}

static int output_values(const cpl_values* v, double* y) {
  y[0] = v->x[X1];
  y[1] = v->x[X2];
  return CPL_MODEL_OK;
}

static int directional(const cpl_values* v, const double* d_x, const double* d_u, double* d_dx,
                       double* d_y) {
  const double* u = v->u;
  double s = sin(v->x[X1]), c = cos(v->x[X1]);
  if (d_dx != NULL) {
    d_dx[X1] = d_x[X2];
    d_dx[X2] = ((-v->p[G] + u[U3]) * c - (u[U1] + u[U2]) * s) * d_x[X1] + s * d_u[U3] +
               c * (d_u[U1] + d_u[U2]);
  }
  if (d_y != NULL) {
    d_y[0] = d_x[X1];
    d_y[1] = d_x[X2];
  }
  return CPL_MODEL_OK;
}

const cpl_model_def couplet_model = {.name = "pendulum",
                                     .description = "A pendulum in polar coordinates",
                                     .states = states,
                                     .inputs = inputs,
                                     .outputs = outputs,
                                     .parameters = parameters,
                                     .derivatives = swing,
                                     .output_values = output_values,
                                     .directional = directional};
