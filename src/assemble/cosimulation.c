// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A system with steppers: its members and the aggregate are coupled by a master.
#include <math.h>
#include <stdlib.h>

#include "assemble/assemble.h"
#include "couplet/component.h"
#include "couplet/solver.h"
#include "format/source_loc.h"
#include "solver/independent.h"

//------------------------------------ parts and links ------------------------------------

// The parts of the master in the order of their names: members outside of the aggregate, and it.
typedef struct layout_part {
  const char* name;
  int32_t model;  // -1: the aggregate
} layout_part;

typedef struct layout {
  layout_part* parts;
  int32_t n;
  int32_t* part_of;  // by model; the aggregate comes last
  cpl_master_link* links;
  int32_t n_links;
} layout;

static int by_name(const void* x, const void* y) {
  const layout_part *a = x, *b = y;
  int order = strcmp(a->name, b->name);
  return order != 0 ? order : a->model < b->model ? -1 : a->model > b->model;
}

static void free_layout(cpli_built* b, layout* l) {
  cpli_free(b->base.ctx, l->parts);
  cpli_free(b->base.ctx, l->part_of);
  cpli_free(b->base.ctx, l->links);
}

static cpl_status end_of(cpli_built* b, const cpli_members* d, const layout* l,
                         const cpli_route_end* end, int32_t* part, int32_t* var) {
  size_t n = b->def->n_models;
  if (end->name == NULL && b->is_stepper[end->model]) {
    *part = l->part_of[end->model];
    *var = end->var;
    return CPL_OK;
  }
  *part = l->part_of[n];
  char* text = NULL;
  if (end->name == NULL)  // a variable of a member
    text = cpli_printf(b->base.ctx, "%s.%s", b->def->models[end->model].name.text,
                       b->sources[end->model]->desc->vars[end->var].name);
  *var = cpl_find_variable(d->inner->base.desc, end->name != NULL ? end->name : text);
  cpli_free(b->base.ctx, text);
  return *var >= 0 ? CPL_OK : cpli_nomem(b->base.ctx);
}

static cpl_status make_layout(cpli_built* b, const cpli_members* d, layout* l) {
  cpl_context* ctx = b->base.ctx;
  const cpli_assembly* one = d->assembly;
  size_t n = b->def->n_models;
  *l = (layout){.parts = cpli_alloc(ctx, n + 1, sizeof *l->parts),
                .part_of = cpli_alloc(ctx, n + 1, sizeof *l->part_of),
                .links = cpli_alloc(ctx, one->n_routes, sizeof *l->links)};
  if (l->parts == NULL || l->part_of == NULL || l->links == NULL) return cpli_nomem(ctx);
  for (size_t i = 0; i < n; i++) {
    if (b->is_stepper[i]) l->parts[l->n++] = (layout_part){b->def->models[i].name.text, (int32_t)i};
  }
  if (d->inner != NULL) l->parts[l->n++] = (layout_part){d->inner->base.name, -1};
  qsort(l->parts, (size_t)l->n, sizeof *l->parts, by_name);
  for (int32_t i = 0; i < l->n; i++)
    l->part_of[l->parts[i].model >= 0 ? (size_t)l->parts[i].model : n] = i;
  cpl_status st = CPL_OK;
  for (size_t i = 0; i < one->n_routes && st >= 0; i++) {
    const cpli_route* w = &one->routes[i];
    cpl_master_link* link = &l->links[l->n_links++];
    *link = (cpl_master_link){.factor = w->factor, .offset = w->offset};
    st = end_of(b, d, l, &w->source, &link->source_part, &link->source_var);
    if (st >= 0) st = end_of(b, d, l, &w->target, &link->target_part, &link->target_var);
  }
  return st;
}

static cpl_status merge(cpli_built* b, const cpli_members* d, const layout* l,
                        cpli_shared_desc** out) {
  cpl_context* ctx = b->base.ctx;
  cpli_merge_part* parts = cpli_alloc(ctx, (size_t)l->n, sizeof *parts);
  if (parts == NULL) return cpli_nomem(ctx);
  for (int32_t i = 0; i < l->n; i++) {
    int32_t model = l->parts[i].model;
    parts[i] = (cpli_merge_part){
        l->parts[i].name, model >= 0 ? b->sources[model]->desc : d->inner->base.desc, model < 0};
  }
  cpl_status st = cpli_merge(ctx, b->name, parts, l->n, l->links, l->n_links, out);
  cpli_free(ctx, parts);
  return st;
}

