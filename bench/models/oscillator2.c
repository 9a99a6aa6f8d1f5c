// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Two states and next to nothing to compute: whatever a step costs besides the solver shows here.
#include <couplet/model.h>

static const cpl_declaration states[] = {
    {"x", .start = 2, .output = true}, {"v", .output = true}, {0}};

static int oscillate(const cpl_values* v, double* dx) {
  dx[0] = v->x[1];
  dx[1] = (1 - v->x[0] * v->x[0]) * v->x[1] - v->x[0];
  return CPL_MODEL_OK;
}

const cpl_model_def couplet_model = {
    .name = "oscillator2", .states = states, .derivatives = oscillate, .stop_time = 5000};
