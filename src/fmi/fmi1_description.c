// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The elements of an FMI 1.0 modelDescription.xml. Causality, variability and fixed become what
// later versions say; the states are only counted, and dependencies are given by names.
#include <math.h>

#include "fmi/parse.h"
#include "format/scan.h"

#define REMARK(p, rule, ...) \
  cpli_findings_add(&(p)->fmu->findings, CPLI_WARNING, cpli_xml_line((p)->xml), rule, __VA_ARGS__)

//------------------------------------ root and kinds ------------------------------------

enum { MAX_STATES = 10000000 };  // memory is needed for each

static cpl_status begin_root(cpli_parse* p) {
  cpl_status st = cpli_part_head(p, "FMI 1.0", "guid");
  if (st >= 0) st = cpli_part_indicators(p);
  if (st < 0) return st;
  int64_t n = 0;
  if (cpli_integer(p, "numberOfContinuousStates", 0, INT64_MAX, &n) && n > MAX_STATES)
    return cpli_parse_fail(p, "numberOfContinuousStates=\"%lld\": at most %d are supported",
                           (long long)n, MAX_STATES);
  p->fmu->desc.n_states = (int32_t)n;
  // <Implementation> distinguishes co-simulation from model exchange
  cpli_fmu_kind* me = &p->fmu->me;
  st = cpli_part_kind(p, me, "fmiModelDescription");
  me->can.completed_step = true;
  // unlike later versions, FMI 1.0 does not say that instances may be called in several threads
  me->can.own_thread = true;
  return st;
}

static cpl_status begin_implementation(cpli_parse* p) {
  cpl_fmu* fmu = p->fmu;
  if (fmu->cs.present) return cpli_parse_fail(p, "<Implementation> is there twice");
  fmu->cs = fmu->me;
  fmu->cs.line = cpli_xml_line(p->xml);
  fmu->cs.can = (cpl_capabilities){0};
  fmu->me = (cpli_fmu_kind){0};
  return CPL_OK;
}

static cpl_status begin_tool(cpli_parse* p) {
  p->fmu->cs.tool_coupling = true;
  p->fmu->cs.can.needs_tool = true;
  return CPL_OK;
}

static cpl_status begin_capabilities(cpli_parse* p) {
  cpli_fmu_kind* cs = &p->fmu->cs;
  cpl_capabilities* can = &cs->can;
  bool yes = false;
  cpli_boolean(p, "canHandleVariableCommunicationStepSize", &can->variable_step);
  cpli_boolean(p, "canHandleEvents", &can->zero_step);
  cpli_boolean(p, "canRejectSteps", &yes);
  cpli_boolean(p, "canSignalEvents", &can->stops_early);
  cpli_boolean(p, "canRunAsynchronuously", &cs->asynchronous);
  cpli_boolean(p, "canBeInstantiatedOnlyOncePerProcess", &can->once_per_process);
  can->own_thread = true;
  cpli_boolean(p, "canNotUseMemoryManagementFunctions", &cs->no_memory_functions);
  if (cpli_boolean(p, "canInterpolateInputs", &yes)) can->input_derivatives = yes ? 1 : 0;
  int64_t order = 0;
  if (cpli_integer(p, "maxOutputDerivativeOrder", 0, INT32_MAX, &order))
    can->output_derivatives = (int32_t)order;
  return CPL_OK;
}

//------------------------------------ units and types ------------------------------------

static cpl_status begin_unit(cpli_parse* p) { return cpli_part_unit(p, "unit"); }

static cpl_status begin_display_unit(cpli_parse* p) {
  return cpli_part_display_unit(p, "displayUnit", "gain");
}

static cpl_status begin_type(cpli_parse* p) { return cpli_part_type(p, "Type"); }

static cpl_status begin_type_kind(cpli_parse* p) {
  cpli_type_draft* type = &p->types.items[p->types.count - 1];
  type->def.type = (cpl_type)p->rule->type;
  type->range.given |= CPLI_HAS_TYPE;
  if (type->def.type == CPL_REAL) cpli_part_real_range(p, &type->range);
  if (type->def.type == CPL_INTEGER || type->def.type == CPL_ENUMERATION)
    cpli_part_integer_range(p, &type->range, CPL_WIDTH_OWN);
  if (type->range.quantity != NULL) type->def.quantity = type->range.quantity;
  return CPL_OK;
}

