// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Takes times, solver and form from the settings, from the system file or from the default
// experiment, in this order, and makes the stepper.
#include "experiment/experiment.h"

#include <math.h>
#include <stdlib.h>

#include "analysis/adjoint.h"
#include "couplet/steady.h"
#include "fmi/open.h"
#include "format/source_loc.h"
#include "system/definition.h"

void cpl_init_experiment_settings(cpl_experiment_settings* settings, size_t size) {
  const cpl_experiment_settings all = {0};
  cpli_init_def(settings, size, &all, sizeof all);
}

static double given(double value, double otherwise) { return isnan(value) ? otherwise : value; }

static const char* text_of(const char* wanted, const char* otherwise) {
  return wanted != NULL ? wanted : otherwise;
}

//------------------------------------ times ------------------------------------

static cpl_status must_be_positive(const cpl_experiment* e, const char* what, double value) {
  if (isnan(value) || value > 0) return CPL_OK;
  return cpl_fail(e->ctx, CPL_ERR_INPUT, "%s must be positive, not %g", what, value);
}

static cpl_status choose_times(cpl_experiment* e) {
  const cpl_default_experiment* d = &e->source->desc->experiment;
  e->run.start_time = given(e->wanted.start, d->has_start ? d->start : 0);
  e->run.stop_time = given(e->wanted.stop, d->has_stop ? d->stop : e->run.start_time + 1);
  e->run.interval = given(e->wanted.interval, given(e->file.interval, 0));
  if (isnan(e->wanted.stop) && !d->has_stop) {
    cpl_log(e->ctx, CPL_LOG_INFO, e->source->desc->name,
            "no stop time is given, neither for this run nor by the model: simulating 1 s");
  }
  cpl_status st = must_be_positive(e, "interval", e->wanted.interval);
  return st < 0 ? st : must_be_positive(e, "step", e->wanted.step);
}

// A run without an end has the steps of one to the stop time of the model.
static double usual_step(const cpl_experiment* e) {
  const cpl_default_experiment* d = &e->source->desc->experiment;
  const double stop = isfinite(e->run.stop_time) ? e->run.stop_time
                      : d->has_stop              ? d->stop
                                                 : e->run.start_time + 1;
  const double all = stop - e->run.start_time;
  return e->run.interval > 0 ? e->run.interval : all > 0 ? all / 500 : 1;
}

//------------------------------------ solver ------------------------------------

static const char* solver_at(const void* user, size_t i) {
  (void)user;
  return cpl_solver_name((cpl_solver_kind)i);
}

static cpl_status find_solver(const cpl_experiment* e, const char* name, cpl_solver_kind* out) {
  char near[128];
  if (cpl_solver_by_name(name, out)) return CPL_OK;
  cpli_did_you_mean(name, solver_at, NULL, (size_t)cpl_solver_count(), near, sizeof near);
  return cpl_fail(e->ctx, CPL_ERR_INPUT, "%s: there is no solver %s%s; solvers are %s", e->path,
                  name, near, cpl_solver_names());
}

// Whether algebraic variables are integrated together with the states: those of a model, those of
// loops.
static cpl_status choose_form(cpl_experiment* e) {
  e->solver.form = e->settings.form;
  const char* loops = text_of(e->wanted.loops, e->file.loops);
  if (loops == NULL) return CPL_OK;
  if (!cpl_loops_by_name(loops, &e->solver.form)) {
    return cpl_fail(e->ctx, CPL_ERR_INPUT,
                    "%s: algebraic loops can be solved nested or as-rows, not \"%s\"", e->path,
                    loops);
  }
  if (e->solver.form == CPL_FORM_DAE && e->solver.kind != CPL_SOLVER_IDA) {
    return cpl_fail(e->ctx, CPL_ERR_INPUT,
                    "%s: loops as-rows are a matter of solver ida; %s solves them nested", e->path,
                    cpl_solver_name(e->solver.kind));
  }
  return CPL_OK;
}

