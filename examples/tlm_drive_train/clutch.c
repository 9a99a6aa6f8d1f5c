// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A clutch between two discs. While it slips, friction of a constant torque acts between them; when
// their speeds meet it locks, which is an event, and both turn as one from then on.
#include "couplet/model.h"

enum { W_IN, W_OUT };

static int derivatives(const cpl_values* v, double* dx) {
  double in = v->p[0], out = v->p[1], friction = v->p[2], shaft = v->u[0];
  if (v->w[0] > 0) {
    dx[W_IN] = dx[W_OUT] = shaft / (in + out);
    return CPL_MODEL_OK;
  }
  dx[W_IN] = (shaft - friction) / in;
  dx[W_OUT] = friction / out;
  return CPL_MODEL_OK;
}

static int indicators(const cpl_values* v, double* z) {
  z[0] = v->w[0] > 0 ? 1 : v->x[W_IN] - v->x[W_OUT];
  return CPL_MODEL_OK;
}

static int event(const cpl_values* v, cpl_event_actions* a) {
  if (a->crossed[0] >= 0) return CPL_MODEL_OK;
  double w = (v->p[0] * v->x[W_IN] + v->p[1] * v->x[W_OUT]) / (v->p[0] + v->p[1]);
  a->w[0] = 1;
  a->x[W_IN] = a->x[W_OUT] = w;
  return CPL_MODEL_OK;
}

static const cpl_declaration states[] = {{"w_in", .start = 1, .unit = "rad/s", .output = true},
                                         {"w_out", .unit = "rad/s", .output = true},
                                         {0}};
static const cpl_declaration inputs[] = {{"T", .unit = "N.m"}, {0}};
static const cpl_declaration parameters[] = {{"J_in", .start = 0.05, .unit = "kg.m2"},
                                             {"J_out", .start = 1, .unit = "kg.m2"},
                                             {"friction", .start = 150, .unit = "N.m"},
                                             {0}};
static const cpl_declaration discrete[] = {{"locked", .output = true}, {0}};

CPL_MODEL_EXPORT const cpl_model_def couplet_model = {.name = "clutch",
                                                      .states = states,
                                                      .inputs = inputs,
                                                      .parameters = parameters,
                                                      .discrete = discrete,
                                                      .n_indicators = 1,
                                                      .derivatives = derivatives,
                                                      .indicators = indicators,
                                                      .event = event,
                                                      .stop_time = 1};
