// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// An aggregate with components of variable structure. Couplings, signals, events and the values of
// nodes are independent of the structure; states, plans, loops and the sparsity pattern of the
// Jacobian belong to the current one. Every structure that has occurred, and before the start all
// of them where they are few, is kept as a variant: a switch exchanges pointers.
#include "aggregate/aggregate.h"

enum {
  FEW = 64,        // structures that are prepared before the start,
  MUCH = 1000000,  // unless they have so many variables together
};

static cpl_model* varying_part(const cpli_aggregate* a, int32_t i) {
  return a->parts[a->varying[i]].m;
}

//------------------------------------ one variant ------------------------------------

static void store_spans(const cpli_aggregate* a, cpli_variant* v) {
  for (int32_t k = 0; k < a->n_parts; k++) {
    const cpli_part* p = &a->parts[k];
    v->spans[k] =
        (struct cpli_span){p->first_state, p->n_states, p->first_indicator, p->n_indicators};
  }
}

static void store(const cpli_aggregate* a, cpli_variant* v) {
  v->shared_desc = a->shared_desc;
  v->ops = a->ops;
  v->n_states = a->n_states, v->n_part_indicators = a->n_part_indicators;
  v->is_state = a->is_state, v->x = a->x;
  v->state_of = a->state_of;
  v->positive = a->positive, v->indicators = a->indicators;
  v->constraint_room = a->constraint_room, v->gradients = a->gradients;
  memcpy(v->plans, a->plans, sizeof v->plans);
  v->newton = a->newton, v->direction = a->direction;
  v->verified = a->verified;
  store_spans(a, v);
}

static void load(cpli_aggregate* a, cpli_variant* v) {
  a->variant = v;
  a->shared_desc = v->shared_desc;
  a->desc = &v->shared_desc->desc;
  a->base.base.desc = a->desc;
  a->ops = v->ops;
  a->n_states = v->n_states, a->n_part_indicators = v->n_part_indicators;
  a->is_state = v->is_state, a->x = v->x;
  a->state_of = v->state_of;
  a->positive = v->positive, a->indicators = v->indicators;
  a->constraint_room = v->constraint_room, a->gradients = v->gradients;
  memcpy(a->plans, v->plans, sizeof v->plans);
  a->newton = v->newton, a->direction = v->direction;
  a->verified = v->verified;
  for (int32_t k = 0; k < a->n_parts; k++) {
    const struct cpli_span* s = &v->spans[k];
    cpli_part* p = &a->parts[k];
    p->first_state = s->first_state, p->n_states = s->n_states;
    p->first_indicator = s->first_indicator, p->n_indicators = s->n_indicators;
  }
  a->fresh = false;
}

static cpli_variant* new_variant(cpli_aggregate* a, const cpl_description* const* key) {
  size_t n = (size_t)a->n_varying;
  cpli_variant* v = cpli_arena_alloc(&a->arena, 1, sizeof *v);
  if (v == NULL) return NULL;
  v->key = cpli_arena_alloc(&a->arena, n, sizeof *v->key);
  v->spans = cpli_arena_alloc(&a->arena, (size_t)a->n_parts, sizeof *v->spans);
  if (v->key == NULL || v->spans == NULL) return NULL;
  memcpy(v->key, key, n * sizeof *key);
  v->next = a->variants;
  a->variants = v;
  return v;
}

// The components' descriptions are those of the key while it is made.
static cpl_status fill(cpli_aggregate* a) {
  memset(a->plans, 0, sizeof a->plans);
  a->newton = NULL, a->direction = NULL, a->gradients = NULL;
  a->x = NULL;
  a->verified = false;
  a->shared_desc =
      cpli_shared_desc_create(a->base.base.ctx, a->name, "aggregate", sizeof *a->shared_desc);
  if (a->shared_desc == NULL) return cpli_nomem(a->base.base.ctx);
  a->desc = &a->shared_desc->desc;
  cpli_aggregate_lay_out(a);
  return cpli_aggregate_plan(a);
}

static void exchange_keys(cpli_aggregate* a, const cpl_description** key) {
  for (int32_t i = 0; i < a->n_varying; i++) {
    cpl_component* c = &varying_part(a, i)->base;
    const cpl_description* present = c->desc;
    c->desc = key[i];
    key[i] = present;
  }
}

static void release(cpli_aggregate* a, cpli_variant* v) {
  cpli_newton_destroy(v->newton);
  cpli_direction_destroy(v->direction);
  cpli_gradients_destroy(v->gradients);
  for (size_t i = 0; i < CPLI_COUNT(v->plans); i++) cpli_plan_destroy(v->plans[i]);
  cpli_free(a->base.base.ctx, v->x);
  cpli_shared_desc_release(v->shared_desc);
}