static cpl_status choose_methods(cpl_experiment* e) {
  const char* solver = text_of(e->wanted.solver, e->file.solver);
  cpl_status st = solver != NULL ? find_solver(e, solver, &e->solver.kind) : CPL_OK;
  if (st < 0) return st;
  const char* when = text_of(e->wanted.projection, e->file.projection);
  if (when != NULL && !cpl_projection_by_name(when, &e->solver.projection)) {
    return cpl_fail(e->ctx, CPL_ERR_INPUT,
                    "%s: there is no projection %s (auto, lazy, every, events, off)", e->path,
                    when);
  }
  const char* linear = text_of(e->wanted.linear, e->file.linear);
  if (linear != NULL && !cpl_linear_solver_by_name(linear, &e->solver.linear)) {
    return cpl_fail(e->ctx, CPL_ERR_INPUT, "%s: there is no linear solver %s (direct, gmres)",
                    e->path, linear);
  }
  if (e->solver.linear != CPL_LINEAR_DIRECT && e->solver.kind != CPL_SOLVER_CVODE) {
    return cpl_fail(e->ctx, CPL_ERR_INPUT, "%s: solver %s has no linear systems for %s", e->path,
                    cpl_solver_name(e->solver.kind), linear);
  }
  return choose_form(e);
}

static bool is_adjoint(const cpl_experiment* e) {
  return e->settings.sensitivity != NULL && e->settings.sensitivity->adjoint;
}

static cpl_status choose_start(cpl_experiment* e) {
  const char* steady = text_of(e->wanted.steady, e->file.steady);
  if (steady == NULL || strcmp(steady, "false") == 0) return CPL_OK;
  if (strcmp(steady, "true") != 0)
    return cpl_fail(e->ctx, CPL_ERR_INPUT, "%s: steady is true or false, not \"%s\"", e->path,
                    steady);
  if (is_adjoint(e))
    return cpl_fail(e->ctx, CPL_ERR_UNSUPPORTED,
                    "%s: steady: no adjoint gradients of a run that begins at rest; sensitivities "
                    "without --adjoint have them",
                    e->path);
  e->solver.at_start = cpl_steady_start;
  e->solver.one_solver = true;  // one point of the whole
  return CPL_OK;
}

// Steppers have states that nobody else can set.
static cpl_status no_rest_point(const cpl_experiment* e, const char* what) {
  const char* steady = text_of(e->wanted.steady, e->file.steady);
  if (steady == NULL || strcmp(steady, "false") == 0) return CPL_OK;
  return cpl_fail(e->ctx, CPL_ERR_INPUT,
                  "%s: steady: the rest point of %s cannot be searched; that of models for model "
                  "exchange and in C, and of systems of them, can",
                  e->path, what);
}

static cpl_status choose_solver(cpl_experiment* e) {
  const cpl_default_experiment* d = &e->source->desc->experiment;
  e->solver = cpl_default_solver_def();
  cpl_status st = choose_methods(e);
  if (st < 0) return st;
  e->solver.rtol =
      given(e->wanted.rtol, d->has_tolerance && d->tolerance > 0 ? d->tolerance : e->solver.rtol);
  e->solver.atol = given(e->wanted.atol, given(e->file.atol, 0));
  e->solver.timing = e->settings.timing;
  e->solver.one_solver = e->settings.one_solver;
  e->solver.saves_states = e->settings.saves;
  const bool fixed = cpl_solver_is_fixed_step(e->solver.kind);
  const double preferred = d->has_step && d->step > 0 ? d->step : usual_step(e);
  e->solver.step = given(e->wanted.step, given(e->file.step, fixed ? preferred : 0));
  return CPL_OK;
}

//------------------------------------ steppers ------------------------------------

static cpl_status make_model(cpl_experiment* e, cpl_model** out) {
  cpl_status st = choose_solver(e);
  const char* name = e->source->desc->name;
  const cpl_sensitivity_def* sensitivity = e->settings.sensitivity;
  if (st >= 0)
    st = sensitivity == NULL    ? cpl_source_make_model(e->source, name, out)
         : sensitivity->adjoint ? cpli_adjoint_make(e->source, sensitivity, !e->separate, out)
                                : cpl_sensitivity_model(e->source, name, sensitivity, out);
  if (st < 0 || e->settings.on_model == NULL) return st;
  st = e->settings.on_model(e->settings.user, *out);
  if (st >= 0) return st;
  cpl_model_destroy(*out);
  return st;
}

static cpl_status make_integrated(cpl_experiment* e) {
  cpl_model* model = NULL;
  cpl_status st = make_model(e, &model);
  if (st < 0) return st;
  st = choose_start(e);
  if (st < 0) {
    cpl_model_destroy(model);
    return st;
  }
  st = cpl_integrate(model, &e->solver, &e->stepper);
  if (st >= 0) e->model = model;
  return st;
}

