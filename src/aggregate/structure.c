// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Dependencies seen from outside: from each output and derivative of the aggregate back over
// couplings and components to its inputs and states. The work is bounded: in a densely coupled
// system, rows that cost too much are left unknown, which counts as depending on everything.
#include "aggregate/aggregate.h"
#include "model/sparsity.h"

enum { WORK = 32 };  // limit of visits per node and variable

typedef struct search {
  cpli_aggregate* a;
  bool initial;             // dependencies before the run starts
  const cpl_unknown** row;  // of each variable of components; NULL: none
  bool* is_state;           // of each variable of components
  int32_t* seen;            // the last search that visited a node, then of variables of components
  int32_t *stack, n_stack;  // nodes still to follow
  int32_t number;           // of the current search
  int64_t budget;
  int32_t* deps;
  size_t n_deps, cap_deps;
  bool no_memory;
} search;

static void note_parts(search* s) {
  for (int32_t k = 0; k < s->a->n_parts; k++) {
    const cpli_part* part = &s->a->parts[k];
    const cpl_description* d = part->m->base.desc;
    cpli_note_rows(d, d->structure.derivatives, d->structure.n_derivatives,
                   s->row + part->first_var);
    cpli_note_rows(d, d->structure.outputs, d->structure.n_outputs, s->row + part->first_var);
    if (s->initial)
      cpli_note_rows(d, d->structure.initial, d->structure.n_initial, s->row + part->first_var);
    for (int32_t i = 0; i < d->n_states; i++) {
      if (d->states[i] >= 0) s->is_state[part->first_var + d->states[i]] = true;
    }
  }
}

static void follow(search* s, int32_t node) {
  if (s->seen[node] == s->number) return;
  s->seen[node] = s->number;
  s->stack[s->n_stack++] = node;
}

static void depend_on(search* s, int32_t var) {
  int32_t* seen = &s->seen[s->a->n_nodes + var];
  if (*seen == s->number) return;
  *seen = s->number;
  if (!cpli_grow(s->a->base.base.ctx, (void**)&s->deps, &s->cap_deps, s->n_deps, sizeof *s->deps))
    s->no_memory = true;
  else s->deps[s->n_deps++] = var;
}

// An input or state of a component: its source, or a known of the whole.
static void meet(search* s, const cpli_part* part, int32_t var) {
  const cpl_variable* v = &part->m->base.desc->vars[var];
  int32_t index = part->first_var + var, node = s->a->node_of[index];
  s->budget--;
  if (node >= 0 && s->a->nodes[node].kind == CPLI_NODE_INPUT) follow(s, node);
  else if (v->causality == CPL_CAUSALITY_INPUT || s->is_state[index]) depend_on(s, index);
}

static void meet_row(search* s, const cpli_part* part, const cpl_unknown* row) {
  const cpl_description* d = part->m->base.desc;
  if (row != NULL && row->count >= 0 && !part->distrusted) {
    for (int32_t k = 0; k < row->count; k++) meet(s, part, d->structure.deps[row->first + k]);
    return;
  }
  for (int32_t i = 0; i < d->n_vars; i++) meet(s, part, i);
}

static void meet_node(search* s, int32_t index) {
  const cpli_aggregate* a = s->a;
  const cpli_node* node = &a->nodes[index];
  s->budget--;
  if (node->coupling >= 0) {
    const cpli_coupling_edge* l = &a->links[node->coupling];
    for (int32_t k = 0; k < l->n_sources; k++) follow(s, l->sources[k]);
    s->budget -= l->n_sources;
  } else if (node->part < 0) {
    if (a->signals[node->var].kind == CPL_SIGNAL_INPUT) depend_on(s, a->n_part_vars + node->var);
  } else {
    const cpli_part* part = &a->parts[node->part];
    const cpl_description* d = part->m->base.desc;
    const cpl_unknown* row = s->row[part->first_var + cpli_root_variable(d, node->var)];
    bool fixed = row == NULL && d->vars[node->var].variability < CPL_VARIABILITY_DISCRETE;
    if (row == NULL && s->is_state[part->first_var + node->var]) meet(s, part, node->var);
    else if (!fixed) meet_row(s, part, row);
  }
}

