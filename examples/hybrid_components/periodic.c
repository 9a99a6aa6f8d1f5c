// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Periodic generator: an event with value k at k T, k = 1, 2, ...
#include <couplet/model.h>

enum { T };     // parameters
enum { Y, N };  // discrete variables

static const cpl_declaration parameters[] = {{"T", .start = 0.25, .unit = "s"}, {0}};
static const cpl_declaration discrete[] = {
    {"y", .description = "value of the last event", .output = true},
    {"n", .type = CPL_INTEGER, .description = "events so far", .output = true},
    {0}};

static int first(const cpl_values* v, cpl_event_actions* a) {
  a->next_time = v->p[T];
  return CPL_MODEL_OK;
}

static int emit(const cpl_values* v, cpl_event_actions* a) {
  if (!a->time_event) return CPL_MODEL_OK;
  a->w[N] += 1;
  a->w[Y] = a->w[N];
  a->next_time = (a->w[N] + 1) * v->p[T];
  return CPL_MODEL_OK;
}

const cpl_model_def couplet_model = {.name = "periodic",
                                     .description = "Events at multiples of a period",
                                     .parameters = parameters,
                                     .discrete = discrete,
                                     .initialize = first,
                                     .event = emit};
