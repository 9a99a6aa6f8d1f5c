// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The composer "integrate": a model and a solver become a stepper. The solver may be ahead of the
// requested time; output points inside its last step are interpolated, and the model is notified of
// the completed step only after all of them are served. Events stop the stepper before they are
// handled.
#include <math.h>

#include "model/adopt.h"
#include "model/input_curve.h"
#include "model/inspect.h"
#include "model/jacobian.h"
#include "model/router.h"
#include "solver/independent.h"
#include "solver/integrated.h"

//------------------------------------ events ------------------------------------

static cpl_status set_tolerances(cpli_integrate* s) {
  cpl_status st = s->n > 0 ? s->m->ops->get_nominals(s->m, s->nominal) : CPL_OK;
  if (st >= 0 && s->na > 0) st = s->m->ops->dae->get_algebraic_nominals(s->m, s->nominal + s->n);
  if (st < 0) return st;
  double atol = s->def.atol > 0 ? s->def.atol : s->def.rtol;
  for (size_t i = 0; i < s->n + s->na; i++) s->atol[i] = atol * s->nominal[i];
  return CPL_OK;
}

// The solver may be ahead of the output time; what it did beyond is discarded.
static void rewind_to_output(cpli_integrate* s) {
  if (s->t >= s->t_step) return;
  memcpy(s->x, s->x_at, s->all * sizeof(double));
  s->t_step = s->t;
  s->step_open = false;
  s->at_end = NO_EVENT;
}

static cpl_status restart(cpli_integrate* s) {
  cpl_status st = set_tolerances(s);
  if (st < 0) return st;
  rewind_to_output(s);
  s->t_solver = s->t - s->t_start;
  s->step_open = false;
  s->at_end = NO_EVENT;
  cpli_multipliers_start(s);
  if (s->na > 0) st = cpli_dae_consistent(s);
  if (st >= 0) st = s->solver->ops->start(s->solver, s->t_solver, s->x, s->atol);
  return st < 0 ? st : cpli_crossings_start(s);
}

// The end of a step may have been rounded to a later time than the solver's.
cpl_status cpli_solution_at(cpli_integrate* s, double t, double* x) {
  return s->solver->ops->interpolate(s->solver, fmin(t - s->t_start, s->t_solver), x);
}

static cpl_status enter_event_mode(cpli_integrate* s) {
  if (s->in_event) return CPL_OK;
  rewind_to_output(s);
  cpl_status st = s->m->ops->enter_event(s->m);
  s->in_event = st >= 0;
  return st;
}

// From event mode to continuous time: iterate until the model requests no further update, then read
// what it changed. `once`: a single update, after which the model may still be in event mode.
static cpl_status event_iteration(cpli_integrate* s, bool once) {
  cpl_event_info info = {.again = true};
  cpl_status st = cpli_set_inputs(s, s->t);
  while (st >= 0 && info.again) {
    if (s->rounds++ == CPLI_MAX_ROUNDS) {
      return cpl_fail_in(
          s->base.base.ctx, CPL_ERR_MODEL, s->base.base.name, NULL, s->t,
          "the event at t=%.12g does not settle: %d updates, and the model asks for another", s->t,
          CPLI_MAX_ROUNDS);
    }
    info = (cpl_event_info){.next_time = INFINITY};
    st = s->m->ops->event_update(s->m, &info);
    if (st < 0) return st;
    s->stats.switches += info.structure_changed;
    s->ended = s->ended || info.terminate;
    s->stop = info.stop;
    if (info.terminate) break;
    if (once && info.again && !info.structure_changed) return CPL_OK;
  }
  if (st < 0) return st;
  s->rounds = 0;
  s->next_time = info.next_time;
  if (info.structure_changed && s->m->ops->structure == NULL) {
    return cpl_fail_in(s->base.base.ctx, CPL_ERR_UNSUPPORTED, s->base.base.name, NULL, s->t,
                       "the model changed its structure at t=%.12g", s->t);
  }
  st = cpli_structures_follow(s);
  if (st < 0 || s->ended) return st;
  st = s->m->ops->enter_continuous(s->m);
  s->in_event = false;
  if (st >= 0 && s->n > 0) st = s->m->ops->get_states(s->m, s->x);
  if (st >= 0 && s->na > 0) st = s->m->ops->dae->get_algebraics(s->m, s->x + s->n);
  if (st == CPL_RETRY) st = CPL_ERR_MODEL;  // without states no shorter step is possible
  if (st >= 0) st = cpli_check_states(s);
  if (st >= 0) st = set_tolerances(s);
  if (st >= 0) st = cpli_projection_begin(s);
  return st < 0 ? st : restart(s);
}

