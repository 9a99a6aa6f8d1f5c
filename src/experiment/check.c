// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Findings about any file: those of an FMU's description, the cause of a failure to open it, the
// notes of a system, and defaults that are used.
#include "couplet/check.h"

#include "assemble/strict.h"
#include "couplet/assemble.h"
#include "couplet/component.h"
#include "couplet/experiment.h"
#include "couplet/fmi.h"
#include "couplet/isolate.h"
#include "experiment/experiment.h"
#include "fmi/check.h"
#include "system/ssp.h"

void cpl_init_check_def(cpl_check_def* def, size_t size) {
  const cpl_check_def all = {0};
  cpli_init_def(def, size, &all, sizeof all);
}

static bool is_fmu(const char* path) {
  const char* ending = strrchr(path, '.');
  return !cpl_is_system_path(path) && (ending == NULL || strcmp(ending, ".c") != 0);
}

// Reports add the path and the line, where they are those of the failure.
cpl_finding cpl_finding_of_error(const char* path, const cpl_error* e) {
  const size_t n = strlen(path);
  const bool own = strncmp(e->file, path, n) == 0 &&
                   (e->file[n] == '\0' || strcmp(e->file + n, "/modelDescription.xml") == 0);
  return (cpl_finding){.error = true,
                       .line = own ? e->line : 0,
                       .column = own ? e->column : 0,
                       .rule = "open",
                       .text = own ? e->message : e->text};
}

static void report(const cpl_check_def* def, const cpl_finding* finding) {
  if (def->on_finding != NULL) def->on_finding(def->user, finding);
}

static void report_default(void* user, int32_t line, const char* rule, const char* text) {
  report(user, &(cpl_finding){.line = line, .rule = rule, .text = text});
}

typedef struct ssp_findings {
  const cpl_check_def* def;
  size_t n_errors;
} ssp_findings;

static cpl_status open_fmu(cpl_context* ctx, const cpl_check_def* def, cpl_source** out) {
  cpl_fmu_def fmu = cpl_default_fmu_def();
  fmu.path = def->path;
  return cpl_fmu_open(ctx, &fmu, out);
}

static cpl_status open_other(cpl_context* ctx, const cpl_check_def* def, cpl_source** out) {
  cpl_open_def open = cpl_default_open_def();
  open.path = def->path;
  open.variant = def->variant;
  open.parameters = def->parameters;
  open.n_parameters = def->n_parameters;
  open.call_timeout = def->call_timeout;
  open.isolate = def->isolate || def->call_timeout > 0;
  return cpl_open_any(ctx, &open, out);
}

static bool report_ssp(void* user, bool is_error, const cpli_source_loc* loc, const char* text) {
  ssp_findings* f = user;
  f->n_errors += is_error;
  report(f->def, &(cpl_finding){.error = is_error,
                                .line = loc->line,
                                .column = loc->column,
                                .rule = "ssp",
                                .text = text,
                                .file = loc->file});
  return true;
}

// Every finding about the files of a package is reported, also when it cannot be opened.
static cpl_status open_ssp(cpl_context* ctx, const cpl_check_def* def, cpl_source** out,
                           bool* reported) {
  ssp_findings all = {def, 0};
  const cpli_ssp_findings findings = {report_ssp, &all};
  cpl_ssp_def package = cpl_default_ssp_def();
  cpl_system_def* system = NULL;
  package.path = def->path;
  package.variant = def->variant;
  package.parameters = def->parameters;
  package.n_parameters = def->n_parameters;
  cpl_status st = cpli_def_read_ssp(ctx, &package, &findings, &system);
  *reported = all.n_errors > 0;
  const bool apart = def->isolate || def->call_timeout > 0;
  if (st >= 0 && apart) st = cpl_system_def_isolate(system, true, def->call_timeout);
  if (st >= 0) return cpl_system_build_owned(ctx, system, out);
  cpl_system_def_destroy(system);
  return st;
}

static cpl_status check_fmu(const cpl_check_def* def, cpl_source* source) {
  cpli_findings findings;
  cpli_findings_init(&findings, source->ctx);
  cpl_status st = cpli_fmu_check((cpl_fmu*)source, &findings);
  for (size_t i = 0; i < findings.count && st >= 0; i++) {
    const cpli_finding* f = &findings.items[i];
    const cpl_finding finding = {f->severity == CPLI_ERROR, f->line, f->column, f->rule, f->text};
    report(def, &finding);
  }
  cpli_findings_free(&findings);
  return st;
}

// From here on an FMU, so far read as a file only, is called in another process.
static cpl_status isolate(const cpl_check_def* def, cpl_source** source) {
  if (!def->isolate && !(def->call_timeout > 0)) return CPL_OK;
  cpl_isolate_def how = cpl_default_isolate_def();
  cpl_source* apart = NULL;
  how.call_timeout = def->call_timeout;
  cpl_status st = cpl_isolate(*source, &how, &apart);
  if (st >= 0) *source = apart;
  return st;
}

cpl_status cpl_check(cpl_context* ctx, const cpl_check_def* given, cpl_source** out) {
  cpl_check_def def = cpl_default_check_def();
  cpl_source* source = NULL;
  if (out != NULL) *out = NULL;
  cpl_status st = cpli_read_def(ctx, "cpl_check_def", given, &def, sizeof def);
  if (st < 0) return st;
  const bool fmu = is_fmu(def.path);
  bool reported = false;
  st = fmu                     ? open_fmu(ctx, &def, &source)
       : cpli_is_ssp(def.path) ? open_ssp(ctx, &def, &source, &reported)
                               : open_other(ctx, &def, &source);
  if (st == CPL_ERR_NOMEM || st == CPL_ERR_CANCELLED) return st;
  if (st < 0 && reported) return CPL_OK;
  if (st < 0) {
    const cpl_finding cause = cpl_finding_of_error(def.path, cpl_context_last_error(ctx));
    report(&def, &cause);
    return CPL_OK;
  }
  if (fmu) st = check_fmu(&def, source);
  cpli_check_connectors(source, &def);
  if (fmu && st >= 0) st = isolate(&def, &source);
  for (size_t i = 0; st >= 0 && cpl_system_note(source, i) != NULL; i++)
    report(&def, &(cpl_finding){.rule = "switch", .text = cpl_system_note(source, i)});
  if (st >= 0 && def.strict) cpli_strict(source, report_default, &def);
  if (st >= 0 && out != NULL) *out = source;
  else cpl_source_destroy(source);
  return st;
}
