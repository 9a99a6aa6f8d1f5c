// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Simulates a model up to a point for the verbs that look at it there.
#include "point.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "fmi/open.h"
#include "format/file.h"

static cpl_status keep_model(void* user, cpl_model* model) {
  ((cli_point*)user)->model = model;
  return CPL_OK;
}

static cpl_status ignore_row(void* user, double t, const cpl_value* values) {
  (void)user, (void)t, (void)values;
  return CPL_OK;
}

// --at: a time, or "steady".
static cpl_status read_time(cli_point* p, double start) {
  const char* text = p->args->at;
  char* end = NULL;
  p->at = start;
  if (text == NULL || strcmp(text, "steady") == 0) return CPL_OK;
  p->at = strtod(text, &end);
  if (end == text || *end != '\0')
    return cpl_fail(p->ctx, CPL_ERR_INPUT, "--at %s: neither a time nor steady", text);
  if (isfinite(p->at) && isfinite(start) && p->at >= start) return CPL_OK;
  return cpl_fail(p->ctx, CPL_ERR_INPUT, "--at %g: lies before the start time %g", p->at, start);
}

static cpl_status make_experiment(cli_point* p, const char* what) {
  const cli_point_args* a = p->args;
  if (!cpl_source_has_model(p->source)) {
    return cpl_fail(p->ctx, CPL_ERR_INPUT, "%s: there is only %s in it, which has no states to %s",
                    p->path, cpli_source_steps(p->source), what);
  }
  const cpl_default_experiment* d = &p->source->desc->experiment;
  cpl_experiment_def e = cpl_default_experiment_def();
  e.start = isnan(a->start_time) ? (d->has_start ? d->start : 0) : a->start_time;
  cpl_status st = read_time(p, e.start);
  if (st < 0) return st;
  e.stop = p->at;
  e.rtol = a->rtol, e.atol = a->atol, e.step = a->step;
  e.solver = a->solver, e.linear = a->linear, e.projection = a->projection;
  e.loops = "nested";
  if (a->at != NULL && strcmp(a->at, "steady") == 0) e.steady = "true";
  else if (p->searches_rest && a->at == NULL) e.steady = "false";
  cpl_experiment_settings settings = cpl_default_experiment_settings();
  settings.path = p->path, settings.source = p->source, settings.experiment = &e;
  settings.as = CPL_AS_MODEL_EXCHANGE;
  settings.form = CPL_FORM_ODE;  // the linearised model has states only, no algebraic variables
  settings.one_solver = true;    // the model must not be split
  settings.starts = p->starts, settings.n_starts = a->set.n;
  settings.table = p->table, settings.table_name = a->input;
  settings.on_model = keep_model, settings.user = p;
  st = cpl_experiment_create(p->ctx, &settings, &p->experiment);
  return st < 0 ? st : cpl_experiment_prepare(p->experiment);
}

static cpl_status simulate(cli_point* p) {
  cpl_run_def* run = cpl_experiment_run_def(p->experiment);
  run->interval = run->stop_time - run->start_time;
  run->record = NULL, run->n_record = 0;
  run->on_point = ignore_row;
  cpl_status st = cpl_simulation_create(cpl_experiment_stepper(p->experiment), run, &p->sim);
  if (st >= 0) st = cpl_simulation_start(p->sim);
  if (st >= 0) st = cpl_simulation_advance(p->sim, p->at);
  if (st != CPL_TERMINATE || cpl_simulation_time(p->sim) >= p->at) return st < 0 ? st : CPL_OK;
  return cpl_fail(p->ctx, CPL_ERR_MODEL, "%s: the model ended the run at t=%.12g",
                  p->source->desc->name, cpl_simulation_time(p->sim));
}

int cli_point_begin(cli_point* p, const cli_point_args* args, const char* path) {
  *p = (cli_point){.args = args, .path = path, .ctx = cli_context(args->log_level)};
  if (p->ctx == NULL) return cli_usage_error("out of memory");
  p->out = cli_keep_output();
  return p->out != NULL ? CLI_OK : CLI_USAGE;
}

cpl_status cli_point_reach(cli_point* p, const char* what) {
  const cli_point_args* a = p->args;
  cpl_status st =
      cli_open(p->ctx, p->path,
               (cli_opening){.set = &a->set, .isolation = &a->isolation, .package = &a->package},
               &p->source);
  if (st >= 0) st = cli_read_starts(p->source, &a->set, &p->starts);
  if (st >= 0 && a->input != NULL) st = cpl_input_table_read(p->ctx, a->input, &p->table);
  if (st >= 0) st = make_experiment(p, what);
  return st < 0 ? st : simulate(p);
}

int cli_point_end(cli_point* p, int code) {
  cpl_simulation_destroy(p->sim);
  cpl_experiment_destroy(p->experiment);
  free(p->starts);
  cpl_table_destroy(p->table);
  cpl_source_destroy(p->source);
  cli_end_context(p->ctx);
  return p->out != NULL ? cli_close_output(p->out, code) : code;
}

int cli_point_write(const cli_point* p, const char* path,
                    void (*write)(FILE* out, const void* data), const void* data) {
  if (path == NULL) {
    write(p->out, data);
    return CLI_OK;
  }
  char* text = NULL;
  size_t size = 0;
  FILE* file = open_memstream(&text, &size);
  if (file != NULL) write(file, data);
  bool fine = file != NULL && ferror(file) == 0;
  if (file != NULL) fine = fclose(file) == 0 && fine;
  cpl_status st = fine ? cpli_file_make(p->ctx, path, text, size)
                       : cpl_fail(p->ctx, CPL_ERR_NOMEM, "out of memory");
  free(text);
  return st < 0 ? cli_report(p->ctx, st) : CLI_OK;
}
