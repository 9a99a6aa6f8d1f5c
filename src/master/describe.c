// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The description of the whole: the variables of all parts under their names. References are
// indices into it.
#include "master/master.h"

static bool allocate(cpli_master* m) {
  cpl_description* d = &m->desc;
  for (int32_t i = 0; i < m->n_parts; i++) {
    const cpl_description* p = m->parts[i].s->base.desc;
    d->n_vars += p->n_vars;
    d->n_units += p->n_units;
    d->n_types += p->n_types;
    d->n_states += p->n_states;
  }
  cpli_arena* a = &m->arena;
  d->vars = cpli_arena_alloc(a, (size_t)d->n_vars, sizeof *d->vars);
  d->units = cpli_arena_alloc(a, (size_t)d->n_units, sizeof *d->units);
  d->types = cpli_arena_alloc(a, (size_t)d->n_types, sizeof *d->types);
  d->states = cpli_arena_alloc(a, 2 * (size_t)d->n_states, sizeof *d->states);
  m->part_of_var = cpli_arena_alloc(a, (size_t)d->n_vars, sizeof *m->part_of_var);
  m->ref_of_var = cpli_arena_alloc(a, (size_t)d->n_vars, sizeof *m->ref_of_var);
  return d->vars != NULL && d->units != NULL && d->types != NULL && d->states != NULL &&
         m->part_of_var != NULL && m->ref_of_var != NULL;
}

static const char* name_of(cpli_master* m, const cpli_master_part* p, const char* name) {
  if (p->plain) return cpli_arena_strdup(&m->arena, name);
  size_t size = strlen(p->s->base.name) + strlen(name) + 2;
  char* text = cpli_arena_alloc(&m->arena, size, 1);
  if (text != NULL) {
    memcpy(text, p->s->base.name, strlen(p->s->base.name));
    text[strlen(p->s->base.name)] = '.';
    memcpy(text + strlen(p->s->base.name) + 1, name, strlen(name));
  }
  return text;
}

typedef struct offsets {
  int32_t vars, units, types, states;
} offsets;

static int32_t shifted(int32_t index, int32_t by) { return index >= 0 ? index + by : index; }

// What is an input or output of a part is inside of the whole, except for the part whose variables
// are those of the whole.
static cpl_variable variable_of(const cpli_master_part* p, int32_t var, const offsets* at) {
  cpl_variable v = p->s->base.desc->vars[var];
  v.ref = (uint32_t)(at->vars + var);
  v.unit = shifted(v.unit, at->units);
  v.display_unit = shifted(v.display_unit, at->units);
  v.declared_type = shifted(v.declared_type, at->types);
  v.derivative_of = shifted(v.derivative_of, at->vars);
  v.alias_of = shifted(v.alias_of, at->vars);
  v.array = 0;
  v.inner_output = v.inner_output || v.causality == CPL_OUTPUT;
  if (!p->plain && v.causality == CPL_OUTPUT) v.causality = CPL_LOCAL;
  return v;
}

