// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Writes the variables of modelDescription.xml. FMI 3.0 has in addition the time, the event
// indicators and a clock for time events.
#include <assert.h>
#include <math.h>
#include <stdio.h>

#include "export/description.h"

//------------------------------------ types ------------------------------------

const char* cpli_xml_type(int fmi, cpl_type type, cpl_width width, bool named) {
  if (type == CPL_ENUMERATION && !named) return fmi == 3 ? "Int64" : "Integer";
  bool sized = fmi == 3 && (type == CPL_REAL || type == CPL_INTEGER);
  if (!sized) return cpl_type_name(type);
  return width != CPL_WIDTH_OWN ? cpl_width_name(width) : type == CPL_REAL ? "Float64" : "Int32";
}

// Whether a variable can have its declared type: one of FMI 3.0 has a width.
static bool has_type(const cpli_numbering* n, const cpl_variable* v) {
  int32_t t = v->declared_type;
  if (t < 0 || n->types[t] == NULL || n->desc->types[t].type != (cpl_type)v->type) return false;
  return n->fmi == 2 || v->type == CPL_ENUMERATION || n->type_width[n->type_of[t]] == v->width;
}

//------------------------------------ start values ------------------------------------

static void write_integer(cpli_writer* w, double value, cpl_width width) {
  if (width == CPL_WIDTH_UINT64 && value >= 0x1p63)
    cpli_writef(w, "%llu", value >= 0x1p64 ? UINT64_MAX : (unsigned long long)value);
  else cpli_writef(w, "%lld", value >= 0x1p63 ? INT64_MAX : (long long)value);
}

// An input has a start value, even where the description has none.
static double start_of(const cpli_numbering* n, const cpl_variable* v) {
  if (v->has_start) return v->start;
  if (v->type == CPL_ENUMERATION && has_type(n, v))
    return (double)n->desc->types[v->declared_type].items[0].value;
  return fmin(fmax(0, v->min), v->max);
}

static void write_start_text(cpli_writer* w, const char* name, const cpl_variable* v) {
  cpli_writef(w, " %s=\"", name);  // an empty start is a start
  cpli_write_escaped(w, v->start_text != NULL ? v->start_text : "");
  cpli_write(w, "\"");
}

// One value, or those of all elements with blanks between them.
static void write_starts(cpli_writer* w, const cpli_numbering* n, const cpl_variable* v,
                         int32_t count) {
  cpli_write(w, " start=\"");
  for (int32_t i = 0; i < count; i++) {
    double start = start_of(n, &v[i]);
    if (i > 0) cpli_write(w, " ");
    if (v->type == CPL_BOOLEAN) cpli_write(w, start != 0 ? "true" : "false");
    else if (v->type == CPL_REAL) cpli_write_real(w, start);
    else write_integer(w, start, (cpl_width)v->width);
  }
  cpli_write(w, "\"");
}

//------------------------------------ attributes ------------------------------------

static void write_limit(cpli_writer* w, const cpli_numbering* n, const cpl_variable* v,
                        const char* name, double limit) {
  if (!isfinite(limit)) return;
  if (v->type == CPL_REAL) {
    cpli_write_real_attribute(w, name, limit);
    return;
  }
  if (n->fmi == 2 && !(limit >= INT32_MIN && limit <= INT32_MAX)) return;
  cpli_writef(w, " %s=\"", name);
  write_integer(w, limit, (cpl_width)v->width);
  cpli_write(w, "\"");
}

static void write_real_type(cpli_writer* w, const cpli_numbering* n, const cpl_variable* v) {
  if (v->unit >= 0) cpli_write_attribute(w, "unit", n->units[v->unit]);
  bool shown = v->unit >= 0 && v->display_unit >= 0 && n->units[v->display_unit] != NULL;
  if (shown && !(n->fmi == 2 && n->desc->units[v->display_unit].inverse))
    cpli_write_attribute(w, "displayUnit", n->units[v->display_unit]);
  cpli_write_flag(w, "relativeQuantity", v->relative_quantity);
  cpli_write_flag(w, "unbounded", v->unbounded);
  if (v->has_nominal) cpli_write_real_attribute(w, "nominal", v->nominal);
  if (v->derivative_of >= 0 && n->written[v->derivative_of])
    cpli_writef(w, " derivative=\"%u\"", (unsigned)cpli_number_of(n, v->derivative_of));
  cpli_write_flag(w, "reinit", v->reinit && n->is_state[v - n->desc->vars]);
}

static void write_type_attributes(cpli_writer* w, const cpli_numbering* n, const cpl_variable* v,
                                  int32_t count) {
  bool number = v->type == CPL_REAL || v->type == CPL_INTEGER || v->type == CPL_ENUMERATION;
  if (has_type(n, v)) cpli_write_attribute(w, "declaredType", n->types[v->declared_type]);
  if (number) {
    cpli_write_attribute(w, "quantity", v->quantity);
    if (v->type == CPL_REAL) write_real_type(w, n, v);
    write_limit(w, n, v, "min", v->min);
    write_limit(w, n, v, "max", v->max);
  }
  bool text = v->type == CPL_STRING || v->type == CPL_BINARY;
  if (!text && cpli_standing_of(v).has_start) write_starts(w, n, v, count);
}

