// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A flat system of components with the connections, parameters, inputs and outputs that SSP 1.0 can
// express. All others are the text of a system file in an annotation, without what the description
// has already.
#include "export/ssd.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>

#include "format/number.h"
#include "system/write.h"

typedef struct draft {
  const cpli_ssd_def* how;
  const cpl_system_def* def;
  const cpli_built* system;
  cpl_context* ctx;
  cpli_writer* out;
  // what the description has, by the index in the definition
  bool *parameters, *inputs, *connections, *outputs;
  cpl_unit* units;  // that are used, each name once
  size_t n_units, cap_units;
  const cpl_type_def** enums;
  size_t n_enums, cap_enums;
} draft;

//------------------------------------ what can be expressed ------------------------------------

static bool is_number_text(const cpli_located_text* text) {
  double value;
  return text->text != NULL && cpli_parse_double(text->text, strlen(text->text), &value) &&
         isfinite(value);
}

// A connector's kind; NULL: version 1.0 of the standard has none for it.
static const char* kind_of(const cpl_variable* v) {
  if (v->array != 0 || v->type == CPL_CLOCK) return NULL;
  switch ((cpl_causality)v->causality) {
    case CPL_CAUSALITY_INPUT: return "input";
    case CPL_CAUSALITY_OUTPUT: return "output";
    case CPL_CAUSALITY_PARAMETER: return v->structural ? NULL : "parameter";
    case CPL_CAUSALITY_CALCULATED_PARAMETER: return "calculatedParameter";
    default: return NULL;
  }
}

static const cpl_variable* variable_of(const draft* d, int32_t model, int32_t var) {
  return &d->system->sources[model]->desc->vars[var];
}

// Whether a bare reference can be the source of a connection.
static bool can_be_source(const draft* d, const cpli_ref* ref) {
  if (ref->kind == CPLI_REF_PARAMETER) return d->parameters[ref->index];
  if (ref->kind == CPLI_REF_INPUT) return d->inputs[ref->index];
  if (ref->kind != CPLI_REF_VARIABLE) return false;
  const char* kind = kind_of(variable_of(d, ref->model, ref->index));
  return kind != NULL && (strcmp(kind, "output") == 0 || strcmp(kind, "calculatedParameter") == 0);
}

static bool can_be_target(const draft* d, const cpli_link* link) {
  const cpl_variable* v = variable_of(d, link->model, link->var);
  const char* kind = kind_of(v);
  bool from_system = link->source.kind != CPLI_REF_VARIABLE;
  if (kind == NULL || (from_system && v->type != CPL_REAL)) return false;
  if (strcmp(kind, "input") == 0) return true;
  if (strcmp(kind, "parameter") != 0) return false;
  // a parameter takes its value from another one
  return link->source.kind == CPLI_REF_PARAMETER ||
         (link->source.kind == CPLI_REF_VARIABLE &&
          strcmp(kind_of(variable_of(d, link->source.model, link->source.index)),
                 "calculatedParameter") == 0);
}

// Connectors with units of their own are known in the package they come from only.
static bool is_plain(const cpli_transform* t) {
  return t == NULL || (t->unit == NULL && t->n_steps == 1 && t->steps[0].unit == NULL);
}

static void classify(draft* d) {
  const cpl_system_def* def = d->def;
  if (def->n_modes > 0) return;  // everything stays with the modes
  for (size_t i = 0; i < def->n_parameters; i++)
    d->parameters[i] = is_number_text(&def->parameters[i].value);
  for (size_t i = 0; i < def->n_inputs; i++) {
    const cpli_input* in = &def->inputs[i];
    d->inputs[i] = in->kind == CPLI_INPUT_FREE && in->unit.text == NULL &&
                   (in->start.text == NULL || is_number_text(&in->start));
  }
  for (size_t k = 0; k < d->system->links.count; k++) {
    const cpli_link* link = &d->system->links.items[k];
    const cpli_connection* c = &def->connections[link->connection];
    d->connections[link->connection] = c->coupling == NULL && !c->convert &&
                                       is_plain(c->transform) && can_be_source(d, &link->source) &&
                                       can_be_target(d, link);
  }
  for (size_t i = 0; i < def->n_outputs; i++) {
    cpli_ref ref;
    d->outputs[i] = cpli_resolver_find(&d->system->resolver, def->outputs[i].source.text, &ref) &&
                    ref.kind == CPLI_REF_VARIABLE && can_be_source(d, &ref) &&
                    variable_of(d, ref.model, ref.index)->type == CPL_REAL;
  }
}

