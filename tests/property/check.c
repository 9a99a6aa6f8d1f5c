// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#include "check.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const double usual_noise = 30;       // of the disturbed solutions, in tolerances
static const double coupling_error = 1e-3;  // that they have where steppers are coupled
static const double shifted = 5;            // times of events by coupling, in units of theirs

//------------------------------------ truth ------------------------------------

static bool is_state(const random_system* s, int column, double* scale) {
  int n = 0;
  for (int i = 0; i < s->n_models; i++) {
    const pool_model* k = s->models[i].kind;
    int shown = 0;
    for (int j = 0; j < k->n_discrete; j++) shown += k->shown[j];
    int next = n + k->n_states + k->n_inputs + k->n_outputs + shown;
    *scale = s->models[i].scale;
    if (column < next) {
      if (column >= next - shown) *scale = 1;
      return column < n + k->n_states;
    }
    n = next;
  }
  return false;
}

static bool events_accumulate(const solution* e, double span) {
  for (int i = 2; i < e->n_events; i++)
    if (e->events[i].t - e->events[i - 2].t < 1e-3 * span) return true;
  return e->n_events > 40;
}

void truth_find(const random_system* s, truth* out) {
  out->found = out->usable = false;
  out->noise = s->steppers ? coupling_error / s->rtol : usual_noise;
  whole_solve(s, 0, 0, &out->exact);
  for (int k = 0; k < 2; k++) out->disturbed[k].n_events = -1;
  out->why = "the reference finds no solution";
  if (out->exact.status != REF_OK) return;
  for (int c = 0; c < out->exact.n_columns; c++) {
    is_state(s, c, &out->scale[c]);
    double unit = out->scale[c];
    for (int i = 0; i < out->exact.n_grid; i++)
      if (isfinite(out->exact.grid[i][c]))
        out->scale[c] = fmax(out->scale[c], fabs(out->exact.grid[i][c]));
    out->why = "values grow without limit";
    if (out->scale[c] > 1e4 * unit) return;
  }
  out->why = "events accumulate";
  if (events_accumulate(&out->exact, s->stop - s->start)) return;
  out->found = true;
  out->why = "small errors change the order of events";
  for (int k = 0; k < 2; k++) {
    whole_solve(s, out->noise, s->seed + (uint64_t)k + 1, &out->disturbed[k]);
    if (out->disturbed[k].status != REF_OK || out->disturbed[k].n_events != out->exact.n_events)
      return;
  }
  out->usable = true;
}

//------------------------------------ bounds ------------------------------------

typedef struct checker {
  const random_system* s;
  const truth* t;
  const outcome* rows;
  double rtol, atol, allowance, span;
  finding* out;
} checker;

// The bound of an error in a column, where the disturbed solutions differ by `moved`.
static double bound_of(const checker* c, int column, double moved) {
  double unit;
  bool state = is_state(c->s, column, &unit);
  double relative = c->rtol / c->s->rtol;
  double rounding = 2.3e-16 * fmax(fabs(c->s->start), fabs(c->s->stop)) / c->s->tau;
  double bound =
      moved / c->t->noise * relative + c->rtol * c->t->scale[column] + (state ? c->atol : 0);
  return c->allowance * bound + (1e4 * rounding + 1e-10) * c->t->scale[column];
}

static double apart(double a, double b) {
  if (isnan(a) && isnan(b)) return 0;
  return isfinite(a) && isfinite(b) ? fabs(a - b) : INFINITY;
}

static void judge(const checker* c, const char* what, double t, int column, double value,
                  double exact, double moved) {
  double bound = bound_of(c, column, moved), off = apart(value, exact);
  if (off / bound <= c->out->ratio) return;
  char names[MAX_COLUMNS][40];
  system_columns(c->s, names, MAX_COLUMNS);
  c->out->ratio = off / bound;
  snprintf(c->out->text, sizeof c->out->text, "%s t = %.10g: %s = %.12g, right %.12g, bound %.2g",
           what, t, names[column], value, exact, bound);
}