// A model as a stepper: as in a system, inputs are set and its solver is restarted at communication
// points only.
static cpl_status make_stepping(cpl_experiment* e) {
  cpl_model* model = NULL;
  cpl_status st = no_rest_point(e, "a stepper");
  if (st >= 0) st = make_model(e, &model);
  if (st < 0) return st;
  e->solver.step = given(e->file.step, 0);
  e->solver.restart_each_step = true;
  st = cpl_integrate(model, &e->solver, &e->stepper);
  if (st < 0) return st;
  e->model = model;
  e->stepper->base.can.dense_output = false;
  e->run.step = given(e->wanted.step, e->run.interval == 0 ? usual_step(e) : 0);
  return st;
}

// A system with co-simulation models: the step of the settings is the communication step.
static cpl_status make_coupled(cpl_experiment* e) {
  const cpl_experiment_settings* s = &e->settings;
  const cpl_default_experiment* d = &e->source->desc->experiment;
  cpl_status st = no_rest_point(e, "a system with steppers, modes or delay lines");
  if (st >= 0) st = choose_solver(e);
  if (st < 0) return st;
  const bool coupled = cpl_system_definition(e->source)->n_modes == 0;  // modes have no such steps
  if (!isnan(e->wanted.step) && coupled) e->solver.step = given(e->file.step, 0);
  cpl_stepper_def def = cpl_default_stepper_def();
  def.solver = e->solver;
  def.step = given(e->wanted.step, 0);
  def.usual_step = usual_step(e);
  def.processes = s->processes;
  def.call_timeout = s->processes ? s->call_timeout : 0;
  def.threads = s->threads;
  def.solvers = s->solvers;
  def.n_solvers = s->n_solvers;
  def.serve = s->serve;
  e->run.tolerance = given(e->wanted.rtol, d->has_tolerance ? d->tolerance : 0);
  st = cpl_system_stepper(e->source, &def, &e->stepper);
  if (st < 0) return st;
  const double step = cpl_master_step_size(e->stepper);
  if (e->run.interval == 0) e->run.interval = step;
  // steps are those of the master, not of the output: rows between them repeat the last values
  if (cpl_master_count(e->stepper) > 0 && cpl_master_settings(e->stepper).tolerance == 0)
    e->run.step = step;
  return st;
}

static cpl_status make_co_simulation(cpl_experiment* e) {
  const cpl_default_experiment* d = &e->source->desc->experiment;
  if (e->wanted.solver != NULL) {
    return cpl_fail(e->ctx, CPL_ERR_INPUT,
                    "%s: solver %s: a co-simulation FMU brings its own solver (--as me takes the "
                    "model exchange side, if there is one)",
                    e->path, e->wanted.solver);
  }
  const cpl_status st = no_rest_point(e, "a co-simulation FMU");
  if (st < 0) return st;
  const double preferred = e->run.interval == 0 && d->has_step && d->step > 0 ? d->step : 0;
  e->run.step = given(e->wanted.step, preferred);
  e->run.tolerance = given(e->wanted.rtol, d->has_tolerance ? d->tolerance : 0);
  return cpl_source_make_stepper(e->source, e->source->desc->name, &e->stepper);
}

// Isolated or not.
static bool is_c(const cpl_experiment* e) {
  const char* ending = strrchr(e->path, '.');
  return strcmp(cpl_source_kind(e->source), "c") == 0 ||
         (ending != NULL && strcmp(ending, ".c") == 0);
}

static cpl_status no_sensitivities(const cpl_experiment* e) {
  const cpl_system_def* def = cpl_system_definition(e->source);
  const char* what = def == NULL        ? "a stepper has states that nobody else can set"
                     : def->n_modes > 0 ? "a system of modes is one where it is connected as a "
                                          "model of another system file"
                                        : "steppers and delay lines have states that nobody else "
                                          "can set";
  return cpl_fail(e->ctx, CPL_ERR_UNSUPPORTED,
                  "%s: sensitivities are those of models for model exchange and in C, and of "
                  "systems of them; %s",
                  e->path, what);
}

