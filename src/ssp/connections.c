// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The connections of one system. All names are looked up in tables that exist while the system is
// read: one of its elements, and one per element of its connectors.
#include "format/scan.h"
#include "ssp/reader.h"

typedef struct scope {
  cpli_ssp_reader* r;
  const cpli_ssp_document* doc;
  const cpli_ssp_element* system;
  cpli_names elements;
  cpli_names* connectors;  // of the elements, and at last of the system itself
} scope;

//------------------------------------ tables ------------------------------------

static const char* connector_at(const void* user, size_t i) {
  return ((const cpli_ssp_element*)user)->connectors[i].name;
}

static const char* element_at(const void* user, size_t i) {
  return ((const cpli_ssp_element*)user)->elements[i].name;
}

static cpl_status unknown_connector(scope* s, const cpli_source_loc* loc, const char* what,
                                    const cpli_ssp_element* e, const char* name) {
  char similar[256];
  cpli_did_you_mean(name, connector_at, e, e->n_connectors, similar, sizeof similar);
  return cpli_ssp_error(s->r, loc, "%s: '%s' has no connector '%s'%s", what, e->name, name,
                        similar);
}

// Sizes of arrays and clocks are connectors of the same element.
static cpl_status check_connector(scope* s, const cpli_names* names, const cpli_ssp_element* e,
                                  const cpli_ssp_connector* c) {
  char what[256];
  snprintf(what, sizeof what, "connector '%.200s'", c->name);
  cpl_status st = CPL_OK;
  for (size_t i = 0; st >= 0 && i < c->n_dimensions; i++) {
    const char* size = c->dimensions[i].size_connector;
    if (size != NULL && cpli_names_find(names, size) < 0)
      st = unknown_connector(s, &c->loc, what, e, size);
  }
  for (size_t i = 0; st >= 0 && i < c->n_clocks; i++) {
    const int32_t k = cpli_names_find(names, c->clocks[i]);
    if (k < 0) {
      st = unknown_connector(s, &c->loc, what, e, c->clocks[i]);
    } else if (e->connectors[k].type.given && e->connectors[k].type.type != CPL_CLOCK) {
      st = cpli_ssp_error(s->r, &c->loc, "%s: '%s' is not a clock", what, c->clocks[i]);
    }
  }
  return st;
}

static cpl_status index_connectors(scope* s, const cpli_ssp_element* e, cpli_names* names) {
  cpl_status st = cpli_names_init(names, s->r->ctx, e->n_connectors);
  for (size_t i = 0; st >= 0 && i < e->n_connectors; i++) {
    const cpli_ssp_connector* c = &e->connectors[i];
    const int32_t first = cpli_names_add(names, c->name, (int32_t)i);
    if (first < 0) {
      st = cpli_nomem(s->r->ctx);
    } else if (first != (int32_t)i) {
      st = cpli_ssp_error(s->r, &c->loc, "'%s' has two connectors '%s', also in line %d", e->name,
                          c->name, e->connectors[first].loc.line);
    }
  }
  for (size_t i = 0; st >= 0 && i < e->n_connectors; i++)
    st = check_connector(s, names, e, &e->connectors[i]);
  return st;
}

static cpl_status index_system(scope* s) {
  const cpli_ssp_element* system = s->system;
  cpl_context* ctx = s->r->ctx;
  s->connectors = cpli_alloc(ctx, system->n_elements + 1, sizeof *s->connectors);
  if (s->connectors == NULL) return cpli_nomem(ctx);
  cpl_status st = cpli_names_init(&s->elements, ctx, system->n_elements);
  for (size_t i = 0; st >= 0 && i < system->n_elements; i++) {
    const cpli_ssp_element* e = &system->elements[i];
    const int32_t first = cpli_names_add(&s->elements, e->name, (int32_t)i);
    if (first < 0) {
      st = cpli_nomem(ctx);
    } else if (first != (int32_t)i) {
      st = cpli_ssp_error(s->r, &e->loc, "system '%s' has two elements '%s', also in line %d",
                          system->name, e->name, system->elements[first].loc.line);
    }
    if (st >= 0) st = index_connectors(s, e, &s->connectors[i]);
  }
  return st >= 0 ? index_connectors(s, system, &s->connectors[system->n_elements]) : st;
}

static void free_scope(scope* s) {
  for (size_t i = 0; s->connectors != NULL && i <= s->system->n_elements; i++)
    cpli_names_free(&s->connectors[i]);
  cpli_free(s->r->ctx, s->connectors);
  cpli_names_free(&s->elements);
}

//------------------------------------ ends ------------------------------------

