// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// What all files have in common: units, enumerations, types, dimensions and transformations. The
// forms of numbers were checked by the rules; where one is wrong and reading goes on, a default
// takes its place.
#include "format/scan.h"
#include "ssp/reader.h"

//------------------------------------ attributes ------------------------------------

static double real_of(const cpli_xml_node* node, const char* name, double otherwise) {
  const char* text = cpli_xml_node_attribute(node, name);
  double value = otherwise;
  return text != NULL && cpli_parse_real(text, &value) ? value : otherwise;
}

static int64_t integer_of(const cpli_xml_node* node, const char* name, int64_t min, int64_t max,
                          int64_t otherwise) {
  const char* text = cpli_xml_node_attribute(node, name);
  int64_t value = otherwise;
  return text != NULL && cpli_parse_integer(text, min, max, &value) ? value : otherwise;
}

static const char* text_of(const cpli_xml_node* node, const char* name) {
  const char* text = cpli_xml_node_attribute(node, name);
  return text != NULL ? text : "";
}

//------------------------------------ units ------------------------------------

static cpl_status read_unit(cpli_ssp_reader* r, const cpli_ssp_document* doc,
                            const cpli_xml_node* node, cpl_unit* unit) {
  static const char* const bases[8] = {"kg", "m", "s", "A", "K", "mol", "cd", "rad"};
  *unit = (cpl_unit){.name = text_of(node, "name"), .factor = 1, .display_of = -1};
  const cpli_xml_node* base = cpli_xml_child(node, CPLI_SSC, "BaseUnit");
  if (base == NULL) return CPL_OK;
  const cpli_source_loc loc = cpli_ssp_loc(doc, base);
  unit->has_base = true;
  for (size_t i = 0; i < CPLI_COUNT(bases); i++) {
    const int64_t exponent = integer_of(base, bases[i], INT32_MIN, INT32_MAX, 0);
    if (exponent < INT8_MIN || exponent > INT8_MAX) {
      cpl_status st = cpli_ssp_error(r, &loc, "unit '%s': the exponent of %s is too large",
                                     unit->name, bases[i]);
      if (st < 0) return st;
    } else {
      unit->exponents[i] = (int8_t)exponent;
    }
  }
  unit->factor = real_of(base, "factor", 1);
  unit->offset = real_of(base, "offset", 0);
  const double factor = unit->factor, offset = unit->offset;
  if (factor != 0 && factor - factor == 0 && offset - offset == 0) return CPL_OK;
  *unit = (cpl_unit){.name = unit->name, .factor = 1, .display_of = -1};
  return cpli_ssp_error(r, &loc, "unit '%s': factor and offset must be finite, and factor not 0",
                        unit->name);
}

static cpl_status read_enumeration(cpli_ssp_reader* r, const cpli_xml_node* node,
                                   cpli_ssp_enumeration* out) {
  out->name = text_of(node, "name");
  out->n_items = cpli_ssp_count_children(node, CPLI_SSC, "Item");
  cpl_enum_item* items = cpli_ssp_array(r, out->n_items, sizeof *items);
  if (items == NULL) return cpli_nomem(r->ctx);
  out->items = items;
  const cpli_xml_node* item = cpli_xml_child(node, CPLI_SSC, "Item");
  for (; item != NULL; item = cpli_xml_sibling(item), items++) {
    items->name = text_of(item, "name");
    items->description = "";
    items->value = integer_of(item, "value", INT64_MIN, INT64_MAX, 0);
  }
  return CPL_OK;
}

// Reports names that are there twice among the children of a list.
static cpl_status check_unique(cpli_ssp_reader* r, const cpli_ssp_document* doc,
                               const cpli_xml_node* first, const char* what) {
  cpli_names names = {0};
  cpl_status st = cpli_names_init(&names, r->ctx, 8);
  for (const cpli_xml_node* n = first; st >= 0 && n != NULL; n = cpli_xml_sibling(n)) {
    const cpli_source_loc loc = cpli_ssp_loc(doc, n);
    st = cpli_ssp_unique(r, &names, text_of(n, "name"), &loc, what);
  }
  cpli_names_free(&names);
  return st;
}

