// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The verbs `couplet run` and `couplet tlm serve`: the callbacks for results and progress, and the
// order of work from preparation to release. Every stage is guarded, so that results are kept even
// when a model has damaged memory.
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "base/guard.h"
#include "interrupt.h"
#include "run.h"

//------------------------------------ progress ------------------------------------

static void show_progress(void* user, double t) {
  session* s = user;
  pace_wait(&s->pace, t);
  if (s->progress.kind != PROGRESS_NONE) progress_show(&s->progress, t, run_events(s->stepper));
  if (s->live != NULL) cpl_live_progress(s->live, t, run_events(s->stepper));
}

// Between output points.
static void show_step(void* user, double t, double h) {
  session* s = user;
  s->progress.step = h;
  if (s->progress.kind != PROGRESS_NONE) progress_show(&s->progress, t, run_events(s->stepper));
  if (s->live != NULL) cpl_live_progress(s->live, t, run_events(s->stepper));
}

static void end_progress(session* s) {
  if (s->prepared) progress_end(&s->progress, s->stats.reached, run_events(s->stepper), s->st >= 0);
}

//------------------------------------ results ------------------------------------

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
  run_states_results(s, &def);
  cpl_status st =
      s->args->per_model
          ? split_open(&s->split, s->ctx, cpl_system_definition(s->source), &def, columns, n)
          : cpl_results_open(s->ctx, &def, columns, n, &s->results);
  s->refused = st < 0;
  if (st >= 0 && s->args->live)
    st = run_live(s->ctx, s->source->desc->name, s->args->listen, s->run, columns, n, &s->live);
  return st;
}

static cpl_status write_point(void* user, double t, const cpl_value* values) {
  session* s = user;
  if (s->pace.began == 0) pace_wait(&s->pace, t);
  if (s->live != NULL) cpl_live_record(s->live, t, values);
  return s->args->per_model ? split_record(&s->split, t, values)
                            : cpl_results_record(s->results, t, values);
}

//------------------------------------ the verb ------------------------------------

static void simulate(void* user) {
  session* s = user;
  s->st = run_ranks_join(s);
  if (cpl_ranks_number(s->ranks) > 0) {
    run_ranks_serve(s);
    return;
  }
  if (s->st >= 0) s->st = run_prepare(s);
  s->prepared = s->st >= 0;
  if (!s->prepared) return;
  s->run->on_columns = open_results;
  s->run->on_point = write_point;
  s->run->on_progress = show_progress;
  s->run->on_step = show_step;
  s->run->user = s;
  s->st = cpl_run(s->stepper, s->run, &s->stats);
}

static void close_results(void* user) {
  session* s = user;
  cpl_results* results = s->results;
  s->results = NULL;
  cpl_status closed = cpl_results_finish(results, s->st < 0, &s->kept);
  cpl_status rest = split_close(&s->split, s->st < 0, &s->kept);
  if (closed >= 0) closed = rest;
  if (s->st >= 0 && closed < 0) s->st = closed;
}

static void destroy_experiment(void* user) {
  session* s = user;
  cpl_experiment_destroy(s->experiment);
}

static void destroy_source(void* user) {
  session* s = user;
  cpl_source_destroy(s->source);
}

// A model may have corrupted memory, so that couplet itself crashes: even then the results must be
// kept and the temporary folder removed.
static void guarded(session* s, void (*function)(void* user)) {
  const char* crash = cpli_guard_program(function, s);
  if (crash != NULL && cli_interrupted) {
    s->st = cpli_interrupted(s->ctx, s->path, NAN);
  } else if (crash != NULL) {
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
                           .solver = s->solver,
                           .run = s->run,
                           .stats = &s->stats,
                           .times = &s->times,
                           .st = s->st};
  char page[4096 + 8] = "";
  const bool open = s->args->view && s->live == NULL;
  const cpl_status st = report_view(&facts, run_summary(s), !s->args->quiet && !s->args->json, open,
                                    page, sizeof page);
  if (s->live != NULL) cpl_live_finish(s->live, st >= 0 ? page : NULL);
  if (st < 0) cli_report(s->ctx, st);
  if (st < 0 && s->st >= 0) s->st = st;
}

