// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Communication steps whose size follows their error. A step with too large an error is taken back
// where all parts can; otherwise it stays and the next one is shorter.
#include <math.h>

#include "master/master.h"

//------------------------------------ going back ------------------------------------

cpli_moment cpli_master_now(const cpli_master* m) {
  return (cpli_moment){m->t, m->pending, m->ended};
}

bool cpli_master_can_return(const cpli_master* m) {
  for (int32_t i = 0; i < m->n_parts; i++) {
    if (!m->parts[i].can_restore || m->parts[i].step > 0) return false;
  }
  return m->saves;
}

void cpli_master_keep(cpli_master* m) {
  memcpy(m->kept_links, m->links, (size_t)m->n_links * sizeof *m->links);
  for (int32_t i = 0; i < m->n_outs; i++) m->kept_outs[i] = m->outs[i];
}

cpl_status cpli_master_return(cpli_master* m, const cpli_moment* begin) {
  cpl_status st = CPL_OK;
  memcpy(m->links, m->kept_links, (size_t)m->n_links * sizeof *m->links);
  for (int32_t i = 0; i < m->n_outs; i++) {
    m->outs[i].real = m->kept_outs[i].real;
    m->outs[i].integer = m->kept_outs[i].integer;
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
  m->stats.repeated++;
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

//------------------------------------ errors ------------------------------------

static double scaled(const cpli_master* m, const cpli_master_link* l, double difference,
                     double size) {
  return fabs(difference) / (m->def.tolerance * fmax(fabs(size), l->nominal));
}

// Inputs as they were assumed at the end of the step, against what they became.
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

// One step, then the same way in two halves, which stay. Their difference is the error of the
// longer one times (1 - 2^-p); of the shorter ones it is the 2^p-th part, which is not subtracted.
static cpl_status richardson(cpli_master* m, double goal, double* error) {
  cpli_moment begin = cpli_master_now(m);
  cpli_master_keep(m);
  cpl_status st = cpli_master_step(m, goal);
  if (st < 0) return st;
  goal = m->t;  // an event may have come before
  for (int32_t i = 0; i < m->n_links; i++) m->assumed[i] = cpli_link_value(m, &m->links[i]);
  st = cpli_master_return(m, &begin);
  double middle = begin.t + (goal - begin.t) / 2;
  if (st >= 0) st = cpli_master_step(m, middle);
  if (st >= 0 && m->t == middle && !m->pending && !m->ended) {
    swap_snapshots(m);  // the first one must survive
    st = cpli_master_step(m, goal);
    swap_snapshots(m);
  }
  *error = st >= 0 && m->t == goal ? predictor_error(m) : 0;
  return st;
}

static cpl_status one_step(cpli_master* m, double goal, double* error) {
  if (m->def.estimate == CPL_ESTIMATE_RICHARDSON) return richardson(m, goal, error);
  cpli_master_keep(m);
  assume(m, goal);
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

//------------------------------------ control ------------------------------------

static double factor_for(const cpli_master* m, double error) {
  double power = 1.0 / (m->def.order + 1);
  return fmin(2, fmax(0.2, 0.8 * pow(fmax(error, 1e-10), -power)));
}

cpl_status cpli_master_controlled_step(cpli_master* m, double target) {
  if (!(m->def.tolerance > 0)) return cpli_master_step(m, target);
  bool back = cpli_master_can_return(m);
  if (!(m->h > 0)) m->h = fmin(target - m->t, m->def.step > 0 ? m->def.step / 100 : INFINITY);
  for (;;) {
    cpli_moment begin = cpli_master_now(m);
    double goal = m->t + m->h, error = 0;
    if (goal > target - 0.1 * m->h) goal = target;
    double least =
        m->def.min_step > 0 ? m->def.min_step : 1e-6 * (m->def.step > 0 ? m->def.step : 1);
    cpl_status st = one_step(m, goal, &error);
    if (st < 0) return st;
    double h = m->t - begin.t;
    if (error <= 1 || !back || h <= least) {
      double next = h * factor_for(m, error);
      bool cut = h < m->h;  // by an event or the end, not by its error
      m->h = fmax(cut && error <= 1 ? fmax(m->h, next) : next, least);
      if (m->def.step > 0) m->h = fmin(m->h, m->def.step);
      return CPL_OK;
    }
    m->h = fmax(h * fmin(0.8, factor_for(m, error)), least);
    st = cpli_master_return(m, &begin);
    if (st < 0) return st;
  }
}
