// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The verb `couplet optimize`: parameters for which measures of a run are best.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "format/text.h"
#include "search.h"

typedef struct optimize_args {
  cli_search_args search;
  cli_list measures, subject_to;
  const char *minimize, *maximize, *method;
  double tolerance, constraint_tolerance;
} optimize_args;

typedef struct optimize_session {
  const optimize_args* args;
  cli_search search;
  cpl_measure_def* measures;
  cpl_optimum* optimum;
} optimize_session;

//------------------------------------ search ------------------------------------

static cpl_status search(optimize_session* s) {
  const optimize_args* a = s->args;
  cpl_optimize_def def = cpl_default_optimize_def();
  if (a->minimize != NULL && a->maximize != NULL)
    return cpl_fail(s->search.ctx, CPL_ERR_INPUT,
                    "--minimize and --maximize: there is one objective");
  cpl_status st = cli_read_measures(s->search.ctx, &a->measures, &s->measures);
  if (st < 0) return st;
  def.experiment = &s->search.settings;
  def.vary = s->search.vary, def.n_vary = a->search.vary.n;
  def.measures = s->measures, def.n_measures = a->measures.n;
  def.minimize = a->maximize != NULL ? a->maximize : a->minimize;
  def.maximize = a->maximize != NULL;
  def.subject_to = a->subject_to.items, def.n_subject_to = a->subject_to.n;
  if (a->method != NULL) cpl_optimizer_by_name(a->method, &def.method);
  if (!isnan(a->tolerance)) def.tolerance = a->tolerance;
  if (!isnan(a->constraint_tolerance)) def.constraint_tolerance = a->constraint_tolerance;
  if (!isnan(a->search.max_runs)) def.max_runs = (int32_t)a->search.max_runs;
  def.workers = cli_search_workers(&s->search);
  def.on_progress = cli_search_progress;
  def.user = &s->search;
  st = cpl_optimize_run(s->search.ctx, &def, &s->optimum);
  cli_search_clear(&s->search);
  return st;
}

//------------------------------------ report ------------------------------------

static void put_padded(FILE* out, const char* text, size_t width) {
  const size_t put = cpli_print_text(out, text, 0);
  fprintf(out, "%*s", (int)(put < width ? width - put : 0), "");
}

static void write_text(FILE* out, const optimize_session* s) {
  static const char* const bounds[] = {"  at its least value", "", "  at its greatest value"};
  const cpl_optimum* o = s->optimum;
  const bool largest = s->args->maximize != NULL;
  size_t width = strlen("objective");
  for (size_t i = 0; i < o->n_parameters; i++)
    if (strlen(o->parameters[i].name) > width) width = strlen(o->parameters[i].name);
  cpli_print_text(out, s->search.path, 0);
  if (o->converged)
    fprintf(out, ": %s found by %lld runs", largest ? "maximum" : "minimum", (long long)o->runs);
  else fprintf(out, ": the best values of %lld runs", (long long)o->runs);
  if (o->failed > 0) fprintf(out, ", of which %lld failed", (long long)o->failed);
  fputs("\n\n  ", out);
  put_padded(out, "objective", width);
  fprintf(out, "  %14.8g\n", o->value);
  for (size_t i = 0; i < o->n_parameters; i++) {
    const cpl_varied* v = &o->parameters[i];
    fputs("  ", out);
    put_padded(out, v->name, width);
    fprintf(out, "  %14.8g%s", v->value, v->unit[0] != '\0' ? "  " : "");
    cpli_print_text(out, v->unit, 0);
    fprintf(out, "%s\n", bounds[v->at_bound + 1]);
  }
  if (o->n_constraints > 0) fputs("\n  constraints\n", out);
  for (size_t i = 0; i < o->n_constraints; i++) {
    const cpl_optimum_constraint* c = &o->constraints[i];
    fputs("    ", out);
    cpli_print_text(out, c->text, 0);
    if (c->active) fputs(": met, at its limit\n", out);
    else fprintf(out, ": met, %.4g from its limit\n", -c->excess);
  }
}

