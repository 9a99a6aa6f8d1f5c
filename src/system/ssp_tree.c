// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The elements of a package as a tree of nodes with ports. A system that is used several times
// becomes several nodes.
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "model/units.h"
#include "system/ssp_flat.h"

typedef cpli_flat flat;
typedef cpli_flat_node node;
typedef cpli_flat_port port;

//------------------------------------ messages, texts ------------------------------------

cpl_status cpli_flat_report(flat* f, bool is_error, const cpli_source_loc* loc, const char* fmt,
                            ...) {
  char text[1024], place[CPLI_LOC_SIZE];
  va_list args;
  va_start(args, fmt);
  vsnprintf(text, sizeof text, fmt, args);
  va_end(args);
  if (f->findings == NULL && !is_error) {
    cpl_log(f->ctx, CPL_LOG_WARNING, "", "%s%s", cpli_source_loc_text(loc, place), text);
    return CPL_OK;
  }
  if (f->findings == NULL) return cpli_fail_at(f->ctx, CPL_ERR_INPUT, loc, "%s", text);
  if (is_error && f->n_errors++ == 0)
    snprintf(f->first_error, sizeof f->first_error, "%s%s", cpli_source_loc_text(loc, place), text);
  const bool more = f->findings->report(f->findings->user, is_error, loc, text);
  return more ? CPL_OK : cpl_fail(f->ctx, CPL_ERR_INPUT, "%s", text);
}

cpl_status cpli_flat_note(flat* f, const cpli_source_loc* loc, const char* fmt, ...) {
  char text[1024], place[CPLI_LOC_SIZE];
  va_list args;
  va_start(args, fmt);
  vsnprintf(text, sizeof text, fmt, args);
  va_end(args);
  if (f->findings != NULL) return cpli_flat_report(f, false, loc, "%s", text);
  cpl_log(f->ctx, CPL_LOG_INFO, "", "%s%s", cpli_source_loc_text(loc, place), text);
  return CPL_OK;
}

const char* cpli_flat_text(flat* f, const char* fmt, ...) {
  va_list args, again;
  va_start(args, fmt);
  va_copy(again, args);
  const int n = vsnprintf(NULL, 0, fmt, args);
  va_end(args);
  char* text = n >= 0 ? cpli_def_array(f->def, (size_t)n + 1, 1) : NULL;
  if (text != NULL) vsnprintf(text, (size_t)n + 1, fmt, again);
  va_end(again);
  return text;
}

static const char* join(flat* f, const char* path, const char* name) {
  return path[0] == '\0' ? name : cpli_flat_text(f, "%s.%s", path, name);
}

//------------------------------------ ports ------------------------------------

static cpl_status add_name(flat* f, cpli_names* names, const char* name, size_t i) {
  return cpli_names_add(names, name, (int32_t)i) < 0 ? cpli_nomem(f->ctx) : CPL_OK;
}

const cpl_unit* cpli_flat_unit(flat* f, const cpli_ssp_file* file, const char* name) {
  const cpl_unit* defined = name != NULL ? cpli_ssp_find_unit(file, name) : NULL;
  cpl_unit known = {.name = name, .factor = 1, .display_of = -1};
  if (defined != NULL || name == NULL || !cpli_unit_parse(name, &known)) return defined;
  cpl_unit* unit = cpli_def_array(f->def, 1, sizeof *unit);
  if (unit != NULL) *unit = known;
  return unit;
}

static void fill_port(flat* f, node* n, const cpli_ssp_file* file, const cpli_ssp_connector* c,
                      cpli_flat_side side, port* out) {
  *out = (port){.node = n,
                .side = side,
                .kind = c->kind,
                .name = c->name,
                .full_name = join(f, n->path, c->name),
                .type = c->type,
                .unit = cpli_flat_unit(f, file, c->type.unit),
                .file = file,
                .dimensions = c->dimensions,
                .n_dimensions = c->n_dimensions,
                .loc = c->loc};
}

static int by_name(const void* a, const void* b) {
  return strcmp(((const port*)a)->name, ((const port*)b)->name);
}

