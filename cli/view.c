// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The verb `couplet view`: it writes a page or a picture of result files, or the page of a study,
// and opens it where there is a desktop.
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "cli.h"
#include "interrupt.h"

typedef struct view_args {
  const char* output;
  const char* xy;
  cli_list only;
  bool open;
} view_args;

static const cli_option options[] = {
    {"output", 'o', "FILE",
     "the file to write: .html or .svg; default: RESULT with the ending .html", CLI_TEXT,
     offsetof(view_args, output)},
    {"only", 0, "NAME", "show this column first; * and ? match as in a shell; may be repeated",
     CLI_LIST, offsetof(view_args, only)},
    {"xy", 0, "X,Y",
     "draw column Y over column X first: a path in the plane; of a study: its first scatter plot",
     CLI_TEXT, offsetof(view_args, xy)},
    {"open", 0, NULL, "always open the page in the browser", CLI_FLAG, offsetof(view_args, open)},
    {0},
};

// All that one call needs.
typedef struct shown {
  cpl_view_result* results;  // the tables are ours
  int n;
  char *xy, *title;
} shown;

// "x,y" -> two names. A name may contain commas itself (an element of an array): the text is split
// at the first comma after the name of a column.
static cpl_status split_xy(cpl_context* ctx, const shown* s, char* text, cpl_view_def* def) {
  for (char* comma = strchr(text, ','); comma != NULL; comma = strchr(comma + 1, ',')) {
    *comma = '\0';
    bool known = strchr(comma + 1, ',') == NULL;
    for (int i = 0; i < s->n && !known; i++) known = cpl_table_find(s->results[i].table, text) >= 0;
    if (known) {
      def->across = text;
      def->up = comma + 1;
      return CPL_OK;
    }
    *comma = ',';
  }
  return cpl_fail(ctx, CPL_ERR_INPUT, "--xy wants two columns with a comma between them: X,Y");
}

// The same for a study, whose names are not known yet: at the first comma outside of brackets.
static cpl_status split_axes(cpl_context* ctx, char* text, cpl_view_def* def) {
  int depth = 0;
  for (char* c = text; *c != '\0'; c++) {
    depth += (*c == '[' || *c == '(') - (*c == ']' || *c == ')');
    if (*c != ',' || depth > 0) continue;
    *c = '\0';
    def->across = text;
    def->up = c + 1;
    return CPL_OK;
  }
  return cpl_fail(ctx, CPL_ERR_INPUT,
                  "--xy wants two factors or measures with a comma between them: X,Y");
}

static const char* name_of(const char* path) {
  const char* slash = strrchr(path, '/');
  return slash != NULL ? slash + 1 : path;
}

// Whether a CSV file that is no result is that of a study: `failure` is its last column.
static bool is_study_table(const char* path) {
  FILE* f = cli_ends_with(path, ".csv") ? fopen(path, "rb") : NULL;
  char* line = NULL;
  size_t size = 0;
  if (f == NULL) return false;
  ssize_t n = getline(&line, &size, f);
  while (n > 0 && (line[n - 1] == '\n' || line[n - 1] == '\r')) line[--n] = '\0';
  const bool found = n > 0 && cli_ends_with(line, ",failure");
  free(line);
  fclose(f);
  return found;
}

// Reads a result. The table of a study, which has no time, gets a message of its own.
static cpl_status read_result(cpl_context* ctx, const char* path, cpl_table** table) {
  const cpl_status st = cpl_results_read(ctx, path, table);
  if (st != CPL_ERR_INPUT || !is_study_table(path)) return st;
  return cpl_fail(ctx, CPL_ERR_INPUT,
                  "%s: is the table of a study, which does not say what its factors are; a page is "
                  "made of the study's NetCDF file (couplet sweep ... -o study.nc)",
                  path);
}

static cpl_status read_results(cpl_context* ctx, shown* s, int n, char** paths) {
  s->results = cpli_alloc(ctx, (size_t)n, sizeof *s->results);
  if (s->results == NULL) return cpli_nomem(ctx);
  for (; s->n < n; s->n++) {
    cpl_table* table = NULL;
    cpl_status st = read_result(ctx, paths[s->n], &table);
    if (st < 0) return st;
    s->results[s->n] = (cpl_view_result){table, name_of(paths[s->n]), NULL};
  }
  // files of the same name in different folders are distinguished by their paths
  for (int i = 0; i < n; i++) {
    for (int k = 0; k < n; k++) {
      if (k != i && strcmp(name_of(paths[k]), name_of(paths[i])) == 0)
        s->results[i].name = paths[i];
    }
  }
  return CPL_OK;
}

