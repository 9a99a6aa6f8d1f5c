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

double cpli_link_slope(const cpli_master* m, const cpli_master_link* l) {
  return m->outs[l->out].has_slope ? l->factor * m->outs[l->out].slope : NAN;
}

// Points of an interpolation, newest first; a point whose slope is used is there twice.
typedef struct nodes {
  double t[4], u[4], slope[4];
  int32_t n, max;
} nodes;

static void add_node(nodes* p, double t, double u, double slope) {
  for (int32_t k = 0; k < (isnan(slope) ? 1 : 2) && p->n < p->max; k++) {
    p->t[p->n] = t, p->u[p->n] = u;
    p->slope[p->n++] = slope;
  }
}

// The polynomial through the nodes, as powers of (t - from): divided differences, then the powers.
static cpl_curve through(const nodes* p, double from) {
  double d[4] = {p->u[0], p->u[1], p->u[2], p->u[3]};
  for (int32_t j = 1; j < p->n; j++) {
    for (int32_t i = p->n - 1; i >= j; i--) {
      double dt = p->t[i] - p->t[i - j];
      d[i] = dt != 0 ? (d[i] - d[i - 1]) / dt : p->slope[i];
    }
  }
  cpl_curve c = {.from = from, .order = p->n - 1, .coefficient = {d[0]}};
  if (p->n == 1) return c;
  double a = from - p->t[0], b = from - p->t[1];
  c.coefficient[0] = d[0] + d[1] * a + d[2] * a * b;
  c.coefficient[1] = d[1] + d[2] * (a + b);
  c.coefficient[2] = d[2];
  if (p->n < 4) return c;
  double e = from - p->t[2];
  c.coefficient[0] += d[3] * a * b * e;
  c.coefficient[1] += d[3] * (a * b + a * e + b * e);
  c.coefficient[2] += d[3] * (a + b + e);
  c.coefficient[3] = d[3];
  return c;
}

bool cpli_link_jumped(const cpli_master_link* l, double now, double then) {
  double size = fmax(fabs(now), fabs(then));
  if (isnan(now) || isnan(then)) return cpli_values_differ(now, then);
  for (int32_t i = 0; i < l->n_past; i++) size = fmax(size, fabs(l->past[i]));
  return fabs(now - then) > 1e-9 * size;
}

// The number of points that determine the polynomial of a link; a known slope counts as one more.
static int32_t max_nodes(const cpli_master* m, const cpli_master_link* l) {
  const cpli_master_part* p = &m->parts[l->part];
  bool slope = l->n_past > 0 && !isnan(l->past_slope[0]) && p->order < p->max_order;
  return p->order + (slope ? 2 : 1);
}

int32_t cpli_link_order(const cpli_master* m, const cpli_master_link* l) {
  int32_t n = 0, max = max_nodes(m, l);
  for (int32_t i = 0; i < l->n_past; i++) n += isnan(l->past_slope[i]) ? 1 : 2;
  return n < 1 ? 0 : (n < max ? n : max) - 1;
}

// After an event the first guess of a loop is constant, and what it changes is rounding.
static bool is_first_guess(const cpli_master* m, const cpli_master_link* l) {
  return m->iterates && l->n_past == 1 && isnan(l->past_slope[0]) &&
         !cpli_link_jumped(l, l->next, l->past[0]);
}

// The value of an input that is constant over a step, as most are; false: it is a polynomial.
static bool is_held(const cpli_master* m, const cpli_master_link* l, bool exact, bool known,
                    double* value) {
  if (exact && max_nodes(m, l) > 1) return false;
  if (known && is_first_guess(m, l)) known = false;
  *value = known ? l->next : l->n_past > 0 ? l->past[0] : cpli_link_value(m, l);
  return true;
}

