// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Steps one part of a system with delay lines, interval by interval.
#include <assert.h>
#include <float.h>
#include <math.h>

#include "solver/sample.h"
#include "tlm/tlm.h"

enum { LAST_NODE = CPLI_NODES - 1 };  // of an interval of a model

// Tolerance for the comparison of times that differ by rounding.
static double near_to(const cpli_tlm_part* p, double t) {
  double h = isfinite(p->h) ? p->h : 0;
  return 1e-9 * h + 8 * DBL_EPSILON * fabs(t);
}

static cpli_tlm_end* end_of(const cpli_tlm* m, const cpli_tlm_part* p, int32_t i) {
  return &m->ends[p->first_end + i];
}

// The end of the next interval, unless a wave jumps before.
static double grid_end(const cpli_tlm* m, const cpli_tlm_part* p, double until) {
  if (!isfinite(p->h)) return until;
  return fmin(m->t_start + (double)(p->grid + 1) * p->h, fmax(m->t_stop, until));
}

// The last end of an interval of a part at or before t, if it has no events.
static double grid_before(const cpli_tlm* m, const cpli_tlm_part* p, double t) {
  double n = floor((t - m->t_start) / p->h) + 1;
  while (m->t_start + n * p->h > t) n--;
  return m->t_start + n * p->h;
}

// Whether a pair needs nothing but intervals that have ended when it begins: others go on only
// after the output point that all are asked for, and that must not decide whether there is a pair.
static bool has_pair(const cpli_tlm* m, const cpli_tlm_part* p, double end) {
  const double near = near_to(p, end), begin = p->published;
  for (int32_t i = 0; i < p->n_ends; i++) {
    const cpli_tlm_end* e = end_of(m, p, i);
    const cpli_tlm_part* other = &m->parts[m->ends[e->peer].part];
    double needed = end - e->delay - near;
    if (begin - other->h < needed && grid_before(m, other, begin) < needed) return false;
  }
  return true;
}

// The end of the present pair, or of the interval where there is no pair. A pair is as long as the
// shortest delay at most.
static double pair_end(const cpli_tlm* m, const cpli_tlm_part* p, double until) {
  if (!isfinite(p->h) || !p->in_pairs || p->grid % 2 != 0) return grid_end(m, p, until);
  const double end = fmin(m->t_start + (double)(p->grid + 2) * p->h, fmax(m->t_stop, until));
  return has_pair(m, p, end) ? end : grid_end(m, p, until);
}

bool cpli_part_done(const cpli_tlm* m, const cpli_tlm_part* p, double until) {
  if (p->ended || p->st < 0) return true;
  if (p->is_model) return p->t >= until;
  // a stepper has values only at the ends of its steps: the last one not past `until`
  double b = p->open ? p->end : grid_end(m, p, until);
  double a = p->open ? p->begin : p->published;
  int32_t node = p->open && p->node > 0 ? p->node : 1;
  double next = node >= p->substeps ? b : a + (b - a) * node / p->substeps;
  return next > until + near_to(p, until) || b - a <= near_to(p, b);
}

bool cpli_part_lacks(const cpli_tlm* m, const cpli_tlm_part* p, double until, int32_t whose) {
  if (p->open) return false;
  double b = pair_end(m, p, until);
  for (int32_t i = 0; i < p->n_ends; i++) {
    const cpli_tlm_end* e = end_of(m, p, i);
    int32_t other = m->ends[e->peer].part;
    if (whose >= 0 && other != whose) continue;
    if (m->parts[other].published < b - e->delay - near_to(p, b)) return true;
  }
  return false;
}

bool cpli_part_ready(const cpli_tlm* m, const cpli_tlm_part* p, double until) {
  return !cpli_part_lacks(m, p, until, -1);
}

//------------------------------------ frames ------------------------------------

// Transforms from the common frame to that of the part: the transpose.
static void turn_back(const cpli_tlm_end* e, const double* in, double* out, int32_t stride) {
  const double* r = e->rotation;
  for (int32_t part = 0; part < CPLI_WIDTH; part += 3) {
    const double* x = in + part * stride;
    double* y = out + part * stride;
    for (int32_t i = 0; i < 3; i++)
      y[i * stride] = r[i] * x[0] + r[3 + i] * x[stride] + r[6 + i] * x[2 * stride];
  }
}

