// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// x' = a (level on - x), where `on` becomes 1 when u exceeds b and -1 when it falls below -b
#include <couplet/model.h>

static const cpl_declaration states[] = {{"x", .output = true}, {0}};
static const cpl_declaration inputs[] = {{"u"}, {0}};
static const cpl_declaration parameters[] = {
    {"a", .start = 1}, {"b", .start = 0.1}, {"level", .start = 1}, {"first", .start = 1}, {0}};
static const cpl_declaration discrete[] = {{"on", .output = true}, {0}};

static int derivatives(const cpl_values* v, double* dx) {
  dx[0] = v->p[0] * (v->p[2] * v->w[0] - v->x[0]);
  return CPL_MODEL_OK;
}

static int indicators(const cpl_values* v, double* z) {
  z[0] = v->w[0] > 0 ? v->u[0] + v->p[1] : v->u[0] - v->p[1];
  return CPL_MODEL_OK;
}

static int initialize(const cpl_values* v, cpl_event_actions* a) {
  a->w[0] = v->p[3];
  return CPL_MODEL_OK;
}

static int event(const cpl_values* v, cpl_event_actions* a) {
  if (v->w[0] > 0 && v->u[0] <= -v->p[1]) a->w[0] = -1;
  if (v->w[0] < 0 && v->u[0] > v->p[1]) a->w[0] = 1;
  return CPL_MODEL_OK;
}

const cpl_model_def couplet_model = {.name = "relay",
                                     .states = states,
                                     .inputs = inputs,
                                     .parameters = parameters,
                                     .discrete = discrete,
                                     .n_indicators = 1,
                                     .derivatives = derivatives,
                                     .indicators = indicators,
                                     .initialize = initialize,
                                     .event = event};