// The event at s->t. `once`: one update of it; s->rounds > 0: the event continues.
static cpl_status update(cpli_integrate* s, bool once) {
  double since = cpli_clock_if(s);
  cpl_status st = enter_event_mode(s);
  if (st >= 0) st = event_iteration(s, once);
  cpli_account(s, since);
  s->pending = s->rounds > 0 ? INPUT_EVENT : NO_EVENT;
  return st;
}

//------------------------------------ steps ------------------------------------

static cpl_status stop_at_event(cpli_integrate* s, cpli_cause why) {
  cpli_log_event(s, why);
  cpl_status st = cpli_watch_event(s, why);
  s->pending = why;
  s->at_end = NO_EVENT;
  s->stats.state_events += why == STATE_EVENT;
  s->stats.time_events += why == TIME_EVENT;
  s->stats.step_events += why == STEP_EVENT;
  return st;
}

// The solver's step ends at the current time: the model is notified and may request an event.
static cpl_status notify(cpli_integrate* s, bool* wants_event) {
  bool event = false, end = false;
  double since = cpli_clock_if(s);
  s->t = s->t_step;
  cpl_status st = cpli_set_point(s, s->t, s->x);
  if (st == CPL_OK && s->step_open) st = s->m->ops->completed_step(s->m, &event, &end);
  cpli_account(s, since);
  s->step_open = false;
  s->ended = s->ended || end;
  *wants_event = event;
  return st == CPL_RETRY ? cpl_fail_prefix(s->base.base.ctx, CPL_ERR_MODEL,
                                           "%s: at the end of a step", s->base.base.name)
                         : st;
}

static const double large_kink = 1000;  // in units of the tolerance

// Kinks of inputs and couplings: a method keeps its order when a step ends there.
static cpl_break next_break(const cpli_integrate* s) {
  double after = s->t_step + 1e-13 * fabs(s->t_step);
  cpl_break next = {INFINITY, 0};
  for (size_t i = 0; i < s->n_curves; i++) {
    const cpl_curve* c = &s->curves[i];
    if (c->next_break != NULL)
      next = cpli_first_break(next, c->next_break(c->user, after, s->def.rtol));
  }
  if (s->m->ops->next_break != NULL)
    next = cpli_first_break(next, s->m->ops->next_break(s->m, after, s->def.rtol));
  return next;
}

// The history of a multistep method is not valid across a large kink; across a small one it costs
// less than a restart.
static cpl_status pass_break(cpli_integrate* s) {
  bool large = s->kink.size > large_kink * s->def.rtol;
  bool restarts = s->multistep && s->t_step == s->kink.time && large;
  cpl_status st = restarts ? restart(s) : CPL_OK;
  s->kink = next_break(s);
  return st;
}

// The state at the event is interpolated and may violate the constraints.
static cpl_status end_at_crossing(cpli_integrate* s) {
  s->at_end = STATE_EVENT;
  if (s->projection == NULL || s->def.projection == CPL_PROJECT_BY_EVENTS) return CPL_OK;
  cpl_status st = cpli_projection_apply(s, s->t_step, s->x, INFINITY);
  return st == CPL_RETRY ? CPL_ERR_SOLVER : st;
}

// The end of the solver's step as a time of the model, before the limit where the solver is before
// it: dense output covers one step of the solver.
static double end_of_step(const cpli_integrate* s, double end, double limit) {
  if (s->t_solver >= end) return limit;
  double t = s->t_start + s->t_solver;
  return t < limit ? t : fmax(nextafter(limit, -INFINITY), s->t_step);
}

