// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A comparison that has just changed, or that an event has brought close to zero, keeps its value
// within a band around zero (hysteresis), so that rounding errors do not toggle it. A guard that
// fires repeatedly as soon as its mode is entered is reported as chattering.
#include "assemble/function.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>

#include "format/number.h"

//------------------------------------ ownership ------------------------------------

typedef struct cpli_kept {
  struct cpli_kept* next;
  cpli_expr* expr;
  cpli_curve* curve;
} kept;

static cpl_status keep(cpli_functions* f, kept what) {
  kept* k = cpli_arena_alloc(&f->arena, 1, sizeof *k);
  if (k == NULL) {
    cpli_expr_destroy(what.expr);
    if (what.curve != NULL) cpli_curve_free(what.curve);
    return cpli_nomem(f->ctx);
  }
  *k = what;
  k->next = f->kept;
  f->kept = k;
  return CPL_OK;
}

void cpli_functions_free(cpli_functions* f) {
  for (kept* k = f->kept; k != NULL; k = k->next) {
    cpli_expr_destroy(k->expr);
    if (k->curve != NULL) cpli_curve_free(k->curve);
  }
  cpli_names_free(&f->keys);
  cpli_arena_free(&f->arena);
  f->kept = NULL;
}

//------------------------------------ names ------------------------------------

cpl_port cpli_port_of(const cpli_functions* f, cpli_ref ref) {
  if (ref.kind == CPLI_REF_PARAMETER) return (cpl_port){-1, f->first_parameter + ref.index};
  if (ref.kind == CPLI_REF_INPUT) return (cpl_port){-1, f->first_input + ref.index};
  int32_t part = f->part_of_model != NULL ? f->part_of_model[ref.model] : ref.model;
  return part >= 0 ? (cpl_port){part, ref.index} : f->bridge(f->bridge_user, ref);
}

// Slots are numbered in the order of the names.
typedef struct names {
  cpli_functions* f;
  cpli_ref* refs;
  size_t n, cap;
  bool no_memory, constants_only;
  char missed[512];  // a name that was not found; similar names are only searched for on demand
} names;

// Parameters are known before models are opened.
static bool find(const names* s, const char* name, cpli_ref* out) {
  const cpli_resolver* r = s->f->resolver;
  if (!s->constants_only) return cpli_resolver_find(r, name, out);
  const int32_t value = cpli_names_find(&r->def->value_names, name);
  *out = (cpli_ref){CPLI_REF_PARAMETER, -1, value / 2};
  return value >= 0 && value % 2 == 0;
}

static int32_t resolve(void* user, const char* name, cpl_type* type) {
  names* s = user;
  cpli_ref ref;
  if (!find(s, name, &ref)) {
    snprintf(s->missed, sizeof s->missed, "%s", name);
    return -1;
  }
  const cpl_variable* v = cpli_ref_variable(s->f->resolver, ref);
  *type = v != NULL ? (cpl_type)v->type : CPL_REAL;
  for (size_t i = 0; i < s->n; i++) {
    if (memcmp(&s->refs[i], &ref, sizeof ref) == 0) return (int32_t)i;
  }
  if (!cpli_grow(s->f->ctx, (void**)&s->refs, &s->cap, s->n, sizeof *s->refs)) {
    s->no_memory = true;
    return -1;
  }
  s->refs[s->n] = ref;
  return (int32_t)s->n++;
}

static const char* candidate(const void* user, size_t i) {
  const names* s = user;
  if (i == 0) cpli_resolver_miss(s->f->resolver, s->missed);
  return cpli_resolver_candidate(s->f->resolver, i);
}

static cpl_status parse(names* s, const cpli_located_text* text, cpli_expr** out) {
  const bool opened = s->f->resolver->models != NULL;
  cpli_scope scope = {.resolve = resolve,
                      .candidate = opened ? candidate : NULL,
                      .n_candidates = opened ? CPLI_NEAREST : 0,
                      .user = s};
  cpl_status st = cpli_expr_parse(s->f->ctx, text->loc, text->text, &scope, out);
  if (!s->no_memory) return st;
  cpli_expr_destroy(*out);  // a name was taken for another kind of value
  *out = NULL;
  return cpli_nomem(s->f->ctx);
}

//------------------------------------ one expression ------------------------------------