static double event_moved(const truth* t, int i) {
  double moved = 0;
  for (int k = 0; k < 2; k++)
    moved = fmax(moved, fabs(t->disturbed[k].events[i].t - t->exact.events[i].t));
  return moved;
}

// How exactly the time of an event is known.
static double event_bound(const checker* c, int i) {
  double moved = event_moved(c->t, i);
  return c->allowance * moved / c->t->noise * (c->rtol / c->s->rtol) +
         (1e-9 + (moved > 0 ? c->allowance * c->rtol : 0)) * c->span +
         1e-14 * fmax(fabs(c->s->start), fabs(c->s->stop));
}

// Whether an event other than `but` may be where one is that is known to `known`.
static bool near_event(const checker* c, double t, double known, int but) {
  for (int i = 0; i < c->t->exact.n_events; i++)
    if (i != but && fabs(c->t->exact.events[i].t - t) <= event_bound(c, i) + known) return true;
  return false;
}

// Whether coupled steppers may have had an event on the other side of t.
static bool near_shifted_event(const checker* c, double t) {
  for (int i = 0; i < c->t->exact.n_events; i++)
    if (fabs(c->t->exact.events[i].t - t) <= shifted * event_moved(c->t, i) + 2 * c->s->step)
      return true;
  return false;
}

//------------------------------------ rows ------------------------------------

static void contradiction(const checker* c, const char* what, double t) {
  if (c->out->contradiction) return;
  c->out->contradiction = true;
  snprintf(c->out->text, sizeof c->out->text, "%s at t = %.12g", what, t);
}

static const double* row_at(const outcome* o, int i) { return o->v + (size_t)(i * o->n_columns); }

// The end of the rows that belong to one event. An event that was found a hair too early is
// repeated.
static int group_end(const outcome* o, int i) {
  const double close = 1e-11 * (o->t[o->n_rows - 1] - o->t[0]) + 1e-15 * fabs(o->t[i]);
  int end = i + 1;
  while (end < o->n_rows && o->t[end] - o->t[end - 1] <= close) end++;
  return end;
}

static void check_grid(const checker* c) {
  const solution* e = &c->t->exact;
  int row = 0;
  for (int k = 0; k < e->n_grid; k++) {
    double close = 1e-10 * c->span + 1e-15 * fabs(e->t[k]);
    while (row < c->rows->n_rows && c->rows->t[row] < e->t[k] - close) row++;
    if (row == c->rows->n_rows || c->rows->t[row] > e->t[k] + close) {
      contradiction(c, "there is no row", e->t[k]);
      return;
    }
    if (near_event(c, e->t[k], 0, -1)) continue;
    if (c->s->steppers && near_shifted_event(c, e->t[k])) continue;
    const double* v = row_at(c->rows, group_end(c->rows, row) - 1);
    for (int i = 0; i < e->n_columns; i++) {
      double moved = 0;
      for (int d = 0; d < 2; d++)
        moved = fmax(moved, apart(c->t->disturbed[d].grid[k][i], e->grid[k][i]));
      if (isinf(moved)) continue;  // another mode
      judge(c, "at", e->t[k], i, v[i], e->grid[k][i], moved);
      c->out->error = fmax(c->out->error, apart(v[i], e->grid[k][i]) / c->t->scale[i]);
    }
  }
}

static void check_side(const checker* c, int event, bool right, const double* v) {
  const solution* e = &c->t->exact;
  const double* exact = right ? e->events[event].right : e->events[event].left;
  for (int i = 0; i < e->n_columns; i++) {
    double moved = 0;
    for (int d = 0; d < 2; d++) {
      const solution* p = &c->t->disturbed[d];
      moved = fmax(moved,
                   apart(right ? p->events[event].right[i] : p->events[event].left[i], exact[i]));
    }
    if (!isinf(moved))
      judge(c, right ? "after the event at" : "before the event at", e->events[event].t, i, v[i],
            exact[i], moved);
  }
}

