// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Directional derivatives of an aggregate: where knowns and unknowns are found, which is kept as
// long as the same ones are asked for, and the calls of components for unknowns that the plan does
// not have.
#include <math.h>

#include "aggregate/direction.h"

static cpl_status refuse(const cpli_aggregate* a, uint32_t ref, const char* why) {
  bool exists = ref < (uint32_t)a->desc->n_vars;
  const char* name = exists ? a->desc->vars[ref].name : NULL;
  if (!exists)
    return cpl_fail_in(a->base.base.ctx, CPL_ERR_INPUT, a->name, NULL, a->t,
                       "there is no variable %u", (unsigned)ref);
  return cpl_fail_in(a->base.base.ctx, CPL_ERR_INPUT, a->name, name, a->t, "%s %s", name, why);
}

// Discrete nodes that couplings read change as the variables that they show.
static void seed_discrete_nodes(cpli_aggregate* a) {
  direction* d = a->direction;
  for (int32_t i = 0; i < d->n_held; i++) d->change[d->held[i].node] = d->seed[d->held[i].place];
}

static bool is_coupled(const cpli_aggregate* a, int32_t part, int32_t var) {
  const cpli_part* k = &a->parts[part];
  for (int32_t i = k->first_input; i < k->first_input + k->n_inputs; i++)
    if (a->nodes[i].var == var - k->first_var && cpli_is_smooth(&a->nodes[i])) return true;
  return false;
}

// A state, an input that is set from outside, or what is constant between events.
static cpl_status find_known(const cpli_aggregate* a, uint32_t ref, known_place* out) {
  static const char no_known[] =
      "is neither a state nor a continuous input, nor a parameter of a model with derivatives "
      "with respect to parameters: there are no derivatives with respect to it";
  const direction* d = a->direction;
  if (ref >= (uint32_t)a->desc->n_vars) return refuse(a, ref, "");
  int32_t var = (int32_t)ref, signal = var - a->n_part_vars;
  if (signal >= 0) {
    const cpli_node* node = &a->nodes[a->first_signal + signal];
    bool input = a->signals[signal].kind == CPL_SIGNAL_INPUT && cpli_is_smooth(node);
    if (!input && !cpli_is_held_node(a, node)) return refuse(a, ref, no_known);
    *out = (known_place){.place = a->first_signal + signal, .part = -1};
    return CPL_OK;
  }
  const int32_t part = a->shared_desc->routes[var].component, place = d->place[var];
  const share* s = &d->shares[part];
  bool state = place >= 0 && place < s->first + a->parts[part].n_states;
  bool held = place >= s->first + s->n_all;
  bool free = s->whole ? place >= 0 && !state && (held || !is_coupled(a, part, var))
                       : place >= s->first + s->n_known;
  if (!state && !free) return refuse(a, ref, no_known);
  *out = (known_place){.place = place, .part = part, .free = free && !held, .held = held};
  return CPL_OK;
}

static bool same(const uint32_t* a, size_t n, const uint32_t* b, size_t m) {
  return n == m && (n == 0 || memcmp(a, b, n * sizeof *a) == 0);
}

static bool grow_knowns(direction* d, size_t n) {
  if (n <= d->room_last) return true;
  uint32_t* known = cpli_alloc(d->ctx, n, sizeof *known);
  double* seed = cpli_alloc(d->ctx, n, sizeof *seed);
  known_place* place = cpli_alloc(d->ctx, n, sizeof *place);
  const bool fine = known != NULL && seed != NULL && place != NULL;
  cpli_free(d->ctx, fine ? d->last_known : known);
  cpli_free(d->ctx, fine ? d->last_seed : seed);
  cpli_free(d->ctx, fine ? d->last_place : place);
  if (fine) d->last_known = known, d->last_seed = seed, d->last_place = place, d->room_last = n;
  return fine;
}

static cpl_status take_knowns(cpli_aggregate* a, const uint32_t* knowns, size_t n) {
  direction* d = a->direction;
  cpl_status st = CPL_OK;
  if (same(d->last_known, d->n_last, knowns, n)) return CPL_OK;
  d->n_last = 0;
  d->walked = -1;
  if (!grow_knowns(d, n)) return cpli_nomem(d->ctx);
  for (size_t i = 0; i < n && st == CPL_OK; i++) st = find_known(a, knowns[i], &d->last_place[i]);
  if (st != CPL_OK) return st;
  if (n > 0) memcpy(d->last_known, knowns, n * sizeof *knowns);
  d->n_last = n;
  return CPL_OK;
}

