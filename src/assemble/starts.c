// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Start values of a system file: set in the members, and shown in the description of the whole.
#include <math.h>
#include <stdio.h>

#include "assemble/assemble.h"
#include "format/number.h"
#include "model/start.h"
#include "system/transform.h"

//------------------------------------ values ------------------------------------

static const cpl_array* find_array(const cpl_description* d, const char* name) {
  for (int32_t i = 0; i < d->n_arrays; i++)
    if (strcmp(d->arrays[i].name, name) == 0) return &d->arrays[i];
  return NULL;
}

// The variable of a start value, or the first element of its array; NULL: there is none.
static const cpl_variable* variable_of(const cpl_description* d, const char* name) {
  const int32_t index = cpl_find_variable(d, name);
  if (index >= 0) return &d->vars[index];
  const cpl_array* array = find_array(d, name);
  return array != NULL && array->count > 0 ? &d->vars[array->first] : NULL;
}

// One number in the unit of a file, in that of the variable.
static cpl_status transform_number(cpl_component* c, const cpl_variable* v, const cpli_setting* s,
                                   double* value) {
  cpli_unit_clash clash;
  const cpl_unit* to = v->unit >= 0 ? &c->desc->units[v->unit] : NULL;
  *value = cpli_transform_value(s->transform, NULL, to, v->relative_quantity, *value, &clash);
  char location[CPLI_LOC_SIZE];
  if (clash.relation == CPLI_UNITS_DIFFER)
    return cpl_fail(c->ctx, CPL_ERR_INPUT, "the value of %s is in %s, which is not converted to %s",
                    s->name.text, clash.from, clash.to);
  if (clash.relation > CPLI_UNITS_CONVERT)
    cpl_log(c->ctx, CPL_LOG_WARNING, "", "%sthe value of %s is in %s, and is not converted to %s",
            cpli_source_loc_text(&s->value.loc, location), s->name.text, clash.from, clash.to);
  return CPL_OK;
}

// "3", or "[3, 4]" of an array, with every number converted. Owned: *out by the caller.
static cpl_status transform_text(cpl_component* c, const cpl_variable* v, const cpli_setting* s,
                                 char** out) {
  const char* at = s->value.text;
  const bool list = at[0] == '[';
  size_t n = 1, used = 0;
  cpl_status st = CPL_OK;
  for (const char* p = at; *p != '\0'; p++) n += *p == ',';
  char* text = *out = cpli_alloc(c->ctx, n + 1, CPLI_NUMBER_SIZE + 2);
  if (text == NULL) return cpli_nomem(c->ctx);
  for (size_t i = 0; i < n && st >= 0; i++) {
    double value;
    at += strspn(at, "[ ,");
    const size_t len = strcspn(at, ",] ");
    if (!cpli_parse_double(at, len, &value))
      return cpl_fail(c->ctx, CPL_ERR_INPUT, "%s cannot be set to \"%s\": this is not a number",
                      s->name.text, s->value.text);
    at += len;
    st = transform_number(c, v, s, &value);
    used += (size_t)sprintf(text + used, "%s", i > 0 ? ", " : list ? "[" : "");
    cpli_format_double(text + used, value);
    used += strlen(text + used);
  }
  if (list) strcpy(text + used, "]");
  return st;
}

// NULL: the Enumeration of the variable has no such item.
static const cpl_enum_item* find_item(const cpl_description* d, const cpl_variable* v,
                                      const char* name) {
  const cpl_type_def* type = v->declared_type >= 0 ? &d->types[v->declared_type] : NULL;
  for (int32_t i = 0; type != NULL && i < type->n_items; i++)
    if (strcmp(type->items[i].name, name) == 0) return &type->items[i];
  return NULL;
}

// Whether a parameter set can set it; the model computes others.
static bool is_settable(const cpl_variable* v) {
  const bool computed =
      v->causality == CPL_CAUSALITY_CALCULATED_PARAMETER || v->initial == CPL_INITIAL_CALCULATED;
  return v->variability != CPL_VARIABILITY_CONSTANT && v->causality != CPL_CAUSALITY_INDEPENDENT &&
         v->type != CPL_CLOCK && (v->causality == CPL_CAUSALITY_INPUT || !computed);
}

