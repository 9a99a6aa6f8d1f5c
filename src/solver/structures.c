// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A model of variable structure has other states and indicators after an event: each structure gets
// a solver of its own at its first occurrence, and keeps it. Results do not depend on earlier
// occurrences, except that events may accumulate over all of them.
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

// It has trails only: it occurred before the checkpoint that the run resumed from.
static bool is_stub(const fitted* f) { return f->solver == NULL; }

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

// A stub becomes a structure with a solver. It was counted before.
static cpl_status complete(cpli_integrate* s, fitted* stub) {
  size_t nz = stub->nz;
  struct cpli_trail* trails = stub->trails;
  stub->trails = NULL;
  cpl_status st = fit(s);
  s->stats.structures--;
  if (st >= 0 && nz == s->nz) memcpy(s->trails, trails, 2 * nz * sizeof *trails);
  cpli_free(s->base.base.ctx, trails);
  return st;
}

static void forget_occurrence(cpli_integrate* s) {
  cpli_jacobian_forget(s->jac);
  cpli_dae_jacobian_forget(s);
  cpli_linear_forget(s);
  cpli_projection_forget(s);
}

cpl_status cpli_structures_follow(cpli_integrate* s) {
  if (s->m->base.desc == s->base.base.desc) return CPL_OK;
  cpl_status st = remember(s);
  if (st < 0) return st;
  fitted* next = find(s, s->m->base.desc);
  if (next == NULL) return fit(s);
  if (is_stub(next)) return complete(s, next);
  load(s, next);
  forget_occurrence(s);
  return CPL_OK;
}

void cpli_structures_forget(cpli_integrate* s) {
  if (s->structures == NULL) return;
  fitted present;
  store(s, &present);
  for (size_t i = 0; i < s->structures->n; i++) {
    load(s, &s->structures->items[i]);
    if (s->trails != NULL) cpli_watch_begin(s);
    cpli_jacobian_forget(s->jac);
  }
  load(s, &present);
}

//------------------------------------ history ------------------------------------

// The number of a structure; -1: the model has too many to list them.
static int32_t number_of(const cpli_integrate* s, const cpl_description* desc) {
  const cpl_description* one;
  for (int32_t i = 0; (one = s->m->ops->structure(s->m, i)) != NULL; i++)
    if (one == desc) return i;
  return -1;
}

static bool is_other(const cpli_integrate* s, const fitted* f) {
  return f->desc != s->base.base.desc && f->trails != NULL;
}

// A structure that occurred in the run that wrote the checkpoint: its trails, without a solver.
static fitted* stub_of(cpli_integrate* s, cpli_serial* serial, int32_t number) {
  cpl_context* ctx = s->base.base.ctx;
  const cpl_description* desc = NULL;
  for (int32_t i = 0; i <= number; i++)
    if (i == 0 || desc != NULL) desc = s->m->ops->structure(s->m, i);
  if (desc == NULL || desc == s->base.base.desc) {
    cpli_serial_refuse(serial, "it has other structures");
    return NULL;
  }
  if (s->structures == NULL) s->structures = cpli_alloc(ctx, 1, sizeof *s->structures);
  struct cpli_structures* m = s->structures;
  fitted* f = m != NULL ? find(s, desc) : NULL;
  if (f == NULL && m != NULL &&
      cpli_grow(ctx, (void**)&m->items, &m->cap, m->n, sizeof *m->items)) {
    f = &m->items[m->n++];
    *f = (fitted){.desc = desc, .nz = (size_t)desc->n_indicators};
  }
  if (f != NULL && f->trails == NULL) f->trails = cpli_alloc(ctx, 2 * f->nz, sizeof *f->trails);
  if (f != NULL && f->trails != NULL) return f;
  cpli_serial_nomem(serial);
  return NULL;
}

// The other structures that have occurred, by their numbers.
void cpli_structures_list(cpli_integrate* s, cpli_serial* serial) {
  struct cpli_structures* m = s->structures;
  size_t n = 0;
  for (size_t i = 0; m != NULL && i < m->n; i++) n += is_other(s, &m->items[i]);
  cpli_serial_count(serial, &n, sizeof(int32_t));
  if (n > 0 && s->m->ops->structure == NULL) cpli_serial_refuse(serial, "it has one structure");
  fitted* f = m != NULL ? m->items : NULL;
  for (size_t i = 0; i < n && serial->st >= 0; i++) {
    int32_t number = 0;
    if (!cpli_serial_reads(serial)) {
      while (!is_other(s, f)) f++;
      number = number_of(s, f->desc);
    }
    if (number < 0) cpli_serial_lacks(serial, &s->base.base, "too many structures");
    if (number < 0) return;
    cpli_serial_int(serial, &number, 0, INT32_MAX - 1);
    if (serial->st >= 0 && cpli_serial_reads(serial)) f = stub_of(s, serial, number);
    for (size_t k = 0; serial->st >= 0 && k < 2 * f->nz; k++)
      cpli_serial_trail(serial, &f->trails[k]);
    if (!cpli_serial_reads(serial)) f++;
  }
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
