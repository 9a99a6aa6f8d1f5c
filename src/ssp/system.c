// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The elements of an .ssd, with those of the files that its components refer to.
#include "format/scan.h"
#include "ssp/reader.h"

enum { MAX_FILES = 32 };  // .ssd files that are nested in each other

// The systems around an element, for the lookup of signal dictionaries.
typedef struct level {
  const struct level* outer;
  const cpli_ssp_element* system;
} level;

static const char* text_of(const cpli_xml_node* node, const char* name) {
  const char* text = cpli_xml_node_attribute(node, name);
  return text != NULL ? text : "";
}

static int find(const char* const* texts, size_t n, const char* text, int otherwise) {
  const int32_t i = text != NULL ? cpli_find_text(texts, n, text) : -1;
  return i >= 0 ? i : otherwise;
}

//------------------------------------ connectors ------------------------------------

const char* const cpli_ssp_kind_names[CPLI_SSP_UNSPECIFIED + 1] = {
    [CPLI_SSP_INPUT] = "input",
    [CPLI_SSP_OUTPUT] = "output",
    [CPLI_SSP_PARAMETER] = "parameter",
    [CPLI_SSP_CALCULATED_PARAMETER] = "calculatedParameter",
    [CPLI_SSP_INOUT] = "inout",
    [CPLI_SSP_STRUCTURAL_PARAMETER] = "structuralParameter",
    [CPLI_SSP_CONSTANT] = "constant",
    [CPLI_SSP_LOCAL] = "local",
    [CPLI_SSP_UNSPECIFIED] = "unspecified",
};

static cpl_status read_connector(cpli_ssp_reader* r, cpli_ssp_document* doc,
                                 const cpli_xml_node* node, cpli_ssp_connector* c) {
  c->name = text_of(node, "name");
  c->loc = cpli_ssp_loc(doc, node);
  c->kind =
      (cpli_ssp_connector_kind)find(cpli_ssp_kind_names, CPLI_COUNT(cpli_ssp_kind_names),
                                    cpli_xml_node_attribute(node, "kind"), CPLI_SSP_UNSPECIFIED);
  const cpli_xml_node* type = NULL;
  cpl_status st = cpli_ssp_read_type(r, doc, node, CPLI_SSC, &c->type, &type);
  if (st >= 0) st = cpli_ssp_read_dimensions(r, doc, node, &c->dimensions, &c->n_dimensions);
  if (st < 0) return st;
  const cpli_xml_node* clock = cpli_xml_child(node, CPLI_SSD, "Clock");
  if (clock == NULL) return CPL_OK;
  c->n_clocks = cpli_ssp_count_children(node, CPLI_SSD, "Clock");
  const char** clocks = cpli_ssp_array(r, c->n_clocks, sizeof *clocks);
  if (clocks == NULL) return cpli_nomem(r->ctx);
  c->clocks = clocks;
  for (; clock != NULL; clock = cpli_xml_sibling(clock)) *clocks++ = text_of(clock, "name");
  return CPL_OK;
}

static cpl_status read_connectors(cpli_ssp_reader* r, cpli_ssp_document* doc, cpli_ssp_element* e) {
  const cpli_xml_node* list = cpli_xml_child(e->node, CPLI_SSD, "Connectors");
  if (list == NULL) return CPL_OK;
  e->n_connectors = cpli_ssp_count_children(list, CPLI_SSD, "Connector");
  cpli_ssp_connector* c = cpli_ssp_array(r, e->n_connectors, sizeof *c);
  if (c == NULL) return cpli_nomem(r->ctx);
  e->connectors = c;
  cpl_status st = CPL_OK;
  const cpli_xml_node* node = cpli_xml_child(list, CPLI_SSD, "Connector");
  for (; st >= 0 && node != NULL; node = cpli_xml_sibling(node))
    st = read_connector(r, doc, node, c++);
  return st;
}

//------------------------------------ nested files ------------------------------------

static cpl_status report_cycle(cpli_ssp_reader* r, const cpli_ssp_document* doc, const char* what,
                               const cpli_source_loc* loc) {
  const char* chain = doc->file.path;
  for (const cpli_ssp_document* d = r->innermost; chain != NULL; d = d->outer) {
    chain = cpli_ssp_text(r, "%s -> %s", d->file.path, chain);
    if (d == doc) break;
  }
  if (chain == NULL) return cpli_nomem(r->ctx);
  return cpli_ssp_error(r, loc, "%s: the files contain each other: %s", what, chain);
}

