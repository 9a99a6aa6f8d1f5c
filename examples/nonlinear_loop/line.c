// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// a + b + c = 0 and 2a - 3b + 2c = 9, solved for a and b.
#include <couplet/model.h>

static const cpl_declaration inputs[] = {{"c", .start = 1}, {0}};
static const cpl_declaration outputs[] = {{"a"}, {"b"}, {0}};

static int solve(const cpl_values* v, double* y) {
  double c = v->u[0];
  double r1 = -c, r2 = 9 - 2 * c;  // a + b = r1, 2a - 3b = r2
  y[0] = (3 * r1 + r2) / 5;
  y[1] = (2 * r1 - r2) / 5;
  return CPL_MODEL_OK;
}

const cpl_model_def couplet_model = {.name = "line",
                                     .description = "Two planes that meet in a line",
                                     .inputs = inputs,
                                     .outputs = outputs,
                                     .output_values = solve};
