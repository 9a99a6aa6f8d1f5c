// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The verb `couplet fit`: parameters from measurements.
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "format/csv.h"
#include "format/file.h"
#include "format/number.h"
#include "format/text.h"
#include "search.h"

typedef struct fit_args {
  cli_search_args search;
  cli_list data, sigma, output;
  const char* loss;
  double scale, confidence;
  bool differences;
} fit_args;

typedef struct fit_session {
  const fit_args* args;
  cli_search search;
  cpl_fit_data* data;
  cpl_start** starts;  // of each data set
  cpl_fit_sigma* sigmas;
  cpl_fit* fit;
  cpl_status st;
} fit_session;

//------------------------------------ options ------------------------------------

static cpl_status no_memory(const fit_session* s) {
  return cpl_fail(s->search.ctx, CPL_ERR_NOMEM, "out of memory");
}

// FILE,NAME=VALUE,...,weight=VALUE; a file whose name has commas is found first.
static cpl_status read_data(fit_session* s, size_t i) {
  char* text = (char*)s->args->data.items[i];
  cpl_fit_data* data = &s->data[i];
  size_t n = 0;
  data->path = text;
  char* at = access(text, F_OK) != 0 ? strchr(text, ',') : NULL;
  for (const char* c = at; c != NULL; c = strchr(c + 1, ',')) n++;
  s->starts[i] = calloc(n + 1, sizeof *s->starts[i]);
  if (s->starts[i] == NULL) return no_memory(s);
  data->starts = s->starts[i];
  while (at != NULL) {
    *at++ = '\0';
    char *name = at, *equals = strchr(at, '='), *end = NULL;
    at = strchr(at, ',');
    if (equals == NULL || (at != NULL && equals > at))
      return cpl_fail(s->search.ctx, CPL_ERR_INPUT,
                      "--data %s: behind the file stands \"%.*s\", where NAME=VALUE is expected",
                      data->path, at != NULL ? (int)(at - name) : (int)strlen(name), name);
    *equals = '\0';
    if (strcmp(name, "weight") != 0) {
      s->starts[i][data->n_starts++] = (cpl_start){name, equals + 1};
      continue;
    }
    data->weight = strtod(equals + 1, &end);
    if (end == equals + 1 || (*end != '\0' && end != at) || !(data->weight > 0))
      return cpl_fail(s->search.ctx, CPL_ERR_INPUT, "--data %s: its weight must be positive",
                      data->path);
  }
  return CPL_OK;
}

// NAME=VALUE
static cpl_status read_sigma(fit_session* s, size_t i) {
  char *text = (char*)s->args->sigma.items[i], *equals = strrchr(text, '='), *end = NULL;
  const double value = equals != NULL ? strtod(equals + 1, &end) : NAN;
  if (equals == NULL || end == equals + 1 || *end != '\0' || !isfinite(value))
    return cpl_fail(s->search.ctx, CPL_ERR_INPUT, "--sigma %s: expected NAME=NUMBER", text);
  *equals = '\0';
  s->sigmas[i] = (cpl_fit_sigma){text, value};
  return CPL_OK;
}

static cpl_status read_options(fit_session* s) {
  const fit_args* a = s->args;
  s->data = calloc(a->data.n + 1, sizeof *s->data);
  s->starts = calloc(a->data.n + 1, sizeof *s->starts);
  s->sigmas = calloc(a->sigma.n + 1, sizeof *s->sigmas);
  if (s->data == NULL || s->starts == NULL || s->sigmas == NULL) return no_memory(s);
  cpl_status st = CPL_OK;
  for (size_t i = 0; i < a->data.n && st >= 0; i++) st = read_data(s, i);
  for (size_t i = 0; i < a->sigma.n && st >= 0; i++) st = read_sigma(s, i);
  return st;
}

static cpl_status search(fit_session* s) {
  const fit_args* a = s->args;
  cpl_fit_def def = cpl_default_fit_def();
  def.experiment = &s->search.settings;
  def.vary = s->search.vary, def.n_vary = a->search.vary.n;
  def.data = s->data, def.n_data = a->data.n;
  def.sigmas = s->sigmas, def.n_sigmas = a->sigma.n;
  if (a->loss != NULL) cpl_loss_by_name(a->loss, &def.loss);
  if (!isnan(a->scale)) def.scale = a->scale;
  if (!isnan(a->confidence)) def.confidence = a->confidence;
  if (!isnan(a->search.max_runs)) def.max_runs = (int32_t)a->search.max_runs;
  def.ignore_extra = a->search.ignore_extra;
  def.differences = a->differences;
  def.workers = cli_search_workers(&s->search);
  def.on_progress = cli_search_progress;
  def.user = &s->search;
  cpl_status st = cpl_fit_run(s->search.ctx, &def, &s->fit);
  cli_search_clear(&s->search);
  return st;
}

