// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The verb `couplet crosscheck`: its options, the order of work, and the results per FMU and per
// group as text or JSON.
#include "crosscheck.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/folder.h"
#include "format/json.h"

typedef struct crosscheck_args {
  const char *only, *settings, *platform;
  double timeout, parallel;
  bool json, isolate, quiet;
} crosscheck_args;

//------------------------------------ summary ------------------------------------

// Counts per version, kind and tool.
typedef struct group {
  const char *version, *kind, *tool;
  int all, load, simulate, match;
} group;

static int compare_groups(const void* a, const void* b) {
  const group *x = a, *y = b;
  int order = strcmp(x->version, y->version);
  if (order == 0) order = strcmp(x->kind, y->kind);
  return order != 0 ? order : strcmp(x->tool, y->tool);
}

static void count(group* g, const xcheck_case* c) {
  g->all++;
  g->load += c->loads;
  g->simulate += c->simulates;
  g->match += c->matches;
}

// *out has one group more than is returned: the last is the sum.
static size_t make_groups(const xcheck* x, group** out) {
  group* groups = *out = calloc(x->n + 1, sizeof *groups);
  size_t n = 0;
  if (groups == NULL) return 0;
  for (size_t i = 0; i < x->n; i++) {
    const xcheck_case* c = &x->cases[i];
    group key = {.version = c->version, .kind = c->kind, .tool = c->tool};
    size_t k = 0;
    while (k < n && compare_groups(&groups[k], &key) != 0) k++;
    if (k == n) groups[n++] = key;
    count(&groups[k], c);
  }
  qsort(groups, n, sizeof *groups, compare_groups);
  for (size_t i = 0; i < x->n; i++) count(&groups[n], &x->cases[i]);
  return n;
}

//------------------------------------ table ------------------------------------

static const char* mark(bool yes) { return yes ? "yes" : "no"; }

static void print_cases(const xcheck* x) {
  size_t width = strlen("FMU");
  for (size_t i = 0; i < x->n; i++) {
    if (strlen(x->cases[i].path) > width) width = strlen(x->cases[i].path);
  }
  printf("%-*s  loads  simulates  matches  seconds  cause\n", (int)width, "FMU");
  for (size_t i = 0; i < x->n; i++) {
    const xcheck_case* c = &x->cases[i];
    cli_print_safe(stdout, c->path);
    printf("%*s  %-5s  %-9s  %-7s  %7.2f%s", (int)(width - strlen(c->path)), "", mark(c->loads),
           mark(c->simulates), mark(c->matches), c->seconds, c->cause[0] != '\0' ? "  " : "");
    cli_print_safe(stdout, c->cause);
    fputc('\n', stdout);
  }
}

static const char* or_dash(const char* text) { return text[0] != '\0' ? text : "-"; }

static void print_group(const group* g, const char* version, const char* kind, const char* tool) {
  printf("%-7s  %-4s  ", version, kind);
  cli_print_safe(stdout, tool);
  printf("%*s  %4d  %5d  %9d  %7d\n", (int)(strlen(tool) < 24 ? 24 - strlen(tool) : 0), "", g->all,
         g->load, g->simulate, g->match);
}

static void print_summary(const xcheck* x) {
  group* groups;
  size_t n = make_groups(x, &groups);
  printf("\nversion  kind  %-24s  FMUs  loads  simulates  matches\n", "tool");
  for (size_t i = 0; i < n; i++) {
    const group* g = &groups[i];
    print_group(g, or_dash(g->version), or_dash(g->kind), or_dash(g->tool));
  }
  if (groups != NULL) print_group(&groups[n], "all", "", "");
  if (x->elsewhere > 0) printf("%zu more are for other platforms\n", x->elsewhere);
  free(groups);
}

//------------------------------------ JSON ------------------------------------

static void json_case(cpli_json* json, const xcheck_case* c) {
  cpli_json_object(json, NULL);
  cpli_json_text(json, "fmu", c->path);
  cpli_json_text(json, "version", c->version);
  cpli_json_text(json, "kind", c->kind);
  cpli_json_text(json, "tool", c->tool);
  cpli_json_boolean(json, "loads", c->loads);
  cpli_json_boolean(json, "simulates", c->simulates);
  cpli_json_boolean(json, "matches", c->matches);
  cpli_json_real(json, "seconds", c->seconds);
  cpli_json_text(json, "cause", c->cause);
  cpli_json_close(json, '}');
}

static void json_group(cpli_json* json, const group* g) {
  cpli_json_object(json, NULL);
  cpli_json_text(json, "version", g->version);
  cpli_json_text(json, "kind", g->kind);
  cpli_json_text(json, "tool", g->tool);
  cpli_json_integer(json, "fmus", g->all);
  cpli_json_integer(json, "load", g->load);
  cpli_json_integer(json, "simulate", g->simulate);
  cpli_json_integer(json, "match", g->match);
  cpli_json_close(json, '}');
}

static void print_json(const xcheck* x) {
  cpli_json json;
  group* groups;
  size_t n = make_groups(x, &groups);
  cpli_json_begin(&json, stdout);
  json.one_line = 3;
  cpli_json_object(&json, NULL);
  cpli_json_text(&json, "folder", x->root);
  cpli_json_integer(&json, "other_platforms", (int64_t)x->elsewhere);
  cpli_json_array(&json, "fmus");
  for (size_t i = 0; i < x->n; i++) json_case(&json, &x->cases[i]);
  cpli_json_close(&json, ']');
  cpli_json_array(&json, "groups");
  for (size_t i = 0; i < n; i++) json_group(&json, &groups[i]);
  cpli_json_close(&json, ']');
  cpli_json_close(&json, '}');
  cpli_json_end(&json);
  free(groups);
}

