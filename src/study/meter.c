// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Computes the measures of a run from its rows. Rows of a segment are collected; at its end every
// reduction is continued over the segment. Without dense output only the communication points are
// known: values between them are cubics without overshoot (Fritsch and Butland), so that a jump
// inside of an FMU makes no extremum that was not there.
#include <assert.h>
#include <math.h>

#include "study/measure.h"

enum { ROWS = 4, MAX_PARTS = 16 };

// A reduction during a run.
typedef struct tally {
  double value;  // so far; NAN: none yet
  double first;  // of the course
  double when;   // of an extremum
  double low, high;
  bool is_true;     // of a condition: its last value
  double* courses;  // of settling times: per segment two times and the values at the points
  size_t n_courses, cap;
} tally;

struct cpli_meter {
  const cpli_measures* m;
  cpl_context* ctx;
  cpli_segments segments;
  bool dense;
  double rtol;
  const cpl_column* columns;
  int32_t* column;  // of each variable
  tally* tallies;
  double* rows;           // values of the variables at the points of the present segment
  cpli_sampler* sampler;  // of the points inside of segments. Nullable
  double* samples;
  double times[CPLI_PANEL_POINTS];
  size_t n;        // points of the present segment
  double* recent;  // without dense output: the last rows
  double recent_t[ROWS];
  size_t n_recent;
  double* outer;      // values of the sources of a measure
  double begin, end;  // of the run so far
  int64_t events;
  bool started;
};

//------------------------------------ life ------------------------------------

cpl_status cpli_meter_create(const cpli_measures* m, cpli_meter** out) {
  cpl_context* ctx = m->ctx;
  *out = NULL;
  cpli_meter* meter = cpli_alloc(ctx, 1, sizeof *meter);
  if (meter == NULL) return cpli_nomem(ctx);
  *meter = (cpli_meter){.m = m, .ctx = ctx, .rtol = 1e-6};
  size_t n_outer = 1;
  for (size_t i = 0; i < m->n; i++)
    if (m->list[i].n_sources > n_outer) n_outer = m->list[i].n_sources;
  meter->column = cpli_alloc(ctx, m->n_vars, sizeof *meter->column);
  meter->tallies = cpli_alloc(ctx, m->n_reductions, sizeof *meter->tallies);
  meter->rows = cpli_alloc(ctx, CPLI_PANEL_POINTS * (m->n_vars + 1), sizeof *meter->rows);
  meter->recent = cpli_alloc(ctx, ROWS * (m->n_vars + 1), sizeof *meter->recent);
  meter->outer = cpli_alloc(ctx, n_outer, sizeof *meter->outer);
  meter->samples =
      cpli_alloc(ctx, (CPLI_PANEL_POINTS - 2) * (m->n_vars + 1), sizeof *meter->samples);
  if (meter->samples == NULL || meter->column == NULL || meter->tallies == NULL ||
      meter->rows == NULL || meter->recent == NULL || meter->outer == NULL) {
    cpli_meter_destroy(meter);
    return cpli_nomem(ctx);
  }
  *out = meter;
  return CPL_OK;
}

void cpli_meter_destroy(cpli_meter* meter) {
  if (meter == NULL) return;
  cpl_context* ctx = meter->ctx;
  for (size_t i = 0; i < meter->m->n_reductions && meter->tallies != NULL; i++)
    cpli_free(ctx, meter->tallies[i].courses);
  cpli_free(ctx, meter->column);
  cpli_free(ctx, meter->tallies);
  cpli_free(ctx, meter->rows);
  cpli_free(ctx, meter->recent);
  cpli_free(ctx, meter->outer);
  cpli_free(ctx, meter->samples);
  cpli_sampler_destroy(meter->sampler);
  cpli_free(ctx, meter);
}

void cpli_meter_set_tolerance(cpli_meter* meter, double rtol) { meter->rtol = rtol; }

// Variables that are constant between events are not read inside of segments.
static cpl_status make_sampler(cpli_meter* meter, cpl_simulation* run) {
  const cpli_measures* m = meter->m;
  const cpl_description* d = run->s->base.desc;
  uint32_t* refs = cpli_alloc(meter->ctx, m->n_vars, sizeof *refs);
  if (refs == NULL) return cpli_nomem(meter->ctx);
  size_t n = 0;
  for (size_t v = 0; v < m->n_vars; v++)
    if (!m->held[v]) refs[n++] = d->vars[cpl_find_variable(d, m->vars[v])].ref;
  cpl_status st = cpli_sampler_create(run->s, refs, n, &meter->sampler);
  cpli_free(meter->ctx, refs);
  return st;
}

