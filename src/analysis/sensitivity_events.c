// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Events of a model with its sensitivities. When a parameter changes, the time of an event changes,
// too: each perturbed instance is moved along its solution to the time at which it has the event
// itself, is updated there, and is moved back along the slopes after the event. The difference of
// two instances then has the jump of the sensitivities: ds+ = g_x (s- + f- dt) + g_k - f+ dt for a
// reset x+ = g(x-, k). Instances that take another branch than the model are noticed by their
// discrete variables and by their jumps.
#include <float.h>
#include <math.h>
#include <stdio.h>

#include "analysis/sensitivity.h"

enum { MAX_ROUNDS = 1000, MAX_ITERATIONS = 8 };
static const double longest_shift = 1e-2;  // of an event, relative to the time since the start
// Both instances have an event this much later than its crossing, so that errors of rounding and of
// loops do not matter; relative to the longest step since the last event.
static const double beyond = 1e-9;

static cpl_status not_differentiable(const cpli_sens* s, const cpli_sens_parameter* k,
                                     const char* why) {
  return cpl_fail_in(
      s->base.base.ctx, CPL_ERR_MODEL, s->base.base.name, s->m->base.desc->vars[k->var].name, s->t,
      "no sensitivities to %s after t=%.12g: %s", s->m->base.desc->vars[k->var].name, s->t, why);
}

//------------------------------------ initialisation ------------------------------------

static cpl_status check_value(cpli_sens* s, const cpli_sens_parameter* k, cpl_model* m,
                              double wanted) {
  double value = NAN, tolerance = 1e-3 * k->width;
  cpl_status st = m->base.ops->get_real(&m->base, &k->ref, 1, &value);
  if (st != CPL_OK || fabs(value - wanted) <= tolerance) return st;
  const char* name = s->m->base.desc->vars[k->var].name;
  return cpl_fail_in(s->base.base.ctx, CPL_ERR_INPUT, s->base.base.name, name, s->t,
                     "sensitivities to %s are not possible: it was set to %.12g and is %.12g after "
                     "the initialisation; the model, or the system, gives its value",
                     name, wanted, value);
}

// Inputs have the value that they were given meanwhile.
static cpl_status follow_input(cpli_sens* s, cpli_sens_parameter* k) {
  double value = NAN;
  cpl_status st = s->m->base.ops->get_real(&s->m->base, &k->ref, 1, &value);
  for (int i = 0; i < 2; i++) k->of[i].value += value - k->start;
  k->start = value;
  return st;
}

cpl_status cpli_sens_verify(cpli_sens* s) {
  cpl_status st = CPL_OK;
  for (size_t i = 0; i < s->n_to && st == CPL_OK; i++) {
    for (CPLI_EACH_MEMBER(&s->to[i], k)) {
      if (st == CPL_OK && s->m->base.desc->vars[k->var].causality == CPL_CAUSALITY_INPUT)
        st = follow_input(s, k);
      if (st == CPL_OK) st = check_value(s, k, s->m, k->start);
      for (int side = 0; side < 2 && st == CPL_OK; side++)
        st = check_value(s, k, s->to[i].of[side].m, k->of[side].value);
    }
  }
  return st;
}

//------------------------------------ times of events ------------------------------------

static void indicator_text(const cpli_sens* s, size_t i, char* out, size_t size) {
  snprintf(out, size, "indicator %zu", i + 1);
  if (s->m->ops->name_indicator != NULL) s->m->ops->name_indicator(s->m, i, out, size);
}

// The slope of each indicator along the solution, of an instance next to the model: the model
// itself stays where it has the event.
static cpl_status get_slopes(cpli_sens* s) {
  double h = s->step > 0 ? 1e-3 * s->step : 1e-9 * fmax(1, fabs(s->t));
  cpli_perturbed* p = s->to->of;
  cpl_status st = cpli_sens_move(s, s->to, p, -h);
  if (st == CPL_OK) st = p->m->ops->get_indicators(p->m, s->slopes);
  if (st == CPL_OK) st = cpli_sens_move(s, s->to, p, 0);
  if (st == CPL_OK) st = p->m->ops->get_indicators(p->m, s->z_at);
  for (size_t i = 0; i < s->nz; i++) s->slopes[i] = (s->z_at[i] - s->slopes[i]) / h;
  return st;
}

