// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Twenty thousand variables, to measure what opening a large FMU costs.
#include <couplet/model.h>

enum { PARAMETERS = 12000, OUTPUTS = 7990 };

static const cpl_declaration states[] = {
    {"x", .start = 1, .unit = "m", .description = "position", .size = 5}, {0}};
static const cpl_declaration parameters[] = {
    {"component.part.parameter", .start = 1.5, .unit = "kg", .description = "a parameter of a part",
     .size = PARAMETERS},
    {0}};
static const cpl_declaration outputs[] = {
    {"component.part.output", .unit = "m/s", .description = "an output of a part", .size = OUTPUTS},
    {0}};

static int derivatives(const cpl_values* v, double* dx) {
  for (int i = 0; i < 5; i++) dx[i] = -v->p[i] * v->x[i];
  return CPL_MODEL_OK;
}

static int output_values(const cpl_values* v, double* y) {
  for (int i = 0; i < OUTPUTS; i++) y[i] = v->p[i] * v->x[i % 5];
  return CPL_MODEL_OK;
}

const cpl_model_def couplet_model = {.name = "variables20000",
                                     .states = states,
                                     .parameters = parameters,
                                     .outputs = outputs,
                                     .derivatives = derivatives,
                                     .output_values = output_values,
                                     .stop_time = 1};
