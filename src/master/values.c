// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Exchange of values between parts, and the extrapolation of inputs during a step.
#include <math.h>

#include "master/master.h"

static bool is_bytes(uint8_t type) { return type == CPL_STRING || type == CPL_BINARY; }

//------------------------------------ reading ------------------------------------

static cpl_status keep_bytes(cpli_master* m, cpli_out* o, const void* data, size_t size) {
  o->changed = size != o->size || (size > 0 && memcmp(o->bytes, data, size) != 0);
  if (!o->changed) return CPL_OK;
  o->version++;
  if (size + 1 > o->cap) {
    char* bytes = cpli_realloc(m->base.base.ctx, o->bytes, 2 * size + 16, 1);
    if (bytes == NULL) return cpli_nomem(m->base.base.ctx);
    o->bytes = bytes;
    o->cap = 2 * size + 16;
  }
  if (size > 0) memcpy(o->bytes, data, size);
  o->bytes[size] = '\0';
  o->size = size;
  return CPL_OK;
}

static cpl_status get_texts(cpli_master* m, cpl_component* c, const int32_t* items, size_t n) {
  cpl_status st = c->ops->get_string(c, m->refs, n, m->strings);
  for (size_t i = 0; i < n && st == CPL_OK; i++) {
    const char* text = m->strings[i] != NULL ? m->strings[i] : "";
    st = keep_bytes(m, &m->outs[items[i]], text, strlen(text));
  }
  return st;
}

static cpl_status get_binaries(cpli_master* m, cpl_component* c, const int32_t* items, size_t n) {
  cpl_status st = c->ops->get_binary(c, m->refs, n, m->binaries);
  for (size_t i = 0; i < n && st == CPL_OK; i++)
    st = keep_bytes(m, &m->outs[items[i]], m->binaries[i].data, m->binaries[i].size);
  return st;
}

static cpl_status get_run(cpli_master* m, cpl_component* c, cpl_type type, const int32_t* items,
                          size_t n) {
  if (type == CPL_STRING) return get_texts(m, c, items, n);
  if (type == CPL_BINARY) return get_binaries(m, c, items, n);
  cpl_status st;
  if (type == CPL_REAL) {
    st = c->ops->get_real(c, m->refs, n, m->reals);
    for (size_t i = 0; i < n && st == CPL_OK; i++) {
      cpli_out* o = &m->outs[items[i]];
      o->changed = cpli_values_differ(o->real, m->reals[i]);
      o->real = m->reals[i];
    }
    return st;
  }
  st = c->ops->get_integer(c, type, m->refs, n, m->integers);
  for (size_t i = 0; i < n && st == CPL_OK; i++) {
    cpli_out* o = &m->outs[items[i]];
    o->changed = o->integer != m->integers[i];
    o->integer = m->integers[i];
    if (type == CPL_CLOCK && o->integer != 0) {  // it may have ticked before, and again
      o->changed = o->version != m->parts[o->part].calls;
      o->version = m->parts[o->part].calls;
    }
  }
  return st;
}

cpl_status cpli_master_get(cpli_master* m, int32_t part, const int32_t* items, int32_t n) {
  cpl_component* c = &m->parts[part].s->base;
  for (int32_t i = 0; i < n;) {
    uint8_t type = m->outs[items[i]].type;
    int32_t k = 0;
    for (; i + k < n && m->outs[items[i + k]].type == type; k++)
      m->refs[k] = m->outs[items[i + k]].ref;
    cpl_status st = get_run(m, c, (cpl_type)type, items + i, (size_t)k);
    if (st != CPL_OK)
      return st == CPL_RETRY ? cpl_fail_prefix(c->ctx, CPL_ERR_MODEL, "outputs at t=%.12g", m->t)
                             : st;
    i += k;
  }
  return CPL_OK;
}

//------------------------------------ links ------------------------------------

double cpli_link_value(const cpli_master* m, const cpli_master_link* l) {
  const cpli_out* o = &m->outs[l->out];
  double value = o->type == CPL_REAL ? o->real : (double)o->integer;
  return l->factor * value + l->offset;
}

// The polynomial through up to three points, as powers of (t - from).
static cpl_curve through(const double* t, const double* u, int32_t order, double from) {
  cpl_curve c = {.from = from, .order = order, .coefficient = {u[0]}};
  if (order == 0) return c;
  double slope = (u[1] - u[0]) / (t[1] - t[0]), a = from - t[0], bend = 0;
  if (order == 2) bend = ((u[2] - u[1]) / (t[2] - t[1]) - slope) / (t[2] - t[0]);
  double b = from - t[1];
  c.coefficient[0] = u[0] + slope * a + bend * a * b;
  c.coefficient[1] = slope + bend * (a + b);
  c.coefficient[2] = bend;
  return c;
}