static double longest(const cpli_sens* s) {
  return longest_shift * fmax(s->t - s->t_start, 1e-6 * fabs(s->t));
}

// Where an instance has just passed zero of the indicator, by as much as the other one.
static cpl_status find_shift(cpli_sens* s, const cpli_sens_parameter* k, cpli_perturbed* p,
                             size_t i, double* shift) {
  double slope = s->slopes[i], resolution = DBL_EPSILON * fmax(fabs(s->t), s->t - s->t_start);
  double past = fmax(fmax(16 * resolution, beyond * s->longest) * fabs(slope), 4 * fabs(s->z[i]));
  double target = s->z[i] > 0 ? past : -past, error = INFINITY;
  cpl_status st = CPL_OK;
  *shift = 0;
  for (int n = 0; n < MAX_ITERATIONS; n++) {
    st = cpli_sens_move(s, k, p, *shift);
    if (st == CPL_OK) st = p->m->ops->get_indicators(p->m, s->z_at);
    if (st != CPL_OK) return st;
    error = s->z_at[i] - target;
    if (fabs(error) <= resolution * fabs(slope)) break;
    *shift -= error / slope;
    if (!(fabs(*shift) <= longest(s))) return CPL_RETRY;
  }
  return fabs(error) <= 0.5 * past ? CPL_OK : CPL_RETRY;
}

// Several indicators that change at one instant do so together in every instance.
static cpl_status find_crossing(cpli_sens* s, const cpli_sens_parameter* k, cpli_perturbed* p) {
  double first = NAN, shift = 0;
  size_t lead = 0;
  char name[200], other[200], text[700];
  for (size_t i = 0; i < s->nz; i++) {
    if (!s->crossed[i]) continue;
    indicator_text(s, i, name, sizeof name);
    bool regular = s->slopes[i] != 0 && (s->slopes[i] > 0) == (s->z[i] > 0);
    cpl_status st = regular ? find_shift(s, k, p, i, &shift) : CPL_RETRY;
    if (st == CPL_RETRY) {  // it matters if the event changes anything
      s->touches = true;
      s->touching = i;
      shift = 0;
    } else if (st != CPL_OK) {
      return st;
    }
    if (isnan(first)) {
      first = shift, lead = i;
      continue;
    }
    if (fabs(shift - first) <= 1e-4 * fabs(first) + 1e-3 * fabs(k->width) * DBL_EPSILON) {
      if (shift > first) first = shift;
      continue;
    }
    indicator_text(s, lead, other, sizeof other);
    snprintf(text, sizeof text,
             "%s and %s have events at one instant, and at different times when it changes", other,
             name);
    return not_differentiable(s, k, text);
  }
  p->shift = first;
  return CPL_OK;
}

static cpl_status find_time_event(cpli_sens* s, const cpli_sens_parameter* k, cpli_perturbed* p) {
  double shift = p->next - s->t;
  if (!(fabs(shift) <= longest(s)))
    return not_differentiable(s, k, "it changes the order of time events");
  if (s->crossed_at == s->t && fabs(shift - p->shift) > 1e-4 * fabs(shift))
    return not_differentiable(
        s, k,
        "a state event and a time event are at one instant, and at different times when it "
        "changes");
  p->shift = shift;
  return CPL_OK;
}

// The slopes of the model and of all instances before an event.
static cpl_status get_all_slopes(cpli_sens* s) {
  if (s->n == 0 || !s->began) return CPL_OK;
  cpl_status st = s->m->ops->get_derivatives(s->m, s->f);
  for (CPLI_EACH_PERTURBED(s, k, p)) {
    if (st == CPL_OK) st = cpli_sens_move(s, k, p, 0);
    if (st == CPL_OK) st = p->m->ops->get_derivatives(p->m, p->slopes);
  }
  s->has_slopes = st == CPL_OK;
  return st;
}

