// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The verb `couplet linearize`: it simulates up to the requested time and linearises there, the
// whole and, on request, each of its models.
#include "linearize.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/base.h"
#include "fmi/open.h"
#include "format/file.h"

typedef struct linearize_args {
  const char *output, *solver, *projection, *linear, *input, *log_level;
  double at, start_time, rtol, atol, step;
  cli_list set, only;
  bool models, json;
  cli_isolation isolation;
  cli_package package;
} linearize_args;

typedef struct session {
  const linearize_args* args;
  cpl_context* ctx;
  FILE* out;
  const char* path;
  cpl_source* source;
  cpl_start* starts;
  cpl_table* table;
  cpl_experiment* experiment;
  cpl_model* model;  // belongs to the experiment
  double at;
  cpl_linear* whole;
  cpl_linear** parts;
  const char** names;
  int32_t n_parts;
} session;

//------------------------------------ to the point ------------------------------------

static cpl_status keep_model(void* user, cpl_model* model) {
  ((session*)user)->model = model;
  return CPL_OK;
}

static cpl_status make_experiment(session* s) {
  const linearize_args* a = s->args;
  if (!cpl_source_has_model(s->source)) {
    return cpl_fail(s->ctx, CPL_ERR_INPUT,
                    "%s: there is only %s in it, which has no states to linearise by", s->path,
                    cpli_source_steps(s->source));
  }
  const cpl_default_experiment* d = &s->source->desc->experiment;
  cpl_experiment_def e = cpl_default_experiment_def();
  e.start = isnan(a->start_time) ? (d->has_start ? d->start : 0) : a->start_time;
  e.stop = s->at = isnan(a->at) ? e.start : a->at;
  if (!isfinite(s->at) || !isfinite(e.start) || s->at < e.start)
    return cpl_fail(s->ctx, CPL_ERR_INPUT, "--at %g: lies before the start time %g", s->at,
                    e.start);
  e.rtol = a->rtol, e.atol = a->atol, e.step = a->step;
  e.solver = a->solver, e.linear = a->linear, e.projection = a->projection;
  e.loops = "nested";
  cpl_experiment_settings settings = cpl_default_experiment_settings();
  settings.path = s->path, settings.source = s->source, settings.experiment = &e;
  settings.as = CPL_AS_MODEL_EXCHANGE;
  settings.form = CPL_FORM_ODE;  // the linearised model has states only, no algebraic variables
  settings.one_solver = true;    // the model must not be split
  settings.starts = s->starts, settings.n_starts = a->set.n;
  settings.table = s->table, settings.table_name = a->input;
  settings.on_model = keep_model, settings.user = s;
  cpl_status st = cpl_experiment_create(s->ctx, &settings, &s->experiment);
  return st < 0 ? st : cpl_experiment_prepare(s->experiment);
}

//------------------------------------ there ------------------------------------

static cpl_status linearize_models(session* s) {
  int32_t n = cpl_aggregate_count(s->model);
  s->parts = calloc((size_t)n + 1, sizeof *s->parts);
  s->names = calloc((size_t)n + 1, sizeof *s->names);
  if (s->parts == NULL || s->names == NULL) return cpl_fail(s->ctx, CPL_ERR_NOMEM, "out of memory");
  cpl_status st = CPL_OK;
  for (int32_t i = 0; i < n && st >= 0; i++) {
    cpl_model* part = cpl_aggregate_part(s->model, i);
    char* prefix = cpli_printf(s->ctx, "%s.", part->base.name);
    if (prefix == NULL) return cpl_fail(s->ctx, CPL_ERR_NOMEM, "out of memory");
    cpl_linearize_def def = {.size = sizeof def,
                             .only = s->args->only.items,
                             .n_only = s->args->only.n,
                             .lenient = true,
                             .prefix = prefix};
    s->names[i] = part->base.name;
    st = cpl_linearize(part, &def, &s->parts[i]);
    cpli_free(s->ctx, prefix);
    s->n_parts = i + 1;
  }
  return st;
}