//------------------------------------ units and types ------------------------------------

static bool same_unit(const cpl_unit* a, const cpl_unit* b) {
  return memcmp(a->exponents, b->exponents, sizeof a->exponents) == 0 && a->factor == b->factor &&
         a->offset == b->offset;
}

static bool same_enum(const cpl_type_def* a, const cpl_type_def* b) {
  bool same = a->n_items == b->n_items;
  for (int32_t i = 0; same && i < a->n_items; i++)
    same =
        a->items[i].value == b->items[i].value && strcmp(a->items[i].name, b->items[i].name) == 0;
  return same;
}

// Adds a unit to those that are defined; NULL: its meaning is unknown, or another has this name.
static const char* use_unit(draft* d, const cpl_unit* used) {
  cpl_unit unit = *used;
  if (!unit.has_base && !cpli_unit_parse(unit.name, &unit)) return NULL;
  for (size_t i = 0; i < d->n_units; i++) {
    if (strcmp(d->units[i].name, unit.name) == 0)
      return same_unit(&d->units[i], &unit) ? unit.name : NULL;
  }
  if (!cpli_grow(d->ctx, (void**)&d->units, &d->cap_units, d->n_units, sizeof *d->units)) {
    d->out->failed = true;
    return NULL;
  }
  d->units[d->n_units++] = unit;
  return unit.name;
}

static const char* use_enum(draft* d, const cpl_type_def* type) {
  for (size_t i = 0; i < d->n_enums; i++) {
    if (strcmp(d->enums[i]->name, type->name) == 0)
      return same_enum(d->enums[i], type) ? type->name : NULL;
  }
  if (!cpli_grow(d->ctx, (void**)&d->enums, &d->cap_enums, d->n_enums, sizeof *d->enums)) {
    d->out->failed = true;
    return NULL;
  }
  d->enums[d->n_enums++] = type;
  return type->name;
}

// `<ssc:Real unit="m"` of a variable, without the end.
static void begin_type(draft* d, const cpl_description* desc, const cpl_variable* v) {
  static const char* const names[] = {"Real",        "Integer", "Boolean",
                                      "Enumeration", "String",  "Binary"};
  const char *unit = NULL, *items = NULL;
  if (v->type == CPL_REAL && v->unit >= 0) unit = use_unit(d, &desc->units[v->unit]);
  if (v->type == CPL_ENUMERATION && v->declared_type >= 0)
    items = use_enum(d, &desc->types[v->declared_type]);
  bool as_integer = v->type == CPL_ENUMERATION && items == NULL;
  cpli_writef(d->out, "<ssc:%s", as_integer ? "Integer" : names[v->type]);
  if (unit != NULL) cpli_write_attribute(d->out, "unit", unit);
  if (items != NULL) cpli_write_attribute(d->out, "name", items);
}

static void write_units(draft* d) {
  static const char* const bases[] = {"kg", "m", "s", "A", "K", "mol", "cd", "rad"};
  if (d->n_units == 0) return;
  cpli_write(d->out, "  <ssd:Units>\n");
  for (size_t i = 0; i < d->n_units; i++) {
    const cpl_unit* u = &d->units[i];
    cpli_write(d->out, "    <ssc:Unit");
    cpli_write_attribute(d->out, "name", u->name);
    cpli_write(d->out, "><ssc:BaseUnit");
    for (size_t k = 0; k < CPLI_COUNT(bases); k++) {
      if (u->exponents[k] != 0) cpli_writef(d->out, " %s=\"%d\"", bases[k], u->exponents[k]);
    }
    const double values[] = {u->factor, u->offset};
    for (int k = 0; k < 2; k++) {
      if (values[k] == (k == 0 ? 1 : 0)) continue;
      cpli_write(d->out, k == 0 ? " factor=\"" : " offset=\"");
      cpli_write_number(d->out, values[k]);
      cpli_write(d->out, "\"");
    }
    cpli_write(d->out, "/></ssc:Unit>\n");
  }
  cpli_write(d->out, "  </ssd:Units>\n");
}

