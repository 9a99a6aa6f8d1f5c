// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The elements of an FMI 3.0 modelDescription.xml.
#include <assert.h>
#include <math.h>

#include "fmi/parse.h"
#include "format/scan.h"

#define REMARK(p, rule, ...) \
  cpli_findings_add(&(p)->fmu->findings, CPLI_WARNING, cpli_xml_line((p)->xml), rule, __VA_ARGS__)

//------------------------------------ root and kinds ------------------------------------

static cpl_status begin_root(cpli_parse* p) {
  cpl_status st = cpli_part_head(p, "FMI 3.0", "instantiationToken");
  return st < 0 ? st : cpli_part_constraints(p);
}

static cpl_status end_root(cpli_parse* p) {
  if (p->fmu->me.present || p->fmu->cs.present || p->fmu->se.present) return CPL_OK;
  return cpli_parse_fail(
      p, "neither <ModelExchange> nor <CoSimulation> nor <ScheduledExecution> is there");
}

static cpl_status begin_kind(cpli_parse* p, cpli_fmu_kind* kind, const char* element) {
  cpl_status st = cpli_part_kind(p, kind, element);
  cpl_capabilities* can = &kind->can;
  cpli_boolean(p, "needsExecutionTool", &can->needs_tool);
  cpli_boolean(p, "canBeInstantiatedOnlyOncePerProcess", &can->once_per_process);
  cpli_boolean(p, "canGetAndSetFMUState", &can->save_restore);
  cpli_boolean(p, "canSerializeFMUState", &can->serialize);
  cpli_boolean(p, "providesDirectionalDerivatives", &can->directional);
  cpli_boolean(p, "providesAdjointDerivatives", &kind->adjoint);
  cpli_boolean(p, "providesPerElementDependencies", &kind->per_element);
  cpli_boolean(p, "providesEvaluateDiscreteStates", &kind->evaluate_discrete);
  return st;
}

static cpl_status begin_me(cpli_parse* p) {
  cpl_status st = begin_kind(p, &p->fmu->me, "ModelExchange");
  cpli_boolean(p, "needsCompletedIntegratorStep", &p->fmu->me.can.completed_step);
  return st < 0 ? st : cpli_part_constraints(p);
}

static cpl_status begin_cs(cpli_parse* p) {
  cpli_fmu_kind* cs = &p->fmu->cs;
  cpl_status st = begin_kind(p, cs, "CoSimulation");
  cpli_boolean(p, "canHandleVariableCommunicationStepSize", &cs->can.variable_step);
  cpli_boolean(p, "providesIntermediateUpdate", &cs->intermediate_update);
  cpli_boolean(p, "mightReturnEarlyFromDoStep", &cs->early_return);
  cpli_boolean(p, "canReturnEarlyAfterIntermediateUpdate", &cs->early_return_on_request);
  cpli_boolean(p, "hasEventMode", &cs->event_mode);
  cs->can.stops_early = cs->early_return;
  int64_t n = 0;
  if (cpli_integer(p, "maxOutputDerivativeOrder", 0, INT32_MAX, &n))
    cs->can.output_derivatives = (int32_t)n;
  if (cpli_integer(p, "recommendedIntermediateInputSmoothness", INT32_MIN, INT32_MAX, &n))
    cs->input_smoothness = (int32_t)n;
  if (cpli_real(p, "fixedInternalStepSize", &cs->fixed_step) &&
      !(cs->fixed_step > 0 && isfinite(cs->fixed_step))) {
    REMARK(p, "value", "fixedInternalStepSize is not positive and is ignored");
    cs->fixed_step = 0;
  }
  return st;
}

static cpl_status begin_se(cpli_parse* p) {
  return begin_kind(p, &p->fmu->se, "ScheduledExecution");
}

//------------------------------------ units and types ------------------------------------

static cpl_status begin_unit(cpli_parse* p) { return cpli_part_unit(p, "name"); }

static cpl_status begin_display_unit(cpli_parse* p) {
  cpl_status st = cpli_part_display_unit(p, "name", "factor");
  if (st >= 0) cpli_boolean(p, "inverse", &p->units.items[p->units.count - 1].inverse);
  return st;
}

static cpl_status read_clock(cpli_parse* p, cpli_clock* c);

