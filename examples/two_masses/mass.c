// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A mass that a force moves.

// doc:begin mass
#include <couplet/model.h>

static const cpl_declaration states[] = {{"x", .unit = "m", .output = true},
                                         {"v", .unit = "m/s", .output = true},
                                         {0}};
static const cpl_declaration inputs[] = {{"F", .unit = "N"}, {0}};
static const cpl_declaration parameters[] = {{"m", .start = 1, .unit = "kg"}, {0}};

static int move(const cpl_values* v, double* dx) {
  dx[0] = v->x[1];
  dx[1] = v->u[0] / v->p[0];
  return CPL_MODEL_OK;
}

const cpl_model_def couplet_model = {.name = "mass",
                                     .states = states,
                                     .inputs = inputs,
                                     .parameters = parameters,
                                     .derivatives = move};
// doc:end
