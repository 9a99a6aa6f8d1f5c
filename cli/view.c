// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#include <string.h>

#include "base/base.h"
#include "cli.h"

typedef struct view_args {
  const char* output;
  const char* xy;
  cli_list only;
} view_args;

static const cli_option options[] = {
    {"output", 'o', "FILE",
     "the page: .html or .svg; default: RESULT with .html in place of its end", CLI_TEXT,
     offsetof(view_args, output)},
    {"only", 0, "NAME", "show this column; * and ? match as in a shell; may be repeated", CLI_LIST,
     offsetof(view_args, only)},
    {"xy", 0, "X,Y", "draw column Y over column X first: a path in the plane", CLI_TEXT,
     offsetof(view_args, xy)},
    {0},
};

// "dir/out.csv" -> "dir/out.html"
static char* page_of(cpl_context* ctx, const char* result) {
  const char *slash = strrchr(result, '/'), *dot = strrchr(result, '.');
  const size_t n = dot != NULL && dot > slash ? (size_t)(dot - result) : strlen(result);
  return cpli_printf(ctx, "%.*s.html", (int)n, result);
}

// "x,y" -> two names. A name may hold commas itself (an element of an array): the first comma that
// leaves a column before it counts.
static cpl_status split_xy(cpl_context* ctx, const cpl_table* t, char* text, cpl_view_def* def) {
  for (char* comma = strchr(text, ','); comma != NULL; comma = strchr(comma + 1, ',')) {
    *comma = '\0';
    if (cpl_table_find(t, text) >= 0 || strchr(comma + 1, ',') == NULL) {
      def->across = text;
      def->up = comma + 1;
      return CPL_OK;
    }
    *comma = ',';
  }
  return cpl_fail(ctx, CPL_ERR_INPUT, "--xy wants two columns with a comma between them: X,Y");
}

static cpl_status show(cpl_context* ctx, const view_args* args, const char* result) {
  cpl_table* table = NULL;
  char *page = NULL, *xy = NULL;
  cpl_status st = cpl_results_read(ctx, result, &table);
  if (st < 0) goto done;
  page = args->output != NULL ? cpli_strdup(ctx, args->output) : page_of(ctx, result);
  xy = cpli_strdup(ctx, args->xy != NULL ? args->xy : "");
  if (page == NULL || xy == NULL) {
    st = cpli_nomem(ctx);
    goto done;
  }
  const char* slash = strrchr(result, '/');
  cpl_view_def def = cpl_default_view_def();
  def.path = page;
  def.title = slash != NULL ? slash + 1 : result;
  def.only = args->only.items;
  def.n_only = args->only.n;
  if (args->xy != NULL) st = split_xy(ctx, table, xy, &def);
  if (st >= 0) st = cpl_view_write(ctx, table, &def);
  if (st >= 0 && args->output == NULL) {
    cli_print_safe(stdout, page);
    fputc('\n', stdout);
  }
done:
  cpli_free(ctx, page);
  cpli_free(ctx, xy);
  cpl_table_destroy(table);
  return st;
}

static int run(void* args, int n_operands, char** operands) {
  (void)n_operands;
  cpl_context* ctx = cli_context(NULL);
  if (ctx == NULL) return CLI_FAILED;
  cpl_status st = show(ctx, args, operands[0]);
  const int code = st < 0 ? cli_report(ctx, st) : CLI_OK;
  cpl_context_destroy(ctx);
  return code;
}

const cli_verb cli_view = {
    .name = "view",
    .operands = "RESULT",
    .summary = "draw a result file as a page for the browser",
    .text =
        "Reads a .csv or .mat file and writes one page that needs nothing else: the columns over "
        "time, one panel a unit, and with --xy one column over another. Columns that never change "
        "are left out unless named.",
    .suffixes = "csv mat",
    .options = options,
    .args_size = sizeof(view_args),
    .run = run,
};
