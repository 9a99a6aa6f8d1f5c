// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The composer "integrate": a model and a solver become a stepper. The solver may be ahead of the
// time asked for; output points inside its last step are interpolated, and only when all of them
// are served the model is told that the step is complete. Events stop the stepper before they are
// handled.
#include <math.h>
#include <stdio.h>

#include "couplet/jacobian.h"
#include "solver/integrate.h"
#include "solver/solver.h"

enum {
  DEFAULT_MAX_EVENTS = 100,  // events without progress in time
  MOST_ROUNDS = 1000,        // of one event iteration
  CHATTERING = 10,   // events of one indicator, each closer than `close_by` to the one before
  ACCUMULATING = 8,  // events of one indicator, each distance shorter than the one before
};
static const double close_by = 1e-9;      // relative to the time simulated
static const double no_progress = 1e-13;  // likewise: some hundred roundings
static const double shrinking = 0.98;     // ratio of distances that accumulate

typedef enum cause { NO_EVENT, STATE_EVENT, TIME_EVENT, STEP_EVENT, INPUT_EVENT } cause;

typedef struct integrate {
  cpl_stepper base;
  cpl_model* m;
  cpl_solver_def def;
  cpl_solver_stats stats;
  cpli_solver* solver;
  cpl_jacobian* jac;
  size_t n, nz;
  double *x, *x_at, *atol, *nominal;
  int8_t* crossed;

  double t;       // where outputs are
  double t_step;  // end of the solver's last step; x belongs to it
  double t_start;
  double next_time;  // next time event of the model
  bool running;      // between exit_init and terminate
  bool in_event;     // the model is in event mode
  bool ended;        // the model asked to stop
  bool step_open;    // the model has not heard of the solver's last step yet
  cause at_end;      // what waits at t_step
  cause pending;     // the event at t that waits for its update

  // inputs that are functions of time
  cpl_curve* curves;
  uint32_t* curve_refs;
  double* curve_values;
  size_t n_curves, cap_curves;

  // events that come closer and closer, per indicator and direction
  struct trail {
    double last;             // when it happened last
    double distance, begin;  // the last distance, and where distances began to shrink
    int32_t close, shrunk;   // how many in a row were close, or closer than the one before
  } * trails;                // 2 nz
  double careful_until, careful_step;
  double stuck_since;
  int32_t stuck;
} integrate;

static cpl_component* model_of(cpl_component* c) { return &((integrate*)c)->m->base; }

//------------------------------------ the model at a point ------------------------------------

static double curve_value(const cpl_curve* c, double t) {
  if (c->value != NULL) return c->value(c->user, t);
  double dt = t - c->from, sum = 0;
  for (int32_t k = c->order; k >= 0; k--) sum = sum * dt + c->coefficient[k];
  return sum;
}

static cpl_status set_inputs(integrate* s, double t) {
  if (s->n_curves == 0) return CPL_OK;
  for (size_t i = 0; i < s->n_curves; i++) s->curve_values[i] = curve_value(&s->curves[i], t);
  return s->m->base.ops->set_real(&s->m->base, s->curve_refs, s->n_curves, s->curve_values);
}

static cpl_status place(integrate* s, double t, const double* x) {
  cpl_status st = s->m->ops->set_time(s->m, t);
  if (st == CPL_OK && s->n > 0) st = s->m->ops->set_states(s->m, x);
  if (st == CPL_OK) st = set_inputs(s, t);
  return st;
}

static double clock_if(const integrate* s) { return s->def.timing ? cpli_now() : 0; }

static void account(integrate* s, double since) {
  if (s->def.timing) s->stats.in_models_s += cpli_now() - since;
}

static cpl_status not_finite(integrate* s, double t, const double* dx) {
  const cpl_description* d = s->base.base.desc;
  for (size_t i = 0; i < s->n; i++) {
    if (isfinite(dx[i])) continue;
    const char* name = d->derivatives[i] >= 0 ? d->vars[d->derivatives[i]].name : "a derivative";
    return cpl_fail(s->base.base.ctx, CPL_RETRY, "%s: %s is %g at t=%.12g", s->base.base.name, name,
                    dx[i], t);
  }
  return CPL_OK;
}