// The event that is due at the present point: when it is for each instance.
static cpl_status find_times(cpli_sens* s) {
  bool crosses = s->crossed_at == s->t, due = s->t >= s->next;
  cpl_status st = CPL_OK;
  s->touches = false;
  s->shifted_at = s->t;
  if (s->shifted)
    for (CPLI_EACH_PERTURBED(s, k, p)) p->shift = 0;
  s->shifted = crosses || due;
  if (!s->shifted) return CPL_OK;
  if (crosses && s->moves)
    return cpl_fail_in(s->base.base.ctx, CPL_ERR_UNSUPPORTED, s->base.base.name, NULL, s->t,
                       "no sensitivities after the state event at t=%.12g: an input changes "
                       "continuously from outside; put its table into a system file",
                       s->t);
  st = get_all_slopes(s);
  if (st == CPL_OK && crosses) st = get_slopes(s);
  for (CPLI_EACH_PERTURBED(s, k, p)) {
    if (st == CPL_OK && crosses) st = find_crossing(s, k, p);
    if (st == CPL_OK && due) st = find_time_event(s, k, p);
  }
  return st == CPL_RETRY ? CPL_ERR_MODEL : st;
}

static cpl_status note_crossings(cpli_sens* s) {
  cpl_status st = s->nz > 0 ? s->m->ops->get_indicators(s->m, s->z) : CPL_OK;
  for (size_t i = 0; i < s->nz; i++) {
    s->crossed[i] = (s->z[i] > 0 ? 1 : -1) != s->signs[i];
    if (s->crossed[i]) s->crossed_at = s->t;
  }
  return st;
}

static cpl_status tell_steps(cpli_sens* s) {
  cpl_status st = CPL_OK;
  for (CPLI_EACH_PERTURBED(s, k, p)) {
    bool ignored_event = false, ignored_end = false;
    if (!p->m->base.can.completed_step) continue;
    if (st == CPL_OK) st = cpli_sens_move(s, k, p, p->shift);
    if (st == CPL_OK) st = p->m->ops->completed_step(p->m, &ignored_event, &ignored_end);
  }
  return st;
}

// A step that ends at an event ends there for each instance.
cpl_status cpli_sens_completed_step(cpl_model* m, bool* event, bool* end) {
  cpli_sens* s = cpli_sens_of(m);
  cpl_status st = s->m->ops->completed_step(s->m, event, end);
  s->step = s->t - s->last;
  s->longest = fmax(s->longest, s->step);
  s->last = s->t;
  if (st == CPL_OK) st = note_crossings(s);
  if (st == CPL_OK) st = find_times(s);
  if (st == CPL_OK && s->tells_steps) st = tell_steps(s);
  s->point++;
  if (st == CPL_OK && s->crossed_at != s->t && s->t < s->next) cpli_sens_verify_direct(s);
  return st;
}

//------------------------------------ updates ------------------------------------

cpl_status cpli_sens_enter_event(cpl_model* m) {
  cpli_sens* s = cpli_sens_of(m);
  cpl_status st = s->shifted_at == s->t ? CPL_OK : find_times(s);
  if (st == CPL_OK && !s->has_slopes) st = get_all_slopes(s);
  memcpy(s->before, s->x, s->n * sizeof *s->x);
  for (CPLI_EACH_PERTURBED(s, k, p)) {
    if (st == CPL_OK) st = cpli_sens_move(s, k, p, p->shift);
    for (size_t i = 0; i < s->n; i++)
      p->moved[i] = (p->value - k->start) * cpli_sens_states(s, k)[i] + p->shift * s->f[i];
    if (st == CPL_OK) st = p->m->ops->enter_event(p->m);
  }
  if (st == CPL_OK) st = s->m->ops->enter_event(s->m);
  s->phase = SENS_EVENT;
  return st == CPL_RETRY ? CPL_ERR_MODEL : st;
}

static cpl_status update(cpli_perturbed* p) {
  cpl_event_info info = {.next_time = INFINITY};
  cpl_status st = p->m->ops->event_update(p->m, &info);
  p->next = info.next_time;
  p->again = info.again;
  return st;
}

