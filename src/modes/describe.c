// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Makes the variables of the whole: its mode, parameters, inputs, observed variables, and the
// variables of every mode as "mode.variable". References are indices.
#include <math.h>

#include "model/description.h"
#include "model/units.h"
#include "modes/modes.h"

static int32_t moved(int32_t index, int32_t by) { return index < 0 ? index : index + by; }

static cpl_status add(cpli_modes_desc* m, cpl_variable v, cpli_seen seen) {
  cpl_description* d = &m->base.desc;
  int32_t i = d->n_vars;
  v.ref = (uint32_t)i;
  if (v.name == NULL) return cpli_nomem(m->base.ctx);
  int32_t there = cpli_names_add(&m->base.names, v.name, i);
  if (there == CPL_ERR_NOMEM) return cpli_nomem(m->base.ctx);
  if (there != i)
    return cpl_fail_in(m->base.ctx, CPL_ERR_INPUT, d->name, v.name, NAN,
                       "the name %s is used twice", v.name);
  ((cpl_variable*)d->vars)[i] = v;
  m->seen[i] = seen;
  d->n_vars++;
  return CPL_OK;
}

static cpl_status add_mode(cpli_modes_desc* m, const cpl_modes_def* def) {
  cpl_variable v = cpli_blank_variable;
  v.name = "mode";
  v.description = "the active mode";
  v.type = CPL_ENUMERATION;
  v.causality = CPL_CAUSALITY_OUTPUT;
  v.variability = CPL_VARIABILITY_DISCRETE;
  v.declared_type = 0;
  v.min = 1;
  v.max = def->n_modes;
  return add(m, v, (cpli_seen){.kind = CPLI_SEEN_MODE, .type = CPL_ENUMERATION});
}

// A shared name has one unit: otherwise a recorded curve would mix units.
static cpl_status check_units(cpli_modes_desc* m, const cpl_modes_def* def,
                              const cpl_description* const* descs, const cpl_mode_variable* from) {
  int32_t first = -1;
  for (int32_t k = 0; k < def->n_modes; k++) {
    const cpl_variable* v = from->vars[k] >= 0 ? &descs[k]->vars[from->vars[k]] : NULL;
    if (v == NULL || v->unit < 0) continue;
    if (first < 0) first = k;
    const cpl_unit* a = &descs[first]->units[descs[first]->vars[from->vars[first]].unit];
    const cpl_unit* b = &descs[k]->units[v->unit];
    double factor, offset;
    if (cpli_relate_units(a, b, v->relative_quantity, &factor, &offset) == CPLI_UNITS_SAME)
      continue;
    return cpl_fail_in(m->base.ctx, CPL_ERR_INPUT, def->name, from->name, NAN,
                       "%s is in %s in mode %s and in %s in mode %s: convert it there by an "
                       "expression",
                       from->name, a->name, def->modes[first].name, b->name, def->modes[k].name);
  }
  return CPL_OK;
}

// A shared variable has the attributes of the first mode that has it.
static cpl_status add_shared(cpli_modes_desc* m, const cpl_description* const* descs, int32_t n,
                             const cpl_mode_variable* from, cpli_seen seen,
                             const int32_t* first_unit) {
  cpl_variable v = cpli_blank_variable;
  uint8_t kind = seen.kind;
  for (int32_t k = n; k-- > 0;) {
    if (from->vars[k] < 0) continue;
    const cpl_variable* inner = &descs[k]->vars[from->vars[k]];
    v.description = cpli_arena_strdup(&m->base.arena, inner->description);
    if (inner->unit >= 0) v.unit = moved(inner->unit, first_unit[k]);
    v.relative_quantity = inner->relative_quantity;
    v.start = inner->start;
    v.has_start = kind != CPLI_SEEN_OBSERVED && inner->has_start;
    v.nominal = inner->nominal;
    v.structural = v.structural || inner->structural;
    v.initial = inner->initial;
    if (v.description == NULL) return cpli_nomem(m->base.ctx);
  }
  static const struct {
    uint8_t causality, variability;
  } roles[] = {[CPLI_SEEN_PARAMETER] = {CPL_CAUSALITY_PARAMETER, CPL_VARIABILITY_FIXED},
               [CPLI_SEEN_INPUT] = {CPL_CAUSALITY_INPUT, CPL_VARIABILITY_CONTINUOUS},
               [CPLI_SEEN_OBSERVED] = {CPL_CAUSALITY_OUTPUT, CPL_VARIABILITY_CONTINUOUS}};
  v.name = cpli_arena_strdup(&m->base.arena, from->name);
  v.causality = roles[kind].causality;
  v.variability = roles[kind].variability;
  return add(m, v, seen);
}

