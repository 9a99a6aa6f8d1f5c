// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Parts of a system with lines that have other connections, too: models with a solver and
// co-simulation models. Connected parts become one part, a stepper made by a master, and the ends
// of lines are mapped to it.
#include <stdio.h>

#include "assemble/tlm.h"

// A variable of a part, by its index in the part's description.
typedef struct part_var {
  int32_t part, var;
} part_var;

typedef struct groups {
  cpli_lines* l;
  int32_t* of;             // by part: an earlier one in its group; itself: it is the first
  int32_t* slot;           // by part: the index of its group among the new parts
  cpl_stepper** steppers;  // by part: its stepper in the group
  cpl_master_link* links;  // between parts
  size_t n_links, cap_links;
  part_var* scratch;  // as many as there are parts
} groups;

static int32_t first_of(const groups* g, int32_t part) {
  while (g->of[part] != part) part = g->of[part];
  return part;
}

static void unite(groups* g, int32_t a, int32_t b) {
  a = first_of(g, a), b = first_of(g, b);
  g->of[a < b ? b : a] = a < b ? a : b;
}

//------------------------------------ links ------------------------------------

static int32_t index_of(const cpl_description* d, uint32_t ref, uint8_t type) {
  for (int32_t i = 0; i < d->n_vars; i++) {
    if (d->vars[i].ref == ref && d->vars[i].type == type) return i;
  }
  return -1;
}

// The routes of the end of a connection; an input of the aggregate may be in several subsystems.
static int32_t find_part_vars(const groups* g, const cpli_route_end* end, part_var* out) {
  const cpli_lines* l = g->l;
  const cpli_built* b = l->b;
  if (end->name == NULL && b->is_stepper[end->model]) {
    *out = (part_var){l->part_of_model[end->model], end->var};
    return 1;
  }
  char text[1024];
  if (end->name != NULL) snprintf(text, sizeof text, "%s", end->name);
  else
    snprintf(text, sizeof text, "%s.%s", b->def->models[end->model].name.text,
             b->sources[end->model]->desc->vars[end->var].name);
  int32_t var = cpl_find_variable(l->inner->base.desc, text), n = 0;
  if (var < 0) return 0;
  const cpl_variable* v = &l->inner->base.desc->vars[var];
  if (l->subsystems.n < 2) {
    *out = (part_var){0, var};
    return 1;
  }
  for (int32_t k = l->subsystems.first[v->ref]; k < l->subsystems.first[v->ref + 1]; k++) {
    const cpl_route* at = &l->subsystems.refs[k];
    const cpl_description* d = l->parts[at->component].model->base.desc;
    out[n++] = (part_var){at->component, index_of(d, at->ref, v->type)};
  }
  return n;
}

static cpl_status add_links(groups* g) {
  const cpli_assembly* one = g->l->d->assembly;
  cpl_context* ctx = g->l->b->base.ctx;
  for (size_t i = 0; i < one->n_routes; i++) {
    const cpli_route* r = &one->routes[i];
    if (find_part_vars(g, &r->source, g->scratch) == 0) return cpli_nomem(ctx);
    part_var from = g->scratch[0];
    int32_t n = find_part_vars(g, &r->target, g->scratch);
    for (int32_t k = 0; k < n; k++) {
      if (!cpli_grow(ctx, (void**)&g->links, &g->cap_links, g->n_links, sizeof *g->links))
        return cpli_nomem(ctx);
      g->links[g->n_links++] = (cpl_master_link){from.part,         from.var,  g->scratch[k].part,
                                                 g->scratch[k].var, r->factor, r->offset};
      unite(g, from.part, g->scratch[k].part);
    }
  }
  return CPL_OK;
}

//------------------------------------ one group ------------------------------------

// A solver that restarts in every step can be rolled back by a master.
static cpl_status make_stepper(groups* g, int32_t part) {
  cpl_tlm_part* p = &g->l->parts[part];
  cpl_status st = CPL_OK;
  if (p->model != NULL) {
    cpl_solver_def solver = p->solver;
    cpl_model* model = p->model;
    bool fixed = cpl_solver_is_fixed_step(solver.kind);
    solver.restart_each_step = solver.one_solver = true;
    if (fixed && solver.step <= 0) solver.step = 1;  // one step per communication step
    p->model = NULL;
    if (g->l->inner == model) g->l->inner = NULL;
    st = cpl_integrate(model, &solver, &g->steppers[part]);
    if (st >= 0 && p->name != NULL) g->steppers[part]->base.name = p->name;
  } else {
    g->steppers[part] = p->stepper;
    p->stepper = NULL;
  }
  return st;
}