cpl_status cpli_members_describe(cpli_built* b, cpli_members* d) {
  layout l;
  cpl_status st = make_layout(b, d, &l);
  if (st >= 0) st = merge(b, d, &l, &b->shared_desc);
  free_layout(b, &l);
  return st;
}

cpl_status cpli_members_order(cpli_built* b, const cpli_members* d, int32_t* models) {
  layout l;
  cpl_status st = make_layout(b, d, &l);
  for (int32_t i = 0; i < l.n && st >= 0; i++) models[i] = l.parts[i].model;
  free_layout(b, &l);
  return st;
}

//------------------------------------ settings ------------------------------------

static cpl_status bad_word(cpli_built* b, const cpli_located_text* t, const char* key,
                           const char* known) {
  return cpli_fail_at(b->base.ctx, CPL_ERR_INPUT, &t->loc, "%s: %s is not known (%s)", key, t->text,
                      known);
}

static cpl_status take_options(cpli_built* b, cpl_master_def* out) {
  const cpli_cosimulation* c = &b->def->cosimulation;
  if (c->algorithm.text != NULL &&
      !cpl_master_algorithm_by_name(c->algorithm.text, &out->algorithm))
    return bad_word(b, &c->algorithm, "algorithm", "determinate, jacobi, gauss-seidel, iterative");
  if (c->on_loop.text != NULL && !cpl_on_loop_by_name(c->on_loop.text, &out->on_loop))
    return bad_word(b, &c->on_loop, "on-loop", "auto, iterate, delay, error");
  if (c->estimate.text != NULL && !cpl_step_estimate_by_name(c->estimate.text, &out->estimate))
    return bad_word(b, &c->estimate, "estimate", "predictor, richardson, energy");
  if (c->legacy.text != NULL) {
    out->strict = strcmp(c->legacy.text, "error") == 0;
    if (!out->strict && strcmp(c->legacy.text, "warn") != 0)
      return bad_word(b, &c->legacy, "legacy", "warn, error");
  }
  return CPL_OK;
}

// The shortest step that an FMU gives as its default.
static double step_of_models(const cpli_built* b) {
  double step = INFINITY;
  for (size_t i = 0; i < b->def->n_models; i++) {
    const cpl_default_experiment* e = &b->sources[i]->desc->experiment;
    if (b->is_stepper[i] && e->has_step && e->step > 0) step = fmin(step, e->step);
  }
  return isfinite(step) ? step : 0;
}

static void take_numbers(cpli_built* b, const cpl_stepper_def* def, cpl_master_def* out) {
  const cpli_cosimulation* c = &b->def->cosimulation;
  double own = step_of_models(b);
  out->step = def->step > 0                 ? def->step
              : c->given && !isnan(c->step) ? c->step
              : own > 0                     ? own
                                            : def->usual_step;
  if (!c->given) return;
  if (!isnan(c->tolerance)) out->tolerance = c->tolerance;
  if (!isnan(c->min_step)) out->min_step = c->min_step;
  if (!isnan(c->loop_tolerance)) out->loop_tolerance = c->loop_tolerance;
  if (c->order >= 0) out->order = (int32_t)c->order;
  if (c->iterations > 0) out->max_iterations = (int32_t)c->iterations;
  if (c->fixed_iterations > 0) out->fixed_iterations = (int32_t)c->fixed_iterations;
  if (c->threads > 0) out->threads = (int32_t)c->threads;
  out->output_derivatives = c->output_derivatives;
}

cpl_status cpli_take_master(cpli_built* b, const cpl_stepper_def* def, cpl_master_def* out) {
  take_numbers(b, def, out);
  return take_options(b, out);
}

