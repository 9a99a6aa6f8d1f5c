// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Detects accumulating events, per indicator and direction, and reports events that do not separate
// as chattering.
#include <math.h>
#include <stdio.h>

#include "solver/integrated.h"

enum {
  DEFAULT_MAX_EVENTS = 100,  // events without progress in time
  CHATTERING = 10,   // events of one indicator, each closer than `close_by` to the one before
  ACCUMULATING = 8,  // events of one indicator with decreasing distances
  SHORTEST = 16,     // minimum average step in units of the resolution of time
};
static const double close_by = 1e-9;      // relative to the time simulated
static const double no_progress = 1e-13;  // likewise: some hundred roundings
enum { ROUNDINGS = 64 };                  // of the time itself, which may be large from the start
static const double shrinking = 0.98;     // ratio of distances that accumulate
static const double exact = 30;           // distances this factor above the minimum are accurate
static const double shortest = 1e-14;     // relative to the time: shortest step of a solver

static const struct cpli_trail no_trail = {.last = -INFINITY, .distance = INFINITY};

void cpli_watch_begin(cpli_integrate* s) {
  for (size_t i = 0; i < 2 * s->nz; i++) s->trails[i] = no_trail;
}

// Where inputs are constant over a communication step and renewed at its end, crossings accumulate
// at the crossing of the exact solution.
void cpli_watch_turned(cpli_integrate* s, size_t indicator) {
  s->trails[2 * indicator] = s->trails[2 * indicator + 1] = no_trail;
}

void cpli_watch_forget(cpli_integrate* s) {
  s->careful_until = s->stuck_since = -INFINITY;
  s->stuck = 0;
  s->pace = (cpli_pace){.warned = s->pace.warned};
  s->refused = false;
  cpli_watch_begin(s);
}

// A fraction of the simulated time, but at least the resolution of time.
static double part_of_time(const cpli_integrate* s, double part) {
  double t = fabs(s->t);
  return fmax(part * (s->t - s->t_start), ROUNDINGS * (nextafter(t, INFINITY) - t));
}

static void name_indicator(const cpli_integrate* s, size_t indicator, char* out, size_t size) {
  snprintf(out, size, "indicator %zu", indicator + 1);
  if (s->m->ops->name_indicator != NULL) s->m->ops->name_indicator(s->m, indicator, out, size);
}

static cpl_status chattering(cpli_integrate* s, size_t indicator, const struct cpli_trail* k,
                             const char* how, double when) {
  char name[256];
  name_indicator(s, indicator, name, sizeof name);
  return cpl_fail_in(s->base.base.ctx, CPL_ERR_SOLVER, s->base.base.name, NULL, when,
                     "chattering: the events of %s %s at t=%.12g (%d of them in a row, the last "
                     "two %.2g apart); the "
                     "model must leave this behaviour, or the run must end before it",
                     name, how, when, k->close > k->shrunk ? k->close : k->shrunk, k->distance);
}

// Steps after an event are limited to the last distance between two of them, so that none is missed
// when they accumulate. Where distances shrink, the change between two events may soon be below the
// tolerance, and a method that starts with order one could not resolve it.
static void be_careful(cpli_integrate* s, const struct cpli_trail* k) {
  if (s->t + k->distance <= s->careful_until) return;
  double part = k->shrunk >= ACCUMULATING / 2 ? 32 : 4;
  s->careful_until = s->t + k->distance;
  s->careful_step = fmax(k->distance / part, shortest * fabs(s->t));
}

static cpl_status watch_crossing(cpli_integrate* s, size_t indicator, struct cpli_trail* k) {
  double distance = s->t - k->last;
  k->last = s->t;
  if (!isfinite(distance)) return CPL_OK;
  k->close = distance < part_of_time(s, close_by) ? k->close + 1 : 0;
  bool shrunk = distance < shrinking * k->distance;
  if (!shrunk || k->shrunk == 0) k->begin = s->t - distance;
  k->shrunk = shrunk ? k->shrunk + 1 : 0;
  double ratio = distance / k->distance;  // of a geometric series
  k->distance = distance;
  be_careful(s, k);
  if (k->close >= CHATTERING) return chattering(s, indicator, k, "do not separate", s->t);
  // An accumulation point is ahead. Between two events an indicator changes by the square of their
  // distance, which must stay above the tolerance for the next event to be found. A run that ends
  // before the accumulation point is not affected.
  double min = fmax(sqrt(s->def.rtol), close_by) * (s->t - k->begin);
  if (distance > exact * min || k->shrunk < ACCUMULATING / 2)
    k->end = s->t + distance * ratio / (1 - ratio);
  if (k->shrunk < ACCUMULATING || distance >= min || k->end >= s->t_stop) return CPL_OK;
  return chattering(s, indicator, k, "accumulate", k->end);
}

