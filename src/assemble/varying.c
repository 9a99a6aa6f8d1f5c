// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Systems with modes as members: as a model of variable structure in the aggregate, or as a
// separate stepper. One that is connected to models becomes a model where possible, which avoids
// coupling errors; one without connections keeps a solver of its own.
#include <math.h>
#include <stdio.h>

#include "assemble/assemble.h"

cpli_modes_plan* cpli_modes_of(const cpl_source* source) {
  return cpl_system_definition(source) != NULL ? ((cpli_built*)source)->modes : NULL;
}

//------------------------------------ possibility ------------------------------------

static bool own_solver(const cpl_system_def* def) {
  cpl_experiment_def e = cpl_system_def_experiment(def);
  return e.solver != NULL || e.projection != NULL || e.linear != NULL || !isnan(e.rtol) ||
         !isnan(e.atol) || !isnan(e.step);
}

// Writes why a mode cannot be a component of a model; returns whether there is a reason.
static bool is_obstacle(const cpli_modes_plan* p, int32_t k, char* out, size_t size) {
  const cpli_mode_plan* mode = &p->modes[k];
  const char* name = mode->def->name.text;
  const char* what = mode->source->ops->make_model == NULL       ? "has co-simulation inside"
                     : own_solver(mode->def)                     ? "has a solver of its own"
                     : ((const cpli_built*)mode->source)->varies ? "has a variable structure itself"
                                                                 : NULL;
  if (what != NULL) {
    snprintf(out, size, "mode %s %s", name, what);
    return true;
  }
  for (int32_t i = 0; i < p->n_observed; i++) {
    if (p->observed[i].vars[k] >= 0) continue;
    snprintf(out, size, "%s is not observed in mode %s", p->observed[i].name, name);
    return true;
  }
  return false;
}

static bool cannot(const cpli_built* b, size_t i, char* out, size_t size) {
  const cpli_modes_plan* p = cpli_modes_of(b->sources[i]);
  if (b->tlm != NULL) {
    snprintf(out, size, "the system also has delay lines");
    return true;
  }
  for (int32_t k = 0; k < p->n; k++) {
    if (is_obstacle(p, k, out, size)) return true;
  }
  return false;
}

//------------------------------------ choice ------------------------------------

typedef struct chooser {
  cpli_built* b;
  cpli_functions functions;
  bool* may;  // a system with modes that can be a model and is not set to be a stepper
  bool* joined;
} chooser;

// Whether a value in a relation is known inside of the aggregate.
static bool is_inside(const chooser* c, int32_t model) {
  return model < 0 || c->may[model] || !c->b->is_stepper[model];
}

// A relation between an input and its sources: a candidate becomes a model where any other variable
// of the relation is inside.
static void join(chooser* c, int32_t target, const cpl_port* sources, int32_t n) {
  if (n == 0 && c->may[target]) c->joined[target] = true;  // the aggregate computes constants, too
  for (int32_t i = 0; i < n; i++) {
    if (sources[i].part == target) continue;
    if (is_inside(c, sources[i].part) && c->may[target]) c->joined[target] = true;
    if (sources[i].part >= 0 && is_inside(c, target) && c->may[sources[i].part])
      c->joined[sources[i].part] = true;
  }
}

static cpl_status join_link(chooser* c, const cpli_link* link) {
  const cpli_connection* def = &c->b->def->connections[link->connection];
  cpl_function f = {0};
  cpl_port source = {0};
  if (def->coupling != NULL) {  // a function of the program, with sources of any kind
    for (size_t i = 0; i < c->b->def->n_models; i++) {
      source.part = (int32_t)i;
      join(c, link->model, &source, 1);
    }
    return CPL_OK;
  }
  if (link->source.kind != CPLI_REF_NONE) {
    source = cpli_port_of(&c->functions, link->source);
    join(c, link->model, &source, 1);
    return CPL_OK;
  }
  cpl_status st = cpli_function_of_text(&c->functions, &def->source, &f, NULL);
  if (st >= 0) join(c, link->model, f.sources, f.n_sources);
  return st;
}

