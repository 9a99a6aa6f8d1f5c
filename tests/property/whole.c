// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#include "whole.h"

#include <math.h>
#include <string.h>

enum { MAX_INITIAL_ROUNDS = 20, MAX_NEWTON = 60, N_DISTURBED = 12 };

typedef struct part {
  double u[MAX_OF], y[MAX_OF], w[MAX_OF];
  double next_time;
  int first_state, first_guard;
} part;

typedef struct whole {
  const random_system* s;
  solution* out;
  part parts[MAX_MODELS];
  bool side[MAX_RELATIONS];
  int knot[MAX_SIGNALS];
  int passed[MAX_EVENTS];  // how many times of an `at` are over
  double tears[MAX_TEARS];
  int mode, first_relation_guard;
  bool entered;    // a mode in this event
  bool ambiguous;  // what happens before time starts, or in the moment a mode is entered
  double updated;  // the time of the last update
  double noise;
  rng random;
} whole;

//------------------------------------ formulas ------------------------------------

static double table_value(const signal_def* d, int k, double t) {
  if (d->hold || k + 1 >= d->n) return d->y[k];
  return d->y[k] + (d->y[k + 1] - d->y[k]) * (t - d->t[k]) / (d->t[k + 1] - d->t[k]);
}

static double value_of(const whole* w, int formula, double t, const double* x) {
  const node* n = &w->s->nodes[formula];
  switch (n->kind) {
    case NODE_CONSTANT: return n->value;
    case NODE_TIME: return t - w->s->start;
    case NODE_STATE: return x[w->parts[n->model].first_state + n->index];
    case NODE_OUTPUT: return w->parts[n->model].y[n->index];
    case NODE_DISCRETE: return w->parts[n->model].w[n->index];
    case NODE_SIGNAL: {
      const signal_def* d = &w->s->signals[n->index];
      return d->formula >= 0 ? value_of(w, d->formula, t, x) : table_value(d, w->knot[n->index], t);
    }
    case NODE_ADD: return value_of(w, n->a, t, x) + value_of(w, n->b, t, x);
    case NODE_MULTIPLY: return value_of(w, n->a, t, x) * value_of(w, n->b, t, x);
    case NODE_SIN: return sin(value_of(w, n->a, t, x));
    case NODE_ATAN: return atan(value_of(w, n->a, t, x));
    case NODE_IF: return value_of(w, w->side[n->relation] ? n->a : n->b, t, x);
    case NODE_OBSERVED: return value_of(w, w->mode == 0 ? n->a : n->b, t, x);
  }
  return NAN;
}

//------------------------------------ evaluation ------------------------------------

static cpl_values values(const whole* w, int model, double t, const double* x) {
  const part* p = &w->parts[model];
  return (cpl_values){
      .t = t, .x = x + p->first_state, .u = p->u, .p = w->s->models[model].p, .w = p->w};
}

static bool holds_in(const whole* w, int mode) { return mode == EVERY_MODE || mode == w->mode; }

static bool is_active(const whole* w, int model) { return holds_in(w, w->s->models[model].mode); }

static int tear_of(const whole* w, int model, int input) {
  for (int k = 0; k < w->s->n_tears; k++)
    if (w->s->tear_model[k] == model && w->s->tear_input[k] == input) return k;
  return -1;
}

// Inputs and outputs in the order of the models, with the torn inputs as they are assumed. out gets
// what the torn inputs should have been.
static void pass(whole* w, double t, const double* x, const double* assumed, double* out) {
  for (int i = 0; i < w->s->n_models; i++) {
    const instance* m = &w->s->models[i];
    if (!is_active(w, i)) continue;
    for (int k = 0; k < m->kind->n_inputs; k++) {
      int tear = w->s->n_tears > 0 ? tear_of(w, i, k) : -1;
      w->parts[i].u[k] = tear >= 0 ? assumed[tear] : value_of(w, m->input[k], t, x);
    }
    cpl_values v = values(w, i, t, x);
    if (m->kind->n_outputs > 0) m->kind->def->output_values(&v, w->parts[i].y);
  }
  for (int k = 0; k < w->s->n_tears; k++) {
    const instance* m = &w->s->models[w->s->tear_model[k]];
    out[k] = value_of(w, m->input[w->s->tear_input[k]], t, x);
  }
}

