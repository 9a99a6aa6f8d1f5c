// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The runner of the cases of a study.
#include "study/runner.h"

#include <math.h>
#include <stdatomic.h>
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
  int32_t* columns;   // of the curves
  double* check;      // the values of the first case when it is repeated
  double* values;     // of the present case
  size_t next_time;   // the next output point of the curves
  cpl_start* starts;  // those of the settings, and of factors that are fixed after opening
  char (*texts)[CPLI_NUMBER_SIZE];
  bool is_new;      // the stepper was not used yet
  bool was_reset;   // before the present case, instead of made anew
  bool is_checked;  // the first case was repeated
};

//------------------------------------ rows ------------------------------------

// At an event the values behind it count.
static void add_to_curves(cpli_runner* r, double t, const cpl_value* values) {
  const cpli_study_plan* p = r->plan;
  const double rounding = 1e-9 * p->interval;
  while (r->next_time < p->n_times && p->times[r->next_time] < t - rounding) r->next_time++;
  if (r->next_time == p->n_times || p->times[r->next_time] > t + rounding) return;
  double* to = r->values + p->measures->n + r->next_time;
  for (size_t i = 0; i < p->n_curves; i++, to += p->n_times)
    *to = cpli_column_number(&r->sim->recorder.columns[r->columns[i]], values[r->columns[i]]);
}

static cpl_status on_point(void* user, double t, const cpl_value* values) {
  cpli_runner* r = user;
  if (r->plan->n_curves > 0) add_to_curves(r, t, values);
  return cpli_meter_row(r->meter, t, values);
}

//------------------------------------ making ------------------------------------

// In the unit of its variable.
static double factor_value(const cpli_runner* r, size_t i) {
  const cpli_study_plan* p = r->plan;
  return p->converted[i] ? cpli_convert(&p->conversions[i], r->factors[i]) : r->factors[i];
}

