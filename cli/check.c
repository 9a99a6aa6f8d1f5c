// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The verb `couplet check`: it collects findings about FMUs, models in C and systems and prints
// them as text or JSON. The test that repeats steps is in check_rollback.c.
#include <math.h>
#include <string.h>

#include "check.h"
#include "couplet/check.h"
#include "couplet/export.h"
#include "fmi/fmu.h"
#include "format/json.h"
#include "format/text.h"
#include "no_run.h"

typedef struct check_args {
  bool json, all, rollback, strict, no_run, platforms;
  cli_isolation isolation;
  cli_package package;
} check_args;

static const char* severity_name(cpli_severity severity) {
  return severity == CPLI_ERROR ? "error" : "warning";
}

static bool is_fmu(const char* path) {
  return !cpl_is_system_path(path) && !cli_ends_with(path, ".c");
}

static void print_finding(FILE* out, const char* path, const cpli_finding* f) {
  bool other = f->file != NULL;
  cpli_print_text(out, other ? f->file : path, 0);
  if (f->line > 0)
    fprintf(out, "%s:%d", is_fmu(path) && !other ? "/modelDescription.xml" : "", f->line);
  if (f->line > 0 && f->column > 0) fprintf(out, ":%d", f->column);
  fprintf(out, ": %s: ", severity_name(f->severity));
  cpli_print_text(out, f->text, 0);
  fprintf(out, " [%s]\n", f->rule);
}

// The number of findings per rule.
typedef struct tally {
  const char* rules[64];
  size_t n[64];
} tally;

static size_t meet(tally* t, const char* rule) {
  size_t i = 0;
  while (i + 1 < 64 && t->rules[i] != NULL && strcmp(t->rules[i], rule) != 0) i++;
  t->rules[i] = rule;
  return ++t->n[i];
}

static size_t count(const cpli_findings* findings, cpli_severity severity) {
  size_t n = 0;
  for (size_t i = 0; i < findings->count; i++) n += findings->items[i].severity == severity;
  return n;
}

static void print_summary(FILE* out, const char* path, size_t errors, size_t warnings) {
  cpli_print_text(out, path, 0);
  if (errors + warnings == 0) {
    fputs(": no findings\n", out);
  } else {
    fprintf(out, ": %zu error%s, %zu warning%s\n", errors, errors == 1 ? "" : "s", warnings,
            warnings == 1 ? "" : "s");
  }
}

static void print_text(FILE* out, const char* path, const cpli_findings* findings, bool all) {
  enum { SHOWN = 10 };  // of one rule; the same mistake is often made for every variable
  tally met = {0};
  size_t hidden = 0;
  for (size_t i = 0; i < findings->count; i++) {
    bool warning = findings->items[i].severity == CPLI_WARNING;
    if (warning && meet(&met, findings->items[i].rule) > SHOWN && !all) {
      hidden++;
    } else {
      print_finding(out, path, &findings->items[i]);
    }
  }
  if (hidden > 0) fprintf(out, "... and %zu more of the same kinds (--all shows them)\n", hidden);
  print_summary(out, path, count(findings, CPLI_ERROR), count(findings, CPLI_WARNING));
}

static void print_json(FILE* out, const char* path, const cpli_findings* findings) {
  cpli_json json;
  cpli_json_begin(&json, out);
  json.one_line = 3;
  cpli_json_object(&json, NULL);
  cpli_json_text(&json, "file", path);
  cpli_json_integer(&json, "errors", (int64_t)count(findings, CPLI_ERROR));
  cpli_json_integer(&json, "warnings", (int64_t)count(findings, CPLI_WARNING));
  cpli_json_array(&json, "findings");
  for (size_t i = 0; i < findings->count; i++) {
    const cpli_finding* f = &findings->items[i];
    cpli_json_object(&json, NULL);
    cpli_json_text(&json, "severity", severity_name(f->severity));
    if (f->file != NULL) cpli_json_text(&json, "file", f->file);
    if (f->line > 0) cpli_json_integer(&json, "line", f->line);
    if (f->column > 0) cpli_json_integer(&json, "column", f->column);
    cpli_json_text(&json, "rule", f->rule);
    cpli_json_text(&json, "text", f->text);
    cpli_json_close(&json, '}');
  }
  cpli_json_close(&json, ']');
  cpli_json_close(&json, '}');
  cpli_json_end(&json);
}