// Rounding would toggle a comparison that has just changed, or that an event has brought close to
// zero. It rests: it keeps its value until its indicator has left a band around zero, whose width
// is relative to the largest indicator so far.
static const double band_width = 1e-10, late_width = 1e-6;

typedef struct formula {
  cpl_context* ctx;
  const cpli_expr* expr;
  size_t n_relations;
  cpli_relation* relations;
  double *frozen, *before, *z;
  double* scale;   // the largest indicator
  double* band;    // of resting ones; 0: armed
  double* beyond;  // how far past zero an indicator was at its last change
  bool never_rests;
  // of a guard: a mode may be entered close to where it is left
  const char *mode, *transition;  // NULL: not a guard
  const char* text;
  // what is saved in addition to the arrays: no pointers and no gaps
  struct {
    double settled;       // time of the last settling
    double since, fired;  // beginning of the run; last change of the guard
    uint32_t begun;       // they have settled once
    uint32_t guessed;     // or were evaluated, where nothing has settled yet
    uint32_t in_a_row;    // how often it changed while resting, as soon as its mode was entered
    uint32_t unused;
  } now;
} formula;

enum { CHATTERING = 50 };             // such changes in a row,
static const double close_by = 1e-3;  // this close to each other, relative to the simulated time

// At the start models get what the comparisons of the start values give, not a value that would
// follow if all of them were false: 0 is no item of an Enumeration.
static cpl_status formula_value(void* user, double t, const double* sources, double* out) {
  formula* q = user;
  if (q->n_relations > 0 && !q->now.begun && !q->now.guessed && q->mode == NULL) {
    cpl_status st = cpli_expr_settle(q->expr, NULL, t, sources, q->frozen);
    q->now.guessed = st == CPL_OK;
  }
  return cpli_expr_value(q->expr, q->ctx, t, sources, q->frozen, out);
}

static cpl_status formula_values(void* user, double t, size_t n, const double* sources,
                                 double* out) {
  const formula* q = user;
  return cpli_expr_values(q->expr, t, n, sources, out) ? CPL_OK : CPL_RETRY;
}

static cpl_status formula_gradient(void* user, double t, const double* sources, double* out) {
  const formula* q = user;
  return cpli_expr_gradient(q->expr, q->ctx, t, sources, q->frozen, NULL, out, NULL);
}

// The sign of the indicator that corresponds to the value of a comparison.
static double side(const formula* q, size_t k) {
  return (q->frozen[k] != 0) == q->relations[k].positive_is_true ? 1 : -1;
}

static bool by_time(const formula* q, size_t k) {
  return q->relations[k].comparison && q->relations[k].mover == CPLI_MOVED_BY_TIME;
}

static bool may_rest(const formula* q, size_t k) {
  return !q->never_rests && q->relations[k].comparison && q->relations[k].mover == CPLI_MOVED;
}

static cpl_status formula_indicators(void* user, double t, const double* sources, double* z) {
  const formula* q = user;
  cpl_status st = cpli_expr_indicators(q->expr, q->ctx, t, sources, q->frozen, z);
  for (size_t k = 0; k < q->n_relations; k++) {
    if (by_time(q, k)) z[k] = side(q, k);
    else if (q->band[k] > 0) z[k] += side(q, k) * q->band[k];
  }
  return st;
}

// An indicator is 1 in a branch that is not taken.
static void note_scale(formula* q, size_t k) {
  double size = fabs(q->z[k]);
  if (size != 1 && size > q->scale[k]) q->scale[k] = size;
}

// The first evaluation at a time is of the crossing: the comparison changes. Later ones see the
// effect of the event.
static void rest(formula* q, size_t k, bool again) {
  double band = q->band[k] > 0 ? q->band[k] : band_width * q->scale[k];
  bool near = fabs(q->z[k]) < band;
  if (near && (again || q->band[k] > 0)) q->frozen[k] = q->before[k];
  q->band[k] = near ? band : 0;
  note_scale(q, k);
}

// It changes at exactly this time, even if the comparison itself is still an equality; but at the
// start it has the value of the comparison.
static void look_at_clock(formula* q, size_t k, double t, const double* sources) {
  double when;
  bool after;
  if (!cpli_expr_turns(q->expr, &q->relations[k], sources, &when, &after)) return;
  if (q->now.begun || t != when) q->frozen[k] = (t >= when) == after;
}