static void turn(const cpli_tlm_end* e, double* v) {
  const double* r = e->rotation;
  for (double* x = v; x < v + CPLI_WIDTH; x += 3) {
    double y[3];
    for (int32_t i = 0; i < 3; i++)
      y[i] = r[3 * i] * x[0] + r[3 * i + 1] * x[1] + r[3 * i + 2] * x[2];
    memcpy(x, y, sizeof y);
  }
}

// The coefficients of a wave in the frame of the part.
static void to_own_frame(const cpli_tlm_end* e, const cpli_segment* s,
                         double c[CPLI_WIDTH][CPLI_NODES]) {
  memcpy(c, s->c, (size_t)e->width * sizeof s->c[0]);
  for (int32_t k = 0; k < CPLI_NODES && e->rotated; k++)
    turn_back(e, &s->c[0][k], &c[0][k], CPLI_NODES);
}

//------------------------------------ receiving waves ------------------------------------

static void arrive(cpli_tlm* m, cpli_tlm_end* e, double a, double b, double near,
                   cpli_segment* out) {
  cpli_wave_span(&m->ends[e->peer].sent, a - e->delay, b - e->delay, near, e->width, out);
  out->from = a;
  out->to = b;
}

// c(t) = (1 - alpha) w(t - Td) + alpha c(t - 1.5 Td)
static cpl_status damp(cpli_tlm_end* e, double a, double b, double near, cpli_segment* c) {
  cpli_segment old;
  double back = 1.5 * e->delay;
  cpli_wave_span(&e->filtered, a - back, b - back, near, e->width, &old);
  for (int32_t k = 0; k < e->width; k++) {
    for (int32_t i = 0; i < CPLI_NODES; i++)
      c->c[k][i] = (1 - e->alpha) * c->c[k][i] + e->alpha * old.c[k][i];
  }
  cpli_wave_forget(&e->filtered, a - back - near);
  return CPL_OK;
}

static bool differs(const cpli_tlm_end* e, const cpli_segment* before, const cpli_segment* s) {
  for (int32_t k = 0; k < e->width; k++) {
    double jump = cpli_segment_at(s, k, s->from) - cpli_segment_at(before, k, before->to);
    if (fabs(jump) > CPLI_JUMP * e->scale) return true;
  }
  return false;
}

static double first_jump(cpli_tlm* m, const cpli_tlm_end* e, double a, double b, double near) {
  double t = cpli_wave_next_jump(&m->ends[e->peer].sent, a - e->delay + near, b - e->delay - near);
  double first = t + e->delay;
  if (e->alpha > 0) {
    double back = 1.5 * e->delay;
    t = cpli_wave_next_jump(&e->filtered, a - back + near, b - back - near) + back;
    first = fmin(first, t);
  }
  return first;
}

static bool jumps_here(cpli_tlm* m, const cpli_tlm_end* e, double a, double near) {
  return cpli_wave_jumps_at(&m->ends[e->peer].sent, a - e->delay, near) ||
         (e->alpha > 0 && cpli_wave_jumps_at(&e->filtered, a - 1.5 * e->delay, near));
}

// The same wave over the whole pair, as inputs of the model.
static void keep_pair(cpli_tlm* m, const cpli_tlm_part* p, cpli_tlm_end* e, double near) {
  const cpli_segment* pieces[2] = {&e->now, &e->next};
  arrive(m, e, p->end, p->horizon, near, &e->next);
  for (int32_t i = 0; i < 2; i++) {
    double c[CPLI_WIDTH][CPLI_NODES];
    to_own_frame(e, pieces[i], c);
    for (int32_t k = 0; k < e->width; k++) {
      e->arriving[k].from[i] = pieces[i]->from;
      memcpy(e->arriving[k].c[i], c[k], sizeof c[k]);
    }
  }
}

static cpl_status take_damped_wave(cpli_tlm* m, cpli_tlm_part* p, cpli_tlm_end* e, double near) {
  cpli_segment before = e->now;
  arrive(m, e, p->begin, p->end, near, &e->now);
  cpl_status st = damp(e, p->begin, p->end, near, &e->now);
  e->now.jump =
      before.to > before.from && jumps_here(m, e, p->begin, near) && differs(e, &before, &e->now);
  return st < 0 ? st : cpli_wave_add(&e->filtered, &e->now);
}

