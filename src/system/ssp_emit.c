// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The items of the definition. A connector of a system with a source is an output; one without is
// an input, a parameter where it is a Real parameter, or its value becomes a start value of the
// variables that it leads to. Everything is added in the order of names, so that the order of the
// file does not matter.
#include <stdio.h>

#include "format/number.h"
#include "system/ssp_trail.h"

typedef cpli_flat flat;
typedef cpli_flat_node node;
typedef cpli_flat_port port;
typedef cpli_flat_edge edge;
typedef cpli_flat_trail trail;

//------------------------------------ arrays ------------------------------------

// The number of elements of a connector; 1 of a scalar, 0: it is not known.
static int64_t count_elements(const port* p) {
  int64_t n = 1;
  for (size_t i = 0; i < p->n_dimensions; i++) {
    const cpli_ssp_dimension* d = &p->dimensions[i];
    if (d->size_connector != NULL || d->size <= 0 || n > 1000000 / d->size) return 0;
    n *= d->size;
  }
  return n;
}

// The k-th element, from 0.
static cpli_flat_index element_index(const port* p, int64_t k, int64_t* at) {
  for (size_t i = p->n_dimensions; i-- > 0;) {
    at[i] = k % p->dimensions[i].size + 1;
    k /= p->dimensions[i].size;
  }
  return (cpli_flat_index){at, p->n_dimensions};
}

// Calls `each` for the trail of a port, or for those of its elements where these have sources of
// their own or are to be taken one by one.
typedef cpl_status use_trail(flat* f, trail* t);

static cpl_status for_elements(flat* f, trail* t, port* sink, const port* sized, use_trail* each) {
  const int64_t n = count_elements(sized);
  cpl_status st = CPL_OK;
  int64_t* at = cpli_alloc(f->ctx, sized->n_dimensions, sizeof *at);
  if (at == NULL) return cpli_nomem(f->ctx);
  for (int64_t k = 0; k < n && st >= 0; k++) {
    st = cpli_flat_follow(f, t, sink, element_index(sized, k, at));
    if (st >= 0 && t->source != NULL) st = each(f, t);
  }
  cpli_free(f->ctx, at);
  return st;
}

static cpl_status for_parts(flat* f, trail* t, port* sink, const port* parts, use_trail* each) {
  cpl_status st = CPL_OK;
  for (const edge* e = parts->in; e != NULL && st >= 0; e = e->next) {
    if (e->to == NULL) continue;
    st = cpli_flat_follow(f, t, sink, (cpli_flat_index){e->to->indices, e->to->n_indices});
    if (st >= 0 && t->source != NULL) st = each(f, t);
  }
  return st;
}

static cpl_status for_port(flat* f, trail* t, port* sink, use_trail* each) {
  cpl_status st = cpli_flat_follow(f, t, sink, (cpli_flat_index){0});
  if (st < 0) return st;
  if (t->parts != NULL) return for_parts(f, t, sink, t->parts, each);
  const port* source = t->source;
  const bool by_element = source->side == CPLI_FLAT_SYSTEM || sink->side == CPLI_FLAT_SYSTEM;
  const port* sized = sink->n_dimensions > 0 ? sink : source;
  if (t->source_index.n == 0 && by_element && sized->n_dimensions > 0)
    return for_elements(f, t, sink, sized, each);
  return each(f, t);
}

static cpl_status for_all(flat* f, trail* t, use_trail* variable, use_trail* system) {
  cpl_status st = CPL_OK;
  for (size_t i = 0; i < f->n_models && st >= 0; i++) {
    node* n = f->models[i];
    for (size_t k = 0; k < n->n_ports && st >= 0; k++)
      if (n->ports[k].in != NULL && variable != NULL) st = for_port(f, t, &n->ports[k], variable);
  }
  for (size_t i = 0; i < f->n_systems && st >= 0; i++) {
    port* p = f->systems[i];
    if (p->in != NULL && system != NULL && !p->is_hidden) st = for_port(f, t, p, system);
  }
  return st;
}

//------------------------------------ ports without a source ------------------------------------

static bool is_text(cpl_type type) {
  return type == CPL_STRING || type == CPL_BINARY || type == CPL_CLOCK;
}

// A unit that the connector itself does not have is the first one on the way of its value.
static void adopt_unit(port* p, const trail* t) {
  for (size_t i = t->n; i-- > 0 && p->unit == NULL;) {
    const cpli_ssp_connection* c = t->edges[i]->connection;
    if (c != NULL && (c->transform.keep_units || c->transform.kind != CPLI_SSP_IDENTITY)) return;
    p->unit = t->sinks[i]->unit;
  }
}

