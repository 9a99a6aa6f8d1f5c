// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// x' = a (r(t) - x), where r is a broken line of its own that no event announces: y1 until t1, then
// straight to y2 at t2, where it jumps to y3. The reference integrator stops there
// (FOLLOWER_HAS_EVENT).
#include <couplet/model.h>

static const cpl_declaration states[] = {{"x", .output = true}, {0}};
static const cpl_declaration parameters[] = {{"a", .start = 1},
                                             {"t1", .start = 1},
                                             {"t2", .start = 2},
                                             {"y1"},
                                             {"y2", .start = 1},
                                             {"y3", .start = -1},
                                             {0}};

#ifdef FOLLOWER_HAS_EVENT
static const cpl_declaration discrete[] = {{"piece"}, {0}};

static int initialize(const cpl_values* v, cpl_event_actions* a) {
  a->next_time = v->p[1];
  return CPL_MODEL_OK;
}

static int event(const cpl_values* v, cpl_event_actions* a) {
  if (!a->time_event) return CPL_MODEL_OK;
  a->w[0] = v->w[0] + 1;
  if (a->w[0] == 1) a->next_time = v->p[2];
  return CPL_MODEL_OK;
}
#endif

static int derivatives(const cpl_values* v, double* dx) {
  const double* p = v->p;
#ifdef FOLLOWER_HAS_EVENT
  int piece = (int)v->w[0];
#else
  int piece = v->t < p[1] ? 0 : v->t < p[2] ? 1 : 2;
#endif
  double r = piece == 0   ? p[3]
             : piece == 1 ? p[3] + (p[4] - p[3]) * (v->t - p[1]) / (p[2] - p[1])
                          : p[5];
  dx[0] = p[0] * (r - v->x[0]);
  return CPL_MODEL_OK;
}

const cpl_model_def couplet_model = {.name = "follower",
                                     .states = states,
                                     .parameters = parameters,
#ifdef FOLLOWER_HAS_EVENT
                                     .discrete = discrete,
                                     .initialize = initialize,
                                     .event = event,
#endif
                                     .derivatives = derivatives};
