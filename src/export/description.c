// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#include "export/description.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>

#include "model/units.h"

static void flag(cpli_writer* w, const char* name, bool value) {
  if (value) cpli_writef(w, " %s=\"true\"", name);
}

// XML Schema writes these two in its own way.
static void real(cpli_writer* w, const char* name, double value) {
  if (isnan(value)) cpli_write_attribute(w, name, "NaN");
  else if (isinf(value)) cpli_write_attribute(w, name, value > 0 ? "INF" : "-INF");
  else cpli_write_attribute_number(w, name, value);
}

//------------------------------------ names ------------------------------------

static const char* skip_identifier(const char* s) {
  if (!isalpha((unsigned char)*s) && *s != '_') return NULL;
  while (isalnum((unsigned char)*s) || *s == '_') s++;
  return s;
}

static const char* skip_indices(const char* s) {
  if (*s != '[') return s;
  do {
    s++;
    if (!isdigit((unsigned char)*s)) return NULL;
    while (isdigit((unsigned char)*s)) s++;
  } while (*s == ',');
  return *s == ']' ? s + 1 : NULL;
}

// a.b[1,2].c or der(a.b): names as the standard's "structured" convention wants them.
static bool is_structured(const char* name) {
  bool derivative = strncmp(name, "der(", 4) == 0;
  const char* s = derivative ? name + 4 : name;
  for (;;) {
    s = skip_identifier(s);
    if (s != NULL) s = skip_indices(s);
    if (s == NULL) return false;
    if (*s != '.') break;
    s++;
  }
  return strcmp(s, derivative ? ")" : "") == 0;
}

static bool all_structured(const cpl_description* d) {
  for (int32_t i = 0; i < d->n_vars; i++) {
    if (!is_structured(d->vars[i].name)) return false;
  }
  return true;
}

//------------------------------------ head ------------------------------------

