// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Event indicators of all components, comparisons in couplings and conditions of external events.
// Where all of them follow from states, inputs and time, nothing else is evaluated for them: the
// search for an event needs them at many points.
#include <stdio.h>

#include "aggregate/aggregate.h"

//------------------------------------ what they depend on ------------------------------------

// Whether the value of a node is known without an evaluation; *state: which state it is, -1: none.
static bool is_known(const cpli_aggregate* a, int32_t node, int32_t* state) {
  const cpli_node* k = &a->nodes[node];
  *state = -1;
  if (k->part >= 0 && k->var >= 0) *state = a->state_of[a->parts[k->part].first_var + k->var];
  if (k->part >= 0) return *state >= 0;
  cpl_signal_kind kind = k->var >= 0 ? a->signals[k->var].kind : CPL_SIGNAL_INNER;
  return kind == CPL_SIGNAL_INPUT || kind == CPL_SIGNAL_PARAMETER;
}

// The operands of a condition: states are added to the list. False: other nodes are among them.
static bool take_operands(cpli_aggregate* a, const cpl_function* f, const int32_t* nodes,
                          int32_t n) {
  for (int32_t i = 0; i < n && f->n_indicators > 0; i++) {
    cpli_state_node one = {.node = nodes[i]};
    if (!is_known(a, nodes[i], &one.state)) return false;
    if (one.state >= 0) a->deciding[a->n_deciding++] = one;
  }
  return true;
}

// Loops begin at their last solution, which is that of the last evaluation: where there are any,
// none is left out.
static bool has_loops(const cpli_aggregate* a) {
  for (size_t i = 0; i < CPLI_COUNT(a->plans); i++)
    if (a->plans[i] != NULL && a->plans[i]->n_loops > 0) return true;
  return false;
}

static bool follow_from_states(cpli_aggregate* a) {
  bool follow = a->n_part_indicators == 0 && a->n_varying == 0 && a->base.base.can.remote == 0 &&
                !has_loops(a);
  a->n_deciding = 0;
  for (int32_t i = 0; i < a->n_links && follow; i++) {
    const cpli_coupling_edge* l = &a->links[i];
    follow = take_operands(a, &l->def.function, l->sources, l->n_sources);
  }
  for (int32_t i = 0; i < a->n_outside && follow; i++) {
    const cpli_outside* o = &a->outside[i];
    follow = take_operands(a, &o->def.condition, o->condition, o->n_condition);
  }
  return follow;
}

static bool notifies_none(const cpli_aggregate* a) {
  for (int32_t k = 0; k < a->n_parts; k++)
    if (a->parts[k].m->base.can.completed_step || a->parts[k].composite) return false;
  return true;
}

static bool is_uncoupled(const cpli_aggregate* a) {
  const cpli_eval_plan* p = a->plans[CPLI_PLAN_CONTINUOUS];
  bool uncoupled = a->n_parts == 1 && a->n_varying == 0 && a->base.base.can.remote == 0;
  for (size_t i = 0; i < p->n_ops && uncoupled; i++)
    uncoupled = p->ops[i].kind == CPLI_OP_GET || p->ops[i].kind == CPLI_OP_COUPLE;
  return uncoupled;
}

static size_t count_operands(const cpli_aggregate* a) {
  size_t n = 0;
  for (int32_t i = 0; i < a->n_links; i++)
    if (a->links[i].def.function.n_indicators > 0) n += (size_t)a->links[i].n_sources;
  for (int32_t i = 0; i < a->n_outside; i++) n += (size_t)a->outside[i].n_condition;
  return n;
}

cpl_status cpli_indicators_plan(cpli_aggregate* a) {
  if (a->deciding == NULL)
    a->deciding = cpli_arena_alloc(&a->arena, count_operands(a) + 1, sizeof *a->deciding);
  if (a->deciding == NULL) return cpli_nomem(a->base.base.ctx);
  // nothing would come of the end of a step where no component must be notified, no loop begins at
  // its values and no comparison waits for it
  a->notifies_none = notifies_none(a);
  a->ignores_steps = a->notifies_none && a->n_settling == 0 && a->n_outside == 0 &&
                     a->plans[CPLI_PLAN_CONTINUOUS]->n_loops == 0;
  a->uncoupled = is_uncoupled(a);
  a->states_suffice = follow_from_states(a);
  return CPL_OK;
}

