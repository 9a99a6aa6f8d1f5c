// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Writes the results of a study from its journal, in the order of the cases and in constant memory:
// CSV with a row per case.
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "format/csv.h"
#include "format/file.h"
#include "format/number.h"
#include "format/source_loc.h"
#include "study/journal.h"
#include "study/study.h"

cpl_status cpli_study_check_output(cpl_context* ctx, const char* path) {
  if (!cpli_ends_with(path, ".csv") && !cpli_ends_with(path, ".nc"))
    return cpli_fail_file(ctx, CPL_ERR_INPUT, path,
                          "results of a study are written as .csv or .nc (NetCDF)");
  cpli_new_file probe;
  cpl_status st = cpli_new_file_open(ctx, path, 0, &probe);
  if (st >= 0) cpli_new_file_discard(&probe);
  return st;
}

static void put_field(FILE* out, const char* text) {
  if (!cpli_csv_needs_quotes(text)) {
    fputs(text, out);
    return;
  }
  fputc('"', out);
  for (const char* c = text; *c != '\0'; c++) {
    if (*c == '"') fputc('"', out);
    fputc(*c, out);
  }
  fputc('"', out);
}

static void put_number(FILE* out, double value) {
  char text[CPLI_NUMBER_SIZE];
  fwrite(text, 1, cpli_format_double(text, value), out);
}

static void write_head(const cpli_study* s, FILE* out) {
  const cpl_design_def* d = cpl_design_definition(s->def.design);
  for (size_t i = 0; i < d->n_factors; i++) {
    put_field(out, d->factors[i].name);
    fputc(',', out);
  }
  for (size_t i = 0; i < s->def.n_measures; i++) {
    put_field(out, s->def.measures[i].name);
    fputc(',', out);
  }
  fputs("failure\n", out);
}

static void write_row(const cpli_study* s, const cpl_study_case* one, FILE* out) {
  for (size_t i = 0; i < s->plan.n_factors; i++) {
    put_number(out, one->factors[i]);
    fputc(',', out);
  }
  for (size_t i = 0; i < s->def.n_measures; i++) {
    if (one->measures != NULL) put_number(out, one->measures[i]);
    fputc(',', out);
  }
  if (one->failure != NULL) put_field(out, one->failure);
  fputc('\n', out);
}

// Calls a function with every case, in their order.
typedef cpl_status case_fn(const cpli_study* s, const cpl_study_case* one, void* user);

static cpl_status for_cases(const cpli_study* s, case_fn* function, void* user) {
  cpli_journal* j = NULL;
  double* factors = cpli_alloc(s->ctx, s->plan.n_factors, sizeof *factors);
  cpl_status st =
      factors != NULL ? cpli_journal_open_read(s->ctx, s->def.journal, &j) : cpli_nomem(s->ctx);
  for (int64_t wanted = 0; st >= 0; wanted++) {
    cpli_case_result one;
    st = cpli_journal_next(j, &one);
    if (st < 0 || (one.i < 0 && wanted == cpl_design_cases(s->def.design))) break;
    if (one.i != wanted) {
      st = cpli_fail_file(s->ctx, CPL_ERR_IO, s->def.journal, "case %lld is missing in it",
                          (long long)wanted);
      break;
    }
    cpl_design_values(s->def.design, one.i, factors);
    const double* curves = one.values != NULL ? one.values + s->def.n_measures : NULL;
    st = function(s, &(cpl_study_case){one.i, factors, one.values, curves, one.failure}, user);
  }
  const cpl_status closed = cpli_journal_close(j);
  cpli_free(s->ctx, factors);
  return st < 0 ? st : closed;
}

static cpl_status to_csv(const cpli_study* s, const cpl_study_case* one, void* user) {
  write_row(s, one, user);
  return CPL_OK;
}

static cpl_status write_csv(const cpli_study* s, const char* path) {
  cpli_new_file file;
  cpl_status st = cpli_new_file_open(s->ctx, path, 0, &file);
  if (st < 0) return st;
  const int copy = dup(file.fd);
  FILE* out = copy >= 0 ? fdopen(copy, "w") : NULL;
  if (out == NULL) {
    if (copy >= 0) close(copy);
    cpli_new_file_discard(&file);
    return cpli_nomem(s->ctx);
  }
  write_head(s, out);
  st = for_cases(s, to_csv, out);
  errno = 0;
  const bool failed = ferror(out) != 0;
  const bool closed = fclose(out) == 0;
  if (st >= 0 && (failed || !closed))
    st = cpli_fail_file(s->ctx, CPL_ERR_IO, path, "cannot be written: %s",
                        errno != 0 ? strerror(errno) : "the disk may be full");
  if (st >= 0) return cpli_new_file_commit(&file);
  cpli_new_file_discard(&file);
  return st;
}

cpl_status cpli_study_write(const cpli_study* s, const char* path) {
  return cpli_ends_with(path, ".nc") ? cpli_study_write_netcdf(s, path) : write_csv(s, path);
}

//------------------------------------ visits ------------------------------------

static cpl_status visit(const cpli_study* s, const cpl_study_case* one, void* user) {
  return s->def.on_case(s->def.user, user, one);
}

cpl_status cpli_study_visit(const cpli_study* s) {
  const cpl_design_def* d = cpl_design_definition(s->def.design);
  const size_t n = s->plan.n_factors, m = s->def.n_measures;
  const char** texts = cpli_alloc(s->ctx, n + 3 * m, sizeof *texts);
  cpl_study_fact facts[CPLI_MAX_FACTS];
  char seed[CPLI_SEED_SIZE];
  if (texts == NULL) return cpli_nomem(s->ctx);
  for (size_t i = 0; i < n; i++) texts[i] = d->factors[i].name;
  for (size_t i = 0; i < m; i++) {
    texts[n + i] = s->def.measures[i].name;
    texts[n + m + i] = s->plan.measures->list[i].unit;
    texts[n + 2 * m + i] = s->def.measures[i].text;
  }
  cpl_study_columns columns = {.n_factors = n,
                               .n_measures = m,
                               .factors = texts,
                               .factor_units = s->factor_units,
                               .measures = texts + n,
                               .measure_units = texts + n + m,
                               .n_curves = s->def.n_curves,
                               .curves = s->def.curves,
                               .curve_units = s->curve_units,
                               .n_times = s->plan.n_times,
                               .times = s->plan.times,
                               .measure_texts = texts + n + 2 * m,
                               .facts = facts,
                               .n_facts = cpli_study_list_facts(s, facts, seed)};
  cpl_status st = for_cases(s, visit, &columns);
  cpli_free(s->ctx, texts);
  return st;
}