static void write_head(cpli_writer* w, const cpli_fmu_facts* facts) {
  const cpl_description* d = facts->desc;
  cpli_write(w, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<fmiModelDescription");
  cpli_write_attribute(w, "fmiVersion", "2.0");
  cpli_write_attribute(w, "modelName", d->name);
  cpli_write_attribute(w, "guid", facts->guid);
  cpli_write_attribute(w, "description", d->description);
  cpli_write_attribute(w, "author", d->author);
  cpli_write_attribute(w, "version", d->version);
  cpli_write_attribute(w, "copyright", d->copyright);
  cpli_write_attribute(w, "license", d->license);
  cpli_write_attribute(w, "generationTool", "couplet " CPL_VERSION);
  cpli_write_attribute(w, "variableNamingConvention", all_structured(d) ? "structured" : "flat");
  cpli_writef(w, " numberOfEventIndicators=\"%d\">\n", (int)d->n_indicators);
}

// What holds for both kinds. Memory is our own: the callbacks of FMI 2.0 cannot grow a block.
static void write_common_flags(cpli_writer* w, const cpli_fmu_facts* facts) {
  cpli_write_attribute(w, "modelIdentifier", facts->identifier);
  flag(w, "canNotUseMemoryManagementFunctions", true);
  flag(w, "canGetAndSetFMUstate", facts->can.save_restore);
  flag(w, "canSerializeFMUstate", facts->can.serialize);
  flag(w, "providesDirectionalDerivative", facts->can.directional);
}

static void write_kinds(cpli_writer* w, const cpli_fmu_facts* facts) {
  cpli_write(w, "  <ModelExchange");
  write_common_flags(w, facts);
  flag(w, "completedIntegratorStepNotNeeded", !facts->can.completed_step);
  cpli_write(w, ">\n    <SourceFiles>\n");
  for (size_t i = 0; i < facts->n_source_files; i++) {
    cpli_write(w, "      <File");
    cpli_write_attribute(w, "name", facts->source_files[i]);
    cpli_write(w, "/>\n");
  }
  cpli_write(w, "    </SourceFiles>\n  </ModelExchange>\n  <CoSimulation");
  write_common_flags(w, facts);
  flag(w, "canHandleVariableCommunicationStepSize", true);
  flag(w, "canInterpolateInputs", true);
  cpli_write(w, "/>\n");
}

//------------------------------------ units and types ------------------------------------

static void write_unit(cpli_writer* w, cpl_unit unit) {
  static const char* const bases[] = {"kg", "m", "s", "A", "K", "mol", "cd", "rad"};
  cpli_write(w, "    <Unit");
  cpli_write_attribute(w, "name", unit.name);
  if (!unit.has_base && !cpli_unit_parse(unit.name, &unit)) {
    cpli_write(w, "/>\n");
    return;
  }
  cpli_write(w, ">\n      <BaseUnit");
  for (size_t i = 0; i < CPLI_COUNT(bases); i++) {
    if (unit.exponents[i] != 0) cpli_writef(w, " %s=\"%d\"", bases[i], unit.exponents[i]);
  }
  if (unit.factor != 1) real(w, "factor", unit.factor);
  if (unit.offset != 0) real(w, "offset", unit.offset);
  cpli_write(w, "/>\n    </Unit>\n");
}

static void write_units(cpli_writer* w, const cpl_description* d) {
  if (d->n_units == 0) return;
  cpli_write(w, "  <UnitDefinitions>\n");
  for (int32_t i = 0; i < d->n_units; i++) {
    if (d->units[i].display_of < 0) write_unit(w, d->units[i]);
  }
  cpli_write(w, "  </UnitDefinitions>\n");
}

static bool is_written_type(const cpl_type_def* t) {
  return t->type == CPL_ENUMERATION && t->n_items > 0;
}

static void write_types(cpli_writer* w, const cpl_description* d) {
  bool any = false;
  for (int32_t i = 0; i < d->n_types; i++) {
    const cpl_type_def* t = &d->types[i];
    if (!is_written_type(t)) continue;
    if (!any) cpli_write(w, "  <TypeDefinitions>\n");
    any = true;
    cpli_write(w, "    <SimpleType");
    cpli_write_attribute(w, "name", t->name);
    cpli_write(w, ">\n      <Enumeration");
    cpli_write_attribute(w, "quantity", t->quantity);
    cpli_write(w, ">\n");
    for (int32_t k = 0; k < t->n_items; k++) {
      cpli_write(w, "        <Item");
      cpli_write_attribute(w, "name", t->items[k].name);
      cpli_writef(w, " value=\"%d\"", (int)t->items[k].value);
      cpli_write_attribute(w, "description", t->items[k].description);
      cpli_write(w, "/>\n");
    }
    cpli_write(w, "      </Enumeration>\n    </SimpleType>\n");
  }
  if (any) cpli_write(w, "  </TypeDefinitions>\n");
}

static void write_log_categories(cpli_writer* w) {
  static const char* const categories[][2] = {
      {"logEvents", "every event"},
      {"logStatusWarning", "calls that returned fmi2Warning, and warnings of the integrator"},
      {"logStatusDiscard", "calls that returned fmi2Discard"},
      {"logStatusError", "calls that returned fmi2Error; always on"},
      {"logAll", "everything"},
  };
  cpli_write(w, "  <LogCategories>\n");
  for (size_t i = 0; i < CPLI_COUNT(categories); i++) {
    cpli_writef(w, "    <Category name=\"%s\" description=\"%s\"/>\n", categories[i][0],
                categories[i][1]);
  }
  cpli_write(w, "  </LogCategories>\n");
}

static void write_experiment(cpli_writer* w, const cpl_default_experiment* e) {
  if (!e->has_start && !e->has_stop && !e->has_tolerance && !e->has_step) return;
  cpli_write(w, "  <DefaultExperiment");
  if (e->has_start) real(w, "startTime", e->start);
  if (e->has_stop) real(w, "stopTime", e->stop);
  if (e->has_tolerance) real(w, "tolerance", e->tolerance);
  if (e->has_step) real(w, "stepSize", e->step);
  cpli_write(w, "/>\n");
}

//------------------------------------ variables ------------------------------------

static void write_number_type(cpli_writer* w, const cpl_description* d, const cpl_variable* v) {
  if (v->type == CPL_REAL) {
    if (v->unit >= 0) cpli_write_attribute(w, "unit", d->units[v->unit].name);
    flag(w, "relativeQuantity", v->relative_quantity);
    flag(w, "unbounded", v->unbounded);
    if (v->has_nominal) real(w, "nominal", v->nominal);
    if (v->derivative_of >= 0) cpli_writef(w, " derivative=\"%d\"", (int)v->derivative_of + 1);
    flag(w, "reinit", v->reinit);
  } else if (v->declared_type >= 0) {
    cpli_write_attribute(w, "declaredType", d->types[v->declared_type].name);
  }
  if (isfinite(v->min)) real(w, "min", v->min);
  if (isfinite(v->max)) real(w, "max", v->max);
  if (v->has_start) real(w, "start", v->start);
}

static void write_variable(cpli_writer* w, const cpl_description* d, const cpl_variable* v) {
  static const char* const initials[] = {NULL, "exact", "approx", "calculated"};
  cpli_write(w, "    <ScalarVariable");
  cpli_write_attribute(w, "name", v->name);
  cpli_writef(w, " valueReference=\"%u\"", (unsigned)v->ref);
  cpli_write_attribute(w, "description", v->description);
  cpli_write_attribute(w, "causality", cpl_causality_name((cpl_causality)v->causality));
  cpli_write_attribute(w, "variability", cpl_variability_name((cpl_variability)v->variability));
  cpli_write_attribute(w, "initial", initials[v->initial]);
  cpli_writef(w, "><%s", cpl_type_name((cpl_type)v->type));
  if (v->type == CPL_STRING) {
    if (v->has_start) {  // an empty start is a start
      cpli_write(w, " start=\"");
      cpli_write_escaped(w, v->start_text != NULL ? v->start_text : "");
      cpli_write(w, "\"");
    }
  } else if (v->type == CPL_BOOLEAN) {
    if (v->has_start) cpli_write_attribute(w, "start", v->start != 0 ? "true" : "false");
  } else {
    write_number_type(w, d, v);
  }
  cpli_write(w, "/></ScalarVariable>\n");
}

static void write_variables(cpli_writer* w, const cpl_description* d) {
  cpli_write(w, "  <ModelVariables>\n");
  for (int32_t i = 0; i < d->n_vars; i++) {
    write_variable(w, d, &d->vars[i]);
  }
  cpli_write(w, "  </ModelVariables>\n");
}

//------------------------------------ structure ------------------------------------

typedef struct known {
  int32_t var;
  uint8_t kind;
} known;

static int by_variable(const void* a, const void* b) {
  int32_t x = ((const known*)a)->var, y = ((const known*)b)->var;
  return (x > y) - (x < y);
}

static void write_unknown(cpli_writer* w, int32_t var, known* list, int32_t n) {
  static const char* const kinds[] = {"dependent", "constant", "fixed", "tunable", "discrete"};
  cpli_writef(w, "      <Unknown index=\"%d\"", (int)var + 1);
  if (n >= 0) {
    bool special = false;
    qsort(list, (size_t)n, sizeof *list, by_variable);
    cpli_write(w, " dependencies=\"");
    for (int32_t i = 0; i < n; i++) {
      cpli_writef(w, i > 0 ? " %d" : "%d", (int)list[i].var + 1);
      special = special || list[i].kind != CPL_DEPENDENT;
    }
    if (special) cpli_write(w, "\" dependenciesKind=\"");
    for (int32_t i = 0; special && i < n; i++) {
      if (i > 0) cpli_write(w, " ");
      cpli_write(w, kinds[list[i].kind]);
    }
    cpli_write(w, "\"");
  }
  cpli_write(w, "/>\n");
}

static int32_t collect(const cpl_structure* s, const cpl_unknown* u, known* list) {
  for (int32_t i = 0; i < u->count; i++) {
    list[i] = (known){s->deps[u->first + i], s->kinds[u->first + i]};
  }
  return u->count;
}

static void write_unknowns(cpli_writer* w, const cpl_structure* s, const char* element,
                           const cpl_unknown* rows, int32_t n, known* list) {
  if (n == 0) return;
  cpli_writef(w, "    <%s>\n", element);
  for (int32_t i = 0; i < n; i++) {
    write_unknown(w, rows[i].var, list, collect(s, &rows[i], list));
  }
  cpli_writef(w, "    </%s>\n", element);
}

// Known at initialisation beside inputs and start values of states: parameters, and discrete
// variables that begin with a given value.
static bool is_given(const cpl_variable* v) {
  return v->causality == CPL_PARAMETER ||
         (v->variability == CPL_DISCRETE && v->initial == CPL_INITIAL_EXACT);
}

static int by_unknown(const void* a, const void* b) {
  int32_t x = ((const cpl_unknown*)a)->var, y = ((const cpl_unknown*)b)->var;
  return (x > y) - (x < y);
}

static void write_initial(cpli_writer* w, const cpl_description* d, known* list, bool* listed,
                          cpl_unknown* rows) {
  const cpl_structure* s = &d->structure;
  if (s->n_initial == 0) return;
  memcpy(rows, s->initial, (size_t)s->n_initial * sizeof *rows);
  qsort(rows, (size_t)s->n_initial, sizeof *rows, by_unknown);
  int32_t n_given = 0;
  for (int32_t i = 0; i < d->n_vars; i++) n_given += is_given(&d->vars[i]);
  // with very many of both, "depends on all" says it shorter
  bool brief = (double)n_given * s->n_initial > 1e6;
  cpli_write(w, "    <InitialUnknowns>\n");
  for (int32_t i = 0; i < s->n_initial; i++) {
    int32_t n = brief ? -1 : collect(s, &rows[i], list);
    for (int32_t k = 0; k < n; k++) {
      listed[list[k].var] = true;
      if (list[k].kind != CPL_KIND_CONSTANT) list[k].kind = CPL_DEPENDENT;
    }
    int32_t own = n;
    for (int32_t k = 0; n >= 0 && k < d->n_vars; k++) {
      if (is_given(&d->vars[k]) && !listed[k]) list[n++] = (known){k, CPL_DEPENDENT};
    }
    for (int32_t k = 0; k < own; k++) listed[list[k].var] = false;
    write_unknown(w, rows[i].var, list, n);
  }
  cpli_write(w, "    </InitialUnknowns>\n");
}

static cpl_status write_structure(cpli_writer* w, const cpl_description* d) {
  const cpl_structure* s = &d->structure;
  known* list = cpli_alloc(w->ctx, (size_t)d->n_vars, sizeof *list);
  bool* listed = cpli_alloc(w->ctx, (size_t)d->n_vars, sizeof *listed);
  cpl_unknown* rows = cpli_alloc(w->ctx, (size_t)s->n_initial, sizeof *rows);
  bool good = list != NULL && listed != NULL && rows != NULL;
  if (good) {
    cpli_write(w, "  <ModelStructure>\n");
    write_unknowns(w, s, "Outputs", s->outputs, s->n_outputs, list);
    write_unknowns(w, s, "Derivatives", s->derivatives, s->n_derivatives, list);
    write_initial(w, d, list, listed, rows);
    cpli_write(w, "  </ModelStructure>\n");
  }
  w->failed = w->failed || !good;
  cpli_free(w->ctx, rows);
  cpli_free(w->ctx, list);
  cpli_free(w->ctx, listed);
  return cpli_writer_status(w);
}

cpl_status cpli_write_description(cpli_writer* w, const cpli_fmu_facts* facts) {
  const cpl_description* d = facts->desc;
  write_head(w, facts);
  write_kinds(w, facts);
  write_units(w, d);
  write_types(w, d);
  write_log_categories(w);
  write_experiment(w, &d->experiment);
  write_variables(w, d);
  cpl_status st = write_structure(w, d);
  cpli_write(w, "</fmiModelDescription>\n");
  return st < 0 ? st : cpli_writer_status(w);
}
