// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The runner of the cases of a study.
#include "study/runner.h"

#include <math.h>
#include <stdio.h>

#include "base/guard.h"
#include "couplet/component.h"
#include "format/number.h"
#include "model/start.h"

struct cpli_runner {
  const cpli_study_plan* plan;
  cpl_context* ctx;
  cpl_experiment* opener;  // owns the source, which is opened once
  cpl_experiment* experiment;
  cpl_simulation* sim;
  cpli_meter* meter;
  const char** record;
  const cpl_variable** targets;  // of the factors
  double* factors;
  int32_t* columns;  // of the curves
  double* check;     // the values of the first case after a reset
  double* values;    // of the present case
  size_t next_time;  // the next output point of the curves
  bool is_new;       // the stepper was not used yet
  bool no_reset;     // the stepper has to be made anew for each case
  bool is_checked;   // a reset was compared with a new stepper
};

//------------------------------------ rows ------------------------------------

static double number_of(const cpl_column* column, cpl_value value) {
  if (column->type == CPL_REAL) return value.real;
  return column->is_unsigned ? (double)(uint64_t)value.integer : (double)value.integer;
}

// At an event the values behind it count.
static void add_to_curves(cpli_runner* r, double t, const cpl_value* values) {
  const cpli_study_plan* p = r->plan;
  const double rounding = 1e-9 * p->interval;
  while (r->next_time < p->n_times && p->times[r->next_time] < t - rounding) r->next_time++;
  if (r->next_time == p->n_times || p->times[r->next_time] > t + rounding) return;
  double* to = r->values + p->measures->n + r->next_time;
  for (size_t i = 0; i < p->n_curves; i++, to += p->n_times)
    *to = number_of(&r->sim->recorder.columns[r->columns[i]], values[r->columns[i]]);
}

static cpl_status on_point(void* user, double t, const cpl_value* values) {
  cpli_runner* r = user;
  if (r->plan->n_curves > 0) add_to_curves(r, t, values);
  return cpli_meter_row(r->meter, t, values);
}

//------------------------------------ making ------------------------------------

static void destroy_stepper(cpli_runner* r) {
  cpl_simulation_destroy(r->sim);
  cpl_experiment_destroy(r->experiment);
  r->sim = NULL;
  r->experiment = NULL;
}

static cpl_status find_targets(cpli_runner* r) {
  const cpl_design_def* design = cpl_design_definition(r->plan->design);
  for (size_t i = 0; i < r->plan->n_factors; i++) {
    int32_t index;
    const cpl_description* desc = cpl_experiment_stepper(r->experiment)->base.desc;
    cpl_status st = cpl_require_variable(r->ctx, desc, design->factors[i].name, &index);
    if (st < 0) return st;
    r->targets[i] = &desc->vars[index];
  }
  return CPL_OK;
}

static void find_columns(cpli_runner* r) {
  const cpli_recorder* recorder = &r->sim->recorder;
  for (size_t i = 0; i < r->plan->n_curves; i++)
    for (size_t c = 0; c < recorder->n; c++)
      if (strcmp(recorder->columns[c].name, r->plan->curves[i]) == 0) r->columns[i] = (int32_t)c;
}

// Output points are those of the curves; without curves the ends of the run.
static void set_run(cpli_runner* r, cpl_run_def* run) {
  const cpli_study_plan* p = r->plan;
  size_t n = 0;
  for (size_t i = 0; i < p->measures->n_vars; i++) r->record[n++] = p->measures->vars[i];
  for (size_t i = 0; i < p->n_curves; i++) {
    size_t k = 0;
    while (k < n && strcmp(r->record[k], p->curves[i]) != 0) k++;
    if (k == n) r->record[n++] = p->curves[i];
  }
  run->record = r->record;
  run->n_record = n;
  const bool dense = cpl_experiment_stepper(r->experiment)->base.can.dense_output;
  // steps between communication points stay those of a run with output points
  if (!dense && run->step == 0 && run->interval > 0) run->step = run->interval;
  run->interval = p->n_curves > 0 || !dense ? p->interval : fmax(p->stop - p->start, p->interval);
  run->on_columns = NULL;
  run->on_point = on_point;
  run->on_progress = NULL;
  run->on_step = NULL;
  run->user = r;
}

static cpl_status make_stepper(cpli_runner* r) {
  const cpli_study_plan* p = r->plan;
  destroy_stepper(r);
  cpl_experiment_settings settings = p->settings;
  settings.source = cpl_experiment_source(r->opener);
  cpl_status st = cpl_experiment_create(r->ctx, &settings, &r->experiment);
  if (st >= 0) st = cpl_experiment_prepare(r->experiment);
  if (st < 0) return st;
  cpl_run_def* run = cpl_experiment_run_def(r->experiment);
  set_run(r, run);
  st = cpl_simulation_create(cpl_experiment_stepper(r->experiment), run, &r->sim);
  if (st >= 0) st = find_targets(r);
  if (st >= 0) st = cpli_meter_attach(r->meter, r->sim);
  if (st >= 0) find_columns(r);
  r->is_new = true;
  return st;
}

static bool allocate(cpli_runner* r) {
  const cpli_study_plan* p = r->plan;
  const size_t n = p->n_factors;
  r->record = cpli_alloc(r->ctx, p->measures->n_vars + p->n_curves, sizeof *r->record);
  r->targets = cpli_alloc(r->ctx, n, sizeof *r->targets);
  r->factors = cpli_alloc(r->ctx, n, sizeof *r->factors);
  r->columns = cpli_alloc(r->ctx, p->n_curves, sizeof *r->columns);
  r->check = cpli_alloc(r->ctx, cpli_study_values(p), sizeof *r->check);
  return r->record != NULL && r->targets != NULL && r->factors != NULL && r->columns != NULL &&
         r->check != NULL;
}

