// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Creates an aggregate and implements the operations of a model on it. Creation sorts the
// components by name and the couplings by target, so that the order in a system file does not
// affect results, and makes one node per signal and per coupled variable before the evaluation
// plans. Calls for single variables are forwarded to the component that owns them.
#include "aggregate/aggregate.h"

#include <math.h>
#include <stdlib.h>

#include "aggregate/updates.h"
#include "model/adopt.h"

static cpli_aggregate* self_of(cpl_component* c) { return (cpli_aggregate*)c; }

//------------------------------------ values ------------------------------------

// The last one that begins at or before it.
int32_t cpli_part_of(const cpli_aggregate* a, int32_t var) {
  if (var >= a->n_part_vars) return -1;
  int32_t low = 0, high = a->n_parts - 1;
  while (low < high) {
    int32_t middle = (low + high + 1) / 2;
    if (a->parts[middle].first_var <= var) low = middle;
    else high = middle - 1;
  }
  return low;
}

const char* cpli_node_name(const cpli_aggregate* a, int32_t node) {
  const cpli_node* k = &a->nodes[node];
  return k->part >= 0 ? a->desc->vars[a->parts[k->part].first_var + k->var].name
                      : a->signals[k->var].name;
}

// Between events states have the values that were set: nothing has to be computed for them.
static bool all_set(const cpli_aggregate* a, const uint32_t* refs, size_t n) {
  bool set = a->phase == CPLI_PLAN_CONTINUOUS;
  for (size_t i = 0; i < n && set; i++)
    set = refs[i] < (uint32_t)a->n_part_vars && a->is_state[refs[i]];
  return set;
}

// Values read during initialisation are those with all comparisons in couplings settled.
cpl_status cpli_aggregate_compute(cpli_aggregate* a) {
  bool initial = a->phase == CPLI_PLAN_INITIAL && !a->fresh && a->n_settling > 0;
  return initial ? cpli_aggregate_settle_start(a) : cpli_evaluate(a);
}

// A coupled input that is set from outside: not its value, but the initial guess of its loop.
static void guess(cpli_aggregate* a, uint32_t ref, double value) {
  int32_t node = a->node_of[ref];
  if (node >= 0 && a->nodes[node].kind == CPLI_NODE_INPUT) a->settled[node] = value;
}

static cpl_status access_signals(cpli_aggregate* a, const cpli_access* run) {
  double* values = run->values;
  for (size_t i = 0; i < run->n; i++) {
    double* own = &a->value[a->first_signal + (int32_t)run->refs[i]];
    cpl_signal_kind kind = a->signals[run->refs[i]].kind;
    bool settable = kind == CPL_SIGNAL_INPUT || kind == CPL_SIGNAL_PARAMETER;
    if (run->type != CPL_REAL || (run->set && !settable))
      return cpl_fail_in(a->base.base.ctx, CPL_ERR_INPUT, a->name, NULL, NAN,
                         "there is no variable %u, or it cannot be used so",
                         (unsigned)run->outer[i]);
    if (run->set) *own = values[i];
    else values[i] = *own;
  }
  return CPL_OK;
}

static cpl_status forward(cpl_component* c, const cpli_access* run) {
  cpli_aggregate* a = self_of(c);
  if (run->component < 0) return access_signals(a, run);
  cpli_part* p = &a->parts[run->component];
  cpl_status st = cpli_access_values(&p->m->base, run);
  p->stale = p->stale || run->set;
  for (size_t i = 0; i < run->n && run->set && run->type == CPL_REAL; i++)
    guess(a, run->outer[i], ((const double*)run->values)[i]);
  return st;
}

// Inputs of the whole between events, as they are set in every evaluation where they are functions
// of time. False: other values are set, too.
static bool set_inputs(cpli_aggregate* a, const cpli_access* x) {
  bool all = x->set && x->type == CPL_REAL && a->phase == CPLI_PLAN_CONTINUOUS;
  const uint32_t first = (uint32_t)a->n_part_vars, n = (uint32_t)a->n_signals;
  for (size_t i = 0; i < x->n && all; i++)
    all = x->refs[i] - first < n && a->signals[x->refs[i] - first].kind == CPL_SIGNAL_INPUT;
  for (size_t i = 0; i < x->n && all; i++)
    a->value[a->first_signal + (int32_t)(x->refs[i] - first)] = ((const double*)x->values)[i];
  a->fresh = a->fresh && !all;
  return all;
}