// Numbers are Reals here, so that they can be absent (NaN).
static cpl_status add_inner(cpli_modes_desc* m, const cpl_modes_def* def, int32_t k,
                            const cpl_description* from, int32_t unit, int32_t* at) {
  cpl_status st = CPL_OK;
  for (int32_t i = 0; i < from->n_vars && st >= 0; i++) {
    const cpl_variable* inner = &from->vars[i];
    int32_t found = cpl_find_variable(from, inner->name);
    bool hidden = found >= 0 && found != i;  // its name belongs to another variable
    at[i] = -1;
    if (inner->type > CPL_STRING || hidden) continue;
    cpl_variable v = *inner;
    v.name = cpli_shared_desc_join(&m->base, def->modes[k].name, inner->name);
    v.description = cpli_arena_strdup(&m->base.arena, inner->description);
    if (v.description == NULL) return cpli_nomem(m->base.ctx);
    v.type = inner->type == CPL_STRING ? CPL_STRING : CPL_REAL;
    v.causality = CPL_CAUSALITY_LOCAL;
    if (v.variability < CPL_VARIABILITY_DISCRETE)
      v.variability = CPL_VARIABILITY_DISCRETE;  // it is absent in other modes
    v.inner_output = false;
    v.mode_dependent = true;
    at[i] = m->base.desc.n_vars;
    v.unit = moved(inner->unit, unit);
    v.display_unit = moved(inner->display_unit, unit);
    v.declared_type = v.derivative_of = v.alias_of = -1;
    v.array = 0;
    v.start_text =
        inner->start_text != NULL ? cpli_arena_strdup(&m->base.arena, inner->start_text) : NULL;
    v.quantity = NULL;
    st = add(m, v, (cpli_seen){CPLI_SEEN_INNER, inner->type, k, inner->ref});
  }
  return st;
}

static cpl_status add_units(cpli_modes_desc* m, const cpl_description* from) {
  cpl_description* d = &m->base.desc;
  int32_t first = d->n_units;
  for (int32_t i = 0; i < from->n_units; i++) {
    cpl_unit u = from->units[i];
    u.name = cpli_arena_strdup(&m->base.arena, u.name);
    u.display_of = moved(u.display_of, first);
    if (u.name == NULL) return cpli_nomem(m->base.ctx);
    ((cpl_unit*)d->units)[d->n_units++] = u;
  }
  return CPL_OK;
}

static cpl_status add_type(cpli_modes_desc* m, const cpl_modes_def* def) {
  cpl_type_def* type = cpli_arena_alloc(&m->base.arena, 1, sizeof *type);
  cpl_enum_item* items = cpli_arena_alloc(&m->base.arena, (size_t)def->n_modes, sizeof *items);
  if (type == NULL || items == NULL) return cpli_nomem(m->base.ctx);
  for (int32_t k = 0; k < def->n_modes; k++)
    items[k] = (cpl_enum_item){cpli_arena_strdup(&m->base.arena, def->modes[k].name), "", k + 1};
  *type = (cpl_type_def){.name = "mode",
                         .quantity = "",
                         .type = CPL_ENUMERATION,
                         .items = items,
                         .n_items = def->n_modes};
  m->base.desc.types = type;
  m->base.desc.n_types = 1;
  return CPL_OK;
}

// Observed variables are assumed to depend on all inputs.
static cpl_status add_structure(cpli_modes_desc* m) {
  cpl_description* d = &m->base.desc;
  cpl_unknown* rows = cpli_arena_alloc(&m->base.arena, (size_t)d->n_vars, sizeof *rows);
  if (rows == NULL) return cpli_nomem(m->base.ctx);
  d->structure.outputs = rows;
  for (int32_t i = 0; i < d->n_vars; i++) {
    if (d->vars[i].causality == CPL_CAUSALITY_OUTPUT)
      rows[d->structure.n_outputs++] = (cpl_unknown){.var = i, .count = -1};
  }
  return CPL_OK;
}