static cpl_status make_ports(flat* f, node* n, const cpli_ssp_element* e, cpli_flat_side side,
                             port** out, size_t* count, cpli_names* names) {
  cpl_status st = cpli_names_init(names, f->ctx, e->n_connectors);
  *out = cpli_def_array(f->def, e->n_connectors, sizeof **out);
  if (st >= 0 && *out == NULL && e->n_connectors > 0) st = cpli_nomem(f->ctx);
  for (size_t i = 0; i < e->n_connectors && st >= 0; i++) {
    fill_port(f, n, e->file, &e->connectors[i], side, &(*out)[i]);
    if ((*out)[i].full_name == NULL) st = cpli_nomem(f->ctx);
  }
  if (st < 0) return st;
  if (e->n_connectors > 0) qsort(*out, e->n_connectors, sizeof **out, by_name);
  *count = e->n_connectors;
  for (size_t i = 0; i < e->n_connectors && st >= 0; i++)
    st = add_name(f, names, (*out)[i].name, i);
  return st;
}

static bool goes_in(cpli_ssp_connector_kind kind) {
  return kind == CPLI_SSP_INPUT || kind == CPLI_SSP_PARAMETER ||
         kind == CPLI_SSP_STRUCTURAL_PARAMETER || kind == CPLI_SSP_INOUT;
}

static cpl_status join_sides(flat* f, port* from, port* to) {
  cpli_flat_edge* edge = cpli_def_array(f->def, 1, sizeof *edge);
  if (edge == NULL) return cpli_nomem(f->ctx);
  *edge = (cpli_flat_edge){.source = from};
  to->in = edge;
  return CPL_OK;
}

// A component that is a system has the connectors of the system. Those that have another unit
// outside are ports of their own.
static cpl_status make_outer(flat* f, node* n) {
  const cpli_ssp_element* e = n->element;
  cpl_status st = cpli_names_init(&n->outer_names, f->ctx, 0);
  n->outer = cpli_def_array(f->def, e->n_connectors, sizeof *n->outer);
  if (st >= 0 && n->outer == NULL && e->n_connectors > 0) st = cpli_nomem(f->ctx);
  for (size_t i = 0; i < e->n_connectors && st >= 0; i++) {
    const cpli_ssp_connector* c = &e->connectors[i];
    port* inside = cpli_flat_inside(n, c->name);
    port* out = &n->outer[n->n_outer];
    fill_port(f, n, e->file, c, CPLI_FLAT_SYSTEM, out);
    if (out->full_name == NULL) return cpli_nomem(f->ctx);
    if (inside == NULL)
      st = cpli_flat_report(f, false, &c->loc, "connector %s: there is no such one inside of %s",
                            c->name, n->path);
    if (inside != NULL && !inside->type.given) {
      inside->type = out->type;
      inside->file = out->file;
    }
    if (inside != NULL && inside->unit == NULL) inside->unit = out->unit;
    if (inside != NULL && (out->unit == NULL || out->unit == inside->unit)) continue;
    if (st >= 0) st = add_name(f, &n->outer_names, c->name, n->n_outer);
    n->n_outer++;
    if (inside != NULL) inside->is_hidden = true;
    if (st >= 0 && inside != NULL)
      st = goes_in(inside->kind) ? join_sides(f, out, inside) : join_sides(f, inside, out);
  }
  return st;
}

port* cpli_flat_inside(node* n, const char* connector) {
  const int32_t i = cpli_names_find(&n->port_names, connector);
  return i >= 0 ? &n->ports[i] : NULL;
}

port* cpli_flat_outside(node* n, const char* connector) {
  const int32_t i = n->n_outer > 0 ? cpli_names_find(&n->outer_names, connector) : -1;
  return i >= 0 ? &n->outer[i] : cpli_flat_inside(n, connector);
}

//------------------------------------ dictionaries ------------------------------------

