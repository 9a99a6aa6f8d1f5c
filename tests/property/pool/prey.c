// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Predator and prey: x' = a x (1 - y/s + k atan(u/s)), y' = a y (x/s - 1)
#include <couplet/model.h>
#include <math.h>

static const cpl_declaration states[] = {{"x", .output = true}, {"y", .output = true}, {0}};
static const cpl_declaration inputs[] = {{"u"}, {0}};
static const cpl_declaration parameters[] = {
    {"a", .start = 1}, {"s", .start = 1}, {"k", .start = 0.1}, {0}};

static int derivatives(const cpl_values* v, double* dx) {
  double a = v->p[0], s = v->p[1];
  dx[0] = a * v->x[0] * (1 - v->x[1] / s + v->p[2] * atan(v->u[0] / s));
  dx[1] = a * v->x[1] * (v->x[0] / s - 1);
  return CPL_MODEL_OK;
}

const cpl_model_def couplet_model = {.name = "prey",
                                     .states = states,
                                     .inputs = inputs,
                                     .parameters = parameters,
                                     .derivatives = derivatives};
