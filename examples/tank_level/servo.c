// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A valve drive that follows a command with a second-order lag.
#include <couplet/model.h>

enum { FREQUENCY, DAMPING };  // parameters

static const cpl_declaration states[] = {
    {"position", .start = 0.5, .output = true}, {"speed", .unit = "1/s"}, {0}};
static const cpl_declaration inputs[] = {{"command", .start = 0.5}, {0}};
static const cpl_declaration parameters[] = {
    {"frequency", .start = 0.5, .unit = "rad/s"}, {"damping", .start = 0.7}, {0}};

static void follow(const double* p, const double* x, double command, double* dx) {
  dx[0] = x[1];
  dx[1] = p[FREQUENCY] * p[FREQUENCY] * (command - x[0]) - 2 * p[DAMPING] * p[FREQUENCY] * x[1];
}

static int move(const cpl_values* v, double* dx) {
  follow(v->p, v->x, v->u[0], dx);
  return CPL_MODEL_OK;
}

// It is linear: changes obey the same equations.
static int move_directional(const cpl_values* v, const double* d_x, const double* d_u, double* d_dx,
                            double* d_y) {
  (void)d_y;
  if (d_dx != NULL) follow(v->p, d_x, d_u[0], d_dx);
  return CPL_MODEL_OK;
}

const cpl_model_def couplet_model = {.name = "servo",
                                     .description = "A valve drive",
                                     .states = states,
                                     .inputs = inputs,
                                     .parameters = parameters,
                                     .derivatives = move,
                                     .directional = move_directional,
                                     .stop_time = 60};