static void set_seeds(cpli_aggregate* a, const double* seed) {
  direction* d = a->direction;
  bool any_held = false;
  for (size_t i = 0; i < d->n_last; i++) {
    const known_place* k = &d->last_place[i];
    if (k->part < 0) {
      d->change[k->place] += seed[i];
      continue;
    }
    share* s = &d->shares[k->part];
    d->seed[k->place] += seed[i];
    any_held = any_held || k->held;
    if (seed[i] == 0) continue;
    s->moves = true;
    s->free_moves = s->free_moves || k->free;
    s->held_moves = s->held_moves || k->held;
  }
  if (any_held) seed_discrete_nodes(a);
}

// Nested aggregates are asked several times in the same direction.
static cpl_status move(cpli_aggregate* a, const uint32_t* knowns, size_t n, const double* seed) {
  direction* d = a->direction;
  cpl_status st = take_knowns(a, knowns, n);
  if (st != CPL_OK) return st;
  if (d->walked == a->evaluations && (n == 0 || memcmp(d->last_seed, seed, n * sizeof *seed) == 0))
    return CPL_OK;
  if (a->phase != CPLI_PLAN_CONTINUOUS) cpli_aggregate_forget_gradients(a);
  cpli_direction_begin(a);
  set_seeds(a, seed);
  st = cpli_direction_follow(a);
  if (st != CPL_OK) return st;
  if (n > 0) memcpy(d->last_seed, seed, n * sizeof *seed);
  d->walked = a->evaluations;
  return CPL_OK;
}

static cpl_status find_unknown(const cpli_aggregate* a, uint32_t ref, unknown_place* out) {
  const direction* d = a->direction;
  if (ref >= (uint32_t)a->desc->n_vars) return refuse(a, ref, "");
  int32_t var = (int32_t)ref;
  if (var >= a->n_part_vars) {
    int32_t node = a->first_signal + var - a->n_part_vars;
    bool smooth = cpli_is_smooth(&a->nodes[node]);
    *out = (unknown_place){.kind = smooth ? AT_NODE : IS_CONSTANT, .place = node};
    return CPL_OK;
  }
  int32_t place = d->place[var], node = a->node_of[var];
  if (place == HIDDEN)
    return refuse(a, ref,
                  "is neither a state, nor a derivative, nor an output: its model gives no "
                  "derivatives of it");
  if (place >= 0) *out = (unknown_place){.kind = IN_SEED, .place = place};
  else if (place == CONSTANT) *out = (unknown_place){.kind = IS_CONSTANT};
  else if (node >= 0) *out = (unknown_place){.kind = AT_NODE, .place = node};
  else *out = (unknown_place){.kind = REQUESTED, .place = a->shared_desc->routes[var].component};
  return CPL_OK;
}

static bool grow_unknowns(direction* d, size_t n) {
  if (!cpli_direction_reserve(d, n)) return false;
  if (n <= d->room_read) return true;
  uint32_t* read = cpli_alloc(d->ctx, n, sizeof *read);
  unknown_place* place = cpli_alloc(d->ctx, n, sizeof *place);
  requests q = {.refs = cpli_alloc(d->ctx, n, sizeof *q.refs),
                .of = cpli_alloc(d->ctx, 4 * n + 1, sizeof *q.of)};
  const bool fine = read != NULL && place != NULL && q.refs != NULL && q.of != NULL;
  cpli_free(d->ctx, fine ? d->read : read);
  cpli_free(d->ctx, fine ? d->read_place : place);
  cpli_free(d->ctx, fine ? d->requests.refs : q.refs);
  cpli_free(d->ctx, fine ? d->requests.of : q.of);
  if (!fine) return false;
  q.parts = q.of + n;
  q.at = q.parts + n;
  q.first = q.at + n;
  d->read = read, d->read_place = place, d->requests = q, d->room_read = n;
  return true;
}

