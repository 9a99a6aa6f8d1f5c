// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Switches from one mode to another: reads the final values, computes the values for the new mode,
// resets it, sets them, initialises it, and compares the result.
#include <math.h>

#include "model/adopt.h"
#include "modes/modes.h"

enum { MAX_WARNINGS = 3 };  // of one transition

static const char* text_of(const cpli_transition* t) {
  return t->def.text != NULL ? t->def.text : "a transition";
}

cpl_status cpli_get_number(cpl_component* c, const cpli_modes_read* from, double* out) {
  if (from->type == CPL_REAL) return c->ops->get_real(c, &from->ref, 1, out);
  int64_t integer = 0;
  cpl_status st = c->ops->get_integer(c, (cpl_type)from->type, &from->ref, 1, &integer);
  *out = (double)integer;
  return st;
}

cpl_status cpli_set_number(cpl_component* c, const cpli_modes_read* to, double value) {
  if (to->type == CPL_REAL) return c->ops->set_real(c, &to->ref, 1, &value);
  int64_t integer = to->type == CPL_BOOLEAN ? value != 0 : llround(value);
  return c->ops->set_integer(c, (cpl_type)to->type, &to->ref, 1, &integer);
}

//------------------------------------ the end of a mode ------------------------------------

// Reals of copies and sources.
static cpl_status read_reals(cpl_component* c, cpli_transition* t) {
  struct cpli_values* r = &t->read;
  cpl_status st = r->n > 0 ? c->ops->get_real(c, r->refs, (size_t)r->n, r->values) : CPL_OK;
  if (st != CPL_OK) return st;
  for (int32_t i = 0; i < r->n; i++) {
    int32_t slot = r->slots[i], copy = -1 - slot;
    if (slot >= 0) t->sources[slot] = r->values[i];
    else t->copied[copy] = t->factor[copy] * r->values[i] + t->offset[copy];
  }
  return CPL_OK;
}

static cpl_status read_sources(cpli_modes* m, cpli_transition* t) {
  cpl_component* c = cpli_active(m);
  cpl_status st = read_reals(c, t);
  for (int32_t i = 0; i < t->n_source_others && st == CPL_OK; i++)
    st = cpli_get_number(c, &t->source_others[i], &t->sources[t->source_others[i].slot]);
  for (int32_t i = 0; i < t->def.n_sources && st == CPL_OK; i++) {
    const cpl_mode_value* s = &t->def.sources[i];
    if (s->mode < 0) continue;
    const cpli_mode* other = &m->modes[s->mode];
    if (!other->left)
      return cpl_fail(m->base.base.ctx, CPL_ERR_MODEL,
                      "%s: it needs a value of mode %s, which has not been left before t=%.12g",
                      text_of(t), other->name, m->t);
    t->sources[i] = other->kept_values[s->var];
  }
  return st;
}

static cpl_status read_text(cpli_modes* m, cpl_component* c, struct cpli_other_copy* copy) {
  const char* text = NULL;
  cpl_status st = c->ops->get_string(c, &copy->from, 1, &text);
  if (st != CPL_OK) return st;
  cpli_free(m->base.base.ctx, copy->text);
  copy->text = cpli_strdup(m->base.base.ctx, text != NULL ? text : "");
  return copy->text != NULL ? CPL_OK : cpli_nomem(m->base.base.ctx);
}

static cpl_status read_others(cpli_modes* m, cpli_transition* t) {
  cpl_component* c = cpli_active(m);
  cpl_status st = CPL_OK;
  for (int32_t i = 0; i < t->n_others && st == CPL_OK; i++) {
    struct cpli_other_copy* o = &t->others[i];
    st = o->type == CPL_STRING
             ? read_text(m, c, o)
             : c->ops->get_integer(c, (cpl_type)o->type, &o->from, 1, &o->integer);
  }
  return st;
}

static cpl_status keep_values(cpli_modes* m) {
  cpli_mode* mode = &m->modes[m->active];
  cpl_status st = CPL_OK;
  for (int32_t k = 0; k < mode->n_kept && st == CPL_OK; k++)
    st = cpli_get_number(mode->c, &mode->kept[k], &mode->kept_values[k]);
  mode->left = true;
  return st;
}

// A failure to read values at the end of a mode cannot be avoided by a shorter step.
static cpl_status final(cpli_modes* m, const cpli_transition* t, cpl_status st) {
  if (st == CPL_OK) return st;
  return cpl_fail_prefix(m->base.base.ctx, st == CPL_RETRY ? CPL_ERR_MODEL : st, "%s: at t=%.12g",
                         text_of(t), m->t);
}

