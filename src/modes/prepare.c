// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Compiles transitions into lists of references, so that a switch needs no lookup.
#include <stdlib.h>

#include "modes/modes.h"

#define NEW(m, n, pointer) \
  ((pointer) = cpli_arena_alloc(&(m)->arena, (size_t)(n), sizeof *(pointer)))

cpl_status cpli_starts_add(cpl_context* ctx, cpli_starts* s, cpli_other value, double real) {
  if (value.type != CPL_REAL) {
    if (!cpli_grow(ctx, (void**)&s->others, &s->cap_others, s->n_others, sizeof *s->others))
      return cpli_nomem(ctx);
    s->others[s->n_others++] = value;
    return CPL_OK;
  }
  if (!cpli_grow(ctx, (void**)&s->refs, &s->cap_refs, s->n, sizeof *s->refs) ||
      !cpli_grow(ctx, (void**)&s->values, &s->cap_values, s->n, sizeof *s->values))
    return cpli_nomem(ctx);
  s->refs[s->n] = value.ref;
  s->values[s->n++] = real;
  return CPL_OK;
}

static cpl_status take_starts(cpli_modes* m, cpli_mode* mode, const cpl_mode* def) {
  const cpl_description* d = mode->c->desc;
  cpl_status st = CPL_OK;
  for (int32_t i = 0; i < def->n_starts && st >= 0; i++) {
    const cpl_mode_start* s = &def->starts[i];
    const cpl_variable* v = &d->vars[s->var];
    cpli_other value = {.type = v->type, .ref = v->ref, .integer = s->integer};
    if (v->type == CPL_STRING) {
      value.text = cpli_arena_strdup(&m->arena, s->text != NULL ? s->text : "");
      if (value.text == NULL) return cpli_nomem(m->base.base.ctx);
    }
    st = cpli_starts_add(m->base.base.ctx, &mode->starts, value, s->number);
  }
  mode->own_starts = mode->starts.n;
  mode->own_others = mode->starts.n_others;
  return st;
}

//------------------------------------ copies ------------------------------------

static void add_slot(struct cpli_values* list, uint32_t ref, int32_t slot) {
  list->refs[list->n] = ref;
  list->slots[list->n++] = slot;
}

static bool make_list(cpli_modes* m, struct cpli_values* list, int32_t n) {
  return NEW(m, n, list->refs) && NEW(m, n, list->slots) && NEW(m, n, list->values);
}

static cpl_status take_copies(cpli_modes* m, cpli_transition* t, const cpl_description* from,
                              const cpl_description* to) {
  int32_t n = t->def.n_copies;
  bool fine = NEW(m, n, t->factor) && NEW(m, n, t->offset) && NEW(m, n, t->copied) &&
              NEW(m, n, t->others) && make_list(m, &t->read, n + t->def.n_sources) &&
              make_list(m, &t->set, n + t->def.n_targets);
  if (!fine) return cpli_nomem(m->base.base.ctx);
  for (int32_t i = 0; i < n; i++) {
    const cpl_mode_copy* c = &t->def.copies[i];
    const cpl_variable *source = &from->vars[c->from], *target = &to->vars[c->to];
    if (source->type != CPL_REAL) {
      t->others[t->n_others++] =
          (struct cpli_other_copy){.type = source->type, .from = source->ref, .to = target->ref};
      continue;
    }
    int32_t k = t->n_real++;
    add_slot(&t->read, source->ref, -1 - k);
    add_slot(&t->set, target->ref, -1 - k);
    t->factor[k] = c->factor != 0 ? c->factor : 1;
    t->offset[k] = c->offset;
  }
  return CPL_OK;
}

//------------------------------------ sources and targets ------------------------------------

