// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The contents of .ssv, .ssm and .ssb files, or of their elements inside an .ssd.
#include "format/scan.h"
#include "ssp/reader.h"

static const char* name_of(const cpli_xml_node* node, const char* attribute) {
  const char* name = cpli_xml_node_attribute(node, attribute);
  return name != NULL ? name : "";
}

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

//------------------------------------ values ------------------------------------

// A list of numbers, separated by blanks.
static cpl_status split(cpli_ssp_reader* r, const char* text, const char* const** out, size_t* n) {
  *n = 0;
  for (const char* c = text; *c != '\0'; c++)
    if (!is_blank(*c) && (c == text || is_blank(c[-1]))) ++*n;
  const char** values = cpli_ssp_array(r, *n, sizeof *values);
  if (values == NULL) return cpli_nomem(r->ctx);
  *out = values;
  for (size_t i = 0; i < *n; i++) {
    while (is_blank(*text)) text++;
    size_t len = 0;
    while (text[len] != '\0' && !is_blank(text[len])) len++;
    values[i] = cpli_arena_strndup(&r->ssp->arena, text, len);
    if (values[i] == NULL) return cpli_nomem(r->ctx);
    text += len;
  }
  return CPL_OK;
}

// Texts, which may have blanks: one as an attribute, or any number of elements Value.
static cpl_status read_texts(cpli_ssp_reader* r, const cpli_xml_node* node, const char* const** out,
                             size_t* n) {
  const char* single = cpli_xml_node_attribute(node, "value");
  *n = single != NULL ? 1 : cpli_ssp_count_children(node, CPLI_SSV, "Value");
  const char** values = cpli_ssp_array(r, *n, sizeof *values);
  if (values == NULL) return cpli_nomem(r->ctx);
  *out = values;
  if (single != NULL) {
    values[0] = single;
    return CPL_OK;
  }
  const cpli_xml_node* value = cpli_xml_child(node, CPLI_SSV, "Value");
  for (; value != NULL; value = cpli_xml_sibling(value)) *values++ = name_of(value, "value");
  return CPL_OK;
}

//------------------------------------ parameters ------------------------------------

static const char* item_at(const void* user, size_t i) {
  return ((const cpli_ssp_enumeration*)user)->items[i].name;
}

// Values of an enumeration that the file defines are names of its items; some tools write numbers.
static cpl_status check_items(cpli_ssp_reader* r, const cpli_ssp_document* doc,
                              const cpli_ssp_parameter* p) {
  if (p->type.type != CPL_ENUMERATION || p->type.enumeration == NULL) return CPL_OK;
  const cpli_ssp_enumeration* e = cpli_ssp_find_enumeration(&doc->file, p->type.enumeration);
  for (size_t i = 0; e != NULL && i < p->n_values; i++) {
    bool known = false;
    int64_t number;
    for (size_t k = 0; !known && k < e->n_items; k++)
      known = strcmp(e->items[k].name, p->values[i]) == 0;
    if (known || cpli_parse_integer(p->values[i], INT64_MIN, INT64_MAX, &number)) continue;
    char similar[256];
    cpli_did_you_mean(p->values[i], item_at, e, e->n_items, similar, sizeof similar);
    cpl_status st =
        cpli_ssp_error(r, &p->loc, "parameter '%s': enumeration '%s' has no item '%s'%s", p->name,
                       e->name, p->values[i], similar);
    if (st < 0) return st;
  }
  return CPL_OK;
}

static cpl_status check_size(cpli_ssp_reader* r, const cpli_ssp_parameter* p) {
  if (p->n_dimensions == 0) {
    if (p->n_values > 0) return CPL_OK;
    return cpli_ssp_error(r, &p->loc, "parameter '%s' has no value", p->name);
  }
  int64_t size = 1;
  for (size_t i = 0; i < p->n_dimensions; i++) {
    const int64_t d = p->dimensions[i].size;
    if (d < 0) return CPL_OK;
    if (d > 0 && size > INT64_MAX / d) size = INT64_MAX;
    else size *= d;
  }
  if ((uint64_t)size == p->n_values) return CPL_OK;
  return cpli_ssp_error(r, &p->loc, "parameter '%s' has %zu values, its dimensions require %lld",
                        p->name, p->n_values, (long long)size);
}

static cpl_status read_parameter(cpli_ssp_reader* r, cpli_ssp_document* doc,
                                 const cpli_xml_node* node, cpli_ssp_parameter* p) {
  p->name = name_of(node, "name");
  p->loc = cpli_ssp_loc(doc, node);
  const cpli_xml_node* value = NULL;
  cpl_status st = cpli_ssp_read_type(r, doc, node, CPLI_SSV, &p->type, &value);
  if (st >= 0) st = cpli_ssp_read_dimensions(r, doc, node, &p->dimensions, &p->n_dimensions);
  if (st < 0 || value == NULL) return st;
  const cpl_type t = p->type.type;
  if (t == CPL_STRING || t == CPL_ENUMERATION || t == CPL_BINARY) {
    st = read_texts(r, value, &p->values, &p->n_values);
  } else {
    const char* text = cpli_xml_node_attribute(value, "value");
    if (text == NULL) return CPL_OK;
    st = split(r, text, &p->values, &p->n_values);
  }
  if (st >= 0) st = check_size(r, p);
  return st >= 0 ? check_items(r, doc, p) : st;
}

