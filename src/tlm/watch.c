// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Detects instability. A part whose solver returns more energy than arrives, such as explicit
// Euler, makes a line oscillate at its own frequency, with a period of two or four delays, and the
// amplitude grows exponentially until values overflow or a solver stalls. Forces may grow in a
// correct run as well; the criteria are:
// - only swings count that turn several times within eight delays;
// - a resonance grows by equal amounts, so that each doubling takes twice as long as the one
//   before, whereas here all take the same time: a doubling has to come within a limited time;
// - an impact, or a start from rest, grows once and not continuously: growth within a few delays
//   counts for a limited number of doublings;
// - an oscillation that a model itself excites ends at the size of the forces in the model, so the
//   swings must far exceed the largest value before they began to grow, and the wave of the nominal
//   speed: a start near an unstable equilibrium has had only tiny values.
#include <math.h>

#include "tlm/tlm.h"

enum {
  WINDOW = 8,       // delays
  MIN_TURNS = 3,    // in a window
  PATIENCE = 40,    // windows until the swings have doubled
  MAX_AT_ONCE = 4,  // doublings that a window counts for
  TOO_MANY = 17,    // doublings
};
static const double too_wide = 1e5;  // relative to the largest value before

void cpli_watch_start(cpli_tlm_end* e, double t) {
  e->window = t;
  for (int32_t k = 0; k < e->width; k++) {
    double w = e->last[k];
    e->swings[k] = (cpli_swing){.turned_at = w, .extreme = w, .seen = fabs(w), .calm = fabs(w)};
  }
}

// A reversal by less than a quarter of the oscillation is no turn.
static void follow(cpli_swing* s, double w) {
  double back = s->extreme - w;
  bool rises = s->extreme > s->turned_at, falls = s->extreme < s->turned_at;
  if ((rises && back <= 0) || (falls && back >= 0) || (!rises && !falls)) {
    s->extreme = w;
  } else if (fabs(back) > 0.25 * fmax(s->width, s->width_before)) {
    s->turned_at = s->extreme;
    s->extreme = w;
    s->turns++;
  }
  s->width = fmax(s->width, fabs(s->extreme - s->turned_at));
  s->seen = fmax(s->seen, fabs(w));
}

static void count_doublings(cpli_swing* s) {
  int32_t n = 0;
  for (; n < MAX_AT_ONCE && s->width >= 2 * s->reference; n++) s->reference *= 2;
  if (n == MAX_AT_ONCE) s->reference = s->width;
  s->age = n > 0 ? 0 : s->age + 1;
  s->doublings += n;
}

static void end_window(cpli_swing* s) {
  bool grows = s->turns >= MIN_TURNS && s->width >= 0.5 * s->reference && s->age < PATIENCE;
  if (grows && s->reference > 0) {
    count_doublings(s);
  } else {
    s->reference = s->width;
    s->calm = s->seen;
    s->age = s->doublings = 0;
  }
  s->width_before = s->width;
  s->width = 0;
  s->turns = 0;
}

static bool runs_away(const cpli_tlm_end* e, int32_t k) {
  const cpli_swing* s = &e->swings[k];
  return s->doublings >= TOO_MANY && s->width_before >= too_wide * fmax(s->calm, e->usual[k]);
}

cpl_status cpli_watch_wave(cpli_tlm* m, cpli_tlm_end* e, double t) {
  const cpli_tlm_end* other = &m->ends[e->peer];
  const cpli_tlm_part *here = &m->parts[e->part], *there = &m->parts[other->part];
  cpl_context* ctx = here->inner->base.ctx;
  for (int32_t k = 0; k < e->width; k++) {
    if (!isfinite(e->last[k]))
      return cpl_fail(ctx, CPL_ERR_MODEL, "the solution runs away: the interface %s sends %g",
                      e->name, e->last[k]);
  }
  // one end of a line is enough: the other one returns what it receives
  if (e->kind == CPL_TLM_SIGNAL || e > other) return CPL_OK;
  for (int32_t k = 0; k < e->width; k++) follow(&e->swings[k], e->last[k]);
  if (t < e->window + WINDOW * e->delay) return CPL_OK;
  e->window = t;
  for (int32_t k = 0; k < e->width; k++) {
    end_window(&e->swings[k]);
    if (!runs_away(e, k)) continue;
    return cpl_fail(ctx, CPL_ERR_MODEL,
                    "the solution runs away: the waves from %s to %s oscillate with an amplitude "
                    "that grows from one round trip on the line to the next, by %.3g, after at "
                    "most %.3g before; smaller steps or another solver in %s or %s help",
                    e->name, other->name, e->swings[k].width_before, e->swings[k].calm, here->name,
                    there->name);
  }
  return CPL_OK;
}
