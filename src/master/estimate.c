// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Communication steps with error control. A step whose error is too large is rolled back where all
// parts can be; otherwise it is accepted and the next one is shorter.
#include <float.h>
#include <math.h>

#include "master/master.h"

//------------------------------------ rollback ------------------------------------

cpli_moment cpli_master_now(const cpli_master* m) {
  return (cpli_moment){m->t, m->pending, m->ended};
}

bool cpli_master_can_return(const cpli_master* m) {
  for (int32_t i = 0; i < m->n_parts; i++) {
    if (!m->parts[i].can_restore || m->parts[i].step > 0) return false;
  }
  return m->saves;
}

const char* cpli_master_without_return(const cpli_master* m, const char** why) {
  for (int32_t i = 0; i < m->n_parts; i++) {
    const cpli_master_part* p = &m->parts[i];
    *why = p->can_restore ? "keeps its own communication points"
           : p->step > 0  ? "can neither be rolled back nor vary its step"
                          : "cannot be rolled back";
    if (!p->can_restore || p->step > 0) return p->s->base.name;
  }
  *why = "is not rolled back with this algorithm";
  return m->base.base.name;
}

void cpli_master_keep(cpli_master* m) {
  memcpy(m->kept_links, m->links, (size_t)m->n_links * sizeof *m->links);
  for (int32_t i = 0; i < m->n_outs; i++) m->kept_outs[i] = m->outs[i];
}

cpl_status cpli_master_return(cpli_master* m, const cpli_moment* begin) {
  cpl_status st = CPL_OK;
  memcpy(m->links, m->kept_links, (size_t)m->n_links * sizeof *m->links);
  for (int32_t i = 0; i < m->n_links; i++) m->links[i].saved = m->links[i].sent;
  for (int32_t i = 0; i < m->n_outs; i++) {
    m->outs[i].real = m->kept_outs[i].real;
    m->outs[i].integer = m->kept_outs[i].integer;
    if (m->outs[i].type == CPL_CLOCK) m->outs[i].version = m->kept_outs[i].version;
    m->outs[i].changed = true;
  }
  for (int32_t i = 0; i < m->n_parts && st >= 0; i++) {
    cpli_master_part* p = &m->parts[i];
    p->t = begin->t;
    p->pending = false;
    st = cpli_master_rewind(m, p);
  }
  m->t = begin->t;
  m->pending = begin->pending;
  m->ended = begin->ended;
  m->n_repeated++;
  return st;
}

static void swap_snapshots(cpli_master* m) {
  for (int32_t i = 0; i < m->n_parts; i++) {
    cpl_snapshot kept = m->parts[i].saved;
    m->parts[i].saved = m->parts[i].first;
    m->parts[i].first = kept;
    double kept_t = m->parts[i].saved_t;
    m->parts[i].saved_t = m->parts[i].first_t;
    m->parts[i].first_t = kept_t;
  }
}

//------------------------------------ outputs ------------------------------------

static bool is_watched(const cpl_variable* v) {
  bool output = v->causality == CPL_CAUSALITY_OUTPUT || v->inner_output;
  return output && v->type == CPL_REAL && v->variability == CPL_VARIABILITY_CONTINUOUS;
}

// Richardson's estimate compares all outputs, not only connected ones: the effect of a table or a
// formula on a single stepper appears in its outputs alone.
cpl_status cpli_master_watch(cpli_master* m) {
  struct cpli_watch* w = &m->watch;
  if (!(m->def.tolerance > 0) || m->def.estimate != CPL_ESTIMATE_RICHARDSON) return CPL_OK;
  for (int32_t i = 0; i < m->n_parts; i++) {
    const cpl_description* d = m->parts[i].s->base.desc;
    for (int32_t k = 0; k < d->n_vars; k++) w->n += is_watched(&d->vars[k]);
  }
  size_t n = (size_t)w->n;
  w->first = cpli_arena_alloc(&m->arena, (size_t)m->n_parts + 1, sizeof *w->first);
  w->refs = cpli_arena_alloc(&m->arena, n, sizeof *w->refs);
  w->nominal = cpli_arena_alloc(&m->arena, 4 * n + (size_t)m->n_links, sizeof *w->nominal);
  if (w->first == NULL || w->refs == NULL || w->nominal == NULL)
    return cpli_nomem(m->base.base.ctx);
  w->begin = w->nominal + n;
  w->coarse = w->begin + n;
  w->now = w->coarse + n;
  w->link_begin = w->now + n;
  w->n = 0;
  for (int32_t i = 0; i < m->n_parts; i++) {
    const cpl_description* d = m->parts[i].s->base.desc;
    w->first[i] = w->n;
    for (int32_t k = 0; k < d->n_vars; k++) {
      if (!is_watched(&d->vars[k])) continue;
      w->nominal[w->n] = d->vars[k].nominal;
      w->refs[w->n++] = d->vars[k].ref;
    }
  }
  w->first[m->n_parts] = w->n;
  return CPL_OK;
}

