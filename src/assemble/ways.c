// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The ways out of a mode: names of what they set and of what they take become variables, formulas
// are compiled; what none of them sets is noted.
#include <math.h>
#include <stdio.h>

#include "assemble/assemble.h"

// A transition while it is made, and what its functions need afterwards.
typedef struct cpli_way {
  struct cpli_way* next;
  cpl_context* ctx;
  cpli_expr** exprs;
  cpli_expr* when;
  size_t n, cap;
} way;

typedef struct maker {
  cpli_modes_plan* p;
  const cpl_system_def* def;
  const cpli_leave* leave;
  int32_t mode, to;
  const cpl_description *from, *into;
  way* w;
  cpl_mode_copy* copies;
  cpl_mode_value* sources;
  int32_t* targets;
  size_t n_copies, cap_copies, n_sources, cap_sources, n_targets, cap_targets;
  bool *taken, *is_state;  // by variable of the new mode
  const char* missed;
  bool no_memory;
} maker;

//------------------------------------ functions ------------------------------------

static cpl_status value_of(const way* w, const cpli_expr* e, double t, const double* sources,
                           double* out) {
  const int32_t* slots;
  double gathered[CPLI_EXPR_SIZE];  // ours alone: instances on several threads share the way
  size_t n = cpli_expr_slots(e, &slots);
  for (size_t i = 0; i < n; i++) gathered[i] = sources[slots[i]];
  return cpli_expr_value(e, w->ctx, t, gathered, NULL, out);
}

static cpl_status map(void* user, double t, const double* sources, double* targets) {
  const way* w = user;
  cpl_status st = CPL_OK;
  for (size_t i = 0; i < w->n && st == CPL_OK; i++)
    st = value_of(w, w->exprs[i], t, sources, &targets[i]);
  return st;
}

static cpl_status when(void* user, double t, const double* sources, bool* holds) {
  const way* w = user;
  double value = 0;
  cpl_status st = value_of(w, w->when, t, sources, &value);
  *holds = value != 0;
  return st;
}

void cpli_ways_free(cpli_modes_plan* p) {
  for (way* w = p->ways; w != NULL; w = w->next) {
    for (size_t i = 0; i < w->n; i++) cpli_expr_destroy(w->exprs[i]);
    cpli_expr_destroy(w->when);
    cpli_free(p->ctx, w->exprs);
  }
}

//------------------------------------ names ------------------------------------

// A variable of the mode that is left, or "mode.variable" of another one.
static bool find_source(const maker* k, const char* name, cpl_mode_value* out,
                        const cpl_variable** v) {
  *out = (cpl_mode_value){-1, cpl_find_variable(k->from, name)};
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
  return *v != NULL;
}

