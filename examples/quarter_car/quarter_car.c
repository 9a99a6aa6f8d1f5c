// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A quarter of a car: body, spring and damper, wheel, tyre. Positions are zero at rest. The tyre
// does not leave the road: where its load would be negative, the results do not hold.
#include <couplet/model.h>

enum { Z_BODY, V_BODY, Z_WHEEL, V_WHEEL };  // states
enum { M, D, K_TYRE };                      // parameters
static const double m_wheel = 40, k = 20e3, g = 9.81;

static const cpl_declaration states[] = {{"body.z", .unit = "m", .output = true},
                                         {"body.v", .unit = "m/s"},
                                         {"wheel.z", .unit = "m", .output = true},
                                         {"wheel.v", .unit = "m/s"},
                                         {0}};
static const cpl_declaration inputs[] = {{"road", .unit = "m", .description = "its height"}, {0}};
static const cpl_declaration parameters[] = {
    {"m", .start = 350, .min = 1, .unit = "kg", .description = "a quarter of the body"},
    {"d", .start = 1500, .min = 0, .unit = "N.s/m", .description = "damper"},
    {"k_tyre", .start = 180e3, .min = 0, .unit = "N/m", .description = "stiffness of the tyre"},
    {0}};
static const cpl_declaration outputs[] = {
    {"body.a", .unit = "m/s2", .description = "acceleration of the body"},
    {"load", .unit = "N", .description = "of the tyre on the road"},
    {0}};

static int output_values(const cpl_values* v, double* y) {
  const double *x = v->x, *p = v->p;
  y[0] = (k * (x[Z_WHEEL] - x[Z_BODY]) + p[D] * (x[V_WHEEL] - x[V_BODY])) / p[M];
  y[1] = p[K_TYRE] * (v->u[0] - x[Z_WHEEL]) + (p[M] + m_wheel) * g;
  return CPL_MODEL_OK;
}

static int derivatives(const cpl_values* v, double* dx) {
  double y[2];
  output_values(v, y);
  dx[Z_BODY] = v->x[V_BODY];
  dx[V_BODY] = y[0];
  dx[Z_WHEEL] = v->x[V_WHEEL];
  dx[V_WHEEL] = (y[1] - (v->p[M] + m_wheel) * g - v->p[M] * y[0]) / m_wheel;
  return CPL_MODEL_OK;
}

const cpl_model_def couplet_model = {.name = "quarter_car",
                                     .states = states,
                                     .inputs = inputs,
                                     .parameters = parameters,
                                     .outputs = outputs,
                                     .derivatives = derivatives,
                                     .output_values = output_values};