static void add_finding(void* user, const cpl_finding* f) {
  cpli_findings* findings = user;
  cpli_findings_add(findings, f->error ? CPLI_ERROR : CPLI_WARNING, f->line, f->rule, "%s",
                    f->text);
  if (findings->incomplete) return;
  cpli_finding* added = &findings->items[findings->count - 1];
  added->column = f->column;
  if (f->file != NULL) added->file = cpli_strdup(findings->ctx, f->file);
}

// Without model code: a model in C, or a system.
static cpl_status check_no_run(cpl_context* ctx, const char* path, const cli_package* package,
                               cpli_findings* findings) {
  cpl_status st = no_run_check(ctx, path, package);
  if (st >= 0 || st == CPL_ERR_NOMEM || st == CPL_ERR_CANCELLED) return st;
  const cpl_finding cause = cpl_finding_of_error(path, cpl_context_last_error(ctx));
  add_finding(findings, &cause);
  return CPL_OK;
}

// Which of the binaries of an FMU would run here.
static int print_platforms(cpl_context* ctx, const char* path, const check_args* args) {
  cpl_fmu_def def = cpl_default_fmu_def();
  cpl_source* src = NULL;
  cpli_json json;
  char text[512];
  def.path = path;
  cpl_status st = is_fmu(path) ? cpl_fmu_open(ctx, &def, &src)
                               : cpl_fail(ctx, CPL_ERR_INPUT, "%s: --platforms is for FMUs", path);
  if (st < 0) return cli_report(ctx, st);
  const cpl_fmu* fmu = (const cpl_fmu*)src;
  if (args->json) {
    cpli_json_begin(&json, stdout);
    cpli_json_object(&json, NULL);
    cpli_json_text(&json, "file", path);
    cpli_json_object(&json, "platforms");
  }
  for (int32_t i = 0; i < fmu->n_platforms; i++) {
    cpl_fmu_platform_text(src, fmu->platforms[i], text, sizeof text);
    if (args->json) {
      cpli_json_text(&json, fmu->platforms[i], text);
    } else {
      cpli_print_text(stdout, path, 0);
      printf(": %-15s ", fmu->platforms[i]);
      cpli_print_text(stdout, text, 0);
      fputc('\n', stdout);
    }
  }
  if (!args->json && fmu->has_sources) {
    cpli_print_text(stdout, path, 0);
    printf(": %-15s runs where it can be compiled for this machine\n", "sources");
  }
  if (args->json) {
    cpli_json_close(&json, '}');
    cpli_json_boolean(&json, "sources", fmu->has_sources);
    cpli_json_close(&json, '}');
    cpli_json_end(&json);
  }
  cpl_source_destroy(src);
  return CLI_OK;
}

