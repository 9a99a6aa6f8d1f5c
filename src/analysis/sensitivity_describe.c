// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The description of a model with its sensitivities: the variables of the model, the pairs
// "dy/dk", the sensitivities of states with their derivatives, and the dependencies of these.
#include <math.h>
#include <stdio.h>

#include "analysis/sensitivity.h"
#include "base/error.h"
#include "model/description.h"
#include "model/sparsity.h"
#include "model/start.h"

//------------------------------------ names ------------------------------------

static cpl_status refuse(const cpli_sens* s, const char* name, const char* what, const char* why) {
  return cpl_fail_in(s->base.base.ctx, CPL_ERR_INPUT, s->base.base.name, name, NAN,
                     "sensitivities %s %s are not possible: %s", what, name, why);
}

static bool is_state(const cpli_sens* s, int32_t var) {
  const cpl_description* d = s->m->base.desc;
  for (int32_t i = 0; i < d->n_states; i++) {
    if (d->states[i] >= 0 && cpli_root_variable(d, d->states[i]) == var) return true;
  }
  return false;
}

// Why nothing can change with this variable. NULL: it can.
static const char* not_variable(const cpl_variable* v, bool state) {
  if (v->type != CPL_REAL) return "it is not Real";
  if (state) return NULL;
  if (v->causality == CPL_CAUSALITY_INPUT)
    return v->variability == CPL_VARIABILITY_CONTINUOUS ? NULL : "it is a discrete input";
  const char* why = cpli_not_settable(v);
  if (why != NULL) return why;
  if (v->causality == CPL_CAUSALITY_PARAMETER) return NULL;
  return "it is neither a parameter nor an input nor a state";
}

static cpl_status take_to(cpli_sens* s, const char* name, cpli_sens_parameter* k) {
  const cpl_description* d = s->m->base.desc;
  cpl_status st = cpl_require_variable(s->base.base.ctx, d, name, &k->named);
  if (st < 0) return st;
  k->var = cpli_root_variable(d, k->named);
  const cpl_variable* v = &d->vars[k->var];
  k->is_state = is_state(s, k->var);
  const char* why = not_variable(v, k->is_state);
  if (why != NULL) return refuse(s, name, "to", why);
  k->ref = v->ref;
  k->start = v->has_start ? v->start : 0;
  k->of[0].sign = 1;
  k->of[1].sign = -1;
  return CPL_OK;
}

cpl_status cpli_sens_take_names(cpli_sens* s, const cpl_sensitivity_def* def) {
  const cpl_description* d = s->m->base.desc;
  cpl_status st = CPL_OK;
  for (size_t j = 0; j < s->n_of && st >= 0; j++) {
    st = cpl_require_variable(s->base.base.ctx, d, def->of[j], &s->of_vars[j]);
    if (st < 0) return st;
    const cpl_variable* v = &d->vars[s->of_vars[j]];
    if (v->type != CPL_REAL) return refuse(s, def->of[j], "of", "it is not Real");
    s->of[j] = v->ref;
  }
  for (size_t i = 0; i < s->n_to && st >= 0; i++) {
    st = take_to(s, def->to[i], &s->to[i]);
    for (size_t k = 0; k < i && st >= 0; k++) {
      if (s->to[k].var == s->to[i].var) st = refuse(s, def->to[i], "to", "it is given twice");
    }
  }
  return st;
}

//------------------------------------ variables ------------------------------------

static const char* pair_name(cpli_sens* s, const char* before, const char* of, const char* between,
                             const char* to, const char* after) {
  const char* parts[] = {before, of, between, to, after};
  size_t n = 1;
  for (size_t i = 0; i < CPLI_COUNT(parts); i++) n += strlen(parts[i]);
  char* text = cpli_arena_alloc(&s->desc->arena, n, 1);
  for (size_t i = 0; i < CPLI_COUNT(parts) && text != NULL; i++) strcat(text, parts[i]);
  return text;
}