static cpl_status note_use(flat* f, trail* t) {
  port* p = t->source;
  (void)f;
  if (p->side == CPLI_FLAT_VARIABLE) return CPL_OK;
  p->is_used = true;
  if (!p->type.given) p->type = cpli_flat_trail_type(t);
  if (p->value == NULL) adopt_unit(p, t);
  return CPL_OK;
}

static void choose_role(port* p) {
  const cpl_type type = p->type.given      ? p->type.type
                        : p->value != NULL ? p->value->parameter->type.type
                                           : CPL_REAL;
  const bool constant = p->kind == CPLI_SSP_PARAMETER || p->kind == CPLI_SSP_CALCULATED_PARAMETER ||
                        p->kind == CPLI_SSP_CONSTANT || p->kind == CPLI_SSP_STRUCTURAL_PARAMETER;
  const bool known_size = count_elements(p) > 0;
  if (!p->type.given && p->value != NULL) p->type = p->value->parameter->type;
  if (is_text(type) || p->kind == CPLI_SSP_STRUCTURAL_PARAMETER || !known_size ||
      (constant && type != CPL_REAL))
    p->is_pushed = true;
  else if (constant) p->is_parameter = p->is_used || p->node->parent == NULL;
  else p->is_input = p->is_used || (p->kind == CPLI_SSP_INPUT && p->node->parent == NULL);
}

// The i-th element of a value of an array as a value of its own.
static cpl_status value_of_element(flat* f, const cpli_flat_value* v, size_t i, size_t n,
                                   cpli_flat_value* out) {
  *out = *v;
  if (v->parameter->n_values != n || n == 1) return CPL_OK;
  cpli_ssp_parameter* p = cpli_def_array(f->def, 1, sizeof *p);
  if (p == NULL) return cpli_nomem(f->ctx);
  *p = *v->parameter;
  p->values += i;
  p->n_values = 1;
  p->n_dimensions = 0;
  out->parameter = p;
  return CPL_OK;
}

static cpl_status add_value(flat* f, port* p, const char* name, const cpli_flat_value* v) {
  const cpl_unit* unit = p->unit;
  cpl_status st = CPL_OK;
  double number;
  cpli_located_text text = {0};
  if (v != NULL && cpli_flat_number(f, v, p, &unit, &number, &st)) {
    char digits[CPLI_NUMBER_SIZE];
    cpli_format_double(digits, number);
    text = cpli_def_text(f->def, digits, v->parameter->loc);
  } else if (v != NULL && st >= 0) {
    st = cpli_flat_report(f, true, &v->parameter->loc, "%s needs a number, not \"%s\"", name,
                          v->parameter->n_values > 0 ? v->parameter->values[0] : "");
  }
  if (st < 0) return st;
  p->unit = unit;
  const cpli_located_text called = {name, p->loc};
  if (p->is_parameter)
    return cpli_def_add_parameter(f->def,
                                  (cpli_parameter){.name = called, .value = text, .unit = unit});
  cpli_input in = {.name = called, .kind = CPLI_INPUT_FREE, .start = text, .meaning = unit};
  if (unit != NULL) in.unit = (cpli_located_text){unit->name, p->loc};
  return cpli_def_add_input(f->def, in);
}

static cpl_status add_free(flat* f, port* p) {
  const int64_t n = count_elements(p);
  if (p->n_dimensions == 0) return add_value(f, p, p->full_name, p->value);
  cpl_status st = CPL_OK;
  int64_t* at = cpli_alloc(f->ctx, p->n_dimensions, sizeof *at);
  if (at == NULL) return cpli_nomem(f->ctx);
  for (int64_t k = 0; k < n && st >= 0; k++) {
    cpli_flat_value v;
    const char* name = cpli_flat_name(f, p, element_index(p, k, at));
    if (name == NULL) st = cpli_nomem(f->ctx);
    if (st >= 0 && p->value != NULL) st = value_of_element(f, p->value, (size_t)k, (size_t)n, &v);
    if (st >= 0) st = add_value(f, p, name, p->value != NULL ? &v : NULL);
  }
  cpli_free(f->ctx, at);
  return st;
}

static cpl_status add_all_free(flat* f) {
  cpl_status st = CPL_OK;
  for (size_t i = 0; i < f->n_systems && st >= 0; i++) {
    port* p = f->systems[i];
    if (p->in == NULL && (p->is_parameter || p->is_input)) st = add_free(f, p);
  }
  return st;
}

//------------------------------------ values that are pushed ------------------------------------

static const char* variable_name(flat* f, const port* p, cpli_flat_index index) {
  const char* full = cpli_flat_name(f, p, index);
  return full != NULL ? full + strlen(p->full_name) - strlen(p->name) : NULL;
}

