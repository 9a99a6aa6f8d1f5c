// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A ball that falls; what happens at the ground is not its business.
#include <couplet/model.h>

enum { H, V };
enum { G };

static const cpl_declaration states[] = {
    {"h", .start = 1, .unit = "m", .description = "height", .output = true},
    {"v", .start = 0, .unit = "m/s", .description = "velocity, upwards", .output = true},
    {0}};

static const cpl_declaration parameters[] = {{"g", .start = 9.81, .unit = "m/s2"}, {0}};

static int fall(const cpl_values* v, double* dx) {
  dx[H] = v->x[V];
  dx[V] = -v->p[G];
  return CPL_MODEL_OK;
}

static const cpl_dependency dependencies[] = {{"der(h)", "v", "constant"}, {"der(v)", ""}, {0}};

const cpl_model_def couplet_model = {.name = "ball",
                                     .description = "A ball that falls",
                                     .states = states,
                                     .parameters = parameters,
                                     .derivatives = fall,
                                     .dependencies = dependencies};