// The title names the results: all of them, or the first and how many more there are.
static char* title_of(cpl_context* ctx, const shown* s) {
  enum { NAMED = 4 };
  const int named = s->n <= NAMED ? s->n : NAMED - 1;
  char* title = cpli_strdup(ctx, s->results[0].name);
  for (int i = 1; i < named && title != NULL; i++) {
    char* longer = cpli_printf(ctx, "%s, %s", title, s->results[i].name);
    cpli_free(ctx, title);
    title = longer;
  }
  if (named == s->n || title == NULL) return title;
  char* whole = cpli_printf(ctx, "%s and %d more", title, s->n - named);
  cpli_free(ctx, title);
  return whole;
}

static cpl_status show_results(cpl_context* ctx, const view_args* args, int n, char** paths,
                               shown* s, cpl_view_def* def) {
  cpl_status st = read_results(ctx, s, n, paths);
  if (st < 0) return st;
  s->title = title_of(ctx, s);
  if (s->title == NULL) return cpli_nomem(ctx);
  def->title = s->title;
  def->name = s->results[0].name;
  def->others = s->results + 1;
  def->n_others = (size_t)n - 1;
  if (args->xy != NULL) st = split_xy(ctx, s, s->xy, def);
  return st < 0 ? st : cpl_view_write(ctx, s->results[0].table, def);
}

static bool has_study(int n, char** paths) {
  for (int i = 0; i < n; i++) {
    if (cli_ends_with(paths[i], ".nc")) return true;
  }
  return false;
}

static cpl_status show_study(cpl_context* ctx, const view_args* args, int n, char** paths, shown* s,
                             cpl_view_def* def) {
  if (n > 1)
    return cpl_fail(ctx, CPL_ERR_INPUT, "%s, %s: a page shows one study, and nothing else with it",
                    paths[0], paths[1]);
  cpl_status st = args->xy != NULL ? split_axes(ctx, s->xy, def) : CPL_OK;
  return st < 0 ? st : cpl_view_study(ctx, paths[0], def);
}

static cpl_status show(cpl_context* ctx, const view_args* args, int n, char** paths, shown* s) {
  char page[PATH_MAX];
  cli_page_name(paths[0], page, sizeof page);
  s->xy = cpli_strdup(ctx, args->xy != NULL ? args->xy : "");
  if (s->xy == NULL) return cpli_nomem(ctx);
  cpl_view_def def = cpl_default_view_def();
  def.path = args->output != NULL ? args->output : page;
  def.only = args->only.items;
  def.n_only = args->only.n;
  cpl_status st = has_study(n, paths) ? show_study(ctx, args, n, paths, s, &def)
                                      : show_results(ctx, args, n, paths, s, &def);
  if (st < 0) return st;
  if (args->output == NULL) {
    cli_print_safe(stdout, page);
    fputc('\n', stdout);
  }
  if (args->open || (args->output == NULL && isatty(1) && cli_has_desktop()))
    cli_open_page(def.path);
  return CPL_OK;
}

static int run(void* args, int n, char** paths) {
  cpl_context* ctx = cli_context(NULL);
  cli_enter(CLI_READS);
  shown s = {0};
  if (ctx == NULL) return CLI_FAILED;
  cpl_status st = show(ctx, args, n, paths, &s);
  const int code = st < 0 ? cli_report(ctx, st) : CLI_OK;
  for (int i = 0; i < s.n; i++) cpl_table_destroy((cpl_table*)s.results[i].table);
  cpli_free(ctx, s.results);
  cpli_free(ctx, s.xy);
  cpli_free(ctx, s.title);
  cli_end_context(ctx);
  return code;
}

const cli_verb cli_view = {
    .name = "view",
    .operands = "RESULT...",
    .summary = "show result files, or a study, in the browser",
    .text =
        "Reads .csv or .mat files and writes one self-contained page that works without a network: "
        "a searchable tree of variables, any number of plots over time or of one variable over "
        "another, spectra, derived curves, logarithmic axes, differences between results, export, "
        "links to a view. It opens in the browser on a "
        "desktop unless -o is given. -o NAME.svg draws a picture instead.\n\n"
        "  couplet view new.csv old.csv --only 'left.*'\n\n"
        "Of the NetCDF file of a study (couplet sweep -o study.nc) the page has curves of all "
        "cases with quantiles, scatter plots, parallel coordinates, the influence of the factors, "
        "statistics, and failed cases.\n\n"
        "  couplet view study.nc --xy k,peak",
    .suffixes = "csv mat nc",
    .options = options,
    .args_size = sizeof(view_args),
    .run = run,
};
