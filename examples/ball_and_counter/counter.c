// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Counts how often a truth value changes.
#include <couplet/model.h>

enum { COUNT, LAST };  // discrete variables

static const cpl_declaration inputs[] = {{"side", .type = CPL_BOOLEAN}, {0}};
static const cpl_declaration discrete[] = {
    {"count", .type = CPL_INTEGER, .output = true}, {"last", .type = CPL_BOOLEAN}, {0}};

static int look(const cpl_values* v, cpl_event_actions* a) {
  if (v->u[0] != a->w[LAST]) a->w[COUNT] += 1;
  a->w[LAST] = v->u[0];
  return CPL_MODEL_OK;
}

const cpl_model_def couplet_model = {
    .name = "counter",
    .description = "Counts changes",
    .inputs = inputs,
    .discrete = discrete,
    .event = look,
    .stop_time = 3,
};
