// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The elements of an FMI 2.0 modelDescription.xml.
#include <assert.h>
#include <math.h>

#include "fmi/parse.h"
#include "format/scan.h"

//------------------------------------ root ------------------------------------

static cpl_status begin_root(cpli_parse* p) {
  cpl_status st = cpli_part_head(p, "FMI 2.0", "guid");
  if (st >= 0) st = cpli_part_constraints(p);
  return st < 0 ? st : cpli_part_indicators(p);
}

static cpl_status end_root(cpli_parse* p) {
  if (p->fmu->me.present || p->fmu->cs.present) return CPL_OK;
  return cpli_parse_fail(p, "neither <ModelExchange> nor <CoSimulation> is there");
}

//------------------------------------ kinds ------------------------------------

static cpl_status begin_kind(cpli_parse* p, cpli_fmu_kind* kind, const char* element) {
  cpl_status st = cpli_part_kind(p, kind, element);
  cpl_capabilities* can = &kind->can;
  cpli_boolean(p, "needsExecutionTool", &can->needs_tool);
  cpli_boolean(p, "canBeInstantiatedOnlyOncePerProcess", &can->once_per_process);
  cpli_boolean(p, "canNotUseMemoryManagementFunctions", &kind->no_memory_functions);
  cpli_boolean(p, "canGetAndSetFMUstate", &can->save_restore);
  cpli_boolean(p, "canSerializeFMUstate", &can->serialize);
  cpli_boolean(p, "providesDirectionalDerivative", &can->directional);
  return st;
}

static cpl_status begin_me(cpli_parse* p) {
  cpli_fmu_kind* me = &p->fmu->me;
  cpl_status st = begin_kind(p, me, "ModelExchange");
  bool not_needed = false;
  cpli_boolean(p, "completedIntegratorStepNotNeeded", &not_needed);
  me->can.completed_step = !not_needed;
  return st < 0 ? st : cpli_part_constraints(p);
}

static cpl_status begin_cs(cpli_parse* p) {
  cpli_fmu_kind* cs = &p->fmu->cs;
  cpl_status st = begin_kind(p, cs, "CoSimulation");
  cpli_boolean(p, "canHandleVariableCommunicationStepSize", &cs->can.variable_step);
  cpli_boolean(p, "canRunAsynchronuously", &cs->asynchronous);
  bool interpolates = false;
  cpli_boolean(p, "canInterpolateInputs", &interpolates);
  cs->can.input_derivatives = interpolates ? 1 : 0;  // FMI 2.0 gives no order; the first is certain
  int64_t order = 0;
  cpli_integer(p, "maxOutputDerivativeOrder", 0, INT32_MAX, &order);
  cs->can.output_derivatives = (int32_t)order;
  return st;
}

static cpl_status begin_me_file(cpli_parse* p) { return cpli_part_file(p, 0); }
static cpl_status begin_cs_file(cpli_parse* p) { return cpli_part_file(p, 1); }

//------------------------------------ units ------------------------------------

static cpl_status begin_unit(cpli_parse* p) { return cpli_part_unit(p, "name"); }
static cpl_status begin_display_unit(cpli_parse* p) {
  return cpli_part_display_unit(p, "name", "factor");
}

//------------------------------------ types ------------------------------------

static cpl_status begin_simple_type(cpli_parse* p) { return cpli_part_type(p, "SimpleType"); }

static cpl_status begin_type(cpli_parse* p, cpl_type basic) {
  cpli_type_draft* type = &p->types.items[p->types.count - 1];
  type->def.type = basic;
  type->range.given |= CPLI_HAS_TYPE;
  if (basic == CPL_REAL) cpli_part_real_range(p, &type->range);
  if (basic == CPL_INTEGER) cpli_part_integer_range(p, &type->range, CPL_WIDTH_OWN);
  if (basic == CPL_ENUMERATION) type->range.quantity = cpli_text_once(p, "quantity");
  if (type->range.quantity != NULL) type->def.quantity = type->range.quantity;
  return CPL_OK;
}

static cpl_status begin_real_type(cpli_parse* p) { return begin_type(p, CPL_REAL); }
static cpl_status begin_integer_type(cpli_parse* p) { return begin_type(p, CPL_INTEGER); }
static cpl_status begin_boolean_type(cpli_parse* p) { return begin_type(p, CPL_BOOLEAN); }
static cpl_status begin_string_type(cpli_parse* p) { return begin_type(p, CPL_STRING); }
static cpl_status begin_enumeration_type(cpli_parse* p) { return begin_type(p, CPL_ENUMERATION); }

