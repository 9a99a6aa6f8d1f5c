// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Transitions of modes: resolves the names of targets and sources, compiles formulas, and notes
// variables that no transition sets.
#include <math.h>
#include <stdio.h>

#include "assemble/assemble.h"

// A computed value. All matches of a pattern share its expression.
typedef struct formula {
  const cpli_expr* expr;
  const int32_t* slots;  // indices of its sources
  const char* target;    // of a pattern, for messages; Nullable
} formula;

// A transition under construction, and the data its functions need afterwards.
typedef struct cpli_transition_plan {
  struct cpli_transition_plan* next;
  cpl_context* ctx;
  cpli_expr** exprs;
  cpli_expr* when;
  formula* formulas;
  size_t n_exprs, cap_exprs, n, cap;
} transition_plan;

enum { MAX_SHARED = 8 };  // max names in a formula that the matches of a pattern can share

// The present match of a pattern, and its formula.
typedef struct pattern {
  const char* star;
  size_t n_star;
  const cpli_expr* expr;  // NULL: not parsed yet
  struct {
    const char* name;  // with its star
    int32_t source;
    cpl_type type;
    int32_t var;  // where it was last found
  } names[MAX_SHARED];
  int n;
  int32_t found;  // of a bare name: where it was last found
  int32_t last;   // target
} pattern;

typedef struct maker {
  cpli_modes_plan* p;
  const cpl_system_def* def;
  const cpli_transition_def* transition;
  int32_t mode, to;
  const cpl_description *from, *into;
  transition_plan* w;
  cpl_mode_copy* copies;
  cpl_mode_value* sources;
  int32_t* targets;
  size_t n_copies, cap_copies, n_sources, cap_sources, n_targets, cap_targets;
  bool *taken, *is_state;  // by variable of the new mode
  pattern* pattern;        // Nullable
  const char* missed;
  bool no_memory;
} maker;

//------------------------------------ functions ------------------------------------

static cpl_status value_of(const transition_plan* w, const formula* f, double t,
                           const double* sources, double* out) {
  const int32_t* own;
  // on the stack: instances on several threads share the transition
  double gathered[CPLI_EXPR_SIZE];
  size_t n = cpli_expr_slots(f->expr, &own);
  for (size_t i = 0; i < n; i++) gathered[i] = sources[f->slots[i]];
  cpl_status st = cpli_expr_value(f->expr, w->ctx, t, gathered, NULL, out);
  return st != CPL_OK && f->target != NULL ? cpl_fail_prefix(w->ctx, st, "%s", f->target) : st;
}

static cpl_status map(void* user, double t, const double* sources, double* targets) {
  const transition_plan* w = user;
  cpl_status st = CPL_OK;
  for (size_t i = 0; i < w->n && st == CPL_OK; i++)
    st = value_of(w, &w->formulas[i], t, sources, &targets[i]);
  return st;
}

static cpl_status when(void* user, double t, const double* sources, bool* holds) {
  const transition_plan* w = user;
  double value = 0;
  formula f = {.expr = w->when};
  cpli_expr_slots(w->when, &f.slots);
  cpl_status st = value_of(w, &f, t, sources, &value);
  *holds = value != 0;
  return st;
}

void cpli_transitions_free(cpli_modes_plan* p) {
  for (transition_plan* w = p->transition_plans; w != NULL; w = w->next) {
    for (size_t i = 0; i < w->n_exprs; i++) cpli_expr_destroy(w->exprs[i]);
    cpli_expr_destroy(w->when);
    cpli_free(p->ctx, w->exprs);
    cpli_free(p->ctx, w->formulas);
  }
}

//------------------------------------ names ------------------------------------

// Finds a variable by name: usually at `near`, because names are searched in the order of the
// variables.
static int32_t find_near(const cpl_description* d, const char* name, int32_t near) {
  if (near >= 0 && near < d->n_vars && strcmp(d->vars[near].name, name) == 0) return near;
  return cpl_find_variable(d, name);
}

