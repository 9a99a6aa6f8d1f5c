// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A ball falls and bounces: two states and one state event.
#include <couplet/model.h>

// doc:begin variables
enum { H, V };  // states
enum { G, E };  // parameters

static const cpl_declaration states[] = {
    {"h", .start = 1, .unit = "m", .description = "height above the ground", .output = true},
    {"v", .start = 0, .unit = "m/s", .description = "velocity, upwards", .output = true},
    {0}};

static const cpl_declaration parameters[] = {
    {"g", .start = 9.81, .unit = "m/s2", .description = "gravity"},
    {"e", .start = 0.8, .unit = "1", .min = 0, .max = 1, .description = "restitution"},
    {0}};
// doc:end

// doc:begin derivatives
static int fall(const cpl_values* v, double* dx) {
  dx[H] = v->x[V];
  dx[V] = -v->p[G];
  return CPL_MODEL_OK;
}
// doc:end

// doc:begin event
static int height_above_ground(const cpl_values* v, double* z) {
  z[0] = v->x[H];
  return CPL_MODEL_OK;
}

static int bounce(const cpl_values* v, cpl_event_actions* a) {
  bool hit = a->crossed[0] < 0 && v->x[V] < 0;
  if (hit) {
    a->x[H] = 0;
    a->x[V] = -v->p[E] * v->x[V];
  }
  return CPL_MODEL_OK;
}
// doc:end

static int linear(const cpl_values* v, const double* d_x, const double* d_u, double* d_dx,
                  double* d_y) {
  (void)v, (void)d_u, (void)d_y;
  if (d_dx != NULL) {
    d_dx[H] = d_x[V];
    d_dx[V] = 0;
  }
  return CPL_MODEL_OK;
}

// doc:begin dependencies
static const cpl_dependency dependencies[] = {{"der(h)", "v", "constant"}, {"der(v)", ""}, {0}};
// doc:end

// doc:begin definition
const cpl_model_def couplet_model = {
    .name = "bouncing_ball",
    .description = "A ball that falls and bounces",
    .states = states,
    .parameters = parameters,
    .n_indicators = 1,
    .derivatives = fall,
    .indicators = height_above_ground,
    .event = bounce,
    .directional = linear,
    .dependencies = dependencies,
    .stop_time = 3,
    .tolerance = 1e-8,
    .step_size = 0.01,
};
// doc:end
