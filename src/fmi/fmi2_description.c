// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The elements of an FMI 2.0 modelDescription.xml.
#include <math.h>

#include "fmi/parse.h"
#include "format/scan.h"

//------------------------------------ root ------------------------------------

static cpl_status begin_root(cpli_parse* p) {
  cpl_fmu* fmu = p->fmu;
  cpl_description* d = &fmu->desc;
  d->kind = "FMI 2.0";
  d->name = cpli_text(p, "modelName");
  fmu->guid = cpli_text(p, "guid");
  if (d->name == NULL) d->name = "";
  if (d->name[0] == '\0') {
    cpli_findings_add(&fmu->findings, CPLI_WARNING, cpli_xml_line(p->xml), "required",
                      "modelName is missing");
  }
  if (fmu->guid == NULL && !p->no_memory) {
    return cpli_parse_fail(p, "guid is missing: the FMU cannot be instantiated without it");
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
  int64_t n = 0;
  if (cpli_integer(p, "numberOfEventIndicators", 0, INT32_MAX, &n)) d->n_indicators = (int32_t)n;
  return CPL_OK;
}

static cpl_status end_root(cpli_parse* p) {
  if (p->fmu->me.present || p->fmu->cs.present) return CPL_OK;
  return cpli_parse_fail(p, "neither <ModelExchange> nor <CoSimulation> is there");
}

static cpl_status begin_experiment(cpli_parse* p) {
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

static cpl_status begin_category(cpli_parse* p) {
  const char* name = cpli_text(p, "name");
  if (name == NULL) return CPL_OK;
  const char** category = CPLI_PUSH(p, p->categories);
  const char** text = CPLI_PUSH(p, p->category_texts);
  if (category == NULL || text == NULL) return cpli_nomem(p->ctx);
  *category = name;
  *text = cpli_text_or_empty(p, "description");
  return CPL_OK;
}

//------------------------------------ kinds ------------------------------------

static cpl_status begin_kind(cpli_parse* p, cpli_fmu_kind* kind, const char* element) {
  if (kind->present) return cpli_parse_fail(p, "<%s> is there twice", element);
  kind->present = true;
  kind->line = cpli_xml_line(p->xml);
  kind->identifier = cpli_text(p, "modelIdentifier");
  if (kind->identifier == NULL && !p->no_memory) {
    return cpli_parse_fail(p, "<%s> has no modelIdentifier: the name of the binary", element);
  }
  // it becomes part of a path
  if (kind->identifier != NULL &&
      (kind->identifier[0] == '\0' || strpbrk(kind->identifier, "/\\") != NULL)) {
    return cpli_parse_fail(p, "modelIdentifier=\"%.60s\" is no name of a C function",
                           kind->identifier);
  }
  cpl_capabilities* can = &kind->can;
  cpli_boolean(p, "needsExecutionTool", &can->needs_tool);
  cpli_boolean(p, "canBeInstantiatedOnlyOncePerProcess", &can->once_per_process);
  cpli_boolean(p, "canNotUseMemoryManagementFunctions", &kind->no_memory_functions);
  cpli_boolean(p, "canGetAndSetFMUstate", &can->save_restore);
  cpli_boolean(p, "canSerializeFMUstate", &can->serialize);
  cpli_boolean(p, "providesDirectionalDerivative", &can->directional);
  return CPL_OK;
}

static cpl_status begin_me(cpli_parse* p) {
  cpli_fmu_kind* me = &p->fmu->me;
  cpl_status st = begin_kind(p, me, "ModelExchange");
  bool not_needed = false;
  cpli_boolean(p, "completedIntegratorStepNotNeeded", &not_needed);
  me->can.completed_step = !not_needed;
  return st;
}

static cpl_status begin_cs(cpli_parse* p) {
  cpli_fmu_kind* cs = &p->fmu->cs;
  cpl_status st = begin_kind(p, cs, "CoSimulation");
  cpli_boolean(p, "canHandleVariableCommunicationStepSize", &cs->can.variable_step);
  cpli_boolean(p, "canRunAsynchronuously", &cs->asynchronous);
  bool interpolates = false;
  cpli_boolean(p, "canInterpolateInputs", &interpolates);
  cs->can.input_derivatives = interpolates ? 1 : 0;  // FMI 2.0 tells no order; the first is sure
  int64_t order = 0;
  cpli_integer(p, "maxOutputDerivativeOrder", 0, INT32_MAX, &order);
  cs->can.output_derivatives = (int32_t)order;
  return st;
}

static cpl_status begin_file(cpli_parse* p, int which) {
  const char* name = cpli_text(p, "name");
  if (name == NULL) return CPL_OK;
  const char** file = CPLI_PUSH(p, p->files[which]);
  if (file == NULL) return cpli_nomem(p->ctx);
  *file = name;
  return CPL_OK;
}

static cpl_status begin_me_file(cpli_parse* p) { return begin_file(p, 0); }
static cpl_status begin_cs_file(cpli_parse* p) { return begin_file(p, 1); }

//------------------------------------ units ------------------------------------

static cpl_status add_unit(cpli_parse* p, int32_t display_of) {
  const char* name = cpli_text(p, "name");
  if (name == NULL && !p->no_memory) return cpli_parse_fail(p, "a unit has no name");
  cpl_unit* unit = CPLI_PUSH(p, p->units);
  if (unit == NULL) return cpli_nomem(p->ctx);
  *unit = (cpl_unit){.name = name, .factor = 1, .display_of = display_of};
  return CPL_OK;
}

static cpl_status begin_unit(cpli_parse* p) { return add_unit(p, -1); }

// The unit whose element is open: the last one that is no display unit.
static int32_t open_unit(const cpli_parse* p) {
  size_t i = p->units.count - 1;
  while (i > 0 && p->units.items[i].display_of >= 0) i--;
  return (int32_t)i;
}

static cpl_status begin_base_unit(cpli_parse* p) {
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

static cpl_status begin_display_unit(cpli_parse* p) {
  cpl_status st = add_unit(p, open_unit(p));
  if (st < 0) return st;
  cpl_unit* unit = &p->units.items[p->units.count - 1];
  cpli_real(p, "factor", &unit->factor);
  cpli_real(p, "offset", &unit->offset);
  return CPL_OK;
}

//------------------------------------ ranges and types ------------------------------------

static void read_real_range(cpli_parse* p, cpli_range* r) {
  r->quantity = cpli_text_once(p, "quantity");
  r->unit = cpli_text_once(p, "unit");
  r->display_unit = cpli_text_once(p, "displayUnit");
  if (cpli_real(p, "min", &r->min)) r->given |= CPLI_HAS_MIN;
  if (cpli_real(p, "max", &r->max)) r->given |= CPLI_HAS_MAX;
  if (cpli_real(p, "nominal", &r->nominal)) r->given |= CPLI_HAS_NOMINAL;
  if (cpli_boolean(p, "relativeQuantity", &r->relative)) r->given |= CPLI_HAS_RELATIVE;
  if (cpli_boolean(p, "unbounded", &r->unbounded)) r->given |= CPLI_HAS_UNBOUNDED;
}

static void read_integer_range(cpli_parse* p, cpli_range* r) {
  r->quantity = cpli_text_once(p, "quantity");
  int64_t n = 0;
  if (cpli_integer(p, "min", INT32_MIN, INT32_MAX, &n))
    r->min = (double)n, r->given |= CPLI_HAS_MIN;
  if (cpli_integer(p, "max", INT32_MIN, INT32_MAX, &n))
    r->max = (double)n, r->given |= CPLI_HAS_MAX;
}

static cpl_status begin_simple_type(cpli_parse* p) {
  const char* name = cpli_text(p, "name");
  if (name == NULL && !p->no_memory) return cpli_parse_fail(p, "a <SimpleType> has no name");
  cpli_type_draft* type = CPLI_PUSH(p, p->types);
  if (type == NULL) return cpli_nomem(p->ctx);
  type->def.name = name;
  type->def.quantity = "";
  type->line = cpli_xml_line(p->xml);
  type->first_item = (int32_t)p->items.count;
  cpli_xml_attribute(p->xml, "description");
  return CPL_OK;
}

static cpl_status begin_type(cpli_parse* p, cpl_type basic) {
  cpli_type_draft* type = &p->types.items[p->types.count - 1];
  type->def.type = basic;
  type->range.given |= CPLI_HAS_TYPE;
  if (basic == CPL_REAL) read_real_range(p, &type->range);
  if (basic == CPL_INTEGER) read_integer_range(p, &type->range);
  if (basic == CPL_ENUMERATION) type->range.quantity = cpli_text_once(p, "quantity");
  if (type->range.quantity != NULL) type->def.quantity = type->range.quantity;
  return CPL_OK;
}

static cpl_status begin_real_type(cpli_parse* p) { return begin_type(p, CPL_REAL); }
static cpl_status begin_integer_type(cpli_parse* p) { return begin_type(p, CPL_INTEGER); }
static cpl_status begin_boolean_type(cpli_parse* p) { return begin_type(p, CPL_BOOLEAN); }
static cpl_status begin_string_type(cpli_parse* p) { return begin_type(p, CPL_STRING); }
static cpl_status begin_enumeration_type(cpli_parse* p) { return begin_type(p, CPL_ENUMERATION); }

static cpl_status begin_item(cpli_parse* p) {
  const char* name = cpli_text(p, "name");
  int64_t value = 0;
  bool has_value = cpli_integer(p, "value", INT32_MIN, INT32_MAX, &value);
  if ((name == NULL || !has_value) && !p->no_memory) {
    return cpli_parse_fail(p, "an <Item> needs a name and an integer value");
  }
  cpl_enum_item* item = CPLI_PUSH(p, p->items);
  if (item == NULL) return cpli_nomem(p->ctx);
  *item = (cpl_enum_item){.name = name, .value = (int32_t)value};
  item->description = cpli_text_or_empty(p, "description");
  p->types.items[p->types.count - 1].def.n_items++;
  return CPL_OK;
}

//------------------------------------ variables ------------------------------------

static const char* const causalities[] = {"parameter", "calculatedParameter", "input", "output",
                                          "local",     "independent"};
static const char* const variabilities[] = {"constant", "fixed", "tunable", "discrete",
                                            "continuous"};
static const char* const initials[] = {NULL, "exact", "approx", "calculated"};

static cpl_status begin_variable(cpli_parse* p) {
  cpl_variable v = {.causality = CPL_LOCAL,
                    .unit = -1,
                    .display_unit = -1,
                    .declared_type = -1,
                    .derivative_of = -1,
                    .alias_of = -1,
                    .min = -INFINITY,
                    .max = INFINITY,
                    .nominal = 1,
                    .can_set_several_times = true};
  v.line = cpli_xml_line(p->xml);
  v.name = cpli_text(p, "name");
  if (p->no_memory) return cpli_nomem(p->ctx);
  if (v.name == NULL) return cpli_parse_fail(p, "a <ScalarVariable> has no name");
  v.description = cpli_text_or_empty(p, "description");
  int64_t ref = 0;
  const char* ref_text = cpli_xml_attribute(p->xml, "valueReference");
  if (ref_text == NULL) return cpli_parse_fail(p, "%.100s has no valueReference", v.name);
  if (!cpli_parse_integer(ref_text, 0, UINT32_MAX, &ref)) {
    return cpli_parse_fail(p, "valueReference=\"%.60s\" of %.100s is no integer from 0 to %u",
                           ref_text, v.name, UINT32_MAX);
  }
  v.ref = (uint32_t)ref;

  cpli_var_draft draft = {0};
  cpli_choice(p, "causality", causalities, CPLI_COUNT(causalities), &v.causality);
  if (cpli_choice(p, "variability", variabilities, CPLI_COUNT(variabilities), &v.variability))
    draft.given |= CPLI_HAS_VARIABILITY;
  if (cpli_choice(p, "initial", initials, CPLI_COUNT(initials), &v.initial))
    draft.given |= CPLI_HAS_INITIAL;
  cpli_boolean(p, "canHandleMultipleSetPerTimeInstant", &v.can_set_several_times);
  cpli_xml_attribute(p->xml, "previous");  // of drafts of FMI 2.0, still written by some tools

  cpl_variable* var = CPLI_PUSH(p, p->vars);
  cpli_var_draft* kept = CPLI_PUSH(p, p->var_drafts);
  if (var == NULL || kept == NULL) return cpli_nomem(p->ctx);
  *var = v;
  *kept = draft;
  return CPL_OK;
}

static cpl_status end_variable(cpli_parse* p) {
  const cpl_variable* v = &p->vars.items[p->vars.count - 1];
  if (p->var_drafts.items[p->var_drafts.count - 1].given & CPLI_HAS_TYPE) return CPL_OK;
  return cpli_parse_fail(p,
                         "%.100s has no type: one of <Real>, <Integer>, <Boolean>, <String>, "
                         "<Enumeration> must be inside",
                         v->name);
}

static void read_start(cpli_parse* p, cpl_variable* v) {
  int64_t n = 0;
  bool yes = false;
  switch ((cpl_type)v->type) {
    case CPL_REAL: v->has_start = cpli_real(p, "start", &v->start); return;
    case CPL_INTEGER:
    case CPL_ENUMERATION:
      v->has_start = cpli_integer(p, "start", INT32_MIN, INT32_MAX, &n);
      v->start = (double)n;
      return;
    case CPL_BOOLEAN:
      v->has_start = cpli_boolean(p, "start", &yes);
      v->start = yes ? 1 : 0;
      return;
    case CPL_STRING:
      v->start_text = cpli_text(p, "start");
      v->has_start = v->start_text != NULL;
      return;
    case CPL_BINARY:
    case CPL_CLOCK: return;  // not in FMI 2.0
  }
}

static cpl_status begin_value(cpli_parse* p, cpl_type type) {
  cpl_variable* v = &p->vars.items[p->vars.count - 1];
  cpli_var_draft* draft = &p->var_drafts.items[p->var_drafts.count - 1];
  if (draft->given & CPLI_HAS_TYPE) return cpli_parse_fail(p, "%.100s has two types", v->name);
  draft->given |= CPLI_HAS_TYPE;
  v->type = (uint8_t)type;
  draft->declared_type = cpli_text_once(p, "declaredType");
  read_start(p, v);

  cpli_range r = {.min = v->min, .max = v->max, .nominal = 1};
  if (type == CPL_REAL) {
    read_real_range(p, &r);
    int64_t derivative = 0;
    const char* text = cpli_xml_attribute(p->xml, "derivative");
    if (text != NULL && !cpli_parse_integer(text, 1, INT32_MAX, &derivative)) {
      return cpli_parse_fail(p, "derivative=\"%.60s\" of %.100s is no index of a variable", text,
                             v->name);
    }
    draft->derivative = (int32_t)derivative;
    cpli_boolean(p, "reinit", &v->reinit);
  } else if (type == CPL_INTEGER || type == CPL_ENUMERATION) {
    read_integer_range(p, &r);
  }
  draft->unit = r.unit;
  draft->display_unit = r.display_unit;
  draft->given |= r.given;
  v->quantity = r.quantity;
  v->min = r.min;
  v->max = r.max;
  v->nominal = r.nominal;
  v->relative_quantity = r.relative;
  v->unbounded = r.unbounded;
  return CPL_OK;
}

static cpl_status begin_real(cpli_parse* p) { return begin_value(p, CPL_REAL); }
static cpl_status begin_integer(cpli_parse* p) { return begin_value(p, CPL_INTEGER); }
static cpl_status begin_boolean(cpli_parse* p) { return begin_value(p, CPL_BOOLEAN); }
static cpl_status begin_string(cpli_parse* p) { return begin_value(p, CPL_STRING); }
static cpl_status begin_enumeration(cpli_parse* p) { return begin_value(p, CPL_ENUMERATION); }

//------------------------------------ structure ------------------------------------

static cpl_status begin_structure(cpli_parse* p) {
  p->structure_line = cpli_xml_line(p->xml);
  return CPL_OK;
}

static cpl_status begin_list(cpli_parse* p, int list) {
  p->has_list[list] = true;
  return CPL_OK;
}

static cpl_status begin_outputs(cpli_parse* p) { return begin_list(p, CPLI_OUTPUTS); }
static cpl_status begin_derivatives(cpli_parse* p) { return begin_list(p, CPLI_DERIVATIVES); }
static cpl_status begin_initial(cpli_parse* p) { return begin_list(p, CPLI_INITIAL_UNKNOWNS); }

static cpl_status read_dependencies(cpli_parse* p, const char* text, cpl_unknown* row) {
  row->count = 0;
  while (text += strspn(text, " \t\r\n"), *text != '\0') {
    int64_t index = 0;
    const char* end = cpli_scan_integer(text, 1, INT32_MAX, &index);
    if (end == NULL || (*end != '\0' && strchr(" \t\r\n", *end) == NULL)) {
      return cpli_parse_fail(p, "dependencies: \"%.20s\" is no index of a variable", text);
    }
    int32_t* dep = CPLI_PUSH(p, p->deps);
    uint8_t* kind = CPLI_PUSH(p, p->kinds);
    if (dep == NULL || kind == NULL) return cpli_nomem(p->ctx);
    *dep = (int32_t)index;
    *kind = CPL_DEPENDENT;
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

static cpl_status begin_unknown(cpli_parse* p, int list) {
  cpli_row_draft draft = {.list = (uint8_t)list, .line = cpli_xml_line(p->xml)};
  int64_t index = 0;
  const char* text = cpli_xml_attribute(p->xml, "index");
  if (text == NULL) return cpli_parse_fail(p, "an <Unknown> has no index");
  if (!cpli_parse_integer(text, 1, INT32_MAX, &index)) {
    return cpli_parse_fail(p, "index=\"%.60s\" is no index of a variable", text);
  }
  draft.row = (cpl_unknown){.var = (int32_t)index, .first = (int32_t)p->deps.count, .count = -1};

  const char* dependencies = cpli_xml_attribute(p->xml, "dependencies");
  const char* kinds = cpli_xml_attribute(p->xml, "dependenciesKind");
  cpl_status st = dependencies != NULL ? read_dependencies(p, dependencies, &draft.row) : CPL_OK;
  if (st < 0) return st;
  int32_t n = draft.row.count > 0 ? draft.row.count : 0;
  if (kinds != NULL && !read_kinds(kinds, p->kinds.items + draft.row.first, n)) {
    if (n > 0) memset(p->kinds.items + draft.row.first, CPL_DEPENDENT, (size_t)n);
    cpli_findings_add(&p->fmu->findings, CPLI_WARNING, draft.line, "structure",
                      "dependenciesKind does not give one known word per dependency; all are taken "
                      "as dependent");
  }
  cpli_row_draft* row = CPLI_PUSH(p, p->rows);
  if (row == NULL) return cpli_nomem(p->ctx);
  *row = draft;
  return CPL_OK;
}

static cpl_status begin_output(cpli_parse* p) { return begin_unknown(p, CPLI_OUTPUTS); }
static cpl_status begin_derivative(cpli_parse* p) { return begin_unknown(p, CPLI_DERIVATIVES); }
static cpl_status begin_initial_unknown(cpli_parse* p) {
  return begin_unknown(p, CPLI_INITIAL_UNKNOWNS);
}

//------------------------------------ table ------------------------------------

enum {
  ROOT,
  ME,
  ME_SOURCES,
  CS,
  CS_SOURCES,
  UNITS,
  UNIT,
  TYPES,
  SIMPLE_TYPE,
  ENUMERATION_TYPE,
  CATEGORIES,
  VARIABLES,
  VARIABLE,
  STRUCTURE,
  OUTPUTS,
  DERIVATIVES,
  INITIAL_UNKNOWNS,
  LEAVES,  // from here on nothing stands below
};

static const cpli_rule rules[] = {
    [ROOT] = {"fmiModelDescription", 0, false, begin_root, end_root},
    [ME] = {"ModelExchange", ROOT, false, begin_me, NULL},
    [ME_SOURCES] = {"SourceFiles", ME, false, NULL, NULL},
    [CS] = {"CoSimulation", ROOT, false, begin_cs, NULL},
    [CS_SOURCES] = {"SourceFiles", CS, false, NULL, NULL},
    [UNITS] = {"UnitDefinitions", ROOT, false, NULL, NULL},
    [UNIT] = {"Unit", UNITS, false, begin_unit, NULL},
    [TYPES] = {"TypeDefinitions", ROOT, false, NULL, NULL},
    [SIMPLE_TYPE] = {"SimpleType", TYPES, false, begin_simple_type, NULL},
    [ENUMERATION_TYPE] = {"Enumeration", SIMPLE_TYPE, false, begin_enumeration_type, NULL},
    [CATEGORIES] = {"LogCategories", ROOT, false, NULL, NULL},
    [VARIABLES] = {"ModelVariables", ROOT, false, NULL, NULL},
    [VARIABLE] = {"ScalarVariable", VARIABLES, false, begin_variable, end_variable},
    [STRUCTURE] = {"ModelStructure", ROOT, false, begin_structure, NULL},
    [OUTPUTS] = {"Outputs", STRUCTURE, false, begin_outputs, NULL},
    [DERIVATIVES] = {"Derivatives", STRUCTURE, false, begin_derivatives, NULL},
    [INITIAL_UNKNOWNS] = {"InitialUnknowns", STRUCTURE, false, begin_initial, NULL},
    [LEAVES] = {"VendorAnnotations", ROOT, true, NULL, NULL},
    {"DefaultExperiment", ROOT, false, begin_experiment, NULL},
    {"File", ME_SOURCES, false, begin_me_file, NULL},
    {"File", CS_SOURCES, false, begin_cs_file, NULL},
    {"BaseUnit", UNIT, false, begin_base_unit, NULL},
    {"DisplayUnit", UNIT, false, begin_display_unit, NULL},
    {"Real", SIMPLE_TYPE, false, begin_real_type, NULL},
    {"Integer", SIMPLE_TYPE, false, begin_integer_type, NULL},
    {"Boolean", SIMPLE_TYPE, false, begin_boolean_type, NULL},
    {"String", SIMPLE_TYPE, false, begin_string_type, NULL},
    {"Item", ENUMERATION_TYPE, false, begin_item, NULL},
    {"Category", CATEGORIES, false, begin_category, NULL},
    {"Real", VARIABLE, false, begin_real, NULL},
    {"Integer", VARIABLE, false, begin_integer, NULL},
    {"Boolean", VARIABLE, false, begin_boolean, NULL},
    {"String", VARIABLE, false, begin_string, NULL},
    {"Enumeration", VARIABLE, false, begin_enumeration, NULL},
    {"Annotations", VARIABLE, true, NULL, NULL},
    {"Unknown", OUTPUTS, false, begin_output, NULL},
    {"Unknown", DERIVATIVES, false, begin_derivative, NULL},
    {"Unknown", INITIAL_UNKNOWNS, false, begin_initial_unknown, NULL},
};

const cpli_rules cpli_fmi2_rules = {.rules = rules, .n = CPLI_COUNT(rules)};