// Keeps a value of another mode when that mode is left.
static cpl_status keep_value(cpli_modes* m, cpli_mode* other, const cpl_variable* v,
                             int32_t* slot) {
  for (int32_t k = 0; k < other->n_kept; k++) {
    *slot = k;
    if (other->kept[k].type == v->type && other->kept[k].ref == v->ref) return CPL_OK;
  }
  if (!cpli_grow(m->base.base.ctx, (void**)&other->kept, &other->cap_kept, (size_t)other->n_kept,
                 sizeof *other->kept))
    return cpli_nomem(m->base.base.ctx);
  *slot = other->n_kept;
  other->kept[other->n_kept++] = (cpli_modes_read){v->type, v->ref, *slot};
  return CPL_OK;
}

static cpl_status take_sources(cpli_modes* m, cpli_transition* t, const cpl_description* from) {
  int32_t n = t->def.n_sources;
  cpl_status st = CPL_OK;
  cpl_mode_value* kept = NULL;  // our own copy: with indices into the kept values of the other mode
  if (!NEW(m, n, t->source_others) || !NEW(m, n, t->sources) || !NEW(m, n, kept))
    return cpli_nomem(m->base.base.ctx);
  for (int32_t i = 0; i < n && st >= 0; i++) {
    cpl_mode_value s = t->def.sources[i];
    kept[i] = s;
    if (s.mode >= 0) {
      cpli_mode* other = &m->modes[s.mode];
      st = keep_value(m, other, &other->c->desc->vars[s.var], &kept[i].var);
      continue;
    }
    const cpl_variable* v = &from->vars[s.var];
    if (v->type != CPL_REAL) {
      t->source_others[t->n_source_others++] = (cpli_modes_read){v->type, v->ref, i};
      continue;
    }
    add_slot(&t->read, v->ref, i);
  }
  t->def.sources = kept;
  return st;
}

static int32_t state_of(const cpl_description* d, int32_t var) {
  for (int32_t k = 0; k < d->n_states; k++) {
    if (d->states[k] == var) return k;
  }
  return -1;
}

// A state whose start value is computed from others cannot be set before initialisation.
static bool is_late(const cpl_description* d, int32_t var, int32_t* state) {
  if (d->vars[var].initial != CPL_INITIAL_CALCULATED) return false;
  *state = state_of(d, var);
  return *state >= 0;
}

static cpl_status take_targets(cpli_modes* m, cpli_transition* t, const cpl_description* to) {
  int32_t n = t->def.n_targets;
  bool fine = NEW(m, n, t->target_others) && NEW(m, n, t->results) && NEW(m, n, t->late_states) &&
              NEW(m, n, t->late_targets) && NEW(m, n, t->late_values) &&
              NEW(m, m->is_model ? to->n_states : 0, t->late_room) &&
              NEW(m, t->n_real + n, t->seen);
  if (!fine) return cpli_nomem(m->base.base.ctx);
  for (int32_t i = 0; i < n; i++) {
    const cpl_variable* v = &to->vars[t->def.targets[i]];
    int32_t state = -1;
    if (is_late(to, t->def.targets[i], &state)) {
      t->late_states[t->n_late] = state;
      t->late_targets[t->n_late++] = i;
    } else if (v->type != CPL_REAL) {
      t->target_others[t->n_target_others++] = (cpli_modes_read){v->type, v->ref, i};
    } else {
      add_slot(&t->set, v->ref, i);
    }
  }
  return CPL_OK;
}

typedef struct entry {
  uint32_t ref;
  int32_t order, slot;
} entry;

// Values set twice keep their order: the last one counts.
static int by_ref(const void* a, const void* b) {
  const entry *x = a, *y = b;
  if (x->ref != y->ref) return x->ref < y->ref ? -1 : 1;
  return (x->order > y->order) - (x->order < y->order);
}

static cpl_status sort(cpl_context* ctx, struct cpli_values* list) {
  entry* all = cpli_alloc(ctx, (size_t)list->n, sizeof *all);
  if (all == NULL) return cpli_nomem(ctx);
  for (int32_t i = 0; i < list->n; i++) all[i] = (entry){list->refs[i], i, list->slots[i]};
  qsort(all, (size_t)list->n, sizeof *all, by_ref);
  for (int32_t i = 0; i < list->n; i++) {
    list->refs[i] = all[i].ref;
    list->slots[i] = all[i].slot;
  }
  cpli_free(ctx, all);
  return CPL_OK;
}

