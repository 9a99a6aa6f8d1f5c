// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The history of a master: what its snapshot leaves out, since a step that is rolled back does not
// depend on it, and the histories of its parts.
#include "model/history.h"

#include "master/master.h"

static void list_part(cpli_serial* s, cpli_master_part* p) {
  double* numbers[] = {&p->kink, &p->saved_t, &p->first_t, &p->accepted, &p->margin};
  bool* flags[] = {&p->can_restore, &p->due,   &p->stepped, &p->predicted,
                   &p->jumped,      &p->stays, &p->kinks,   &p->early};
  int64_t* counts[] = {&p->touched, &p->n_steps, &p->n_rejected, &p->n_rollbacks, &p->n_updates};
  for (size_t i = 0; i < CPLI_COUNT(numbers); i++) cpli_serial_real(s, numbers[i]);
  for (size_t i = 0; i < CPLI_COUNT(flags); i++) cpli_serial_bool(s, flags[i]);
  for (size_t i = 0; i < CPLI_COUNT(counts); i++) cpli_serial_count64(s, counts[i]);
}

static void list_values(cpli_serial* s, cpli_master* m) {
  double* numbers[] = {&m->reach, &m->kink, &m->moved, &m->worst, &m->worst_t};
  bool* flags[] = {&m->halved, &m->sampling,    &m->crossed, &m->early,
                   &m->warned, &m->warned_late, &m->blind,   &m->warned_shortest};
  int64_t* counts[] = {&m->changes,    &m->n_inaccurate, &m->n_steps,
                       &m->n_repeated, &m->n_iterations, &m->n_events};
  for (size_t i = 0; i < CPLI_COUNT(numbers); i++) cpli_serial_real(s, numbers[i]);
  for (size_t i = 0; i < CPLI_COUNT(flags); i++) cpli_serial_bool(s, flags[i]);
  for (size_t i = 0; i < CPLI_COUNT(counts); i++) cpli_serial_count64(s, counts[i]);
  cpli_serial_int(s, &m->limiter, -1, m->n_parts - 1);
  cpli_serial_int(s, &m->crosser, 0, m->n_parts - 1);
  cpli_serial_pace(s, &m->pace);
}

static void list(cpli_serial* s, void* user) {
  cpli_master* m = user;
  cpli_serial_same(s, (size_t)m->n_parts);
  cpli_serial_same(s, (size_t)m->n_outs);
  if (s->st < 0) return;
  list_values(s, m);
  for (int32_t i = 0; i < m->n_outs; i++) {
    cpli_serial_bool(s, &m->outs[i].changed);
    cpli_serial_count64(s, &m->outs[i].changed_at);
  }
  for (int32_t i = 0; i < m->n_parts; i++) list_part(s, &m->parts[i]);
  for (int32_t i = 0; i < m->n_parts; i++) cpli_serial_history(s, &m->parts[i].s->base, true);
}

cpl_status cpli_master_get_history(cpl_component* c, cpl_binary* bytes, bool* complete) {
  return cpli_serial_put(c, &((cpli_master*)c)->bytes, list, c, bytes, complete);
}

cpl_status cpli_master_set_history(cpl_component* c, const cpl_binary* bytes) {
  return cpli_serial_get(c, bytes, list, c);
}
