// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#include "reference.h"

#include <math.h>
#include <string.h>

enum { COLUMNS = 5, MAX_ROUNDS = 20 };

enum { ACCUMULATED = 12 };
static const double moment = 0.01;  // of the whole time: so many events in it come ever closer

typedef struct integration {
  const ref_system* s;
  const ref_options* o;
  double t, h;
  double x[REF_MAX_STATES], size[REF_MAX_STATES];  // size: the largest value so far
  double g[REF_MAX_GUARDS];
  bool side[REF_MAX_GUARDS];
  int n_events;
  double recent[ACCUMULATED];  // times of the last events, by their number modulo
} integration;

//------------------------------------ one step ------------------------------------

static void midpoint(const integration* r, double h, int n, const double* dx0, double* out) {
  const int m = r->s->n_states;
  double before[REF_MAX_STATES], now[REF_MAX_STATES], next[REF_MAX_STATES], dx[REF_MAX_STATES];
  const double k = h / n;
  memcpy(before, r->x, sizeof before);
  for (int i = 0; i < m; i++) now[i] = r->x[i] + k * dx0[i];
  for (int j = 1; j < n; j++) {
    r->s->f(r->s->user, r->t + j * k, now, dx);
    for (int i = 0; i < m; i++) next[i] = before[i] + 2 * k * dx[i];
    memcpy(before, now, sizeof before);
    memcpy(now, next, sizeof now);
  }
  r->s->f(r->s->user, r->t + h, now, dx);
  for (int i = 0; i < m; i++) out[i] = 0.5 * (now[i] + before[i] + k * dx[i]);
}

// The state after a step of size h from the present point. Returns its error in units of the
// tolerance.
static double try_step(const integration* r, double h, double* out) {
  const int m = r->s->n_states;
  double table[COLUMNS][REF_MAX_STATES], dx0[REF_MAX_STATES], error = 0;
  r->s->f(r->s->user, r->t, r->x, dx0);
  for (int k = 0; k < COLUMNS; k++) {
    double next[REF_MAX_STATES];
    midpoint(r, h, 2 * (k + 1), dx0, next);
    for (int j = 0; j < k; j++) {  // table[j] is the entry of row k - 1 and column j
      double ratio = (double)(k + 1) / (k - j), factor = 1 / (ratio * ratio - 1);
      for (int i = 0; i < m; i++) {
        double better = next[i] + (next[i] - table[j][i]) * factor;
        table[j][i] = next[i];
        next[i] = better;
      }
    }
    if (k == COLUMNS - 1) {
      for (int i = 0; i < m; i++) {
        double scale = fmax(fmax(r->size[i], fabs(next[i])), 1e-300);
        error = fmax(error, fabs(next[i] - table[k - 1][i]) / (scale * r->o->tolerance));
        if (!isfinite(next[i])) error = INFINITY;
      }
    }
    memcpy(table[k], next, sizeof next);
  }
  memcpy(out, table[COLUMNS - 1], (size_t)m * sizeof *out);
  return error;
}

//------------------------------------ guards ------------------------------------

static bool changes_side(const integration* r, const double* g) {
  for (int i = 0; i < r->s->n_guards; i++)
    if ((g[i] > 0) != r->side[i]) return true;
  return false;
}

// Whether a guard is on its other side after a step of size h, and the state there.
static bool crossed_after(const integration* r, double h, double* x, double* g) {
  try_step(r, h, x);
  r->s->guards(r->s->user, r->t + h, x, g);
  return changes_side(r, g);
}

// How fast the guards move at a point, along the solution.
static void guard_rates(const integration* r, double t, const double* x, const double* g, double h,
                        double* rate) {
  double dx[REF_MAX_STATES], ahead[REF_MAX_STATES], moved[REF_MAX_GUARDS];
  const double d = 1e-5 * h;
  r->s->f(r->s->user, t, x, dx);
  for (int i = 0; i < r->s->n_states; i++) ahead[i] = x[i] + d * dx[i];
  r->s->guards(r->s->user, t + d, ahead, moved);
  for (int i = 0; i < r->s->n_guards; i++) rate[i] = (moved[i] - g[i]) / d;
}

