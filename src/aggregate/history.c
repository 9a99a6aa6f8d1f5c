// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The history of an aggregate: cached data that its snapshot discards, such as factors and
// derivatives, and the values that later events are compared with.
#include "model/history.h"

#include "aggregate/aggregate.h"

static void list_parts(cpli_serial* s, cpli_aggregate* a) {
  for (int32_t i = 0; i < a->n_parts; i++) {
    cpli_part* p = &a->parts[i];
    cpli_serial_bool(s, &p->due);
    cpli_serial_bool(s, &p->stale);
    cpli_serial_long(s, &p->touched);
  }
}

// Gradients of couplings are constant, or computed together with a Jacobian.
static void list_links(cpli_serial* s, cpli_aggregate* a) {
  for (int32_t i = 0; i < a->n_links; i++) {
    cpli_serial_bool(s, &a->links[i].known);
    if (a->links[i].gradient != NULL)
      cpli_serial_reals(s, a->links[i].gradient, (size_t)a->links[i].n_sources);
  }
}

static void list_values(cpli_serial* s, cpli_aggregate* a) {
  size_t nodes = (size_t)a->n_nodes;
  int64_t* counts[] = {&a->runs, &a->events, &a->evaluations, &a->changes};
  bool* flags[] = {&a->fresh, &a->begun};
  for (size_t i = 0; i < CPLI_COUNT(counts); i++) cpli_serial_count64(s, counts[i]);
  for (size_t i = 0; i < CPLI_COUNT(flags); i++) cpli_serial_bool(s, flags[i]);
  cpli_serial_count32(s, &a->rounds);
  cpli_serial_reals(s, a->seen, nodes);
  cpli_serial_bytes(s, a->changed_at, nodes * sizeof *a->changed_at);
  for (int32_t i = 0; i < a->n_part_indicators; i++) cpli_serial_bool(s, &a->positive[i]);
}

static void list_rows(cpli_serial* s, cpli_aggregate* a) {
  cpli_loop_rows* r = a->rows;
  cpli_serial_same(s, r != NULL);
  if (r == NULL || s->st < 0) return;
  cpli_serial_bool(s, &r->given);
  cpli_serial_reals(s, r->residuals, (size_t)r->n);
  cpli_serial_reals(s, r->z, (size_t)r->n_algebraics);
}

// The pattern of constraints follows from the structure. Other structures than the current one have
// no history: they begin anew when they occur again.
static void list(cpli_serial* s, void* user) {
  cpli_aggregate* a = user;
  const size_t sizes[] = {(size_t)a->n_parts, (size_t)a->n_nodes, (size_t)a->n_links,
                          (size_t)a->n_part_indicators};
  for (size_t i = 0; i < CPLI_COUNT(sizes); i++) cpli_serial_same(s, sizes[i]);
  if (s->st < 0) return;
  list_parts(s, a);
  list_links(s, a);
  list_values(s, a);
  list_rows(s, a);
  for (size_t i = 0; i < CPLI_COUNT(a->plans); i++) {
    size_t n = a->plans[i] != NULL ? a->plans[i]->n_loops : 0;
    cpli_serial_same(s, n);
    for (size_t l = 0; l < n && s->st >= 0; l++) cpli_loop_list(s, a->plans[i]->loops[l]);
  }
  cpli_serial_same(s, a->newton != NULL);
  if (s->st >= 0 && a->newton != NULL) cpli_newton_list(s, a->newton);
  for (int32_t i = 0; i < a->n_parts; i++) cpli_serial_history(s, &a->parts[i].m->base, false);
}

cpl_status cpli_aggregate_get_history(cpl_component* c, cpl_binary* bytes, bool* complete) {
  return cpli_serial_put(c, &((cpli_aggregate*)c)->bytes, list, c, bytes, complete);
}

cpl_status cpli_aggregate_set_history(cpl_component* c, const cpl_binary* bytes) {
  return cpli_serial_get(c, bytes, list, c);
}
