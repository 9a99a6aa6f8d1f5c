// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A mass that bounces: h' = a v, v' = a (k u - g)
#include <couplet/model.h>

static const cpl_declaration states[] = {{"h", .output = true}, {"v", .output = true}, {0}};
static const cpl_declaration inputs[] = {{"u"}, {0}};
static const cpl_declaration parameters[] = {
    {"a", .start = 1}, {"g", .start = 1}, {"e", .start = 0.8}, {"k"}, {0}};

static int derivatives(const cpl_values* v, double* dx) {
  dx[0] = v->p[0] * v->x[1];
  dx[1] = v->p[0] * (v->p[3] * v->u[0] - v->p[1]);
  return CPL_MODEL_OK;
}

static int indicators(const cpl_values* v, double* z) {
  z[0] = v->x[0];
  return CPL_MODEL_OK;
}

static int event(const cpl_values* v, cpl_event_actions* a) {
  if (a->crossed[0] < 0 && v->x[1] < 0) {
    a->x[0] = 0;
    a->x[1] = -v->p[2] * v->x[1];
  }
  return CPL_MODEL_OK;
}

const cpl_model_def couplet_model = {.name = "mass",
                                     .states = states,
                                     .inputs = inputs,
                                     .parameters = parameters,
                                     .n_indicators = 1,
                                     .derivatives = derivatives,
                                     .indicators = indicators,
                                     .event = event};
