// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// UnitDefinitions and TypeDefinitions. The description of a system has those of all its models, so
// that the same name comes several times: it is written once, and one that means something else
// gets another name.
#include <math.h>
#include <stdio.h>

#include "export/description.h"
#include "model/units.h"

//------------------------------------ names ------------------------------------

// Of units or of types: the first one of each name that was given.
typedef struct naming {
  cpli_numbering* n;
  cpli_names names;
  bool (*same)(const cpl_description* d, int32_t a, int32_t b);
} naming;

// The name of an item, or NULL when memory is short: `wanted`, or with a number behind it where
// that is taken by something else. *first gets the first item that is the same.
static const char* give_name(naming* g, const char* wanted, int32_t item, bool avoid_variables,
                             int32_t* first) {
  const cpl_description* d = g->n->desc;
  for (int k = 1;; k++) {
    char text[600];
    if (k == 1) snprintf(text, sizeof text, "%s", wanted);
    else snprintf(text, sizeof text, "%s_%d", wanted, k);
    if (avoid_variables && cpl_find_variable(d, text) >= 0) continue;
    *first = cpli_names_find(&g->names, text);
    if (*first >= 0 && !g->same(d, *first, item)) continue;
    char* kept = cpli_arena_strdup(&g->n->arena, text);
    if (kept == NULL || *first >= 0) return kept;
    *first = item;
    return cpli_names_add(&g->names, kept, item) == item ? kept : NULL;
  }
}

//------------------------------------ units ------------------------------------

static cpl_unit meaning_of(const cpl_unit* unit) {
  cpl_unit u = *unit;
  if (!u.has_base) u.has_base = cpli_unit_parse(u.name, &u);
  return u;
}

static bool same_numbers(const cpl_unit* a, const cpl_unit* b) {
  return a->factor == b->factor && a->offset == b->offset && a->inverse == b->inverse;
}

static bool same_unit(const cpl_description* d, int32_t a, int32_t b) {
  cpl_unit x = meaning_of(&d->units[a]), y = meaning_of(&d->units[b]);
  if (!x.has_base || !y.has_base) return x.has_base == y.has_base;
  return memcmp(x.exponents, y.exponents, sizeof x.exponents) == 0 && same_numbers(&x, &y);
}

static cpl_status name_units(cpli_numbering* n) {
  const cpl_description* d = n->desc;
  naming g = {.n = n, .same = same_unit};
  cpl_status st = cpli_names_init(&g.names, n->arena.ctx, (size_t)d->n_units);
  for (int32_t i = 0; i < d->n_units && st >= 0; i++) {
    if (d->units[i].display_of >= 0) continue;
    n->units[i] = give_name(&g, d->units[i].name, i, false, &n->unit_of[i]);
    if (n->units[i] == NULL) st = cpli_nomem(n->arena.ctx);
  }
  cpli_names_free(&g.names);
  return st;
}

// A display unit is written with the first unit of its name. Where that has another one of the same
// name, it is left out.
static void name_display_units(cpli_numbering* n) {
  const cpl_description* d = n->desc;
  for (int32_t i = 0; i < d->n_units; i++) {
    if (d->units[i].display_of < 0) continue;
    int32_t unit = n->unit_of[d->units[i].display_of], k = n->displays[unit];
    while (k >= 0 && strcmp(d->units[k].name, d->units[i].name) != 0) k = n->displays[k];
    if (k >= 0 && !same_numbers(&d->units[k], &d->units[i])) continue;
    n->units[i] = d->units[i].name;
    if (k >= 0) continue;
    int32_t* end = &n->displays[unit];
    while (*end >= 0) end = &n->displays[*end];
    *end = i;
  }
}

static void write_unit(cpli_writer* w, const cpli_numbering* n, int32_t unit) {
  static const char* const bases[] = {"kg", "m", "s", "A", "K", "mol", "cd", "rad"};
  const cpl_unit u = meaning_of(&n->desc->units[unit]);
  cpli_write(w, "    <Unit");
  cpli_write_attribute(w, "name", n->units[unit]);
  if (!u.has_base && n->displays[unit] < 0) {
    cpli_write(w, "/>\n");
    return;
  }
  cpli_write(w, ">\n");
  if (u.has_base) {
    cpli_write(w, "      <BaseUnit");
    for (size_t i = 0; i < CPLI_COUNT(bases); i++) {
      if (u.exponents[i] != 0) cpli_writef(w, " %s=\"%d\"", bases[i], u.exponents[i]);
    }
    if (u.factor != 1) cpli_write_real_attribute(w, "factor", u.factor);
    if (u.offset != 0) cpli_write_real_attribute(w, "offset", u.offset);
    cpli_write(w, "/>\n");
  }
  for (int32_t k = n->displays[unit]; k >= 0; k = n->displays[k]) {
    const cpl_unit* shown = &n->desc->units[k];
    if (shown->inverse && n->fmi == 2) continue;
    cpli_write(w, "      <DisplayUnit");
    cpli_write_attribute(w, "name", shown->name);
    if (shown->factor != 1) cpli_write_real_attribute(w, "factor", shown->factor);
    if (shown->offset != 0) cpli_write_real_attribute(w, "offset", shown->offset);
    cpli_write_flag(w, "inverse", shown->inverse);
    cpli_write(w, "/>\n");
  }
  cpli_write(w, "    </Unit>\n");
}