//------------------------------------ text ------------------------------------

static size_t name_width(const cpl_fit* f) {
  size_t width = strlen("parameter");
  for (size_t i = 0; i < f->n_parameters; i++) width = fmax(width, strlen(f->parameters[i].name));
  return width;
}

static void put_padded(FILE* out, const char* text, size_t width) {
  const size_t put = cpli_print_text(out, text, 0);
  fprintf(out, "%*s", (int)(put < width ? width - put : 0), "");
}

static void print_parameter(FILE* out, const cpl_fit* f, const cpl_varied* v, size_t width) {
  fputs("  ", out);
  put_padded(out, v->name, width);
  fprintf(out, "  %14.8g", v->value);
  if (v->at_bound != 0)
    fprintf(out, "  held at its %s value", v->at_bound < 0 ? "least" : "greatest");
  else if (v->undetermined) fputs("  not determined by the data", out);
  else if (f->converged) fprintf(out, "  %12.4g  %14.8g  %14.8g", v->deviation, v->low, v->high);
  if (v->unit[0] != '\0') fputs("  ", out);
  cpli_print_text(out, v->unit, 0);
  fputc('\n', out);
}

static void print_parameters(FILE* out, const cpl_fit* f) {
  const size_t width = name_width(f);
  fputs("\n  ", out);
  put_padded(out, "parameter", width);
  fprintf(out, "  %14s", "value");
  if (f->converged) {
    char interval[40];
    snprintf(interval, sizeof interval, "%g %% interval", 100 * f->confidence);
    fprintf(out, "  %12s  %30s", "deviation", interval);
  }
  fputc('\n', out);
  for (size_t i = 0; i < f->n_parameters; i++) print_parameter(out, f, &f->parameters[i], width);
}

// Correlations that make deviations large.
static void print_correlations(FILE* out, const cpl_fit* f) {
  static const double high = 0.95;
  const size_t n = f->n_parameters;
  for (size_t i = 0; i < n && f->correlation != NULL; i++)
    for (size_t k = 0; k < i; k++) {
      if (!(fabs(f->correlation[i * n + k]) >= high)) continue;
      fprintf(out, "  correlation of %s and %s: %.4f\n", f->parameters[k].name,
              f->parameters[i].name, f->correlation[i * n + k]);
    }
}

static void print_columns(const fit_session* s, FILE* out) {
  const cpl_fit* f = s->fit;
  fputs("\n  data\n", out);
  for (size_t i = 0; i < f->n_columns; i++) {
    const cpl_fit_column* c = &f->columns[i];
    fputs("    ", out);
    cpli_print_text(out, f->data[c->data], 0);
    fputs(": ", out);
    cpli_print_text(out, c->name, 0);
    fprintf(out, ", %zu point%s, root mean square of the residuals %.4g", c->n,
            c->n == 1 ? "" : "s", c->rms);
    if (c->unit[0] != '\0') fputc(' ', out);
    cpli_print_text(out, c->unit, 0);
    fputc('\n', out);
  }
}

static void write_text(FILE* out, const void* data) {
  const fit_session* s = data;
  const cpl_fit* f = s->fit;
  cpli_print_text(out, s->search.path, 0);
  if (f->converged) fprintf(out, ": fitted by %lld runs", (long long)f->runs);
  else fprintf(out, ": the best values of %lld runs", (long long)f->runs);
  if (f->failed > 0) fprintf(out, ", of which %lld failed", (long long)f->failed);
  if (f->converged) fprintf(out, "; derivatives by %s", f->derivatives);
  fputc('\n', out);
  print_parameters(out, f);
  if (!f->converged) return;
  print_correlations(out, f);
  print_columns(s, out);
}

//------------------------------------ JSON ------------------------------------

static void json_matrix(cpli_json* j, const cpl_fit* f) {
  const size_t n = f->n_parameters;
  cpli_json_array(j, "correlation");
  for (size_t i = 0; i < n && f->correlation != NULL; i++) {
    cpli_json_array(j, NULL);
    for (size_t k = 0; k < n; k++) cpli_json_real(j, NULL, f->correlation[i * n + k]);
    cpli_json_close(j, ']');
  }
  cpli_json_close(j, ']');
}

static void json_directions(cpli_json* j, const cpl_fit* f) {
  cpli_json_array(j, "directions");
  for (size_t i = 0; i < f->n_directions; i++) {
    const cpl_fit_direction* d = &f->directions[i];
    cpli_json_object(j, NULL);
    cpli_json_real(j, "ratio", d->ratio);
    cpli_json_boolean(j, "singular", d->singular);
    cpli_json_object(j, "parts");
    for (size_t k = 0; k < f->n_parameters; k++)
      if (d->parts[k] != 0) cpli_json_real(j, f->parameters[k].name, d->parts[k]);
    cpli_json_close(j, '}');
    cpli_json_close(j, '}');
  }
  cpli_json_close(j, ']');
}