static cpl_status read_outputs(cpli_master* m, double* values) {
  const struct cpli_watch* w = &m->watch;
  for (int32_t i = 0; i < m->n_parts; i++) {
    cpl_component* c = &m->parts[i].s->base;
    int32_t first = w->first[i], n = w->first[i + 1] - first;
    if (n == 0) continue;
    cpl_status st = c->ops->get_real(c, w->refs + first, (size_t)n, values + first);
    if (st == CPL_RETRY) st = cpl_fail_prefix(c->ctx, CPL_ERR_MODEL, "outputs at t=%.12g", m->t);
    if (st < 0) return st;
  }
  return CPL_OK;
}

//------------------------------------ errors ------------------------------------

static double scaled(const cpli_master* m, const cpli_master_link* l, double difference,
                     double size) {
  return fabs(difference) / (m->def.tolerance * fmax(fabs(size), l->nominal));
}

// Compares the inputs assumed for the end of the step with their actual values.
static double predictor_error(const cpli_master* m) {
  double worst = 0;
  for (int32_t i = 0; i < m->n_links; i++) {
    const cpli_master_link* l = &m->links[i];
    if (l->discrete) continue;
    double value = cpli_link_value(m, l);
    worst = fmax(worst, scaled(m, l, value - m->assumed[i], value));
  }
  return worst;
}

static double energy_error(const cpli_master* m) {
  double worst = 0;
  for (int32_t i = 0; i < m->n_bonds; i++) {
    const cpli_master_link *e = &m->links[m->bonds[i].effort], *f = &m->links[m->bonds[i].flow];
    double effort = cpli_link_value(m, e), flow = cpli_link_value(m, f);
    double lost = m->assumed[m->bonds[i].effort] * flow - effort * m->assumed[m->bonds[i].flow];
    double scale = fmax(fabs(effort * flow), e->nominal * f->nominal);
    worst = fmax(worst, fabs(lost) / (m->def.tolerance * scale));
  }
  return worst;
}

static void assume(cpli_master* m, double t_end) {
  for (int32_t i = 0; i < m->n_links; i++) {
    if (m->links[i].discrete) continue;
    cpl_curve c = cpli_link_curve(m, &m->links[i], m->t, t_end, false);
    m->assumed[i] = cpli_curve_at(&c, t_end);
  }
}

// The order of the polynomials that inputs followed in the step that began with kept_links.
static int32_t order_of_step(const cpli_master* m) {
  int32_t lowest = -1;
  for (int32_t i = 0; i < m->n_links; i++) {
    const cpli_master_link* l = &m->kept_links[i];
    int32_t order = l->discrete ? -1 : cpli_link_order(m, l);
    if (order >= 0 && (lowest < 0 || order < lowest)) lowest = order;
  }
  return lowest >= 0 ? lowest : m->def.order;
}

typedef struct value {
  double begin, coarse, fine, nominal;
} value;

static value value_at(const cpli_master* m, int32_t i) {
  const struct cpli_watch* w = &m->watch;
  if (i < w->n) return (value){w->begin[i], w->coarse[i], w->now[i], w->nominal[i]};
  i -= w->n;
  const cpli_master_link* l = &m->links[i];
  double fine = cpli_link_value(m, l);
  if (l->discrete) return (value){fine, fine, fine, 1};
  return (value){w->link_begin[i], m->assumed[i], fine, l->nominal};
}

static double size_of(const value* v) { return fmax(fabs(v->fine), v->nominal); }