static void write_enums(draft* d) {
  if (d->n_enums == 0) return;
  cpli_write(d->out, "  <ssd:Enumerations>\n");
  for (size_t i = 0; i < d->n_enums; i++) {
    cpli_write(d->out, "    <ssc:Enumeration");
    cpli_write_attribute(d->out, "name", d->enums[i]->name);
    cpli_write(d->out, ">\n");
    for (int32_t k = 0; k < d->enums[i]->n_items; k++) {
      cpli_write(d->out, "      <ssc:Item");
      cpli_write_attribute(d->out, "name", d->enums[i]->items[k].name);
      cpli_writef(d->out, " value=\"%lld\"/>\n", (long long)d->enums[i]->items[k].value);
    }
    cpli_write(d->out, "    </ssc:Enumeration>\n");
  }
  cpli_write(d->out, "  </ssd:Enumerations>\n");
}

//------------------------------------ connectors ------------------------------------

// An element that is written with its first item; the standard has no empty ones.
typedef struct list {
  const char *indent, *name;
  bool open;
} list;

static void begin_in(draft* d, list* l) {
  if (!l->open) cpli_writef(d->out, "%s<ssd:%s>\n", l->indent, l->name);
  l->open = true;
}

static void end_list(draft* d, const list* l) {
  if (l->open) cpli_writef(d->out, "%s</ssd:%s>\n", l->indent, l->name);
}

static void begin_connector(draft* d, list* l, const char* name, const char* kind) {
  begin_in(d, l);
  cpli_writef(d->out, "%s  <ssd:Connector", l->indent);
  cpli_write_attribute(d->out, "name", name);
  cpli_writef(d->out, " kind=\"%s\">", kind);
}

// Whether a connection of the description leads to this parameter.
static bool is_connected(const draft* d, int32_t model, int32_t var) {
  int32_t link = cpli_links_find(&d->system->links, &d->system->resolver, model, var);
  return link >= 0 && d->connections[d->system->links.items[link].connection];
}

// Inputs, outputs, calculated parameters, and parameters that are connected.
static void write_component_connectors(draft* d, int32_t model) {
  const cpl_description* desc = d->system->sources[model]->desc;
  list l = {"          ", "Connectors", false};
  for (int32_t i = 0; i < desc->n_vars; i++) {
    const cpl_variable* v = &desc->vars[i];
    const char* kind = kind_of(v);
    if (kind == NULL || (strcmp(kind, "parameter") == 0 && !is_connected(d, model, i))) continue;
    begin_connector(d, &l, v->name, kind);
    begin_type(d, desc, v);
    cpli_write(d->out, "/></ssd:Connector>\n");
  }
  end_list(d, &l);
}

static void write_system_connectors(draft* d) {
  const cpl_system_def* def = d->def;
  list l = {"    ", "Connectors", false};
  for (size_t i = 0; i < def->n_parameters; i++) {
    if (!d->parameters[i]) continue;
    begin_connector(d, &l, def->parameters[i].name.text, "parameter");
    cpli_write(d->out, "<ssc:Real/></ssd:Connector>\n");
  }
  for (size_t i = 0; i < def->n_inputs; i++) {
    if (!d->inputs[i]) continue;
    const cpl_unit* unit = &d->system->input_units[i];
    const char* name = unit->name != NULL ? use_unit(d, unit) : NULL;
    begin_connector(d, &l, def->inputs[i].name.text, "input");
    cpli_write(d->out, "<ssc:Real");
    if (name != NULL) cpli_write_attribute(d->out, "unit", name);
    cpli_write(d->out, "/></ssd:Connector>\n");
  }
  for (size_t i = 0; i < def->n_outputs; i++) {
    cpli_ref ref;
    if (!d->outputs[i] ||
        !cpli_resolver_find(&d->system->resolver, def->outputs[i].source.text, &ref))
      continue;
    begin_connector(d, &l, def->outputs[i].name.text, "output");
    begin_type(d, d->system->sources[ref.model]->desc, variable_of(d, ref.model, ref.index));
    cpli_write(d->out, "/></ssd:Connector>\n");
  }
  end_list(d, &l);
}

//------------------------------------ values ------------------------------------