static void forget(formula* q) {
  for (size_t k = 0; k < q->n_relations; k++) q->scale[k] = q->band[k] = q->beyond[k] = 0;
  q->now.begun = q->now.guessed = 0;
  q->now.since = NAN;
  q->now.fired = -INFINITY;
  q->now.in_a_row = 0;
}

// The scale of indicators is kept from one stay in a mode to the next.
static void formula_begin(void* user) {
  formula* q = user;
  for (size_t k = 0; k < q->n_relations; k++) q->band[k] = 0;
  q->now.begun = q->now.guessed = 0;
}

static size_t turn_resting(formula* q) {
  size_t n = 0;
  for (size_t k = 0; k < q->n_relations; k++) {
    if (q->band[k] > 0) q->frozen[k] = q->frozen[k] == 0, n++;
  }
  return n;
}

// A guard that is true only within the band around zero has not fired: it rests on the other side.
static cpl_status enter(formula* q, double t, const double* sources) {
  double value = 0;
  double* sizes = q->before;
  cpl_status st = cpli_expr_sizes(q->expr, q->ctx, t, sources, sizes);
  for (size_t k = 0; k < q->n_relations && st == CPL_OK; k++) {
    if (!may_rest(q, k)) continue;
    if (sizes[k] > q->scale[k]) q->scale[k] = sizes[k];
    if (q->scale[k] == 0) continue;
    // crossings are located to the accuracy of time, which late in a long run is not so close to
    // zero
    double band = fmax(band_width, fmin(4 * q->beyond[k] / q->scale[k], late_width)) * q->scale[k];
    q->band[k] = fabs(q->z[k]) < band ? band : 0;
  }
  if (st == CPL_OK) st = cpli_expr_value(q->expr, q->ctx, t, sources, q->frozen, &value);
  if (st != CPL_OK || value == 0 || turn_resting(q) == 0) return st;
  st = cpli_expr_value(q->expr, q->ctx, t, sources, q->frozen, &value);
  if (st != CPL_OK || value != 0) turn_resting(q);
  return CPL_OK;
}

// A guard that was close to zero when its mode was entered and changed without leaving the band:
// two modes with such transitions to each other alternate endlessly, at the resolution of the
// guards.
static cpl_status watch_guard(formula* q, double t, bool from_rest) {
  double distance = t - q->now.fired;
  q->now.fired = t;
  q->now.in_a_row = from_rest && distance < close_by * (t - q->now.since) ? q->now.in_a_row + 1 : 0;
  if (q->now.in_a_row < CHATTERING) return CPL_OK;
  return cpl_fail(
      q->ctx, CPL_ERR_MODEL,
      "chattering between modes: mode %s is left (%s, %s) as soon as it is entered, %d "
      "times in a row, the last at t=%.12g, %.2g s after the one before; the modes need "
      "a hysteresis, or another mode for the behaviour there",
      q->mode, q->transition, q->text, q->now.in_a_row, t, distance);
}

static cpl_status formula_settle(void* user, double t, const double* sources, bool* changed) {
  formula* q = user;
  if (t < q->now.settled) forget(q);  // another run
  if (isnan(q->now.since)) q->now.since = t;
  bool again = q->now.begun && t == q->now.settled, entered = q->mode != NULL && !q->now.begun;
  bool toggled = false, from_rest = true;
  memcpy(q->before, q->frozen, q->n_relations * sizeof *q->frozen);
  cpl_status st = cpli_expr_indicators(q->expr, q->ctx, t, sources, q->frozen, q->z);
  if (st == CPL_OK) st = cpli_expr_settle(q->expr, q->ctx, t, sources, q->frozen);
  for (size_t k = 0; k < q->n_relations && st == CPL_OK; k++) {
    double band = q->band[k];  // a resting one changes at the edge of its band
    if (by_time(q, k)) look_at_clock(q, k, t, sources);
    else if (may_rest(q, k)) rest(q, k, again);
    if (!q->now.begun || q->frozen[k] == q->before[k]) continue;
    q->beyond[k] = fmax(fabs(q->z[k]) - band, 0);
    toggled = true;
    from_rest = from_rest && band > 0;
  }
  if (st == CPL_OK && toggled && q->mode != NULL) st = watch_guard(q, t, from_rest);
  *changed = memcmp(q->before, q->frozen, q->n_relations * sizeof *q->frozen) != 0;
  if (entered && st == CPL_OK) st = enter(q, t, sources);
  q->now.settled = t;
  q->now.begun = true;
  return st;
}