// Items are numbered in their order.
static cpl_status begin_item(cpli_parse* p) {
  const char* name = cpli_element_text(p, "name");
  if (name == NULL && !p->no_memory) return cpli_parse_fail(p, "an <Item> needs a name");
  cpl_type_def* type = &p->types.items[p->types.count - 1].def;
  cpl_enum_item* item = CPLI_PUSH(p, p->items);
  if (item == NULL) return cpli_nomem(p->ctx);
  *item = (cpl_enum_item){.name = name, .value = ++type->n_items};
  item->description = cpli_text_or_empty(p, "description");
  return CPL_OK;
}

//------------------------------------ variables ------------------------------------

enum { V1_CONSTANT, V1_PARAMETER, V1_DISCRETE, V1_CONTINUOUS };
enum { C1_INPUT, C1_OUTPUT, C1_INTERNAL, C1_NONE };
static const char* const variabilities[] = {"constant", "parameter", "discrete", "continuous"};
static const char* const causalities[] = {"input", "output", "internal", "none"};
static const char* const aliases[] = {"noAlias", "alias", "negatedAlias"};

static cpl_status begin_variable(cpli_parse* p) {
  cpl_variable v;
  cpl_status st = cpli_part_variable(p, "ScalarVariable", &v);
  if (st < 0) return st;
  cpli_var_draft draft = {0};
  uint8_t alias = 0;
  v.causality = C1_INTERNAL;  // translated when the type and the start value are known
  v.variability = V1_CONTINUOUS;
  cpli_choice(p, "causality", causalities, CPLI_COUNT(causalities), &v.causality);
  if (cpli_choice(p, "variability", variabilities, CPLI_COUNT(variabilities), &v.variability))
    draft.given |= CPLI_HAS_VARIABILITY;
  cpli_choice(p, "alias", aliases, CPLI_COUNT(aliases), &alias);
  draft.negated = alias == 2;
  p->has_negated = p->has_negated || draft.negated;
  return cpli_push_variable(p, &v, &draft);
}

static void read_start(cpli_parse* p, cpl_variable* v) {
  bool yes = false;
  switch ((cpl_type)v->type) {
    case CPL_REAL: v->has_start = cpli_real(p, "start", &v->start); return;
    case CPL_INTEGER:
    case CPL_ENUMERATION: v->has_start = cpli_whole(p, "start", CPL_WIDTH_OWN, &v->start); return;
    case CPL_BOOLEAN:
      v->has_start = cpli_boolean(p, "start", &yes);
      v->start = yes ? 1 : 0;
      return;
    default: v->start_text = cpli_element_text(p, "start"); v->has_start = v->start_text != NULL;
  }
}

static cpl_status begin_value(cpli_parse* p) {
  cpl_variable* v = &p->vars.items[p->vars.count - 1];
  cpli_var_draft* draft = &p->var_drafts.items[p->var_drafts.count - 1];
  if (draft->given & CPLI_HAS_TYPE) return cpli_parse_fail(p, "%.100s has two types", v->name);
  draft->given |= CPLI_HAS_TYPE;
  v->type = p->rule->type;
  draft->declared_type = cpli_text_once(p, "declaredType");
  read_start(p, v);
  bool fixed = true;
  cpli_boolean(p, "fixed", &fixed);
  v->initial = !v->has_start ? CPL_INITIAL_CALCULATED
               : fixed       ? CPL_INITIAL_EXACT
                             : CPL_INITIAL_APPROX;
  cpli_range r = {.min = v->min, .max = v->max, .nominal = 1};
  if (v->type == CPL_REAL) cpli_part_real_range(p, &r);
  if (v->type == CPL_INTEGER || v->type == CPL_ENUMERATION)
    cpli_part_integer_range(p, &r, CPL_WIDTH_OWN);
  cpli_take_range(v, draft, &r);
  return CPL_OK;
}

