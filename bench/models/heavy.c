// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A mass on a spring whose right-hand side takes about 200 us.
#include <couplet/model.h>
#include <math.h>

static const cpl_declaration states[] = {{"x", .start = 1, .output = true}, {"v"}, {0}};
static const cpl_declaration inputs[] = {{"u"}, {0}};
static const cpl_declaration parameters[] = {{"k", .start = 4}, {"work", .start = 20000}, {0}};

static int derivatives(const cpl_values* v, double* dx) {
  double s = v->x[0];
  for (int i = 0; i < (int)v->p[1]; i++) s = sin(s + 1e-3);
  dx[0] = v->x[1];
  dx[1] = v->p[0] * (v->u[0] - v->x[0]) - 0.1 * v->x[1] + 1e-3 * s;
  return CPL_MODEL_OK;
}

const cpl_model_def couplet_model = {.name = "heavy",
                                     .states = states,
                                     .inputs = inputs,
                                     .parameters = parameters,
                                     .derivatives = derivatives,
                                     .stop_time = 5};
