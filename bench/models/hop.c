// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// y = u / 2 + 1: a step that costs next to nothing.
#include <couplet/model.h>

static const cpl_declaration inputs[] = {{.name = "u"}, {0}};
static const cpl_declaration outputs[] = {{.name = "y"}, {0}};

static int output_values(const cpl_values* v, double* y) {
  y[0] = v->u[0] / 2 + 1;
  return CPL_MODEL_OK;
}

const cpl_model_def couplet_model = {
    .name = "hop", .inputs = inputs, .outputs = outputs, .output_values = output_values};
