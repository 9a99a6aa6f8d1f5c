// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The aggregate seen from outside: all variables of its components as "component.variable", then
// its signals. A reference is the index of the variable, so that get and set need no search.
#include <math.h>
#include <stdio.h>

#include "aggregate/aggregate.h"

static const char* copied(cpli_aggregate* a, const char* text, bool* fine) {
  const char* copy = text != NULL ? cpli_arena_strdup(&a->box->arena, text) : "";
  *fine = *fine && copy != NULL;
  return copy;
}

static const char* joined(cpli_aggregate* a, const char* part, const char* name) {
  size_t n = strlen(part), m = strlen(name);
  char* text = cpli_arena_alloc(&a->box->arena, n + m + 2, 1);
  if (text == NULL) return NULL;
  memcpy(text, part, n);
  text[n] = '.';
  memcpy(text + n + 1, name, m + 1);
  return text;
}

// An index of the component's description, shifted to the aggregate's; "none" stays.
static int32_t moved(int32_t index, int32_t by) { return index < 0 ? index : index + by; }

static bool coupled(const cpli_aggregate* a, int32_t part, int32_t var, const bool* is_target) {
  return is_target[a->parts[part].first_var + var];
}

static cpl_status add_part(cpli_aggregate* a, int32_t k, int32_t unit, int32_t type,
                           const bool* is_target) {
  const cpl_description* d = a->parts[k].m->base.desc;
  cpl_variable* vars = (cpl_variable*)a->desc->vars;
  int32_t first = a->parts[k].first_var;
  for (int32_t i = 0; i < d->n_vars; i++) {
    cpl_variable v = d->vars[i];
    v.name = joined(a, a->parts[k].m->base.name, v.name);
    if (v.name == NULL) return cpli_nomem(a->base.base.ctx);
    v.ref = (uint32_t)(first + i);
    v.unit = moved(v.unit, unit);
    v.display_unit = moved(v.display_unit, unit);
    v.declared_type = moved(v.declared_type, type);
    v.derivative_of = moved(v.derivative_of, first);
    v.alias_of = moved(v.alias_of, first);
    // inputs and outputs of components are internal; an input without coupling can be set
    if (v.causality == CPL_CAUSALITY_INPUT && coupled(a, k, i, is_target))
      v.causality = CPL_CAUSALITY_LOCAL;
    if (v.causality == CPL_CAUSALITY_PARAMETER && coupled(a, k, i, is_target))
      v.causality = CPL_CAUSALITY_CALCULATED_PARAMETER, v.initial = CPL_INITIAL_CALCULATED;
    if (v.causality == CPL_CAUSALITY_OUTPUT)
      v.causality = CPL_CAUSALITY_LOCAL, v.inner_output = true;
    vars[first + i] = v;
    if (cpli_names_add(&a->box->names, v.name, first + i) == CPL_ERR_NOMEM)
      return cpli_nomem(a->base.base.ctx);
  }
  cpl_unit* units = (cpl_unit*)a->desc->units;
  for (int32_t i = 0; i < d->n_units; i++) {
    units[unit + i] = d->units[i];
    units[unit + i].display_of = moved(d->units[i].display_of, unit);
  }
  cpl_type_def* types = (cpl_type_def*)a->desc->types;
  for (int32_t i = 0; i < d->n_types; i++) types[type + i] = d->types[i];
  for (int32_t i = 0; i < d->n_states; i++) {
    int32_t at = a->parts[k].first_state + i;
    ((int32_t*)a->desc->states)[at] = moved(d->states[i], first);
    ((int32_t*)a->desc->derivatives)[at] = moved(d->derivatives[i], first);
  }
  return CPL_OK;
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
    cpl_variable v = {.name = s->name,
                      .description = s->description,
                      .ref = (uint32_t)(first + i),
                      .type = CPL_REAL,
                      .causality = (uint8_t)causality[s->kind],
                      .variability = parameter     ? CPL_VARIABILITY_FIXED
                                     : s->discrete ? CPL_VARIABILITY_DISCRETE
                                                   : CPL_VARIABILITY_CONTINUOUS,
                      .initial = parameter ? CPL_INITIAL_EXACT
                                 : input   ? CPL_INITIAL_NONE
                                           : CPL_INITIAL_CALCULATED,
                      .has_start = input || parameter,
                      .can_set_several_times = true,
                      .relative_quantity = s->relative_quantity,
                      .unit = has_unit(s) ? unit : -1,
                      .display_unit = -1,
                      .declared_type = -1,
                      .derivative_of = -1,
                      .alias_of = -1,
                      .start = s->start,
                      .min = -INFINITY,
                      .max = INFINITY,
                      .nominal = 1};
    if (has_unit(s)) {
      cpl_unit* u = &((cpl_unit*)a->desc->units)[unit++];
      *u = s->meaning != NULL ? *s->meaning : (cpl_unit){.factor = 1};
      u->name = s->unit;
      u->display_of = -1;
    }
    vars[first + i] = v;
    int32_t there = cpli_names_add(&a->box->names, v.name, first + i);
    if (there == CPL_ERR_NOMEM) return cpli_nomem(a->base.base.ctx);
    if (there != first + i) {
      return cpl_fail(a->base.base.ctx, CPL_ERR_INPUT, "%s: the name %s is used twice", a->name,
                      s->name);
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

cpli_shared_desc* cpli_shared_desc_retain(cpl_model* aggregate) {
  cpli_shared_desc* box = ((cpli_aggregate*)aggregate)->box;
  box->holders++;
  return box;
}

void cpli_shared_desc_release(cpli_shared_desc* box) {
  if (box == NULL || --box->holders > 0) return;
  cpli_names_free(&box->names);
  cpli_arena_free(&box->arena);
  cpli_free(box->ctx, box);
}

cpl_status cpli_aggregate_describe(cpli_aggregate* a) {
  cpl_context* ctx = a->base.base.ctx;
  cpl_description* d = a->desc;
  int32_t n_vars = 0, n_units = 0, n_types = 0;
  for (int32_t i = 0; i < a->n_signals; i++) n_units += has_unit(&a->signals[i]);
  *d = (cpl_description){.name = cpli_arena_strdup(&a->box->arena, a->name),
                         .kind = "aggregate",
                         .description = "",
                         .author = "",
                         .version = "",
                         .copyright = "",
                         .license = "",
                         .tool = "couplet " CPL_VERSION,
                         .date = "",
                         .names = &a->box->names};
  for (int32_t k = 0; k < a->n_parts; k++) {
    const cpl_description* p = a->parts[k].m->base.desc;
    n_vars += p->n_vars;
    n_units += p->n_units;
    n_types += p->n_types;
    d->n_states += p->n_states;
    d->n_indicators += p->n_indicators;
  }
  d->n_indicators += a->n_link_indicators;
  d->n_vars = n_vars + a->n_signals;
  d->n_units = n_units;
  d->n_types = n_types;
  d->vars = cpli_arena_alloc(&a->box->arena, (size_t)d->n_vars, sizeof *d->vars);
  d->units = cpli_arena_alloc(&a->box->arena, (size_t)n_units, sizeof *d->units);
  d->types = cpli_arena_alloc(&a->box->arena, (size_t)n_types, sizeof *d->types);
  d->states = cpli_arena_alloc(&a->box->arena, (size_t)d->n_states, sizeof *d->states);
  d->derivatives = cpli_arena_alloc(&a->box->arena, (size_t)d->n_states, sizeof *d->derivatives);
  bool* is_target = cpli_alloc(ctx, (size_t)d->n_vars, sizeof *is_target);
  cpl_status st = d->name != NULL && d->vars != NULL && d->units != NULL && d->types != NULL &&
                          d->states != NULL && d->derivatives != NULL && is_target != NULL
                      ? CPL_OK
                      : cpli_nomem(ctx);
  if (st >= 0) st = cpli_names_init(&a->box->names, ctx, (size_t)d->n_vars);
  for (int32_t i = 0; i < a->n_nodes && st >= 0; i++) {
    const cpli_node* node = &a->nodes[i];
    if (node->kind == CPLI_NODE_INPUT) is_target[a->parts[node->part].first_var + node->var] = true;
  }
  int32_t unit = 0, type = 0;
  for (int32_t k = 0; k < a->n_parts && st >= 0; k++) {
    st = add_part(a, k, unit, type, is_target);
    unit += a->parts[k].m->base.desc->n_units;
    type += a->parts[k].m->base.desc->n_types;
  }
  if (st >= 0) st = add_signals(a, n_vars, unit);
  if (st >= 0) st = cpli_aggregate_structure(a);
  cpli_free(ctx, is_target);
  return st;
}