static cpl_status rhs(void* user, double t, const double* x, double* dx) {
  integrate* s = user;
  double since = clock_if(s);
  cpl_status st = place(s, t, x);
  if (st == CPL_OK && s->n > 0) st = s->m->ops->get_derivatives(s->m, dx);
  account(s, since);
  if (st != CPL_OK) return st;
  double sum = 0;  // NaN or infinite when any is; the search for the culprit is rarely needed
  for (size_t i = 0; i < s->n; i++) sum += dx[i] - dx[i];
  return sum == 0 ? CPL_OK : not_finite(s, t, dx);
}

// No raw indicator reaches the root finder: it multiplies values, which under- or overflows, and
// treats zero as neither side. Zero belongs to the not-positive side, as in FMI.
static cpl_status roots(void* user, double t, const double* x, double* z) {
  integrate* s = user;
  double since = clock_if(s);
  cpl_status st = place(s, t, x);
  if (st == CPL_OK) st = s->m->ops->get_indicators(s->m, z);
  account(s, since);
  for (size_t i = 0; i < s->nz && st == CPL_OK; i++) {
    if (isnan(z[i])) {
      st = cpl_fail(s->base.base.ctx, CPL_ERR_MODEL, "%s: event indicator %zu is NaN at t=%.12g",
                    s->base.base.name, i + 1, t);
    }
    z[i] = z[i] > 0 ? fmin(fmax(z[i], 1e-150), 1e150) : -fmin(fmax(-z[i], 1e-150), 1e150);
  }
  return st;
}

static cpl_status jacobian(void* user, double t, const double* x, double* out) {
  integrate* s = user;
  double since = clock_if(s);
  cpl_status st = place(s, t, x);
  if (st == CPL_OK) st = cpl_jacobian_evaluate(s->jac, x, out);
  account(s, since);
  if (st == CPL_OK) {
    double sum = 0;
    for (size_t i = 0; i < s->n * s->n; i++) sum += out[i] - out[i];
    if (sum != 0)
      st = cpl_fail(s->base.base.ctx, CPL_RETRY, "%s: the Jacobian is not finite at t=%.12g",
                    s->base.base.name, t);
  }
  return st;
}

static cpl_status newton_setup(void* user, double t, const double* x, double gamma, bool fresh) {
  integrate* s = user;
  double since = clock_if(s);
  cpl_status st = place(s, t, x);
  if (st == CPL_OK) st = s->m->ops->newton_setup(s->m, gamma, fresh);
  account(s, since);
  return st;
}

static cpl_status newton_solve(void* user, const double* r, double* dx) {
  integrate* s = user;
  return s->m->ops->newton_solve(s->m, r, dx);
}

//------------------------------------ events ------------------------------------

static cpl_status restart(integrate* s) {
  cpl_status st = s->n > 0 ? s->m->ops->get_nominals(s->m, s->nominal) : CPL_OK;
  if (st < 0) return st;
  double atol = s->def.atol > 0 ? s->def.atol : s->def.rtol;
  for (size_t i = 0; i < s->n; i++) s->atol[i] = atol * s->nominal[i];
  s->t_step = s->t;
  s->step_open = false;
  s->at_end = NO_EVENT;
  return s->solver->ops->start(s->solver, s->t, s->x, s->atol);
}

// The solver may be ahead of the time outputs are at; an event here takes back what it did beyond.
static void rewind_to_output(integrate* s) {
  if (s->t >= s->t_step) return;
  memcpy(s->x, s->x_at, s->n * sizeof(double));
  s->t_step = s->t;
  s->step_open = false;
  s->at_end = NO_EVENT;
}

static cpl_status enter_event_mode(integrate* s) {
  if (s->in_event) return CPL_OK;
  rewind_to_output(s);
  cpl_status st = s->m->ops->enter_event(s->m);
  s->in_event = st >= 0;
  return st;
}

// From event mode to continuous time: iterate until the model asks for no more, then read what it
// changed.
static cpl_status event_iteration(integrate* s) {
  cpl_event_info info = {.again = true};
  cpl_status st = set_inputs(s, s->t);
  for (int round = 0; st >= 0 && info.again; round++) {
    if (round == MOST_ROUNDS) {
      return cpl_fail(
          s->base.base.ctx, CPL_ERR_MODEL,
          "%s: the event at t=%.12g does not settle: %d updates, and the model asks for another",
          s->base.base.name, s->t, MOST_ROUNDS);
    }
    info = (cpl_event_info){.next_time = INFINITY};
    st = s->m->ops->event_update(s->m, &info);
    if (st < 0) return st;
    s->ended = s->ended || info.terminate;
    if (info.terminate) break;
  }
  if (st < 0) return st;
  s->next_time = info.next_time;
  if (info.structure_changed) {
    return cpl_fail(s->base.base.ctx, CPL_ERR_UNSUPPORTED,
                    "%s: the model changed its structure at t=%.12g", s->base.base.name, s->t);
  }
  if (s->ended) return CPL_OK;
  st = s->m->ops->enter_continuous(s->m);
  s->in_event = false;
  if (st >= 0 && s->n > 0) st = s->m->ops->get_states(s->m, s->x);
  return st < 0 ? st : restart(s);
}