// The unit of dy/dk as a text; -1: neither has one.
static cpl_status add_unit(cpli_sens* s, int32_t of, int32_t to, int32_t* unit) {
  cpl_description* d = &s->desc->desc;
  const char* y = d->vars[of].unit >= 0 ? d->units[d->vars[of].unit].name : "1";
  const char* k = d->vars[to].unit >= 0 ? d->units[d->vars[to].unit].name : "1";
  bool simple = strcmp(k, "1") == 0, composed = strpbrk(k, "/.*") != NULL;
  *unit = -1;
  if (strcmp(y, k) == 0) return CPL_OK;  // of magnitude one, or none
  const char* text = pair_name(s, y,
                               simple     ? ""
                               : composed ? "/("
                                          : "/",
                               simple ? "" : k, composed && !simple ? ")" : "", "");
  if (text == NULL) return cpli_nomem(s->base.base.ctx);
  *unit = d->n_units;
  ((cpl_unit*)d->units)[d->n_units++] = (cpl_unit){.name = text, .factor = 1, .display_of = -1};
  return CPL_OK;
}

static cpl_status add(cpli_sens* s, cpl_variable v, cpl_route route) {
  cpl_description* d = &s->desc->desc;
  int32_t i = d->n_vars;
  if (v.name == NULL) return cpli_nomem(s->base.base.ctx);
  v.ref = (uint32_t)i;
  int32_t there = cpli_names_add(&s->desc->names, v.name, i);
  if (there == CPL_ERR_NOMEM) return cpli_nomem(s->base.base.ctx);
  if (there != i)
    return cpl_fail_in(s->base.base.ctx, CPL_ERR_INPUT, s->base.base.name, v.name, NAN,
                       "the model has a variable %s itself", v.name);
  ((cpl_variable*)d->vars)[i] = v;
  s->desc->routes[i] = route;
  d->n_vars++;
  return CPL_OK;
}

static cpl_variable sensitivity(const char* name, cpl_causality causality) {
  cpl_variable v = cpli_blank_variable;
  v.name = name;
  v.causality = (uint8_t)causality;
  v.variability = CPL_VARIABILITY_CONTINUOUS;
  v.initial = CPL_INITIAL_CALCULATED;
  return v;
}

static cpl_status add_pairs(cpli_sens* s) {
  const cpl_description* d = s->m->base.desc;
  cpl_status st = CPL_OK;
  for (size_t j = 0; j < s->n_of && st >= 0; j++) {
    for (size_t i = 0; i < s->n_to && st >= 0; i++) {
      const char *y = d->vars[s->of_vars[j]].name, *k = d->vars[s->to[i].named].name;
      cpl_variable v = sensitivity(pair_name(s, "d", y, "/d", k, ""), CPL_CAUSALITY_OUTPUT);
      st = add_unit(s, s->of_vars[j], s->to[i].var, &v.unit);
      if (st >= 0) st = add(s, v, (cpl_route){SENS_PAIR, (uint32_t)(j * s->n_to + i)});
    }
  }
  return st;
}

// Sensitivities of states are not results of their own: those of `of` are. named: the variable of
// each state; first: the first variable of those added.
static cpl_status add_states(cpli_sens* s, const int32_t* named, int32_t* first) {
  const cpl_description* from = s->m->base.desc;
  cpl_description* d = &s->desc->desc;
  cpl_status st = CPL_OK;
  *first = d->n_vars;
  for (size_t i = 0; i < s->n_to && st >= 0; i++) {
    const char* k = from->vars[s->to[i].named].name;
    for (size_t j = 0; j < s->n_named && st >= 0; j++) {
      char hidden[32];
      snprintf(hidden, sizeof hidden, "state %zu", j + 1);
      const char* x = named[j] >= 0 ? from->vars[named[j]].name : hidden;
      uint32_t at = (uint32_t)(s->n_named * i + j);
      int32_t state = d->n_vars;
      cpl_variable v = sensitivity(pair_name(s, "d(", x, ")/d(", k, ")"), CPL_CAUSALITY_LOCAL);
      st = add(s, v, (cpl_route){SENS_STATE, at});
      if (st < 0) return st;
      v = sensitivity(pair_name(s, "der(d(", x, ")/d(", k, "))"), CPL_CAUSALITY_LOCAL);
      v.derivative_of = state;
      st = add(s, v, (cpl_route){SENS_SLOPE, at});
    }
  }
  return st;
}

