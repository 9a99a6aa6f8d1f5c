// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Makes the stepper of a system with delay lines. The aggregate is split into its independent
// subsystems, each of which gets a solver; the interfaces and the variables of the whole are mapped
// to subsystems and steppers, which the lines couple.
#include "assemble/tlm.h"
#include <math.h>

#include <stdio.h>

#include "tlm/ends.h"

//------------------------------------ ends in the aggregate ------------------------------------

int32_t cpli_tlm_waves(const cpli_built* b) { return b->tlm != NULL ? b->tlm->n_waves : 0; }

static void wave_name(const cpl_tlm_interface* i, int32_t k, char* out, size_t size) {
  if (cpli_kind_width(i->kind) == 1) snprintf(out, size, "%s.wave", i->name);
  else snprintf(out, size, "%s.wave[%d]", i->name, (int)k + 1);
}

static cpl_status add_end(cpli_built* b, cpli_functions* f, const cpl_tlm_interface* i,
                          const cpl_tlm_line* line, cpl_signal* signals, int32_t* n_signals,
                          cpl_coupling* couplings, int32_t* n_couplings) {
  cpl_status st = CPL_OK;
  for (int32_t k = 0; k < cpli_kind_width(i->kind) && st >= 0; k++) {
    char text[512];
    wave_name(i, k, text, sizeof text);
    cpl_signal* s = &signals[*n_signals];
    *s = (cpl_signal){.name = cpli_arena_strdup(&f->arena, text), .kind = CPL_SIGNAL_INPUT};
    if (s->name == NULL) return cpli_nomem(b->base.ctx);
    cpl_coupling* c = &couplings[(*n_couplings)++];
    *c = (cpl_coupling){.target =
                            cpli_port_of(f, (cpli_ref){CPLI_REF_VARIABLE, i->part, i->force[k]})};
    cpl_port speed = cpli_port_of(f, (cpli_ref){CPLI_REF_VARIABLE, i->part, i->speed[k]});
    st = cpli_force_function(&f->arena, (cpl_port){-1, (*n_signals)++}, speed,
                             cpli_kind_sigma(i->kind), cpli_line_z(line, k), i->sign, &c->function);
  }
  return st;
}

cpl_status cpli_tlm_add_waves(cpli_built* b, cpli_functions* f, cpl_signal* signals,
                              int32_t* n_signals, cpl_coupling* couplings, int32_t* n_couplings) {
  cpl_status st = CPL_OK;
  for (int32_t l = 0; b->tlm != NULL && l < b->tlm->n_lines && st >= 0; l++) {
    const cpl_tlm_line* line = &b->tlm->lines[l];
    int32_t ends[2] = {line->from, line->to};
    for (int e = 0; e < 2 && st >= 0; e++) {
      const cpl_tlm_interface* i = &b->tlm->interfaces[ends[e]];
      if (i->kind != CPL_TLM_SIGNAL && !b->is_stepper[i->part])
        st = add_end(b, f, i, line, signals, n_signals, couplings, n_couplings);
    }
  }
  return st;
}

// Waves, and inputs of steppers that lines provide, are not inputs of the whole.
void cpli_tlm_hide(cpli_built* b) {
  cpl_variable* vars = (cpl_variable*)b->shared_desc->desc.vars;
  for (int32_t i = 0; i < b->tlm->n_interfaces; i++) {
    const cpl_tlm_interface* e = &b->tlm->interfaces[i];
    for (int32_t k = 0; k < CPL_TLM_WIDTH; k++) {
      char text[512];
      if (e->force[k] < 0) continue;
      snprintf(text, sizeof text, "%s.%s", b->def->models[e->part].name.text,
               b->sources[e->part]->desc->vars[e->force[k]].name);
      int32_t force = cpl_find_variable(&b->shared_desc->desc, text);
      wave_name(e, k, text, sizeof text);
      int32_t wave = cpl_find_variable(&b->shared_desc->desc, text);
      if (force >= 0) vars[force].causality = CPL_CAUSALITY_LOCAL;
      if (wave >= 0) vars[wave].causality = CPL_CAUSALITY_LOCAL;
    }
  }
}

//------------------------------------ parts ------------------------------------

typedef cpli_lines layout;

static int32_t inner_variable(const layout* l, const cpl_tlm_interface* i, int32_t var) {
  char text[1024];
  snprintf(text, sizeof text, "%s.%s", l->b->def->models[i->part].name.text,
           l->b->sources[i->part]->desc->vars[var].name);
  return cpl_find_variable(l->inner->base.desc, text);
}

