// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Values that follow from parameters: other parameters, start values of models and inputs, times of
// events. Their expressions are compiled once. The starter of an instance evaluates them when a
// parameter was set from outside, in the order of their dependencies; a value that was set itself
// keeps what it was set to. The starter also sets the start values of the definition after a reset,
// which resets the models to their own ones.
#include <math.h>
#include <stdio.h>

#include "assemble/assemble.h"
#include "format/number.h"
#include "model/start.h"

typedef struct follower {
  cpli_constant constant;
  // of a parameter or input that begins with the start value of what it is connected to
  double factor, offset;  // value = (constant - offset) / factor
  int32_t parameter;      // it is this one of the system; -1: another variable
  uint32_t ref;           // in the whole: the index of its variable
  const cpli_located_text* text;
} follower;

typedef struct timer {  // the times of an event
  const cpli_event* event;
  const cpli_constant* times;  // n_at
} timer;

// A start value of the definition that is no Real.
typedef struct other_start {
  cpl_type type;
  uint32_t ref;
  int64_t integer;
  const char* text;
  cpl_binary binary;
} other_start;

typedef struct cpli_follow {
  cpli_functions functions;  // owner of the expressions
  int32_t n_vars;
  int32_t *parameter_of, *follower_of;  // by variable; -1: none. Nullable: no parameters
  follower* followers;
  size_t n_followers, cap_followers;
  double* values;  // of the followers, with the parameters of the definition
  timer* timers;
  size_t n_timers;
  size_t scratch;  // numbers that the longest expression needs
  uint32_t* refs;  // start values of the definition
  double* numbers;
  size_t n_numbers, cap_refs, cap_numbers;
  other_start* others;
  size_t n_others, cap_others;
} follow;

//------------------------------------ instances ------------------------------------

typedef struct instance {
  cpli_starter base;
  const cpli_built* b;
  double* parameters;  // present values
  double* values;      // of the followers, as they were set last
  bool* given;         // followers that were set from outside
  double* scratch;
  double** times;  // of each event
  bool changed;    // a parameter was set
} instance;

static cpl_status refuse_fixed(const instance* s, const cpl_component* c, int32_t parameter,
                               double value) {
  const char* name = s->b->def->parameters[parameter].name.text;
  return cpl_fail_in(c->ctx, CPL_ERR_INPUT, c->name, name, NAN,
                     "%s cannot be set to %g: it determines what is fixed when the system is built "
                     "(delays, steps, sizes), and must be given when it is opened",
                     name, value);
}

static cpl_status note(cpli_starter* starter, cpl_component* c, const cpli_access* a) {
  instance* s = (instance*)starter;
  const follow* p = s->b->follow;
  for (size_t i = 0; i < a->n && p->parameter_of != NULL; i++) {
    if (a->refs[i] >= (uint32_t)p->n_vars) continue;  // reported by the access itself
    const int32_t k = p->parameter_of[a->refs[i]], f = p->follower_of[a->refs[i]];
    if (f >= 0) s->given[f] = true;
    if (k < 0 || a->type != CPL_REAL) continue;
    const double value = ((const double*)a->values)[i];
    if (s->b->fixed[k] && value != s->parameters[k]) return refuse_fixed(s, c, k, value);
    s->parameters[k] = value;
    s->changed = true;
  }
  return CPL_OK;
}

static cpl_status evaluate(const cpli_built* b, const follower* f, const double* parameters,
                           double* scratch, double* out) {
  cpl_status st = cpli_constant_value(&f->constant, b->base.ctx, parameters, scratch, out);
  if (st >= 0 && (f->factor != 1 || f->offset != 0)) *out = (*out - f->offset) / f->factor;
  return st;
}

