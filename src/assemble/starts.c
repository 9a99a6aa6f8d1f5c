// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Start values of a system file: set in the members, and shown in the description of the whole.
#include <stdio.h>

#include "assemble/assemble.h"
#include "format/number.h"
#include "model/start.h"

// A number, an item, a text, a value with a unit; or a constant expression over parameters.
cpl_status cpli_set_start(cpli_built* b, cpli_functions* f, const cpli_setting* s,
                          cpl_component* c) {
  char number[CPLI_NUMBER_SIZE];
  double value;
  int32_t index = cpl_find_variable(c->desc, s->name.text);
  cpl_type type = index >= 0 ? (cpl_type)c->desc->vars[index].type : CPL_REAL;
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
  int32_t var = cpl_find_variable(d, s.name.text);
  int n = snprintf(name, sizeof name, "%s.%s", m->name.text, s.name.text);
  if (var < 0 || n < 0 || (size_t)n >= sizeof name) return CPL_OK;
  s.name.text = name;
  noter note = {aggregate->base, ((cpli_aggregate*)aggregate)->shared_desc};
  note.base.ops = &noter_ops;
  cpl_status st = cpli_set_start(b, f, &s, &note.base);
  bool input = d->vars[var].causality == CPL_CAUSALITY_INPUT && d->vars[var].type == CPL_REAL;
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
      cpl_log(b->base.ctx, CPL_LOG_WARNING, "",
              "%sthe start value of %s.%s is not used%s: the input is connected (%s: %s)",
              cpli_source_loc_text(&name->loc, location), m->name.text, name->text,
              b->is_stepper[i] ? ", unless a loop starts from it" : "", c->target.text,
              c->source.text != NULL ? c->source.text : "...");
    }
  }
}

//------------------------------------ parameters ------------------------------------

// Parameters may depend on each other in any order: repeats as long as one more becomes known.
cpl_status cpli_evaluate_parameters(cpli_built* b, cpli_functions* f) {
  size_t n = b->def->n_parameters;
  cpl_status st = CPL_OK;
  bool progress = true;
  bool* known = b->known;
  while (progress && st >= 0) {
    progress = false;
    for (size_t i = 0; i < n && st >= 0; i++) {
      if (known[i]) continue;
      cpl_status one = cpli_constant_of_text(f, &b->def->parameters[i].value, b->parameters, known,
                                             &b->parameters[i]);
      if (one < 0) st = one;
      known[i] = one == CPL_OK;
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