// A list of the document and its items, whose names differ. `what` is for messages.
typedef struct item_list {
  const char *list, *item, *what;
} item_list;

static cpl_status begin_list(cpli_ssp_reader* r, const cpli_ssp_document* doc, const char* space,
                             const item_list* l, const cpli_xml_node** first, size_t* n) {
  const cpli_xml_node* node = cpli_xml_child(doc->root, space, l->list);
  *first = node != NULL ? cpli_xml_child(node, CPLI_SSC, l->item) : NULL;
  *n = node != NULL ? cpli_ssp_count_children(node, CPLI_SSC, l->item) : 0;
  return check_unique(r, doc, *first, l->what);
}

cpl_status cpli_ssp_read_units(cpli_ssp_reader* r, cpli_ssp_document* doc, const char* space) {
  cpli_ssp_file* file = &doc->file;
  const cpli_xml_node *unit, *items;
  static const item_list of_units = {"Units", "Unit", "unit"},
                         of_enumerations = {"Enumerations", "Enumeration", "enumeration"};
  cpl_status st = begin_list(r, doc, space, &of_units, &unit, &file->n_units);
  if (st >= 0) st = begin_list(r, doc, space, &of_enumerations, &items, &file->n_enumerations);
  if (st < 0) return st;
  cpl_unit* units = cpli_ssp_array(r, file->n_units, sizeof *units);
  cpli_ssp_enumeration* enumerations =
      cpli_ssp_array(r, file->n_enumerations, sizeof *enumerations);
  if (units == NULL || enumerations == NULL) return cpli_nomem(r->ctx);
  file->units = units;
  file->enumerations = enumerations;
  for (; st >= 0 && unit != NULL; unit = cpli_xml_sibling(unit))
    st = read_unit(r, doc, unit, units++);
  for (; st >= 0 && items != NULL; items = cpli_xml_sibling(items))
    st = read_enumeration(r, items, enumerations++);
  return st;
}

const cpl_unit* cpli_ssp_find_unit(const cpli_ssp_file* file, const char* name) {
  for (size_t i = 0; i < file->n_units; i++)
    if (strcmp(file->units[i].name, name) == 0) return &file->units[i];
  return NULL;
}

const cpli_ssp_enumeration* cpli_ssp_find_enumeration(const cpli_ssp_file* file, const char* name) {
  for (size_t i = 0; i < file->n_enumerations; i++)
    if (strcmp(file->enumerations[i].name, name) == 0) return &file->enumerations[i];
  return NULL;
}

//------------------------------------ types ------------------------------------

static const struct {
  const char* name;
  cpl_type type;
  cpl_width width;
} types[] = {
    {"Real", CPL_REAL, CPL_WIDTH_OWN},
    {"Float64", CPL_REAL, CPL_WIDTH_FLOAT64},
    {"Float32", CPL_REAL, CPL_WIDTH_FLOAT32},
    {"Integer", CPL_INTEGER, CPL_WIDTH_OWN},
    {"Int8", CPL_INTEGER, CPL_WIDTH_INT8},
    {"UInt8", CPL_INTEGER, CPL_WIDTH_UINT8},
    {"Int16", CPL_INTEGER, CPL_WIDTH_INT16},
    {"UInt16", CPL_INTEGER, CPL_WIDTH_UINT16},
    {"Int32", CPL_INTEGER, CPL_WIDTH_INT32},
    {"UInt32", CPL_INTEGER, CPL_WIDTH_UINT32},
    {"Int64", CPL_INTEGER, CPL_WIDTH_INT64},
    {"UInt64", CPL_INTEGER, CPL_WIDTH_UINT64},
    {"Boolean", CPL_BOOLEAN, CPL_WIDTH_OWN},
    {"String", CPL_STRING, CPL_WIDTH_OWN},
    {"Enumeration", CPL_ENUMERATION, CPL_WIDTH_OWN},
    {"Binary", CPL_BINARY, CPL_WIDTH_OWN},
    {"Clock", CPL_CLOCK, CPL_WIDTH_OWN},
};