// No coupling computes strings and binaries.
static cpl_status access_values(cpl_component* c, const cpli_access* a) {
  cpli_aggregate* self = self_of(c);
  if (set_inputs(self, a)) return CPL_OK;
  if (!a->set && self->pending && a->type == CPL_REAL && all_set(self, a->refs, a->n)) {
    for (size_t i = 0; i < a->n; i++) ((double*)a->values)[i] = self->x[self->state_of[a->refs[i]]];
    return CPL_OK;
  }
  cpli_router r = {NULL, self->shared_desc->routes, (uint32_t)self->desc->n_vars, forward};
  bool computed = a->type == CPL_REAL ? !all_set(self, a->refs, a->n)
                                      : a->type != CPL_STRING && a->type != CPL_BINARY;
  cpl_status st = !a->set && computed ? cpli_aggregate_compute(self) : CPL_OK;
  if (st == CPL_OK && !a->set) st = cpli_give_point(self);
  if (a->set) st = cpli_starter_note(self->starter, c, a);
  if (st == CPL_OK) st = cpli_router_access(&r, c, a);
  if (!a->set) return st;
  self->fresh = false;
  return st == CPL_OK ? cpli_starter_noted(self->starter, c) : st;
}

CPLI_DEFINE_VALUE_OPS(access_values)

//------------------------------------ life ------------------------------------

// Calls one operation on every component.
#define FOR_EACH_PART(a, st, call)                             \
  for (int32_t k_ = 0; k_ < (a)->n_parts && (st) >= 0; k_++) { \
    cpl_model* part = (a)->parts[k_].m;                        \
    (st) = (call);                                             \
  }

static void start_signals(cpli_aggregate* a) {
  for (int32_t i = 0; i < a->n_signals; i++) a->value[a->first_signal + i] = a->signals[i].start;
}

// Loops iterate from the start values of their inputs.
static void start_guesses(cpli_aggregate* a) {
  for (int32_t i = 0; i < a->n_nodes; i++) {
    const cpli_node* node = &a->nodes[i];
    if (node->part >= 0) a->settled[i] = a->parts[node->part].m->base.desc->vars[node->var].start;
  }
}

static cpl_status setup(cpl_component* c, const cpl_setup* s) {
  cpli_aggregate* a = self_of(c);
  cpl_status st = cpli_starter_setup(a->starter, c);
  a->t = s->start_time;
  FOR_EACH_PART(a, st, part->base.ops->setup(&part->base, s));
  if (st >= 0) st = cpli_variants_prepare(a);
  return st < 0 ? st : cpli_variants_follow(a);
}

void cpli_aggregate_forget_gradients(cpli_aggregate* a) {
  for (int32_t i = 0; i < a->n_links; i++) a->links[i].known = false;
}

static cpl_status enter_init(cpl_component* c) {
  cpli_aggregate* a = self_of(c);
  cpl_status st = CPL_OK;
  FOR_EACH_PART(a, st, part->base.ops->enter_init(&part->base));
  a->phase = CPLI_PLAN_INITIAL;
  a->fresh = a->start_known = a->begun = false;
  a->runs++;
  cpli_aggregate_forget_gradients(a);
  return st;
}

static void accept_point(cpli_aggregate* a) {
  memcpy(a->settled, a->value, (size_t)a->n_nodes * sizeof *a->value);
}

static cpl_status exit_init(cpl_component* c) {
  cpli_aggregate* a = self_of(c);
  cpli_starter_close(a->starter);
  cpl_status st = cpli_aggregate_settle_start(a);
  if (st < 0) return st;
  accept_point(a);
  FOR_EACH_PART(a, st, part->base.ops->exit_init(&part->base));
  a->phase = CPLI_PLAN_EVENT;
  a->fresh = false;
  a->rounds = 0;
  cpli_updates_begin(a);
  return st;
}

static cpl_status terminate(cpl_component* c) {
  cpl_status st = cpli_give_point(self_of(c));
  FOR_EACH_PART(self_of(c), st, part->base.ops->terminate(&part->base));
  return st;
}

static cpl_status reset(cpl_component* c) {
  cpl_status st = CPL_OK;
  start_signals(self_of(c));
  start_guesses(self_of(c));
  cpli_forget_point(self_of(c));
  cpli_aggregate_forget_run(self_of(c));
  FOR_EACH_PART(self_of(c), st, part->base.ops->reset(&part->base));
  if (st >= 0) st = cpli_variants_follow(self_of(c));
  return st < 0 ? st : cpli_starter_reset(self_of(c)->starter, c);
}

static void destroy(cpl_component* c) {
  if (c == NULL) return;
  cpli_aggregate* a = self_of(c);
  cpl_context* ctx = c->ctx;
  cpli_variants_destroy(a);
  cpli_newton_destroy(a->newton);
  cpli_parallel_destroy(a->derivatives_of);
  cpli_parallel_destroy(a->indicators_of);
  cpli_parallel_destroy(a->steps_of);
  cpli_direction_destroy(a->direction);
  cpli_gradients_destroy(a->gradients);
  for (size_t i = 0; i < CPLI_COUNT(a->plans); i++) cpli_plan_destroy(a->plans[i]);
  for (int32_t k = 0; k < a->n_parts; k++) {
    if (a->parts[k].m != NULL) a->parts[k].m->base.ops->destroy(&a->parts[k].m->base);
  }
  cpli_free(ctx, a->nodes);
  cpli_free(ctx, a->x);
  cpli_free(ctx, a->value);
  cpli_free(ctx, a->gathered_integers);
  cpli_serial_free(ctx, &a->bytes);
  cpli_shared_desc_release(a->shared_desc);
  cpli_arena_free(&a->arena);
  cpli_free(ctx, a);
}