static cpl_status begin_type(cpli_parse* p) {
  cpl_status st = cpli_part_type(p, p->rule->element);
  if (st < 0) return st;
  cpli_type_draft* type = &p->types.items[p->types.count - 1];
  type->def.type = (cpl_type)p->rule->type;
  type->range.given |= CPLI_HAS_TYPE;
  cpli_clock unused;
  switch (type->def.type) {
    case CPL_REAL: cpli_part_real_range(p, &type->range); break;
    case CPL_INTEGER:
    case CPL_ENUMERATION:
      cpli_part_integer_range(p, &type->range, (cpl_width)p->rule->width);
      break;
    case CPL_BINARY:
      cpli_xml_attribute(p->xml, "mimeType");
      cpli_xml_attribute(p->xml, "maxSize");
      break;
    case CPL_CLOCK: st = read_clock(p, &unused); break;
    case CPL_BOOLEAN:
    case CPL_STRING: break;
  }
  if (type->range.quantity != NULL) type->def.quantity = type->range.quantity;
  return st;
}

//------------------------------------ lists in attributes ------------------------------------

static const char* next_word(const char* text, size_t* len) {
  text += strspn(text, " \t\r\n");
  *len = strcspn(text, " \t\r\n");
  return text;
}

static bool read_number(const char* word, size_t len, cpl_type type, cpl_width width, double* out) {
  if (type != CPL_BOOLEAN) {
    bool is_number = cpli_parse_double(word, len, out) && !isnan(*out);
    return is_number && (type == CPL_REAL || cpli_fits(width, *out));
  }
  char text[8];
  bool yes = false;
  if (len >= sizeof text) return false;
  memcpy(text, word, len);
  text[len] = '\0';
  if (!cpli_parse_boolean(text, &yes)) return false;
  *out = yes ? 1 : 0;
  return true;
}

static cpl_status read_starts(cpli_parse* p, cpl_variable* v, cpli_more* more) {
  const char* text = cpli_xml_attribute(p->xml, "start");
  if (text == NULL) return CPL_OK;
  more->first_start = (int32_t)p->starts.count;
  size_t len = 0;
  for (text = next_word(text, &len); len > 0; text = next_word(text + len, &len)) {
    double x = 0;
    if (!read_number(text, len, (cpl_type)v->type, (cpl_width)v->width, &x)) {
      REMARK(p, "value", "start=\"%.*s\" of %.100s is no value of its type; it has no start values",
             (int)(len > 60 ? 60 : len), text, v->name);
      more->n_starts = 0;
      return CPL_OK;
    }
    double* start = CPLI_PUSH(p, p->starts);
    if (start == NULL) return cpli_nomem(p->ctx);
    *start = x;
    more->n_starts++;
  }
  v->has_start = more->n_starts > 0;
  if (v->has_start) v->start = p->starts.items[more->first_start];
  return CPL_OK;
}

static cpl_status read_clocks(cpli_parse* p, const cpl_variable* v, cpli_more* more) {
  const char* text = cpli_xml_attribute(p->xml, "clocks");
  if (text == NULL) return CPL_OK;
  more->first_clock = (int32_t)p->clock_refs.count;
  while (text += strspn(text, " \t\r\n"), *text != '\0') {
    int64_t ref = 0;
    text = cpli_scan_integer(text, 0, UINT32_MAX, &ref);
    if (text == NULL) {
      REMARK(p, "clock", "clocks of %.100s is no list of valueReferences", v->name);
      return CPL_OK;
    }
    uint32_t* item = CPLI_PUSH(p, p->clock_refs);
    if (item == NULL) return cpli_nomem(p->ctx);
    *item = (uint32_t)ref;
    more->n_clocks++;
  }
  return CPL_OK;
}

//------------------------------------ variables ------------------------------------

static const char* const causalities[] = {
    "parameter",   "calculatedParameter", "input", "output", "local",
    "independent", "structuralParameter"};
static const char* const variabilities[] = {"constant", "fixed", "tunable", "discrete",
                                            "continuous"};
static const char* const initials[] = {NULL, "exact", "approx", "calculated"};
// Numbers of choices become values of these types.
static_assert(CPLI_COUNT(causalities) == CPL_CAUSALITY_INDEPENDENT + 2, "cpl_causality");
static_assert(CPLI_COUNT(variabilities) == CPL_VARIABILITY_CONTINUOUS + 1, "cpl_variability");
static_assert(CPLI_COUNT(initials) == CPL_INITIAL_CALCULATED + 1, "cpl_initial");