// The second interval of a pair that was known from its beginning.
static bool goes_on(const cpli_tlm_part* p) { return p->ahead && p->horizon <= p->end; }

static cpl_status take_wave(cpli_tlm* m, cpli_tlm_part* p, cpli_tlm_end* e, double near) {
  cpl_status st = CPL_OK;
  if (goes_on(p)) {
    e->now = e->next;
  } else if (e->alpha > 0) {
    st = take_damped_wave(m, p, e, near);
  } else {
    arrive(m, e, p->begin, p->end, near, &e->now);
    e->now.jump = jumps_here(m, e, p->begin, near);
  }
  if (p->horizon > p->end) keep_pair(m, p, e, near);
  for (int32_t k = 0; k < e->width; k++) e->scale = fmax(e->scale, fabs(e->now.c[k][0]));
  p->dirty = p->dirty || (e->now.jump && p->is_model);
  cpli_wave_forget(&m->ends[e->peer].sent, p->begin - e->delay - near);
  return st;
}

// The first jump of an arriving wave before t.
static double jump_before(cpli_tlm* m, const cpli_tlm_part* p, double t, double near) {
  double first = t;
  for (int32_t i = 0; i < p->n_ends; i++) {
    const cpli_tlm_end* e = end_of(m, p, i);
    if (e->takes) first = fmin(first, first_jump(m, e, p->begin, t, near));
  }
  return first;
}

static bool is_damped(const cpli_tlm* m, const cpli_tlm_part* p) {
  for (int32_t i = 0; i < p->n_ends; i++)
    if (end_of(m, p, i)->alpha > 0) return true;
  return false;
}

// The end of the interval, and how far the solver may go: to the end of the pair, unless a wave
// jumps before. What arrives at a damped end depends on the interval before.
static void set_ends(cpli_tlm* m, cpli_tlm_part* p, double until, double near) {
  double whole = pair_end(m, p, until);
  bool first = p->in_pairs && p->grid % 2 == 0;
  p->end = p->horizon = grid_end(m, p, until);
  p->ahead = p->ahead && !first && !p->dirty;
  if (p->ahead || !p->is_model) return;
  bool looks = first && whole > p->end + near && !is_damped(m, p);
  p->ahead = looks && jump_before(m, p, whole, near) >= whole;
  if (!p->ahead) p->end = jump_before(m, p, p->end, near);
  p->horizon = p->ahead ? whole : p->end;
}

cpl_status cpli_part_begin(cpli_tlm* m, cpli_tlm_part* p, double until) {
  if (p->open) return CPL_OK;
  double near = near_to(p, p->published);
  cpl_status st = CPL_OK;
  assert(cpli_part_ready(m, p, until));
  p->begin = p->published;
  set_ends(m, p, until, near);
  for (int32_t i = 0; i < p->n_ends && st >= 0; i++) {
    cpli_tlm_end* e = end_of(m, p, i);
    if (e->takes) st = take_wave(m, p, e, near);
  }
  p->open = true;
  p->node = 0;
  return st;
}

//------------------------------------ speeds ------------------------------------

static cpl_status to_common_frame(cpl_context* ctx, const cpli_tlm_end* e, double* v) {
  if (e->rotated) turn(e, v);
  for (int32_t k = 0; k < e->width; k++) {
    if (!isfinite(v[k]))
      return cpl_fail(ctx, CPL_ERR_MODEL, "the output of interface %s is %g", e->name, v[k]);
  }
  return CPL_OK;
}

cpl_status cpli_end_speeds(cpl_stepper* s, const cpli_tlm_end* e, double* v) {
  cpl_component* c = &s->base;
  cpl_status st = c->ops->get_real(c, e->out_refs, (size_t)e->width, v);
  return st < 0 ? st : to_common_frame(c->ctx, e, v);
}