void cpli_meter_detach(cpli_meter* meter) {
  cpli_sampler_destroy(meter->sampler);
  meter->sampler = NULL;
}

cpl_status cpli_meter_attach(cpli_meter* meter, cpl_simulation* run) {
  const cpli_measures* m = meter->m;
  cpli_meter_detach(meter);
  meter->columns = run->recorder.columns;
  meter->dense = run->dense;
  for (size_t v = 0; v < m->n_vars; v++) {
    size_t c = 0;
    while (c < run->recorder.n && strcmp(meter->columns[c].name, m->vars[v]) != 0) c++;
    if (c == run->recorder.n)
      return cpl_fail(meter->ctx, CPL_ERR_INPUT, "%s is not recorded", m->vars[v]);
    meter->column[v] = (int32_t)c;
  }
  run->recorder.untimed = true;  // rows are many and cheap
  run->segments = m->needs_segments ? &meter->segments : NULL;
  return m->needs_segments && run->dense ? make_sampler(meter, run) : CPL_OK;
}

void cpli_meter_start(cpli_meter* meter) {
  meter->segments = (cpli_segments){.nodes = cpli_panel_nodes,
                                    .n = CPLI_PANEL_POINTS - 2,
                                    .parts = 1,
                                    .sampler = meter->sampler,
                                    .samples = meter->samples};
  meter->n = meter->n_recent = 0;
  meter->events = 0;
  meter->started = false;
  for (size_t i = 0; i < meter->m->n_reductions; i++) {
    tally* t = &meter->tallies[i];
    t->value = t->first = t->when = NAN;
    t->low = t->high = meter->m->reductions[i].kind == CPLI_DURATION ? 0 : NAN;
    t->is_true = false;
    t->n_courses = 0;
  }
}

//------------------------------------ values at one time ------------------------------------

// The value of a reduction's expression in the last row of the segment.
static cpl_status present_value(cpli_meter* meter, const cpli_reduction* r, double* out) {
  const size_t n_vars = meter->m->n_vars;
  cpli_panel now = {.n = 1,
                    .t = {meter->times[meter->n - 1]},
                    .values = meter->rows + (meter->n - 1) * n_vars,
                    .n_vars = n_vars,
                    .held = meter->m->held};
  cpli_course course;
  cpl_status st = cpli_course_begin(&course, meter->ctx, &now, r);
  *out = course.at[0];
  return st;
}

static void take_extremum(tally* t, double value, double when, double sign) {
  if (!isnan(t->value) && !(sign * value > sign * t->value)) return;
  t->value = value;
  t->when = when;
}

// A value at the start or after an event.
static void take_value(const cpli_reduction* r, tally* t, double value, double when) {
  if (isnan(t->first)) t->first = value;
  switch (r->kind) {
    case CPLI_MIN:
    case CPLI_TIME_OF_MIN: take_extremum(t, value, when, -1); break;
    case CPLI_MAX:
    case CPLI_TIME_OF_MAX: take_extremum(t, value, when, 1); break;
    case CPLI_OVERSHOOT:
      t->low = fmin(t->low, value);
      t->high = fmax(t->high, value);
      break;
    case CPLI_TIME_WHEN:
      if (value != 0 && isnan(t->value)) t->value = when;
      break;
    case CPLI_AT:
      if (when == r->args[0]) t->value = value;
      break;
    default: break;
  }
}

// All courses begin here: at the start, or behind a discontinuity.
static cpl_status begin_courses(cpli_meter* meter, double when) {
  const cpli_measures* m = meter->m;
  for (size_t i = 0; i < m->n_reductions; i++) {
    const cpli_reduction* r = &m->reductions[i];
    tally* t = &meter->tallies[i];
    double value;
    if (r->expr == NULL) continue;
    cpl_status st = present_value(meter, r, &value);
    if (st < 0) return st;
    if (r->kind == CPLI_COUNT) {
      if (isnan(t->value)) t->value = 0;
      else if (value != 0 && !t->is_true) t->value++;
    }
    t->is_true = value != 0;
    take_value(r, t, value, when);
  }
  return CPL_OK;
}

//------------------------------------ segments ------------------------------------

