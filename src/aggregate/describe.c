// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The aggregate seen from outside: all variables of its components as "component.variable", then
// its signals. A reference is the index of the variable, and routes lead to the components.
#include <math.h>
#include <stdio.h>

#include "aggregate/aggregate.h"
#include "model/description.h"

static const char* copied(cpli_aggregate* a, const char* text, bool* fine) {
  const char* copy = text != NULL ? cpli_arena_strdup(&a->shared_desc->arena, text) : "";
  *fine = *fine && copy != NULL;
  return copy;
}

static bool coupled(const cpli_aggregate* a, int32_t part, int32_t var, const bool* is_target) {
  return is_target[a->parts[part].first_var + var];
}

// Inputs and outputs of components are internal; an input without coupling can be set.
static cpl_status add_part(cpli_aggregate* a, int32_t k, const cpli_desc_counts* at,
                           const bool* is_target) {
  const cpl_component* c = &a->parts[k].m->base;
  cpli_shared_desc* d = a->shared_desc;
  for (int32_t i = 0; i < c->desc->n_vars; i++) {
    cpl_variable v = cpli_shifted_variable(c->desc, i, at);
    v.name = cpli_shared_desc_join(d, c->name, v.name);
    if (v.name == NULL) return cpli_nomem(c->ctx);
    if (v.causality == CPL_CAUSALITY_INPUT && coupled(a, k, i, is_target))
      v.causality = CPL_CAUSALITY_LOCAL;
    if (v.causality == CPL_CAUSALITY_PARAMETER && coupled(a, k, i, is_target))
      v.causality = CPL_CAUSALITY_CALCULATED_PARAMETER, v.initial = CPL_INITIAL_CALCULATED;
    if (v.causality == CPL_CAUSALITY_OUTPUT)
      v.causality = CPL_CAUSALITY_LOCAL, v.inner_output = true;
    ((cpl_variable*)d->desc.vars)[v.ref] = v;
    d->routes[v.ref] = (cpl_route){k, c->desc->vars[i].ref};
    if (cpli_names_add(&d->names, v.name, (int32_t)v.ref) == CPL_ERR_NOMEM)
      return cpli_nomem(c->ctx);
  }
  return cpli_shared_desc_add(d, c->desc, c->name, at);
}

static bool has_unit(const cpl_signal* s) { return s->unit != NULL && s->unit[0] != '\0'; }

static cpl_status add_signals(cpli_aggregate* a, int32_t first, int32_t unit) {
  cpl_variable* vars = (cpl_variable*)a->desc->vars;
  for (int32_t i = 0; i < a->n_signals; i++) {
    bool fine = true;
    cpl_signal copy = a->signals[i];
    const cpl_signal* s = &copy;
    copy.name = copied(a, copy.name, &fine);
    copy.description = copied(a, copy.description, &fine);
    copy.unit = copied(a, copy.unit, &fine);
    if (!fine) return cpli_nomem(a->base.base.ctx);
    static const cpl_causality causality[] = {[CPL_SIGNAL_INNER] = CPL_CAUSALITY_LOCAL,
                                              [CPL_SIGNAL_INPUT] = CPL_CAUSALITY_INPUT,
                                              [CPL_SIGNAL_OUTPUT] = CPL_CAUSALITY_OUTPUT,
                                              [CPL_SIGNAL_PARAMETER] = CPL_CAUSALITY_PARAMETER};
    bool parameter = s->kind == CPL_SIGNAL_PARAMETER, input = s->kind == CPL_SIGNAL_INPUT;
    cpl_variable v = cpli_blank_variable;
    v.name = s->name;
    v.description = s->description;
    v.ref = (uint32_t)(first + i);
    v.causality = (uint8_t)causality[s->kind];
    v.variability = parameter     ? CPL_VARIABILITY_FIXED
                    : s->discrete ? CPL_VARIABILITY_DISCRETE
                                  : CPL_VARIABILITY_CONTINUOUS;
    v.initial = parameter ? CPL_INITIAL_EXACT : input ? CPL_INITIAL_NONE : CPL_INITIAL_CALCULATED;
    v.has_start = input || parameter;
    v.relative_quantity = s->relative_quantity;
    if (has_unit(s)) v.unit = unit;
    v.start = s->start;
    if (has_unit(s)) {
      cpl_unit* u = &((cpl_unit*)a->desc->units)[unit++];
      *u = s->meaning != NULL ? *s->meaning : (cpl_unit){.factor = 1};
      u->name = s->unit;
      u->display_of = -1;
    }
    vars[first + i] = v;
    a->shared_desc->routes[first + i] = (cpl_route){-1, (uint32_t)i};
    int32_t there = cpli_names_add(&a->shared_desc->names, v.name, first + i);
    if (there == CPL_ERR_NOMEM) return cpli_nomem(a->base.base.ctx);
    if (there != first + i) {
      return cpl_fail_in(a->base.base.ctx, CPL_ERR_INPUT, a->name, s->name, NAN,
                         "the name %s is used twice", s->name);
    }
  }
  return CPL_OK;
}

void cpli_aggregate_lay_out(cpli_aggregate* a) {
  int32_t vars = 0, states = 0, indicators = 0;
  for (int32_t k = 0; k < a->n_parts; k++) {
    cpli_part* part = &a->parts[k];
    const cpl_description* d = part->m->base.desc;
    part->first_var = vars;
    part->first_state = states;
    part->n_states = d->n_states;
    part->first_indicator = indicators;
    part->n_indicators = d->n_indicators;
    vars += d->n_vars;
    states += d->n_states;
    indicators += d->n_indicators;
  }
  a->n_part_vars = vars;
  a->n_states = states;
  a->n_part_indicators = indicators;
}

cpl_status cpli_aggregate_describe(cpli_aggregate* a) {
  cpl_context* ctx = a->base.base.ctx;
  cpl_description* d = a->desc;
  cpli_desc_counts n = {0}, at = {0};
  for (int32_t k = 0; k < a->n_parts; k++) {
    n = cpli_desc_counts_add(n, a->parts[k].m->base.desc);
    d->n_indicators += a->parts[k].m->base.desc->n_indicators;
  }
  d->n_indicators += a->n_link_indicators;
  n.vars += a->n_signals;
  for (int32_t i = 0; i < a->n_signals; i++) n.units += has_unit(&a->signals[i]);
  bool* is_target = cpli_alloc(ctx, (size_t)n.vars, sizeof *is_target);
  cpl_status st =
      is_target != NULL ? cpli_shared_desc_reserve(a->shared_desc, &n) : cpli_nomem(ctx);
  for (int32_t i = 0; i < a->n_nodes && st >= 0; i++) {
    const cpli_node* node = &a->nodes[i];
    if (node->kind == CPLI_NODE_INPUT) is_target[a->parts[node->part].first_var + node->var] = true;
  }
  for (int32_t k = 0; k < a->n_parts && st >= 0; k++) {
    st = add_part(a, k, &at, is_target);
    at = cpli_desc_counts_add(at, a->parts[k].m->base.desc);
  }
  if (st >= 0) st = add_signals(a, at.vars, at.units);
  if (st >= 0) st = cpli_aggregate_structure(a);
  cpli_free(ctx, is_target);
  if (st >= 0) cpli_check_description(d);
  return st;
}

void cpl_init_aggregate_def(cpl_aggregate_def* def, size_t size) {
  const cpl_aggregate_def all = {.name = "aggregate"};
  cpli_init_def(def, size, &all, sizeof all);
}