// A variable of the old mode, or "mode.variable" of another one.
static bool find_source(const maker* k, const char* name, int32_t near, cpl_mode_value* out,
                        const cpl_variable** v) {
  *out = (cpl_mode_value){-1, find_near(k->from, name, near)};
  *v = out->var >= 0 ? &k->from->vars[out->var] : NULL;
  const char* dot = strchr(name, '.');
  for (int32_t i = 0; i < k->p->n && *v == NULL && dot != NULL; i++) {
    const char* mode = k->p->modes[i].def->name.text;
    if (strlen(mode) != (size_t)(dot - name) || strncmp(mode, name, (size_t)(dot - name)) != 0)
      continue;
    const cpl_description* d = k->p->modes[i].source->desc;
    *out = (cpl_mode_value){i == k->mode ? -1 : i, cpl_find_variable(d, dot + 1)};
    if (out->var >= 0) *v = &d->vars[out->var];
  }
  return *v != NULL && (*v)->type <= CPL_ENUMERATION;
}

// Its index among the sources; negative: out of memory.
static int32_t add_source(maker* k, cpl_mode_value s) {
  if (!cpli_grow(k->p->ctx, (void**)&k->sources, &k->cap_sources, k->n_sources,
                 sizeof *k->sources)) {
    k->no_memory = true;
    return -1;
  }
  k->sources[k->n_sources] = s;
  return (int32_t)k->n_sources++;
}

// Formulas have few names: the latest ones are searched first.
static int32_t known_source(const maker* k, cpl_mode_value s) {
  size_t first = k->n_sources > 16 ? k->n_sources - 16 : 0;
  for (size_t i = first; i < k->n_sources; i++) {
    if (k->sources[i].mode == s.mode && k->sources[i].var == s.var) return (int32_t)i;
  }
  return -1;
}

// Replaces stars by the present match. false: it is too long.
static bool fill_name(const pattern* p, const char* name, char* out, size_t size) {
  size_t used = 0;
  for (; *name != '\0'; name++) {
    size_t more = *name == '*' ? p->n_star : 1;
    if (used + more + 1 > size) return false;
    memcpy(out + used, *name == '*' ? p->star : name, more);
    used += more;
  }
  out[used] = '\0';
  return true;
}

// Names in the formula of a pattern that are equal for one match may differ for another: each has a
// source of its own.
static int32_t note_name(maker* k, const char* name, cpl_mode_value s, cpl_type type) {
  pattern* p = k->pattern;
  for (int i = 0; i < p->n && i < MAX_SHARED; i++) {
    if (strcmp(p->names[i].name, name) == 0) return p->names[i].source;
  }
  int32_t source = add_source(k, s);
  char* copy = cpli_arena_strdup(&k->p->arena, name);
  if (copy == NULL) k->no_memory = true;
  if (source < 0 || copy == NULL) return -1;
  if (p->n < MAX_SHARED) {
    p->names[p->n].name = copy;
    p->names[p->n].source = source;
    p->names[p->n].type = type;
    p->names[p->n].var = s.mode < 0 ? s.var : -1;
  }
  p->n++;
  return source;
}

static int32_t resolve(void* user, const char* name, cpl_type* type) {
  maker* k = user;
  cpl_mode_value s;
  const cpl_variable* v;
  char filled[1024];
  const char* wanted = name;
  if (k->pattern != NULL && fill_name(k->pattern, name, filled, sizeof filled)) wanted = filled;
  if (!find_source(k, wanted, -1, &s, &v)) {
    k->missed = name;
    return -1;
  }
  *type = (cpl_type)v->type;
  if (k->pattern != NULL) return note_name(k, name, s, *type);
  int32_t known = known_source(k, s);
  return known >= 0 ? known : add_source(k, s);
}

static const char* variable_name(const void* user, size_t i) {
  return ((const cpl_description*)user)->vars[i].name;
}

