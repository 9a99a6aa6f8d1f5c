// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// y = u - sin(u - w): with u = y, u is w, or w and any number of half turns.
#include <couplet/model.h>
#include <math.h>

static const cpl_declaration inputs[] = {{"u", .unit = "rad"}, {"w", .unit = "rad"}, {0}};
static const cpl_declaration outputs[] = {{"y", .unit = "rad"}, {0}};

static int output_values(const cpl_values* v, double* y) {
  y[0] = v->u[0] - sin(v->u[0] - v->u[1]);
  return CPL_MODEL_OK;
}

const cpl_model_def couplet_model = {
    .name = "phase", .inputs = inputs, .outputs = outputs, .output_values = output_values};
