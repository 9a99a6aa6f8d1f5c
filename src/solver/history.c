// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The history of a stepper made by cpl_integrate(): what its snapshot leaves out and discards. It
// is set after a snapshot was saved or restored, so that the solver is where it was, in the middle
// of its last step. FMUs have none.
#include "model/history.h"

#include "solver/integrated.h"

// Bits of numbers that must be the same.
static void list_same(cpli_serial* s, double value) {
  uint64_t bits = 0;
  memcpy(&bits, &value, sizeof value);
  cpli_serial_same(s, (size_t)bits);
}

static void list_settings(cpli_serial* s, const cpli_integrate* k) {
  const cpl_solver_def* d = &k->def;
  const size_t choices[] = {(size_t)d->kind,       (size_t)d->linear,    (size_t)d->form,
                            (size_t)d->projection, d->restart_each_step, d->stop_at_steps_end,
                            (size_t)d->max_events};
  const size_t sizes[] = {k->n, k->na, k->nm, k->nz, k->n_curves};
  for (size_t i = 0; i < CPLI_COUNT(choices); i++) cpli_serial_same(s, choices[i]);
  for (size_t i = 0; i < CPLI_COUNT(sizes); i++) cpli_serial_same(s, sizes[i]);
  list_same(s, d->rtol);
  list_same(s, d->atol);
  list_same(s, d->step);
}

static void list_numbers(cpli_serial* s, cpli_integrate* k) {
  double* numbers[] = {&k->t,          &k->t_step,    &k->t_solver,      &k->next_time,
                       &k->kink.time,  &k->kink.size, &k->careful_until, &k->careful_step,
                       &k->stuck_since};
  bool* flags[] = {&k->step_open, &k->moved, &k->stale, &k->refused};
  double* vectors[] = {k->x, k->x_at, k->atol, k->nominal};
  for (size_t i = 0; i < CPLI_COUNT(numbers); i++) cpli_serial_real(s, numbers[i]);
  for (size_t i = 0; i < CPLI_COUNT(flags); i++) cpli_serial_bool(s, flags[i]);
  for (size_t i = 0; i < CPLI_COUNT(vectors); i++) cpli_serial_reals(s, vectors[i], k->all);
  cpli_serial_reals(s, k->z_before, 2 * k->nz);
  cpli_serial_bytes(s, k->crossed, k->nz);
  int32_t at_end = (int32_t)k->at_end;
  cpli_serial_int(s, &at_end, NO_EVENT, INPUT_EVENT);
  k->at_end = (cpli_cause)at_end;
  cpli_serial_pace(s, &k->pace);
  cpli_serial_bytes(s, &k->stats, sizeof k->stats);
  if (s->st >= 0 && !(k->t <= k->t_step)) cpli_serial_refuse(s, "its times are not in order");
}

// A solver that restarts at the next step needs none.
static bool is_new_next(const cpli_integrate* k) {
  return k->def.restart_each_step && !k->step_open && k->at_end == NO_EVENT && k->t >= k->t_step;
}

static bool is_complete(const cpli_integrate* k) {
  return is_new_next(k) || k->solver->ops->history != NULL;
}

// A restored stepper has started its solver: the model, which may remember where it was evaluated,
// returns to the state that was saved.
static cpl_status restore_model(cpli_integrate* k) {
  cpl_component* m = &k->m->base;
  const cpl_snapshot* saved = k->restored;
  k->restored = NULL;
  return m->ops->restore(m, saved);
}

static void list(cpli_serial* s, void* user) {
  cpli_integrate* k = user;
  if (!is_complete(k)) cpli_serial_lacks(s, &k->base.base, cpl_solver_name(k->def.kind));
  if (s->incomplete) return;
  list_settings(s, k);
  if (s->st < 0) return;
  list_numbers(s, k);
  cpli_crossings_list(k, s);
  cpli_serial_jacobian(s, k->jac);
  cpli_linear_list(k, s);
  if (s->st >= 0) cpli_projection_list(k, s);
  if (s->st >= 0) cpli_structures_list(k, s);
  if (s->st >= 0) cpli_dae_list(k, s);
  if (s->st >= 0) cpli_multipliers_list(k, s);
  bool fresh = is_new_next(k);
  cpli_serial_same(s, fresh);
  if (s->st >= 0 && !fresh) k->solver->ops->history(k->solver, s);
  if (s->st >= 0 && k->restored != NULL) s->st = restore_model(k);
  cpli_serial_history(s, &k->m->base, false);
}

cpl_status cpli_integrate_get_history(cpl_component* c, cpl_binary* bytes, bool* complete) {
  ((cpli_integrate*)c)->restored = NULL;  // the model has moved on
  return cpli_serial_put(c, &((cpli_integrate*)c)->bytes, list, c, bytes, complete);
}

cpl_status cpli_integrate_set_history(cpl_component* c, const cpl_binary* bytes) {
  return cpli_serial_get(c, bytes, list, c);
}