bool cpli_link_jumped(const cpli_master_link* l, double now, double then) {
  double size = fmax(fabs(now), fabs(then));
  if (isnan(now) || isnan(then)) return cpli_values_differ(now, then);
  for (int32_t i = 0; i < l->n_past; i++) size = fmax(size, fabs(l->past[i]));
  return fabs(now - then) > 1e-9 * size;
}

cpl_curve cpli_link_curve(const cpli_master* m, const cpli_master_link* l, double t, double t_end,
                          bool known) {
  double ts[CPLI_SAMPLES + 1], us[CPLI_SAMPLES + 1];
  int32_t n = 0, order = m->parts[l->part].order;
  // after an event the first guess of a loop is constant, and what it changes is rounding
  if (known && m->iterates && l->n_past == 1 && !cpli_link_jumped(l, l->next, l->past[0]))
    known = false;
  if (known) ts[n] = t_end, us[n++] = l->next;
  for (int32_t i = 0; i < l->n_past; i++) ts[n] = l->past_t[i], us[n++] = l->past[i];
  if (order > n - 1) order = n - 1;
  // a slope over a much shorter interval than the step is noise
  if (order > 0 && ts[0] - ts[1] < 0.1 * (t_end - t)) order = 0;
  if (known && t_end <= t) order = 0;
  return through(ts, us, order > 0 ? order : 0, t);
}

// The value for a stepper that takes only values: the mean over the step, or the value at its end
// where an output depends on it directly.
static double constant_value(const cpli_master_link* l, const cpl_curve* c, double t,
                             double t_end) {
  if (c->order == 0) return c->coefficient[0];
  if (l->feeds && l->with_step) return cpli_curve_at(c, t_end);
  double h = t_end - t, sum = 0;
  for (int32_t k = c->order; k >= 0; k--) sum = sum * h + c->coefficient[k] / (k + 1);
  return sum;
}

//------------------------------------ writing ------------------------------------

static int64_t as_integer(const cpli_master* m, const cpli_master_link* l) {
  const cpli_out* o = &m->outs[l->out];
  if (l->guessed) return l->type == CPL_BOOLEAN ? l->next != 0 : llround(l->next);
  if (o->type != CPL_REAL) return l->type == CPL_BOOLEAN ? o->integer != 0 : o->integer;
  double value = cpli_link_value(m, l);
  return l->type == CPL_BOOLEAN ? value != 0 : llround(value);
}

static cpl_status set_bytes(cpli_master* m, cpl_component* c, cpli_master_link* l) {
  const cpli_out* o = &m->outs[l->out];
  if (o->version == l->version && !l->fresh) return CPL_OK;
  l->fresh = false;
  l->version = o->version;
  const char* text = o->bytes != NULL ? o->bytes : "";
  if (l->type == CPL_STRING) return c->ops->set_string(c, &l->ref, 1, &text);
  cpl_binary binary = {(const uint8_t*)text, o->size};
  return c->ops->set_binary(c, &l->ref, 1, &binary);
}

// A tick is handed over once, whatever the link carried before.
static cpl_status set_clock(cpli_master* m, cpl_component* c, cpli_master_link* l) {
  const cpli_out* o = &m->outs[l->out];
  int64_t tick = 1;
  if (o->integer == 0 || o->version == l->version) return CPL_OK;
  l->version = o->version;
  return c->ops->set_integer(c, CPL_CLOCK, &l->ref, 1, &tick);
}

// Values that change only at events are set only when they changed.
static cpl_status set_discrete(cpli_master* m, cpl_component* c, cpli_master_link* l) {
  if (l->fixed && m->running) return CPL_OK;
  if (is_bytes(l->type)) return set_bytes(m, c, l);
  if (l->type == CPL_CLOCK) return set_clock(m, c, l);
  if (l->type == CPL_REAL) {
    double value = l->guessed ? l->next : cpli_link_value(m, l);
    if (!cpli_values_differ(value, l->sent) && !l->fresh) return CPL_OK;
    l->sent = value;
    l->fresh = false;
    return c->ops->set_real(c, &l->ref, 1, &value);
  }
  int64_t value = as_integer(m, l);
  if ((double)value == l->sent && !l->fresh) return CPL_OK;
  l->sent = (double)value;
  l->fresh = false;
  return c->ops->set_integer(c, (cpl_type)l->type, &l->ref, 1, &value);
}

