// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Which variables modelDescription.xml has, and their numbers. FMI 2.0 has one variable per element
// of an array, FMI 3.0 one per array.
#include <math.h>

#include "export/description.h"

//------------------------------------ what is written ------------------------------------

static bool is_too_large(const cpl_variable* v) {
  if (v->type != CPL_INTEGER && v->type != CPL_ENUMERATION) return false;
  return cpli_standing_of(v).has_start && !(v->start >= INT32_MIN && v->start <= INT32_MAX);
}

static const char* why_not(int fmi, const cpl_variable* v) {
  if (v->type == CPL_CLOCK) return "is a Clock";
  if (fmi == 3) return NULL;
  if (v->type == CPL_BINARY) return "is a Binary, a type that FMI 2.0 does not have";
  return is_too_large(v) ? "has a start value that no Integer of FMI 2.0 can have" : NULL;
}

const char* cpli_why_left_out(const cpli_fmu_facts* facts, int32_t var) {
  bool wanted = facts->exposed == NULL || facts->exposed[var];
  return wanted ? why_not(facts->fmi, &facts->desc->vars[var]) : NULL;
}

static void require(cpli_numbering* n, const int32_t* vars, int32_t count) {
  for (int32_t i = 0; i < count; i++)
    if (vars[i] >= 0) n->written[vars[i]] = true;
}

// States, their derivatives, and what the form with residuals needs.
static cpl_status require_states(cpl_context* ctx, cpli_numbering* n) {
  const cpl_description* d = n->desc;
  for (int32_t i = 0; i < d->n_states; i++) {
    if (d->states[i] < 0 || d->derivatives[i] < 0)
      return cpl_fail_in(ctx, CPL_ERR_UNSUPPORTED, d->name, NULL, NAN,
                         "model exchange needs a variable for each state and its derivative, and "
                         "state %d has none",
                         (int)i + 1);
    n->is_state[d->states[i]] = true;
  }
  require(n, d->states, d->n_states);
  require(n, d->derivatives, d->n_states);
  if (n->fmi == 3 && d->n_algebraics > 0) {
    require(n, d->algebraics, d->n_algebraics);
    require(n, d->residuals, d->n_algebraics);
    require(n, d->formulation_vars, d->n_formulations);
  }
  return CPL_OK;
}

// An array is written as a whole.
static void complete_arrays(cpli_numbering* n) {
  for (int32_t i = 0; i < n->desc->n_vars; i++) {
    bool any = false;
    for (int32_t k = 0; k < n->extent[i]; k++) any = any || n->written[i + k];
    for (int32_t k = 0; k < n->extent[i]; k++) n->written[i + k] = any;
  }
}

static cpl_status select_variables(cpl_context* ctx, const cpli_fmu_facts* facts,
                                   cpli_numbering* n) {
  const cpl_description* d = n->desc;
  for (int32_t i = 0; i < d->n_vars; i++) {
    // a variable whose name is that of another one cannot be told from it
    int32_t there = cpl_find_variable(d, d->vars[i].name);
    bool own = there < 0 || there == i;
    n->written[i] = own && (facts->exposed == NULL || facts->exposed[i]);
  }
  cpl_status st = facts->model_exchange ? require_states(ctx, n) : CPL_OK;
  for (int32_t i = 0; i < d->n_vars; i++)
    if (why_not(n->fmi, &d->vars[i]) != NULL) n->written[i] = false;
  complete_arrays(n);
  return st;
}

//------------------------------------ numbers ------------------------------------

cpl_status cpli_numbering_make(cpl_context* ctx, const cpli_fmu_facts* facts, cpli_numbering* out) {
  const cpl_description* d = facts->desc;
  size_t n = (size_t)d->n_vars;
  *out = (cpli_numbering){.fmi = facts->fmi,
                          .model_exchange = facts->model_exchange,
                          .desc = d,
                          .refs = cpli_refs3_of(d, facts->model_exchange)};
  cpli_arena_init(&out->arena, ctx);
  out->extent = cpli_arena_alloc(&out->arena, n, sizeof *out->extent);
  out->written = cpli_arena_alloc(&out->arena, n, sizeof *out->written);
  out->is_state = cpli_arena_alloc(&out->arena, n, sizeof *out->is_state);
  out->index = cpli_arena_alloc(&out->arena, n, sizeof *out->index);
  if (out->extent == NULL || out->written == NULL || out->is_state == NULL || out->index == NULL)
    return cpli_nomem(ctx);
  for (size_t i = 0; i < n; i++) out->extent[i] = 1;
  if (facts->fmi == 3) cpli_extents3(d, out->extent);
  cpl_status st = select_variables(ctx, facts, out);
  uint32_t index = 0;
  for (size_t i = 0; i < n; i++)
    if (out->written[i]) out->index[i] = ++index;
  return st < 0 ? st : cpli_name_types(out);
}

void cpli_numbering_free(cpli_numbering* n) { cpli_arena_free(&n->arena); }

int32_t cpli_number_head(const cpli_numbering* n, int32_t var) {
  while (n->extent[var] == 0) var--;  // elements are consecutive
  return var;
}

uint32_t cpli_reference_of(const cpli_numbering* n, const cpl_variable* v) {
  return n->fmi == 3 ? cpli_ref3(&n->refs, v) : v->ref;
}

uint32_t cpli_number_of(const cpli_numbering* n, int32_t var) {
  if (n->fmi == 2) return n->index[var];
  return cpli_reference_of(n, &n->desc->vars[cpli_number_head(n, var)]);
}
