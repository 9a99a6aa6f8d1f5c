// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "base/guard.h"
#include "cli.h"
#include "format/json.h"
#include "graph.h"
#include "pace.h"
#include "progress.h"
#include "report.h"
#include "run_lines.h"
#include "run_master.h"
#include "run_solvers.h"
#include "split.h"
#include "tlm_serve.h"

typedef struct run_args {
  serve_args serve;  // first: options of tlm serve are written here
  const char *output, *as, *projection, *linear, *loops, *form, *input, *log_level, *call_log,
      *progress, *listen;
  double start_time, stop_time, interval, step, rtol, atol, call_timeout, real_time, threads;
  cli_list set, record, solver;
  bool stats, json, quiet, units, per_model, one_solver, isolate, view, live, processes;
} run_args;

// All that one run needs, from the file to the results.
typedef struct session {
  const run_args* args;
  cpl_context* ctx;
  const char* path;
  char output[4096];
  cpl_source* source;
  cpl_stepper* stepper;
  cpl_solver_def solver;
  run_solvers solvers;            // of the command line
  cpl_experiment_def experiment;  // of a system file
  const char** record;            // of a system file
  cpl_table* table;
  cpl_start* starts;
  cpl_input* inputs;
  cpl_run_def run;
  cpl_run_stats stats;
  cpl_results* results;
  split split;    // results of a system, one file a model
  FILE* out;      // standard output as it was given to us
  cpl_status st;  // of the run
  bool prepared;  // the run could begin
  progress progress;
  model_times times;  // when a report is wanted
  cpl_live* live;
  pace pace;
  serving serving;
} session;

//------------------------------------ interruption ------------------------------------

static volatile int interrupted;

// The first Ctrl-C ends the run at its next step, the second leaves a call of the model that does
// not come back, the third ends the program.
static void on_interrupt(int signal_number) {
  interrupted++;
  bool in_model = cpli_guard_top != NULL && cpli_guard_top->outer != NULL;  // behind simulate()
  if (interrupted == 2 && in_model) cpli_guard_break(signal_number);
  if (interrupted < 3) return;
  signal(signal_number, SIG_DFL);
  raise(signal_number);
}

static void catch_signals(void) {
  struct sigaction action = {.sa_handler = on_interrupt};
  sigaction(SIGINT, &action, NULL);
  sigaction(SIGTERM, &action, NULL);
  sigaction(SIGHUP, &action, NULL);
  signal(SIGPIPE, SIG_IGN);
}

static bool wants_page(const session* s) { return s->args->view || s->args->live; }

//------------------------------------ standard output ------------------------------------

// Where the summary goes: not between the results.
static FILE* summary_of(const session* s) { return strcmp(s->output, "-") == 0 ? stderr : s->out; }

//------------------------------------ progress ------------------------------------

static void show_progress(void* user, double t) {
  session* s = user;
  pace_wait(&s->pace, t);
  if (s->progress.kind != PROGRESS_NONE) progress_show(&s->progress, t, run_events(s->stepper));
  if (s->live != NULL) cpl_live_progress(s->live, t, run_events(s->stepper));
}

static void end_progress(session* s) {
  if (s->prepared) progress_end(&s->progress, s->stats.reached, run_events(s->stepper), s->st >= 0);
}

//------------------------------------ results ------------------------------------

// A file that cannot be opened is a bad argument, one that cannot be written to is bad luck.
static bool can_be_opened(const char* path) {
  if (strcmp(path, "-") == 0) return true;
  int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd >= 0) close(fd);
  return fd >= 0;
}

