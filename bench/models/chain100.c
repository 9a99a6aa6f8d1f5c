// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// One hundred states: heat conduction in a rod with radiation at every node, driven at one end.
#include <couplet/model.h>
#include <math.h>

enum { N = 100 };

static const cpl_declaration states[] = {{"T", .start = 1, .size = N, .output = true}, {0}};

static int conduct(const cpl_values* v, double* dx) {
  const double* x = v->x;
  for (int i = 0; i < N; i++) {
    double left = i > 0 ? x[i - 1] : 1 + sin(v->t), right = i + 1 < N ? x[i + 1] : x[i];
    double square = x[i] * x[i];
    dx[i] = 100 * (left - 2 * x[i] + right) - 0.1 * square * square;
  }
  return CPL_MODEL_OK;
}

const cpl_model_def couplet_model = {
    .name = "chain100", .states = states, .derivatives = conduct, .stop_time = 10};
