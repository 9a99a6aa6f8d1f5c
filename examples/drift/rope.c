// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A bob on a rope: taut, it is a pendulum with two constraints; where the rope would have to push,
// it becomes slack and the bob flies freely, with none; taut again, the bob loses the velocity
// along the rope.
#include <couplet/model.h>
#include <math.h>

enum { X, Y, VX, VY };
enum { G, L };
enum { TAUT };

static double tension(const cpl_values* v) {  // per mass
  const double* x = v->x;
  double square = x[X] * x[X] + x[Y] * x[Y];
  return (x[VX] * x[VX] + x[VY] * x[VY] - v->p[G] * x[Y]) / square * v->p[L];
}

static int derivatives(const cpl_values* v, double* dx) {
  const double* x = v->x;
  double pull = v->w[TAUT] != 0 ? tension(v) / v->p[L] : 0;
  dx[X] = x[VX];
  dx[Y] = x[VY];
  dx[VX] = -pull * x[X];
  dx[VY] = -pull * x[Y] - v->p[G];
  return CPL_MODEL_OK;
}

static int indicators(const cpl_values* v, double* z) {
  const double* x = v->x;
  bool taut = v->w[TAUT] != 0;
  z[0] = taut ? tension(v) : 1;
  z[1] = taut ? 1 : v->p[L] * v->p[L] - x[X] * x[X] - x[Y] * x[Y];
  return CPL_MODEL_OK;
}

static int event(const cpl_values* v, cpl_event_actions* a) {
  if (v->w[TAUT] != 0 && a->crossed[0] < 0) {
    a->w[TAUT] = 0;
  } else if (v->w[TAUT] == 0 && a->crossed[1] < 0) {
    double r = hypot(a->x[X], a->x[Y]), ex = a->x[X] / r, ey = a->x[Y] / r;
    double away = a->x[VX] * ex + a->x[VY] * ey;
    a->x[VX] -= away * ex;
    a->x[VY] -= away * ey;
    a->w[TAUT] = 1;
  }
  return CPL_MODEL_OK;
}

static int active_constraints(const cpl_values* v) { return v->w[TAUT] != 0 ? 2 : 0; }

static int constraints(const cpl_values* v, double* c) {
  const double* x = v->x;
  c[0] = x[X] * x[X] + x[Y] * x[Y] - v->p[L] * v->p[L];
  c[1] = x[X] * x[VX] + x[Y] * x[VY];
  return CPL_MODEL_OK;
}

static const cpl_declaration states[] = {{"x", .start = 2, .unit = "m", .output = true},
                                         {"y", .unit = "m", .output = true},
                                         {"vx", .unit = "m/s"},
                                         {"vy", .start = -4, .unit = "m/s"},
                                         {0}};
static const cpl_declaration parameters[] = {
    {"g", .start = 9.81, .unit = "m/s2"}, {"L", .start = 2, .unit = "m"}, {0}};
static const cpl_declaration discrete[] = {
    {"taut", .start = 1, .type = CPL_BOOLEAN, .output = true}, {0}};

const cpl_model_def couplet_model = {.name = "rope",
                                     .description = "bob on a rope that goes slack",
                                     .states = states,
                                     .parameters = parameters,
                                     .discrete = discrete,
                                     .n_indicators = 2,
                                     .derivatives = derivatives,
                                     .indicators = indicators,
                                     .event = event,
                                     .n_constraints = 2,
                                     .active_constraints = active_constraints,
                                     .constraints = constraints,
                                     .stop_time = 3,
                                     .tolerance = 1e-8};
