// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// From the options of a run to its experiment: opens the source, reads start values and inputs, and
// checks the file of the results.
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "assemble/assemble.h"
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

static cpl_status begin_serving(session* s) {
  if (!s->args->serve.on) return CPL_OK;
  if (cpl_system_line_count(s->source) == 0)
    return cpl_fail(s->ctx, CPL_ERR_INPUT, "%s: it has no tlm lines", s->path);
  if (s->args->processes || s->args->isolate)
    return cpl_fail(s->ctx, CPL_ERR_INPUT, "--%s: the sub-models run elsewhere, each in a process",
                    s->args->processes ? "processes" : "isolate");
  s->serving = (serving){.args = &s->args->serve, .ctx = s->ctx, .path = s->path};
  s->serving.source = s->source;
  s->serving.start = s->run->start_time, s->serving.stop = s->run->stop_time;
  s->serving.quiet = s->args->quiet || s->args->json;
  return serving_begin(&s->serving, s->args->call_timeout);
}

static cpl_status begin_pace(session* s) {
  const double factor = s->args->real_time;
  if (!isnan(factor) && !(factor > 0))
    return cpl_fail(s->ctx, CPL_ERR_INPUT, "--real-time must be positive, not %g", factor);
  s->pace = (pace){.factor = given(factor, 0), .ctx = s->ctx};
  return CPL_OK;
}

static cpl_status put_clocks(void* user, cpl_model* model) {
  session* s = user;
  return run_wants_page(s) ? model_times_of_model(&s->times, model) : CPL_OK;
}

// The options as settings; they point into the session.
static cpl_status make_settings(session* s, cpl_experiment_def* e, cpl_experiment_settings* out) {
  const run_args* a = s->args;
  e->start =
      a->start_from != NULL ? given(a->at, cpl_checkpoint_time(s->states.from)) : a->start_time;
  e->stop = a->stop_time;
  e->interval = a->interval, e->step = a->step;
  e->rtol = a->rtol, e->atol = a->atol;
  e->solver = s->solvers.all;
  e->linear = a->linear, e->projection = a->projection, e->loops = a->loops;
  if (a->steady) e->steady = "true";
  out->path = s->path, out->source = s->source, out->experiment = e;
  if (a->as != NULL)
    out->as = strcmp(a->as, "cs") == 0 ? CPL_AS_CO_SIMULATION : CPL_AS_MODEL_EXCHANGE;
  if (a->form != NULL && !cpl_form_by_name(a->form, &out->form))
    return cpl_fail(s->ctx, CPL_ERR_INPUT, "%s: there is no form %s (auto, ode, dae)", s->path,
                    a->form);
  out->solvers = s->solvers.models, out->n_solvers = s->solvers.n;
  out->starts = s->starts, out->n_starts = a->set.n;
  out->record = a->record.items, out->n_record = a->record.n;
  out->table = s->table, out->table_name = a->input, out->ignore_extra = a->ignore_extra;
  out->one_solver = a->one_solver;
  out->saves = a->checkpoint != NULL || s->states.from != NULL;
  out->timing = a->stats || run_wants_page(s);  // costs two clock readings per evaluation
  out->processes = a->processes, out->threads = (int32_t)given(a->threads, 0);
  out->call_timeout = given(a->call_timeout, 0);
  out->serve = a->serve.on ? &s->serving.def : NULL;
  out->on_model = put_clocks, out->user = s;
  return CPL_OK;
}

cpl_status run_open(session* s) {
  const run_args* a = s->args;
  // otherwise the limit applies to components, not to models
  bool limits = !a->processes && !a->serve.on;
  const cli_isolation isolation = {.on = a->isolate,
                                   .platform = a->platform,
                                   .call_timeout = limits || a->isolate ? a->call_timeout : NAN};
  const cli_opening how = {a->call_log, &a->set, &isolation, &a->package};
  cpl_context_use_threads(s->ctx, (int32_t)given(a->threads, 0));
  return cli_open(s->ctx, s->path, how, &s->source);
}

static cpl_status make_experiment(session* s) {
  cpl_experiment_def experiment = cpl_default_experiment_def();
  cpl_experiment_settings settings = cpl_default_experiment_settings();
  cpl_status st = make_settings(s, &experiment, &settings);
  if (st >= 0) st = cpl_experiment_create(s->ctx, &settings, &s->experiment);
  if (st < 0) return st;
  s->run = cpl_experiment_run_def(s->experiment);
  s->solver = cpl_experiment_solver(s->experiment);
  s->progress.start = s->run->start_time;
  s->progress.stop = s->run->stop_time;
  st = begin_serving(s);
  if (st >= 0) st = cpl_experiment_prepare(s->experiment);
  s->stepper = cpl_experiment_stepper(s->experiment);
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
  cpl_status st = run_solvers_read(s->ctx, &a->solver, &s->solvers);
  if (st >= 0) st = begin_pace(s);
  if (st >= 0) st = run_states_read(s);
  if (st >= 0) st = run_open(s);
  if (st >= 0) st = cli_read_starts(s->source, &a->set, &s->starts);
  if (st >= 0 && a->input != NULL) st = cpl_input_table_read(s->ctx, a->input, &s->table);
  if (st >= 0) st = make_experiment(s);
  if (st >= 0 && s->times.n == 0 && (run_wants_page(s) || (a->stats && takes_clocks(s->stepper))))
    st = model_times_of_stepper(&s->times, s->stepper);
  if (a->output != NULL) snprintf(s->output, sizeof s->output, "%s", a->output);
  else default_output(s);
  if (st >= 0) st = check_output(s);
  if (st >= 0) st = check_per_model(s);
  if (st >= 0) st = run_states_begin(s);
  if (run_wants_page(s) && (a->per_model || strcmp(s->output, "-") == 0) && st >= 0)
    st = cpl_fail(s->ctx, CPL_ERR_INPUT, "--view and --live: %s: the results must be one file",
                  s->path);
  return st;
}
