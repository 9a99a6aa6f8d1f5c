// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The verb `couplet sweep`: many cases of one file, on all processors and on clusters.
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "format/json.h"
#include "interrupt.h"
#include "progress.h"
#include "sweep.h"

typedef struct sweep_args {
  cli_list over, measures, curves, output, set;
  const char *sample, *seed, *table, *morris, *saltelli;
  bool lhs, sobol, random;
  const char* journal;
  bool resume, restart;
  double workers, case_timeout;
  double start_time, stop_time, interval, step, rtol, atol;
  const char *solver, *as, *input;
  bool ignore_extra, one_solver;
  cli_isolation isolation;
  cli_package package;
  const char *progress, *log_level;
  bool json, quiet, stats, view;
} sweep_args;

typedef struct sweep {
  const sweep_args* args;
  const char* path;
  cpl_context* ctx;
  FILE* out;
  cpl_source* source;
  cpl_start* starts;
  cpl_table* table;
  cpl_design* design;
  cpl_measure_def* measures;
  char default_output[4096], page[4096];  // "": there is no page
  const char* outputs[1];
  cpl_study_def def;
  cpl_study_summary summary;
  bool studied;  // cpl_study_run() was called
  progress_kind progress;
  double shown;
  study_results results;  // for statistics
} sweep;

//------------------------------------ progress ------------------------------------

static void show_json(const cpl_study_progress* p, double left) {
  cpli_json j;
  cpli_json_begin(&j, stderr);
  j.one_line = 1;
  cpli_json_object(&j, NULL);
  cpli_json_text(&j, "progress", p->done < p->total ? "running" : "done");
  cpli_json_integer(&j, "done", p->done);
  cpli_json_integer(&j, "total", p->total);
  cpli_json_integer(&j, "failed", p->failed);
  cpli_json_real(&j, "rate", p->rate);
  cpli_json_real(&j, "wall_s", p->seconds);
  cpli_json_real(&j, "left_s", left);
  cpli_json_integer(&j, "workers", p->workers);
  cpli_json_close(&j, '}');
  cpli_json_end(&j);
  fflush(stderr);
}

static void show_progress(void* user, const cpl_study_progress* p) {
  sweep* s = user;
  const double left = p->rate > 0 ? (double)(p->total - p->done) / p->rate : NAN;
  if (s->progress == PROGRESS_JSON) show_json(p, left);
  if (s->progress != PROGRESS_BAR || p->seconds < 0.5) return;
  char text[256], time[64] = "?", failed[64] = "";
  if (!isnan(left)) progress_duration(time, sizeof time, left);
  if (p->failed > 0) snprintf(failed, sizeof failed, "  %lld failed", (long long)p->failed);
  const double part = p->total > 0 ? (double)p->done / (double)p->total : 1;
  snprintf(text, sizeof text, "%3.0f %%  %lld of %lld cases  %.*f per s  %s left%s", 100 * part,
           (long long)p->done, (long long)p->total, p->rate < 10 ? 1 : 0, p->rate, time, failed);
  progress_draw(part, text);
  s->shown = p->seconds;
}

static cpl_status keep_case(void* user, const cpl_study_columns* columns,
                            const cpl_study_case* one) {
  sweep* s = user;
  return study_results_add(&s->results, s->ctx, s->design, columns, one);
}

//------------------------------------ preparation ------------------------------------

// A design has one kind; those that take a number of samples have options of their own.
static cpl_status choose_design(const sweep* s, cpl_design_texts* texts) {
  const sweep_args* a = s->args;
  const struct {
    bool given;
    const char *design, *sample;
  } kinds[] = {{a->lhs, "lhs", a->sample},
               {a->sobol, "sobol", a->sample},
               {a->random, "random", a->sample},
               {a->morris != NULL, "morris", a->morris},
               {a->saltelli != NULL, "saltelli", a->saltelli}};
  texts->sample = a->sample;
  for (size_t i = 0; i < CPLI_COUNT(kinds); i++) {
    if (!kinds[i].given) continue;
    if (texts->design != NULL)
      return cpl_fail(s->ctx, CPL_ERR_INPUT, "--%s and --%s: a study has one design", texts->design,
                      kinds[i].design);
    texts->design = kinds[i].design;
    texts->sample = kinds[i].sample;
  }
  return CPL_OK;
}

