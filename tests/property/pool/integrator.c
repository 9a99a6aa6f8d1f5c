// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// x' = a k u
#include <couplet/model.h>

static const cpl_declaration states[] = {{"x", .output = true}, {0}};
static const cpl_declaration inputs[] = {{"u"}, {0}};
static const cpl_declaration parameters[] = {{"a", .start = 1}, {"k", .start = 1}, {0}};

static int derivatives(const cpl_values* v, double* dx) {
  dx[0] = v->p[0] * v->p[1] * v->u[0];
  return CPL_MODEL_OK;
}

const cpl_model_def couplet_model = {.name = "integrator",
                                     .states = states,
                                     .inputs = inputs,
                                     .parameters = parameters,
                                     .derivatives = derivatives};
