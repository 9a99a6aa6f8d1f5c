// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Inspection of lines: what they add to a system, and the masses at their ends.
#include <math.h>

#include "assemble/tlm.h"
#include "base/error.h"
#include "tlm/ends.h"

int32_t cpl_system_line_count(const cpl_source* system) {
  const cpli_built* b = (const cpli_built*)system;
  return cpl_system_definition(system) != NULL && b->tlm != NULL ? b->tlm->n_lines : 0;
}

//------------------------------------ masses ------------------------------------

// Initialises a single model.
static cpl_status start_model(cpl_model* m) {
  cpl_setup setup = {.size = sizeof setup};
  cpl_event_info info = {.again = true};
  cpl_component* c = &m->base;
  cpl_status st = c->ops->setup(c, &setup);
  if (st >= 0) st = c->ops->enter_init(c);
  if (st >= 0) st = c->ops->exit_init(c);
  for (int round = 0; st >= 0 && info.again && round < 100; round++)
    st = m->ops->event_update(m, &info);
  return st < 0 ? st : m->ops->enter_continuous(m);
}

static double nominal_of_ref(const cpl_description* d, uint32_t ref) {
  for (int32_t i = 0; i < d->n_vars; i++) {
    if (d->vars[i].ref == ref && d->vars[i].type == CPL_REAL) return d->vars[i].nominal;
  }
  return 1;
}

// Computes the effect of one force on the derivatives of all states, and theirs on a speed: the
// reciprocal is the effective mass there. work: 3 n
static cpl_status effective_mass(cpl_model* m, uint32_t force, uint32_t speed, double* work,
                                 double* mass) {
  size_t n = (size_t)m->base.desc->n_states;
  double *x = work, *dx = work + n, *moved = work + 2 * n, f = 0, v[2];
  cpl_component* c = &m->base;
  cpl_status st = m->ops->get_states(m, x);
  if (st >= 0) st = c->ops->get_real(c, &force, 1, &f);
  if (st >= 0) st = m->ops->get_derivatives(m, dx);
  double more = f + fmax(fabs(f), nominal_of_ref(c->desc, force));
  if (st >= 0) st = c->ops->set_real(c, &force, 1, &more);
  if (st >= 0) st = m->ops->get_derivatives(m, moved);
  if (st >= 0) st = c->ops->set_real(c, &force, 1, &f);
  double size = 0;  // of the change, in units of each state
  for (size_t i = 0; i < n && st >= 0; i++) {
    int32_t var = c->desc->states[i];
    moved[i] = (moved[i] - dx[i]) / (more - f);
    size = fmax(size, fabs(moved[i]) / fmax(fabs(x[i]), var >= 0 ? c->desc->vars[var].nominal : 1));
  }
  *mass = (double)INFINITY;
  if (st < 0 || size == 0) return st;
  double step = 1e-6 / size;
  if (st >= 0) st = c->ops->get_real(c, &speed, 1, &v[0]);
  for (size_t i = 0; i < n; i++) moved[i] = x[i] + step * moved[i];
  if (st >= 0) st = m->ops->set_states(m, moved);
  if (st >= 0) st = c->ops->get_real(c, &speed, 1, &v[1]);
  if (st >= 0) st = m->ops->set_states(m, x);
  double follows = fabs(v[1] - v[0]) / step;
  if (st >= 0 && follows > 0) *mass = 1 / follows;
  return st;
}

static cpl_status effective_masses(cpl_model* m, const cpl_tlm_interface* i, double* work,
                                   double* mass, double* inertia) {
  const cpl_variable* vars = m->base.desc->vars;
  cpl_status st = start_model(m);
  for (int32_t k = 0; k < cpli_kind_width(i->kind) && st >= 0; k++) {
    double one;
    st = effective_mass(m, vars[i->force[k]].ref, vars[i->speed[k]].ref, work, &one);
    if (st < 0) break;
    double* smallest = k < 3 ? mass : inertia;
    *smallest = fmin(*smallest, one);
  }
  return st;
}

// The effective mass and inertia at an interface; NAN: unknown.
static void masses_at(cpli_built* b, const cpl_tlm_interface* i, double* mass, double* inertia) {
  *mass = *inertia = (double)NAN;
  cpl_source* source = b->sources[i->part];
  cpl_context* ctx = b->base.ctx;
  cpl_model* m = NULL;
  cpli_error ignored = {0};
  if (b->is_stepper[i->part] || i->kind == CPL_TLM_SIGNAL || source->desc->n_states == 0) return;
  cpli_error* before = cpli_divert_errors(ctx, &ignored);
  double* work = cpli_alloc(ctx, 3 * (size_t)source->desc->n_states, sizeof *work);
  cpl_status st = work != NULL ? source->ops->make_model(source, "probe", &m) : CPL_ERR_NOMEM;
  *mass = *inertia = (double)INFINITY;
  const cpli_member* member = &b->def->models[i->part];
  cpli_functions f = {
      .ctx = ctx, .resolver = &b->resolver, .first_input = (int32_t)b->def->n_parameters};
  cpli_arena_init(&f.arena, ctx);
  for (size_t k = 0; k < member->n_starts && st >= 0; k++)
    st = cpli_set_start(b, &f, &member->starts[k], &m->base);
  if (st >= 0) st = effective_masses(m, i, work, mass, inertia);
  if (st < 0) *mass = *inertia = (double)NAN;
  if (m != NULL) m->base.ops->destroy(&m->base);
  cpli_functions_free(&f);
  cpli_free(ctx, work);
  cpli_end_diversion(before);
  cpli_error_clear(&ignored, ctx);
}

cpl_system_line cpl_system_line_at(const cpl_source* system, int32_t i) {
  cpli_built* b = (cpli_built*)system;
  const cpl_tlm_line* l = &b->tlm->lines[i];
  cpl_system_line out = {.line = *l, .kind = b->tlm->interfaces[l->from].kind};
  int32_t ends[2] = {l->from, l->to};
  for (int k = 0; k < 2; k++) {
    const cpl_tlm_interface* e = &b->tlm->interfaces[ends[k]];
    out.ends[k] = e->name;
    masses_at(b, e, &out.mass[k], &out.inertia[k]);
  }
  return out;
}