// That of all rows; NAN: each has its own.
static double common_sigma(const cpl_fit_column* c) {
  for (size_t k = 1; k < c->n; k++)
    if (c->sigma[k] != c->sigma[0]) return NAN;
  return c->sigma[0];
}

static void json_columns(const fit_session* s, cpli_json* j) {
  cpli_json_array(j, "columns");
  for (size_t i = 0; i < s->fit->n_columns; i++) {
    const cpl_fit_column* c = &s->fit->columns[i];
    cpli_json_object(j, NULL);
    cpli_json_text(j, "data", s->fit->data[c->data]);
    cpli_json_text(j, "name", c->name);
    cpli_json_text(j, "unit", c->unit);
    cpli_json_integer(j, "points", (int64_t)c->n);
    cpli_json_real(j, "rms", c->rms);
    cpli_json_boolean(j, "sigma_estimated", c->estimated);
    cpli_json_real(j, "sigma", common_sigma(c));
    cpli_json_close(j, '}');
  }
  cpli_json_close(j, ']');
}

static void write_json(FILE* out, const void* data) {
  const fit_session* s = data;
  const cpl_fit* f = s->fit;
  cpli_json json, *j = &json;
  cpli_json_begin(j, out);
  j->one_line = 2;
  cpli_json_object(j, NULL);
  cpli_json_text(j, "file", s->search.path);
  cpli_json_text(j, "status", f->converged ? "ok" : "failed");
  if (!f->converged) cpli_json_text(j, "error", cpl_context_error(s->search.ctx));
  cpli_json_text(j, "end", f->end);
  cli_search_json(j, f->parameters, f->n_parameters, true);
  cpli_json_real(j, "confidence", f->confidence);
  json_matrix(j, f);
  json_directions(j, f);
  json_columns(s, j);
  cpli_json_real(j, "squares", f->squares);
  cpli_json_real(j, "freedom", f->freedom);
  cpli_json_real(j, "variance", f->variance);
  cpli_json_text(j, "derivatives", f->derivatives);
  cpli_json_integer(j, "runs", f->runs);
  cpli_json_integer(j, "failed_runs", f->failed);
  cpli_json_text(j, "failure", f->failure);
  cpli_json_close(j, '}');
  cpli_json_end(j);
}

//------------------------------------ verb ------------------------------------

// What the numbers alone would not say.
static void warn(const fit_session* s) {
  const cpl_fit* f = s->fit;
  for (size_t i = 0; i < f->n_directions; i++) {
    const cpl_fit_direction* d = &f->directions[i];
    cli_warning(d->singular
                    ? "the data do not determine: %s leaves the results as they are"
                    : "the data hardly determine: %s changes the results %.1g times as much as "
                      "the most influential change",
                d->text, d->ratio);
  }
  if (f->failed > 0)
    cli_warning("%lld of %lld runs failed; the first one: %s", (long long)f->failed,
                (long long)f->runs, f->failure);
}

static void put_field(FILE* out, const char* text) {
  if (!cpli_csv_needs_quotes(text)) {
    fputs(text, out);
    return;
  }
  fputc('"', out);
  for (; *text != '\0'; text++) {
    if (*text == '"') fputc('"', out);
    fputc(*text, out);
  }
  fputc('"', out);
}

// Time, measured, fitted, residual and standard deviation of every row.
static void write_rows(FILE* out, const fit_session* s) {
  char text[CPLI_NUMBER_SIZE];
  fputs("data,variable,time,measured,fitted,residual,sigma\n", out);
  for (size_t i = 0; i < s->fit->n_columns; i++) {
    const cpl_fit_column* c = &s->fit->columns[i];
    for (size_t k = 0; k < c->n; k++) {
      const double row[] = {c->time[k], c->measured[k], c->fitted[k], c->measured[k] - c->fitted[k],
                            c->sigma[k]};
      put_field(out, s->fit->data[c->data]);
      fputc(',', out);
      put_field(out, c->name);
      for (size_t v = 0; v < CPLI_COUNT(row); v++) {
        cpli_format_double(text, row[v]);
        fprintf(out, ",%s", text);
      }
      fputc('\n', out);
    }
  }
}

static cpl_status write_csv(const fit_session* s, const char* path) {
  char* text = NULL;
  size_t size = 0;
  FILE* file = open_memstream(&text, &size);
  if (file != NULL) write_rows(file, s);
  bool fine = file != NULL && ferror(file) == 0;
  if (file != NULL) fine = fclose(file) == 0 && fine;
  const cpl_status st = fine ? cpli_file_make(s->search.ctx, path, text, size) : no_memory(s);
  free(text);
  return st;
}

