// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The centre of a ball that flies.
#include <couplet/model.h>

enum { H, V };

static const cpl_declaration states[] = {
    {"h", .start = 3, .unit = "m", .description = "height of the centre", .output = true},
    {"v", .start = 0, .unit = "m/s", .description = "velocity, upwards", .output = true},
    {0}};

static const cpl_declaration parameters[] = {{"g", .start = 9.81, .unit = "m/s2"}, {0}};

static int fly(const cpl_values* v, double* dx) {
  dx[H] = v->x[V];
  dx[V] = -v->p[0];
  return CPL_MODEL_OK;
}

const cpl_model_def couplet_model = {.name = "flying",
                                     .description = "A ball that flies",
                                     .states = states,
                                     .parameters = parameters,
                                     .derivatives = fly};