static void begin_set(draft* d, const char* indent) {
  cpli_writef(d->out,
              "%s<ssd:ParameterBindings><ssd:ParameterBinding><ssd:ParameterValues>\n"
              "%s  <ssv:ParameterSet version=\"1.0\" name=\"start values\"><ssv:Parameters>\n",
              indent, indent);
}

static void end_set(draft* d, const char* indent) {
  cpli_writef(d->out,
              "%s  </ssv:Parameters></ssv:ParameterSet>\n"
              "%s</ssd:ParameterValues></ssd:ParameterBinding></ssd:ParameterBindings>\n",
              indent, indent);
}

static void write_real(draft* d, const char* indent, const char* name, const char* value) {
  cpli_writef(d->out, "%s    <ssv:Parameter", indent);
  cpli_write_attribute(d->out, "name", name);
  cpli_write(d->out, "><ssv:Real");
  cpli_write_attribute(d->out, "value", value);
  cpli_write(d->out, "/></ssv:Parameter>\n");
}

static void write_system_values(draft* d) {
  const cpl_system_def* def = d->def;
  size_t n = 0;
  for (size_t i = 0; i < def->n_parameters; i++) n += d->parameters[i];
  for (size_t i = 0; i < def->n_inputs; i++) n += d->inputs[i] && def->inputs[i].start.text != NULL;
  if (n == 0) return;
  begin_set(d, "    ");
  for (size_t i = 0; i < def->n_parameters; i++) {
    if (d->parameters[i])
      write_real(d, "    ", def->parameters[i].name.text, def->parameters[i].value.text);
  }
  for (size_t i = 0; i < def->n_inputs; i++) {
    if (d->inputs[i] && def->inputs[i].start.text != NULL)
      write_real(d, "    ", def->inputs[i].name.text, def->inputs[i].start.text);
  }
  end_set(d, "    ");
}

static bool is_integer_text(const char* text) {
  text += *text == '-';
  size_t n = strspn(text, "0123456789");
  return n > 0 && text[n] == '\0';
}

// Whether a start value is a value of the variable's type as it is, and not an expression.
static bool is_value(const cpl_variable* v, const cpli_located_text* text) {
  if (v->array != 0) return false;
  switch ((cpl_type)v->type) {
    case CPL_REAL: return is_number_text(text);
    case CPL_INTEGER: return is_integer_text(text->text);
    case CPL_BOOLEAN: return strcmp(text->text, "true") == 0 || strcmp(text->text, "false") == 0;
    case CPL_STRING: return true;
    default: return false;
  }
}

static const cpl_variable* started(const draft* d, size_t model, const cpli_setting* s) {
  const cpl_description* desc = d->system->sources[model]->desc;
  int32_t var = cpl_find_variable(desc, s->name.text);
  return var >= 0 && is_value(&desc->vars[var], &s->value) ? &desc->vars[var] : NULL;
}

static void write_component_values(draft* d, size_t model) {
  static const char* const names[] = {[CPL_REAL] = "Real",
                                      [CPL_INTEGER] = "Integer",
                                      [CPL_BOOLEAN] = "Boolean",
                                      [CPL_STRING] = "String"};
  const cpli_member* m = &d->def->models[model];
  bool any = false;
  for (size_t i = 0; i < m->n_starts; i++) {
    const cpl_variable* v = started(d, model, &m->starts[i]);
    if (v == NULL) continue;
    if (!any) begin_set(d, "          ");
    any = true;
    cpli_write(d->out, "              <ssv:Parameter");
    cpli_write_attribute(d->out, "name", v->name);
    cpli_writef(d->out, "><ssv:%s value=\"", names[v->type]);
    cpli_write_escaped(d->out, m->starts[i].value.text);
    cpli_write(d->out, "\"/></ssv:Parameter>\n");
  }
  if (any) end_set(d, "          ");
}

//------------------------------------ components ------------------------------------

static const char* implementation_of(const draft* d, size_t model) {
  return d->system->is_stepper[model] ? "CoSimulation" : "ModelExchange";
}