// To the end of the solver's next step. A step below the resolution of time is followed by another
// one.
static cpl_status advance_solver(cpli_integrate* s, double limit) {
  double longest = s->def.step > 0 ? s->def.step : INFINITY, end = limit - s->t_start;
  if (s->t_step < s->careful_until) longest = fmin(longest, s->careful_step);
  double begin = s->t_step;
  cpl_status st = CPL_OK;
  do {
    st = s->solver->ops->step(s->solver, end, longest, &s->t_solver, s->x);
    s->t_step = end_of_step(s, end, limit);
  } while (st == CPL_OK && s->t_step == begin && s->t_solver < end &&
           begin == nextafter(limit, -INFINITY));
  return st == CPL_OK ? cpli_check_order(s, begin) : st;
}

static cpl_status solver_step(cpli_integrate* s, double t_end, double t_limit) {
  bool crossed = false;
  double before = s->t_solver;
  memcpy(s->x_at, s->x, s->all * sizeof(double));
  cpl_status st = pass_break(s);
  if (st == CPL_OK && s->nm > 0) st = cpli_multipliers_look(s);
  if (st == CPL_OK) st = advance_solver(s, fmin(fmin(t_limit, s->next_time), s->kink.time));
  if (st == CPL_OK) st = cpli_watch_step(s, s->t_solver - before);
  double sum = 0;  // not zero when any is not finite
  for (size_t i = 0; i < s->all; i++) sum += s->x[i] - s->x[i];
  if (st == CPL_OK && sum != 0) st = cpli_run_away(s);
  if (st == CPL_OK) st = cpli_crossings_step(s, t_end, &crossed);
  if (st == CPL_OK && crossed) st = end_at_crossing(s);
  if (st < 0) return st;
  s->step_open = true;
  if (!crossed) s->at_end = s->t_step >= s->next_time ? TIME_EVENT : NO_EVENT;
  return CPL_OK;
}

// Whether the end of the solver's last step is still to be completed.
static bool is_open(const cpli_integrate* s) { return s->step_open || s->at_end != NO_EVENT; }

// Goes to the end of the solver's last step; an event there stops the stepper.
static cpl_status complete_step(cpli_integrate* s) {
  bool wants_event = false;
  cpl_status st = notify(s, &wants_event);
  if (st < 0 || s->ended) return st;
  if (s->projection != NULL && s->def.projection == CPL_PROJECT_BY_EVENTS && !wants_event) {
    st = cpli_projection_due(s, s->t, s->x, &wants_event);
    if (st == CPL_OK) st = cpli_set_point(s, s->t, s->x);
    if (st != CPL_OK) return st < 0 ? st : CPL_ERR_MODEL;
  }
  if (s->at_end != NO_EVENT) return stop_at_event(s, s->at_end);
  return wants_event ? stop_at_event(s, STEP_EVENT) : CPL_OK;
}

// One step of the solver from the end of a completed one. Outputs up to s->t_step are available
// then.
static cpl_status next_step(cpli_integrate* s, double t_end, double t_limit) {
  if (cpli_cancelled(s->base.base.ctx))
    return cpli_interrupted(s->base.base.ctx, s->base.base.name, s->t_step);
  if (s->next_time <= s->t) return stop_at_event(s, TIME_EVENT);
  bool stops = s->def.stop_at_steps_end || s->def.restart_each_step;
  return solver_step(s, t_end, stops ? t_end : t_limit);
}

// A method without accurate dense output is asked for points inside a step only where another
// stepper has an event.
static cpl_status accurate_solution_at(cpli_integrate* s, double t, double* x) {
  const cpli_solver_ops* ops = s->solver->ops;
  cpl_status st = CPL_RETRY;
  if (ops->solution != NULL) st = ops->solution(s->solver, fmin(t - s->t_start, s->t_solver), x);
  return st == CPL_RETRY ? cpli_solution_at(s, t, x) : st;
}

cpl_status cpli_solution_for_output(cpli_integrate* s, double t, double* x) {
  cpl_status st = accurate_solution_at(s, t, x);
  if (st >= 0 && s->projection != NULL && s->def.projection != CPL_PROJECT_BY_EVENTS)
    st = cpli_projection_apply(s, t, x, INFINITY);
  return st;
}