//------------------------------------ the verb ------------------------------------

static cpl_status check_args(xcheck* x, const crosscheck_args* a) {
  x->timeout = isnan(a->timeout) ? 300 : a->timeout;
  x->parallel = isnan(a->parallel) ? 1 : (int)fmin(a->parallel, 1024);
  if (!(x->timeout > 0))
    return cpl_fail(x->ctx, CPL_ERR_INPUT, "--timeout must be positive, not %g", a->timeout);
  if (x->parallel < 1)
    return cpl_fail(x->ctx, CPL_ERR_INPUT, "--jobs must be at least 1, not %g", a->parallel);
  return CPL_OK;
}

static cpl_status prepare(xcheck* x, const crosscheck_args* a) {
  cpl_status st = cpl_fmu_use_platform(x->ctx, a->platform);
  if (st >= 0) st = check_args(x, a);
  if (st >= 0) st = xcheck_find(x, a->only);
  if (st >= 0 && x->n == 0)
    st = cpl_fail(x->ctx, CPL_ERR_INPUT, "%s: there is no FMU%s%s%s", x->root,
                  x->elsewhere > 0 ? " for this platform" : "",
                  a->only != NULL ? " that fits " : "", a->only != NULL ? a->only : "");
  if (st >= 0 && a->settings != NULL) st = xcheck_read_settings(x, a->settings);
  return st < 0 ? st : cpli_temp_folder_make(x->ctx, &x->folder);
}

static int tell(const xcheck* x, const crosscheck_args* a) {
  if (a->json) {
    print_json(x);
  } else {
    if (!a->quiet) print_cases(x);
    print_summary(x);
  }
  for (size_t i = 0; i < x->n; i++) {
    if (!x->cases[i].matches) return CLI_FAILED;
  }
  return CLI_OK;
}

static void release(xcheck* x) {
  if (x->folder != NULL) cpli_temp_folder_remove(x->ctx, x->folder);
  cpli_free(x->ctx, x->folder);
  for (size_t i = 0; i < x->n; i++) {
    cpl_table_destroy(x->cases[i].wanted);
    cpli_free(x->ctx, x->cases[i].plan.sets);
  }
  cpli_free(x->ctx, x->cases);
  cpli_arena_free(&x->arena);
  cli_end_context(x->ctx);
}

static int run(void* args, int n_operands, char** operands) {
  const crosscheck_args* a = args;
  (void)n_operands;
  xcheck x = {.root = operands[0],
              .platform = a->platform,
              .isolate = a->isolate,
              .progress = isatty(STDERR_FILENO) && !a->quiet};
  x.ctx = cli_context(NULL);
  if (x.ctx == NULL) return cli_usage_error("out of memory");
  cpli_arena_init(&x.arena, x.ctx);
  cpl_status st = prepare(&x, a);
  if (st >= 0 && !xcheck_run(&x)) st = cpl_fail(x.ctx, CPL_ERR_CANCELLED, "interrupted");
  int code = st < 0 ? cli_report(x.ctx, st) : tell(&x, a);
  release(&x);
  return code;
}

#define AT(member) offsetof(crosscheck_args, member)
static const cli_option options[] = {
    {"only", 0, "GLOB", "only FMUs whose path below DIR matches; * also matches /", CLI_TEXT,
     AT(only)},
    {"settings", 0, "FILE", "YAML file with settings that the files of the FMUs lack", CLI_TEXT,
     AT(settings)},
    {"timeout", 0, "SECONDS", "time limit per FMU (default: 300)", CLI_NUMBER, AT(timeout)},
    {"jobs", 'j', "N", "number of FMUs that run at the same time (default: 1)", CLI_NUMBER,
     AT(parallel)},
    {"platform", 0, "NAME", "run the FMUs for this platform, by its binaries (default: this one)",
     CLI_TEXT, AT(platform)},
    {"isolate", 0, NULL, "run the FMUs as couplet run --isolate does", CLI_FLAG, AT(isolate)},
    {"json", 0, NULL, "print the table as JSON", CLI_FLAG, AT(json)},
    {"quiet", 'q', NULL, "print the summary only", CLI_FLAG, AT(quiet)},
    {0},
};

const cli_verb cli_crosscheck = {
    .name = "crosscheck",
    .operands = "DIR",
    .summary = "run all FMUs below a folder and compare them with their references",
    .text =
        "The folder of X.fmu may also contain X_ref.csv (the reference), X_in.csv (inputs) and "
        "X_ref.opt (times, step and tolerance), as in the FMI cross-check repository. In its "
        "layout VERSION/KIND/PLATFORM/TOOL/TOOLVERSION/MODEL, FMUs for other platforms are "
        "omitted (--platform names another one: win64, win32, linux32). Each FMU runs in a process "
        "of its own. It matches when 99 % of the points of "
        "every variable of the reference are within 2 % of its range, with a shift in time of up "
        "to 0.2 % of the run. Exit code 0: all match; 1: some do not.\n\n"
        "  couplet crosscheck fmi-cross-check/fmus -j 4 --only '2.0/*'",
    .suffixes = "",
    .options = options,
    .args_size = sizeof(crosscheck_args),
    .run = run,
};
