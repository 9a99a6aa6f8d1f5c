// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A mass on a spring to the wall, pulled by a force from outside.
#include <couplet/model.h>

enum { X, V };  // states
enum { F };     // inputs
enum { M, C };  // parameters

static const cpl_declaration states[] = {
    {"x", .start = 1, .unit = "m", .description = "displacement", .output = true},
    {"v", .unit = "m/s", .description = "velocity", .output = true},
    {0}};
static const cpl_declaration inputs[] = {{"F", .unit = "N", .description = "force"}, {0}};
static const cpl_declaration parameters[] = {
    {"m", .start = 1, .unit = "kg"},
    {"c", .start = 1, .unit = "N/m", .description = "spring to the wall"},
    {0}};

static int derivatives(const cpl_values* v, double* dx) {
  dx[X] = v->x[V];
  dx[V] = (v->u[F] - v->p[C] * v->x[X]) / v->p[M];
  return CPL_MODEL_OK;
}

const cpl_model_def couplet_model = {
    .name = "left",
    .description = "A mass that takes a force and gives its displacement",
    .states = states,
    .inputs = inputs,
    .parameters = parameters,
    .derivatives = derivatives,
    .stop_time = 2,
    .tolerance = 1e-10,
};