static cpl_status open_results(void* user, const cpl_column* columns, size_t n) {
  session* s = user;
  cpl_results_def def = cpl_default_results_def();
  def.path = s->output;
  if (n == 0) {
    cpl_log(s->ctx, CPL_LOG_WARNING, s->source->desc->name,
            "it has neither outputs nor states, so that only time is recorded; --record '*' "
            "records all variables");
  }
  def.units = s->args->units;
  def.comment = s->path;
  def.standard_output = fileno(s->out);
  cpl_status st = CPL_OK;
  bool fine = true;
  if (s->args->per_model) {
    st = split_open(&s->split, s->ctx, cpl_system_definition(s->source), &def, columns, n);
    for (size_t i = 0; i < s->split.n && st == CPL_ERR_IO; i++)
      fine = fine && (s->split.files[i].path == NULL || can_be_opened(s->split.files[i].path));
  } else {
    st = cpl_results_open(s->ctx, &def, columns, n, &s->results);
    fine = st != CPL_ERR_IO || can_be_opened(s->output);
  }
  if (st >= 0 && s->args->live)
    st = run_live(s->ctx, s->source->desc->name, s->args->listen, &s->run, columns, n, &interrupted,
                  &s->live);
  return fine ? st : CPL_ERR_INPUT;
}

static cpl_status write_point(void* user, double t, const cpl_value* values) {
  session* s = user;
  if (s->pace.began == 0) pace_wait(&s->pace, t);
  if (s->live != NULL) cpl_live_record(s->live, t, values);
  return s->args->per_model ? split_record(&s->split, t, values)
                            : cpl_results_record(s->results, t, values);
}

// "model.fmu" -> "model.csv" in the current folder.
static void default_output(session* s) {
  const char* name = strrchr(s->path, '/');
  name = name != NULL ? name + 1 : s->path;
  const char* dot = strrchr(name, '.');
  int len = dot != NULL && dot > name ? (int)(dot - name) : (int)strlen(name);
  snprintf(s->output, sizeof s->output, "%.*s.csv", len, name);
}

//------------------------------------ preparation ------------------------------------

static double given(double value, double otherwise) { return isnan(value) ? otherwise : value; }

// What a system file says about running it.
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
            "no stop time is given, neither by --stop-time nor by the model: simulating 1 s");
  }
  if (!isnan(a->interval) && !(a->interval > 0))
    return cpl_fail(s->ctx, CPL_ERR_INPUT, "--interval must be positive, not %g", a->interval);
  if (!isnan(a->step) && !(a->step > 0))
    return cpl_fail(s->ctx, CPL_ERR_INPUT, "--step must be positive, not %g", a->step);
  if (!isnan(a->real_time) && !(a->real_time > 0))
    return cpl_fail(s->ctx, CPL_ERR_INPUT, "--real-time must be positive, not %g", a->real_time);
  s->pace = (pace){.factor = given(a->real_time, 0), .cancel = &interrupted};
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
  s->solver.timing = a->stats || wants_page(s);  // two looks at the clock per evaluation
  s->solver.cancel = &interrupted;
  s->solver.one_solver = a->one_solver;
  bool fixed = s->solver.kind == CPL_SOLVER_RK4 || s->solver.kind == CPL_SOLVER_EULER;
  double preferred = e->has_step && e->step > 0 ? e->step : usual_step(s);
  s->solver.step = given(a->step, given(s->experiment.step, fixed ? preferred : 0));
  return choose_form(s);
}

static cpl_status make_integrated(session* s) {
  cpl_model* model = NULL;
  cpl_status st = choose_solver(s);
  if (st >= 0) st = s->source->ops->make_model(s->source, s->source->desc->name, &model);
  if (st < 0) return st;
  if (wants_page(s)) st = model_times_of_model(&s->times, model);
  if (st >= 0) return cpl_integrate(model, &s->solver, &s->stepper);
  model->base.ops->destroy(&model->base);
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
  return serving_begin(&s->serving, s->args->call_timeout, &interrupted);
}

