// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A cart between a spring and a damper, pulled by a force.
#include <couplet/model.h>

enum { S, V };
enum { M, K, D };

static const cpl_declaration states[] = {
    {"s", .unit = "m", .output = true}, {"v", .unit = "m/s", .output = true}, {0}};
static const cpl_declaration inputs[] = {{"force", .unit = "N"}, {0}};
static const cpl_declaration outputs[] = {{"a", .unit = "m/s2"}, {0}};
static const cpl_declaration parameters[] = {{"M", .start = 5, .unit = "kg"},
                                             {"k", .start = 40, .unit = "N/m"},
                                             {"d", .start = 1, .unit = "N.s/m"},
                                             {0}};

static double acceleration(const cpl_values* v) {
  return (v->u[0] - v->p[K] * v->x[S] - v->p[D] * v->x[V]) / v->p[M];
}

static int move(const cpl_values* v, double* dx) {
  dx[S] = v->x[V];
  dx[V] = acceleration(v);
  return CPL_MODEL_OK;
}

static int output_values(const cpl_values* v, double* y) {
  y[0] = acceleration(v);
  return CPL_MODEL_OK;
}

const cpl_model_def couplet_model = {.name = "cart",
                                     .description = "A cart between a spring and a damper",
                                     .states = states,
                                     .inputs = inputs,
                                     .outputs = outputs,
                                     .parameters = parameters,
                                     .derivatives = move,
                                     .output_values = output_values};
