// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The description of a model made of modes in each of them: states, indicators and dependencies, in
// the variables of the whole. A variable that a mode does not use has no dependencies while it is
// active, so that it closes no loops.
#include "model/sparsity.h"
#include "modes/modes.h"

typedef struct maker {
  cpli_modes_desc* shared_desc;
  const cpl_modes_def* def;
  const cpl_description* from;  // of the mode
  const int32_t* at;            // index of each of its variables in the whole
  int32_t* known_at;            // its inputs and states, by root variable; -1: neither
  const cpl_unknown** row;      // of its structure, by root variable
  const cpl_unknown** initial;  // in initialisation, where it differs
  int32_t* deps;
  uint8_t* kinds;
  int32_t n_deps;
} maker;

static int32_t first_of(const cpli_modes_desc* shared_desc, cpli_seen_kind kind) {
  int32_t i = 0;
  while (i < shared_desc->base.desc.n_vars && shared_desc->seen[i].kind != kind) i++;
  return i;
}

static void note_known(maker* k, int32_t mode) {
  const cpl_description* d = k->from;
  int32_t first = first_of(k->shared_desc, CPLI_SEEN_INPUT);
  for (int32_t i = 0; i < d->n_vars; i++) k->known_at[i] = -1;
  for (int32_t i = 0; i < d->n_states; i++) {
    if (d->states[i] >= 0) k->known_at[cpli_root_variable(d, d->states[i])] = k->at[d->states[i]];
  }
  for (int32_t i = 0; i < k->def->n_inputs; i++) {
    int32_t var = k->def->inputs[i].vars[mode];
    if (var >= 0) k->known_at[cpli_root_variable(d, var)] = first + i;
  }
}

// Translates a row of the mode to the whole; without a row, a state depends on itself, anything
// else is unknown.
static cpl_unknown translate(maker* k, int32_t to, int32_t var, const cpl_unknown* row) {
  const cpl_description* d = k->from;
  cpl_unknown out = {.var = to, .first = k->n_deps};
  bool known = row != NULL && row->count >= 0;
  int32_t self = k->known_at[cpli_root_variable(d, var)];
  if (!known && self < 0) out.count = -1;
  if (!known && self >= 0) k->kinds[k->n_deps] = CPL_KIND_CONSTANT, k->deps[k->n_deps++] = self;
  for (int32_t i = 0; known && i < row->count; i++) {
    int32_t dep = k->known_at[cpli_root_variable(d, d->structure.deps[row->first + i])];
    if (dep < 0) continue;
    k->kinds[k->n_deps] = d->structure.kinds != NULL ? d->structure.kinds[row->first + i] : 0;
    k->deps[k->n_deps++] = dep;
  }
  if (out.count == 0) out.count = k->n_deps - out.first;
  return out;
}

static cpl_status note(maker* k, int32_t mode) {
  cpli_arena* arena = &k->shared_desc->base.arena;
  const cpl_structure* s = &k->from->structure;
  size_t vars = (size_t)k->from->n_vars;
  k->known_at = cpli_arena_alloc(arena, vars, sizeof *k->known_at);
  k->row = cpli_arena_alloc(arena, 2 * vars, sizeof(cpl_unknown*));
  if (k->known_at == NULL || k->row == NULL) return cpli_nomem(k->shared_desc->base.ctx);
  k->initial = k->row + vars;
  note_known(k, mode);
  cpli_note_rows(k->from, s->derivatives, s->n_derivatives, k->row);
  cpli_note_rows(k->from, s->outputs, s->n_outputs, k->row);
  cpli_note_rows(k->from, s->initial, s->n_initial, k->initial);
  return CPL_OK;
}

// The max number of dependencies of the rows of a variable.
static size_t max_deps(const maker* k, int32_t var) {
  if (var < 0) return 0;
  const cpl_unknown *row = k->row[cpli_root_variable(k->from, var)],
                    *initial = k->initial[cpli_root_variable(k->from, var)];
  return 2 + (row != NULL && row->count > 0 ? (size_t)row->count : 0) +
         (initial != NULL && initial->count > 0 ? (size_t)initial->count : 0);
}