cpl_status cpli_runner_open(const cpli_study_plan* plan, cpli_runner** out) {
  *out = NULL;
  cpli_runner* r = cpli_alloc(plan->ctx, 1, sizeof *r);
  if (r == NULL) return cpli_nomem(plan->ctx);
  r->plan = plan;
  r->ctx = plan->ctx;
  cpl_status st = allocate(r) ? CPL_OK : cpli_nomem(r->ctx);
  if (st >= 0) st = cpli_meter_create(plan->measures, &r->meter);
  if (st >= 0) st = cpl_experiment_create(r->ctx, &plan->settings, &r->opener);
  if (st >= 0) st = make_stepper(r);
  if (st >= 0) cpli_meter_set_tolerance(r->meter, cpl_experiment_solver(r->experiment)->rtol);
  if (st >= 0) *out = r;
  else cpli_runner_close(r);
  return st;
}

void cpli_runner_close(cpli_runner* r) {
  if (r == NULL) return;
  cpl_context* ctx = r->ctx;
  destroy_stepper(r);
  cpl_experiment_destroy(r->opener);
  cpli_meter_destroy(r->meter);
  cpli_free(ctx, r->record);
  cpli_free(ctx, r->targets);
  cpli_free(ctx, r->factors);
  cpli_free(ctx, r->columns);
  cpli_free(ctx, r->check);
  cpli_free(ctx, r);
}

//------------------------------------ cases ------------------------------------

static cpl_status cannot_be(cpli_runner* r, const cpl_variable* v, double value, const char* why) {
  char number[CPLI_NUMBER_SIZE];
  cpli_format_double(number, value);
  return cpl_fail_in(r->ctx, CPL_ERR_INPUT, r->sim->s->base.name, v->name, NAN,
                     "%s cannot be %s: %s", v->name, number, why);
}

static cpl_status set_factor(cpli_runner* r, size_t i) {
  cpl_component* c = &r->sim->s->base;
  const cpl_variable* v = r->targets[i];
  double value = r->factors[i];
  if (r->plan->converted[i]) value = cpli_convert(&r->plan->conversions[i], value);
  char text[128];
  const char* why = cpli_beyond_limit(c->desc, v, value, text, sizeof text);
  if (why != NULL) return cannot_be(r, v, value, why);
  if (v->type == CPL_REAL) return c->ops->set_real(c, &v->ref, 1, &value);
  int64_t integer;
  if (!cpli_to_integer(v, value, &integer)) return cannot_be(r, v, value, "it is no integer");
  return c->ops->set_integer(c, (cpl_type)v->type, &v->ref, 1, &integer);
}

// A stepper that has run before is reset, or replaced.
static cpl_status begin_case(cpli_runner* r) {
  if (r->is_new) return CPL_OK;
  cpl_component* c = &r->sim->s->base;
  if (r->no_reset || c->ops->reset(c) < 0) {
    r->no_reset = true;
    return make_stepper(r);
  }
  cpli_run_rewind(r->sim);
  return CPL_OK;
}

static cpl_status simulate(cpli_runner* r, double* values) {
  const cpli_study_plan* p = r->plan;
  r->is_new = false;
  r->values = values;
  r->next_time = 0;
  for (size_t i = p->measures->n; i < cpli_study_values(p); i++) values[i] = NAN;
  cpli_meter_start(r->meter);
  cpl_status st = cpli_run_set_starts(r->sim);
  for (size_t i = 0; i < p->n_factors && st >= 0; i++) st = set_factor(r, i);
  if (st >= 0) st = cpl_simulation_start(r->sim);
  if (st >= 0) st = cpl_simulation_advance(r->sim, p->stop);
  if (st >= 0) st = cpl_simulation_finish(r->sim, NULL);
  return st < 0 ? st : cpli_meter_finish(r->meter, values);
}

// Runs the first case once more after a reset: a component that was not set back to its beginning
// would give other values from here on, depending on the order of the cases.
static cpl_status check_reset(cpli_runner* r, const double* values) {
  const size_t n = cpli_study_values(r->plan);
  r->is_checked = true;
  cpl_status st = begin_case(r);
  if (st < 0 || r->no_reset) return st;
  st = simulate(r, r->check);
  if (st >= 0 && memcmp(values, r->check, n * sizeof *values) == 0) return CPL_OK;
  if (st == CPL_ERR_CANCELLED) return st;
  r->no_reset = true;
  cpl_log(r->ctx, CPL_LOG_WARNING, r->sim->s->base.name,
          "a reset does not lead back to the beginning: models are made anew for each case, which "
          "takes longer");
  return make_stepper(r);
}

// The reason in one line.
static void explain(const cpli_runner* r, char* failure, size_t size) {
  snprintf(failure, size, "%s", cpl_context_error(r->ctx));
  for (char* c = failure; *c != '\0'; c++)
    if (*c == '\n' || *c == '\r') *c = ' ';
  if (failure[0] == '\0') snprintf(failure, size, "the run failed");
}

cpl_status cpli_runner_case(cpli_runner* r, int64_t i, double* values, char* failure, size_t size) {
  const unsigned crashes = cpli_guard_crashes;
  cpl_status st = begin_case(r);
  if (st < 0) return st;
  cpl_design_values(r->plan->design, i, r->factors);
  st = simulate(r, values);
  if (st >= 0) return r->is_checked ? CPL_OK : check_reset(r, values);
  if (st == CPL_ERR_CANCELLED || st == CPL_ERR_NOMEM) return st;
  explain(r, failure, size);
  if (cpli_guard_crashes != crashes) return CPL_TERMINATE;  // what it did to memory is unknown
  // a failed instance is not used any more
  return make_stepper(r);
}