static void keep_sample(cpli_tlm_end* e, double t, const double* v, double min_dt) {
  // a sample close to the last one replaces it, unless an interval begins there
  bool replace = e->n_samples > 1 && e->fresh > 0 && t - e->samples[e->n_samples - 1].t < min_dt;
  if (replace) e->n_samples--;
  if (e->n_samples == CPLI_NODES) {
    for (int32_t i = 1; i < CPLI_NODES; i++) e->samples[i - 1] = e->samples[i];
    e->n_samples--;
  }
  assert(e->n_samples >= 0 && e->n_samples < CPLI_NODES);
  cpli_sample* s = &e->samples[e->n_samples++];
  s->t = t;
  memcpy(s->v, v, (size_t)e->width * sizeof *v);
  if (!replace) e->fresh++;
}

// Samples at the beginning of a smooth interval (`anew`), or inside one.
static cpl_status sample(cpli_tlm* m, cpli_tlm_part* p, bool anew) {
  cpl_status st = CPL_OK;
  for (int32_t i = 0; i < p->n_ends && st >= 0; i++) {
    cpli_tlm_end* e = end_of(m, p, i);
    double v[CPLI_WIDTH];
    if (!e->sends) continue;
    st = cpli_end_speeds(p->inner, e, v);
    if (anew) e->n_samples = e->fresh = 0;
    if (st >= 0) keep_sample(e, p->t, v, 1e-3 * (p->end - p->begin));
    if (anew) e->fresh = 0;
  }
  return st;
}

static double node_of_model(const cpli_tlm_part* p, int32_t node) {
  return node == LAST_NODE ? p->end : p->begin + (p->end - p->begin) * node / LAST_NODE;
}

static cpl_status keep_samples(cpli_tlm* m, cpli_tlm_part* p, double t, double* v) {
  cpl_status st = CPL_OK;
  for (int32_t i = 0; i < p->n_ends && st >= 0; i++) {
    cpli_tlm_end* e = end_of(m, p, i);
    if (!e->sends) continue;
    st = to_common_frame(m->base.base.ctx, e, v);
    if (st >= 0) keep_sample(e, t, v, 1e-3 * (p->end - p->begin));
    v += e->width;
  }
  return st;
}

// Samples at the next nodes inside of the solver's step, before `until`: the model need not go
// there.
static cpl_status sample_inside(cpli_tlm* m, cpli_tlm_part* p, double until) {
  double reached = p->t, t[LAST_NODE], first = node_of_model(p, p->node);
  size_t n = 0;
  if (p->sampler == NULL || first >= fmin(until, p->horizon)) return CPL_OK;
  cpl_status st = cpli_sampler_ahead(p->sampler, first, p->horizon, &reached);
  if (st < 0) return st;
  double before = fmin(until, reached);
  for (int32_t k = p->node; k <= LAST_NODE; k++) {
    double node = node_of_model(p, k);
    if (node < before) t[n++] = node;
  }
  st = n > 0 ? cpli_sampler_read(p->sampler, t, n, p->sampled) : CPL_OK;
  if (st == CPL_RETRY) return CPL_OK;
  for (size_t k = 0; k < n && st >= 0; k++) {
    st = keep_samples(m, p, t[k], p->sampled + k * p->n_sampled);
    p->t = t[k];
    p->node++;
  }
  return st;
}

//------------------------------------ models ------------------------------------

static double arriving_at(const void* user, double t) {
  const cpli_arriving* a = user;
  int32_t i = t > a->from[1];
  const double *c = a->c[i], x = t - a->from[i];
  return ((c[3] * x + c[2]) * x + c[1]) * x + c[0];
}

static cpl_status give_curve(cpl_stepper* s, const cpli_tlm_end* e, bool ahead) {
  double c[CPLI_WIDTH][CPLI_NODES];
  cpl_status st = CPL_OK;
  if (!ahead) to_own_frame(e, &e->now, c);
  for (int32_t k = 0; k < e->width && st >= 0; k++) {
    cpl_curve curve = {.from = e->now.from, .order = CPLI_NODES - 1};
    if (!ahead) memcpy(curve.coefficient, c[k], sizeof curve.coefficient);
    else curve = (cpl_curve){.value = arriving_at, .user = &e->arriving[k], .from = e->now.from};
    st = s->ops->set_curve(s, e->in_refs[k], &curve);
  }
  return st;
}

