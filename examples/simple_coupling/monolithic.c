// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A and B written as one model.
#include <couplet/model.h>

static const cpl_declaration states[] = {
    {"xa", .start = 9, .output = true}, {"xb", .start = 2, .output = true}, {0}};

static int derivatives(const cpl_values* v, double* dx) {
  dx[0] = -v->x[0];
  dx[1] = v->x[0];
  return CPL_MODEL_OK;
}

const cpl_model_def couplet_model = {.name = "simple_coupling",
                                     .states = states,
                                     .derivatives = derivatives,
                                     .stop_time = 2,
                                     .tolerance = 1e-8};