// Outputs at t, inside the solver's last step.
static cpl_status output_at(cpli_integrate* s, double t) {
  if (s->t == t) return CPL_OK;
  cpl_status st = cpli_solution_for_output(s, t, s->x_at);
  s->t = t;
  if (st >= 0) st = cpli_set_point(s, t, s->x_at);
  return st == CPL_RETRY ? cpl_fail_prefix(s->base.base.ctx, CPL_ERR_MODEL,
                                           "%s: at an output point", s->base.base.name)
                         : st;
}

// Return to the output time before a look ahead.
static cpl_status put_back(cpli_integrate* s, double t) {
  memcpy(s->x_at, s->x_kept, s->all * sizeof(double));
  s->t = t;
  cpl_status st = cpli_set_point(s, t, s->x_at);
  return st == CPL_RETRY ? CPL_ERR_MODEL : st;
}

// The same, unless an indicator shows there that an event was missed in this step: the step then
// ends at the event, and outputs stay at their time.
static cpl_status look(cpli_integrate* s, double t) {
  double before = s->t;
  bool crossed = false;
  memcpy(s->x_kept, s->x_at, s->all * sizeof(double));
  cpl_status st = output_at(s, t);
  if (st >= 0) st = cpli_crossings_at(s, &crossed);
  if (st >= 0 && crossed) st = end_at_crossing(s);
  return st >= 0 && crossed ? put_back(s, before) : st;
}

// Whether the solver is ahead of the output time, or its last step is not completed.
static bool is_ahead(const cpli_integrate* s) { return is_open(s) || s->t < s->t_step; }

static cpl_status step(cpl_stepper* base, double t_end, double t_limit, cpl_step_result* result) {
  cpli_integrate* s = (cpli_integrate*)base;
  bool jumped;
  double margin;
  *result = (cpl_step_result){.time = s->t};
  cpl_status st = cpli_curves_begin(s, &jumped, &margin);
  if (st != CPL_OK) return st;

  // a pending event, or a step of size zero: the update
  if (!s->ended && (jumped || s->pending != NO_EVENT || t_end <= s->t)) {
    st = update(s, t_end <= s->t);
    result->event_handled = true;
    result->again = s->rounds > 0;
  } else if (!s->ended && s->def.restart_each_step && !is_ahead(s)) {
    st = restart(s);
  }

  // steps of the solver until one reaches t_end or an event
  while (st >= 0 && !s->ended && s->pending == NO_EVENT && s->t < t_end) {
    if (t_end < s->t_step) st = look(s, t_end);
    else if (is_open(s)) st = complete_step(s);
    else st = next_step(s, t_end, t_limit);
  }
  result->end = s->ended                 ? CPL_STEP_TERMINATE
                : s->pending != NO_EVENT ? CPL_STEP_EVENT
                                         : CPL_STEP_DONE;
  result->time = s->t;
  result->stop = s->stop;
  return st;
}

// What is due at s->t is left to step().
static cpl_status ahead(cpl_stepper* base, double t_end, double t_limit, double* until) {
  cpli_integrate* s = (cpli_integrate*)base;
  *until = s->t;
  if (s->ended || s->in_event || s->pending != NO_EVENT || s->moved || t_limit <= s->t)
    return CPL_OK;
  cpl_status st = is_ahead(s) ? CPL_OK : next_step(s, t_end, t_limit);
  if (st >= 0 && s->nz > 0 && t_end > s->t && t_end < s->t_step) {
    double before = s->t;
    st = look(s, t_end);
    if (st >= 0 && s->t != before) st = put_back(s, before);
  }
  *until = s->pending != NO_EVENT ? s->t : s->t_step;
  return st;
}

static double next_kink(cpl_stepper* base, double tolerance) {
  cpli_integrate* s = (cpli_integrate*)base;
  double after = s->t + 1e-13 * fabs(s->t);
  if (s->m->ops->next_break == NULL) return INFINITY;
  return s->m->ops->next_break(s->m, after, tolerance).time;
}

static cpl_status next_event(cpl_stepper* base, double* time, bool* sure) {
  const cpli_integrate* s = (const cpli_integrate*)base;
  *time = s->next_time;
  *sure = s->nz == 0 && !s->m->base.can.completed_step;
  return CPL_OK;
}