// Two half steps against one step: the difference is the error of the half steps times 2^(p+1) - 1,
// with inputs of order p. It is compared with the tolerance times the relative change of the values
// in the step, so that the sum over all steps is the tolerance times the total change, however many
// steps there are. The change counts as at least a hundredth, because parts have errors of their
// own.
static double richardson_error(cpli_master* m) {
  static const double min_change = 1e-2;
  double change = min_change, worst = 0, gain = ldexp(1, order_of_step(m) + 1) - 1;
  int32_t n = m->watch.n + m->n_links;
  for (int32_t i = 0; i < n; i++) {
    value v = value_at(m, i);
    change = fmax(change, fmin(1, fabs(v.fine - v.begin) / size_of(&v)));
  }
  for (int32_t i = 0; i < n; i++) {
    value v = value_at(m, i);
    double error = fabs(v.fine - v.coarse) / gain / (m->def.tolerance * change * size_of(&v));
    if (!(error <= worst)) worst = error;
  }
  m->moved = change;
  return worst;
}

// One step, then the same interval in two half steps, whose result is kept.
static cpl_status richardson(cpli_master* m, double goal, double* error) {
  cpli_moment begin = cpli_master_now(m);
  cpli_master_keep(m);
  cpl_status st = read_outputs(m, m->watch.begin);
  for (int32_t i = 0; i < m->n_links; i++)
    m->watch.link_begin[i] = cpli_link_value(m, &m->links[i]);
  if (st >= 0) st = cpli_master_step(m, goal);
  if (st >= 0) st = read_outputs(m, m->watch.coarse);
  if (st < 0) return st;
  goal = m->t;  // an event may have ended the step early
  for (int32_t i = 0; i < m->n_links; i++) m->assumed[i] = cpli_link_value(m, &m->links[i]);
  st = cpli_master_return(m, &begin);
  double middle = begin.t + (goal - begin.t) / 2;
  if (st >= 0) st = cpli_master_step(m, middle);
  // an event at the beginning of the half step (m->crossed) must be located there first
  if (st >= 0 && m->t == middle && !m->pending && !m->ended && !m->crossed) {
    swap_snapshots(m);  // the first snapshot must survive
    st = cpli_master_step(m, goal);
    swap_snapshots(m);
  }
  if (st >= 0 && m->t == goal) st = read_outputs(m, m->watch.now);
  *error = st >= 0 && m->t == goal ? richardson_error(m) : 0;
  return st;
}

static cpl_status one_step(cpli_master* m, double goal, double* error) {
  if (m->def.estimate == CPL_ESTIMATE_RICHARDSON) return richardson(m, goal, error);
  cpli_master_keep(m);
  assume(m, goal);
  m->moved = 1;
  double begin = m->t;
  cpl_status st = cpli_master_step(m, goal);
  if (st >= 0 && m->t < goal) {  // cut short by an event: the assumption was for a later time
    cpli_master_link* links = m->links;
    m->links = m->kept_links;
    double end = m->t;
    m->t = begin;
    assume(m, end);
    m->t = end;
    m->links = links;
  }
  if (st >= 0)
    *error = m->def.estimate == CPL_ESTIMATE_ENERGY ? energy_error(m) : predictor_error(m);
  return st;
}

//------------------------------------ kinks ------------------------------------

double cpli_master_kink(cpli_master* m, double tolerance) {
  double next = INFINITY;
  for (int32_t i = 0; i < m->n_parts; i++) {
    cpli_master_part* p = &m->parts[i];
    p->kink = p->s->ops->next_break != NULL ? p->s->ops->next_break(p->s, tolerance) : INFINITY;
    next = fmin(next, p->kink);
  }
  return next;
}

// Steps that cannot be rolled back are short again, as at the start.
void cpli_master_pass_kink(cpli_master* m) {
  for (int32_t i = 0; i < m->n_links; i++) {
    cpli_master_link* l = &m->links[i];
    if (m->parts[m->outs[l->out].part].kink > m->t) continue;
    cpli_link_jump(m, l, m->t);
    l->past_slope[0] = NAN;  // it may be that before the kink
  }
  if (!cpli_master_can_return(m)) m->h = 0;
}

//------------------------------------ step-size control ------------------------------------