static cpl_status read_indices(scope* s, const cpli_source_loc* loc, const char* text,
                               const cpli_ssp_connector* c, cpli_ssp_end* end) {
  size_t n = 0;
  int64_t value;
  for (const char* at = text; (at = cpli_scan_integer(at, 0, INT64_MAX, &value)) != NULL;) n++;
  int64_t* indices = cpli_ssp_array(s->r, n, sizeof *indices);
  if (indices == NULL) return cpli_nomem(s->r->ctx);
  const char* at = text;
  for (size_t i = 0; i < n; i++) at = cpli_scan_integer(at, 0, INT64_MAX, &indices[i]);
  end->indices = indices;
  end->n_indices = n;
  if (c->n_dimensions != n)
    return cpli_ssp_error(s->r, loc, "connector '%s' has %zu dimensions, but %zu indices are given",
                          c->name, c->n_dimensions, n);
  for (size_t i = 0; i < n; i++) {
    const int64_t size = c->dimensions[i].size_connector == NULL ? c->dimensions[i].size : -1;
    if (size < 0 || indices[i] <= size) continue;
    return cpli_ssp_error(s->r, loc,
                          "index %lld is outside dimension %zu of connector '%s', "
                          "whose size is %lld",
                          (long long)indices[i], i + 1, c->name, (long long)size);
  }
  return CPL_OK;
}

// *found: both names exist.
static cpl_status read_end(scope* s, const cpli_xml_node* node, bool is_start, cpli_ssp_end* end,
                           bool* found) {
  const cpli_source_loc loc = cpli_ssp_loc(s->doc, node);
  const char* connector =
      cpli_xml_node_attribute(node, is_start ? "startConnector" : "endConnector");
  const char* indices = cpli_xml_node_attribute(node, is_start ? "startIndices" : "endIndices");
  *found = false;
  end->element = cpli_xml_node_attribute(node, is_start ? "startElement" : "endElement");
  end->connector = connector != NULL ? connector : "";
  if (connector == NULL) return CPL_OK;  // reported by the rules
  if (end->element != NULL && end->element[0] == '\0') end->element = NULL;

  const cpli_ssp_element* e = s->system;
  size_t k = s->system->n_elements;
  if (end->element != NULL) {
    const int32_t i = cpli_names_find(&s->elements, end->element);
    if (i < 0) {
      char similar[256];
      cpli_did_you_mean(end->element, element_at, s->system, s->system->n_elements, similar,
                        sizeof similar);
      return cpli_ssp_error(s->r, &loc, "connection: system '%s' has no element '%s'%s",
                            s->system->name, end->element, similar);
    }
    k = (size_t)i;
    e = &s->system->elements[i];
  }
  const int32_t c = cpli_names_find(&s->connectors[k], connector);
  if (c < 0) return unknown_connector(s, &loc, "connection", e, connector);
  *found = true;
  return indices != NULL ? read_indices(s, &loc, indices, &e->connectors[c], end) : CPL_OK;
}

//------------------------------------ connections ------------------------------------

static cpl_status read_connection(scope* s, const cpli_xml_node* node, cpli_ssp_connection* out,
                                  bool* fine) {
  bool start = false, end = false;
  out->loc = cpli_ssp_loc(s->doc, node);
  cpl_status st = read_end(s, node, true, &out->start, &start);
  if (st >= 0) st = read_end(s, node, false, &out->end, &end);
  if (st >= 0) st = cpli_ssp_read_transform(s->r, s->doc, node, &out->transform);
  *fine = start && end;
  return st;
}

static cpl_status read_list(scope* s, const cpli_xml_node* list, cpli_ssp_element* system) {
  const size_t n = cpli_ssp_count_children(list, CPLI_SSD, "Connection");
  cpli_ssp_connection* connections = cpli_ssp_array(s->r, n, sizeof *connections);
  if (connections == NULL) return cpli_nomem(s->r->ctx);
  system->connections = connections;
  cpl_status st = CPL_OK;
  const cpli_xml_node* node = cpli_xml_child(list, CPLI_SSD, "Connection");
  for (; st >= 0 && node != NULL; node = cpli_xml_sibling(node)) {
    bool fine = false;
    st = read_connection(s, node, &connections[system->n_connections], &fine);
    system->n_connections += fine;
  }
  return st;
}

cpl_status cpli_ssp_read_connections(cpli_ssp_reader* r, const cpli_ssp_document* doc,
                                     cpli_ssp_element* system) {
  scope s = {.r = r, .doc = doc, .system = system};
  cpl_status st = index_system(&s);
  const cpli_xml_node* list = cpli_xml_child(system->node, CPLI_SSD, "Connections");
  if (st >= 0 && list != NULL) st = read_list(&s, list, system);
  free_scope(&s);
  return st;
}