static cpl_status check_value(const cpl_component* c, const follower* f, const cpl_variable* v,
                              double value) {
  char limit[128], number[CPLI_NUMBER_SIZE];
  const char* why = cpli_beyond_limit(c->desc, v, value, limit, sizeof limit);
  if (v->type == CPL_INTEGER && value != floor(value)) why = "it is an integer";
  if (!isfinite(value)) why = "this is not a finite number";
  if (why == NULL) return CPL_OK;
  cpli_format_double(number, value);
  return cpli_fail_at(c->ctx, CPL_ERR_INPUT, &f->text->loc, "%s cannot be set to %s (%s): %s",
                      v->name, number, f->text->text, why);
}

static cpl_status set_value(cpl_component* c, const cpl_variable* v, double value) {
  const int64_t integer = (int64_t)value;
  return v->type == CPL_REAL ? c->ops->set_real(c, &v->ref, 1, &value)
                             : c->ops->set_integer(c, (cpl_type)v->type, &v->ref, 1, &integer);
}

static cpl_status move_times(const instance* s) {
  const follow* p = s->b->follow;
  cpl_status st = CPL_OK;
  for (size_t i = 0; i < p->n_timers; i++) {
    const timer* t = &p->timers[i];
    double* times = s->times[t->event - s->b->def->events];
    for (size_t k = 0; k < t->event->n_at && st >= 0; k++) {
      double time = 0;
      st = cpli_constant_value(&t->times[k], s->b->base.ctx, s->parameters, s->scratch, &time);
      if (st >= 0) cpli_sort_in(times, k, time);
    }
  }
  return st;
}

static cpl_status follow_parameters(cpli_starter* starter, cpl_component* c) {
  instance* s = (instance*)starter;
  const follow* p = s->b->follow;
  cpl_status st = CPL_OK;
  if (!s->changed) return CPL_OK;
  for (size_t i = 0; i < p->n_followers && st >= 0; i++) {
    const follower* f = &p->followers[i];
    const cpl_variable* v = &c->desc->vars[f->ref];
    double value = 0;
    if (s->given[i]) continue;
    st = evaluate(s->b, f, s->parameters, s->scratch, &value);
    if (st < 0 || value == s->values[i]) continue;
    st = check_value(c, f, v, value);
    if (st >= 0) st = set_value(c, v, value);
    if (st < 0) return st;
    s->values[i] = value;
    if (f->parameter >= 0) s->parameters[f->parameter] = value;
  }
  if (st >= 0) st = move_times(s);
  s->changed = st < 0;
  return st;
}

static void forget(instance* s) {
  const follow* p = s->b->follow;
  for (size_t i = 0; i < s->b->def->n_parameters; i++) s->parameters[i] = s->b->parameters[i];
  for (size_t i = 0; i < p->n_followers; i++) {
    s->values[i] = p->values[i];
    s->given[i] = false;
  }
  s->changed = false;
}

static cpl_status set_other(cpl_component* c, const other_start* o) {
  if (o->type == CPL_STRING) return c->ops->set_string(c, &o->ref, 1, &o->text);
  if (o->type == CPL_BINARY) return c->ops->set_binary(c, &o->ref, 1, &o->binary);
  return c->ops->set_integer(c, o->type, &o->ref, 1, &o->integer);
}

static cpl_status start_again(cpli_starter* starter, cpl_component* c) {
  instance* s = (instance*)starter;
  const follow* p = s->b->follow;
  forget(s);
  cpl_status st = move_times(s);
  if (st >= 0 && p->n_numbers > 0) st = c->ops->set_real(c, p->refs, p->n_numbers, p->numbers);
  for (size_t i = 0; i < p->n_others && st >= 0; i++) st = set_other(c, &p->others[i]);
  return st;
}