static cpl_status make_stepper(cpl_experiment* e) {
  const cpl_source* source = e->source;
  const bool has_model = cpl_source_has_model(source), has_stepper = cpl_source_has_stepper(source);
  const bool system = cpl_system_definition(source) != NULL;
  if (e->settings.serve != NULL && (!system || has_model))
    return cpl_fail(e->ctx, CPL_ERR_INPUT, "%s: it has no tlm lines", e->path);
  if (system && !has_model && e->settings.sensitivity != NULL) return no_sensitivities(e);
  if (system && !has_model) return make_coupled(e);
  const cpl_member_as as = e->settings.as;
  const bool steps = as != CPL_AS_DEFAULT ? as == CPL_AS_CO_SIMULATION : !has_model;
  if (!steps && !has_model)
    return cpl_fail(e->ctx, CPL_ERR_INPUT, "%s: --as me: there is only %s in it", e->path,
                    cpli_source_steps(source));
  if (!steps) return make_integrated(e);
  if (e->settings.sensitivity != NULL) return no_sensitivities(e);
  if (has_stepper) return make_co_simulation(e);
  if (is_c(e)) return make_stepping(e);
  return cpl_fail(e->ctx, CPL_ERR_INPUT, "%s: --as cs: there is only model exchange in it",
                  e->path);
}

cpl_status cpl_experiment_prepare(cpl_experiment* e) {
  if (e->stepper != NULL)
    return cpl_fail(e->ctx, CPL_ERR_INPUT, "%s: this experiment is prepared already", e->path);
  if (is_adjoint(e))
    return cpl_fail(e->ctx, CPL_ERR_INPUT,
                    "%s: adjoint gradients come from cpl_experiment_gradients()", e->path);
  return make_stepper(e);
}

cpl_status cpli_experiment_stepper(cpl_experiment* e) { return make_stepper(e); }

//------------------------------------ life ------------------------------------

// The experiment of a system file.
static cpl_status take_system(cpl_experiment* e) {
  const cpl_system_def* def = cpl_system_definition(e->source);
  if (def == NULL) return CPL_OK;
  e->file = cpl_system_def_experiment(def);
  const size_t n = cpl_system_record(def, NULL, 0);
  e->record = cpli_alloc(e->ctx, n, sizeof *e->record);
  if (e->record == NULL) return cpli_nomem(e->ctx);
  cpl_system_record(def, e->record, n);
  e->run.record = e->record;
  e->run.n_record = n;
  return CPL_OK;
}

// Names may begin with that of the root system of a package.
static const char* without_root(const cpl_experiment* e, const char* name) {
  const cpl_system_def* def = cpl_system_definition(e->source);
  const char* root = def != NULL ? def->root : NULL;
  const size_t n = root != NULL ? strlen(root) : 0;
  const bool begins = n > 0 && strncmp(name, root, n) == 0 && name[n] == '.';
  return begins && cpl_find_variable(e->source->desc, name) < 0 ? name + n + 1 : name;
}

// The names "dy/dk" of sensitivities.
static cpl_status take_pairs(cpl_experiment* e, const char** names) {
  const cpl_sensitivity_def* d = e->settings.sensitivity;
  e->pairs = cpli_alloc(e->ctx, d->n_of * d->n_to, sizeof *e->pairs);
  if (e->pairs == NULL) return cpli_nomem(e->ctx);
  for (size_t i = 0; i < d->n_of * d->n_to; i++) {
    const char *y = d->of[i / d->n_to], *k = d->to[i % d->n_to];
    names[i] = e->pairs[i] = cpli_printf(e->ctx, "d%s/d%s", y, k);
    if (names[i] == NULL) return cpli_nomem(e->ctx);
    e->n_pairs++;
  }
  return CPL_OK;
}

static cpl_status take_names(cpl_experiment* e) {
  const cpl_experiment_settings* s = &e->settings;
  e->starts = cpli_alloc(e->ctx, s->n_starts, sizeof *e->starts);
  const cpl_sensitivity_def* pairs = s->sensitivity;
  const size_t n_pairs = pairs != NULL && !pairs->adjoint ? pairs->n_of * pairs->n_to : 0;
  e->names = cpli_alloc(e->ctx, s->n_record + n_pairs, sizeof *e->names);
  if (e->starts == NULL || e->names == NULL) return cpli_nomem(e->ctx);
  for (size_t i = 0; i < s->n_starts; i++)
    e->starts[i] = (cpl_start){without_root(e, s->starts[i].name), s->starts[i].value};
  for (size_t i = 0; i < s->n_record; i++) e->names[i] = without_root(e, s->record[i]);
  e->run.starts = e->starts;
  e->run.n_starts = s->n_starts;
  if (s->n_record + n_pairs == 0) return CPL_OK;
  e->run.record = e->names;
  e->run.n_record = s->n_record + n_pairs;
  return n_pairs > 0 ? take_pairs(e, e->names + s->n_record) : CPL_OK;
}

