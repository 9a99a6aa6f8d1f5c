// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Discrete-time delay: every event comes again, T later, with its value.
#include <couplet/model.h>
#include <math.h>

enum { ROOM = 8 };                                           // events on their way
enum { U, TRIGGER };                                         // inputs
enum { Y, N, LAST, WAITING, TIMES, VALUES = TIMES + ROOM };  // discrete variables

static const cpl_declaration inputs[] = {
    {"u", .discrete = true}, {"trigger", .type = CPL_INTEGER}, {0}};
static const cpl_declaration parameters[] = {{"T", .start = 0.1, .unit = "s"}, {0}};
static const cpl_declaration discrete[] = {{"y", .output = true},
                                           {"n", .type = CPL_INTEGER, .output = true},
                                           {"last", .type = CPL_INTEGER},
                                           {"waiting", .type = CPL_INTEGER},
                                           {"times", .size = ROOM},
                                           {"values", .size = ROOM},
                                           {0}};

static int take_in(const cpl_values* v, double* w) {
  if (v->u[TRIGGER] == w[LAST]) return CPL_MODEL_OK;
  int at = (int)w[WAITING];
  if (at == ROOM) return cpl_model_error(v, "more than %d events are on their way", ROOM);
  w[LAST] = v->u[TRIGGER];
  w[TIMES + at] = v->t + v->p[0];
  w[VALUES + at] = v->u[U];
  w[WAITING] += 1;
  return CPL_MODEL_OK;
}

static void let_out(double* w) {
  w[Y] = w[VALUES];
  w[N] += 1;
  w[WAITING] -= 1;
  for (int i = 0; i + 1 < ROOM; i++) {
    w[TIMES + i] = w[TIMES + i + 1];
    w[VALUES + i] = w[VALUES + i + 1];
  }
}

static int pass(const cpl_values* v, cpl_event_actions* a) {
  if (a->w[WAITING] > 0 && a->w[TIMES] <= v->t) let_out(a->w);
  int status = take_in(v, a->w);
  a->next_time = a->w[WAITING] > 0 ? a->w[TIMES] : INFINITY;
  return status;
}

const cpl_model_def couplet_model = {.name = "delay",
                                     .description = "Events come again later",
                                     .inputs = inputs,
                                     .parameters = parameters,
                                     .discrete = discrete,
                                     .event = pass};