// The causality of later versions. A parameter without start value is computed by the model.
static void translate(cpl_variable* v) {
  uint8_t variability = v->variability, causality = v->causality;
  v->causality = causality == C1_INPUT    ? CPL_CAUSALITY_INPUT
                 : causality == C1_OUTPUT ? CPL_CAUSALITY_OUTPUT
                                          : CPL_CAUSALITY_LOCAL;
  v->variability = variability == V1_CONSTANT     ? CPL_VARIABILITY_CONSTANT
                   : variability == V1_CONTINUOUS ? CPL_VARIABILITY_CONTINUOUS
                                                  : CPL_VARIABILITY_DISCRETE;
  if (v->variability == CPL_VARIABILITY_CONTINUOUS && v->type != CPL_REAL)
    v->variability = CPL_VARIABILITY_DISCRETE;
  if (variability == V1_PARAMETER && causality != C1_OUTPUT) {
    bool settable = v->has_start || causality == C1_INPUT;
    v->causality = settable ? CPL_CAUSALITY_PARAMETER : CPL_CAUSALITY_CALCULATED_PARAMETER;
    v->variability = CPL_VARIABILITY_FIXED;
    if (settable) v->initial = CPL_INITIAL_EXACT;
  }
  if (v->variability == CPL_VARIABILITY_CONSTANT) {
    v->initial = CPL_INITIAL_EXACT;
    if (v->causality == CPL_CAUSALITY_INPUT) v->causality = CPL_CAUSALITY_LOCAL;
  }
  if (v->causality == CPL_CAUSALITY_INPUT) v->initial = CPL_INITIAL_NONE;
}

static cpl_status end_variable(cpli_parse* p) {
  cpl_variable* v = &p->vars.items[p->vars.count - 1];
  const cpli_var_draft* draft = &p->var_drafts.items[p->var_drafts.count - 1];
  if (!(draft->given & CPLI_HAS_TYPE)) {
    return cpli_parse_fail(p,
                           "%.100s has no type: one of <Real>, <Integer>, <Boolean>, <String>, "
                           "<Enumeration> must be inside",
                           v->name);
  }
  if ((draft->given & CPLI_HAS_VARIABILITY) && v->variability == V1_CONTINUOUS &&
      v->type != CPL_REAL) {
    REMARK(p, "variability",
           "%.100s is %s and cannot be continuous; it is taken as discrete: write "
           "variability=\"discrete\"",
           v->name, cpl_type_name((cpl_type)v->type));
  }
  translate(v);
  return CPL_OK;
}

//------------------------------------ dependencies ------------------------------------

static cpl_status begin_dependencies(cpli_parse* p) {
  int32_t var = (int32_t)p->vars.count;  // from 1
  if (p->vars.items[var - 1].causality != C1_OUTPUT) {
    REMARK(p, "structure", "<DirectDependency> is for outputs; that of %.100s is ignored",
           p->vars.items[var - 1].name);
    return CPL_OK;
  }
  cpli_row_draft* row = CPLI_PUSH(p, p->rows);
  if (row == NULL) return cpli_nomem(p->ctx);
  row->list = CPLI_OUTPUTS;
  row->line = cpli_xml_line(p->xml);
  row->row = (cpl_unknown){.var = var, .first = (int32_t)p->deps.count, .count = 0};
  return CPL_OK;
}

static cpl_status begin_name(cpli_parse* p) {
  p->takes_text = true;
  p->text_len = 0;
  const char* input = cpli_xml_attribute(p->xml, "input");  // of some tools
  (void)input;
  return CPL_OK;
}

static cpl_status take_text(cpli_parse* p, const char* text, size_t len) {
  if (!p->takes_text) return CPL_OK;
  if (p->text_len + len + 1 > p->text_cap) {
    size_t cap = 2 * (p->text_len + len + 1);
    char* moved = cpli_realloc(p->ctx, p->text, cap, 1);
    if (moved == NULL) return cpli_nomem(p->ctx);
    p->text = moved;
    p->text_cap = cap;
  }
  memcpy(p->text + p->text_len, text, len);
  p->text_len += len;
  return CPL_OK;
}