static void follow_condition(cpli_course* c, tally* t, cpli_reduction_kind kind) {
  const cpli_panel* p = c->panel;
  double at = p->t[0], since = at;
  bool value = t->is_true;
  while (c->st >= 0 && cpli_course_change(c, &at, &value)) {
    if (value && kind == CPLI_COUNT) t->value++;
    if (value && kind == CPLI_TIME_WHEN && isnan(t->value)) t->value = at;
    if (!value && kind == CPLI_DURATION) t->low += at - since;
    since = at;
  }
  if (value && kind == CPLI_DURATION) t->low += p->t[p->n - 1] - since;
  t->is_true = value;
}

static cpl_status keep_course(cpli_meter* meter, const cpli_course* c, tally* t) {
  enum { SIZE = 1 + 2 * CPLI_PANEL_POINTS };
  if (t->n_courses == t->cap) {
    const size_t cap = t->cap > 0 ? 2 * t->cap : 64;
    double* grown = cpli_realloc(meter->ctx, t->courses, cap * SIZE, sizeof *grown);
    if (grown == NULL) return cpli_nomem(meter->ctx);
    t->courses = grown;
    t->cap = cap;
  }
  double* to = t->courses + SIZE * t->n_courses++;
  to[0] = (double)c->panel->n;
  memcpy(to + 1, c->panel->t, sizeof c->panel->t);
  memcpy(to + 1 + CPLI_PANEL_POINTS, c->at, sizeof c->at);
  return CPL_OK;
}

// A time in the segment. One at its end is that of the next segment, which may follow an event.
static void take_at(cpli_course* c, tally* t, double when) {
  const cpli_panel* p = c->panel;
  if (when > p->t[0] && when <= p->t[p->n - 1]) t->value = cpli_course_value(c, when);
}

static cpl_status continue_over(cpli_meter* meter, cpli_panel* p, const cpli_reduction* r,
                                tally* t) {
  cpli_course c;
  cpl_status st = cpli_course_begin(&c, meter->ctx, p, r);
  if (st < 0) return st;
  switch (r->kind) {
    case CPLI_MIN:
    case CPLI_TIME_OF_MIN: cpli_course_extremum(&c, -1, &t->value, &t->when); break;
    case CPLI_MAX:
    case CPLI_TIME_OF_MAX: cpli_course_extremum(&c, 1, &t->value, &t->when); break;
    case CPLI_OVERSHOOT:
      cpli_course_extremum(&c, -1, &t->low, &t->when);
      cpli_course_extremum(&c, 1, &t->high, &t->when);
      break;
    case CPLI_INTEGRAL:
    case CPLI_MEAN:
    case CPLI_RMS:
      t->value = (isnan(t->value) ? 0 : t->value) + cpli_course_integral(&c, r->kind == CPLI_RMS);
      break;
    case CPLI_TIME_WHEN:
    case CPLI_COUNT:
    case CPLI_DURATION: follow_condition(&c, t, r->kind); break;
    case CPLI_AT: take_at(&c, t, r->args[0]); break;
    case CPLI_SETTLING_TIME: st = keep_course(meter, &c, t); break;
    default: break;
  }
  return st < 0 ? st : c.st;
}

// Steps of the solver that are too long for polynomials of the fifth degree are divided.
static void adapt_parts(cpli_meter* meter, const cpli_panel* p) {
  double tail = 0;
  for (size_t v = 0; v < p->n_vars; v++) tail = fmax(tail, cpli_panel_tail(p, v));
  const double wanted = fmax(meter->rtol, 1e-13);
  if (tail > wanted && meter->segments.parts < MAX_PARTS) meter->segments.parts *= 2;
  else if (tail < 1e-3 * wanted && meter->segments.parts > 1) meter->segments.parts /= 2;
}

// The rows of the segment are complete.
static cpl_status process(cpli_meter* meter, cpli_panel* p) {
  cpl_status st = CPL_OK;
  for (size_t i = 0; i < meter->m->n_reductions && st >= 0; i++) {
    const cpli_reduction* r = &meter->m->reductions[i];
    if (r->expr != NULL) st = continue_over(meter, p, r, &meter->tallies[i]);
  }
  if (p->standard) adapt_parts(meter, p);
  return st;
}

static cpl_status process_segment(cpli_meter* meter) {
  cpli_panel p = {.n = meter->n,
                  .standard = meter->n == CPLI_PANEL_POINTS,
                  .values = meter->rows,
                  .n_vars = meter->m->n_vars,
                  .held = meter->m->held};
  memcpy(p.t, meter->times, sizeof p.t);
  // a segment that an event cut short has other nodes
  const double length = p.t[p.n - 1] - p.t[0];
  for (size_t i = 1; i + 1 < p.n && p.standard; i++)
    p.standard = fabs(p.t[i] - p.t[0] - cpli_panel_nodes[i - 1] * length) <= 1e-9 * length;
  return process(meter, &p);
}

