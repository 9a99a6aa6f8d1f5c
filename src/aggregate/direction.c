// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Derivatives of the whole in a direction, without its Jacobian: states and inputs change in one
// direction, and the plan is evaluated with changes instead of values. Every component gives the
// directional derivatives of its outputs and derivatives, couplings use their gradients, and loops
// are linear systems. The product of the Jacobian with a vector is the special case of all states
// and their derivatives.
#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdio.h>

#include "aggregate/direction.h"
#include "base/error.h"
#include "model/sparsity.h"

//------------------------------------ make ------------------------------------

static bool is_continuous(const cpl_variable* v) {
  return v->type == CPL_REAL && v->variability == CPL_VARIABILITY_CONTINUOUS;
}

static bool is_held(const cpl_variable* v) {
  return v->variability <= CPL_VARIABILITY_DISCRETE && v->causality != CPL_CAUSALITY_INDEPENDENT;
}

// FMI allows derivatives of outputs and state derivatives, not of other variables. A composed model
// gives those of the outputs of its components, too.
static int32_t place_of(const cpl_variable* v) {
  if (!is_continuous(v) || v->causality == CPL_CAUSALITY_INDEPENDENT) return CONSTANT;
  return v->causality == CPL_CAUSALITY_OUTPUT || v->inner_output ? ASKED : HIDDEN;
}

// A variable and its aliases have one place.
static void unite_aliases(const cpl_description* desc, int32_t* place) {
  for (int32_t i = 0; i < desc->n_vars; i++) {
    int32_t* root = &place[cpli_root_variable(desc, i)];
    if (place[i] > *root) *root = place[i];
  }
  for (int32_t i = 0; i < desc->n_vars; i++) place[i] = place[cpli_root_variable(desc, i)];
}

// The places of a component's variables except for inputs. Returns whether it has all derivatives
// that it may be asked for.
static bool place_variables(const cpli_aggregate* a, direction* d, int32_t k) {
  const cpli_part* part = &a->parts[k];
  const cpl_component* c = &part->m->base;
  int32_t* place = d->place + part->first_var;
  bool can = c->ops->directional != NULL, has = can || part->n_states == 0;
  for (int32_t i = 0; i < c->desc->n_vars; i++) {
    place[i] = place_of(&c->desc->vars[i]);
    if (can || place[i] != ASKED) continue;
    place[i] = HIDDEN;
    has = false;
  }
  for (int32_t i = 0; i < part->n_states; i++) place[c->desc->derivatives[i]] = ASKED;
  for (int32_t i = 0; i < part->n_states; i++) place[c->desc->states[i]] = d->shares[k].first + i;
  return has;
}

static bool may_be_set(const cpl_variable* v) {
  return v->causality == CPL_CAUSALITY_INPUT && is_continuous(v);
}

// Coupled inputs follow the states in the seed, free ones come last.
static void place_inputs(const cpli_aggregate* a, direction* d, int32_t k) {
  const cpli_part* part = &a->parts[k];
  const cpl_description* desc = part->m->base.desc;
  share* s = &d->shares[k];
  int32_t* place = d->place + part->first_var;
  s->n_known = part->n_states;
  for (int32_t i = part->first_input; i < part->first_input + part->n_inputs; i++) {
    int32_t* root = &place[cpli_root_variable(desc, a->nodes[i].var)];
    if (*root < 0 && cpli_is_smooth(&a->nodes[i])) *root = s->first + s->n_known++;
  }
  unite_aliases(desc, place);
  s->n_all = s->n_known;
  for (int32_t i = 0; i < desc->n_vars; i++) {
    int32_t* root = &place[cpli_root_variable(desc, i)];
    if (*root < 0 && may_be_set(&desc->vars[i])) *root = s->first + s->n_all++;
  }
  unite_aliases(desc, place);
}

