// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Saved states: those of all components, and the memory of the aggregate itself. Cached data such
// as factorisations is discarded both by saving and by restoring: a run that is rolled back repeats
// the same computation to the last bit.
#include <assert.h>

#include "aggregate/aggregate.h"
#include "aggregate/updates.h"

typedef struct outside_state {
  bool last_value, firing;
  int32_t next;
} outside_state;

typedef struct saved {
  const cpli_aggregate* owner;  // a snapshot is restored by the object that made it,
  size_t n_values;              // which has as many nodes, states
  int32_t n_constraints;        // and constraints as then
  double t;
  cpli_eval_plan_kind phase;
  bool given;  // loops as rows; their values are those of nodes
  bool start_known;
  cpl_snapshot* parts;
  double* next_times;
  double* values;    // of nodes, settled ones, then states where their number is constant
  double* at_start;  // of constraints
  outside_state* outside;
  unsigned char* memory;  // of functions
} saved;

static size_t n_kept(const cpli_aggregate* a) { return 2 * (size_t)a->n_nodes; }

// The components of an aggregate of variable structure are asked for them.
static size_t n_states(const cpli_aggregate* a) {
  return a->n_varying == 0 ? (size_t)a->n_states : 0;
}

static size_t n_values(const cpli_aggregate* a) { return n_kept(a) + n_states(a); }

// Calls `visit` for every memory of a function.
static void each_memory(const cpli_aggregate* a,
                        void (*visit)(void* user, const cpl_function_memory* memory), void* user) {
  for (int32_t i = 0; i < a->n_links; i++) {
    for (int k = 0; k < 2; k++) visit(user, &a->links[i].def.function.memory[k]);
  }
  for (int32_t i = 0; i < a->n_outside; i++) {
    for (int k = 0; k < 2; k++) visit(user, &a->outside[i].def.condition.memory[k]);
  }
}

static void add_size(void* user, const cpl_function_memory* m) { *(size_t*)user += m->size; }

static void copy_out(void* user, const cpl_function_memory* m) {
  unsigned char** at = user;
  if (m->size > 0) memcpy(*at, m->data, m->size);
  *at += m->size;
}

static void copy_in(void* user, const cpl_function_memory* m) {
  unsigned char** at = user;
  if (m->size > 0) memcpy(m->data, *at, m->size);
  *at += m->size;
}

static saved* make(const cpli_aggregate* a) {
  size_t parts = (size_t)a->n_parts, outside = (size_t)a->n_outside, memory = 0;
  each_memory(a, add_size, &memory);
  saved* k = cpli_alloc(a->base.base.ctx, 1,
                        sizeof *k + parts * (sizeof *k->parts + sizeof(double)) +
                            (n_values(a) + (size_t)a->n_constraints) * sizeof(double) +
                            outside * sizeof *k->outside + memory);
  if (k == NULL) return NULL;
  k->owner = a;
  k->n_values = n_values(a);
  k->n_constraints = a->n_constraints;
  k->parts = (cpl_snapshot*)(k + 1);
  k->next_times = (double*)(k->parts + parts);
  k->values = k->next_times + parts;
  k->at_start = k->values + n_values(a);
  k->outside = (outside_state*)(k->at_start + a->n_constraints);
  k->memory = (unsigned char*)(k->outside + outside);
  return k;
}

void cpli_aggregate_forget_kept(cpli_aggregate* a) {
  a->fresh = false;
  a->events++;
  cpli_newton_forget(a->newton);
  for (size_t i = 0; i < CPLI_COUNT(a->plans); i++) {
    for (size_t l = 0; a->plans[i] != NULL && l < a->plans[i]->n_loops; l++)
      cpli_loop_forget(a->plans[i]->loops[l]);
  }
}

static void forget_derivatives(cpli_eval_plan* const* plans, struct cpli_newton* newton) {
  cpli_newton_forget_run(newton);
  for (size_t i = 0; i < 3; i++)
    for (size_t l = 0; plans[i] != NULL && l < plans[i]->n_loops; l++)
      cpli_loop_forget_run(plans[i]->loops[l]);
}

void cpli_aggregate_forget_occurrence(cpli_aggregate* a) {
  cpli_aggregate_forget_kept(a);
  forget_derivatives(a->plans, a->newton);
}

void cpli_aggregate_forget_run(cpli_aggregate* a) {
  cpli_aggregate_forget_kept(a);
  forget_derivatives(a->plans, a->newton);
  for (cpli_variant* v = a->variants; v != NULL; v = v->next)
    if (v != a->variant) forget_derivatives(v->plans, v->newton);
}

cpl_status cpli_aggregate_save(cpl_component* c, cpl_snapshot* snapshot) {
  cpli_aggregate* a = (cpli_aggregate*)c;
  if (snapshot->data == NULL) snapshot->data = make(a);
  saved* k = snapshot->data;
  if (k == NULL) return cpli_nomem(c->ctx);
  assert(k->owner == a);
  assert(k->n_values == n_values(a) && k->n_constraints == a->n_constraints);
  k->t = a->t;
  k->phase = a->phase;
  k->given = a->rows != NULL && a->rows->given;
  memcpy(k->values, a->value, n_kept(a) * sizeof(double));
  memcpy(k->values + n_kept(a), a->x, n_states(a) * sizeof(double));
  k->start_known = a->start_known;
  for (int32_t i = 0; i < a->n_constraints; i++) k->at_start[i] = a->at_start[i];
  for (int32_t i = 0; i < a->n_outside; i++)
    k->outside[i] =
        (outside_state){a->outside[i].last_value, a->outside[i].firing, a->outside[i].next};
  unsigned char* at = k->memory;
  each_memory(a, copy_out, &at);
  cpl_status st = cpli_give_point(a);
  for (int32_t i = 0; i < a->n_parts && st >= 0; i++) {
    cpl_component* part = &a->parts[i].m->base;
    k->next_times[i] = a->parts[i].next_time;
    st = part->ops->save(part, &k->parts[i]);
  }
  cpli_aggregate_forget_kept(a);
  return st;
}