static cpl_status handle_event(integrate* s) {
  double since = clock_if(s);
  cpl_status st = enter_event_mode(s);
  if (st >= 0) st = event_iteration(s);
  account(s, since);
  s->pending = NO_EVENT;
  return st;
}

static void name_indicator(const integrate* s, size_t indicator, char* out, size_t size) {
  snprintf(out, size, "indicator %zu", indicator + 1);
  if (s->m->ops->name_indicator != NULL) s->m->ops->name_indicator(s->m, indicator, out, size);
}

static cpl_status chattering(integrate* s, size_t indicator, const struct trail* k,
                             const char* how) {
  char name[256];
  name_indicator(s, indicator, name, sizeof name);
  return cpl_fail(s->base.base.ctx, CPL_ERR_SOLVER,
                  "%s: chattering: the events of %s %s at t=%.12g (%d of them in a row, the last "
                  "two %.2g apart); the "
                  "model must leave this behaviour, or the run must end before it",
                  s->base.base.name, name, how, s->t, k->close > k->shrunk ? k->close : k->shrunk,
                  k->distance);
}

static cpl_status watch_crossing(integrate* s, size_t indicator, struct trail* k) {
  double distance = s->t - k->last;
  k->last = s->t;
  if (!isfinite(distance)) return CPL_OK;
  if (s->t + distance > s->careful_until) {
    s->careful_until = s->t + distance;
    s->careful_step = distance / 4;
  }
  k->close = distance < close_by * fmax(fabs(s->t), s->t - s->t_start) ? k->close + 1 : 0;
  bool shrunk = distance < shrinking * k->distance;
  if (!shrunk || k->shrunk == 0) k->begin = s->t - distance;
  k->shrunk = shrunk ? k->shrunk + 1 : 0;
  k->distance = distance;
  if (k->close >= CHATTERING) return chattering(s, indicator, k, "do not leave each other");
  // An accumulation point is ahead. Between two events an indicator moves by the square of their
  // distance, and what it moves must stay above the tolerance for the next event to be seen.
  bool near = distance < fmax(sqrt(s->def.rtol), close_by) * (s->t - k->begin);
  if (k->shrunk >= ACCUMULATING && near) return chattering(s, indicator, k, "accumulate");
  return CPL_OK;
}

// Watches events of the same indicator in the same direction. Steps after an event are kept shorter
// than the last distance between two of them, so that none is jumped over when they come in ever
// shorter time.
static cpl_status watch_crossings(integrate* s) {
  s->careful_until = -INFINITY;
  for (size_t i = 0; i < s->nz; i++) {
    if (s->crossed[i] == 0) continue;
    cpl_status st = watch_crossing(s, i, &s->trails[2 * i + (s->crossed[i] > 0)]);
    if (st < 0) return st;
  }
  return CPL_OK;
}

static cpl_status watch_progress(integrate* s) {
  int32_t most = s->def.max_events > 0 ? s->def.max_events : DEFAULT_MAX_EVENTS;
  if (s->t - s->stuck_since > no_progress * fmax(fabs(s->t), s->t - s->t_start)) {
    s->stuck = 0;
    s->stuck_since = s->t;
  }
  if (++s->stuck <= most) return CPL_OK;
  return cpl_fail(s->base.base.ctx, CPL_ERR_SOLVER,
                  "%s: chattering: %d events at t=%.12g without progress in time",
                  s->base.base.name, most, s->t);
}

//------------------------------------ steps ------------------------------------