cpl_status cpli_follow_starter(cpli_built* b, cpli_assembly* one, cpli_starter** out) {
  const follow* p = b->follow;
  cpli_arena* arena = &one->functions.arena;
  instance* s = cpli_arena_alloc(arena, 1, sizeof *s);
  if (s == NULL) return cpli_nomem(b->base.ctx);
  *s =
      (instance){.base = {.note = note, .follow = follow_parameters, .again = start_again},
                 .b = b,
                 .parameters = cpli_arena_alloc(arena, b->def->n_parameters, sizeof *s->parameters),
                 .values = cpli_arena_alloc(arena, p->n_followers, sizeof *s->values),
                 .given = cpli_arena_alloc(arena, p->n_followers, sizeof *s->given),
                 .scratch = cpli_arena_alloc(arena, p->scratch, sizeof *s->scratch),
                 .times = one->times};
  if (s->parameters == NULL || s->values == NULL || s->given == NULL || s->scratch == NULL)
    return cpli_nomem(b->base.ctx);
  forget(s);
  *out = &s->base;
  return CPL_OK;
}

//------------------------------------ start values ------------------------------------

// A proxy of a member for setting start values: they are stored as values of the whole.
typedef struct recorder {
  cpl_component base;  // with the description of the member
  follow* plan;
  const cpl_description* whole;
  int32_t var;  // of the member: the next one that is set
  // the variables of the whole that were set last; several: an array
  uint32_t* set;
  size_t n_set, cap_set;
} recorder;

// The variable of the whole that is being set. NULL: there is none.
static const cpl_variable* next_variable(recorder* r) {
  char name[1024];
  const int n =
      snprintf(name, sizeof name, "%s.%s", r->base.name, r->base.desc->vars[r->var++].name);
  const int32_t var = n > 0 && (size_t)n < sizeof name ? cpl_find_variable(r->whole, name) : -1;
  return var >= 0 ? &r->whole->vars[var] : NULL;
}

static cpl_status note_set(recorder* r, uint32_t ref) {
  if (!cpli_grow(r->base.ctx, (void**)&r->set, &r->cap_set, r->n_set, sizeof *r->set))
    return cpli_nomem(r->base.ctx);
  r->set[r->n_set++] = ref;
  return CPL_OK;
}

static cpl_status record_real(cpl_component* c, const uint32_t* refs, size_t n,
                              const double* values) {
  recorder* r = (recorder*)c;
  follow* p = r->plan;
  (void)refs;
  for (size_t i = 0; i < n; i++) {
    const cpl_variable* v = next_variable(r);
    if (v == NULL) continue;
    if (!cpli_grow(c->ctx, (void**)&p->refs, &p->cap_refs, p->n_numbers, sizeof *p->refs) ||
        !cpli_grow(c->ctx, (void**)&p->numbers, &p->cap_numbers, p->n_numbers, sizeof *p->numbers))
      return cpli_nomem(c->ctx);
    p->refs[p->n_numbers] = v->ref;
    p->numbers[p->n_numbers++] = values[i];
    cpl_status st = note_set(r, v->ref);
    if (st < 0) return st;
  }
  return CPL_OK;
}

static cpl_status record_other(recorder* r, other_start start) {
  follow* p = r->plan;
  const cpl_variable* v = next_variable(r);
  if (v == NULL) return CPL_OK;
  if (!cpli_grow(r->base.ctx, (void**)&p->others, &p->cap_others, p->n_others, sizeof *p->others))
    return cpli_nomem(r->base.ctx);
  start.type = (cpl_type)v->type;
  start.ref = v->ref;
  p->others[p->n_others++] = start;
  return note_set(r, v->ref);
}

// A variable of a mode is a Real of the whole.
static cpl_status record_integer(cpl_component* c, cpl_type type, const uint32_t* refs, size_t n,
                                 const int64_t* values) {
  cpl_status st = CPL_OK;
  (void)type, (void)refs;
  for (size_t i = 0; i < n && st >= 0; i++)
    st = record_other((recorder*)c, (other_start){.integer = values[i]});
  return st;
}

