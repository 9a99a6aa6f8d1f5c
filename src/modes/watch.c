// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Switches without end: a cycle of modes at one time, or switches that come ever closer (Zeno).
#include <math.h>
#include <stdio.h>

#include "modes/modes.h"

enum { SHRINKING = 10 };  // so many distances in a row, each shorter than the one before

void cpli_modes_forget(cpli_modes* m) {
  m->n_trail = 0;
  for (int32_t k = 0; k < m->n_modes; k++) {
    m->modes[k].left = false;
    for (int32_t i = 0; i < m->modes[k].n_leave; i++) {
      cpli_transition* t = &m->modes[k].leave[i];
      t->last = -INFINITY;
      t->distance = INFINITY;
      t->began = m->t;
      t->shrunk = t->stuck = t->warned = 0;
    }
  }
}

// "a -> b -> a": the shortest end of the trail that comes back to the active mode.
static void show_cycle(const cpli_modes* m, int32_t to, char* out, size_t size) {
  int32_t first = m->n_trail - 1;
  while (first > 0 && m->trail[first] != to) first--;
  size_t used = 0;
  for (int32_t i = first; i < m->n_trail && used < size; i++)
    used += (size_t)snprintf(out + used, size - used, "%s -> ", m->modes[m->trail[i]].name);
  if (used < size) snprintf(out + used, size - used, "%s", m->modes[to].name);
}

static cpl_status watch_cycle(cpli_modes* m, const cpli_transition* way) {
  if (m->t > m->entered || m->n_trail == 0) m->n_trail = 0;
  m->trail[m->n_trail++] = m->active;
  if (m->n_trail < CPLI_TRAIL) return CPL_OK;
  char cycle[512];
  show_cycle(m, way->def.to, cycle, sizeof cycle);
  return cpl_fail(
      m->base.base.ctx, CPL_ERR_MODEL,
      "%s: the modes do not come to rest at t=%.12g: %d switches, and time stands still "
      "(%s)",
      m->base.base.name, m->t, CPLI_TRAIL, cycle);
}

static cpl_status too_close(cpli_modes* m, const cpli_transition* way, double distance,
                            double end) {
  return cpl_fail(m->base.base.ctx, CPL_ERR_MODEL,
                  "%s: switches from mode %s to mode %s come ever closer and accumulate at t=%.6g "
                  "(the last after %.3g s): what follows that point is not described",
                  m->base.base.name, m->modes[m->active].name, m->modes[way->def.to].name, end,
                  distance);
}

// Distances that shrink by the same factor sum up to a finite time: there it ends. Shortly before,
// distances may stay as they are, at what guards can tell apart.
static cpl_status watch_distances(cpli_modes* m, cpli_transition* way) {
  double distance = m->t - way->last, before = way->distance, span = m->t - way->began;
  if (distance <= 0) return CPL_OK;  // it was rolled back, or time stands still
  bool known = isfinite(before), shorter = known && distance < 0.999 * before;
  bool stuck = known && !shorter && way->shrunk >= SHRINKING && distance < 1e-4 * span;
  way->last = m->t;
  way->distance = isfinite(distance) ? distance : INFINITY;
  way->stuck = stuck ? way->stuck + 1 : way->stuck;
  if (shorter) way->shrunk++;
  else if (!stuck) way->shrunk = way->stuck = 0, way->began = m->t;
  if (way->stuck > SHRINKING) return too_close(m, way, distance, m->t);
  double ratio = distance / before, left = distance * ratio / (1 - ratio);
  bool near = shorter && way->shrunk >= SHRINKING && left < 1e-6 * span;
  return near ? too_close(m, way, distance, m->t + left) : CPL_OK;
}

cpl_status cpli_modes_watch(cpli_modes* m, cpli_transition* way) {
  cpl_status st = watch_cycle(m, way);
  return st < 0 ? st : watch_distances(m, way);
}
