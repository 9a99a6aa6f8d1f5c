// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Parameter bindings. Inner ones are applied before outer ones, and earlier ones before later ones,
// so that the last value of a variable is the valid one. A name means every variable that has it.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "format/number.h"
#include "system/ssp_flat.h"
#include "system/transform.h"

typedef cpli_flat flat;
typedef cpli_flat_node node;
typedef cpli_flat_port port;

//------------------------------------ values ------------------------------------

static const char* number_in(flat* f, const cpli_ssp_enumeration* e, const char* item) {
  for (size_t i = 0; e != NULL && i < e->n_items; i++)
    if (strcmp(e->items[i].name, item) == 0)
      return cpli_flat_text(f, "%lld", (long long)e->items[i].value);
  return NULL;
}

const char* cpli_flat_item_number(flat* f, const cpli_flat_value* v, const port* to,
                                  const char* item) {
  const char* name = v->parameter->type.enumeration;
  const char* number = to != NULL ? number_in(f, cpli_flat_enumeration(to), item) : NULL;
  if (number != NULL || name == NULL) return number;
  return number_in(f, cpli_ssp_find_enumeration(v->file, name), item);
}

static bool is_map(const cpli_ssp_transform* t) {
  return t != NULL && t->kind >= CPLI_SSP_BOOLEAN_MAP;
}

const char* cpli_flat_value_at(const cpli_flat_value* v, size_t i) {
  const char* text = v->parameter->values[i];
  return is_map(v->transform) ? cpli_flat_mapped(v->transform, text) : text;
}

// "[a, b]" of an array.
static const char* value_text(flat* f, const cpli_flat_value* v) {
  const size_t n = v->parameter->n_values;
  if (n == 1 && v->parameter->n_dimensions == 0) return cpli_flat_value_at(v, 0);
  size_t size = 3;
  for (size_t i = 0; i < n; i++) size += strlen(cpli_flat_value_at(v, i)) + 2;
  char* text = cpli_def_array(f->def, size, 1);
  if (text == NULL) return NULL;
  char* at = text;
  for (size_t i = 0; i < n; i++)
    at += sprintf(at, "%s%s", i == 0 ? "[" : ", ", cpli_flat_value_at(v, i));
  strcpy(at, n == 0 ? "[]" : "]");
  return text;
}

// The way of a number from its file to a variable or a connector with a unit.
static const cpli_transform* make_transform(flat* f, const cpli_flat_value* v,
                                            const cpl_unit* unit) {
  cpli_transform* t = cpli_def_array(f->def, 1, sizeof *t);
  cpli_transform_step* step = cpli_def_array(f->def, 1, sizeof *step);
  if (t == NULL || step == NULL) return NULL;
  const bool linear = v->transform != NULL && v->transform->kind == CPLI_SSP_LINEAR;
  *step = (cpli_transform_step){.unit = unit,
                                .keep_units = v->transform != NULL && v->transform->keep_units,
                                .factor = linear ? v->transform->factor : 1,
                                .offset = linear ? v->transform->offset : 0};
  *t = (cpli_transform){
      .unit = cpli_flat_unit(f, v->file, v->parameter->type.unit), .steps = step, .n_steps = 1};
  return t;
}

bool cpli_flat_number(flat* f, const cpli_flat_value* v, const port* to, const cpl_unit** unit,
                      double* out, cpl_status* st) {
  const char* text = cpli_flat_value_at(v, 0);
  const char* number = cpli_flat_item_number(f, v, to, text);
  *st = CPL_OK;
  if (v->parameter->n_values != 1) return false;
  if (number != NULL) text = number;
  if (v->parameter->type.type == CPL_BOOLEAN) text = text[0] == 't' || text[0] == '1' ? "1" : "0";
  if (!cpli_parse_double(text, strlen(text), out)) return false;
  const cpli_transform* t = make_transform(f, v, *unit);
  cpli_unit_clash clash;
  if (t == NULL) return *st = cpli_nomem(f->ctx), false;
  *out = cpli_transform_value(t, NULL, NULL, false, *out, &clash);
  if (clash.relation == CPLI_UNITS_DIFFER)
    *st = cpli_flat_report(f, true, &v->parameter->loc,
                           "the value of %s is in %s, which is not converted to %s",
                           v->parameter->name, clash.from, clash.to);
  else if (clash.relation > CPLI_UNITS_CONVERT)
    *st = cpli_flat_report(f, false, &v->parameter->loc,
                           "the value of %s is in %s, and is not converted to %s",
                           v->parameter->name, clash.from, clash.to);
  if (*unit == NULL && !t->steps[0].keep_units) *unit = t->unit;
  return true;
}