//------------------------------------ without dense output ------------------------------------

// The slope at the middle one of three points, for a curve without overshoot.
static double inner_slope(double h0, double d0, double h1, double d1) {
  if (!(d0 * d1 > 0)) return 0;
  const double w0 = 2 * h1 + h0, w1 = h1 + 2 * h0;
  return (w0 + w1) / (w0 / d0 + w1 / d1);
}

// The slope at an end: h0 and d0 of the interval there, h1 and d1 of the next one.
static double end_slope(double h0, double d0, double h1, double d1) {
  const double slope = ((2 * h0 + h1) * d0 - h0 * d1) / (h0 + h1);
  if (!(slope * d0 > 0)) return 0;
  return d0 * d1 <= 0 && fabs(slope) > 3 * fabs(d0) ? 3 * d0 : slope;
}

typedef struct neighbours {
  size_t i;            // the interval begins at this recent row
  bool before, after;  // there are rows on these sides
} neighbours;

static void fill_cubic(const cpli_meter* meter, neighbours at, size_t var, double* rows) {
  const size_t n_vars = meter->m->n_vars;
  const double* x = meter->recent + var;
  const double *t = meter->recent_t, x0 = x[at.i * n_vars], x1 = x[(at.i + 1) * n_vars];
  const double h = t[at.i + 1] - t[at.i], d = (x1 - x0) / h;
  const double hb = at.before ? t[at.i] - t[at.i - 1] : h;
  const double db = at.before ? (x0 - x[(at.i - 1) * n_vars]) / hb : d;
  const double ha = at.after ? t[at.i + 2] - t[at.i + 1] : h;
  const double da = at.after ? (x[(at.i + 2) * n_vars] - x1) / ha : d;
  const double m0 = at.before ? inner_slope(hb, db, h, d) : end_slope(h, d, ha, da);
  const double m1 = at.after ? inner_slope(h, d, ha, da) : end_slope(h, d, hb, db);
  for (size_t k = 0; k < ROWS; k++) {
    const double s = (double)k / (ROWS - 1), r = 1 - s;
    rows[k * n_vars + var] =
        x0 * r * r * (1 + 2 * s) + x1 * s * s * (3 - 2 * s) + h * s * r * (r * m0 - s * m1);
  }
}

// A step between two recent rows becomes a panel of four points.
static cpl_status process_step(cpli_meter* meter, neighbours at) {
  const size_t n_vars = meter->m->n_vars;
  const double t0 = meter->recent_t[at.i], t1 = meter->recent_t[at.i + 1];
  cpli_panel p = {.n = ROWS, .values = meter->rows, .n_vars = n_vars, .held = meter->m->held};
  for (size_t k = 0; k < ROWS; k++) p.t[k] = t0 + (t1 - t0) * (double)k / (ROWS - 1);
  p.t[ROWS - 1] = t1;
  for (size_t v = 0; v < n_vars; v++) {
    if (meter->m->held[v]) meter->rows[v] = meter->recent[at.i * n_vars + v];
    else fill_cubic(meter, at, v, meter->rows);
  }
  cpl_status st = process(meter, &p);
  // discrete values change at the communication point
  meter->n = 1;
  meter->times[0] = t1;
  memcpy(meter->rows, meter->recent + (at.i + 1) * n_vars, n_vars * sizeof(double));
  return st < 0 ? st : begin_courses(meter, t1);
}

// A row was added: the step before the last one has both its neighbours, but for the first step.
static cpl_status process_steps(cpli_meter* meter) {
  const size_t n = meter->n_recent, n_vars = meter->m->n_vars;
  cpl_status st = CPL_OK;
  if (n >= 3) st = process_step(meter, (neighbours){n - 3, n > 3, true});
  if (n == ROWS) {
    meter->n_recent--;
    memmove(meter->recent, meter->recent + n_vars, (ROWS - 1) * n_vars * sizeof(double));
    memmove(meter->recent_t, meter->recent_t + 1, (ROWS - 1) * sizeof(double));
  }
  return st;
}