static const char* candidate(const void* user, size_t i) {
  const maker* k = user;
  const char* near[CPLI_NEAREST];
  if (k->missed == NULL) return "";
  size_t n = cpli_nearest_few(k->missed, variable_name, k->from, (size_t)k->from->n_vars, near);
  return i < n ? near[i] : "";
}

static cpl_status parse(maker* k, const cpli_located_text* text, cpli_expr** out) {
  cpli_scope scope = {
      .resolve = resolve, .candidate = candidate, .n_candidates = CPLI_NEAREST, .user = k};
  k->missed = NULL;
  cpl_status st = cpli_expr_parse(k->p->ctx, text->loc, text->text, &scope, out);
  if (k->no_memory) return cpli_nomem(k->p->ctx);
  if (st < 0)
    cpl_fail_prefix(k->p->ctx, st, "from mode %s to mode %s", k->p->modes[k->mode].def->name.text,
                    k->p->modes[k->to].def->name.text);
  return st;
}

//------------------------------------ targets ------------------------------------

// Variables with a start value of their own, and all states, can be set.
static bool can_be_set(const maker* k, int32_t var) {
  const cpl_variable* v = &k->into->vars[var];
  if (v->variability == CPL_VARIABILITY_CONSTANT || v->structural || v->type > CPL_STRING)
    return false;
  if (v->causality == CPL_CAUSALITY_PARAMETER || v->causality == CPL_CAUSALITY_INPUT) return true;
  if (v->causality == CPL_CAUSALITY_CALCULATED_PARAMETER ||
      v->causality == CPL_CAUSALITY_INDEPENDENT)
    return false;
  return v->initial == CPL_INITIAL_EXACT || v->initial == CPL_INITIAL_APPROX || k->is_state[var];
}

static cpl_status find_target(const maker* k, const cpli_located_text* name, int32_t* out) {
  char near[512];
  const char* mode = k->p->modes[k->to].def->name.text;
  *out = cpl_find_variable(k->into, name->text);
  if (*out < 0) {
    cpli_did_you_mean(name->text, variable_name, k->into, (size_t)k->into->n_vars, near,
                      sizeof near);
    return cpli_fail_at(k->p->ctx, CPL_ERR_INPUT, &name->loc, "mode %s has no variable %s%s", mode,
                        name->text, near);
  }
  if (can_be_set(k, *out)) return CPL_OK;
  return cpli_fail_at(
      k->p->ctx, CPL_ERR_INPUT, &name->loc,
      "%s cannot be set when mode %s is entered: it is not a state, parameter or free "
      "input and has no start value of its own",
      name->text, mode);
}

//------------------------------------ one value ------------------------------------

static cpl_status add_copy(maker* k, int32_t from, int32_t to, double factor, double offset) {
  if (!cpli_grow(k->p->ctx, (void**)&k->copies, &k->cap_copies, k->n_copies, sizeof *k->copies))
    return cpli_nomem(k->p->ctx);
  k->copies[k->n_copies++] = (cpl_mode_copy){from, to, factor, offset};
  return CPL_OK;
}

static bool fits(cpl_type to, cpl_type from) {
  if (to == from || (to == CPL_ENUMERATION && from == CPL_INTEGER)) return true;
  return to == CPL_REAL && (from == CPL_INTEGER || from == CPL_ENUMERATION);
}

static cpl_status types_differ(const maker* k, const cpli_located_text* value, int32_t to,
                               cpl_type from) {
  const cpl_variable* v = &k->into->vars[to];
  return cpli_fail_at(k->p->ctx, CPL_ERR_INPUT, &value->loc, "%s is %s, but %s gives %s", v->name,
                      cpl_type_name((cpl_type)v->type), value->text, cpl_type_name(from));
}

static cpl_status add_target(maker* k, int32_t to, const cpli_located_text* value, formula f) {
  transition_plan* w = k->w;
  cpl_context* ctx = k->p->ctx;
  if (!cpli_grow(ctx, (void**)&w->formulas, &w->cap, w->n, sizeof *w->formulas) ||
      !cpli_grow(ctx, (void**)&k->targets, &k->cap_targets, k->n_targets, sizeof *k->targets))
    return cpli_nomem(ctx);
  w->formulas[w->n++] = f;
  k->targets[k->n_targets++] = to;
  cpl_type type = cpli_expr_type(f.expr);
  return fits((cpl_type)k->into->vars[to].type, type) ? CPL_OK : types_differ(k, value, to, type);
}

