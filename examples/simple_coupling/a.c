// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// System A: a decay that nothing from outside disturbs.
#include <couplet/model.h>

static const cpl_declaration states[] = {{"x", .start = 9}, {0}};
static const cpl_declaration outputs[] = {{"y"}, {0}};

static int decay(const cpl_values* v, double* dx) {
  dx[0] = -v->x[0];
  return CPL_MODEL_OK;
}

static int output_values(const cpl_values* v, double* y) {
  y[0] = v->x[0];
  return CPL_MODEL_OK;
}

const cpl_model_def couplet_model = {.name = "a",
                                     .description = "A decay",
                                     .states = states,
                                     .outputs = outputs,
                                     .derivatives = decay,
                                     .output_values = output_values};
