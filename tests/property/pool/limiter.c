// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// y = u between lo and hi, with an event where it meets a limit
#include <couplet/model.h>

static const cpl_declaration inputs[] = {{"u"}, {0}};
static const cpl_declaration outputs[] = {{"y"}, {0}};
static const cpl_declaration parameters[] = {{"lo", .start = -1}, {"hi", .start = 1}, {0}};
static const cpl_declaration discrete[] = {{"side", .output = true}, {0}};

static int output_values(const cpl_values* v, double* y) {
  y[0] = v->w[0] < 0 ? v->p[0] : v->w[0] > 0 ? v->p[1] : v->u[0];
  return CPL_MODEL_OK;
}

static int indicators(const cpl_values* v, double* z) {
  z[0] = v->u[0] - v->p[0];
  z[1] = v->u[0] - v->p[1];
  return CPL_MODEL_OK;
}

static int event(const cpl_values* v, cpl_event_actions* a) {
  a->w[0] = v->u[0] <= v->p[0] ? -1 : v->u[0] > v->p[1] ? 1 : 0;
  return CPL_MODEL_OK;
}

const cpl_model_def couplet_model = {.name = "limiter",
                                     .inputs = inputs,
                                     .outputs = outputs,
                                     .parameters = parameters,
                                     .discrete = discrete,
                                     .n_indicators = 2,
                                     .output_values = output_values,
                                     .indicators = indicators,
                                     .event = event};
