// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A and B written as one model, the loop solved by hand: u_A = x_A / 3, u_B = 2 x_A / 3.
#include <couplet/model.h>

static const cpl_declaration states[] = {
    {"xa", .start = 9, .output = true}, {"xb", .start = 2, .output = true}, {0}};

static int derivatives(const cpl_values* v, double* dx) {
  double ya = v->x[0] * 2 / 3, yb = ya / 2;
  dx[0] = -v->x[0] + yb;
  dx[1] = -v->x[1] + ya;
  return CPL_MODEL_OK;
}

const cpl_model_def couplet_model = {.name = "algebraic_loop",
                                     .states = states,
                                     .derivatives = derivatives,
                                     .stop_time = 2,
                                     .tolerance = 1e-8};
