// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Rounds of event updates. In the first round of an event every component is updated with the
// values that led to the event, and so is in later rounds a component that requested another
// update; none sees simultaneous changes of others. Then changes propagate through the data flow:
// each component whose changed inputs affect its last update is updated once, after the components
// it depends on. Only loops need more rounds.
#include "aggregate/updates.h"

#include <math.h>
#include <stdio.h>

enum { MAX_NAMED = 4 };
// A continuous input that moved by less, relative to its magnitude, counts as unchanged:
// comparisons keep their side.
static const double same = 1e-10;

// In an event there is no shorter step to try.
static cpl_status final(cpli_aggregate* a, cpl_status st) {
  return st == CPL_RETRY
             ? cpl_fail_prefix(a->base.base.ctx, CPL_ERR_MODEL, "%s: in an event", a->name)
             : st;
}

void cpli_updates_begin(cpli_aggregate* a) {
  for (int32_t k = 0; k < a->n_parts; k++) a->parts[k].due = true;
}

//------------------------------------ inputs ------------------------------------

static bool input_changed(cpli_aggregate* a, int32_t i) {
  double now = a->value[i], then = a->seen[i];
  if (!cpli_values_differ(now, then)) return false;
  if (a->nodes[i].type == CPL_CLOCK) {  // an active clock becomes inactive by itself
    a->seen[i] = fmin(now, then);
    return now > then;
  }
  if (!cpli_is_smooth(&a->nodes[i])) return true;
  double size = fmax(fmax(fabs(now), fabs(then)), fabs(a->settled[i]));
  return !(fabs(now - then) <= same * size);
}

// The signs of the indicators of a component.
static cpl_status look_at_sides(cpli_aggregate* a, const cpli_part* part, bool* changed) {
  cpl_status st = part->m->ops->get_indicators(part->m, a->indicators);
  for (int32_t i = 0; i < part->n_indicators && st == CPL_OK; i++)
    *changed = *changed || a->positive[part->first_indicator + i] != (a->indicators[i] > 0);
  return final(a, st);
}

static cpl_status note_sides(cpli_aggregate* a, const cpli_part* part) {
  cpl_status st = CPL_OK;
  if (part->n_inputs > 0 && part->n_indicators > 0)
    st = part->m->ops->get_indicators(part->m, a->indicators);
  for (int32_t i = 0; i < part->n_indicators && st == CPL_OK; i++)
    a->positive[part->first_indicator + i] = a->indicators[i] > 0;
  return final(a, st);
}

// A changed discrete input, or one computed from a discrete value, requires an update. A continuous
// input that moved with a state does so when an indicator of the component changes its sign, or
// when the component has no indicators: it may compare the input with a level in its updates. A
// composite decides that for its own components.
static cpl_status needs_update(cpli_aggregate* a, const cpli_part* part, bool* needs) {
  const bool* jumping = a->plans[CPLI_PLAN_EVENT]->updates->jumping;
  bool moved = false;
  *needs = part->stale;
  for (int32_t i = part->first_input; i < part->first_input + part->n_inputs; i++) {
    if (!input_changed(a, i)) continue;
    if (jumping[i] || part->composite) *needs = true;
    else moved = true;
  }
  if (!moved || *needs) return CPL_OK;
  *needs = part->n_indicators == 0;
  return *needs ? CPL_OK : look_at_sides(a, part, needs);
}

cpl_status cpli_updates_open(cpli_aggregate* a, bool* open) {
  cpl_status st = CPL_OK;
  for (int32_t k = 0; k < a->n_parts && st >= 0; k++) {
    bool needs = false;
    st = needs_update(a, &a->parts[k], &needs);
    *open = *open || needs;
  }
  return st;
}

//------------------------------------ what is no number ------------------------------------

static cpl_status carry_string(const cpli_node* from, const cpli_node* to, cpl_component* source,
                               cpl_component* target, bool* changed) {
  const char *text = NULL, *old = NULL;
  cpl_status st = source->ops->get_string(source, &from->ref, 1, &text);
  if (st == CPL_OK) st = target->ops->get_string(target, &to->ref, 1, &old);
  if (st != CPL_OK || (old != NULL && text != NULL && strcmp(old, text) == 0)) return st;
  *changed = true;
  return target->ops->set_string(target, &to->ref, 1, &text);
}

static cpl_status carry_binary(const cpli_node* from, const cpli_node* to, cpl_component* source,
                               cpl_component* target, bool* changed) {
  cpl_binary bytes = {0}, old = {0};
  cpl_status st = source->ops->get_binary(source, &from->ref, 1, &bytes);
  if (st == CPL_OK) st = target->ops->get_binary(target, &to->ref, 1, &old);
  if (st != CPL_OK) return st;
  if (bytes.size == old.size && (old.size == 0 || memcmp(old.data, bytes.data, old.size) == 0)) {
    return CPL_OK;
  }
  *changed = true;
  return target->ops->set_binary(target, &to->ref, 1, &bytes);
}

