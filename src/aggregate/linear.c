// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The public function that linearises a model, cpl_linearize(). It selects states, inputs and
// outputs by name, reads the operating point and eliminates the algebraic unknowns of the
// descriptor form (descriptor.h), which gives the matrices A, B, C and D.
#include <math.h>

#include "aggregate/aggregate.h"
#include "aggregate/descriptor.h"
#include "couplet/linearize.h"
#include "model/adopt.h"

void cpl_init_linearize_def(cpl_linearize_def* def, size_t size) {
  const cpl_linearize_def all = {0};
  cpli_init_def(def, size, &all, sizeof all);
}

typedef struct linear {
  cpl_linear shown;
  cpli_arena arena;
  cpl_model* m;
  const cpl_linearize_def* def;
  bool* used;                     // items of `only` that matched something
  int32_t *states, *state_index;  // variables, and which states they are
  int32_t *inputs, *outputs;      // variables
} linear;

//------------------------------------ choice ------------------------------------

static bool is_signal(const cpli_aggregate* a, int32_t var) {
  return a != NULL && var >= a->n_part_vars;
}

static bool counts(const cpl_variable* v) {
  return v->type == CPL_REAL && v->variability == CPL_VARIABILITY_CONTINUOUS;
}

// Inputs (or outputs) of the whole; of an aggregate without any, those of its components.
static int32_t list_ports(const cpl_model* m, cpl_causality which, int32_t* out) {
  const cpl_description* d = m->base.desc;
  const cpli_aggregate* a = cpli_as_aggregate(&m->base);
  int32_t n = 0, own = 0;
  for (int32_t i = 0; i < d->n_vars; i++)
    own += d->vars[i].causality == which && is_signal(a, i) && counts(&d->vars[i]);
  for (int32_t i = 0; i < d->n_vars; i++) {
    const cpl_variable* v = &d->vars[i];
    bool inner = which == CPL_CAUSALITY_OUTPUT && v->inner_output;
    if ((v->causality != which && !inner) || !counts(v)) continue;
    if (own > 0 && !is_signal(a, i)) continue;
    out[n++] = i;
  }
  return n;
}

static bool wanted(linear* l, const char* name) {
  bool any = l->def->n_only == 0;
  for (size_t i = 0; i < l->def->n_only; i++) {
    if (strcmp(l->def->only[i], name) != 0 && !cpli_glob(l->def->only[i], name)) continue;
    any = l->used[i] = true;
  }
  return any;
}

// "prefix.name", in memory that lives as long as the result; NULL: out of memory.
static const char* full_name(linear* l, const char* name) {
  const char* prefix = l->def->prefix != NULL ? l->def->prefix : "";
  size_t n = strlen(prefix), k = strlen(name);
  char* text = cpli_arena_alloc(&l->arena, n + k + 1, 1);
  if (text == NULL) return NULL;
  memcpy(text, prefix, n);
  memcpy(text + n, name, k + 1);
  return text;
}

// Keeps the requested variables of a list, or all; names[] gets their names.
static cpl_status choose(linear* l, int32_t* list, int32_t* n, const char* const** names,
                         bool all) {
  const cpl_description* d = l->m->base.desc;
  const char** kept = cpli_arena_alloc(&l->arena, (size_t)*n, sizeof *kept);
  int32_t count = 0;
  if (kept == NULL) return cpli_nomem(l->m->base.ctx);
  for (int32_t i = 0; i < *n; i++) {
    const char* name = full_name(l, d->vars[list[i]].name);
    if (name == NULL) return cpli_nomem(l->m->base.ctx);
    if (!wanted(l, name) && !all) continue;
    list[count] = list[i];
    kept[count++] = name;
  }
  *n = count;
  *names = kept;
  return CPL_OK;
}

// Inputs or outputs; all of them where `only` is about these, but names none.
static cpl_status choose_ports(linear* l, int32_t* list, int32_t* n, const char* const** names) {
  int32_t count = *n;
  cpl_status st = choose(l, list, n, names, false);
  if (st < 0 || *n > 0 || !l->def->all_states) return st;
  *n = count;
  return choose(l, list, n, names, true);
}

