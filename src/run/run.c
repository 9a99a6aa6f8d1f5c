// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The run itself, cpl_run(): initialisation, the two time grids of output points and communication
// points, steps with and without dense output, events, jumps of inputs, and statistics.
#include "run/run.h"
#include "base/error.h"
#include "base/float_modes.h"

#include <assert.h>
#include <math.h>

#include "couplet/component.h"
#include "master/master.h"
#include "model/adopt.h"
#include "model/start.h"
#include "solver/integrate.h"

enum { MAX_EVENTS_AT_TIME = 1000 };  // events at one time

typedef cpl_simulation run;

void cpl_init_run_def(cpl_run_def* def, size_t size) {
  const cpl_run_def all = {.stop_time = 1};
  cpli_init_def(def, size, &all, sizeof all);
}

//------------------------------------ time ------------------------------------

cpli_grid cpli_grid_make(double start, double stop, double spacing) {
  assert(start <= stop && (spacing > 0 || start == stop));
  double n = ceil((stop - start) / spacing * (1 - 1e-12) - 1e-9);
  // without an end there are as many points as there are numbers; NaN: none
  return (cpli_grid){start, stop, spacing, 1, n >= 0x1p62 ? INT64_MAX : n >= 1 ? (int64_t)n : 1};
}

static double grid_next(const cpli_grid* g) { return cpli_grid_time(g, g->next); }

static void grid_pass(cpli_grid* g, double t) {
  while (g->next < g->last && grid_next(g) <= t) g->next++;
}

static cpl_status check(run* r) {
  const cpl_run_def* d = &r->def;
  cpl_context* ctx = r->s->base.ctx;
  const char* name = r->s->base.name;
  if (!isfinite(d->start_time) || !(d->stop_time >= d->start_time)) {
    return cpl_fail_in(
        ctx, CPL_ERR_INPUT, name, NULL, NAN,
        "the run goes from %g to %g: the stop time must not lie before the start time",
        d->start_time, d->stop_time);
  }
  if (!(d->interval >= 0) || !(d->step >= 0)) {
    return cpl_fail_in(ctx, CPL_ERR_INPUT, name, NULL, NAN,
                       "interval (%g) and step (%g) must be positive", d->interval, d->step);
  }
  double span = d->stop_time - d->start_time;
  double finest = fmin(d->interval > 0 ? d->interval : span, d->step > 0 ? d->step : span);
  if (isfinite(span) && span / finest > 1e12)
    return cpl_fail_in(ctx, CPL_ERR_INPUT, name, NULL, NAN,
                       "%g s in steps of %g s are too many steps for a run", span, finest);
  return cpli_check_times(ctx, name, d->start_time, d->stop_time, finest,
                          d->step > 0 && d->step <= finest ? "steps" : "output points", true);
}

static void plan_grids(run* r) {
  const cpl_run_def* d = &r->def;
  double span = d->stop_time - d->start_time;
  double interval = d->interval, step = r->dense ? 0 : d->step, own = cpl_master_step_size(r->s);
  if (interval == 0) interval = step > 0 ? step : span / 500;
  if (step == 0) step = interval;
  if (r->inputs.n > 0 && own > 0) step = fmin(step, own);  // a master takes inputs at all its steps
  r->output = cpli_grid_make(d->start_time, d->stop_time, interval);
  r->exchange = r->dense ? r->output : cpli_grid_make(d->start_time, d->stop_time, step);
  r->any_time = r->s->base.can.variable_step || r->s->ops->value_time != NULL;
}

// A stepper whose communication step cannot vary needs one.
static cpl_status check_endless(const run* r) {
  if (isfinite(r->exchange.spacing) || r->dense || r->any_time) return CPL_OK;
  return cpl_fail_in(r->s->base.ctx, CPL_ERR_INPUT, r->s->base.name, NULL, NAN,
                     "a run without a stop time needs a communication step here, since the model "
                     "cannot vary it");
}