static cpl_status read_nested(cpli_ssp_reader* r, cpli_ssp_document* doc, const char* what,
                              const cpli_source_loc* loc) {
  if (doc->is_reading) return report_cycle(r, doc, what, loc);
  if (r->depth < MAX_FILES || doc->is_read) return cpli_ssp_document_read(r, doc);
  return cpli_ssp_error(r, loc, "%s: more than %d files are nested in each other", what, MAX_FILES);
}

static const char* id_at(const void* user, size_t i) {
  return cpli_xml_node_attribute(((const cpli_ssp_document*)user)->with_id[i]->node, "id");
}

static cpl_status find_system(cpli_ssp_reader* r, const cpli_ssp_document* doc, const char* id,
                              const char* what, const cpli_source_loc* loc,
                              const cpli_ssp_element** out) {
  const int32_t i = cpli_names_find(&doc->ids, id);
  if (i >= 0) {
    *out = doc->with_id[i];
    return CPL_OK;
  }
  char similar[256];
  cpli_did_you_mean(id, id_at, doc, doc->n_with_id, similar, sizeof similar);
  return cpli_ssp_error(r, loc, "%s: %s has no system with id \"%s\"%s", what, doc->file.path, id,
                        similar);
}

static cpl_status read_definition(cpli_ssp_reader* r, cpli_ssp_element* e,
                                  const cpli_ssp_target* target, const char* what) {
  cpli_ssp_document* doc = NULL;
  cpl_status st =
      cpli_ssp_document_open(r, target->package, target->name, CPLI_SSP_DESCRIPTION, &doc);
  if (st >= 0 && doc != NULL) st = read_nested(r, doc, what, &e->loc);
  if (st < 0 || doc == NULL) return st;
  e->inner = doc->system;
  if (target->fragment == NULL || doc->system == NULL) return CPL_OK;
  return find_system(r, doc, target->fragment, what, &e->loc, &e->inner);
}

static cpl_status read_package(cpli_ssp_reader* r, cpli_ssp_element* e,
                               const cpli_ssp_target* target, const char* what) {
  const char *path = NULL, *shown = cpli_ssp_package_shown(r, target->package, target->name);
  if (shown == NULL) return cpli_nomem(r->ctx);
  cpli_ssp_package* package = NULL;
  cpli_ssp_document* doc = NULL;
  cpl_status st = cpli_ssp_package_extract(r, target->package, target->name, &path);
  if (st >= 0) st = cpli_ssp_package_open(r, path, shown, &package);
  if (st < 0) return cpli_ssp_caught(r, st);
  st = cpli_ssp_choose(r, package, target->fragment, what, &e->loc, &doc);
  if (st >= 0 && doc != NULL) st = read_nested(r, doc, what, &e->loc);
  if (st >= 0 && doc != NULL) e->inner = doc->system;
  return st;
}

//------------------------------------ components ------------------------------------

static const char fmu_type[] = "application/x-fmu-sharedlibrary";
static const char ssd_type[] = "application/x-ssp-definition";
static const char ssp_type[] = "application/x-ssp-package";

static bool has_ending(const char* name, const char* ending) {
  const size_t n = strlen(name), m = strlen(ending);
  return n > m && strcmp(name + n - m, ending) == 0;
}

// Without a type a component is an FMU; some tools leave it out for other files, too.
static cpl_status guess_type(cpli_ssp_reader* r, cpli_ssp_element* e, const char* name) {
  const char* type = has_ending(name, ".ssp")   ? ssp_type
                     : has_ending(name, ".ssd") ? ssd_type
                                                : NULL;
  if (type == NULL) return CPL_OK;
  e->type = type;
  return cpli_ssp_warn(r, &e->loc, "component '%s': type=\"%s\" is missing", e->name, type);
}

static cpl_status add_pending(cpli_ssp_reader* r, cpli_ssp_document* doc, cpli_ssp_element* e,
                              const char* id) {
  cpli_ssp_pending* p = cpli_ssp_array(r, 1, sizeof *p);
  if (p == NULL) return cpli_nomem(r->ctx);
  *p = (cpli_ssp_pending){doc->pending, e, id};
  doc->pending = p;
  return CPL_OK;
}

