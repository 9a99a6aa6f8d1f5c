// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A table on a spring and a damper; h is its height above where it rests without load.
#include <couplet/model.h>

enum { H, V };
enum { M, C, D };

static const cpl_declaration states[] = {
    {"h", .unit = "m", .output = true}, {"v", .unit = "m/s", .output = true}, {0}};
static const cpl_declaration inputs[] = {{"load", .unit = "N", .description = "downwards"}, {0}};
static const cpl_declaration parameters[] = {{"m", .start = 4, .unit = "kg"},
                                             {"c", .start = 800, .unit = "N/m"},
                                             {"d", .start = 10, .unit = "N.s/m"},
                                             {0}};

static int move(const cpl_values* v, double* dx) {
  const double *x = v->x, *p = v->p;
  dx[H] = x[V];
  dx[V] = -(p[C] * x[H] + p[D] * x[V] + v->u[0]) / p[M];
  return CPL_MODEL_OK;
}

const cpl_model_def couplet_model = {.name = "table",
                                     .description = "A table on a spring and a damper",
                                     .states = states,
                                     .inputs = inputs,
                                     .parameters = parameters,
                                     .derivatives = move};