static cpl_status allocate(maker* k, int32_t mode, cpl_description* out) {
  cpli_arena* arena = &k->shared_desc->base.arena;
  const cpl_description* d = k->from;
  size_t states = (size_t)d->n_states, deps = 0;
  size_t outputs = (size_t)k->shared_desc->base.desc.structure.n_outputs;
  for (int32_t i = 0; i < k->def->n_observed; i++)
    deps += max_deps(k, k->def->observed[i].vars[mode]);
  for (int32_t i = 0; i < d->n_states; i++) deps += max_deps(k, d->derivatives[i]);
  cpl_unknown* rows = cpli_arena_alloc(arena, 2 * outputs + states, sizeof *rows);
  int32_t* numbers = cpli_arena_alloc(arena, 2 * states, sizeof *numbers);
  k->deps = cpli_arena_alloc(arena, deps, sizeof *k->deps);
  k->kinds = cpli_arena_alloc(arena, deps, sizeof *k->kinds);
  if (rows == NULL || numbers == NULL || k->deps == NULL || k->kinds == NULL)
    return cpli_nomem(k->shared_desc->base.ctx);
  out->structure = (cpl_structure){.outputs = rows,
                                   .initial = rows + outputs,
                                   .derivatives = rows + 2 * outputs,
                                   .deps = k->deps,
                                   .kinds = k->kinds,
                                   .origin = d->structure.origin};
  out->states = numbers;
  out->derivatives = numbers + states;
  return CPL_OK;
}

// The number of the mode and absent variables depend on nothing.
static void add_outputs(maker* k, int32_t mode, cpl_structure* s) {
  int32_t first = first_of(k->shared_desc, CPLI_SEEN_OBSERVED);
  cpl_unknown *rows = (cpl_unknown*)s->outputs, *initial = (cpl_unknown*)s->initial;
  rows[s->n_outputs++] = (cpl_unknown){.var = 0};
  for (int32_t i = 0; i < k->def->n_observed; i++) {
    int32_t var = k->def->observed[i].vars[mode];
    int32_t root = var >= 0 ? cpli_root_variable(k->from, var) : -1;
    rows[s->n_outputs++] =
        var < 0 ? (cpl_unknown){.var = first + i} : translate(k, first + i, var, k->row[root]);
    if (var >= 0 && k->initial[root] != NULL)
      initial[s->n_initial++] = translate(k, first + i, var, k->initial[root]);
  }
}

static void add_states(maker* k, cpl_description* out) {
  const cpl_description* d = k->from;
  cpl_unknown* rows = (cpl_unknown*)out->structure.derivatives;
  int32_t *states = (int32_t*)out->states, *derivatives = (int32_t*)out->derivatives;
  out->n_states = out->structure.n_derivatives = d->n_states;
  for (int32_t i = 0; i < d->n_states; i++) {
    int32_t var = d->derivatives[i];
    states[i] = d->states[i] >= 0 ? k->at[d->states[i]] : -1;
    derivatives[i] = var >= 0 ? k->at[var] : -1;
    rows[i] = var < 0 ? (cpl_unknown){.var = -1, .count = -1}
                      : translate(k, derivatives[i], var, k->row[cpli_root_variable(d, var)]);
  }
}

static cpl_status describe(maker* k, int32_t mode, cpl_description* out) {
  *out = k->shared_desc->base.desc;
  out->n_indicators = k->from->n_indicators;
  out->n_constraints = k->from->n_constraints;
  cpl_status st = note(k, mode);
  if (st >= 0) st = allocate(k, mode, out);
  if (st < 0) return st;
  add_outputs(k, mode, &out->structure);
  add_states(k, out);
  return CPL_OK;
}

cpl_status cpli_modes_structures(cpli_modes_desc* shared_desc, const cpl_modes_def* def,
                                 const cpl_description* const* descs, int32_t* const* at) {
  cpl_status st = CPL_OK;
  shared_desc->of_mode = cpli_arena_alloc(&shared_desc->base.arena, (size_t)def->n_modes,
                                          sizeof *shared_desc->of_mode);
  if (shared_desc->of_mode == NULL) return cpli_nomem(shared_desc->base.ctx);
  for (int32_t k = 0; k < def->n_modes && st >= 0; k++) {
    maker one = {.shared_desc = shared_desc, .def = def, .from = descs[k], .at = at[k]};
    st = describe(&one, k, &shared_desc->of_mode[k]);
  }
  return st;
}