static bool is_type(const char* type, const char* expected) {
  const size_t n = strlen(expected);
  return strncmp(type, expected, n) == 0 && (type[n] == '\0' || strchr("; ", type[n]) != NULL);
}

static cpl_status read_component(cpli_ssp_reader* r, cpli_ssp_document* doc, cpli_ssp_element* e) {
  static const char* const implementations[] = {
      [CPLI_SSP_ANY] = "any",
      [CPLI_SSP_MODEL_EXCHANGE] = "ModelExchange",
      [CPLI_SSP_CO_SIMULATION] = "CoSimulation",
      [CPLI_SSP_SCHEDULED_EXECUTION] = "ScheduledExecution",
  };
  const char* type = cpli_xml_node_attribute(e->node, "type");
  e->implementation = (cpli_ssp_implementation)find(
      implementations, CPLI_COUNT(implementations),
      cpli_xml_node_attribute(e->node, "implementation"), CPLI_SSP_ANY);
  e->type = type != NULL ? type : fmu_type;
  e->source = cpli_xml_node_attribute(e->node, "source");
  if (e->source == NULL) return CPL_OK;

  const bool is_ssd = is_type(e->type, ssd_type), is_ssp = is_type(e->type, ssp_type);
  const bool is_fmu = is_type(e->type, fmu_type);
  if (!is_ssd && !is_ssp && !is_fmu) return CPL_OK;
  const char* what = cpli_ssp_text(r, "component '%s'", e->name);
  if (what == NULL) return cpli_nomem(r->ctx);
  cpli_ssp_target target;
  cpl_status st = cpli_ssp_resolve(r, doc->package, doc->name, e->source, what, &e->loc, &target);
  if (st < 0 || target.is_error) return st;
  if (target.name == NULL) return add_pending(r, doc, e, target.fragment);
  if (type == NULL) st = guess_type(r, e, target.name);
  if (st < 0) return st;
  if (is_type(e->type, ssd_type)) return read_definition(r, e, &target, what);
  if (is_type(e->type, ssp_type)) return read_package(r, e, &target, what);
  if (target.fragment != NULL)
    return cpli_ssp_error(r, &e->loc, "%s: source '%s': an FMU has no fragment ('#')", what,
                          e->source);
  return cpli_ssp_caught(r, cpli_ssp_package_extract(r, target.package, target.name, &e->fmu));
}

//------------------------------------ references to dictionaries ----------------------------

static const char* entry_at(const void* user, size_t i) {
  return ((const cpli_ssp_dictionary*)user)->entries[i].name;
}

static cpl_status check_reference(cpli_ssp_reader* r, const cpli_ssp_element* e,
                                  const cpli_ssp_dictionary* d) {
  cpli_names names = {0};
  cpl_status st = cpli_names_init(&names, r->ctx, d->n_entries);
  for (size_t i = 0; st >= 0 && i < d->n_entries; i++)
    if (cpli_names_add(&names, d->entries[i].name, (int32_t)i) < 0) st = cpli_nomem(r->ctx);
  for (size_t i = 0; st >= 0 && i < e->n_connectors; i++) {
    const cpli_ssp_connector* c = &e->connectors[i];
    if (cpli_names_find(&names, c->name) >= 0) continue;
    char similar[256];
    cpli_did_you_mean(c->name, entry_at, d, d->n_entries, similar, sizeof similar);
    st = cpli_ssp_error(r, &c->loc, "'%s': the signal dictionary '%s' has no entry '%s'%s", e->name,
                        d->name, c->name, similar);
  }
  cpli_names_free(&names);
  return st;
}

static cpl_status read_reference(cpli_ssp_reader* r, cpli_ssp_element* e, const level* around) {
  e->dictionary = text_of(e->node, "dictionary");
  for (; around != NULL; around = around->outer) {
    for (size_t i = 0; i < around->system->n_dictionaries; i++) {
      const cpli_ssp_dictionary* d = &around->system->dictionaries[i];
      if (strcmp(d->name, e->dictionary) == 0) return check_reference(r, e, d);
    }
  }
  return cpli_ssp_error(r, &e->loc,
                        "'%s': there is no signal dictionary '%s' in the systems around", e->name,
                        e->dictionary);
}