// A step was accepted: comparisons that have left their bands are armed again.
static cpl_status formula_accept(void* user, double t, const double* sources) {
  formula* q = user;
  cpl_status st = cpli_expr_indicators(q->expr, q->ctx, t, sources, q->frozen, q->z);
  for (size_t k = 0; k < q->n_relations && st == CPL_OK; k++) {
    if (!may_rest(q, k)) continue;
    note_scale(q, k);
    if (side(q, k) * q->z[k] > q->band[k]) q->band[k] = 0;
  }
  return st;
}

static double formula_next_time(void* user, double t, const double* sources) {
  const formula* q = user;
  double next = INFINITY, when;
  bool after;
  for (size_t k = 0; k < q->n_relations; k++) {
    if (by_time(q, k) && cpli_expr_turns(q->expr, &q->relations[k], sources, &when, &after) &&
        (q->frozen[k] != 0) != after)
      next = fmin(next, fmax(when, t));
  }
  return next;
}

static bool make_formula(cpli_functions* f, const cpli_expr* expr, formula* q) {
  size_t n = cpli_expr_relations(expr);
  *q = (formula){
      .ctx = f->ctx, .expr = expr, .n_relations = n, .now = {.since = NAN, .fired = -INFINITY}};
  q->frozen = cpli_arena_alloc(&f->arena, 6 * n, sizeof *q->frozen);
  q->relations = cpli_arena_alloc(&f->arena, n, sizeof *q->relations);
  if (q->frozen == NULL || q->relations == NULL) return false;
  q->before = q->frozen + n;
  q->z = q->before + n;
  q->scale = q->z + n;
  q->band = q->scale + n;
  q->beyond = q->band + n;
  return true;
}

static cpli_mover mover_of(const cpli_functions* f, cpli_ref ref) {
  const cpl_variable* v = cpli_ref_variable(f->resolver, ref);
  if (v == NULL) return ref.kind == CPLI_REF_PARAMETER ? CPLI_NEVER_MOVED : CPLI_MOVED;
  if (v->type != CPL_REAL || v->variability <= CPL_VARIABILITY_DISCRETE)
    return CPLI_MOVED_AT_EVENTS;
  return CPLI_MOVED;
}

// Finds relations that depend on time alone, which the aggregate schedules as time events.
static cpl_status find_movers(cpli_functions* f, formula* q, const cpli_ref* refs,
                              const int32_t* slots, size_t n, cpl_function* out) {
  if (q->n_relations == 0) return CPL_OK;
  cpli_mover* movers = cpli_alloc(f->ctx, n, sizeof *movers);
  if (movers == NULL) return cpli_nomem(f->ctx);
  for (size_t i = 0; i < n; i++) movers[i] = mover_of(f, refs[slots[i]]);
  cpli_expr_movers(q->expr, movers, q->relations);
  cpli_free(f->ctx, movers);
  out->settle = formula_settle;
  out->begin = formula_begin;
  out->memory[0] = (cpl_function_memory){&q->now, sizeof q->now};
  out->memory[1] = (cpl_function_memory){q->frozen, 6 * q->n_relations * sizeof *q->frozen};
  for (size_t k = 0; k < q->n_relations; k++) {
    if (by_time(q, k)) out->next_time = formula_next_time;
    else out->n_indicators = (int32_t)q->n_relations;
    if (may_rest(q, k)) out->accept = formula_accept;
  }
  if (out->n_indicators > 0) out->indicators = formula_indicators;
  return CPL_OK;
}

// Whether the gradient is constant once the parameters are set.
static bool is_linear(cpli_functions* f, const cpli_expr* expr, const cpli_ref* refs,
                      const int32_t* slots, size_t n) {
  bool* fixed = cpli_alloc(f->ctx, n, sizeof *fixed);
  if (fixed == NULL) return false;
  for (size_t i = 0; i < n; i++) fixed[i] = refs[slots[i]].kind == CPLI_REF_PARAMETER;
  bool linear = cpli_expr_linearity(expr, fixed) == CPLI_LINEAR;
  cpli_free(f->ctx, fixed);
  return linear;
}