// Who fired, for people who look for it (--log-level debug).
static void log_event(integrate* s, cause why) {
  static const char* const names[] = {
      [TIME_EVENT] = "time event", [STEP_EVENT] = "step event", [STATE_EVENT] = ""};
  cpl_context* ctx = s->base.base.ctx;
  if (!cpli_logs(ctx, CPL_LOG_DEBUG)) return;
  if (why != STATE_EVENT)
    cpl_log(ctx, CPL_LOG_DEBUG, s->base.base.name, "%s at t=%.12g", names[why], s->t);
  for (size_t i = 0; i < s->nz && why == STATE_EVENT; i++) {
    char name[256];
    if (s->crossed[i] == 0) continue;
    name_indicator(s, i, name, sizeof name);
    cpl_log(ctx, CPL_LOG_DEBUG, s->base.base.name, "state event at t=%.12g: %s turns %s", s->t,
            name, s->crossed[i] > 0 ? "positive" : "not positive");
  }
}

static cpl_status stop_at_event(integrate* s, cause why, cpl_step_result* result) {
  log_event(s, why);
  cpl_status st = watch_progress(s);
  if (st >= 0 && why == STATE_EVENT) st = watch_crossings(s);
  s->pending = why;
  s->at_end = NO_EVENT;
  s->stats.state_events += why == STATE_EVENT;
  s->stats.time_events += why == TIME_EVENT;
  s->stats.step_events += why == STEP_EVENT;
  result->end = CPL_STEP_EVENT;
  result->time = s->t;
  return st;
}

// The solver's step ends where we are now: the model hears of it and may ask for an event.
static cpl_status close_step(integrate* s, bool* wants_event) {
  bool event = false, end = false;
  double since = clock_if(s);
  s->t = s->t_step;
  cpl_status st = place(s, s->t, s->x);
  if (st == CPL_OK && s->step_open) st = s->m->ops->completed_step(s->m, &event, &end);
  account(s, since);
  s->step_open = false;
  s->ended = s->ended || end;
  *wants_event = event;
  return st == CPL_RETRY ? cpl_fail_prefix(s->base.base.ctx, CPL_ERR_MODEL,
                                           "%s: at the end of a step", s->base.base.name)
                         : st;
}

static cpl_status solver_step(integrate* s, double t_limit) {
  double longest = s->def.step > 0 ? s->def.step : INFINITY;
  if (s->t_step < s->careful_until) longest = fmin(longest, s->careful_step);
  double limit = fmin(t_limit, s->next_time);
  memset(s->crossed, 0, s->nz);
  cpl_status st = s->solver->ops->step(s->solver, limit, longest, &s->t_step, s->x, s->crossed);
  if (st < 0) return st;
  s->step_open = true;
  s->at_end = st == CPL_EVENT ? STATE_EVENT : s->t_step >= s->next_time ? TIME_EVENT : NO_EVENT;
  return CPL_OK;
}

static cpl_status finish(integrate* s, cpl_step_result* result) {
  result->end = s->ended ? CPL_STEP_TERMINATE : CPL_STEP_DONE;
  result->time = s->t;
  return CPL_OK;
}

// A point inside the solver's last step.
static cpl_status interpolated(integrate* s, double t_end, cpl_step_result* result) {
  cpl_status st = s->solver->ops->interpolate(s->solver, t_end, s->x_at);
  s->t = t_end;
  if (st >= 0) st = place(s, t_end, s->x_at);
  if (st == CPL_RETRY)
    st = cpl_fail_prefix(s->base.base.ctx, CPL_ERR_MODEL, "%s: at an output point",
                         s->base.base.name);
  return st < 0 ? st : finish(s, result);
}

static cpl_status step(cpl_stepper* base, double t_end, double t_limit, cpl_step_result* result) {
  integrate* s = (integrate*)base;
  cpl_status st = CPL_OK;
  *result = (cpl_step_result){.time = s->t};
  if (s->def.stop_at_steps_end || s->def.restart_each_step) t_limit = t_end;

  // an event that waits, or a step of size zero: the update
  if (s->ended) return finish(s, result);
  if (s->pending != NO_EVENT || t_end <= s->t) {
    st = handle_event(s);
    result->event_handled = true;
    if (st < 0) return st;
  } else if (s->def.restart_each_step) {
    st = restart(s);
    if (st < 0) return st;
  }

  // steps of the solver until one reaches t_end or an event stops us
  while (!s->ended && s->t < t_end) {
    bool wants_event = false;
    if (s->def.cancel != NULL && *s->def.cancel != 0) {
      return cpl_fail(s->base.base.ctx, CPL_ERR_CANCELLED, "%s: interrupted at t=%.12g",
                      s->base.base.name, s->t);
    }
    if (t_end < s->t_step) return interpolated(s, t_end, result);
    if (s->step_open || s->at_end != NO_EVENT) {
      st = close_step(s, &wants_event);
      if (st < 0) return st;
      if (s->ended) break;
      if (s->at_end != NO_EVENT) return stop_at_event(s, s->at_end, result);
      if (wants_event) return stop_at_event(s, STEP_EVENT, result);
    } else if (s->next_time <= s->t) {
      return stop_at_event(s, TIME_EVENT, result);
    } else {
      st = solver_step(s, t_limit);
      if (st < 0) return st;
    }
  }
  return finish(s, result);
}