//------------------------------------ systems ------------------------------------

static cpl_status add_id(cpli_ssp_reader* r, cpli_ssp_document* doc, cpli_ssp_element* e) {
  const char* id = cpli_xml_node_attribute(e->node, "id");
  if (id == NULL) return CPL_OK;
  if (!cpli_grow(r->ctx, (void**)&doc->with_id, &doc->cap_with_id, doc->n_with_id,
                 sizeof *doc->with_id))
    return cpli_nomem(r->ctx);
  doc->with_id[doc->n_with_id] = e;
  if (cpli_names_add(&doc->ids, id, (int32_t)doc->n_with_id) < 0) return cpli_nomem(r->ctx);
  doc->n_with_id++;
  return CPL_OK;
}

static cpl_status read_system(cpli_ssp_reader* r, cpli_ssp_document* doc, const level* outer,
                              cpli_ssp_element* e);

// NOLINTNEXTLINE(misc-no-recursion): the XML parser limits the depth
static cpl_status read_element(cpli_ssp_reader* r, cpli_ssp_document* doc, const level* around,
                               const cpli_xml_node* node, cpli_ssp_element* e) {
  static const char* const kinds[] = {
      [CPLI_SSP_SYSTEM] = "System",
      [CPLI_SSP_COMPONENT] = "Component",
      [CPLI_SSP_DICTIONARY_REFERENCE] = "SignalDictionaryReference",
  };
  e->kind = (cpli_ssp_element_kind)find(kinds, CPLI_COUNT(kinds), node->name, CPLI_SSP_COMPONENT);
  e->name = text_of(node, "name");
  e->file = &doc->file;
  e->node = node;
  e->loc = cpli_ssp_loc(doc, node);
  cpl_status st = read_connectors(r, doc, e);
  if (st < 0) return st;
  if (e->kind == CPLI_SSP_COMPONENT) st = read_component(r, doc, e);
  if (e->kind == CPLI_SSP_DICTIONARY_REFERENCE) st = read_reference(r, e, around);
  if (e->kind == CPLI_SSP_SYSTEM) st = read_system(r, doc, around, e);
  return st >= 0 ? cpli_ssp_read_bindings(r, doc, e) : st;
}

static bool is_element(const cpli_xml_node* node) {
  if (node->name == NULL || node->uri == NULL || strcmp(node->uri, CPLI_SSD) != 0) return false;
  return strcmp(node->name, "System") == 0 || strcmp(node->name, "Component") == 0 ||
         strcmp(node->name, "SignalDictionaryReference") == 0;
}

// NOLINTNEXTLINE(misc-no-recursion): the XML parser limits the depth
static cpl_status read_elements(cpli_ssp_reader* r, cpli_ssp_document* doc, const level* here,
                                cpli_ssp_element* system) {
  const cpli_xml_node* list = cpli_xml_child(system->node, CPLI_SSD, "Elements");
  if (list == NULL) return CPL_OK;
  size_t n = 0;
  for (const cpli_xml_node* c = list->first; c != NULL; c = c->next) n += is_element(c);
  system->elements = cpli_ssp_array(r, n, sizeof *system->elements);
  if (system->elements == NULL) return cpli_nomem(r->ctx);
  cpl_status st = CPL_OK;
  for (const cpli_xml_node* c = list->first; st >= 0 && c != NULL; c = c->next) {
    if (!is_element(c)) continue;
    if (cpli_cancelled(r->ctx)) return cpli_interrupted(r->ctx, doc->file.path, __builtin_nan(""));
    st = read_element(r, doc, here, c, &system->elements[system->n_elements++]);
  }
  return st;
}

// NOLINTNEXTLINE(misc-no-recursion): the XML parser limits the depth
static cpl_status read_system(cpli_ssp_reader* r, cpli_ssp_document* doc, const level* outer,
                              cpli_ssp_element* e) {
  const level here = {outer, e};
  cpl_status st = add_id(r, doc, e);
  if (st >= 0) st = cpli_ssp_read_dictionaries(r, doc, e);
  if (st >= 0) st = read_elements(r, doc, &here, e);
  return st >= 0 ? cpli_ssp_read_connections(r, doc, e) : st;
}

//------------------------------------ sizes ------------------------------------