static cpl_status find_states(linear* l) {
  const cpl_description* d = l->m->base.desc;
  for (int32_t k = 0; k < d->n_states; k++) {
    if (d->states[k] < 0 || d->derivatives[k] < 0) {
      return cpl_fail_in(l->m->base.ctx, CPL_ERR_UNSUPPORTED, l->m->base.name, NULL, NAN,
                         "state %d has no variable, so the model cannot be linearised", k + 1);
    }
    l->states[k] = d->states[k];
  }
  l->shown.n_states = d->n_states;
  cpl_status st = choose(l, l->states, &l->shown.n_states, &l->shown.states, l->def->all_states);
  for (int32_t i = 0, k = 0; i < l->shown.n_states && st >= 0; i++, k++) {
    while (d->states[k] != l->states[i]) k++;
    l->state_index[i] = k;
  }
  return st;
}

static cpl_status find_ports(linear* l) {
  l->shown.n_inputs = list_ports(l->m, CPL_CAUSALITY_INPUT, l->inputs);
  l->shown.n_outputs = list_ports(l->m, CPL_CAUSALITY_OUTPUT, l->outputs);
  cpl_status st = choose_ports(l, l->inputs, &l->shown.n_inputs, &l->shown.inputs);
  return st < 0 ? st : choose_ports(l, l->outputs, &l->shown.n_outputs, &l->shown.outputs);
}

static cpl_status check_only(const linear* l) {
  for (size_t i = 0; i < l->def->n_only; i++) {
    if (l->used[i] || l->def->lenient) continue;
    return cpl_fail_in(l->m->base.ctx, CPL_ERR_INPUT, l->m->base.name, NULL, NAN,
                       "\"%s\" is none of the states, inputs and outputs of the linearisation",
                       l->def->only[i]);
  }
  return CPL_OK;
}

//------------------------------------ values ------------------------------------

static cpl_status read_values(linear* l, const int32_t* vars, int32_t n, const double** out) {
  cpl_component* c = &l->m->base;
  double* values = cpli_arena_alloc(&l->arena, (size_t)n, sizeof *values);
  cpl_status st = values != NULL ? CPL_OK : cpli_nomem(c->ctx);
  for (int32_t i = 0; i < n && st == CPL_OK; i++)
    st = c->ops->get_real(c, &c->desc->vars[vars[i]].ref, 1, &values[i]);
  *out = values;
  return st;
}

static cpl_status read_point(linear* l, const double* x, double* dx) {
  cpl_linear* s = &l->shown;
  double* point = cpli_arena_alloc(&l->arena, 2 * (size_t)s->n_states, sizeof *point);
  if (point == NULL) return cpli_nomem(l->m->base.ctx);
  cpl_status st = l->m->base.desc->n_states > 0 ? l->m->ops->get_derivatives(l->m, dx) : CPL_OK;
  for (int32_t i = 0; i < s->n_states; i++) {
    point[i] = x[l->state_index[i]];
    point[s->n_states + i] = dx[l->state_index[i]];
  }
  s->x = point;
  s->dx = point + s->n_states;
  if (st == CPL_OK) st = read_values(l, l->inputs, s->n_inputs, &s->u);
  if (st == CPL_OK) st = read_values(l, l->outputs, s->n_outputs, &s->y);
  return st;
}

// A column of two of the blocks: A and C, or B and D. dx is scratch.
static void fill_column(linear* l, cpli_responses* r, int32_t column, double* dx, double* top,
                        double* bottom) {
  cpl_linear* s = &l->shown;
  cpli_responses_of(r, column, dx, bottom);
  for (int32_t i = 0; i < s->n_states; i++) top[i] = dx[l->state_index[i]];
}

static cpl_status fill_blocks(linear* l, const double* x, double* dx) {
  cpl_linear* s = &l->shown;
  size_t n = (size_t)s->n_states, m = (size_t)s->n_inputs, p = (size_t)s->n_outputs;
  cpli_descriptor* d = NULL;
  cpli_responses* r = NULL;
  double* a = cpli_arena_alloc(&l->arena, (n + p) * (n + m), sizeof *a);
  if (a == NULL) return cpli_nomem(l->m->base.ctx);
  double *b = a + n * n, *c = b + n * m, *direct = c + p * n;
  cpl_status st =
      cpli_descriptor_make(l->m, x, l->inputs, s->n_inputs, l->outputs, s->n_outputs, &d);
  if (st == CPL_OK) st = cpli_responses_make(d, l->m->base.name, &r);
  for (size_t i = 0; i < n && st == CPL_OK; i++)
    fill_column(l, r, l->state_index[i], dx, a + i * n, c + i * p);
  for (size_t i = 0; i < m && st == CPL_OK; i++)
    fill_column(l, r, d->n + (int32_t)i, dx, b + i * n, direct + i * p);
  s->a = a, s->b = b, s->c = c, s->d = direct;
  cpli_responses_destroy(r);
  cpli_descriptor_destroy(d);
  return st;
}