static double residuals(whole* w, double t, const double* x, const double* z, double* r) {
  double out[MAX_TEARS], worst = 0;
  pass(w, t, x, z, out);
  for (int k = 0; k < w->s->n_tears; k++) {
    r[k] = z[k] - out[k];
    worst =
        fmax(worst, fabs(r[k]) / fmax(fabs(z[k]) + fabs(out[k]), 1e-3 * w->s->scale));  // or zero
  }
  return worst;
}

// dz from J dz = r, for one or two unknowns.
static void solve_small(int n, double j[MAX_TEARS][MAX_TEARS], const double* r, double* dz) {
  if (n == 1) {
    dz[0] = r[0] / j[0][0];
    return;
  }
  double det = j[0][0] * j[1][1] - j[0][1] * j[1][0];
  dz[0] = (r[0] * j[1][1] - r[1] * j[0][1]) / det;
  dz[1] = (j[0][0] * r[1] - j[1][0] * r[0]) / det;
}

// Loops by Newton's method with differences; the generator makes loops with one solution only.
static void evaluate(whole* w, double t, const double* x) {
  const int n = w->s->n_tears;
  double *z = w->tears, r[MAX_TEARS], moved[MAX_TEARS], dz[MAX_TEARS];
  double j[MAX_TEARS][MAX_TEARS];
  if (n == 0) {
    pass(w, t, x, NULL, NULL);
    return;
  }
  double worst = residuals(w, t, x, z, r);
  for (int k = 0; k < MAX_NEWTON && worst > 1e-16; k++) {
    for (int c = 0; c < n; c++) {
      double size = fmax(fabs(z[c]), w->s->scale), d = 1e-6 * size, keep = z[c];
      z[c] += d;
      residuals(w, t, x, z, moved);
      for (int q = 0; q < n; q++) j[q][c] = (moved[q] - r[q]) / d;
      z[c] = keep;
    }
    solve_small(n, j, r, dz);
    double before = worst, trial[MAX_TEARS], rt[MAX_TEARS];
    double damp = 1;
    for (int q = 0; q < 12; q++, damp *= 0.5) {
      for (int c = 0; c < n; c++) trial[c] = z[c] - damp * dz[c];
      worst = residuals(w, t, x, trial, rt);
      if (worst < before || before < 1e-14) break;
    }
    if (!(worst < before)) break;
    memcpy(z, trial, sizeof trial);
    memcpy(r, rt, sizeof rt);
  }
  residuals(w, t, x, z, r);
}

static void derivatives(void* user, double t, const double* x, double* dx) {
  whole* w = user;
  evaluate(w, t, x);
  for (int i = 0; i < w->s->n_models; i++) {
    const pool_model* kind = w->s->models[i].kind;
    double* out = dx + w->parts[i].first_state;
    memset(out, 0, (size_t)kind->n_states * sizeof *out);
    cpl_values v = values(w, i, t, x);
    if (is_active(w, i) && kind->n_states > 0) kind->def->derivatives(&v, out);
  }
}

static void guards(void* user, double t, const double* x, double* g) {
  whole* w = user;
  evaluate(w, t, x);
  for (int i = 0; i < w->s->n_models; i++) {
    const pool_model* kind = w->s->models[i].kind;
    double* out = g + w->parts[i].first_guard;
    for (int k = 0; k < kind->def->n_indicators; k++) out[k] = -1;
    cpl_values v = values(w, i, t, x);
    if (is_active(w, i) && kind->def->n_indicators > 0) kind->def->indicators(&v, out);
  }
  for (int i = 0; i < w->s->n_relations; i++) {
    const relation* r = &w->s->relations[i];
    bool active = holds_in(w, w->s->relation_mode[i]);
    g[w->first_relation_guard + i] =
        active ? value_of(w, r->left, t, x) - value_of(w, r->right, t, x) : -1;
  }
}

//------------------------------------ events ------------------------------------