// Follows the stack until it is empty.
static cpl_unknown finish(search* s, int32_t var, size_t first) {
  while (s->n_stack > 0 && s->budget > 0) meet_node(s, s->stack[--s->n_stack]);
  bool known = s->budget > 0;
  s->n_stack = 0;
  s->number++;
  if (!known) s->n_deps = first;
  return (cpl_unknown){
      .var = var, .first = (int32_t)first, .count = known ? (int32_t)(s->n_deps - first) : -1};
}

static int32_t search_outputs(search* s, cpl_unknown* rows) {
  int32_t n = 0;
  for (int32_t i = 0; i < s->a->n_signals && !s->no_memory; i++) {
    if (s->a->signals[i].kind != CPL_SIGNAL_OUTPUT) continue;
    size_t first = s->n_deps;
    follow(s, s->a->first_signal + i);
    rows[n++] = finish(s, s->a->n_part_vars + i, first);
  }
  return n;
}

static void search_derivatives(search* s, cpl_unknown* rows) {
  for (int32_t k = 0; k < s->a->n_parts && !s->no_memory; k++) {
    const cpli_part* part = &s->a->parts[k];
    const cpl_description* d = part->m->base.desc;
    for (int32_t i = 0; i < d->n_states; i++) {
      size_t first = s->n_deps;
      bool has_row = i < d->structure.n_derivatives;
      if (s->budget > 0) meet_row(s, part, has_row ? &d->structure.derivatives[i] : NULL);
      *rows++ = finish(s, s->a->desc->derivatives[part->first_state + i], first);
    }
  }
}

static bool all_states_named(const cpl_description* d) {
  for (int32_t i = 0; i < d->n_states; i++) {
    if (d->states[i] < 0 || d->derivatives[i] < 0) return false;
  }
  return true;
}

static bool open_search(search* s) {
  cpl_context* ctx = s->a->base.base.ctx;
  size_t vars = (size_t)s->a->desc->n_vars, nodes = (size_t)s->a->n_nodes;
  s->row = cpli_alloc(ctx, vars, sizeof *s->row);
  s->is_state = cpli_alloc(ctx, vars, sizeof *s->is_state);
  s->seen = cpli_alloc(ctx, nodes + vars, sizeof *s->seen);
  s->stack = cpli_alloc(ctx, nodes, sizeof *s->stack);
  s->number = 1;
  s->budget = all_states_named(s->a->desc) ? WORK * (int64_t)(nodes + vars + 1) : 0;
  return s->row != NULL && s->is_state != NULL && s->seen != NULL && s->stack != NULL;
}

static void close_search(search* s) {
  cpl_context* ctx = s->a->base.base.ctx;
  cpli_free(ctx, s->row);
  cpli_free(ctx, s->is_state);
  cpli_free(ctx, s->seen);
  cpli_free(ctx, s->stack);
  cpli_free(ctx, s->deps);
}

static cpl_status keep(search* s, cpl_structure* out) {
  cpli_arena* arena = &s->a->shared_desc->arena;
  int32_t* deps = cpli_arena_alloc(arena, s->n_deps, sizeof *deps);
  uint8_t* kinds = cpli_arena_alloc(arena, s->n_deps, sizeof *kinds);
  if (s->no_memory || deps == NULL || kinds == NULL) return cpli_nomem(s->a->base.base.ctx);
  if (s->n_deps > 0) memcpy(deps, s->deps, s->n_deps * sizeof *deps);
  memset(kinds, CPL_KIND_DEPENDENT, s->n_deps);
  out->deps = deps;
  out->kinds = kinds;
  out->origin = s->n_deps > 0 || s->budget > 0 ? CPL_ORIGIN_DECLARED : CPL_ORIGIN_ASSUMED;
  return CPL_OK;
}

cpl_status cpli_aggregate_structure(cpli_aggregate* a) {
  size_t n = (size_t)a->n_signals, n_states = (size_t)a->desc->n_states;
  cpl_unknown* rows = cpli_arena_alloc(&a->shared_desc->arena, 2 * n + n_states, sizeof *rows);
  cpl_structure* out = &a->desc->structure;
  search s = {.a = a};
  bool fine = rows != NULL && open_search(&s);
  if (fine) {
    note_parts(&s);
    *out = (cpl_structure){.outputs = rows,
                           .derivatives = rows + n,
                           .n_derivatives = a->desc->n_states,
                           .initial = rows + n + n_states};
    out->n_outputs = search_outputs(&s, rows);
    search_derivatives(&s, rows + n);
    s.initial = true;
    note_parts(&s);
    out->n_initial = search_outputs(&s, rows + n + n_states);
  }
  cpl_status st = fine ? keep(&s, out) : cpli_nomem(a->base.base.ctx);
  close_search(&s);
  return st;
}