// Name and attributes of a variable of any type.
static void write_common(cpli_writer* w, const cpli_numbering* n, const cpl_variable* v,
                         const char* name) {
  static const char* const initials[] = {NULL, "exact", "approx", "calculated"};
  static_assert(CPLI_COUNT(initials) == CPL_INITIAL_CALCULATED + 1, "cpl_variable.initial");
  const cpli_standing s = cpli_standing_of(v);
  cpli_write_attribute(w, "name", name);
  cpli_writef(w, " valueReference=\"%u\"", (unsigned)cpli_reference_of(n, v));
  cpli_write_attribute(w, "description", v->description);
  cpli_write_attribute(w, "causality", cpl_causality_name(s.causality));
  cpli_write_attribute(w, "variability", cpl_variability_name(s.variability));
  cpli_write_attribute(w, "initial", initials[s.initial]);
  if (!v->can_set_several_times && s.causality == CPL_CAUSALITY_INPUT && n->model_exchange)
    cpli_write(w, " canHandleMultipleSetPerTimeInstant=\"false\"");
}

static const char* type_of(const cpli_numbering* n, const cpl_variable* v) {
  return cpli_xml_type(n->fmi, (cpl_type)v->type, (cpl_width)v->width, has_type(n, v));
}

//------------------------------------ variables ------------------------------------

static void write_variable2(cpli_writer* w, const cpli_numbering* n, const cpl_variable* v) {
  cpli_write(w, "    <ScalarVariable");
  write_common(w, n, v, v->name);
  cpli_writef(w, "><%s", type_of(n, v));
  write_type_attributes(w, n, v, 1);
  if (v->type == CPL_STRING && cpli_standing_of(v).has_start) write_start_text(w, "start", v);
  cpli_write(w, "/></ScalarVariable>\n");
}

static void write_dimensions(cpli_writer* w, const cpl_array* array) {
  for (int32_t i = 0; i < array->n_sizes; i++)
    cpli_writef(w, "<Dimension start=\"%d\"/>", (int)array->sizes[i]);
}

static void write_name3(cpli_writer* w, const cpli_numbering* n, const cpl_variable* v,
                        const cpl_array* array) {
  char* name = NULL;
  if (array != NULL && v->derivative_of >= 0) name = cpli_printf(w->ctx, "der(%s)", array->name);
  write_common(w, n, v, name != NULL ? name : array != NULL ? array->name : v->name);
  cpli_free(w->ctx, name);
}

static void write_variable3(cpli_writer* w, const cpli_numbering* n, int32_t var) {
  const cpl_variable* v = &n->desc->vars[var];
  int32_t count = n->extent[var];
  const cpl_array* array = cpli_array3(n->desc, var, count);
  if (count == 0) return;
  cpli_writef(w, "    <%s", type_of(n, v));
  write_name3(w, n, v, array);
  write_type_attributes(w, n, v, count);
  bool text = (v->type == CPL_STRING || v->type == CPL_BINARY) && cpli_standing_of(v).has_start;
  if (array == NULL && !text) {
    cpli_write(w, "/>\n");
    return;
  }
  cpli_write(w, ">");
  if (array != NULL) write_dimensions(w, array);
  for (int32_t i = 0; text && i < count; i++) {
    cpli_write(w, "<Start");
    write_start_text(w, "value", &v[i]);
    cpli_write(w, "/>");
  }
  cpli_writef(w, "</%s>\n", type_of(n, v));
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
  const cpli_refs3* refs = &n->refs;
  write_extra(w, n, "Float64", "time", refs->time,
              "causality=\"independent\" variability=\"continuous\"");
  if (time_events) {
    write_extra(w, n, "Clock", "time_event", refs->clock,
                "description=\"ticks when a time event of the model has come\" "
                "causality=\"output\" variability=\"discrete\" "
                "intervalVariability=\"triggered\"");
  }
  for (uint32_t i = 0; i < refs->n_indicators; i++) {
    char name[64];
    snprintf(name, sizeof name, "event_indicator_%u", (unsigned)i + 1);
    write_extra(w, n, "Float64", name, refs->indicators + i,
                "causality=\"local\" variability=\"continuous\" initial=\"calculated\"");
  }
  if (n->desc->n_algebraics > 0 && n->model_exchange) {
    write_extra(w, n, "Boolean", "dae", refs->enable,
                "description=\"algebraic variables are set from outside (FMI-LS-DAE)\" "
                "causality=\"structuralParameter\" variability=\"fixed\" start=\"false\"");
  }
}

void cpli_write_variables(cpli_writer* w, const cpli_fmu_facts* facts, const cpli_numbering* n) {
  cpli_write(w, "  <ModelVariables>\n");
  for (int32_t i = 0; i < n->desc->n_vars; i++) {
    if (!n->written[i]) continue;
    if (n->fmi == 3) write_variable3(w, n, i);
    else write_variable2(w, n, &n->desc->vars[i]);
  }
  if (n->fmi == 3) write_extras(w, n, facts->time_events);
  cpli_write(w, "  </ModelVariables>\n");
}