static cpl_status add_formula(maker* k, int32_t to, const cpli_located_text* value) {
  transition_plan* w = k->w;
  cpl_context* ctx = k->p->ctx;
  if (!cpli_grow(ctx, (void**)&w->exprs, &w->cap_exprs, w->n_exprs, sizeof(cpli_expr*)))
    return cpli_nomem(ctx);
  cpli_expr* expr = NULL;
  cpl_status st = parse(k, value, &expr);
  if (st < 0) return st;
  w->exprs[w->n_exprs++] = expr;
  formula f = {.expr = expr, .target = k->pattern != NULL ? k->into->vars[to].name : NULL};
  cpli_expr_slots(expr, &f.slots);
  if (k->pattern != NULL) k->pattern->expr = expr;
  return add_target(k, to, value, f);
}

// Converts a value of the old mode to one of the new: as in connections.
static cpl_status relate(const maker* k, const cpl_unit* a, const cpl_variable* v, int32_t to,
                         const cpli_located_text* value, double* factor, double* offset) {
  const cpl_variable* w = &k->into->vars[to];
  const cpl_unit* b = &k->into->units[w->unit];
  bool difference = v->relative_quantity || w->relative_quantity;
  cpli_unit_relation found = cpli_relate_units(a, b, difference, factor, offset);
  if (found == CPLI_UNITS_SAME || found == CPLI_UNITS_CONVERT) return CPL_OK;
  if (found == CPLI_UNITS_DIFFER)
    return cpli_fail_at(k->p->ctx, CPL_ERR_INPUT, &value->loc,
                        "the units differ: %s is in %s, %s of the new mode in %s", v->name, a->name,
                        w->name, b->name);
  char location[CPLI_LOC_SIZE];
  cpl_log(k->p->ctx, CPL_LOG_WARNING, "",
          "%sthe units %s, nothing is converted: %s is in %s, %s of the new mode in %s",
          cpli_source_loc_text(&value->loc, location),
          found == CPLI_UNITS_ANGLE ? "differ in rad" : "cannot be compared", v->name, a->name,
          w->name, b->name);
  return CPL_OK;
}

// A bare name: a variable of the old mode, or of another one (its last value).
static cpl_status relate_name(maker* k, int32_t to, const cpli_located_text* value, double* factor,
                              double* offset) {
  cpl_mode_value s;
  const cpl_variable* v;
  const cpl_variable* w = &k->into->vars[to];
  *factor = 1;
  *offset = 0;
  if (w->type != CPL_REAL || w->unit < 0 || !find_source(k, value->text, -1, &s, &v)) return CPL_OK;
  if (v->type != CPL_REAL || v->unit < 0) return CPL_OK;
  const cpl_description* d = s.mode < 0 ? k->from : k->p->modes[s.mode].source->desc;
  return relate(k, &d->units[v->unit], v, to, value, factor, offset);
}

// A copy: types agree, units agree or are converted.
static cpl_status add_plain(maker* k, int32_t from, int32_t to, const cpli_located_text* value) {
  const cpl_variable *v = &k->from->vars[from], *w = &k->into->vars[to];
  double factor = 1, offset = 0;
  if (v->type != w->type) return types_differ(k, value, to, (cpl_type)v->type);
  cpl_status st = CPL_OK;
  if (v->type == CPL_REAL && v->unit >= 0 && w->unit >= 0)
    st = relate(k, &k->from->units[v->unit], v, to, value, &factor, &offset);
  return st < 0 ? st : add_copy(k, from, to, factor, offset);
}

