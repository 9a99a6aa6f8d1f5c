// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A variable is noted when it is first read; only noted variables are copied before a step.
#include "solver/cached.h"

cpl_status cpli_cached_init(cpli_cached* h, cpl_context* ctx, const cpl_description* desc,
                            const cpli_router* router) {
  size_t n = (size_t)desc->n_vars;
  *h = (cpli_cached){.ctx = ctx,
                     .desc = desc,
                     .router = router,
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

// Binaries are not cached.
void cpli_cached_note(cpli_cached* h, const uint32_t* vars, size_t n) {
  for (size_t i = 0; i < n; i++) {
    if (h->is_noted[vars[i]] || h->desc->vars[vars[i]].type == CPL_BINARY) continue;
    h->is_noted[vars[i]] = true;
    h->noted[h->n_noted++] = vars[i];
  }
}

static cpl_status take_text(cpli_cached* h, uint32_t ref, cpl_component* c, char** own) {
  const char* text = NULL;
  cpl_status st = c->ops->get_string(c, &ref, 1, &text);
  if (st != CPL_OK) return st;
  cpli_free(h->ctx, *own);
  *own = cpli_strdup(h->ctx, text != NULL ? text : "");
  return *own != NULL ? CPL_OK : cpli_nomem(h->ctx);
}

cpl_status cpli_cached_take(cpli_cached* h, int32_t number, cpl_component* c) {
  cpl_status st = CPL_OK;
  int32_t copies;
  for (size_t i = 0; i < h->n_noted && st == CPL_OK; i++) {
    uint32_t var = h->noted[i];
    const cpl_route* at = cpli_router_find(h->router, var, &copies);
    cpli_access get = {.type = (cpl_type)h->desc->vars[var].type,
                       .refs = &at->ref,
                       .n = 1,
                       .values = &h->values[var]};
    if (at->component != number) continue;
    st = get.type == CPL_STRING ? take_text(h, at->ref, c, &h->values[var].text)
                                : cpli_access_values(c, &get);
    h->is_cached[var] = true;
  }
  return st;
}

bool cpli_cached_get(const cpli_cached* h, const cpli_access* run) {
  for (size_t i = 0; i < run->n; i++) {
    if (!h->is_cached[run->outer[i]]) return false;
  }
  for (size_t i = 0; i < run->n; i++) {
    const cpli_cached_value* from = &h->values[run->outer[i]];
    if (run->type == CPL_REAL) ((double*)run->values)[i] = from->real;
    else if (run->type == CPL_STRING) ((const char**)run->values)[i] = from->text;
    else ((int64_t*)run->values)[i] = from->integer;
  }
  return true;
}