static cpl_status take_steps(cpli_built* b, cpli_functions* f, const layout* l,
                             cpl_master_part* parts) {
  const cpli_cosimulation* c = &b->def->cosimulation;
  for (size_t i = 0; i < c->n_steps; i++) {
    const cpli_setting* s = &c->steps[i];
    int32_t model = cpli_names_find(&b->def->model_names, s->name.text);
    double step = 0;
    if (model < 0 || !b->is_stepper[model])
      return cpli_fail_at(b->base.ctx, CPL_ERR_INPUT, &s->name.loc,
                          "steps: %s is not a co-simulation model of this system", s->name.text);
    cpl_status st = cpli_constant_of_text(f, &s->value, b->parameters, b->known, &step);
    if (st < 0) return st;
    if (!(step > 0))
      return cpli_fail_at(b->base.ctx, CPL_ERR_INPUT, &s->value.loc,
                          "steps: the step of %s is %g; it must be positive", s->name.text, step);
    parts[l->part_of[model]].step = step;
  }
  return CPL_OK;
}

static cpl_status bond_end(cpli_built* b, const layout* l, const cpli_located_text* text,
                           int32_t* part, int32_t* var) {
  cpli_ref ref;
  cpl_status st = cpli_resolver_require(&b->resolver, text, &ref);
  if (st < 0) return st;
  if (ref.kind != CPLI_REF_VARIABLE || !b->is_stepper[ref.model])
    return cpli_fail_at(b->base.ctx, CPL_ERR_INPUT, &text->loc,
                        "bonds: %s is not an input of a co-simulation model", text->text);
  *part = l->part_of[ref.model];
  *var = ref.index;
  return CPL_OK;
}

static cpl_status take_bonds(cpli_built* b, const layout* l, cpl_master_bond* bonds) {
  const cpli_cosimulation* c = &b->def->cosimulation;
  cpl_status st = CPL_OK;
  for (size_t i = 0; i < c->n_bonds && st >= 0; i++) {
    st = bond_end(b, l, &c->bonds[i].name, &bonds[i].effort_part, &bonds[i].effort_var);
    if (st >= 0) st = bond_end(b, l, &c->bonds[i].value, &bonds[i].flow_part, &bonds[i].flow_var);
  }
  return st;
}

//------------------------------------ composition ------------------------------------

cpl_status cpli_take_solver(const cpl_system_def* def, cpl_solver_def* solver) {
  const cpli_experiment* e = &def->experiment;
  const cpl_experiment_def* v = &e->values;
  const struct {
    const char* text;
    int key;
    bool known;
    const char* names;
  } choices[] = {
      {v->solver, CPLI_SOLVER, v->solver == NULL || cpl_solver_by_name(v->solver, &solver->kind),
       cpl_solver_names()},
      {v->linear, CPLI_LINEAR_KEY,
       v->linear == NULL || cpl_linear_solver_by_name(v->linear, &solver->linear), "direct, gmres"},
      {v->projection, CPLI_PROJECTION_KEY,
       v->projection == NULL || cpl_projection_by_name(v->projection, &solver->projection),
       "auto, lazy, every, events, off"},
      {v->loops, CPLI_LOOPS_KEY, v->loops == NULL || cpl_loops_by_name(v->loops, &solver->form),
       "nested, as-rows"}};
  for (size_t i = 0; i < CPLI_COUNT(choices); i++) {
    if (!choices[i].known)
      return cpli_fail_at(def->ctx, CPL_ERR_INPUT, &e->locs[choices[i].key], "%s is not known (%s)",
                          choices[i].text, choices[i].names);
  }
  if (!isnan(v->step)) solver->step = v->step;
  if (!isnan(v->rtol)) solver->rtol = v->rtol;
  if (!isnan(v->atol)) solver->atol = v->atol;
  return CPL_OK;
}

