// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Parts of modelDescription.xml that several versions of FMI share.
#include <math.h>

#include "fmi/parse.h"
#include "format/scan.h"
#include "model/description.h"

//------------------------------------ root ------------------------------------

static void missing(cpli_parse* p, const char* attribute) {
  cpli_findings_add(&p->fmu->findings, CPLI_WARNING, cpli_xml_line(p->xml), "required",
                    "%s is missing", attribute);
}

cpl_status cpli_part_head(cpli_parse* p, const char* kind, const char* token) {
  cpl_fmu* fmu = p->fmu;
  cpl_description* d = &fmu->desc;
  d->kind = kind;
  d->name = cpli_element_text(p, "modelName");
  fmu->guid = cpli_element_text(p, token);
  if (d->name == NULL) d->name = "";
  if (d->name[0] == '\0') missing(p, "modelName");
  if (fmu->guid == NULL && !p->no_memory) {
    return cpli_parse_fail(p, "%s is missing: the FMU cannot be instantiated without it", token);
  }
  d->description = cpli_text_or_empty(p, "description");
  d->author = cpli_text_or_empty(p, "author");
  d->version = cpli_text_or_empty(p, "version");
  d->copyright = cpli_text_or_empty(p, "copyright");
  d->license = cpli_text_or_empty(p, "license");
  d->tool = cpli_text_or_empty(p, "generationTool");
  d->date = cpli_text_or_empty(p, "generationDateAndTime");
  static const char* const conventions[] = {"flat", "structured"};
  uint8_t convention = 0;
  cpli_choice(p, "variableNamingConvention", conventions, 2, &convention);
  return CPL_OK;
}

cpl_status cpli_part_indicators(cpli_parse* p) {
  enum { MOST = 1000000 };  // no model has so many, and each takes memory
  int64_t n = 0;
  if (!cpli_integer(p, "numberOfEventIndicators", 0, INT64_MAX, &n)) return CPL_OK;
  if (n > MOST)
    return cpli_parse_fail(p, "numberOfEventIndicators=\"%lld\": at most %d are supported",
                           (long long)n, MOST);
  p->fmu->desc.n_indicators = (int32_t)n;
  return CPL_OK;
}

cpl_status cpli_part_experiment(cpli_parse* p) {
  cpl_default_experiment* e = &p->fmu->desc.experiment;
  e->has_start = cpli_real(p, "startTime", &e->start);
  e->has_stop = cpli_real(p, "stopTime", &e->stop);
  e->has_tolerance = cpli_real(p, "tolerance", &e->tolerance);
  e->has_step = cpli_real(p, "stepSize", &e->step);
  if (e->has_tolerance && !(e->tolerance > 0 && isfinite(e->tolerance))) {
    e->has_tolerance = false;
    cpli_findings_add(&p->fmu->findings, CPLI_WARNING, cpli_xml_line(p->xml), "experiment",
                      "the tolerance of the default experiment is not positive and is ignored");
  }
  if (e->has_step && !(e->step > 0 && isfinite(e->step))) {
    e->has_step = false;
    cpli_findings_add(&p->fmu->findings, CPLI_WARNING, cpli_xml_line(p->xml), "experiment",
                      "the stepSize of the default experiment is not positive and is ignored");
  }
  if (e->has_stop && !(e->stop >= (e->has_start ? e->start : 0) && isfinite(e->stop))) {
    e->has_stop = false;
    cpli_findings_add(&p->fmu->findings, CPLI_WARNING, cpli_xml_line(p->xml), "experiment",
                      "the stopTime of the default experiment is before its startTime and is "
                      "ignored");
  }
  return CPL_OK;
}

cpl_status cpli_part_category(cpli_parse* p) {
  const char* name = cpli_element_text(p, "name");
  if (name == NULL) return CPL_OK;
  const char** category = CPLI_PUSH(p, p->categories);
  const char** text = CPLI_PUSH(p, p->category_texts);
  if (category == NULL || text == NULL) return cpli_nomem(p->ctx);
  *category = name;
  *text = cpli_text_or_empty(p, "description");
  return CPL_OK;
}

//------------------------------------ kinds ------------------------------------

cpl_status cpli_part_kind(cpli_parse* p, cpli_fmu_kind* kind, const char* element) {
  if (kind->present) return cpli_parse_fail(p, "<%s> is there twice", element);
  kind->present = true;
  kind->line = cpli_xml_line(p->xml);
  kind->identifier = cpli_element_text(p, "modelIdentifier");
  if (kind->identifier == NULL && !p->no_memory) {
    return cpli_parse_fail(p, "<%s> has no modelIdentifier: the name of the binary", element);
  }
  // it becomes part of a path
  if (kind->identifier != NULL &&
      (kind->identifier[0] == '\0' || strpbrk(kind->identifier, "/\\") != NULL)) {
    return cpli_parse_fail(p, "modelIdentifier=\"%.60s\" is no name of a C function",
                           kind->identifier);
  }
  return CPL_OK;
}