static const char* text_for_messages(cpli_functions* f, const cpli_located_text* text) {
  char location[CPLI_LOC_SIZE], whole[CPLI_LOC_SIZE + 256];
  const size_t at = strlen(cpli_source_loc_text(&text->loc, location));
  const size_t n = strnlen(text->text, sizeof whole - at - 1);  // cut where it is long
  memcpy(whole, location, at);
  memcpy(whole + at, text->text, n);
  whole[at + n] = '\0';
  return cpli_arena_strdup(&f->arena, whole);
}

// Numbers expressions by what they compute.
static cpl_status find_alike(cpli_functions* f, const cpli_expr* expr, cpl_function* out) {
  char key[400];
  static_assert((int)CPL_MAX_POINTS == (int)CPLI_EXPR_LANES, "all points of a call at once");
  if (!cpli_expr_key(expr, key, sizeof key)) return CPL_OK;
  if (f->keys.ctx == NULL && cpli_names_init(&f->keys, f->ctx, 0) < 0) return CPL_ERR_NOMEM;
  int32_t number = cpli_names_find(&f->keys, key);
  if (number < 0) {
    const char* copy = cpli_arena_strdup(&f->arena, key);
    if (copy == NULL) return cpli_nomem(f->ctx);
    number = cpli_names_add(&f->keys, copy, (int32_t)f->keys.count + 1);
    if (number < 0) return CPL_ERR_NOMEM;
  }
  out->values = formula_values;
  out->alike = number;
  return CPL_OK;
}

static cpl_status fill(cpli_functions* f, names* s, const cpli_located_text* text, cpli_expr* expr,
                       cpl_function* out) {
  const int32_t* slots;
  size_t n = cpli_expr_slots(expr, &slots);
  formula* q = cpli_arena_alloc(&f->arena, 1, sizeof *q);
  cpl_port* ports = cpli_arena_alloc(&f->arena, n, sizeof *ports);
  const char* shown = text_for_messages(f, text);
  const char* expression = cpli_arena_strdup(&f->arena, text->text);
  if (q == NULL || ports == NULL || shown == NULL || expression == NULL ||
      !make_formula(f, expr, q))
    return cpli_nomem(f->ctx);
  for (size_t i = 0; i < n; i++) ports[i] = cpli_port_of(f, s->refs[slots[i]]);
  *out = (cpl_function){.sources = ports,
                        .n_sources = (int32_t)n,
                        .value = formula_value,
                        .gradient = formula_gradient,
                        .linear = is_linear(f, expr, s->refs, slots, n),
                        .user = q,
                        .text = shown,
                        .expression = expression};
  cpl_status st = find_alike(f, expr, out);
  return st < 0 ? st : find_movers(f, q, s->refs, slots, n, out);
}

cpl_status cpli_function_of_text(cpli_functions* f, const cpli_located_text* text,
                                 cpl_function* out, cpl_type* type) {
  names s = {.f = f};
  cpli_expr* expr = NULL;
  cpl_status st = parse(&s, text, &expr);
  if (st >= 0) st = keep(f, (kept){.expr = expr});
  if (st >= 0 && type != NULL) *type = cpli_expr_type(expr);
  if (st >= 0) st = fill(f, &s, text, expr, out);
  cpli_free(f->ctx, s.refs);
  return st;
}

static bool uses_models(const cpl_function* f) {
  for (int32_t i = 0; i < f->n_sources; i++) {
    if (f->sources[i].part >= 0) return true;
  }
  return false;
}

cpl_status cpli_function_of_constraint(cpli_functions* f, const cpli_constraint* c,
                                       cpl_function* out) {
  cpl_type type = CPL_REAL;
  cpli_ref ref;
  if (cpli_resolver_find(f->resolver, c->name.text, &ref) ||
      cpli_names_find(&f->resolver->def->output_names, c->name.text) >= 0)
    return cpli_fail_at(f->ctx, CPL_ERR_INPUT, &c->name.loc,
                        "constraint %s: a variable, output or observed value has this name already",
                        c->name.text);
  cpl_status st = cpli_function_of_text(f, &c->difference, out, &type);
  if (st >= 0 && type == CPL_BOOLEAN)
    return cpli_fail_at(f->ctx, CPL_ERR_INPUT, &c->difference.loc,
                        "constraint %s: an equation is needed, not a comparison: left = right",
                        c->name.text);
  if (st >= 0 && !uses_models(out))
    return cpli_fail_at(
        f->ctx, CPL_ERR_INPUT, &c->difference.loc,
        "constraint %s: it names no variable of a model (those with solvers of their "
        "own do not count)",
        c->name.text);
  return st;
}

