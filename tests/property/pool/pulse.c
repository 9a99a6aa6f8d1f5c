// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// level is high from start + delay, for `width`, again and again after `period`
#include <couplet/model.h>

static const cpl_declaration parameters[] = {{"delay", .start = 0.5},
                                             {"width", .start = 0.2},
                                             {"period", .start = 1},
                                             {"high", .start = 1},
                                             {0}};
static const cpl_declaration discrete[] = {
    {"level", .output = true}, {"n", .type = CPL_INTEGER}, {"begin"}, {0}};

static int initialize(const cpl_values* v, cpl_event_actions* a) {
  a->w[2] = v->t + v->p[0];
  a->next_time = a->w[2];
  return CPL_MODEL_OK;
}

static int event(const cpl_values* v, cpl_event_actions* a) {
  if (!a->time_event) return CPL_MODEL_OK;
  bool rises = v->w[0] == 0;
  double n = v->w[1] + (rises ? 0 : 1);
  a->w[0] = rises ? v->p[3] : 0;
  a->w[1] = n;
  a->next_time = v->w[2] + n * v->p[2] + (rises ? v->p[1] : 0);
  return CPL_MODEL_OK;
}

const cpl_model_def couplet_model = {.name = "pulse",
                                     .parameters = parameters,
                                     .discrete = discrete,
                                     .initialize = initialize,
                                     .event = event};
