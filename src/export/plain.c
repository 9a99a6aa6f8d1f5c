// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A plain copy of a definition refers to the arrays of the definition where nothing changes.
#include "export/plain.h"

#include <math.h>
#include <stdio.h>

#include "couplet/solver.h"
#include "format/number.h"
#include "model/units.h"
#include "system/transform.h"

typedef struct plain {
  cpl_context* ctx;
  const cpli_built* system;
  cpl_system_def copy;  // its arrays below, all others are those of the system
  cpli_arena arena;
} plain;

//------------------------------------ values ------------------------------------

// A parameter that a connection sets needs no value of a parameter set.
static bool is_replaced(const plain* p, size_t model, const cpli_setting* s) {
  const cpl_description* d = p->system->sources[model]->desc;
  const int32_t var = cpl_find_variable(d, s->name.text);
  if (!s->optional || var < 0 || d->vars[var].causality == CPL_CAUSALITY_INPUT) return false;
  return cpli_links_find(&p->system->links, &p->system->resolver, (int32_t)model, var) >= 0;
}

static cpl_status plain_starts(plain* p, size_t model) {
  cpli_member* m = &p->copy.models[model];
  cpli_setting* starts = cpli_arena_alloc(&p->arena, m->n_starts + 1, sizeof *starts);
  size_t n = 0;
  if (starts == NULL) return cpli_nomem(p->ctx);
  for (size_t i = 0; i < m->n_starts; i++) {
    char* text;
    if (is_replaced(p, model, &m->starts[i])) continue;
    cpl_status st = cpli_start_text(p->system, model, &m->starts[i], &text);
    if (st < 0) return st;
    if (text == NULL) continue;
    starts[n] = (cpli_setting){.name = m->starts[i].name, .value.loc = m->starts[i].value.loc};
    starts[n].value.text = cpli_arena_strdup(&p->arena, text);
    cpli_free(p->ctx, text);
    if (starts[n++].value.text == NULL) return cpli_nomem(p->ctx);
  }
  m->starts = starts;
  m->n_starts = n;
  return CPL_OK;
}

// Factor and offset as one step without units.
static const cpli_transform* scaling(plain* p, double factor, double offset) {
  cpli_transform* t = cpli_arena_alloc(&p->arena, 1, sizeof *t);
  cpli_transform_step* step = cpli_arena_alloc(&p->arena, 1, sizeof *step);
  if (t == NULL || step == NULL) return NULL;
  *step = (cpli_transform_step){.factor = factor, .offset = offset};
  *t = (cpli_transform){.steps = step, .n_steps = 1};
  return t;
}

static bool needs_no_conversion(const plain* p, const cpli_link* link) {
  const cpl_variable* to = &p->system->sources[link->model]->desc->vars[link->var];
  const cpl_variable* from = cpli_ref_variable(&p->system->resolver, link->source);
  return to->type == CPL_REAL && to->width == CPL_WIDTH_OWN &&
         (from == NULL || from->type == CPL_REAL);
}

static cpl_status plain_connections(plain* p) {
  for (size_t k = 0; k < p->system->links.count; k++) {
    const cpli_link* link = &p->system->links.items[k];
    cpli_connection* c = &p->copy.connections[link->connection];
    if (needs_no_conversion(p, link)) c->convert = false;
    if (p->system->def->connections[link->connection].transform == NULL) continue;
    c->keep_units = true;
    c->transform = NULL;
    if (link->factor == 1 && link->offset == 0) continue;
    c->transform = scaling(p, link->factor, link->offset);
    if (c->transform == NULL) return cpli_nomem(p->ctx);
  }
  return CPL_OK;
}

// "2*'a.y' + 1": units are not converted in expressions.
static cpl_status plain_output(plain* p, cpli_output* o) {
  const cpli_ref none = {CPLI_REF_NONE, -1, -1};
  cpli_ref ref;
  double factor = 1, offset = 0;
  if (o->transform == NULL || !cpli_resolver_find(&p->system->resolver, o->source.text, &ref))
    return CPL_OK;
  cpl_status st = cpli_transform_refs(&p->system->resolver, &o->source.loc, o->transform, none, ref,
                                      &factor, &offset);
  o->transform = NULL;
  if (st < 0 || (factor == 1 && offset == 0)) return st;
  char by[CPLI_NUMBER_SIZE], plus[CPLI_NUMBER_SIZE];
  cpli_format_double(by, factor);
  cpli_format_double(plus, offset);
  size_t size = strlen(o->source.text) + sizeof by + sizeof plus + 8;
  char* text = cpli_arena_alloc(&p->arena, size, 1);
  if (text == NULL) return cpli_nomem(p->ctx);
  snprintf(text, size, "%s*'%s' + %s", by, o->source.text, plus);
  o->source.text = text;
  return CPL_OK;
}