cpl_status cpli_aggregate_restore(cpl_component* c, const cpl_snapshot* snapshot) {
  cpli_aggregate* a = (cpli_aggregate*)c;
  const saved* k = snapshot->data;
  assert(k != NULL && k->owner == a);
  assert(k->n_values == n_values(a) && k->n_constraints == a->n_constraints);
  a->t = k->t;
  a->phase = k->phase;
  if (a->rows != NULL) a->rows->given = k->given;
  memcpy(a->value, k->values, n_kept(a) * sizeof(double));
  memcpy(a->x, k->values + n_kept(a), n_states(a) * sizeof(double));
  a->start_known = k->start_known;
  for (int32_t i = 0; i < a->n_constraints; i++) a->at_start[i] = k->at_start[i];
  for (int32_t i = 0; i < a->n_outside; i++) {
    a->outside[i].last_value = k->outside[i].last_value;
    a->outside[i].firing = k->outside[i].firing;
    a->outside[i].next = k->outside[i].next;
  }
  unsigned char* at = k->memory;
  each_memory(a, copy_in, &at);
  cpl_status st = CPL_OK;
  cpli_forget_point(a);
  for (int32_t i = 0; i < a->n_parts && st >= 0; i++) {
    cpl_component* part = &a->parts[i].m->base;
    a->parts[i].next_time = k->next_times[i];
    st = part->ops->restore(part, &k->parts[i]);
  }
  cpli_updates_begin(a);
  if (a->n_varying > 0) a->runs++;
  if (st >= 0 && a->n_varying > 0) st = cpli_variants_follow(a);
  if (st >= 0 && a->n_varying > 0) st = a->ops.get_states(&a->base, a->x);
  cpli_aggregate_forget_kept(a);
  return st;
}

void cpli_aggregate_forget(cpl_component* c, cpl_snapshot* snapshot) {
  cpli_aggregate* a = (cpli_aggregate*)c;
  saved* k = snapshot->data;
  if (k == NULL) return;
  assert(k->owner == a);
  for (int32_t i = 0; i < a->n_parts; i++) {
    cpl_component* part = &a->parts[i].m->base;
    if (k->parts[i].data != NULL) part->ops->forget(part, &k->parts[i]);
  }
  cpli_free(c->ctx, k);
  snapshot->data = NULL;
}

//------------------------------------ bytes ------------------------------------

static void list(cpli_serial* s, cpl_component* c, cpl_snapshot* snapshot) {
  cpli_aggregate* a = (cpli_aggregate*)c;
  if (cpli_serial_reads(s)) snapshot->data = make(a);
  if (!cpli_serial_made(s, snapshot)) return;
  saved* k = snapshot->data;
  size_t memory = 0;
  each_memory(a, add_size, &memory);
  const size_t sizes[] = {(size_t)a->n_parts, k->n_values, (size_t)k->n_constraints,
                          (size_t)a->n_outside, memory};
  int32_t phase = (int32_t)k->phase;
  for (size_t i = 0; i < CPLI_COUNT(sizes); i++) cpli_serial_same(s, sizes[i]);
  cpli_serial_real(s, &k->t);
  cpli_serial_int(s, &phase, CPLI_PLAN_INITIAL, CPLI_PLAN_CONTINUOUS);
  cpli_serial_bool(s, &k->given);
  cpli_serial_bool(s, &k->start_known);
  cpli_serial_reals(s, k->next_times, (size_t)a->n_parts);
  cpli_serial_reals(s, k->values, k->n_values);
  cpli_serial_reals(s, k->at_start, (size_t)k->n_constraints);
  for (int32_t i = 0; i < a->n_outside; i++) {
    cpli_serial_bool(s, &k->outside[i].last_value);
    cpli_serial_bool(s, &k->outside[i].firing);
    cpli_serial_int(s, &k->outside[i].next, 0, a->outside[i].def.n_times);
  }
  cpli_serial_bytes(s, k->memory, memory);
  for (int32_t i = 0; i < a->n_parts; i++) cpli_serial_part(s, &a->parts[i].m->base, &k->parts[i]);
  k->phase = (cpli_eval_plan_kind)phase;
}

cpl_status cpli_aggregate_to_bytes(cpl_component* c, const cpl_snapshot* snapshot,
                                   cpl_binary* bytes) {
  return cpli_serial_write(c, &((cpli_aggregate*)c)->bytes, list, snapshot, bytes);
}

cpl_status cpli_aggregate_from_bytes(cpl_component* c, const cpl_binary* bytes,
                                     cpl_snapshot* snapshot) {
  return cpli_serial_read(c, bytes, list, snapshot);
}