cpl_status cpli_member_stepper(cpli_built* b, cpli_members* d, int32_t model,
                               const cpl_stepper_def* def, bool coupled, cpl_stepper** out) {
  cpl_solver_def solver = def->solver;
  solver.restart_each_step = coupled;
  solver.one_solver = true;
  cpl_model** from = model >= 0 ? &d->models[model] : &d->inner;
  if (model >= 0 && d->steppers[model] != NULL) {
    *out = d->steppers[model];
    d->steppers[model] = NULL;
    return CPL_OK;
  }
  if (*from != NULL) {
    cpl_model* m = *from;
    *from = NULL;
    return cpl_integrate(m, &solver, out);
  }
  const cpli_member* member = &b->def->models[model];
  cpl_stepper_def inner = cpl_default_stepper_def();
  inner.name = member->name.text;
  inner.solver = solver;
  cpl_status st = cpli_take_solver(cpl_system_definition(b->sources[model]), &inner.solver);
  if (st >= 0) st = cpl_system_stepper(b->sources[model], &inner, out);
  for (size_t k = 0; k < member->n_starts && st >= 0; k++)
    st = cpli_set_start(b, &d->assembly->functions, &member->starts[k], &(*out)->base);
  return st;
}

// Steps of a definition that says nothing of them, such as that of a package: they follow from the
// tolerance where all parts can vary them and repeat a step that was too long.
static void choose_control(const cpli_built* b, const cpl_stepper_def* def, cpl_master_def* m,
                           const cpl_master_part* parts, int32_t n) {
  const char *who = NULL, *why = NULL;
  if (!b->def->cosimulation.automatic || def->step > 0) return;
  for (int32_t i = 0; i < n && who == NULL; i++) {
    const cpl_component* c = &parts[i].stepper->base;
    if (c->can.variable_step && c->can.save_restore) continue;
    who = c->name;
    why = c->can.variable_step ? "cannot be rolled back" : "cannot vary its step";
  }
  m->tolerance = who == NULL ? def->solver.rtol : 0;
  if (who != NULL)
    cpl_log(b->base.ctx, CPL_LOG_WARNING, b->name,
            "the communication step is fixed at %g s, because the package has none and %s %s; "
            "compare with a shorter one (--step)",
            m->step, who, why);
}

static cpl_status make_master(cpli_built* b, cpli_members* d, const cpl_stepper_def* def,
                              const layout* l, cpli_shared_desc* merged, cpl_master_part* parts,
                              cpl_master_bond* bonds, cpl_stepper** out) {
  cpl_master_def m = cpl_default_master_def();
  int32_t made = 0;
  cpl_status st = cpli_take_master(b, def, &m);
  for (; made < l->n && st >= 0; made++) {
    parts[made].plain_names = l->parts[made].model < 0;
    st = cpli_member_stepper(b, d, l->parts[made].model, def, true, &parts[made].stepper);
    if (st < 0) break;
  }
  if (st >= 0) st = take_steps(b, &d->assembly->functions, l, parts);
  if (st >= 0) st = take_bonds(b, l, bonds);
  if (st < 0) {
    for (int32_t i = 0; i < made; i++) parts[i].stepper->base.ops->destroy(&parts[i].stepper->base);
    return st;
  }
  choose_control(b, def, &m, parts, l->n);
  m.name = def->name != NULL ? def->name : b->name;
  m.parts = parts;
  m.n_parts = l->n;
  m.links = l->links;
  m.n_links = l->n_links;
  m.bonds = bonds;
  m.n_bonds = (int32_t)b->def->cosimulation.n_bonds;
  return cpli_master_create(b->base.ctx, &m, merged, out);
}

static cpl_status couple(cpli_built* b, cpli_members* d, const cpl_stepper_def* def,
                         const layout* l, cpli_shared_desc* merged, cpl_stepper** out) {
  cpl_context* ctx = b->base.ctx;
  cpl_master_part* parts = cpli_alloc(ctx, (size_t)l->n, sizeof *parts);
  cpl_master_bond* bonds = cpli_alloc(ctx, b->def->cosimulation.n_bonds, sizeof *bonds);
  cpl_status st = parts != NULL && bonds != NULL ? CPL_OK : cpli_nomem(ctx);
  if (st >= 0) st = make_master(b, d, def, l, merged, parts, bonds, out);
  cpli_free(ctx, parts);
  cpli_free(ctx, bonds);
  return st;
}

//------------------------------------ independent steppers ------------------------------------

// Whether a stepper made of it has the operation ahead: an integrated model, or modes of those.
static bool works_ahead(const cpl_source* source) {
  if (source->ops->make_model != NULL) return source->ops->make_stepper == NULL;
  const cpli_modes_plan* p = cpli_modes_of(source);
  for (int32_t k = 0; p != NULL && k < p->n; k++) {
    if (p->modes[k].source->ops->make_model == NULL) return false;
  }
  return p != NULL;
}

