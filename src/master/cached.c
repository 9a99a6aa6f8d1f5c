// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A variable is noted when it is first read; only noted variables are copied before a step.
#include "master/cached.h"

cpl_status cpli_cached_init(cpli_cached* h, cpl_context* ctx, const cpl_description* desc,
                            const cpli_independent_slot* slots) {
  size_t n = (size_t)desc->n_vars;
  *h = (cpli_cached){.ctx = ctx,
                     .desc = desc,
                     .slots = slots,
                     .values = cpli_alloc(ctx, n, sizeof *h->values),
                     .noted = cpli_alloc(ctx, n, sizeof *h->noted),
                     .is_noted = cpli_alloc(ctx, 2 * n, sizeof *h->is_noted)};
  if (h->values == NULL || h->noted == NULL || h->is_noted == NULL) return cpli_nomem(ctx);
  h->is_cached = h->is_noted + n;
  return CPL_OK;
}

void cpli_cached_free(cpli_cached* h) {
  for (size_t i = 0; i < h->n_noted; i++) {
    if (h->desc->vars[h->noted[i]].type == CPL_STRING)
      cpli_free(h->ctx, h->values[h->noted[i]].text);
  }
  cpli_free(h->ctx, h->values);
  cpli_free(h->ctx, h->noted);
  cpli_free(h->ctx, h->is_noted);
}

void cpli_cached_note(cpli_cached* h, uint32_t var) {
  if (h->is_noted[var]) return;
  h->is_noted[var] = true;
  h->noted[h->n_noted++] = var;
}

static cpl_status take_text(cpli_cached* h, uint32_t var, cpl_component* c) {
  const char* text = NULL;
  cpl_status st = c->ops->get_string(c, &h->slots[var].ref, 1, &text);
  if (st != CPL_OK) return st;
  cpli_free(h->ctx, h->values[var].text);
  h->values[var].text = cpli_strdup(h->ctx, text != NULL ? text : "");
  return h->values[var].text != NULL ? CPL_OK : cpli_nomem(h->ctx);
}

cpl_status cpli_cached_take(cpli_cached* h, int32_t part, cpl_component* c) {
  cpl_status st = CPL_OK;
  for (size_t i = 0; i < h->n_noted && st == CPL_OK; i++) {
    uint32_t var = h->noted[i];
    cpl_type type = (cpl_type)h->desc->vars[var].type;
    cpli_cached_value* to = &h->values[var];
    if (h->slots[var].part != part) continue;
    if (type == CPL_STRING) st = take_text(h, var, c);
    else if (type == CPL_REAL) st = c->ops->get_real(c, &h->slots[var].ref, 1, &to->real);
    else st = c->ops->get_integer(c, type, &h->slots[var].ref, 1, &to->integer);
    h->is_cached[var] = true;
  }
  return st;
}

static bool all_cached(const cpli_cached* h, const uint32_t* vars, size_t n) {
  for (size_t i = 0; i < n; i++) {
    if (!h->is_cached[vars[i]]) return false;
  }
  return true;
}

bool cpli_cached_reals(const cpli_cached* h, const uint32_t* vars, size_t n, double* values) {
  if (!all_cached(h, vars, n)) return false;
  for (size_t i = 0; i < n; i++) values[i] = h->values[vars[i]].real;
  return true;
}

bool cpli_cached_integers(const cpli_cached* h, const uint32_t* vars, size_t n, int64_t* values) {
  if (!all_cached(h, vars, n)) return false;
  for (size_t i = 0; i < n; i++) values[i] = h->values[vars[i]].integer;
  return true;
}

bool cpli_cached_texts(const cpli_cached* h, const uint32_t* vars, size_t n, const char** values) {
  if (!all_cached(h, vars, n)) return false;
  for (size_t i = 0; i < n; i++) values[i] = h->values[vars[i]].text;
  return true;
}