// Whether the last step would be shorter than all others, for a stepper that cannot vary it.
static bool ends_short(const run* r) {
  const cpli_grid* g = &r->exchange;
  return !r->any_time && g->stop < g->start + (double)g->last * g->spacing * (1 - 1e-9);
}

// Whether rows may have to wait for values: output points are between communication points, or
// values of a part do not belong to the present time.
static bool rows_wait(const run* r) {
  if (r->dense) return false;
  if (r->any_time) return r->s->ops->value_time != NULL;
  double ratio = r->output.spacing / r->exchange.spacing;
  return fabs(ratio - round(ratio)) > 1e-9 * ratio || ends_short(r);
}

//------------------------------------ points ------------------------------------

static cpl_status record(run* r) {
  if (r->recorded || r->quiet) return CPL_OK;
  r->recorded = true;
  return cpli_recorder_point(&r->recorder, r->t);
}

// Points of two grids that differ by rounding are the same.
static double rounding(const run* r) {
  return isfinite(r->exchange.spacing) ? 1e-9 * r->exchange.spacing : 0;
}

// Records output points that the step to `until` passed; none where rows do not wait.
static cpl_status record_passed(run* r, double until) {
  cpl_status st = CPL_OK;
  until -= rounding(r);
  while (st >= 0 && r->output.next < r->output.last && grid_next(&r->output) < until) {
    double t = grid_next(&r->output);
    if (t > r->t && r->recorder.waits) st = cpli_recorder_await(&r->recorder, t);
    r->output.next++;
  }
  return st;
}

// The kind of the next row, where there are segments.
static void set_kind(run* r, cpli_point_kind kind) {
  if (r->segments != NULL) r->segments->kind = kind;
}

// Models may change the modes of floating-point arithmetic here only: their calls are faster then.
static cpl_status step_to(run* r, double target, double limit, cpl_step_result* result) {
  const uint32_t outer = cpli_float_begin();
  cpl_status st = r->s->ops->step(r->s, target, limit, result);
  cpli_float_end(outer);
  return st;
}

static cpl_status update_event(run* r) {
  cpl_step_result result;
  cpl_status st;
  do {  // updates of one event; rows have the values before and after all of them
    st = step_to(r, r->t, r->t, &result);
  } while (st >= 0 && result.again);
  r->ended = st >= 0 && result.end == CPL_STEP_TERMINATE;
  r->recorded = false;
  set_kind(r, CPLI_POINT_BEGIN);
  return st;
}

//------------------------------------ steps ------------------------------------

// A stepper with dense output advances from output point to output point, interrupted by events and
// jumps of inputs.
static cpl_status dense_step(run* r) {
  cpl_step_result result;
  double jump = cpli_inputs_next_jump(&r->inputs);
  double limit = fmin(jump, r->limit);
  double target = fmin(fmin(grid_next(&r->output), r->until), limit);
  cpl_status st = r->segments != NULL ? cpli_segments_target(r, limit, &target) : CPL_OK;
  if (st < 0 || r->ended) return st;
  st = step_to(r, target, limit, &result);
  if (st < 0) return st;
  r->t = result.time;
  if (r->segments != NULL) cpli_segments_reached(r, result.end != CPL_STEP_DONE);
  r->recorded = false;
  r->ended = result.end == CPL_STEP_TERMINATE;
  grid_pass(&r->output, r->t);
  st = record(r);
  if (st < 0 || r->ended) return st;
  bool at_jump = r->t >= jump;
  if (at_jump) st = cpli_inputs_set(&r->inputs, r->t);
  if (st >= 0 && (at_jump || result.end == CPL_STEP_EVENT)) {
    st = update_event(r);  // both sides are recorded
    if (st >= 0) st = record(r);
  }
  return st;
}