// Adds the variable `from`, or a formula (-1). A state whose start value is computed from others is
// written after initialisation, by a formula.
static cpl_status add_value(maker* k, int32_t to, const cpli_located_text* value, int32_t from) {
  const cpl_variable* w = &k->into->vars[to];
  bool plain = from >= 0 && w->initial != CPL_INITIAL_CALCULATED &&
               (k->from->vars[from].type == w->type || w->type == CPL_STRING);
  k->taken[to] = true;
  if (plain) return add_plain(k, from, to, value);
  double factor = 1, offset = 0;
  cpl_status st = relate_name(k, to, value, &factor, &offset);
  if (st < 0) return st;
  if (from < 0 && factor == 1 && offset == 0) return add_formula(k, to, value);
  cpli_located_text text = cpli_scaled_text(&k->p->arena, value, factor, offset);
  char quoted[1024];  // a bare name with any characters
  snprintf(quoted, sizeof quoted, "'%s'", value->text);
  if (factor == 1 && offset == 0) text.text = quoted;
  return text.text != NULL ? add_formula(k, to, &text) : cpli_nomem(k->p->ctx);
}

//------------------------------------ patterns ------------------------------------

// The text that the one star in a pattern matches; false: the name does not match.
static bool star_of(const char* shape, const char* name, const char** star, size_t* n) {
  const char* at = strchr(shape, '*');
  size_t before = (size_t)(at - shape), after = strlen(at + 1), len = strlen(name);
  if (len < before + after || strncmp(shape, name, before) != 0 ||
      strcmp(at + 1, name + len - after) != 0)
    return false;
  *star = name + before;
  *n = len - before - after;
  return true;
}

static bool is_bare_pattern(const char* text) {
  return strchr(text, '*') != NULL && strpbrk(text, "' +-/^(") == NULL;
}

// The formula of the pattern with the names of the present match. false: it has to be parsed,
// because there are too many names, one is missing or of another type.
static bool shared_slots(maker* k, int32_t to, int32_t* slots) {
  pattern* p = k->pattern;
  const int32_t* first;
  size_t n = cpli_expr_slots(p->expr, &first);
  if (p->n > MAX_SHARED) return false;
  for (size_t i = 0; i < n; i++) {
    int at = 0;
    while (at < p->n && p->names[at].source != first[i]) at++;
    char name[1024];
    cpl_mode_value s;
    const cpl_variable* v;
    if (at == p->n || !fill_name(p, p->names[at].name, name, sizeof name)) return false;
    int32_t near = p->names[at].var < 0 ? -1 : p->names[at].var + (to - p->last);
    if (!find_source(k, name, near, &s, &v) || (cpl_type)v->type != p->names[at].type) return false;
    p->names[at].var = s.mode < 0 ? s.var : -1;
    slots[i] = add_source(k, s);
    if (slots[i] < 0) return false;
  }
  return true;
}

static cpl_status add_like_last(maker* k, int32_t to, const cpli_located_text* value) {
  pattern* p = k->pattern;
  const int32_t* first;
  size_t n = p->expr != NULL ? cpli_expr_slots(p->expr, &first) : 0;
  int32_t* slots = cpli_arena_alloc(&k->p->arena, n, sizeof *slots);
  if (slots == NULL) return cpli_nomem(k->p->ctx);
  bool shared = p->expr != NULL && shared_slots(k, to, slots);
  p->last = to;
  if (k->no_memory) return cpli_nomem(k->p->ctx);
  k->taken[to] = true;
  if (shared) {
    formula f = {.expr = p->expr, .slots = slots, .target = k->into->vars[to].name};
    return add_target(k, to, value, f);
  }
  p->n = 0;
  return add_formula(k, to, value);
}

static cpl_status add_bare(maker* k, int32_t to, const cpli_setting* s, bool* any) {
  pattern* p = k->pattern;
  char name[1024];
  if (!fill_name(p, s->value.text, name, sizeof name)) return CPL_OK;
  int32_t near = p->found < 0 ? -1 : p->found + (to - p->last);
  int32_t from = find_near(k->from, name, near);
  if (from < 0) return CPL_OK;  // not in both modes
  p->found = from;
  p->last = to;
  *any = true;
  cpli_located_text value = {name, s->value.loc};
  k->pattern = NULL;
  cpl_status st = add_value(k, to, &value, from);
  k->pattern = p;
  return st;
}

