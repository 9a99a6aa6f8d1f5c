// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The verb `couplet sensitivity`: runs a model together with its sensitivities, and writes how
// variables change along the run with parameters, inputs and start values.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "format/json.h"
#include "format/text.h"
#include "point.h"

enum { MAX_LINES = 100 };  // on the terminal

typedef struct sensitivity_args {
  cli_point_args point;
  cli_list of, to, record;
  const char* output;
  double stop_time, interval;
  bool adjoint, json, quiet;
} sensitivity_args;

typedef struct session {
  const sensitivity_args* args;
  cli_point point;
  cli_list of, to;  // single names
  char* texts;      // these
  cpl_results* results;
  cpl_run_stats stats;
  double *times, *rows;  // JSON: all; else the last
  size_t n_columns, n_rows, cap_times, cap_rows;
  const char** names;
  const char** units;
  char *pairs, *pair_units;  // names and units of gradients
  // adjoint gradients
  double *gradients, *values;
  cpl_gradient_stats gradient_stats;
} session;

//------------------------------------ names ------------------------------------

// Names with commas between them, but for those of indices: "a,b[1,2]".
static size_t split(char* text, const char** items) {
  size_t n = 0;
  int depth = 0;
  items[n++] = text;
  for (char* c = text; *c != '\0'; c++) {
    depth += (*c == '[') - (*c == ']');
    if (*c != ',' || depth > 0) continue;
    *c = '\0';
    items[n++] = c + 1;
  }
  return n;
}

static cpl_status split_all(session* s, const cli_list* from, cli_list* to, char** texts) {
  size_t most = 0;
  for (size_t i = 0; i < from->n; i++) {
    for (const char* c = from->items[i]; *c != '\0'; c++) most += *c == ',';
    most++;
  }
  to->items = calloc(most + 1, sizeof *to->items);
  if (to->items == NULL) return cpl_fail(s->point.ctx, CPL_ERR_NOMEM, "out of memory");
  for (size_t i = 0; i < from->n; i++) {
    strcpy(*texts, from->items[i]);
    to->n += split(*texts, to->items + to->n);
    *texts += strlen(from->items[i]) + 1;
  }
  return CPL_OK;
}

static cpl_status take_names(session* s) {
  const cli_list* lists[] = {&s->args->of, &s->args->to};
  size_t size = 1;
  for (size_t l = 0; l < 2; l++) {
    for (size_t i = 0; i < lists[l]->n; i++) size += strlen(lists[l]->items[i]) + 1;
  }
  s->texts = malloc(size);
  if (s->texts == NULL) return cpl_fail(s->point.ctx, CPL_ERR_NOMEM, "out of memory");
  char* texts = s->texts;
  cpl_status st = split_all(s, lists[0], &s->of, &texts);
  return st < 0 ? st : split_all(s, lists[1], &s->to, &texts);
}

//------------------------------------ rows ------------------------------------

static cpl_status nomem(session* s) {
  return cpl_fail(s->point.ctx, CPL_ERR_NOMEM, "out of memory");
}

static cpl_status begin(void* user, const cpl_column* columns, size_t n) {
  session* s = user;
  s->n_columns = n;
  s->names = calloc(n + 1, sizeof *s->names);
  s->units = calloc(n + 1, sizeof *s->units);
  if (s->names == NULL || s->units == NULL) return nomem(s);
  for (size_t i = 0; i < n; i++) {
    s->names[i] = columns[i].name;
    s->units[i] = columns[i].unit != NULL ? columns[i].unit : "";
  }
  if (s->args->output == NULL) return CPL_OK;
  cpl_results_def def = cpl_default_results_def();
  def.path = s->args->output;
  def.comment = s->point.path;
  def.standard_output = fileno(s->point.out);
  return cpl_results_open(s->point.ctx, &def, columns, n, &s->results);
}

static double number_of(const session* s, size_t i, const cpl_value* values) {
  const cpl_variable* v = NULL;
  int32_t var = cpl_find_variable(s->point.model->base.desc, s->names[i]);
  if (var >= 0) v = &s->point.model->base.desc->vars[var];
  if (v == NULL || v->type == CPL_REAL) return values[i].real;
  return v->type < CPL_STRING ? (double)values[i].integer : NAN;
}