static cpl_status refused(run* r, double target, double reached, double* h) {
  r->stats.refused_steps++;
  if (reached > r->t) return CPL_OK;
  *h *= 0.5;
  if (r->t + *h > r->t && *h > 1e-10 * (target - r->t)) return CPL_OK;
  return cpl_fail_in(r->s->base.ctx, CPL_ERR_MODEL, r->s->base.name, NULL, r->t,
                     "refuses every step at t=%.12g, however short", r->t);
}

// The next communication point: of its own grid and, if the step can vary, each output point.
static double next_exchange(const run* r) {
  double target = grid_next(&r->exchange);
  if (!r->any_time) return target;
  double next = fmin(fmin(grid_next(&r->output), r->until), r->recorder.next);
  return next < target - rounding(r) && next > r->t ? next : target;
}

// The stop time is before the next point of a stepper whose step cannot vary.
static cpl_status end_early(run* r) {
  cpl_status st = record_passed(r, r->def.stop_time);
  r->t = r->def.stop_time;
  return st < 0 ? st : cpli_recorder_await(&r->recorder, r->t);
}

// Shortens a communication step to end where an input jumps.
static double before_jump(run* r, double target, double jump) {
  if (!(jump > r->t && jump < target - rounding(r))) return target;
  if (r->s->base.can.variable_step) return jump;
  if (!r->warned_late) {
    cpl_log(r->s->base.ctx, CPL_LOG_WARNING, r->s->base.name,
            "an input jumps at t=%.12g, but the communication step cannot vary: jumps take effect "
            "at the next communication point, and pulses shorter than a step are lost",
            jump);
  }
  r->warned_late = true;
  return target;
}

// With error control, kinks of input tables are communication points, as are those of tables inside
// of the system.
static double before_kink(run* r, double target) {
  if (!(r->tolerance > 0) || !r->s->base.can.variable_step) return target;
  double kink = cpli_inputs_next_kink(&r->inputs, r->t, r->tolerance);
  return kink < target - rounding(r) ? kink : target;
}

// At the jump of an input: records the side before it, and the one after it where outputs follow
// inputs.
static cpl_status pass_jump(run* r) {
  cpl_status st = record(r);
  if (st < 0 || !r->s->base.can.zero_step) return st;
  st = cpli_inputs_set(&r->inputs, r->t);
  if (st >= 0) st = update_event(r);
  return st < 0 ? st : record(r);
}

// Detects an endless sequence of events at one time.
static cpl_status check_progress(run* r, double before, int* stands) {
  *stands = r->t > before ? 0 : *stands + 1;
  if (*stands < MAX_EVENTS_AT_TIME) return CPL_OK;
  return cpl_fail_in(r->s->base.ctx, CPL_ERR_MODEL, r->s->base.name, NULL, r->t,
                     "stays at t=%.12g: %d steps in a row ended there with an event", r->t,
                     MAX_EVENTS_AT_TIME);
}

// For a stepper that does not report its steps: only communication steps are known.
static cpl_status note_pace(run* r, double t) {
  cpl_component* c = &r->s->base;
  if (cpli_pace_step(c->ctx, &r->pace, c->name, t, t - r->t, r->def.stop_time, "")) return CPL_OK;
  return cpl_fail_in(c->ctx, CPL_ERR_MODEL, c->name, NULL, t,
                     "time does not advance any more at t=%.12g: the last communication step was "
                     "%.3g s long",
                     t, t - r->t);
}