static int32_t resolve(void* user, const char* name, cpl_type* type) {
  maker* k = user;
  cpl_mode_value s;
  const cpl_variable* v;
  if (!find_source(k, name, &s, &v) || v->type > CPL_ENUMERATION) {
    k->missed = name;
    return -1;
  }
  *type = (cpl_type)v->type;
  // few names a formula: those that came last are looked at first
  size_t first = k->n_sources > 16 ? k->n_sources - 16 : 0;
  for (size_t i = first; i < k->n_sources; i++) {
    if (k->sources[i].mode == s.mode && k->sources[i].var == s.var) return (int32_t)i;
  }
  if (!cpli_grow(k->p->ctx, (void**)&k->sources, &k->cap_sources, k->n_sources,
                 sizeof *k->sources)) {
    k->no_memory = true;
    return -1;
  }
  k->sources[k->n_sources] = s;
  return (int32_t)k->n_sources++;
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

static cpl_status parse(maker* k, const cpli_text* text, cpli_expr** out) {
  cpli_scope scope = {
      .resolve = resolve, .candidate = candidate, .n_candidates = CPLI_NEAREST, .user = k};
  k->missed = NULL;
  cpl_status st = cpli_expr_parse(k->p->ctx, text->place, text->text, &scope, out);
  if (k->no_memory) return cpli_nomem(k->p->ctx);
  if (st < 0)
    cpl_fail_prefix(k->p->ctx, st, "from mode %s to mode %s", k->p->modes[k->mode].def->name.text,
                    k->p->modes[k->to].def->name.text);
  return st;
}

//------------------------------------ targets ------------------------------------

// What has a start value of its own, and states in any case.
static bool can_be_set(const maker* k, int32_t var) {
  const cpl_variable* v = &k->into->vars[var];
  if (v->variability == CPL_CONSTANT || v->structural || v->type > CPL_STRING) return false;
  if (v->causality == CPL_PARAMETER || v->causality == CPL_INPUT) return true;
  if (v->causality == CPL_CALCULATED_PARAMETER || v->causality == CPL_INDEPENDENT) return false;
  return v->initial == CPL_INITIAL_EXACT || v->initial == CPL_INITIAL_APPROX || k->is_state[var];
}

static cpl_status find_target(const maker* k, const cpli_text* name, int32_t* out) {
  char near[512];
  const char* mode = k->p->modes[k->to].def->name.text;
  *out = cpl_find_variable(k->into, name->text);
  if (*out < 0) {
    cpli_did_you_mean(name->text, variable_name, k->into, (size_t)k->into->n_vars, near,
                      sizeof near);
    return cpli_fail_at(k->p->ctx, CPL_ERR_INPUT, &name->place, "mode %s has no variable %s%s",
                        mode, name->text, near);
  }
  if (can_be_set(k, *out)) return CPL_OK;
  return cpli_fail_at(k->p->ctx, CPL_ERR_INPUT, &name->place,
                      "%s cannot be set when mode %s is entered: it is no state, parameter or free "
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

static cpl_status types_differ(const maker* k, const cpli_text* value, int32_t to, cpl_type from) {
  const cpl_variable* v = &k->into->vars[to];
  return cpli_fail_at(k->p->ctx, CPL_ERR_INPUT, &value->place, "%s is %s, but %s gives %s", v->name,
                      cpl_type_name((cpl_type)v->type), value->text, cpl_type_name(from));
}

static cpl_status add_formula(maker* k, int32_t to, const cpli_text* value) {
  way* w = k->w;
  cpl_context* ctx = k->p->ctx;
  if (!cpli_grow(ctx, (void**)&w->exprs, &w->cap, w->n, sizeof(cpli_expr*)) ||
      !cpli_grow(ctx, (void**)&k->targets, &k->cap_targets, k->n_targets, sizeof *k->targets))
    return cpli_nomem(ctx);
  cpli_expr* expr = NULL;
  cpl_status st = parse(k, value, &expr);
  if (st < 0) return st;
  w->exprs[w->n++] = expr;
  k->targets[k->n_targets++] = to;
  cpl_type type = cpli_expr_type(expr);
  return fits((cpl_type)k->into->vars[to].type, type) ? CPL_OK : types_differ(k, value, to, type);
}

// One to one: types agree, units agree or are converted.
static cpl_status add_plain(maker* k, int32_t from, int32_t to, const cpli_text* value) {
  const cpl_variable *v = &k->from->vars[from], *w = &k->into->vars[to];
  double factor = 1, offset = 0;
  if (v->type != w->type) return types_differ(k, value, to, (cpl_type)v->type);
  if (v->type == CPL_REAL && v->unit >= 0 && w->unit >= 0) {
    const cpl_unit *a = &k->from->units[v->unit], *b = &k->into->units[w->unit];
    bool difference = v->relative_quantity || w->relative_quantity;
    if (cpli_relate_units(a, b, difference, &factor, &offset) == CPLI_UNITS_DIFFER)
      return cpli_fail_at(k->p->ctx, CPL_ERR_INPUT, &value->place,
                          "the units differ: %s is in %s, %s of the new mode in %s", v->name,
                          a->name, w->name, b->name);
  }
  return add_copy(k, from, to, factor, offset);
}

// A state whose start value follows from others is written after initialisation, by a formula.
static cpl_status add_value(maker* k, int32_t to, const cpli_text* value) {
  const cpl_variable* w = &k->into->vars[to];
  int32_t from = cpl_find_variable(k->from, value->text);
  bool plain = from >= 0 && w->initial != CPL_INITIAL_CALCULATED &&
               (k->from->vars[from].type == w->type || w->type == CPL_STRING);
  k->taken[to] = true;
  if (plain) return add_plain(k, from, to, value);
  if (from < 0) return add_formula(k, to, value);
  char quoted[1024];  // a bare name, whatever is in it
  snprintf(quoted, sizeof quoted, "'%s'", value->text);
  cpli_text text = {quoted, value->place};
  return add_formula(k, to, &text);
}

//------------------------------------ patterns ------------------------------------

// What the one star in a pattern stands for; false: the name does not match.
static bool star_of(const char* pattern, const char* name, const char** star, size_t* n) {
  const char* at = strchr(pattern, '*');
  size_t before = (size_t)(at - pattern), after = strlen(at + 1), len = strlen(name);
  if (len < before + after || strncmp(pattern, name, before) != 0 ||
      strcmp(at + 1, name + len - after) != 0)
    return false;
  *star = name + before;
  *n = len - before - after;
  return true;
}

// Stars of a bare pattern, and those inside of quotes, give way to what they stand for.
static bool fill_stars(const char* text, bool bare, const char* star, size_t n, char* out,
                       size_t size) {
  bool quoted = false;
  size_t used = 0;
  for (; *text != '\0'; text++) {
    quoted = quoted != (*text == '\'');
    bool here = *text == '*' && (bare || quoted);
    size_t more = here ? n : 1;
    if (used + more + 1 > size) return false;
    memcpy(out + used, here ? star : text, more);
    used += more;
  }
  out[used] = '\0';
  return true;
}

static bool is_bare_pattern(const char* text) {
  return strchr(text, '*') != NULL && strpbrk(text, "' +-/^(") == NULL;
}

static cpl_status add_pattern(maker* k, const cpli_setting* s) {
  char text[1024];
  const char* star = NULL;
  size_t n = 0;
  bool bare = is_bare_pattern(s->value.text), any = false;
  cpl_status st = CPL_OK;
  for (int32_t i = 0; i < k->into->n_vars && st >= 0; i++) {
    const cpl_variable* v = &k->into->vars[i];
    bool wanted = v->causality != CPL_PARAMETER && can_be_set(k, i) && v->alias_of < 0;
    if (k->taken[i] || !wanted || !star_of(s->name.text, v->name, &star, &n)) continue;
    if (!fill_stars(s->value.text, bare, star, n, text, sizeof text)) continue;
    if (bare && cpl_find_variable(k->from, text) < 0) continue;  // not in both
    cpli_text value = {cpli_arena_strdup(&k->p->arena, text), s->value.place};
    if (value.text == NULL) return cpli_nomem(k->p->ctx);
    any = true;
    st = add_value(k, i, &value);
  }
  if (st < 0 || any) return st;
  return cpli_fail_at(k->p->ctx, CPL_ERR_INPUT, &s->name.place,
                      "set: nothing that can be set in mode %s matches %s and is in mode %s, too",
                      k->p->modes[k->to].def->name.text, s->name.text,
                      k->p->modes[k->mode].def->name.text);
}

//------------------------------------ a transition ------------------------------------

static bool is_pattern(const maker* k, const cpli_setting* s) {
  const char* star = strchr(s->name.text, '*');
  return star != NULL && strchr(star + 1, '*') == NULL &&
         cpl_find_variable(k->into, s->name.text) < 0;
}

// What is named counts more than what matches.
static cpl_status add_sets(maker* k) {
  cpl_status st = CPL_OK;
  for (int pass = 0; pass < 2; pass++) {
    for (size_t i = 0; i < k->leave->n_sets && st >= 0; i++) {
      const cpli_setting* s = &k->leave->sets[i];
      int32_t to = -1;
      if (is_pattern(k, s) != (pass == 1)) continue;
      if (pass == 1) {
        st = add_pattern(k, s);
        continue;
      }
      st = find_target(k, &s->name, &to);
      if (st >= 0) st = add_value(k, to, &s->value);
    }
  }
  return st;
}

static cpl_status add_when(maker* k) {
  if (!k->leave->terminate || k->leave->when.text == NULL) return CPL_OK;
  cpl_status st = parse(k, &k->leave->when, &k->w->when);
  if (st >= 0 && cpli_expr_type(k->w->when) != CPL_BOOLEAN)
    st = cpli_fail_at(k->p->ctx, CPL_ERR_INPUT, &k->leave->when.place,
                      "%s is no condition: it is neither true nor false", k->leave->when.text);
  return st;
}

static void* kept(maker* k, const void* items, size_t n, size_t size) {
  void* copy = cpli_arena_alloc(&k->p->arena, n, size);
  if (copy != NULL && n > 0) memcpy(copy, items, n * size);
  if (copy == NULL) k->no_memory = true;
  return copy;
}

static cpl_status finish(maker* k, int32_t number, cpl_transition* out) {
  cpl_context* ctx = k->p->ctx;
  char place[CPLI_PLACE_SIZE], text[CPLI_PLACE_SIZE + 600];
  snprintf(text, sizeof text, "%sfrom mode %s to mode %s", cpli_place_text(&k->leave->place, place),
           k->p->modes[k->mode].def->name.text, k->p->modes[k->to].def->name.text);
  *out = (cpl_transition){.to = k->to,
                          .stop = k->leave->terminate ? 0 : number,
                          .when = k->w->when != NULL ? when : NULL,
                          .copies = kept(k, k->copies, k->n_copies, sizeof *k->copies),
                          .n_copies = (int32_t)k->n_copies,
                          .sources = kept(k, k->sources, k->n_sources, sizeof *k->sources),
                          .n_sources = (int32_t)k->n_sources,
                          .targets = kept(k, k->targets, k->n_targets, sizeof *k->targets),
                          .n_targets = (int32_t)k->n_targets,
                          .map = k->n_targets > 0 ? map : NULL,
                          .user = k->w,
                          .text = cpli_arena_strdup(&k->p->arena, text)};
  if (k->no_memory || out->text == NULL) return cpli_nomem(ctx);
  const cpli_text* entry = &k->leave->on_entry;
  if (entry->text != NULL && !cpl_on_entry_by_name(entry->text, &out->on_entry))
    return cpli_fail_at(ctx, CPL_ERR_INPUT, &entry->place,
                        "entry: %s is not known (follow, error, wait)", entry->text);
  return CPL_OK;
}

//------------------------------------ what is left unset ------------------------------------

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
  cpli_modes_plan* p = k->p;
  if (!cpli_grow(p->ctx, (void**)&p->notes, &p->cap_notes, p->n_notes, sizeof(char*)))
    return cpli_nomem(p->ctx);
  char more[40] = "";
  if (n > 10) snprintf(more, sizeof more, " and %d more", n - 10);
  char* text = cpli_printf(p->ctx, "%s: leaves to their start values: %s%s", t->text, list, more);
  if (text == NULL) return cpli_nomem(p->ctx);
  p->notes[p->n_notes++] = text;
  return CPL_OK;
}

static cpl_status make_way(maker* k, int32_t number, cpl_transition* out) {
  cpl_context* ctx = k->p->ctx;
  k->w = cpli_arena_alloc(&k->p->arena, 1, sizeof *k->w);
  k->taken = cpli_alloc(ctx, 2 * (size_t)k->into->n_vars, sizeof *k->taken);
  cpl_status st = k->w != NULL && k->taken != NULL ? CPL_OK : cpli_nomem(ctx);
  if (k->w != NULL) {
    *k->w = (way){.ctx = ctx, .next = k->p->ways};
    k->p->ways = k->w;
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

cpl_status cpli_ways_make(cpli_modes_plan* p, const cpl_system_def* def, int32_t mode) {
  const cpli_mode_def* from = &def->modes[mode];
  cpli_mode_plan* plan = &p->modes[mode];
  plan->leave = cpli_arena_alloc(&p->arena, from->n_leaves, sizeof *plan->leave);
  cpl_status st = plan->leave != NULL ? CPL_OK : cpli_nomem(p->ctx);
  for (size_t i = 0; i < from->n_leaves && st >= 0; i++) {
    int32_t to = cpli_def_find_mode(def, from->leaves[i].to.text);
    maker k = {.p = p,
               .def = def,
               .leave = &from->leaves[i],
               .mode = mode,
               .to = to,
               .from = plan->source->desc,
               .into = p->modes[to].source->desc};
    st = make_way(&k, (int32_t)i + 1, &plan->leave[plan->n_leave++]);
  }
  return st;
}