// The value of a file with units and enumerations of its own, as a value of the variable. Owned:
// *owned by the caller; *out is it, or a text of `s`.
static cpl_status foreign_text(cpl_component* c, const cpl_variable* v, const cpli_setting* s,
                               char** owned, const char** out) {
  const bool named = v->type == CPL_STRING || (v->type == CPL_ENUMERATION && s->number != NULL &&
                                               find_item(c->desc, v, s->value.text) != NULL);
  cpl_status st = CPL_OK;
  *owned = NULL;
  if (v->type == CPL_REAL && s->transform != NULL) st = transform_text(c, v, s, owned);
  *out = *owned != NULL ? *owned : s->number != NULL && !named ? s->number : s->value.text;
  return st;
}

cpl_status cpli_start_text(const cpli_built* b, size_t model, const cpli_setting* s, char** out) {
  const cpl_description* d = b->sources[model]->desc;
  const cpl_variable* v = variable_of(d, s->name.text);
  cpl_component shown = {.desc = d, .ctx = b->base.ctx, .name = b->def->models[model].name.text};
  const char* text = s->value.text;
  cpl_status st = CPL_OK;
  *out = NULL;
  if (s->optional && (v == NULL || !is_settable(v))) return CPL_OK;
  if (s->optional) st = foreign_text(&shown, v, s, out, &text);
  if (st >= 0 && *out == NULL) *out = cpli_strdup(b->base.ctx, text);
  return st >= 0 && *out == NULL ? cpli_nomem(b->base.ctx) : st;
}

static cpl_status set_foreign(cpl_component* c, const cpl_variable* v, const cpli_setting* s) {
  char* owned = NULL;
  cpl_start start = {.name = s->name.text};
  cpl_status st = foreign_text(c, v, s, &owned, &start.value);
  if (st >= 0) st = cpli_set_starts(c, &start, 1);
  cpli_free(c->ctx, owned);
  return st;
}

// A number, an item, a text, a value with a unit; or a constant expression over parameters.
static cpl_status set_text(cpli_built* b, cpli_functions* f, const cpli_setting* s,
                           cpl_component* c, const cpl_variable* v) {
  char number[CPLI_NUMBER_SIZE];
  double value;
  cpl_type type = v != NULL ? (cpl_type)v->type : CPL_REAL;
  const char* text = s->value.text;
  bool plain =
      cpli_parse_double(text, strlen(text), &value) || (type != CPL_REAL && type != CPL_INTEGER);
  const char* rest;
  bool with_unit = !plain && cpli_split_number(text, &value, &rest) && rest[0] != '\0';
  if (!plain) {
    cpl_status st = cpli_constant_of_text(f, &s->value, b->parameters, b->known, &value);
    if (st < 0 && !with_unit) return st;
    if (st >= 0) cpli_format_double(number, value), text = number;
  }
  cpl_start start = {s->name.text, text};
  cpl_status st = cpli_set_starts(c, &start, 1);
  if (st < 0) cpli_fail_prefix_at(b->base.ctx, st, &s->name.loc, "model %s", c->name);
  return st;
}

cpl_status cpli_set_start(cpli_built* b, cpli_functions* f, const cpli_setting* s,
                          cpl_component* c) {
  const cpl_variable* v = variable_of(c->desc, s->name.text);
  if (!s->optional) return set_text(b, f, s, c, v);
  if (v == NULL || !is_settable(v)) return CPL_OK;
  cpl_status st = set_foreign(c, v, s);
  if (st < 0) cpli_fail_prefix_at(b->base.ctx, st, &s->value.loc, "model %s", c->name);
  return st;
}

// A proxy of the aggregate for setting start values: they are written into its description.
// References of an aggregate are indices of its variables.
typedef struct noter {
  cpl_component base;
  cpli_shared_desc* shared_desc;
} noter;

static cpl_variable* noted(cpl_component* c, uint32_t ref) {
  cpl_variable* v = (cpl_variable*)&c->desc->vars[ref];
  v->has_start = true;
  return v;
}

static cpl_status note_real(cpl_component* c, const uint32_t* refs, size_t n,
                            const double* values) {
  for (size_t i = 0; i < n; i++) noted(c, refs[i])->start = values[i];
  return CPL_OK;
}