void cpli_function_is_guard(cpl_function* f, const char* mode, const char* transition) {
  formula* q = f->user;
  q->mode = mode;
  q->transition = transition;
  q->text = f->text;
}

static cpl_status check_constant(cpli_functions* f, const cpli_located_text* text,
                                 const cpli_expr* expr) {
  if (!cpli_expr_uses_time(expr)) return CPL_OK;
  return cpli_fail_at(f->ctx, CPL_ERR_INPUT, &text->loc,
                      "%s depends on time: a constant is needed here", text->text);
}

cpl_status cpli_constant_parse(cpli_functions* f, const cpli_located_text* text,
                               cpli_constant* out) {
  names s = {.f = f, .constants_only = true};
  cpli_expr* expr = NULL;
  const int32_t* slots = NULL;
  *out = (cpli_constant){0};
  cpl_status st = parse(&s, text, &expr);
  if (st >= 0) st = keep(f, (kept){.expr = expr});
  if (st >= 0) st = check_constant(f, text, expr);
  const size_t n = st >= 0 ? cpli_expr_slots(expr, &slots) : 0;
  int32_t* parameters = cpli_arena_alloc(&f->arena, n, sizeof *parameters);
  if (st >= 0 && parameters == NULL) st = cpli_nomem(f->ctx);
  for (size_t i = 0; i < n && st >= 0; i++) {
    parameters[i] = s.refs[slots[i]].index;
    if (f->used != NULL) f->used[parameters[i]] = true;
  }
  if (st >= 0) *out = (cpli_constant){expr, parameters, n};
  cpli_free(f->ctx, s.refs);
  return st;
}

cpl_status cpli_constant_value(const cpli_constant* c, cpl_context* ctx, const double* parameters,
                               double* scratch, double* out) {
  for (size_t i = 0; i < c->n; i++) scratch[i] = parameters[c->parameters[i]];
  cpl_status st = cpli_expr_value(c->expr, ctx, 0, scratch, NULL, out);
  return st == CPL_RETRY ? CPL_ERR_INPUT : st;
}

cpl_status cpli_constant_of_text(cpli_functions* f, const cpli_located_text* text,
                                 const double* parameters, const bool* known, double* out) {
  names s = {.f = f, .constants_only = true};
  cpli_expr* expr = NULL;
  cpl_status st = parse(&s, text, &expr);
  const int32_t* slots = NULL;
  size_t n = st >= 0 ? cpli_expr_slots(expr, &slots) : 0;
  double* values = st >= 0 ? cpli_alloc(f->ctx, n, sizeof *values) : NULL;
  if (st >= 0 && values == NULL) st = cpli_nomem(f->ctx);
  for (size_t i = 0; i < n && st >= 0; i++) {
    int32_t index = s.refs[slots[i]].index;
    values[i] = parameters[index];
    if (f->used != NULL) f->used[index] = true;
    if (!known[index])
      st = cpli_fail_at(f->ctx, CPL_RETRY, &text->loc, "%s needs the parameter %s first",
                        text->text, f->resolver->def->parameters[index].name.text);
    if (st == CPL_RETRY) break;
  }
  if (st >= 0 && st != CPL_RETRY) st = check_constant(f, text, expr);
  if (st == CPL_OK) {
    st = cpli_expr_value(expr, f->ctx, 0, values, NULL, out);
    if (st == CPL_RETRY) st = CPL_ERR_INPUT;
  }
  cpli_expr_destroy(expr);
  cpli_free(f->ctx, values);
  cpli_free(f->ctx, s.refs);
  return st;
}

cpli_located_text cpli_scaled_text(cpli_arena* arena, const cpli_located_text* name, double factor,
                                   double offset) {
  char a[CPLI_NUMBER_SIZE], b[CPLI_NUMBER_SIZE];
  cpli_format_double(a, factor);
  cpli_format_double(b, offset);
  size_t size = strlen(name->text) + 2 * CPLI_NUMBER_SIZE + 16;
  char* text = cpli_arena_alloc(arena, size, 1);
  if (text != NULL) snprintf(text, size, "(%s)*'%s' + (%s)", a, name->text, b);
  return (cpli_located_text){text, name->loc};
}