// All inputs follow the states, in the order of the description.
static void place_all_inputs(const cpli_aggregate* a, direction* d, int32_t k) {
  const cpli_part* part = &a->parts[k];
  const cpl_description* desc = part->m->base.desc;
  share* s = &d->shares[k];
  s->n_known = part->n_states;
  for (int32_t i = 0; i < desc->n_vars; i++) {
    if (!cpli_is_direction_input(&desc->vars[i])) continue;
    if (may_be_set(&desc->vars[i])) d->place[part->first_var + i] = s->first + s->n_known;
    s->n_known++;
  }
  s->n_all = s->n_known;
}

static bool have_gradients(const cpli_aggregate* a) {
  for (int32_t i = 0; i < a->n_links; i++) {
    const cpli_coupling_edge* l = &a->links[i];
    if (l->def.function.value == NULL || l->def.function.gradient != NULL) continue;
    if (!cpli_is_smooth(&a->nodes[l->target])) continue;
    for (int32_t s = 0; s < l->n_sources; s++) {
      if (cpli_is_smooth(&a->nodes[l->sources[s]])) return false;
    }
  }
  return true;
}

// Reals that are constant between events, of a component that has derivatives with respect to them.
static void place_held(const cpli_aggregate* a, direction* d, int32_t k) {
  const cpli_part* part = &a->parts[k];
  const cpl_description* desc = part->m->base.desc;
  share* s = &d->shares[k];
  int32_t* place = d->place + part->first_var;
  s->n_held = s->n_all;
  if (part->m->base.can.parameter_directions == 0) return;
  for (int32_t i = 0; i < desc->n_vars; i++) {
    const cpl_variable* v = &desc->vars[i];
    if (place[i] == CONSTANT && v->type == CPL_REAL && v->alias_of < 0 && is_held(v))
      place[i] = s->first + s->n_held++;
  }
  unite_aliases(desc, place);
}

// Whether every node has derivatives.
static bool place_nodes(const cpli_aggregate* a, direction* d) {
  for (int32_t i = 0; i < a->n_nodes; i++) {
    const cpli_node* node = &a->nodes[i];
    d->position[i] = CONSTANT;
    if (node->part < 0 || !cpli_is_smooth(node)) continue;
    d->position[i] = d->place[a->parts[node->part].first_var + node->var];
    if (d->position[i] == HIDDEN) return false;
  }
  return true;
}

// Whether every component has the derivatives needed.
static bool place_all(const cpli_aggregate* a, direction* d) {
  int32_t first = 0, total = 0;
  d->exact = have_gradients(a);
  for (int32_t k = 0; k < a->n_parts; k++) {
    d->shares[k].first = first;
    d->shares[k].requested = -1;
    d->exact = place_variables(a, d, k) && d->exact;
    if (a->parts[k].n_states > 0 && a->parts[k].m->base.ops->directional == NULL) return false;
    d->shares[k].whole = a->parts[k].m->ops->directions != NULL;
    if (d->shares[k].whole) place_all_inputs(a, d, k);
    else place_inputs(a, d, k);
    place_held(a, d, k);
    total += d->shares[k].n_all;
    first += d->shares[k].n_held;
  }
  d->n_seeds = (size_t)first;
  d->compact = total >= first - total;
  return place_nodes(a, d);
}

// Inputs that nothing can be known of have a reference all the same.
static void name_inputs(const cpli_aggregate* a, direction* d, int32_t k) {
  const cpl_description* desc = a->parts[k].m->base.desc;
  int32_t place = d->shares[k].first + a->parts[k].n_states;
  for (int32_t i = 0; i < desc->n_vars; i++)
    if (cpli_is_direction_input(&desc->vars[i])) d->known[place++] = desc->vars[i].ref;
}

// Consecutive components of one kind.
static int32_t kind_of(const cpli_aggregate* a, const direction* d, int32_t k) {
  const cpl_model *m = a->parts[k].m, *before = k > 0 ? a->parts[k - 1].m : NULL;
  const bool same = before != NULL && m->ops->directions != NULL &&
                    m->ops->directions == before->ops->directions &&
                    m->base.desc == before->base.desc;
  return same ? d->shares[k - 1].kind : k;
}

