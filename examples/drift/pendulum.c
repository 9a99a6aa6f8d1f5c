// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A pendulum in Cartesian coordinates with its index reduced: the length of the rod and its
// derivative are constraints that the solver has to keep. The parameter `constrained` says how many
// it hears of: 0, 2 (length and velocity along the rod) or 3 (the energy too).
#include <couplet/model.h>

enum { X, Y, VX, VY };
enum { G, L, CONSTRAINED };
enum { ENERGY_0 };

static double energy_of(const cpl_values* v) {
  return (v->x[VX] * v->x[VX] + v->x[VY] * v->x[VY]) / 2 + v->p[G] * v->x[Y];
}

static int derivatives(const cpl_values* v, double* dx) {
  const double* x = v->x;
  double force = (v->p[G] * x[Y] - x[VX] * x[VX] - x[VY] * x[VY]) / (x[X] * x[X] + x[Y] * x[Y]);
  dx[X] = x[VX];
  dx[Y] = x[VY];
  dx[VX] = force * x[X];
  dx[VY] = force * x[Y] - v->p[G];
  return CPL_MODEL_OK;
}

static int output_values(const cpl_values* v, double* y) {
  const double* x = v->x;
  y[0] = x[X] * x[X] + x[Y] * x[Y] - v->p[L] * v->p[L];
  y[1] = x[X] * x[VX] + x[Y] * x[VY];
  y[2] = energy_of(v);
  return CPL_MODEL_OK;
}

static int initialize(const cpl_values* v, cpl_event_actions* a) {
  a->w[ENERGY_0] = energy_of(v);
  return CPL_MODEL_OK;
}

// doc:begin constraints
static int active_constraints(const cpl_values* v) { return (int)v->p[CONSTRAINED]; }

static int constraints(const cpl_values* v, double* c) {
  const double* x = v->x;
  c[0] = x[X] * x[X] + x[Y] * x[Y] - v->p[L] * v->p[L];
  c[1] = x[X] * x[VX] + x[Y] * x[VY];
  if (v->p[CONSTRAINED] > 2) c[2] = energy_of(v) - v->w[ENERGY_0];
  return CPL_MODEL_OK;
}

static int constraint_jacobian(const cpl_values* v, double* jac) {
  const double* x = v->x;
  double *length = jac, *along = jac + 4, *energy = jac + 8;
  length[X] = 2 * x[X], length[Y] = 2 * x[Y], length[VX] = length[VY] = 0;
  along[X] = x[VX], along[Y] = x[VY], along[VX] = x[X], along[VY] = x[Y];
  if (v->p[CONSTRAINED] > 2)
    energy[X] = 0, energy[Y] = v->p[G], energy[VX] = x[VX], energy[VY] = x[VY];
  return CPL_MODEL_OK;
}
// doc:end

static const cpl_declaration states[] = {{"x", .start = 1, .unit = "m", .output = true},
                                         {"y", .unit = "m", .output = true},
                                         {"vx", .unit = "m/s"},
                                         {"vy", .unit = "m/s"},
                                         {0}};
static const cpl_declaration outputs[] = {
    {"drift", .unit = "m2", .description = "square of the length, less that of the rod"},
    {"along", .unit = "m2/s", .description = "velocity along the rod, times its length"},
    {"energy", .unit = "J/kg"},
    {0}};
static const cpl_declaration parameters[] = {
    {"g", .start = 9.81, .unit = "m/s2"},
    {"L", .start = 1, .unit = "m"},
    {"constrained", .start = 2, .type = CPL_INTEGER, .min = 0, .max = 3},
    {0}};
static const cpl_declaration discrete[] = {{"energy0", .unit = "J/kg"}, {0}};

const cpl_model_def couplet_model = {.name = "pendulum",
                                     .description = "Cartesian pendulum with constraints",
                                     .states = states,
                                     .outputs = outputs,
                                     .parameters = parameters,
                                     .discrete = discrete,
                                     .derivatives = derivatives,
                                     .output_values = output_values,
                                     .initialize = initialize,
                                     .n_constraints = 3,
                                     .active_constraints = active_constraints,
                                     .constraints = constraints,
                                     .constraint_jacobian = constraint_jacobian,
                                     .stop_time = 100,
                                     .tolerance = 1e-4};
