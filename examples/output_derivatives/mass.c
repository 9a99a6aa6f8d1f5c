// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A mass on a spring to the wall and on half of a spring to another mass, whose displacement is an
// input. Its outputs are states, so their derivatives are known.
#include <couplet/model.h>

enum { X, V };  // states
enum { S };     // inputs
enum { C, K };  // parameters

static const cpl_declaration states[] = {
    {"x", .unit = "m", .description = "displacement", .output = true},
    {"v", .unit = "m/s", .description = "velocity", .output = true},
    {0}};
static const cpl_declaration inputs[] = {
    {"s", .unit = "m", .description = "displacement of the other mass"}, {0}};
static const cpl_declaration parameters[] = {
    {"c", .start = 1, .unit = "N/m", .description = "spring to the wall"},
    {"k", .start = 4, .unit = "N/m", .description = "spring between the masses"},
    {0}};

static int derivatives(const cpl_values* v, double* dx) {
  dx[X] = v->x[V];
  dx[V] = -v->p[C] * v->x[X] - v->p[K] * (v->x[X] - v->u[S]);  // the mass is 1 kg
  return CPL_MODEL_OK;
}

const cpl_model_def couplet_model = {
    .name = "mass",
    .description = "A mass that takes the displacement of another one and gives its own",
    .states = states,
    .inputs = inputs,
    .parameters = parameters,
    .derivatives = derivatives,
    .stop_time = 2,
    .tolerance = 1e-10,
};