static int check_file(cpl_context* ctx, const char* path, const check_args* args) {
  if (args->platforms) return print_platforms(ctx, path, args);
  cpl_check_def def = cpl_default_check_def();
  cpl_source* src = NULL;
  cpli_findings findings;
  cpli_findings_init(&findings, ctx);
  def.path = path;
  def.strict = args->strict;
  def.isolate = args->isolation.on;
  if (!isnan(args->isolation.call_timeout)) def.call_timeout = args->isolation.call_timeout;
  def.variant = args->package.variant;
  def.parameters = args->package.parameters.items;
  def.n_parameters = args->package.parameters.n;
  def.on_finding = add_finding;
  def.user = &findings;
  cpl_status st = cpl_fmu_use_platform(ctx, args->isolation.platform);
  if (st >= 0)
    st = args->no_run && !is_fmu(path) ? check_no_run(ctx, path, &args->package, &findings)
                                       : cpl_check(ctx, &def, &src);
  if (st >= 0 && is_fmu(path) && src != NULL && !args->no_run) st = cpl_fmu_check_system(ctx, &def);
  if (st >= 0 && findings.incomplete) st = cpl_fail(ctx, CPL_ERR_NOMEM, "out of memory");
  if (st >= 0 && args->rollback && src != NULL && count(&findings, CPLI_ERROR) == 0)
    st = check_rollback(ctx, src, &findings);
  int code = CLI_OK;
  if (st < 0) {
    code = cli_report(ctx, st);
  } else {
    if (args->json) print_json(stdout, path, &findings);
    if (!args->json) print_text(stdout, path, &findings, args->all);
    if (count(&findings, CPLI_ERROR) > 0) code = CLI_USAGE;
  }
  cpli_findings_free(&findings);
  cpl_source_destroy(src);
  return code;
}

static int run_check(void* user, int n_operands, char** operands) {
  const check_args* args = user;
  int code = CLI_OK;
  if (args->rollback && args->no_run)
    return cli_usage_error("check: --rollback runs the model, and --no-run does not");
  for (int i = 0; i < n_operands; i++) {
    // warnings of opening an FMU are among the findings
    cpl_context* ctx = cli_context(is_fmu(operands[i]) && !args->rollback ? "error" : NULL);
    if (ctx == NULL) return CLI_FAILED;
    int one = check_file(ctx, operands[i], args);
    if (one > code) code = one;
    cli_end_context(ctx);
  }
  return code;
}

static const cli_option options[] = {
    {.name = "all",
     .help = "show every finding, also many of the same kind",
     .kind = CLI_FLAG,
     .offset = offsetof(check_args, all)},
    {.name = "rollback",
     .help = "roll steps back and repeat them: every variable must have the same bits",
     .kind = CLI_FLAG,
     .offset = offsetof(check_args, rollback)},
    {.name = "strict",
     .help = "also warn about defaults: unconnected inputs, a stop time, tolerance or solver that "
             "is not given, start values outside of their ranges",
     .kind = CLI_FLAG,
     .offset = offsetof(check_args, strict)},
    {.name = "platforms",
     .help = "of FMUs: only say which of their binaries run on this machine, and how",
     .kind = CLI_FLAG,
     .offset = offsetof(check_args, platforms)},
    {.name = "json",
     .help = "write the findings as JSON",
     .kind = CLI_FLAG,
     .offset = offsetof(check_args, json)},
    CLI_NO_RUN(check_args),
    CLI_PACKAGE(check_args),
    CLI_ISOLATION(check_args),
    {0},
};

const cli_verb cli_check = {
    .name = "check",
    .operands = "FILE...",
    .summary = "look for errors in an FMU or a system",
    .text =
        "Opens an .fmu (or a folder with an unpacked one), reads its description and checks the "
        "rules of the standard. Errors prevent the simulation with couplet; all other findings are "
        "warnings. Each finding names the line in modelDescription.xml and, in brackets, its rule. "
        "In a system (.yaml, .ssp) it checks names, types, units and expressions, and lists "
        "variables "
        "that transitions between modes leave at start values, and modes that no transition leads "
        "to. Of an FMU that couplet made of a system, the system and its FMUs are checked, too. "
        "The "
        "exit code is 2 when there are errors. Models in C are compiled, loaded and "
        "called, and the FMUs of a system are loaded. With --no-run no model code is executed: the "
        "system file and the descriptions of its FMUs are checked, and models in C are "
        "compiled.\n\n"
        "With --rollback the model (an FMU, a model in C or a system) is also run: the state is "
        "saved, a step is taken, the state is restored and the step repeated, ten times. Variables "
        "that then differ are errors: a master that rolls back would get different results.",
    .suffixes = "fmu c yaml ssp ssd",
    .options = options,
    .args_size = sizeof(check_args),
    .run = run_check,
};