// Members without connections need no master, unless one is requested.
static bool is_loose(const cpli_built* b, const layout* l) {
  for (size_t i = 0; i < b->def->n_models; i++) {
    if (b->is_stepper[i] && !works_ahead(b->sources[i])) return false;
  }
  return l->n_links == 0 && !b->def->cosimulation.given;
}

// The parts belong to *out from here on, also when this fails. Nullable: routes
static cpl_status make_one(cpli_built* b, const cpl_stepper_def* def, cpl_stepper* const* parts,
                           int32_t n, const cpl_route* routes, cpli_starter* starter,
                           cpl_stepper** out) {
  cpli_independent_def d = {.name = def->name != NULL ? def->name : b->name,
                            .steppers = parts,
                            .n = n,
                            .desc = b->shared_desc,
                            .routes = routes,
                            .starter = starter};
  return cpli_independent(b->base.ctx, &d, out);
}

static cpl_status make_independent(cpli_built* b, cpli_members* d, const cpl_stepper_def* def,
                                   const layout* l, cpli_starter* starter, cpl_stepper** out) {
  cpl_context* ctx = b->base.ctx;
  cpl_stepper** parts = cpli_alloc(ctx, (size_t)l->n, sizeof(cpl_stepper*));
  cpl_status st = parts != NULL ? CPL_OK : cpli_nomem(ctx);
  int32_t made = 0;
  for (; made < l->n && st >= 0; made++) {
    st = cpli_member_stepper(b, d, l->parts[made].model, def, false, &parts[made]);
    if (st < 0) break;
  }
  if (st >= 0) st = make_one(b, def, parts, l->n, NULL, starter, out);
  else
    for (int32_t i = 0; i < made; i++) parts[i]->base.ops->destroy(&parts[i]->base);
  cpli_free(ctx, parts);
  return st;
}

//------------------------------- steppers independent of the master -------------------------------

static bool has_step(const cpli_built* b, int32_t model) {
  const cpli_cosimulation* c = &b->def->cosimulation;
  for (size_t i = 0; i < c->n_steps && model >= 0; i++) {
    if (strcmp(c->steps[i].name.text, b->def->models[model].name.text) == 0) return true;
  }
  return false;
}

// Finds and counts the parts that the master has to couple: those that are linked, named in the
// section `master`, or unable to advance at their own pace.
static int32_t find_linked(const cpli_built* b, const layout* l, bool* linked) {
  int32_t n = 0;
  bool all = l->n_links == 0 || b->def->cosimulation.n_bonds > 0;
  for (int32_t i = 0; i < l->n_links; i++)
    linked[l->links[i].source_part] = linked[l->links[i].target_part] = true;
  for (int32_t i = 0; i < l->n; i++) {
    int32_t model = l->parts[i].model;
    if (all || has_step(b, model) || (model >= 0 && !works_ahead(b->sources[model])))
      linked[i] = true;
    n += linked[i];
  }
  return n;
}

// The layout of the linked parts. number[i]: the index of each part in it; -1: none.
static cpl_status take_linked(cpli_built* b, const layout* l, const bool* linked, int32_t* number,
                              layout* out) {
  cpl_context* ctx = b->base.ctx;
  size_t models = b->def->n_models;
  *out = (layout){.parts = cpli_alloc(ctx, (size_t)l->n, sizeof *out->parts),
                  .part_of = cpli_alloc(ctx, models + 1, sizeof *out->part_of),
                  .links = cpli_alloc(ctx, (size_t)l->n_links, sizeof *out->links)};
  if (out->parts == NULL || out->part_of == NULL || out->links == NULL) return cpli_nomem(ctx);
  for (int32_t i = 0; i < l->n; i++) {
    number[i] = linked[i] ? out->n : -1;
    if (!linked[i]) continue;
    int32_t model = l->parts[i].model;
    out->part_of[model >= 0 ? (size_t)model : models] = out->n;
    out->parts[out->n++] = l->parts[i];
  }
  for (int32_t i = 0; i < l->n_links; i++) {
    cpl_master_link link = l->links[i];
    link.source_part = number[link.source_part];
    link.target_part = number[link.target_part];
    out->links[out->n_links++] = link;
  }
  return CPL_OK;
}

