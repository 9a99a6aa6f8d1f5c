// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// x' = a (heat power + k u - x), where `heat` goes off above hi and on below lo
#include <couplet/model.h>

static const cpl_declaration states[] = {{"x", .output = true}, {0}};
static const cpl_declaration inputs[] = {{"u"}, {0}};
static const cpl_declaration parameters[] = {
    {"a", .start = 1}, {"power", .start = 2}, {"lo"}, {"hi", .start = 1}, {"k"}, {0}};
static const cpl_declaration discrete[] = {{"heat", .output = true, .type = CPL_BOOLEAN}, {0}};

static int derivatives(const cpl_values* v, double* dx) {
  dx[0] = v->p[0] * (v->w[0] * v->p[1] + v->p[4] * v->u[0] - v->x[0]);
  return CPL_MODEL_OK;
}

static int indicators(const cpl_values* v, double* z) {
  z[0] = v->w[0] > 0 ? v->x[0] - v->p[3] : v->x[0] - v->p[2];
  return CPL_MODEL_OK;
}

static int event(const cpl_values* v, cpl_event_actions* a) {
  if (v->w[0] > 0 && v->x[0] > v->p[3]) a->w[0] = 0;
  if (v->w[0] == 0 && v->x[0] <= v->p[2]) a->w[0] = 1;
  return CPL_MODEL_OK;
}

const cpl_model_def couplet_model = {.name = "thermostat",
                                     .states = states,
                                     .inputs = inputs,
                                     .parameters = parameters,
                                     .discrete = discrete,
                                     .n_indicators = 1,
                                     .derivatives = derivatives,
                                     .indicators = indicators,
                                     .event = event};