//------------------------------------ model ------------------------------------

static cpl_status make_plans(cpli_aggregate* a) {
  cpl_status st = CPL_OK;
  for (int i = CPLI_PLAN_INITIAL; i <= CPLI_PLAN_CONTINUOUS && st >= 0; i++) {
    cpli_plan_destroy(a->plans[i]);
    a->plans[i] = NULL;
    st = cpli_plan_make(a, (cpli_eval_plan_kind)i, &a->plans[i]);
  }
  if (st >= 0) st = cpli_indicators_plan(a);
  return st >= 0 && a->rows != NULL ? cpli_rows_match(a) : st;
}

// Once, before the run starts.
static cpl_status verify(cpli_aggregate* a) {
  bool distrust = false;
  cpl_status st = cpli_aggregate_verify(a, &distrust);
  a->verified = true;
  a->fresh = false;
  return st >= 0 && distrust ? make_plans(a) : st;
}

static cpl_status enter_continuous(cpl_model* m) {
  cpli_aggregate* a = (cpli_aggregate*)m;
  cpl_status st = CPL_OK;
  FOR_EACH_PART(a, st, part->ops->enter_continuous(part));
  a->phase = CPLI_PLAN_CONTINUOUS;
  a->events++;
  a->evaluations++;
  cpli_aggregate_forget_gradients(a);
  accept_point(a);  // the event is over: its result is the initial guess of loops
  if (a->rows != NULL) a->rows->given = false;
  // as in the first run, and after the first occurrence of a structure, which are verified
  if (a->n_varying > 0 || !a->begun) a->fresh = false;
  a->begun = true;
  return st < 0 || a->verified ? st : verify(a);
}

// Between events components are given the point when they are called: cpli_give_point().
static bool postpones(cpli_aggregate* a) {
  a->fresh = false;
  if (a->phase != CPLI_PLAN_CONTINUOUS) return false;
  a->point++;
  a->pending = a->n_parts > 0;
  return true;
}

static cpl_status set_time(cpl_model* m, double t) {
  cpli_aggregate* a = (cpli_aggregate*)m;
  cpl_status st = CPL_OK;
  if (a->fresh && t == a->t) return CPL_OK;
  a->t = t;
  if (postpones(a)) return CPL_OK;
  FOR_EACH_PART(a, st, part->ops->set_time(part, t));
  return st;
}

static cpl_status set_states(cpl_model* m, const double* x) {
  cpli_aggregate* a = (cpli_aggregate*)m;
  size_t size = (size_t)a->n_states * sizeof *x;
  // the end of a step is evaluated twice: for indicators, and at its completion
  if (a->fresh && memcmp(a->x, x, size) == 0) return CPL_OK;
  memcpy(a->x, x, size);
  if (postpones(a)) return CPL_OK;
  for (int32_t k = 0; k < a->n_parts; k++) {
    cpli_part* part = &a->parts[k];
    cpl_status st =
        part->n_states > 0 ? part->m->ops->set_states(part->m, x + part->first_state) : CPL_OK;
    if (st != CPL_OK) return st;
  }
  return CPL_OK;
}

static cpl_status get_states(cpl_model* m, double* x) {
  cpli_aggregate* a = (cpli_aggregate*)m;
  cpl_status given = cpli_give_point(a);
  if (given != CPL_OK) return given;
  for (int32_t k = 0; k < a->n_parts; k++) {
    cpli_part* part = &a->parts[k];
    cpl_status st =
        part->n_states > 0 ? part->m->ops->get_states(part->m, x + part->first_state) : CPL_OK;
    if (st != CPL_OK) return st;
  }
  memcpy(a->x, x, (size_t)a->n_states * sizeof *x);
  return CPL_OK;
}

static cpl_status get_nominals(cpl_model* m, double* nominals) {
  cpli_aggregate* a = (cpli_aggregate*)m;
  cpl_status given = cpli_give_point(a);
  if (given != CPL_OK) return given;
  for (int32_t k = 0; k < a->n_parts; k++) {
    cpli_part* part = &a->parts[k];
    cpl_status st = part->n_states > 0
                        ? part->m->ops->get_nominals(part->m, nominals + part->first_state)
                        : CPL_OK;
    if (st != CPL_OK) return st;
  }
  return CPL_OK;
}