static void read_kind_of_value(cpli_parse* p, cpl_variable* v, cpli_var_draft* draft) {
  cpli_choice(p, "causality", causalities, CPLI_COUNT(causalities), &v->causality);
  v->structural = v->causality == CPL_CAUSALITY_INDEPENDENT + 1;
  if (v->structural) v->causality = CPL_CAUSALITY_PARAMETER;
  bool parameter =
      v->causality == CPL_CAUSALITY_PARAMETER || v->causality == CPL_CAUSALITY_CALCULATED_PARAMETER;
  v->variability = parameter             ? CPL_VARIABILITY_FIXED
                   : v->type == CPL_REAL ? CPL_VARIABILITY_CONTINUOUS
                                         : CPL_VARIABILITY_DISCRETE;
  cpli_choice(p, "variability", variabilities, CPLI_COUNT(variabilities), &v->variability);
  draft->given |= CPLI_HAS_VARIABILITY;  // defaults are never wrong in FMI 3.0
  if (cpli_choice(p, "initial", initials, CPLI_COUNT(initials), &v->initial))
    draft->given |= CPLI_HAS_INITIAL;
  cpli_boolean(p, "canHandleMultipleSetPerTimeInstant", &v->can_set_several_times);
}

static void read_range(cpli_parse* p, cpl_variable* v, cpli_var_draft* draft) {
  cpli_range r = {.min = v->min, .max = v->max, .nominal = 1};
  if (v->type == CPL_REAL) cpli_part_real_range(p, &r);
  if (v->type == CPL_INTEGER || v->type == CPL_ENUMERATION)
    cpli_part_integer_range(p, &r, (cpl_width)v->width);
  cpli_take_range(v, draft, &r);
}

static bool read_reference(cpli_parse* p, const char* name, uint32_t* out) {
  int64_t ref = 0;
  if (!cpli_integer(p, name, 0, UINT32_MAX, &ref)) return false;
  *out = (uint32_t)ref;
  return true;
}

static cpl_status read_more(cpli_parse* p, cpl_variable* v, cpli_more* more) {
  more->has_previous = read_reference(p, "previous", &more->previous);
  cpli_boolean(p, "intermediateUpdate", &more->intermediate_update);
  if (v->type == CPL_REAL) {
    more->has_derivative = read_reference(p, "derivative", &more->derivative);
    cpli_boolean(p, "reinit", &v->reinit);
  }
  if (v->type == CPL_BINARY) {
    int64_t size = 0;
    more->mime_type = cpli_text_once(p, "mimeType");
    if (cpli_integer(p, "maxSize", 0, INT64_MAX, &size)) more->max_size = (uint64_t)size;
  }
  bool texts = v->type == CPL_STRING || v->type == CPL_BINARY || v->type == CPL_CLOCK;
  cpl_status st = texts ? CPL_OK : read_starts(p, v, more);
  return st < 0 ? st : read_clocks(p, v, more);
}

// Most variables are scalars without any of it.
static bool is_worth_keeping(const cpli_more* m) {
  return m->has_derivative || m->has_previous || m->intermediate_update || m->n_starts > 1 ||
         m->n_clocks > 0 || m->mime_type != NULL || m->max_size > 0;
}

static cpli_more* open_more(cpli_parse* p) {
  cpli_var_draft* draft = &p->var_drafts.items[p->open_var];
  if (draft->more > 0) return &p->mores.items[draft->more - 1];
  cpli_more* more = CPLI_PUSH(p, p->mores);
  if (more == NULL) {
    p->no_memory = true;
    return NULL;
  }
  draft->more = (int32_t)p->mores.count;
  // the single start value, should it turn out to be an array
  const cpl_variable* v = &p->vars.items[p->open_var];
  if (v->has_start && v->type != CPL_STRING && v->type != CPL_BINARY) {
    double* start = CPLI_PUSH(p, p->starts);
    if (start == NULL) p->no_memory = true;
    if (start != NULL) *start = v->start, more->first_start = (int32_t)p->starts.count - 1;
    more->n_starts = start != NULL;
  }
  return more;
}

