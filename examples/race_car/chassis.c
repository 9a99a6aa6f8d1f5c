// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The chassis of the race car: a rigid body with driver, engine, brakes and wings. It sums up what
// the wheels do to it and tells each of them how its mount moves.
#include "car.h"

#define STATE(n, u, s, d)  {#n, .unit = u, .start = s, .description = d, .output = true},
#define SWITCH(n, s, d)    {#n, .type = CPL_BOOLEAN, .start = s, .description = d},
#define PORT(c, n, u, s)   {#c "_" #n, .unit = u, .start = s},
#define OUTPUT(c, n, u, s) {#c "_" #n, .unit = u},

static const cpl_declaration inputs[] = {WHEEL_TO_CHASSIS(PORT, fl) WHEEL_TO_CHASSIS(
    PORT, fr) WHEEL_TO_CHASSIS(PORT, rl) WHEEL_TO_CHASSIS(PORT, rr){0}};
static const cpl_declaration outputs[] = {
    CHASSIS_TO_WHEEL(OUTPUT, fl) CHASSIS_TO_WHEEL(OUTPUT, fr) CHASSIS_TO_WHEEL(OUTPUT, rl)
        CHASSIS_TO_WHEEL(OUTPUT, rr){"v", .unit = "m/s", .description = "speed"},
    {0}};
static const cpl_declaration states[] = {CHASSIS_STATES(STATE){0}};
static const cpl_declaration discrete[] = {CHASSIS_SWITCHES(SWITCH){0}};
static const cpl_declaration parameters[] = {CHASSIS_PARAMETERS, {0}};

static int get_outputs(const cpl_values* v, double* y) {
  chassis_outputs(v->x, v->u, y);
  y[N_WHEELS * N_TO_WHEEL] = y[U_air_speed];
  return CPL_MODEL_OK;
}

static int get_derivatives(const cpl_values* v, double* dx) {
  chassis_derivatives(v->t, v->x, v->u, v->w, v->p, dx);
  return CPL_MODEL_OK;
}

static int get_indicators(const cpl_values* v, double* z) {
  chassis_indicators(v->t, v->x, v->u, v->w, v->p, z);
  return CPL_MODEL_OK;
}

static int set_switches(const cpl_values* v, cpl_event_actions* a) {
  double z[N_CHASSIS_W];
  chassis_indicators(v->t, v->x, v->u, v->w, v->p, z);
  for (int i = 0; i < N_CHASSIS_W; i++) a->w[i] = z[i] > 0;
  return CPL_MODEL_OK;
}

const cpl_model_def couplet_model = {.name = "chassis",
                                     .description = "A race car without its wheels",
                                     .states = states,
                                     .inputs = inputs,
                                     .outputs = outputs,
                                     .parameters = parameters,
                                     .discrete = discrete,
                                     .n_indicators = N_CHASSIS_W,
                                     .derivatives = get_derivatives,
                                     .output_values = get_outputs,
                                     .indicators = get_indicators,
                                     .event = set_switches};