static cpl_status make_design(sweep* s) {
  const sweep_args* a = s->args;
  cpl_design_texts texts = cpl_default_design_texts();
  texts.over = a->over.items, texts.n_over = a->over.n;
  texts.seed = a->seed;
  texts.table = a->table;
  cpl_status st = choose_design(s, &texts);
  return st < 0 ? st : cpl_study_design(s->ctx, s->source, &texts, &s->design);
}

// "dir/pump.fmu" -> "pump-study.csv" in the current folder; with --view "pump-study.nc"
static void choose_outputs(sweep* s) {
  s->def.outputs = s->args->output.items;
  s->def.n_outputs = s->args->output.n;
  if (s->def.n_outputs > 0) return;
  const char* name = strrchr(s->path, '/');
  name = name != NULL ? name + 1 : s->path;
  const char* dot = strrchr(name, '.');
  const int len = dot != NULL && dot > name ? (int)(dot - name) : (int)strlen(name);
  snprintf(s->default_output, sizeof s->default_output, "%.*s-study.%s", len, name,
           s->args->view ? "nc" : "csv");
  s->outputs[0] = s->default_output;
  s->def.outputs = s->outputs;
  s->def.n_outputs = 1;
}

static cpl_status run_study(sweep* s) {
  const sweep_args* a = s->args;
  cpl_experiment_def e = cpl_default_experiment_def();
  e.start = a->start_time, e.stop = a->stop_time, e.interval = a->interval, e.step = a->step;
  e.rtol = a->rtol, e.atol = a->atol, e.solver = a->solver;
  cpl_experiment_settings settings = cpl_default_experiment_settings();
  settings.path = s->path;
  settings.experiment = &e;
  if (a->as != NULL)
    settings.as = strcmp(a->as, "cs") == 0 ? CPL_AS_CO_SIMULATION : CPL_AS_MODEL_EXCHANGE;
  settings.starts = s->starts, settings.n_starts = a->set.n;
  settings.table = s->table, settings.table_name = a->input;
  settings.ignore_extra = a->ignore_extra;
  settings.one_solver = a->one_solver;
  settings.isolate = a->isolation.on;
  settings.call_timeout = isnan(a->isolation.call_timeout) ? 0 : a->isolation.call_timeout;
  settings.variant = a->package.variant;
  settings.parameters = a->package.parameters.items;
  settings.n_parameters = a->package.parameters.n;
  s->def.experiment = &settings;
  s->def.design = s->design;
  s->def.curves = a->curves.items, s->def.n_curves = a->curves.n;
  s->def.journal = a->journal, s->def.resume = a->resume, s->def.restart = a->restart;
  s->def.workers = isnan(a->workers) ? 0 : (int32_t)a->workers;
  s->def.case_timeout = isnan(a->case_timeout) ? 0 : a->case_timeout;
  s->def.on_progress = show_progress, s->def.user = s;
  // designs for indices are made for their sake
  if (a->stats || a->morris != NULL || a->saltelli != NULL) s->def.on_case = keep_case;
  s->studied = true;
  return cpl_study_run(s->ctx, &s->def, &s->summary);
}

static cpl_status check_options(const sweep* s) {
  const sweep_args* a = s->args;
  bool netcdf = a->view && a->output.n == 0;  // see choose_outputs()
  for (size_t i = 0; i < a->output.n; i++)
    netcdf = netcdf || cli_ends_with(a->output.items[i], ".nc");
  if (a->curves.n > 0 && !netcdf)
    return cpl_fail(s->ctx, CPL_ERR_INPUT,
                    "--curve: curves are written to NetCDF files only: -o FILE.nc");
  if (a->view && !netcdf)
    return cpl_fail(s->ctx, CPL_ERR_INPUT,
                    "--view: a page is made of the study's NetCDF file: -o FILE.nc");
  const bool whole = isnan(a->workers) ||
                     (a->workers >= 1 && a->workers <= 4096 && a->workers == floor(a->workers));
  if (!whole)
    return cpl_fail(s->ctx, CPL_ERR_INPUT, "--workers takes a number from 1 on, not %g",
                    a->workers);
  if (!isnan(a->case_timeout) && !(a->case_timeout > 0))
    return cpl_fail(s->ctx, CPL_ERR_INPUT, "--case-timeout must be positive, not %g",
                    a->case_timeout);
  return CPL_OK;
}

