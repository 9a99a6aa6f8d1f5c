// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The description of a model as JSON, with all variables, types, units and dependencies.
#include <math.h>
#include <stdlib.h>

#include "couplet/export.h"
#include "format/json.h"
#include "info.h"
#include "model/compiled.h"

enum { ROW = 2 };  // depth from which an entry of a list stays on one line

static void write_texts(cpli_json* j, const char* key, const char* const* items, int32_t n) {
  cpli_json_array(j, key);
  for (int32_t i = 0; i < n; i++) cpli_json_text(j, NULL, items[i]);
  cpli_json_close(j, ']');
}

static void write_experiment(cpli_json* j, const cpl_default_experiment* e) {
  cpli_json_object(j, "default_experiment");
  if (e->has_start) cpli_json_real(j, "start", e->start);
  if (e->has_stop) cpli_json_real(j, "stop", e->stop);
  if (e->has_tolerance) cpli_json_real(j, "tolerance", e->tolerance);
  if (e->has_step) cpli_json_real(j, "step", e->step);
  cpli_json_close(j, '}');
}

static bool is_meant(const info_capability* c, const cpl_fmu* fmu, const cpli_fmu_kind* kind) {
  bool in_kind = kind == &fmu->me ? c->me : kind == &fmu->cs ? c->cs : c->se;
  return in_kind && fmu->version >= c->since;
}

static void write_kind(cpli_json* j, const char* key, const cpl_fmu* fmu,
                       const cpli_fmu_kind* kind) {
  if (!kind->present) return;
  cpli_json_object(j, key);
  cpli_json_text(j, "identifier", kind->identifier);
  for (const info_capability* c = info_capabilities; c->name != NULL; c++) {
    if (!is_meant(c, fmu, kind)) continue;
    cpli_json_boolean(j, c->key, *(const bool*)((const char*)kind + c->offset));
  }
  if (fmu->version < 3) cpli_json_boolean(j, "no_memory_functions", kind->no_memory_functions);
  if (fmu->version == 3) cpli_json_boolean(j, "per_element_dependencies", kind->per_element);
  if (kind == &fmu->cs) {
    cpli_json_boolean(j, "interpolates_inputs", kind->can.input_derivatives > 0);
    cpli_json_integer(j, "output_derivatives", kind->can.output_derivatives);
    if (fmu->version < 3) cpli_json_boolean(j, "asynchronous", kind->asynchronous);
    if (fmu->version == 1) cpli_json_boolean(j, "inside_its_tool", kind->tool_coupling);
    if (fmu->version == 3) cpli_json_integer(j, "input_smoothness", kind->input_smoothness);
    if (kind->fixed_step > 0) cpli_json_real(j, "fixed_internal_step", kind->fixed_step);
  }
  write_texts(j, "source_files", kind->source_files, kind->n_source_files);
  cpli_json_close(j, '}');
}

static void write_fmu(cpli_json* j, const cpl_fmu* fmu) {
  cpli_json_text(j, "fmi_version", fmu->version_text);
  cpli_json_text(j, "guid", fmu->guid);
  write_kind(j, "model_exchange", fmu, &fmu->me);
  write_kind(j, "co_simulation", fmu, &fmu->cs);
  write_kind(j, "scheduled_execution", fmu, &fmu->se);
  write_texts(j, "platforms", fmu->platforms, fmu->n_platforms);
  if (cpl_fmu_is_foreign(&fmu->base)) {
    char text[512];
    cpl_fmu_platform_text(&fmu->base, fmu->foreign_folder, text, sizeof text);
    cpli_json_object(j, "foreign");
    cpli_json_text(j, "platform", fmu->foreign_folder);
    cpli_json_text(j, "here", text);
    cpli_json_close(j, '}');
  }
  cpli_json_boolean(j, "sources", fmu->has_sources);
  cpli_json_array(j, "log_categories");
  for (int32_t i = 0; i < fmu->n_log_categories; i++) {
    cpli_json_object(j, NULL);
    cpli_json_text(j, "name", fmu->log_categories[i]);
    cpli_json_text(j, "description", fmu->log_descriptions[i]);
    cpli_json_close(j, '}');
  }
  cpli_json_close(j, ']');
  info_write_parts(j, fmu);
  cpli_json_integer(j, "findings", (int64_t)fmu->findings.count);
}