static cpl_status check_solvers(const cpl_experiment* e) {
  const cpl_experiment_settings* s = &e->settings;
  if (s->n_solvers == 0 || cpl_system_line_count(e->source) > 0) return CPL_OK;
  return cpl_fail(e->ctx, CPL_ERR_INPUT,
                  "%s: solver %s of %s: only models of systems with tlm lines have solvers of "
                  "their own",
                  e->path, cpl_solver_name(s->solvers[0].kind), s->solvers[0].model);
}

// Also where the limit of calls is that of steps: see cpl_experiment_settings.
static cpl_status open_source(cpl_experiment* e) {
  const cpl_experiment_settings* s = &e->settings;
  if (s->source != NULL) {
    e->source = s->source;
    e->path = s->path != NULL ? s->path : s->source->desc->name;
    return CPL_OK;
  }
  cpl_open_def def = cpl_default_open_def();
  const bool limits = !s->processes && s->serve == NULL;
  def.path = e->path = s->path;
  def.call_log = s->call_log;
  def.starts = s->starts;
  def.n_starts = s->n_starts;
  def.call_timeout = limits || s->isolate ? s->call_timeout : 0;
  def.isolate = s->isolate || def.call_timeout > 0;
  def.variant = s->variant;
  def.parameters = s->parameters;
  def.n_parameters = s->n_parameters;
  e->owns_source = true;
  return cpl_open_any(e->ctx, &def, &e->source);
}

static cpl_status set_up(cpl_experiment* e, const cpl_experiment_settings* settings) {
  cpl_experiment_settings* s = &e->settings;
  cpl_status st = cpli_read_def(e->ctx, "cpl_experiment_settings", settings, s, sizeof *s);
  if (st >= 0 && s->experiment != NULL)
    st = cpli_read_def(e->ctx, "cpl_experiment_def", s->experiment, &e->wanted, sizeof e->wanted);
  if (st >= 0) cpl_context_use_threads(e->ctx, s->threads);
  if (st >= 0 && s->no_ad) cpl_context_use_differences(e->ctx, true);
  if (st >= 0) st = open_source(e);
  if (st >= 0) st = check_solvers(e);
  if (st >= 0) st = take_system(e);
  if (st >= 0) st = choose_times(e);
  if (st >= 0) st = cpli_experiment_inputs(e);
  return st < 0 ? st : take_names(e);
}

cpl_status cpl_experiment_create(cpl_context* ctx, const cpl_experiment_settings* settings,
                                 cpl_experiment** out) {
  *out = NULL;
  cpl_experiment* e = cpli_alloc(ctx, 1, sizeof *e);
  if (e == NULL) return cpli_nomem(ctx);
  e->ctx = ctx;
  e->settings = cpl_default_experiment_settings();
  e->wanted = e->file = cpl_default_experiment_def();
  e->run = cpl_default_run_def();
  cpl_status st = set_up(e, settings);
  if (st >= 0) *out = e;
  else cpl_experiment_destroy(e);
  return st;
}

void cpl_experiment_destroy(cpl_experiment* e) {
  if (e == NULL) return;
  cpl_stepper_destroy(e->stepper);
  if (e->owns_source) cpl_source_destroy(e->source);
  cpli_free(e->ctx, e->record);
  cpli_free(e->ctx, e->starts);
  cpli_free(e->ctx, e->names);
  for (size_t i = 0; i < e->n_pairs; i++) cpli_free(e->ctx, e->pairs[i]);
  cpli_free(e->ctx, e->pairs);
  cpli_free(e->ctx, e->inputs);
  free(e->identity);
  cpli_free(e->ctx, e);
}

cpl_source* cpl_experiment_source(const cpl_experiment* e) { return e->source; }
cpl_run_def* cpl_experiment_run_def(cpl_experiment* e) { return &e->run; }
cpl_stepper* cpl_experiment_stepper(const cpl_experiment* e) { return e->stepper; }
cpl_model* cpl_experiment_model(const cpl_experiment* e) { return e->model; }
const cpl_solver_def* cpl_experiment_solver(const cpl_experiment* e) { return &e->solver; }
