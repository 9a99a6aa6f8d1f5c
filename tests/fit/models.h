// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Models with closed forms, data of them, and a fit of one.
#pragma once

#include "testing.h"

// x' = -a b x, y = x; p0 + p1 t + p2 t^2 as a state; an input
static int decay_slope(const cpl_values* v, double* dx) {
  if (v->p[0] < 0) return CPL_MODEL_ERROR;
  dx[0] = -v->p[0] * v->p[1] * v->x[0];
  return CPL_MODEL_OK;
}
static const cpl_declaration decay_states[] = {{"x", .start = 2, .unit = "m", .output = true}, {0}};
static const cpl_declaration decay_parameters[] = {
    {"a", .start = 0.5, .unit = "1/s"}, {"b", .start = 1}, {"unused", .start = 1}, {0}};
static const cpl_model_def decay = {.name = "decay",
                                    .states = decay_states,
                                    .parameters = decay_parameters,
                                    .derivatives = decay_slope,
                                    .stop_time = 5};

// x = x0 + p t + q t^2/2 + the integral of u
static int line_slope(const cpl_values* v, double* dx) {
  dx[0] = v->p[0] + v->p[1] * v->t + v->u[0];
  return CPL_MODEL_OK;
}
static const cpl_declaration line_states[] = {{"x", .unit = "m", .output = true}, {0}};
static const cpl_declaration line_inputs[] = {{"u", .unit = "m/s"}, {0}};
static const cpl_declaration line_parameters[] = {
    {"p", .start = 0, .unit = "m/s"}, {"q", .start = 0, .unit = "m/s2"}, {0}};
static const cpl_model_def line = {.name = "line",
                                   .states = line_states,
                                   .inputs = line_inputs,
                                   .parameters = line_parameters,
                                   .derivatives = line_slope,
                                   .stop_time = 10};

/// Normal numbers: the sum of twelve uniform ones, of a generator with a state of its own.
typedef struct noise {
  uint64_t state;
} noise;

static inline double noise_next(noise* n) {
  double u[2];
  for (int i = 0; i < 2; i++) {
    n->state = n->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    u[i] = ((double)(n->state >> 11) + 0.5) * 0x1p-53;
  }
  return sqrt(-2 * log(u[0])) * cos(6.283185307179586 * u[1]);
}

/// A fit of a model to tables.
typedef struct fitting {
  cpl_source* source;
  cpl_experiment_settings settings;
  cpl_fit_def def;
  cpl_vary vary[4];
  cpl_fit_data data[3];
  cpl_fit* fit;
} fitting;

static inline void fitting_open(cpl_context* ctx, fitting* f, const cpl_model_def* model) {
  *f = (fitting){.settings = cpl_default_experiment_settings(), .def = cpl_default_fit_def()};
  CHECK_OK(ctx, cpl_c_define(ctx, model, &f->source));
  f->settings.source = f->source;
  f->def.experiment = &f->settings;
  f->def.vary = f->vary;
  f->def.data = f->data;
}

static inline void fitting_vary(cpl_context* ctx, fitting* f, const char* text) {
  CHECK_OK(ctx, cpl_vary_read(ctx, text, &f->vary[f->def.n_vary++]));
}

static inline void fitting_add(fitting* f, const cpl_table* table) {
  f->data[f->def.n_data++] = (cpl_fit_data){.path = "data", .table = table};
}

static inline cpl_status fitting_run(cpl_context* ctx, fitting* f) {
  cpl_fit_destroy(f->fit);
  return cpl_fit_run(ctx, &f->def, &f->fit);
}

static inline void fitting_close(cpl_context* ctx, fitting* f) {
  cpl_fit_destroy(f->fit);
  for (size_t i = 0; i < f->def.n_vary; i++) cpl_vary_free(ctx, &f->vary[i]);
  cpl_source_destroy(f->source);
}
