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

#include "aggregate/aggregate.h"
#include "base/error.h"
#include "model/sparsity.h"

typedef struct share {  // of a component
  int32_t first;        // its states, coupled inputs, free inputs and held Reals, in known and seed
  int32_t n_known;      // states and coupled inputs
  int32_t n_all;        // with free inputs, which are set from outside
  int32_t n_held;       // with Reals that are constant between events
  bool moves;           // anything of these changes
  bool free_moves;      // a free input changes
  bool held_moves;      // a Real that is constant between events changes
  int32_t requested;    // the first unknown it is asked for; -1: none
} share;

typedef struct held_node {
  int32_t node, place;
} held_node;

// Where the change of a variable of a component is found, if not in the seed.
enum { HIDDEN = -3, CONSTANT = -2, ASKED = -1 };

typedef struct cpli_direction {
  cpl_context* ctx;
  share* shares;
  int32_t* place;        // variable of a component: its position in seed, or as above
  uint32_t* known;       // references
  double* seed;          // change of each of them
  uint32_t* derivative;  // references, in the order of all states
  int32_t* position;     // node: its position in seed (an input, or a state that is read), or as
                         // above
  double* change;        // of the nodes
  held_node* held;       // nodes that are constant between events, with a place in seed
  int32_t n_held;
  bool exact;  // all components and couplings have derivatives
  bool fails;  // a component failed once: differences are used
  double *x, *base, *moved;
  // scratch of requests, with room for all nodes and for the largest request so far
  uint32_t* asked;
  double* got;
  int32_t* of;
  size_t room;
  // the direction that the changes belong to
  uint32_t* last_known;
  double* last_seed;
  size_t n_last, room_last;
  int64_t walked;  // a->evaluations then; -1: they belong to none
} direction;

//------------------------------------ make ------------------------------------

static bool is_continuous(const cpl_variable* v) {
  return v->type == CPL_REAL && v->variability == CPL_VARIABILITY_CONTINUOUS;
}

static bool is_held(const cpl_variable* v) {
  return v->variability <= CPL_VARIABILITY_DISCRETE && v->causality != CPL_CAUSALITY_INDEPENDENT;
}

static bool is_held_node(const cpli_aggregate* a, const cpli_node* node) {
  return node->discrete || (node->part < 0 && a->signals[node->var].kind == CPL_SIGNAL_PARAMETER);
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
  int32_t first = 0;
  d->exact = have_gradients(a);
  for (int32_t k = 0; k < a->n_parts; k++) {
    d->shares[k].first = first;
    d->shares[k].requested = -1;
    d->exact = place_variables(a, d, k) && d->exact;
    if (a->parts[k].n_states > 0 && a->parts[k].m->base.ops->directional == NULL) return false;
    place_inputs(a, d, k);
    place_held(a, d, k);
    first += d->shares[k].n_held;
  }
  return place_nodes(a, d);
}

