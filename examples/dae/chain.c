// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Heat along a rod of 200 cells, held at 1 at its left end, with a law of conduction that gives the
// flow only implicitly:
//   T[i]' = q[i] - q[i + 1]
//   0 = q[i] + q[i]^3 - k (T[i - 1] - T[i])
// Nothing flows out at the right end. Integrated together with the temperatures the flows cost one
// sparse system a step; solved for in every evaluation they cost many dense ones.
#include <couplet/model.h>

enum { N = 200 };

static const cpl_declaration states[] = {{"T", .size = N}, {0}};
static const cpl_declaration algebraics[] = {{"q", .size = N}, {0}};
static const cpl_declaration parameters[] = {{"k", .start = 100}, {0}};
static const cpl_declaration outputs[] = {{"mean"}, {"inflow"}, {0}};

static int derivatives(const cpl_values* v, double* dx) {
  for (int i = 0; i < N; i++) dx[i] = v->z[i] - (i + 1 < N ? v->z[i + 1] : 0);
  return CPL_MODEL_OK;
}

static int residuals(const cpl_values* v, double* g) {
  for (int i = 0; i < N; i++) {
    double q = v->z[i], left = i > 0 ? v->x[i - 1] : 1;
    g[i] = q + q * q * q - v->p[0] * (left - v->x[i]);
  }
  return CPL_MODEL_OK;
}

static int output_values(const cpl_values* v, double* y) {
  y[0] = 0;
  for (int i = 0; i < N; i++) y[0] += v->x[i] / N;
  y[1] = v->z[0];
  return CPL_MODEL_OK;
}

const cpl_model_def couplet_model = {
    .name = "chain",
    .description = "heat conduction with an implicit law",
    .states = states,
    .parameters = parameters,
    .algebraics = algebraics,
    .outputs = outputs,
    .derivatives = derivatives,
    .residuals = residuals,
    .output_values = output_values,
    .stop_time = 10,
};