// No row follows, or one behind an event.
static cpl_status process_last_step(cpli_meter* meter) {
  const size_t n = meter->n_recent;
  return n >= 2 ? process_step(meter, (neighbours){n - 2, n > 2, false}) : CPL_OK;
}

//------------------------------------ rows ------------------------------------

static void read_values(const cpli_meter* meter, const cpl_value* values, double* out) {
  for (size_t v = 0; v < meter->m->n_vars; v++) {
    const int32_t c = meter->column[v];
    out[v] = cpli_column_number(&meter->columns[c], values[c]);
  }
}

static cpl_status begin_at(cpli_meter* meter, double t, const cpl_value* values) {
  meter->n = 1;
  meter->times[0] = t;
  read_values(meter, values, meter->rows);
  if (!meter->dense) {
    meter->n_recent = 1;
    meter->recent_t[0] = t;
    memcpy(meter->recent, meter->rows, meter->m->n_vars * sizeof(double));
  }
  meter->events += meter->started && t > meter->begin;
  if (!meter->started) meter->begin = t;
  meter->started = true;
  return begin_courses(meter, t);
}

static cpl_status step_to(cpli_meter* meter, double t, const cpl_value* values) {
  const size_t n_vars = meter->m->n_vars;
  meter->recent_t[meter->n_recent] = t;
  read_values(meter, values, meter->recent + meter->n_recent++ * n_vars);
  return process_steps(meter);
}

// Ends the segment; the next one begins with the same values, but discrete ones may have changed.
static cpl_status end_segment(cpli_meter* meter) {
  const size_t n_vars = meter->m->n_vars;
  double* last = meter->rows + (meter->n - 1) * n_vars;
  bool changed = false;
  for (size_t v = 0; v < n_vars; v++)
    changed = changed || (meter->m->held[v] && last[v] != meter->rows[v]);
  cpl_status st = process_segment(meter);
  meter->times[0] = meter->times[meter->n - 1];
  memmove(meter->rows, last, n_vars * sizeof(double));
  meter->n = 1;
  return st >= 0 && changed ? begin_courses(meter, meter->times[0]) : st;
}

// The points inside of a segment, which an event may have cut short.
static void add_samples(cpli_meter* meter, double end) {
  const cpli_measures* m = meter->m;
  cpli_segments* g = &meter->segments;
  const double* from = meter->samples;
  for (size_t i = 0; i < g->n_sampled && g->sampled[i] < end; i++) {
    double* row = meter->rows + meter->n * m->n_vars;
    for (size_t v = 0; v < m->n_vars; v++) row[v] = m->held[v] ? meter->rows[v] : *from++;
    meter->times[meter->n++] = g->sampled[i];
  }
  g->n_sampled = 0;
}

cpl_status cpli_meter_row(cpli_meter* meter, double t, const cpl_value* values) {
  const cpli_point_kind kind = meter->m->needs_segments ? meter->segments.kind : CPLI_POINT_BEGIN;
  meter->end = t;
  if (!meter->m->needs_segments && meter->started) {  // only the last row counts
    meter->times[0] = t;
    read_values(meter, values, meter->rows);
    return CPL_OK;
  }
  if (kind == CPLI_POINT_OUTPUT && meter->started) return CPL_OK;
  // a second row at one time follows an event
  const bool again = meter->started && t == (meter->dense ? meter->times[meter->n - 1]
                                                          : meter->recent_t[meter->n_recent - 1]);
  if (kind == CPLI_POINT_BEGIN || !meter->started || again) {
    cpl_status st = CPL_OK;
    if (meter->dense && meter->n > 1) st = end_segment(meter);
    if (!meter->dense) st = process_last_step(meter);
    return st < 0 ? st : begin_at(meter, t, values);
  }
  if (!meter->dense) return step_to(meter, t, values);
  if (kind == CPLI_POINT_END) add_samples(meter, t);
  assert(meter->n < CPLI_PANEL_POINTS);
  meter->times[meter->n] = t;
  read_values(meter, values, meter->rows + meter->n++ * meter->m->n_vars);
  return kind == CPLI_POINT_END ? end_segment(meter) : CPL_OK;
}

//------------------------------------ results ------------------------------------

// The fraction of the change from the first value to the goal, by which the course goes beyond it.
static double overshoot(const tally* t, double goal) {
  const double change = goal - t->first;
  if (change == 0) return NAN;
  const double beyond = change > 0 ? t->high - goal : goal - t->low;
  return fmax(0, beyond / fabs(change));
}