static cpl_status make_entries(flat* f, node* n, size_t d) {
  const cpli_ssp_dictionary* dict = &n->system->dictionaries[d];
  port* ports = cpli_def_array(f->def, dict->n_entries, sizeof *ports);
  cpl_status st = cpli_names_init(&n->entry_names[d], f->ctx, dict->n_entries);
  if (st >= 0 && ports == NULL && dict->n_entries > 0) st = cpli_nomem(f->ctx);
  n->entries[d] = ports;
  for (size_t i = 0; i < dict->n_entries && st >= 0; i++) {
    const cpli_ssp_entry* e = &dict->entries[i];
    ports[i] =
        (port){.node = n,
               .side = CPLI_FLAT_ENTRY,
               .kind = CPLI_SSP_INOUT,
               .name = e->name,
               .full_name = cpli_flat_text(f, "%s%s%s.%s", n->path, n->path[0] != '\0' ? "." : "",
                                           dict->name, e->name),
               .type = e->type,
               .dimensions = e->dimensions,
               .n_dimensions = e->n_dimensions,
               .loc = e->loc};
    ports[i].unit = cpli_flat_unit(f, dict->file, e->type.unit);
    ports[i].file = dict->file;
    st = ports[i].full_name != NULL ? add_name(f, &n->entry_names[d], e->name, i)
                                    : cpli_nomem(f->ctx);
  }
  return st;
}

static cpl_status make_dictionaries(flat* f, node* n) {
  const size_t count = n->system->n_dictionaries;
  if (count == 0) return CPL_OK;
  n->entries = cpli_def_array(f->def, count, sizeof(port*));
  n->entry_names = cpli_def_array(f->def, count, sizeof *n->entry_names);
  if (n->entries == NULL || n->entry_names == NULL) return cpli_nomem(f->ctx);
  cpl_status st = CPL_OK;
  for (size_t d = 0; d < count && st >= 0; d++) st = make_entries(f, n, d);
  return st;
}

// The entry of the innermost dictionary of that name around a reference.
static cpl_status find_entries(flat* f, node* reference) {
  const char* name = reference->element->dictionary;
  for (node* n = reference->parent; n != NULL; n = n->parent) {
    for (size_t d = 0; d < n->system->n_dictionaries; d++) {
      if (strcmp(n->system->dictionaries[d].name, name) != 0) continue;
      cpl_status st = CPL_OK;
      for (size_t i = 0; i < reference->n_ports && st >= 0; i++) {
        port* p = &reference->ports[i];
        const int32_t at = cpli_names_find(&n->entry_names[d], p->name);
        if (at >= 0) p->entry = &n->entries[d][at];
        else
          st = cpli_flat_report(f, true, &p->loc, "the signal dictionary %s has no entry %s", name,
                                p->name);
      }
      return st;
    }
  }
  return cpli_flat_report(f, true, &reference->element->loc,
                          "%s refers to a signal dictionary %s, which no system around it has",
                          reference->path, name);
}

//------------------------------------ nodes ------------------------------------

static cpl_status append(flat* f, void* list, size_t* cap, size_t n) {
  return cpli_grow(f->ctx, list, cap, n, sizeof(void*)) ? CPL_OK : cpli_nomem(f->ctx);
}

// What a component without a model or a system inside is.
static cpl_status check_component(flat* f, const node* n) {
  const cpli_ssp_element* e = n->element;
  if (e->source == NULL)
    return cpli_flat_report(f, false, &e->loc,
                            "component %s has no source: its outputs keep their start values",
                            n->path);
  if (strncmp(e->type, "text/x-modelica", 15) == 0)
    return cpli_flat_report(f, true, &e->loc,
                            "component %s is a model in Modelica: export it as an FMU with a "
                            "Modelica tool, and refer to that",
                            n->path);
  return cpli_flat_report(f, true, &e->loc,
                          "component %s is of type %s; FMUs and SSP systems can be simulated",
                          n->path, e->type);
}

static cpl_status make_node(flat* f, node* n);

static cpl_status make_children(flat* f, node* n) {
  const cpli_ssp_element* e = n->system;
  cpl_status st = cpli_names_init(&n->child_names, f->ctx, e->n_elements);
  n->children = cpli_def_array(f->def, e->n_elements, sizeof *n->children);
  if (st >= 0 && n->children == NULL && e->n_elements > 0) st = cpli_nomem(f->ctx);
  if (st >= 0) st = make_dictionaries(f, n);
  for (size_t i = 0; i < e->n_elements && st >= 0; i++) {
    node* child = &n->children[i];
    *child = (node){
        .element = &e->elements[i], .parent = n, .path = join(f, n->path, e->elements[i].name)};
    n->n_children++;
    if (child->path == NULL) return cpli_nomem(f->ctx);
    st = add_name(f, &n->child_names, child->element->name, i);
    if (st >= 0) st = make_node(f, child);
  }
  return st;
}