// An element that is being counted, and those that contain it.
typedef struct frame {
  const struct frame* outer;
  cpli_ssp_element* element;
} frame;

static const size_t counting = SIZE_MAX;  // as the total of an element

static cpl_status report_loop(cpli_ssp_reader* r, const frame* at, const cpli_ssp_element* twice) {
  const char* chain = twice->name;
  for (const frame* f = at; f != NULL && chain != NULL; f = f->outer) {
    chain = cpli_ssp_text(r, "%s -> %s", f->element->name, chain);
    if (f->element == twice) break;
  }
  if (chain == NULL) return cpli_nomem(r->ctx);
  return cpli_ssp_error(r, &at->element->loc, "system '%s' contains itself: %s", twice->name,
                        chain);
}

static cpl_status count(cpli_ssp_reader* r, const frame* outer, cpli_ssp_element* e);

// Adds the elements of `part` to those of the element that is being counted.
// NOLINTNEXTLINE(misc-no-recursion): the depth is limited
static cpl_status add_part(cpli_ssp_reader* r, const frame* here, cpli_ssp_element* part,
                           size_t* total, size_t* levels) {
  if (part->total == counting) return report_loop(r, here, part);
  cpl_status st = part->total == 0 ? count(r, here, part) : CPL_OK;
  if (st < 0) return st;
  *total += part->total;
  if (part->levels + 1 > *levels) *levels = part->levels + 1;
  if (*total <= CPLI_SSP_MAX_ELEMENTS && *levels <= CPLI_SSP_MAX_LEVELS) return CPL_OK;
  return cpli_ssp_error(r, &here->element->loc, "'%s' has more than %d elements, or %d levels",
                        here->element->name, CPLI_SSP_MAX_ELEMENTS, CPLI_SSP_MAX_LEVELS);
}

// NOLINTNEXTLINE(misc-no-recursion): the depth is limited
static cpl_status count(cpli_ssp_reader* r, const frame* outer, cpli_ssp_element* e) {
  const frame here = {outer, e};
  size_t total = 1, levels = 1, depth = 0;
  for (const frame* f = outer; f != NULL; f = f->outer) depth++;
  if (depth > CPLI_SSP_MAX_LEVELS)
    return cpli_ssp_error(r, &e->loc, "'%s' is nested deeper than %d levels", e->name,
                          CPLI_SSP_MAX_LEVELS);
  e->total = counting;
  cpl_status st = CPL_OK;
  for (size_t i = 0; st >= 0 && i < e->n_elements; i++)
    st = add_part(r, &here, &e->elements[i], &total, &levels);
  if (st >= 0 && e->inner != NULL)
    st = add_part(r, &here, (cpli_ssp_element*)e->inner, &total, &levels);
  e->total = total <= CPLI_SSP_MAX_ELEMENTS ? total : CPLI_SSP_MAX_ELEMENTS;
  e->levels = levels <= CPLI_SSP_MAX_LEVELS ? levels : CPLI_SSP_MAX_LEVELS;
  return st;
}

//------------------------------------ description ------------------------------------

static cpl_status resolve_pending(cpli_ssp_reader* r, const cpli_ssp_document* doc) {
  cpl_status st = CPL_OK;
  for (const cpli_ssp_pending* p = doc->pending; st >= 0 && p != NULL; p = p->next) {
    char what[256];
    snprintf(what, sizeof what, "component '%.200s'", p->component->name);
    st = find_system(r, doc, p->id, what, &p->component->loc, &p->component->inner);
  }
  return st;
}

cpl_status cpli_ssp_read_description(cpli_ssp_reader* r, cpli_ssp_document* doc) {
  const cpli_xml_node* node = cpli_xml_child(doc->root, CPLI_SSD, "System");
  if (node == NULL) return CPL_OK;  // reported by the rules
  cpli_ssp_element* system = cpli_ssp_array(r, 1, sizeof *system);
  if (system == NULL) return cpli_nomem(r->ctx);
  doc->outer = r->innermost;
  r->innermost = doc;
  r->depth++;
  doc->is_reading = true;

  cpl_status st = read_element(r, doc, NULL, node, system);
  if (st >= 0) st = resolve_pending(r, doc);
  if (st >= 0) st = count(r, NULL, system);
  doc->system = system;

  doc->is_reading = false;
  r->depth--;
  r->innermost = doc->outer;
  return st;
}
