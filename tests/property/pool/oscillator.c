// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// x' = a v, v' = a (-x - 2 d v + k u); the output acc follows u at once.
#include <couplet/model.h>

static const cpl_declaration states[] = {{"x", .output = true}, {"v", .output = true}, {0}};
static const cpl_declaration inputs[] = {{"u"}, {0}};
static const cpl_declaration outputs[] = {{"acc"}, {0}};
static const cpl_declaration parameters[] = {
    {"a", .start = 1}, {"d", .start = 0.1}, {"k", .start = 1}, {0}};

static double acceleration(const cpl_values* v) {
  return -v->x[0] - 2 * v->p[1] * v->x[1] + v->p[2] * v->u[0];
}

static int derivatives(const cpl_values* v, double* dx) {
  dx[0] = v->p[0] * v->x[1];
  dx[1] = v->p[0] * acceleration(v);
  return CPL_MODEL_OK;
}

static int output_values(const cpl_values* v, double* y) {
  y[0] = acceleration(v);
  return CPL_MODEL_OK;
}

const cpl_model_def couplet_model = {.name = "oscillator",
                                     .states = states,
                                     .inputs = inputs,
                                     .outputs = outputs,
                                     .parameters = parameters,
                                     .derivatives = derivatives,
                                     .output_values = output_values};