// A value after the maps of all connections on its way. False: something else is on it, too.
static bool is_mapped(const trail* t) {
  bool mapped = t->source->value->parameter->type.type == CPL_ENUMERATION;
  for (size_t i = 0; i < t->n; i++) {
    const cpli_ssp_connection* c = t->edges[i]->connection;
    if (c != NULL && c->transform.kind == CPLI_SSP_LINEAR) return false;
    if (c != NULL && c->transform.kind != CPLI_SSP_IDENTITY) mapped = true;
  }
  return mapped;
}

static cpl_status map_value(flat* f, const trail* t, const char** value) {
  const cpli_flat_value* v = t->source->value;
  const char* number = cpli_flat_item_number(f, v, t->source, *value);
  cpl_status st = CPL_OK;
  if (v->parameter->type.type == CPL_ENUMERATION && number != NULL) *value = number;
  for (size_t i = t->n; i-- > 0 && st >= 0;) {
    const cpli_ssp_connection* c = t->edges[i]->connection;
    if (c == NULL || c->transform.kind == CPLI_SSP_IDENTITY) continue;
    st = cpli_flat_map_value(f, &c->transform, cpli_flat_enumeration(t->edges[i]->source),
                             cpli_flat_enumeration(t->sinks[i]), &c->loc, value);
  }
  return st;
}

static cpl_status push_mapped(flat* f, const trail* t, const char* variable) {
  const cpli_flat_value* v = t->source->value;
  cpli_ssp_parameter* p = cpli_def_array(f->def, 1, sizeof *p);
  const char** values = cpli_def_array(f->def, v->parameter->n_values, sizeof(char*));
  cpl_status st = p != NULL && values != NULL ? CPL_OK : cpli_nomem(f->ctx);
  for (size_t i = 0; i < v->parameter->n_values && st >= 0; i++) {
    values[i] = cpli_flat_value_at(v, i);
    st = map_value(f, t, &values[i]);
  }
  if (st < 0) return st;
  *p = *v->parameter;
  p->values = values;
  return cpli_flat_set(f, t->sink->node, variable, t->sink->unit,
                       &(cpli_flat_value){.parameter = p, .file = v->file});
}

// The value of a connector that cannot be a number of the definition.
static cpl_status push_value(flat* f, trail* t) {
  const port* p = t->source;
  if (p->side != CPLI_FLAT_SYSTEM || !p->is_pushed || p->value == NULL) return CPL_OK;
  const char* variable = variable_name(f, t->sink, t->sink_index);
  if (variable != NULL && is_mapped(t)) return push_mapped(f, t, variable);
  cpli_flat_value v = *p->value;
  cpli_source_loc loc = cpli_flat_trail_loc(t);
  size_t changes = v.transform != NULL;
  for (size_t i = 0; i < t->n; i++) {
    const cpli_ssp_connection* c = t->edges[i]->connection;
    if (c == NULL || (c->transform.kind == CPLI_SSP_IDENTITY && !c->transform.keep_units)) continue;
    v.transform = &c->transform;
    changes++;
  }
  if (variable == NULL) return cpli_nomem(f->ctx);
  if (changes > 1)
    return cpli_flat_report(f, true, &loc,
                            "the value of %s passes several transformations on its way to %s, "
                            "which is possible for Reals only",
                            p->full_name, t->sink->full_name);
  return cpli_flat_set(f, t->sink->node, variable, t->sink->unit, &v);
}

// A value of an output of a system is the start value of the variable that gives it.
static cpl_status pull_value(flat* f, trail* t) {
  const port *p = t->sink, *source = t->source;
  const bool out = p->kind == CPLI_SSP_OUTPUT || p->kind == CPLI_SSP_LOCAL ||
                   p->kind == CPLI_SSP_CALCULATED_PARAMETER;
  if (p->value == NULL || !out || source->side != CPLI_FLAT_VARIABLE) return CPL_OK;
  if (t->sink_index.n > 0) return CPL_OK;
  const char* variable = variable_name(f, source, t->source_index);
  if (variable == NULL) return cpli_nomem(f->ctx);
  if (!cpli_flat_changes(t))
    return cpli_flat_set(f, source->node, variable, source->unit, p->value);
  return cpli_flat_report(f, false, &p->value->parameter->loc,
                          "the value of %s is ignored: it is calculated from %s", p->full_name,
                          source->full_name);
}

//------------------------------------ connections, outputs ------------------------------------

// A map of a connector that has no value: the target keeps its start value. A connector of the root
// can still get values from outside, so that it stays connected.
static cpl_status check_value(flat* f, const trail* t, bool* left) {
  const port* p = t->source;
  const bool unknown = p->side == CPLI_FLAT_SYSTEM && p->value == NULL && cpli_flat_maps(t);
  *left = unknown && p->node->parent != NULL;
  if (!unknown || *left) return CPL_OK;
  return cpli_flat_report(f, false, &p->loc,
                          "%s has neither a source nor a value: it is 0, unless an input file or "
                          "--set gives it one, and %s gets what the map makes of that",
                          p->full_name, t->sink->full_name);
}