static cpl_status keep_row(void* user, double t, const cpl_value* values) {
  session* s = user;
  if (!s->args->json) s->n_rows = 0;  // only the last
  if (!cpli_grow(s->point.ctx, (void**)&s->times, &s->cap_times, s->n_rows, sizeof *s->times))
    return nomem(s);
  s->times[s->n_rows] = t;
  for (size_t i = 0; i < s->n_columns; i++) {
    size_t at = s->n_rows * s->n_columns + i;
    if (!cpli_grow(s->point.ctx, (void**)&s->rows, &s->cap_rows, at, sizeof *s->rows))
      return nomem(s);
    s->rows[at] = number_of(s, i, values);
  }
  s->n_rows++;
  return s->results != NULL ? cpl_results_record(s->results, t, values) : CPL_OK;
}

//------------------------------------ gradients ------------------------------------

static const char* unit_of(const session* s, const char* name) {
  const cpl_description* d = s->point.model->base.desc;
  int32_t var = cpl_find_variable(d, name);
  int32_t unit = var >= 0 ? d->vars[var].unit : -1;
  return unit >= 0 ? d->units[unit].name : "1";
}

// Of dy/dk, as sensitivities have it; that of an integral is multiplied by seconds.
static void write_unit(const session* s, const char* of, const char* to, char* out, size_t size) {
  static const char* const kinds[] = {"final(", "integral("};
  char y[200];
  snprintf(y, sizeof y, "%s", unit_of(s, of));
  for (int i = 0; i < 2; i++) {
    size_t n = strlen(kinds[i]), all = strlen(of);
    if (strncmp(of, kinds[i], n) != 0 || all <= n || all - n > sizeof y) continue;
    char name[sizeof y];
    snprintf(name, all - n, "%s", of + n);
    const char* unit = unit_of(s, name);
    if (i == 0) snprintf(y, sizeof y, "%s", unit);
    else
      snprintf(y, sizeof y, "%s%s", strcmp(unit, "1") == 0 ? "" : unit,
               unit[0] == '1' ? "s" : ".s");
  }
  const char* k = unit_of(s, to);
  bool plain = strcmp(k, "1") == 0, composed = strpbrk(k, "/.*") != NULL;
  if (strcmp(y, k) == 0) snprintf(out, size, "%s", "");
  else if (plain) snprintf(out, size, "%s", y);
  else snprintf(out, size, composed ? "%s/(%s)" : "%s/%s", y, k);
}

enum { MAX_UNIT = 300 };

// They are one row at the end.
static cpl_status take_gradients(session* s) {
  size_t n = s->of.n * s->to.n, size = 1;
  for (size_t i = 0; i < n; i++)
    size += strlen(s->of.items[i / s->to.n]) + strlen(s->to.items[i % s->to.n]) + 4;
  cpl_column* columns = calloc(n + 1, sizeof *columns);
  cpl_value* row = calloc(n + 1, sizeof *row);
  char* units = s->pair_units = calloc(n + 1, MAX_UNIT);
  char* text = s->pairs = malloc(size);
  bool fine = columns != NULL && row != NULL && units != NULL && text != NULL;
  cpl_status st = fine ? CPL_OK : nomem(s);
  for (size_t i = 0; i < n && st >= 0; i++, units += MAX_UNIT) {
    const char *of = s->of.items[i / s->to.n], *to = s->to.items[i % s->to.n];
    write_unit(s, of, to, units, MAX_UNIT);
    columns[i] = (cpl_column){.name = text, .unit = units, .description = "", .type = CPL_REAL};
    row[i].real = s->gradients[i];
    text += sprintf(text, "d%s/d%s", of, to) + 1;
  }
  s->stats.reached = s->gradient_stats.reached;
  if (st >= 0) st = begin(s, columns, n);
  if (st >= 0) st = keep_row(s, s->stats.reached, row);
  cpl_status closed = cpl_results_finish(s->results, st < 0, NULL);
  s->results = NULL;
  free(columns);
  free(row);
  return st < 0 ? st : closed;
}

//------------------------------------ run ------------------------------------

static cpl_status keep_model(void* user, cpl_model* model) {
  ((session*)user)->point.model = model;
  return CPL_OK;
}

static cpl_status compute_gradients(session* s) {
  size_t n = s->of.n * s->to.n;
  s->gradients = calloc(n + 1, sizeof *s->gradients);
  s->values = calloc(s->of.n + 1, sizeof *s->values);
  if (s->gradients == NULL || s->values == NULL) return nomem(s);
  return cpl_experiment_gradients(s->point.experiment, s->gradients, s->values, &s->gradient_stats);
}