static void fill(const cpli_aggregate* a, direction* d) {
  for (int32_t k = 0; k < a->n_parts; k++) {
    const cpli_part* part = &a->parts[k];
    const cpl_description* desc = part->m->base.desc;
    d->shares[k].kind = kind_of(a, d, k);
    for (int32_t i = 0; i < desc->n_vars; i++) {
      int32_t place = d->place[part->first_var + i];
      if (place >= 0) d->known[place] = desc->vars[i].ref;
    }
    if (d->shares[k].whole) name_inputs(a, d, k);
    for (int32_t i = 0; i < part->n_states; i++)
      d->derivative[part->first_state + i] = desc->vars[desc->derivatives[i]].ref;
  }
}

static void list_held(const cpli_aggregate* a, direction* d) {
  for (int32_t i = 0; i < a->n_nodes; i++) {
    const cpli_node* node = &a->nodes[i];
    if (node->part < 0 || !node->discrete || node->type != CPL_REAL) continue;
    int32_t place = d->place[a->parts[node->part].first_var + node->var];
    if (place >= 0) d->held[d->n_held++] = (held_node){i, place};
  }
}

bool cpli_direction_reserve(direction* d, size_t n) {
  if (n <= d->room && d->of != NULL) return true;
  uint32_t* asked = cpli_alloc(d->ctx, n, sizeof *asked);
  double* got = cpli_alloc(d->ctx, n, sizeof *got);
  int32_t* of = cpli_alloc(d->ctx, n, sizeof *of);
  bool fine = asked != NULL && got != NULL && of != NULL;
  cpli_free(d->ctx, fine ? d->asked : asked);
  cpli_free(d->ctx, fine ? d->got : got);
  cpli_free(d->ctx, fine ? d->of : of);
  if (fine) d->asked = asked, d->got = got, d->of = of, d->room = n;
  return fine;
}

static bool allocate(const cpli_aggregate* a, direction* d) {
  size_t nodes = (size_t)a->n_nodes, states = (size_t)a->n_states;
  size_t seeds = d->n_seeds;
  d->known = cpli_alloc(d->ctx, seeds + states, sizeof *d->known);
  d->seed = cpli_alloc(d->ctx, seeds + nodes + 3 * states, sizeof *d->seed);
  d->held = cpli_alloc(d->ctx, nodes, sizeof *d->held);
  if (d->known == NULL || d->seed == NULL || d->held == NULL || !cpli_direction_reserve(d, nodes))
    return false;
  d->derivative = d->known + seeds;
  d->change = d->seed + seeds;
  d->x = d->change + nodes;
  d->base = d->x + states;
  d->moved = d->base + states;
  return true;
}

cpl_status cpli_direction_make(cpli_aggregate* a, struct cpli_direction** out) {
  cpl_context* ctx = a->base.base.ctx;
  direction* d = cpli_alloc(ctx, 1, sizeof *d);
  *out = NULL;
  if (d == NULL) return cpli_nomem(ctx);
  *d = (direction){.ctx = ctx, .walked = -1};
  d->shares = cpli_alloc(ctx, (size_t)a->n_parts, sizeof *d->shares);
  d->place = cpli_alloc(ctx, (size_t)a->n_part_vars, sizeof *d->place);
  d->position = cpli_alloc(ctx, (size_t)a->n_nodes, sizeof *d->position);
  bool there = d->shares != NULL && d->place != NULL && d->position != NULL;
  bool has = there && place_all(a, d);
  if (has) there = allocate(a, d);
  if (!has || !there) {
    cpli_direction_destroy(d);
    return there ? CPL_OK : cpli_nomem(ctx);
  }
  fill(a, d);
  list_held(a, d);
  *out = d;
  return CPL_OK;
}