static void forget(session* s) {
  cpl_linear_destroy(s->whole);
  for (int32_t i = 0; i < s->n_parts; i++) cpl_linear_destroy(s->parts[i]);
  free(s->parts);
  free(s->names);
  s->whole = NULL;
  s->parts = NULL;
  s->names = NULL;
  s->n_parts = 0;
}

// Called at every point of the run. The last point at the requested time is used: it is after the
// events at that time.
static cpl_status linearize_there(void* user, double t, const cpl_value* values) {
  session* s = user;
  (void)values;
  if (t < s->at) return CPL_OK;
  forget(s);
  cpl_linearize_def def = {.size = sizeof def,
                           .only = s->args->only.items,
                           .n_only = s->args->only.n,
                           .lenient = s->args->models};
  cpl_status st = cpl_linearize(s->model, &def, &s->whole);
  return st >= 0 && s->args->models ? linearize_models(s) : st;
}

static cpl_status linearize(session* s) {
  const linearize_args* a = s->args;
  cpl_status st =
      cli_open(s->ctx, s->path,
               (cli_opening){.set = &a->set, .isolation = &a->isolation, .package = &a->package},
               &s->source);
  if (st >= 0) st = cli_read_starts(s->source, &a->set, &s->starts);
  if (st >= 0 && a->input != NULL) st = cpl_input_table_read(s->ctx, a->input, &s->table);
  if (st >= 0) st = make_experiment(s);
  if (st < 0) return st;
  cpl_run_def* run = cpl_experiment_run_def(s->experiment);
  run->interval = run->stop_time - run->start_time;
  run->record = NULL, run->n_record = 0;
  run->on_point = linearize_there;
  run->user = s;
  cpl_run_stats stats;
  st = cpl_run(cpl_experiment_stepper(s->experiment), run, &stats);
  if (st != CPL_TERMINATE || stats.reached >= s->at) return st < 0 ? st : CPL_OK;
  return cpl_fail(s->ctx, CPL_ERR_MODEL, "%s: the model ended the run at t=%.12g",
                  s->source->desc->name, stats.reached);
}

//------------------------------------ output ------------------------------------

static linearize_writer* writer_of(const linearize_args* args) {
  if (args->output == NULL) return args->json ? linearize_json : linearize_text;
  const char* dot = strrchr(args->output, '.');
  if (dot == NULL) return NULL;
  return strcasecmp(dot, ".json") == 0  ? linearize_json
         : strcasecmp(dot, ".csv") == 0 ? linearize_csv
         : strcasecmp(dot, ".mat") == 0 ? linearize_mat
                                        : NULL;
}

static int write_result(const session* s, linearize_writer* write) {
  const char* path = s->args->output;
  linearized l = {.file = s->path,
                  .name = s->source->desc->name,
                  .time = s->at,
                  .whole = s->whole,
                  .model_names = s->names,
                  .models = (const cpl_linear* const*)s->parts,
                  .n_models = s->n_parts};
  if (path == NULL) {
    write(s->out, &l);
    return CLI_OK;
  }
  char* text = NULL;
  size_t size = 0;
  FILE* file = open_memstream(&text, &size);
  if (file != NULL) write(file, &l);
  bool fine = file != NULL && ferror(file) == 0;
  if (file != NULL) fine = fclose(file) == 0 && fine;
  cpl_status st = fine ? cpli_file_make(s->ctx, path, text, size)
                       : cpl_fail(s->ctx, CPL_ERR_NOMEM, "out of memory");
  free(text);
  return st < 0 ? cli_report(s->ctx, st) : CLI_OK;
}

static void release(session* s) {
  forget(s);
  cpl_experiment_destroy(s->experiment);
  free(s->starts);
  cpl_table_destroy(s->table);
  cpl_source_destroy(s->source);
  cli_end_context(s->ctx);
}