static cpl_status list_ports(flat* f, port* ports, size_t n) {
  cpl_status st = CPL_OK;
  for (size_t i = 0; i < n && st >= 0; i++) {
    st = append(f, &f->systems, &f->cap_systems, f->n_systems);
    if (st >= 0) f->systems[f->n_systems++] = &ports[i];
  }
  return st;
}

static cpl_status make_system(flat* f, node* n) {
  cpl_status st =
      make_ports(f, n, n->system, CPLI_FLAT_SYSTEM, &n->ports, &n->n_ports, &n->port_names);
  if (st >= 0 && n->system != n->element) st = make_outer(f, n);
  if (st >= 0) st = list_ports(f, n->ports, n->n_ports);
  if (st >= 0) st = list_ports(f, n->outer, n->n_outer);
  return st < 0 ? st : make_children(f, n);
}

static cpl_status make_model(flat* f, node* n) {
  n->is_model = true;
  cpl_status st = append(f, &f->models, &f->cap_models, f->n_models);
  if (st >= 0) f->models[f->n_models++] = n;
  if (st >= 0) st = cpli_names_init(&n->start_names, f->ctx, 0);
  return st < 0 ? st
                : make_ports(f, n, n->element, CPLI_FLAT_VARIABLE, &n->ports, &n->n_ports,
                             &n->port_names);
}

static cpl_status make_node(flat* f, node* n) {
  const cpli_ssp_element* e = n->element;
  if (e->kind == CPLI_SSP_DICTIONARY_REFERENCE) {
    cpl_status st =
        make_ports(f, n, e, CPLI_FLAT_REFERENCE, &n->ports, &n->n_ports, &n->port_names);
    return st < 0 ? st : find_entries(f, n);
  }
  if (e->kind == CPLI_SSP_COMPONENT && e->fmu != NULL) return make_model(f, n);
  if (e->kind == CPLI_SSP_COMPONENT && e->inner != NULL && e->inner->file != e->file &&
      cpli_flat_has_own(e->inner)) {
    n->own_system = cpli_ssp_path_of(f->ssp, e->inner->file);
    return n->own_system != NULL ? make_model(f, n) : cpli_nomem(f->ctx);
  }
  n->system = e->kind == CPLI_SSP_COMPONENT && e->inner != NULL ? e->inner : e;
  cpl_status st = CPL_OK;
  if (e->kind == CPLI_SSP_COMPONENT && e->inner == NULL) st = check_component(f, n);
  return st < 0 ? st : make_system(f, n);
}

static int by_path(const void* a, const void* b) {
  const node *const *x = a, *const *y = b;
  return strcmp((*x)->path, (*y)->path);
}

static int by_full_name(const void* a, const void* b) {
  const port *const *x = a, *const *y = b;
  return strcmp((*x)->full_name, (*y)->full_name);
}

cpl_status cpli_flat_tree(flat* f) {
  f->root = (node){.element = f->ssp->system, .path = ""};
  cpl_status st = make_node(f, &f->root);
  if (f->n_models > 0) qsort(f->models, f->n_models, sizeof(node*), by_path);
  if (f->n_systems > 0) qsort(f->systems, f->n_systems, sizeof(port*), by_full_name);
  return st;
}

static void free_node(node* n) {
  for (size_t i = 0; i < n->n_children; i++) free_node(&n->children[i]);
  for (size_t d = 0; n->entry_names != NULL && d < n->system->n_dictionaries; d++)
    cpli_names_free(&n->entry_names[d]);
  cpli_names_free(&n->child_names);
  cpli_names_free(&n->port_names);
  cpli_names_free(&n->outer_names);
  cpli_names_free(&n->start_names);
}

void cpli_flat_free(flat* f) {
  free_node(&f->root);
  cpli_free(f->ctx, f->models);
  cpli_free(f->ctx, f->systems);
}
