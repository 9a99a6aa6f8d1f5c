// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Microstep delay with a countdown: an event with value k at (t, m) comes out with k - 1 at
// (t, m + 1), as long as that is positive. Fed back to itself it counts down while time stands
// still.
#include <couplet/model.h>

enum { U, TRIGGER };  // inputs
enum { Y, N, LAST };  // discrete variables

static const cpl_declaration inputs[] = {
    {"u", .discrete = true}, {"trigger", .type = CPL_INTEGER}, {0}};
static const cpl_declaration discrete[] = {{"y", .output = true},
                                           {"n", .type = CPL_INTEGER, .output = true},
                                           {"last", .type = CPL_INTEGER},
                                           {0}};

static int pass(const cpl_values* v, cpl_event_actions* a) {
  if (v->u[TRIGGER] == a->w[LAST]) return CPL_MODEL_OK;
  a->w[LAST] = v->u[TRIGGER];
  if (v->u[U] < 1) return CPL_MODEL_OK;
  a->w[Y] = v->u[U] - 1;
  a->w[N] += 1;
  return CPL_MODEL_OK;
}

const cpl_model_def couplet_model = {.name = "microstep",
                                     .description = "Events come again a microstep later",
                                     .inputs = inputs,
                                     .discrete = discrete,
                                     .event = pass};