static cpl_status add_model(cpli_sens* s) {
  const cpl_description* from = s->m->base.desc;
  cpl_description* d = &s->desc->desc;
  cpl_context* ctx = s->base.base.ctx;
  if (from->n_units > 0)
    memcpy((cpl_unit*)d->units, from->units, (size_t)from->n_units * sizeof *d->units);
  if (from->n_types > 0)
    memcpy((cpl_type_def*)d->types, from->types, (size_t)from->n_types * sizeof *d->types);
  if (from->n_arrays > 0)
    memcpy((cpl_array*)d->arrays, from->arrays, (size_t)from->n_arrays * sizeof *d->arrays);
  d->n_units = from->n_units;
  for (int32_t i = 0; i < from->n_vars; i++) {
    cpl_variable v = from->vars[i];
    v.ref = (uint32_t)i;
    ((cpl_variable*)d->vars)[i] = v;
    s->desc->routes[i] = (cpl_route){SENS_MODEL, from->vars[i].ref};
    if (cpl_find_variable(from, v.name) != i) continue;  // its name belongs to another variable
    if (cpli_names_add(&s->desc->names, v.name, i) == CPL_ERR_NOMEM) return cpli_nomem(ctx);
  }
  d->n_vars = from->n_vars;
  return CPL_OK;
}

//------------------------------------ structure ------------------------------------

typedef struct rows {
  cpl_unknown* list;
  int32_t* deps;
  uint8_t* kinds;
  int32_t n, n_deps;
} rows;

// A derivative of a sensitivity depends on what that of the state depends on, and on the
// sensitivities of these states. state_of: the number of each variable that is a state, or -1.
static void add_row(const cpli_sens_form* f, rows* r, size_t i, size_t block,
                    const int32_t* state_of) {
  const cpl_structure* from = &f->of->structure;
  const cpl_unknown* row = &from->derivatives[i];
  const cpl_description* d = &f->desc;
  size_t n = (size_t)f->of->n_states;
  cpl_unknown* to = &r->list[r->n++];
  *to = (cpl_unknown){d->derivatives[block * n + i], r->n_deps, row->count < 0 ? -1 : 0};
  for (int32_t e = 0; e < row->count; e++) {
    int32_t dep = from->deps[row->first + e];
    r->deps[r->n_deps++] = dep;
    if (block == 0 && from->kinds != NULL) r->kinds[r->n_deps - 1] = from->kinds[row->first + e];
    int32_t state = state_of[cpli_root_variable(d, dep)];
    if (block > 0 && state >= 0) r->deps[r->n_deps++] = d->states[block * n + (size_t)state];
  }
  if (row->count >= 0) to->count = r->n_deps - to->first;
}

// Variables that depend on nothing known depend on everything.
static cpl_status add_structure(cpli_sens* s, cpli_sens_form* f) {
  const cpl_description* from = f->of;
  cpl_description* d = &f->desc;
  const cpl_structure* old = &from->structure;
  size_t n_states = (size_t)from->n_states;
  cpli_arena* a = &s->desc->arena;
  bool known = (size_t)old->n_derivatives == n_states;
  size_t deps = 0, n_outputs = (size_t)old->n_outputs + s->n_of * s->n_to;
  for (size_t i = 0; known && i < n_states; i++) {
    known = old->derivatives[i].var == from->derivatives[i] && from->states[i] >= 0;
    if (old->derivatives[i].count > 0) deps += (size_t)old->derivatives[i].count;
  }
  for (int32_t i = 0; i < old->n_outputs; i++) {
    if (old->outputs[i].count > 0) deps += (size_t)old->outputs[i].count;
  }
  rows r = {.list = cpli_arena_alloc(a, n_states * (1 + s->n_to), sizeof *r.list),
            .deps = cpli_arena_alloc(a, deps * (1 + 2 * s->n_to) + 1, sizeof *r.deps),
            .kinds = cpli_arena_alloc(a, deps * (1 + 2 * s->n_to) + 1, sizeof *r.kinds)};
  cpl_unknown* outputs = cpli_arena_alloc(a, n_outputs, sizeof *outputs);
  int32_t* state_of = cpli_arena_alloc(a, (size_t)from->n_vars, sizeof *state_of);
  if (r.list == NULL || r.deps == NULL || r.kinds == NULL || outputs == NULL || state_of == NULL)
    return cpli_nomem(s->base.base.ctx);
  for (int32_t i = 0; i < from->n_vars; i++) state_of[i] = -1;
  for (size_t i = 0; known && i < n_states; i++)
    state_of[cpli_root_variable(from, from->states[i])] = (int32_t)i;
  for (size_t block = 0; known && block <= s->n_to; block++) {
    for (size_t i = 0; i < n_states; i++) add_row(f, &r, i, block, state_of);
  }
  int32_t n = 0;
  for (; n < old->n_outputs; n++) {
    const cpl_unknown* row = &old->outputs[n];
    outputs[n] = (cpl_unknown){row->var, r.n_deps, row->count};
    for (int32_t e = 0; e < row->count; e++) {
      r.deps[r.n_deps] = old->deps[row->first + e];
      if (old->kinds != NULL) r.kinds[r.n_deps] = old->kinds[row->first + e];
      r.n_deps++;
    }
  }
  for (int32_t i = 0; i < d->n_vars; i++) {
    if (s->desc->routes[i].component == SENS_PAIR)
      outputs[n++] = (cpl_unknown){.var = i, .count = -1};
  }
  d->structure = (cpl_structure){.outputs = outputs,
                                 .derivatives = r.list,
                                 .n_outputs = n,
                                 .n_derivatives = r.n,
                                 .deps = r.deps,
                                 .kinds = r.kinds,
                                 .origin = old->origin};
  return CPL_OK;
}

