// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#include "drive.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct recorder {
  outcome* out;
  char names[MAX_COLUMNS][40];
  int place[MAX_COLUMNS];  // of a recorded column
  cpl_type type[MAX_COLUMNS];
  int n;
} recorder;

//------------------------------------ rows ------------------------------------

static cpl_status take_columns(void* user, const cpl_column* columns, size_t n) {
  recorder* r = user;
  r->n = 0;
  for (size_t i = 0; i < n && i < MAX_COLUMNS; i++) {
    r->place[i] = -1;
    r->type[i] = columns[i].type;
    for (int k = 0; k < r->out->n_columns; k++)
      if (strcmp(r->names[k], columns[i].name) == 0) r->place[i] = k;
    r->n++;
  }
  return CPL_OK;
}

static double* new_row(outcome* out, double t) {
  if (out->n_rows == out->room) {
    out->room = out->room == 0 ? 64 : 2 * out->room;
    out->t = realloc(out->t, (size_t)out->room * sizeof *out->t);
    out->v = realloc(out->v, (size_t)(out->room * MAX_COLUMNS) * sizeof *out->v);
  }
  double* row = out->v + (size_t)(out->n_rows * out->n_columns);
  out->t[out->n_rows++] = t;
  for (int k = 0; k < out->n_columns; k++) row[k] = NAN;
  return row;
}

static cpl_status take_point(void* user, double t, const cpl_value* values) {
  recorder* r = user;
  if (r->out->n_rows > 100000) return CPL_ERR_CANCELLED;
  double* row = new_row(r->out, t);
  for (int i = 0; i < r->n; i++)
    if (r->place[i] >= 0)
      row[r->place[i]] = r->type[i] == CPL_REAL ? values[i].real : (double)values[i].integer;
  return CPL_OK;
}

void outcome_release(outcome* out) {
  free(out->t);
  free(out->v);
  *out = (outcome){0};
}

static void begin(outcome* out, int n_columns) {
  out->n_rows = 0;
  out->n_columns = n_columns;
  out->status = CPL_OK;
  out->error[0] = out->warning[0] = '\0';
}

static void end(opened* o, cpl_status st, outcome* out) {
  out->status = st;
  if (st < 0) snprintf(out->error, sizeof out->error, "%s", cpl_context_error(o->ctx));
}

//------------------------------------ opening ------------------------------------

static void take_log(void* user, cpl_log_level level, const char* who, const char* text) {
  opened* o = user;
  if (level <= CPL_LOG_WARNING && o->log != NULL)
    snprintf(o->log->warning, sizeof o->log->warning, "%s: %s", who, text);
}

bool drive_open(const char* path, opened* o, outcome* out) {
  cpl_context_def def = cpl_default_context_def();
  *o = (opened){.log = out};
  def.log = take_log;
  def.user = o;
  o->ctx = cpl_context_create(&def);
  begin(out, 0);
  end(o, cpl_system_open(o->ctx, path, &o->source), out);
  return out->status >= 0;
}

void drive_close(opened* o) {
  if (o->source != NULL) o->source->ops->destroy(o->source);
  cpl_context_destroy(o->ctx);
}

static cpl_status make_stepper(opened* o, const random_system* s, const settings* how, bool restart,
                               cpl_stepper** out) {
  cpl_solver_def def = cpl_default_solver_def();
  def.kind = how->solver;
  def.rtol = how->rtol;
  def.atol = how->atol;
  def.step = how->longest;
  def.one_solver = how->one_solver || restart;
  def.restart_each_step = restart;
  if (how->gmres) def.linear = CPL_LINEAR_GMRES;
  if (how->loops_as_rows) def.form = CPL_FORM_DAE;
  if (o->source->ops->make_model != NULL) {
    cpl_model* model = NULL;
    cpl_status st = o->source->ops->make_model(o->source, "system", &model);
    return st < 0 ? st : cpl_integrate(model, &def, out);
  }
  cpl_stepper_def stepper = cpl_default_stepper_def();
  stepper.solver = def;
  stepper.usual_step = (s->stop - s->start) / s->n_intervals;
  return cpl_system_stepper(o->source, &stepper, out);
}

//------------------------------------ running ------------------------------------