static cpl_status add_connection(flat* f, trail* t) {
  const port* p = t->source;
  cpli_source_loc loc = cpli_flat_trail_loc(t);
  if (p->side == CPLI_FLAT_SYSTEM && !p->is_input && !p->is_parameter) return CPL_OK;
  if (p->side >= CPLI_FLAT_REFERENCE)
    return cpli_flat_report(f, false, &loc,
                            "%s follows the entry %s of a signal dictionary, to which nothing is "
                            "connected that gives it a value",
                            t->sink->full_name, p->full_name);
  bool left = false;
  cpl_status st = check_value(f, t, &left);
  if (st < 0 || left) return st;
  cpli_connection c = {.convert = true, .warn_of_loss = true};
  const char* name = cpli_flat_name(f, p, t->source_index);
  c.target = (cpli_located_text){cpli_flat_name(f, t->sink, t->sink_index), loc};
  if (name == NULL || c.target.text == NULL) return cpli_nomem(f->ctx);
  c.source.loc = loc;
  st = cpli_flat_source(f, t, name, &c.source.text, &c.transform);
  return st < 0 ? st : cpli_def_add_connection(f->def, c);
}

static cpl_status add_output(flat* f, trail* t) {
  const port* p = t->source;
  const char* rest;
  cpli_output o = {.name = {cpli_flat_name(f, t->sink, t->sink_index), t->sink->loc}};
  const char* name = cpli_flat_name(f, p, t->source_index);
  if (name == NULL || o.name.text == NULL) return cpli_nomem(f->ctx);
  const bool lost = p->side == CPLI_FLAT_SYSTEM && !p->is_input && !p->is_parameter;
  if (lost || p->side >= CPLI_FLAT_REFERENCE) return CPL_OK;
  const cpli_ssp_type type = cpli_flat_trail_type(t);
  const bool array = t->sink_index.n == 0 && (p->n_dimensions > 0 || t->sink->n_dimensions > 0) &&
                     t->source_index.n == 0;
  if ((type.given && is_text(type.type)) || array) return CPL_OK;
  if (cpli_split_name(f->def, o.name.text, &rest) >= 0) {
    return cpli_flat_note(f, &t->sink->loc,
                          "the connector %s is not recorded: its name is one of a variable",
                          o.name.text);
  }
  o.source.loc = cpli_flat_trail_loc(t);
  cpl_status st = cpli_flat_source(f, t, name, &o.source.text, &o.transform);
  return st < 0 ? st : cpli_def_add_output(f->def, o);
}

//------------------------------------ models ------------------------------------

static cpl_status add_model(flat* f, const node* n) {
  static const cpl_member_as as[] = {[CPLI_SSP_ANY] = CPL_AS_DEFAULT,
                                     [CPLI_SSP_MODEL_EXCHANGE] = CPL_AS_MODEL_EXCHANGE,
                                     [CPLI_SSP_CO_SIMULATION] = CPL_AS_CO_SIMULATION,
                                     [CPLI_SSP_SCHEDULED_EXECUTION] = CPL_AS_CO_SIMULATION};
  const cpli_ssp_element* e = n->element;
  return cpli_def_add_model(
      f->def, (cpli_member){.name = {n->path, e->loc},
                            .kind = n->own_system != NULL ? CPL_MEMBER_SYSTEM : CPL_MEMBER_FMU,
                            .path = {n->own_system != NULL ? n->own_system : e->fmu, e->loc},
                            .shown = e->source,
                            .as = as[e->implementation],
                            .exactly_as = true,
                            .scheduled = e->implementation == CPLI_SSP_SCHEDULED_EXECUTION,
                            .as_place = e->loc,
                            .starts = n->starts,
                            .n_starts = n->n_starts,
                            .cap_starts = n->n_starts});
}

cpl_status cpli_flat_emit(flat* f) {
  trail t = {0};
  cpl_status st = for_all(f, &t, note_use, note_use);
  for (size_t i = 0; i < f->n_systems && st >= 0; i++)
    if (f->systems[i]->in == NULL) choose_role(f->systems[i]);
  if (st >= 0) st = for_all(f, &t, push_value, pull_value);
  for (size_t i = 0; i < f->n_models && st >= 0; i++) st = add_model(f, f->models[i]);
  if (st >= 0) st = add_all_free(f);
  if (st >= 0) st = for_all(f, &t, add_connection, NULL);
  if (st >= 0) st = for_all(f, &t, NULL, add_output);
  cpli_flat_trail_free(f, &t);
  return st;
}