// A system with co-simulation models: --step is the communication step.
static cpl_status make_coupled(session* s) {
  const cpl_default_experiment* e = &s->source->desc->experiment;
  cpl_stepper_def def = cpl_default_stepper_def();
  cpl_status st = choose_solver(s);
  if (st < 0) return st;
  bool coupled = !graph_has_modes(s->source);  // modes have no steps but those of their solvers
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
  double step = cpl_master_step(s->stepper);
  if (s->run.interval == 0) s->run.interval = step;
  // steps follow the master, not the output: between its points the last values are shown
  if (cpl_master_count(s->stepper) > 0 && cpl_master_settings(s->stepper).tolerance == 0)
    s->run.step = step;
  return st;
}

static cpl_status make_stepper(session* s) {
  const run_args* a = s->args;
  const cpl_default_experiment* e = &s->source->desc->experiment;
  const cpl_source_ops* ops = s->source->ops;
  if (a->serve.on && (cpl_system_definition(s->source) == NULL || ops->make_model != NULL))
    return cpl_fail(s->ctx, CPL_ERR_INPUT, "%s: there are no tlm lines in it", s->path);
  if (cpl_system_definition(s->source) != NULL && ops->make_model == NULL) return make_coupled(s);
  bool cs = a->as != NULL ? strcmp(a->as, "cs") == 0 : ops->make_model == NULL;
  if (cs && ops->make_stepper == NULL)
    return cpl_fail(s->ctx, CPL_ERR_INPUT, "%s: --as cs: there is only model exchange in it",
                    s->path);
  if (!cs && ops->make_model == NULL)
    return cpl_fail(s->ctx, CPL_ERR_INPUT, "%s: --as me: there is only co-simulation in it",
                    s->path);
  if (!cs) return make_integrated(s);
  if (s->solvers.all != NULL) {
    return cpl_fail(s->ctx, CPL_ERR_INPUT,
                    "%s: --solver %s: a co-simulation FMU brings its own solver (--as me takes the "
                    "model exchange side, if there is one)",
                    s->path, s->solvers.all);
  }
  s->run.step = given(a->step, s->run.interval == 0 && e->has_step && e->step > 0 ? e->step : 0);
  s->run.tolerance = given(a->rtol, e->has_tolerance ? e->tolerance : 0);
  return ops->make_stepper(s->source, s->source->desc->name, &s->stepper);
}

static cpl_status read_starts(session* s) {
  s->run.n_starts = s->args->set.n;
  cpl_status st = cli_read_starts(s->source, &s->args->set, &s->starts);
  s->run.starts = s->starts;
  return st;
}