static cpl_status settle(cpli_sens* s, const cpli_sens_parameter* k, cpli_perturbed* p) {
  cpl_status st = CPL_OK;
  for (int rounds = 0; p->again && st == CPL_OK; rounds++) {
    if (rounds == MAX_ROUNDS)
      return not_differentiable(s, k, "the event does not settle when it changes");
    st = update(p);
  }
  return st;
}

cpl_status cpli_sens_event_update(cpl_model* m, cpl_event_info* info) {
  cpli_sens* s = cpli_sens_of(m);
  cpl_status st = s->m->ops->event_update(s->m, info);
  if (st == CPL_OK && info->structure_changed) st = cpli_sens_follow(s);
  s->switched = s->switched || info->structure_changed;
  s->next = info->next_time;
  for (CPLI_EACH_PERTURBED(s, k, p)) {
    if (st == CPL_OK) st = update(p);
    if (st == CPL_OK && !info->again) st = settle(s, k, p);
  }
  info->states_changed = info->states_changed || s->n > 0;
  return st;
}

//------------------------------------ after an event ------------------------------------

// Integers and Booleans are those of the model.
static cpl_status compare_discrete(cpli_sens* s) {
  const cpl_description* d = s->m->base.desc;
  cpl_status st = CPL_OK;
  for (int type = 0; type <= CPL_CLOCK; type++) {
    size_t n = (size_t)s->n_discrete[type];
    const uint32_t* refs = s->discrete[type];
    if (n == 0) continue;
    st = s->m->base.ops->get_integer(&s->m->base, (cpl_type)type, refs, n, s->values);
    for (CPLI_EACH_PERTURBED(s, k, p)) {
      if (st == CPL_OK)
        st = p->m->base.ops->get_integer(&p->m->base, (cpl_type)type, refs, n, s->others);
      if (st != CPL_OK) return st;
      for (size_t i = 0; i < n; i++) {
        char text[400];
        if (s->values[i] == s->others[i]) continue;
        const char* name = "";
        for (int32_t v = 0; v < d->n_vars; v++) {
          if (d->vars[v].type == type && d->vars[v].ref == refs[i] && d->vars[v].alias_of < 0)
            name = d->vars[v].name;
        }
        snprintf(text, sizeof text, "with %.12g instead of %.12g, %s is %lld instead of %lld",
                 p->value, k->start, name, (long long)s->others[i], (long long)s->values[i]);
        return not_differentiable(s, k, text);
      }
    }
  }
  return st;
}

// The structures of all instances are the same.
static cpl_status compare_structures(const cpli_sens* s) {
  for (CPLI_EACH_PERTURBED(s, k, p)) {
    int32_t f = 0;
    while (s->m->ops->structure(s->m, f) != s->m->base.desc) f++;
    if (p->m->ops->structure(p->m, f) != p->m->base.desc)
      return not_differentiable(s, k, "the structure of the model changes to another one with it");
  }
  return CPL_OK;
}

// An instance that was next to the model before the event, and is far from it, as far as the model
// jumped, has not jumped, or elsewhere.
static cpl_status compare_jump(const cpli_sens* s, const cpli_sens_parameter* k,
                               const cpli_perturbed* p, const double* x) {
  static const double near = 0.01, far = 0.3;
  for (size_t i = 0; i < s->n && s->began && !s->switched; i++) {
    double jump = fabs(s->x[i] - s->before[i]), distance = fabs(x[i] - s->x[i]);
    if (jump == 0 || fabs(p->moved[i]) > near * jump || distance < far * jump) continue;
    char text[300];
    const cpl_description* d = s->m->base.desc;
    snprintf(text, sizeof text, "with %.12g instead of %.12g, %s becomes %.12g instead of %.12g",
             p->value, k->start, d->states[i] >= 0 ? d->vars[d->states[i]].name : "a state", x[i],
             s->x[i]);
    return not_differentiable(s, k, text);
  }
  return CPL_OK;
}