void drive_run(opened* o, const random_system* s, const settings* how, outcome* out) {
  recorder r = {.out = out};
  cpl_stepper* stepper = NULL;
  cpl_run_def run = cpl_default_run_def();
  const char* record[MAX_COLUMNS];
  int n = system_columns(s, r.names, MAX_COLUMNS);
  begin(out, n);
  o->log = out;
  cpl_status st = make_stepper(o, s, how, false, &stepper);
  for (int k = 0; k < n; k++)
    if (how->record_modulo == 0 || k % how->record_modulo == 0) record[run.n_record++] = r.names[k];
  run.start_time = s->start;
  run.stop_time = s->stop;
  run.interval = (s->stop - s->start) / s->n_intervals / (how->intervals > 0 ? how->intervals : 1);
  run.record = record;
  run.on_columns = take_columns;
  run.on_point = take_point;
  run.user = &r;
  if (st >= 0 && o->source->ops->make_model == NULL) {
    run.tolerance = how->rtol;
    if (cpl_master_count(stepper) > 0 && cpl_master_settings(stepper).tolerance == 0)
      run.step = cpl_master_step_size(stepper);
  }
  if (st >= 0) st = cpl_run(stepper, &run, NULL);
  end(o, st, out);
  if (stepper != NULL) stepper->base.ops->destroy(&stepper->base);
}

// One step, event updates included.
static cpl_status step_to(cpl_stepper* p, double end) {
  cpl_step_result result = {0};
  cpl_status st = CPL_OK;
  for (int k = 0; k < 10000; k++) {
    st = p->ops->step(p, end, end, &result);
    if (st < 0 || (result.time >= end && result.end == CPL_STEP_DONE)) return st;
  }
  return cpl_fail(p->base.ctx, CPL_ERR_MODEL, "step to %.17g does not end", end);
}

static cpl_status step_with_detours(opened* o, const random_system* s, cpl_stepper* p,
                                    uint64_t moments, bool go_back, outcome* out) {
  const cpl_description* d = p->base.desc;
  cpl_snapshot saved = {0};
  rng r = {moments};
  uint32_t refs[MAX_COLUMNS];
  int n = 0;
  cpl_status st = CPL_OK;
  char names[MAX_COLUMNS][40];
  int columns = system_columns(s, names, MAX_COLUMNS);
  for (int k = 0; k < columns; k++) {
    int32_t var = cpl_find_variable(d, names[k]);
    if (var >= 0 && d->vars[var].type == CPL_REAL) refs[n++] = d->vars[var].ref;
  }
  begin(out, n);
  o->log = out;
  double h = (s->stop - s->start) / SAVED_STEPS;
  for (int i = 0; i < SAVED_STEPS && st >= 0; i++) {
    double end = i + 1 == SAVED_STEPS ? s->stop : s->start + h * (i + 1);
    if (rng_chance(&r, 0.4)) {
      int far = 1 + rng_int(&r, 4);
      st = p->base.ops->save(&p->base, &saved);
      for (int k = 0; go_back && k < far && i + k < SAVED_STEPS && st >= 0; k++)
        st = step_to(p, i + k + 1 == SAVED_STEPS ? s->stop : s->start + h * (i + k + 1));
      if (st >= 0 && go_back) st = p->base.ops->restore(&p->base, &saved);
    }
    if (st >= 0) st = step_to(p, end);
    if (st >= 0) st = p->base.ops->get_real(&p->base, refs, (size_t)n, new_row(out, end));
  }
  if (saved.data != NULL) p->base.ops->forget(&p->base, &saved);
  return st;
}

bool drive_saved(opened* o, const random_system* s, const settings* how, bool go_back,
                 outcome* out) {
  cpl_stepper* p = NULL;
  bool can = true;
  begin(out, 0);
  cpl_status st = make_stepper(o, s, how, true, &p);
  cpl_setup setup = {.start_time = s->start, .has_stop_time = true, .stop_time = s->stop};
  if (st >= 0) can = p->base.can.save_restore && p->base.ops->save != NULL;
  if (st >= 0 && can) st = p->base.ops->setup(&p->base, &setup);
  if (st >= 0 && can) st = p->base.ops->enter_init(&p->base);
  if (st >= 0 && can) st = p->base.ops->exit_init(&p->base);
  if (st >= 0 && can) st = step_with_detours(o, s, p, s->seed + 7, go_back, out);
  end(o, st, out);
  if (p != NULL) p->base.ops->destroy(&p->base);
  return can;
}