static cpl_status get_derivatives(cpl_model* m, double* dx) {
  return cpli_evaluate_derivatives((cpli_aggregate*)m, dx);
}

typedef struct completion {
  cpli_aggregate* a;
  int event, end;  // atomic
} completion;

static cpl_status complete_part(void* user, int32_t k, int32_t worker) {
  completion* all = user;
  cpli_part* part = &all->a->parts[k];
  bool event = false, end = false;
  (void)worker;
  if (!part->m->base.can.completed_step && !part->composite) return CPL_OK;
  cpl_status st = part->m->ops->completed_step(part->m, &event, &end);
  if (event) CPLI_ATOMIC_STORE(&all->event, 1);
  if (end) CPLI_ATOMIC_STORE(&all->end, 1);
  return st;
}

static cpl_status completed_step(cpl_model* m, bool* event, bool* end) {
  cpli_aggregate* a = (cpli_aggregate*)m;
  *event = *end = false;
  if (a->ignores_steps) return CPL_OK;
  completion all = {.a = a};
  cpl_status st = a->notifies_none ? cpli_evaluate_conditions(a) : cpli_evaluate(a);
  if (st == CPL_OK && !a->notifies_none) st = cpli_each_part(a, a->steps_of, complete_part, &all);
  *event = all.event != 0;
  *end = all.end != 0;
  if (st == CPL_OK) accept_point(a);
  return st == CPL_OK ? cpli_aggregate_accept(a) : st;
}

// Those that need all components are added in offer().
static const cpl_component_ops component_ops = {.size = sizeof component_ops,
                                                .kind = cpli_aggregate_kind,
                                                .destroy = destroy,
                                                .setup = setup,
                                                .enter_init = enter_init,
                                                .exit_init = exit_init,
                                                .terminate = terminate,
                                                .reset = reset,
                                                CPLI_VALUE_OPS,
                                                .inspect = cpli_aggregate_inspect};
static const cpl_newton_ops newton_ops = {.size = sizeof newton_ops,
                                          .setup = cpli_newton_setup,
                                          .solve = cpli_newton_solve,
                                          .border = cpli_newton_border};
static const cpl_dae_ops dae_ops = {.size = sizeof dae_ops,
                                    .use_residuals = cpli_rows_use,
                                    .set_algebraics = cpli_rows_set,
                                    .get_algebraics = cpli_rows_get,
                                    .get_algebraic_nominals = cpli_rows_nominals,
                                    .get_residuals = cpli_rows_residuals};
static const cpl_model_ops model_ops = {.size = sizeof model_ops,
                                        .enter_event = cpli_aggregate_enter_event,
                                        .event_update = cpli_aggregate_event_update,
                                        .enter_continuous = enter_continuous,
                                        .set_time = set_time,
                                        .set_states = set_states,
                                        .get_states = get_states,
                                        .get_nominals = get_nominals,
                                        .get_derivatives = get_derivatives,
                                        .get_indicators = cpli_aggregate_indicators,
                                        .name_indicator = cpli_aggregate_name_indicator,
                                        .completed_step = completed_step,
                                        .split = cpli_aggregate_split,
                                        .next_break = cpli_aggregate_next_break};

//------------------------------------ nodes ------------------------------------

typedef struct maker {
  cpli_aggregate* a;
  const cpl_aggregate_def* def;
  int32_t* position;  // of each component of the definition, sorted by name
  size_t cap;
} maker;

static cpl_status bad(maker* k, const cpl_coupling* c, const char* what) {
  const char* where = c->function.text != NULL ? c->function.text : k->a->name;
  return cpl_fail(k->a->base.base.ctx, CPL_ERR_INPUT, "%s: %s", where, what);
}

static cpl_status node_for(maker* k, cpl_port port, cpli_node_kind kind, int32_t* out) {
  cpli_aggregate* a = k->a;
  if (port.part < 0) {
    *out = port.var;  // signals are the first nodes
    return CPL_OK;
  }
  int32_t part = k->position[port.part];
  int32_t* there = &a->node_of[a->parts[part].first_var + port.var];
  if (*there < 0) {
    const cpl_variable* v = &a->parts[part].m->base.desc->vars[port.var];
    if (!cpli_grow(a->base.base.ctx, (void**)&a->nodes, &k->cap, (size_t)a->n_nodes,
                   sizeof *a->nodes)) {
      return cpli_nomem(a->base.base.ctx);
    }
    bool discrete = v->type != CPL_REAL || v->variability <= CPL_VARIABILITY_DISCRETE;
    a->nodes[*there = a->n_nodes++] = (cpli_node){.kind = kind,
                                                  .part = part,
                                                  .var = port.var,
                                                  .ref = v->ref,
                                                  .type = v->type,
                                                  .discrete = discrete,
                                                  .coupling = -1};
  }
  *out = *there;
  return CPL_OK;
}

