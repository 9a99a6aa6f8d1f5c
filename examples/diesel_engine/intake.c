// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A throttle and the manifold behind it. The flow through the throttle follows the root of the
// pressure difference, smoothed within eps of zero.
#include <couplet/model.h>
#include <math.h>

enum { P };              // state
enum { P_AMB, FLOW };    // inputs
enum { V, RT, K, EPS };  // parameters

static const cpl_declaration states[] = {
    {"p", .start = 0.9e5, .unit = "Pa", .nominal = 1e5, .description = "pressure", .output = true},
    {0}};
static const cpl_declaration inputs[] = {
    {"p_amb", .start = 1e5, .unit = "Pa", .description = "ambient pressure"},
    {"flow", .unit = "kg/s", .description = "what the cylinders take"},
    {0}};
static const cpl_declaration parameters[] = {
    {"V", .start = 0.01, .unit = "m3", .description = "volume of the manifold"},
    {"RT", .start = 86100, .unit = "J/kg", .description = "of the air in it"},
    {"k", .start = 0.003, .unit = "1", .description = "flow at 1 Pa"},
    {"eps", .start = 1, .unit = "Pa"},
    {0}};

static int fill(const cpl_values* v, double* dx) {
  const double *p = v->p, *u = v->u;
  double dp = u[P_AMB] - v->x[P];
  double through = p[K] * dp / sqrt(sqrt(dp * dp + p[EPS] * p[EPS]));
  dx[P] = p[RT] / p[V] * (through - u[FLOW]);
  return CPL_MODEL_OK;
}

const cpl_model_def couplet_model = {.name = "intake",
                                     .description = "Throttle and manifold",
                                     .states = states,
                                     .inputs = inputs,
                                     .parameters = parameters,
                                     .derivatives = fill};
