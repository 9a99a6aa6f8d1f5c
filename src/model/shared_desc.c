// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Everything but the head is in the arena of the description, which is freed with the last
// reference.
#include "model/shared_desc.h"

#include <assert.h>

void* cpli_shared_desc_create(cpl_context* ctx, const char* name, const char* kind, size_t size) {
  assert(size >= sizeof(cpli_shared_desc));
  cpli_shared_desc* d = cpli_alloc(ctx, 1, size);
  if (d == NULL) return NULL;
  d->ctx = ctx;
  d->refs = 1;
  cpli_arena_init(&d->arena, ctx);
  d->desc = (cpl_description){.name = cpli_arena_strdup(&d->arena, name),
                              .kind = kind,
                              .description = "",
                              .author = "",
                              .version = "",
                              .copyright = "",
                              .license = "",
                              .tool = "couplet " CPL_VERSION,
                              .date = "",
                              .names = &d->names};
  if (d->desc.name != NULL) return d;
  cpli_shared_desc_release(d);
  return NULL;
}

cpli_shared_desc* cpli_shared_desc_retain(cpli_shared_desc* d) {
  assert(d->refs > 0);
  d->refs++;
  return d;
}

void cpli_shared_desc_release(cpli_shared_desc* d) {
  assert(d == NULL || d->refs > 0);
  if (d == NULL || --d->refs > 0) return;
  cpli_names_free(&d->names);
  cpli_arena_free(&d->arena);
  cpli_free(d->ctx, d);
}

//------------------------------------ content ------------------------------------

cpli_desc_counts cpli_desc_counts_add(cpli_desc_counts at, const cpl_description* d) {
  return (cpli_desc_counts){at.vars + d->n_vars, at.units + d->n_units, at.types + d->n_types,
                            at.states + d->n_states, at.arrays + d->n_arrays};
}

cpl_status cpli_shared_desc_reserve(cpli_shared_desc* m, const cpli_desc_counts* n) {
  cpl_description* d = &m->desc;
  cpli_arena* a = &m->arena;
  d->n_vars = n->vars;
  d->n_units = n->units;
  d->n_types = n->types;
  d->n_states = n->states;
  d->n_arrays = n->arrays;
  d->vars = cpli_arena_alloc(a, (size_t)n->vars, sizeof *d->vars);
  d->units = cpli_arena_alloc(a, (size_t)n->units, sizeof *d->units);
  d->types = cpli_arena_alloc(a, (size_t)n->types, sizeof *d->types);
  d->states = cpli_arena_alloc(a, (size_t)n->states, sizeof *d->states);
  d->derivatives = cpli_arena_alloc(a, (size_t)n->states, sizeof *d->derivatives);
  d->arrays = cpli_arena_alloc(a, (size_t)n->arrays, sizeof *d->arrays);
  m->routes = cpli_arena_alloc(a, (size_t)n->vars, sizeof *m->routes);
  bool fine = d->arrays != NULL && d->vars != NULL && d->units != NULL && d->types != NULL &&
              d->states != NULL && d->derivatives != NULL && m->routes != NULL;
  return fine ? cpli_names_init(&m->names, m->ctx, (size_t)n->vars) : cpli_nomem(m->ctx);
}

const char* cpli_shared_desc_join(cpli_shared_desc* d, const char* prefix, const char* name) {
  size_t n = strlen(prefix), rest = strlen(name);
  char* text = cpli_arena_alloc(&d->arena, n + rest + 2, 1);
  if (text == NULL) return NULL;
  memcpy(text, prefix, n);
  text[n] = '.';
  memcpy(text + n + 1, name, rest + 1);
  return text;
}

static int32_t shifted(int32_t index, int32_t by) { return index < 0 ? index : index + by; }

cpl_variable cpli_shifted_variable(const cpl_description* from, int32_t var,
                                   const cpli_desc_counts* at) {
  cpl_variable v = from->vars[var];
  v.ref = (uint32_t)(at->vars + var);
  v.unit = shifted(v.unit, at->units);
  v.display_unit = shifted(v.display_unit, at->units);
  v.declared_type = shifted(v.declared_type, at->types);
  v.derivative_of = shifted(v.derivative_of, at->vars);
  v.alias_of = shifted(v.alias_of, at->vars);
  v.array = v.array > 0 ? v.array + at->arrays : 0;
  return v;
}

cpl_status cpli_shared_desc_add(cpli_shared_desc* m, const cpl_description* from,
                                const char* prefix, const cpli_desc_counts* at) {
  cpl_description* d = &m->desc;
  for (int32_t i = 0; i < from->n_arrays; i++) {
    cpl_array array = from->arrays[i];
    array.first += at->vars;
    array.name = prefix[0] != '\0' ? cpli_shared_desc_join(m, prefix, array.name)
                                   : cpli_arena_strdup(&m->arena, array.name);
    if (array.name == NULL) return cpli_nomem(m->ctx);
    ((cpl_array*)d->arrays)[at->arrays + i] = array;
  }
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
  return CPL_OK;
}

void cpli_capabilities_of_both(cpl_capabilities* can, const cpl_capabilities* one) {
  can->save_restore = can->save_restore && one->save_restore;
  can->once_per_process = can->once_per_process || one->once_per_process;
  can->needs_tool = can->needs_tool || one->needs_tool;
  can->own_thread = can->own_thread || one->own_thread;
  can->remote = can->remote > 0 || one->remote > 0;
  can->variable_step = can->variable_step && one->variable_step;
  can->get_after_set = can->get_after_set && one->get_after_set;
  if (one->input_derivatives < can->input_derivatives)
    can->input_derivatives = one->input_derivatives;
}
