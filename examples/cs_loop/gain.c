// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// y = bias + gain u: an output that depends on an input directly.
#include <couplet/model.h>

static const cpl_declaration inputs[] = {{"u"}, {0}};
static const cpl_declaration outputs[] = {{"y"}, {0}};
static const cpl_declaration parameters[] = {{"bias"}, {"gain", .start = 1}, {0}};

static int output_values(const cpl_values* v, double* y) {
  y[0] = v->p[0] + v->p[1] * v->u[0];
  return CPL_MODEL_OK;
}

const cpl_model_def couplet_model = {
    .name = "gain",
    .description = "A straight line",
    .inputs = inputs,
    .outputs = outputs,
    .parameters = parameters,
    .output_values = output_values,
    .stop_time = 1,
};