// The master comes after the independent steppers. Its variables are in the order they have in the
// whole.
static void find_slots(const cpli_built* b, const layout* l, int32_t* number, cpl_route* slots) {
  int32_t n = 0;
  uint32_t inner = 0;
  for (int32_t i = 0; i < l->n; i++) {
    if (number[i] < 0) number[i] = -1 - n++;
  }
  for (int32_t v = 0; v < b->shared_desc->desc.n_vars; v++) {
    int32_t part = number[b->shared_desc->routes[v].component];
    slots[v] =
        part >= 0 ? (cpl_route){n, inner++} : (cpl_route){-1 - part, b->shared_desc->routes[v].ref};
  }
}

static cpl_status make_linked(cpli_built* b, cpli_members* d, const cpl_stepper_def* def,
                              const layout* l, cpl_stepper** out) {
  cpli_shared_desc* merged = NULL;
  cpl_status st = merge(b, d, l, &merged);
  if (st >= 0) st = couple(b, d, def, l, merged, out);
  cpli_shared_desc_release(merged);
  return st;
}

// The steppers without links first, then the master.
static cpl_status make_all(cpli_built* b, cpli_members* d, const cpl_stepper_def* def,
                           const layout* l, const layout* inner, const bool* linked,
                           cpl_stepper** parts, int32_t* n) {
  cpl_status st = CPL_OK;
  for (int32_t i = 0; i < l->n && st >= 0; i++) {
    if (linked[i]) continue;
    st = cpli_member_stepper(b, d, l->parts[i].model, def, false, &parts[*n]);
    *n += st >= 0;
  }
  if (st >= 0) st = make_linked(b, d, def, inner, &parts[*n]);
  *n += st >= 0;
  return st;
}

static cpl_status couple_linked(cpli_built* b, cpli_members* d, const cpl_stepper_def* def,
                                const layout* l, const bool* linked, cpli_starter* starter,
                                cpl_stepper** out) {
  cpl_context* ctx = b->base.ctx;
  layout inner = {0};
  int32_t* number = cpli_alloc(ctx, (size_t)l->n, sizeof *number);
  cpl_stepper** parts = cpli_alloc(ctx, (size_t)l->n + 1, sizeof(cpl_stepper*));
  cpl_route* slots = cpli_alloc(ctx, (size_t)b->shared_desc->desc.n_vars, sizeof *slots);
  int32_t n = 0;
  cpl_status st = number != NULL && parts != NULL && slots != NULL ? CPL_OK : cpli_nomem(ctx);
  if (st >= 0) st = take_linked(b, l, linked, number, &inner);
  if (st >= 0) find_slots(b, l, number, slots);
  if (st >= 0) st = make_all(b, d, def, l, &inner, linked, parts, &n);
  if (st >= 0) {
    st = make_one(b, def, parts, n, slots, starter, out);
  } else {
    for (int32_t i = 0; i < n; i++) parts[i]->base.ops->destroy(&parts[i]->base);
  }
  free_layout(b, &inner);
  cpli_free(ctx, number);
  cpli_free(ctx, parts);
  cpli_free(ctx, slots);
  return st;
}

static cpl_status couple_members(cpli_built* b, cpli_members* d, const cpl_stepper_def* def,
                                 cpli_starter* starter, cpl_stepper** out) {
  layout l;
  cpl_status st = make_layout(b, d, &l);
  bool* linked = cpli_alloc(b->base.ctx, (size_t)l.n, sizeof *linked);
  if (st >= 0 && linked == NULL) st = cpli_nomem(b->base.ctx);
  if (st < 0) goto done;
  if (is_loose(b, &l)) {
    st = make_independent(b, d, def, &l, starter, out);
  } else if (def->one_master || def->solver.restart_each_step ||
             find_linked(b, &l, linked) == l.n) {
    st = couple(b, d, def, &l, b->shared_desc, out);
    if (st >= 0) cpli_master_begin_with(*out, starter);
  } else {
    st = couple_linked(b, d, def, &l, linked, starter, out);
  }
done:
  cpli_free(b->base.ctx, linked);
  free_layout(b, &l);
  return st;
}

