// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Ends the simulation, fails, hears of steps, keeps memory: what the examples have no use for.
#include "couplet/model.h"

#include "stopper.h"

typedef struct memory {
  double steps;
} memory;

static const cpl_declaration states[] = {{"x", .output = true}, {0}};
static const cpl_declaration parameters[] = {
    {"stop_at", .start = 1, .description = "<\"quoted\" & more>"}, {"fail_at", .start = 10}, {0}};
static const cpl_declaration outputs[] = {{"steps"}, {0}};

static int derivatives(const cpl_values* v, double* dx) {
  if (v->x[0] > v->p[FAIL_AT]) return cpl_model_error(v, "100%% too far");
  dx[0] = 1;
  return CPL_MODEL_OK;
}

static int output_values(const cpl_values* v, double* y) {
  y[0] = ((const memory*)v->memory)->steps;
  return CPL_MODEL_OK;
}

static int indicators(const cpl_values* v, double* z) {
  z[0] = v->x[0] - v->p[STOP_AT];
  return CPL_MODEL_OK;
}

static int event(const cpl_values* v, cpl_event_actions* a) {
  (void)v;
  a->terminate = a->crossed[0] > 0;
  return CPL_MODEL_OK;
}

static int completed_step(const cpl_values* v, bool* wanted) {
  *wanted = false;
  ((memory*)v->memory)->steps++;
  return CPL_MODEL_OK;
}

const cpl_model_def couplet_model = {
    .name = "2 stops & more",
    .states = states,
    .parameters = parameters,
    .outputs = outputs,
    .n_indicators = 1,
    .memory_size = sizeof(memory),
    .derivatives = derivatives,
    .output_values = output_values,
    .indicators = indicators,
    .event = event,
    .completed_step = completed_step,
};
