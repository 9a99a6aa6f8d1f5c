// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Conditions over values of parts are evaluated at communication points. A step in which one
// changes is rolled back and repeated with other lengths until it ends where the condition changes.
// Where rollback is impossible, the change is predicted from the last communication points
// (approach.c), and steps near it are shorter.
#include <float.h>
#include <math.h>
#include <stdio.h>

#include "master/master.h"

enum { MAX_TRIES = 100 };

// The condition is unchanged at `low` and has changed at `high`.
typedef struct bracket {
  double low, high;
  double at_low, at_high;  // margins; NAN: not known
  double width;            // before the last three tries
  int32_t tries;
  bool moved_high;  // by the last try
} bracket;

static double accuracy(double span, double t) { return 1e-11 * span + 4 * DBL_EPSILON * fabs(t); }

// The Illinois variant of regula falsi; bisection where margins are not known, or when three tries
// did not halve the bracket.
static double next_try(bracket* b, double min_width) {
  double width = b->high - b->low, middle = b->low + width / 2;
  bool slow = b->tries % 3 == 0 && b->tries > 0 && width > b->width / 2;
  if (b->tries++ % 3 == 0) b->width = width;
  if (slow || !(b->at_low < 0) || !(b->at_high > 0) || isinf(b->at_high - b->at_low)) return middle;
  double t = b->low - b->at_low / (b->at_high - b->at_low) * width;
  return fmin(fmax(t, b->low + min_width / 2), b->high - min_width / 2);
}

// A margin that stays twice in a row counts half, so that the other end of the bracket moves, too.
static void narrow(bracket* b, bool changed, double t, double margin) {
  bool again = b->moved_high == changed && b->tries > 1;
  if (changed) {
    b->high = t, b->at_high = margin;
    if (again) b->at_low /= 2;
  } else {
    b->low = t, b->at_low = margin;
    if (again) b->at_high /= 2;
  }
  b->moved_high = changed;
}

static cpl_status repeat(cpli_master* m, const cpli_moment* begin, double t) {
  cpl_status st = cpli_master_return(m, begin);
  return st < 0 ? st : cpli_master_step(m, t);
}

// The event is at the beginning of the step, because inputs have the values of its end
// (Gauss-Seidel): the longest step without it is taken, so that the event is at the beginning of
// the next. One that ends the run is at the end of the shortest step with it.
static cpl_status search_early(cpli_master* m, const cpli_moment* begin, bracket* b,
                               double min_width) {
  double all = m->t, t = begin->t + min_width;
  bool there = false;  // the master is at b->low
  bool ends = m->ended;
  cpl_status st = CPL_OK;
  while (b->high - b->low > min_width && b->tries < MAX_TRIES) {
    st = repeat(m, begin, t);
    if (st < 0) return st;
    there = !m->crossed;
    bool cut = there && m->t < t;  // by a part that stopped earlier
    if (there && (m->pending || m->ended || (cut && m->t == b->low))) return CPL_OK;
    there = there && m->t > b->low;
    if (m->crossed || there) narrow(b, m->crossed, m->t, m->margin);
    if (cut) b->high = t, b->at_high = NAN;
    if (m->crossed) ends = m->ended;
    t = next_try(b, min_width);
  }
  if (ends) return repeat(m, begin, b->high);
  if (there) return CPL_OK;
  return repeat(m, begin, b->low > begin->t ? b->low : all);
}

static cpl_status search(cpli_master* m, const cpli_moment* begin, double margin) {
  bracket b = {.low = begin->t, .high = m->t, .at_low = margin, .at_high = m->margin};
  double min_width = accuracy(m->t - begin->t, m->t);
  cpl_status st = CPL_OK;
  bool there = true;  // the master is at b.high
  if (m->early) return search_early(m, begin, &b, min_width);
  while (b.high - b.low > min_width && b.tries < MAX_TRIES) {
    double t = next_try(&b, min_width);
    st = repeat(m, begin, t);
    if (st < 0) return st;
    there = m->crossed;
    if (!m->crossed && (m->pending || m->ended || m->t < t)) return CPL_OK;  // by another event
    narrow(&b, m->crossed, m->t, m->margin);
  }
  return there ? CPL_OK : repeat(m, begin, b.high);
}

// The change takes effect at the end of the step; its actual time is an estimate.
static void report_change(cpli_master* m, double begin) {
  const char *why, *name = cpli_master_without_return(m, &why);
  char estimate[128] = "";
  double error = NAN, t = cpli_master_crossing(m, begin, &error);
  if (!isnan(t))
    snprintf(estimate, sizeof estimate, " (by interpolation at %.12g +- %.2g)", t, error);
  const char* which = m->early && !m->ended ? "earlier" : "later";
  const char* part = m->parts[m->crosser].s->base.name;
  cpl_context* ctx = m->base.base.ctx;
  if (m->warned)
    cpl_log(
        ctx, CPL_LOG_INFO, m->base.base.name,
        "a condition of %s changed between t=%.12g and t=%.12g%s, and takes effect at the %s time",
        part, begin, m->t, estimate, which);
  else
    cpl_log(ctx, CPL_LOG_WARNING, m->base.base.name,
            "a condition of %s over values of other models changed between t=%.12g and t=%.12g%s, "
            "and takes effect at the %s time: %s %s, so that such times are accurate to the length "
            "of a step only (reported once; a shorter step makes them more accurate)",
            part, begin, m->t, estimate, which, name, why);
  m->warned = true;
}

// A step where rollback is impossible.
static cpl_status approaching_step(cpli_master* m, double target) {
  double begin = m->t;
  cpl_status st = cpli_master_approach(m, &target);
  if (st >= 0) st = cpli_master_controlled_step(m, target);
  if (st < 0) return st;
  cpli_master_trace(m);
  if (m->crossed && m->t - begin > accuracy(m->t - begin, m->t)) report_change(m, begin);
  return CPL_OK;
}

cpl_status cpli_master_located_step(cpli_master* m, double target) {
  if (!m->watches) return cpli_master_controlled_step(m, target);
  if (!cpli_master_can_return(m)) return approaching_step(m, target);
  cpli_moment begin = cpli_master_now(m);
  double margin = m->margin_t == m->t ? m->margin : NAN;
  if (!(m->def.tolerance > 0)) cpli_master_keep(m);
  cpl_status st = cpli_master_controlled_step(m, target);
  if (st < 0 || !m->crossed || m->t - begin.t <= accuracy(m->t - begin.t, m->t)) return st;
  return search(m, &begin, margin);
}
