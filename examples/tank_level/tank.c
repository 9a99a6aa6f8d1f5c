// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A tank with an inflow valve; it drains by its own weight (Torricelli).
#include <couplet/model.h>

#include <math.h>

enum { AREA, SUPPLY, DRAIN };  // parameters

static const cpl_declaration states[] = {{"level", .start = 1, .unit = "m"}, {0}};
static const cpl_declaration inputs[] = {
    {"opening", .start = 0.5, .description = "of the inflow valve"}, {0}};
static const cpl_declaration parameters[] = {
    {"area", .start = 0.5, .unit = "m2"},
    {"supply", .start = 0.02, .unit = "m3/s", .description = "inflow of the open valve"},
    {"drain", .start = 0.003, .unit = "m2", .description = "cross-section of the drain"},
    {0}};

static int fill(const cpl_values* v, double* dx) {
  if (v->x[0] < 0) return CPL_MODEL_RETRY;
  dx[0] = (v->p[SUPPLY] * v->u[0] - v->p[DRAIN] * sqrt(2 * 9.81 * v->x[0])) / v->p[AREA];
  return CPL_MODEL_OK;
}

static int fill_directional(const cpl_values* v, const double* d_x, const double* d_u, double* d_dx,
                            double* d_y) {
  (void)d_y;
  if (d_dx == NULL) return CPL_MODEL_OK;
  double outflow = v->p[DRAIN] * sqrt(9.81 / (2 * v->x[0]));
  d_dx[0] = (v->p[SUPPLY] * d_u[0] - outflow * d_x[0]) / v->p[AREA];
  return CPL_MODEL_OK;
}

const cpl_model_def couplet_model = {.name = "tank",
                                     .description = "A tank that drains",
                                     .states = states,
                                     .inputs = inputs,
                                     .parameters = parameters,
                                     .derivatives = fill,
                                     .directional = fill_directional,
                                     .stop_time = 600};