static int report(session* s) {
  const run_args* args = s->args;
  if (cpl_ranks_number(s->ranks) > 0) return CLI_OK;  // rank 0 reports
  // a reader such as head has closed the pipe
  if (s->st == CPL_ERR_IO && strcmp(s->output, "-") == 0 && cli_is_output_closed(s->out))
    return CLI_CLOSED;
  int code = s->st < 0 ? cli_report(s->ctx, s->st) : CLI_OK;
  if (args->json) run_print_json(s);
  else if (!args->quiet) (s->st >= 0 ? run_print_summary : run_print_kept)(s);
  if (s->prepared && args->stats && !args->json) run_print_stats(s);
  if (s->kept.rows == 0 || !run_wants_page(s)) return code;  // no results to show
  const cpl_status before = s->st;
  guarded(s, view_results);
  return before >= 0 && s->st < 0 ? cli_exit_code(s->st) : code;
}

static void release(session* s) {
  guarded(s, destroy_experiment);
  serving_end(&s->serving);
  guarded(s, destroy_source);
  cpl_table_destroy(s->table);
  cpl_checkpoint_destroy(s->states.from);
  model_times_free(&s->times);
  cpl_live_close(s->live);
  run_live_end(s->ctx);
  split_free(&s->split);
  run_solvers_free(&s->solvers);
  free(s->starts);
  cpl_ranks_leave(s->ranks);
  cli_end_context(s->ctx);
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
    cli_end_context(s.ctx);
    return CLI_USAGE;
  }
  cli_keep_after_pipes();
  guarded(&s, simulate);
  cli_enter(CLI_WRITES);
  end_progress(&s);
  guarded(&s, close_results);
  s.st = cpl_ranks_explain(s.ranks, s.st);
  int code = report(&s);
  cli_enter(CLI_RELEASES);
  release(&s);
  return cli_close_output(s.out, code);
}