static void write_units(cpli_json* j, cpl_context* ctx, const cpl_description* d) {
  static const char* const bases[8] = {"kg", "m", "s", "A", "K", "mol", "cd", "rad"};
  int32_t* units = cpli_alloc(ctx, (size_t)d->n_units, sizeof *units);
  int32_t n = units == NULL ? 0 : info_distinct_units(ctx, d, units);
  cpli_json_array(j, "units");
  for (int32_t i = 0; i < n; i++) {
    const cpl_unit* u = &d->units[units[i]];
    cpli_json_object(j, NULL);
    cpli_json_text(j, "name", u->name);
    if (u->display_of >= 0) cpli_json_text(j, "display_unit_of", d->units[u->display_of].name);
    if (u->has_base || u->display_of >= 0) {
      cpli_json_real(j, "factor", u->factor);
      cpli_json_real(j, "offset", u->offset);
    }
    if (u->inverse) cpli_json_boolean(j, "inverse", true);
    if (u->has_base) {
      cpli_json_object(j, "base");
      for (int k = 0; k < 8; k++)
        if (u->exponents[k] != 0) cpli_json_integer(j, bases[k], u->exponents[k]);
      cpli_json_close(j, '}');
    }
    cpli_json_close(j, '}');
  }
  cpli_json_close(j, ']');
  cpli_free(ctx, units);
}

static void write_types(cpli_json* j, const cpl_description* d) {
  cpli_json_array(j, "types");
  for (int32_t i = 0; i < d->n_types; i++) {
    const cpl_type_def* t = &d->types[i];
    cpli_json_object(j, NULL);
    cpli_json_text(j, "name", t->name);
    cpli_json_text(j, "type", cpl_type_name(t->type));
    if (t->quantity[0] != '\0') cpli_json_text(j, "quantity", t->quantity);
    if (t->n_items > 0) {
      cpli_json_array(j, "items");
      for (int32_t k = 0; k < t->n_items; k++) {
        cpli_json_object(j, NULL);
        cpli_json_text(j, "name", t->items[k].name);
        cpli_json_integer(j, "value", t->items[k].value);
        cpli_json_text(j, "description", t->items[k].description);
        cpli_json_close(j, '}');
      }
      cpli_json_close(j, ']');
    }
    cpli_json_close(j, '}');
  }
  cpli_json_close(j, ']');
}

static void write_start(cpli_json* j, const cpl_variable* v) {
  if (!v->has_start) return;
  switch ((cpl_type)v->type) {
    case CPL_STRING:
    case CPL_BINARY: cpli_json_text(j, "start", v->start_text); break;
    case CPL_BOOLEAN: cpli_json_boolean(j, "start", v->start != 0); break;
    default: cpli_json_real(j, "start", v->start);
  }
}

static void write_variable(cpli_json* j, const cpl_description* d, const cpl_variable* v) {
  cpli_json_object(j, NULL);
  cpli_json_text(j, "name", v->name);
  cpli_json_text(j, "type", cpl_type_name((cpl_type)v->type));
  if (v->width != CPL_WIDTH_OWN) cpli_json_text(j, "width", cpl_width_name((cpl_width)v->width));
  if (v->structural) cpli_json_boolean(j, "structural", true);
  if (v->array > 0) cpli_json_text(j, "array", d->arrays[v->array - 1].name);
  cpli_json_text(j, "causality", cpl_causality_name((cpl_causality)v->causality));
  cpli_json_text(j, "variability", cpl_variability_name((cpl_variability)v->variability));
  if (info_initial_name(v) != NULL) cpli_json_text(j, "initial", info_initial_name(v));
  cpli_json_integer(j, "reference", v->ref);
  if (v->unit >= 0) cpli_json_text(j, "unit", d->units[v->unit].name);
  if (v->display_unit >= 0) cpli_json_text(j, "display_unit", d->units[v->display_unit].name);
  if (v->quantity != NULL) cpli_json_text(j, "quantity", v->quantity);
  if (v->declared_type >= 0) cpli_json_text(j, "declared_type", d->types[v->declared_type].name);
  write_start(j, v);
  if (isfinite(v->min)) cpli_json_real(j, "min", v->min);
  if (isfinite(v->max)) cpli_json_real(j, "max", v->max);
  if (v->has_nominal) cpli_json_real(j, "nominal", v->nominal);
  if (v->relative_quantity) cpli_json_boolean(j, "relative_quantity", true);
  if (v->unbounded) cpli_json_boolean(j, "unbounded", true);
  if (v->reinit) cpli_json_boolean(j, "reinit", true);
  if (!v->can_set_several_times) cpli_json_boolean(j, "set_once_per_instant", true);
  if (v->derivative_of >= 0) cpli_json_text(j, "derivative_of", d->vars[v->derivative_of].name);
  if (v->alias_of >= 0) cpli_json_text(j, "alias_of", d->vars[v->alias_of].name);
  if (v->description[0] != '\0') cpli_json_text(j, "description", v->description);
  cpli_json_close(j, '}');
}