static cpl_status get_indicators(cpl_stepper* base, double* z) {
  cpli_integrate* s = (cpli_integrate*)base;
  cpl_status st = cpli_curves_refresh(s);
  return st != CPL_OK || s->nz == 0 ? st : s->m->ops->get_indicators(s->m, z);
}

static cpl_status set_states(cpl_stepper* base, const int32_t* states, size_t n,
                             const double* values) {
  cpli_integrate* s = (cpli_integrate*)base;
  if (s->in_event || s->ended) return CPL_OK;
  rewind_to_output(s);
  for (size_t i = 0; i < n; i++) s->x[states[i]] = values[i];
  cpl_status st = cpli_set_point(s, s->t, s->x);
  s->pending = INPUT_EVENT;
  return st;
}

//------------------------------------ values ------------------------------------

// A value that is set between steps is a discontinuity: it is set in event mode, and the next step
// begins with the update.
static cpl_status before_set(cpli_integrate* s) {
  if (!s->running) return CPL_OK;
  s->pending = INPUT_EVENT;
  return enter_event_mode(s);
}

// Inputs that are curves have no influence on strings and binaries.
static cpl_status access_values(cpl_component* c, const cpli_access* a) {
  cpli_integrate* s = (cpli_integrate*)c;
  bool follows = a->type != CPL_STRING && a->type != CPL_BINARY;
  cpl_status st = a->set ? before_set(s) : follows ? cpli_curves_refresh(s) : CPL_OK;
  return st != CPL_OK ? st : cpli_access_values(cpli_model_of(c), a);
}

CPLI_DEFINE_VALUE_OPS(access_values)

static cpl_status directional(cpl_component* c, const uint32_t* unknowns, size_t n_unknowns,
                              const uint32_t* knowns, size_t n_knowns, const double* seed,
                              double* sensitivity) {
  cpl_component* m = cpli_model_of(c);
  cpl_status st = cpli_curves_refresh((cpli_integrate*)c);
  return st != CPL_OK
             ? st
             : m->ops->directional(m, unknowns, n_unknowns, knowns, n_knowns, seed, sensitivity);
}

//------------------------------------ life ------------------------------------

static cpl_status setup(cpl_component* c, const cpl_setup* settings) {
  cpli_integrate* s = (cpli_integrate*)c;
  s->t = s->t_step = s->t_start = settings->start_time;
  s->t_stop = settings->has_stop_time ? settings->stop_time : INFINITY;
  s->stuck_since = -INFINITY;
  return cpli_model_of(c)->ops->setup(cpli_model_of(c), settings);
}

static cpl_status enter_init(cpl_component* c) {
  cpl_status st = cpli_model_of(c)->ops->enter_init(cpli_model_of(c));
  return st < 0 ? st : cpli_set_inputs((cpli_integrate*)c, ((cpli_integrate*)c)->t);
}

// The program may move the model, before the first step.
static cpl_status move_start(cpli_integrate* s) {
  if (s->def.at_start == NULL || s->ended) return CPL_OK;
  cpl_status st = s->def.at_start(s->m, s->t, &s->next_time);
  if (st >= 0 && s->n > 0) st = s->m->ops->get_states(s->m, s->x);
  return st < 0 ? st : restart(s);
}

static cpl_status exit_init(cpl_component* c) {
  cpli_integrate* s = (cpli_integrate*)c;
  cpl_status st = cpli_set_inputs(s, s->t);
  if (st >= 0) st = cpli_model_of(c)->ops->exit_init(cpli_model_of(c));
  if (st < 0) return st;
  s->running = true;
  s->in_event = true;
  st = event_iteration(s, false);
  return st < 0 ? st : move_start(s);
}

static void forget_run(cpli_integrate* s) {
  s->running = s->in_event = s->ended = s->step_open = s->moved = s->stale = false;
  s->at_end = s->pending = NO_EVENT;
  s->stop = s->rounds = 0;
  s->n_curves = s->last_curve = 0;  // inputs must be set again
  cpli_watch_forget(s);
  cpli_jacobian_forget(s->jac);
  cpli_dae_jacobian_forget(s);
  cpli_structures_forget(s);
}

static cpl_status terminate(cpl_component* c) {
  ((cpli_integrate*)c)->running = false;
  return cpli_model_of(c)->ops->terminate(cpli_model_of(c));
}