cpl_curve cpli_link_curve(const cpli_master* m, const cpli_master_link* l, double t, double t_end,
                          bool known) {
  double value;
  bool exact = t_end > t;  // a step of size zero needs only the value
  if (is_held(m, l, exact, known, &value)) return (cpl_curve){.from = t, .coefficient = {value}};
  if (known && is_first_guess(m, l)) known = false;
  nodes p = {.max = max_nodes(m, l)};
  // The value at the end and the one at the beginning come first, so that inputs are continuous.
  // In loops the slope at the end would be one more unknown.
  bool both_ends = p.max == 4 && m->end_slopes;
  if (known) add_node(&p, t_end, l->next, both_ends ? cpli_link_slope(m, l) : NAN);
  for (int32_t i = 0; i < l->n_past; i++) {
    // a slope over a much shorter interval than the step is noise
    bool second = p.n > 0 && p.t[0] == p.t[p.n - 1];
    if (second && p.t[0] - l->past_t[i] < 0.1 * (t_end - t)) continue;
    add_node(&p, l->past_t[i], l->past[i], l->past_slope[i]);
  }
  if (p.n == 0) add_node(&p, t, cpli_link_value(m, l), NAN);
  return through(&p, t);
}

// The value for a stepper that takes only values: the mean over the step, or the value at its end
// where an output depends on it directly.
static double constant_value(const cpli_master* m, const cpli_master_link* l, double t,
                             double t_end, bool known) {
  double value;
  if (is_held(m, l, t_end > t, known, &value)) return value;
  cpl_curve c = cpli_link_curve(m, l, t, t_end, known);
  if (c.order == 0) return c.coefficient[0];
  if (l->feeds && l->with_step) return cpli_curve_at(&c, t_end);
  double h = t_end - t, sum = 0;
  for (int32_t k = c.order; k >= 0; k--) sum = sum * h + c.coefficient[k] / (k + 1);
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
  if (o->version == l->sent.version && !l->sent.fresh) return CPL_OK;
  l->sent.fresh = false;
  l->sent.version = o->version;
  const char* text = o->bytes != NULL ? o->bytes : "";
  if (l->type == CPL_STRING) return c->ops->set_string(c, &l->ref, 1, &text);
  cpl_binary binary = {(const uint8_t*)text, o->size};
  return c->ops->set_binary(c, &l->ref, 1, &binary);
}

// A tick is handed over once, whatever the link carried before.
static cpl_status set_clock(cpli_master* m, cpl_component* c, cpli_master_link* l) {
  const cpli_out* o = &m->outs[l->out];
  int64_t tick = 1;
  if (o->integer == 0 || o->version == l->sent.version) return CPL_OK;
  l->sent.version = o->version;
  return c->ops->set_integer(c, CPL_CLOCK, &l->ref, 1, &tick);
}

// Values that change only at events are set only when they changed.
static cpl_status set_discrete(cpli_master* m, cpl_component* c, cpli_master_link* l) {
  if (l->fixed && m->running) return CPL_OK;
  if (is_bytes(l->type)) return set_bytes(m, c, l);
  if (l->type == CPL_CLOCK) return set_clock(m, c, l);
  if (l->type == CPL_REAL) {
    double value = l->guessed ? l->next : cpli_link_value(m, l);
    if (!cpli_values_differ(value, l->sent.value) && !l->sent.fresh) return CPL_OK;
    l->sent.value = value;
    l->sent.fresh = false;
    return c->ops->set_real(c, &l->ref, 1, &value);
  }
  int64_t value = as_integer(m, l);
  if ((double)value == l->sent.value && !l->sent.fresh) return CPL_OK;
  l->sent.value = (double)value;
  l->sent.fresh = false;
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
    if (s->ops->set_curve != NULL) {
      cpl_curve curve = cpli_link_curve(m, l, p->t, t_end, known);
      st = s->ops->set_curve(s, l->ref, &curve);
    } else {
      p->in_refs[k] = l->ref;
      p->in_values[k++] = constant_value(m, l, p->t, t_end, known);
    }
  }
  if (st == CPL_OK && k > 0)
    st = s->base.ops->set_real(&s->base, p->in_refs, (size_t)k, p->in_values);
  return st == CPL_RETRY ? cpl_fail_prefix(s->base.ctx, CPL_ERR_MODEL, "inputs at t=%.12g", p->t)
                         : st;
}