//------------------------------------ steppers ------------------------------------

void cpl_init_stepper_def(cpl_stepper_def* def, size_t size) {
  const cpl_stepper_def all = {.solver = cpl_default_solver_def()};
  cpli_init_def(def, size, &all, sizeof all);
}

// The name begins with that of the system, which determines its position among the parts.
static const char* suffix_of_group(const cpli_built* b) {
  if (b->tlm != NULL) return "";
  return b->n_steppers < b->def->n_models ? ".models" : ".expressions";
}

cpl_status cpli_group_make(cpli_built* b, const char* name, cpli_members** out) {
  char* group = cpli_printf(b->base.ctx, "%s%s", name, suffix_of_group(b));
  cpl_status st = group != NULL ? cpli_members_make(b, group, out) : cpli_nomem(b->base.ctx);
  cpli_free(b->base.ctx, group);
  return st;
}

// Whether a member comes before the group of a stepper with this name.
static bool is_before(const cpli_built* b, const char* member, const char* name) {
  size_t n = strlen(name);
  int order = strncmp(member, name, n);
  return order != 0 ? order < 0 : strcmp(member + n, suffix_of_group(b)) < 0;
}

// The parts of a stepper are in the order of the description, which was made with the name of the
// system: another name is used where it does not change the order.
static const char* name_of_group(const cpli_built* b, const char* name) {
  for (size_t i = 0; i < b->def->n_models; i++) {
    const char* member = b->def->models[i].name.text;
    if (b->is_stepper[i] && is_before(b, member, name) != is_before(b, member, b->name))
      return b->name;
  }
  return name;
}

cpl_status cpl_system_stepper(cpl_source* system, const cpl_stepper_def* given, cpl_stepper** out) {
  *out = NULL;
  cpl_stepper_def def = cpl_default_stepper_def();
  cpl_status st = cpli_read_def(system->ctx, "cpl_stepper_def", given, &def, sizeof def);
  cpl_tlm_serve_def serve = cpl_default_tlm_serve_def();
  if (st >= 0 && def.serve != NULL) {
    st = cpli_read_def(system->ctx, "cpl_tlm_serve_def", def.serve, &serve, sizeof serve);
    def.serve = &serve;
  }
  if (st < 0) return st;
  cpli_built* b = (cpli_built*)system;
  if (cpl_system_definition(system) == NULL)
    return cpli_fail_file(system->ctx, CPL_ERR_INPUT, system->path, "this is not a system");
  if (b->modes != NULL) return cpli_modes_stepper(b, &def, out);
  const char* name = def.name != NULL ? def.name : b->name;
  if (system->ops->make_model != NULL) {
    cpl_model* model = NULL;
    st = system->ops->make_model(system, name, &model);
    return st < 0 ? st : cpl_integrate(model, &def.solver, out);
  }
  cpli_members* draft = b->draft;
  b->draft = NULL;
  cpli_starter* starter = NULL;
  st = draft == NULL ? cpli_group_make(b, name_of_group(b, name), &draft) : CPL_OK;
  if (st >= 0) st = cpli_follow_starter(b, draft->assembly, &starter);
  if (st >= 0 && b->tlm != NULL) st = cpli_members_lines(b, draft, &def, starter, out);
  else if (st >= 0) st = couple_members(b, draft, &def, starter, out);
  cpli_members_free(b, draft);
  return st;
}

cpl_status cpl_source_make_whole(cpl_source* source, cpl_component** out) {
  cpl_model* model = NULL;
  cpl_stepper* stepper = NULL;
  cpl_status st;
  bool me = cpl_source_has_model(source);
  if (me) {
    st = cpl_source_make_model(source, source->desc->name, &model);
  } else if (cpl_system_definition(source) != NULL) {
    cpl_stepper_def def = cpl_default_stepper_def();
    def.one_master = true;  // which shows all of them
    st = cpl_system_stepper(source, &def, &stepper);
  } else {
    st = cpl_source_make_stepper(source, source->desc->name, &stepper);
  }
  if (st >= 0) *out = me ? &model->base : &stepper->base;
  return st;
}