//------------------------------------ several expressions ------------------------------------

typedef struct bundle {
  cpl_function* items;
  int32_t n;
  int32_t** index;  // index of each item's sources among those of the bundle
  double* gathered;
} bundle;

static void gather(const bundle* b, int32_t i, const double* sources) {
  for (int32_t k = 0; k < b->items[i].n_sources; k++) b->gathered[k] = sources[b->index[i][k]];
}

static cpl_status bundle_value(void* user, double t, const double* sources, double* out) {
  const bundle* b = user;
  cpl_status st = CPL_OK;
  for (int32_t i = 0; i < b->n && st == CPL_OK; i++) {
    gather(b, i, sources);
    st = b->items[i].value(b->items[i].user, t, b->gathered, &out[i]);
  }
  return st;
}

static cpl_status bundle_settle(void* user, double t, const double* sources, bool* changed) {
  const bundle* b = user;
  cpl_status st = CPL_OK;
  *changed = false;
  for (int32_t i = 0; i < b->n && st == CPL_OK; i++) {
    bool one = false;
    gather(b, i, sources);
    if (b->items[i].settle != NULL) st = b->items[i].settle(b->items[i].user, t, b->gathered, &one);
    *changed = *changed || one;
  }
  return st;
}

static void bundle_begin(void* user) {
  const bundle* b = user;
  for (int32_t i = 0; i < b->n; i++) {
    if (b->items[i].begin != NULL) b->items[i].begin(b->items[i].user);
  }
}

cpl_status cpli_function_of_texts(cpli_functions* f, const cpli_located_text* texts, size_t n,
                                  cpl_function* out) {
  cpl_status st = CPL_OK;
  size_t total = 0;
  bundle* b = cpli_arena_alloc(&f->arena, 1, sizeof *b);
  cpl_function* items = cpli_arena_alloc(&f->arena, n, sizeof *items);
  int32_t** index = cpli_arena_alloc(&f->arena, n, sizeof *index);
  if (b == NULL || items == NULL || index == NULL) return cpli_nomem(f->ctx);
  for (size_t i = 0; i < n && st >= 0; i++) {
    st = cpli_function_of_text(f, &texts[i], &items[i], NULL);
    if (st >= 0) ((formula*)items[i].user)->never_rests = true;  // it has no memory
    total += st >= 0 ? (size_t)items[i].n_sources : 0;
  }
  if (st < 0) return st;
  cpl_port* ports = cpli_arena_alloc(&f->arena, total, sizeof *ports);
  *b = (bundle){.items = items,
                .n = (int32_t)n,
                .index = index,
                .gathered = cpli_arena_alloc(&f->arena, total, sizeof(double))};
  if (ports == NULL || b->gathered == NULL) return cpli_nomem(f->ctx);
  int32_t used = 0;
  for (size_t i = 0; i < n; i++) {
    index[i] = cpli_arena_alloc(&f->arena, (size_t)items[i].n_sources, sizeof **index);
    if (index[i] == NULL) return cpli_nomem(f->ctx);
    for (int32_t k = 0; k < items[i].n_sources; k++) {
      ports[used] = items[i].sources[k];
      index[i][k] = used++;
    }
  }
  *out = (cpl_function){.sources = ports,
                        .n_sources = used,
                        .value = bundle_value,
                        .settle = bundle_settle,
                        .begin = bundle_begin,
                        .user = b};
  return CPL_OK;
}

//------------------------------------ tables ------------------------------------

// The range of a table, for warnings. It is not part of the function's state, so that a rollback
// does not repeat a warning.
typedef struct table_range {
  cpl_context* ctx;
  const cpl_table* table;
  size_t column;
  double end;  // INFINITY: it is meant to keep its last value
  bool warned_of_begin, warned_of_end;
} table_range;

typedef struct table_input {
  table_range* range;
  cpli_curve curve;
  cpli_cursor cursor;
  // what is saved: no pointers
  struct {
    uint64_t piece, row;  // of the cursor
    uint64_t begun;
  } now;
} table_input;