//------------------------------------ constant inputs ------------------------------------

// The link into an input of a part that takes only values; NULL: there is none.
static const cpli_master_link* find_constant(const cpli_master* m, const cpli_master_part* p,
                                             uint32_t ref) {
  int32_t low = p->first_constant, high = low + p->n_constant;
  while (low < high) {
    int32_t middle = low + (high - low) / 2;
    const cpli_master_link* l = &m->links[m->constant_links[middle]];
    if (l->ref == ref) return l;
    if (l->ref < ref) low = middle + 1;
    else high = middle;
  }
  return NULL;
}

void cpli_master_show_cached(const cpli_master* m, int32_t part, const uint32_t* refs, size_t n,
                             double* values) {
  const cpli_master_part* p = &m->parts[part];
  for (size_t i = 0; i < n; i++) {
    const cpli_master_link* l = find_constant(m, p, refs[i]);
    if (l != NULL) values[i] = cpli_link_value(m, l);
  }
}

//------------------------------------ history ------------------------------------

static void shift(double past[CPLI_SAMPLES], double newest) {
  for (int32_t k = CPLI_SAMPLES - 1; k > 0; k--) past[k] = past[k - 1];
  past[0] = newest;
}

static void sample(const cpli_master* m, cpli_master_link* l, double t) {
  double value = cpli_link_value(m, l), slope = cpli_link_slope(m, l);
  if (l->n_past > 0 && l->past_t[0] >= t) {  // again
    l->past_t[0] = t, l->past[0] = value, l->past_slope[0] = slope;
  } else {
    shift(l->past_t, t), shift(l->past, value), shift(l->past_slope, slope);
    if (l->n_past < CPLI_SAMPLES) l->n_past++;
  }
  l->next = value;
  l->guessed = false;
}

void cpli_link_jump(const cpli_master* m, cpli_master_link* l, double t) {
  if (l->discrete) return;
  l->n_past = 0;
  sample(m, l, t);
}

// A source that does not stand at t has given its value before.
void cpli_link_renew(const cpli_master* m, cpli_master_link* l, double t, bool kink) {
  if (l->discrete) return;
  if (kink || l->n_past == 0 || cpli_link_jumped(l, cpli_link_value(m, l), l->past[0]))
    cpli_link_jump(m, l, t);
  else if (l->past_t[0] == t) sample(m, l, t);
}

cpl_status cpli_master_get_slopes(cpli_master* m, int32_t part) {
  const cpli_master_part* p = &m->parts[part];
  size_t n = 0;
  if (!p->slopes) return CPL_OK;
  for (int32_t i = p->first_out; i < p->first_out + p->n_outs; i++)
    if (m->outs[i].has_slope) m->refs[n++] = m->outs[i].slope_ref;
  cpl_status st = p->s->ops->get_output_derivatives != NULL
                      ? p->s->ops->get_output_derivatives(p->s, m->refs, n, m->reals)
                      : p->s->base.ops->get_real(&p->s->base, m->refs, n, m->reals);
  n = 0;
  for (int32_t i = p->first_out; i < p->first_out + p->n_outs && st == CPL_OK; i++) {
    if (!m->outs[i].has_slope) continue;
    double slope = m->reals[n++];
    m->outs[i].slope = isfinite(slope) ? slope : NAN;
  }
  return st;
}

cpl_status cpli_master_sample(cpli_master* m, double t, bool jump) {
  cpl_status st = CPL_OK;
  for (int32_t i = 0; i < m->n_parts && st >= 0; i++)
    if (jump || m->parts[i].due) st = cpli_master_get_slopes(m, i);
  for (int32_t i = 0; i < m->n_links; i++) {
    cpli_master_link* l = &m->links[i];
    if (jump) cpli_link_jump(m, l, t);
    else if (!l->discrete && m->parts[m->outs[l->out].part].due) sample(m, l, t);
  }
  return st;
}
