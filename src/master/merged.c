// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The variables, units, types and states of the parts are copied one part after the other, with
// shifted indices. Parts whose names are prefixes come first, so that a variable without a prefix
// is hidden where its name is taken. The description has a reference count.
#include "master/merged.h"

typedef struct offsets {
  int32_t vars, units, types, states;
} offsets;

static offsets after(offsets at, const cpl_description* d) {
  return (offsets){at.vars + d->n_vars, at.units + d->n_units, at.types + d->n_types,
                   at.states + d->n_states};
}

static bool allocate(cpli_merged* m, const offsets* n) {
  cpl_description* d = &m->desc;
  cpli_arena* a = &m->arena;
  d->n_vars = n->vars;
  d->n_units = n->units;
  d->n_types = n->types;
  d->n_states = n->states;
  d->vars = cpli_arena_alloc(a, (size_t)n->vars, sizeof *d->vars);
  d->units = cpli_arena_alloc(a, (size_t)n->units, sizeof *d->units);
  d->types = cpli_arena_alloc(a, (size_t)n->types, sizeof *d->types);
  d->states = cpli_arena_alloc(a, (size_t)n->states, sizeof *d->states);
  d->derivatives = cpli_arena_alloc(a, (size_t)n->states, sizeof *d->derivatives);
  m->part_of_var = cpli_arena_alloc(a, (size_t)n->vars, sizeof *m->part_of_var);
  m->ref_of_var = cpli_arena_alloc(a, (size_t)n->vars, sizeof *m->ref_of_var);
  return d->vars != NULL && d->units != NULL && d->types != NULL && d->states != NULL &&
         d->derivatives != NULL && m->part_of_var != NULL && m->ref_of_var != NULL;
}

static const char* name_of(cpli_merged* m, const cpli_merge_part* p, const char* name) {
  if (p->plain) return cpli_arena_strdup(&m->arena, name);
  size_t prefix = strlen(p->name), rest = strlen(name);
  char* text = cpli_arena_alloc(&m->arena, prefix + rest + 2, 1);
  if (text == NULL) return NULL;
  memcpy(text, p->name, prefix);
  text[prefix] = '.';
  memcpy(text + prefix + 1, name, rest);
  return text;
}

static int32_t shifted(int32_t index, int32_t by) { return index >= 0 ? index + by : index; }

// An output of a part is local to the whole, except for the part whose variables are those of the
// whole.
static cpl_variable variable_of(const cpli_merge_part* p, int32_t var, const offsets* at) {
  cpl_variable v = p->desc->vars[var];
  v.ref = (uint32_t)(at->vars + var);
  v.unit = shifted(v.unit, at->units);
  v.display_unit = shifted(v.display_unit, at->units);
  v.declared_type = shifted(v.declared_type, at->types);
  v.derivative_of = shifted(v.derivative_of, at->vars);
  v.alias_of = shifted(v.alias_of, at->vars);
  v.array = 0;
  v.inner_output = v.inner_output || (!p->plain && v.causality == CPL_CAUSALITY_OUTPUT);
  if (!p->plain && v.causality == CPL_CAUSALITY_OUTPUT) v.causality = CPL_CAUSALITY_LOCAL;
  return v;
}

static void hide(cpl_variable* v, int32_t behind) {
  v->causality = CPL_CAUSALITY_LOCAL;
  v->inner_output = v->has_start = false;
  v->alias_of = behind;
}

static cpl_status add_variables(cpli_merged* m, const cpli_merge_part* p, int32_t part,
                                const offsets* at) {
  cpl_variable* vars = (cpl_variable*)m->desc.vars;
  for (int32_t i = 0; i < p->desc->n_vars; i++) {
    int32_t own = at->vars + i;
    cpl_variable v = variable_of(p, i, at);
    v.name = name_of(m, p, p->desc->vars[i].name);
    int32_t named = cpl_find_variable(p->desc, p->desc->vars[i].name);
    bool hidden = named >= 0 && named != i;  // in the part already
    int32_t there = v.name == NULL ? CPL_ERR_NOMEM
                    : hidden       ? at->vars + named
                                   : cpli_names_add(&m->names, v.name, own);
    if (there == CPL_ERR_NOMEM) return cpli_nomem(m->ctx);
    if (there != own && !p->plain && !hidden)
      return cpl_fail(m->ctx, CPL_ERR_INPUT, "%s: the name %s is used twice", m->desc.name, v.name);
    if (there != own) hide(&v, there);
    vars[own] = v;
    m->part_of_var[own] = part;
    m->ref_of_var[own] = p->desc->vars[i].ref;
  }
  return CPL_OK;
}