//------------------------------------ values ------------------------------------

// A value that is set between steps is a discontinuity: it is set in event mode, and the next step
// begins with the update.
static cpl_status before_set(integrate* s) {
  if (!s->running) return CPL_OK;
  s->pending = INPUT_EVENT;
  return enter_event_mode(s);
}

static cpl_status get_real(cpl_component* c, const uint32_t* refs, size_t n, double* values) {
  return model_of(c)->ops->get_real(model_of(c), refs, n, values);
}
static cpl_status get_integer(cpl_component* c, cpl_type type, const uint32_t* refs, size_t n,
                              int64_t* values) {
  return model_of(c)->ops->get_integer(model_of(c), type, refs, n, values);
}
static cpl_status get_string(cpl_component* c, const uint32_t* refs, size_t n,
                             const char** values) {
  return model_of(c)->ops->get_string(model_of(c), refs, n, values);
}
static cpl_status set_real(cpl_component* c, const uint32_t* refs, size_t n, const double* values) {
  cpl_status st = before_set((integrate*)c);
  return st < 0 ? st : model_of(c)->ops->set_real(model_of(c), refs, n, values);
}
static cpl_status set_integer(cpl_component* c, cpl_type type, const uint32_t* refs, size_t n,
                              const int64_t* values) {
  cpl_status st = before_set((integrate*)c);
  return st < 0 ? st : model_of(c)->ops->set_integer(model_of(c), type, refs, n, values);
}
static cpl_status set_string(cpl_component* c, const uint32_t* refs, size_t n,
                             const char* const* values) {
  cpl_status st = before_set((integrate*)c);
  return st < 0 ? st : model_of(c)->ops->set_string(model_of(c), refs, n, values);
}
// Asked for only by those who found a Binary in the model's description.
static cpl_status get_binary(cpl_component* c, const uint32_t* refs, size_t n, cpl_binary* values) {
  return model_of(c)->ops->get_binary(model_of(c), refs, n, values);
}
static cpl_status set_binary(cpl_component* c, const uint32_t* refs, size_t n,
                             const cpl_binary* values) {
  cpl_status st = before_set((integrate*)c);
  return st < 0 ? st : model_of(c)->ops->set_binary(model_of(c), refs, n, values);
}
static cpl_status directional(cpl_component* c, const uint32_t* unknowns, size_t n_unknowns,
                              const uint32_t* knowns, size_t n_knowns, const double* seed,
                              double* sensitivity) {
  return model_of(c)->ops->directional(model_of(c), unknowns, n_unknowns, knowns, n_knowns, seed,
                                       sensitivity);
}

static cpl_status set_curve(cpl_stepper* base, uint32_t ref, const cpl_curve* curve) {
  integrate* s = (integrate*)base;
  size_t i = 0;
  while (i < s->n_curves && s->curve_refs[i] != ref) i++;
  if (i == s->cap_curves) {
    size_t cap = s->cap_curves > 0 ? 2 * s->cap_curves : 8;
    cpl_context* ctx = base->base.ctx;
    cpl_curve* curves = cpli_realloc(ctx, s->curves, cap, sizeof *curves);
    if (curves != NULL) s->curves = curves;
    uint32_t* refs = cpli_realloc(ctx, s->curve_refs, cap, sizeof *refs);
    if (refs != NULL) s->curve_refs = refs;
    double* values = cpli_realloc(ctx, s->curve_values, cap, sizeof *values);
    if (values != NULL) s->curve_values = values;
    if (curves == NULL || refs == NULL || values == NULL) return cpli_nomem(ctx);
    s->cap_curves = cap;
  }
  if (i == s->n_curves) s->n_curves++;
  s->curves[i] = *curve;
  s->curve_refs[i] = ref;
  return CPL_OK;
}

//------------------------------------ life ------------------------------------