static const char* add_name(groups* g, const char* before, const cpl_stepper* s) {
  char text[512];
  if (before == NULL) return s->base.name;
  snprintf(text, sizeof text, "%s and %s", before, s->base.name);
  return cpli_arena_strdup(&g->l->d->assembly->functions.arena, text);
}

static cpl_status refuse_settings(const groups* g) {
  const cpli_cosimulation* c = &g->l->b->def->cosimulation;
  if (c->n_steps == 0 && c->n_bonds == 0) return CPL_OK;
  const cpli_located_text* where = c->n_steps > 0 ? &c->steps[0].name : &c->bonds[0].name;
  return cpli_fail_at(g->l->b->base.ctx, CPL_ERR_UNSUPPORTED, &where->loc,
                      "%s: not in a system with tlm lines", c->n_steps > 0 ? "steps" : "bonds");
}

// parts, links: room for all of them. inside: by part, its number in the group.
static cpl_status couple_group(groups* g, int32_t first, const cpl_stepper_def* def,
                               cpl_master_part* parts, cpl_master_link* links, int32_t* inside,
                               cpl_tlm_part* out) {
  cpli_lines* l = g->l;
  cpl_master_def m = cpl_default_master_def();
  cpl_status st = refuse_settings(g);
  if (st >= 0) st = cpli_take_master(l->b, def, &m);
  if (!l->b->def->cosimulation.given && def->step <= 0) m.step = 0;  // as far as lines allow
  *out = (cpl_tlm_part){.substeps = 0};
  for (int32_t i = 0; i < l->n_parts && st >= 0; i++) {
    if (first_of(g, i) != first) continue;
    st = make_stepper(g, i);
    if (st < 0) break;
    if (l->parts[i].substeps > out->substeps) out->substeps = l->parts[i].substeps;
    if (l->parts[i].hold != CPL_TLM_HOLD_MIDDLE) out->hold = l->parts[i].hold;
    out->name = add_name(g, out->name, g->steppers[i]);
    inside[i] = m.n_parts;
    parts[m.n_parts++].stepper = g->steppers[i];
    if (out->name == NULL) st = cpli_nomem(l->b->base.ctx);
  }
  for (size_t i = 0; i < g->n_links && st >= 0; i++) {
    const cpl_master_link* k = &g->links[i];
    if (first_of(g, k->source_part) != first) continue;
    links[m.n_links] = *k;
    links[m.n_links].source_part = inside[k->source_part];
    links[m.n_links++].target_part = inside[k->target_part];
  }
  m.name = out->name;
  m.parts = parts;
  m.links = links;
  if (st >= 0) return cpl_master(l->b->base.ctx, &m, &out->stepper);
  for (int32_t i = 0; i < m.n_parts; i++)
    parts[i].stepper->base.ops->destroy(&parts[i].stepper->base);
  return st;
}

//------------------------------------ new routes ------------------------------------

static void move_variables(const groups* g, const cpl_tlm_part* now, int32_t part, int32_t* vars,
                           int32_t n) {
  const cpl_description* d = g->steppers[part]->base.desc;
  for (int32_t k = 0; k < n; k++) {
    if (vars[k] < 0) continue;
    const cpl_variable* v = &d->vars[vars[k]];
    vars[k] = cpli_master_find(now->stepper, g->steppers[part], v->ref, v->type);
  }
}

static void move_interfaces(const groups* g, const cpl_tlm_part* parts) {
  for (int32_t i = 0; i < g->l->b->tlm->n_interfaces; i++) {
    cpl_tlm_interface* e = &g->l->interfaces[i];
    int32_t part = e->part;
    e->part = g->slot[part];
    if (g->steppers[part] == NULL) continue;
    const cpl_tlm_part* now = &parts[e->part];
    move_variables(g, now, part, e->position, 3);
    move_variables(g, now, part, e->orientation, 9);
    move_variables(g, now, part, e->speed, CPL_TLM_WIDTH);
    move_variables(g, now, part, e->force, CPL_TLM_WIDTH);
  }
}