// The page next to the NetCDF file, made by the process that has written it.
static cpl_status view_study(sweep* s) {
  if (!s->args->view || !s->summary.is_coordinator) return CPL_OK;
  const char* file = NULL;
  for (size_t i = 0; i < s->def.n_outputs && file == NULL; i++)
    if (cli_ends_with(s->def.outputs[i], ".nc")) file = s->def.outputs[i];
  cli_page_name(file, s->page, sizeof s->page);
  cpl_view_def def = cpl_default_view_def();
  def.path = s->page;
  const cpl_status st = cpl_view_study(s->ctx, file, &def);
  if (st < 0) s->page[0] = '\0';
  else if (isatty(fileno(s->out)) && cli_has_desktop()) cli_open_page(s->page);
  return st;
}

static cpl_status run_all(sweep* s) {
  const sweep_args* a = s->args;
  const cli_opening how = {NULL, &a->set, &a->isolation, &a->package};
  cpl_status st = check_options(s);
  if (st >= 0) st = cli_open(s->ctx, s->path, how, &s->source);
  if (st >= 0) st = cli_read_starts(s->source, &a->set, &s->starts);
  if (st >= 0 && a->input != NULL) st = cpl_input_table_read(s->ctx, a->input, &s->table);
  if (st >= 0) st = cli_read_measures(s->ctx, &a->measures, &s->measures);
  s->def.measures = s->measures, s->def.n_measures = a->measures.n;
  if (st >= 0) st = make_design(s);
  cpl_source_destroy(s->source);  // each worker opens the file
  s->source = NULL;
  choose_outputs(s);
  return st < 0 ? st : run_study(s);
}

//------------------------------------ report ------------------------------------

static void print_json(const sweep* s, cpl_status st) {
  const cpl_study_progress* p = &s->summary.progress;
  cpli_json j;
  cpli_json_begin(&j, s->out);
  cpli_json_object(&j, NULL);
  cpli_json_text(&j, "file", s->path);
  cpli_json_text(&j, "status", st >= 0 ? "ok" : "failed");
  if (st < 0) cpli_json_text(&j, "error", cpl_context_error(s->ctx));
  cpli_json_array(&j, "outputs");
  for (size_t i = 0; i < s->def.n_outputs; i++) cpli_json_text(&j, NULL, s->def.outputs[i]);
  cpli_json_close(&j, ']');
  if (s->page[0] != '\0') cpli_json_text(&j, "page", s->page);
  cpli_json_integer(&j, "cases", p->total);
  cpli_json_integer(&j, "done", p->done);
  cpli_json_integer(&j, "failed", p->failed);
  cpli_json_integer(&j, "resumed", p->resumed);
  cpli_json_integer(&j, "repeated", p->repeated);
  cpli_json_integer(&j, "workers", p->workers);
  cpli_json_real(&j, "wall_s", p->seconds);
  if (st >= 0) study_results_json(&s->results, s->ctx, s->design, &j);
  cpli_json_close(&j, '}');
  cpli_json_end(&j);
}

static void print_summary(const sweep* s) {
  const cpl_study_progress* p = &s->summary.progress;
  FILE* out = s->out;
  fprintf(out, "%s: %lld case%s in %.3g s on %d worker%s", s->path, (long long)p->total,
          p->total == 1 ? "" : "s", p->seconds, (int)p->workers, p->workers == 1 ? "" : "s");
  if (p->resumed > 0) fprintf(out, ", %lld of them before", (long long)p->resumed);
  if (p->failed > 0) fprintf(out, ", %lld failed", (long long)p->failed);
  for (size_t i = 0; i < s->def.n_outputs; i++)
    fprintf(out, "%s%s", i == 0 ? " -> " : ", ", s->def.outputs[i]);
  if (s->page[0] != '\0') fprintf(out, ", %s", s->page);
  fputc('\n', out);
  study_results_print(&s->results, s->ctx, s->design, out);
}

