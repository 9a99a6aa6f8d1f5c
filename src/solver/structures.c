// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A model of variable structure has other states and indicators after an event: each structure gets
// a solver of its own at its first occurrence, and keeps it.
#include "model/jacobian.h"
#include "solver/integrated.h"

// The data that is in the stepper itself for the current structure.
typedef struct fitted {
  const cpl_description* desc;
  cpli_solver* solver;
  cpl_jacobian* jac;
  struct cpli_linear* linear;
  struct cpli_projection* projection;
  struct cpli_dae* dae;
  struct cpli_dae_columns* columns;
  struct cpli_multipliers* multipliers;
  double *projected, *x, *x_at, *atol, *nominal, *x_kept, *z_before;
  size_t n, na, nm, all, nz;
  int8_t* crossed;
  struct cpli_crossings* crossings;
  struct cpli_trail* trails;
  bool stop_at_steps_end;
} fitted;

struct cpli_structures {
  fitted* items;
  size_t n, cap;
};

static void store(const cpli_integrate* s, fitted* f) {
  *f = (fitted){.desc = s->base.base.desc,
                .solver = s->solver,
                .jac = s->jac,
                .linear = s->linear,
                .projection = s->projection,
                .dae = s->dae,
                .columns = s->columns,
                .multipliers = s->multipliers,
                .projected = s->projected,
                .x = s->x,
                .x_at = s->x_at,
                .x_kept = s->x_kept,
                .atol = s->atol,
                .nominal = s->nominal,
                .z_before = s->z_before,
                .n = s->n,
                .na = s->na,
                .nm = s->nm,
                .all = s->all,
                .nz = s->nz,
                .crossed = s->crossed,
                .crossings = s->crossings,
                .trails = s->trails,
                .stop_at_steps_end = s->def.stop_at_steps_end};
}

static void load(cpli_integrate* s, const fitted* f) {
  s->base.base.desc = f->desc;
  s->solver = f->solver, s->jac = f->jac, s->linear = f->linear;
  s->dae = f->dae, s->columns = f->columns, s->multipliers = f->multipliers;
  s->projection = f->projection, s->projected = f->projected;
  s->x = f->x, s->x_at = f->x_at, s->atol = f->atol, s->nominal = f->nominal, s->x_kept = f->x_kept;
  s->z_before = f->z_before, s->crossed = f->crossed, s->trails = f->trails;
  s->crossings = f->crossings;
  s->n = f->n, s->na = f->na, s->nm = f->nm, s->all = f->all, s->nz = f->nz;
  s->def.stop_at_steps_end = f->stop_at_steps_end;
}

static fitted* find(const cpli_integrate* s, const cpl_description* desc) {
  for (size_t i = 0; i < s->structures->n; i++) {
    if (s->structures->items[i].desc == desc) return &s->structures->items[i];
  }
  return NULL;
}

// Stores the current structure in the list.
static cpl_status remember(cpli_integrate* s) {
  cpl_context* ctx = s->base.base.ctx;
  struct cpli_structures* m = s->structures;
  if (m == NULL) s->structures = m = cpli_alloc(ctx, 1, sizeof *m);
  if (m == NULL) return cpli_nomem(ctx);
  fitted* there = find(s, s->base.base.desc);
  if (there == NULL) {
    if (!cpli_grow(ctx, (void**)&m->items, &m->cap, m->n, sizeof *m->items)) return cpli_nomem(ctx);
    there = &m->items[m->n++];
  }
  store(s, there);
  return CPL_OK;
}

// A new structure: on failure the stepper owns what was made so far and destroys it.
static cpl_status fit(cpli_integrate* s) {
  load(s, &(fitted){.desc = s->m->base.desc, .stop_at_steps_end = s->stops_at_ends});
  cpl_status st = cpli_integrate_fit(s);
  s->stats.structures++;
  return st;
}

cpl_status cpli_structures_follow(cpli_integrate* s) {
  if (s->m->base.desc == s->base.base.desc) return CPL_OK;
  cpl_status st = remember(s);
  if (st < 0) return st;
  const fitted* next = find(s, s->m->base.desc);
  if (next == NULL) return fit(s);
  load(s, next);
  return CPL_OK;
}

void cpli_structures_forget(cpli_integrate* s) {
  if (s->structures == NULL) return;
  fitted present;
  store(s, &present);
  for (size_t i = 0; i < s->structures->n; i++) {
    load(s, &s->structures->items[i]);
    cpli_watch_begin(s);
    cpli_jacobian_forget(s->jac);
  }
  load(s, &present);
}

void cpli_structures_destroy(cpli_integrate* s) {
  if (s->structures == NULL) return;
  fitted present;
  store(s, &present);
  for (size_t i = 0; i < s->structures->n; i++) {
    if (s->structures->items[i].desc == present.desc) continue;
    load(s, &s->structures->items[i]);
    cpli_integrate_unfit(s);
  }
  load(s, &present);
  cpli_free(s->base.base.ctx, s->structures->items);
  cpli_free(s->base.base.ctx, s->structures);
}