// Allocates the index maps of the variables of each mode.
static cpl_status allocate_indices(cpli_modes_desc* m, int32_t n,
                                   const cpl_description* const* descs, int32_t*** at) {
  *at = cpli_arena_alloc(&m->base.arena, (size_t)n, sizeof **at);
  for (int32_t k = 0; k < n && *at != NULL; k++) {
    (*at)[k] = cpli_arena_alloc(&m->base.arena, (size_t)descs[k]->n_vars, sizeof ***at);
    if ((*at)[k] == NULL) return cpli_nomem(m->base.ctx);
  }
  return *at != NULL ? CPL_OK : cpli_nomem(m->base.ctx);
}

static cpl_status allocate(cpli_modes_desc* m, const cpl_modes_def* def,
                           const cpl_description* const* descs, int32_t** first_unit) {
  size_t vars = 1 + (size_t)def->n_observed + (size_t)def->n_inputs + (size_t)def->n_parameters;
  size_t units = 0;
  for (int32_t k = 0; k < def->n_modes; k++) {
    const cpl_description* d = descs[k];
    vars += (size_t)d->n_vars;
    units += (size_t)d->n_units;
  }
  m->base.desc.vars = cpli_arena_alloc(&m->base.arena, vars, sizeof *m->base.desc.vars);
  m->base.desc.units = cpli_arena_alloc(&m->base.arena, units, sizeof *m->base.desc.units);
  m->seen = cpli_arena_alloc(&m->base.arena, vars, sizeof *m->seen);
  *first_unit = cpli_arena_alloc(&m->base.arena, (size_t)def->n_modes, sizeof **first_unit);
  if (m->base.desc.vars == NULL || m->base.desc.units == NULL || m->seen == NULL ||
      *first_unit == NULL)
    return cpli_nomem(m->base.ctx);
  return cpli_names_init(&m->base.names, m->base.ctx, vars);
}

static cpl_status fill(cpli_modes_desc* m, const cpl_modes_def* def,
                       const cpl_description* const* descs) {
  int32_t *first_unit = NULL, **at = NULL;
  cpl_status st = allocate(m, def, descs, &first_unit);
  if (st >= 0) st = allocate_indices(m, def->n_modes, descs, &at);
  for (int32_t k = 0; k < def->n_modes && st >= 0; k++) {
    first_unit[k] = m->base.desc.n_units;
    st = add_units(m, descs[k]);
  }
  if (st >= 0) st = add_type(m, def);
  if (st >= 0) st = add_mode(m, def);
  const struct {
    cpli_seen_kind kind;
    const cpl_mode_variable* list;
    int32_t n;
  } lists[] = {{CPLI_SEEN_OBSERVED, def->observed, def->n_observed},
               {CPLI_SEEN_INPUT, def->inputs, def->n_inputs},
               {CPLI_SEEN_PARAMETER, def->parameters, def->n_parameters}};
  for (size_t l = 0; l < CPLI_COUNT(lists); l++) {
    for (int32_t i = 0; i < lists[l].n && st >= 0; i++) {
      cpli_seen seen = {.kind = (uint8_t)lists[l].kind, .mode = i};
      st = check_units(m, def, descs, &lists[l].list[i]);
      if (st >= 0) st = add_shared(m, descs, def->n_modes, &lists[l].list[i], seen, first_unit);
    }
  }
  for (int32_t k = 0; k < def->n_modes && st >= 0; k++)
    st = add_inner(m, def, k, descs[k], first_unit[k], at[k]);
  if (st >= 0) st = add_structure(m);
  return st < 0 ? st : cpli_modes_structures(m, def, descs, at);
}

cpl_status cpli_modes_describe(cpl_context* ctx, const cpl_modes_def* def,
                               const cpl_description* const* descs, cpli_modes_desc** out) {
  cpli_modes_desc* m = cpli_shared_desc_create(ctx, def->name, "modes", sizeof *m);
  cpl_status st = m == NULL ? cpli_nomem(ctx) : fill(m, def, descs);
  if (st >= 0) cpli_check_description(&((cpli_shared_desc*)m)->desc);
  if (st < 0) cpli_shared_desc_release((cpli_shared_desc*)m);
  *out = st < 0 ? NULL : m;
  return st;
}
