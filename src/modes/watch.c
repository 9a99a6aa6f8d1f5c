// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Detects switches without end: a cycle of modes at one time, or Zeno behaviour.
#include <math.h>
#include <stdio.h>

#include "modes/modes.h"

enum { SHRINKING = 10 };  // consecutive intervals, each shorter than the one before

static void forget_ratio(struct cpli_shrinking* w) {
  w->ratio = w->end = NAN;
  w->steadiness = INFINITY;
}

void cpli_modes_forget(cpli_modes* m) {
  m->n_trail = 0;
  for (int32_t k = 0; k < m->n_modes; k++) {
    m->modes[k].left = false;
    for (int32_t i = 0; i < m->modes[k].n_transitions; i++) {
      cpli_transition* t = &m->modes[k].transitions[i];
      t->warned = 0;
      t->watch = (struct cpli_shrinking){.last = -INFINITY, .distance = INFINITY, .began = m->t};
      forget_ratio(&t->watch);
    }
  }
}

// "a -> b -> a": the shortest tail of the trail that returns to the active mode.
static void show_cycle(const cpli_modes* m, int32_t to, char* out, size_t size) {
  int32_t first = m->n_trail - 1;
  while (first > 0 && m->trail[first] != to) first--;
  size_t used = 0;
  for (int32_t i = first; i < m->n_trail && used < size; i++)
    used += (size_t)snprintf(out + used, size - used, "%s -> ", m->modes[m->trail[i]].name);
  if (used < size) snprintf(out + used, size - used, "%s", m->modes[to].name);
}

static cpl_status watch_cycle(cpli_modes* m, const cpli_transition* transition) {
  if (m->t > m->entered || m->n_trail == 0) m->n_trail = 0;
  m->trail[m->n_trail++] = m->active;
  if (m->n_trail < CPLI_TRAIL) return CPL_OK;
  char cycle[512];
  show_cycle(m, transition->def.to, cycle, sizeof cycle);
  return cpl_fail_in(m->base.base.ctx, CPL_ERR_MODEL, m->base.base.name, NULL, m->t,
                     "the modes do not settle at t=%.12g: %d switches at the same time "
                     "(%s)",
                     m->t, CPLI_TRAIL, cycle);
}

// The switches accumulate: an error unless the run ends before the accumulation point.
static cpl_status too_close(cpli_modes* m, const cpli_transition* transition) {
  const struct cpli_shrinking* w = &transition->watch;
  double end = isnan(w->end) ? m->t : w->end;
  if (m->setup.has_stop_time && end >= m->setup.stop_time) return CPL_OK;
  return cpl_fail_in(
      m->base.base.ctx, CPL_ERR_MODEL, m->base.base.name, NULL, end,
      "switches from mode %s to mode %s follow each other ever faster and accumulate at t=%.9g "
      "(the last after %.3g s): the model does not define what happens beyond that point",
      m->modes[m->active].name, m->modes[transition->def.to].name, end, w->distance);
}

// Intervals that shrink by a constant ratio sum up to a finite time. The sum is taken where the
// ratio changed least: near the end rounding and tolerances disturb it.
static void note_ratio(struct cpli_shrinking* w, double t, double ratio) {
  double change = fabs(ratio - w->ratio);
  if (change <= w->steadiness) {
    w->steadiness = change;
    w->end = t + w->distance * ratio / (1 - ratio);
  }
  w->ratio = ratio;
}

// Near the accumulation point intervals may stop shrinking, at the resolution of the guards.
static cpl_status watch_distances(cpli_modes* m, cpli_transition* transition) {
  struct cpli_shrinking* w = &transition->watch;
  double distance = m->t - w->last, before = w->distance, span = m->t - w->began;
  if (distance <= 0) return CPL_OK;  // rolled back, or time did not advance
  bool known = isfinite(before), shorter = known && distance < 0.999 * before;
  bool stuck = known && !shorter && w->shrunk >= SHRINKING && distance < 1e-4 * span;
  w->last = m->t;
  w->distance = isfinite(distance) ? distance : INFINITY;
  w->stuck = stuck ? w->stuck + 1 : w->stuck;
  if (shorter) {
    w->shrunk++;
    note_ratio(w, m->t, distance / before);
  } else if (!stuck) {
    w->shrunk = w->stuck = 0, w->began = m->t;
    forget_ratio(w);
  }
  if (w->stuck > SHRINKING) return too_close(m, transition);
  double ratio = distance / before, left = distance * ratio / (1 - ratio);
  bool near = shorter && w->shrunk >= SHRINKING && left < 1e-6 * span;
  return near ? too_close(m, transition) : CPL_OK;
}

cpl_status cpli_modes_watch(cpli_modes* m, cpli_transition* transition) {
  cpl_status st = watch_cycle(m, transition);
  return st < 0 ? st : watch_distances(m, transition);
}