// A stepper without dense output advances between communication points; inputs are set at each.
static cpl_status exchange_step(run* r) {
  if (r->exchange.next >= r->exchange.last && ends_short(r)) return end_early(r);
  cpl_status st = cpli_inputs_set(&r->inputs, r->t);
  double jump = cpli_inputs_next_jump(&r->inputs);
  double target = before_kink(r, before_jump(r, next_exchange(r), jump)), h = target - r->t;
  int stands = 0;
  bool passed = false;  // the jump
  while (st >= 0 && !r->ended && r->t < target) {
    cpl_step_result result;
    double before = r->t;
    double end = h < target - r->t ? r->t + h : target;
    r->stepped = false;
    st = step_to(r, end, end, &result);
    if (st >= 0 && !r->stepped) st = note_pace(r, result.time);
    if (st < 0) return st;
    r->stats.communication_steps++;
    if (result.end == CPL_STEP_REFUSED) st = refused(r, target, result.time, &h);
    if (st >= 0 && result.time > r->t) st = record_passed(r, result.time);
    if (result.time > r->t) r->recorded = false;
    r->t = result.time;
    r->ended = result.end == CPL_STEP_TERMINATE;
    if (st >= 0 && r->recorder.waits) st = cpli_recorder_sample(&r->recorder, r->t);
    bool event = result.end == CPL_STEP_EVENT;
    set_kind(r, CPLI_POINT_END);
    if (st >= 0 && event) st = check_progress(r, before, &stands);
    if (st >= 0 && (event || r->ended)) st = record(r);
    if (st >= 0 && event && r->s->base.can.zero_step) {
      // an event where an input jumps: it has the new value
      passed = r->t >= jump - rounding(r);
      if (passed) st = cpli_inputs_set(&r->inputs, fmax(r->t, jump));
      if (st >= 0) st = update_event(r);  // both sides are recorded
      if (st >= 0) st = record(r);
    }
  }
  if (st >= 0 && !r->ended && r->t >= jump && !passed) st = pass_jump(r);
  if (st < 0) return st;
  grid_pass(&r->exchange, r->t);
  double now = r->t + rounding(r);
  if (r->segments == NULL && r->t < r->until && now < grid_next(&r->output)) return CPL_OK;
  grid_pass(&r->output, now);
  return record(r);
}

//------------------------------------ the run ------------------------------------

cpl_status cpli_run_set_starts(run* r) {
  if (r->has_starts) return CPL_OK;
  r->has_starts = true;
  if (r->def.start_from != NULL) return CPL_OK;  // they are changes
  return cpli_set_starts(&r->s->base, r->def.starts, r->def.n_starts);
}

// Of the models: that of the run whose state it begins with.
static double start_of(const run* r) {
  return r->def.start_from != NULL ? cpl_checkpoint_start(r->def.start_from) : r->def.start_time;
}

static cpl_status initialize(run* r) {
  cpl_component* c = &r->s->base;
  cpl_setup setup = {.size = sizeof(cpl_setup),
                     .start_time = start_of(r),
                     .has_stop_time = isfinite(r->def.stop_time),
                     .stop_time = r->def.stop_time,
                     .has_tolerance = r->def.tolerance > 0,
                     .tolerance = r->def.tolerance};
  cpl_status st = cpli_run_set_starts(r);
  if (st >= 0) st = c->ops->setup(c, &setup);
  if (st >= 0) st = c->ops->enter_init(c);
  if (st >= 0) st = cpli_inputs_start(&r->inputs, start_of(r));
  if (st >= 0) st = c->ops->exit_init(c);
  return st;
}

// Reports an interruption of the whole, at the time it had reached.
static cpl_status interrupted(const run* r) {
  cpl_context* ctx = r->s->base.ctx;
  double t = cpli_interruption_time(ctx);
  return cpli_interrupted(ctx, r->s->base.name, t > r->t ? t : r->t);
}

// Called after every step, however short: the clock is read about every 10 ms.
static void on_stepped(void* user, double t, double h) {
  static const double between = 0.1;  // calls of on_step [s]
  run* r = user;
  r->stepped = true;
  if (r->def.on_step == NULL || ++r->skipped < r->skip) return;
  double now = cpli_now(), passed = now - r->looked;
  r->looked = now;
  r->skipped = 0;
  if (passed < 0.005 && r->skip < 1 << 16) r->skip *= 2;
  else if (passed > 0.02 && r->skip > 1) r->skip /= 2;
  if (now - r->shown < between) return;
  r->shown = now;
  r->def.on_step(r->def.user, t, h);
}