cpl_status cpli_part_file(cpli_parse* p, int which) {
  const char* name = cpli_element_text(p, "name");
  if (name == NULL) return CPL_OK;
  const char** file = CPLI_PUSH(p, p->files[which]);
  if (file == NULL) return cpli_nomem(p->ctx);
  *file = name;
  return CPL_OK;
}

//------------------------------------ units ------------------------------------

static cpl_status add_unit(cpli_parse* p, int32_t display_of, const char* attribute) {
  const char* name = cpli_element_text(p, attribute);
  if (name == NULL && !p->no_memory) return cpli_parse_fail(p, "a unit has no name");
  cpl_unit* unit = CPLI_PUSH(p, p->units);
  if (unit == NULL) return cpli_nomem(p->ctx);
  *unit = (cpl_unit){.name = name, .factor = 1, .display_of = display_of};
  return CPL_OK;
}

cpl_status cpli_part_unit(cpli_parse* p, const char* attribute) {
  return add_unit(p, -1, attribute);
}

// The unit whose element is open: the last one that is no display unit.
static int32_t open_unit(const cpli_parse* p) {
  size_t i = p->units.count - 1;
  while (i > 0 && p->units.items[i].display_of >= 0) i--;
  return (int32_t)i;
}

cpl_status cpli_part_base_unit(cpli_parse* p) {
  static const char* const bases[8] = {"kg", "m", "s", "A", "K", "mol", "cd", "rad"};
  cpl_unit* unit = &p->units.items[open_unit(p)];
  unit->has_base = true;
  for (int i = 0; i < 8; i++) {
    int64_t exponent = 0;
    cpli_integer(p, bases[i], INT8_MIN, INT8_MAX, &exponent);
    unit->exponents[i] = (int8_t)exponent;
  }
  cpli_real(p, "factor", &unit->factor);
  cpli_real(p, "offset", &unit->offset);
  if (unit->factor == 0 || !isfinite(unit->factor) || !isfinite(unit->offset)) {
    cpli_findings_add(&p->fmu->findings, CPLI_WARNING, cpli_xml_line(p->xml), "unit",
                      "the factor or offset of unit %.60s cannot be used; its base unit is ignored",
                      unit->name);
    unit->has_base = false;
    unit->factor = 1;
    unit->offset = 0;
  }
  return CPL_OK;
}

cpl_status cpli_part_display_unit(cpli_parse* p, const char* attribute, const char* factor) {
  cpl_status st = add_unit(p, open_unit(p), attribute);
  if (st < 0) return st;
  cpl_unit* unit = &p->units.items[p->units.count - 1];
  cpli_real(p, factor, &unit->factor);
  cpli_real(p, "offset", &unit->offset);
  return CPL_OK;
}

//------------------------------------ ranges and types ------------------------------------

void cpli_part_real_range(cpli_parse* p, cpli_range* r) {
  r->quantity = cpli_text_once(p, "quantity");
  r->unit = cpli_text_once(p, "unit");
  r->display_unit = cpli_text_once(p, "displayUnit");
  if (cpli_real(p, "min", &r->min)) r->given |= CPLI_HAS_MIN;
  if (cpli_real(p, "max", &r->max)) r->given |= CPLI_HAS_MAX;
  if (cpli_real(p, "nominal", &r->nominal)) r->given |= CPLI_HAS_NOMINAL;
  if (cpli_boolean(p, "relativeQuantity", &r->relative)) r->given |= CPLI_HAS_RELATIVE;
  if (cpli_boolean(p, "unbounded", &r->unbounded)) r->given |= CPLI_HAS_UNBOUNDED;
}

// The range of each width.
static const struct limits {
  double min, max;
} limits[] = {
    [CPL_WIDTH_OWN] = {INT32_MIN, INT32_MAX}, [CPL_WIDTH_INT8] = {INT8_MIN, INT8_MAX},
    [CPL_WIDTH_UINT8] = {0, UINT8_MAX},       [CPL_WIDTH_INT16] = {INT16_MIN, INT16_MAX},
    [CPL_WIDTH_UINT16] = {0, UINT16_MAX},     [CPL_WIDTH_INT32] = {INT32_MIN, INT32_MAX},
    [CPL_WIDTH_UINT32] = {0, UINT32_MAX},     [CPL_WIDTH_INT64] = {-0x1p63, 0x1p63},
    [CPL_WIDTH_UINT64] = {0, 0x1p64},
};