static cpl_status write_component(draft* d, size_t model) {
  static const char* const kinds[] = {
      [CPL_MEMBER_FMU] = "fmu", [CPL_MEMBER_C] = "c", [CPL_MEMBER_SYSTEM] = "system"};
  const cpli_member* m = &d->def->models[model];
  char file[PATH_MAX];
  const char* kind = kinds[m->kind];
  if (m->path.text == NULL)
    return cpli_fail_at(d->ctx, CPL_ERR_INPUT, &m->name.loc,
                        "%s cannot be written to an SSP package: it was made by a program",
                        m->name.text);
  cpl_status st = d->how->file(d->how->user, &kind, &m->path, file);
  if (st < 0) return st;
  bool is_system = strcmp(kind, "system") == 0;
  cpli_write(d->out, "        <ssd:Component");
  cpli_write_attribute(d->out, "name", m->name.text);
  if (is_system) cpli_write(d->out, " type=\"application/x-ssp-package\"");
  cpli_write_attribute(d->out, "source", file);
  if (!is_system) cpli_writef(d->out, " implementation=\"%s\"", implementation_of(d, model));
  cpli_write(d->out, ">\n");
  write_component_connectors(d, (int32_t)model);
  write_component_values(d, model);
  cpli_write(d->out, "        </ssd:Component>\n");
  return CPL_OK;
}

static void write_end(draft* d, const char* end, const char* element, const char* connector) {
  char name[32];
  snprintf(name, sizeof name, "%sElement", end);
  if (element != NULL) cpli_write_attribute(d->out, name, element);
  snprintf(name, sizeof name, "%sConnector", end);
  cpli_write_attribute(d->out, name, connector);
}

// The end of a connection, with its factor and offset.
static void write_scaling(draft* d, const cpli_transform* t) {
  if (t == NULL) {
    cpli_write(d->out, "/>\n");
    return;
  }
  cpli_write(d->out, "><ssc:LinearTransformation factor=\"");
  cpli_write_number(d->out, t->steps[0].factor);
  cpli_write(d->out, "\" offset=\"");
  cpli_write_number(d->out, t->steps[0].offset);
  cpli_write(d->out, "\"/></ssd:Connection>\n");
}

static void write_connections(draft* d) {
  const cpl_system_def* def = d->def;
  list l = {"    ", "Connections", false};
  for (size_t k = 0; k < d->system->links.count; k++) {
    const cpli_link* link = &d->system->links.items[k];
    const cpli_connection* c = &def->connections[link->connection];
    const cpli_ref* from = &link->source;
    if (!d->connections[link->connection]) continue;
    begin_in(d, &l);
    cpli_write(d->out, "      <ssd:Connection");
    if (from->kind == CPLI_REF_VARIABLE)
      write_end(d, "start", def->models[from->model].name.text,
                variable_of(d, from->model, from->index)->name);
    else if (from->kind == CPLI_REF_PARAMETER)
      write_end(d, "start", NULL, def->parameters[from->index].name.text);
    else write_end(d, "start", NULL, def->inputs[from->index].name.text);
    write_end(d, "end", def->models[link->model].name.text,
              variable_of(d, link->model, link->var)->name);
    if (c->keep_units) cpli_write(d->out, " suppressUnitConversion=\"true\"");
    write_scaling(d, c->transform);
  }
  for (size_t i = 0; i < def->n_outputs; i++) {
    cpli_ref ref;
    if (!d->outputs[i] ||
        !cpli_resolver_find(&d->system->resolver, def->outputs[i].source.text, &ref))
      continue;
    begin_in(d, &l);
    cpli_write(d->out, "      <ssd:Connection");
    write_end(d, "start", def->models[ref.model].name.text,
              variable_of(d, ref.model, ref.index)->name);
    write_end(d, "end", NULL, def->outputs[i].name.text);
    cpli_write(d->out, "/>\n");
  }
  end_list(d, &l);
}

//------------------------------------ annotation ------------------------------------

static cpl_status path_in_package(void* user, const char** kind, const cpli_located_text* path,
                                  char* out) {
  const draft* d = user;
  return d->how->file(d->how->user, kind, path, out);
}

static bool is_left(const void* user, size_t model, const cpli_setting* s) {
  const draft* d = user;
  return started(d, model, s) == NULL;
}

// Line ends stay as they are, for readers.
static void write_lines(draft* d, char* text) {
  for (char* line = text; line != NULL && *line != '\0';) {
    char* end = strchr(line, '\n');
    if (end != NULL) *end++ = '\0';
    cpli_write_escaped(d->out, line);
    cpli_write(d->out, "\n");
    line = end;
  }
}