// Adds to a failure what only the run knows.
static cpl_status finish_failure(run* r, cpl_status st) {
  if (st >= 0) return st;
  if (st != CPL_ERR_INPUT && cpli_cancelled(r->s->base.ctx)) st = interrupted(r);
  return cpli_fail_where(r->s->base.ctx, st, r->s->base.name, NULL, r->t);
}

cpl_status cpli_run_open(run* r, cpl_stepper* s, const cpl_run_def* given) {
  cpl_run_def def = cpl_default_run_def();
  cpl_status st = cpli_read_def(s->base.ctx, "cpl_run_def", given, &def, sizeof def);
  *r = (run){.s = s,
             .def = def,
             .t = def.start_time,
             .until = def.stop_time,
             .dense = s->base.can.dense_output,
             .tolerance = cpli_master_tolerance(s),
             .since = cpli_now(),
             .checkpoints = {.lock = -1},
             .skip = 1};
  r->shown = r->looked = r->since;
  if (st >= 0) st = cpli_adopt_stepper(s);
  if (st >= 0) st = check(r);
  if (st >= 0) st = cpli_inputs_open(&r->inputs, s, &r->def);
  if (st >= 0) st = cpli_recorder_open(&r->recorder, s, &r->def);
  if (st >= 0) plan_grids(r);
  if (st >= 0) st = check_endless(r);
  return st >= 0 && rows_wait(r) ? cpli_recorder_wait(&r->recorder) : st;
}

void cpli_run_rewind(run* r) {
  r->stats = (cpl_run_stats){0};
  r->t = r->def.start_time;
  r->until = r->def.stop_time;
  r->since = r->shown = r->looked = cpli_now();
  r->output.next = r->exchange.next = 1;
  r->ended = r->running = r->has_starts = r->changed = r->recorded = false;
  r->st = CPL_OK;
  r->pace = (cpli_pace){0};
  cpli_inputs_rewind(&r->inputs, r->t);
  cpli_recorder_rewind(&r->recorder);
}

static cpl_status advance(run* r) {
  cpl_status st = CPL_OK;
  while (st >= 0 && !r->ended && r->t < r->until) {
    if (cpli_cancelled(r->s->base.ctx)) st = CPL_ERR_CANCELLED;
    else st = r->quiet ? CPL_OK : cpli_checkpoints_step(r, false);
    if (st >= 0) st = r->dense ? dense_step(r) : exchange_step(r);
    if (st != CPL_ERR_CANCELLED && r->def.on_progress != NULL)
      r->def.on_progress(r->def.user, r->t);
  }
  return st;
}

// From the state of another run to the start of this one, and its start values there.
static cpl_status start_from(run* r) {
  const double begin = r->def.start_time, from = cpl_checkpoint_time(r->def.start_from);
  if (from > begin)
    return cpl_fail_in(r->s->base.ctx, CPL_ERR_INPUT, r->s->base.name, NULL, NAN,
                       "the checkpoint is at t=%.12g: a run cannot start from it at t=%.12g", from,
                       begin);
  cpl_status st = cpli_checkpoint_state(r);
  if (st < 0) return st;
  if (!r->dense) r->exchange = cpli_grid_make(start_of(r), r->def.stop_time, r->exchange.spacing);
  grid_pass(&r->exchange, r->t);
  cpli_inputs_rewind(&r->inputs, r->t);
  r->quiet = true;
  r->until = begin;
  r->limit = begin;
  r->running = true;
  st = cpli_inputs_set(&r->inputs, r->t);
  if (st >= 0) st = advance(r);
  r->quiet = r->recorded = false;
  if (st >= 0 && r->t > begin)
    st = cpl_fail_in(r->s->base.ctx, CPL_ERR_INPUT, r->s->base.name, NULL, NAN,
                     "t=%.12g is between two communication points, where this run cannot start",
                     begin);
  if (st >= 0 && r->ended)
    st = cpl_fail_in(r->s->base.ctx, CPL_ERR_INPUT, r->s->base.name, NULL, NAN,
                     "the model ended the run at t=%.12g, before t=%.12g", r->t, begin);
  r->until = r->def.stop_time;
  return st < 0 ? st : cpli_run_change(r, r->def.starts, r->def.n_starts);
}