static const char* unit_at(const void* user, size_t i) {
  return ((const cpli_ssp_file*)user)->units[i].name;
}

static const char* enumeration_at(const void* user, size_t i) {
  return ((const cpli_ssp_file*)user)->enumerations[i].name;
}

// Files must define what they use. Where one does not, this is reported once for each name.
static cpl_status warn_unknown(cpli_ssp_reader* r, cpli_ssp_document* doc,
                               const cpli_xml_node* node, bool is_unit, const char* name) {
  const char* key = cpli_ssp_text(r, "%d%s", is_unit, name);
  const size_t before = doc->warned.count;
  if (key == NULL || cpli_names_add(&doc->warned, key, 0) < 0) return cpli_nomem(r->ctx);
  if (doc->warned.count == before) return CPL_OK;
  char similar[256] = "";
  if (strlen(name) > 2)  // every short name resembles every other one
    cpli_did_you_mean(name, is_unit ? unit_at : enumeration_at, &doc->file,
                      is_unit ? doc->file.n_units : doc->file.n_enumerations, similar,
                      sizeof similar);
  const cpli_source_loc loc = cpli_ssp_loc(doc, node);
  return cpli_ssp_warn(r, &loc, "the file does not define the %s '%s'%s",
                       is_unit ? "unit" : "enumeration", name, similar);
}

static cpl_status check_type_names(cpli_ssp_reader* r, cpli_ssp_document* doc,
                                   const cpli_xml_node* node, const cpli_ssp_type* type) {
  cpl_status st = CPL_OK;
  if (type->unit != NULL && cpli_ssp_find_unit(&doc->file, type->unit) == NULL)
    st = warn_unknown(r, doc, node, true, type->unit);
  if (st >= 0 && type->enumeration != NULL &&
      cpli_ssp_find_enumeration(&doc->file, type->enumeration) == NULL)
    st = warn_unknown(r, doc, node, false, type->enumeration);
  return st;
}

cpl_status cpli_ssp_read_type(cpli_ssp_reader* r, cpli_ssp_document* doc, const cpli_xml_node* node,
                              const char* space, cpli_ssp_type* out,
                              const cpli_xml_node** type_node) {
  *out = (cpli_ssp_type){0};
  *type_node = NULL;
  for (const cpli_xml_node* n = node->first; n != NULL; n = n->next) {
    if (n->name == NULL || n->uri == NULL || strcmp(n->uri, space) != 0) continue;
    for (size_t i = 0; i < CPLI_COUNT(types); i++) {
      if (strcmp(n->name, types[i].name) != 0) continue;
      *type_node = n;
      out->given = true;
      out->type = types[i].type;
      out->width = types[i].width;
      if (out->type == CPL_REAL) out->unit = cpli_xml_node_attribute(n, "unit");
      if (out->unit != NULL && out->unit[0] == '\0') out->unit = NULL;
      if (out->type == CPL_ENUMERATION) out->enumeration = cpli_xml_node_attribute(n, "name");
      if (out->type == CPL_BINARY) out->mime_type = cpli_xml_node_attribute(n, "mime-type");
      return check_type_names(r, doc, n, out);
    }
  }
  return CPL_OK;
}