static cpl_status nodes_for(maker* k, const cpl_port* ports, int32_t n, int32_t** out) {
  cpli_arena* arena = &k->a->arena;
  int32_t* nodes = cpli_arena_alloc(arena, (size_t)n, sizeof *nodes);
  *out = nodes;
  if (nodes == NULL) return cpli_nomem(k->a->base.base.ctx);
  for (int32_t i = 0; i < n; i++) {
    cpl_status st = node_for(k, ports[i], CPLI_NODE_OUTPUT, &nodes[i]);
    if (st < 0) return st;
  }
  return CPL_OK;
}

static cpl_status add_target(maker* k, int32_t i) {
  const cpl_coupling* c = &k->def->couplings[i];
  cpli_aggregate* a = k->a;
  cpli_coupling_edge* l = &a->links[i];
  cpl_status st = node_for(k, c->target, CPLI_NODE_INPUT, &l->target);
  if (st < 0) return st;
  cpli_node* node = &a->nodes[l->target];
  if (node->coupling >= 0) return bad(k, c, "the target is coupled twice");
  const cpl_variable* v =
      node->part >= 0 ? &a->parts[node->part].m->base.desc->vars[node->var] : NULL;
  node->parameter = v != NULL && v->causality == CPL_CAUSALITY_PARAMETER;
  node->fixed = node->parameter && v->variability < CPL_VARIABILITY_TUNABLE;
  if (v != NULL && v->causality != CPL_CAUSALITY_INPUT && !node->parameter)
    return bad(k, c, "the target is no input and no parameter");
  if (node->part < 0 && a->signals[node->var].kind == CPL_SIGNAL_INPUT)
    return bad(k, c, "an input of the system is set from outside");
  if (node->type == CPL_STRING && c->function.value != NULL)
    return bad(k, c, "a String cannot be computed");
  node->coupling = i;
  return CPL_OK;
}

static cpl_status add_sources(maker* k, int32_t i) {
  cpli_aggregate* a = k->a;
  cpli_coupling_edge* l = &a->links[i];
  l->def = k->def->couplings[i];
  if (l->def.factor == 0) l->def.factor = 1;
  bool plain = l->def.function.value == NULL;
  l->n_sources = plain ? 1 : l->def.function.n_sources;
  cpl_status st =
      nodes_for(k, plain ? &l->def.source : l->def.function.sources, l->n_sources, &l->sources);
  l->values = cpli_arena_alloc(&a->arena, 2 * (size_t)l->n_sources, sizeof *l->values);
  if (st < 0 || l->values == NULL) return st < 0 ? st : cpli_nomem(a->base.base.ctx);
  l->gradient = l->values + l->n_sources;
  a->n_link_indicators += l->def.function.n_indicators;
  if (l->def.function.settle != NULL) a->settling[a->n_settling++] = i;
  return CPL_OK;
}

static cpl_status add_outside(maker* k, int32_t i) {
  cpli_aggregate* a = k->a;
  cpli_outside* o = &a->outside[i];
  o->def = k->def->events[i];
  o->n_condition = o->def.condition.value != NULL ? o->def.condition.n_sources : 0;
  o->n_assign = o->def.n_targets > 0 ? o->def.assign.n_sources : 0;
  cpl_port* targets = cpli_arena_alloc(&a->arena, (size_t)o->def.n_targets, sizeof *targets);
  o->condition_values = cpli_arena_alloc(
      &a->arena, (size_t)o->n_condition + (size_t)o->n_assign + (size_t)o->def.n_targets,
      sizeof(double));
  if (targets == NULL || o->condition_values == NULL) return cpli_nomem(a->base.base.ctx);
  o->assign_values = o->condition_values + o->n_condition;
  o->results = o->assign_values + o->n_assign;
  for (int32_t t = 0; t < o->def.n_targets; t++) {
    targets[t] = o->def.targets[t];
    if (targets[t].part >= 0) targets[t].part = k->position[targets[t].part];
  }
  o->def.targets = targets;
  a->n_link_indicators += o->def.condition.n_indicators;
  cpl_status st = nodes_for(k, o->def.condition.sources, o->n_condition, &o->condition);
  return st < 0 ? st : nodes_for(k, o->def.assign.sources, o->n_assign, &o->assign);
}

typedef struct target_order {
  int32_t part, var, link;
} target_order;

static int by_target(const void* x, const void* y) {
  const target_order *a = x, *b = y;
  int32_t d = a->part != b->part ? a->part - b->part
              : a->var != b->var ? a->var - b->var
                                 : a->link - b->link;
  return d < 0 ? -1 : d > 0;
}