static cpl_status note_integer(cpl_component* c, cpl_type type, const uint32_t* refs, size_t n,
                               const int64_t* values) {
  (void)type;
  for (size_t i = 0; i < n; i++) noted(c, refs[i])->start = (double)values[i];
  return CPL_OK;
}

static cpl_status note_string(cpl_component* c, const uint32_t* refs, size_t n,
                              const char* const* values) {
  for (size_t i = 0; i < n; i++) {
    const char* text = cpli_arena_strdup(&((noter*)c)->shared_desc->arena, values[i]);
    if (text == NULL) return cpli_nomem(c->ctx);
    noted(c, refs[i])->start_text = text;
  }
  return CPL_OK;
}

static const cpl_component_ops noter_ops = {.size = sizeof(cpl_component_ops),
                                            .kind = "note",
                                            .set_real = note_real,
                                            .set_integer = note_integer,
                                            .set_string = note_string};

// The description shows the start values of the file. The aggregate itself gets those of inputs,
// from which loops start their iteration.
static cpl_status note_start(cpli_built* b, cpli_functions* f, size_t i, size_t k,
                             cpl_model* aggregate) {
  const cpli_member* m = &b->def->models[i];
  const cpl_description* d = b->sources[i]->desc;
  char name[1024];
  cpli_setting s = m->starts[k];
  const cpl_variable* v = variable_of(d, s.name.text);
  int n = snprintf(name, sizeof name, "%s.%s", m->name.text, s.name.text);
  if (v == NULL || n < 0 || (size_t)n >= sizeof name) return CPL_OK;
  s.name.text = name;
  noter note = {aggregate->base, ((cpli_aggregate*)aggregate)->shared_desc};
  note.base.ops = &noter_ops;
  cpl_status st = cpli_set_start(b, f, &s, &note.base);
  bool input = v->causality == CPL_CAUSALITY_INPUT && v->type == CPL_REAL;
  return st >= 0 && input ? cpli_set_start(b, f, &s, &aggregate->base) : st;
}

cpl_status cpli_note_starts(cpli_built* b, cpli_functions* f, cpl_model* aggregate) {
  cpl_status st = CPL_OK;
  for (size_t i = 0; i < b->def->n_models && st >= 0; i++) {
    if (b->is_stepper[i]) continue;
    for (size_t k = 0; k < b->def->models[i].n_starts && st >= 0; k++)
      st = note_start(b, f, i, k, aggregate);
  }
  return st;
}

cpl_status cpli_note_member_starts(cpli_built* b) {
  noter note = {.base = {.ops = &noter_ops,
                         .ctx = b->base.ctx,
                         .name = b->name,
                         .desc = &b->shared_desc->desc},
                .shared_desc = b->shared_desc};
  cpli_functions scratch = {
      .ctx = b->base.ctx, .resolver = &b->resolver, .first_input = (int32_t)b->def->n_parameters};
  cpl_status st = CPL_OK;
  cpli_arena_init(&scratch.arena, b->base.ctx);
  for (size_t i = 0; i < b->def->n_models; i++) {
    const cpli_member* m = &b->def->models[i];
    for (size_t k = 0; k < m->n_starts && st >= 0; k++) {
      char name[1024];
      cpli_setting s = m->starts[k];
      int n = snprintf(name, sizeof name, "%s.%s", m->name.text, s.name.text);
      s.name.text = name;
      if (n > 0 && (size_t)n < sizeof name && variable_of(note.base.desc, name) != NULL)
        st = cpli_set_start(b, &scratch, &s, &note.base);
    }
  }
  cpli_functions_free(&scratch);
  return st;
}

// A loop starts its iteration from the start values of its inputs. Which inputs of steppers are in
// a loop is known to their master only.
static bool is_used(const cpli_built* b, size_t model, const char* name,
                    const cpl_model* aggregate) {
  char path[1024];
  snprintf(path, sizeof path, "%s.%s", b->def->models[model].name.text, name);
  return !b->is_stepper[model] && aggregate != NULL &&
         cpli_aggregate_in_loop(aggregate, cpl_find_variable(aggregate->base.desc, path));
}

