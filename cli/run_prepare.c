// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Opens the source of a run, takes times, solver and form from the options, from the system file or
// from the default experiment, in this order, and makes the stepper.
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "assemble/assemble.h"
#include "fmi/open.h"
#include "graph.h"
#include "interrupt.h"
#include "run.h"
#include "run_parts.h"

// "model.fmu" -> "model.csv" in the current folder.
static void default_output(session* s) {
  const char* name = strrchr(s->path, '/');
  name = name != NULL ? name + 1 : s->path;
  const char* dot = strrchr(name, '.');
  int len = dot != NULL && dot > name ? (int)(dot - name) : (int)strlen(name);
  snprintf(s->output, sizeof s->output, "%.*s.csv", len, name);
}

static double given(double value, double otherwise) { return isnan(value) ? otherwise : value; }

// The experiment of a system file.
static cpl_status take_system(session* s) {
  const cpl_system_def* def = cpl_system_definition(s->source);
  if (def == NULL) return CPL_OK;
  s->experiment = cpl_system_def_experiment(def);
  size_t n = cpl_system_record(def, NULL, 0);
  s->record = calloc(n + 1, sizeof *s->record);
  if (s->record == NULL) return cpl_fail(s->ctx, CPL_ERR_NOMEM, "out of memory");
  cpl_system_record(def, s->record, n);
  s->run.record = s->record;
  s->run.n_record = n;
  return CPL_OK;
}

static cpl_status choose_times(session* s) {
  const run_args* a = s->args;
  const cpl_default_experiment* e = &s->source->desc->experiment;
  s->run.start_time = given(a->start_time, e->has_start ? e->start : 0);
  double stop = e->has_stop ? e->stop : s->run.start_time + 1;
  s->run.stop_time = given(a->stop_time, stop);
  s->run.interval = given(a->interval, given(s->experiment.interval, 0));
  if (isnan(a->stop_time) && !e->has_stop) {
    cpl_log(s->ctx, CPL_LOG_INFO, s->source->desc->name,
            "no stop time is given, neither by --stop nor by the model: simulating 1 s");
  }
  if (!isnan(a->interval) && !(a->interval > 0))
    return cpl_fail(s->ctx, CPL_ERR_INPUT, "--interval must be positive, not %g", a->interval);
  if (!isnan(a->step) && !(a->step > 0))
    return cpl_fail(s->ctx, CPL_ERR_INPUT, "--step must be positive, not %g", a->step);
  if (!isnan(a->real_time) && !(a->real_time > 0))
    return cpl_fail(s->ctx, CPL_ERR_INPUT, "--real-time must be positive, not %g", a->real_time);
  s->pace = (pace){.factor = given(a->real_time, 0), .ctx = s->ctx};
  return CPL_OK;
}

static double usual_step(const session* s) {
  return s->run.interval > 0 ? s->run.interval : (s->run.stop_time - s->run.start_time) / 500;
}

// Whether algebraic variables are integrated together with the states: those of a model, those of
// loops.
static cpl_status choose_form(session* s) {
  const char* form = s->args->form;
  if (form != NULL && !cpl_form_by_name(form, &s->solver.form))
    return cpl_fail(s->ctx, CPL_ERR_INPUT, "%s: there is no form %s (auto, ode, dae)", s->path,
                    form);
  const char* loops = s->args->loops != NULL ? s->args->loops : s->experiment.loops;
  if (loops == NULL) return CPL_OK;
  if (!cpl_loops_by_name(loops, &s->solver.form)) {
    return cpl_fail(s->ctx, CPL_ERR_INPUT,
                    "%s: algebraic loops can be solved nested or as-rows, not \"%s\"", s->path,
                    loops);
  }
  if (s->solver.form == CPL_FORM_DAE && s->solver.kind != CPL_SOLVER_IDA) {
    return cpl_fail(s->ctx, CPL_ERR_INPUT,
                    "%s: loops as-rows are a matter of solver ida; %s solves them nested", s->path,
                    cpl_solver_name(s->solver.kind));
  }
  return CPL_OK;
}