static cpl_status write_annotation(draft* d) {
  cpli_write_def how = {.path = path_in_package,
                        .user = d,
                        .in_package = true,
                        .needs_master = d->system->n_steppers > 0,
                        .keeps_start = is_left,
                        .parameters = d->parameters,
                        .inputs = d->inputs,
                        .connections = d->connections,
                        .outputs = d->outputs};
  char* text = NULL;
  size_t size;
  cpl_status st = cpli_def_to_text(d->def, &how, &text, &size);
  if (st < 0) return st;
  if (strcmp(text, "couplet: 1\n") != 0) {
    cpli_write(d->out, "  <ssd:Annotations><ssc:Annotation type=\"" CPLI_SSP_ANNOTATION
                       "\"><couplet:system xmlns:couplet=\"" CPLI_SSP_NAMESPACE "\">\n");
    write_lines(d, text);
    cpli_write(d->out, "</couplet:system></ssc:Annotation></ssd:Annotations>\n");
  }
  free(text);
  return CPL_OK;
}

//------------------------------------ the whole ------------------------------------

static void write_experiment(draft* d) {
  const cpl_experiment_def* e = &d->def->experiment.values;
  const double times[] = {e->start, e->stop};
  if (isnan(e->start) && isnan(e->stop)) return;
  cpli_write(d->out, "  <ssd:DefaultExperiment");
  for (int i = 0; i < 2; i++) {
    if (isnan(times[i])) continue;
    cpli_write(d->out, i == 0 ? " startTime=\"" : " stopTime=\"");
    cpli_write_number(d->out, times[i]);
    cpli_write(d->out, "\"");
  }
  cpli_write(d->out, "/>\n");
}

static cpl_status write_all(draft* d) {
  cpl_status st = CPL_OK;
  classify(d);
  cpli_write(d->out,
             "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
             "<ssd:SystemStructureDescription\n"
             "    xmlns:ssd=\"http://ssp-standard.org/SSP1/SystemStructureDescription\"\n"
             "    xmlns:ssc=\"http://ssp-standard.org/SSP1/SystemStructureCommon\"\n"
             "    xmlns:ssv=\"http://ssp-standard.org/SSP1/SystemStructureParameterValues\"\n"
             "    version=\"1.0\"");
  cpli_write_attribute(d->out, "name",
                       d->def->name.text != NULL ? d->def->name.text : d->how->name);
  cpli_write(d->out, " generationTool=\"couplet\">\n  <ssd:System");
  cpli_write_attribute(d->out, "name", d->how->name);
  cpli_write(d->out, ">\n");
  write_system_connectors(d);
  write_system_values(d);
  list l = {"    ", "Elements", false};
  for (size_t i = 0; i < d->def->n_models && st >= 0; i++) {
    begin_in(d, &l);
    st = write_component(d, i);
  }
  if (st < 0) return st;
  end_list(d, &l);
  if (d->def->n_modes == 0) write_connections(d);
  cpli_write(d->out, "  </ssd:System>\n");
  write_enums(d);
  write_units(d);
  write_experiment(d);
  st = write_annotation(d);
  cpli_write(d->out, "</ssd:SystemStructureDescription>\n");
  return st < 0 ? st : cpli_writer_status(d->out);
}

cpl_status cpli_ssd_write(cpli_writer* out, const cpli_ssd_def* how) {
  const cpl_system_def* def = how->system->def;
  draft d = {.how = how, .def = def, .system = how->system, .ctx = def->ctx, .out = out};
  size_t counts[] = {def->n_parameters, def->n_inputs, def->n_connections, def->n_outputs};
  bool** lists[] = {&d.parameters, &d.inputs, &d.connections, &d.outputs};
  cpl_status st = CPL_OK;
  for (size_t i = 0; i < CPLI_COUNT(lists) && st >= 0; i++) {
    *lists[i] = cpli_alloc(d.ctx, counts[i] + 1, sizeof(bool));
    if (*lists[i] == NULL) st = cpli_nomem(d.ctx);
  }
  if (st >= 0) st = write_all(&d);
  for (size_t i = 0; i < CPLI_COUNT(lists); i++) cpli_free(d.ctx, *lists[i]);
  cpli_free(d.ctx, d.units);
  cpli_free(d.ctx, (void*)d.enums);
  return st;
}