// After a failure: what is kept.
static void print_kept(const sweep* s) {
  const cpl_study_progress* p = &s->summary.progress;
  if (p->done == 0) return;
  fprintf(stderr, "couplet: %lld of %lld cases are kept; --resume goes on from there\n",
          (long long)p->done, (long long)p->total);
}

// shown: whether there is a page, where it was requested.
static int report(sweep* s, cpl_status st, cpl_status shown) {
  if (s->progress == PROGRESS_BAR && s->shown > 0) fputs("\r\033[K", stderr);
  if (s->studied && !s->summary.is_coordinator) return CLI_OK;  // the coordinator reports
  const int code = st < 0 ? cli_report(s->ctx, st) : CLI_OK;
  if (s->args->json) print_json(s, st);
  else if (st < 0) print_kept(s);
  else if (!s->args->quiet) print_summary(s);
  return st >= 0 && shown < 0 ? cli_report(s->ctx, shown) : code;
}

static int run_sweep(void* args_, int n, char** operands) {
  const sweep_args* args = args_;
  (void)n;
  sweep s = {.args = args, .path = operands[0], .def = cpl_default_study_def()};
  progress bar = {0};
  progress_begin(&bar, args->progress, args->quiet || args->json);
  s.progress = bar.kind;
  s.ctx = cli_context(args->quiet && args->log_level == NULL ? "error" : args->log_level);
  if (s.ctx == NULL) return cli_usage_error("out of memory");
  s.out = cli_keep_output();
  if (s.out == NULL) {
    cli_end_context(s.ctx);
    return CLI_USAGE;
  }
  const cpl_status st = run_all(&s);
  cli_enter(CLI_WRITES);
  const cpl_status shown = st < 0 ? st : view_study(&s);
  const int code = report(&s, st, shown);
  cli_enter(CLI_RELEASES);
  study_results_free(&s.results);
  cpl_design_destroy(s.design);
  cpl_table_destroy(s.table);
  free(s.starts);
  free(s.measures);
  cli_end_context(s.ctx);
  return cli_close_output(s.out, code);
}

