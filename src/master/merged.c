// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The variables, units, types and states of the parts are copied one part after the other, with
// shifted indices. Parts whose names are prefixes come first, so that a variable without a prefix
// is hidden where its name is taken.
#include "master/merged.h"
#include <math.h>

#include "model/description.h"

static const char* name_of(cpli_shared_desc* m, const cpli_merge_part* p, const char* name) {
  return p->plain ? cpli_arena_strdup(&m->arena, name) : cpli_shared_desc_join(m, p->name, name);
}

// An output of a part is local to the whole, except for the part whose variables are those of the
// whole.
static cpl_variable variable_of(const cpli_merge_part* p, int32_t var, const cpli_desc_counts* at) {
  cpl_variable v = cpli_shifted_variable(p->desc, var, at);
  v.inner_output = v.inner_output || (!p->plain && v.causality == CPL_CAUSALITY_OUTPUT);
  if (!p->plain && v.causality == CPL_CAUSALITY_OUTPUT) v.causality = CPL_CAUSALITY_LOCAL;
  return v;
}

static void hide(cpl_variable* v, int32_t behind) {
  v->causality = CPL_CAUSALITY_LOCAL;
  v->inner_output = v->has_start = false;
  v->alias_of = behind;
}

static cpl_status add_variables(cpli_shared_desc* m, const cpli_merge_part* p, int32_t part,
                                const cpli_desc_counts* at) {
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
      return cpl_fail_in(m->ctx, CPL_ERR_INPUT, m->desc.name, v.name, NAN,
                         "the name %s is used twice", v.name);
    if (there != own) hide(&v, there);
    vars[own] = v;
    m->routes[own] = (cpl_route){part, p->desc->vars[i].ref};
  }
  return CPL_OK;
}

// Until cpli_merged_reach(), outputs of the whole may depend on all its inputs.
static cpl_status add_structure(cpli_shared_desc* m) {
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

static cpl_status fill(cpli_shared_desc* m, const cpli_merge_part* parts, int32_t n_parts,
                       const cpl_master_link* links, int32_t n_links, int32_t* first) {
  cpli_desc_counts at = {0};
  for (int32_t i = 0; i < n_parts; i++) at = cpli_desc_counts_add(at, parts[i].desc);
  cpl_status st = cpli_shared_desc_reserve(m, &at);
  at = (cpli_desc_counts){0};
  // prefixed names first: they take precedence over names without a prefix
  for (int plain = 0; plain < 2; plain++) {
    for (int32_t i = 0; i < n_parts && st >= 0; i++) {
      if (parts[i].plain != (plain == 1)) continue;
      first[i] = at.vars;
      st = add_variables(m, &parts[i], i, &at);
      if (st >= 0)
        st = cpli_shared_desc_add(m, parts[i].desc, parts[i].plain ? "" : parts[i].name, &at);
      m->desc.n_indicators += parts[i].desc->n_indicators;
      at = cpli_desc_counts_add(at, parts[i].desc);
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
                      cpli_shared_desc** out) {
  cpli_shared_desc* m = cpli_shared_desc_create(ctx, name, "master", sizeof *m);
  int32_t* first = cpli_alloc(ctx, (size_t)n_parts, sizeof *first);
  cpl_status st =
      m == NULL || first == NULL ? cpli_nomem(ctx) : fill(m, parts, n_parts, links, n_links, first);
  cpli_free(ctx, first);
  if (st >= 0) cpli_check_description(&m->desc);
  if (st < 0) cpli_shared_desc_release(m);
  *out = st < 0 ? NULL : m;
  return st;
}
