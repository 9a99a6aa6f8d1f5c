// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// One wheel of the race car with its suspension, tyre and brake. Four instances of it, with the
// parameters of their corners, and the chassis are the car.
#include "car.h"

#define INPUT(c, n, u, s)    {#n, .unit = u, .start = s},
#define STATE(c, n, u, s, d) {#n, .unit = u, .start = s, .description = d, .output = true},
#define SWITCH(c, n, s, d)   {#n, .type = CPL_BOOLEAN, .start = s, .description = d},

static const cpl_declaration inputs[] = {CHASSIS_TO_WHEEL(INPUT, ){0}};
static const cpl_declaration states[] = {WHEEL_STATES(STATE, , 0.322672){0}};
static const cpl_declaration discrete[] = {WHEEL_SWITCHES(SWITCH, ){0}};
static const cpl_declaration outputs[] = {
    {"Fx", .unit = "N"},       {"Fy", .unit = "N"},         {"Fz", .unit = "N"},
    {"Mx", .unit = "N.m"},     {"My", .unit = "N.m"},       {"Mz", .unit = "N.m"},
    {"px", .unit = "m"},       {"py", .unit = "m"},         {"load", .unit = "N"},
    {"friction", .unit = "1"}, {"slip_power", .unit = "W"}, {0}};
static const cpl_declaration parameters[] = {
    {"preload", .start = 1464.96, .unit = "N", .description = "of the spring at rest"},
    {"length", .start = -0.022672, .unit = "m", .description = "of the suspension at rest"},
    {"stiffness", .start = 90e3, .unit = "N/m", .description = "of the spring"},
    {"grip", .start = GRIP, .unit = "1", .description = "of the tyre: coefficient of friction"},
    {"peak_x", .start = PEAK_X, .unit = "1", .description = "slip along at the peak of the grip"},
    {"peak_y", .start = PEAK_Y, .unit = "1", .description = "slip across at the peak of the grip"},
    {"tyre", .start = TYRE_STIFFNESS, .unit = "N/m", .description = "stiffness of the tyre"},
    {0}};

// Outputs and derivatives at one point share most of their work, and a solver asks for one after
// the other: the last point is kept with what was computed there.
typedef struct kept {
  double x[N_WHEEL_X], u[N_TO_WHEEL], w[N_WHEEL_W];
  car_wheel flow;
  bool known;
} kept;

static const car_wheel* flow_at(const cpl_values* v) {
  kept* k = v->memory;
  if (k->known && memcmp(k->x, v->x, sizeof k->x) == 0 && memcmp(k->u, v->u, sizeof k->u) == 0 &&
      memcmp(k->w, v->w, sizeof k->w) == 0) {
    return &k->flow;
  }
  memcpy(k->x, v->x, sizeof k->x);
  memcpy(k->u, v->u, sizeof k->u);
  memcpy(k->w, v->w, sizeof k->w);
  k->flow = wheel_flow(v->x, v->u, v->w, v->p);
  k->known = true;
  return &k->flow;
}

static int get_outputs(const cpl_values* v, double* y) {
  wheel_outputs(flow_at(v), v->x, v->u, y);
  return CPL_MODEL_OK;
}

static int get_derivatives(const cpl_values* v, double* dx) {
  wheel_derivatives(flow_at(v), v->x, v->u, v->w, dx);
  return CPL_MODEL_OK;
}

static int get_indicators(const cpl_values* v, double* z) {
  wheel_indicators(flow_at(v), v->x, v->w, z);
  return CPL_MODEL_OK;
}

static int set_switches(const cpl_values* v, cpl_event_actions* a) {
  double z[N_WHEEL_W];
  const car_wheel f = wheel_flow(v->x, v->u, v->w, v->p);
  wheel_indicators(&f, v->x, v->w, z);
  for (int i = 0; i < N_WHEEL_W; i++) a->w[i] = z[i] > 0;
  return CPL_MODEL_OK;
}

const cpl_model_def couplet_model = {.name = "wheel",
                                     .description = "A wheel with suspension, tyre and brake",
                                     .states = states,
                                     .inputs = inputs,
                                     .outputs = outputs,
                                     .parameters = parameters,
                                     .discrete = discrete,
                                     .n_indicators = N_WHEEL_W,
                                     .memory_size = sizeof(kept),
                                     .derivatives = get_derivatives,
                                     .output_values = get_outputs,
                                     .indicators = get_indicators,
                                     .event = set_switches};