// Whether an event makes values jump that are recorded.
static bool shows(const checker* c, int event) {
  const solution* e = &c->t->exact;
  for (int i = 0; i < e->n_columns; i++) {
    double jump = apart(e->events[event].left[i], e->events[event].right[i]);
    if (jump > 10 * bound_of(c, i, 0)) return true;
  }
  return false;
}

static void check_events(const checker* c) {
  const solution* e = &c->t->exact;
  for (int k = 0; k < e->n_events; k++) {
    double t = e->events[k].t, close = event_bound(c, k);
    double distance = close;
    int found = -1;
    if (!shows(c, k) || near_event(c, t, close, k) || t >= c->s->stop - close) continue;
    for (int i = 0; i < c->rows->n_rows; i = group_end(c->rows, i))
      if (fabs(c->rows->t[i] - t) <= distance && group_end(c->rows, i) - i > 1)
        distance = fabs(c->rows->t[i] - t), found = i;
    if (found < 0) {
      contradiction(c, "there are no two rows at the event", t);
      return;
    }
    check_side(c, k, false, row_at(c->rows, found));
    check_side(c, k, true, row_at(c->rows, group_end(c->rows, found) - 1));
  }
  for (int i = 0; i < c->rows->n_rows; i = group_end(c->rows, i)) {
    int end = group_end(c->rows, i);
    if (end - i < 2 || near_event(c, c->rows->t[i], 0, -1)) continue;
    for (int k = 0; k < e->n_columns; k++)
      if (apart(row_at(c->rows, i)[k], row_at(c->rows, end - 1)[k]) > 10 * bound_of(c, k, 0))
        contradiction(c, "values jump where no event is", c->rows->t[i]);
  }
}

void check_rows(const random_system* s, const truth* t, const outcome* rows, double rtol,
                double atol, double allowance, bool values_only, finding* out) {
  checker c = {s, t, rows, rtol, atol, allowance, s->stop - s->start, out};
  *out = (finding){0};
  for (int i = 1; i < rows->n_rows; i++)
    if (!(rows->t[i] >= rows->t[i - 1])) contradiction(&c, "time goes back", rows->t[i]);
  check_grid(&c);
  if (!values_only) check_events(&c);
}

static bool same_row(const outcome* a, int i, const outcome* b, int k) {
  for (int c = 0; c < a->n_columns; c++) {
    double va = row_at(a, i)[c], vb = row_at(b, k)[c];
    if (memcmp(&va, &vb, sizeof va) != 0 && !(isnan(va) && isnan(vb))) return false;
  }
  return true;
}

bool rows_within(const outcome* few, const outcome* many, char* text, size_t size) {
  int k = 0;
  for (int i = 0; i < few->n_rows; i++) {
    while (k < many->n_rows && many->t[k] < few->t[i]) k++;
    int found = k;
    while (found < many->n_rows && many->t[found] == few->t[i] && !same_row(few, i, many, found))
      found++;
    if (found < many->n_rows && many->t[found] == few->t[i]) continue;
    snprintf(text, size, "the row at t = %.17g is another one", few->t[i]);
    return false;
  }
  return true;
}

bool same_rows(const outcome* a, const outcome* b, int modulo, char* text, size_t size) {
  if (a->n_rows != b->n_rows) {
    snprintf(text, size, "%d rows and %d rows", a->n_rows, b->n_rows);
    return false;
  }
  for (int i = 0; i < a->n_rows; i++) {
    if (memcmp(&a->t[i], &b->t[i], sizeof(double)) != 0) {
      snprintf(text, size, "row %d: t = %.17g and %.17g", i, a->t[i], b->t[i]);
      return false;
    }
    for (int k = 0; k<a->n_columns; k += modulo> 0 ? modulo : 1) {
      const double *va = row_at(a, i) + k, *vb = row_at(b, i) + k;
      if (memcmp(va, vb, sizeof(double)) == 0 || (isnan(*va) && isnan(*vb))) continue;
      snprintf(text, size, "t = %.10g, column %d: %.17g and %.17g", a->t[i], k, *va, *vb);
      return false;
    }
  }
  return true;
}