static void fill(const cpli_aggregate* a, direction* d) {
  for (int32_t k = 0; k < a->n_parts; k++) {
    const cpli_part* part = &a->parts[k];
    const cpl_description* desc = part->m->base.desc;
    for (int32_t i = 0; i < desc->n_vars; i++) {
      int32_t place = d->place[part->first_var + i];
      if (place >= 0) d->known[place] = desc->vars[i].ref;
    }
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

static int32_t count_seeds(const cpli_aggregate* a, const direction* d) {
  const share* last = a->n_parts > 0 ? &d->shares[a->n_parts - 1] : NULL;
  return last != NULL ? last->first + last->n_held : 0;
}

static bool reserve(direction* d, size_t n) {
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
  size_t seeds = (size_t)count_seeds(a, d);
  d->known = cpli_alloc(d->ctx, seeds + states, sizeof *d->known);
  d->seed = cpli_alloc(d->ctx, seeds + nodes + 3 * states, sizeof *d->seed);
  d->held = cpli_alloc(d->ctx, nodes, sizeof *d->held);
  if (d->known == NULL || d->seed == NULL || d->held == NULL || !reserve(d, nodes)) return false;
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
    if (is_held_node(a, &a->nodes[l->sources[i]])) l->known = false;  // constant for the others
  }
  cpl_status st = moves ? cpli_coupling_gradient(a, l) : CPL_OK;
  for (int32_t i = 0; i < l->n_sources && moves && st == CPL_OK; i++) {
    // a gradient may be infinite, as that of a root at zero
    if (change[l->sources[i]] != 0) *out += l->gradient[i] * change[l->sources[i]];
  }
  return st;
}

static cpl_status ask(cpli_aggregate* a, int32_t part, const uint32_t* refs, size_t n,
                      double* out) {
  const direction* d = a->direction;
  const share* s = &d->shares[part];
  cpl_component* c = &a->parts[part].m->base;
  if (n == 0) return CPL_OK;
  memset(out, 0, n * sizeof *out);
  if (!s->moves) return CPL_OK;
  const int32_t known = s->held_moves ? s->n_held : s->free_moves ? s->n_all : s->n_known;
  return c->ops->directional(c, refs, n, d->known + s->first, (size_t)known, d->seed + s->first,
                             out);
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
  cpl_status st = ask(a, op->part, d->asked, n, d->got);
  for (size_t i = 0; i < n && st == CPL_OK; i++) d->change[d->of[i]] = d->got[i];
  return st;
}

static void set(cpli_aggregate* a, int32_t node) {
  direction* d = a->direction;
  d->seed[d->position[node]] = d->change[node];
  if (d->change[node] != 0) d->shares[a->nodes[node].part].moves = true;
}

static cpl_status walk_one(cpli_aggregate* a, const cpli_eval_plan* p, const cpli_eval_op* op) {
  direction* d = a->direction;
  cpl_status st = CPL_OK;
  if (op->kind == CPLI_OP_LOOP) return cpli_loop_direction(a, p->loops[op->first]);
  if (op->kind == CPLI_OP_GET) return op->type == CPL_REAL ? get(a, p, op) : CPL_OK;
  for (int32_t i = op->first; i < op->first + op->count && st == CPL_OK; i++) {
    int32_t node = p->nodes[i];
    if (!cpli_is_smooth(&a->nodes[node])) continue;
    if (op->kind == CPLI_OP_SET) set(a, node);
    else st = cpli_coupling_direction(a, &a->links[a->nodes[node].coupling], &d->change[node]);
  }
  return st;
}

cpl_status cpli_direction_walk(cpli_aggregate* a, const cpli_eval_plan* p, const cpli_eval_op* ops,
                               size_t n) {
  cpl_status st = CPL_OK;
  for (size_t i = 0; i < n && st == CPL_OK; i++) st = walk_one(a, p, &ops[i]);
  return st;
}

// Nothing changes; then seeds are set, and the rest follows from them.
static void begin(cpli_aggregate* a) {
  direction* d = a->direction;
  d->walked = -1;
  memset(d->change, 0, (size_t)a->n_nodes * sizeof *d->change);
  for (int32_t k = 0; k < a->n_parts; k++) {
    share* s = &d->shares[k];
    memset(d->seed + s->first, 0, (size_t)(s->held_moves ? s->n_held : s->n_all) * sizeof *d->seed);
    s->moves = s->free_moves = s->held_moves = false;
  }
}

// Changes in events are none: what is discrete is constant, and the values at the current point are
// those of an evaluation between events.
static cpl_status follow(cpli_aggregate* a) {
  const cpli_eval_plan* p = a->plans[CPLI_PLAN_CONTINUOUS];
  return cpli_direction_walk(a, p, p->ops, p->n_ops);
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
  begin(a);
  for (int32_t k = 0; k < a->n_parts; k++) {
    const cpli_part* part = &a->parts[k];
    share* s = &d->shares[k];
    for (int32_t i = 0; i < part->n_states; i++) {
      d->seed[s->first + i] = v[part->first_state + i];
      s->moves = s->moves || v[part->first_state + i] != 0;
    }
  }
  if (st == CPL_OK) st = follow(a);
  for (int32_t k = 0; k < a->n_parts && st == CPL_OK; k++) {
    const cpli_part* part = &a->parts[k];
    st = ask(a, k, d->derivative + part->first_state, (size_t)part->n_states,
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

//------------------------------------ any variables ------------------------------------

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

// The change of a state, of an input that is set from outside, or of what is constant between
// events.
static cpl_status seed_one(cpli_aggregate* a, uint32_t ref, double seed, bool* any_held) {
  static const char no_known[] =
      "is neither a state nor a continuous input, nor a parameter of a model with derivatives "
      "with respect to parameters: there are no derivatives with respect to it";
  direction* d = a->direction;
  if (ref >= (uint32_t)a->desc->n_vars) return refuse(a, ref, "");
  int32_t var = (int32_t)ref, signal = var - a->n_part_vars;
  if (signal >= 0) {
    const cpli_node* node = &a->nodes[a->first_signal + signal];
    bool input = a->signals[signal].kind == CPL_SIGNAL_INPUT && cpli_is_smooth(node);
    if (!input && !is_held_node(a, node)) return refuse(a, ref, no_known);
    d->change[a->first_signal + signal] += seed;
    return CPL_OK;
  }
  share* s = &d->shares[a->shared_desc->routes[var].component];
  int32_t place = d->place[var];
  bool state = place >= 0 && place < s->first + a->parts[s - d->shares].n_states;
  bool free = place >= s->first + s->n_known, held = place >= s->first + s->n_all;
  if (!state && !free) return refuse(a, ref, no_known);
  d->seed[place] += seed;
  s->moves = s->moves || seed != 0;
  s->free_moves = s->free_moves || (free && !held && seed != 0);
  s->held_moves = s->held_moves || (held && seed != 0);
  *any_held = *any_held || held;
  return CPL_OK;
}

// Nested aggregates are asked several times in the same direction.
static bool is_last(const cpli_aggregate* a, const uint32_t* knowns, size_t n, const double* seed) {
  const direction* d = a->direction;
  return d->walked == a->evaluations && d->n_last == n &&
         (n == 0 || (memcmp(d->last_known, knowns, n * sizeof *knowns) == 0 &&
                     memcmp(d->last_seed, seed, n * sizeof *seed) == 0));
}

static cpl_status remember(cpli_aggregate* a, const uint32_t* knowns, size_t n,
                           const double* seed) {
  direction* d = a->direction;
  if (n > d->room_last) {
    cpli_free(d->ctx, d->last_known);
    cpli_free(d->ctx, d->last_seed);
    d->last_known = cpli_alloc(d->ctx, n, sizeof *d->last_known);
    d->last_seed = cpli_alloc(d->ctx, n, sizeof *d->last_seed);
    d->room_last = d->last_known != NULL && d->last_seed != NULL ? n : 0;
    if (d->room_last == 0) return cpli_nomem(d->ctx);
  }
  if (n > 0) memcpy(d->last_known, knowns, n * sizeof *knowns);
  if (n > 0) memcpy(d->last_seed, seed, n * sizeof *seed);
  d->n_last = n;
  d->walked = a->evaluations;
  return CPL_OK;
}

static cpl_status move(cpli_aggregate* a, const uint32_t* knowns, size_t n, const double* seed) {
  if (is_last(a, knowns, n, seed)) return CPL_OK;
  cpl_status st = CPL_OK;
  if (a->phase != CPLI_PLAN_CONTINUOUS) cpli_aggregate_forget_gradients(a);
  begin(a);
  bool any_held = false;
  for (size_t i = 0; i < n && st == CPL_OK; i++) st = seed_one(a, knowns[i], seed[i], &any_held);
  if (any_held) seed_discrete_nodes(a);
  if (st == CPL_OK) st = follow(a);
  return st == CPL_OK ? remember(a, knowns, n, seed) : st;
}

// An unknown whose change is there, or the component that is asked for it; -1: it is there.
static cpl_status read_one(const cpli_aggregate* a, uint32_t ref, int32_t* part, double* out) {
  const direction* d = a->direction;
  *part = -1;
  if (ref >= (uint32_t)a->desc->n_vars) return refuse(a, ref, "");
  int32_t var = (int32_t)ref;
  if (var >= a->n_part_vars) {
    int32_t node = a->first_signal + var - a->n_part_vars;
    *out = cpli_is_smooth(&a->nodes[node]) ? d->change[node] : 0;
    return CPL_OK;
  }
  int32_t place = d->place[var], node = a->node_of[var];
  if (place == HIDDEN)
    return refuse(a, ref,
                  "is neither a state, nor a derivative, nor an output: its model gives no "
                  "derivatives of it");
  if (place >= 0) *out = d->seed[place];
  else if (place == CONSTANT) *out = 0;
  else if (node >= 0) *out = d->change[node];
  else *part = a->shared_desc->routes[var].component;
  return CPL_OK;
}

// One call per component. Its unknowns are chained.
static cpl_status read_all(cpli_aggregate* a, const uint32_t* unknowns, size_t n, double* out) {
  direction* d = a->direction;
  cpl_status st = reserve(d, n) ? CPL_OK : cpli_nomem(d->ctx);
  for (int32_t k = 0; k < a->n_parts; k++) d->shares[k].requested = -1;
  for (size_t i = n; i-- > 0 && st == CPL_OK;) {
    int32_t part = -1;
    st = read_one(a, unknowns[i], &part, &out[i]);
    if (part < 0) continue;
    d->of[i] = d->shares[part].requested;
    d->shares[part].requested = (int32_t)i;
  }
  for (int32_t k = 0; k < a->n_parts && st == CPL_OK; k++) {
    size_t count = 0;
    for (int32_t i = d->shares[k].requested; i >= 0; i = d->of[i])
      d->asked[count++] = a->shared_desc->routes[unknowns[i]].ref;
    st = ask(a, k, d->asked, count, d->got);
    count = 0;
    for (int32_t i = d->shares[k].requested; i >= 0 && st == CPL_OK; i = d->of[i])
      out[i] = d->got[count++];
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