#define AT(member) offsetof(run_args, member)
static const cli_option options[] = {
    {"output", 'o', "FILE", "the result file: .csv, .mat, or - for CSV on standard output",
     CLI_TEXT, AT(output)},
    {"start", 0, "TIME", "start of the simulation", CLI_NUMBER, AT(start_time), "start-time"},
    {"stop", 0, "TIME", "end of the simulation", CLI_NUMBER, AT(stop_time), "stop-time"},
    {"interval", 0, "DT", "time between output points", CLI_NUMBER, AT(interval)},
    {"step", 0, "DT",
     "maximum communication step (co-simulation), step (fixed-step solvers), maximum step (others)",
     CLI_NUMBER, AT(step)},
    {"solver", 0, CLI_SOLVERS,
     "the solver of models (default: cvode); MODEL=SOLVER sets that of one model of a system with "
     "tlm lines and may be repeated",
     CLI_LIST, AT(solver)},
    {"linear", 0, "direct|gmres",
     "how cvode solves its linear systems: factorised (the default) or matrix-free", CLI_TEXT,
     AT(linear)},
    {"steady", 0, NULL,
     "begin at the rest point, searched from the start values (models and systems of models)",
     CLI_FLAG, AT(steady)},
    {"loops", 0, "nested|as-rows",
     "how algebraic loops of a system are solved: in every evaluation (the default), or, with "
     "solver ida, their equations together with those of the states",
     CLI_TEXT, AT(loops)},
    {"form", 0, "auto|ode|dae",
     "models with algebraic variables: the model solves for them in every evaluation (ode), or "
     "solver ida integrates them with the states (dae); auto is dae where the solver supports it",
     CLI_TEXT, AT(form)},
    {"rtol", 0, "X", "relative tolerance", CLI_NUMBER, AT(rtol)},
    {"atol", 0, "X", "absolute tolerance, times the nominal of each state; default: rtol",
     CLI_NUMBER, AT(atol)},
    {"as", 0, "me|cs",
     "model exchange or co-simulation, for FMUs with both; a model in C as cs is a stepper with "
     "its "
     "own solver, as in a system",
     CLI_TEXT, AT(as)},
    {"set", 0, "NAME=VALUE",
     "a parameter or start value, optionally with a unit of the model; may be repeated", CLI_LIST,
     AT(set)},
    CLI_PACKAGE(run_args),
    {"input", 0, "FILE",
     "CSV (or MAT) with a column time and columns named after inputs, \"T [degC]\" where a unit is "
     "to be converted",
     CLI_TEXT, AT(input)},
    {"input-ignore-extra", 0, NULL, "ignore columns of --input that match no variable", CLI_FLAG,
     AT(ignore_extra)},
    {"record", 0, "NAME",
     "variables to record: a name, or a pattern with * and ?; may be repeated; default: outputs "
     "and states",
     CLI_LIST, AT(record)},
    {"units", 0, NULL, "CSV: units in the column names, as in \"v [m/s]\"", CLI_FLAG, AT(units)},
    {"per-model", 0, NULL,
     "systems: one file per model, out.MODEL.csv; variables of no model stay in out.csv", CLI_FLAG,
     AT(per_model)},
    {"projection", 0, "auto|lazy|every|events|off",
     "when states are projected onto the constraints of a model; auto is every (step) with cvode "
     "and lazy (where a residual exceeds the tolerance) with others; solver ida solves them as "
     "equations instead, unless events or off",
     CLI_TEXT, AT(projection)},
    {"one-solver", 0, NULL, "systems: one solver for all models, also for independent subsystems",
     CLI_FLAG, AT(one_solver)},
    {"isolate", 0, NULL,
     "run every model in a process of its own, so that its crash does not end couplet", CLI_FLAG,
     AT(isolate)},
    {"call-timeout", 0, "SECONDS",
     "end the run when a call of a model takes longer; implies --isolate", CLI_NUMBER,
     AT(call_timeout)},
    CLI_PLATFORM(AT(platform)),
    {"real-time", 0, "FACTOR",
     "synchronise with the clock: 1 is real time, 2 twice as fast; --stats prints the number of "
     "overruns",
     CLI_NUMBER, AT(real_time)},
    {"processes", 0, NULL, "systems with tlm lines: every component in a process of its own",
     CLI_FLAG, AT(processes)},
    {"threads", 0, "N",
     "number of threads among which models are divided; results have the same bits for any "
     "number. Default: as many as pay, by measured times of calls, at most one per processor",
     CLI_NUMBER, AT(threads)},
    {"checkpoint", 0, "FILE",
     "write the state of the whole run into this file, from which --resume goes on after a crash",
     CLI_TEXT, AT(checkpoint)},
    {"every", 0, "TIME",
     "computing time between two checkpoints: 600, 30s, 10min (the default), 1h; the first one is "
     "written right after the initialisation, the last one at the end",
     CLI_TEXT, AT(every)},
    {"resume", 0, "FILE",
     "go on from a checkpoint of the same run; the result file is then what it would be without an "
     "interruption",
     CLI_TEXT, AT(resume)},
    {"start-from", 0, "FILE",
     "begin with the state of a checkpoint, of a run of the same model; --set then sets inputs, "
     "tunable parameters and states at that time",
     CLI_TEXT, AT(start_from)},
    {"at", 0, "TIME",
     "with --start-from: when this run begins and --set takes effect; default: the time of the "
     "checkpoint",
     CLI_NUMBER, AT(at)},
    {"stats", 0, NULL, "print statistics of the solver and of the computing time", CLI_FLAG,
     AT(stats)},
    {"view", 0, NULL,
     "write a page (.html) with the results and a report of the run next to the results, and open "
     "it on a desktop",
     CLI_FLAG, AT(view)},
    {"live", 0, NULL,
     "serve a page on this machine during the run, with the curves so far, the remaining time and "
     "a stop button; its address is printed",
     CLI_FLAG, AT(live)},
    {"listen", 0, "ADDRESS[:PORT]",
     "with --live: another address than 127.0.0.1; other machines can then open it with the token",
     CLI_TEXT, AT(listen)},
    {"progress", 0, "auto|json|none",
     "progress: a bar on a terminal (auto), or lines of JSON on standard error", CLI_TEXT,
     AT(progress)},
    {"json", 0, NULL, "print the summary as JSON", CLI_FLAG, AT(json)},
    {"quiet", 'q', NULL, "print errors only", CLI_FLAG, AT(quiet)},
    {"log-level", 0, "error|warning|info|debug", "which messages to print", CLI_TEXT,
     AT(log_level)},
    {"call-log", 0, "FILE", "record every FMI call with arguments and result", CLI_TEXT,
     AT(call_log)},
    {0},
};

const cli_verb cli_run = {
    .name = "run",
    .operands = "FILE",
    .summary = "simulate an FMU, a model in C or a system",
    .text =
        "FILE is an .fmu, a model written in C (.c), a system of them (.yaml), an SSP package "
        "(.ssp, .ssd or a folder) or a composite model "
        "of the TLM framework (.xml), or the tlm.config of one of its sub-models. The defaults of "
        "times and tolerances are those of the model's default experiment. Results are written to "
        "NAME.csv in the current folder or to the file of -o: a column time, then one per "
        "variable, with two rows per event, before and after it. Ctrl-C ends the run and keeps the "
        "results so far. The file of an earlier run is replaced only after the first step; a file "
        "that another run is writing, or that inputs are read from, is an error. Under mpirun or "
        "srun the models of a system are spread over all ranks.\n\n"
        "  couplet run ball.fmu --stop 3 --set 'g=9.81 m/s2' -o ball.csv --stats",
    .suffixes = "fmu c yaml xml ssp ssd",
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