static cpl_status record_string(cpl_component* c, const uint32_t* refs, size_t n,
                                const char* const* values) {
  recorder* r = (recorder*)c;
  cpl_status st = CPL_OK;
  (void)refs;
  for (size_t i = 0; i < n && st >= 0; i++) {
    const char* text = cpli_arena_strdup(&r->plan->functions.arena, values[i]);
    st = text != NULL ? record_other(r, (other_start){.text = text}) : cpli_nomem(c->ctx);
  }
  return st;
}

static cpl_status record_binary(cpl_component* c, const uint32_t* refs, size_t n,
                                const cpl_binary* values) {
  recorder* r = (recorder*)c;
  cpl_status st = CPL_OK;
  (void)refs;
  for (size_t i = 0; i < n && st >= 0; i++) {
    uint8_t* bytes = cpli_arena_alloc(&r->plan->functions.arena, values[i].size, 1);
    if (bytes == NULL) return cpli_nomem(c->ctx);
    if (values[i].size > 0) memcpy(bytes, values[i].data, values[i].size);
    st = record_other(r, (other_start){.binary = {bytes, values[i].size}});
  }
  return st;
}

static const cpl_component_ops recorder_ops = {.size = sizeof(cpl_component_ops),
                                               .kind = "record",
                                               .set_real = record_real,
                                               .set_integer = record_integer,
                                               .set_string = record_string,
                                               .set_binary = record_binary};

//------------------------------------ followers ------------------------------------

static cpl_status add_follower(cpli_built* b, follower f) {
  follow* p = b->follow;
  if (!cpli_grow(b->base.ctx, (void**)&p->followers, &p->cap_followers, p->n_followers,
                 sizeof *p->followers))
    return cpli_nomem(b->base.ctx);
  if (f.constant.n > p->scratch) p->scratch = f.constant.n;
  p->followers[p->n_followers++] = f;
  return CPL_OK;
}

// A text that names parameters; a number with a unit is none.
static bool names_parameters(cpli_built* b, const cpli_located_text* text, cpli_constant* out) {
  double value;
  return text->text != NULL && b->def->n_parameters > 0 &&
         !cpli_parse_double(text->text, strlen(text->text), &value) &&
         cpli_constant_parse(&b->follow->functions, text, out) >= 0 && out->n > 0;
}

// A parameter or an input without a value begins with the start value of what it is connected to.
static bool follows_target(cpli_built* b, int32_t first_link, follower* f) {
  if (first_link < 0) return false;
  const cpli_link* link = &b->links.items[first_link];
  const cpl_variable* v = &b->sources[link->model]->desc->vars[link->var];
  const cpli_member* m = &b->def->models[link->model];
  f->factor = link->factor;
  f->offset = link->offset;
  for (size_t k = 0; k < m->n_starts && v->type <= CPL_INTEGER; k++) {
    const cpli_setting* s = &m->starts[k];
    if (strcmp(s->name.text, v->name) != 0 || s->optional) continue;
    f->text = &s->value;
    return names_parameters(b, &s->value, &f->constant);
  }
  return false;
}

static cpl_status follow_value(cpli_built* b, const cpl_description* whole, const char* name,
                               const cpli_located_text* text, int32_t first_link,
                               int32_t parameter) {
  follower f = {.factor = 1, .parameter = parameter, .text = text};
  const int32_t var = cpl_find_variable(whole, name);
  if (var < 0) return CPL_OK;
  f.ref = whole->vars[var].ref;
  const bool follows = text->text != NULL ? names_parameters(b, text, &f.constant)
                                          : follows_target(b, first_link, &f);
  return follows ? add_follower(b, f) : CPL_OK;
}

// Fixed parameters keep the values that they were given when the system was built.
static cpl_status follow_all_parameters(cpli_built* b, const cpl_description* whole) {
  cpl_status st = CPL_OK;
  for (size_t i = 0; i < b->def->n_parameters && st >= 0; i++) {
    const int32_t k = b->order[i];
    const cpli_parameter* p = &b->def->parameters[k];
    if (!b->fixed[k]) st = follow_value(b, whole, p->name.text, &p->value, b->first_links[k], k);
  }
  return st;
}