static double next_time(void* user) {
  const whole* w = user;
  double next = INFINITY;
  for (int i = 0; i < w->s->n_models; i++)
    if (is_active(w, i)) next = fmin(next, w->parts[i].next_time);
  for (int i = 0; i < w->s->n_signals; i++) {
    const signal_def* d = &w->s->signals[i];
    if (d->formula < 0 && w->knot[i] + 1 < d->n) next = fmin(next, d->t[w->knot[i] + 1]);
  }
  for (int i = 0; i < w->s->n_events; i++) {
    const event_def* e = &w->s->events[i];
    if (e->relation < 0 && w->passed[i] < e->n_times) next = fmin(next, e->times[w->passed[i]]);
  }
  return next;
}

// The event functions of all models, or of those of one mode. Returns whether anything changed.
static bool update_models(whole* w, int mode, double t, double* x, const int8_t* crossed,
                          bool time_event) {
  static const int8_t none[REF_MAX_GUARDS];
  double before[REF_MAX_STATES];
  bool changed = false;
  memcpy(before, x, sizeof before);
  for (int i = 0; i < w->s->n_models; i++) {
    const pool_model* kind = w->s->models[i].kind;
    part* p = &w->parts[i];
    if (!is_active(w, i) || kind->def->event == NULL) continue;
    if (mode != EVERY_MODE && w->s->models[i].mode != mode) continue;
    cpl_values v = values(w, i, t, before);
    double old[MAX_OF], states[MAX_OF] = {0};
    memcpy(old, p->w, sizeof old);
    memcpy(states, v.x, (size_t)kind->n_states * sizeof *states);
    v.w = old;
    bool due = time_event && p->next_time <= t;
    cpl_event_actions a = {.x = states,
                           .w = p->w,
                           .crossed = crossed != NULL ? crossed + p->first_guard : none,
                           .time_event = due,
                           .next_time = due ? INFINITY : p->next_time};
    kind->def->event(&v, &a);
    p->next_time = a.next_time;
    changed = changed || memcmp(old, p->w, sizeof old) != 0 ||
              memcmp(states, v.x, (size_t)kind->n_states * sizeof *states) != 0;
    memcpy(x + p->first_state, states, (size_t)kind->n_states * sizeof *states);
  }
  return changed;
}

static void reset_model(whole* w, int i, double* x) {
  const instance* m = &w->s->models[i];
  part* p = &w->parts[i];
  memcpy(x + p->first_state, m->x0, (size_t)m->kind->n_states * sizeof *x);
  memset(p->w, 0, sizeof p->w);
}

static void start_model(whole* w, int i, double t, double* x) {
  const instance* m = &w->s->models[i];
  part* p = &w->parts[i];
  p->next_time = INFINITY;
  cpl_values v = values(w, i, t, x);
  double old[MAX_OF];
  memcpy(old, p->w, sizeof old);
  v.w = old;
  cpl_event_actions a = {.x = x + p->first_state, .w = p->w, .next_time = INFINITY};
  if (m->kind->def->initialize != NULL) m->kind->def->initialize(&v, &a);
  p->next_time = a.next_time;
}

// Whether an indicator of a model that counts crossings is on another side than before.
static bool crossing_counts(const whole* w, const double* before, const double* now) {
  for (int i = 0; i < w->s->n_models; i++) {
    const pool_model* kind = w->s->models[i].kind;
    for (int k = 0; k < kind->def->n_indicators && kind->counts; k++) {
      int g = w->parts[i].first_guard + k;
      if (is_active(w, i) && (before[g] > 0) != (now[g] > 0)) return true;
    }
  }
  return false;
}

// Sides of relations and what models make of their first inputs, which follow these sides, until
// nothing changes; of one mode where it is entered.
static void settle(whole* w, int mode, double t, double* x) {
  double g[REF_MAX_GUARDS], first[REF_MAX_GUARDS];
  bool updated = false;
  for (int round = 0;; round++) {
    guards(w, t, x, g);
    bool changed = false;
    if (!updated) memcpy(first, g, sizeof first);
    if (round == MAX_INITIAL_ROUNDS || crossing_counts(w, first, g)) {
      w->ambiguous = true;
      return;
    }
    for (int i = 0; i < w->s->n_relations; i++) {
      if (mode != EVERY_MODE && w->s->relation_mode[i] != mode) continue;
      bool side = g[w->first_relation_guard + i] > 0;
      changed = changed || side != w->side[i];
      w->side[i] = side;
    }
    if (changed) continue;
    if (!update_models(w, mode, t, x, NULL, false)) break;
    updated = true;
  }
}