// The route of a variable of the aggregate: a part, and the index in its description.
static void route_of(const layout* l, int32_t var, int32_t* part, int32_t* index) {
  const cpl_variable* v = &l->inner->base.desc->vars[var];
  cpl_route at = {0, v->ref};
  if (l->subsystems.n > 1) at = l->subsystems.refs[l->subsystems.first[v->ref]];
  const cpl_description* d = l->parts[at.component].model->base.desc;
  *part = at.component;
  for (*index = 0; *index < d->n_vars; (*index)++) {
    if (d->vars[*index].ref == at.ref && d->vars[*index].type == v->type) return;
  }
}

static void take_routes(const layout* l, cpl_tlm_interface* to, const cpl_tlm_interface* i,
                        const int32_t* vars, int32_t n, int32_t* out) {
  for (int32_t k = 0; k < n; k++) {
    if (vars[k] >= 0) route_of(l, inner_variable(l, i, vars[k]), &to->part, &out[k]);
  }
}

static cpl_tlm_interface moved(const layout* l, const cpl_tlm_interface* i) {
  cpl_tlm_interface to = *i;
  if (l->b->is_stepper[i->part]) {
    to.part = l->part_of_model[i->part];
    return to;
  }
  take_routes(l, &to, i, i->speed, CPL_TLM_WIDTH, to.speed);
  take_routes(l, &to, i, i->position, 3, to.position);
  take_routes(l, &to, i, i->orientation, 9, to.orientation);
  take_routes(l, &to, i, i->force, CPL_TLM_WIDTH, to.force);
  for (int32_t k = 0; i->kind != CPL_TLM_SIGNAL && k < cpli_kind_width(i->kind); k++) {
    char text[512];
    wave_name(i, k, text, sizeof text);
    int32_t wave = cpl_find_variable(l->inner->base.desc, text);
    if (wave >= 0) route_of(l, wave, &to.part, &to.force[k]);  // otherwise there is no line
  }
  to.takes_wave = true;
  return to;
}

static cpl_status take_subsystems(layout* l, const cpl_solver_def* solver) {
  cpl_context* ctx = l->b->base.ctx;
  cpl_status st = CPL_OK;
  if (l->inner != NULL && l->inner->ops->split != NULL)
    st = l->inner->ops->split(l->inner, &l->subsystems);
  if (st < 0) return st;
  bool whole = l->subsystems.n < 2;
  int32_t n = l->inner == NULL ? 0 : whole ? 1 : l->subsystems.n;
  l->parts = cpli_alloc(ctx, (size_t)n + l->b->n_steppers, sizeof *l->parts);
  for (int32_t i = 0; i < n && l->parts != NULL; i++)
    l->parts[l->n_parts++] =
        (cpl_tlm_part){.model = whole ? l->inner : l->subsystems.models[i], .solver = *solver};
  for (int32_t i = 0; i < l->subsystems.n && !whole && l->parts == NULL; i++)
    l->subsystems.models[i]->base.ops->destroy(&l->subsystems.models[i]->base);
  return l->parts != NULL ? CPL_OK : cpli_nomem(ctx);
}

// "left", or "left and right" where the two are integrated together.
static void add_name(layout* l, cpl_tlm_part* p, const char* model) {
  cpli_arena* arena = &l->d->assembly->functions.arena;
  char text[256];
  snprintf(text, sizeof text, "%s%s%s", p->name != NULL ? p->name : "",
           p->name != NULL ? " and " : "", model);
  const char* name = cpli_arena_strdup(arena, text);
  if (name != NULL) p->name = name;
}

// The part of a model; -1: it has nothing to integrate, or is a stepper.
static int32_t part_of(const layout* l, int32_t model) {
  int32_t part, index;
  if (l->b->is_stepper[model] || l->b->sources[model]->desc->n_vars == 0) return -1;
  int32_t var = inner_variable(l, &(cpl_tlm_interface){.part = model}, 0);
  if (var < 0) return -1;
  route_of(l, var, &part, &index);
  return part;
}