static cpl_status prepare(session* s) {
  const cli_point_args* a = &s->args->point;
  cli_point* p = &s->point;
  cpl_status st =
      cli_open(p->ctx, p->path,
               (cli_opening){.set = &a->set, .isolation = &a->isolation, .package = &a->package},
               &p->source);
  if (st >= 0) st = cli_read_starts(p->source, &a->set, &p->starts);
  if (st >= 0 && a->input != NULL) st = cpl_input_table_read(p->ctx, a->input, &p->table);
  if (st >= 0) st = take_names(s);
  if (st < 0) return st;
  cpl_experiment_def e = cpl_default_experiment_def();
  e.start = a->start_time, e.stop = s->args->stop_time, e.interval = s->args->interval;
  e.rtol = a->rtol, e.atol = a->atol, e.step = a->step;
  e.solver = a->solver, e.linear = a->linear, e.projection = a->projection;
  cpl_sensitivity_def pairs = cpl_default_sensitivity_def();
  pairs.of = s->of.items, pairs.n_of = s->of.n;
  pairs.to = s->to.items, pairs.n_to = s->to.n;
  pairs.adjoint = s->args->adjoint;
  cpl_experiment_settings settings = cpl_default_experiment_settings();
  settings.path = p->path, settings.source = p->source, settings.experiment = &e;
  settings.as = cpl_source_has_model(p->source) ? CPL_AS_MODEL_EXCHANGE : CPL_AS_DEFAULT;
  settings.starts = p->starts, settings.n_starts = a->set.n;
  settings.record = s->args->record.items, settings.n_record = s->args->record.n;
  settings.table = p->table, settings.table_name = a->input;
  settings.sensitivity = &pairs;
  settings.on_model = keep_model, settings.user = s;
  st = cpl_experiment_create(p->ctx, &settings, &p->experiment);
  if (st < 0) return st;
  return s->args->adjoint ? compute_gradients(s) : cpl_experiment_prepare(p->experiment);
}

static cpl_status simulate(session* s) {
  cpl_status st = prepare(s);
  if (st < 0 || s->args->adjoint) return st < 0 ? st : take_gradients(s);
  cpl_run_def* run = cpl_experiment_run_def(s->point.experiment);
  run->on_columns = begin;
  run->on_point = keep_row;
  run->user = s;
  st = cpl_run(cpl_experiment_stepper(s->point.experiment), run, &s->stats);
  cpl_results_kept kept = {0};
  cpl_status closed = cpl_results_finish(s->results, st < 0, &kept);
  s->results = NULL;
  if (st < 0 && kept.rows > 0 && !s->args->quiet)
    cpl_log(s->point.ctx, CPL_LOG_WARNING, s->point.path, "the results until t=%.12g are in %s",
            kept.last_time, s->args->output);
  return st < 0 ? st : closed;
}

//------------------------------------ output ------------------------------------

static void write_text(FILE* out, const void* data) {
  const session* s = data;
  size_t width = 0, shown = s->n_columns < MAX_LINES ? s->n_columns : MAX_LINES;
  cpli_print_text(out, s->point.source->desc->name, 0);
  fprintf(out, "\n  at t = %.12g%s%s\n", s->stats.reached,
          s->args->output != NULL ? ", all rows in " : "",
          s->args->output != NULL ? s->args->output : "");
  for (size_t i = 0; i < shown; i++)
    width = strlen(s->names[i]) > width ? strlen(s->names[i]) : width;
  for (size_t i = 0; i < shown && s->n_rows > 0; i++) {
    fputs("    ", out);
    size_t put = cpli_print_text(out, s->names[i], 0);
    fprintf(out, "%*s  %16.10g%s", (int)(put < width ? width - put : 0), "", s->rows[i],
            s->units[i][0] != '\0' ? " " : "");
    cpli_print_text(out, s->units[i], 0);
    fputc('\n', out);
  }
  if (shown < s->n_columns)
    fprintf(out, "    ... %zu more (-o or --json gives all)\n", s->n_columns - shown);
}

