// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// What is fixed when a system is built: delay lines, the steps of a master, sizes of arrays.
// Parameters that determine it must be given before; in the description they are structural. Their
// values come from outside (cpl_open_def.starts), or from the start values of the surrounding
// system, which are evaluated here as far as they do not depend on opened models.
#include <stdio.h>

#include "assemble/assemble.h"
#include "format/number.h"
#include "model/start.h"
#include "system/lines.h"

//------------------------------------ values from outside ------------------------------------

// The rest of a name after "prefix."; NULL: it begins otherwise. The name may begin with that of
// the root system of a package.
static const char* after(const char* name, const char* prefix) {
  const size_t n = strlen(prefix);
  return strncmp(name, prefix, n) == 0 && name[n] == '.' ? name + n + 1 : NULL;
}

static const char* without_root(const cpli_built* b, const char* name) {
  const char* rest = b->def->root != NULL ? after(name, b->def->root) : NULL;
  return rest != NULL ? rest : name;
}

static bool is_start_of(const char* given, const char* model, const char* name) {
  const char* rest = model != NULL ? after(given, model) : given;
  return rest != NULL && strcmp(rest, name) == 0;
}

const char* cpli_given_start(const cpli_built* b, const char* model, const char* name) {
  for (size_t i = b->n_starts; i-- > 0;) {
    const char* given = b->starts[i].name;
    if (is_start_of(given, model, name) || is_start_of(without_root(b, given), model, name))
      return b->starts[i].value;
  }
  return NULL;
}

cpl_status cpli_given_parameter(const cpli_built* b, size_t i, double* out, bool* given) {
  const cpli_parameter* p = &b->def->parameters[i];
  const cpl_start start = {p->name.text, cpli_given_start(b, NULL, p->name.text)};
  *given = start.value != NULL;
  if (!*given) return CPL_OK;
  cpl_description d = {.name = b->name, .units = p->unit, .n_units = p->unit != NULL};
  const cpl_component shown = {.desc = &d, .ctx = b->base.ctx, .name = b->name};
  return cpli_start_number(&shown, p->unit != NULL ? 0 : -1, &start, out);
}

//----------------------------- parameters before models are opened -----------------------------

typedef struct early {
  cpli_resolver resolver;  // without models
  cpli_functions functions;
  double* values;
  bool* known;
} early;

// Failures are reported when the system is built.
static void evaluate(cpli_built* b, early* e) {
  const size_t n = b->def->n_parameters;
  for (bool progress = true; progress;) {
    progress = false;
    for (size_t i = 0; i < n; i++) {
      const cpli_located_text* text = &b->def->parameters[i].value;
      bool given = false;
      if (e->known[i]) continue;
      cpl_status st = cpli_given_parameter(b, i, &e->values[i], &given);
      if (!given && text->text == NULL) continue;
      if (!given)
        st = cpli_constant_of_text(&e->functions, text, e->values, e->known, &e->values[i]);
      e->known[i] = st == CPL_OK;
      progress = progress || e->known[i];
    }
  }
}

static cpl_status early_init(cpli_built* b, early* e) {
  const size_t n = b->def->n_parameters;
  *e = (early){.resolver = {.ctx = b->base.ctx, .def = b->def},
               .values = cpli_alloc(b->base.ctx, n, sizeof *e->values),
               .known = cpli_alloc(b->base.ctx, n, sizeof *e->known)};
  e->functions = (cpli_functions){.ctx = b->base.ctx, .resolver = &e->resolver};
  cpli_arena_init(&e->functions.arena, b->base.ctx);
  if (e->values == NULL || e->known == NULL) return cpli_nomem(b->base.ctx);
  evaluate(b, e);
  return CPL_OK;
}

static void early_free(cpli_built* b, early* e) {
  cpli_functions_free(&e->functions);
  cpli_free(b->base.ctx, e->values);
  cpli_free(b->base.ctx, e->known);
}

//------------------------------------ known start values ------------------------------------

static bool is_number(const char* text) {
  double value;
  return cpli_parse_double(text, strlen(text), &value);
}

// Expressions become numbers where their parameters are known.
static cpl_status evaluate_starts(cpli_built* b, const cpli_member* m, cpli_known_starts* k) {
  early e;
  double value;
  cpl_status st = early_init(b, &e);
  for (size_t i = 0; i < m->n_starts && st >= 0; i++) {
    const cpli_setting* s = &m->starts[i];
    char* number = k->numbers + i * CPLI_NUMBER_SIZE;
    if (s->optional || is_number(s->value.text) ||
        cpli_constant_of_text(&e.functions, &s->value, e.values, e.known, &value) != CPL_OK)
      continue;
    cpli_format_double(number, value);
    k->items[i].value = number;
  }
  early_free(b, &e);
  return st;
}

static bool has_expressions(const cpli_built* b, const cpli_member* m) {
  for (size_t i = 0; i < m->n_starts && b->def->n_parameters > 0; i++)
    if (!m->starts[i].optional && !is_number(m->starts[i].value.text)) return true;
  return false;
}