// A solver set for a model applies to everything that is integrated with it.
static void take_settings(layout* l) {
  const cpl_system_def* d = l->b->def;
  for (size_t m = 0; m < d->n_models; m++) {
    const cpli_tlm_setting* s = &l->b->tlm->settings[m];
    int32_t part = part_of(l, (int32_t)m);
    if (part < 0) continue;
    add_name(l, &l->parts[part], d->models[m].name.text);
    if (s->solver != NULL) cpl_solver_by_name(s->solver, &l->parts[part].solver.kind);
  }
}

static const char* model_at(const void* user, size_t i) {
  return ((const cpl_system_def*)user)->models[i].name.text;
}

// Solvers set from outside, which take precedence.
static cpl_status take_solvers(layout* l, const cpl_stepper_def* def) {
  const cpl_system_def* d = l->b->def;
  cpl_context* ctx = l->b->base.ctx;
  for (int32_t i = 0; i < def->n_solvers; i++) {
    const cpl_model_solver* s = &def->solvers[i];
    int32_t model = cpli_names_find(&d->model_names, s->model);
    char near[512];
    cpli_did_you_mean(s->model, model_at, d, d->n_models, near, sizeof near);
    if (model < 0)
      return cpl_fail_in(ctx, CPL_ERR_INPUT, l->b->name, NULL, NAN,
                         "solver %s: there is no model %s%s", cpl_solver_name(s->kind), s->model,
                         near);
    int32_t part = part_of(l, model);
    if (part < 0)
      return cpl_fail_in(ctx, CPL_ERR_INPUT, l->b->name, NULL, NAN,
                         "solver %s: %s brings its own solver", cpl_solver_name(s->kind), s->model);
    for (int32_t k = 0; k < i; k++) {
      int32_t other = cpli_names_find(&d->model_names, def->solvers[k].model);
      if (part_of(l, other) == part && def->solvers[k].kind != s->kind)
        return cpl_fail_in(ctx, CPL_ERR_INPUT, l->b->name, NULL, NAN,
                           "%s is integrated by one solver: it cannot be both %s and %s",
                           l->parts[part].name, cpl_solver_name(def->solvers[k].kind),
                           cpl_solver_name(s->kind));
    }
    l->parts[part].solver.kind = s->kind;
  }
  return CPL_OK;
}

static cpl_status take_steppers(layout* l, const cpl_stepper_def* def) {
  cpl_status st = CPL_OK;
  for (size_t m = 0; m < l->b->def->n_models && st >= 0; m++) {
    if (!l->b->is_stepper[m]) continue;
    const cpli_tlm_setting* s = &l->b->tlm->settings[m];
    cpl_tlm_part* p = &l->parts[l->n_parts];
    *p = (cpl_tlm_part){.substeps = s->substeps, .hold = s->hold};
    l->part_of_model[m] = l->n_parts;
    st = cpli_member_stepper(l->b, l->d, (int32_t)m, def, true, &p->stepper);
    if (st >= 0) l->n_parts++;
  }
  return st;
}

//------------------------------------ variables of the whole ------------------------------------

// In `merged` a variable belongs to the aggregate or to a stepper; the variables of each are
// contiguous.
static cpl_status map_variables(layout* l) {
  const cpli_shared_desc* m = l->b->shared_desc;
  cpl_context* ctx = l->b->base.ctx;
  size_t n = (size_t)m->desc.n_vars, total = 0,
         extra = l->subsystems.n > 1 ? (size_t)l->subsystems.first[l->subsystems.n_refs] : 0;
  l->first = cpli_alloc(ctx, n + 1, sizeof *l->first);
  l->refs = cpli_alloc(ctx, n + extra, sizeof *l->refs);
  if (l->first == NULL || l->refs == NULL) return cpli_nomem(ctx);
  for (size_t i = 0; i < n; i++) {
    int32_t model = l->order[m->routes[i].component];
    uint32_t ref = m->routes[i].ref;
    l->first[i] = (int32_t)total;
    if (model >= 0) l->refs[total++] = (cpl_route){l->part_of_model[model], ref};
    else if (l->subsystems.n <= 1) l->refs[total++] = (cpl_route){0, ref};
    for (int32_t k = model < 0 && l->subsystems.n > 1 ? l->subsystems.first[ref] : INT32_MAX;
         model < 0 && l->subsystems.n > 1 && k < l->subsystems.first[ref + 1]; k++)
      l->refs[total++] = l->subsystems.refs[k];
  }
  l->first[n] = (int32_t)total;
  return CPL_OK;
}

