// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// 200 oscillations of different frequencies, to look at.
#include <couplet/model.h>
#include <math.h>

enum { N = 200 };

static const cpl_declaration outputs[] = {{"wave", .size = N, .unit = "m"}, {0}};

static int compute(const cpl_values* v, double* y) {
  for (int i = 0; i < N; i++) y[i] = sin((1 + 0.1 * i) * v->t) * exp(-0.01 * v->t);
  return CPL_MODEL_OK;
}

const cpl_model_def couplet_model = {
    .name = "waves200", .outputs = outputs, .output_values = compute, .stop_time = 100};
