// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A mass on a spring to the wall and the spring between the masses: it takes the displacement of
// the other mass and gives the force on it, which depends on that displacement directly.
#include <couplet/model.h>

enum { X, V };     // states
enum { S };        // inputs
enum { M, C, K };  // parameters
enum { F };        // outputs

static const cpl_declaration states[] = {
    {"x", .unit = "m", .description = "displacement", .output = true},
    {"v", .unit = "m/s", .description = "velocity", .output = true},
    {0}};
static const cpl_declaration inputs[] = {
    {"s", .unit = "m", .description = "displacement of the other mass"}, {0}};
static const cpl_declaration parameters[] = {
    {"m", .start = 1, .unit = "kg"},
    {"c", .start = 1, .unit = "N/m", .description = "spring to the wall"},
    {"k", .start = 4, .unit = "N/m", .description = "spring between the masses"},
    {0}};
static const cpl_declaration outputs[] = {
    {"F", .unit = "N", .description = "force on the other mass"}, {0}};

static double pull(const cpl_values* v) { return v->p[K] * (v->x[X] - v->u[S]); }

static int derivatives(const cpl_values* v, double* dx) {
  dx[X] = v->x[V];
  dx[V] = (-pull(v) - v->p[C] * v->x[X]) / v->p[M];
  return CPL_MODEL_OK;
}

static int output_values(const cpl_values* v, double* y) {
  y[F] = pull(v);
  return CPL_MODEL_OK;
}

const cpl_model_def couplet_model = {
    .name = "right",
    .description = "A mass and a spring that take a displacement and give a force",
    .states = states,
    .inputs = inputs,
    .parameters = parameters,
    .outputs = outputs,
    .derivatives = derivatives,
    .output_values = output_values,
    .stop_time = 2,
    .tolerance = 1e-10,
};