cpl_status cpli_part_give_curves(cpli_tlm* m, const cpli_tlm_part* p, cpl_stepper* s) {
  cpl_status st = CPL_OK;
  for (int32_t i = 0; i < p->n_ends && st >= 0; i++) {
    const cpli_tlm_end* e = end_of(m, p, i);
    if (e->takes) st = give_curve(s, e, p->ahead);
  }
  return st;
}

bool cpli_part_sets_again(const cpli_tlm_part* p) {
  return p->is_model && (p->ahead || (p->open && p->node > 0));
}

// An input that was set, or a wave that jumps, is an event.
static cpl_status update(cpli_tlm_part* p) {
  cpl_step_result r = {0};
  cpl_status st = p->inner->ops->step(p->inner, p->t, p->t, &r);
  p->n_events++;
  p->ended = p->ended || (st >= 0 && r.end == CPL_STEP_TERMINATE);
  p->dirty = st >= 0 && r.end == CPL_STEP_EVENT;  // another event at the same time
  return st;
}

static cpl_status begin_model(cpli_tlm* m, cpli_tlm_part* p) {
  bool anew = p->dirty || p->restarted;
  cpl_status st = goes_on(p) ? CPL_OK : cpli_part_give_curves(m, p, p->inner);
  while (st >= 0 && p->dirty && !p->ended) st = update(p);
  if (st >= 0 && anew) st = sample(m, p, true);
  p->restarted = anew;
  p->node = 1;
  return st;
}

static cpl_status step_model(cpli_tlm* m, cpli_tlm_part* p, double until) {
  cpl_status st = p->node == 0 ? begin_model(m, p) : CPL_OK;
  while (st >= 0 && p->t < until && p->node <= LAST_NODE && !p->ended) {
    st = sample_inside(m, p, until);
    if (st < 0 || p->node > LAST_NODE) break;
    double node = node_of_model(p, p->node), target = fmin(node, until);
    cpl_step_result r = {.time = p->t};
    if (p->t < target) st = p->inner->ops->step(p->inner, target, p->horizon, &r);
    if (st < 0) break;
    p->t = r.time;
    p->ended = r.end == CPL_STEP_TERMINATE;
    if (r.end == CPL_STEP_EVENT || p->ended) {  // the interval ends here
      p->dirty = true;
      p->end = p->t;
      p->node = LAST_NODE + 1;
      return sample(m, p, false);
    }
    if (p->t < node) break;  // `until` is reached
    st = sample(m, p, false);
    p->node++;
  }
  return st;
}

//------------------------------------ steppers ------------------------------------

// The input at t: the force, with linear extrapolation of the speed; or the wave.
static double force_at(const cpli_tlm_end* e, int32_t k, double t, double now) {
  double c = cpli_segment_at(&e->now, k, t);
  if (e->kind == CPL_TLM_SIGNAL || e->takes_wave) return c;
  return e->sign * (c - e->sigma * e->z[k] * (e->speed[k] + e->slope[k] * (t - now)));
}

static void forces_at(const cpli_tlm_end* e, double t, double now, double* out) {
  double f[CPLI_WIDTH];
  for (int32_t k = 0; k < e->width; k++) f[k] = force_at(e, k, t, now);
  if (e->rotated) turn_back(e, f, out, 1);
  else memcpy(out, f, (size_t)e->width * sizeof *f);
}

static cpl_status give_inputs(const cpli_tlm_part* p, const cpli_tlm_end* e, double to) {
  static const double constant_at[] = {[CPL_TLM_HOLD_MIDDLE] = 0.5, [CPL_TLM_HOLD_START] = 0};
  double first[CPLI_WIDTH], last[CPLI_WIDTH];
  cpl_component* c = &p->inner->base;
  bool curves = p->inner->ops->set_curve != NULL && c->can.input_derivatives >= CPLI_NODES - 1;
  if (e->takes_wave && curves) return give_curve(p->inner, e, false);
  if (p->hold != CPL_TLM_HOLD_LINEAR) {
    forces_at(e, p->t + constant_at[p->hold] * (to - p->t), p->t, first);
    return c->ops->set_real(c, e->in_refs, (size_t)e->width, first);
  }
  cpl_status st = CPL_OK;
  forces_at(e, p->t, p->t, first);
  forces_at(e, to, p->t, last);
  for (int32_t k = 0; k < e->width && st >= 0; k++) {
    cpl_curve curve = {
        .from = p->t, .order = 1, .coefficient = {first[k], (last[k] - first[k]) / (to - p->t)}};
    st = p->inner->ops->set_curve(p->inner, e->in_refs[k], &curve);
  }
  return st;
}

