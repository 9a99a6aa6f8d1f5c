// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Selections: variables of a simulation that are found once and then read or set in one call per
// type. The values of the caller are in the order of the selection, those of a call in the order of
// its group.
#include <math.h>

#include "run/run.h"

// Types, and states: those are set first, since a model takes no states once an input is set.
enum { STATES, FIRST_TYPE, N_GROUPS = FIRST_TYPE + CPL_CLOCK + 1 };

static cpl_type type_of_group(int kind) { return (cpl_type)(kind - FIRST_TYPE); }

// Variables that one call reads or sets. `place` are their numbers in the selection.
typedef struct group {
  size_t n;
  uint32_t* refs;
  int32_t* states;  // of the group STATES: their numbers in the description
  size_t* place;
  union {
    double* real;
    int64_t* integer;
  } values;
} group;

struct cpl_selection {
  cpl_simulation* sim;
  const cpl_variable** vars;
  size_t n;
  group reads[N_GROUPS];
  group sets[N_GROUPS];
  // that `sets` belongs to; the numbers of states are other ones in another structure of a model
  const cpl_description* desc;
};

//------------------------------------ groups ------------------------------------

static void free_group(cpl_context* ctx, group* g) {
  cpli_free(ctx, g->refs);
  cpli_free(ctx, g->states);
  cpli_free(ctx, g->place);
  cpli_free(ctx, g->values.real);
  *g = (group){0};
}

static bool make_group(cpl_context* ctx, group* g, size_t n) {
  g->refs = cpli_alloc(ctx, n, sizeof *g->refs);
  g->states = cpli_alloc(ctx, n, sizeof *g->states);
  g->place = cpli_alloc(ctx, n, sizeof *g->place);
  g->values.real = cpli_alloc(ctx, n, sizeof *g->values.real);
  return g->refs != NULL && g->states != NULL && g->place != NULL && g->values.real != NULL;
}

// Distributes the variables; kind[i] is the group of the i-th, state[i] its number as a state.
// Nullable: state
static cpl_status make_groups(const cpl_selection* s, group* groups, const int* kind,
                              const int32_t* state) {
  cpl_context* ctx = s->sim->s->base.ctx;
  size_t count[N_GROUPS] = {0};
  for (size_t i = 0; i < s->n; i++) count[kind[i]]++;
  for (int k = 0; k < N_GROUPS; k++) {
    free_group(ctx, &groups[k]);
    if (count[k] > 0 && !make_group(ctx, &groups[k], count[k])) return cpli_nomem(ctx);
  }
  for (size_t i = 0; i < s->n; i++) {
    group* g = &groups[kind[i]];
    g->refs[g->n] = s->vars[i]->ref;
    g->states[g->n] = state != NULL ? state[i] : -1;
    g->place[g->n++] = i;
  }
  return CPL_OK;
}

static cpl_status group_reads(cpl_selection* s) {
  cpl_context* ctx = s->sim->s->base.ctx;
  int* kind = cpli_alloc(ctx, s->n + 1, sizeof *kind);
  cpl_status st = kind != NULL ? CPL_OK : cpli_nomem(ctx);
  for (size_t i = 0; i < s->n && st >= 0; i++) {
    st = cpli_simulation_number(s->sim, s->vars[i]);
    kind[i] = FIRST_TYPE + s->vars[i]->type;
  }
  if (st >= 0) st = make_groups(s, s->reads, kind, NULL);
  cpli_free(ctx, kind);
  return st;
}

static cpl_status group_sets(cpl_selection* s) {
  cpl_context* ctx = s->sim->s->base.ctx;
  int* kind = cpli_alloc(ctx, s->n + 1, sizeof *kind);
  int32_t* state = cpli_alloc(ctx, s->n + 1, sizeof *state);
  cpl_status st = kind != NULL && state != NULL ? CPL_OK : cpli_nomem(ctx);
  for (size_t i = 0; i < s->n && st >= 0; i++) {
    st = cpli_simulation_target(s->sim, s->vars[i], &state[i]);
    kind[i] = st >= 0 && state[i] >= 0 ? STATES : FIRST_TYPE + s->vars[i]->type;
  }
  if (st >= 0) st = make_groups(s, s->sets, kind, state);
  s->desc = st >= 0 ? s->sim->s->base.desc : NULL;
  cpli_free(ctx, kind);
  cpli_free(ctx, state);
  return st;
}

//------------------------------------ life ------------------------------------

static const cpl_array* find_array(const cpl_description* d, const char* name) {
  for (int32_t i = 0; i < d->n_arrays; i++) {
    if (strcmp(d->arrays[i].name, name) == 0) return &d->arrays[i];
  }
  return NULL;
}

// The variable, or the elements of the array, of this name. Without `vars` they are only counted.
static cpl_status add_name(cpl_selection* s, const char* name) {
  const cpl_description* d = s->sim->s->base.desc;
  const cpl_variable* v = NULL;
  const cpl_array* array = cpl_find_variable(d, name) < 0 ? find_array(d, name) : NULL;
  cpl_status st = array != NULL ? CPL_OK : cpli_simulation_find(s->sim, name, &v);
  size_t n = array != NULL ? (size_t)array->count : 1;
  if (array != NULL) v = &d->vars[array->first];
  for (size_t i = 0; i < n && st >= 0; i++, s->n++) {
    if (s->vars != NULL) s->vars[s->n] = &v[i];
  }
  return st;
}