// The slopes of the two instances of a parameter are on both sides of those of the model, as before
// the event. Where they are not, and slopes have jumped, one of them is in another state that no
// variable shows.
static cpl_status compare_slopes(cpli_sens* s) {
  static const double part = 0.05, near = 0.01, rounding = 1e-6;
  cpl_status st = cpli_sens_place(s);
  for (cpli_sens_parameter* k = s->to; k < s->to + s->n_to; k++) {
    const double *before[] = {k->of[0].slopes, k->of[1].slopes}, *f = s->f, *now = s->f_after;
    double* after[] = {s->above, s->below};
    for (int side = 0; side < 2 && st == CPL_OK; side++)
      st = k->of[side].m->ops->get_derivatives(k->of[side].m, after[side]);
    if (st != CPL_OK) return st;
    for (size_t i = 0; i < s->n; i++) {
      double jump = fmax(fabs(now[i] - f[i]),
                         fmax(fabs(after[0][i] - before[0][i]), fabs(after[1][i] - before[1][i])));
      double was = fabs(before[0][i] + before[1][i] - 2 * f[i]);
      double is = fabs(after[0][i] + after[1][i] - 2 * now[i]);
      if (is <= fmax(part * jump, rounding * (fabs(f[i]) + fabs(now[i]))) || was > near * jump ||
          (f[i] == 0 && now[i] == 0))
        continue;
      char text[300];
      const cpl_description* d = s->m->base.desc;
      snprintf(text, sizeof text, "the slope of %s becomes %.6g with %.12g and %.6g with %.12g",
               d->states[i] >= 0 ? d->vars[d->states[i]].name : "a state", after[0][i],
               k->of[0].value, after[1][i], k->of[1].value);
      return not_differentiable(s, k, text);
    }
  }
  return st;
}

static bool shifts(const cpli_sens* s) {
  for (CPLI_EACH_PERTURBED(s, k, p)) {
    if (p->shift != 0) return true;
  }
  return false;
}

// An indicator that touches zero has an event whose time is not differentiable: nothing may change.
static cpl_status check_touch(cpli_sens* s) {
  bool changes = s->switched;
  for (size_t i = 0; i < s->n && !changes; i++) {
    double size = fabs(s->f[i]) + fabs(s->f_after[i]);
    changes = changes || s->x[i] != s->before[i] || fabs(s->f_after[i] - s->f[i]) > 1e-6 * size;
  }
  if (!changes) return CPL_OK;
  char name[200], text[400];
  indicator_text(s, s->touching, name, sizeof name);
  snprintf(text, sizeof text,
           "%s touches zero, or the time of its event changes too much to be differentiated", name);
  return not_differentiable(s, s->to, text);
}

static cpl_status read_states(cpli_sens* s) {
  cpl_status st = CPL_OK;
  for (size_t i = 0; i < s->n_to && st == CPL_OK && s->n > 0; i++) {
    cpli_sens_parameter* k = &s->to[i];
    double* out = cpli_sens_states(s, k);
    double* x[] = {s->above, s->below};
    for (int side = 0; side < 2 && st == CPL_OK; side++) {
      cpl_model* one = k->of[side].m;
      st = one->ops->get_states(one, x[side]);
      for (size_t j = 0; j < s->n && k->of[side].shift != 0; j++)
        x[side][j] -= k->of[side].shift * s->f_after[j];
      if (st == CPL_OK) st = compare_jump(s, k, &k->of[side], x[side]);
    }
    for (size_t j = 0; j < s->n; j++) out[j] = (s->above[j] - s->below[j]) / k->width;
  }
  return st;
}

static cpl_status note_signs(cpli_sens* s) {
  cpl_status st = s->nz > 0 ? s->m->ops->get_indicators(s->m, s->z) : CPL_OK;
  for (size_t i = 0; i < s->nz; i++) s->signs[i] = s->z[i] > 0 ? 1 : -1;
  s->crossed_at = s->shifted_at = NAN;
  return st;
}

