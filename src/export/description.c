// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Writes buildDescription.xml, and modelDescription.xml for FMI 2.0 and 3.0 except for the
// variables (description_variables.c), types (description_types.c) and the structure
// (description_structure.c).
#include "export/description.h"

#include <ctype.h>
#include <math.h>

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

static bool all_structured(const cpli_numbering* n) {
  for (int32_t i = 0; i < n->desc->n_vars; i++) {
    if (n->written[i] && !is_structured(n->desc->vars[i].name)) return false;
  }
  return true;
}

//------------------------------------ head ------------------------------------

static bool by_attributes(const cpli_fmu_facts* facts) {
  return facts->constraint_attributes && facts->desc->n_constraints > 0 && facts->model_exchange;
}

static void write_head(cpli_writer* w, const cpli_fmu_facts* facts, const cpli_numbering* n) {
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
  cpli_write_attribute(w, "variableNamingConvention", all_structured(n) ? "structured" : "flat");
  if (facts->fmi == 2 && facts->model_exchange)
    cpli_writef(w, " numberOfEventIndicators=\"%d\"", (int)d->n_indicators);
  if (by_attributes(facts)) cpli_writef(w, " maxNumberOfConstraints=\"%d\"", (int)d->n_constraints);
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

// The schemas allow annotations, but no attributes of their own. Constraints are those of a model.
static void write_annotation(cpli_writer* w, const cpli_fmu_facts* facts) {
  const cpl_description* d = facts->desc;
  bool three = facts->fmi == 3;
  if (d->n_constraints == 0 || facts->constraint_attributes || !facts->model_exchange) return;
  cpli_write(w, three ? "  <Annotations>\n    <Annotation type=\"couplet\">\n"
                      : "  <VendorAnnotations>\n    <Tool name=\"couplet\">\n");
  cpli_write(w, "      <Constraints");
  write_number(w, d);
  write_provisions(w, facts);
  cpli_write(w, "/>\n");
  cpli_write(
      w, three ? "    </Annotation>\n  </Annotations>\n" : "    </Tool>\n  </VendorAnnotations>\n");
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
  if (facts->step_can.output_derivatives > 0 || outputs_are_states(facts->desc))
    cpli_write_attribute(w, "maxOutputDerivativeOrder", "1");
}

// Attributes of both kinds; the differences in names between the versions are few. Memory is
// allocated by couplet: the callbacks of FMI 2.0 cannot grow a block.
static void write_common_flags(cpli_writer* w, const cpli_fmu_facts* facts,
                               const cpl_capabilities* can) {
  bool three = facts->fmi == 3;
  cpli_write_attribute(w, "modelIdentifier", facts->identifier);
  cpli_write_flag(w, "needsExecutionTool", can->needs_tool);
  cpli_write_flag(w, "canBeInstantiatedOnlyOncePerProcess", can->once_per_process);
  cpli_write_flag(w, "canNotUseMemoryManagementFunctions", !three);
  cpli_write_flag(w, three ? "canGetAndSetFMUState" : "canGetAndSetFMUstate", can->save_restore);
  cpli_write_flag(w, three ? "canSerializeFMUState" : "canSerializeFMUstate",
                  can->save_restore && can->serialize);
  cpli_write_flag(w, three ? "providesDirectionalDerivatives" : "providesDirectionalDerivative",
                  can->directional);
  cpli_write_flag(w, "providesAdjointDerivatives", three && can->directional);
}

static void write_model_exchange(cpli_writer* w, const cpli_fmu_facts* facts) {
  // after a step states may have to be put back onto the constraints
  bool steps = facts->can.completed_step || facts->desc->n_constraints > 0;
  cpli_write(w, "  <ModelExchange");
  write_common_flags(w, facts, &facts->can);
  if (facts->fmi == 3) cpli_write_flag(w, "needsCompletedIntegratorStep", steps);
  else cpli_write_flag(w, "completedIntegratorStepNotNeeded", !steps);
  if (by_attributes(facts)) write_provisions(w, facts);
  if (facts->fmi == 3 || facts->n_source_files == 0) {
    cpli_write(w, "/>\n");
    return;
  }
  cpli_write(w, ">\n    <SourceFiles>\n");
  for (size_t i = 0; i < facts->n_source_files; i++) {
    cpli_write(w, "      <File");
    cpli_write_attribute(w, "name", facts->source_files[i]);
    cpli_write(w, "/>\n");
  }
  cpli_write(w, "    </SourceFiles>\n  </ModelExchange>\n");
}

// Event mode is a step of size zero at an event.
static void write_co_simulation(cpli_writer* w, const cpli_fmu_facts* facts) {
  const cpl_capabilities* can = &facts->step_can;
  bool stops = can->stops_early && can->zero_step;
  cpli_write(w, "  <CoSimulation");
  write_common_flags(w, facts, can);
  cpli_write_flag(w, "canHandleVariableCommunicationStepSize", can->variable_step);
  if (facts->fmi == 2) cpli_write_flag(w, "canInterpolateInputs", can->input_derivatives > 0);
  write_output_order(w, facts);
  if (facts->fmi == 3) {
    cpli_write_flag(w, "providesIntermediateUpdate", stops);
    cpli_write_flag(w, "mightReturnEarlyFromDoStep", stops);
    cpli_write_flag(w, "canReturnEarlyAfterIntermediateUpdate", stops);
    cpli_write_flag(w, "hasEventMode", stops);
  }
  cpli_write(w, "/>\n");
}

//------------------------------------ the rest ------------------------------------

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
  if (st < 0) {
    cpli_numbering_free(&n);
    return st;
  }
  write_head(w, facts, &n);
  if (facts->model_exchange) write_model_exchange(w, facts);
  if (facts->co_simulation) write_co_simulation(w, facts);
  cpli_write_types(w, &n);
  write_log_categories(w);
  write_experiment(w, &d->experiment);
  if (facts->fmi == 2) write_annotation(w, facts);
  cpli_write_variables(w, facts, &n);
  st = cpli_write_structure(w, facts, &n);
  if (facts->fmi == 3) write_annotation(w, facts);
  cpli_write(w, "</fmiModelDescription>\n");
  cpli_numbering_free(&n);
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