static cpl_status begin_variable(cpli_parse* p) {
  cpl_variable v;
  cpl_status st = cpli_part_variable(p, p->rule->element, &v);
  if (st < 0) return st;
  v.type = p->rule->type;
  v.width = p->rule->width;
  cpli_var_draft draft = {.given = CPLI_HAS_TYPE};
  cpli_more more = {0};
  read_kind_of_value(p, &v, &draft);
  draft.declared_type = cpli_text_once(p, "declaredType");
  read_range(p, &v, &draft);
  st = read_more(p, &v, &more);
  if (st < 0) return st;
  if (is_worth_keeping(&more)) {
    cpli_more* kept = CPLI_PUSH(p, p->mores);
    if (kept == NULL) return cpli_nomem(p->ctx);
    *kept = more;
    draft.more = (int32_t)p->mores.count;
  } else {
    p->starts.count -= (size_t)more.n_starts;  // in v.start already
  }
  p->open_var = (int32_t)p->vars.count;
  return cpli_push_variable(p, &v, &draft);
}

static cpl_status begin_dimension(cpli_parse* p) {
  cpli_more* more = open_more(p);
  if (more == NULL) return CPL_OK;
  cpli_size size = {0};
  int64_t n = 0;
  size.by_ref = read_reference(p, "valueReference", &size.ref);
  bool fixed = cpli_integer(p, "start", 0, INT64_MAX, &n);
  size.number = (uint64_t)n;
  if (size.by_ref == fixed) {
    return cpli_parse_fail(p, "a <Dimension> of %.100s needs either start or valueReference",
                           p->vars.items[p->open_var].name);
  }
  if (more->n_sizes == 0) more->first_size = (int32_t)p->sizes.count;
  cpli_size* added = CPLI_PUSH(p, p->sizes);
  if (added == NULL) return cpli_nomem(p->ctx);
  *added = size;
  more->n_sizes++;
  return CPL_OK;
}

static bool is_hex(const char* text) {
  size_t n = strspn(text, "0123456789abcdefABCDEF");
  return text[n] == '\0' && n % 2 == 0;
}

static cpl_status begin_start(cpli_parse* p) {
  cpl_variable* v = &p->vars.items[p->open_var];
  const char* text = cpli_element_text(p, "value");
  if (p->no_memory) return CPL_OK;
  if (text == NULL) text = "";
  if (v->type != CPL_STRING && v->type != CPL_BINARY) {
    REMARK(p, "unknown", "<Start> is for String and Binary; that of %.100s is ignored", v->name);
    return CPL_OK;
  }
  if (v->type == CPL_BINARY && !is_hex(text)) {
    REMARK(p, "value", "value=\"%.60s\" of %.100s has no even number of hexadecimal digits", text,
           v->name);
    return CPL_OK;
  }
  cpli_more* more = open_more(p);
  const char** start = more != NULL ? CPLI_PUSH(p, p->start_texts) : NULL;
  if (start == NULL) return cpli_nomem(p->ctx);
  *start = text;
  if (more->n_starts++ == 0) {
    more->first_start = (int32_t)p->start_texts.count - 1;
    v->start_text = text;
    v->has_start = true;
  }
  return CPL_OK;
}

// Another name of the variable: it has no start value and no role of its own, but for constants.
static cpl_status begin_alias(cpli_parse* p) {
  cpl_variable v = p->vars.items[p->open_var];
  cpli_var_draft draft = p->var_drafts.items[p->open_var];
  v.line = cpli_xml_line(p->xml);
  v.name = cpli_element_text(p, "name");
  if (p->no_memory) return CPL_OK;
  if (v.name == NULL) {
    return cpli_parse_fail(p, "an <Alias> of %.100s has no name", p->vars.items[p->open_var].name);
  }
  v.description = cpli_text_or_empty(p, "description");
  const char* display_unit = cpli_text_once(p, "displayUnit");
  if (display_unit != NULL) draft.display_unit = display_unit;
  v.causality = CPL_CAUSALITY_LOCAL;
  v.initial = CPL_INITIAL_NONE;
  v.structural = v.reinit = false;
  draft.given &= (uint8_t)~CPLI_HAS_INITIAL;
  if (v.variability != CPL_VARIABILITY_CONSTANT) v.has_start = false;
  cpli_more* more = CPLI_PUSH(p, p->mores);
  if (more == NULL) return cpli_nomem(p->ctx);
  more->alias_to = p->open_var + 1;
  draft.more = (int32_t)p->mores.count;
  return cpli_push_variable(p, &v, &draft);
}

//------------------------------------ clocks ------------------------------------