void cpli_warn_starts(const cpli_built* b, const cpl_model* aggregate) {
  for (size_t i = 0; i < b->def->n_models; i++) {
    const cpli_member* m = &b->def->models[i];
    const cpl_description* d = b->sources[i]->desc;
    for (size_t k = 0; k < m->n_starts; k++) {
      const cpli_located_text* name = &m->starts[k].name;
      int32_t var = cpl_find_variable(d, name->text);
      if (var < 0 || d->vars[var].causality != CPL_CAUSALITY_INPUT) continue;
      int32_t link = cpli_links_find(&b->links, &b->resolver, (int32_t)i, var);
      if (link < 0 || is_used(b, i, name->text, aggregate)) continue;
      const cpli_connection* c = &b->def->connections[b->links.items[link].connection];
      char location[CPLI_LOC_SIZE];
      cpl_log(b->base.ctx, m->starts[k].optional ? CPL_LOG_INFO : CPL_LOG_WARNING, "",
              "%sthe start value of %s.%s is not used%s: the input is connected (%s: %s)",
              cpli_source_loc_text(&name->loc, location), m->name.text, name->text,
              b->is_stepper[i] ? ", unless a loop starts from it" : "", c->target.text,
              c->source.text != NULL ? c->source.text : "...");
    }
  }
}

//------------------------------------ parameters ------------------------------------

// A value of the definition, or NULL.
static const cpli_setting* setting_of(const cpli_member* m, const char* name) {
  for (size_t k = 0; k < m->n_starts; k++)
    if (strcmp(m->starts[k].name.text, name) == 0) return &m->starts[k];
  return NULL;
}

cpl_status cpli_find_first_links(cpli_built* b) {
  const size_t n = b->def->n_parameters + b->def->n_inputs;
  b->first_links = cpli_alloc(b->base.ctx, n, sizeof *b->first_links);
  if (b->first_links == NULL) return cpli_nomem(b->base.ctx);
  for (size_t i = 0; i < n; i++) b->first_links[i] = -1;
  for (size_t i = b->links.count; i-- > 0;) {
    const cpli_link* link = &b->links.items[i];
    if (link->source.kind != CPLI_REF_PARAMETER && link->source.kind != CPLI_REF_INPUT) continue;
    const cpl_variable* v = &b->sources[link->model]->desc->vars[link->var];
    const bool known = v->has_start || setting_of(&b->def->models[link->model], v->name) != NULL;
    const size_t at = link->source.kind == CPLI_REF_PARAMETER ? 0 : b->def->n_parameters;
    if (known && link->factor != 0) b->first_links[at + (size_t)link->source.index] = (int32_t)i;
  }
  return CPL_OK;
}

// The start value of a variable: that of the definition, or its own.
static cpl_status start_of_variable(cpli_built* b, cpli_functions* f, const cpli_link* link,
                                    double* out) {
  const cpli_member* m = &b->def->models[link->model];
  const cpl_description* d = b->sources[link->model]->desc;
  const cpl_variable* v = &d->vars[link->var];
  const cpli_setting* s = setting_of(m, v->name);
  *out = v->start;
  if (s == NULL) return CPL_OK;
  cpl_component shown = {.desc = d, .ctx = b->base.ctx, .name = m->name.text};
  const char* text = s->number != NULL ? s->number : s->value.text;
  const cpl_enum_item* item = v->type == CPL_ENUMERATION ? find_item(d, v, s->value.text) : NULL;
  if (item != NULL) {
    *out = (double)item->value;
    return CPL_OK;
  }
  if (!cpli_parse_double(text, strlen(text), out))
    return cpli_constant_in_unit(b, f, &s->value, v->name, NULL, false, out);
  return s->transform != NULL ? transform_number(&shown, v, s, out) : CPL_OK;
}

cpl_status cpli_start_of_target(cpli_built* b, cpli_functions* f, cpli_ref_kind kind, int32_t index,
                                double* out) {
  const size_t at = kind == CPLI_REF_PARAMETER ? 0 : b->def->n_parameters;
  const int32_t i = b->first_links[at + (size_t)index];
  if (i < 0) return CPL_OK;
  const cpli_link* link = &b->links.items[i];
  double value;
  cpl_status st = start_of_variable(b, f, link, &value);
  if (st >= 0) *out = (value - link->offset) / link->factor;
  return st;
}