static cpl_status compute(cpli_modes* m, cpli_transition* t) {
  cpl_status st = read_sources(m, t);
  if (st == CPL_OK) st = read_others(m, t);
  if (st == CPL_OK) st = keep_values(m);
  if (st == CPL_OK && t->def.map != NULL)
    st = t->def.map(t->def.user, m->t, t->sources, t->results);
  return final(m, t, st);
}

//------------------------------------ the beginning of a mode ------------------------------------

// Returns a mode to before its setup; one that cannot be reset is instantiated anew.
static cpl_status reset(cpli_modes* m, cpli_mode* mode) {
  if (!mode->used) return CPL_OK;
  cpl_component* c = mode->c;
  cpl_status st = c->ops->reset(c);
  bool can_make = m->is_model ? mode->make_model != NULL : mode->make != NULL;
  if (st >= 0 || !can_make) return st;
  cpl_log(m->base.base.ctx, CPL_LOG_INFO, m->base.base.name,
          "mode %s cannot be reset at t=%.12g and is instantiated anew: %s", mode->name, m->t,
          cpl_context_error(m->base.base.ctx));
  cpli_mode fresh = {0};
  st = m->is_model ? mode->make_model(mode->user, &fresh.m) : mode->make(mode->user, &fresh.s);
  if (st >= 0) st = m->is_model ? cpli_adopt_model(fresh.m) : cpli_adopt_stepper(fresh.s);
  if (st < 0) return st;
  c->ops->destroy(c);
  mode->c = fresh.c;
  return CPL_OK;
}

static cpl_status set_starts(cpl_component* c, const cpli_starts* s) {
  cpl_status st = s->n > 0 ? c->ops->set_real(c, s->refs, s->n, s->values) : CPL_OK;
  for (size_t i = 0; i < s->n_others && st >= 0; i++) {
    const cpli_other* o = &s->others[i];
    st = o->type == CPL_STRING ? c->ops->set_string(c, &o->ref, 1, &o->text)
                               : c->ops->set_integer(c, (cpl_type)o->type, &o->ref, 1, &o->integer);
  }
  return st;
}

// Sets parameters that were set from outside.
static cpl_status set_parameters(cpli_modes* m, cpl_component* c) {
  cpl_status st = CPL_OK;
  for (int32_t i = 0; i < m->n_shared[CPLI_SEEN_PARAMETER] && st >= 0; i++) {
    const cpli_modes_shared* p = &m->shared[CPLI_SEEN_PARAMETER][i];
    const cpli_modes_read* at = &p->at[m->active];
    if (p->given && at->slot >= 0) st = cpli_set_number(c, at, p->value);
  }
  return st;
}

static cpl_status set_mapped(cpli_transition* t, cpl_component* c) {
  struct cpli_values* set = &t->set;
  for (int32_t i = 0; i < set->n; i++) {
    int32_t slot = set->slots[i];
    set->values[i] = slot >= 0 ? t->results[slot] : t->copied[-1 - slot];
  }
  cpl_status st = set->n > 0 ? c->ops->set_real(c, set->refs, (size_t)set->n, set->values) : CPL_OK;
  for (int32_t i = 0; i < t->n_others && st >= 0; i++) {
    const struct cpli_other_copy* o = &t->others[i];
    const char* text = o->text;
    st = o->type == CPL_STRING ? c->ops->set_string(c, &o->to, 1, &text)
                               : c->ops->set_integer(c, (cpl_type)o->type, &o->to, 1, &o->integer);
  }
  for (int32_t i = 0; i < t->n_target_others && st >= 0; i++)
    st = cpli_set_number(c, &t->target_others[i], t->results[t->target_others[i].slot]);
  return st;
}

cpl_status cpli_modes_setup(cpli_modes* m, cpli_transition* from) {
  cpli_mode* mode = &m->modes[m->active];
  cpl_status st = reset(m, mode);
  cpl_component* c = mode->c;
  uint64_t since = cpli_ticks();
  mode->used = true;
  mode->stay = ++m->stays;
  if (st >= 0) st = set_starts(c, &mode->starts);
  if (st >= 0) st = set_parameters(m, c);
  if (st >= 0 && from != NULL) st = set_mapped(from, c);
  cpli_stopwatch_add(&m->in_mapping, since);
  cpl_setup setup = m->setup;
  setup.start_time = m->t;
  if (st >= 0) st = c->ops->setup(c, &setup);
  return st < 0 ? st : c->ops->enter_init(c);
}