cpl_status cpli_master_set(cpli_master* m, int32_t part, const int32_t* items, int32_t n) {
  cpl_stepper* s = m->parts[part].s;
  cpl_component* c = &s->base;
  bool curves = m->running && s->ops->set_curve != NULL;
  int32_t k = 0;
  cpl_status st = CPL_OK;
  for (int32_t i = 0; i < n && st == CPL_OK; i++) {
    cpli_master_link* l = &m->links[items[i]];
    if (l->discrete) {
      st = set_discrete(m, c, l);
      continue;
    }
    double value = l->guessed ? l->next : cpli_link_value(m, l);
    cpl_curve curve = {.from = m->parts[part].t, .coefficient = {value}};
    if (curves) st = s->ops->set_curve(s, l->ref, &curve);
    else m->refs[k] = l->ref, m->reals[k++] = value;
  }
  if (st == CPL_OK && k > 0) st = c->ops->set_real(c, m->refs, (size_t)k, m->reals);
  return st == CPL_RETRY ? cpl_fail_prefix(c->ctx, CPL_ERR_MODEL, "inputs at t=%.12g", m->t) : st;
}

cpl_status cpli_master_inputs(cpli_master* m, cpli_master_part* p, double t_end) {
  cpl_stepper* s = p->s;
  int32_t k = 0;
  cpl_status st = CPL_OK;
  for (int32_t i = p->first_link; i < p->first_link + p->n_links && st == CPL_OK; i++) {
    cpli_master_link* l = &m->links[i];
    if (l->discrete) {
      st = set_discrete(m, &s->base, l);
      continue;
    }
    bool known = l->with_step && !l->delayed && !m->parts[m->outs[l->out].part].jumped &&
                 !(m->blind && p->can_restore);
    if (known && !l->guessed) l->next = cpli_link_value(m, l);
    cpl_curve curve = cpli_link_curve(m, l, p->t, t_end, known);
    if (s->ops->set_curve != NULL) st = s->ops->set_curve(s, l->ref, &curve);
    else p->in_refs[k] = l->ref, p->in_values[k++] = constant_value(l, &curve, p->t, t_end);
  }
  if (st == CPL_OK && k > 0)
    st = s->base.ops->set_real(&s->base, p->in_refs, (size_t)k, p->in_values);
  return st == CPL_RETRY ? cpl_fail_prefix(s->base.ctx, CPL_ERR_MODEL, "inputs at t=%.12g", p->t)
                         : st;
}

//------------------------------------ constant inputs ------------------------------------

// The first position in m->constant_links that is not before this input.
static int32_t find_constant(const cpli_master* m, int32_t part, uint32_t ref) {
  int32_t low = 0, high = m->n_constant;
  while (low < high) {
    int32_t middle = low + (high - low) / 2;
    const cpli_master_link* l = &m->links[m->constant_links[middle]];
    if (l->part < part || (l->part == part && l->ref < ref)) low = middle + 1;
    else high = middle;
  }
  return low;
}

void cpli_master_show_cached(const cpli_master* m, int32_t part, const uint32_t* refs, size_t n,
                             double* values) {
  if (m->parts[part].s->ops->set_curve != NULL) return;
  for (size_t i = 0; i < n; i++) {
    int32_t k = find_constant(m, part, refs[i]);
    if (k == m->n_constant) continue;
    const cpli_master_link* l = &m->links[m->constant_links[k]];
    if (l->part == part && l->ref == refs[i]) values[i] = cpli_link_value(m, l);
  }
}

//------------------------------------ history ------------------------------------

static void sample(const cpli_master* m, cpli_master_link* l, double t) {
  bool again = l->n_past > 0 && l->past_t[0] >= t;
  int32_t n = l->n_past < CPLI_SAMPLES ? l->n_past : CPLI_SAMPLES - 1;
  for (int32_t k = n; k > 0 && !again; k--)
    l->past_t[k] = l->past_t[k - 1], l->past[k] = l->past[k - 1];
  l->past_t[0] = t;
  l->past[0] = cpli_link_value(m, l);
  if (!again) l->n_past = n + 1;
  l->next = l->past[0];
  l->guessed = false;
}

void cpli_link_jump(const cpli_master* m, cpli_master_link* l, double t) {
  if (l->discrete) return;
  l->n_past = 0;
  sample(m, l, t);
}

void cpli_master_sample(cpli_master* m, double t, bool jump) {
  for (int32_t i = 0; i < m->n_links; i++) {
    cpli_master_link* l = &m->links[i];
    if (jump) cpli_link_jump(m, l, t);
    else if (!l->discrete && m->parts[m->outs[l->out].part].due) sample(m, l, t);
  }
}
