// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// System B: the integral of its input.
#include <couplet/model.h>

static const cpl_declaration states[] = {{"x", .start = 2}, {0}};
static const cpl_declaration inputs[] = {{"u"}, {0}};

static int integrate(const cpl_values* v, double* dx) {
  dx[0] = v->u[0];
  return CPL_MODEL_OK;
}

const cpl_model_def couplet_model = {.name = "b",
                                     .description = "An integrator",
                                     .states = states,
                                     .inputs = inputs,
                                     .derivatives = integrate};