static cpl_status no_number(const linear* l, const char* of, const char* by, double value) {
  cpl_component* c = &l->m->base;
  if (by == NULL)
    return cpl_fail_in(c->ctx, CPL_ERR_MODEL, c->name, of, NAN,
                       "there is no linearisation at this point: %s is %g", of, value);
  return cpl_fail_in(c->ctx, CPL_ERR_MODEL, c->name, of, NAN,
                     "there is no linearisation at this point: the derivative of %s with respect "
                     "to %s is %g",
                     of, by, value);
}

static cpl_status check_vector(const linear* l, const double* values, int32_t n,
                               const char* const* names, const char* what) {
  for (int32_t i = 0; i < n; i++) {
    char name[300];
    if (isfinite(values[i])) continue;
    snprintf(name, sizeof name, what, names[i]);
    return no_number(l, name, NULL, values[i]);
  }
  return CPL_OK;
}

static cpl_status check_matrix(const linear* l, const double* block, int32_t rows, int32_t columns,
                               const char* const* of, const char* const* by, const char* what) {
  for (int32_t k = 0; k < rows * columns; k++) {
    char name[300];
    if (isfinite(block[k])) continue;
    snprintf(name, sizeof name, what, of[k % rows]);
    return no_number(l, name, by[k / rows], block[k]);
  }
  return CPL_OK;
}

// Numbers that are none are no result: what follows from them would be wrong without a word.
static cpl_status check_numbers(const linear* l) {
  const cpl_linear* s = &l->shown;
  const int32_t n = s->n_states, m = s->n_inputs, p = s->n_outputs;
  cpl_status st = check_vector(l, s->dx, n, s->states, "der(%s)");
  if (st >= 0) st = check_vector(l, s->y, p, s->outputs, "%s");
  if (st >= 0) st = check_matrix(l, s->a, n, n, s->states, s->states, "der(%s)");
  if (st >= 0) st = check_matrix(l, s->b, n, m, s->states, s->inputs, "der(%s)");
  if (st >= 0) st = check_matrix(l, s->c, p, n, s->outputs, s->states, "%s");
  return st >= 0 ? check_matrix(l, s->d, p, m, s->outputs, s->inputs, "%s") : st;
}

static cpl_status linearise(linear* l) {
  const cpl_description* d = l->m->base.desc;
  size_t n = (size_t)d->n_states, vars = (size_t)d->n_vars;
  double* x = cpli_arena_alloc(&l->arena, 2 * n, sizeof *x);
  l->used = cpli_arena_alloc(&l->arena, l->def->n_only, sizeof *l->used);
  l->states = cpli_arena_alloc(&l->arena, 2 * n + 2 * vars, sizeof *l->states);
  if (x == NULL || l->used == NULL || l->states == NULL) return cpli_nomem(l->m->base.ctx);
  l->state_index = l->states + n;
  l->inputs = l->state_index + n;
  l->outputs = l->inputs + vars;
  cpl_status st = find_states(l);
  if (st >= 0) st = find_ports(l);
  if (st >= 0) st = check_only(l);
  if (st >= 0 && n > 0) st = l->m->ops->get_states(l->m, x);
  if (st >= 0) st = read_point(l, x, x + n);
  if (st == CPL_OK) st = fill_blocks(l, x, x + n);
  if (st == CPL_OK) st = check_numbers(l);
  return st == CPL_RETRY ? CPL_ERR_MODEL : st;  // no shorter step can be tried here
}

cpl_status cpl_linearize(cpl_model* m, const cpl_linearize_def* given, cpl_linear** out) {
  *out = NULL;
  cpl_linearize_def def = cpl_default_linearize_def();
  cpl_status st = cpli_read_def(m->base.ctx, "cpl_linearize_def", given, &def, sizeof def);
  if (st >= 0) st = cpli_adopt_model(m);
  if (st < 0) return st;
  linear* l = cpli_alloc(m->base.ctx, 1, sizeof *l);
  if (l == NULL) return cpli_nomem(m->base.ctx);
  cpli_arena_init(&l->arena, m->base.ctx);
  l->m = m;
  l->def = &def;
  st = linearise(l);
  if (st < 0) cpl_linear_destroy(&l->shown);
  else *out = &l->shown;
  return st;
}

void cpl_linear_destroy(cpl_linear* l) {
  if (l == NULL) return;
  linear* self = (linear*)l;
  cpl_context* ctx = self->arena.ctx;
  cpli_arena_free(&self->arena);
  cpli_free(ctx, self);
}
