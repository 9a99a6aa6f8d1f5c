// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Two states with feed-through: ten of them in a circle are an algebraic loop, and every group is
// coupled to the next through a state.
#include <couplet/model.h>

static const cpl_declaration states[] = {{"x", .start = 1}, {.name = "v"}, {0}};
static const cpl_declaration inputs[] = {{.name = "u"}, {.name = "s"}, {0}};
static const cpl_declaration outputs[] = {{.name = "y"}, {0}};

static int derivatives(const cpl_values* v, double* dx) {
  dx[0] = v->x[1];
  dx[1] = -v->x[0] - 0.1 * v->x[1] + 0.2 * v->u[0] + 0.1 * v->u[1];
  return CPL_MODEL_OK;
}

static int output_values(const cpl_values* v, double* y) {
  y[0] = 0.5 * v->u[0] + v->x[0];
  return CPL_MODEL_OK;
}

static const cpl_dependency dependencies[] = {
    {"der(x)", "v", "constant"}, {"der(v)", "x v u s", "constant"}, {"y", "u x", "constant"}, {0}};

const cpl_model_def couplet_model = {.name = "ring_member",
                                     .states = states,
                                     .inputs = inputs,
                                     .outputs = outputs,
                                     .derivatives = derivatives,
                                     .output_values = output_values,
                                     .dependencies = dependencies};
