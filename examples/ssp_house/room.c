// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A room that is heated and loses heat to the outside: C T' = P - G (T - T_outside), in kelvin.
#include <couplet/model.h>

static const cpl_declaration states[] = {{"T", .start = 283.15, .unit = "K", .output = true}, {0}};
static const cpl_declaration inputs[] = {
    {"P", .unit = "W"}, {"T_outside", .start = 278.15, .unit = "K"}, {0}};
static const cpl_declaration parameters[] = {
    {"C", .start = 2e5, .unit = "J/K"}, {"G", .start = 100, .unit = "W/K"}, {0}};

static int heat(const cpl_values* v, double* dx) {
  dx[0] = (v->u[0] - v->p[1] * (v->x[0] - v->u[1])) / v->p[0];
  return CPL_MODEL_OK;
}

const cpl_model_def couplet_model = {.name = "room",
                                     .states = states,
                                     .inputs = inputs,
                                     .parameters = parameters,
                                     .derivatives = heat};
