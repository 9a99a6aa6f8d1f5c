// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// y = k1 s sin(u1/s) + k2 u2, z = k2 u1: two outputs that need different inputs
#include <couplet/model.h>
#include <math.h>

static const cpl_declaration inputs[] = {{"u1"}, {"u2"}, {0}};
static const cpl_declaration outputs[] = {{"y"}, {"z"}, {0}};
static const cpl_declaration parameters[] = {
    {"k1", .start = 1}, {"k2", .start = 1}, {"s", .start = 1}, {0}};
static const cpl_dependency dependencies[] = {{"y", "u1 u2"}, {"z", "u1", "fixed"}, {0}};

static int output_values(const cpl_values* v, double* y) {
  y[0] = v->p[0] * v->p[2] * sin(v->u[0] / v->p[2]) + v->p[1] * v->u[1];
  y[1] = v->p[1] * v->u[0];
  return CPL_MODEL_OK;
}

const cpl_model_def couplet_model = {.name = "mix",
                                     .inputs = inputs,
                                     .outputs = outputs,
                                     .parameters = parameters,
                                     .output_values = output_values,
                                     .dependencies = dependencies};
