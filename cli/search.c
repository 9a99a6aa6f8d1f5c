// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// What `fit` and `optimize` share.
#include "search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "format/number.h"

//------------------------------------ options ------------------------------------

int cli_search_begin(cli_search* s, const cli_search_args* args, const char* path) {
  *s = (cli_search){.args = args,
                    .path = path,
                    .experiment = cpl_default_experiment_def(),
                    .settings = cpl_default_experiment_settings()};
  progress bar = {0};
  if (args->write != NULL && !cli_ends_with(args->write, ".yaml"))
    return cli_usage_error("--write %s: values are written to a system file (.yaml)", args->write);
  progress_begin(&bar, args->progress, args->quiet || args->json);
  s->progress = bar.kind;
  s->ctx = cli_context(args->quiet && args->log_level == NULL ? "error" : args->log_level);
  if (s->ctx == NULL) return cli_usage_error("out of memory");
  s->out = cli_keep_output();
  return s->out != NULL ? CLI_OK : CLI_USAGE;
}

static cpl_status read_vary(cli_search* s) {
  const cli_list* list = &s->args->vary;
  s->vary = calloc(list->n + 1, sizeof *s->vary);
  if (s->vary == NULL) return cpl_fail(s->ctx, CPL_ERR_NOMEM, "out of memory");
  cpl_status st = CPL_OK;
  for (size_t i = 0; i < list->n && st >= 0; i++)
    st = cpl_vary_read(s->ctx, list->items[i], &s->vary[i]);
  return st < 0 ? cpl_fail_prefix(s->ctx, st, "--vary") : CPL_OK;
}

static void take_settings(cli_search* s) {
  const cli_search_args* a = s->args;
  cpl_experiment_def* e = &s->experiment;
  e->start = a->start_time, e->stop = a->stop_time, e->interval = a->interval, e->step = a->step;
  e->rtol = a->rtol, e->atol = a->atol, e->solver = a->solver;
  cpl_experiment_settings* settings = &s->settings;
  settings->path = s->path;
  settings->experiment = e;
  if (a->as != NULL)
    settings->as = strcmp(a->as, "cs") == 0 ? CPL_AS_CO_SIMULATION : CPL_AS_MODEL_EXCHANGE;
  settings->starts = s->starts, settings->n_starts = a->set.n;
  settings->table = s->table, settings->table_name = a->input;
  settings->one_solver = a->one_solver;
  settings->source = s->source;
}

cpl_status cli_search_open(cli_search* s) {
  const cli_search_args* a = s->args;
  const cli_opening how = {NULL, &a->set, &a->isolation, &a->package};
  if (!isnan(a->max_runs) && !(a->max_runs >= 1 && a->max_runs <= INT32_MAX))
    return cpl_fail(s->ctx, CPL_ERR_INPUT, "--max-runs takes a number from 1 on, not %g",
                    a->max_runs);
  if (!isnan(a->workers) &&
      !(a->workers >= 1 && a->workers <= 4096 && a->workers == floor(a->workers)))
    return cpl_fail(s->ctx, CPL_ERR_INPUT, "--workers takes a number from 1 on, not %g",
                    a->workers);
  cpl_status st = read_vary(s);
  if (st >= 0) st = cli_open(s->ctx, s->path, how, &s->source);
  if (st >= 0) st = cli_read_starts(s->source, &a->set, &s->starts);
  if (st >= 0 && a->input != NULL) st = cpl_input_table_read(s->ctx, a->input, &s->table);
  if (st >= 0) take_settings(s);
  return st;
}

int32_t cli_search_workers(const cli_search* s) {
  return isnan(s->args->workers) ? CPL_WORKERS_PER_PROCESSOR : (int32_t)s->args->workers;
}

int cli_search_end(cli_search* s, int code) {
  cli_enter(CLI_RELEASES);
  for (size_t i = 0; s->vary != NULL && i < s->args->vary.n; i++)
    cpl_vary_free(s->ctx, &s->vary[i]);
  free(s->vary);
  free(s->starts);
  cpl_table_destroy(s->table);
  cpl_source_destroy(s->source);
  if (s->ctx != NULL) cli_end_context(s->ctx);
  return s->out != NULL ? cli_close_output(s->out, code) : code;
}

//------------------------------------ progress ------------------------------------

void cli_search_progress(void* user, const cpl_search_progress* p) {
  cli_search* s = user;
  const double now = cpli_now();
  if (s->progress == PROGRESS_NONE || now - s->last < 0.1) return;
  s->last = now;
  if (s->progress == PROGRESS_JSON) {
    cpli_json j;
    cpli_json_begin(&j, stderr);
    j.one_line = 1;
    cpli_json_object(&j, NULL);
    cpli_json_text(&j, "progress", "running");
    cpli_json_integer(&j, "runs", p->runs);
    cpli_json_integer(&j, "failed", p->failed);
    cpli_json_real(&j, "value", p->value);
    cpli_json_close(&j, '}');
    cpli_json_end(&j);
    return;
  }
  fprintf(stderr, "\r%lld runs", (long long)p->runs);
  if (p->failed > 0) fprintf(stderr, ", %lld failed", (long long)p->failed);
  if (!isnan(p->value)) fprintf(stderr, ", best so far %.6g", p->value);
  fputs("\033[K", stderr);
  s->shown = true;
}

void cli_search_clear(cli_search* s) {
  if (s->shown) fputs("\r\033[K", stderr);
  s->shown = false;
}

//------------------------------------ results ------------------------------------

cpl_status cli_search_write(const cli_search* s, const cpl_varied* list, size_t n) {
  const size_t n_set = s->args->set.n;
  if (s->args->write == NULL) return CPL_OK;
  cpl_start* starts = calloc(n_set + n, sizeof *starts);
  char(*texts)[CPLI_NUMBER_SIZE] = calloc(n, sizeof *texts);
  cpl_status st = CPL_OK;
  if (starts == NULL || texts == NULL) st = cpl_fail(s->ctx, CPL_ERR_NOMEM, "out of memory");
  for (size_t i = 0; i < n_set && st >= 0; i++) starts[i] = s->starts[i];
  for (size_t i = 0; i < n && st >= 0; i++) {
    cpli_format_double(texts[i], list[i].value);
    starts[n_set + i] = (cpl_start){list[i].name, texts[i]};
  }
  if (st >= 0) st = cli_write_system(s->ctx, s->path, starts, n_set + n, s->args->write);
  free(starts);
  free(texts);
  return st;
}

void cli_search_json(cpli_json* j, const cpl_varied* list, size_t n, bool fit) {
  static const char* const bounds[] = {"least", NULL, "greatest"};
  cpli_json_object(j, "parameters");
  for (size_t i = 0; i < n; i++) {
    const cpl_varied* v = &list[i];
    cpli_json_object(j, v->name);
    cpli_json_real(j, "value", v->value);
    cpli_json_text(j, "unit", v->unit);
    if (fit) {
      cpli_json_real(j, "deviation", v->deviation);
      cpli_json_real(j, "low", v->low);
      cpli_json_real(j, "high", v->high);
      cpli_json_boolean(j, "undetermined", v->undetermined);
    }
    cpli_json_text(j, "at_bound", bounds[v->at_bound + 1]);
    cpli_json_real(j, "guess", v->guess);
    cpli_json_real(j, "least", v->least);
    cpli_json_real(j, "greatest", v->greatest);
    cpli_json_close(j, '}');
  }
  cpli_json_close(j, '}');
}