// The first row, or what takes its place.
static cpl_status begin_rows(run* r) {
  cpl_status st = cpli_recorder_begin(&r->recorder);
  if (st < 0) return st;
  return r->def.resume != NULL ? cpli_checkpoint_resume(r) : record(r);
}

cpl_status cpli_run_start(run* r) {
  if (r->segments != NULL) cpli_segments_start(r);
  cpli_watch_steps(r->s->base.ctx, on_stepped, r);
  cpl_status st = initialize(r);
  if (st >= 0 && r->def.start_from != NULL) st = start_from(r);
  if (st >= 0) st = begin_rows(r);
  if (st >= 0) st = cpli_checkpoints_begin(r);
  r->running = st >= 0;
  cpli_watch_steps(r->s->base.ctx, NULL, NULL);
  return finish_failure(r, st);
}

cpl_status cpli_run_advance(run* r) {
  cpl_status st = CPL_OK;
  assert(r->running && r->until <= r->def.stop_time);
  // without an end, steps of the solver that grow with every one of them are limited
  bool endless = !isfinite(r->def.stop_time);
  r->limit = endless ? r->until + 100 * (r->until - r->t) : r->def.stop_time;
  cpli_watch_steps(r->s->base.ctx, on_stepped, r);
  st = advance(r);
  if (st >= 0 && (r->ended || r->t >= r->def.stop_time)) st = cpli_checkpoints_step(r, true);
  cpli_watch_steps(r->s->base.ctx, NULL, NULL);
  return finish_failure(r, st);
}

cpl_status cpli_run_update(run* r) {
  cpl_status st = update_event(r);
  return st < 0 ? st : record(r);
}

// 0: there is none of this name.
static double counter(const cpl_inspection* in, const char* name) {
  double value = cpl_inspection_counter(in, name);
  return isnan(value) ? 0 : value;
}

cpl_status cpli_run_finish(run* r, cpl_status st) {
  cpl_stepper* s = r->s;
  cpl_status written = cpli_recorder_finish(&r->recorder);
  if (st >= 0) st = written;
  if (st >= 0) st = s->base.ops->terminate(&s->base);
  cpl_inspection in;
  if (cpl_component_inspect(&s->base, -1, &in) >= 0) {
    cpli_solver_stats_read(&in, &r->stats.solver);
    r->stats.switches = (int64_t)counter(&in, "switches");
    r->stats.in_switches_s = counter(&in, "in_switches_s");
    r->stats.in_mapping_s = counter(&in, "in_mapping_s");
  }
  r->stats.reached = r->t;
  r->stats.terminated = r->ended;
  r->stats.points = r->recorder.points;
  r->stats.in_output_s = cpli_stopwatch_seconds(&r->recorder.writing);
  r->stats.wall_s = cpli_now() - r->since;
  return st >= 0 && r->ended ? CPL_TERMINATE : st < 0 ? st : CPL_OK;
}

void cpli_run_close(run* r) {
  cpli_checkpoints_close(r);
  cpli_recorder_close(&r->recorder);
  cpli_inputs_close(&r->inputs);
}

cpl_status cpl_run(cpl_stepper* s, const cpl_run_def* def, cpl_run_stats* stats) {
  run r;
  cpl_status st = cpli_run_open(&r, s, def);
  if (st >= 0 && !isfinite(r.def.stop_time))
    st = cpl_fail_in(s->base.ctx, CPL_ERR_INPUT, s->base.name, NULL, NAN,
                     "a run to its end needs a finite stop time");
  if (st >= 0) st = cpli_run_start(&r);
  if (st >= 0) st = cpli_run_advance(&r);
  st = cpli_run_finish(&r, st);
  if (stats != NULL) *stats = r.stats;
  cpli_run_close(&r);
  return st;
}