static cpl_status follow_inputs(cpli_built* b, const cpl_description* whole) {
  cpl_status st = CPL_OK;
  for (size_t i = 0; i < b->def->n_inputs && st >= 0; i++) {
    const cpli_input* in = &b->def->inputs[i];
    if (in->kind == CPLI_INPUT_FREE)
      st = follow_value(b, whole, in->name.text, &in->start,
                        b->first_links[b->def->n_parameters + i], -1);
  }
  return st;
}

static cpl_status take_start(cpli_built* b, recorder* r, const cpli_setting* s) {
  const cpl_description* d = r->base.desc;
  r->n_set = 0;
  r->var = cpl_find_variable(d, s->name.text);
  for (int32_t i = 0; i < d->n_arrays && r->var < 0; i++)
    if (strcmp(d->arrays[i].name, s->name.text) == 0) r->var = d->arrays[i].first;
  if (r->var < 0) return CPL_OK;
  const bool number = d->vars[r->var].type <= CPL_INTEGER;
  follower f = {.factor = 1, .parameter = -1, .text = &s->value};
  cpl_status st = cpli_set_start(b, &b->follow->functions, s, &r->base);
  if (st < 0 || !number || s->optional || !names_parameters(b, &s->value, &f.constant)) return st;
  for (size_t i = 0; i < r->n_set && st >= 0; i++) {
    f.ref = r->set[i];
    st = add_follower(b, f);
  }
  return st;
}

static cpl_status take_starts(cpli_built* b, const cpl_description* whole) {
  recorder r = {
      .base = {.ops = &recorder_ops, .ctx = b->base.ctx}, .plan = b->follow, .whole = whole};
  cpl_status st = CPL_OK;
  for (size_t i = 0; i < b->def->n_models && st >= 0; i++) {
    const cpli_member* m = &b->def->models[i];
    r.base.desc = b->sources[i]->desc;
    r.base.name = m->name.text;
    for (size_t k = 0; k < m->n_starts && st >= 0; k++) st = take_start(b, &r, &m->starts[k]);
  }
  cpli_free(b->base.ctx, r.set);
  return st;
}

//------------------------------------ times ------------------------------------

static cpl_status take_times(cpli_built* b, const cpli_event* e, timer* out, bool* follows) {
  follow* p = b->follow;
  cpl_status st = CPL_OK;
  cpli_constant* times = cpli_arena_alloc(&p->functions.arena, e->n_at, sizeof *times);
  if (times == NULL) return cpli_nomem(b->base.ctx);
  for (size_t k = 0; k < e->n_at && st >= 0; k++) {
    st = cpli_constant_parse(&p->functions, &e->at[k], &times[k]);
    if (times[k].n > p->scratch) p->scratch = times[k].n;
    *follows = *follows || times[k].n > 0;
  }
  *out = (timer){e, times};
  return st;
}

static cpl_status take_timers(cpli_built* b) {
  follow* p = b->follow;
  cpl_status st = CPL_OK;
  p->timers = cpli_arena_alloc(&p->functions.arena, b->def->n_events, sizeof *p->timers);
  if (p->timers == NULL) return cpli_nomem(b->base.ctx);
  for (size_t i = 0; i < b->def->n_events && st >= 0 && b->def->n_parameters > 0; i++) {
    bool follows = false;
    if (b->def->events[i].n_at == 0) continue;
    st = take_times(b, &b->def->events[i], &p->timers[p->n_timers], &follows);
    p->n_timers += follows && b->tlm == NULL;
  }
  return st;
}

//------------------------------------ the plan ------------------------------------

static int32_t first_alias(const cpl_description* d, int32_t var) {
  return d->vars[var].alias_of >= 0 ? d->vars[var].alias_of : var;
}

