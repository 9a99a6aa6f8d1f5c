// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Writes buildDescription.xml, and modelDescription.xml for FMI 2.0 and 3.0 except for the
// variables (description_variables.c) and the structure (description_structure.c).
#include "export/description.h"

#include <ctype.h>
#include <math.h>

#include "model/units.h"

void cpli_write_flag(cpli_writer* w, const char* name, bool value) {
  if (value) cpli_writef(w, " %s=\"true\"", name);
}

void cpli_write_real(cpli_writer* w, double value) {
  if (isnan(value)) cpli_write(w, "NaN");
  else if (isinf(value)) cpli_write(w, value > 0 ? "INF" : "-INF");
  else cpli_write_number(w, value);
}

void cpli_write_real_attribute(cpli_writer* w, const char* name, double value) {
  cpli_writef(w, " %s=\"", name);
  cpli_write_real(w, value);
  cpli_write(w, "\"");
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

// a.b[1,2].c or der(a.b): names in the standard's "structured" convention.
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
  cpli_write_attribute(w, "fmiVersion", facts->fmi == 3 ? "3.0" : "2.0");
  cpli_write_attribute(w, "modelName", d->name);
  cpli_write_attribute(w, facts->fmi == 3 ? "instantiationToken" : "guid", facts->guid);
  cpli_write_attribute(w, "description", d->description);
  cpli_write_attribute(w, "author", d->author);
  cpli_write_attribute(w, "version", d->version);
  cpli_write_attribute(w, "copyright", d->copyright);
  cpli_write_attribute(w, "license", d->license);
  cpli_write_attribute(w, "generationTool", "couplet " CPL_VERSION);
  cpli_write_attribute(w, "variableNamingConvention", all_structured(d) ? "structured" : "flat");
  if (facts->fmi == 2) cpli_writef(w, " numberOfEventIndicators=\"%d\"", (int)d->n_indicators);
  if (facts->constraint_attributes && d->n_constraints > 0)
    cpli_writef(w, " maxNumberOfConstraints=\"%d\"", (int)d->n_constraints);
  cpli_write(w, ">\n");
}

// The operations of the model for constraints that an importer may call.
static void write_provisions(cpli_writer* w, const cpli_fmu_facts* facts) {
  cpli_write_flag(w, "providesProjection", true);
  cpli_write_flag(w, "providesProjectionStep", true);
  cpli_write_attribute(w, "providesConstraints",
                       facts->constraint_jacobian ? "withJacobian" : "true");
}

static void write_number(cpli_writer* w, const cpl_description* d) {
  cpli_writef(w, " maxNumberOfConstraints=\"%d\"", (int)d->n_constraints);
}

// The schemas allow annotations, but no attributes of their own.
static void write_annotation(cpli_writer* w, const cpli_fmu_facts* facts) {
  const cpl_description* d = facts->desc;
  bool three = facts->fmi == 3;
  if (d->n_constraints == 0 || facts->constraint_attributes) return;
  cpli_write(w, three ? "  <Annotations>\n    <Annotation type=\"couplet\">\n"
                      : "  <VendorAnnotations>\n    <Tool name=\"couplet\">\n");
  cpli_write(w, "      <Constraints");
  write_number(w, d);
  write_provisions(w, facts);
  cpli_write(w, "/>\n");
  cpli_write(
      w, three ? "    </Annotation>\n  </Annotations>\n" : "    </Tool>\n  </VendorAnnotations>\n");
}

static bool by_attributes(const cpli_fmu_facts* facts) {
  return facts->constraint_attributes && facts->desc->n_constraints > 0;
}

