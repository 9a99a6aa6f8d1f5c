// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Sampler: at an event of its trigger it emits the value its input has there.
#include <couplet/model.h>

enum { X, TRIGGER };  // inputs
enum { Y, N, LAST };  // discrete variables

static const cpl_declaration inputs[] = {{"x"}, {"trigger", .type = CPL_INTEGER}, {0}};
static const cpl_declaration discrete[] = {{"y", .output = true},
                                           {"n", .type = CPL_INTEGER, .output = true},
                                           {"last", .type = CPL_INTEGER},
                                           {0}};

static int sample(const cpl_values* v, cpl_event_actions* a) {
  if (v->u[TRIGGER] == a->w[LAST]) return CPL_MODEL_OK;
  a->w[LAST] = v->u[TRIGGER];
  a->w[Y] = v->u[X];
  a->w[N] += 1;
  return CPL_MODEL_OK;
}

const cpl_model_def couplet_model = {.name = "sampler",
                                     .description = "A continuous value at discrete events",
                                     .inputs = inputs,
                                     .discrete = discrete,
                                     .event = sample};