static cpl_status reset(cpl_component* c) {
  forget_run((cpli_integrate*)c);
  return cpli_model_of(c)->ops->reset(cpli_model_of(c));
}

void cpli_integrate_unfit(cpli_integrate* s) {
  cpl_context* ctx = s->base.base.ctx;
  cpli_linear_destroy(s);
  cpl_jacobian_destroy(s->jac);
  cpli_projection_destroy(s);
  cpli_dae_destroy(s);
  cpli_dae_jacobian_destroy(s);
  cpli_multipliers_destroy(s);
  cpli_free(ctx, s->projected);
  if (s->solver != NULL) s->solver->ops->destroy(s->solver);
  cpli_free(ctx, s->x);
  cpli_free(ctx, s->crossed);
  cpli_crossings_destroy(s);
  cpli_free(ctx, s->z_before);
  cpli_free(ctx, s->trails);
}

static void destroy(cpl_component* c) {
  if (c == NULL) return;
  cpli_integrate* s = (cpli_integrate*)c;
  cpl_context* ctx = c->ctx;
  cpli_structures_destroy(s);
  cpli_integrate_unfit(s);
  if (s->m != NULL) s->m->base.ops->destroy(&s->m->base);
  cpli_free(ctx, s->curves);
  cpli_free(ctx, s->curve_refs);
  cpli_free(ctx, s->curve_values);
  cpli_serial_free(ctx, &s->bytes);
  cpli_free(ctx, s);
}

static const char own_kind[] = "integrate";

static cpl_status inspect(const cpl_component* c, int32_t child, cpl_inspection* out) {
  const cpli_integrate* s = (const cpli_integrate*)c;
  out->n_children = 1;
  out->self = (void*)s;
  if (child == 0) cpli_inspection_child(out, &s->m->base);
  if (child < 0) cpli_solver_inspect(&s->stats, out);
  return CPL_OK;
}

//------------------------------------ create ------------------------------------

#define COMMON_OPS                                                                          \
  .size = sizeof(cpl_component_ops), .kind = own_kind, .destroy = destroy, .setup = setup,  \
  .enter_init = enter_init, .exit_init = exit_init, .terminate = terminate, .reset = reset, \
  CPLI_VALUE_OPS, .inspect = inspect
#define ROLLBACK_OPS \
  .save = cpli_integrate_save, .restore = cpli_integrate_restore, .forget = cpli_integrate_forget

#ifdef CPL_FMU_PARTS
#define HISTORY_OPS .get_history = NULL
#else
#define HISTORY_OPS \
  .get_history = cpli_integrate_get_history, .set_history = cpli_integrate_set_history
#endif
#define BYTES_OPS                                                  \
  ROLLBACK_OPS, HISTORY_OPS, .serialize = cpli_integrate_to_bytes, \
                             .deserialize = cpli_integrate_from_bytes

static const cpl_component_ops component_ops[3][2] = {
    // [rolls back: 1, and states become bytes: 2][has directional derivatives]
    {{COMMON_OPS}, {COMMON_OPS, .directional = directional}},
    {{COMMON_OPS, ROLLBACK_OPS}, {COMMON_OPS, ROLLBACK_OPS, .directional = directional}},
    {{COMMON_OPS, BYTES_OPS}, {COMMON_OPS, BYTES_OPS, .directional = directional}},
};
static const cpl_stepper_ops stepper_ops = {.size = sizeof(cpl_stepper_ops),
                                            .step = step,
                                            .set_curve = cpli_curves_set,
                                            .wants_update = cpli_curves_want_update,
                                            .ahead = ahead,
                                            .set_states = set_states,
                                            .next_break = next_kink,
                                            .next_event = next_event,
                                            .get_indicators = get_indicators};

void cpl_init_solver_def(cpl_solver_def* def, size_t size) {
  const cpl_solver_def all = {.kind = CPL_SOLVER_CVODE, .rtol = 1e-6};
  cpli_init_def(def, size, &all, sizeof all);
}