#define AT(member) offsetof(sweep_args, member)
static const cli_option options[] = {
    {"over", 0, "NAME=VALUES",
     "a parameter or start value that varies: k=1:10:4 (first, last, how many), k=log:1:100:20, "
     "k=1,2,5; with --sample k=1:10 (uniform), k=normal:10:1 (mean, deviation), lognormal, "
     "triangular, table:FILE; may be repeated",
     CLI_LIST, AT(over)},
    {"sample", 0, "N", "this many samples, instead of a grid of all combinations", CLI_TEXT,
     AT(sample)},
    {"lhs", 0, NULL, "with --sample: a Latin hypercube", CLI_FLAG, AT(lhs)},
    {"sobol", 0, NULL, "with --sample: a Sobol' sequence", CLI_FLAG, AT(sobol)},
    {"random", 0, NULL, "with --sample: independent samples (the default)", CLI_FLAG, AT(random)},
    {"morris", 0, "N", "N trajectories of Morris' method, which ranks the factors", CLI_TEXT,
     AT(morris)},
    {"saltelli", 0, "N", "N*(factors + 2) cases for Sobol' indices", CLI_TEXT, AT(saltelli)},
    {"table", 0, "FILE", "the cases are the rows of a CSV file, its columns the factors", CLI_TEXT,
     AT(table)},
    {"seed", 0, "N", "of random numbers; default: 1", CLI_TEXT, AT(seed)},
    {"measure", 'm', "NAME=EXPR",
     "a number that describes a run: peak=max(left.x); functions are final, initial, min, max, "
     "time_of_min, time_of_max, integral, mean, rms, at, time_when, count, duration, events, "
     "overshoot, settling_time; may be repeated; default: `measures` of the file, or final values "
     "of outputs",
     CLI_LIST, AT(measures)},
    {"curve", 0, "NAME", "record this variable over time, in NetCDF files; may be repeated",
     CLI_LIST, AT(curves)},
    {"output", 'o', "FILE",
     "the results: .csv (one row per case) or .nc (NetCDF-4, with curves); may be repeated",
     CLI_LIST, AT(output)},
    {"resume", 0, NULL, "go on with a study that was interrupted", CLI_FLAG, AT(resume)},
    {"restart", 0, NULL, "begin anew, and discard what an interrupted study has finished", CLI_FLAG,
     AT(restart)},
    {"journal", 0, "FILE",
     "where finished cases are kept until the study is complete; default: the output with "
     ".journal behind its name",
     CLI_TEXT, AT(journal)},
    {"workers", 'j', "N", "processes that run cases; default: one per processor", CLI_NUMBER,
     AT(workers)},
    {"case-timeout", 0, "SECONDS", "a case that takes longer fails", CLI_NUMBER, AT(case_timeout)},
    {"set", 0, "NAME=VALUE", "a parameter or start value of all cases; may be repeated", CLI_LIST,
     AT(set)},
    {"start", 0, "TIME", "start of the simulations", CLI_NUMBER, AT(start_time), "start-time"},
    {"stop", 0, "TIME", "end of the simulations", CLI_NUMBER, AT(stop_time), "stop-time"},
    {"interval", 0, "DT",
     "as for couplet run: the communication step of co-simulation, where none is given", CLI_NUMBER,
     AT(interval)},
    {"step", 0, "DT", "as for couplet run", CLI_NUMBER, AT(step)},
    {"solver", 0, CLI_SOLVERS, "the solver of models (default: cvode)", CLI_TEXT, AT(solver)},
    {"rtol", 0, "X", "relative tolerance", CLI_NUMBER, AT(rtol)},
    {"atol", 0, "X", "absolute tolerance, times the nominal of each state; default: rtol",
     CLI_NUMBER, AT(atol)},
    {"as", 0, "me|cs", "model exchange or co-simulation, for FMUs with both", CLI_TEXT, AT(as)},
    {"input", 0, "FILE", "CSV (or MAT) with a column time and columns named after inputs", CLI_TEXT,
     AT(input)},
    {"input-ignore-extra", 0, NULL, "ignore columns of --input that match no variable", CLI_FLAG,
     AT(ignore_extra)},
    {"one-solver", 0, NULL, "systems: one solver for all models, also for independent subsystems",
     CLI_FLAG, AT(one_solver)},
    CLI_ISOLATION(sweep_args),
    CLI_PACKAGE(sweep_args),
    {"progress", 0, "auto|json|none",
     "progress: a bar on a terminal (auto), or lines of JSON on standard error", CLI_TEXT,
     AT(progress)},
    {"stats", 0, NULL,
     "print means, deviations, quantiles and the influence of the factors; Morris' and Sobol' "
     "indices are printed without it",
     CLI_FLAG, AT(stats)},
    {"view", 0, NULL,
     "write a page with the results next to the NetCDF file, and open it where there is a desktop; "
     "default of -o: FILE-study.nc",
     CLI_FLAG, AT(view)},
    {"json", 0, NULL, "print the summary as JSON", CLI_FLAG, AT(json)},
    {"quiet", 'q', NULL, "print errors only", CLI_FLAG, AT(quiet)},
    {"log-level", 0, "error|warning|info|debug", "which messages to print", CLI_TEXT,
     AT(log_level)},
    {0},
};

const cli_verb cli_sweep = {
    .name = "sweep",
    .operands = "FILE",
    .summary = "simulate many cases of a file, with varied parameters, on all processors",
    .text =
        "FILE is any file that couplet run takes. Every case has its own values of the factors "
        "(--over); of each case the measures are recorded, as accurately as the solver computes "
        "the "
        "solution. What varies and what is measured may also be said in the sections `study` and "
        "`measures` of a system file. A case that fails is a row with its reason. Finished cases "
        "are kept in a journal: Ctrl-C or a crash loses nothing, and --resume goes on. The results "
        "have the same bytes for any number of workers and interruptions. Under mpirun or srun the "
        "cases are spread over all ranks.\n\n"
        "  couplet sweep motor.yaml --over motor.J=0.005:0.02:4 --over k=log:1:100:20 \\\n"
        "    -m peak='max(abs(motor.w))' -o study.csv",
    .suffixes = "fmu c yaml xml ssp ssd",
    .options = options,
    .args_size = sizeof(sweep_args),
    .run = run_sweep,
};
