// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A pressure source behind a resistance, opened at t_open: q = (p_supply - p) / R into the pipe.
#include <math.h>

#include "couplet/model.h"

static int outputs(const cpl_values* v, double* y) {
  y[0] = (v->w[0] - v->u[0]) / v->p[1];
  return CPL_MODEL_OK;
}

static int directional(const cpl_values* v, const double* d_x, const double* d_u, double* d_dx,
                       double* d_y) {
  (void)d_x, (void)d_dx;
  if (d_y != NULL) d_y[0] = -d_u[0] / v->p[1];
  return CPL_MODEL_OK;
}

static int initialize(const cpl_values* v, cpl_event_actions* a) {
  a->next_time = v->p[2];
  return CPL_MODEL_OK;
}

static int event(const cpl_values* v, cpl_event_actions* a) {
  if (a->time_event) a->w[0] = v->p[0], a->next_time = INFINITY;
  return CPL_MODEL_OK;
}

static const cpl_declaration inputs[] = {{"p", .unit = "Pa"}, {0}};
static const cpl_declaration output_list[] = {{"q", .unit = "m3/s"}, {0}};
static const cpl_declaration parameters[] = {
    {"p_open", .start = 1e7, .unit = "Pa"}, {"R", .start = 2e8}, {"t_open", .start = 0.005}, {0}};
static const cpl_declaration discrete[] = {{"p_supply", .unit = "Pa"}, {0}};

CPL_MODEL_EXPORT const cpl_model_def couplet_model = {.name = "source",
                                                      .inputs = inputs,
                                                      .outputs = output_list,
                                                      .parameters = parameters,
                                                      .discrete = discrete,
                                                      .output_values = outputs,
                                                      .directional = directional,
                                                      .initialize = initialize,
                                                      .event = event,
                                                      .stop_time = 0.3};