static cpl_status end_name(cpli_parse* p) {
  static const char blanks[] = " \t\r\n";
  p->takes_text = false;
  cpli_row_draft* row = p->rows.count > 0 ? &p->rows.items[p->rows.count - 1] : NULL;
  if (p->text_len == 0 || row == NULL || row->row.var != (int32_t)p->vars.count) return CPL_OK;
  p->text[p->text_len] = '\0';
  char* name = p->text + strspn(p->text, blanks);
  size_t len = strlen(name);
  while (len > 0 && strchr(blanks, name[len - 1]) != NULL) name[--len] = '\0';
  const char* copy = cpli_arena_strdup(&p->fmu->arena, name);
  const char** dep_name = CPLI_PUSH(p, p->dep_names);
  int32_t* dep = CPLI_PUSH(p, p->deps);
  uint8_t* kind = CPLI_PUSH(p, p->kinds);
  if (copy == NULL || dep_name == NULL || dep == NULL || kind == NULL) return cpli_nomem(p->ctx);
  *dep_name = copy;
  row->row.count++;
  return CPL_OK;
}

//------------------------------------ table ------------------------------------

enum {
  ROOT,
  VARIABLES,
  VARIABLE,
  DEPENDENCIES,
  UNITS,
  UNIT,
  TYPES,
  TYPE,
  ENUMERATION_TYPE,
  IMPLEMENTATION,
  STAND_ALONE,
  TOOL,
  LEAVES,  // from here on nothing stands below
};

#define VALUE(name, type) \
  { name, VARIABLE, false, begin_value, NULL, 0, type, 0 }
#define DEF(name, type) \
  { name, TYPE, false, begin_type_kind, NULL, 0, type, 0 }

static const cpli_rule rules[] = {
    [ROOT] = {"fmiModelDescription", 0, false, begin_root, NULL},
    [VARIABLES] = {"ModelVariables", ROOT, false, NULL, NULL},
    [VARIABLE] = {"ScalarVariable", VARIABLES, false, begin_variable, end_variable},
    [DEPENDENCIES] = {"DirectDependency", VARIABLE, false, begin_dependencies, NULL},
    [UNITS] = {"UnitDefinitions", ROOT, false, NULL, NULL},
    [UNIT] = {"BaseUnit", UNITS, false, begin_unit, NULL},
    [TYPES] = {"TypeDefinitions", ROOT, false, NULL, NULL},
    [TYPE] = {"Type", TYPES, false, begin_type, NULL},
    [ENUMERATION_TYPE] = DEF("EnumerationType", CPL_ENUMERATION),
    [IMPLEMENTATION] = {"Implementation", ROOT, false, begin_implementation, NULL},
    [STAND_ALONE] = {"CoSimulation_StandAlone", IMPLEMENTATION, false, NULL, NULL},
    [TOOL] = {"CoSimulation_Tool", IMPLEMENTATION, false, begin_tool, NULL},
    [LEAVES] = VALUE("Real", CPL_REAL),
    VALUE("Integer", CPL_INTEGER),
    VALUE("Boolean", CPL_BOOLEAN),
    VALUE("String", CPL_STRING),
    VALUE("Enumeration", CPL_ENUMERATION),
    {"Name", DEPENDENCIES, false, begin_name, end_name},
    {"DisplayUnitDefinition", UNIT, false, begin_display_unit, NULL},
    DEF("RealType", CPL_REAL),
    DEF("IntegerType", CPL_INTEGER),
    DEF("BooleanType", CPL_BOOLEAN),
    DEF("StringType", CPL_STRING),
    {"Item", ENUMERATION_TYPE, false, begin_item, NULL},
    {"Capabilities", STAND_ALONE, false, begin_capabilities, NULL},
    {"Capabilities", TOOL, false, begin_capabilities, NULL},
    {"Model", TOOL, true, NULL, NULL},
    {"DefaultExperiment", ROOT, false, cpli_part_experiment, NULL},
    {"VendorAnnotations", ROOT, true, NULL, NULL},
};

const cpli_rules cpli_fmi1_rules = {.rules = rules, .n = CPLI_COUNT(rules), .text = take_text};