static void assign(whole* w, const assignment* sets, int n, double t, const double* before,
                   double* x) {
  for (int k = 0; k < n; k++)
    x[w->parts[sets[k].model].first_state + sets[k].state] =
        value_of(w, sets[k].formula, t, before);
}

// Whether an event sets what another one of the same instant has set: couplet refuses that.
static bool sets_again(const whole* w, int event, const bool* due) {
  const event_def *a = &w->s->events[event], *b;
  for (int i = 0; i < event; i++) {
    b = &w->s->events[i];
    for (int k = 0; due[i] && k < a->n_sets; k++)
      for (int j = 0; j < b->n_sets; j++)
        if (a->sets[k].model == b->sets[j].model && a->sets[k].state == b->sets[j].state)
          return true;
  }
  return false;
}

static void switch_mode(whole* w, double t, double* x) {
  const transition* way = &w->s->leave[w->mode];
  double before[REF_MAX_STATES];
  memcpy(before, x, sizeof before);
  w->mode = 1 - w->mode;
  for (int i = 0; i < w->s->n_models; i++)
    if (w->s->models[i].mode == w->mode) reset_model(w, i, x);
  assign(w, way->sets, way->n_sets, t, before, x);
  for (int i = 0; i < w->s->n_models; i++)
    if (w->s->models[i].mode == w->mode) start_model(w, i, t, x);
  for (int i = 0; i < w->s->n_relations; i++)
    if (w->s->relation_mode[i] == w->mode) w->side[i] = false;
  settle(w, w->mode, t, x);
  w->entered = true;
  w->ambiguous = w->ambiguous || w->side[w->s->leave[w->mode].relation];
}

static bool is_due(whole* w, int i, double t, const int8_t* crossed, bool time_event) {
  const event_def* e = &w->s->events[i];
  if (!holds_in(w, e->mode)) return false;
  if (e->relation >= 0) return crossed[w->first_relation_guard + e->relation] > 0;
  if (!time_event || w->passed[i] == e->n_times || e->times[w->passed[i]] > t) return false;
  w->passed[i]++;
  return true;
}

// Leaves out guards of the mode that was entered: their sides are known already.
static void keep_guards_beside(const whole* w, const int8_t* crossed, int8_t* out) {
  memcpy(out, crossed, REF_MAX_GUARDS * sizeof *out);
  for (int i = 0; i < w->s->n_models; i++)
    for (int k = 0; k < w->s->models[i].kind->def->n_indicators; k++)
      if (w->s->models[i].mode != EVERY_MODE) out[w->parts[i].first_guard + k] = 0;
  for (int i = 0; i < w->s->n_relations; i++)
    if (w->s->relation_mode[i] != EVERY_MODE) out[w->first_relation_guard + i] = 0;
}

// Whether a condition that became true by an event of the same instant is undone by what models do
// about that event: whether it was ever true depends on the order of the two.
static bool is_undone(whole* w, double t, const double* x, const int8_t* crossed) {
  double g[REF_MAX_GUARDS];
  guards(w, t, x, g);
  for (int i = 0; i < w->s->n_relations; i++) {
    int k = w->first_relation_guard + i;
    if (crossed[k] != 0 && (crossed[k] > 0) != (g[k] > 0)) return true;
  }
  return false;
}

