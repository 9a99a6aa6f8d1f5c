// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// a^2 + b^2 + c^2 = 5, solved for c >= 0.
#include <couplet/model.h>
#include <math.h>

static const cpl_declaration inputs[] = {{"a"}, {"b"}, {0}};
static const cpl_declaration outputs[] = {{"c"}, {0}};

static int solve(const cpl_values* v, double* y) {
  double a = v->u[0], b = v->u[1], square = 5 - a * a - b * b;
  if (!(square >= 0)) {
    cpl_model_error(v, "no c has a^2 + b^2 + c^2 = 5: a = %g, b = %g", a, b);
    return CPL_MODEL_RETRY;
  }
  y[0] = sqrt(square);
  return CPL_MODEL_OK;
}

const cpl_model_def couplet_model = {.name = "sphere",
                                     .description = "A sphere",
                                     .inputs = inputs,
                                     .outputs = outputs,
                                     .output_values = solve};