//------------------------------------ constraints ------------------------------------

// States among the variables that were found; all of them where the search was cut off.
static bool keep_states(search* s, cpl_unknown found, const int32_t* state_of, int32_t** states,
                        size_t* n, size_t* cap) {
  const cpli_aggregate* a = s->a;
  size_t count = found.count >= 0 ? (size_t)found.count : (size_t)a->n_states;
  for (size_t i = 0; i < count; i++) {
    int32_t state = found.count >= 0 ? state_of[s->deps[(size_t)found.first + i]] : (int32_t)i;
    if (state < 0) continue;
    if (!cpli_grow(a->base.base.ctx, (void**)states, cap, *n, sizeof **states)) return false;
    (*states)[(*n)++] = state;
  }
  s->n_deps = (size_t)found.first;
  return !s->no_memory;
}

static bool has_constraints(const cpli_part* part) {
  return part->m->base.desc->n_constraints > 0 && part->m->ops->constraints != NULL;
}

// Nodes are visited once, and inputs of components without constraints are skipped, instead of a
// list of inputs per component.
static bool search_reach(search* s, const int32_t* state_of, int32_t* first, int32_t** states) {
  cpli_aggregate* a = s->a;
  size_t n = 0, cap = 0;
  bool fine = true;
  int32_t* next =
      cpli_alloc(a->base.base.ctx, (size_t)a->n_nodes + (size_t)a->n_parts, sizeof *next);
  if (next == NULL) return false;
  int32_t* head = next + a->n_nodes;  // chains of nodes, from 1
  for (int32_t i = 0; i < a->n_nodes; i++) {
    const cpli_node* node = &a->nodes[i];
    if (node->kind != CPLI_NODE_INPUT || node->part < 0 || !cpli_is_smooth(node)) continue;
    next[i] = head[node->part];
    head[node->part] = i + 1;
  }
  for (int32_t k = 0; k < a->n_parts + a->n_constraints && fine; k++) {
    size_t from = s->n_deps;
    bool wanted = k >= a->n_parts || has_constraints(&a->parts[k]);
    if (k >= a->n_parts) follow(s, a->first_signal + a->constraints[k - a->n_parts].signal);
    for (int32_t i = k < a->n_parts && wanted ? head[k] : 0; i > 0; i = next[i - 1])
      follow(s, i - 1);
    if (wanted) fine = keep_states(s, finish(s, -1, from), state_of, states, &n, &cap);
    first[k + 1] = (int32_t)n;
  }
  cpli_free(a->base.base.ctx, next);
  // valid pointers, also when nothing was found
  return fine &&
         (*states != NULL || cpli_grow(a->base.base.ctx, (void**)states, &cap, 0, sizeof **states));
}

cpl_status cpli_aggregate_reach(cpli_aggregate* a, int32_t** first, int32_t** states) {
  cpl_context* ctx = a->base.base.ctx;
  size_t vars = (size_t)a->desc->n_vars;
  search s = {.a = a};
  int32_t* state_of = cpli_alloc(ctx, vars, sizeof *state_of);
  cpli_free(ctx, *first);
  *first = cpli_alloc(ctx, (size_t)a->n_parts + (size_t)a->n_constraints + 1, sizeof **first);
  bool fine = state_of != NULL && *first != NULL && open_search(&s);
  for (size_t i = 0; i < vars && fine; i++) state_of[i] = -1;
  for (int32_t i = 0; i < a->n_states && fine; i++) {
    if (a->desc->states[i] >= 0) state_of[a->desc->states[i]] = i;
  }
  if (fine) note_parts(&s);
  fine = fine && search_reach(&s, state_of, *first, states);
  cpli_free(ctx, state_of);
  close_search(&s);
  if (fine) return CPL_OK;
  cpli_free(ctx, *states);
  *states = NULL;
  return cpli_nomem(ctx);
}