// Nodes in the order of targets, not of couplings: the choice of torn nodes follows from it.
static cpl_status add_links(maker* k) {
  cpli_aggregate* a = k->a;
  target_order* order = cpli_alloc(a->base.base.ctx, (size_t)a->n_links, sizeof *order);
  cpl_status st = order != NULL ? CPL_OK : cpli_nomem(a->base.base.ctx);
  for (int32_t i = 0; i < a->n_links && st >= 0; i++) {
    cpl_port to = k->def->couplings[i].target;
    order[i] = (target_order){to.part < 0 ? -1 : k->position[to.part], to.var, i};
  }
  if (st >= 0) cpli_sort(order, (size_t)a->n_links, sizeof *order, by_target);
  // targets first, so that an input that is also read is classified as an input
  for (int32_t i = 0; i < a->n_links && st >= 0; i++) st = add_target(k, order[i].link);
  for (int32_t i = 0; i < a->n_links && st >= 0; i++) st = add_sources(k, order[i].link);
  cpli_free(a->base.base.ctx, order);
  return st;
}

// Targets of couplings are sorted by components.
static cpl_status list_inputs(cpli_aggregate* a) {
  for (int32_t k = 0; k < a->n_parts; k++) {
    const char* kind = a->parts[k].m->base.desc->kind;
    a->parts[k].composite =
        kind != NULL && (strcmp(kind, "aggregate") == 0 || strcmp(kind, "modes") == 0);
  }
  a->texts = cpli_arena_alloc(&a->arena, (size_t)a->n_links, sizeof *a->texts);
  if (a->texts == NULL) return cpli_nomem(a->base.base.ctx);
  for (int32_t i = 0; i < a->n_nodes; i++) {
    const cpli_node* node = &a->nodes[i];
    if (node->kind != CPLI_NODE_INPUT) continue;
    cpli_part* part = &a->parts[node->part];
    if (part->n_inputs++ == 0) part->first_input = i;
    if (node->type != CPL_STRING && node->type != CPL_BINARY) continue;
    if (part->n_texts++ == 0) part->first_text = a->n_texts;
    a->texts[a->n_texts++] = node->coupling;
  }
  return CPL_OK;
}

static cpl_status make_nodes(maker* k) {
  cpli_aggregate* a = k->a;
  cpl_context* ctx = a->base.base.ctx;
  for (int32_t i = 0; i < a->n_part_vars; i++) a->node_of[i] = -1;
  for (int32_t i = 0; i < a->n_signals; i++) {
    if (!cpli_grow(ctx, (void**)&a->nodes, &k->cap, (size_t)a->n_nodes, sizeof *a->nodes))
      return cpli_nomem(ctx);
    a->nodes[a->n_nodes++] = (cpli_node){.kind = CPLI_NODE_SIGNAL,
                                         .part = -1,
                                         .var = i,
                                         .type = CPL_REAL,
                                         .discrete = a->signals[i].discrete,
                                         .coupling = -1};
  }
  cpl_status st = add_links(k);
  if (st >= 0) st = list_inputs(a);
  for (int32_t i = 0; i < a->n_outside && st >= 0; i++) st = add_outside(k, i);
  return st;
}

//------------------------------------ create ------------------------------------

static int by_name(const void* x, const void* y) {
  cpl_model *const *a = x, *const *b = y;
  return strcmp((*a)->base.name, (*b)->base.name);
}

// The aggregate owns the components also when it cannot be made.
static void destroy_parts(const cpl_aggregate_def* def) {
  for (int32_t i = 0; i < def->n_parts; i++) cpli_discard(&def->parts[i]->base);
}

static cpl_status take_parts(maker* k) {
  cpli_aggregate* a = k->a;
  cpl_context* ctx = a->base.base.ctx;
  size_t n = (size_t)k->def->n_parts;
  cpl_model** sorted = cpli_alloc(ctx, n, sizeof *sorted);
  a->parts = cpli_arena_alloc(&a->arena, n, sizeof *a->parts);
  a->points = cpli_arena_alloc(&a->arena, n, sizeof *a->points);
  k->position = cpli_alloc(ctx, n, sizeof *k->position);
  bool fine = sorted != NULL && a->parts != NULL && a->points != NULL && k->position != NULL;
  cpl_status st = fine ? CPL_OK : cpli_nomem(ctx);
  if (st < 0) {
    destroy_parts(k->def);
    cpli_free(ctx, sorted);
    return st;
  }
  memcpy(sorted, k->def->parts, n * sizeof *sorted);
  cpli_sort(sorted, n, sizeof *sorted, by_name);
  for (size_t i = 0; i < n; i++)
    a->parts[i] = (cpli_part){.m = sorted[i], .mark = -1, .next_time = INFINITY};
  a->n_parts = (int32_t)n;
  for (size_t i = 0; i < n && st >= 0; i++) {
    cpl_model** found = bsearch(&k->def->parts[i], sorted, n, sizeof *sorted, by_name);
    k->position[i] = (int32_t)(found - sorted);
    if (*found != k->def->parts[i])
      st = cpl_fail_in(ctx, CPL_ERR_INPUT, a->name, NULL, NAN, "two models are called %s",
                       (*found)->base.name);
  }
  cpli_free(ctx, sorted);
  return st;
}

