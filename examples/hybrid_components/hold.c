// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Zero-order hold: the value of the last event, until the next one.
#include <couplet/model.h>

enum { U, TRIGGER };  // inputs
enum { HELD, LAST };  // discrete variables
enum { START };       // parameters

static const cpl_declaration inputs[] = {
    {"u", .discrete = true}, {"trigger", .type = CPL_INTEGER}, {0}};
static const cpl_declaration discrete[] = {{"held"}, {"last", .type = CPL_INTEGER}, {0}};
static const cpl_declaration parameters[] = {{"start", .description = "until the first event"},
                                             {0}};
static const cpl_declaration outputs[] = {{"y"}, {0}};

static int begin(const cpl_values* v, cpl_event_actions* a) {
  a->w[HELD] = v->p[START];
  return CPL_MODEL_OK;
}

static int take(const cpl_values* v, cpl_event_actions* a) {
  if (v->u[TRIGGER] == a->w[LAST]) return CPL_MODEL_OK;
  a->w[LAST] = v->u[TRIGGER];
  a->w[HELD] = v->u[U];
  return CPL_MODEL_OK;
}

static int show(const cpl_values* v, double* y) {
  y[0] = v->w[HELD];
  return CPL_MODEL_OK;
}

static const cpl_dependency dependencies[] = {{"y", ""}, {0}};

const cpl_model_def couplet_model = {.name = "hold",
                                     .description = "A staircase through discrete events",
                                     .inputs = inputs,
                                     .discrete = discrete,
                                     .parameters = parameters,
                                     .outputs = outputs,
                                     .output_values = show,
                                     .initialize = begin,
                                     .event = take,
                                     .dependencies = dependencies};