static bool read_count(cpli_parse* p, const char* name, uint64_t* out) {
  double x = 0;
  if (!cpli_whole(p, name, CPL_WIDTH_UINT64, &x)) return false;
  *out = x < 0x1p64 ? (uint64_t)x : UINT64_MAX;
  return true;
}

static cpl_status read_clock(cpli_parse* p, cpli_clock* c) {
  static const char* const intervals[] = {"constant", "fixed",     "calculated", "tunable",
                                          "changing", "countdown", "triggered"};
  static_assert(CPLI_COUNT(intervals) == CPLI_INTERVAL_TRIGGERED + 1, "cpli_interval");
  *c = (cpli_clock){.interval = CPLI_INTERVAL_TRIGGERED};
  if (!cpli_choice(p, "intervalVariability", intervals, CPLI_COUNT(intervals), &c->interval) &&
      p->rule->element[strlen(p->rule->element) - 1] != 'e')
    REMARK(p, "clock", "intervalVariability is missing; the Clock is taken as triggered");
  cpli_boolean(p, "canBeDeactivated", &c->can_be_deactivated);
  cpli_boolean(p, "supportsFraction", &c->supports_fraction);
  c->has_interval = cpli_real(p, "intervalDecimal", &c->interval_decimal);
  cpli_real(p, "shiftDecimal", &c->shift_decimal);
  bool resolution = read_count(p, "resolution", &c->resolution) && c->resolution > 0;
  c->has_counter = read_count(p, "intervalCounter", &c->interval_counter) && resolution;
  read_count(p, "shiftCounter", &c->shift_counter);
  c->has_priority = read_reference(p, "priority", &c->priority);
  return CPL_OK;
}

static cpl_status begin_clock(cpli_parse* p) {
  cpl_status st = begin_variable(p);
  if (st < 0) return st;
  cpli_clock clock;
  st = read_clock(p, &clock);
  clock.var = p->open_var;
  cpli_clock* kept = CPLI_PUSH(p, p->clocks);
  if (kept == NULL) return cpli_nomem(p->ctx);
  *kept = clock;
  return st;
}

//------------------------------------ structure ------------------------------------

static cpl_status begin_structure(cpli_parse* p) {
  p->structure_line = cpli_xml_line(p->xml);
  return CPL_OK;
}

static cpl_status begin_unknown(cpli_parse* p) {
  p->has_list[p->rule->type] = true;
  return cpli_part_unknown(p, p->rule->type, true);
}

//------------------------------------ table ------------------------------------

enum {
  ROOT,
  ME,
  CS,
  SE,
  VARIABLES,
  VARIABLE,  // of any type
  UNITS,
  UNIT,
  TYPES,
  TYPE,  // of any kind
  CATEGORIES,
  CATEGORY,
  EXPERIMENT,
  STRUCTURE,
  UNKNOWN,  // of any list
  REMARKS,
  REMARK,
  LEAVES,  // from here on nothing stands below
};

#define VAR(name, type, width) \
  { name, VARIABLES, false, begin_variable, NULL, VARIABLE, type, width }
#define DEF(name, type, width) \
  { name, TYPES, false, begin_type, NULL, TYPE, type, width }
#define ROW(name, list) \
  { name, STRUCTURE, false, begin_unknown, NULL, UNKNOWN, list, 0 }
#define NOTES(parent) \
  { "Annotations", parent, true, NULL, NULL, 0, 0, 0 }