static void write_units(cpli_writer* w, const cpli_numbering* n) {
  bool any = false;
  for (int32_t i = 0; i < n->desc->n_units; i++) {
    if (n->desc->units[i].display_of >= 0 || n->unit_of[i] != i) continue;
    if (!any) cpli_write(w, "  <UnitDefinitions>\n");
    any = true;
    write_unit(w, n, i);
  }
  if (any) cpli_write(w, "  </UnitDefinitions>\n");
}

//------------------------------------ types ------------------------------------

static bool same_item(const cpl_enum_item* a, const cpl_enum_item* b) {
  return a->value == b->value && strcmp(a->name, b->name) == 0;
}

static bool same_type(const cpl_description* d, int32_t a, int32_t b) {
  const cpl_type_def *x = &d->types[a], *y = &d->types[b];
  if (x->type != y->type || x->n_items != y->n_items || strcmp(x->quantity, y->quantity) != 0)
    return false;
  for (int32_t i = 0; i < x->n_items; i++)
    if (!same_item(&x->items[i], &y->items[i])) return false;
  return true;
}

static cpl_status name_type(naming* g, const cpl_variable* v) {
  cpli_numbering* n = g->n;
  int32_t i = v->declared_type;
  const cpl_type_def* t = &n->desc->types[i];
  if (n->types[i] != NULL || t->type != (cpl_type)v->type) return CPL_OK;
  if (t->type == CPL_ENUMERATION && t->n_items == 0) return CPL_OK;
  n->types[i] = give_name(g, t->name, i, true, &n->type_of[i]);
  if (n->types[i] == NULL) return cpli_nomem(n->arena.ctx);
  if (n->type_of[i] == i) n->type_width[i] = v->width;
  return CPL_OK;
}

static cpl_status name_types(cpli_numbering* n) {
  const cpl_description* d = n->desc;
  naming g = {.n = n, .same = same_type};
  cpl_status st = cpli_names_init(&g.names, n->arena.ctx, (size_t)d->n_types);
  for (int32_t i = 0; i < d->n_vars && st >= 0; i++)
    if (n->written[i] && d->vars[i].declared_type >= 0) st = name_type(&g, &d->vars[i]);
  cpli_names_free(&g.names);
  return st;
}

cpl_status cpli_name_types(cpli_numbering* n) {
  size_t n_units = (size_t)n->desc->n_units, n_types = (size_t)n->desc->n_types;
  n->units = cpli_arena_alloc(&n->arena, n_units, sizeof *n->units);
  n->unit_of = cpli_arena_alloc(&n->arena, n_units, sizeof *n->unit_of);
  n->displays = cpli_arena_alloc(&n->arena, n_units, sizeof *n->displays);
  n->types = cpli_arena_alloc(&n->arena, n_types, sizeof *n->types);
  n->type_of = cpli_arena_alloc(&n->arena, n_types, sizeof *n->type_of);
  n->type_width = cpli_arena_alloc(&n->arena, n_types, sizeof *n->type_width);
  if (n->units == NULL || n->unit_of == NULL || n->displays == NULL || n->types == NULL ||
      n->type_of == NULL || n->type_width == NULL)
    return cpli_nomem(n->arena.ctx);
  for (size_t i = 0; i < n_units; i++) n->displays[i] = -1;
  cpl_status st = name_units(n);
  if (st >= 0) name_display_units(n);
  return st < 0 ? st : name_types(n);
}

static void write_items(cpli_writer* w, const cpl_type_def* t) {
  for (int32_t k = 0; k < t->n_items; k++) {
    cpli_write(w, "        <Item");
    cpli_write_attribute(w, "name", t->items[k].name);
    cpli_writef(w, " value=\"%lld\"", (long long)t->items[k].value);
    cpli_write_attribute(w, "description", t->items[k].description);
    cpli_write(w, "/>\n");
  }
}

static void write_type(cpli_writer* w, const cpli_numbering* n, int32_t type) {
  const cpl_type_def* t = &n->desc->types[type];
  const char* element = cpli_xml_type(n->fmi, t->type, (cpl_width)n->type_width[type], true);
  bool quantity = t->type == CPL_REAL || t->type == CPL_INTEGER || t->type == CPL_ENUMERATION;
  if (n->fmi == 3) cpli_writef(w, "    <%sType", element);
  else cpli_write(w, "    <SimpleType");
  cpli_write_attribute(w, "name", n->types[type]);
  if (n->fmi == 2) cpli_writef(w, ">\n      <%s", element);
  if (quantity) cpli_write_attribute(w, "quantity", t->quantity);
  if (t->n_items == 0) {
    cpli_write(w, n->fmi == 3 ? "/>\n" : "/>\n    </SimpleType>\n");
    return;
  }
  cpli_write(w, ">\n");
  write_items(w, t);
  cpli_write(
      w, n->fmi == 3 ? "    </EnumerationType>\n" : "      </Enumeration>\n    </SimpleType>\n");
}

void cpli_write_types(cpli_writer* w, const cpli_numbering* n) {
  bool any = false;
  write_units(w, n);
  for (int32_t i = 0; i < n->desc->n_types; i++) {
    if (n->types[i] == NULL || n->type_of[i] != i) continue;
    if (!any) cpli_write(w, "  <TypeDefinitions>\n");
    any = true;
    write_type(w, n, i);
  }
  if (any) cpli_write(w, "  </TypeDefinitions>\n");
}
