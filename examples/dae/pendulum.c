// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A pendulum in Cartesian coordinates, with the force in its rod (per mass and length) as an
// algebraic variable:
//   x' = vx,  y' = vy,  vx' = -f x,  vy' = -f y - g
// The length of the rod is a residual of index 3. Differentiated once it says that the velocity is
// across the rod, differentiated twice it gives the force:
//   0 = (x^2 + y^2 - 1) / 2
//   0 = x vx + y vy
//   0 = vx^2 + vy^2 - f (x^2 + y^2) - g y
// The last is the residual; the first two are its constraints, which step errors drift away from.
#include <couplet/model.h>
#include <math.h>

static const double g = 9.81;

static const cpl_declaration states[] = {
    {"x", .start = 1, .unit = "m", .output = true},
    {"y", .unit = "m", .output = true},
    {"vx", .unit = "m/s"},
    {"vy", .unit = "m/s"},
    {0},
};
static const cpl_declaration algebraics[] = {{"force", .output = true, .nominal = 10}, {0}};
static const cpl_declaration outputs[] = {
    {"drift", .unit = "m", .description = "length of the rod less what it should be"},
    {"energy", .unit = "J", .description = "per mass, less what it was at the start"},
    {0},
};

static int derivatives(const cpl_values* v, double* dx) {
  const double* x = v->x;
  dx[0] = x[2];
  dx[1] = x[3];
  dx[2] = -v->z[0] * x[0];
  dx[3] = -v->z[0] * x[1] - g;
  return CPL_MODEL_OK;
}

static int residuals(const cpl_values* v, double* r) {
  const double* x = v->x;
  r[0] = x[2] * x[2] + x[3] * x[3] - v->z[0] * (x[0] * x[0] + x[1] * x[1]) - g * x[1];
  return CPL_MODEL_OK;
}

static int constraints(const cpl_values* v, double* c) {
  const double* x = v->x;
  c[0] = (x[0] * x[0] + x[1] * x[1] - 1) / 2;
  c[1] = x[0] * x[2] + x[1] * x[3];
  return CPL_MODEL_OK;
}

static int output_values(const cpl_values* v, double* y) {
  const double* x = v->x;
  y[0] = hypot(x[0], x[1]) - 1;
  y[1] = (x[2] * x[2] + x[3] * x[3]) / 2 + g * x[1];
  return CPL_MODEL_OK;
}

static const cpl_formulation formulations[] = {{.residual = 0, .index = 3},
                                               {.residual = 0, .index = 2}};

const cpl_model_def couplet_model = {
    .name = "pendulum",
    .description = "a pendulum whose rod is a residual that was differentiated twice",
    .states = states,
    .algebraics = algebraics,
    .outputs = outputs,
    .derivatives = derivatives,
    .residuals = residuals,
    .n_constraints = 2,
    .constraints = constraints,
    .formulations = formulations,
    .output_values = output_values,
    .stop_time = 20,
};
