// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Parameter bindings and signal dictionaries: content that is inline or in a file of its own.
#include "ssp/reader.h"

// Where content of an element of an .ssd comes from.
typedef struct origin {
  cpli_ssp_kind kind;
  const char* mime_type;   // that is read
  const char *uri, *name;  // of the element inline
  const char* what;        // for messages: "ParameterBinding of 'motor'"
} origin;

// The place that sourceBase="component" refers to: inside the FMU or package, or beside the .ssd.
static cpl_status component_base(cpli_ssp_reader* r, const cpli_ssp_document* doc,
                                 const cpli_ssp_element* e, const char* what,
                                 const cpli_source_loc* loc, cpli_ssp_target* out) {
  *out = (cpli_ssp_target){.is_error = true};
  if (e->kind != CPLI_SSP_COMPONENT || e->source == NULL)
    return cpli_ssp_error(r, loc, "%s: sourceBase=\"component\" requires a component with a source",
                          what);
  cpl_status st = cpli_ssp_resolve(r, doc->package, doc->name, e->source, what, loc, out);
  if (st < 0 || out->is_error) return st;
  if (out->name == NULL) {
    out->name = doc->name;
    return CPL_OK;
  }
  const size_t n = strlen(out->name);
  if (n > 4 && strcmp(out->name + n - 4, ".ssd") == 0) return CPL_OK;
  const char *path, *shown = cpli_ssp_package_shown(r, out->package, out->name);
  if (shown == NULL) return cpli_nomem(r->ctx);
  st = cpli_ssp_package_extract(r, out->package, out->name, &path);
  cpli_ssp_package* inner = NULL;
  if (st >= 0) st = cpli_ssp_package_open(r, path, shown, &inner);
  if (st < 0) {
    out->is_error = true;
    return cpli_ssp_caught(r, st);
  }
  *out = (cpli_ssp_target){.package = inner, .name = ""};
  return CPL_OK;
}

static cpl_status open_source(cpli_ssp_reader* r, const cpli_ssp_document* doc,
                              const cpli_ssp_element* e, const cpli_xml_node* node,
                              const origin* from, const char* source, cpli_ssp_document** out) {
  const cpli_source_loc loc = cpli_ssp_loc(doc, node);
  const char* base = cpli_xml_node_attribute(node, "sourceBase");
  cpli_ssp_target begin = {.package = doc->package, .name = doc->name}, target;
  if (base != NULL && strcmp(base, "component") == 0) {
    cpl_status st = component_base(r, doc, e, from->what, &loc, &begin);
    if (st < 0 || begin.is_error) return st;
  }
  cpl_status st = cpli_ssp_resolve(r, begin.package, begin.name, source, from->what, &loc, &target);
  if (st < 0 || target.is_error) return st;
  if (target.name == NULL || target.fragment != NULL)
    return cpli_ssp_error(r, &loc, "%s: source '%s': a fragment ('#') has no meaning here",
                          from->what, source);
  return cpli_ssp_document_open(r, target.package, target.name, from->kind, out);
}

// The content of `node`: a file, or an element inside `inside`. *out NULL: in error.
static cpl_status open_content(cpli_ssp_reader* r, const cpli_ssp_document* doc,
                               const cpli_ssp_element* e, const cpli_xml_node* node,
                               const cpli_xml_node* inside, const origin* from,
                               cpli_ssp_document** out) {
  const cpli_source_loc loc = cpli_ssp_loc(doc, node);
  const char* type = cpli_xml_node_attribute(node, "type");
  const char* source = cpli_xml_node_attribute(node, "source");
  *out = NULL;
  if (type != NULL && strcmp(type, from->mime_type) != 0)
    return cpli_ssp_error(r, &loc, "%s: the type '%s' is not known; only %s can be read",
                          from->what, type, from->mime_type);
  const cpli_xml_node* content =
      inside != NULL ? cpli_xml_child(inside, from->uri, from->name) : NULL;
  const bool has_source = source != NULL && source[0] != '\0';
  if (has_source && content != NULL)
    return cpli_ssp_error(r, &loc, "%s has both a source and a %s inside", from->what, from->name);
  if (!has_source && content == NULL)
    return cpli_ssp_error(r, &loc, "%s has neither a source nor a %s inside", from->what,
                          from->name);
  cpl_status st = has_source ? open_source(r, doc, e, node, from, source, out)
                             : cpli_ssp_document_inline(r, doc, content, from->kind, out);
  return st >= 0 && *out != NULL ? cpli_ssp_document_read(r, *out) : st;
}

//------------------------------------ bindings ------------------------------------