// A place inside a step where a guard that has the same side at both ends may be on the other one:
// where the cubic through its values and rates is extreme. 0: there is none.
static double hidden_crossing(const integration* r, double h, const double* x, const double* g) {
  double rate0[REF_MAX_GUARDS], rate1[REF_MAX_GUARDS], first = 0;
  guard_rates(r, r->t, r->x, r->g, h, rate0);
  guard_rates(r, r->t + h, x, g, h, rate1);
  for (int i = 0; i < r->s->n_guards; i++) {
    double sign = r->side[i] ? 1 : -1, g0 = sign * r->g[i], g1 = sign * g[i];
    double a = sign * rate0[i] * h, b = sign * rate1[i] * h;
    if (!(a < 0 && b > 0)) continue;
    double least = g0, where = 0;
    for (int k = 1; k < 64; k++) {
      double q = k / 64.0, p = 1 - q;
      double value =
          p * p * (1 + 2 * q) * g0 + q * q * (3 - 2 * q) * g1 + p * p * q * a - p * q * q * b;
      if (value < least) least = value, where = q * h;
    }
    if (least < 0.02 * fmax(g0, g1) && where > 0 && (first == 0 || where < first)) first = where;
  }
  return first;
}

//------------------------------------ events ------------------------------------

static void look(integration* r) {
  r->s->guards(r->s->user, r->t, r->x, r->g);
  for (int i = 0; i < r->s->n_guards; i++) r->side[i] = r->g[i] > 0;
}

// Behind the point where bounces accumulate there is no solution: once they vanish in rounding, the
// ball would fall through the floor.
static bool accumulates(integration* r) {
  int n = r->n_events;
  double* oldest = &r->recent[r->n_events % ACCUMULATED];
  double span = r->o->times[r->o->n_times - 1] - r->o->times[0];
  bool close = n >= ACCUMULATED && r->t - *oldest < moment * span;
  *oldest = r->t;
  // the next bounce is shorter than the last one, and no step goes over it
  double gap = n >= 2 ? r->t - r->recent[(n - 2) % ACCUMULATED] : span;
  if (gap > 1e-9 * span) r->h = fmin(r->h, gap / 4);
  return close;
}

static ref_status handle_event(integration* r, const double* g, bool time_event) {
  int8_t crossed[REF_MAX_GUARDS] = {0};
  double now[REF_MAX_GUARDS];
  if (r->n_events == REF_MAX_EVENTS || accumulates(r)) return REF_TOO_MANY_EVENTS;
  r->s->point(r->s->user, r->t, r->x, r->n_events, false);
  memcpy(now, g, sizeof now);
  for (int round = 0;; round++) {
    bool any = round == 0 && time_event;
    for (int i = 0; i < r->s->n_guards; i++) {
      bool side = now[i] > 0;
      crossed[i] = (int8_t)(side == r->side[i] ? 0 : side ? 1 : -1);
      any = any || crossed[i] != 0;
      r->side[i] = side;
    }
    if (!any) break;
    if (round == MAX_ROUNDS) return REF_NO_PROGRESS;
    r->s->update(r->s->user, r->t, r->x, crossed, round == 0 && time_event);
    r->s->guards(r->s->user, r->t, r->x, now);
  }
  r->s->point(r->s->user, r->t, r->x, r->n_events++, true);
  look(r);
  return REF_OK;
}

// Whether a guard that changes its side is zero. A model that compares with less in place of not
// greater sees no change there, and the guard does not change its side again behind it.
static bool is_on_edge(const integration* r, const double* g) {
  for (int i = 0; i < r->s->n_guards; i++)
    if (g[i] == 0 && r->side[i]) return true;
  return false;
}