static cpl_status setup(cpl_component* c, const cpl_setup* settings) {
  integrate* s = (integrate*)c;
  s->t = s->t_step = s->t_start = settings->start_time;
  s->stuck_since = -INFINITY;
  return model_of(c)->ops->setup(model_of(c), settings);
}

static cpl_status enter_init(cpl_component* c) {
  cpl_status st = model_of(c)->ops->enter_init(model_of(c));
  return st < 0 ? st : set_inputs((integrate*)c, ((integrate*)c)->t);
}

static cpl_status exit_init(cpl_component* c) {
  integrate* s = (integrate*)c;
  cpl_status st = set_inputs(s, s->t);
  if (st >= 0) st = model_of(c)->ops->exit_init(model_of(c));
  if (st < 0) return st;
  s->running = true;
  s->in_event = true;
  return event_iteration(s);
}

static void forget_run(integrate* s) {
  s->running = s->in_event = s->ended = s->step_open = false;
  s->at_end = s->pending = NO_EVENT;
  s->careful_until = s->stuck_since = -INFINITY;
  s->stuck = 0;
  for (size_t i = 0; i < 2 * s->nz; i++)
    s->trails[i] = (struct trail){.last = -INFINITY, .distance = INFINITY};
}

static cpl_status terminate(cpl_component* c) {
  ((integrate*)c)->running = false;
  return model_of(c)->ops->terminate(model_of(c));
}

static cpl_status reset(cpl_component* c) {
  forget_run((integrate*)c);
  return model_of(c)->ops->reset(model_of(c));
}

static void destroy(cpl_component* c) {
  if (c == NULL) return;
  integrate* s = (integrate*)c;
  cpl_context* ctx = c->ctx;
  cpl_jacobian_destroy(s->jac);
  if (s->solver != NULL) s->solver->ops->destroy(s->solver);
  if (s->m != NULL) s->m->base.ops->destroy(&s->m->base);
  cpli_free(ctx, s->x);
  cpli_free(ctx, s->crossed);
  cpli_free(ctx, s->trails);
  cpli_free(ctx, s->curves);
  cpli_free(ctx, s->curve_refs);
  cpli_free(ctx, s->curve_values);
  cpli_free(ctx, s);
}

//------------------------------------ save and restore ------------------------------------

// The solver's history is not part of it: with restart_each_step every step begins without one.
typedef struct saved {
  cpl_snapshot model;
  double t, next_time, careful_until, careful_step, stuck_since;
  int32_t stuck;
  cause pending;
  bool running, in_event, ended;
  double x[];  // and the trails behind them
} saved;

static size_t saved_size(const integrate* s) {
  return sizeof(saved) + s->n * sizeof(double) + 2 * s->nz * sizeof *s->trails;
}

static cpl_status save(cpl_component* c, cpl_snapshot* snapshot) {
  integrate* s = (integrate*)c;
  if (snapshot->data == NULL) {
    snapshot->data = cpli_alloc(c->ctx, 1, saved_size(s));
    if (snapshot->data == NULL) return cpli_nomem(c->ctx);
  }
  saved* k = snapshot->data;
  cpl_snapshot inner = k->model;
  *k =
      (saved){inner,    s->t,       s->next_time, s->careful_until, s->careful_step, s->stuck_since,
              s->stuck, s->pending, s->running,   s->in_event,      s->ended};
  memcpy(k->x, s->x, s->n * sizeof(double));
  memcpy(k->x + s->n, s->trails, 2 * s->nz * sizeof *s->trails);
  return model_of(c)->ops->save(model_of(c), &k->model);
}

static cpl_status restore(cpl_component* c, const cpl_snapshot* snapshot) {
  integrate* s = (integrate*)c;
  const saved* k = snapshot->data;
  s->t = s->t_step = k->t;
  s->next_time = k->next_time;
  s->careful_until = k->careful_until;
  s->careful_step = k->careful_step;
  s->stuck_since = k->stuck_since;
  s->stuck = k->stuck;
  s->pending = k->pending;
  s->running = k->running;
  s->in_event = k->in_event;
  s->ended = k->ended;
  s->step_open = false;
  s->at_end = NO_EVENT;
  memcpy(s->x, k->x, s->n * sizeof(double));
  memcpy(s->trails, k->x + s->n, 2 * s->nz * sizeof *s->trails);
  return model_of(c)->ops->restore(model_of(c), &k->model);
}