static void destroy_parts(layout* l) {
  for (int32_t i = 0; i < l->n_parts; i++) {
    const cpl_tlm_part* p = &l->parts[i];
    if (p->model != NULL && p->model != l->inner) p->model->base.ops->destroy(&p->model->base);
    if (p->stepper != NULL) p->stepper->base.ops->destroy(&p->stepper->base);
  }
  if (l->inner != NULL) l->inner->base.ops->destroy(&l->inner->base);
}

static cpl_status couple(layout* l, const cpl_stepper_def* def, cpli_starter* starter,
                         cpl_stepper** out) {
  cpli_built* b = l->b;
  const struct cpli_tlm_plan* plan = b->tlm;
  cpl_tlm_def t = cpl_default_tlm_def();
  t.name = def->name != NULL ? def->name : b->name;
  t.parts = l->parts;
  t.n_parts = l->n_parts;
  t.interfaces = l->interfaces;
  t.n_interfaces = plan->n_interfaces;
  t.lines = plan->lines;
  t.n_lines = plan->n_lines;
  t.threads = def->threads;
  t.processes = def->processes;
  t.call_timeout = def->call_timeout;
  t.join = def->join;
  if (def->join != NULL || def->serve != NULL) t.files = cpli_tlm_files(b);
  cpl_tlm_serve_def serve;
  if (def->serve != NULL) {  // peers build with the same settings
    serve = *def->serve;
    serve.solver = def->solver;
    serve.step = def->step;
    serve.usual_step = def->usual_step;
    serve.solvers = def->solvers;
    serve.n_solvers = def->n_solvers;
    t.serve = &serve;
  }
  cpli_tlm_layout whole = {b->shared_desc, l->subsystems.n > 1 ? l->inner : NULL, l->first, l->refs,
                           starter};
  return cpli_tlm_create(b->base.ctx, &t, &whole, out);
}

// External programs take part in runs across machines only.
static cpl_status no_commands(layout* l, const cpl_stepper_def* def) {
  const cpl_system_def* d = l->b->def;
  for (size_t m = 0; m < d->n_models && def->serve == NULL && def->join == NULL; m++) {
    const cpli_located_text* command = &d->models[m].command;
    if (command->text == NULL) continue;
    int n = (int)strcspn(command->text, " \t");
    return cpli_fail_at(l->b->base.ctx, CPL_ERR_UNSUPPORTED, &command->loc,
                        "sub-model %s: its start command is %s, and here only couplet itself "
                        "(StartTLMFmiWrapper) runs sub-models; couplet tlm serve --allow-command "
                        "%.*s starts it",
                        d->models[m].name.text, command->text, n, command->text);
  }
  return CPL_OK;
}

cpl_status cpli_members_lines(cpli_built* b, cpli_members* d, const cpl_stepper_def* def,
                              cpli_starter* starter, cpl_stepper** out) {
  cpl_context* ctx = b->base.ctx;
  layout l = {.b = b, .d = d};
  l.part_of_model = cpli_alloc(ctx, b->def->n_models, sizeof *l.part_of_model);
  l.interfaces = cpli_alloc(ctx, (size_t)b->tlm->n_interfaces, sizeof *l.interfaces);
  l.order = cpli_alloc(ctx, b->def->n_models + 1, sizeof *l.order);
  cpl_status st =
      l.part_of_model == NULL || l.interfaces == NULL || l.order == NULL ? cpli_nomem(ctx) : CPL_OK;
  if (st >= 0) st = no_commands(&l, def);
  if (st >= 0) st = cpli_members_order(b, d, l.order);
  l.inner = d->inner;
  d->inner = NULL;
  if (st >= 0) st = take_subsystems(&l, &def->solver);
  if (st >= 0) take_settings(&l);
  if (st >= 0) st = take_solvers(&l, def);
  if (st >= 0) st = take_steppers(&l, def);
  for (int32_t i = 0; st >= 0 && i < b->tlm->n_interfaces; i++)
    l.interfaces[i] = moved(&l, &b->tlm->interfaces[i]);
  if (st >= 0) st = map_variables(&l);
  if (st >= 0) st = cpli_lines_join_connected(&l, def);
  if (st >= 0) st = couple(&l, def, starter, out);
  else destroy_parts(&l);
  cpli_free(ctx, l.parts);
  cpli_free(ctx, l.part_of_model);
  cpli_free(ctx, l.order);
  cpli_free(ctx, l.interfaces);
  cpli_free(ctx, l.first);
  cpli_free(ctx, l.refs);
  return st;
}
