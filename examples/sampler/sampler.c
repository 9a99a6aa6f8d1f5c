// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A sampled PI controller heats a room: one state, time events, discrete variables.
#include <couplet/model.h>

enum { T };                                                  // states
enum { T_OUTSIDE };                                          // inputs
enum { T_WANTED, PERIOD, GAIN, RESET, COUPLING, CAPACITY };  // parameters
enum { HEAT, INTEGRAL, SAMPLES };                            // discrete variables

static const cpl_declaration states[] = {
    {"T", .start = 10, .unit = "degC", .description = "temperature of the room", .nominal = 10,
     .output = true},
    {0}};

static const cpl_declaration inputs[] = {
    {"T_outside", .start = 5, .unit = "degC", .description = "temperature outside"}, {0}};

static const cpl_declaration parameters[] = {
    {"T_wanted", .start = 20, .unit = "degC", .description = "set point", .tunable = true},
    {"period", .start = 60, .unit = "s", .description = "between two samples"},
    {"gain", .start = 200, .unit = "W/K"},
    {"reset", .start = 1200, .unit = "s", .description = "integral time"},
    {"coupling", .start = 100, .unit = "W/K", .description = "heat lost per kelvin"},
    {"capacity", .start = 2e5, .unit = "J/K", .description = "heat capacity of the room"},
    {0}};

// doc:begin discrete
static const cpl_declaration discrete[] = {
    {"heat", .unit = "W", .description = "of the heater, held between samples", .output = true},
    {"integral", .unit = "K.s", .description = "of the control error"},
    {"samples", .type = CPL_INTEGER, .description = "taken so far", .output = true},
    {0}};
// doc:end

static int heat_balance(const cpl_values* v, double* dx) {
  double lost = v->p[COUPLING] * (v->x[T] - v->u[T_OUTSIDE]);
  dx[T] = (v->w[HEAT] - lost) / v->p[CAPACITY];
  return CPL_MODEL_OK;
}

// doc:begin time_events
static int first_sample(const cpl_values* v, cpl_event_actions* a) {
  if (v->p[PERIOD] <= 0) return cpl_model_error(v, "period = %g is not positive", v->p[PERIOD]);
  a->next_time = v->t + v->p[PERIOD];
  return CPL_MODEL_OK;
}

static int sample(const cpl_values* v, cpl_event_actions* a) {
  if (!a->time_event) return CPL_MODEL_OK;
  double error = v->p[T_WANTED] - v->x[T];
  double heat = v->p[GAIN] * (error + a->w[INTEGRAL] / v->p[RESET]);
  a->w[INTEGRAL] += error * v->p[PERIOD];
  a->w[HEAT] = heat > 0 ? heat : 0;
  a->w[SAMPLES] += 1;
  a->next_time = (a->w[SAMPLES] + 1) * v->p[PERIOD];
  return CPL_MODEL_OK;
}
// doc:end

const cpl_model_def couplet_model = {
    .name = "sampler",
    .description = "A room heated by a sampled PI controller",
    .states = states,
    .inputs = inputs,
    .parameters = parameters,
    .discrete = discrete,
    .derivatives = heat_balance,
    .initialize = first_sample,
    .event = sample,
    .stop_time = 7200,
    .tolerance = 1e-6,
    .step_size = 60,
};