static cpl_status make(cpli_aggregate* a, const cpl_description** key, cpli_variant** out) {
  cpli_variant* present = a->variant;
  cpli_variant* v = new_variant(a, key);
  *out = v;
  if (v == NULL) return cpli_nomem(a->base.base.ctx);
  store(a, present);
  exchange_keys(a, key);
  cpl_status st = fill(a);
  exchange_keys(a, key);
  store(a, v);
  load(a, present);
  if (st >= 0) return st;
  a->variants = v->next;  // it is the first
  release(a, v);
  return st;
}

static cpli_variant* find(cpli_aggregate* a, const cpl_description* const* key) {
  for (cpli_variant* v = a->variants; v != NULL; v = v->next) {
    if (memcmp(v->key, key, (size_t)a->n_varying * sizeof *key) == 0) return v;
  }
  return NULL;
}

//------------------------------------ all of them ------------------------------------

// The number of combinations; 0: too many, or a component cannot list its structures.
static int32_t count(cpli_aggregate* a) {
  int32_t n = 1;
  for (int32_t i = 0; i < a->n_varying; i++) {
    cpl_model* m = varying_part(a, i);
    int32_t own = 0;
    while (own <= FEW && m->ops->structure(m, own) != NULL) own++;
    n *= own;
    if (n == 0 || n > FEW || n * (int64_t)a->n_part_vars > MUCH) return 0;
  }
  return n;
}

// Combination `number`, the structures of the first component varying fastest.
static void key_of(cpli_aggregate* a, int32_t number, const cpl_description** key) {
  for (int32_t i = 0; i < a->n_varying; i++) {
    cpl_model* m = varying_part(a, i);
    int32_t own = 0;
    while (own <= FEW && m->ops->structure(m, own) != NULL) own++;
    key[i] = m->ops->structure(m, number % own);
    number /= own;
  }
}

static cpl_status at(cpli_aggregate* a, int32_t number, cpli_variant** out) {
  key_of(a, number, a->key);
  *out = find(a, a->key);
  return *out == NULL ? make(a, a->key, out) : CPL_OK;
}

const cpl_description* cpli_aggregate_structure_at(cpl_model* m, int32_t i) {
  cpli_aggregate* a = (cpli_aggregate*)m;
  cpli_variant* v = NULL;
  return i < count(a) && at(a, i, &v) >= 0 ? &v->shared_desc->desc : NULL;
}

cpl_status cpli_variants_prepare(cpli_aggregate* a) {
  cpl_status st = CPL_OK;
  if (a->n_varying == 0 || a->prepared) return CPL_OK;
  a->prepared = true;
  int32_t n = count(a);
  cpli_variant* v = NULL;
  for (int32_t i = 0; i < n && st >= 0; i++) st = at(a, i, &v);
  if (n > 0)
    cpl_log(a->base.base.ctx, CPL_LOG_INFO, a->name, "%d structures are prepared before the start",
            n);
  else
    cpl_log(a->base.base.ctx, CPL_LOG_INFO, a->name,
            "there are more than %d structures, or large ones: each is prepared when it occurs "
            "first",
            FEW);
  return st;
}

static void present_key(cpli_aggregate* a) {
  for (int32_t i = 0; i < a->n_varying; i++) a->key[i] = varying_part(a, i)->base.desc;
}

cpl_status cpli_variants_begin(cpli_aggregate* a) {
  a->varying = cpli_arena_alloc(&a->arena, (size_t)a->n_parts, sizeof *a->varying);
  if (a->varying == NULL) return cpli_nomem(a->base.base.ctx);
  for (int32_t k = 0; k < a->n_parts; k++) {
    if (a->parts[k].m->ops->structure != NULL) a->varying[a->n_varying++] = k;
  }
  cpl_status st = cpli_aggregate_plan(a);
  if (st < 0 || a->n_varying == 0) return st;
  a->key = cpli_arena_alloc(&a->arena, (size_t)a->n_varying, sizeof(cpl_description*));
  if (a->key == NULL) return cpli_nomem(a->base.base.ctx);
  present_key(a);
  a->variant = new_variant(a, a->key);
  return a->variant != NULL ? CPL_OK : cpli_nomem(a->base.base.ctx);
}

static bool fits(const cpli_aggregate* a) {
  for (int32_t i = 0; i < a->n_varying; i++) {
    if (a->variant->key[i] != varying_part(a, i)->base.desc) return false;
  }
  return true;
}

cpl_status cpli_variants_follow(cpli_aggregate* a) {
  if (a->n_varying == 0 || fits(a)) return CPL_OK;
  present_key(a);
  cpli_variant* v = find(a, a->key);
  cpl_status st = v == NULL ? make(a, a->key, &v) : CPL_OK;
  if (st < 0) return st;
  store(a, a->variant);
  load(a, v);
  cpli_aggregate_forget_occurrence(a);  // results must not depend on earlier ones
  return CPL_OK;
}

void cpli_variants_destroy(cpli_aggregate* a) {
  for (cpli_variant* v = a->variants; v != NULL; v = v->next) {
    if (v != a->variant) release(a, v);
  }
}
