// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Runs an experiment forwards, where its solver's dense output is recorded step by step, and its
// adjoint equation backwards (analysis/adjoint.h).
#include <math.h>

#include "analysis/adjoint.h"
#include "couplet/component.h"
#include "experiment/experiment.h"
#include "solver/integrate.h"

//------------------------------------ forwards ------------------------------------

static cpl_status take_step(cpl_stepper* s, double until, double stop, cpl_step_result* r) {
  return s->ops->step(s, until, stop, r);
}

// From r->time to the end of the solver's next step, or to an event before it, or one update of the
// event there.
static cpl_status record_step(cpl_stepper* s, cpli_adjoint* a, double stop, cpl_step_result* r) {
  double t = r->time, until = t;
  bool due = r->end == CPL_STEP_EVENT;
  cpl_status st = due ? CPL_OK : s->ops->ahead(s, t, stop, &until);
  until = fmin(until, stop);
  r->end = CPL_STEP_DONE;
  for (int i = 0; i < CPLI_TAPE_NODES - 2 && st >= 0 && until > t; i++) {
    double node = t + cpli_tape_nodes[i] * (until - t);
    if (!(node > r->time && node < until)) continue;
    st = take_step(s, node, stop, r);
    if (st < 0 || r->end != CPL_STEP_DONE) return st;
    st = cpli_adjoint_sample(a);
  }
  return st >= 0 ? take_step(s, until, stop, r) : st;
}

static cpl_status run_forward(cpl_experiment* e, cpli_adjoint* a) {
  cpl_simulation* sim = NULL;
  const char* record[] = {a->s.m->base.desc->vars[a->scalars[0].var].name};
  cpl_run_def def = e->run;
  double stop = def.stop_time;
  cpl_step_result r = {.time = def.start_time};
  def.record = record, def.n_record = 1;
  if (!isfinite(stop))
    return cpl_fail(e->ctx, CPL_ERR_INPUT, "%s: adjoint gradients need a stop time", e->path);
  if (def.n_inputs > 0)
    return cpl_fail(e->ctx, CPL_ERR_UNSUPPORTED,
                    "%s: no adjoint gradients with inputs that change from outside (%s): put the "
                    "table into a system file",
                    e->path, def.inputs[0].name);
  cpl_status st = cpl_simulation_create(e->stepper, &def, &sim);
  if (st >= 0) st = cpl_simulation_start(sim);
  while (st >= 0 && (r.time < stop || r.end == CPL_STEP_EVENT)) {
    if (cpli_cancelled(e->ctx)) st = cpli_interrupted(e->ctx, e->path, r.time);
    if (st >= 0) st = record_step(e->stepper, a, stop, &r);
    if (st >= 0 && e->run.on_progress != NULL) e->run.on_progress(e->run.user, r.time);
  }
  if (st >= 0) st = cpli_adjoint_end(a);
  cpl_simulation_destroy(sim);
  return st;
}

//------------------------------------ backwards ------------------------------------

static void read_stats(cpl_stepper* s, cpl_solver_stats* out) {
  cpl_inspection in;
  if (cpl_component_inspect(&s->base, -1, &in) >= 0) cpli_solver_stats_read(&in, out);
}

static cpl_status begin_back(cpl_stepper* s, double start, double stop) {
  cpl_setup setup = cpl_default_setup();
  setup.start_time = start;
  setup.has_stop_time = true;
  setup.stop_time = stop;
  cpl_status st = s->base.ops->setup(&s->base, &setup);
  if (st >= 0) st = s->base.ops->enter_init(&s->base);
  return st >= 0 ? s->base.ops->exit_init(&s->base) : st;
}

// Its errors add to those of the forward run, and it costs little.
static const double closer = 0.1;  // its tolerances, relative to those of the forward run

static cpl_status run_back(cpl_experiment* e, cpli_adjoint* a, double* gradients, double* values,
                           cpl_gradient_stats* stats) {
  cpl_model* back = NULL;
  cpl_stepper* s = NULL;
  double stop = -e->run.start_time;
  cpl_step_result r = {.time = -a->t_end};
  cpl_solver_def solver = cpl_default_solver_def();
  solver.one_solver = true;
  solver.rtol = fmax(closer * e->solver.rtol, fmin(e->solver.rtol, 1e-13));
  solver.atol = closer * e->solver.atol;
  cpl_status st = cpli_adjoint_back(a, &back);
  if (st >= 0) st = cpl_integrate(back, &solver, &s);
  if (st >= 0) st = begin_back(s, -a->t_end, stop);
  while (st >= 0 && (r.time < stop || r.end == CPL_STEP_EVENT)) {
    if (cpli_cancelled(e->ctx)) st = cpli_interrupted(e->ctx, e->path, -r.time);
    if (st >= 0) st = s->ops->step(s, stop, stop, &r);
  }
  if (st >= 0) {
    cpli_adjoint_gradients(back, gradients, values);
    read_stats(s, &stats->backward);
  }
  cpl_stepper_destroy(s);
  return st < 0 ? cpl_fail_prefix(e->ctx, st, "%s: the adjoint equation", e->path) : st;
}

//------------------------------------ both ------------------------------------

static cpl_status run_both(cpl_experiment* e, double* gradients, double* values,
                           cpl_gradient_stats* stats) {
  cpl_status st = cpli_experiment_stepper(e);
  cpli_adjoint* a = st >= 0 ? cpli_as_adjoint(e->model) : NULL;
  if (st < 0) return st;
  st = run_forward(e, a);
  stats->reached = a->s.t;
  stats->points = (int64_t)a->tape.n;
  stats->events = a->n_jumps > 0 ? (int64_t)a->n_jumps - 1 : 0;
  stats->instances = (int32_t)(1 + 2 * a->s.n_to);
  read_stats(e->stepper, &stats->forward);
  if (st < 0 && a->separate) {
    cpl_stepper_destroy(e->stepper);
    e->stepper = NULL, e->model = NULL;
    e->separate = true;
    return run_both(e, gradients, values, stats);
  }
  return st >= 0 ? run_back(e, a, gradients, values, stats) : st;
}

cpl_status cpl_experiment_gradients(cpl_experiment* e, double* gradients, double* values,
                                    cpl_gradient_stats* stats) {
  const cpl_sensitivity_def* d = e->settings.sensitivity;
  cpl_gradient_stats own = {0};
  if (d == NULL || !d->adjoint)
    return cpl_fail(e->ctx, CPL_ERR_INPUT, "%s: its settings have no adjoint sensitivities",
                    e->path);
  if (e->stepper != NULL)
    return cpl_fail(e->ctx, CPL_ERR_INPUT, "%s: this experiment is prepared already", e->path);
  double* room = cpli_alloc(e->ctx, d->n_of, sizeof *room);
  if (room == NULL) return cpli_nomem(e->ctx);
  cpl_status st = run_both(e, gradients, values != NULL ? values : room, &own);
  cpli_free(e->ctx, room);
  if (stats != NULL) *stats = own;
  return st < 0 ? st : CPL_OK;
}