static void forget(cpl_component* c, cpl_snapshot* snapshot) {
  saved* k = snapshot->data;
  if (k == NULL) return;
  model_of(c)->ops->forget(model_of(c), &k->model);
  cpli_free(c->ctx, k);
  snapshot->data = NULL;
}

size_t cpli_integrate_serialize(const cpl_stepper* s, const cpl_snapshot* snapshot,
                                unsigned char* bytes) {
  size_t size = saved_size((const integrate*)s);
  if (bytes == NULL) return size;
  memcpy(bytes, snapshot->data, size);
  memset(bytes + offsetof(saved, model), 0, sizeof(cpl_snapshot));  // an address means nothing
  return size;
}

cpl_status cpli_integrate_deserialize(cpl_stepper* s, const unsigned char* bytes, size_t size,
                                      cpl_snapshot* snapshot, size_t* used) {
  size_t own = saved_size((const integrate*)s);
  if (size < own) {
    return cpl_fail(s->base.ctx, CPL_ERR_INPUT, "%s: %zu bytes are too few for a saved state",
                    s->base.name, size);
  }
  if (snapshot->data == NULL) snapshot->data = cpli_alloc(s->base.ctx, 1, own);
  if (snapshot->data == NULL) return cpli_nomem(s->base.ctx);
  cpl_snapshot model = *cpli_integrate_model_snapshot(snapshot);
  memcpy(snapshot->data, bytes, own);
  *cpli_integrate_model_snapshot(snapshot) = model;
  *used = own;
  return CPL_OK;
}

cpl_snapshot* cpli_integrate_model_snapshot(const cpl_snapshot* snapshot) {
  return &((saved*)snapshot->data)->model;
}

//------------------------------------ create ------------------------------------

#define COMMON_OPS                                                                      \
  .kind = "integrate", .destroy = destroy, .setup = setup, .enter_init = enter_init,    \
  .exit_init = exit_init, .terminate = terminate, .reset = reset, .get_real = get_real, \
  .set_real = set_real, .get_integer = get_integer, .set_integer = set_integer,         \
  .get_string = get_string, .set_string = set_string, .get_binary = get_binary,         \
  .set_binary = set_binary
#define ROLLBACK_OPS .save = save, .restore = restore, .forget = forget

static const cpl_component_ops component_ops[2][2] = {
    // [rolls back][has directional derivatives]
    {{COMMON_OPS}, {COMMON_OPS, .directional = directional}},
    {{COMMON_OPS, ROLLBACK_OPS}, {COMMON_OPS, ROLLBACK_OPS, .directional = directional}},
};
static const cpl_stepper_ops stepper_ops = {.step = step, .set_curve = set_curve};

static const char* const solver_names[] = {[CPL_SOLVER_CVODE] = "cvode",
                                           [CPL_SOLVER_ADAMS] = "adams",
                                           [CPL_SOLVER_RK4] = "rk4",
                                           [CPL_SOLVER_EULER] = "euler"};

bool cpl_solver_by_name(const char* name, cpl_solver_kind* out) {
  for (size_t i = 0; i < CPLI_COUNT(solver_names); i++) {
    if (strcmp(name, solver_names[i]) != 0) continue;
    *out = (cpl_solver_kind)i;
    return true;
  }
  return false;
}

const char* cpl_solver_name(cpl_solver_kind kind) { return solver_names[kind]; }

cpl_solver_def cpl_default_solver_def(void) {
  return (cpl_solver_def){.kind = CPL_SOLVER_CVODE, .rtol = 1e-6};
}

static cpl_status allocate(integrate* s, cpl_context* ctx) {
  s->x = cpli_alloc(ctx, 4 * s->n, sizeof(double));
  s->crossed = cpli_alloc(ctx, s->nz, 1);
  s->trails = cpli_alloc(ctx, 2 * s->nz, sizeof *s->trails);
  if (s->x == NULL || s->crossed == NULL || s->trails == NULL) return cpli_nomem(ctx);
  s->x_at = s->x + s->n;
  s->atol = s->x_at + s->n;
  s->nominal = s->atol + s->n;
  forget_run(s);
  return CPL_OK;
}