cpl_status cpli_ssp_read_dimensions(cpli_ssp_reader* r, const cpli_ssp_document* doc,
                                    const cpli_xml_node* node, const cpli_ssp_dimension** out,
                                    size_t* n) {
  *n = cpli_ssp_count_children(node, CPLI_SSC, "Dimension");
  *out = NULL;
  if (*n == 0) return CPL_OK;
  cpli_ssp_dimension* d = cpli_ssp_array(r, *n, sizeof *d);
  if (d == NULL) return cpli_nomem(r->ctx);
  *out = d;
  const cpli_xml_node* child = cpli_xml_child(node, CPLI_SSC, "Dimension");
  for (; child != NULL; child = cpli_xml_sibling(child), d++) {
    d->size = integer_of(child, "size", 0, INT64_MAX, -1);
    d->size_connector = cpli_xml_node_attribute(child, "sizeConnector");
    if (d->size < 0 || d->size_connector == NULL) continue;
    const cpli_source_loc loc = cpli_ssp_loc(doc, child);
    cpl_status st = cpli_ssp_error(r, &loc, "a Dimension has either size or sizeConnector");
    if (st < 0) return st;
  }
  return CPL_OK;
}

//------------------------------------ transformations ------------------------------------

static cpl_status read_map(cpli_ssp_reader* r, const cpli_ssp_document* doc,
                           const cpli_xml_node* node, cpli_ssp_transform* out) {
  out->n_entries = cpli_ssp_count_children(node, CPLI_SSC, "MapEntry");
  cpli_ssp_map_entry* entries = cpli_ssp_array(r, out->n_entries, sizeof *entries);
  if (entries == NULL) return cpli_nomem(r->ctx);
  out->entries = entries;
  cpli_names names = {0};
  cpl_status st = cpli_names_init(&names, r->ctx, out->n_entries);
  const cpli_xml_node* e = cpli_xml_child(node, CPLI_SSC, "MapEntry");
  for (; st >= 0 && e != NULL; e = cpli_xml_sibling(e), entries++) {
    entries->source = text_of(e, "source");
    entries->target = text_of(e, "target");
    const cpli_source_loc loc = cpli_ssp_loc(doc, e);
    const char* key = entries->source;
    bool value;
    if (out->kind == CPLI_SSP_BOOLEAN_MAP && cpli_parse_boolean(key, &value))
      key = value ? "true" : "false";
    st = cpli_ssp_unique(r, &names, key, &loc, "the source");
  }
  cpli_names_free(&names);
  return st;
}

cpl_status cpli_ssp_read_transform(cpli_ssp_reader* r, const cpli_ssp_document* doc,
                                   const cpli_xml_node* node, cpli_ssp_transform* out) {
  static const struct {
    const char* name;
    cpli_ssp_transform_kind kind;
  } maps[] = {{"BooleanMappingTransformation", CPLI_SSP_BOOLEAN_MAP},
              {"IntegerMappingTransformation", CPLI_SSP_INTEGER_MAP},
              {"EnumerationMappingTransformation", CPLI_SSP_ENUMERATION_MAP}};
  *out = (cpli_ssp_transform){.kind = CPLI_SSP_IDENTITY, .factor = 1};
  const char* suppress = cpli_xml_node_attribute(node, "suppressUnitConversion");
  if (suppress != NULL) cpli_parse_boolean(suppress, &out->keep_units);
  const cpli_xml_node* linear = cpli_xml_child(node, CPLI_SSC, "LinearTransformation");
  if (linear != NULL) {
    out->kind = CPLI_SSP_LINEAR;
    out->factor = real_of(linear, "factor", 1);
    out->offset = real_of(linear, "offset", 0);
    if (out->factor - out->factor == 0 && out->offset - out->offset == 0) return CPL_OK;
    const cpli_source_loc loc = cpli_ssp_loc(doc, linear);
    return cpli_ssp_error(r, &loc, "LinearTransformation: factor and offset must be finite");
  }
  for (size_t i = 0; i < CPLI_COUNT(maps); i++) {
    const cpli_xml_node* map = cpli_xml_child(node, CPLI_SSC, maps[i].name);
    if (map == NULL) continue;
    out->kind = maps[i].kind;
    return read_map(r, doc, map, out);
  }
  return CPL_OK;
}