//------------------------------------ start values of models ------------------------------------

static cpl_status add_start(flat* f, node* n, cpli_setting item) {
  const int32_t known = cpli_names_find(&n->start_names, item.name.text);
  if (known >= 0) {
    n->starts[known] = item;
    return CPL_OK;
  }
  if (n->n_starts == n->cap_starts) {
    const size_t cap = n->cap_starts > 0 ? 2 * n->cap_starts : 4;
    cpli_setting* bigger = cpli_def_array(f->def, cap, sizeof *bigger);
    if (bigger == NULL) return cpli_nomem(f->ctx);
    if (n->n_starts > 0) memcpy(bigger, n->starts, n->n_starts * sizeof *bigger);
    n->starts = bigger;
    n->cap_starts = cap;
  }
  n->starts[n->n_starts] = item;
  if (cpli_names_add(&n->start_names, item.name.text, (int32_t)n->n_starts) < 0)
    return cpli_nomem(f->ctx);
  n->n_starts++;
  return CPL_OK;
}

// Texts of an array may contain anything: one by one.
static cpl_status set_texts(flat* f, node* model, const char* variable, const cpli_flat_value* v) {
  cpl_status st = CPL_OK;
  for (size_t i = 0; i < v->parameter->n_values && st >= 0; i++) {
    cpli_setting s = {.optional = true};
    s.name = (cpli_located_text){cpli_flat_text(f, "%s[%zu]", variable, i + 1), v->parameter->loc};
    s.value = (cpli_located_text){cpli_flat_value_at(v, i), v->parameter->loc};
    st = s.name.text != NULL ? add_start(f, model, s) : cpli_nomem(f->ctx);
  }
  return st;
}

cpl_status cpli_flat_set(flat* f, node* model, const char* variable, const cpl_unit* unit,
                         const cpli_flat_value* v) {
  const cpl_type type = v->parameter->type.type;
  cpli_setting s = {.optional = true};
  if (type == CPL_STRING && v->parameter->n_values > 1) return set_texts(f, model, variable, v);
  s.name = cpli_def_text(f->def, variable, v->parameter->loc);
  s.value = (cpli_located_text){value_text(f, v), v->parameter->loc};
  if (s.name.text == NULL || s.value.text == NULL) return cpli_nomem(f->ctx);
  const bool scalar = v->parameter->n_values == 1 && v->parameter->n_dimensions == 0;
  if (type == CPL_ENUMERATION && scalar) s.number = cpli_flat_item_number(f, v, NULL, s.value.text);
  if (type == CPL_BOOLEAN && scalar)
    s.number = s.value.text[0] == 't' || s.value.text[0] == '1' ? "1" : "0";
  const bool scaled = v->transform != NULL && v->transform->kind == CPLI_SSP_LINEAR;
  if (type == CPL_REAL || scaled) {
    s.transform = make_transform(f, v, unit);
    if (s.transform == NULL) return cpli_nomem(f->ctx);
  }
  return add_start(f, model, s);
}

//------------------------------------ names ------------------------------------