cpl_status cpl_selection_create(cpl_simulation* sim, const char* const* names, size_t n,
                                cpl_selection** out) {
  cpl_context* ctx = sim->s->base.ctx;
  *out = NULL;
  cpl_selection* s = cpli_alloc(ctx, 1, sizeof *s);
  if (s == NULL) return cpli_nomem(ctx);
  *s = (cpl_selection){.sim = sim};
  cpl_status st = CPL_OK;
  for (size_t i = 0; i < n && st >= 0; i++) st = add_name(s, names[i]);
  if (st >= 0) {
    s->vars = cpli_alloc(ctx, s->n + 1, sizeof *s->vars);
    if (s->vars == NULL) st = cpli_nomem(ctx);
  }
  s->n = 0;
  for (size_t i = 0; i < n && st >= 0; i++) st = add_name(s, names[i]);
  if (st >= 0) st = group_reads(s);
  if (st >= 0) *out = s;
  else cpl_selection_destroy(s);
  return st;
}

void cpl_selection_destroy(cpl_selection* s) {
  if (s == NULL) return;
  cpl_context* ctx = s->sim->s->base.ctx;
  for (int k = 0; k < N_GROUPS; k++) {
    free_group(ctx, &s->reads[k]);
    free_group(ctx, &s->sets[k]);
  }
  cpli_free(ctx, s->vars);
  cpli_free(ctx, s);
}

size_t cpl_selection_count(const cpl_selection* s) { return s->n; }

const cpl_variable* cpl_selection_variable(const cpl_selection* s, size_t i) {
  return i < s->n ? s->vars[i] : NULL;
}

//------------------------------------ values ------------------------------------

static cpl_status get_reals(const cpl_selection* s, const group* g, double* values) {
  cpl_component* c = &s->sim->s->base;
  if (g->n == s->n) return c->ops->get_real(c, g->refs, g->n, values);  // all, in their order
  cpl_status st = c->ops->get_real(c, g->refs, g->n, g->values.real);
  for (size_t i = 0; i < g->n && st >= 0; i++) values[g->place[i]] = g->values.real[i];
  return st;
}

static cpl_status get_integers(const cpl_selection* s, cpl_type type, const group* g,
                               double* values) {
  cpl_component* c = &s->sim->s->base;
  cpl_status st = c->ops->get_integer(c, type, g->refs, g->n, g->values.integer);
  for (size_t i = 0; i < g->n && st >= 0; i++) {
    int64_t value = g->values.integer[i];
    bool is_unsigned = s->vars[g->place[i]]->width == CPL_WIDTH_UINT64;
    values[g->place[i]] = is_unsigned ? (double)(uint64_t)value : (double)value;
  }
  return st;
}

cpl_status cpl_selection_get(cpl_selection* s, double* values) {
  cpl_status st = s->sim->running ? cpli_take_effect(s->sim) : CPL_OK;
  for (int k = FIRST_TYPE; k < N_GROUPS && st >= 0; k++) {
    const group* g = &s->reads[k];
    if (g->n == 0) continue;
    cpl_type type = type_of_group(k);
    st = type == CPL_REAL ? get_reals(s, g, values) : get_integers(s, type, g, values);
  }
  return st;
}

// Values in the order of the group; all are checked before any is set.
static cpl_status gather(const cpl_selection* s, int kind, group* g, const double* values) {
  const bool real = kind == STATES || type_of_group(kind) == CPL_REAL;
  cpl_status st = CPL_OK;
  for (size_t i = 0; i < g->n && st >= 0; i++) {
    const cpl_variable* v = s->vars[g->place[i]];
    const double value = values[g->place[i]];
    const bool fine = real && isfinite(value) && value >= v->min && value <= v->max;
    int64_t integer = 0;
    if (!fine) st = cpli_simulation_value(s->sim, v, value, &integer);
    if (real) g->values.real[i] = value;
    else g->values.integer[i] = integer;
  }
  return st;
}

static cpl_status set_group(const cpl_selection* s, int kind, const group* g) {
  cpl_stepper* stepper = s->sim->s;
  cpl_component* c = &stepper->base;
  if (kind == STATES) {
    cpl_status st = cpli_take_effect(s->sim);
    return st < 0 ? st : stepper->ops->set_states(stepper, g->states, g->n, g->values.real);
  }
  cpl_type type = type_of_group(kind);
  if (type == CPL_REAL) return c->ops->set_real(c, g->refs, g->n, g->values.real);
  return c->ops->set_integer(c, type, g->refs, g->n, g->values.integer);
}

cpl_status cpl_selection_set(cpl_selection* s, const double* values) {
  cpl_status st = CPL_OK;
  if (!s->sim->running) {
    for (size_t i = 0; i < s->n && st >= 0; i++)
      st = cpl_simulation_set(s->sim, s->vars[i]->name, values[i]);
    return st;
  }
  if (s->desc != s->sim->s->base.desc) st = group_sets(s);
  for (int k = 0; k < N_GROUPS && st >= 0; k++) st = gather(s, k, &s->sets[k], values);
  for (int k = 0; k < N_GROUPS && st >= 0; k++) {
    if (s->sets[k].n > 0) st = set_group(s, k, &s->sets[k]);
  }
  s->sim->changed = s->sim->changed || (st >= 0 && s->n > 0);
  return st;
}
