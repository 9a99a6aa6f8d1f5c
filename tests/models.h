// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Small models for tests, and a way to run one and keep what was recorded.
#pragma once

#include "testing.h"

#define END_OF_LIST \
  { 0 }

//------------------------------------ models ------------------------------------

// x' = -x, y = x
static int decay_derivatives(const cpl_values* v, double* dx) {
  dx[0] = -v->x[0];
  return CPL_MODEL_OK;
}
static const cpl_declaration decay_states[] = {{"x", .start = 1, .output = true}, END_OF_LIST};
static const cpl_model_def decay_model = {
    .name = "decay", .states = decay_states, .derivatives = decay_derivatives, .stop_time = 1};

// The bouncing ball of examples/, with the indicator scaled by a parameter.
static int ball_derivatives(const cpl_values* v, double* dx) {
  dx[0] = v->x[1];
  dx[1] = -v->p[0];
  return CPL_MODEL_OK;
}
static int ball_indicators(const cpl_values* v, double* z) {
  z[0] = v->p[2] * v->x[0];
  return CPL_MODEL_OK;
}
static int ball_event(const cpl_values* v, cpl_event_actions* a) {
  if (a->crossed[0] >= 0 || v->x[1] >= 0) return CPL_MODEL_OK;
  a->x[0] = 0;
  a->x[1] = -v->p[1] * v->x[1];
  return CPL_MODEL_OK;
}
static const cpl_declaration ball_states[] = {
    {"h", .start = 1, .unit = "m"}, {"v", .unit = "m/s"}, END_OF_LIST};
static const cpl_declaration ball_parameters[] = {{"g", .start = 9.81},
                                                  {"e", .start = 0.8, .min = 0, .max = 1},
                                                  {"scale", .start = 1},
                                                  END_OF_LIST};
static const cpl_model_def ball_model = {.name = "ball",
                                         .states = ball_states,
                                         .parameters = ball_parameters,
                                         .n_indicators = 1,
                                         .derivatives = ball_derivatives,
                                         .indicators = ball_indicators,
                                         .event = ball_event,
                                         .stop_time = 3};

// x' = u, y = 2 u + x
static int gain_derivatives(const cpl_values* v, double* dx) {
  dx[0] = v->u[0];
  return CPL_MODEL_OK;
}
static int gain_outputs(const cpl_values* v, double* y) {
  y[0] = 2 * v->u[0] + v->x[0];
  return CPL_MODEL_OK;
}
static const cpl_declaration gain_states[] = {{.name = "x"}, END_OF_LIST};
static const cpl_declaration gain_inputs[] = {{.name = "u"}, END_OF_LIST};
static const cpl_declaration gain_output_list[] = {{.name = "y"}, END_OF_LIST};
static const cpl_model_def gain_model = {.name = "gain",
                                         .states = gain_states,
                                         .inputs = gain_inputs,
                                         .outputs = gain_output_list,
                                         .derivatives = gain_derivatives,
                                         .output_values = gain_outputs,
                                         .stop_time = 1};

//------------------------------------ runs ------------------------------------

enum { MAX_POINTS = 20000, MAX_COLUMNS = 8 };

// What a run recorded, Reals only; other types as their number.
typedef struct recording {
  cpl_context* ctx;
  cpl_source* source;
  cpl_stepper* stepper;
  cpl_run_def run;
  cpl_solver_def solver;
  cpl_run_stats stats;
  size_t n, n_columns;
  cpl_type type[MAX_COLUMNS];
  double t[MAX_POINTS];
  double value[MAX_POINTS][MAX_COLUMNS];
} recording;

static inline cpl_status keep_columns(void* user, const cpl_column* columns, size_t n) {
  recording* r = user;
  assert_true(n <= MAX_COLUMNS);
  r->n_columns = n;
  for (size_t i = 0; i < n; i++) r->type[i] = columns[i].type;
  return CPL_OK;
}

static inline cpl_status keep_point(void* user, double t, const cpl_value* values) {
  recording* r = user;
  assert_true(r->n < MAX_POINTS);
  r->t[r->n] = t;
  for (size_t i = 0; i < r->n_columns; i++) {
    double number = r->type[i] == CPL_REAL     ? values[i].real
                    : r->type[i] == CPL_STRING ? 0
                                               : (double)values[i].integer;
    r->value[r->n][i] = number;
  }
  r->n++;
  return CPL_OK;
}

// Change run and solver before recording_run(). Recordings are large: they are made on the heap.
static inline recording* recording_make(cpl_context* ctx, const cpl_model_def* def) {
  recording* r = calloc(1, sizeof *r);
  assert_non_null(r);
  r->ctx = ctx;
  r->run = cpl_default_run_def();
  r->run.stop_time = def->stop_time;
  r->run.on_columns = keep_columns;
  r->run.on_point = keep_point;
  r->run.user = r;
  r->solver = cpl_default_solver_def();
  r->solver.rtol = 1e-8;
  CHECK_OK(ctx, cpl_c_define(ctx, def, &r->source));
  return r;
}

static inline cpl_status recording_run(recording* r) {
  cpl_model* model = NULL;
  cpl_status st = r->source->ops->make_model(r->source, "m", &model);
  if (st >= 0) st = cpl_integrate(model, &r->solver, &r->stepper);
  return st < 0 ? st : cpl_run(r->stepper, &r->run, &r->stats);
}

static inline void recording_free(recording* r) {
  if (r->stepper != NULL) r->stepper->base.ops->destroy(&r->stepper->base);
  r->source->ops->destroy(r->source);
  free(r);
}

static inline double* last_of(recording* r) { return r->value[r->n - 1]; }

// Integrates a model that is given to it, recording the chosen columns. Followed by cpl_run().
static inline recording* recording_by(cpl_context* ctx, cpl_model* m, double stop,
                                      const cpl_solver_def* solver, const char* const* record,
                                      size_t n) {
  recording* r = calloc(1, sizeof *r);
  assert_non_null(r);
  r->ctx = ctx;
  r->run = cpl_default_run_def();
  r->run.stop_time = stop;
  r->run.record = record;
  r->run.n_record = n;
  r->run.on_columns = keep_columns;
  r->run.on_point = keep_point;
  r->run.user = r;
  r->solver = *solver;
  CHECK_OK(ctx, cpl_integrate(m, &r->solver, &r->stepper));
  return r;
}

static inline recording* recording_of(cpl_context* ctx, cpl_model* m, double stop, double rtol,
                                      const char* const* record, size_t n) {
  cpl_solver_def solver = cpl_default_solver_def();
  solver.rtol = rtol;
  return recording_by(ctx, m, stop, &solver, record, n);
}

static inline void drop_run(recording* r) {
  r->stepper->base.ops->destroy(&r->stepper->base);
  free(r);
}