static cpl_status choose_solver(session* s) {
  const run_args* a = s->args;
  const cpl_default_experiment* e = &s->source->desc->experiment;
  s->solver = cpl_default_solver_def();
  const char* solver = s->solvers.all != NULL ? s->solvers.all : s->experiment.solver;
  cpl_status known =
      solver != NULL ? cli_find_solver(s->ctx, s->path, solver, &s->solver.kind) : CPL_OK;
  if (known < 0) return known;
  const char* when = a->projection != NULL ? a->projection : s->experiment.projection;
  if (when != NULL && !cpl_projection_by_name(when, &s->solver.projection)) {
    return cpl_fail(s->ctx, CPL_ERR_INPUT,
                    "%s: there is no projection %s (auto, lazy, every, events, off)", s->path,
                    when);
  }
  const char* linear = a->linear != NULL ? a->linear : s->experiment.linear;
  if (linear != NULL && !cpl_linear_solver_by_name(linear, &s->solver.linear)) {
    return cpl_fail(s->ctx, CPL_ERR_INPUT, "%s: there is no linear solver %s (direct, gmres)",
                    s->path, linear);
  }
  if (s->solver.linear != CPL_LINEAR_DIRECT && s->solver.kind != CPL_SOLVER_CVODE) {
    return cpl_fail(s->ctx, CPL_ERR_INPUT, "%s: solver %s has no linear systems for %s", s->path,
                    cpl_solver_name(s->solver.kind), linear);
  }
  s->solver.rtol =
      given(a->rtol, e->has_tolerance && e->tolerance > 0 ? e->tolerance : s->solver.rtol);
  s->solver.atol = given(a->atol, given(s->experiment.atol, 0));
  s->solver.timing = a->stats || run_wants_page(s);  // costs two clock readings per evaluation
  s->solver.one_solver = a->one_solver;
  bool fixed = cpl_solver_is_fixed_step(s->solver.kind);
  double preferred = e->has_step && e->step > 0 ? e->step : usual_step(s);
  s->solver.step = given(a->step, given(s->experiment.step, fixed ? preferred : 0));
  return choose_form(s);
}

static cpl_status make_integrated(session* s) {
  cpl_model* model = NULL;
  cpl_status st = choose_solver(s);
  if (st >= 0) st = cpl_source_make_model(s->source, s->source->desc->name, &model);
  if (st < 0) return st;
  if (run_wants_page(s)) st = model_times_of_model(&s->times, model);
  if (st >= 0) return cpl_integrate(model, &s->solver, &s->stepper);
  cpl_model_destroy(model);
  return st;
}

// A model as a stepper: as in a system, inputs are set and its solver is restarted at communication
// points only.
static cpl_status make_stepping(session* s) {
  cpl_model* model = NULL;
  cpl_status st = choose_solver(s);
  s->solver.step = given(s->experiment.step, 0);
  s->solver.restart_each_step = true;
  if (st >= 0) st = cpl_source_make_model(s->source, s->source->desc->name, &model);
  if (st >= 0) st = cpl_integrate(model, &s->solver, &s->stepper);
  if (st < 0) return st;
  s->stepper->base.can.dense_output = false;
  s->run.step = given(s->args->step, s->run.interval == 0 ? usual_step(s) : 0);
  return st;
}

static cpl_status begin_serving(session* s) {
  if (s->args->processes || s->args->isolate)
    return cpl_fail(s->ctx, CPL_ERR_INPUT, "--%s: the sub-models run elsewhere, each in a process",
                    s->args->processes ? "processes" : "isolate");
  s->serving = (serving){.args = &s->args->serve, .ctx = s->ctx, .path = s->path};
  s->serving.source = s->source;
  s->serving.start = s->run.start_time, s->serving.stop = s->run.stop_time;
  s->serving.quiet = s->args->quiet || s->args->json;
  return serving_begin(&s->serving, s->args->call_timeout);
}