static int run_linearize(void* args_, int n, char** operands) {
  const linearize_args* args = args_;
  linearize_writer* write = writer_of(args);
  (void)n;
  if (write == NULL)
    return cli_usage_error("%s: a linearisation is written to a .json, .csv or .mat file",
                           args->output);
  session s = {.args = args, .path = operands[0], .ctx = cli_context(args->log_level)};
  if (s.ctx == NULL) return cli_usage_error("out of memory");
  s.out = cli_keep_output();
  if (s.out == NULL) {
    cli_end_context(s.ctx);
    return CLI_FAILED;
  }
  cpl_status st = linearize(&s);
  int code = st < 0 ? cli_report(s.ctx, st) : write_result(&s, write);
  release(&s);
  return cli_close_output(s.out, code);
}

#define AT(member) offsetof(linearize_args, member)
static const cli_option options[] = {
    {"at", 0, "TIME", "simulate until this time; default: the start, after initialisation",
     CLI_NUMBER, AT(at)},
    {"output", 'o', "FILE",
     "the file to write: .json, .csv or .mat; default: tables on the terminal", CLI_TEXT,
     AT(output)},
    {"only", 0, "NAME",
     "only these rows and columns: a name, or a pattern with * and ?; may be repeated", CLI_LIST,
     AT(only)},
    {"models", 0, NULL, "systems: also the matrices of each model", CLI_FLAG, AT(models)},
    {"json", 0, NULL, "JSON on standard output", CLI_FLAG, AT(json)},
    {"set", 0, "NAME=VALUE",
     "a parameter or start value, optionally with a unit of the model; may be repeated", CLI_LIST,
     AT(set)},
    {"start", 0, "TIME", "start of the simulation", CLI_NUMBER, AT(start_time), "start-time"},
    {"solver", 0, CLI_SOLVERS, "the solver of models (default: cvode)", CLI_TEXT, AT(solver)},
    {"step", 0, "DT", "step (fixed-step solvers), maximum step (others)", CLI_NUMBER, AT(step)},
    {"linear", 0, "direct|gmres",
     "how cvode solves its linear systems: factorised (the default) or matrix-free", CLI_TEXT,
     AT(linear)},
    {"projection", 0, "auto|lazy|every|events|off",
     "when states are projected onto the constraints of a model, as for run", CLI_TEXT,
     AT(projection)},
    {"input", 0, "FILE", "CSV with a column time and columns named after inputs", CLI_TEXT,
     AT(input)},
    {"rtol", 0, "X", "relative tolerance", CLI_NUMBER, AT(rtol)},
    {"atol", 0, "X", "absolute tolerance, times the nominal of each state; default: rtol",
     CLI_NUMBER, AT(atol)},
    {"log-level", 0, "error|warning|info|debug", "which messages to print", CLI_TEXT,
     AT(log_level)},
    CLI_PACKAGE(linearize_args),
    CLI_ISOLATION(linearize_args),
    {0},
};

const cli_verb cli_linearize = {
    .name = "linearize",
    .operands = "FILE",
    .summary = "linearise a model: the matrices A, B, C, D at a time",
    .text =
        "Simulates FILE, an .fmu, a model in C (.c) or a system (.yaml, .ssp), until a time, and "
        "gives "
        "x' = A x + B u, y = C x + D u for small deviations from that point, after the events at "
        "that time. Inputs and outputs are those that the system declares (inputs without a value, "
        "outputs); if it has none, the unconnected inputs and all outputs of its models. A system "
        "is linearised exactly, loops included, as far as its models give exact derivatives; "
        "others use finite differences.\n\n"
        "  couplet linearize pendulums.yaml --at 2.5 --only 'left.*' -o left.json",
    .suffixes = "yaml fmu c ssp ssd",
    .options = options,
    .args_size = sizeof(linearize_args),
    .run = run_linearize,
};