static cpl_status outside_change(cpli_meter* meter, const double* course, double goal, double band,
                                 double* last) {
  // the course of one segment as a variable of its own
  static const bool held = false;
  static const int32_t var = 0;
  cpli_panel p = {
      .n = (size_t)course[0], .values = course + 1 + CPLI_PANEL_POINTS, .n_vars = 1, .held = &held};
  memcpy(p.t, course + 1, sizeof p.t);
  const cpli_reduction of = {.vars = &var, .n_slots = 1, .plain = true};
  cpli_course c;
  cpl_status st = cpli_course_begin(&c, meter->ctx, &p, &of);
  if (st < 0) return st;
  for (size_t i = p.n; i-- > 0;) {
    if (fabs(c.at[i] - goal) <= band) continue;
    double a = p.t[i], b = i + 1 < p.n ? p.t[i + 1] : a;
    for (int k = 0; k < 60 && b > a; k++) {
      const double middle = a + (b - a) / 2;
      if (!(middle > a && middle < b)) break;
      if (fabs(cpli_course_value(&c, middle) - goal) > band) a = middle;
      else b = middle;
    }
    *last = b;
    break;
  }
  return CPL_OK;
}

// The time from the start until the course stays within the band; NAN: it does not.
static cpl_status settling_time(cpli_meter* meter, const tally* t, const double* args, double final,
                                double* out) {
  enum { SIZE = 1 + 2 * CPLI_PANEL_POINTS };
  const double goal = isnan(args[1]) ? final : args[1];
  const double band = args[0] * fabs(goal - t->first);
  double last = NAN;
  cpl_status st = CPL_OK;
  *out = NAN;
  if (band == 0 || fabs(final - goal) > band) return CPL_OK;
  for (size_t i = t->n_courses; i-- > 0 && st >= 0 && isnan(last);)
    st = outside_change(meter, t->courses + SIZE * i, goal, band, &last);
  *out = isnan(last) ? 0 : last - meter->begin;
  return st;
}

static cpl_status result_of(cpli_meter* meter, size_t i, double* out) {
  const cpli_reduction* r = &meter->m->reductions[i];
  const tally* t = &meter->tallies[i];
  const double span = meter->end - meter->begin;
  double final = NAN;
  cpl_status st = r->expr != NULL ? present_value(meter, r, &final) : CPL_OK;
  if (st < 0) return st;
  const bool course = span > 0 && !isnan(t->value);
  switch (r->kind) {
    case CPLI_FINAL: *out = final; break;
    case CPLI_INITIAL: *out = t->first; break;
    case CPLI_TIME_OF_MIN:
    case CPLI_TIME_OF_MAX: *out = t->when; break;
    case CPLI_INTEGRAL: *out = course ? t->value : 0; break;
    case CPLI_MEAN: *out = course ? t->value / span : final; break;
    case CPLI_RMS: *out = course ? sqrt(t->value / span) : fabs(final); break;
    case CPLI_DURATION: *out = t->low; break;
    case CPLI_EVENTS: *out = (double)meter->events; break;
    case CPLI_OVERSHOOT: *out = overshoot(t, isnan(r->args[0]) ? final : r->args[0]); break;
    case CPLI_SETTLING_TIME: return settling_time(meter, t, r->args, final, out);
    default: *out = t->value; break;
  }
  return CPL_OK;
}

static cpl_status evaluate(cpli_meter* meter, const cpli_measure* one, double* values) {
  bool known = true;
  cpl_status st = CPL_OK;
  for (size_t k = 0; k < one->n_sources && st >= 0; k++) {
    const int32_t source = one->sources[k];
    if (source < 0) meter->outer[k] = values[~source];
    else st = result_of(meter, (size_t)source, &meter->outer[k]);
    known = known && !isnan(meter->outer[k]);
  }
  double* out = &values[one - meter->m->list];
  *out = NAN;
  if (st < 0 || !known) return st;
  st = cpli_expr_value(one->expr, meter->ctx, meter->end, meter->outer, NULL, out);
  return st == CPL_RETRY ? CPL_ERR_MODEL : st;
}

cpl_status cpli_meter_finish(cpli_meter* meter, double* values) {
  cpl_status st = CPL_OK;
  if (!meter->dense && meter->m->needs_segments) st = process_last_step(meter);
  else if (meter->n > 1) st = end_segment(meter);
  for (size_t i = 0; i < meter->m->n && st >= 0; i++)
    st = evaluate(meter, &meter->m->list[meter->m->order[i]], values);
  return st;
}
