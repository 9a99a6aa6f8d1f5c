// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Aperiodic generator: events at given times with given values.
#include <couplet/model.h>
#include <math.h>

enum { EVENTS = 3 };
enum { AT, VALUE = AT + EVENTS };  // parameters
enum { Y, N };                     // discrete variables

static const cpl_declaration parameters[] = {
    {"at", .size = EVENTS, .start = INFINITY, .unit = "s", .description = "in ascending order"},
    {"value", .size = EVENTS, .start = 1},
    {0}};
static const cpl_declaration discrete[] = {
    {"y", .description = "value of the last event", .output = true},
    {"n", .type = CPL_INTEGER, .description = "events so far", .output = true},
    {0}};

// When the next event is due that has not come yet.
static double next_due(const cpl_values* v, const double* w) {
  return w[N] < EVENTS ? v->p[AT + (int)w[N]] : INFINITY;
}

static int first(const cpl_values* v, cpl_event_actions* a) {
  a->next_time = next_due(v, a->w);
  return CPL_MODEL_OK;
}

// Two events at one time are two microsteps.
static int emit(const cpl_values* v, cpl_event_actions* a) {
  if (next_due(v, a->w) > v->t) return CPL_MODEL_OK;
  a->w[Y] = v->p[VALUE + (int)a->w[N]];
  a->w[N] += 1;
  double next = next_due(v, a->w);
  if (next <= v->t) a->again = true;
  else a->next_time = next;
  return CPL_MODEL_OK;
}

const cpl_model_def couplet_model = {.name = "aperiodic",
                                     .description = "Events at given times",
                                     .parameters = parameters,
                                     .discrete = discrete,
                                     .initialize = first,
                                     .event = emit};