static cpl_status add_pattern(maker* k, const cpli_setting* s) {
  pattern p = {.found = -1};
  bool bare = is_bare_pattern(s->value.text), any = false;
  cpl_status st = CPL_OK;
  k->pattern = &p;
  for (int32_t i = 0; i < k->into->n_vars && st >= 0; i++) {
    const cpl_variable* v = &k->into->vars[i];
    bool wanted = v->causality != CPL_CAUSALITY_PARAMETER && can_be_set(k, i) && v->alias_of < 0;
    if (k->taken[i] || !wanted || !star_of(s->name.text, v->name, &p.star, &p.n_star)) continue;
    if (bare) {
      st = add_bare(k, i, s, &any);
      continue;
    }
    any = true;
    st = add_like_last(k, i, &s->value);
  }
  k->pattern = NULL;
  if (st < 0 || any) return st;
  return cpli_fail_at(
      k->p->ctx, CPL_ERR_INPUT, &s->name.loc,
      "set: no variable that can be set in mode %s matches %s and also exists in mode %s",
      k->p->modes[k->to].def->name.text, s->name.text, k->p->modes[k->mode].def->name.text);
}

//------------------------------------ a transition ------------------------------------

static bool is_pattern(const maker* k, const cpli_setting* s) {
  const char* star = strchr(s->name.text, '*');
  return star != NULL && strchr(star + 1, '*') == NULL &&
         cpl_find_variable(k->into, s->name.text) < 0;
}

// Explicit names take precedence over patterns.
static cpl_status add_sets(maker* k) {
  cpl_status st = CPL_OK;
  for (int pass = 0; pass < 2; pass++) {
    for (size_t i = 0; i < k->transition->n_sets && st >= 0; i++) {
      const cpli_setting* s = &k->transition->sets[i];
      int32_t to = -1;
      if (is_pattern(k, s) != (pass == 1)) continue;
      if (pass == 1) {
        st = add_pattern(k, s);
        continue;
      }
      st = find_target(k, &s->name, &to);
      int32_t from = cpl_find_variable(k->from, s->value.text);
      if (st >= 0) st = add_value(k, to, &s->value, from);
    }
  }
  return st;
}

static cpl_status add_when(maker* k) {
  if (!k->transition->terminate || k->transition->when.text == NULL) return CPL_OK;
  cpl_status st = parse(k, &k->transition->when, &k->w->when);
  if (st >= 0 && cpli_expr_type(k->w->when) != CPL_BOOLEAN)
    st = cpli_fail_at(k->p->ctx, CPL_ERR_INPUT, &k->transition->when.loc,
                      "%s is not a condition: it is neither true nor false",
                      k->transition->when.text);
  return st;
}

static void* copy_list(maker* k, const void* items, size_t n, size_t size) {
  void* copy = cpli_arena_alloc(&k->p->arena, n, size);
  if (copy != NULL && n > 0) memcpy(copy, items, n * size);
  if (copy == NULL) k->no_memory = true;
  return copy;
}