// Every variable of that name, seen from a node. True: there is one.
static bool assign(flat* f, node* n, const char* name, cpli_flat_value* v, cpl_status* st) {
  if (n->is_model) {
    port* p = cpli_flat_inside(n, name);
    *st = cpli_flat_set(f, n, name, p != NULL ? p->unit : NULL, v);
    return true;
  }
  if (n->system == NULL) return false;
  port* p = cpli_flat_inside(n, name);
  bool found = p != NULL;
  if (p != NULL) p->value = v;
  for (const char* dot = strchr(name, '.'); dot != NULL && *st >= 0; dot = strchr(dot + 1, '.')) {
    char child[1024];
    const size_t len = (size_t)(dot - name);
    if (len >= sizeof child) break;
    memcpy(child, name, len);
    child[len] = '\0';
    const int32_t i = cpli_names_find(&n->child_names, child);
    if (i >= 0 && assign(f, &n->children[i], dot + 1, v, st)) found = true;
  }
  return found;
}

static cpl_status apply(flat* f, node* n, const char* name, const cpli_ssp_file* file,
                        const cpli_ssp_parameter* p, const cpli_ssp_transform* t) {
  cpli_flat_value* v = cpli_def_array(f->def, 1, sizeof *v);
  cpl_status st = v != NULL ? CPL_OK : cpli_nomem(f->ctx);
  if (st < 0) return st;
  *v = (cpli_flat_value){p, file, t};
  if (assign(f, n, name, v, &st) || st < 0) return st;
  return cpli_flat_note(f, &p->loc, "the value of %s is ignored: %s has no such variable", name,
                        n->path[0] != '\0' ? n->path : "the system");
}

// Only mapped names apply, by the name that they are mapped to.
static cpl_status apply_mapped(flat* f, node* n, const cpli_ssp_binding* b) {
  const cpli_ssp_parameter_set* set = b->set;
  const size_t prefix = strlen(b->prefix);
  cpli_names names;
  cpl_status st = cpli_names_init(&names, f->ctx, set->n_parameters);
  // of two with the same name the last one applies
  for (size_t i = set->n_parameters; i-- > 0 && st >= 0;)
    if (cpli_names_add(&names, set->parameters[i].name, (int32_t)i) < 0) st = cpli_nomem(f->ctx);
  for (size_t i = 0; i < b->mapping->n_entries && st >= 0; i++) {
    const cpli_ssp_mapping_entry* e = &b->mapping->entries[i];
    const bool mine = strncmp(e->source, b->prefix, prefix) == 0;
    const int32_t at = mine ? cpli_names_find(&names, e->source + prefix) : -1;
    if (at >= 0)
      st = apply(
          f, n, e->target, set->file, &set->parameters[at],
          e->transform.kind != CPLI_SSP_IDENTITY || e->transform.keep_units ? &e->transform : NULL);
    else
      st = cpli_flat_note(f, &e->loc, "the parameter set %s has no parameter \"%s\"",
                          set->name != NULL ? set->name : "", e->source);
  }
  cpli_names_free(&names);
  return st;
}

static cpl_status bind(flat* f, node* n, const cpli_ssp_binding* b) {
  cpl_status st = CPL_OK;
  if (b->set == NULL) return CPL_OK;
  if (b->mapping != NULL) return apply_mapped(f, n, b);
  for (size_t i = 0; i < b->set->n_parameters && st >= 0; i++) {
    const cpli_ssp_parameter* p = &b->set->parameters[i];
    const char* name =
        b->prefix[0] != '\0' ? cpli_flat_text(f, "%s%s", b->prefix, p->name) : p->name;
    st = name != NULL ? apply(f, n, name, b->set->file, p, NULL) : cpli_nomem(f->ctx);
  }
  return st;
}

static cpl_status bind_all(flat* f, node* n) {
  const cpli_ssp_element *e = n->element, *inner = n->system;
  cpl_status st = CPL_OK;
  for (size_t i = 0; i < n->n_children && st >= 0; i++) st = bind_all(f, &n->children[i]);
  // those of a component that is a system come after those of the system
  if (inner != NULL && inner != e)
    for (size_t i = 0; i < inner->n_bindings && st >= 0; i++) st = bind(f, n, &inner->bindings[i]);
  for (size_t i = 0; i < e->n_bindings && st >= 0; i++) st = bind(f, n, &e->bindings[i]);
  return st;
}

cpl_status cpli_flat_values(flat* f) { return bind_all(f, &f->root); }
