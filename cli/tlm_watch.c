// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// couplet tlm watch: an observer that prints the interfaces of a run.
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "cli.h"
#include "interrupt.h"

typedef struct watch_args {
  const char *key_file, *output;
  double start_limit, interval;
  cli_list only;
} watch_args;

typedef struct shown {  // an interface, and when it was shown last
  char name[256];
  double at;
} shown;

typedef struct watching {
  const watch_args* args;
  cpl_context* ctx;
  FILE* out;
  bool csv;
  shown* list;
  size_t n, cap;
} watching;

static bool is_wanted(const watching* w, const char* name) {
  for (size_t i = 0; i < w->args->only.n; i++) {
    if (cpli_glob(w->args->only.items[i], name)) return true;
  }
  return w->args->only.n == 0;
}

// Whether enough time has passed since it was shown.
static bool is_due(watching* w, const char* name, bool* due) {
  double now = cpli_now(), interval = isnan(w->args->interval) ? 0 : w->args->interval;
  size_t i = 0;
  while (i < w->n && strcmp(w->list[i].name, name) != 0) i++;
  *due = i == w->n || now - w->list[i].at >= interval;
  if (i == w->n) {
    if (!cpli_grow(w->ctx, (void**)&w->list, &w->cap, w->n, sizeof *w->list)) return false;
    snprintf(w->list[w->n++].name, sizeof w->list->name, "%s", name);
  }
  if (*due) w->list[i].at = now;
  return true;
}

static void put_vector(FILE* out, const char* before, const char* between, const double* v, int n) {
  for (int i = 0; i < n; i++) fprintf(out, "%s%.9g", i == 0 ? before : between, v[i]);
}

static void put_row(FILE* out, const cpl_tlm_observation* s) {
  fprintf(out, "%.9g,", s->time);
  cli_print_safe(out, s->interface);
  if (s->has_position) put_vector(out, ",", ",", s->position, 3);
  else fputs(",,,", out);
  put_vector(out, ",", ",", s->speed, 6);
  put_vector(out, ",", ",", s->force, 6);
  fputc('\n', out);
}

static void put_line(FILE* out, const cpl_tlm_observation* s) {
  fprintf(out, "t = %-10.6g ", s->time);
  cli_print_safe(out, s->interface);
  if (s->has_position) put_vector(out, "  position ", " ", s->position, s->width == 1 ? 1 : 3);
  put_vector(out, "  speed ", " ", s->speed, s->width);
  put_vector(out, "  force ", " ", s->force, s->width);
  fputc('\n', out);
}

static cpl_status show(void* user, const cpl_tlm_observation* s) {
  watching* w = user;
  bool due = false;
  if (!is_wanted(w, s->interface)) return CPL_OK;
  if (!is_due(w, s->interface, &due)) return cpl_fail(w->ctx, CPL_ERR_NOMEM, "out of memory");
  if (!due) return CPL_OK;
  if (w->csv) put_row(w->out, s);
  else put_line(w->out, s);
  return fflush(w->out) == 0 ? CPL_OK
                             : cpl_fail(w->ctx, CPL_ERR_IO, "the output could not be written");
}

static int watch(watching* w) {
  cpl_tlm_join_def def = cpl_default_tlm_join_def();
  def.key_file = w->args->key_file;
  if (!isnan(w->args->start_limit)) def.start_limit = w->args->start_limit;
  cli_keep_after_pipes();
  if (w->csv) fputs("time,interface,x,y,z,v1,v2,v3,v4,v5,v6,F1,F2,F3,F4,F5,F6\n", w->out);
  cpl_status st = cpl_tlm_watch(w->ctx, &def, show, w);
  return st < 0 ? cli_report(w->ctx, st) : CLI_OK;
}

static int run_watch(void* args, int n, char** operands) {
  watching w = {.args = args, .out = stdout};
  (void)operands;
  if (n > 0 || w.args->key_file == NULL)
    return cli_usage_error(
        "tlm watch: usage: couplet tlm watch --key-file observer.join [options]");
  w.ctx = cli_context(NULL);
  if (w.ctx == NULL) return cli_usage_error("out of memory");
  w.csv = w.args->output != NULL;
  if (w.csv && strcmp(w.args->output, "-") != 0) w.out = fopen(w.args->output, "we");
  int code = w.out != NULL
                 ? watch(&w)
                 : cli_usage_error("%s: cannot be written: %s", w.args->output, strerror(errno));
  if (w.out != NULL && w.out != stdout) code = cli_close_output(w.out, code);
  cpli_free(w.ctx, w.list);
  cli_end_context(w.ctx);
  return code;
}

#define AT(member) offsetof(watch_args, member)
static const cli_option options[] = {
    {"key-file", 0, "FILE", "observer.join, written by couplet tlm serve", CLI_TEXT, AT(key_file)},
    {"only", 0, "NAME",
     "only this interface, as in left.end, or a pattern with * and ?; may be repeated", CLI_LIST,
     AT(only)},
    {"output", 'o', "FILE", "CSV instead of lines to read, - for standard output", CLI_TEXT,
     AT(output)},
    {"interval", 0, "SECONDS", "minimum real time between two lines of an interface", CLI_NUMBER,
     AT(interval)},
    {"start-limit", 0, "SECONDS", "time limit for the manager's answer; default 600", CLI_NUMBER,
     AT(start_limit)},
    {0},
};

const cli_verb cli_tlm_watch = {
    .name = "tlm watch",
    .operands = "",
    .summary = "watch a run that couplet tlm serve manages",
    .text =
        "Prints time, position, speed and force of the interfaces, in the common frame, until the "
        "run ends. The key in observer.join permits nothing else: an observer can neither join the "
        "run nor change it.\n\n"
        "  couplet tlm watch --key-file observer.join --only 'left.*' --interval 1",
    .suffixes = "",
    .options = options,
    .args_size = sizeof(watch_args),
    .run = run_watch,
};