void cpli_direction_destroy(struct cpli_direction* d) {
  if (d == NULL) return;
  cpli_free(d->ctx, d->shares);
  cpli_free(d->ctx, d->place);
  cpli_free(d->ctx, d->position);
  cpli_free(d->ctx, d->known);
  cpli_free(d->ctx, d->seed);
  cpli_free(d->ctx, d->held);
  cpli_free(d->ctx, d->asked);
  cpli_free(d->ctx, d->got);
  cpli_free(d->ctx, d->of);
  cpli_free(d->ctx, d->last_known);
  cpli_free(d->ctx, d->last_seed);
  cpli_free(d->ctx, d->last_place);
  cpli_free(d->ctx, d->read);
  cpli_free(d->ctx, d->read_place);
  cpli_free(d->ctx, d->requests.refs);
  cpli_free(d->ctx, d->requests.of);
  cpli_free(d->ctx, d);
}

bool cpli_direction_exact(const struct cpli_direction* d) { return d != NULL && d->exact; }

bool cpli_direction_covers_held(const cpli_aggregate* a) {
  bool all = cpli_direction_exact(a->direction);
  for (int32_t i = 0; i < a->n_links; i++) {
    const cpl_function* f = &a->links[i].def.function;
    all = all && (f->value == NULL || f->gradient != NULL || f->n_sources == 0);
  }
  for (int32_t k = 0; k < a->n_parts; k++) {
    const cpl_component* part = &a->parts[k].m->base;
    bool any = a->parts[k].n_states > 0;
    for (int32_t i = 0; i < part->desc->n_vars && !any; i++)
      any = part->desc->vars[i].causality == CPL_CAUSALITY_OUTPUT;
    all = all && (!any || part->can.parameter_directions > 1);
  }
  return all;
}

//------------------------------------ walk ------------------------------------

double* cpli_direction_of(cpli_aggregate* a, int32_t node) { return &a->direction->change[node]; }

cpl_status cpli_coupling_direction(cpli_aggregate* a, cpli_coupling_edge* l, double* out) {
  const double* change = a->direction->change;
  bool moves = false;
  if (l->def.function.value == NULL) {
    *out = l->def.factor * change[l->sources[0]];
    return CPL_OK;
  }
  *out = 0;
  for (int32_t i = 0; i < l->n_sources; i++) {
    if (change[l->sources[i]] == 0) continue;
    moves = true;
    if (cpli_is_held_node(a, &a->nodes[l->sources[i]]))
      l->known = false;  // constant for the others
  }
  cpl_status st = moves ? cpli_coupling_gradient(a, l) : CPL_OK;
  for (int32_t i = 0; i < l->n_sources && moves && st == CPL_OK; i++) {
    // a gradient may be infinite, as that of a root at zero
    if (change[l->sources[i]] != 0) *out += l->gradient[i] * change[l->sources[i]];
  }
  return st;
}

static int32_t count_known(const share* s) {
  return s->held_moves ? s->n_held : s->free_moves ? s->n_all : s->n_known;
}

static cpl_status ask_one(cpli_aggregate* a, int32_t part, const uint32_t* refs, size_t n,
                          double* out) {
  const direction* d = a->direction;
  const share* s = &d->shares[part];
  cpl_component* c = &a->parts[part].m->base;
  if (n == 0) return CPL_OK;
  memset(out, 0, n * sizeof *out);
  if (!s->moves) return CPL_OK;
  return c->ops->directional(c, refs, n, d->known + s->first, (size_t)count_known(s),
                             d->seed + s->first, out);
}

enum { MAX_TOGETHER = 64 };

static cpl_status ask_alone(cpli_aggregate* a, int32_t part, const uint32_t* refs,
                            const int32_t* first, double* out) {
  const cpli_part* k = &a->parts[part];
  if (refs == NULL)
    return ask_one(a, part, a->direction->derivative + k->first_state, (size_t)k->n_states,
                   out + first[0]);
  return ask_one(a, part, refs + first[0], (size_t)(first[1] - first[0]), out + first[0]);
}