// Sets inputs to their last values.
static cpl_status set_inputs(cpli_modes* m, cpli_mode* mode) {
  cpl_status st = CPL_OK;
  for (int32_t i = 0; i < m->n_shared[CPLI_SEEN_INPUT] && st >= 0; i++) {
    const cpli_modes_shared* in = &m->shared[CPLI_SEEN_INPUT][i];
    const cpli_modes_read* at = &in->at[m->active];
    if (at->slot < 0) continue;
    if (in->by_curve && mode->s->ops->set_curve != NULL)
      st = mode->s->ops->set_curve(mode->s, at->ref, &in->curve);
    else if (in->given) st = mode->c->ops->set_real(mode->c, &at->ref, 1, &in->value);
  }
  return st;
}

//------------------------------------ comparison ------------------------------------

static void report_difference(cpli_modes* m, cpli_transition* t, uint32_t ref, double wanted,
                              double got) {
  const cpl_description* d = cpli_active(m)->desc;
  const cpl_variable* v = NULL;
  for (int32_t i = 0; i < d->n_vars && v == NULL; i++) {
    if (d->vars[i].ref == ref && d->vars[i].type == CPL_REAL) v = &d->vars[i];
  }
  // relative to its own size; rounding around 0 is no difference
  double size = fmax(fmax(fabs(wanted), fabs(got)), 1e-9 * (v != NULL ? v->nominal : 1));
  if (fabs(got - wanted) <= m->tolerance * size || t->warned > MAX_WARNINGS) return;
  bool last = ++t->warned > MAX_WARNINGS;
  if (last)
    cpl_log(m->base.base.ctx, CPL_LOG_WARNING, m->base.base.name,
            "%s: more values differ; this is not reported again", text_of(t));
  else
    cpl_log(m->base.base.ctx, CPL_LOG_WARNING, m->base.base.name,
            "%s: at t=%.12g %s should start with %.12g, but mode %s changed it to %.12g",
            text_of(t), m->t, v != NULL ? v->name : "a variable", wanted, m->modes[m->active].name,
            got);
}

static cpl_status compare(cpli_modes* m, cpli_transition* t) {
  cpl_component* c = cpli_active(m);
  const struct cpli_values* set = &t->set;
  if (set->n == 0 || t->warned > MAX_WARNINGS) return CPL_OK;
  cpl_status st = c->ops->get_real(c, set->refs, (size_t)set->n, t->seen);
  for (int32_t i = 0; i < set->n && st == CPL_OK; i++) {
    bool again = i + 1 < set->n && set->refs[i + 1] == set->refs[i];  // set twice: the last counts
    double wanted = set->values[i], difference = fabs(t->seen[i] - wanted);
    if (!again && !(difference <= m->tolerance * fabs(wanted)))
      report_difference(m, t, set->refs[i], wanted, t->seen[i]);
  }
  return st;
}

// States of a model are written in continuous-time mode, which it enters after an event.
static cpl_status write_states(const cpli_transition* t, cpl_model* model) {
  cpl_event_info info = {.again = true};
  cpl_status st = CPL_OK;
  for (int round = 0; st >= 0 && info.again && round < CPLI_TRAIL; round++) {
    info = (cpl_event_info){.next_time = INFINITY};
    st = model->ops->event_update(model, &info);
  }
  double* x = t->late_room;
  if (st >= 0) st = model->ops->enter_continuous(model);
  if (st >= 0) st = model->ops->get_states(model, x);
  for (int32_t i = 0; i < t->n_late; i++) x[t->late_states[i]] = t->late_values[i];
  if (st >= 0) st = model->ops->set_states(model, x);
  if (st >= 0) st = model->ops->enter_event(model);
  return st;
}

static cpl_status write_late(cpli_modes* m, cpli_transition* t, cpli_mode* mode) {
  cpl_step_result result;
  if (t->n_late == 0) return CPL_OK;
  for (int32_t i = 0; i < t->n_late; i++) t->late_values[i] = t->results[t->late_targets[i]];
  if (m->is_model) return write_states(t, mode->m);
  cpl_stepper* s = mode->s;
  cpl_status st = s->ops->set_states(s, t->late_states, (size_t)t->n_late, t->late_values);
  do {
    if (st >= 0) st = s->ops->step(s, m->t, m->t, &result);
  } while (st >= 0 && result.again);
  return st;
}

cpl_status cpli_modes_begin(cpli_modes* m, cpli_transition* from) {
  cpli_mode* mode = &m->modes[m->active];
  cpl_status st = set_inputs(m, mode);
  if (st >= 0) st = mode->c->ops->exit_init(mode->c);
  m->entered = m->t;
  if (st < 0 || from == NULL) return st;
  st = write_late(m, from, mode);
  return st >= 0 ? compare(m, from) : st;
}

//------------------------------------ the switch ------------------------------------