// The derivatives of outputs are known where all continuous ones are states.
static bool outputs_are_states(const cpl_description* d) {
  int32_t n = 0, n_states = 0;
  for (int32_t i = 0; i < d->n_vars; i++) {
    const cpl_variable* v = &d->vars[i];
    n += v->causality == CPL_CAUSALITY_OUTPUT && v->type == CPL_REAL &&
         v->variability == CPL_VARIABILITY_CONTINUOUS;
  }
  for (int32_t i = 0; i < d->n_states; i++)
    n_states += d->states[i] >= 0 && d->vars[d->states[i]].causality == CPL_CAUSALITY_OUTPUT;
  return n > 0 && n == n_states;
}

static void write_output_order(cpli_writer* w, const cpli_fmu_facts* facts) {
  if (outputs_are_states(facts->desc)) cpli_write_attribute(w, "maxOutputDerivativeOrder", "1");
}

// Attributes of both kinds. Memory is allocated by couplet: the callbacks of FMI 2.0 cannot grow a
// block.
static void write_common_flags2(cpli_writer* w, const cpli_fmu_facts* facts) {
  cpli_write_attribute(w, "modelIdentifier", facts->identifier);
  cpli_write_flag(w, "canNotUseMemoryManagementFunctions", true);
  cpli_write_flag(w, "canGetAndSetFMUstate", facts->can.save_restore);
  cpli_write_flag(w, "canSerializeFMUstate", facts->can.serialize);
  cpli_write_flag(w, "providesDirectionalDerivative", facts->can.directional);
}

static void write_kinds2(cpli_writer* w, const cpli_fmu_facts* facts) {
  cpli_write(w, "  <ModelExchange");
  write_common_flags2(w, facts);
  cpli_write_flag(w, "completedIntegratorStepNotNeeded", !facts->can.completed_step);
  if (by_attributes(facts)) write_provisions(w, facts);
  cpli_write(w, ">\n    <SourceFiles>\n");
  for (size_t i = 0; i < facts->n_source_files; i++) {
    cpli_write(w, "      <File");
    cpli_write_attribute(w, "name", facts->source_files[i]);
    cpli_write(w, "/>\n");
  }
  cpli_write(w, "    </SourceFiles>\n  </ModelExchange>\n  <CoSimulation");
  write_common_flags2(w, facts);
  cpli_write_flag(w, "canHandleVariableCommunicationStepSize", true);
  cpli_write_flag(w, "canInterpolateInputs", true);
  write_output_order(w, facts);
  cpli_write(w, "/>\n");
}

static void write_common_flags3(cpli_writer* w, const cpli_fmu_facts* facts) {
  cpli_write_attribute(w, "modelIdentifier", facts->identifier);
  cpli_write_flag(w, "canGetAndSetFMUState", facts->can.save_restore);
  cpli_write_flag(w, "canSerializeFMUState", facts->can.serialize);
  cpli_write_flag(w, "providesDirectionalDerivatives", facts->can.directional);
  cpli_write_flag(w, "providesAdjointDerivatives", facts->can.directional);
}

