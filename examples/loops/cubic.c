// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// y = (u^3 + w) / 3.
#include <couplet/model.h>

static const cpl_declaration inputs[] = {{"u"}, {"w"}, {0}};
static const cpl_declaration outputs[] = {{"y"}, {0}};

static int output_values(const cpl_values* v, double* y) {
  double u = v->u[0];
  y[0] = (u * u * u + v->u[1]) / 3;
  return CPL_MODEL_OK;
}

const cpl_model_def couplet_model = {
    .name = "cubic", .inputs = inputs, .outputs = outputs, .output_values = output_values};