//------------------------------------ whole ------------------------------------

// What is copied as it is.
static void take_head(cpl_description* d, const cpl_description* from) {
  d->description = from->description;
  d->author = from->author;
  d->version = from->version;
  d->copyright = from->copyright;
  d->license = from->license;
  d->tool = from->tool;
  d->date = from->date;
  d->experiment = from->experiment;
  d->n_indicators = from->n_indicators;
}

// The states of all structures, each once. A hidden one of the only structure is one, too.
static cpl_status name_states(cpli_sens* s, int32_t** out) {
  const cpl_description* from = s->m->base.desc;
  size_t most = 0;
  for (size_t f = 0; f < s->n_forms; f++) most += (size_t)s->forms[f].of->n_states;
  int32_t* named = *out = cpli_arena_alloc(&s->arena, most, sizeof *named);
  int32_t* number = cpli_arena_alloc(&s->arena, (size_t)from->n_vars, sizeof *number);
  if (named == NULL || number == NULL) return cpli_nomem(s->base.base.ctx);
  for (int32_t i = 0; i < from->n_vars; i++) number[i] = -1;
  for (size_t f = 0; f < s->n_forms; f++) {
    const cpl_description* d = s->forms[f].of;
    int32_t* place = s->forms[f].place = cpli_arena_alloc(&s->arena, most, sizeof *place);
    if (place == NULL) return cpli_nomem(s->base.base.ctx);
    for (size_t j = 0; j < most; j++) place[j] = -1;
    for (int32_t j = 0; j < d->n_states; j++) {
      int32_t var = d->states[j];
      if (var < 0 && s->n_forms > 1)
        return cpl_fail(s->base.base.ctx, CPL_ERR_UNSUPPORTED,
                        "%s: sensitivities are not possible: a state that only exists in some "
                        "structures is no variable",
                        s->base.base.name);
      int32_t u = var >= 0 ? number[var] : -1;
      if (u < 0) named[u = (int32_t)s->n_named++] = var;
      if (var >= 0) number[var] = u;
      place[u] = j;
    }
  }
  return CPL_OK;
}

static cpl_status list_forms(cpli_sens* s) {
  size_t n = 1;
  const bool varies = s->m->ops->structure != NULL;
  if (varies) {
    for (n = 0; s->m->ops->structure(s->m, (int32_t)n) != NULL;) n++;
  }
  if (n == 0)
    return cpl_fail(s->base.base.ctx, CPL_ERR_UNSUPPORTED,
                    "%s: sensitivities are not possible: it has too many structures",
                    s->base.base.name);
  s->forms = cpli_arena_alloc(&s->arena, n, sizeof *s->forms);
  if (s->forms == NULL) return cpli_nomem(s->base.base.ctx);
  s->n_forms = n;
  bool constrained = s->m->ops->constraints != NULL && s->m->ops->constraints->get != NULL;
  for (size_t f = 0; f < n; f++) {
    const cpl_description* d = varies ? s->m->ops->structure(s->m, (int32_t)f) : s->m->base.desc;
    s->forms[f].of = d;
    if ((size_t)d->n_states > s->n_most) s->n_most = (size_t)d->n_states;
    if ((size_t)d->n_indicators > s->nz_most) s->nz_most = (size_t)d->n_indicators;
    if (constrained && (size_t)d->n_constraints > s->nc_most) s->nc_most = (size_t)d->n_constraints;
  }
  return CPL_OK;
}