// Public packages have parameters of the same name; the last one is the one that applies.
static cpl_status check_names(cpli_ssp_reader* r, const cpli_ssp_parameter_set* set) {
  const cpli_ssp_parameter *p = set->parameters, *twice = NULL;
  cpli_names names = {0};
  cpl_status st = cpli_names_init(&names, r->ctx, set->n_parameters);
  size_t n = 0;
  int32_t first = 0;
  for (size_t i = 0; st >= 0 && i < set->n_parameters; i++) {
    const int32_t k = cpli_names_add(&names, p[i].name, (int32_t)i);
    if (k < 0) st = cpli_nomem(r->ctx);
    if (k == (int32_t)i || n++ > 0) continue;
    twice = &p[i];
    first = k;
  }
  cpli_names_free(&names);
  if (st < 0 || n == 0) return st;
  char more[64] = "";
  if (n > 1) snprintf(more, sizeof more, ", and so are %zu others", n - 1);
  return cpli_ssp_warn(r, &twice->loc,
                       "parameter '%s' is there twice, also in line %d%s; the last value applies",
                       twice->name, p[first].loc.line, more);
}

cpl_status cpli_ssp_read_set(cpli_ssp_reader* r, cpli_ssp_document* doc) {
  cpli_ssp_parameter_set* set = cpli_ssp_array(r, 1, sizeof *set);
  if (set == NULL) return cpli_nomem(r->ctx);
  set->file = &doc->file;
  set->name = name_of(doc->root, "name");
  doc->set = set;
  const cpli_xml_node* list = cpli_xml_child(doc->root, CPLI_SSV, "Parameters");
  if (list == NULL) return CPL_OK;
  set->n_parameters = cpli_ssp_count_children(list, CPLI_SSV, "Parameter");
  cpli_ssp_parameter* parameters = cpli_ssp_array(r, set->n_parameters, sizeof *parameters);
  if (parameters == NULL) return cpli_nomem(r->ctx);
  set->parameters = parameters;

  cpl_status st = CPL_OK;
  const cpli_xml_node* node = cpli_xml_child(list, CPLI_SSV, "Parameter");
  for (size_t i = 0; st >= 0 && node != NULL; node = cpli_xml_sibling(node), i++)
    st = read_parameter(r, doc, node, &parameters[i]);
  return st >= 0 ? check_names(r, set) : st;
}

//------------------------------------ mappings ------------------------------------

cpl_status cpli_ssp_read_mapping(cpli_ssp_reader* r, cpli_ssp_document* doc) {
  cpli_ssp_mapping* mapping = cpli_ssp_array(r, 1, sizeof *mapping);
  const size_t n = cpli_ssp_count_children(doc->root, CPLI_SSM, "MappingEntry");
  cpli_ssp_mapping_entry* entries = cpli_ssp_array(r, n, sizeof *entries);
  if (mapping == NULL || entries == NULL) return cpli_nomem(r->ctx);
  *mapping = (cpli_ssp_mapping){.file = &doc->file, .entries = entries, .n_entries = n};
  doc->mapping = mapping;

  cpli_names targets = {0};
  cpl_status st = cpli_names_init(&targets, r->ctx, n);
  const cpli_xml_node* node = cpli_xml_child(doc->root, CPLI_SSM, "MappingEntry");
  for (size_t i = 0; st >= 0 && node != NULL; node = cpli_xml_sibling(node), i++) {
    cpli_ssp_mapping_entry* e = &entries[i];
    e->source = name_of(node, "source");
    e->target = name_of(node, "target");
    e->loc = cpli_ssp_loc(doc, node);
    st = cpli_ssp_read_transform(r, doc, node, &e->transform);
    if (st >= 0) st = cpli_ssp_unique(r, &targets, e->target, &e->loc, "the target");
  }
  cpli_names_free(&targets);
  return st;
}

//------------------------------------ dictionaries ------------------------------------

cpl_status cpli_ssp_read_entries(cpli_ssp_reader* r, cpli_ssp_document* doc) {
  const size_t n = cpli_ssp_count_children(doc->root, CPLI_SSB, "DictionaryEntry");
  cpli_ssp_entry* entries = cpli_ssp_array(r, n, sizeof *entries);
  if (entries == NULL) return cpli_nomem(r->ctx);
  doc->entries = entries;
  doc->n_entries = n;
  cpli_names names = {0};
  cpl_status st = cpli_names_init(&names, r->ctx, n);
  const cpli_xml_node* node = cpli_xml_child(doc->root, CPLI_SSB, "DictionaryEntry");
  for (size_t i = 0; st >= 0 && node != NULL; node = cpli_xml_sibling(node), i++) {
    cpli_ssp_entry* e = &entries[i];
    const cpli_xml_node* type = NULL;
    e->name = name_of(node, "name");
    e->loc = cpli_ssp_loc(doc, node);
    st = cpli_ssp_read_type(r, doc, node, CPLI_SSC, &e->type, &type);
    if (st >= 0) st = cpli_ssp_read_dimensions(r, doc, node, &e->dimensions, &e->n_dimensions);
    if (st >= 0) st = cpli_ssp_unique(r, &names, e->name, &e->loc, "entry");
  }
  cpli_names_free(&names);
  return st;
}