//------------------------------------ variables ------------------------------------

static const char* const causalities[] = {"parameter", "calculatedParameter", "input", "output",
                                          "local",     "independent"};
static const char* const variabilities[] = {"constant", "fixed", "tunable", "discrete",
                                            "continuous"};
static const char* const initials[] = {NULL, "exact", "approx", "calculated"};
// Numbers of choices become values of these types.
static_assert(CPLI_COUNT(causalities) == CPL_CAUSALITY_INDEPENDENT + 1, "cpl_causality");
static_assert(CPLI_COUNT(variabilities) == CPL_VARIABILITY_CONTINUOUS + 1, "cpl_variability");
static_assert(CPLI_COUNT(initials) == CPL_INITIAL_CALCULATED + 1, "cpl_initial");

static cpl_status begin_variable(cpli_parse* p) {
  cpl_variable v;
  cpl_status st = cpli_part_variable(p, "ScalarVariable", &v);
  if (st < 0) return st;
  cpli_var_draft draft = {0};
  cpli_choice(p, "causality", causalities, CPLI_COUNT(causalities), &v.causality);
  if (cpli_choice(p, "variability", variabilities, CPLI_COUNT(variabilities), &v.variability))
    draft.given |= CPLI_HAS_VARIABILITY;
  if (cpli_choice(p, "initial", initials, CPLI_COUNT(initials), &v.initial))
    draft.given |= CPLI_HAS_INITIAL;
  cpli_boolean(p, "canHandleMultipleSetPerTimeInstant", &v.can_set_several_times);
  cpli_xml_attribute(p->xml, "previous");  // of drafts of FMI 2.0, still written by some tools
  return cpli_push_variable(p, &v, &draft);
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
      v->start_text = cpli_element_text(p, "start");
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
    cpli_part_real_range(p, &r);
    int64_t derivative = 0;
    const char* text = cpli_xml_attribute(p->xml, "derivative");
    if (text != NULL && !cpli_parse_integer(text, 1, INT32_MAX, &derivative)) {
      return cpli_parse_fail(p, "derivative=\"%.60s\" of %.100s is no index of a variable", text,
                             v->name);
    }
    draft->derivative = (int32_t)derivative;
    cpli_boolean(p, "reinit", &v->reinit);
  } else if (type == CPL_INTEGER || type == CPL_ENUMERATION) {
    cpli_part_integer_range(p, &r, CPL_WIDTH_OWN);
  }
  cpli_take_range(v, draft, &r);
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

static cpl_status begin_output(cpli_parse* p) { return cpli_part_unknown(p, CPLI_OUTPUTS, false); }
static cpl_status begin_derivative(cpli_parse* p) {
  return cpli_part_unknown(p, CPLI_DERIVATIVES, false);
}
static cpl_status begin_initial_unknown(cpli_parse* p) {
  return cpli_part_unknown(p, CPLI_INITIAL_UNKNOWNS, false);
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
  NOTES,
  TOOL,
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
    [NOTES] = {"VendorAnnotations", ROOT, .foreign = true},
    [TOOL] = {"Tool", NOTES, .foreign = true},
    [LEAVES] = {"Constraints", TOOL, .begin = cpli_part_constraints, .foreign = true},
    {"DefaultExperiment", ROOT, false, cpli_part_experiment, NULL},
    {"File", ME_SOURCES, false, begin_me_file, NULL},
    {"File", CS_SOURCES, false, begin_cs_file, NULL},
    {"BaseUnit", UNIT, false, cpli_part_base_unit, NULL},
    {"DisplayUnit", UNIT, false, begin_display_unit, NULL},
    {"Real", SIMPLE_TYPE, false, begin_real_type, NULL},
    {"Integer", SIMPLE_TYPE, false, begin_integer_type, NULL},
    {"Boolean", SIMPLE_TYPE, false, begin_boolean_type, NULL},
    {"String", SIMPLE_TYPE, false, begin_string_type, NULL},
    {"Item", ENUMERATION_TYPE, false, cpli_part_item, NULL},
    {"Category", CATEGORIES, false, cpli_part_category, NULL},
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