static cpl_status plain_values(plain* p) {
  for (size_t i = 0; i < p->copy.n_parameters; i++) {
    cpli_parameter* one = &p->copy.parameters[i];
    char number[CPLI_NUMBER_SIZE];
    if (one->value.text != NULL) continue;
    cpli_format_double(number, p->system->parameters[i]);
    one->value.text = cpli_arena_strdup(&p->arena, number);
    if (one->value.text == NULL) return cpli_nomem(p->ctx);
  }
  for (size_t i = 0; i < p->copy.n_inputs; i++) {
    cpl_unit unit;
    cpli_input* in = &p->copy.inputs[i];
    if (in->meaning != NULL && in->unit.text != NULL && !cpli_unit_parse(in->unit.text, &unit))
      in->unit.text = NULL;  // only the package knows it, and connections have the factors
  }
  return CPL_OK;
}

// The steps of a package follow from the tolerance (docs/ssp.md); a system file says so.
static void plain_master(plain* p) {
  const cpli_members* made = p->system->draft;
  const cpl_experiment_def* e = &p->copy.experiment.values;
  if (!p->copy.cosimulation.automatic || made == NULL) return;
  for (size_t i = 0; i < p->copy.n_models; i++) {
    const cpl_stepper* s = made->steppers[i];
    if (s != NULL && !(s->base.can.variable_step && s->base.can.save_restore)) return;
  }
  p->copy.cosimulation = cpli_default_cosimulation();
  p->copy.cosimulation.given = true;
  p->copy.cosimulation.tolerance = isnan(e->rtol) ? cpl_default_solver_def().rtol : e->rtol;
}

// In a composite model a sub-model is for co-simulation where it can be.
static void plain_kind(plain* p, size_t model) {
  cpli_member* m = &p->copy.models[model];
  if (!m->prefers_steps) return;
  m->prefers_steps = false;
  m->as = p->system->is_stepper[model] ? CPL_AS_CO_SIMULATION : CPL_AS_MODEL_EXCHANGE;
}

static cpl_status make_plain(plain* p) {
  const cpl_system_def* def = p->system->def;
  p->copy = *def;
  const struct {
    void* list;
    size_t n, size;
  } lists[] = {{&p->copy.models, def->n_models, sizeof *def->models},
               {&p->copy.connections, def->n_connections, sizeof *def->connections},
               {&p->copy.outputs, def->n_outputs, sizeof *def->outputs},
               {&p->copy.parameters, def->n_parameters, sizeof *def->parameters},
               {&p->copy.inputs, def->n_inputs, sizeof *def->inputs}};
  for (size_t i = 0; i < CPLI_COUNT(lists); i++) {
    void** list = lists[i].list;
    void* own = cpli_arena_alloc(&p->arena, lists[i].n + 1, lists[i].size);
    if (own == NULL) return cpli_nomem(p->ctx);
    if (lists[i].n > 0) memcpy(own, *list, lists[i].n * lists[i].size);
    *list = own;
  }
  cpl_status st = CPL_OK;
  for (size_t i = 0; i < def->n_models && st >= 0; i++) {
    plain_kind(p, i);
    st = plain_starts(p, i);
  }
  if (st >= 0) st = plain_connections(p);
  for (size_t i = 0; i < def->n_outputs && st >= 0; i++) st = plain_output(p, &p->copy.outputs[i]);
  if (st >= 0) st = plain_values(p);
  plain_master(p);
  return st;
}

cpl_status cpli_plain_text(const cpli_built* system, const cpli_write_def* how, char** text,
                           size_t* size) {
  plain p = {.ctx = system->base.ctx, .system = system};
  cpli_arena_init(&p.arena, p.ctx);
  cpl_status st = make_plain(&p);
  if (st >= 0) st = cpli_def_to_text(&p.copy, how, text, size);
  cpli_arena_free(&p.arena);
  return st;
}