static bool has_value(const cpl_system_def* def, cpli_ref source) {
  if (source.kind == CPLI_REF_PARAMETER) return def->parameters[source.index].value.text != NULL;
  const cpli_input* in = &def->inputs[source.index];
  return in->kind != CPLI_INPUT_FREE || in->start.text != NULL;
}

// "plant.motor.R"
static const char* target_name(const cpli_built* b, const cpli_link* link, char* out, size_t size) {
  snprintf(out, size, "%s.%s", b->def->models[link->model].name.text,
           b->sources[link->model]->desc->vars[link->var].name);
  return out;
}

cpl_status cpli_warn_of_targets(cpli_built* b, cpli_functions* f) {
  cpl_status st = CPL_OK;
  for (size_t i = 0; i < b->links.count && st >= 0; i++) {
    const cpli_link* link = &b->links.items[i];
    const cpli_ref_kind kind = link->source.kind;
    if ((kind != CPLI_REF_PARAMETER && kind != CPLI_REF_INPUT) || has_value(b->def, link->source))
      continue;
    const size_t at = kind == CPLI_REF_PARAMETER ? 0 : b->def->n_parameters;
    const int32_t first = b->first_links[at + (size_t)link->source.index];
    const cpl_variable* v = &b->sources[link->model]->desc->vars[link->var];
    if (first < 0 || (size_t)first == i || link->factor == 0) continue;
    if (!v->has_start && setting_of(&b->def->models[link->model], v->name) == NULL) continue;
    double source = 0, value = 0;
    st = cpli_start_of_target(b, f, kind, link->source.index, &source);
    if (st >= 0) st = start_of_variable(b, f, link, &value);
    const double given = link->factor * source + link->offset;
    if (st < 0 || fabs(given - value) <= 1e-9 * (fabs(value) + fabs(link->offset))) continue;
    const cpli_connection* c = &b->def->connections[link->connection];
    char place[CPLI_LOC_SIZE], one[256], other[256];
    cpl_log(b->base.ctx, CPL_LOG_WARNING, "",
            "%s%s has no value: unless it is given one it is %g, by the start value of %s, and %s "
            "is %g, not its own start value %g",
            cpli_source_loc_text(&c->target.loc, place),
            kind == CPLI_REF_PARAMETER ? b->def->parameters[link->source.index].name.text
                                       : b->def->inputs[link->source.index].name.text,
            source, target_name(b, &b->links.items[first], one, sizeof one),
            target_name(b, link, other, sizeof other), given, value);
  }
  return st;
}

// CPL_RETRY: it depends on one that is not known yet.
static cpl_status evaluate_parameter(cpli_built* b, cpli_functions* f, size_t i) {
  const cpli_located_text* text = &b->def->parameters[i].value;
  double* value = &b->parameters[i];
  bool given = false;
  cpl_status st = b->fixed[i] ? cpli_given_parameter(b, i, value, &given) : CPL_OK;
  if (st < 0 || given) return st;
  *value = 0;
  if (text->text == NULL) return cpli_start_of_target(b, f, CPLI_REF_PARAMETER, (int32_t)i, value);
  return cpli_constant_of_text(f, text, b->parameters, b->known, value);
}

// Parameters may depend on each other in any order: repeats as long as one more becomes known.
cpl_status cpli_evaluate_parameters(cpli_built* b, cpli_functions* f) {
  size_t n = b->def->n_parameters;
  cpl_status st = CPL_OK;
  bool progress = true;
  bool* known = b->known;
  size_t n_known = 0;
  while (progress && st >= 0) {
    progress = false;
    for (size_t i = 0; i < n && st >= 0; i++) {
      if (known[i]) continue;
      cpl_status one = evaluate_parameter(b, f, i);
      if (one < 0) st = one;
      known[i] = one == CPL_OK;
      if (known[i]) b->order[n_known++] = (int32_t)i;
      progress = progress || known[i];
    }
  }
  for (size_t i = 0; i < n && st >= 0; i++) {
    if (known[i]) continue;
    const cpli_parameter* p = &b->def->parameters[i];
    st = cpli_fail_at(b->base.ctx, CPL_ERR_INPUT, &p->value.loc,
                      "the parameter %s depends on itself", p->name.text);
  }
  return st;
}