static void write_json(FILE* out, const optimize_session* s) {
  const cpl_optimum* o = s->optimum;
  cpli_json json, *j = &json;
  cpli_json_begin(j, out);
  j->one_line = 2;
  cpli_json_object(j, NULL);
  cpli_json_text(j, "file", s->search.path);
  cpli_json_text(j, "status", o->converged ? "ok" : "failed");
  cpli_json_text(j, "end", o->end);
  cpli_json_real(j, "objective", o->value);
  cli_search_json(j, o->parameters, o->n_parameters, false);
  cpli_json_array(j, "constraints");
  for (size_t i = 0; i < o->n_constraints; i++) {
    const cpl_optimum_constraint* c = &o->constraints[i];
    cpli_json_object(j, NULL);
    cpli_json_text(j, "text", c->text);
    cpli_json_real(j, "excess", c->excess);
    cpli_json_boolean(j, "met", c->met);
    cpli_json_boolean(j, "active", c->active);
    cpli_json_close(j, '}');
  }
  cpli_json_close(j, ']');
  cpli_json_integer(j, "runs", o->runs);
  cpli_json_integer(j, "failed_runs", o->failed);
  cpli_json_text(j, "failure", o->failure);
  cpli_json_close(j, '}');
  cpli_json_end(j);
}

static int report(optimize_session* s, cpl_status st) {
  const cli_search_args* a = &s->args->search;
  const cpl_optimum* o = s->optimum;
  cli_enter(CLI_WRITES);
  const int code = st < 0 ? cli_report(s->search.ctx, st) : CLI_OK;
  if (o == NULL) return code;
  if (o->failed > 0)
    cli_warning("%lld of %lld runs failed; the first one: %s", (long long)o->failed,
                (long long)o->runs, o->failure);
  if (a->json) write_json(s->search.out, s);
  else if (!a->quiet) write_text(s->search.out, s);
  st = o->converged ? cli_search_write(&s->search, o->parameters, o->n_parameters) : CPL_OK;
  return st < 0 ? cli_report(s->search.ctx, st) : code;
}

//------------------------------------ verb ------------------------------------

static int run_optimize(void* args_, int n, char** operands) {
  const optimize_args* args = args_;
  (void)n;
  optimize_session s = {.args = args};
  int code = cli_search_begin(&s.search, &args->search, operands[0]);
  if (code == CLI_OK) {
    cpl_status st = cli_search_open(&s.search);
    if (st >= 0) st = search(&s);
    code = report(&s, st);
  }
  cpl_optimum_destroy(s.optimum);
  free(s.measures);
  return cli_search_end(&s.search, code);
}

#define AT(member) offsetof(optimize_args, member)
static const cli_option options[] = {
    {"minimize", 0, "EXPR",
     "the objective: an expression over measures of the file, those of --measure, and functions of "
     "the run, such as final(x) or max(abs(v))",
     CLI_TEXT, AT(minimize)},
    {"maximize", 0, "EXPR", "likewise, to be largest", CLI_TEXT, AT(maximize)},
    {"subject-to", 0, "CONSTRAINT", "EXPR <= EXPR, EXPR >= EXPR or EXPR == EXPR; may be repeated",
     CLI_LIST, AT(subject_to)},
    CLI_SEARCH_VARY,
    {"measure", 'm', "NAME=EXPR", "a measure that expressions can use; may be repeated", CLI_LIST,
     AT(measures)},
    {"method", 0, "slsqp|cobyla",
     "slsqp (the default), with derivatives by differences; cobyla, without derivatives, where the "
     "objective is not smooth",
     CLI_TEXT, AT(method)},
    {"tolerance", 0, "X", "relative change of the parameters that ends the search; default: 1e-6",
     CLI_NUMBER, AT(tolerance)},
    {"constraint-tolerance", 0, "X", "by which constraints may be violated; default: 1e-6",
     CLI_NUMBER, AT(constraint_tolerance)},
    {"input-ignore-extra", 0, NULL, "ignore columns of --input that match no variable", CLI_FLAG,
     CLI_SEARCH_AT(ignore_extra)},
    CLI_SEARCH_OPTIONS,
    {0},
};

const cli_verb cli_optimize = {
    .name = "optimize",
    .operands = "FILE",
    .summary = "find parameters for which measures of a run are smallest or largest",
    .text =
        "FILE is any file that couplet run takes. The parameters of --vary get the values within "
        "their bounds for which the objective is smallest and all constraints hold: a local "
        "optimum near the guesses. Interrupted, it prints the best values so far.\n\n"
        "  couplet optimize servo.yaml --minimize 'integral(e^2)' --subject-to "
        "'max(abs(u)) <= 5' --vary kp=1:0:10 --vary ki=0.1:0:5\n\n"
        "The algorithms are those of the library NLopt (Debian: libnlopt0), which is loaded when "
        "it is needed.",
    .suffixes = "fmu c yaml xml ssp ssd",
    .options = options,
    .args_size = sizeof(optimize_args),
    .run = run_optimize,
};