// Goes to the first crossing inside a step of size h, which ends with guards g, and handles it.
static ref_status go_to_crossing(integration* r, double h) {
  double low = 0, high = h, x[REF_MAX_STATES], g[REF_MAX_GUARDS];
  const double close = 2.3e-16 * fmax(fabs(r->t), fabs(r->t + h));
  for (int k = 0; k < 100 && high - low > close; k++) {
    double middle = 0.5 * (low + high);
    if (r->t + middle <= r->t + low || r->t + middle >= r->t + high) break;
    if (crossed_after(r, middle, x, g)) high = middle;
    else low = middle;
  }
  crossed_after(r, high, x, g);
  for (int k = 0; k < 8 && high + close < h && is_on_edge(r, g); k++) {
    high += close;
    crossed_after(r, high, x, g);
  }
  memcpy(r->x, x, sizeof r->x);
  r->t += high;
  return handle_event(r, g, false);
}

//------------------------------------ whole ------------------------------------

// One accepted step towards `end`, or an event before it.
static ref_status advance(integration* r, double end) {
  double x[REF_MAX_STATES], g[REF_MAX_GUARDS];
  double h = fmin(r->h, r->o->longest);
  bool last = r->t + h * 1.0001 >= end;
  if (last) h = end - r->t;
  double error = try_step(r, h, x);
  if (!(error <= 1)) {
    r->h = h * (isfinite(error) ? fmax(0.2, 0.9 * pow(error, -1.0 / (2 * COLUMNS - 1))) : 0.1);
    return r->h < 1e-13 * (fabs(r->t) + r->o->longest) ? REF_NO_PROGRESS : REF_OK;
  }
  r->s->guards(r->s->user, r->t + h, x, g);
  if (changes_side(r, g)) return go_to_crossing(r, h);
  double hidden = hidden_crossing(r, h, x, g), x_in[REF_MAX_STATES], g_in[REF_MAX_GUARDS];
  if (hidden > 0 && crossed_after(r, hidden, x_in, g_in)) return go_to_crossing(r, hidden);
  memcpy(r->x, x, sizeof r->x);
  memcpy(r->g, g, sizeof r->g);
  r->t = last ? end : r->t + h;
  if (!last || error > 0.01)
    r->h = h * fmin(4, 0.9 * pow(fmax(error, 1e-10), -1.0 / (2 * COLUMNS - 1)));
  for (int i = 0; i < r->s->n_states; i++) r->size[i] = fmax(r->size[i], fabs(x[i]));
  return REF_OK;
}

ref_status ref_integrate(const ref_system* s, const ref_options* o, double* x, int* n_events) {
  integration r = {.s = s, .o = o, .t = o->times[0], .h = o->longest / 16};
  const double stop = o->times[o->n_times - 1];
  ref_status st = REF_OK;
  int output = 0, disturbed = 0;
  memcpy(r.x, x, (size_t)s->n_states * sizeof *x);
  for (int i = 0; i < s->n_states; i++) r.size[i] = fabs(x[i]);
  look(&r);
  while (st == REF_OK) {
    double disturb = o->disturb != NULL && disturbed < o->n_disturbed
                         ? o->times[0] + (stop - o->times[0]) * disturbed / o->n_disturbed
                         : INFINITY;
    double event = s->next_time(s->user);
    if (disturb <= r.t) {
      o->disturb(s->user, r.t, r.x);
      disturbed++;
      s->guards(s->user, r.t, r.x, r.g);
      if (changes_side(&r, r.g)) st = handle_event(&r, r.g, false);
      continue;
    }
    if (event <= r.t) {
      s->guards(s->user, r.t, r.x, r.g);
      st = handle_event(&r, r.g, true);
      r.h = fmax(r.h, o->longest / 64);
      continue;
    }
    if (o->times[output] <= r.t) {
      s->point(s->user, r.t, r.x, -1, false);
      if (++output == o->n_times) break;
      continue;
    }
    st = advance(&r, fmin(fmin(disturb, event), o->times[output]));
    for (int i = 0; i < s->n_states && st == REF_OK; i++)
      if (!isfinite(r.x[i])) st = REF_NOT_FINITE;
  }
  memcpy(x, r.x, (size_t)s->n_states * sizeof *x);
  *n_events = r.n_events;
  return st;
}