static cpl_status add_part(cpli_master* m, int32_t part, const offsets* at) {
  cpli_master_part* p = &m->parts[part];
  const cpl_description* from = p->s->base.desc;
  cpl_description* d = &m->desc;
  p->first_var = at->vars;
  for (int32_t i = 0; i < from->n_vars; i++) {
    cpl_variable v = variable_of(p, i, at);
    v.name = name_of(m, p, from->vars[i].name);
    int32_t there =
        v.name == NULL ? CPL_ERR_NOMEM : cpli_names_add(&m->names, v.name, at->vars + i);
    if (there == CPL_ERR_NOMEM) return cpli_nomem(m->base.base.ctx);
    if (there != at->vars + i && !p->plain) {
      return cpl_fail(m->base.base.ctx, CPL_ERR_INPUT, "%s: the name %s is used twice", m->name,
                      v.name);
    }
    if (there != at->vars + i)
      v = (cpl_variable){.name = v.name,  // another one carries the name
                         .description = "",
                         .ref = v.ref,
                         .type = v.type,
                         .causality = CPL_LOCAL,
                         .variability = v.variability,
                         .unit = -1,
                         .display_unit = -1,
                         .declared_type = -1,
                         .derivative_of = -1,
                         .alias_of = there,
                         .min = v.min,
                         .max = v.max,
                         .nominal = v.nominal};
    ((cpl_variable*)d->vars)[at->vars + i] = v;
    m->part_of_var[at->vars + i] = part;
    m->ref_of_var[at->vars + i] = from->vars[i].ref;
  }
  for (int32_t l = p->first_link; l < p->first_link + p->n_links; l++)
    ((cpl_variable*)d->vars)[at->vars + m->links[l].var].causality = CPL_LOCAL;
  for (int32_t i = 0; i < from->n_units; i++) {
    cpl_unit u = from->units[i];
    u.display_of = shifted(u.display_of, at->units);
    ((cpl_unit*)d->units)[at->units + i] = u;
  }
  for (int32_t i = 0; i < from->n_types; i++)
    ((cpl_type_def*)d->types)[at->types + i] = from->types[i];
  int32_t *states = (int32_t*)d->states, *derivatives = states + d->n_states;
  for (int32_t i = 0; i < from->n_states; i++) {
    states[at->states + i] = shifted(from->states[i], at->vars);
    derivatives[at->states + i] = shifted(from->derivatives[i], at->vars);
  }
  return CPL_OK;
}

// Outputs of the whole may depend on all its inputs.
static cpl_status add_structure(cpli_master* m) {
  cpl_description* d = &m->desc;
  int32_t n = 0;
  for (int32_t i = 0; i < d->n_vars; i++) n += d->vars[i].causality == CPL_OUTPUT;
  cpl_unknown* rows = cpli_arena_alloc(&m->arena, (size_t)n, sizeof *rows);
  if (rows == NULL) return cpli_nomem(m->base.base.ctx);
  d->structure = (cpl_structure){.outputs = rows};
  for (int32_t i = 0; i < d->n_vars; i++) {
    if (d->vars[i].causality == CPL_OUTPUT)
      rows[d->structure.n_outputs++] = (cpl_unknown){.var = i, .count = -1};
  }
  return CPL_OK;
}

cpl_status cpli_master_describe(cpli_master* m) {
  m->desc = (cpl_description){.name = m->name,
                              .kind = "master",
                              .description = "",
                              .author = "",
                              .version = "",
                              .copyright = "",
                              .license = "",
                              .tool = "couplet " CPL_VERSION,
                              .date = "",
                              .names = &m->names};
  if (!allocate(m)) return cpli_nomem(m->base.base.ctx);
  cpl_status st = cpli_names_init(&m->names, m->base.base.ctx, (size_t)m->desc.n_vars);
  offsets at = {0};
  // parts with prefixes first: a variable without one gives way to them
  int32_t* order = cpli_alloc(m->base.base.ctx, (size_t)m->n_parts, sizeof *order);
  if (order == NULL) return cpli_nomem(m->base.base.ctx);
  int32_t n = 0;
  for (int plain = 0; plain < 2; plain++) {
    for (int32_t i = 0; i < m->n_parts; i++) {
      if (m->parts[i].plain == (plain == 1)) order[n++] = i;
    }
  }
  for (int32_t k = 0; k < n && st >= 0; k++) {
    const cpl_description* d = m->parts[order[k]].s->base.desc;
    st = add_part(m, order[k], &at);
    at = (offsets){at.vars + d->n_vars, at.units + d->n_units, at.types + d->n_types,
                   at.states + d->n_states};
  }
  m->desc.derivatives = m->desc.states + m->desc.n_states;
  cpli_free(m->base.base.ctx, order);
  return st < 0 ? st : add_structure(m);
}
