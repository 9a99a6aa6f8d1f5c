// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// System B: its output is half of its input, at once.
#include <couplet/model.h>

static const cpl_declaration states[] = {{"x", .start = 2}, {0}};
static const cpl_declaration inputs[] = {{"u"}, {0}};
static const cpl_declaration outputs[] = {{"y"}, {0}};

static int derivatives(const cpl_values* v, double* dx) {
  dx[0] = -v->x[0] + v->u[0];
  return CPL_MODEL_OK;
}

static int output_values(const cpl_values* v, double* y) {
  y[0] = 0.5 * v->u[0];
  return CPL_MODEL_OK;
}

const cpl_model_def couplet_model = {.name = "b",
                                     .description = "System B of an algebraic loop",
                                     .states = states,
                                     .inputs = inputs,
                                     .outputs = outputs,
                                     .derivatives = derivatives,
                                     .output_values = output_values};