static cpl_status carry_text(cpli_aggregate* a, const cpli_coupling_edge* l) {
  const cpli_node *to = &a->nodes[l->target], *from = &a->nodes[l->sources[0]];  // it is plain
  cpl_component *source = &a->parts[from->part].m->base, *target = &a->parts[to->part].m->base;
  bool* changed = &a->parts[to->part].stale;
  return final(a, to->type == CPL_STRING ? carry_string(from, to, source, target, changed)
                                         : carry_binary(from, to, source, target, changed));
}

cpl_status cpli_updates_carry_texts(cpli_aggregate* a) {
  cpl_status st = CPL_OK;
  for (int32_t i = 0; i < a->n_texts && st >= 0; i++) st = carry_text(a, &a->links[a->texts[i]]);
  return st;
}

//------------------------------------ updates ------------------------------------

static cpl_status update_part(cpli_aggregate* a, cpli_part* part, cpl_event_info* info) {
  cpl_event_info one = {.next_time = INFINITY};
  for (int32_t i = part->first_input; i < part->first_input + part->n_inputs; i++)
    a->seen[i] = a->value[i];
  cpl_status st = final(a, part->m->ops->event_update(part->m, &one));
  if (st < 0) return st;
  part->stale = false;
  part->due = one.again;
  part->touched = ++a->changes;
  part->next_time = one.next_time;
  info->again = info->again || one.again;
  if (one.terminate && !info->terminate) info->stop = one.stop;
  info->terminate = info->terminate || one.terminate;
  info->states_changed = info->states_changed || one.states_changed;
  info->nominals_changed = info->nominals_changed || one.nominals_changed;
  info->structure_changed = info->structure_changed || one.structure_changed;
  return one.structure_changed ? CPL_OK : note_sides(a, part);
}

static cpl_status update_due(cpli_aggregate* a, cpl_event_info* info) {
  cpl_status st = CPL_OK;
  for (int32_t k = 0; k < a->n_parts && st >= 0; k++) {
    if (a->parts[k].due) st = update_part(a, &a->parts[k], info);
  }
  return st;
}

static cpl_status update_changed(cpli_aggregate* a, cpli_part* part, cpl_event_info* info) {
  cpl_status st = CPL_OK;
  for (int32_t i = part->first_text; i < part->first_text + part->n_texts && st >= 0; i++)
    st = carry_text(a, &a->links[a->texts[i]]);
  bool needs = false;
  if (st >= 0) st = needs_update(a, part, &needs);
  return st >= 0 && needs ? update_part(a, part, info) : st;
}

//------------------------------------ values on the way ------------------------------------

static void note(cpli_aggregate* a, int32_t node) {
  if (cpli_values_differ(a->value[node], a->before[node])) a->changed_at[node] = ++a->changes;
}

static bool sources_changed(const cpli_aggregate* a, int32_t node, int64_t since) {
  const cpli_coupling_edge* l = &a->links[a->nodes[node].coupling];
  for (int32_t i = 0; i < l->n_sources; i++) {
    if (a->changed_at[l->sources[i]] > since) return true;
  }
  return false;
}

// Comparisons in a coupling follow its sources at once.
static cpl_status couple(cpli_aggregate* a, int32_t node, int64_t since) {
  if (!sources_changed(a, node, since)) return CPL_OK;
  cpli_coupling_edge* l = &a->links[a->nodes[node].coupling];
  const cpl_function* f = &l->def.function;
  cpl_status st = CPL_OK;
  a->before[node] = a->value[node];
  if (f->value != NULL && f->settle != NULL) {
    bool turned = false;
    cpli_gather(a, l->sources, l->n_sources, l->values);
    st = f->settle(f->user, a->t, l->values, &turned);
  }
  if (st == CPL_OK) st = cpli_coupling_value(a, l, &a->value[node]);
  if (st == CPL_OK) note(a, node);
  return st;
}

static bool loop_changed(const cpli_aggregate* a, const int32_t* nodes, int32_t n, int64_t since) {
  for (int32_t i = 0; i < n; i++) {
    const cpli_node* node = &a->nodes[nodes[i]];
    if (node->kind == CPLI_NODE_OUTPUT && a->parts[node->part].touched > since) return true;
    if (node->coupling >= 0 && sources_changed(a, nodes[i], since)) return true;
  }
  return false;
}