static cpl_status observe(cpli_modes* m, double* out) {
  cpl_status st = CPL_OK;
  for (int32_t i = 0; i < m->n_shared[CPLI_SEEN_OBSERVED] && st == CPL_OK; i++) {
    const cpli_modes_read* at = &m->shared[CPLI_SEEN_OBSERVED][i].at[m->active];
    out[i] = NAN;
    if (at->slot >= 0) st = cpli_get_number(cpli_active(m), at, &out[i]);
  }
  return st;
}

// Logs every switch and the jumps of observed variables (--log-level info).
static void log_jumps(cpli_modes* m, int32_t from) {
  const cpl_description* d = &m->shared_desc->base.desc;
  cpl_context* ctx = m->base.base.ctx;
  cpl_log(ctx, CPL_LOG_INFO, m->base.base.name, "t=%.12g: from mode %s to mode %s", m->t,
          m->modes[from].name, m->modes[m->active].name);
  for (int32_t i = 0; i < m->n_shared[CPLI_SEEN_OBSERVED]; i++) {
    double after = NAN, before = m->before[i];
    const cpli_modes_read* at = &m->shared[CPLI_SEEN_OBSERVED][i].at[m->active];
    if (at->slot < 0 || cpli_get_number(cpli_active(m), at, &after) != CPL_OK) continue;
    if (isnan(before) || after == before) continue;
    cpl_log(ctx, CPL_LOG_INFO, m->base.base.name, "t=%.12g: %s jumps from %.12g to %.12g (%.3g)",
            m->t, d->vars[1 + i].name, before, after, after - before);
  }
}

static cpl_status failed(cpli_modes* m, cpl_status st) {
  if (st >= 0 || st == CPL_ERR_CANCELLED) return st;
  return cpl_fail_prefix(m->base.base.ctx, st == CPL_RETRY ? CPL_ERR_MODEL : st,
                         "%s: from mode %s to mode %s at t=%.12g", m->base.base.name,
                         m->modes[m->left].name, m->modes[m->active].name, m->t);
}

cpl_status cpli_modes_follow_transition(cpli_modes* m, cpli_transition* t) {
  uint64_t since = cpli_ticks();
  m->left = m->active;
  cpl_status st = cpli_modes_watch(m, t);
  if (st >= 0 && cpli_logs(m->base.base.ctx, CPL_LOG_INFO)) st = observe(m, m->before);
  if (st >= 0) st = compute(m, t);
  cpli_stopwatch_add(&m->in_mapping, since);
  m->active = t->def.to;
  if (st >= 0) st = cpli_modes_setup(m, t);
  m->switches++;
  cpli_stopwatch_add(&m->in_switches, since);
  return failed(m, st);
}

cpl_status cpli_modes_arrive(cpli_modes* m, cpli_transition* t) {
  uint64_t since = cpli_ticks();
  cpl_status st = cpli_modes_begin(m, t);
  if (st >= 0 && cpli_logs(m->base.base.ctx, CPL_LOG_INFO)) log_jumps(m, m->left);
  cpli_stopwatch_add(&m->in_switches, since);
  return failed(m, st);
}

cpl_status cpli_modes_follow(cpli_modes* m, cpli_transition* t) {
  cpl_status st = cpli_modes_follow_transition(m, t);
  return st < 0 ? st : cpli_modes_arrive(m, t);
}

//------------------------------------ choice of a transition ------------------------------------

static cpl_status holds(cpli_modes* m, cpli_transition* t, bool* out) {
  *out = true;
  if (t->def.when == NULL) return CPL_OK;
  cpl_status st = read_sources(m, t);
  if (st == CPL_OK) st = t->def.when(t->def.user, m->t, t->sources, out);
  return final(m, t, st);
}

cpl_status cpli_modes_choose(cpli_modes* m, int32_t stop, cpli_transition** out) {
  cpli_mode* mode = &m->modes[m->active];
  cpl_status st = CPL_OK;
  *out = NULL;
  for (int32_t i = 0; i < mode->n_transitions && st >= 0; i++) {
    cpli_transition* t = &mode->transitions[i];
    bool fits = t->def.stop == stop;
    if (fits && stop == 0) st = holds(m, t, &fits);
    if (!fits) continue;
    *out = t;
    break;
  }
  if (st < 0 || *out == NULL || (*out)->def.on_entry != CPL_ENTRY_ERROR || m->t > m->entered)
    return st;
  return cpl_fail(m->base.base.ctx, CPL_ERR_MODEL,
                  "%s: this guard is true already when mode %s is entered at t=%.12g",
                  text_of(*out), mode->name, m->t);
}
