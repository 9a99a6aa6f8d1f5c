// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Merge: an event of either input becomes an event of the output, the first input first. Each takes
// a microstep; what comes meanwhile waits in a queue. It also counts events that came at the same
// instant.
#include <couplet/model.h>

enum { QUEUE = 8 };
enum { U1, TRIGGER1, U2, TRIGGER2 };                                             // inputs
enum { Y, N, LAST1, LAST2, T1, T2, BOTH, WAITING, FIRST, END = FIRST + QUEUE };  // discrete

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
    {"waiting", .type = CPL_INTEGER, .description = "events in the queue"},
    {"queue", .size = QUEUE, .description = "their values, the next one first"},
    {0}};

static bool push(cpl_event_actions* a, double value) {
  int n = (int)a->w[WAITING];
  if (n == QUEUE) return false;
  a->w[FIRST + n] = value;
  a->w[WAITING] = n + 1;
  return true;
}

static void emit(cpl_event_actions* a) {
  if (a->w[WAITING] == 0) return;
  a->w[Y] = a->w[FIRST];
  a->w[N] += 1;
  a->w[WAITING] -= 1;
  for (int i = FIRST; i + 1 < END; i++) a->w[i] = a->w[i + 1];
}

static int merge(const cpl_values* v, cpl_event_actions* a) {
  bool first = v->u[TRIGGER1] != a->w[LAST1], second = v->u[TRIGGER2] != a->w[LAST2];
  if (first) a->w[T1] = v->t;
  if (second) a->w[T2] = v->t;
  if ((first || second) && a->w[T1] == a->w[T2]) a->w[BOTH] += 1;
  a->w[LAST1] = v->u[TRIGGER1];
  a->w[LAST2] = v->u[TRIGGER2];
  if (first && !push(a, v->u[U1])) return CPL_MODEL_ERROR;
  if (second && !push(a, v->u[U2])) return CPL_MODEL_ERROR;
  emit(a);
  a->again = a->w[WAITING] > 0;  // the next one a microstep later
  return CPL_MODEL_OK;
}

const cpl_model_def couplet_model = {.name = "merge",
                                     .description = "Two streams of events become one",
                                     .inputs = inputs,
                                     .discrete = discrete,
                                     .event = merge};
