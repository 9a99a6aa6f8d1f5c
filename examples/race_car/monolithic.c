// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The whole race car as one model: the reference for the car that is coupled from its parts.
#include "car.h"

#define STATE(n, u, s, d)          {#n, .unit = u, .start = s, .description = d, .output = true},
#define SWITCH(n, s, d)            {#n, .type = CPL_BOOLEAN, .start = s, .description = d},
#define WHEEL_STATE(c, n, u, s, d) {#c "_" #n, .unit = u, .start = s, .output = true},
#define WHEEL_SWITCH(c, n, s, d)   {#c "_" #n, .type = CPL_BOOLEAN, .start = s},

static const cpl_declaration states[] = {
    CHASSIS_STATES(STATE) WHEEL_STATES(WHEEL_STATE, fl, 0.322672)
        WHEEL_STATES(WHEEL_STATE, fr, 0.322672) WHEEL_STATES(WHEEL_STATE, rl, 0.321721)
            WHEEL_STATES(WHEEL_STATE, rr, 0.321721){0}};
static const cpl_declaration discrete[] = {
    CHASSIS_SWITCHES(SWITCH) WHEEL_SWITCHES(WHEEL_SWITCH, fl) WHEEL_SWITCHES(WHEEL_SWITCH, fr)
        WHEEL_SWITCHES(WHEEL_SWITCH, rl) WHEEL_SWITCHES(WHEEL_SWITCH, rr){0}};
static const cpl_declaration parameters[] = {CHASSIS_PARAMETERS, {0}};

#define TYRE GRIP, PEAK_X, PEAK_Y, TYRE_STIFFNESS
static const double corner[N_WHEELS][N_WHEEL_P] = {{1464.96, -0.022672, 90e3, TYRE},
                                                   {1464.96, -0.022672, 90e3, TYRE},
                                                   {1674.24, -0.021721, 100e3, TYRE},
                                                   {1674.24, -0.021721, 100e3, TYRE}};

// Everything that flows between the parts, and inside the wheels.
typedef struct flows {
  double to_wheels[N_WHEELS * N_TO_WHEEL], to_chassis[N_WHEELS * N_TO_CHASSIS];
  car_wheel wheels[N_WHEELS];
} flows;

static const double* wheel_x(const cpl_values* v, int i) {
  return v->x + N_CHASSIS_X + i * N_WHEEL_X;
}
static const double* wheel_w(const cpl_values* v, int i) {
  return v->w + N_CHASSIS_W + i * N_WHEEL_W;
}

static void couple(const cpl_values* v, flows* f) {
  for (int i = 0; i < N_WHEELS; i++) {
    memcpy(&f->to_chassis[i * N_TO_CHASSIS + N_FLOWS], wheel_x(v, i), N_WHEEL_X * sizeof(double));
  }
  chassis_outputs(v->x, f->to_chassis, f->to_wheels);
  for (int i = 0; i < N_WHEELS; i++) {
    const double* u = &f->to_wheels[i * N_TO_WHEEL];
    f->wheels[i] = wheel_flow(wheel_x(v, i), u, wheel_w(v, i), corner[i]);
    wheel_outputs(&f->wheels[i], wheel_x(v, i), u, &f->to_chassis[i * N_TO_CHASSIS]);
  }
}

static int get_derivatives(const cpl_values* v, double* dx) {
  flows f;
  couple(v, &f);
  chassis_derivatives(v->t, v->x, f.to_chassis, v->w, v->p, dx);
  for (int i = 0; i < N_WHEELS; i++) {
    wheel_derivatives(&f.wheels[i], wheel_x(v, i), &f.to_wheels[i * N_TO_WHEEL], wheel_w(v, i),
                      &dx[N_CHASSIS_X + i * N_WHEEL_X]);
  }
  return CPL_MODEL_OK;
}

static int get_indicators(const cpl_values* v, double* z) {
  flows f;
  couple(v, &f);
  chassis_indicators(v->t, v->x, f.to_chassis, v->w, v->p, z);
  for (int i = 0; i < N_WHEELS; i++) {
    wheel_indicators(&f.wheels[i], wheel_x(v, i), wheel_w(v, i), &z[N_CHASSIS_W + i * N_WHEEL_W]);
  }
  return CPL_MODEL_OK;
}

enum { N_SWITCHES = N_CHASSIS_W + N_WHEELS * N_WHEEL_W };

static int set_switches(const cpl_values* v, cpl_event_actions* a) {
  double z[N_SWITCHES];
  get_indicators(v, z);
  for (int i = 0; i < N_SWITCHES; i++) a->w[i] = z[i] > 0;
  return CPL_MODEL_OK;
}

const cpl_model_def couplet_model = {.name = "race_car",
                                     .description = "A race car in one piece",
                                     .states = states,
                                     .parameters = parameters,
                                     .discrete = discrete,
                                     .n_indicators = N_SWITCHES,
                                     .derivatives = get_derivatives,
                                     .indicators = get_indicators,
                                     .event = set_switches,
                                     .stop_time = 20,
                                     .tolerance = 1e-6,
                                     .step_size = 0.02};