static void update(void* user, double t, double* x, const int8_t* crossed, bool time_event) {
  whole* w = user;
  double before[REF_MAX_STATES];
  int8_t beside[REF_MAX_GUARDS];
  if (w->entered) {
    keep_guards_beside(w, crossed, beside);
    crossed = beside;
    w->entered = false;
  }
  evaluate(w, t, x);
  memcpy(before, x, sizeof before);
  const int mode = w->mode;
  bool leaves =
      w->s->n_modes > 1 && crossed[w->first_relation_guard + w->s->leave[mode].relation] > 0;
  update_models(w, EVERY_MODE, t, x, crossed, time_event);
  if (w->updated == t) w->ambiguous = w->ambiguous || is_undone(w, t, x, crossed);
  w->updated = t;
  evaluate(w, t, before);
  bool due[MAX_EVENTS] = {false};
  for (int i = 0; i < w->s->n_events; i++) {
    due[i] = is_due(w, i, t, crossed, time_event);
    if (!due[i]) continue;
    assign(w, w->s->events[i].sets, w->s->events[i].n_sets, t, before, x);
    w->ambiguous = w->ambiguous || sets_again(w, i, due);
  }
  for (int i = 0; i < w->s->n_relations; i++)
    if (crossed[w->first_relation_guard + i] != 0)
      w->side[i] = crossed[w->first_relation_guard + i] > 0;
  for (int i = 0; i < w->s->n_signals; i++) {
    const signal_def* d = &w->s->signals[i];
    while (d->formula < 0 && w->knot[i] + 1 < d->n && d->t[w->knot[i] + 1] <= t) w->knot[i]++;
  }
  if (leaves) switch_mode(w, t, x);
}

//------------------------------------ solution ------------------------------------

static void point(void* user, double t, const double* x, int event, bool right) {
  whole* w = user;
  solution* out = w->out;
  double* row = event < 0 ? out->grid[out->n_grid]
                          : (right ? out->events[event].right : out->events[event].left);
  if (event < 0) out->t[out->n_grid++] = t;
  else out->events[event].t = t;
  if (right) w->entered = false;
  evaluate(w, t, x);
  int n = 0;
  for (int i = 0; i < w->s->n_models; i++) {
    const pool_model* kind = w->s->models[i].kind;
    const part* p = &w->parts[i];
    const int first = n;
    for (int k = 0; k < kind->n_states; k++) row[n++] = x[p->first_state + k];
    for (int k = 0; k < kind->n_inputs; k++) row[n++] = p->u[k];
    for (int k = 0; k < kind->n_outputs; k++) row[n++] = p->y[k];
    for (int k = 0; k < kind->n_discrete; k++)
      if (kind->shown[k]) row[n++] = p->w[k];
    for (int k = first; k < n && !is_active(w, i); k++) row[k] = NAN;
  }
  out->n_columns = n;
}

static void disturb(void* user, double t, double* x) {
  whole* w = user;
  (void)t;
  for (int i = 0; i < w->s->n_models; i++) {
    for (int k = 0; k < w->s->models[i].kind->n_states; k++) {
      double* value = &x[w->parts[i].first_state + k];
      double size = w->noise * (w->s->rtol * fabs(*value) + w->s->atol);
      *value += rng_chance(&w->random, 0.5) ? size : -size;
    }
  }
}

void whole_solve(const random_system* s, double noise, uint64_t seed, solution* out) {
  whole w = {.s = s, .out = out, .noise = noise, .random = {seed}, .updated = -INFINITY};
  double x[REF_MAX_STATES] = {0}, times[MAX_GRID];
  ref_system system = {.user = &w,
                       .f = derivatives,
                       .guards = guards,
                       .next_time = next_time,
                       .update = update,
                       .point = point};
  out->n_grid = out->n_events = 0;
  for (int i = 0; i < s->n_models; i++) {
    w.parts[i].first_state = system.n_states;
    w.parts[i].first_guard = system.n_guards;
    system.n_states += s->models[i].kind->n_states;
    system.n_guards += s->models[i].kind->def->n_indicators;
  }
  w.first_relation_guard = system.n_guards;
  system.n_guards += s->n_relations;
  for (int i = 0; i < s->n_models; i++) {
    reset_model(&w, i, x);
    start_model(&w, i, s->start, x);
  }
  settle(&w, EVERY_MODE, s->start, x);
  w.ambiguous = w.ambiguous || (s->n_modes > 1 && w.side[s->leave[0].relation]);
  for (int k = 0; k <= s->n_intervals; k++)
    times[k] = s->start + (s->stop - s->start) * k / s->n_intervals;
  ref_options options = {.tolerance = 1e-14,
                         .longest = (s->stop - s->start) / 200,
                         .times = times,
                         .n_times = s->n_intervals + 1,
                         .disturb = noise > 0 ? disturb : NULL,
                         .n_disturbed = N_DISTURBED};
  out->status = ref_integrate(&system, &options, x, &out->n_events);
  if (w.ambiguous) out->status = REF_NO_PROGRESS;
}
