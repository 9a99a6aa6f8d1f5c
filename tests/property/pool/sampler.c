// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// held = k u at times start + period, start + 2 period, ...
#include <couplet/model.h>

static const cpl_declaration inputs[] = {{"u"}, {0}};
static const cpl_declaration parameters[] = {{"period", .start = 1}, {"k", .start = 1}, {0}};
static const cpl_declaration discrete[] = {
    {"held", .output = true}, {"n", .output = true, .type = CPL_INTEGER}, {"begin"}, {0}};

static int initialize(const cpl_values* v, cpl_event_actions* a) {
  a->w[2] = v->t;
  a->next_time = v->t + v->p[0];
  return CPL_MODEL_OK;
}

static int event(const cpl_values* v, cpl_event_actions* a) {
  if (!a->time_event) return CPL_MODEL_OK;
  double n = v->w[1] + 1;
  a->w[0] = v->p[1] * v->u[0];
  a->w[1] = n;
  a->next_time = v->w[2] + (n + 1) * v->p[0];
  return CPL_MODEL_OK;
}

const cpl_model_def couplet_model = {.name = "sampler",
                                     .inputs = inputs,
                                     .parameters = parameters,
                                     .discrete = discrete,
                                     .initialize = initialize,
                                     .event = event};