static cpl_status describe_form(cpli_sens* s, cpli_sens_form* f, int32_t first) {
  size_t n = (size_t)f->of->n_states, all = n * (1 + s->n_to);
  int32_t* states = cpli_arena_alloc(&s->desc->arena, all, sizeof *states);
  int32_t* derivatives = cpli_arena_alloc(&s->desc->arena, all, sizeof *derivatives);
  if (states == NULL || derivatives == NULL) return cpli_nomem(s->base.base.ctx);
  for (size_t j = 0; j < n; j++) {
    states[j] = f->of->states[j];
    derivatives[j] = f->of->derivatives[j];
  }
  for (size_t u = 0; u < s->n_named; u++) {
    for (size_t k = 0; k < s->n_to && f->place[u] >= 0; k++) {
      size_t at = n * (k + 1) + (size_t)f->place[u];
      states[at] = first + 2 * (int32_t)(s->n_named * k + u);
      derivatives[at] = states[at] + 1;
    }
  }
  f->desc = s->desc->desc;
  f->desc.states = states;
  f->desc.derivatives = derivatives;
  f->desc.n_states = (int32_t)all;
  f->desc.n_indicators = f->of->n_indicators;
  f->desc.n_constraints = s->nc_most > 0 ? f->of->n_constraints * (int32_t)(1 + s->n_to) : 0;
  cpl_status st = add_structure(s, f);
  if (st >= 0) cpli_check_description(&f->desc);
  return st;
}

cpl_status cpli_sens_describe(cpli_sens* s, const cpl_sensitivity_def* def) {
  const cpl_description* from = s->m->base.desc;
  int32_t *named = NULL, first = 0;
  cpl_status st = list_forms(s);
  if (st >= 0) st = name_states(s, &named);
  if (st >= 0) st = cpli_sens_take_names(s, def);
  if (st < 0) return st;
  s->desc = cpli_shared_desc_create(s->base.base.ctx, from->name, from->kind, sizeof *s->desc);
  if (s->desc == NULL) return cpli_nomem(s->base.base.ctx);
  cpl_description* d = &s->desc->desc;
  int32_t pairs = (int32_t)(s->n_of * s->n_to), states = (int32_t)(s->n_named * s->n_to);
  cpli_desc_counts n = {.vars = from->n_vars + pairs + 2 * states,
                        .units = from->n_units + pairs,
                        .types = from->n_types,
                        .arrays = from->n_arrays};
  st = cpli_shared_desc_reserve(s->desc, &n);
  if (st < 0) return st;
  take_head(d, from);
  st = add_model(s);
  if (st >= 0) st = add_pairs(s);
  if (st >= 0) st = add_states(s, named, &first);
  for (size_t f = 0; f < s->n_forms && st >= 0; f++) st = describe_form(s, &s->forms[f], first);
  s->router.routes = s->desc->routes;
  s->router.n = (uint32_t)d->n_vars;
  return st < 0 ? st : cpli_sens_follow(s);
}

cpl_status cpli_sens_follow(cpli_sens* s) {
  for (size_t f = 0; f < s->n_forms; f++) {
    const cpl_description* d = s->forms[f].of;
    if (d != s->m->base.desc && s->n_forms > 1) continue;
    s->n = (size_t)d->n_states;
    s->nz = (size_t)d->n_indicators;
    s->nc = s->nc_most > 0 ? (size_t)d->n_constraints : 0;
    s->base.base.desc = &s->forms[f].desc;
    return CPL_OK;
  }
  return cpl_fail_in(s->base.base.ctx, CPL_ERR_UNSUPPORTED, s->base.base.name, NULL, s->t,
                     "no sensitivities after t=%.12g: the model changes its structure to one that "
                     "it did not announce",
                     s->t);
}