static void write_json(FILE* out, const void* data) {
  const session* s = data;
  cpli_json json, *j = &json;
  cpli_json_begin(j, out);
  j->one_line = 2;
  cpli_json_object(j, NULL);
  cpli_json_text(j, "file", s->point.path);
  cpli_json_text(j, "name", s->point.source->desc->name);
  cpli_json_array(j, "time");
  for (size_t r = 0; r < s->n_rows; r++) cpli_json_real(j, NULL, s->times[r]);
  cpli_json_close(j, ']');
  cpli_json_object(j, "values");
  for (size_t i = 0; i < s->n_columns; i++) {
    cpli_json_array(j, s->names[i]);
    for (size_t r = 0; r < s->n_rows; r++) cpli_json_real(j, NULL, s->rows[r * s->n_columns + i]);
    cpli_json_close(j, ']');
  }
  cpli_json_close(j, '}');
  if (s->values != NULL) {
    cpli_json_object(j, "of");
    for (size_t i = 0; i < s->of.n; i++) cpli_json_real(j, s->of.items[i], s->values[i]);
    cpli_json_close(j, '}');
  }
  cpli_json_object(j, "units");
  for (size_t i = 0; i < s->n_columns; i++) {
    if (s->units[i][0] != '\0') cpli_json_text(j, s->names[i], s->units[i]);
  }
  cpli_json_close(j, '}');
  cpli_json_close(j, '}');
  cpli_json_end(j);
}

//------------------------------------ verb ------------------------------------

static int run_sensitivity(void* args_, int n, char** operands) {
  const sensitivity_args* args = args_;
  (void)n;
  if (args->of.n == 0 || args->to.n == 0)
    return cli_usage_error(
        "sensitivity: --of VARIABLE and --to PARAMETER are needed: of what, with respect to what");
  if (args->adjoint && args->record.n > 0)
    return cli_usage_error("sensitivity: --adjoint gives gradients at the end only, no --record");
  session s = {.args = args};
  int code = cli_point_begin(&s.point, &args->point, operands[0]);
  if (code == CLI_OK) {
    cpl_status st = simulate(&s);
    bool shows =
        args->json || (!args->quiet && (args->output == NULL || strcmp(args->output, "-") != 0));
    code = st < 0  ? cli_report(s.point.ctx, st)
           : shows ? cli_point_write(&s.point, NULL, args->json ? write_json : write_text, &s)
                   : CLI_OK;
  }
  cpli_free(s.point.ctx, s.times);
  cpli_free(s.point.ctx, s.rows);
  free(s.of.items);
  free(s.to.items);
  free(s.texts);
  free(s.names);
  free(s.units);
  free(s.pairs);
  free(s.pair_units);
  free(s.gradients);
  free(s.values);
  return cli_point_end(&s.point, code);
}

#define AT(member) offsetof(sensitivity_args, member)
static const cli_option options[] = {
    {"of", 0, "NAME", "a Real variable; several with commas, or repeated", CLI_LIST, AT(of)},
    {"to", 0, "NAME",
     "a parameter, an input, or a state, for its start value; several with commas, or repeated",
     CLI_LIST, AT(to)},
    {"adjoint", 0, NULL,
     "gradients at the end by the adjoint method, for many parameters; --of also takes "
     "integral(NAME)",
     CLI_FLAG, AT(adjoint)},
    {"output", 'o', "FILE",
     "the result file: .csv, .mat, or - for CSV on standard output; a column dY/dK per pair",
     CLI_TEXT, AT(output)},
    {"json", 0, NULL, "JSON on standard output, and nothing else", CLI_FLAG, AT(json)},
    {"stop", 0, "TIME", "end of the simulation", CLI_NUMBER, AT(stop_time), "stop-time"},
    {"interval", 0, "DT", "time between output points", CLI_NUMBER, AT(interval)},
    {"record", 0, "NAME", "a variable to record as well, or a pattern; may be repeated", CLI_LIST,
     AT(record)},
    {"quiet", 'q', NULL, "print errors only", CLI_FLAG, AT(quiet)},
    CLI_POINT_OPTIONS,
    {0},
};

const cli_verb cli_sensitivity = {
    .name = "sensitivity",
    .operands = "FILE",
    .summary = "how variables change along a run with parameters and start values",
    .text =
        "Runs FILE, an .fmu for model exchange, a model in C (.c) or a system of them (.yaml, "
        ".ssp), together with its sensitivities: the derivatives of the variables of --of with "
        "respect to the parameters, inputs and start values of --to, at every output point, "
        "across events. They are integrated with the states and are as accurate. Prints the "
        "values at the end; -o writes those along the run.\n\n"
        "  couplet sensitivity ball.c --of h --to e,v -o s.csv\n\n"
        "With --adjoint only the gradients at the end are computed, by a run forwards and one "
        "backwards; their cost hardly depends on the number of parameters.\n\n"
        "Exit code 1: the run failed, or an event is not differentiable; the message names it.",
    .suffixes = "yaml fmu c ssp ssd",
    .options = options,
    .args_size = sizeof(sensitivity_args),
    .run = run_sensitivity,
};