static cpl_status read_inputs(session* s) {
  if (s->args->input == NULL) return CPL_OK;
  cpl_status st = cpl_table_read(s->ctx, s->args->input, &s->table);
  if (st < 0) return st;
  s->inputs = calloc(s->table->n_columns + 1, sizeof *s->inputs);
  if (s->inputs == NULL) return cpl_fail(s->ctx, CPL_ERR_NOMEM, "out of memory");
  for (size_t i = 0; i < s->table->n_columns; i++) {
    int32_t var;
    st = cpl_require_variable(s->ctx, s->source->desc, s->table->names[i], &var);
    if (st < 0) return cpl_fail_prefix(s->ctx, st, "%s", s->args->input);
    s->inputs[i] = (cpl_input){.name = s->table->names[i], .table = s->table, .column = i};
  }
  s->run.inputs = s->inputs;
  s->run.n_inputs = s->table->n_columns;
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

static cpl_status prepare(session* s) {
  const run_args* a = s->args;
  s->run = cpl_default_run_def();
  s->experiment = cpl_default_experiment_def();
  bool isolate = a->isolate || (!isnan(a->call_timeout) && !a->processes && !a->serve.on);
  cpl_status st = run_solvers_read(s->ctx, &a->solver, &s->solvers);
  if (st >= 0 && isolate)
    st = cli_open_isolated(s->ctx, s->path, a->call_log, &a->set, a->call_timeout, &s->source);
  else if (st >= 0) st = cli_open(s->ctx, s->path, a->call_log, &a->set, &s->source);
  if (st >= 0) st = run_solvers_check(s->ctx, s->path, &s->solvers, s->source);
  if (st >= 0) st = take_system(s);
  if (st >= 0) st = choose_times(s);
  if (st >= 0) st = make_stepper(s);
  if (st >= 0 && wants_page(s) && s->times.n == 0)
    st = model_times_of_stepper(&s->times, s->stepper);
  if (st >= 0) st = read_starts(s);
  if (st >= 0) st = read_inputs(s);
  if (a->output != NULL) snprintf(s->output, sizeof s->output, "%s", a->output);
  else default_output(s);
  if (st >= 0) st = check_per_model(s);
  if (a->record.n > 0) {
    s->run.record = a->record.items;
    s->run.n_record = a->record.n;
  }
  s->run.on_columns = open_results;
  s->run.on_point = write_point;
  s->run.on_progress = show_progress;
  s->run.user = s;
  s->run.cancel = &interrupted;
  s->progress.start = s->run.start_time;
  s->progress.stop = s->run.stop_time;
  if (wants_page(s) && (a->per_model || strcmp(s->output, "-") == 0) && st >= 0)
    st = cpl_fail(s->ctx, CPL_ERR_INPUT, "--view and --live: %s: the results must be one file",
                  s->path);
  return st;
}

//------------------------------------ report ------------------------------------

static void print_summary(const session* s) {
  FILE* out = summary_of(s);
  const cpl_run_stats* r = &s->stats;
  const cpl_solver_stats* v = &r->solver;
  long long events = (long long)(v->state_events + v->time_events + v->step_events);
  cli_print_safe(out, s->source->desc->name);
  fprintf(out, ": t = %g to %g in %.3g s, %lld points", s->run.start_time, r->reached, r->wall_s,
          (long long)r->points);
  if (events > 0) fprintf(out, ", %lld event%s", events, events == 1 ? "" : "s");
  long long switches = (long long)r->switches;
  if (switches > 0) fprintf(out, ", %lld switch%s", switches, switches == 1 ? "" : "es");
  if (r->terminated) fprintf(out, " (the model ended the run)");
  if (strcmp(s->output, "-") != 0 && !s->args->per_model) fprintf(out, " -> %s", s->output);
  const char* before = " -> ";
  for (size_t i = 0; i < s->split.n; i++) {
    if (s->split.files[i].path == NULL) continue;
    fputs(before, out);
    cli_print_safe(out, s->split.files[i].path);
    before = ", ";
  }
  fputc('\n', out);
}

typedef struct count {
  const char* key;
  int64_t value;
} count;

static void print_stats(const session* s) {
  FILE* out = summary_of(s);
  const cpl_run_stats* r = &s->stats;
  const cpl_solver_stats* v = &r->solver;
  cpl_modes_stats modes;
  bool has_modes = cpl_modes_get_stats(s->stepper, &modes);
  bool integrated = has_modes || cpl_integrate_stats(s->stepper) != NULL;
  if (integrated) {
    fprintf(out, "  solver               %s, rtol %g\n", cpl_solver_name(s->solver.kind),
            s->solver.rtol);
    if (v->groups > 1 && !has_modes)
      fprintf(out, "  groups               %d, each with a solver of its own\n", v->groups);
    fprintf(out, "  steps                %lld\n", (long long)v->steps);
    fprintf(out, "  rejected steps       %lld\n", (long long)v->rejected);
    fprintf(out, "  right-hand sides     %lld\n", (long long)v->rhs_evals);
    fprintf(out, "  Jacobians            %lld\n", (long long)v->jac_evals);
    fprintf(out, "  Newton iterations    %lld\n", (long long)v->newton_iters);
    if (s->solver.linear == CPL_LINEAR_GMRES) {
      fprintf(out, "  GMRES iterations     %lld\n", (long long)v->linear_iters);
      fprintf(out, "  Jacobian products    %lld\n", (long long)v->products);
    }
    fprintf(out, "  events               %lld state, %lld time, %lld step\n",
            (long long)v->state_events, (long long)v->time_events, (long long)v->step_events);
    fprintf(out, "  solver restarts      %lld\n", (long long)v->restarts);
    if (v->algebraics > 0)
      fprintf(out, "  algebraic variables  %d, integrated together with the states\n",
              v->algebraics);
    if (v->switches > 0)
      fprintf(out, "  structure changes    %lld, to %d structure%s beside the first\n",
              (long long)v->switches, v->structures, v->structures == 1 ? "" : "s");
    if (v->projections > 0)
      fprintf(out,
              "  projections          %lld (%s), the largest %.3g times the tolerance\n"
              "  largest residual     %.3g, before a projection\n",
              (long long)v->projections, cpl_projection_name(cpl_projection_of(&s->solver)),
              v->largest_projection, v->largest_residual);
    if (has_modes) {
      fprintf(out, "  switches             %lld\n", (long long)r->switches);
      fprintf(out, "  time in switches     %.3g s\n", r->in_switches_s);
      fprintf(out, "  time in mapping      %.3g s\n", r->in_mapping_s);
    }
    if (cpl_master_get_stats(s->stepper) != NULL) run_print_master(out, s->stepper);
  } else if (cpl_tlm_count(s->stepper) > 0) {
    run_print_lines(out, s->stepper);
  } else if (cpl_master_get_stats(s->stepper) != NULL) {
    run_print_master(out, s->stepper);
  } else {
    fprintf(out, "  communication steps  %lld\n", (long long)r->communication_steps);
    fprintf(out, "  refused steps        %lld\n", (long long)r->refused_steps);
  }
  double in_models = integrated ? v->in_models_s : r->wall_s - r->in_output_s;
  fprintf(out, "  time in models       %.3g s\n", in_models);
  fprintf(out, "  time in solver       %.3g s\n", fmax(0, r->wall_s - r->in_output_s - in_models));
  fprintf(out, "  time in output       %.3g s\n", r->in_output_s);
  if (s->pace.factor > 0)
    fprintf(out, "  overruns             %lld of %lld steps, the worst %.3g s late\n",
            (long long)s->pace.overruns, (long long)s->pace.steps, s->pace.latest);
}

static void print_counts(cpli_json* json, const session* s) {
  const cpl_run_stats* r = &s->stats;
  const cpl_solver_stats* v = &r->solver;
  const count counts[] = {
      {"steps", v->steps},
      {"rejected_steps", v->rejected},
      {"rhs_evals", v->rhs_evals},
      {"jacobians", v->jac_evals},
      {"newton_iterations", v->newton_iters},
      {"gmres_iterations", v->linear_iters},
      {"jacobian_products", v->products},
      {"state_events", v->state_events},
      {"time_events", v->time_events},
      {"step_events", v->step_events},
      {"restarts", v->restarts},
      {"projections", v->projections},
      {"algebraic_variables", v->algebraics},
      {"groups", v->groups},
      {"communication_steps", r->communication_steps},
      {"refused_steps", r->refused_steps},
      {"switches", r->switches},
      {"structure_changes", v->switches},
      {"structures", v->structures},
      {"points", r->points},
  };
  if (s->args->per_model) {
    cpli_json_array(json, "results");
    for (size_t i = 0; i < s->split.n; i++) {
      if (s->split.files[i].path != NULL) cpli_json_text(json, NULL, s->split.files[i].path);
    }
    cpli_json_close(json, ']');
  } else {
    cpli_json_text(json, "result", s->output);
  }
  cpli_json_real(json, "start_time", s->run.start_time);
  cpli_json_real(json, "reached", r->reached);
  cpli_json_real(json, "wall_s", r->wall_s);
  cpli_json_real(json, "in_models_s", v->in_models_s);
  cpli_json_real(json, "in_output_s", r->in_output_s);
  if (r->switches > 0) {
    cpli_json_real(json, "in_switches_s", r->in_switches_s);
    cpli_json_real(json, "in_mapping_s", r->in_mapping_s);
  }
  for (size_t i = 0; i < CPLI_COUNT(counts); i++)
    cpli_json_integer(json, counts[i].key, counts[i].value);
  if (s->pace.factor > 0) {
    cpli_json_integer(json, "overruns", s->pace.overruns);
    cpli_json_real(json, "worst_overrun_s", s->pace.latest);
  }
  if (cpl_master_get_stats(s->stepper) != NULL) run_write_master(json, "master", s->stepper);
  if (cpl_tlm_count(s->stepper) > 0) run_write_lines(json, s->stepper);
}

static void print_json(const session* s) {
  cpli_json json;
  cpli_json_begin(&json, summary_of(s));
  json.one_line = 2;
  cpli_json_object(&json, NULL);
  cpli_json_text(&json, "file", s->path);
  cpli_json_text(&json, "status", s->st < 0 ? cpl_context_error(s->ctx) : "ok");
  cpli_json_integer(&json, "exit_code", cli_exit_code(s->st));
  if (s->prepared) print_counts(&json, s);
  cpli_json_close(&json, '}');
  cpli_json_end(&json);
}

//------------------------------------ the verb ------------------------------------

static void simulate(void* user) {
  session* s = user;
  s->st = prepare(s);
  s->prepared = s->st >= 0;
  if (s->prepared) s->st = cpl_run(s->stepper, &s->run, &s->stats);
}

static void close_results(void* user) {
  session* s = user;
  cpl_results* results = s->results;
  s->results = NULL;
  cpl_status closed = cpl_results_close(results);
  cpl_status rest = split_close(&s->split);
  if (closed >= 0) closed = rest;
  if (s->st >= 0 && closed < 0) s->st = closed;
}

static void destroy_stepper(void* user) {
  session* s = user;
  if (s->stepper != NULL) s->stepper->base.ops->destroy(&s->stepper->base);
}

static void destroy_source(void* user) {
  session* s = user;
  if (s->source != NULL) s->source->ops->destroy(s->source);
}

// A model may have damaged our memory, so that we crash ourselves: even then the results are to be
// kept and the temporary folder removed.
static void guarded(session* s, void (*function)(void* user)) {
  const char* crash = cpli_guard_run(function, s);
  if (crash != NULL) {
    s->st = cpl_fail(s->ctx, CPL_ERR_MODEL,
                     "%s: crashed outside of the model's functions (%s): the model has damaged "
                     "memory, or couplet has a bug",
                     s->path, crash);
  }
}

static void view_results(void* user) {
  session* s = user;
  const run_facts facts = {.ctx = s->ctx,
                           .path = s->path,
                           .result = s->output,
                           .source = s->source,
                           .stepper = s->stepper,
                           .solver = &s->solver,
                           .run = &s->run,
                           .stats = &s->stats,
                           .times = &s->times,
                           .st = s->st};
  char page[4096 + 8] = "";
  const bool open = s->args->view && s->live == NULL;
  const cpl_status st = report_view(&facts, summary_of(s), !s->args->quiet && !s->args->json, open,
                                    page, sizeof page);
  if (s->live != NULL) cpl_live_finish(s->live, st >= 0 ? page : NULL);
  if (st < 0) cli_report(s->ctx, st);
  if (st < 0 && s->st >= 0) s->st = st;
}

static int report(session* s) {
  const run_args* args = s->args;
  int code = s->st < 0 ? cli_report(s->ctx, s->st) : CLI_OK;
  if (args->json) print_json(s);
  else if (s->st >= 0 && !args->quiet) print_summary(s);
  if (s->prepared && args->stats && !args->json) print_stats(s);
  if (s->stats.points == 0 || !wants_page(s)) return code;  // nothing to look at
  const cpl_status before = s->st;
  guarded(s, view_results);
  return before >= 0 && s->st < 0 ? cli_exit_code(s->st) : code;
}

static void release(session* s) {
  guarded(s, destroy_stepper);
  serving_end(&s->serving);
  guarded(s, destroy_source);
  cpl_table_destroy(s->table);
  model_times_free(&s->times);
  cpl_live_close(s->live);
  split_free(&s->split);
  run_solvers_free(&s->solvers);
  free(s->record);
  free(s->starts);
  free(s->inputs);
  cpl_context_destroy(s->ctx);
}

static int run_file(void* args_, int n, char** operands) {
  const run_args* args = args_;
  (void)n;
  session s = {.args = args, .path = operands[0]};
  report_command();
  progress_begin(&s.progress, args->progress, args->quiet || args->json);
  s.ctx = cli_context(args->quiet && args->log_level == NULL ? "error" : args->log_level);
  if (s.ctx == NULL) return cli_usage_error("out of memory");
  s.out = cli_keep_output();
  if (s.out == NULL) {
    cpl_context_destroy(s.ctx);
    return CLI_FAILED;
  }
  catch_signals();
  guarded(&s, simulate);
  end_progress(&s);
  guarded(&s, close_results);
  int code = report(&s);
  release(&s);
  return cli_close_output(s.out, code);
}

#define AT(member) offsetof(run_args, member)
static const cli_option options[] = {
    {"output", 'o', "FILE", "where results go: .csv, .mat, or - for CSV on standard output",
     CLI_TEXT, AT(output)},
    {"start-time", 0, "TIME", "start of the simulation", CLI_NUMBER, AT(start_time)},
    {"stop-time", 0, "TIME", "end of the simulation", CLI_NUMBER, AT(stop_time)},
    {"interval", 0, "DT", "time between output points", CLI_NUMBER, AT(interval)},
    {"step", 0, "DT",
     "communication step (co-simulation), step (rk4, euler), longest step (cvode, adams)",
     CLI_NUMBER, AT(step)},
    {"solver", 0, "cvode|adams|radau|dopri5|erk8|esdirk5|ida|rk4|euler",
     "how models are integrated; cvode is the default; MODEL=SOLVER is for one model of a system "
     "with tlm lines and may be repeated",
     CLI_LIST, AT(solver)},
    {"linear", 0, "direct|gmres",
     "how cvode solves its linear systems: factorised (the default) or matrix-free", CLI_TEXT,
     AT(linear)},
    {"loops", 0, "nested|as-rows",
     "how algebraic loops of a system are solved: in every evaluation (the default), or, with "
     "solver ida, their equations together with those of the states",
     CLI_TEXT, AT(loops)},
    {"form", 0, "auto|ode|dae",
     "of a model with algebraic variables: it solves for them in every evaluation (ode), or solver "
     "ida integrates them together with the states (dae); auto is dae where the solver can",
     CLI_TEXT, AT(form)},
    {"rtol", 0, "X", "relative tolerance", CLI_NUMBER, AT(rtol)},
    {"atol", 0, "X", "absolute tolerance, times the nominal of each state; default: rtol",
     CLI_NUMBER, AT(atol)},
    {"as", 0, "me|cs", "model exchange or co-simulation, for FMUs with both", CLI_TEXT, AT(as)},
    {"set", 0, "NAME=VALUE",
     "a parameter or start value, with a unit the model knows if you like; may be repeated",
     CLI_LIST, AT(set)},
    {"input", 0, "FILE", "CSV with a column time and columns named after inputs", CLI_TEXT,
     AT(input)},
    {"record", 0, "NAME",
     "what to record: a name, or a pattern with * and ?; may be repeated; default: outputs and "
     "states",
     CLI_LIST, AT(record)},
    {"units", 0, NULL, "CSV: units in the column names, as in \"v [m/s]\"", CLI_FLAG, AT(units)},
    {"per-model", 0, NULL,
     "of a system: one file a model, out.MODEL.csv; what belongs to no model stays in out.csv",
     CLI_FLAG, AT(per_model)},
    {"projection", 0, "auto|lazy|every|events|off",
     "when states are brought back onto the constraints of a model; auto is every (step) "
     "with cvode and lazy (where a residual is larger than the tolerance) with others; solver ida "
     "has them as equations instead, unless events or off",
     CLI_TEXT, AT(projection)},
    {"one-solver", 0, NULL,
     "of a system: one solver for all models, also for groups that do not influence each other",
     CLI_FLAG, AT(one_solver)},
    {"isolate", 0, NULL,
     "run every model in a process of its own: what it does to it does no harm to the run",
     CLI_FLAG, AT(isolate)},
    {"call-timeout", 0, "SECONDS",
     "end the run when one call of a model takes longer; models are isolated then", CLI_NUMBER,
     AT(call_timeout)},
    {"real-time", 0, "FACTOR",
     "keep step with the clock: 1 as fast as real time, 2 twice as fast; --stats tells how often "
     "it came too late",
     CLI_NUMBER, AT(real_time)},
    {"processes", 0, NULL, "of a system with tlm lines: every part in a process of its own",
     CLI_FLAG, AT(processes)},
    {"threads", 0, "N",
     "of a system with tlm lines: so many; default: as many as there are processors, where they "
     "pay",
     CLI_NUMBER, AT(threads)},
    {"stats", 0, NULL, "print what the solver did and where the time went", CLI_FLAG, AT(stats)},
    {"view", 0, NULL,
     "write a page of the results beside them (.html), with a report of the run, and open it where "
     "there is a desktop",
     CLI_FLAG, AT(view)},
    {"live", 0, NULL,
     "serve a page on this machine while the run goes on, with curves that grow, the time left and "
     "a stop button; its address is printed",
     CLI_FLAG, AT(live)},
    {"listen", 0, "ADDRESS[:PORT]",
     "with --live: another address than 127.0.0.1; others can then reach it who know the token",
     CLI_TEXT, AT(listen)},
    {"progress", 0, "auto|json|none",
     "how far the run is: a bar on a terminal (auto), or lines of JSON on standard error", CLI_TEXT,
     AT(progress)},
    {"json", 0, NULL, "print the summary for machines", CLI_FLAG, AT(json)},
    {"quiet", 'q', NULL, "print errors only", CLI_FLAG, AT(quiet)},
    {"log-level", 0, "error|warning|info|debug", "what the model may say", CLI_TEXT, AT(log_level)},
    {"call-log", 0, "FILE", "record every FMI call with arguments and result", CLI_TEXT,
     AT(call_log)},
    {0},
};

const cli_verb cli_run = {
    .name = "run",
    .operands = "FILE",
    .summary = "simulate an FMU, a model in C or a system",
    .text =
        "FILE is an .fmu, a model written in C (.c), a system of them (.yaml) or a composite model "
        "of the TLM framework (.xml), or the tlm.config beside one of its sub-models. Times and "
        "tolerances not given are those of "
        "the model's default experiment. Results go to NAME.csv in the current folder unless -o "
        "says otherwise: a column time, then one per variable; both sides of every event are "
        "recorded. Ctrl-C ends the run, and the results so far are kept.\n\n"
        "  couplet run ball.fmu --stop-time 3 --set 'g=9.81 m/s2' -o ball.csv --stats",
    .suffixes = "fmu c yaml xml",
    .options = options,
    .args_size = sizeof(run_args),
    .run = run_file,
};

static int serve_file(void* args, int n, char** operands) {
  ((run_args*)args)->serve.on = true;
  return run_file(args, n, operands);
}

const cli_verb cli_tlm_serve = {
    .name = "tlm serve",
    .operands = "FILE",
    .summary = "simulate a system whose sub-models run elsewhere",
    .text = serve_text,
    .suffixes = "yaml xml",
    .options = serve_options,
    .more = options,
    .args_size = sizeof(run_args),
    .run = serve_file,
};
