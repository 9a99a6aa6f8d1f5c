// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// x' = a (k1 - x) where u > c, else a (k2 - x): a jump that no event announces. The reference
// integrator locates it (JUMP_HAS_EVENT).
#include <couplet/model.h>

static const cpl_declaration states[] = {{"x", .output = true}, {0}};
static const cpl_declaration inputs[] = {{"u"}, {0}};
static const cpl_declaration parameters[] = {
    {"a", .start = 1}, {"c"}, {"k1", .start = 1}, {"k2", .start = -1}, {0}};

#ifdef JUMP_HAS_EVENT
static const cpl_declaration discrete[] = {{"above"}, {0}};

static int indicators(const cpl_values* v, double* z) {
  z[0] = v->u[0] - v->p[1];
  return CPL_MODEL_OK;
}

static int event(const cpl_values* v, cpl_event_actions* a) {
  a->w[0] = v->u[0] > v->p[1];
  return CPL_MODEL_OK;
}
#endif

static int derivatives(const cpl_values* v, double* dx) {
#ifdef JUMP_HAS_EVENT
  bool above = v->w[0] > 0;
#else
  bool above = v->u[0] > v->p[1];
#endif
  dx[0] = v->p[0] * ((above ? v->p[2] : v->p[3]) - v->x[0]);
  return CPL_MODEL_OK;
}

const cpl_model_def couplet_model = {.name = "jump",
                                     .states = states,
                                     .inputs = inputs,
                                     .parameters = parameters,
#ifdef JUMP_HAS_EVENT
                                     .discrete = discrete,
                                     .n_indicators = 1,
                                     .indicators = indicators,
                                     .event = event,
#endif
                                     .derivatives = derivatives};
