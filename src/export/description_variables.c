// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Writes the variables of modelDescription.xml and numbers them. FMI 2.0 has one
// variable per element of an array, FMI 3.0 one per array, and in addition the time, the event
// indicators and a clock for time events.
#include <assert.h>
#include <math.h>
#include <stdio.h>

#include "export/description.h"

//------------------------------------ numbering ------------------------------------

cpl_status cpli_numbering_make(cpl_context* ctx, const cpli_fmu_facts* facts, cpli_numbering* out) {
  const cpl_description* d = facts->desc;
  *out = (cpli_numbering){.fmi = facts->fmi, .desc = d, .refs = cpli_refs3_of(d, true)};
  out->extent = cpli_alloc(ctx, (size_t)d->n_vars, sizeof *out->extent);
  if (out->extent == NULL) return cpli_nomem(ctx);
  if (facts->fmi == 3) cpli_extents3(d, out->extent);
  for (int32_t i = 0; facts->fmi == 2 && i < d->n_vars; i++) out->extent[i] = 1;
  return CPL_OK;
}

void cpli_numbering_free(cpl_context* ctx, cpli_numbering* n) { cpli_free(ctx, n->extent); }

int32_t cpli_number_head(const cpli_numbering* n, int32_t var) {
  while (n->extent[var] == 0) var--;  // elements are consecutive
  return var;
}

static uint32_t reference(const cpli_numbering* n, const cpl_variable* v) {
  return n->fmi == 3 ? cpli_ref3(&n->refs, v) : v->ref;
}

uint32_t cpli_number_of(const cpli_numbering* n, int32_t var) {
  if (n->fmi == 2) return (uint32_t)var + 1;
  return reference(n, &n->desc->vars[cpli_number_head(n, var)]);
}

//------------------------------------ variables ------------------------------------

static void write_start_text(cpli_writer* w, const char* name, const cpl_variable* v) {
  cpli_writef(w, " %s=\"", name);  // an empty start is a start
  cpli_write_escaped(w, v->start_text != NULL ? v->start_text : "");
  cpli_write(w, "\"");
}

// One value, or those of all elements with blanks between them.
static void write_starts(cpli_writer* w, const cpl_variable* v, int32_t count) {
  if (!v->has_start) return;
  cpli_write(w, " start=\"");
  for (int32_t i = 0; i < count; i++) {
    if (i > 0) cpli_write(w, " ");
    if (v->type == CPL_BOOLEAN) cpli_write(w, v[i].start != 0 ? "true" : "false");
    else cpli_write_real(w, v[i].start);
  }
  cpli_write(w, "\"");
}

static void write_number_type(cpli_writer* w, const cpli_numbering* n, const cpl_variable* v,
                              int32_t count) {
  const cpl_description* d = n->desc;
  if (v->type == CPL_REAL) {
    if (v->unit >= 0) cpli_write_attribute(w, "unit", d->units[v->unit].name);
    cpli_write_flag(w, "relativeQuantity", v->relative_quantity);
    cpli_write_flag(w, "unbounded", v->unbounded);
    if (v->has_nominal) cpli_write_real_attribute(w, "nominal", v->nominal);
    if (v->derivative_of >= 0)
      cpli_writef(w, " derivative=\"%u\"", (unsigned)cpli_number_of(n, v->derivative_of));
    cpli_write_flag(w, "reinit", v->reinit);
  } else if (v->declared_type >= 0) {
    cpli_write_attribute(w, "declaredType", d->types[v->declared_type].name);
  }
  if (isfinite(v->min)) cpli_write_real_attribute(w, "min", v->min);
  if (isfinite(v->max)) cpli_write_real_attribute(w, "max", v->max);
  write_starts(w, v, count);
}

static void write_type_attributes(cpli_writer* w, const cpli_numbering* n, const cpl_variable* v,
                                  int32_t count) {
  if (v->type == CPL_BOOLEAN) write_starts(w, v, count);
  else if (v->type != CPL_STRING) write_number_type(w, n, v, count);
}

// Name and attributes of a variable of any type.
static void write_common(cpli_writer* w, const cpli_numbering* n, const cpl_variable* v,
                         const char* name) {
  static const char* const initials[] = {NULL, "exact", "approx", "calculated"};
  static_assert(CPLI_COUNT(initials) == CPL_INITIAL_CALCULATED + 1, "cpl_variable.initial");
  cpli_write_attribute(w, "name", name);
  cpli_writef(w, " valueReference=\"%u\"", (unsigned)reference(n, v));
  cpli_write_attribute(w, "description", v->description);
  cpli_write_attribute(w, "causality", cpl_causality_name((cpl_causality)v->causality));
  cpli_write_attribute(w, "variability", cpl_variability_name((cpl_variability)v->variability));
  cpli_write_attribute(w, "initial", initials[v->initial]);
}