static cpl_status allocate(cpli_integrate* s, cpl_context* ctx) {
  s->all = s->n + s->na + s->nm;
  s->x = cpli_alloc(ctx, 5 * s->all, sizeof(double));
  s->crossed = cpli_alloc(ctx, s->nz, 1);
  s->z_before = cpli_alloc(ctx, 2 * s->nz, sizeof(double));
  s->trails = cpli_alloc(ctx, 2 * s->nz, sizeof *s->trails);
  if (s->x == NULL || s->crossed == NULL || s->z_before == NULL || s->trails == NULL)
    return cpli_nomem(ctx);
  s->x_at = s->x + s->all;
  s->atol = s->x_at + s->all;
  s->nominal = s->atol + s->all;
  s->x_kept = s->nominal + s->all;
  cpli_watch_begin(s);
  return CPL_OK;
}

cpl_status cpli_integrate_fit(cpli_integrate* s) {
  const cpl_description* d = s->m->base.desc;
  s->n = (size_t)d->n_states;
  s->nz = (size_t)d->n_indicators;
  s->base.base.desc = d;
  s->nm = cpli_multipliers_count(s);
  cpl_status st = allocate(s, s->base.base.ctx);
  if (st >= 0) st = cpli_crossings_make(s);
  if (st >= 0) st = cpli_dae_make(s);
  if (st >= 0) st = cpli_multipliers_make(s);
  if (st >= 0) st = cpli_projection_make(s);
  return st < 0 ? st : cpli_integrate_make_solver(s);
}

static cpl_status check(cpl_context* ctx, const char* name, const cpl_solver_def* def) {
  if (!(def->rtol > 0) || !(def->rtol <= 1))
    return cpl_fail_in(ctx, CPL_ERR_INPUT, name, NULL, NAN,
                       "the relative tolerance is %g; it must lie between 0 and 1", def->rtol);
  if (!(def->atol >= 0) || !isfinite(def->atol))
    return cpl_fail_in(ctx, CPL_ERR_INPUT, name, NULL, NAN,
                       "the absolute tolerance is %g; it must be positive", def->atol);
  if (!(def->step >= 0))
    return cpl_fail_in(ctx, CPL_ERR_INPUT, name, NULL, NAN, "the step is %g; it must be positive",
                       def->step);
  return CPL_OK;
}

#ifdef CPL_FMU_PARTS
enum { HAS_SPARSE_RADAU = 0 };
#else
enum { HAS_SPARSE_RADAU = 1 };
#endif

// Whether no algebraic variables are integrated with the states.
static bool is_ode(const cpl_model* m, const cpl_solver_def* def) {
  if (!cpli_method_of(def->kind)->residuals || def->form == CPL_FORM_ODE) return true;
  const cpl_description* d = m->base.desc;
  return def->form == CPL_FORM_AS_FITS && d->n_algebraics == 0 && d->form_error == NULL;
}

// After a restart the first step of a multistep method has order one, with an error of up to one
// tolerance: the shorter the communication steps, the more of these errors accumulate. A one-step
// method loses nothing, and its step costs less than the many short ones of a start. Only large
// models whose linear systems Radau cannot solve sparsely keep the method.
static cpl_solver_kind one_step_kind(const cpl_model* m, const cpl_solver_def* def) {
  enum { MAX_DENSE = 100 };  // states
  bool sparse = HAS_SPARSE_RADAU && m->ops->newton == NULL;
  const cpli_method* method = cpli_method_of(def->kind);
  cpl_solver_kind kind = method->one_step;
  if (!method->multistep || cpli_method_of(kind)->create == NULL) return def->kind;
  if (kind != CPL_SOLVER_RADAU) return kind;
  bool can = def->linear == CPL_LINEAR_DIRECT && is_ode(m, def);
  return can && (sparse || m->base.desc->n_states <= MAX_DENSE) ? kind : def->kind;
}

// For a solver that restarts at every step. The tolerances are divided by 100: errors of
// communication steps accumulate, and a master that compares steps must not see the solver's
// errors.
static void prepare_restarts(const cpl_model* m, cpl_solver_def* def) {
  def->projection = cpl_projection_of(def);
  def->kind = one_step_kind(m, def);
  def->rtol = fmin(def->rtol, fmax(0.01 * def->rtol, 1e-12));
  def->atol *= 0.01;
}