// States have the values that an evaluation would read from the components.
cpl_status cpli_evaluate_conditions(cpli_aggregate* a) {
  if (!a->states_suffice || a->phase != CPLI_PLAN_CONTINUOUS) return cpli_evaluate(a);
  for (int32_t i = 0; i < a->n_deciding && !a->fresh; i++)
    a->value[a->deciding[i].node] = a->x[a->deciding[i].state];
  return CPL_OK;
}

//------------------------------------ values ------------------------------------

static cpl_status function_indicators(cpli_aggregate* a, const cpl_function* f,
                                      const int32_t* nodes, int32_t n, double* values, double* z) {
  if (f->n_indicators == 0) return CPL_OK;
  cpli_gather(a, nodes, n, values);
  return f->indicators(f->user, a->t, values, z);
}

typedef struct indicators {
  const cpli_aggregate* a;
  double* z;
} indicators;

static cpl_status part_indicators(void* user, int32_t k, int32_t worker) {
  const indicators* all = user;
  const cpli_part* part = &all->a->parts[k];
  (void)worker;
  if (part->n_indicators == 0) return CPL_OK;
  return part->m->ops->get_indicators(part->m, all->z + part->first_indicator);
}

cpl_status cpli_aggregate_indicators(cpl_model* m, double* z) {
  cpli_aggregate* a = (cpli_aggregate*)m;
  cpl_status st = cpli_evaluate_conditions(a);
  if (st == CPL_OK && a->n_part_indicators > 0)
    st = cpli_each_part(a, a->indicators_of, part_indicators, &(indicators){a, z});
  z += a->n_part_indicators;
  const int32_t n_links = a->n_link_indicators > 0 ? a->n_links : 0;
  for (int32_t i = 0; i < n_links && st == CPL_OK; i++) {
    cpli_coupling_edge* l = &a->links[i];
    st = function_indicators(a, &l->def.function, l->sources, l->n_sources, l->values, z);
    z += l->def.function.n_indicators;
  }
  for (int32_t i = 0; i < a->n_outside && st == CPL_OK; i++) {
    cpli_outside* o = &a->outside[i];
    st = function_indicators(a, &o->def.condition, o->condition, o->n_condition,
                             o->condition_values, z);
    z += o->def.condition.n_indicators;
  }
  return st;
}

static void name_in_part(const cpli_part* part, size_t i, char* out, size_t size) {
  const cpl_model* m = part->m;
  char inner[256];
  snprintf(inner, sizeof inner, "indicator %zu", i + 1);
  if (m->ops->name_indicator != NULL) m->ops->name_indicator(m, i, inner, sizeof inner);
  snprintf(out, size, "%s: %s", m->base.name, inner);
}

void cpli_aggregate_name_indicator(const cpl_model* m, size_t indicator, char* out, size_t size) {
  const cpli_aggregate* a = (const cpli_aggregate*)m;
  int32_t i = (int32_t)indicator, k = a->n_parts - 1;
  while (k > 0 && (a->parts[k].first_indicator > i || a->parts[k].n_indicators == 0)) k--;
  if (i < a->n_part_indicators) {
    name_in_part(&a->parts[k], (size_t)(i - a->parts[k].first_indicator), out, size);
    return;
  }
  i -= a->n_part_indicators;
  for (int32_t l = 0; l < a->n_links; i -= a->links[l++].def.function.n_indicators) {
    const cpl_function* f = &a->links[l].def.function;
    if (i < f->n_indicators) {
      snprintf(out, size, "a comparison in %s", f->text != NULL ? f->text : "a coupling");
      return;
    }
  }
  for (int32_t o = 0; o < a->n_outside; i -= a->outside[o++].def.condition.n_indicators) {
    if (i < a->outside[o].def.condition.n_indicators) {
      snprintf(out, size, "event %s", a->outside[o].def.name);
      return;
    }
  }
}
