// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Maps of Booleans, Integers and Enumerations: as expressions for connections, and applied to the
// values of parameters. Values without an entry stay as they are.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "system/ssp_flat.h"

static bool is_true(const char* text) { return text[0] == 't' || text[0] == '1'; }

static bool same_value(cpli_ssp_transform_kind kind, const char* a, const char* b) {
  if (kind == CPLI_SSP_BOOLEAN_MAP) return is_true(a) == is_true(b);
  if (kind == CPLI_SSP_INTEGER_MAP) return strtoll(a, NULL, 10) == strtoll(b, NULL, 10);
  return strcmp(a, b) == 0;
}

const char* cpli_flat_mapped(const cpli_ssp_transform* map, const char* value) {
  for (size_t i = 0; i < map->n_entries; i++)
    if (same_value(map->kind, map->entries[i].source, value)) return map->entries[i].target;
  return value;
}

const cpli_ssp_enumeration* cpli_flat_enumeration(const cpli_flat_port* p) {
  const char* name = p->type.enumeration;
  return name != NULL ? cpli_ssp_find_enumeration(p->file, name) : NULL;
}

//------------------------------------ expressions ------------------------------------

typedef struct pair {
  int64_t source, target;
} pair;

static int by_source(const void* a, const void* b) {
  const pair *x = a, *y = b;
  return x->source < y->source ? -1 : x->source > y->source;
}

// A binary search, so that the depth grows with the logarithm of the number of entries.
static void print_search(FILE* out, const pair* pairs, size_t n, const char* x) {
  if (n == 1) {
    fprintf(out, "if %s == %" PRId64 " then %" PRId64 " else %s", x, pairs[0].source,
            pairs[0].target, x);
    return;
  }
  const size_t half = n / 2;
  fprintf(out, "if %s < %" PRId64 " then (", x, pairs[half].source);
  print_search(out, pairs, half, x);
  fputs(") else (", out);
  print_search(out, pairs + half, n - half, x);
  fputc(')', out);
}

static bool item_number(const cpli_ssp_enumeration* of, const char* name, int64_t* out) {
  for (size_t i = 0; of != NULL && i < of->n_items; i++) {
    if (strcmp(of->items[i].name, name) != 0) continue;
    *out = of->items[i].value;
    return true;
  }
  return false;
}

static cpl_status read_pairs(cpli_flat* f, const cpli_ssp_transform* map,
                             const cpli_ssp_enumeration* from, const cpli_ssp_enumeration* to,
                             const cpli_source_loc* loc, pair* out) {
  for (size_t i = 0; i < map->n_entries; i++) {
    const cpli_ssp_map_entry* e = &map->entries[i];
    if (map->kind == CPLI_SSP_INTEGER_MAP) {
      out[i] = (pair){strtoll(e->source, NULL, 10), strtoll(e->target, NULL, 10)};
      continue;
    }
    const bool known = item_number(from, e->source, &out[i].source);
    if (known && item_number(to, e->target, &out[i].target)) continue;
    return cpli_fail_at(f->ctx, CPL_ERR_INPUT, loc,
                        "the map of an Enumeration names an item %s, whose number is not known: "
                        "the connector needs an Enumeration with this item",
                        known ? e->target : e->source);
  }
  return CPL_OK;
}

cpl_status cpli_flat_map_value(cpli_flat* f, const cpli_ssp_transform* map,
                               const cpli_ssp_enumeration* from, const cpli_ssp_enumeration* to,
                               const cpli_source_loc* loc, const char** value) {
  char* end;
  const int64_t number = strtoll(*value, &end, 10);
  if (map->kind != CPLI_SSP_ENUMERATION_MAP || end == *value || *end != '\0') {
    *value = cpli_flat_mapped(map, *value);
    return CPL_OK;
  }
  pair* pairs = cpli_alloc(f->ctx, map->n_entries, sizeof *pairs);
  if (pairs == NULL && map->n_entries > 0) return cpli_nomem(f->ctx);
  cpl_status st = read_pairs(f, map, from, to, loc, pairs);
  for (size_t i = 0; i < map->n_entries && st >= 0; i++) {
    if (pairs[i].source != number) continue;
    *value = cpli_flat_text(f, "%" PRId64, pairs[i].target);
    if (*value == NULL) st = cpli_nomem(f->ctx);
    break;
  }
  cpli_free(f->ctx, pairs);
  return st;
}

static cpl_status print_numbers(cpli_flat* f, const cpli_ssp_transform* map, const char* x,
                                const cpli_ssp_enumeration* from, const cpli_ssp_enumeration* to,
                                const cpli_source_loc* loc, FILE* out) {
  pair* pairs = cpli_alloc(f->ctx, map->n_entries, sizeof *pairs);
  if (pairs == NULL) return cpli_nomem(f->ctx);
  cpl_status st = read_pairs(f, map, from, to, loc, pairs);
  if (st >= 0) {
    qsort(pairs, map->n_entries, sizeof *pairs, by_source);
    print_search(out, pairs, map->n_entries, x);
  }
  cpli_free(f->ctx, pairs);
  return st;
}

cpl_status cpli_flat_map_text(cpli_flat* f, const cpli_ssp_transform* map, const char* source,
                              const cpli_ssp_enumeration* from, const cpli_ssp_enumeration* to,
                              const cpli_source_loc* loc, const char** out) {
  char* text = NULL;
  size_t n = 0;
  *out = source;
  if (map->n_entries == 0) return CPL_OK;
  FILE* file = open_memstream(&text, &n);
  if (file == NULL) return cpli_nomem(f->ctx);
  cpl_status st = CPL_OK;
  fputc('(', file);
  if (map->kind == CPLI_SSP_BOOLEAN_MAP)
    fprintf(file, "if %s then %s else %s", source,
            is_true(cpli_flat_mapped(map, "true")) ? "true" : "false",
            is_true(cpli_flat_mapped(map, "false")) ? "true" : "false");
  else st = print_numbers(f, map, source, from, to, loc, file);
  fputc(')', file);
  if (fclose(file) != 0 && st >= 0) st = cpli_nomem(f->ctx);
  if (st >= 0) *out = cpli_flat_text(f, "%s", text);
  if (st >= 0 && *out == NULL) st = cpli_nomem(f->ctx);
  free(text);
  return st;
}