cpli_integrate* cpli_integrate_of(cpl_stepper* s) {
  return cpli_component_self(&s->base, own_kind);
}

cpl_status cpli_integrate_restart(cpl_stepper* s) { return restart((cpli_integrate*)s); }

cpl_status cpli_integrate_one(cpl_model* model, const cpl_solver_def* def, cpl_stepper** out) {
  cpl_context* ctx = model->base.ctx;
  *out = NULL;
  cpli_integrate* s = cpli_alloc(ctx, 1, sizeof *s);
  if (s == NULL) {
    model->base.ops->destroy(&model->base);
    return cpli_nomem(ctx);
  }
  const cpl_capabilities* can = &model->base.can;
  bool saves = def->restart_each_step || def->saves_states;
  bool rolls_back = saves && model->base.ops->save != NULL;
  int rolls = rolls_back + (rolls_back && cpli_serial_can(&model->base));
  bool has_directional = model->base.ops->directional != NULL;
  *s = (cpli_integrate){.m = model,
                        .def = *def,
                        .stops_at_ends = def->stop_at_steps_end,
                        .stats.groups = 1,
                        .next_time = INFINITY};
  s->base = (cpl_stepper){.base = {.ops = &component_ops[rolls][has_directional],
                                   .desc = model->base.desc,
                                   .ctx = ctx,
                                   .name = model->base.name,
                                   .can = {.directional = has_directional,
                                           .save_restore = rolls_back,
                                           .serialize = rolls == 2,
                                           .once_per_process = can->once_per_process,
                                           .needs_tool = can->needs_tool,
                                           .own_thread = can->own_thread,
                                           .remote = can->remote > 0,
                                           .variable_step = true,
                                           .zero_step = true,
                                           .stops_early = true,
                                           .get_after_set = true,
                                           .dense_output = true,
                                           .input_derivatives = 3}},
                          .ops = &stepper_ops};
  if (def->restart_each_step) prepare_restarts(model, &s->def);
  cpl_status st = check(ctx, model->base.name, def);
  if (st >= 0) st = cpli_dae_use(s);
  if (s->na > 0) {  // algebraic variables follow inputs only at the next update
    s->base.base.ops = &component_ops[rolls][false];
    s->base.base.can.get_after_set = s->base.base.can.directional = false;
  }
  if (st >= 0) st = cpli_integrate_fit(s);
  if (st >= 0) forget_run(s);
  if (st < 0) destroy(&s->base.base);
  else *out = &s->base;
  return st;
}

// A requested form that does not apply. A system may have no loops, which the same form covers.
static cpl_status check_form(cpl_stepper** s, bool is_system) {
  cpl_component* c = &(*s)->base;
  if (cpl_component_counter(c, "algebraic_variables") > 0) return CPL_OK;
  if (is_system) {
    cpl_log(c->ctx, CPL_LOG_WARNING, c->name,
            "there are neither algebraic variables nor loops: the system is integrated as an ODE");
    return CPL_OK;
  }
  cpl_status st = cpl_fail_in(c->ctx, CPL_ERR_INPUT, c->name, NULL, NAN,
                              "the model has no algebraic variables, so form dae is not "
                              "possible; use form ode or auto");
  c->ops->destroy(c);
  *s = NULL;
  return st;
}

cpl_status cpl_integrate(cpl_model* model, const cpl_solver_def* given, cpl_stepper** out) {
  cpl_subsystems subsystems = {0};
  *out = NULL;
  cpl_solver_def def = cpl_default_solver_def();
  cpl_status st = cpli_adopt_model(model);
  if (st >= 0) st = cpli_read_def(model->base.ctx, "cpl_solver_def", given, &def, sizeof def);
  if (st >= 0 && !def.one_solver && model->ops->split != NULL)
    st = model->ops->split(model, &subsystems);
  if (st < 0) cpli_discard(&model->base);
  if (st < 0) return st;
  bool is_system = model->ops->split != NULL;
  st = subsystems.n > 1 ? cpli_integrate_subsystems(model, &subsystems, &def, out)
                        : cpli_integrate_one(model, &def, out);
  return st < 0 || def.form != CPL_FORM_DAE ? st : check_form(out, is_system);
}