// One step, through all events in it.
static cpl_status step_to(cpli_tlm_part* p, double to) {
  int32_t stuck = 0;
  while (p->t < to && !p->ended) {
    cpl_step_result r = {.time = p->t};
    cpl_status st = p->inner->ops->step(p->inner, to, to, &r);
    if (st < 0) return st;
    stuck = r.time > p->t ? 0 : stuck + 1;
    if (r.end == CPL_STEP_REFUSED || stuck > 100)
      return cpl_fail(p->inner->base.ctx, CPL_ERR_MODEL, "it does not advance to t=%.12g", to);
    p->n_events += r.end == CPL_STEP_EVENT;
    p->ended = r.end == CPL_STEP_TERMINATE;
    p->t = r.end == CPL_STEP_DONE ? to : r.time;
  }
  return CPL_OK;
}

// A constant force over a step that is too long for the mass makes the speed oscillate with growing
// amplitude. A single step counts for a doubling at most: the first one may start from rest.
static cpl_status watch_swings(const cpli_tlm_part* p, cpli_tlm_end* e, int32_t k, double slope) {
  static const double too_wide = 1000;
  double before = fabs(e->slope[k]);
  bool wider = slope * e->slope[k] < 0 && fabs(slope) >= before;
  e->growth[k] = wider ? e->growth[k] * fmin(2, fabs(slope) / before) : 1;
  if (e->growth[k] < too_wide || e->kind == CPL_TLM_SIGNAL) return CPL_OK;
  return cpl_fail(
      p->inner->base.ctx, CPL_ERR_MODEL,
      "the speed of %s oscillates with growing amplitude, because the force is constant "
      "over steps too long for the mass there: more than %d substeps, or a smaller Zf, "
      "help",
      e->name, (int)p->substeps);
}

static cpl_status read_speeds(cpli_tlm* m, cpli_tlm_part* p, double h) {
  cpl_status st = CPL_OK;
  for (int32_t i = 0; i < p->n_ends && st >= 0; i++) {
    cpli_tlm_end* e = end_of(m, p, i);
    double v[CPLI_WIDTH];
    if (!e->sends) continue;
    st = cpli_end_speeds(p->inner, e, v);
    for (int32_t k = 0; k < e->width && st >= 0; k++) {
      double slope = h > 0 ? (v[k] - e->speed[k]) / h : 0;
      st = watch_swings(p, e, k, slope);
      e->slope[k] = slope;
      e->speed[k] = v[k];
    }
  }
  return st;
}

// Three samples per interval are stored, whatever the number of substeps.
static bool is_sampled(const cpli_tlm_part* p) {
  if (p->substeps <= 3 || p->node == p->substeps) return true;
  int64_t n = p->node, all = p->substeps;
  return 3 * n / all != 3 * (n - 1) / all;
}

static cpl_status take_step(cpli_tlm* m, cpli_tlm_part* p, double to) {
  cpl_status st = CPL_OK;
  double before = p->t;
  for (int32_t i = 0; i < p->n_ends && st >= 0; i++) {
    const cpli_tlm_end* e = end_of(m, p, i);
    if (e->takes) st = give_inputs(p, e, to);
  }
  if (st >= 0) st = step_to(p, to);
  if (st >= 0) st = read_speeds(m, p, p->t - before);
  if (st >= 0 && is_sampled(p)) st = sample(m, p, false);
  return st;
}

static double node_time(const cpli_tlm_part* p, int32_t node) {
  return node >= p->substeps ? p->end : p->begin + (p->end - p->begin) * node / p->substeps;
}