// A system with co-simulation models: --step is the communication step.
static cpl_status make_coupled(session* s) {
  const cpl_default_experiment* e = &s->source->desc->experiment;
  cpl_stepper_def def = cpl_default_stepper_def();
  cpl_status st = choose_solver(s);
  if (st < 0) return st;
  bool coupled = !graph_has_modes(s->source);  // modes have no communication steps
  if (!isnan(s->args->step) && coupled) s->solver.step = given(s->experiment.step, 0);
  def.solver = s->solver;
  def.step = given(s->args->step, 0);
  def.usual_step = usual_step(s);
  def.processes = s->args->processes;
  def.call_timeout = s->args->processes ? given(s->args->call_timeout, 0) : 0;
  def.threads = (int32_t)given(s->args->threads, 0);
  def.solvers = s->solvers.models;
  def.n_solvers = s->solvers.n;
  s->run.tolerance = given(s->args->rtol, e->has_tolerance ? e->tolerance : 0);
  if (s->args->serve.on) {
    st = begin_serving(s);
    def.serve = &s->serving.def;
  }
  if (st >= 0) st = cpl_system_stepper(s->source, &def, &s->stepper);
  if (st < 0) return st;
  double step = cpl_master_step_size(s->stepper);
  if (s->run.interval == 0) s->run.interval = step;
  // steps are those of the master, not of the output: rows between them repeat the last values
  if (cpl_master_count(s->stepper) > 0 && cpl_master_settings(s->stepper).tolerance == 0)
    s->run.step = step;
  return st;
}

static cpl_status make_stepper(session* s) {
  const run_args* a = s->args;
  const cpl_default_experiment* e = &s->source->desc->experiment;
  if (a->serve.on && (cpl_system_definition(s->source) == NULL || cpl_source_has_model(s->source)))
    return cpl_fail(s->ctx, CPL_ERR_INPUT, "%s: it has no tlm lines", s->path);
  if (cpl_system_definition(s->source) != NULL && !cpl_source_has_model(s->source))
    return make_coupled(s);
  bool cs = a->as != NULL ? strcmp(a->as, "cs") == 0 : !cpl_source_has_model(s->source);
  if (cs && !cpl_source_has_stepper(s->source) && cli_ends_with(s->path, ".c"))
    return make_stepping(s);
  if (cs && !cpl_source_has_stepper(s->source))
    return cpl_fail(s->ctx, CPL_ERR_INPUT, "%s: --as cs: there is only model exchange in it",
                    s->path);
  if (!cs && !cpl_source_has_model(s->source))
    return cpl_fail(s->ctx, CPL_ERR_INPUT, "%s: --as me: there is only %s in it", s->path,
                    cpli_source_steps(s->source));
  if (!cs) return make_integrated(s);
  if (s->solvers.all != NULL) {
    return cpl_fail(s->ctx, CPL_ERR_INPUT,
                    "%s: --solver %s: a co-simulation FMU brings its own solver (--as me takes the "
                    "model exchange side, if there is one)",
                    s->path, s->solvers.all);
  }
  s->run.step = given(a->step, s->run.interval == 0 && e->has_step && e->step > 0 ? e->step : 0);
  s->run.tolerance = given(a->rtol, e->has_tolerance ? e->tolerance : 0);
  return cpl_source_make_stepper(s->source, s->source->desc->name, &s->stepper);
}

static cpl_status read_starts(session* s) {
  s->run.n_starts = s->args->set.n;
  cpl_status st = cli_read_starts(s->source, &s->args->set, &s->starts);
  s->run.starts = s->starts;
  return st;
}

static bool is_file(const char* path, const void* user) {
  const struct stat* file = user;
  struct stat other;
  return stat(path, &other) == 0 && other.st_dev == file->st_dev && other.st_ino == file->st_ino;
}