static cpl_status take_lists(maker* k) {
  cpli_aggregate* a = k->a;
  const cpl_aggregate_def* d = k->def;
  a->n_signals = d->n_signals;
  a->n_links = d->n_couplings;
  a->n_outside = d->n_events;
  a->signals = cpli_arena_alloc(&a->arena, (size_t)d->n_signals, sizeof *a->signals);
  a->links = cpli_arena_alloc(&a->arena, (size_t)d->n_couplings, sizeof *a->links);
  a->settling = cpli_arena_alloc(&a->arena, (size_t)d->n_couplings, sizeof *a->settling);
  a->outside = cpli_arena_alloc(&a->arena, (size_t)d->n_events, sizeof *a->outside);
  a->node_of = cpli_arena_alloc(&a->arena, (size_t)a->n_part_vars, sizeof *a->node_of);
  size_t n_targets = d->n_events > 0 ? (size_t)a->n_part_vars + (size_t)d->n_signals : 0;
  a->setters = cpli_arena_alloc(&a->arena, n_targets, sizeof *a->setters);
  if (a->signals == NULL || a->links == NULL || a->settling == NULL || a->outside == NULL ||
      a->node_of == NULL || a->setters == NULL)
    return cpli_nomem(a->base.base.ctx);
  for (int32_t i = 0; i < d->n_signals; i++) {
    cpl_signal s = d->signals[i];
    s.name = cpli_arena_strdup(&a->arena, s.name);
    if (s.unit != NULL) s.unit = cpli_arena_strdup(&a->arena, s.unit);
    if (s.description != NULL) s.description = cpli_arena_strdup(&a->arena, s.description);
    cpl_unit* meaning = cpli_arena_alloc(&a->arena, s.meaning != NULL, sizeof *meaning);
    if (s.meaning != NULL && meaning != NULL) *meaning = *s.meaning, meaning->name = s.unit;
    s.meaning = s.meaning != NULL ? meaning : NULL;
    if (s.name == NULL || meaning == NULL) return cpli_nomem(a->base.base.ctx);
    a->signals[i] = s;
  }
  return CPL_OK;
}

static cpl_status allocate(cpli_aggregate* a) {
  cpl_context* ctx = a->base.base.ctx;
  size_t n = (size_t)a->n_nodes;
  a->workers = cpli_parallel_threads(ctx);
  if (a->workers > a->n_parts) a->workers = a->n_parts > 0 ? a->n_parts : 1;
  size_t workers = (size_t)a->workers;
  a->value = cpli_alloc(ctx, (4 + workers) * n, sizeof *a->value);
  a->gathered_integers = cpli_alloc(ctx, (1 + workers) * n, sizeof *a->gathered_integers);
  if (a->value == NULL || a->gathered_integers == NULL) return cpli_nomem(ctx);
  a->settled = a->value + n;
  a->before = a->settled + n;
  a->seen = a->before + n;
  a->gathered = a->seen + n;
  a->changed_at = a->gathered_integers + workers * n;
  start_signals(a);
  start_guesses(a);
  return CPL_OK;
}

static bool all_states_known(const cpli_aggregate* a) {
  for (int32_t i = 0; i < a->n_states; i++) {
    if (a->desc->states[i] < 0 || a->desc->derivatives[i] < 0) return false;
  }
  return true;
}

static cpl_status mark_states(cpli_aggregate* a) {
  size_t n_indicators = (size_t)a->n_part_indicators;
  a->is_state = cpli_arena_alloc(&a->arena, (size_t)a->n_part_vars, sizeof *a->is_state);
  a->state_of = cpli_arena_alloc(&a->arena, (size_t)a->n_part_vars, sizeof *a->state_of);
  a->positive = cpli_arena_alloc(&a->arena, n_indicators, sizeof *a->positive);
  a->indicators = cpli_arena_alloc(&a->arena, n_indicators, sizeof *a->indicators);
  a->x = cpli_alloc(a->base.base.ctx, (size_t)a->n_states, sizeof *a->x);
  if (a->is_state == NULL || a->state_of == NULL || a->x == NULL || a->positive == NULL ||
      a->indicators == NULL)
    return cpli_nomem(a->base.base.ctx);
  for (int32_t i = 0; i < a->n_part_vars; i++) a->state_of[i] = -1;
  for (int32_t i = 0; i < a->n_states; i++) {
    int32_t var = a->desc->states[i];
    if (var >= 0) a->is_state[var] = true, a->state_of[var] = i;
  }
  return CPL_OK;
}