// The cursor at the saved position, which may be of another process and is not trusted.
static cpli_cursor* cursor_of(table_input* in) {
  cpli_cursor_place(&in->cursor, in->now.piece, in->now.row);
  return &in->cursor;
}

static void keep_position(table_input* in) {
  in->now.piece = in->cursor.piece;
  in->now.row = in->cursor.row;
}

static void begin_table(table_input* in, double t) {
  table_range* r = in->range;
  in->cursor = cpli_cursor_at(&in->curve, t);
  in->now.begun = 1;
  keep_position(in);
  if (r->warned_of_begin || !(t < r->table->time[0])) return;
  char column[512], first[CPLI_NUMBER_SIZE], start[CPLI_NUMBER_SIZE];
  cpli_format_double(first, r->table->time[0]);
  cpli_format_double(start, t);
  cpl_log(r->ctx, CPL_LOG_WARNING, "",
          "%s begins at t=%s, after the start of the run at t=%s: its first value is used until "
          "then",
          cpli_column_text(r->table, r->column, column, sizeof column), first, start);
  r->warned_of_begin = true;
}

static void warn_of_end(table_range* r, double t) {
  if (r->warned_of_end || !(t > r->end + 1e-12 * fabs(r->end))) return;
  char column[512];
  cpl_log(r->ctx, CPL_LOG_WARNING, "", "%s ends at t=%.12g: its last value is used from there on",
          cpli_column_text(r->table, r->column, column, sizeof column), r->end);
  r->warned_of_end = true;
}

static cpl_status table_value(void* user, double t, const double* sources, double* out) {
  table_input* in = user;
  (void)sources;
  warn_of_end(in->range, t);
  if (in->now.begun == 0) begin_table(in, t);
  *out = cpli_cursor_value(cursor_of(in), t);
  keep_position(in);
  return CPL_OK;
}

static cpl_status table_settle(void* user, double t, const double* sources, bool* changed) {
  table_input* in = user;
  (void)sources;
  *changed = in->now.begun != 0 && cpli_cursor_pass(cursor_of(in), t);
  if (in->now.begun == 0) begin_table(in, t);
  keep_position(in);
  return CPL_OK;
}

static cpl_break table_next_break(void* user, double t, double tolerance) {
  table_input* in = user;
  if (in->now.begun == 0) return (cpl_break){(double)INFINITY, 0};
  return cpli_cursor_next_kink(cursor_of(in), t, tolerance);
}

cpl_status cpli_function_of_table(cpli_functions* f, const cpl_table* table, size_t column,
                                  bool held, const cpli_conversion* how, cpl_function* out,
                                  const double** jumps, int32_t* n_jumps) {
  table_input* in = cpli_arena_alloc(&f->arena, 1, sizeof *in);
  if (in == NULL) return cpli_nomem(f->ctx);
  in->range = cpli_arena_alloc(&f->arena, 1, sizeof *in->range);
  if (in->range == NULL) return cpli_nomem(f->ctx);
  // a column that is constant between its rows is so after the last one, too; one row is a constant
  bool holds_last = held || table->n_rows < 2;
  *in->range = (table_range){.ctx = f->ctx,
                             .table = table,
                             .column = column,
                             .end = holds_last ? INFINITY : table->time[table->n_rows - 1]};
  cpl_status st = cpli_curve_init(&in->curve, f->ctx, table, column,
                                  held ? CPLI_ROWS_HELD : CPLI_ROWS_LINEAR, how);
  if (st < 0) {
    cpli_curve_free(&in->curve);
    return st;
  }
  st = keep(f, (kept){.curve = &in->curve});
  if (st < 0) return st;
  in->cursor.curve = &in->curve;
  double* times = cpli_arena_alloc(&f->arena, in->curve.n_pieces, sizeof *times);
  if (times == NULL) return cpli_nomem(f->ctx);
  for (size_t i = 0; i + 1 < in->curve.n_pieces; i++)
    times[i] = table->time[in->curve.pieces[i].last];
  *jumps = times;
  *n_jumps = (int32_t)in->curve.n_pieces - 1;
  *out = (cpl_function){.value = table_value,
                        .settle = table_settle,
                        .next_break = table_next_break,
                        .user = in,
                        .memory = {{&in->now, sizeof in->now}}};
  return CPL_OK;
}