static void move_refs(const groups* g, const cpl_tlm_part* parts) {
  const cpl_description* d = &g->l->b->shared_desc->desc;
  for (int32_t i = 0; i < d->n_vars; i++) {
    for (int32_t k = g->l->first[i]; k < g->l->first[i + 1]; k++) {
      cpl_route* r = &g->l->refs[k];
      int32_t part = r->component;
      r->component = g->slot[part];
      if (g->steppers[part] == NULL) continue;
      const cpl_stepper* master = parts[r->component].stepper;
      int32_t var = cpli_master_find(master, g->steppers[part], r->ref, d->vars[i].type);
      if (var >= 0) r->ref = master->base.desc->vars[var].ref;
    }
  }
}

//------------------------------------ all groups ------------------------------------

static bool is_alone(const groups* g, int32_t part) {
  for (int32_t i = 0; i < g->l->n_parts; i++) {
    if (i != part && first_of(g, i) == part) return false;
  }
  return true;
}

// New parts are in the order of their first members. All old and new parts are in the list of the
// layout, so that they can be destroyed after a failure.
static cpl_status make_groups(groups* g, const cpl_stepper_def* def, cpl_tlm_part* parts,
                              cpl_master_part* members, cpl_master_link* links, int32_t* inside) {
  cpli_lines* l = g->l;
  int32_t n = 0;
  cpl_status st = CPL_OK;
  for (int32_t i = 0; i < l->n_parts && st >= 0; i++) {
    if (g->of[i] != i) continue;
    if (is_alone(g, i)) parts[n] = l->parts[i];
    else st = couple_group(g, i, def, members, links, inside, &parts[n]);
    if (st < 0) break;
    l->parts[i].model = NULL, l->parts[i].stepper = NULL;
    g->slot[i] = n++;
  }
  if (st < 0) {
    for (int32_t k = 0; k < n; k++) {
      cpl_model* m = parts[k].model;
      if (m != NULL && m != l->inner) m->base.ops->destroy(&m->base);
      if (parts[k].stepper != NULL) parts[k].stepper->base.ops->destroy(&parts[k].stepper->base);
    }
    return st;
  }
  for (int32_t i = 0; i < l->n_parts; i++) g->slot[i] = g->slot[first_of(g, i)];
  move_interfaces(g, parts);
  move_refs(g, parts);
  memcpy(l->parts, parts, (size_t)n * sizeof *parts);
  l->n_parts = n;
  return CPL_OK;
}

cpl_status cpli_lines_join_connected(cpli_lines* l, const cpl_stepper_def* def) {
  cpl_context* ctx = l->b->base.ctx;
  size_t n = (size_t)l->n_parts;
  if (l->d->assembly->n_routes == 0) return CPL_OK;
  groups g = {.l = l,
              .of = cpli_alloc(ctx, n, sizeof *g.of),
              .slot = cpli_alloc(ctx, n, sizeof *g.slot),
              .steppers = cpli_alloc(ctx, n, sizeof *g.steppers),
              .scratch = cpli_alloc(ctx, n, sizeof *g.scratch)};
  cpl_tlm_part* parts = cpli_alloc(ctx, n, sizeof *parts);
  cpl_master_part* members = cpli_alloc(ctx, n, sizeof *members);
  int32_t* inside = cpli_alloc(ctx, n, sizeof *inside);
  bool fine = g.of != NULL && g.slot != NULL && g.steppers != NULL && g.scratch != NULL &&
              parts != NULL && members != NULL && inside != NULL;
  for (int32_t i = 0; fine && i < l->n_parts; i++) g.of[i] = i;
  cpl_status st = fine ? add_links(&g) : cpli_nomem(ctx);
  cpl_master_link* links = st >= 0 ? cpli_alloc(ctx, g.n_links, sizeof *links) : NULL;
  if (st >= 0 && links == NULL) st = cpli_nomem(ctx);
  if (st >= 0) st = make_groups(&g, def, parts, members, links, inside);
  void* lists[] = {g.of, g.slot, g.steppers, g.scratch, g.links, parts, members, inside, links};
  for (size_t i = 0; i < CPLI_COUNT(lists); i++) cpli_free(ctx, lists[i]);
  return st;
}