static void write_kinds3(cpli_writer* w, const cpli_fmu_facts* facts) {
  cpli_write(w, "  <ModelExchange");
  write_common_flags3(w, facts);
  cpli_write_flag(w, "needsCompletedIntegratorStep", facts->can.completed_step);
  if (by_attributes(facts)) write_provisions(w, facts);
  cpli_write(w, "/>\n  <CoSimulation");
  write_common_flags3(w, facts);
  cpli_write_flag(w, "canHandleVariableCommunicationStepSize", true);
  write_output_order(w, facts);
  cpli_write_flag(w, "providesIntermediateUpdate", true);
  cpli_write_flag(w, "mightReturnEarlyFromDoStep", true);
  cpli_write_flag(w, "canReturnEarlyAfterIntermediateUpdate", true);
  cpli_write_flag(w, "hasEventMode", true);
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
  if (unit.factor != 1) cpli_write_real_attribute(w, "factor", unit.factor);
  if (unit.offset != 0) cpli_write_real_attribute(w, "offset", unit.offset);
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

static void write_type(cpli_writer* w, const cpl_type_def* t, int fmi) {
  cpli_write(w, fmi == 3 ? "    <EnumerationType" : "    <SimpleType");
  cpli_write_attribute(w, "name", t->name);
  if (fmi == 2) cpli_write(w, ">\n      <Enumeration");
  cpli_write_attribute(w, "quantity", t->quantity);
  cpli_write(w, ">\n");
  for (int32_t k = 0; k < t->n_items; k++) {
    cpli_write(w, "        <Item");
    cpli_write_attribute(w, "name", t->items[k].name);
    cpli_writef(w, " value=\"%d\"", (int)t->items[k].value);
    cpli_write_attribute(w, "description", t->items[k].description);
    cpli_write(w, "/>\n");
  }
  cpli_write(w,
             fmi == 3 ? "    </EnumerationType>\n" : "      </Enumeration>\n    </SimpleType>\n");
}

static void write_types(cpli_writer* w, const cpl_description* d, int fmi) {
  bool any = false;
  for (int32_t i = 0; i < d->n_types; i++) {
    if (!is_written_type(&d->types[i])) continue;
    if (!any) cpli_write(w, "  <TypeDefinitions>\n");
    any = true;
    write_type(w, &d->types[i], fmi);
  }
  if (any) cpli_write(w, "  </TypeDefinitions>\n");
}

static void write_log_categories(cpli_writer* w) {
  static const char* const categories[][2] = {
      {"logEvents", "every event"},
      {"logStatusWarning", "calls that returned a warning, and warnings of the integrator"},
      {"logStatusDiscard", "calls that were discarded"},
      {"logStatusError", "calls that returned an error; always on"},
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
  if (e->has_start) cpli_write_real_attribute(w, "startTime", e->start);
  if (e->has_stop) cpli_write_real_attribute(w, "stopTime", e->stop);
  if (e->has_tolerance) cpli_write_real_attribute(w, "tolerance", e->tolerance);
  if (e->has_step) cpli_write_real_attribute(w, "stepSize", e->step);
  cpli_write(w, "/>\n");
}

//------------------------------------ the whole ------------------------------------

cpl_status cpli_write_description(cpli_writer* w, const cpli_fmu_facts* facts) {
  const cpl_description* d = facts->desc;
  cpli_numbering n;
  cpl_status st = cpli_numbering_make(w->ctx, facts, &n);
  if (st < 0) return st;
  write_head(w, facts);
  if (facts->fmi == 3) write_kinds3(w, facts);
  else write_kinds2(w, facts);
  write_units(w, d);
  write_types(w, d, facts->fmi);
  write_log_categories(w);
  write_experiment(w, &d->experiment);
  if (facts->fmi == 2) write_annotation(w, facts);
  cpli_write_variables(w, facts, &n);
  st = cpli_write_structure(w, facts, &n);
  if (facts->fmi == 3) write_annotation(w, facts);
  cpli_write(w, "</fmiModelDescription>\n");
  cpli_numbering_free(w->ctx, &n);
  return st < 0 ? st : cpli_writer_status(w);
}

cpl_status cpli_write_build_description(cpli_writer* w, const cpli_fmu_facts* facts) {
  cpli_write(w,
             "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
             "<fmiBuildDescription fmiVersion=\"3.0\">\n  <BuildConfiguration");
  cpli_write_attribute(w, "modelIdentifier", facts->identifier);
  cpli_write_attribute(w, "description",
                       "for model exchange; co-simulation needs CVODE and is in the binary only");
  cpli_write(w, ">\n    <SourceFileSet language=\"C11\">\n");
  for (size_t i = 0; i < facts->n_source_files; i++) {
    cpli_write(w, "      <SourceFile");
    cpli_write_attribute(w, "name", facts->source_files[i]);
    cpli_write(w, "/>\n");
  }
  cpli_write(w,
             "    </SourceFileSet>\n    <Library name=\"m\" external=\"true\"/>\n"
             "  </BuildConfiguration>\n</fmiBuildDescription>\n");
  return cpli_writer_status(w);
}