static cpl_status check_late(cpli_modes* m, const cpli_transition* t) {
  const cpli_mode* to = &m->modes[t->def.to];
  if (t->n_late == 0 || m->is_model || to->s->ops->set_states != NULL) return CPL_OK;
  return cpl_fail(m->base.base.ctx, CPL_ERR_INPUT,
                  "%s%smode %s: %s cannot be set: its start value follows from others, and this "
                  "mode's states cannot be written later",
                  t->def.text != NULL ? t->def.text : "", t->def.text != NULL ? ": " : "", to->name,
                  to->c->desc->vars[t->def.targets[t->late_targets[0]]].name);
}

static cpl_status take_transitions(cpli_modes* m, cpli_mode* mode, const cpl_mode* def) {
  cpl_status st = NEW(m, def->n_leave, mode->transitions) ? CPL_OK : cpli_nomem(m->base.base.ctx);
  for (int32_t i = 0; i < def->n_leave && st >= 0; i++) {
    cpli_transition* t = &mode->transitions[mode->n_transitions++];
    t->def = def->leave[i];
    t->number = i + 1;
    const cpl_description* from = mode->c->desc;
    const cpl_description* to = m->modes[t->def.to].c->desc;
    st = take_copies(m, t, from, to);
    if (st >= 0) st = take_sources(m, t, from);
    if (st >= 0) st = take_targets(m, t, to);
    if (st >= 0) st = sort(m->base.base.ctx, &t->read);
    if (st >= 0) st = sort(m->base.base.ctx, &t->set);
    if (st >= 0) st = check_late(m, t);
    t->def.copies = NULL;
    t->def.targets = NULL;
  }
  return st;
}

//------------------------------------ shared variables ------------------------------------

static cpl_status take_shared(cpli_modes* m, const cpl_mode_variable* list, int32_t n,
                              cpli_seen_kind kind) {
  cpli_modes_shared* all = NULL;
  if (!NEW(m, n, all)) return cpli_nomem(m->base.base.ctx);
  m->shared[kind] = all;
  m->n_shared[kind] = n;
  for (int32_t i = 0; i < n; i++) {
    if (!NEW(m, m->n_modes, all[i].at)) return cpli_nomem(m->base.base.ctx);
    for (int32_t k = 0; k < m->n_modes; k++) {
      const cpl_description* d = m->modes[k].c->desc;
      all[i].at[k].slot = -1;
      if (list[i].vars[k] < 0) continue;
      const cpl_variable* v = &d->vars[list[i].vars[k]];
      all[i].at[k] = (cpli_modes_read){v->type, v->ref, 0};
    }
  }
  return CPL_OK;
}

cpl_status cpli_modes_prepare(cpli_modes* m, const cpl_modes_def* def) {
  cpl_status st = take_shared(m, def->observed, def->n_observed, CPLI_SEEN_OBSERVED);
  if (st >= 0) st = take_shared(m, def->inputs, def->n_inputs, CPLI_SEEN_INPUT);
  if (st >= 0) st = take_shared(m, def->parameters, def->n_parameters, CPLI_SEEN_PARAMETER);
  for (int32_t k = 0; k < m->n_modes && st >= 0; k++) {
    st = take_starts(m, &m->modes[k], &def->modes[k]);
    if (st >= 0) st = take_transitions(m, &m->modes[k], &def->modes[k]);
  }
  for (int32_t k = 0; k < m->n_modes && st >= 0; k++) {
    if (!NEW(m, m->modes[k].n_kept, m->modes[k].kept_values)) st = cpli_nomem(m->base.base.ctx);
  }
  if (st >= 0 && (!NEW(m, CPLI_TRAIL, m->trail) || !NEW(m, def->n_observed, m->before)))
    st = cpli_nomem(m->base.base.ctx);
  return st;
}