static cpl_status read_binding(cpli_ssp_reader* r, cpli_ssp_document* doc,
                               const cpli_ssp_element* e, const cpli_xml_node* node,
                               cpli_ssp_binding* out) {
  const char* what = cpli_ssp_text(r, "ParameterBinding of '%s'", e->name);
  const char* what_mapping = cpli_ssp_text(r, "ParameterMapping of '%s'", e->name);
  if (what == NULL || what_mapping == NULL) return cpli_nomem(r->ctx);
  const char* prefix = cpli_xml_node_attribute(node, "prefix");
  out->prefix = prefix != NULL ? prefix : "";
  out->loc = cpli_ssp_loc(doc, node);

  cpli_ssp_document* content = NULL;
  const origin values = {CPLI_SSP_VALUES, "application/x-ssp-parameter-set", CPLI_SSV,
                         "ParameterSet", what};
  const cpli_xml_node* inside = cpli_xml_child(node, CPLI_SSD, "ParameterValues");
  cpl_status st = open_content(r, doc, e, node, inside, &values, &content);
  if (st < 0) return st;
  if (content != NULL) out->set = content->set;

  const cpli_xml_node* map = cpli_xml_child(node, CPLI_SSD, "ParameterMapping");
  if (map == NULL) return CPL_OK;
  const origin mapping = {CPLI_SSP_MAPPING, "application/x-ssp-parameter-mapping", CPLI_SSM,
                          "ParameterMapping", what_mapping};
  st = open_content(r, doc, e, map, map, &mapping, &content);
  if (st >= 0 && content != NULL) out->mapping = content->mapping;
  return st;
}

static cpl_status read_list(cpli_ssp_reader* r, cpli_ssp_document* doc, cpli_ssp_element* element,
                            const cpli_xml_node* list, cpli_ssp_binding* bindings) {
  cpl_status st = CPL_OK;
  const cpli_xml_node* node = cpli_xml_child(list, CPLI_SSD, "ParameterBinding");
  for (; st >= 0 && node != NULL; node = cpli_xml_sibling(node)) {
    cpli_ssp_binding* b = &bindings[element->n_bindings];
    *b = (cpli_ssp_binding){0};
    st = read_binding(r, doc, element, node, b);
    if (b->set != NULL) element->n_bindings++;
  }
  return st;
}

// There should be one list, but public packages have several.
cpl_status cpli_ssp_read_bindings(cpli_ssp_reader* r, cpli_ssp_document* doc,
                                  cpli_ssp_element* element) {
  const cpli_xml_node* first = cpli_xml_child(element->node, CPLI_SSD, "ParameterBindings");
  size_t n = 0;
  for (const cpli_xml_node* list = first; list != NULL; list = cpli_xml_sibling(list))
    n += cpli_ssp_count_children(list, CPLI_SSD, "ParameterBinding");
  if (n == 0) return CPL_OK;
  cpli_ssp_binding* bindings = cpli_ssp_array(r, n, sizeof *bindings);
  if (bindings == NULL) return cpli_nomem(r->ctx);
  element->bindings = bindings;
  cpl_status st = CPL_OK;
  for (const cpli_xml_node* list = first; st >= 0 && list != NULL; list = cpli_xml_sibling(list))
    st = read_list(r, doc, element, list, bindings);
  return st;
}

//------------------------------------ dictionaries ------------------------------------

static cpl_status read_dictionary(cpli_ssp_reader* r, cpli_ssp_document* doc,
                                  const cpli_ssp_element* system, const cpli_xml_node* node,
                                  cpli_ssp_dictionary* out) {
  const char* name = cpli_xml_node_attribute(node, "name");
  out->name = name != NULL ? name : "";
  out->loc = cpli_ssp_loc(doc, node);
  const char* what = cpli_ssp_text(r, "SignalDictionary '%s'", out->name);
  if (what == NULL) return cpli_nomem(r->ctx);
  const origin from = {CPLI_SSP_SIGNALS, "application/x-ssp-signal-dictionary", CPLI_SSB,
                       "SignalDictionary", what};
  cpli_ssp_document* content = NULL;
  cpl_status st = open_content(r, doc, system, node, node, &from, &content);
  out->file = &doc->file;
  if (st < 0 || content == NULL) return st;
  out->file = &content->file;
  out->entries = content->entries;
  out->n_entries = content->n_entries;
  return CPL_OK;
}

cpl_status cpli_ssp_read_dictionaries(cpli_ssp_reader* r, cpli_ssp_document* doc,
                                      cpli_ssp_element* system) {
  const cpli_xml_node* list = cpli_xml_child(system->node, CPLI_SSD, "SignalDictionaries");
  if (list == NULL) return CPL_OK;
  system->n_dictionaries = cpli_ssp_count_children(list, CPLI_SSD, "SignalDictionary");
  cpli_ssp_dictionary* d = cpli_ssp_array(r, system->n_dictionaries, sizeof *d);
  if (d == NULL) return cpli_nomem(r->ctx);
  system->dictionaries = d;
  cpli_names names = {0};
  cpl_status st = cpli_names_init(&names, r->ctx, system->n_dictionaries);
  const cpli_xml_node* node = cpli_xml_child(list, CPLI_SSD, "SignalDictionary");
  for (; st >= 0 && node != NULL; node = cpli_xml_sibling(node), d++) {
    st = read_dictionary(r, doc, system, node, d);
    if (st >= 0) st = cpli_ssp_unique(r, &names, d->name, &d->loc, "SignalDictionary");
  }
  cpli_names_free(&names);
  return st;
}