// The first of these components, and those after it that can be asked together with it; returns how
// many.
static int32_t ask_first(cpli_aggregate* a, const int32_t* parts, int32_t n, const uint32_t* refs,
                         const int32_t* first, double* out, cpl_status* st) {
  const direction* d = a->direction;
  cpl_model* models[MAX_TOGETHER];
  int32_t first_seed[MAX_TOGETHER], count = 0;
  const int32_t kind = d->shares[parts[0]].kind;
  for (; count < n && count < MAX_TOGETHER; count++) {
    const share* s = &d->shares[parts[count]];
    if (s->kind != kind || !s->moves || s->held_moves) break;
    models[count] = a->parts[parts[count]].m;
    first_seed[count] = s->first;
  }
  if (count < 2) {
    *st = ask_alone(a, parts[0], refs, first, out);
    return 1;
  }
  const cpl_directions q = {.seed = d->seed,
                            .first_seed = first_seed,
                            .unknowns = refs,
                            .first = first,
                            .sensitivity = out};
  *st = models[0]->ops->directions(models, (size_t)count, &q);
  return count;
}

cpl_status cpli_direction_ask(cpli_aggregate* a, const int32_t* parts, int32_t n,
                              const uint32_t* refs, const int32_t* first, double* out) {
  cpl_status st = CPL_OK;
  for (int32_t i = 0; i < n && st == CPL_OK;)
    i += ask_first(a, parts + i, n - i, refs, first + i, out, &st);
  return st;
}

static cpl_status get(cpli_aggregate* a, const cpli_eval_plan* p, const cpli_eval_op* op) {
  direction* d = a->direction;
  size_t n = 0;
  for (int32_t i = op->first; i < op->first + op->count; i++) {
    int32_t node = p->nodes[i], position = d->position[node];
    if (position == ASKED) {
      d->of[n] = node;
      d->asked[n++] = p->refs[i];
    } else if (position >= 0) {
      d->change[node] = d->seed[position];
    }
  }
  cpl_status st = ask_one(a, op->part, d->asked, n, d->got);
  for (size_t i = 0; i < n && st == CPL_OK; i++) d->change[d->of[i]] = d->got[i];
  return st;
}

static void set(cpli_aggregate* a, int32_t part, const int32_t* nodes, int32_t n) {
  direction* d = a->direction;
  bool moves = d->shares[part].moves;
  for (int32_t i = 0; i < n; i++) {
    const double change = d->change[nodes[i]];
    const int32_t position = d->position[nodes[i]];
    if (position < 0) continue;
    d->seed[position] = change;
    moves = moves || change != 0;
  }
  d->shares[part].moves = moves;
}

// Linear functions of the same kind have the same gradient, of sources that are no parameters.
static cpl_status couple_batch(cpli_aggregate* a, const cpli_eval_plan* p, const cpli_batch* b) {
  double* change = a->direction->change;
  cpli_coupling_edge* l = &a->links[a->nodes[p->nodes[b->first]].coupling];
  const int32_t* sources = p->batch_sources + b->sources;
  cpl_status st = cpli_coupling_gradient(a, l);
  for (int32_t begin = 0; begin < b->count && st == CPL_OK; begin += CPL_MAX_POINTS) {
    const int32_t* nodes = p->nodes + b->first + begin;
    int32_t n = b->count - begin < CPL_MAX_POINTS ? b->count - begin : CPL_MAX_POINTS;
    double out[CPL_MAX_POINTS] = {0};
    for (int32_t k = 0; k < l->n_sources; k++, sources += n) {
      const double slope = l->gradient[k];
      if (isfinite(slope)) {
        for (int32_t i = 0; i < n; i++) out[i] += slope * change[sources[i]];
        continue;
      }
      for (int32_t i = 0; i < n; i++)
        if (change[sources[i]] != 0) out[i] += slope * change[sources[i]];
    }
    for (int32_t i = 0; i < n; i++) change[nodes[i]] = out[i];
  }
  return st;
}

static cpl_status couple_one(cpli_aggregate* a, int32_t node) {
  const cpli_node* k = &a->nodes[node];
  if (!cpli_is_smooth(k)) return CPL_OK;
  return cpli_coupling_direction(a, &a->links[k->coupling], &a->direction->change[node]);
}