// Results must not overwrite the table of the inputs.
static cpl_status check_output(session* s) {
  struct stat file;
  const char* input = s->args->input;
  if (strcmp(s->output, "-") == 0 || stat(s->output, &file) != 0 || !S_ISREG(file.st_mode))
    return CPL_OK;
  const bool read = (input != NULL && is_file(input, &file)) ||
                    cpli_inputs_find_file(s->source, is_file, &file) != NULL;
  if (!read) return CPL_OK;
  s->refused = true;
  return cpl_fail(s->ctx, CPL_ERR_INPUT,
                  "%s: inputs are read from this file; -o gives the results another one",
                  s->output);
}

static cpl_status read_inputs(session* s) {
  if (s->args->input == NULL) return CPL_OK;
  cpl_status st = cli_read_table(s->ctx, s->args->input, &s->table);
  if (st < 0) return st;
  s->inputs = calloc(s->table->n_columns + 1, sizeof *s->inputs);
  if (s->inputs == NULL) return cpl_fail(s->ctx, CPL_ERR_NOMEM, "out of memory");
  for (size_t i = 0; i < s->table->n_columns; i++) {
    const char* name;
    st = cli_variable_of_column(s->source, s->table, i, &name);
    if (st < 0 && s->args->ignore_extra && st != CPL_ERR_NOMEM) continue;
    if (st < 0) return cpl_fail_prefix(s->ctx, st, "%s", s->args->input);
    s->inputs[s->run.n_inputs++] = (cpl_input){.name = name, .table = s->table, .column = i};
  }
  s->run.inputs = s->inputs;
  return CPL_OK;
}

static cpl_status check_per_model(const session* s) {
  if (!s->args->per_model) return CPL_OK;
  if (cpl_system_definition(s->source) == NULL)
    return cpl_fail(s->ctx, CPL_ERR_INPUT, "--per-model: %s is no system", s->path);
  if (strcmp(s->output, "-") == 0)
    return cpl_fail(s->ctx, CPL_ERR_INPUT,
                    "--per-model: %s: give the results a file, not standard output", s->path);
  return CPL_OK;
}

// For --stats: a master or a stepper of an FMU. Other steppers measure the time in models
// themselves.
static bool takes_clocks(const cpl_stepper* s) {
  if (parts_master(&s->base) != NULL) return true;
  return isnan(cpl_component_counter(&s->base, "rhs_evals")) && !parts_is(&s->base, "tlm");
}

cpl_status run_prepare(session* s) {
  const run_args* a = s->args;
  s->run = cpl_default_run_def();
  s->experiment = cpl_default_experiment_def();
  // otherwise the limit applies to components, not to models
  bool limits = !a->processes && !a->serve.on;
  const cli_isolation isolation = {.on = a->isolate,
                                   .call_timeout = limits || a->isolate ? a->call_timeout : NAN};
  cpl_status st = run_solvers_read(s->ctx, &a->solver, &s->solvers);
  if (st >= 0) st = cli_open(s->ctx, s->path, a->call_log, &a->set, &isolation, &s->source);
  if (st >= 0) st = run_solvers_check(s->ctx, s->path, &s->solvers, s->source);
  if (st >= 0) st = take_system(s);
  if (st >= 0) st = choose_times(s);
  if (st >= 0) st = make_stepper(s);
  if (st >= 0 && s->times.n == 0 && (run_wants_page(s) || (a->stats && takes_clocks(s->stepper))))
    st = model_times_of_stepper(&s->times, s->stepper);
  if (st >= 0) st = read_starts(s);
  if (st >= 0) st = read_inputs(s);
  if (a->output != NULL) snprintf(s->output, sizeof s->output, "%s", a->output);
  else default_output(s);
  if (st >= 0) st = check_output(s);
  if (st >= 0) st = check_per_model(s);
  if (a->record.n > 0) {
    s->run.record = a->record.items;
    s->run.n_record = a->record.n;
  }
  s->progress.start = s->run.start_time;
  s->progress.stop = s->run.stop_time;
  if (run_wants_page(s) && (a->per_model || strcmp(s->output, "-") == 0) && st >= 0)
    st = cpl_fail(s->ctx, CPL_ERR_INPUT, "--view and --live: %s: the results must be one file",
                  s->path);
  return st;
}
