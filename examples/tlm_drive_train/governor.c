// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Closes the throttle as the speed it hears of comes near its limit.
#include "couplet/model.h"

static int outputs(const cpl_values* v, double* y) {
  double rest = (v->p[0] - v->u[0]) / v->p[1];
  y[0] = rest < 0 ? 0 : rest > 1 ? 1 : rest;
  return CPL_MODEL_OK;
}

static const cpl_declaration inputs[] = {{"w", .unit = "rad/s"}, {0}};
static const cpl_declaration output_list[] = {{"throttle"}, {0}};
static const cpl_declaration parameters[] = {
    {"limit", .start = 60, .unit = "rad/s"}, {"band", .start = 20, .unit = "rad/s"}, {0}};

CPL_MODEL_EXPORT const cpl_model_def couplet_model = {.name = "governor",
                                                      .inputs = inputs,
                                                      .outputs = output_list,
                                                      .parameters = parameters,
                                                      .output_values = outputs,
                                                      .stop_time = 1};
