// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// x' = a x + b
#include <couplet/model.h>

static const cpl_declaration states[] = {{"x", .start = 1, .output = true}, {0}};
static const cpl_declaration parameters[] = {{"a", .start = 2}, {"b", .start = 1}, {0}};

static int grow(const cpl_values* v, double* dx) {
  dx[0] = v->p[0] * v->x[0] + v->p[1];
  return CPL_MODEL_OK;
}

const cpl_model_def couplet_model = {.name = "growth",
                                     .description = "Linear growth",
                                     .states = states,
                                     .parameters = parameters,
                                     .derivatives = grow};