cpl_status cpli_sens_enter_continuous(cpl_model* m) {
  cpli_sens* s = cpli_sens_of(m);
  cpl_status st = s->m->ops->enter_continuous(s->m);
  s->tells_steps = false;
  for (CPLI_EACH_PERTURBED(s, k, p)) {
    s->tells_steps = s->tells_steps || p->m->base.can.completed_step;
    if (st == CPL_OK) st = p->m->ops->enter_continuous(p->m);
  }
  if (st == CPL_OK && s->n > 0) st = s->m->ops->get_states(s->m, s->x);
  if (st == CPL_OK) st = s->m->ops->set_time(s->m, s->t);
  if (st == CPL_OK && s->n > 0) st = s->m->ops->set_states(s->m, s->x);
  if (st == CPL_OK && s->n > 0 && (s->began || shifts(s)))
    st = s->m->ops->get_derivatives(s->m, s->f_after);
  if (st == CPL_OK && s->switched) st = compare_structures(s);
  if (st == CPL_OK) st = compare_discrete(s);
  if (st == CPL_OK) st = read_states(s);
  if (st == CPL_OK && s->touches) st = check_touch(s);
  s->phase = SENS_CONTINUOUS;
  s->point++;
  s->moves = s->touches = s->has_slopes = false;
  if (st == CPL_OK && s->n > 0 && s->began && !s->switched) st = compare_slopes(s);
  if (st == CPL_OK && s->n > 0) st = s->m->ops->get_nominals(s->m, s->nominal);
  if (st == CPL_OK) st = cpli_sens_begin_direct(s);
  if (st == CPL_OK) st = note_signs(s);
  s->switched = false;
  s->began = true;
  s->last = s->t;
  s->longest = 0;
  return st == CPL_RETRY ? CPL_ERR_MODEL : st;
}

//------------------------------------ make ------------------------------------

static bool is_discrete(const cpl_variable* v) {
  bool number = v->type == CPL_INTEGER || v->type == CPL_BOOLEAN || v->type == CPL_ENUMERATION;
  return number && v->alias_of < 0 && !v->mode_dependent &&
         v->variability >= CPL_VARIABILITY_DISCRETE && v->causality != CPL_CAUSALITY_INPUT;
}

static cpl_status list_discrete(cpli_sens* s) {
  const cpl_description* d = s->m->base.desc;
  int32_t most = 0;
  for (int32_t i = 0; i < d->n_vars; i++) {
    if (is_discrete(&d->vars[i])) s->n_discrete[d->vars[i].type]++;
  }
  for (int type = 0; type <= CPL_CLOCK; type++) {
    s->discrete[type] =
        cpli_arena_alloc(&s->arena, (size_t)s->n_discrete[type], sizeof *s->discrete[type]);
    if (s->discrete[type] == NULL) return cpli_nomem(s->base.base.ctx);
    if (s->n_discrete[type] > most) most = s->n_discrete[type];
    s->n_discrete[type] = 0;
  }
  for (int32_t i = 0; i < d->n_vars; i++) {
    const cpl_variable* v = &d->vars[i];
    if (is_discrete(v)) s->discrete[v->type][s->n_discrete[v->type]++] = v->ref;
  }
  s->values = cpli_arena_alloc(&s->arena, (size_t)most, sizeof *s->values);
  s->others = cpli_arena_alloc(&s->arena, (size_t)most, sizeof *s->others);
  return s->values != NULL && s->others != NULL ? CPL_OK : cpli_nomem(s->base.base.ctx);
}

cpl_status cpli_sens_make_events(cpli_sens* s) {
  s->z = cpli_arena_alloc(&s->arena, 3 * s->nz_most, sizeof *s->z);
  s->signs = cpli_arena_alloc(&s->arena, 2 * s->nz_most, sizeof *s->signs);
  if (s->z == NULL || s->signs == NULL) return cpli_nomem(s->base.base.ctx);
  s->z_at = s->z + s->nz_most;
  s->slopes = s->z + 2 * s->nz_most;
  s->crossed = s->signs + s->nz_most;
  for (CPLI_EACH_PERTURBED(s, k, p)) {
    p->moved = cpli_arena_alloc(&s->arena, 2 * s->n_most, sizeof *p->moved);
    if (p->moved == NULL) return cpli_nomem(s->base.base.ctx);
    p->slopes = p->moved + s->n_most;
    (void)k;
  }
  return list_discrete(s);
}