static cpl_status finish(maker* k, int32_t number, cpl_transition* out) {
  cpl_context* ctx = k->p->ctx;
  char location[CPLI_LOC_SIZE], text[CPLI_LOC_SIZE + 600];
  snprintf(text, sizeof text, "%sfrom mode %s to mode %s",
           cpli_source_loc_text(&k->transition->loc, location), k->p->modes[k->mode].def->name.text,
           k->p->modes[k->to].def->name.text);
  *out = (cpl_transition){.to = k->to,
                          .stop = k->transition->terminate ? 0 : number,
                          .when = k->w->when != NULL ? when : NULL,
                          .copies = copy_list(k, k->copies, k->n_copies, sizeof *k->copies),
                          .n_copies = (int32_t)k->n_copies,
                          .sources = copy_list(k, k->sources, k->n_sources, sizeof *k->sources),
                          .n_sources = (int32_t)k->n_sources,
                          .targets = copy_list(k, k->targets, k->n_targets, sizeof *k->targets),
                          .n_targets = (int32_t)k->n_targets,
                          .map = k->n_targets > 0 ? map : NULL,
                          .user = k->w,
                          .text = cpli_arena_strdup(&k->p->arena, text)};
  if (k->no_memory || out->text == NULL) return cpli_nomem(ctx);
  const cpli_located_text* entry = &k->transition->on_entry;
  if (entry->text != NULL && !cpl_on_entry_by_name(entry->text, &out->on_entry))
    return cpli_fail_at(ctx, CPL_ERR_INPUT, &entry->loc,
                        "entry: %s is not known (follow, error, wait)", entry->text);
  return CPL_OK;
}

//------------------------------------ unset variables ------------------------------------

static cpl_status note_unset(maker* k, const cpl_transition* t) {
  char list[600] = "";
  size_t used = 0;
  int32_t n = 0;
  for (int32_t i = 0; i < k->into->n_states; i++) {
    int32_t var = k->into->states[i];
    if (var < 0 || k->taken[var]) continue;
    const cpl_variable* v = &k->into->vars[var];
    if (++n > 10) continue;
    used +=
        (size_t)snprintf(list + used, sizeof list - used, "%s%.40s", n > 1 ? ", " : "", v->name);
  }
  if (n == 0) return CPL_OK;
  char more[40] = "";
  if (n > 10) snprintf(more, sizeof more, " and %d more", n - 10);
  return cpli_modes_add_note(
      k->p, cpli_printf(k->p->ctx, "%s: leaves to their start values: %s%s", t->text, list, more));
}

static cpl_status make_transition(maker* k, int32_t number, cpl_transition* out) {
  cpl_context* ctx = k->p->ctx;
  k->w = cpli_arena_alloc(&k->p->arena, 1, sizeof *k->w);
  k->taken = cpli_alloc(ctx, 2 * (size_t)k->into->n_vars, sizeof *k->taken);
  cpl_status st = k->w != NULL && k->taken != NULL ? CPL_OK : cpli_nomem(ctx);
  if (k->w != NULL) {
    *k->w = (transition_plan){.ctx = ctx, .next = k->p->transition_plans};
    k->p->transition_plans = k->w;
  }
  k->is_state = st >= 0 ? k->taken + k->into->n_vars : NULL;
  for (int32_t i = 0; i < k->into->n_states && st >= 0; i++) {
    if (k->into->states[i] >= 0) k->is_state[k->into->states[i]] = true;
  }
  if (st >= 0) st = add_sets(k);
  if (st >= 0) st = add_when(k);
  if (st >= 0) st = finish(k, number, out);
  if (st >= 0) st = note_unset(k, out);
  cpli_free(ctx, k->taken);
  cpli_free(ctx, k->copies);
  cpli_free(ctx, k->sources);
  cpli_free(ctx, k->targets);
  return st;
}

cpl_status cpli_transitions_make(cpli_modes_plan* p, const cpl_system_def* def, int32_t mode) {
  const cpli_mode_def* from = &def->modes[mode];
  cpli_mode_plan* plan = &p->modes[mode];
  plan->leave = cpli_arena_alloc(&p->arena, from->n_leaves, sizeof *plan->leave);
  cpl_status st = plan->leave != NULL ? CPL_OK : cpli_nomem(p->ctx);
  for (size_t i = 0; i < from->n_leaves && st >= 0; i++) {
    int32_t to = cpli_def_find_mode(def, from->leaves[i].to.text);
    maker k = {.p = p,
               .def = def,
               .transition = &from->leaves[i],
               .mode = mode,
               .to = to,
               .from = plan->source->desc,
               .into = p->modes[to].source->desc};
    st = make_transition(&k, (int32_t)i + 1, &plan->leave[plan->n_leave++]);
  }
  return st;
}