// Those from outside come last and take precedence.
static void add_given(const cpli_built* b, const char* prefix, cpli_known_starts* k) {
  for (size_t i = 0; i < b->n_starts; i++) {
    const char* name = after(b->starts[i].name, prefix);
    if (name == NULL) name = after(without_root(b, b->starts[i].name), prefix);
    if (name != NULL) k->items[k->n++] = (cpl_start){name, b->starts[i].value};
  }
}

cpl_status cpli_known_starts_of(cpli_built* b, const cpli_member* m, cpli_known_starts* out) {
  cpl_context* ctx = b->base.ctx;
  *out =
      (cpli_known_starts){.items = cpli_alloc(ctx, m->n_starts + b->n_starts, sizeof *out->items),
                          .numbers = cpli_alloc(ctx, m->n_starts, CPLI_NUMBER_SIZE)};
  if (out->items == NULL || out->numbers == NULL) return cpli_nomem(ctx);
  for (size_t i = 0; i < m->n_starts; i++)
    out->items[out->n++] = (cpl_start){m->starts[i].name.text, m->starts[i].value.text};
  cpl_status st = has_expressions(b, m) ? evaluate_starts(b, m, out) : CPL_OK;
  add_given(b, m->name.text, out);
  return st;
}

cpl_status cpli_known_starts_of_mode(cpli_built* b, const char* mode, cpli_known_starts* out) {
  *out = (cpli_known_starts){.items = cpli_alloc(b->base.ctx, 2 * b->n_starts, sizeof *out->items)};
  if (out->items == NULL) return cpli_nomem(b->base.ctx);
  for (size_t i = 0; i < b->n_starts; i++)
    out->items[out->n++] = (cpl_start){without_root(b, b->starts[i].name), b->starts[i].value};
  add_given(b, mode, out);
  return CPL_OK;
}

void cpli_known_starts_free(const cpli_built* b, cpli_known_starts* k) {
  cpli_free(b->base.ctx, k->items);
  cpli_free(b->base.ctx, k->numbers);
  *k = (cpli_known_starts){0};
}

//------------------------------------ fixed parameters ------------------------------------

// Marks the parameters of a text. One that cannot be parsed is reported where it is used.
static void mark(cpli_functions* f, const cpli_located_text* text) {
  cpli_constant constant;
  if (text->text != NULL && !is_number(text->text)) cpli_constant_parse(f, text, &constant);
}

static void mark_list(cpli_functions* f, const cpli_list* l) {
  for (size_t i = 0; i < l->n; i++) mark(f, &l->items[i]);
}

// Start values that the model does not get as values: of structural parameters, and of forces of
// delay lines.
static void mark_starts(cpli_built* b, cpli_functions* f) {
  for (size_t i = 0; i < b->def->n_models; i++) {
    const cpli_member* m = &b->def->models[i];
    const cpl_description* d = b->sources[i]->desc;
    for (size_t k = 0; k < m->n_starts; k++) {
      const int32_t var = cpl_find_variable(d, m->starts[k].name.text);
      if (var < 0 || m->starts[k].optional) continue;
      const bool force = b->def->n_lines > 0 && d->vars[var].causality == CPL_CAUSALITY_INPUT;
      if (d->vars[var].structural || force) mark(f, &m->starts[k].value);
    }
  }
}

static void mark_lines(cpli_built* b, cpli_functions* f) {
  const cpl_system_def* d = b->def;
  for (size_t i = 0; i < d->n_lines; i++) {
    mark(f, &d->lines[i].delay);
    mark(f, &d->lines[i].zf);
    mark(f, &d->lines[i].zfr);
    mark(f, &d->lines[i].alpha);
  }
  for (size_t i = 0; i < d->n_interfaces; i++) {
    mark(f, &d->interfaces[i].substeps);
    mark_list(f, &d->interfaces[i].lists[CPLI_LIST_ORIGIN]);
    mark_list(f, &d->interfaces[i].lists[CPLI_LIST_ANGLES]);
  }
  // the parts may run in other processes, which have their own times
  for (size_t i = 0; i < d->n_events && d->n_lines > 0; i++)
    for (size_t k = 0; k < d->events[i].n_at; k++) mark(f, &d->events[i].at[k]);
}

cpl_status cpli_find_fixed(cpli_built* b, cpli_functions* f) {
  const size_t n = b->def->n_parameters;
  bool* done = cpli_alloc(b->base.ctx, n, sizeof *done);
  if (done == NULL) return cpli_nomem(b->base.ctx);
  f->used = b->fixed;
  mark_starts(b, f);
  mark_lines(b, f);
  for (size_t i = 0; i < b->def->cosimulation.n_steps; i++)
    mark(f, &b->def->cosimulation.steps[i].value);
  for (bool more = true; more;) {  // and those that they depend on
    more = false;
    for (size_t i = 0; i < n; i++) {
      if (!b->fixed[i] || done[i]) continue;
      done[i] = more = true;
      mark(f, &b->def->parameters[i].value);
    }
  }
  f->used = NULL;
  cpli_free(b->base.ctx, done);
  return CPL_OK;
}

bool cpli_system_needs_build(const cpl_source* source, const char* variable) {
  const int32_t var = cpl_find_variable(source->desc, variable);
  return var >= 0 && source->desc->vars[var].structural;
}
