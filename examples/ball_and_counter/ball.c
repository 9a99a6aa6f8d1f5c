// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A ball that bounces and tells: a truth value that changes with every bounce.
#include <couplet/model.h>

enum { H, V };           // states
enum { SIDE, BOUNCES };  // discrete variables
enum { G, E };           // parameters

static const cpl_declaration states[] = {
    {"h", .start = 1, .unit = "m", .description = "height above the ground", .output = true},
    {"v", .unit = "m/s", .description = "velocity, upwards", .output = true},
    {0}};
static const cpl_declaration discrete[] = {
    {"side", .type = CPL_BOOLEAN, .description = "changes with every bounce", .output = true},
    {"bounces", .type = CPL_INTEGER, .description = "so far", .output = true},
    {0}};
static const cpl_declaration parameters[] = {
    {"g", .start = 9.81, .unit = "m/s2", .description = "gravity"},
    {"e", .start = 0.8, .unit = "1", .description = "restitution"},
    {0}};

static int fall(const cpl_values* v, double* dx) {
  dx[H] = v->x[V];
  dx[V] = -v->p[G];
  return CPL_MODEL_OK;
}

static int height(const cpl_values* v, double* z) {
  z[0] = v->x[H];
  return CPL_MODEL_OK;
}

static int bounce(const cpl_values* v, cpl_event_actions* a) {
  if (a->crossed[0] >= 0 || v->x[V] >= 0) return CPL_MODEL_OK;
  a->x[H] = 0;
  a->x[V] = -v->p[E] * v->x[V];
  a->w[SIDE] = a->w[SIDE] == 0;
  a->w[BOUNCES] += 1;
  return CPL_MODEL_OK;
}

const cpl_model_def couplet_model = {
    .name = "ball",
    .description = "A ball that bounces and tells",
    .states = states,
    .discrete = discrete,
    .parameters = parameters,
    .n_indicators = 1,
    .derivatives = fall,
    .indicators = height,
    .event = bounce,
    .stop_time = 3,
    .tolerance = 1e-8,
};
