// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// y = 1 + (u1 + ... + u5) / 10: a component with five connections.
#include <couplet/model.h>

enum { N = 5 };

static const cpl_declaration inputs[] = {{"u", .size = N, .unit = "m"}, {0}};
static const cpl_declaration outputs[] = {{"y", .unit = "m"}, {0}};

static int output_values(const cpl_values* v, double* y) {
  y[0] = 1;
  for (int i = 0; i < N; i++) y[0] += v->u[i] / 10;
  return CPL_MODEL_OK;
}

const cpl_model_def couplet_model = {
    .name = "sum5", .inputs = inputs, .outputs = outputs, .output_values = output_values};