static void write_unknowns(cpli_json* j, const cpl_description* d, const char* key,
                           const cpl_unknown* rows, int32_t n) {
  static const char* const kinds[] = {"dependent", "constant", "fixed", "tunable", "discrete"};
  cpli_json_array(j, key);
  for (int32_t i = 0; i < n; i++) {
    cpli_json_object(j, NULL);
    cpli_json_text(j, "name", d->vars[rows[i].var].name);
    if (rows[i].count >= 0) {
      cpli_json_object(j, "depends_on");
      for (int32_t k = 0; k < rows[i].count; k++) {
        int32_t at = rows[i].first + k;
        cpli_json_text(j, d->vars[d->structure.deps[at]].name, kinds[d->structure.kinds[at]]);
      }
      cpli_json_close(j, '}');
    }
    cpli_json_close(j, '}');
  }
  cpli_json_close(j, ']');
}

// The system file of an FMU that was made of a system.
static void write_system(cpli_json* j, const cpl_source* src) {
  char* text = NULL;
  if (cpl_fmu_system_text(src->ctx, src->path, &text) < 0 || text == NULL) return;
  cpli_json_text(j, "system", text);
  free(text);
}

void info_print_json(FILE* out, const cpl_source* src, const cpl_fmu* fmu) {
  const cpl_description* d = src->desc;
  cpli_json json, *j = &json;
  cpli_json_begin(j, out);
  j->one_line = ROW + 1;
  cpli_json_object(j, NULL);
  cpli_json_text(j, "file", src->path);
  cpli_json_text(j, "name", d->name);
  cpli_json_text(j, "format", d->kind);
  cpli_json_text(j, "description", d->description);
  cpli_json_text(j, "tool", d->tool);
  cpli_json_text(j, "date", d->date);
  cpli_json_text(j, "author", d->author);
  cpli_json_text(j, "version", d->version);
  cpli_json_text(j, "license", d->license);
  cpli_json_text(j, "copyright", d->copyright);
  if (fmu != NULL) write_fmu(j, fmu);
  if (fmu != NULL) write_system(j, src);
  info_write_ssp(j, src);
  write_experiment(j, &d->experiment);
  const char* derivatives = cpli_c_derivatives(src);
  if (derivatives != NULL) cpli_json_text(j, "derivatives", derivatives);
  cpli_json_integer(j, "event_indicators", d->n_indicators);
  cpli_json_integer(j, "constraints", d->n_constraints);
  cpli_json_array(j, "states");
  for (int32_t i = 0; i < d->n_states; i++)
    cpli_json_text(j, NULL, d->states[i] >= 0 ? d->vars[d->states[i]].name : NULL);
  cpli_json_close(j, ']');
  info_write_residuals(j, d, fmu);
  write_units(j, src->ctx, d);
  write_types(j, d);
  cpli_json_array(j, "variables");
  for (int32_t i = 0; i < d->n_vars; i++) write_variable(j, d, &d->vars[i]);
  cpli_json_close(j, ']');
  cpli_json_object(j, "structure");
  const cpl_structure* s = &d->structure;
  write_unknowns(j, d, "outputs", s->outputs, s->n_outputs);
  write_unknowns(j, d, "derivatives", s->derivatives, s->n_derivatives);
  write_unknowns(j, d, "initial_unknowns", s->initial, s->n_initial);
  cpli_json_close(j, '}');
  cpli_json_close(j, '}');
  cpli_json_end(j);
}
