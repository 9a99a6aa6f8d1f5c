// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Merge: an event of either input becomes an event of the output, the first input first. It also
// counts events that came at the same instant.
#include <couplet/model.h>

enum { U1, TRIGGER1, U2, TRIGGER2 };        // inputs
enum { Y, N, LAST1, LAST2, T1, T2, BOTH };  // discrete variables

static const cpl_declaration inputs[] = {{"u1", .discrete = true},
                                         {"trigger1", .type = CPL_INTEGER},
                                         {"u2", .discrete = true},
                                         {"trigger2", .type = CPL_INTEGER},
                                         {0}};
static const cpl_declaration discrete[] = {
    {"y", .output = true},
    {"n", .type = CPL_INTEGER, .output = true},
    {"last1", .type = CPL_INTEGER},
    {"last2", .type = CPL_INTEGER},
    {"t1", .start = -1, .description = "time of the last event of the first input"},
    {"t2", .start = -1},
    {"both", .type = CPL_INTEGER, .description = "events at the same time", .output = true},
    {0}};

static void emit(cpl_event_actions* a, double value) {
  a->w[Y] = value;
  a->w[N] += 1;
}

static int merge(const cpl_values* v, cpl_event_actions* a) {
  bool first = v->u[TRIGGER1] != a->w[LAST1], second = v->u[TRIGGER2] != a->w[LAST2];
  if (first) a->w[T1] = v->t;
  if (second) a->w[T2] = v->t;
  if ((first || second) && a->w[T1] == a->w[T2]) a->w[BOTH] += 1;
  a->w[LAST1] = v->u[TRIGGER1];
  if (first) emit(a, v->u[U1]);
  if (first && second) return a->again = true, CPL_MODEL_OK;  // the other one a microstep later
  a->w[LAST2] = v->u[TRIGGER2];
  if (second) emit(a, v->u[U2]);
  return CPL_MODEL_OK;
}

const cpl_model_def couplet_model = {.name = "merge",
                                     .description = "Two streams of events become one",
                                     .inputs = inputs,
                                     .discrete = discrete,
                                     .event = merge};
