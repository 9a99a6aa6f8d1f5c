// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Instances of an opened FMU from their begin to their end, by the tables of operations only: of
// the rest of the library nothing is needed. The call log has what was called.
#pragma once

#include <stdio.h>
#include <stdlib.h>

#include "fmi/fmu.h"

static inline cpl_status drive_begin(cpl_component* c) {
  const cpl_setup setup = {.size = sizeof setup, .has_stop_time = true, .stop_time = 1};
  cpl_status st = c->ops->setup(c, &setup);
  if (st >= 0) st = c->ops->enter_init(c);
  return st < 0 ? st : c->ops->exit_init(c);
}

static inline cpl_status drive_end(cpl_component* c, cpl_status st) {
  cpl_status ended = c->ops->terminate(c);
  c->ops->destroy(c);
  return st < 0 ? st : ended;
}

// Explicit Euler, ten steps.
static inline cpl_status drive_model(cpl_source* source) {
  cpl_model* m = NULL;
  cpl_status st = source->ops->make_model(source, "driven", &m);
  if (st < 0) return st;
  const size_t n = (size_t)source->desc->n_states;
  double *x = calloc(n + 1, sizeof *x), *dx = calloc(n + 1, sizeof *dx);
  cpl_event_info info = {.again = true};
  bool event = false, terminate = false;
  st = drive_begin(&m->base);
  for (int i = 0; i < 10 && info.again && st >= 0; i++) st = m->ops->event_update(m, &info);
  if (st >= 0) st = m->ops->enter_continuous(m);
  for (int i = 1; i <= 10 && st >= 0; i++) {
    st = m->ops->get_states(m, x);
    if (st >= 0) st = m->ops->get_derivatives(m, dx);
    for (size_t k = 0; k < n; k++) x[k] += 0.01 * dx[k];
    if (st >= 0) st = m->ops->set_time(m, 0.01 * i);
    if (st >= 0) st = m->ops->set_states(m, x);
    if (st >= 0) st = m->ops->completed_step(m, &event, &terminate);
  }
  free(x);
  free(dx);
  return drive_end(&m->base, st);
}

static inline cpl_status drive_stepper(cpl_source* source) {
  cpl_stepper* s = NULL;
  cpl_step_result result;
  cpl_status st = source->ops->make_stepper(source, "driven", &s);
  if (st < 0) return st;
  st = drive_begin(&s->base);
  for (int i = 1; i <= 10 && st >= 0; i++) st = s->ops->step(s, 0.0625 * i, 0.0625 * i, &result);
  return drive_end(&s->base, st);
}

static inline cpl_status drive(cpl_source* source, FILE* calls) {
  cpl_fmu* fmu = (cpl_fmu*)source;
  cpl_status st = CPL_OK;
  fmu->call_log = calls;
  fmu->shares_log = true;
  if (source->ops->make_model != NULL) st = drive_model(source);
  if (st >= 0 && source->ops->make_stepper != NULL) st = drive_stepper(source);
  fmu->call_log = NULL;
  return st;
}