bool cpli_fits(cpl_width width, double value) {
  return value >= limits[width].min && value <= limits[width].max && value == rint(value);
}

bool cpli_whole(cpli_parse* p, const char* name, cpl_width width, double* out) {
  int64_t n = 0;
  double x = 0;
  const char* text = cpli_xml_attribute(p->xml, name);
  if (text == NULL) return false;
  if (width == CPL_WIDTH_INT64 ||
      width == CPL_WIDTH_UINT64) {  // beyond what cpli_integer() can hold
    if (cpli_parse_real(text, &x) && cpli_fits(width, x)) {
      *out = x;
      return true;
    }
  }
  bool wide = width == CPL_WIDTH_INT64 || width == CPL_WIDTH_UINT64;
  int64_t min = width == CPL_WIDTH_UINT64 ? 0 : wide ? INT64_MIN : (int64_t)limits[width].min;
  if (!cpli_integer(p, name, min, wide ? INT64_MAX : (int64_t)limits[width].max, &n)) return false;
  *out = (double)n;
  return true;
}

void cpli_part_integer_range(cpli_parse* p, cpli_range* r, cpl_width width) {
  r->quantity = cpli_text_once(p, "quantity");
  if (cpli_whole(p, "min", width, &r->min)) r->given |= CPLI_HAS_MIN;
  if (cpli_whole(p, "max", width, &r->max)) r->given |= CPLI_HAS_MAX;
}

cpl_status cpli_part_type(cpli_parse* p, const char* element) {
  const char* name = cpli_element_text(p, "name");
  if (name == NULL && !p->no_memory) return cpli_parse_fail(p, "a <%s> has no name", element);
  cpli_type_draft* type = CPLI_PUSH(p, p->types);
  if (type == NULL) return cpli_nomem(p->ctx);
  type->def.name = name;
  type->def.quantity = "";
  type->line = cpli_xml_line(p->xml);
  type->first_item = (int32_t)p->items.count;
  cpli_xml_attribute(p->xml, "description");
  return CPL_OK;
}

cpl_status cpli_part_item(cpli_parse* p) {
  const char* name = cpli_element_text(p, "name");
  int64_t value = 0;
  bool wide = p->fmu->version == 3;
  bool has_value =
      cpli_integer(p, "value", wide ? INT64_MIN : INT32_MIN, wide ? INT64_MAX : INT32_MAX, &value);
  if ((name == NULL || !has_value) && !p->no_memory) {
    return cpli_parse_fail(p, "an <Item> needs a name and an integer value");
  }
  cpl_enum_item* item = CPLI_PUSH(p, p->items);
  if (item == NULL) return cpli_nomem(p->ctx);
  *item = (cpl_enum_item){.name = name, .value = value};
  item->description = cpli_text_or_empty(p, "description");
  p->types.items[p->types.count - 1].def.n_items++;
  return CPL_OK;
}

//------------------------------------ variables ------------------------------------

cpl_status cpli_part_variable(cpli_parse* p, const char* element, cpl_variable* v) {
  *v = cpli_blank_variable;
  v->line = cpli_xml_line(p->xml);
  v->name = cpli_element_text(p, "name");
  if (p->no_memory) return cpli_nomem(p->ctx);
  if (v->name == NULL) return cpli_parse_fail(p, "a <%s> has no name", element);
  v->description = cpli_text_or_empty(p, "description");
  int64_t ref = 0;
  const char* text = cpli_xml_attribute(p->xml, "valueReference");
  if (text == NULL) return cpli_parse_fail(p, "%.100s has no valueReference", v->name);
  if (!cpli_parse_integer(text, 0, UINT32_MAX, &ref)) {
    return cpli_parse_fail(p, "valueReference=\"%.60s\" of %.100s is no integer from 0 to %u", text,
                           v->name, UINT32_MAX);
  }
  v->ref = (uint32_t)ref;
  return CPL_OK;
}

cpl_status cpli_push_variable(cpli_parse* p, const cpl_variable* v, const cpli_var_draft* draft) {
  cpl_variable* var = CPLI_PUSH(p, p->vars);
  cpli_var_draft* kept = CPLI_PUSH(p, p->var_drafts);
  if (var == NULL || kept == NULL) return cpli_nomem(p->ctx);
  *var = *v;
  *kept = *draft;
  return CPL_OK;
}

