// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Finds the inputs of the whole that its outputs depend on directly: backwards along the links and
// through the parts that feed an input to an output directly.
#include "master/merged.h"

typedef struct walker {
  cpli_shared_desc* m;
  const cpli_merge_part* parts;
  const int32_t* first;   // variable of each part in the whole
  int32_t* row;           // of each variable in its part's structure, from 1; 0: none; -1: a state
  int32_t* source;        // of each linked input: the variable it follows, from 1; 0: none
  int32_t *seen, *stack;  // seen: the output that visited it last, from 1
  int32_t n_stack, stamp;
  int32_t *deps, n_deps;
  const int32_t** lists;  // of each output
} walker;

// Beyond this number of visits every output is assumed to depend on every input.
static const double max_work = 2e7;

static void note_rows(walker* w, int32_t n_parts) {
  for (int32_t p = 0; p < n_parts; p++) {
    const cpl_description* d = w->parts[p].desc;
    int32_t* row = w->row + w->first[p];
    for (int32_t i = 0; i < d->n_states; i++) {
      if (d->states[i] >= 0) row[d->states[i]] = -1;
    }
    for (int32_t i = 0; i < d->structure.n_outputs; i++) row[d->structure.outputs[i].var] = i + 1;
  }
}

// Visits an input of a part on which the present output depends.
static void arrive(walker* w, int32_t var) {
  if (w->seen[var] == w->stamp) return;
  w->seen[var] = w->stamp;
  int32_t source = w->source[var];
  if (source > 0) {
    if (w->seen[source - 1] != w->stamp) {
      w->seen[source - 1] = w->stamp;
      w->stack[w->n_stack++] = source - 1;
    }
  } else if (w->m->desc.vars[var].causality == CPL_CAUSALITY_INPUT) {
    w->deps[w->n_deps++] = var;
  }
}

static void follow(walker* w, int32_t var) {
  int32_t p = w->m->routes[var].component, first = w->first[p], row = w->row[var];
  const cpl_description* d = w->parts[p].desc;
  if (row < 0) return;
  const cpl_unknown* u = row > 0 ? &d->structure.outputs[row - 1] : NULL;
  if (u != NULL && u->count >= 0) {
    for (int32_t i = 0; i < u->count; i++) arrive(w, first + d->structure.deps[u->first + i]);
    return;
  }
  for (int32_t i = 0; i < d->n_vars; i++) {
    if (d->vars[i].causality == CPL_CAUSALITY_INPUT) arrive(w, first + i);
  }
}

static cpl_status find_rows(walker* w) {
  cpl_structure* s = &w->m->desc.structure;
  for (int32_t o = 0; o < s->n_outputs; o++) {
    cpl_unknown* row = (cpl_unknown*)&s->outputs[o];
    w->stamp = o + 1;
    w->n_deps = 0;
    w->stack[w->n_stack++] = row->var;
    while (w->n_stack > 0) follow(w, w->stack[--w->n_stack]);
    int32_t* kept = cpli_arena_alloc(&w->m->arena, (size_t)w->n_deps, sizeof *kept);
    if (kept == NULL) return cpli_nomem(w->m->ctx);
    if (w->n_deps > 0) memcpy(kept, w->deps, (size_t)w->n_deps * sizeof *kept);
    w->lists[o] = kept;
    row->count = w->n_deps;
  }
  return CPL_OK;
}

// Concatenates the lists, as a structure stores them.
static cpl_status join_rows(walker* w) {
  cpl_structure* s = &w->m->desc.structure;
  size_t n = 0;
  for (int32_t o = 0; o < s->n_outputs; o++) n += (size_t)s->outputs[o].count;
  int32_t* deps = cpli_arena_alloc(&w->m->arena, n, sizeof *deps);
  uint8_t* kinds = cpli_arena_alloc(&w->m->arena, n, sizeof *kinds);
  if (deps == NULL || kinds == NULL) return cpli_nomem(w->m->ctx);
  int32_t at = 0;
  for (int32_t o = 0; o < s->n_outputs; o++) {
    cpl_unknown* row = (cpl_unknown*)&s->outputs[o];
    row->first = at;
    if (row->count > 0) memcpy(deps + at, w->lists[o], (size_t)row->count * sizeof *deps);
    at += row->count;
  }
  s->deps = deps;
  s->kinds = kinds;
  s->origin = CPL_ORIGIN_DECLARED;
  return CPL_OK;
}

cpl_status cpli_merged_reach(cpli_shared_desc* m, const cpli_merge_part* parts, int32_t n_parts,
                             const int32_t* first, const cpl_master_link* links, int32_t n_links) {
  size_t n = (size_t)m->desc.n_vars, outputs = (size_t)m->desc.structure.n_outputs;
  if (outputs == 0 || (double)outputs * (double)n > max_work) return CPL_OK;
  int32_t* memory = cpli_alloc(m->ctx, 5 * n, sizeof *memory);
  const int32_t** lists = cpli_alloc(m->ctx, outputs, sizeof *lists);
  cpl_status st = memory == NULL || lists == NULL ? cpli_nomem(m->ctx) : CPL_OK;
  if (st >= 0) {
    walker w = {.m = m, .parts = parts, .first = first, .row = memory, .lists = lists};
    w.source = w.row + n;
    w.seen = w.source + n;
    w.stack = w.seen + n;
    w.deps = w.stack + n;
    note_rows(&w, n_parts);
    for (int32_t i = 0; i < n_links; i++)
      w.source[first[links[i].target_part] + links[i].target_var] =
          first[links[i].source_part] + links[i].source_var + 1;
    st = find_rows(&w);
    if (st >= 0) st = join_rows(&w);
  }
  cpli_free(m->ctx, memory);
  cpli_free(m->ctx, lists);
  return st;
}