static cpl_status couple(cpli_aggregate* a, const cpli_eval_plan* p, const cpli_eval_op* op) {
  cpl_status st = CPL_OK;
  int32_t done = 0;
  for (int32_t k = 0; k < op->n_batches && st == CPL_OK; k++) {
    const cpli_batch* b = &p->batches[op->first_batch + k];
    done += b->count;
    if (b->linear) st = couple_batch(a, p, b);
    for (int32_t i = 0; i < b->count && !b->linear && st == CPL_OK; i++)
      st = couple_one(a, p->nodes[b->first + i]);
  }
  for (int32_t i = done; i < op->count && st == CPL_OK; i++)
    st = couple_one(a, p->nodes[op->first + i]);
  return st;
}

static cpl_status walk_one(cpli_aggregate* a, const cpli_eval_plan* p, const cpli_eval_op* op) {
  if (op->kind == CPLI_OP_LOOP) return cpli_loop_direction(a, p->loops[op->first]);
  if (op->kind == CPLI_OP_GET) return op->type == CPL_REAL ? get(a, p, op) : CPL_OK;
  if (op->kind == CPLI_OP_COUPLE) return couple(a, p, op);
  set(a, op->part, p->nodes + op->first, op->count);
  return CPL_OK;
}

cpl_status cpli_direction_walk(cpli_aggregate* a, const cpli_eval_plan* p, const cpli_eval_op* ops,
                               size_t n) {
  cpl_status st = CPL_OK;
  for (size_t i = 0; i < n && st == CPL_OK; i++) st = walk_one(a, p, &ops[i]);
  return st;
}

// Gets of consecutive components of one kind.
static cpl_status get_batch(cpli_aggregate* a, const cpli_eval_plan* p, const cpli_eval_op* op,
                            const int32_t* first, int32_t n) {
  const direction* d = a->direction;
  const int32_t* nodes = p->nodes + op->first;
  int32_t parts[MAX_TOGETHER];
  for (int32_t i = 0; i < n; i++) parts[i] = op->part + i;
  cpl_status st = cpli_direction_ask(a, parts, n, p->refs + op->first, first, d->got);
  for (int32_t i = 0; i < first[n] && st == CPL_OK; i++) d->change[nodes[i]] = d->got[i];
  return st;
}

static bool all_asked(const cpli_aggregate* a, const int32_t* nodes, int32_t n) {
  for (int32_t i = 0; i < n; i++)
    if (a->direction->position[nodes[i]] != ASKED) return false;
  return true;
}

static cpl_status walk_call(cpli_aggregate* a, const cpli_eval_plan* p, const int32_t* tasks,
                            const cpli_eval_call* c) {
  const cpli_eval_op* op = &p->ops[p->by_part[tasks[c->task]]];
  const int32_t* first = p->operands + c->operands;
  cpl_status st = CPL_OK;
  if (c->n > 1 && c->n <= MAX_TOGETHER && op->kind == CPLI_OP_GET &&
      all_asked(a, p->nodes + op->first, first[c->n]))
    return get_batch(a, p, op, first, c->n);
  for (int32_t i = 0; i < c->n && c->n > 1 && op->kind == CPLI_OP_SET; i++)
    set(a, op->part + i, p->nodes + op->first + first[i], first[i + 1] - first[i]);
  if (c->n > 1 && op->kind == CPLI_OP_SET) return CPL_OK;
  for (int32_t i = tasks[c->task]; i < tasks[c->task + c->n] && st == CPL_OK; i++)
    st = walk_one(a, p, &p->ops[p->by_part[i]]);
  return st;
}

// Of parameters only those that have changed.
void cpli_direction_begin(cpli_aggregate* a) {
  direction* d = a->direction;
  d->walked = -1;
  memset(d->change, 0, (size_t)a->n_nodes * sizeof *d->change);
  if (d->compact) memset(d->seed, 0, d->n_seeds * sizeof *d->seed);
  for (int32_t k = 0; k < a->n_parts; k++) {
    share* s = &d->shares[k];
    const int32_t n = d->compact ? 0 : s->held_moves ? s->n_held : s->n_all;
    for (int32_t i = s->first; i < s->first + n; i++) d->seed[i] = 0;
    s->moves = s->free_moves = s->held_moves = false;
  }
}

