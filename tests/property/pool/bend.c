// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// y = k s atan(u/s) + c: rises or falls everywhere, so that a loop through it has one solution.
#include <couplet/model.h>
#include <math.h>

static const cpl_declaration inputs[] = {{"u"}, {0}};
static const cpl_declaration outputs[] = {{"y"}, {0}};
static const cpl_declaration parameters[] = {{"k", .start = 1}, {"c"}, {"s", .start = 1}, {0}};

static int output_values(const cpl_values* v, double* y) {
  y[0] = v->p[0] * v->p[2] * atan(v->u[0] / v->p[2]) + v->p[1];
  return CPL_MODEL_OK;
}

const cpl_model_def couplet_model = {.name = "bend",
                                     .inputs = inputs,
                                     .outputs = outputs,
                                     .parameters = parameters,
                                     .output_values = output_values};
