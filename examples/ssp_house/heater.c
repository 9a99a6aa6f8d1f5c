// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A heater with a proportional thermostat: P = gain (wanted - T), in degrees Celsius and kilowatts.
#include <couplet/model.h>

static const cpl_declaration inputs[] = {{"T", .start = 10, .unit = "degC"}, {0}};
static const cpl_declaration outputs[] = {{"P", .unit = "kW"}, {0}};
static const cpl_declaration parameters[] = {
    {"wanted", .start = 20, .unit = "degC"}, {"gain", .start = 0.1, .unit = "kW/K"}, {0}};

static int control(const cpl_values* v, double* y) {
  y[0] = v->p[1] * (v->p[0] - v->u[0]);
  return CPL_MODEL_OK;
}

const cpl_model_def couplet_model = {.name = "heater",
                                     .inputs = inputs,
                                     .outputs = outputs,
                                     .parameters = parameters,
                                     .output_values = control};
