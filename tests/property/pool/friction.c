// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Dry friction: x' = a v, v' = a (u - fc) / m while it slides (way is 1 or -1), and it sticks
// (way is 0) until the force u exceeds fs.
#include <couplet/model.h>
#include <math.h>

static const cpl_declaration states[] = {{"x", .output = true}, {"v", .output = true}, {0}};
static const cpl_declaration inputs[] = {{"u"}, {0}};
static const cpl_declaration parameters[] = {
    {"a", .start = 1}, {"fc", .start = 0.5}, {"fs", .start = 0.7}, {"m", .start = 1}, {0}};
static const cpl_declaration discrete[] = {{"way", .output = true}, {0}};

static int derivatives(const cpl_values* v, double* dx) {
  double way = v->w[0];
  dx[0] = v->p[0] * v->x[1];
  dx[1] = way == 0 ? 0 : v->p[0] * (v->u[0] - way * v->p[1]) / v->p[3];
  return CPL_MODEL_OK;
}

static int indicators(const cpl_values* v, double* z) {
  z[0] = v->w[0] == 0 ? v->p[2] - fabs(v->u[0]) : v->w[0] * v->x[1];
  return CPL_MODEL_OK;
}

static int initialize(const cpl_values* v, cpl_event_actions* a) {
  a->w[0] = v->x[1] > 0 ? 1 : -1;
  return CPL_MODEL_OK;
}

static int event(const cpl_values* v, cpl_event_actions* a) {
  double u = v->u[0], way = fabs(u) >= v->p[2] ? (u > 0 ? 1 : -1) : 0;
  if (v->w[0] == 0) {
    a->w[0] = way;
  } else if (a->crossed[0] < 0 && v->w[0] * v->x[1] <= 0) {
    a->x[1] = 0;
    a->w[0] = way;
  }
  return CPL_MODEL_OK;
}

const cpl_model_def couplet_model = {.name = "friction",
                                     .states = states,
                                     .inputs = inputs,
                                     .parameters = parameters,
                                     .discrete = discrete,
                                     .n_indicators = 1,
                                     .derivatives = derivatives,
                                     .indicators = indicators,
                                     .initialize = initialize,
                                     .event = event};
