// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A model that takes the place of those foreign files name.
#pragma once

#include "couplet/csource.h"
#include "couplet/model.h"
#include "fuzz.h"

#define FUZZ_END \
  { 0 }

// m v' = F, x' = v, an event where x becomes negative
static int fuzz_mass_derivatives(const cpl_values* v, double* dx) {
  dx[0] = v->x[1];
  dx[1] = v->u[0] / v->p[0];
  return CPL_MODEL_OK;
}
static int fuzz_mass_outputs(const cpl_values* v, double* y) {
  y[0] = 2 * v->u[0] + v->x[0];
  return CPL_MODEL_OK;
}
static int fuzz_mass_indicators(const cpl_values* v, double* z) {
  z[0] = v->x[0];
  return CPL_MODEL_OK;
}
static int fuzz_mass_event(const cpl_values* v, cpl_event_actions* a) {
  if (a->crossed[0] < 0) a->x[1] = -v->x[1];
  return CPL_MODEL_OK;
}
static const cpl_declaration fuzz_mass_states[] = {
    {"x", .start = 1, .unit = "m", .output = true}, {"v", .unit = "m/s", .output = true}, FUZZ_END};
static const cpl_declaration fuzz_mass_inputs[] = {{"u", .unit = "N"}, FUZZ_END};
static const cpl_declaration fuzz_mass_output_list[] = {{"y"}, FUZZ_END};
static const cpl_declaration fuzz_mass_parameters[] = {{"m", .start = 1, .unit = "kg"}, FUZZ_END};
static const cpl_model_def fuzz_mass = {.name = "mass",
                                        .states = fuzz_mass_states,
                                        .inputs = fuzz_mass_inputs,
                                        .outputs = fuzz_mass_output_list,
                                        .parameters = fuzz_mass_parameters,
                                        .n_indicators = 1,
                                        .derivatives = fuzz_mass_derivatives,
                                        .output_values = fuzz_mass_outputs,
                                        .indicators = fuzz_mass_indicators,
                                        .event = fuzz_mass_event,
                                        .stop_time = 1};

static inline cpl_source* fuzz_source(void) {
  static cpl_source* source;
  if (source == NULL) FUZZ_CHECK(cpl_c_define(fuzz_context(), &fuzz_mass, &source) >= 0);
  return source;
}