void cpli_take_range(cpl_variable* v, cpli_var_draft* draft, const cpli_range* r) {
  draft->unit = r->unit;
  draft->display_unit = r->display_unit;
  draft->given |= r->given;
  v->quantity = r->quantity;
  v->min = r->min;
  v->max = r->max;
  v->nominal = r->nominal;
  v->relative_quantity = r->relative;
  v->unbounded = r->unbounded;
}

//------------------------------------ structure ------------------------------------

static cpl_status read_dependencies(cpli_parse* p, const char* text, bool refs, cpl_unknown* row) {
  row->count = 0;
  while (text += strspn(text, " \t\r\n"), *text != '\0') {
    int64_t index = 0;
    const char* end = cpli_scan_integer(text, refs ? 0 : 1, refs ? UINT32_MAX : INT32_MAX, &index);
    if (end == NULL || (*end != '\0' && strchr(" \t\r\n", *end) == NULL)) {
      return cpli_parse_fail(p, "dependencies: \"%.20s\" is no %s of a variable", text,
                             refs ? "valueReference" : "index");
    }
    int32_t* dep = CPLI_PUSH(p, p->deps);
    uint8_t* kind = CPLI_PUSH(p, p->kinds);
    if (dep == NULL || kind == NULL) return cpli_nomem(p->ctx);
    *dep = (int32_t)(uint32_t)index;
    *kind = CPL_KIND_DEPENDENT;
    row->count++;
    text = end;
  }
  return CPL_OK;
}

static bool read_kinds(const char* text, uint8_t* kinds, int32_t count) {
  static const char* const names[] = {"dependent", "constant", "fixed", "tunable", "discrete"};
  int32_t n = 0;
  while (text += strspn(text, " \t\r\n"), *text != '\0') {
    size_t len = strcspn(text, " \t\r\n");
    size_t k = 0;
    while (k < CPLI_COUNT(names) && (strncmp(names[k], text, len) != 0 || names[k][len] != '\0'))
      k++;
    if (k == CPLI_COUNT(names) || n == count) return false;
    kinds[n++] = (uint8_t)k;
    text += len;
  }
  return n == count;
}

cpl_status cpli_part_unknown(cpli_parse* p, int list, bool refs) {
  const char* attribute = refs ? "valueReference" : "index";
  cpli_row_draft draft = {.list = (uint8_t)list, .line = cpli_xml_line(p->xml)};
  int64_t index = 0;
  const char* text = cpli_xml_attribute(p->xml, attribute);
  if (text == NULL) return cpli_parse_fail(p, "an <%s> has no %s", p->rule->element, attribute);
  if (!cpli_parse_integer(text, refs ? 0 : 1, refs ? UINT32_MAX : INT32_MAX, &index)) {
    return cpli_parse_fail(p, "%s=\"%.60s\" is no %s of a variable", attribute, text, attribute);
  }
  draft.row =
      (cpl_unknown){.var = (int32_t)(uint32_t)index, .first = (int32_t)p->deps.count, .count = -1};

  const char* dependencies = cpli_xml_attribute(p->xml, "dependencies");
  const char* kinds = cpli_xml_attribute(p->xml, "dependenciesKind");
  cpl_status st =
      dependencies != NULL ? read_dependencies(p, dependencies, refs, &draft.row) : CPL_OK;
  if (st < 0) return st;
  int32_t n = draft.row.count > 0 ? draft.row.count : 0;
  uint8_t* own = n > 0 ? p->kinds.items + draft.row.first : NULL;
  if (kinds != NULL && !read_kinds(kinds, own, n)) {
    if (n > 0) memset(own, CPL_KIND_DEPENDENT, (size_t)n);
    cpli_findings_add(&p->fmu->findings, CPLI_WARNING, draft.line, "structure",
                      "dependenciesKind does not give one known word per dependency; all are taken "
                      "as dependent");
  }
  cpli_row_draft* row = CPLI_PUSH(p, p->rows);
  if (row == NULL) return cpli_nomem(p->ctx);
  *row = draft;
  return CPL_OK;
}

//------------------------------------ constraints ------------------------------------

cpl_status cpli_part_constraints(cpli_parse* p) {
  static const char* const words[] = {"false", "true", "withJacobian"};
  enum { MOST = 1000000 };
  cpli_fmu_kind* me = &p->fmu->me;
  int64_t most = me->max_constraints;
  cpli_integer(p, "maxNumberOfConstraints", 0, MOST, &most);
  cpli_boolean(p, "providesProjection", &me->projection);
  cpli_boolean(p, "providesProjectionStep", &me->projection_step);
  cpli_choice(p, "providesConstraints", words, CPLI_COUNT(words), &me->constraints);
  me->max_constraints = (int32_t)most;
  return CPL_OK;
}
