// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Integrator with reset: x' = u; an event sets x to the value that comes with it.
#include <couplet/model.h>

enum { U, RESET, TRIGGER };  // inputs

static const cpl_declaration states[] = {{"x", .output = true}, {0}};
static const cpl_declaration inputs[] = {
    {"u"}, {"reset", .discrete = true}, {"trigger", .type = CPL_INTEGER}, {0}};
static const cpl_declaration discrete[] = {{"last", .type = CPL_INTEGER}, {0}};

static int derivatives(const cpl_values* v, double* dx) {
  dx[0] = v->u[U];
  return CPL_MODEL_OK;
}

static int set_back(const cpl_values* v, cpl_event_actions* a) {
  if (v->u[TRIGGER] == a->w[0]) return CPL_MODEL_OK;
  a->w[0] = v->u[TRIGGER];
  a->x[0] = v->u[RESET];
  return CPL_MODEL_OK;
}

const cpl_model_def couplet_model = {.name = "integrator",
                                     .description = "An integral that events set anew",
                                     .states = states,
                                     .inputs = inputs,
                                     .discrete = discrete,
                                     .derivatives = derivatives,
                                     .event = set_back};