static cpl_status write_page(const fit_session* s, const char* path) {
  cpl_view_def def = cpl_default_view_def();
  def.path = path;
  def.title = s->search.path;
  return cpl_fit_write(s->search.ctx, s->fit, s->fit->data, &def);
}

static cpl_status write_results(fit_session* s) {
  const cpl_fit* f = s->fit;
  const cli_list* outputs = &s->args->output;
  if (!f->converged) return CPL_OK;
  cpl_status st = cli_search_write(&s->search, f->parameters, f->n_parameters);
  for (size_t i = 0; i < outputs->n && st >= 0; i++)
    st = (cli_ends_with(outputs->items[i], ".csv") ? write_csv : write_page)(s, outputs->items[i]);
  return st;
}

static int report(fit_session* s, cpl_status st) {
  const fit_args* a = s->args;
  cli_enter(CLI_WRITES);
  int code = st < 0 ? cli_report(s->search.ctx, st) : CLI_OK;
  if (s->fit == NULL) return code;
  if (s->fit->converged) warn(s);
  if (a->search.json) write_json(s->search.out, s);
  else if (!a->search.quiet) write_text(s->search.out, s);
  st = write_results(s);
  return st < 0 ? cli_report(s->search.ctx, st) : code;
}

static int run_fit(void* args_, int n, char** operands) {
  const fit_args* args = args_;
  (void)n;
  fit_session s = {.args = args};
  for (size_t i = 0; i < args->output.n; i++)
    if (!cli_ends_with(args->output.items[i], ".html") &&
        !cli_ends_with(args->output.items[i], ".csv"))
      return cli_usage_error("-o %s: a fit is written as a page (.html) or a table (.csv)",
                             args->output.items[i]);
  int code = cli_search_begin(&s.search, &args->search, operands[0]);
  if (code == CLI_OK) {
    cpl_status st = cli_search_open(&s.search);
    if (st >= 0) st = read_options(&s);
    if (st >= 0) st = search(&s);
    code = report(&s, st);
  }
  cpl_fit_destroy(s.fit);
  for (size_t i = 0; s.starts != NULL && i < args->data.n; i++) free(s.starts[i]);
  free(s.starts);
  free(s.data);
  free(s.sigmas);
  return cli_search_end(&s.search, code);
}

#define AT(member) offsetof(fit_args, member)
static const cli_option options[] = {
    {"data", 0, "FILE[,NAME=VALUE...]",
     "measurements: CSV (or MAT) with a column time and columns named after variables; sigma(NAME) "
     "are standard deviations of column NAME, columns of inputs drive them. Behind the file: "
     "parameters and start values of this experiment, and weight=W; may be repeated",
     CLI_LIST, AT(data)},
    CLI_SEARCH_VARY,
    {"sigma", 0, "NAME=VALUE",
     "the standard deviation of a measured variable; without it, it is estimated from the "
     "residuals; may be repeated",
     CLI_LIST, AT(sigma)},
    {"loss", 0, "squares|huber|soft_l1|cauchy",
     "how residuals count: squares (the default), or less where they are large", CLI_TEXT,
     AT(loss)},
    {"scale", 0, "C", "of the loss: where residuals, in standard deviations, begin to count less",
     CLI_NUMBER, AT(scale)},
    {"confidence", 0, "P", "of the intervals; default: 0.95", CLI_NUMBER, AT(confidence)},
    {"differences", 0, NULL, "derivatives by differences of runs, where sensitivities are offered",
     CLI_FLAG, AT(differences)},
    {"output", 'o', "FILE",
     "a page (.html) with data, fit and residuals, or a table (.csv) of them; may be repeated",
     CLI_LIST, AT(output)},
    {"ignore-extra", 0, NULL, "ignore columns of the data that match no variable", CLI_FLAG,
     CLI_SEARCH_AT(ignore_extra)},
    CLI_SEARCH_OPTIONS,
    {0},
};

const cli_verb cli_fit = {
    .name = "fit",
    .operands = "FILE",
    .summary = "find parameters of a model or system for which its results match measurements",
    .text =
        "FILE is any file that couplet run takes. The parameters of --vary get the values for "
        "which the sum of the squared residuals is smallest, within their bounds; printed with "
        "standard deviations and confidence intervals, and warnings name what the data do not "
        "determine. Values that nobody has measured are not needed: each column of the data is "
        "compared where it has rows. The section `fit` of a system file has what is not given. "
        "Interrupted, it prints the best values so far.\n\n"
        "  couplet fit car.yaml --data measured.csv --vary left.m=1:0.5:2 --vary k\n\n"
        "Least squares are solved by the library cminpack (Debian: libcminpack1), which is loaded "
        "when it is needed.",
    .suffixes = "fmu c yaml xml ssp ssd",
    .options = options,
    .args_size = sizeof(fit_args),
    .run = run_fit,
};