// By variable; a variable that is set under another name is set as well.
static cpl_status index_variables(cpli_built* b, const cpl_description* whole) {
  follow* p = b->follow;
  p->n_vars = whole->n_vars;
  if (b->def->n_parameters == 0) return CPL_OK;
  const size_t n = (size_t)whole->n_vars;
  p->parameter_of = cpli_arena_alloc(&p->functions.arena, n, sizeof *p->parameter_of);
  p->follower_of = cpli_arena_alloc(&p->functions.arena, n, sizeof *p->follower_of);
  if (p->parameter_of == NULL || p->follower_of == NULL) return cpli_nomem(b->base.ctx);
  for (size_t i = 0; i < n; i++) p->parameter_of[i] = p->follower_of[i] = -1;
  for (size_t i = 0; i < b->def->n_parameters; i++) {
    const int32_t var = cpl_find_variable(whole, b->def->parameters[i].name.text);
    if (var >= 0) p->parameter_of[var] = (int32_t)i;
  }
  for (size_t i = 0; i < p->n_followers; i++) {
    const int32_t var = (int32_t)p->followers[i].ref;
    p->follower_of[first_alias(whole, var)] = p->follower_of[var] = (int32_t)i;
  }
  for (int32_t i = 0; i < whole->n_vars; i++)
    if (p->follower_of[i] < 0) p->follower_of[i] = p->follower_of[first_alias(whole, i)];
  return CPL_OK;
}

static cpl_status evaluate_all(cpli_built* b) {
  follow* p = b->follow;
  cpli_arena* arena = &p->functions.arena;
  double* scratch = cpli_arena_alloc(arena, p->scratch, sizeof *scratch);
  p->values = cpli_arena_alloc(arena, p->n_followers, sizeof *p->values);
  if (scratch == NULL || p->values == NULL) return cpli_nomem(b->base.ctx);
  cpl_status st = CPL_OK;
  for (size_t i = 0; i < p->n_followers && st >= 0; i++)
    st = evaluate(b, &p->followers[i], b->parameters, scratch, &p->values[i]);
  return st;
}

cpl_status cpli_follow_make(cpli_built* b, const cpl_description* whole) {
  if (b->follow != NULL) return CPL_OK;
  follow* p = b->follow = cpli_alloc(b->base.ctx, 1, sizeof *p);
  if (p == NULL) return cpli_nomem(b->base.ctx);
  p->functions = (cpli_functions){
      .ctx = b->base.ctx, .resolver = &b->resolver, .first_input = (int32_t)b->def->n_parameters};
  cpli_arena_init(&p->functions.arena, b->base.ctx);
  cpl_status st = follow_all_parameters(b, whole);
  if (st >= 0) st = follow_inputs(b, whole);
  if (st >= 0) st = take_starts(b, whole);
  if (st >= 0) st = take_timers(b);
  if (st >= 0) st = index_variables(b, whole);
  return st < 0 ? st : evaluate_all(b);
}

void cpli_follow_free(cpli_built* b) {
  follow* p = b->follow;
  if (p == NULL) return;
  cpli_functions_free(&p->functions);
  cpli_free(b->base.ctx, p->followers);
  cpli_free(b->base.ctx, p->refs);
  cpli_free(b->base.ctx, p->numbers);
  cpli_free(b->base.ctx, p->others);
  cpli_free(b->base.ctx, p);
}

void cpli_follow_mark(const cpli_built* b, cpl_description* whole) {
  const follow* p = b->follow;
  cpl_variable* vars = (cpl_variable*)whole->vars;
  for (int32_t i = 0; i < whole->n_vars && p->parameter_of != NULL; i++)
    if (p->parameter_of[i] >= 0) vars[i].structural = b->fixed[p->parameter_of[i]];
  for (size_t i = 0; i < p->n_followers; i++) {
    cpl_variable* v = &vars[p->followers[i].ref];
    if (v->initial == CPL_INITIAL_EXACT) v->initial = CPL_INITIAL_APPROX;
  }
}
