// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Reports of a master: counters, links, the order of its calls, the names of its options.
#include <assert.h>

#include "master/master.h"
#include "model/inspect.h"

const char cpli_master_kind[] = "master";
static const char* const algorithms[] = {"determinate", "jacobi", "gauss-seidel", "iterative"};
static_assert(CPLI_COUNT(algorithms) == CPL_MASTER_ITERATIVE + 1, "each algorithm has a name");

static void count(cpl_inspection* out, const char* name, int64_t value) {
  cpl_inspection_add(out, (cpl_counter){.name = name, .unit = "", .value = (double)value});
}

cpl_status cpli_master_inspect(const cpl_component* c, int32_t child, cpl_inspection* out) {
  static const char* const roles[] = {
      [CPLI_ROLLS_BACK] = "rolls back", [CPLI_LEGACY] = "legacy", [CPLI_PREDICTS] = "predicts"};
  const cpli_master* m = (const cpli_master*)c;
  out->n_children = m->n_parts;
  if (child >= m->n_parts) return CPL_OK;
  if (child < 0) {
    out->self = (void*)m;
    out->role = algorithms[m->def.algorithm];
    count(out, "communication_steps", m->n_steps);
    count(out, "repeated_steps", m->n_repeated);
    count(out, "loop_iterations", m->n_iterations);
    count(out, "events", m->n_events);
    return CPL_OK;
  }
  const cpli_master_part* p = &m->parts[child];
  cpli_inspection_child(out, &p->s->base);
  out->role = roles[p->kind];
  count(out, "steps", p->n_steps);
  count(out, "rejected", p->n_rejected);
  count(out, "rollbacks", p->n_rollbacks);
  count(out, "updates", p->n_updates);
  return CPL_OK;
}

double cpl_master_step_size(const cpl_stepper* s) {
  const cpli_master* m = cpli_as_master(s);
  return m != NULL ? m->def.step : 0;
}

int32_t cpl_master_count(const cpl_stepper* s) {
  const cpli_master* m = cpli_as_master(s);
  return m != NULL ? m->n_parts : 0;
}

cpl_stepper* cpl_master_part_at(const cpl_stepper* s, int32_t i) {
  const cpli_master* m = cpli_as_master(s);
  return m != NULL && i >= 0 && i < m->n_parts ? m->parts[i].s : NULL;
}

size_t cpl_master_facts(const cpl_stepper* s, cpl_master_fact kind, const char** out, size_t n) {
  const cpli_master* m = cpli_as_master(s);
  if (m == NULL) return 0;
  for (size_t i = 0; i < n && i < m->n_facts[kind]; i++) out[i] = m->facts[kind][i];
  return m->n_facts[kind];
}

void cpl_master_get_settings(const cpl_stepper* s, cpl_master_def* out) {
  const cpli_master* m = cpli_as_master(s);
  if (m == NULL) return;
  cpl_master_def def = m->def;
  def.name = s->base.name;
  def.parts = NULL, def.links = NULL, def.bonds = NULL;
  cpli_init_def(out, out->size, &def, sizeof def);
}

int32_t cpl_master_link_count(const cpl_stepper* s) {
  const cpli_master* m = cpli_as_master(s);
  return m != NULL ? m->n_links : 0;
}

// Whether a link is a tearing variable of a loop in the step.
static bool is_torn(const cpli_master* m, int32_t link) {
  const cpli_step_plan* plan = &m->plans[CPLI_PLAN_STEP];
  for (int32_t i = 0; i < plan->n_ops; i++) {
    const cpli_step_op* op = &plan->ops[i];
    for (int32_t k = 0; op->kind == CPLI_OP_LOOP && k < op->n_torn; k++) {
      if (plan->items[op->torn + k] == link) return true;
    }
  }
  return false;
}

cpl_master_link_info cpl_master_link_at(const cpl_stepper* s, int32_t i) {
  const cpli_master* m = cpli_as_master(s);
  if (m == NULL || i < 0 || i >= m->n_links) return (cpl_master_link_info){-1, -1, "", "", 1, 0};
  const cpli_master_link* l = &m->links[i];
  const cpli_out* o = &m->outs[l->out];
  bool lags = m->def.algorithm == CPL_MASTER_JACOBI && l->feeds && !m->parts[l->part].follows;
  return (cpl_master_link_info){.source_part = o->part,
                                .target_part = l->part,
                                .source = m->parts[o->part].s->base.desc->vars[o->var].name,
                                .target = m->parts[l->part].s->base.desc->vars[l->var].name,
                                .factor = l->factor,
                                .offset = l->offset,
                                .delayed = l->delayed || lags,
                                .iterated = is_torn(m, i)};
}

int32_t cpl_master_call_count(const cpl_stepper* s) {
  const cpli_master* m = cpli_as_master(s);
  return m != NULL ? m->plans[CPLI_PLAN_STEP].n_ops : 0;
}

cpl_master_call cpl_master_call_at(const cpl_stepper* s, int32_t i) {
  static const char* const kinds[] = {"step", "get", "set", "loop"};
  static_assert(CPLI_COUNT(kinds) == CPLI_OP_LOOP + 1, "each kind of operation has a name");
  if (i < 0 || i >= cpl_master_call_count(s)) return (cpl_master_call){"", 0, -1, 0};
  const cpli_step_op* op = &cpli_as_master(s)->plans[CPLI_PLAN_STEP].ops[i];
  return (cpl_master_call){.kind = kinds[op->kind],
                           .level = op->level,
                           .part = op->kind == CPLI_OP_LOOP ? -1 : op->part,
                           .n = op->n};
}

//------------------------------------ names ------------------------------------

bool cpl_master_algorithm_by_name(const char* name, cpl_master_algorithm* out) {
  int32_t i = cpli_find_text(algorithms, CPLI_COUNT(algorithms), name);
  if (i >= 0) *out = (cpl_master_algorithm)i;
  return i >= 0;
}

const char* cpl_master_algorithm_name(cpl_master_algorithm algorithm) {
  return algorithms[algorithm];
}

static const char* const loop_names[] = {"auto", "iterate", "delay", "error"};
static_assert(CPLI_COUNT(loop_names) == CPL_LOOP_ERROR + 1, "each treatment of loops has a name");

bool cpl_on_loop_by_name(const char* name, cpl_on_loop* out) {
  int32_t i = cpli_find_text(loop_names, CPLI_COUNT(loop_names), name);
  if (i >= 0) *out = (cpl_on_loop)i;
  return i >= 0;
}

const char* cpl_on_loop_name(cpl_on_loop on_loop) { return loop_names[on_loop]; }

static const char* const estimates[] = {"predictor", "richardson", "energy"};
static_assert(CPLI_COUNT(estimates) == CPL_ESTIMATE_ENERGY + 1, "each estimate has a name");

bool cpl_step_estimate_by_name(const char* name, cpl_step_estimate* out) {
  int32_t i = cpli_find_text(estimates, CPLI_COUNT(estimates), name);
  if (i >= 0) *out = (cpl_step_estimate)i;
  return i >= 0;
}

const char* cpl_step_estimate_name(cpl_step_estimate estimate) { return estimates[estimate]; }