static cpl_status solve_loop(cpli_aggregate* a, const cpli_eval_op* op, int64_t since) {
  const cpli_eval_plan* p = a->plans[CPLI_PLAN_EVENT];
  int32_t block = cpli_loop_block(p->loops[op->first]);
  const int32_t* nodes = p->blocks->order + p->blocks->first[block];
  int32_t n = p->blocks->first[block + 1] - p->blocks->first[block];
  if (!loop_changed(a, nodes, n, since)) return CPL_OK;
  for (int32_t i = 0; i < n; i++) a->before[nodes[i]] = a->value[nodes[i]];
  cpl_status st = cpli_walk(a, p, op, 1);
  for (int32_t i = 0; i < n && st == CPL_OK; i++) {
    note(a, nodes[i]);
    if (a->nodes[nodes[i]].kind == CPLI_NODE_INPUT)
      a->parts[a->nodes[nodes[i]].part].touched = ++a->changes;
  }
  return st;
}

static cpl_status get(cpli_aggregate* a, const cpli_eval_plan* p, const cpli_eval_op* op,
                      int64_t since) {
  const int32_t* nodes = p->nodes + op->first;
  if (a->parts[op->part].touched <= since) return CPL_OK;
  for (int32_t i = 0; i < op->count; i++) a->before[nodes[i]] = a->value[nodes[i]];
  cpl_status st = cpli_walk(a, p, op, 1);
  for (int32_t i = 0; i < op->count && st == CPL_OK; i++) note(a, nodes[i]);
  return st;
}

static cpl_status set(cpli_aggregate* a, const cpli_eval_plan* p, const cpli_eval_op* op,
                      int64_t since) {
  const int32_t* nodes = p->nodes + op->first;
  bool changed = false;
  for (int32_t i = 0; i < op->count; i++) changed = changed || a->changed_at[nodes[i]] > since;
  if (!changed) return CPL_OK;
  a->parts[op->part].touched = ++a->changes;
  return cpli_walk(a, p, op, 1);
}

static cpl_status follow(cpli_aggregate* a, const cpli_eval_plan* p, const cpli_eval_op* op,
                         int64_t* done) {
  cpl_status st = CPL_OK;
  switch (op->kind) {
    case CPLI_OP_GET: st = get(a, p, op, *done); break;
    case CPLI_OP_SET: st = set(a, p, op, *done); break;
    case CPLI_OP_COUPLE:
      for (int32_t i = 0; i < op->count && st == CPL_OK; i++)
        st = couple(a, p->nodes[op->first + i], *done);
      break;
    case CPLI_OP_LOOP: st = solve_loop(a, op, *done); break;
  }
  *done = a->changes;
  return final(a, st);
}

static cpl_status follow_data_flow(cpli_aggregate* a, cpl_event_info* info) {
  cpli_updates* u = a->plans[CPLI_PLAN_EVENT]->updates;
  cpl_status st = CPL_OK;
  size_t op = 0;
  int32_t part = 0;
  for (size_t i = 0; i < u->n_steps && st >= 0; i++) {
    for (; op < u->steps[i].end_op && st >= 0; op++)
      st = follow(a, u->values, &u->values->ops[op], &u->done[op]);
    for (; part < u->steps[i].end_part && st >= 0; part++)
      st = update_changed(a, &a->parts[u->parts[part]], info);
    if (info->structure_changed) break;
  }
  return st;
}

cpl_status cpli_updates_round(cpli_aggregate* a, cpl_event_info* info) {
  cpli_updates* u = a->plans[CPLI_PLAN_EVENT]->updates;
  for (size_t i = 0; i < u->values->n_ops; i++)
    u->done[i] = a->changes;  // all values are up to date
  cpl_status st = update_due(a, info);
  if (st >= 0 && !info->structure_changed) st = follow_data_flow(a, info);
  if (info->structure_changed) cpli_updates_begin(a);
  return st;
}

//------------------------------------ no end ------------------------------------

cpl_status cpli_updates_endless(cpli_aggregate* a) {
  char names[512] = "";
  size_t used = 0;
  int named = 0;
  for (int32_t k = 0; k < a->n_parts; k++) {
    const cpli_part* part = &a->parts[k];
    for (int32_t i = part->first_input; i < part->first_input + part->n_inputs; i++) {
      if (!input_changed(a, i) || named++ >= MAX_NAMED || used >= sizeof names) continue;
      used += (size_t)snprintf(names + used, sizeof names - used, "%s%s (%.6g, then %.6g)",
                               used > 0 ? ", " : "", cpli_node_name(a, i), a->seen[i], a->value[i]);
    }
    if (!part->due || named++ >= MAX_NAMED || used >= sizeof names) continue;
    used += (size_t)snprintf(names + used, sizeof names - used, "%s%s asks for another update",
                             used > 0 ? ", " : "", part->m->base.name);
  }
  return cpl_fail_in(
      a->base.base.ctx, CPL_ERR_MODEL, a->name, NULL, a->t,
      "the event at t=%.12g does not settle: %d rounds of updates, and these go on: %s%s", a->t,
      a->rounds, names, named > MAX_NAMED ? ", and others" : "");
}