// Changes in events are none: what is discrete is constant, and the values at the current point are
// those of an evaluation between events.
cpl_status cpli_direction_follow(cpli_aggregate* a) {
  const cpli_eval_plan* p = a->plans[CPLI_PLAN_CONTINUOUS];
  cpl_status st = CPL_OK;
  for (int32_t i = 0; i < p->n_segments && st == CPL_OK; i++) {
    const cpli_eval_segment* s = &p->segments[i];
    const int32_t* tasks = p->tasks + s->first_task;
    if (s->n_calls == 0)
      st = cpli_direction_walk(a, p, &p->ops[s->first], (size_t)(s->end - s->first));
    for (int32_t k = 0; k < s->n_calls && st == CPL_OK; k++)
      st = walk_call(a, p, tasks, &p->calls[s->first_call + k]);
  }
  return st;
}

//------------------------------------ states ------------------------------------

// Without directional derivatives: a difference in the direction, with a step that moves the state
// with the largest relative change by the square root of the rounding unit.
static cpl_status by_difference(cpl_model* m, const double* v, double* out) {
  cpli_aggregate* a = (cpli_aggregate*)m;
  direction* d = a->direction;
  size_t n = (size_t)a->n_states;
  double length = 0;
  memcpy(d->x, a->x, n * sizeof *d->x);
  cpl_status st = m->ops->get_nominals(m, d->moved);
  for (size_t i = 0; i < n && st == CPL_OK; i++)
    length = fmax(length, fabs(v[i]) / fmax(fabs(d->x[i]), d->moved[i]));
  memset(out, 0, n * sizeof *out);
  if (st != CPL_OK || length == 0) return st;
  double h = sqrt(DBL_EPSILON) / length;
  st = m->ops->get_derivatives(m, d->base);
  for (size_t i = 0; i < n; i++) d->moved[i] = d->x[i] + h * v[i];
  if (st == CPL_OK) st = m->ops->set_states(m, d->moved);
  if (st == CPL_OK) st = m->ops->get_derivatives(m, out);
  for (size_t i = 0; i < n && st == CPL_OK; i++) out[i] = (out[i] - d->base[i]) / h;
  if (st < 0) return st;
  cpl_status back = m->ops->set_states(m, d->x);
  return st == CPL_OK ? back : st;
}

static cpl_status by_directions(cpl_model* m, const double* v, double* out) {
  cpli_aggregate* a = (cpli_aggregate*)m;
  direction* d = a->direction;
  cpl_status st = cpli_evaluate(a);
  cpli_direction_begin(a);
  for (int32_t k = 0; k < a->n_parts; k++) {
    const cpli_part* part = &a->parts[k];
    share* s = &d->shares[k];
    for (int32_t i = 0; i < part->n_states; i++) {
      d->seed[s->first + i] = v[part->first_state + i];
      s->moves = s->moves || v[part->first_state + i] != 0;
    }
  }
  if (st == CPL_OK) st = cpli_direction_follow(a);
  for (int32_t k = 0; k < a->n_parts && st == CPL_OK; k++) {
    const cpli_part* part = &a->parts[k];
    st = ask_one(a, k, d->derivative + part->first_state, (size_t)part->n_states,
                 out + part->first_state);
  }
  return st;
}

cpl_status cpli_jacobian_times(cpl_model* m, const double* v, double* out) {
  direction* d = ((cpli_aggregate*)m)->direction;
  if (d->fails) return by_difference(m, v, out);
  cpl_status st = by_directions(m, v, out);
  if (st >= 0 || st == CPL_ERR_CANCELLED) return st;
  cpli_error ignored = {0};
  cpli_error* before = cpli_divert_errors(d->ctx, &ignored);
  d->fails = true;
  cpl_status without = by_difference(m, v, out);
  cpli_end_diversion(before);
  cpli_error_clear(&ignored, d->ctx);
  if (without < 0) return st;
  cpl_log(d->ctx, CPL_LOG_WARNING, m->base.name,
          "differences replace directional derivatives from now on: %s", cpl_context_error(d->ctx));
  return without;
}