static cpl_status step_stepper(cpli_tlm* m, cpli_tlm_part* p, double until) {
  cpl_status st = CPL_OK;
  if (p->node == 0) {
    p->node = 1;
    if (p->restarted) st = read_speeds(m, p, 0);
    if (st >= 0 && p->restarted) st = sample(m, p, true);
  }
  for (; st >= 0 && p->node <= p->substeps && !p->ended; p->node++) {
    double to = node_time(p, p->node);
    if (to > until + near_to(p, until)) break;
    st = take_step(m, p, to);
  }
  return st;
}

cpl_status cpli_part_work(cpli_tlm* m, cpli_tlm_part* p, double until) {
  cpl_status st = p->is_model ? step_model(m, p, until) : step_stepper(m, p, until);
  return st == CPL_RETRY ? CPL_ERR_MODEL : st;
}

cpl_status cpli_part_step(cpli_tlm* m, cpli_tlm_part* p, double until) {
  cpl_step_result r;
  cpl_status st =
      p->out_of_process ? p->s->ops->step(p->s, until, until, &r) : cpli_part_work(m, p, until);
  if (st < 0) cpl_fail_prefix(m->base.base.ctx, st, "%s: at t=%.12g", p->name, p->t);
  return st;
}

//------------------------------------ sending waves ------------------------------------

// For a stepper only samples of the interval count: a polynomial that reaches back would excite
// standing waves.
static void fit_speed(const cpli_tlm_end* e, const cpli_tlm_part* p, int32_t k, double* c) {
  double t[CPLI_NODES], v[CPLI_NODES];
  bool all = p->is_model || e->fresh + 1 > e->n_samples;
  int32_t n = all ? e->n_samples : e->fresh + 1;
  assert(n > 0 && n <= e->n_samples);
  const cpli_sample* s = &e->samples[e->n_samples - n];
  for (int32_t i = 0; i < n; i++) t[i] = s[i].t, v[i] = s[i].v[k];
  cpli_fit(t, v, n, p->begin, c);
}

// w = 2 Z v - sigma c; a signal is sent unchanged.
static void make_wave(cpli_tlm_end* e, const cpli_tlm_part* p, cpli_segment* out) {
  *out = (cpli_segment){.from = p->begin, .to = p->end};
  for (int32_t k = 0; k < e->width; k++) {
    fit_speed(e, p, k, out->c[k]);
    for (int32_t i = 0; i < CPLI_NODES && e->kind != CPL_TLM_SIGNAL; i++)
      out->c[k][i] = 2 * e->z[k] * out->c[k][i] - e->sigma * e->now.c[k][i];
  }
}

static cpl_status send(cpli_tlm_end* e, const cpli_tlm_part* p) {
  cpli_segment s;
  make_wave(e, p, &s);
  for (int32_t k = 0; k < e->width; k++) {
    double last = cpli_segment_at(&s, k, s.to);
    e->scale = fmax(e->scale, fmax(fabs(s.c[k][0]), fabs(last)));
    s.jump = s.jump || (p->restarted && fabs(s.c[k][0] - e->last[k]) > CPLI_JUMP * e->scale);
    e->last[k] = last;
  }
  e->fresh = 0;
  assert(cpli_wave_last(&e->sent)->to == s.from);  // what is sent has no overlap
  return cpli_wave_add(&e->sent, &s);
}

cpl_status cpli_part_publish(cpli_tlm* m, cpli_tlm_part* p) {
  int32_t last = p->is_model ? CPLI_NODES - 1 : p->substeps;
  if (!p->open || p->node <= last) return CPL_OK;
  double near = near_to(p, p->end);
  cpl_status st = CPL_OK;
  p->open = false;
  if (p->end >= m->t_start + (double)(p->grid + 1) * p->h - near) p->grid++;
  if (p->end - p->begin <= near) return CPL_OK;  // an event at the beginning of the interval
  for (int32_t i = 0; i < p->n_ends && st >= 0; i++) {
    cpli_tlm_end* e = end_of(m, p, i);
    if (!e->sends) continue;
    st = send(e, p);
    if (st >= 0) st = cpli_watch_wave(m, e, p->end);
  }
  if (st < 0 && !p->out_of_process)
    cpl_fail_prefix(m->base.base.ctx, st, "%s: at t=%.12g", p->name, p->t);
  assert(p->end > p->published);  // waves are only appended
  p->n_pieces++;
  p->restarted = false;
  p->published = p->end;
  return st;
}