// Watches events of the same indicator in the same direction.
static cpl_status watch_crossings(cpli_integrate* s) {
  s->careful_until = -INFINITY;
  for (size_t i = 0; i < s->nz; i++) {
    if (s->crossed[i] == 0) continue;
    cpl_status st = watch_crossing(s, i, &s->trails[2 * i + (s->crossed[i] > 0)]);
    if (st < 0) return st;
  }
  return CPL_OK;
}

static cpl_status watch_progress(cpli_integrate* s) {
  int32_t max = s->def.max_events > 0 ? s->def.max_events : DEFAULT_MAX_EVENTS;
  if (s->t - s->stuck_since > part_of_time(s, no_progress)) {
    s->stuck = 0;
    s->stuck_since = s->t;
  }
  if (++s->stuck <= max) return CPL_OK;
  return cpl_fail_in(s->base.base.ctx, CPL_ERR_SOLVER, s->base.base.name, NULL, s->t,
                     "chattering: %d events at t=%.12g without progress in time", max, s->t);
}

// A solver at the limit of the domain in which the model can be evaluated halves its steps for
// ever.
cpl_status cpli_watch_step(cpli_integrate* s, double length) {
  // lengths are added up instead of time differences: a run may be rolled back
  cpli_pace_step(s->base.base.ctx, &s->pace, s->base.base.name, s->t_step, length, s->t_stop, "");
  if (s->pace.n > 0) return CPL_OK;
  double passed = s->pace.before, now = fmax(fabs(s->t_step), s->t_solver);
  double min = (double)CPLI_PACE * SHORTEST * (nextafter(now, INFINITY) - now);
  bool refused = s->refused;
  s->refused = false;
  if (passed > min) return CPL_OK;
  static const char text[] =
      "%s: time does not advance any more at t=%.12g (the last %d steps of the solver took %.3g "
      "s): "
      "the solution has a singularity there, or a derivative is far too large";
  if (refused)
    return cpl_fail_prefix(s->base.base.ctx, CPL_ERR_MODEL,
                           "%s: the solver cannot go on at t=%.12g (its last %d steps took %.3g s)",
                           s->base.base.name, s->t_step, CPLI_PACE, passed);
  return cpl_fail(s->base.base.ctx, CPL_ERR_SOLVER, text, s->base.base.name, s->t_step, CPLI_PACE,
                  passed);
}

cpl_status cpli_watch_event(cpli_integrate* s, cpli_cause why) {
  cpl_status st = watch_progress(s);
  return st >= 0 && why == STATE_EVENT ? watch_crossings(s) : st;
}

void cpli_log_event(cpli_integrate* s, cpli_cause why) {
  static const char* const names[] = {
      [TIME_EVENT] = "time event", [STEP_EVENT] = "step event", [STATE_EVENT] = ""};
  cpl_context* ctx = s->base.base.ctx;
  if (!cpli_logs(ctx, CPL_LOG_DEBUG)) return;
  if (why != STATE_EVENT)
    cpl_log(ctx, CPL_LOG_DEBUG, s->base.base.name, "%s at t=%.12g", names[why], s->t);
  for (size_t i = 0; i < s->nz && why == STATE_EVENT; i++) {
    char name[256];
    if (s->crossed[i] == 0) continue;
    name_indicator(s, i, name, sizeof name);
    cpl_log(ctx, CPL_LOG_DEBUG, s->base.base.name, "state event at t=%.12g: %s turns %s", s->t,
            name, s->crossed[i] > 0 ? "positive" : "not positive");
  }
}