static void write_variable2(cpli_writer* w, const cpli_numbering* n, const cpl_variable* v) {
  cpli_write(w, "    <ScalarVariable");
  write_common(w, n, v, v->name);
  cpli_writef(w, "><%s", cpl_type_name((cpl_type)v->type));
  write_type_attributes(w, n, v, 1);
  if (v->type == CPL_STRING && v->has_start) write_start_text(w, "start", v);
  cpli_write(w, "/></ScalarVariable>\n");
}

static void write_variable3(cpli_writer* w, const cpli_numbering* n, int32_t var) {
  static const char* const types[] = {[CPL_REAL] = "Float64",
                                      [CPL_INTEGER] = "Int32",
                                      [CPL_BOOLEAN] = "Boolean",
                                      [CPL_ENUMERATION] = "Enumeration",
                                      [CPL_STRING] = "String"};
  const cpl_variable* v = &n->desc->vars[var];
  int32_t count = n->extent[var];
  const cpl_array* array = cpli_array3(n->desc, var, count);
  char name[512];
  if (count == 0) return;
  bool derivative = array != NULL && v->derivative_of >= 0;
  snprintf(name, sizeof name, derivative ? "der(%s)" : "%s", array != NULL ? array->name : v->name);
  assert(v->type < CPLI_COUNT(types));  // models in C have no other types
  cpli_writef(w, "    <%s", types[v->type]);
  write_common(w, n, v, name);
  write_type_attributes(w, n, v, count);
  bool text = v->type == CPL_STRING && v->has_start;
  if (array == NULL && !text) {
    cpli_write(w, "/>\n");
    return;
  }
  cpli_write(w, ">");
  if (array != NULL) cpli_writef(w, "<Dimension start=\"%d\"/>", (int)count);
  if (text) {
    cpli_write(w, "<Start");
    write_start_text(w, "value", v);
    cpli_write(w, "/>");
  }
  cpli_writef(w, "</%s>\n", types[v->type]);
}

//------------------------ variables of FMI 3.0 only ------------------------

static bool is_used(const cpl_description* d, const char* name) {
  for (int32_t i = 0; i < d->n_arrays; i++) {
    if (strcmp(d->arrays[i].name, name) == 0) return true;
  }
  return cpl_find_variable(d, name) >= 0;
}

static void write_extra(cpli_writer* w, const cpli_numbering* n, const char* type, const char* name,
                        uint32_t ref, const char* rest) {
  char unused[64];
  snprintf(unused, sizeof unused, "%s", name);
  while (is_used(n->desc, unused) && strlen(unused) + 1 < sizeof unused) strcat(unused, "_");
  cpli_writef(w, "    <%s name=\"%s\" valueReference=\"%u\" %s/>\n", type, unused, (unsigned)ref,
              rest);
}

// Time, which must be there; the event indicators, so that the structure can name them; a clock.
static void write_extras(cpli_writer* w, const cpli_numbering* n, bool time_events) {
  const cpli_refs3 refs = n->refs;
  write_extra(w, n, "Float64", "time", refs.time,
              "causality=\"independent\" variability=\"continuous\"");
  if (time_events) {
    write_extra(w, n, "Clock", "time_event", refs.clock,
                "description=\"ticks when a time event of the model has come\" "
                "causality=\"output\" variability=\"discrete\" "
                "intervalVariability=\"triggered\"");
  }
  for (int32_t i = 0; i < n->desc->n_indicators; i++) {
    char name[64];
    snprintf(name, sizeof name, "event_indicator_%d", (int)i + 1);
    write_extra(w, n, "Float64", name, refs.indicators + (uint32_t)i,
                "causality=\"local\" variability=\"continuous\" initial=\"calculated\"");
  }
  if (n->desc->n_algebraics > 0) {
    write_extra(w, n, "Boolean", "dae", refs.enable,
                "description=\"algebraic variables are set from outside (FMI-LS-DAE)\" "
                "causality=\"structuralParameter\" variability=\"fixed\" start=\"false\"");
  }
}

void cpli_write_variables(cpli_writer* w, const cpli_fmu_facts* facts, const cpli_numbering* n) {
  cpli_write(w, "  <ModelVariables>\n");
  for (int32_t i = 0; i < n->desc->n_vars; i++) {
    if (n->fmi == 3) write_variable3(w, n, i);
    else write_variable2(w, n, &n->desc->vars[i]);
  }
  if (n->fmi == 3) write_extras(w, n, facts->time_events);
  cpli_write(w, "  </ModelVariables>\n");
}