cpl_status cpli_aggregate_plan(cpli_aggregate* a) {
  cpl_status st = cpli_aggregate_describe(a);
  if (st >= 0) st = mark_states(a);
  if (st >= 0) st = make_plans(a);
  bool known = st >= 0 && all_states_known(a);
  if (known) st = cpli_newton_make(a, &a->newton);
  if (known && st >= 0) st = cpli_direction_make(a, &a->direction);
  a->ops = model_ops;
  a->ops.newton = known ? &newton_ops : NULL;
  a->ops.jacobian_times = a->direction != NULL ? cpli_jacobian_times : NULL;
  a->ops.structure = a->n_varying > 0 ? cpli_aggregate_structure_at : NULL;
  a->ops.dae = a->n_varying > 0 ? NULL : &dae_ops;  // the set of loops varies
  return st < 0 ? st : cpli_constraints_make(a);
}

// The operations that all components make possible together. Derivatives of a model of variable
// structure are those of its current structure and are not offered.
static void offer(cpli_aggregate* a) {
  cpl_component_ops* ops = &a->component_ops;
  cpl_capabilities* can = &a->base.base.can;
  can->save_restore = can->serialize = true;
  for (int32_t i = 0; i < a->n_parts; i++) {
    const cpl_component* part = &a->parts[i].m->base;
    can->own_thread = can->own_thread || part->can.own_thread;
    can->remote = can->remote > 0 || part->can.remote > 0;
    a->any_breaks = a->any_breaks || a->parts[i].m->ops->next_break != NULL;
    can->save_restore = can->save_restore && part->ops->save != NULL;
    can->serialize = can->serialize && part->ops->save != NULL && cpli_serial_can(part);
  }
  if (can->save_restore) {
    ops->save = cpli_aggregate_save;
    ops->restore = cpli_aggregate_restore;
    ops->forget = cpli_aggregate_forget;
  }
  if (can->serialize) {
    ops->serialize = cpli_aggregate_to_bytes;
    ops->deserialize = cpli_aggregate_from_bytes;
    ops->get_history = cpli_aggregate_get_history;
    ops->set_history = cpli_aggregate_set_history;
  }
  can->directional = a->n_varying == 0 && cpli_direction_exact(a->direction);
  if (can->directional) can->parameter_directions = cpli_direction_covers_held(a) ? 2 : 1;
  ops->directional = can->directional ? cpli_aggregate_directional : NULL;
}

static cpl_status prepare(maker* k) {
  cpli_aggregate* a = k->a;
  cpl_status st = take_parts(k);
  if (st < 0) return st;
  cpli_aggregate_lay_out(a);
  st = take_lists(k);
  if (st >= 0) st = make_nodes(k);
  if (st >= 0) st = allocate(a);
  if (st >= 0) st = cpli_constraints_take(a, k->def);
  if (st >= 0) st = cpli_parts_parallel(a, &a->derivatives_of);
  if (st >= 0) st = cpli_parts_parallel(a, &a->indicators_of);
  if (st >= 0) st = cpli_parts_parallel(a, &a->steps_of);
  a->base.ops = &a->ops;
  if (st >= 0) st = cpli_variants_begin(a);
  if (st >= 0) offer(a);
  return st;
}

cpl_status cpl_aggregate(cpl_context* ctx, const cpl_aggregate_def* given, cpl_model** out) {
  *out = NULL;
  cpl_aggregate_def def = cpl_default_aggregate_def();
  cpl_status st = cpli_read_def(ctx, "cpl_aggregate_def", given, &def, sizeof def);
  if (st < 0) return st;
  for (int32_t i = 0; i < def.n_parts && st >= 0; i++) st = cpli_adopt_model(def.parts[i]);
  if (st < 0) {
    destroy_parts(&def);
    return st;
  }
  cpli_aggregate* a = cpli_alloc(ctx, 1, sizeof *a);
  cpli_shared_desc* d = cpli_shared_desc_create(ctx, def.name, "aggregate", sizeof *d);
  if (a == NULL || d == NULL) {
    destroy_parts(&def);
    cpli_free(ctx, a);
    cpli_shared_desc_release(d);
    return cpli_nomem(ctx);
  }
  cpli_arena_init(&a->arena, ctx);
  a->shared_desc = d;
  a->desc = &d->desc;
  a->component_ops = component_ops;
  a->base.base = (cpl_component){.ops = &a->component_ops, .desc = a->desc, .ctx = ctx};
  a->base.base.name = a->name = cpli_arena_strdup(&a->arena, def.name);
  if (a->name == NULL) {
    destroy_parts(&def);
    destroy(&a->base.base);
    return cpli_nomem(ctx);
  }
  maker k = {.a = a, .def = &def};
  st = prepare(&k);
  cpli_free(ctx, k.position);
  if (st < 0) destroy(&a->base.base);
  else *out = &a->base;
  return st;
}