// Whether a component is asked for the derivatives of its states, which follow each other in the
// list.
static bool asks_derivatives(const cpli_aggregate* a, int32_t part, const uint32_t* refs,
                             const int32_t* of, int32_t n) {
  const cpli_part* k = &a->parts[part];
  if (n == 0 || n != k->n_states) return false;
  for (int32_t i = 0; i < n; i++)
    if (refs[i] != a->direction->derivative[k->first_state + i] || of[i] != of[0] + i) return false;
  return true;
}

// The unknowns of each component are chained, then listed.
static void list_requests(cpli_aggregate* a, const uint32_t* unknowns, size_t n) {
  direction* d = a->direction;
  requests* q = &d->requests;
  int32_t count = 0;
  q->n_parts = 0;
  for (int32_t k = 0; k < a->n_parts; k++) d->shares[k].requested = -1;
  for (size_t i = n; i-- > 0;) {
    if (d->read_place[i].kind != REQUESTED) continue;
    share* s = &d->shares[d->read_place[i].place];
    d->of[i] = s->requested;
    s->requested = (int32_t)i;
  }
  for (int32_t k = 0; k < a->n_parts; k++) {
    if (d->shares[k].requested < 0) continue;
    const int32_t first = count;
    for (int32_t i = d->shares[k].requested; i >= 0; i = d->of[i]) {
      q->refs[count] = a->shared_desc->routes[unknowns[i]].ref;
      q->of[count++] = i;
    }
    const bool all = asks_derivatives(a, k, q->refs + first, q->of + first, count - first);
    q->parts[q->n_parts] = k;
    q->at[q->n_parts] = all ? q->of[first] : -1;
    q->first[q->n_parts++] = first;
  }
  q->first[q->n_parts] = count;
}

static cpl_status take_unknowns(cpli_aggregate* a, const uint32_t* unknowns, size_t n) {
  direction* d = a->direction;
  cpl_status st = CPL_OK;
  if (same(d->read, d->n_read, unknowns, n)) return CPL_OK;
  d->n_read = 0;
  if (!grow_unknowns(d, n)) return cpli_nomem(d->ctx);
  for (size_t i = 0; i < n && st == CPL_OK; i++)
    st = find_unknown(a, unknowns[i], &d->read_place[i]);
  if (st != CPL_OK) return st;
  list_requests(a, unknowns, n);
  if (n > 0) memcpy(d->read, unknowns, n * sizeof *unknowns);
  d->n_read = n;
  return CPL_OK;
}

// Components i to end - 1 of the requests: all for their derivatives, or none.
static cpl_status request(cpli_aggregate* a, int32_t i, int32_t end, double* out) {
  direction* d = a->direction;
  const requests* q = &d->requests;
  if (q->at[i] >= 0) return cpli_direction_ask(a, q->parts + i, end - i, NULL, q->at + i, out);
  cpl_status st = cpli_direction_ask(a, q->parts + i, end - i, q->refs, q->first + i, d->got);
  for (int32_t k = q->first[i]; k < q->first[end] && st == CPL_OK; k++) out[q->of[k]] = d->got[k];
  return st;
}

static cpl_status read_all(cpli_aggregate* a, const uint32_t* unknowns, size_t n, double* out) {
  direction* d = a->direction;
  const requests* q = &d->requests;
  cpl_status st = take_unknowns(a, unknowns, n);
  if (st != CPL_OK || n == 0) return st;
  for (size_t i = 0; i < n; i++) {
    const unknown_place* k = &d->read_place[i];
    if (k->kind == IN_SEED) out[i] = d->seed[k->place];
    else if (k->kind == AT_NODE) out[i] = d->change[k->place];
    else if (k->kind == IS_CONSTANT) out[i] = 0;
  }
  for (int32_t i = 0, end; i < q->n_parts && st == CPL_OK; i = end) {
    for (end = i + 1; end < q->n_parts && (q->at[end] >= 0) == (q->at[i] >= 0);) end++;
    st = request(a, i, end, out);
  }
  return st;
}

cpl_status cpli_aggregate_directional(cpl_component* c, const uint32_t* unknowns, size_t n_unknowns,
                                      const uint32_t* knowns, size_t n_knowns, const double* seed,
                                      double* sensitivity) {
  cpli_aggregate* a = (cpli_aggregate*)c;
  cpl_status st = cpli_aggregate_compute(a);
  if (st == CPL_OK) st = move(a, knowns, n_knowns, seed);
  return st == CPL_OK ? read_all(a, unknowns, n_unknowns, sensitivity) : st;
}