// The estimate grows with the step to the power of order + 1: the error of inputs, or its effect on
// the values relative to their change.
static double factor_for(const cpli_master* m, double error) {
  double power = 1.0 / (order_of_step(m) + 1);
  return fmin(2, fmax(0.2, 0.8 * pow(fmax(error, 1e-10), -power)));
}

// The shortest step that error control takes; it also keeps time advancing.
static double shortest_step(const cpli_master* m, double target) {
  double usual = m->def.step > 0 ? m->def.step : target - m->t;
  double min_h = m->def.min_step > 0 ? m->def.min_step : 1e-6 * usual;
  return fmax(min_h, 8 * DBL_EPSILON * fabs(m->t));
}

static void warn_shortest(cpli_master* m, double error, double h) {
  if (m->warned_shortest || !(error > 1)) return;
  m->warned_shortest = true;
  cpl_log(m->base.base.ctx, CPL_LOG_WARNING, m->base.base.name,
          "the error of the communication step at t=%.12g is %.3g times the tolerance, and no step "
          "is shorter than %.3g (min-step): such steps are accepted",
          m->t, error, h);
}

// Counts an accepted step whose error is too large.
static void note_inaccurate(cpli_master* m, const cpli_moment* begin, double error) {
  const char *why, *name = cpli_master_without_return(m, &why);
  if (error > m->worst) m->worst = error, m->worst_t = begin->t;
  if (m->n_inaccurate++ > 0 || m->warned_shortest) return;
  cpl_log(m->base.base.ctx, CPL_LOG_WARNING, m->base.base.name,
          "the communication step from t=%.12g to t=%.12g has an error of about %.3g, more than "
          "the tolerance of %.3g, and is accepted: %s %s. Only the following steps are shortened "
          "(a smaller step helps: master: step; their number is reported at the end)",
          begin->t, m->t, error * m->def.tolerance, m->def.tolerance, name, why);
}

void cpli_master_report_inaccurate(const cpli_master* m) {
  if (m->n_inaccurate == 0) return;
  cpl_log(m->base.base.ctx, CPL_LOG_WARNING, m->base.base.name,
          "%lld of %lld communication steps had a larger error than the tolerance of %.3g and were "
          "accepted; the largest error is about %.3g, in the step from t=%.12g on",
          (long long)m->n_inaccurate, (long long)m->n_steps, m->def.tolerance,
          m->worst * m->def.tolerance, m->worst_t);
}

// An error that a shorter step does not reduce comes from the parts' own errors. It is accepted if
// the step itself is within the tolerance, since shorter steps do not help.
static bool is_noise(const cpli_master* m, double error, double last) {
  return error > 1 && error >= 0.7 * last && error * m->moved <= 1;
}

cpl_status cpli_master_controlled_step(cpli_master* m, double target) {
  if (!(m->def.tolerance > 0)) return cpli_master_step(m, target);
  bool back = cpli_master_can_return(m);
  double min_h = shortest_step(m, target), last = INFINITY;
  if (!(m->h > 0)) m->h = fmin(target - m->t, m->def.step > 0 ? m->def.step / 100 : INFINITY);
  for (;;) {
    cpli_moment begin = cpli_master_now(m);
    double goal = m->t + m->h, error = 0;
    if (goal > target - 0.1 * m->h) goal = target;
    bool shortest = m->h <= min_h;
    cpl_status st = one_step(m, goal, &error);
    if (st < 0) return st;
    double h = m->t - begin.t;
    bool noise = is_noise(m, error, last);
    if (error <= 1 || !back || shortest || noise) {
      if (shortest) warn_shortest(m, error, min_h);
      if (error > 1 && !back) note_inaccurate(m, &begin, error);
      double next = noise ? 2 * h : h * factor_for(m, error);
      bool cut = h < m->h;  // by an event or the end, not by its error
      m->h = fmax(cut && error <= 1 ? fmax(m->h, next) : next, min_h);
      if (m->def.step > 0) m->h = fmin(m->h, m->def.step);
      return CPL_OK;
    }
    last = error;
    m->h = fmax(h * fmin(0.8, factor_for(m, error)), min_h);
    st = cpli_master_return(m, &begin);
    if (st < 0) return st;
  }
}