static cpl_status make_jacobian(integrate* s) {
  const cpl_description* d = s->base.base.desc;
  if (s->def.kind != CPL_SOLVER_CVODE || s->n == 0 || s->m->ops->newton_setup != NULL)
    return CPL_OK;
  for (int32_t k = 0; k < d->n_states; k++) {
    if (d->states[k] < 0 || d->derivatives[k] < 0)
      return CPL_OK;  // hidden states: CVODE's differences
  }
  cpl_jacobian_def def = cpl_default_jacobian_def();
  def.rows = d->derivatives;
  def.columns = d->states;
  def.n_rows = def.n_columns = d->n_states;
  return cpl_jacobian_create(s->m, &def, &s->jac);
}

static cpl_status make_solver(integrate* s, cpl_context* ctx) {
  cpli_ode ode = {.n = s->n,
                  .n_roots = s->nz,
                  .user = s,
                  .rhs = rhs,
                  .roots = roots,
                  .jacobian = s->jac != NULL ? jacobian : NULL};
  if (s->m->ops->newton_setup != NULL)
    ode.newton_setup = newton_setup, ode.newton_solve = newton_solve;
  cpl_solver_def def = s->def;
  bool variable = def.kind == CPL_SOLVER_CVODE || def.kind == CPL_SOLVER_ADAMS;
  cpl_status st;
  if (s->n == 0) {  // nothing to integrate: one step to every point asked for
    if (!(def.step > 0)) def.step = INFINITY;
    s->def.stop_at_steps_end = true;
    st = cpli_fixed_create(ctx, &ode, &def, &s->stats, &s->solver);
  } else if (variable) {
    st = cpli_cvode_create(ctx, &ode, &def, &s->stats, &s->solver);
  } else if (def.step > 0) {
    st = cpli_fixed_create(ctx, &ode, &def, &s->stats, &s->solver);
  } else {
    return cpl_fail(ctx, CPL_ERR_INPUT, "solver %s needs a step", cpl_solver_name(def.kind));
  }
  if (st >= 0) s->solver->who = s->base.base.name;
  return st;
}

static cpl_status check(cpl_context* ctx, const char* who, const cpl_solver_def* def) {
  if (!(def->rtol > 0) || !(def->rtol < 1))
    return cpl_fail(ctx, CPL_ERR_INPUT,
                    "%s: the relative tolerance is %g; it must lie between 0 and 1", who,
                    def->rtol);
  if (!(def->atol >= 0) || !isfinite(def->atol))
    return cpl_fail(ctx, CPL_ERR_INPUT, "%s: the absolute tolerance is %g; it must be positive",
                    who, def->atol);
  if (!(def->step >= 0))
    return cpl_fail(ctx, CPL_ERR_INPUT, "%s: the step is %g; it must be positive", who, def->step);
  return CPL_OK;
}

cpl_status cpl_integrate(cpl_model* model, const cpl_solver_def* def, cpl_stepper** out) {
  cpl_context* ctx = model->base.ctx;
  *out = NULL;
  integrate* s = cpli_alloc(ctx, 1, sizeof *s);
  if (s == NULL) {
    model->base.ops->destroy(&model->base);
    return cpli_nomem(ctx);
  }
  const cpl_capabilities* can = &model->base.can;
  bool rolls_back = def->restart_each_step && model->base.ops->save != NULL;
  bool has_directional = model->base.ops->directional != NULL;
  *s = (integrate){.m = model,
                   .def = *def,
                   .n = (size_t)model->base.desc->n_states,
                   .nz = (size_t)model->base.desc->n_indicators,
                   .next_time = INFINITY};
  s->base = (cpl_stepper){.base = {.ops = &component_ops[rolls_back][has_directional],
                                   .desc = model->base.desc,
                                   .ctx = ctx,
                                   .name = model->base.name,
                                   .can = {.directional = has_directional,
                                           .save_restore = rolls_back,
                                           .once_per_process = can->once_per_process,
                                           .needs_tool = can->needs_tool,
                                           .variable_step = true,
                                           .zero_step = true,
                                           .stops_early = true,
                                           .get_after_set = true,
                                           .dense_output = true,
                                           .input_derivatives = 3}},
                          .ops = &stepper_ops};
  cpl_status st = check(ctx, model->base.name, def);
  if (st >= 0) st = allocate(s, ctx);
  if (st >= 0) st = make_jacobian(s);
  if (st >= 0) st = make_solver(s, ctx);
  if (st < 0) destroy(&s->base.base);
  else *out = &s->base;
  return st;
}

const cpl_solver_stats* cpl_integrate_stats(const cpl_stepper* s) {
  return s->ops == &stepper_ops ? &((const integrate*)s)->stats : NULL;
}