// Whether a master is requested that would have nothing else to couple.
static bool wants_master(const cpli_built* b) {
  size_t modes = 0;
  for (size_t i = 0; i < b->def->n_models; i++) modes += cpli_modes_of(b->sources[i]) != NULL;
  return b->def->cosimulation.given && b->n_steppers == modes;
}

static cpl_status demand(chooser* c, size_t i) {
  const cpli_member* m = &c->b->def->models[i];
  char why[512];
  if (cannot(c->b, i, why, sizeof why))
    return cpli_fail_at(c->b->base.ctx, CPL_ERR_INPUT, &m->as_place,
                        "model %s: as: me: it cannot be a model of variable structure: %s",
                        m->name.text, why);
  c->may[i] = c->joined[i] = true;
  return CPL_OK;
}

static cpl_status choose(chooser* c) {
  cpli_built* b = c->b;
  cpl_status st = CPL_OK;
  bool master = wants_master(b), any = false;
  char why[512];
  for (size_t i = 0; i < b->def->n_models && st >= 0; i++) {
    const cpli_member* m = &b->def->models[i];
    if (cpli_modes_of(b->sources[i]) == NULL) continue;
    if (m->as == CPL_AS_MODEL_EXCHANGE) st = demand(c, i);
    else if (m->as != CPL_AS_CO_SIMULATION && !m->prefers_steps && !master)
      c->may[i] = !cannot(b, i, why, sizeof why);
    any = any || c->may[i];
  }
  for (size_t i = 0; i < b->links.count && st >= 0 && any; i++)
    st = join_link(c, &b->links.items[i]);
  for (size_t i = 0; i < b->def->n_models && st >= 0; i++) {
    if (!c->joined[i]) continue;
    b->is_stepper[i] = false;
    b->n_steppers--;
  }
  return st;
}

cpl_status cpli_varying_choose(cpli_built* b) {
  cpl_context* ctx = b->base.ctx;
  size_t n = b->def->n_models;
  chooser c = {.b = b,
               .functions = {.ctx = ctx,
                             .resolver = &b->resolver,
                             .first_input = (int32_t)b->def->n_parameters},
               .may = cpli_alloc(ctx, 2 * n, sizeof *c.may)};
  if (c.may == NULL) return cpli_nomem(ctx);
  c.joined = c.may + n;
  cpli_arena_init(&c.functions.arena, ctx);
  cpl_status st = choose(&c);
  cpli_functions_free(&c.functions);
  cpli_free(ctx, c.may);
  return st;
}

//------------------------------------ instances ------------------------------------

typedef struct maker {
  cpl_source* source;
  const char* name;
} maker;

static cpl_status make_mode(void* user, cpl_model** out) {
  const maker* m = user;
  return m->source->ops->make_model(m->source, m->name, out);
}

bool cpli_varying_is(const cpl_source* source) { return cpli_modes_of(source) != NULL; }

cpl_status cpli_varying_make(cpl_source* source, const char* name, cpl_model** out) {
  cpli_modes_plan* p = cpli_modes_of(source);
  cpl_modes_def whole;
  cpl_mode* modes = cpli_alloc(p->ctx, (size_t)p->n, sizeof *modes);
  if (modes == NULL) return cpli_nomem(p->ctx);
  cpli_modes_fill((cpli_built*)source, p, modes, &whole);
  whole.name = name;
  cpl_status st = CPL_OK;
  for (int32_t k = 0; k < p->n && st >= 0; k++) {
    maker* m = cpli_arena_alloc(&p->arena, 1, sizeof *m);
    if (m != NULL) *m = (maker){p->modes[k].source, modes[k].name};
    modes[k].make_model = make_mode;
    modes[k].user = m;
    st = m == NULL ? cpli_nomem(p->ctx) : make_mode(m, &modes[k].model);
  }
  if (st >= 0) {
    st = cpli_modes_create_model(p->ctx, &whole, p->shared_desc, out);
  } else {
    for (int32_t k = 0; k < p->n; k++) {
      if (modes[k].model != NULL) modes[k].model->base.ops->destroy(&modes[k].model->base);
    }
  }
  cpli_free(p->ctx, modes);
  return st;
}