static void add_rest(cpli_merged* m, const cpl_description* from, const offsets* at) {
  cpl_description* d = &m->desc;
  d->n_indicators += from->n_indicators;
  for (int32_t i = 0; i < from->n_units; i++) {
    cpl_unit u = from->units[i];
    u.display_of = shifted(u.display_of, at->units);
    ((cpl_unit*)d->units)[at->units + i] = u;
  }
  for (int32_t i = 0; i < from->n_types; i++)
    ((cpl_type_def*)d->types)[at->types + i] = from->types[i];
  for (int32_t i = 0; i < from->n_states; i++) {
    ((int32_t*)d->states)[at->states + i] = shifted(from->states[i], at->vars);
    ((int32_t*)d->derivatives)[at->states + i] = shifted(from->derivatives[i], at->vars);
  }
}

// Until cpli_merged_reach(), outputs of the whole may depend on all its inputs.
static cpl_status add_structure(cpli_merged* m) {
  cpl_description* d = &m->desc;
  int32_t n = 0;
  for (int32_t i = 0; i < d->n_vars; i++) n += d->vars[i].causality == CPL_CAUSALITY_OUTPUT;
  cpl_unknown* rows = cpli_arena_alloc(&m->arena, (size_t)n, sizeof *rows);
  if (rows == NULL) return cpli_nomem(m->ctx);
  d->structure = (cpl_structure){.outputs = rows};
  for (int32_t i = 0; i < d->n_vars; i++) {
    if (d->vars[i].causality == CPL_CAUSALITY_OUTPUT)
      rows[d->structure.n_outputs++] = (cpl_unknown){.var = i, .count = -1};
  }
  return CPL_OK;
}

static cpl_status fill(cpli_merged* m, const cpli_merge_part* parts, int32_t n_parts,
                       const cpl_master_link* links, int32_t n_links, int32_t* first) {
  offsets at = {0};
  cpl_status st = CPL_OK;
  for (int32_t i = 0; i < n_parts; i++) at = after(at, parts[i].desc);
  if (!allocate(m, &at)) return cpli_nomem(m->ctx);
  st = cpli_names_init(&m->names, m->ctx, (size_t)m->desc.n_vars);
  at = (offsets){0};
  // prefixed names first: they take precedence over names without a prefix
  for (int plain = 0; plain < 2; plain++) {
    for (int32_t i = 0; i < n_parts && st >= 0; i++) {
      if (parts[i].plain != (plain == 1)) continue;
      first[i] = at.vars;
      st = add_variables(m, &parts[i], i, &at);
      add_rest(m, parts[i].desc, &at);
      at = after(at, parts[i].desc);
    }
  }
  for (int32_t i = 0; i < n_links && st >= 0; i++) {
    cpl_variable* v =
        &((cpl_variable*)m->desc.vars)[first[links[i].target_part] + links[i].target_var];
    bool parameter = v->causality == CPL_CAUSALITY_PARAMETER;
    v->causality = parameter ? CPL_CAUSALITY_CALCULATED_PARAMETER : CPL_CAUSALITY_LOCAL;
    if (parameter) v->initial = CPL_INITIAL_CALCULATED;
  }
  if (st >= 0) st = add_structure(m);
  return st < 0 ? st : cpli_merged_reach(m, parts, n_parts, first, links, n_links);
}

cpl_status cpli_merge(cpl_context* ctx, const char* name, const cpli_merge_part* parts,
                      int32_t n_parts, const cpl_master_link* links, int32_t n_links,
                      cpli_merged** out) {
  *out = NULL;
  cpli_merged* m = cpli_alloc(ctx, 1, sizeof *m);
  int32_t* first = cpli_alloc(ctx, (size_t)n_parts, sizeof *first);
  if (m == NULL || first == NULL) {
    cpli_free(ctx, m);
    cpli_free(ctx, first);
    return cpli_nomem(ctx);
  }
  m->ctx = ctx;
  m->ref_count = 1;
  cpli_arena_init(&m->arena, ctx);
  m->desc = (cpl_description){.name = cpli_arena_strdup(&m->arena, name),
                              .kind = "master",
                              .description = "",
                              .author = "",
                              .version = "",
                              .copyright = "",
                              .license = "",
                              .tool = "couplet " CPL_VERSION,
                              .date = "",
                              .names = &m->names};
  cpl_status st =
      m->desc.name == NULL ? cpli_nomem(ctx) : fill(m, parts, n_parts, links, n_links, first);
  cpli_free(ctx, first);
  if (st < 0) cpli_merged_release(m);
  else *out = m;
  return st;
}

cpli_merged* cpli_merged_hold(cpli_merged* m) {
  m->ref_count++;
  return m;
}

void cpli_merged_release(cpli_merged* m) {
  if (m == NULL || --m->ref_count > 0) return;
  cpli_names_free(&m->names);
  cpli_arena_free(&m->arena);
  cpli_free(m->ctx, m);
}