static void destroy_stepper(cpli_runner* r) {
  if (r->meter != NULL) cpli_meter_detach(r->meter);
  cpl_simulation_destroy(r->sim);
  cpl_experiment_destroy(r->experiment);
  r->sim = NULL;
  r->experiment = NULL;
  r->is_new = false;
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

// Opens the file, with the present values of factors that are fixed from then on.
static cpl_status open_source(cpli_runner* r, cpl_experiment_settings* settings) {
  const cpli_study_plan* p = r->plan;
  const cpl_design_def* design = cpl_design_definition(p->design);
  cpl_experiment_destroy(r->opener);
  r->opener = NULL;
  settings->starts = r->starts;
  settings->n_starts = 0;
  for (size_t i = 0; i < p->settings.n_starts; i++)
    r->starts[settings->n_starts++] = p->settings.starts[i];
  for (size_t i = 0; i < p->n_factors; i++) {
    if (!p->fixed[i]) continue;
    cpli_format_double(r->texts[i], factor_value(r, i));
    r->starts[settings->n_starts++] = (cpl_start){design->factors[i].name, r->texts[i]};
  }
  return cpl_experiment_create(r->ctx, settings, &r->opener);
}

static cpl_status make_stepper(cpli_runner* r) {
  const cpli_study_plan* p = r->plan;
  destroy_stepper(r);
  cpl_experiment_settings settings = p->settings;
  settings.threads = 1;  // each worker has a processor
  if (r->opener == NULL || p->reopens) {
    cpl_status st = open_source(r, &settings);
    if (st < 0) return st;
  }
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
  cpli_meter_set_tolerance(r->meter, cpl_experiment_solver(r->experiment)->rtol);
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
  r->starts = cpli_alloc(r->ctx, p->settings.n_starts + n, sizeof *r->starts);
  r->texts = cpli_alloc(r->ctx, n, sizeof *r->texts);
  return r->record != NULL && r->targets != NULL && r->factors != NULL && r->columns != NULL &&
         r->check != NULL && r->starts != NULL && r->texts != NULL;
}

cpl_status cpli_runner_open(const cpli_study_plan* plan, cpli_runner** out) {
  *out = NULL;
  cpli_runner* r = cpli_alloc(plan->ctx, 1, sizeof *r);
  if (r == NULL) return cpli_nomem(plan->ctx);
  r->plan = plan;
  r->ctx = plan->ctx;
  cpl_status st = allocate(r) ? CPL_OK : cpli_nomem(r->ctx);
  if (st >= 0) st = cpli_meter_create(plan->measures, &r->meter);
  if (st >= 0 && !plan->reopens) st = make_stepper(r);
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
  cpli_free(ctx, r->starts);
  cpli_free(ctx, r->texts);
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
  const double value = factor_value(r, i);
  char text[128];
  const char* why = cpli_beyond_limit(c->desc, v, value, text, sizeof text);
  if (why != NULL) return cannot_be(r, v, value, why);
  if (r->plan->fixed[i]) return CPL_OK;
  if (v->type == CPL_REAL) return c->ops->set_real(c, &v->ref, 1, &value);
  int64_t integer;
  if (!cpli_to_integer(v, value, &integer)) return cannot_be(r, v, value, "it is no integer");
  return c->ops->set_integer(c, (cpl_type)v->type, &v->ref, 1, &integer);
}

static cpli_reuse reuse_of(const cpli_runner* r) {
  return r->plan->reopens && *r->plan->reuse == CPLI_REUSE_RESET ? CPLI_REUSE_NEW
                                                                 : (cpli_reuse)*r->plan->reuse;
}

// Says once what was found.
static void set_reuse(const cpli_runner* r, cpli_reuse found, const char* warning) {
  int before = *r->plan->reuse;
  while (before < (int)found &&
         !atomic_compare_exchange_weak(r->plan->reuse, &before, (int)found)) {
  }
  if (before < (int)found && warning != NULL)
    cpl_log(r->ctx, CPL_LOG_WARNING, r->sim != NULL ? r->sim->s->base.name : NULL, "%s", warning);
}

// A stepper that has run before is reset, or replaced.
static cpl_status begin_case(cpli_runner* r) {
  r->was_reset = false;
  if (r->is_new) return CPL_OK;
  if (r->sim == NULL || reuse_of(r) != CPLI_REUSE_RESET) return make_stepper(r);
  cpl_component* c = &r->sim->s->base;
  if (c->ops->reset(c) < 0) {
    set_reuse(r, CPLI_REUSE_NEW, NULL);
    return make_stepper(r);
  }
  r->was_reset = true;
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

static cpl_status repeat(cpli_runner* r, const double* values, bool* same) {
  cpl_status st = begin_case(r);
  if (st >= 0) st = simulate(r, r->check);
  *same = st >= 0 && memcmp(values, r->check, cpli_study_values(r->plan) * sizeof *values) == 0;
  return st == CPL_ERR_CANCELLED || st == CPL_ERR_NOMEM ? st : CPL_OK;
}

// Runs the first case once more after a reset: a component that was not set back to its beginning
// would give other values from here on, depending on the order of the cases.
static cpl_status check_reuse(cpli_runner* r, const double* values) {
  bool same = false;
  r->is_checked = true;
  cpl_status st = repeat(r, values, &same);
  if (st >= 0 && !same && r->was_reset) {
    set_reuse(r, CPLI_REUSE_NEW,
              "a reset does not lead back to the beginning: models are made anew for each case, "
              "which takes longer");
    st = repeat(r, values, &same);
  }
  if (st < 0 || same) return st;
  set_reuse(r, CPLI_REUSE_PROCESS,
            "a new instance does not begin as the first one in its process: each case runs in a "
            "process of its own, which takes longer");
  return CPL_OK;
}

// The reason in one line.
static void explain(const cpli_runner* r, char* failure, size_t size) {
  snprintf(failure, size, "%s", cpl_context_error(r->ctx));
  for (char* c = failure; *c != '\0'; c++)
    if (*c == '\n' || *c == '\r') *c = ' ';
  if (failure[0] == '\0') snprintf(failure, size, "the run failed");
}

// Whether a failure is the case's own, and not one of the study. With factors that are fixed when
// the file is opened, opening belongs to the case.
static bool is_of_case(cpl_status st) { return st != CPL_ERR_CANCELLED && st != CPL_ERR_NOMEM; }

cpl_status cpli_runner_case(cpli_runner* r, int64_t i, double* values, char* failure, size_t size) {
  const unsigned crashes = cpli_guard_crashes;
  cpl_design_values(r->plan->design, i, r->factors);
  cpl_status st = begin_case(r);
  if (st < 0 && !r->plan->reopens) return st;
  if (st >= 0) st = simulate(r, values);
  if (st >= 0 && !r->is_checked && reuse_of(r) < CPLI_REUSE_PROCESS) st = check_reuse(r, values);
  if (st >= 0) return reuse_of(r) == CPLI_REUSE_PROCESS ? CPL_TERMINATE : CPL_OK;
  if (!is_of_case(st)) return st;
  explain(r, failure, size);
  if (cpli_guard_crashes != crashes) return CPL_TERMINATE;  // what it did to memory is unknown
  destroy_stepper(r);  // a failed instance is not used any more
  return CPL_OK;
}
