// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// An engine: J w' = torque + T, where T is what the shaft gives back; the throttle scales the
// torque.
#include "couplet/model.h"

static int derivatives(const cpl_values* v, double* dx) {
  dx[0] = (v->p[1] * v->u[1] + v->u[0]) / v->p[0];
  return CPL_MODEL_OK;
}

static const cpl_declaration states[] = {{"w", .unit = "rad/s", .output = true}, {0}};
static const cpl_declaration inputs[] = {{"T", .unit = "N.m"}, {"throttle", .start = 1}, {0}};
static const cpl_declaration parameters[] = {
    {"J", .start = 0.2, .unit = "kg.m2"}, {"torque", .start = 100, .unit = "N.m"}, {0}};

CPL_MODEL_EXPORT const cpl_model_def couplet_model = {.name = "engine",
                                                      .states = states,
                                                      .inputs = inputs,
                                                      .parameters = parameters,
                                                      .derivatives = derivatives,
                                                      .stop_time = 1};