static const cpli_rule rules[] = {
    [ROOT] = {"fmiModelDescription", 0, false, begin_root, end_root},
    [ME] = {"ModelExchange", ROOT, false, begin_me, NULL},
    [CS] = {"CoSimulation", ROOT, false, begin_cs, NULL},
    [SE] = {"ScheduledExecution", ROOT, false, begin_se, NULL},
    [VARIABLES] = {"ModelVariables", ROOT, false, NULL, NULL},
    [VARIABLE] = VAR("Float64", CPL_REAL, CPL_WIDTH_FLOAT64),
    [UNITS] = {"UnitDefinitions", ROOT, false, NULL, NULL},
    [UNIT] = {"Unit", UNITS, false, begin_unit, NULL},
    [TYPES] = {"TypeDefinitions", ROOT, false, NULL, NULL},
    [TYPE] = DEF("Float64Type", CPL_REAL, CPL_WIDTH_FLOAT64),
    [CATEGORIES] = {"LogCategories", ROOT, false, NULL, NULL},
    [CATEGORY] = {"Category", CATEGORIES, false, cpli_part_category, NULL},
    [EXPERIMENT] = {"DefaultExperiment", ROOT, false, cpli_part_experiment, NULL},
    [STRUCTURE] = {"ModelStructure", ROOT, false, begin_structure, NULL},
    [UNKNOWN] = ROW("Output", CPLI_OUTPUTS),
    [REMARKS] = {"Annotations", ROOT, .foreign = true},
    [REMARK] = {"Annotation", REMARKS, .foreign = true},
    [LEAVES] = {"Dimension", VARIABLE, false, begin_dimension, NULL},
    {"Start", VARIABLE, false, begin_start, NULL},
    {"Alias", VARIABLE, false, begin_alias, NULL},
    VAR("Float32", CPL_REAL, CPL_WIDTH_FLOAT32),
    VAR("Int8", CPL_INTEGER, CPL_WIDTH_INT8),
    VAR("UInt8", CPL_INTEGER, CPL_WIDTH_UINT8),
    VAR("Int16", CPL_INTEGER, CPL_WIDTH_INT16),
    VAR("UInt16", CPL_INTEGER, CPL_WIDTH_UINT16),
    VAR("Int32", CPL_INTEGER, CPL_WIDTH_INT32),
    VAR("UInt32", CPL_INTEGER, CPL_WIDTH_UINT32),
    VAR("Int64", CPL_INTEGER, CPL_WIDTH_INT64),
    VAR("UInt64", CPL_INTEGER, CPL_WIDTH_UINT64),
    VAR("Boolean", CPL_BOOLEAN, CPL_WIDTH_OWN),
    VAR("String", CPL_STRING, CPL_WIDTH_OWN),
    VAR("Binary", CPL_BINARY, CPL_WIDTH_OWN),
    VAR("Enumeration", CPL_ENUMERATION, CPL_WIDTH_INT64),
    {"Clock", VARIABLES, false, begin_clock, NULL, VARIABLE, CPL_CLOCK, CPL_WIDTH_OWN},
    ROW("ContinuousStateDerivative", CPLI_DERIVATIVES),
    ROW("ClockedState", CPLI_CLOCKED_STATES),
    ROW("InitialUnknown", CPLI_INITIAL_UNKNOWNS),
    ROW("EventIndicator", CPLI_INDICATORS),
    {"BaseUnit", UNIT, false, cpli_part_base_unit, NULL},
    {"DisplayUnit", UNIT, false, begin_display_unit, NULL},
    DEF("Float32Type", CPL_REAL, CPL_WIDTH_FLOAT32),
    DEF("Int8Type", CPL_INTEGER, CPL_WIDTH_INT8),
    DEF("UInt8Type", CPL_INTEGER, CPL_WIDTH_UINT8),
    DEF("Int16Type", CPL_INTEGER, CPL_WIDTH_INT16),
    DEF("UInt16Type", CPL_INTEGER, CPL_WIDTH_UINT16),
    DEF("Int32Type", CPL_INTEGER, CPL_WIDTH_INT32),
    DEF("UInt32Type", CPL_INTEGER, CPL_WIDTH_UINT32),
    DEF("Int64Type", CPL_INTEGER, CPL_WIDTH_INT64),
    DEF("UInt64Type", CPL_INTEGER, CPL_WIDTH_UINT64),
    DEF("BooleanType", CPL_BOOLEAN, CPL_WIDTH_OWN),
    DEF("StringType", CPL_STRING, CPL_WIDTH_OWN),
    DEF("BinaryType", CPL_BINARY, CPL_WIDTH_OWN),
    DEF("EnumerationType", CPL_ENUMERATION, CPL_WIDTH_INT64),
    DEF("ClockType", CPL_CLOCK, CPL_WIDTH_OWN),
    {"Item", TYPE, false, cpli_part_item, NULL},
    {"Constraints", REMARK, .begin = cpli_part_constraints, .foreign = true},
    NOTES(ME),
    NOTES(CS),
    NOTES(SE),
    NOTES(VARIABLE),
    NOTES(UNIT),
    NOTES(TYPE),
    NOTES(CATEGORY),
    NOTES(EXPERIMENT),
    NOTES(UNKNOWN),
};

const cpli_rules cpli_fmi3_rules = {
    .rules = rules, .n = CPLI_COUNT(rules), .prepare = cpli_map_references};
