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

static void write_row(const cpli_study* s, const cpli_case_result* one, double* factors,
                      FILE* out) {
  cpl_design_values(s->def.design, one->i, factors);
  for (size_t i = 0; i < s->plan.n_factors; i++) {
    put_number(out, factors[i]);
    fputc(',', out);
  }
  for (size_t i = 0; i < s->def.n_measures; i++) {
    if (one->values != NULL) put_number(out, one->values[i]);
    fputc(',', out);
  }
  if (one->failure != NULL) put_field(out, one->failure);
  fputc('\n', out);
}

static cpl_status write_rows(const cpli_study* s, cpli_journal* j, double* factors, FILE* out) {
  cpl_status st = CPL_OK;
  for (int64_t wanted = 0; st >= 0; wanted++) {
    cpli_case_result one;
    st = cpli_journal_next(j, &one);
    if (st < 0 || one.i < 0) break;
    if (one.i != wanted)
      return cpli_fail_file(s->ctx, CPL_ERR_IO, s->def.journal, "case %lld is missing in it",
                            (long long)wanted);
    write_row(s, &one, factors, out);
  }
  return st;
}

static cpl_status write_csv(const cpli_study* s, cpli_journal* j, const char* path) {
  cpli_new_file file;
  cpl_status st = cpli_new_file_open(s->ctx, path, 0, &file);
  if (st < 0) return st;
  const int copy = dup(file.fd);
  FILE* out = copy >= 0 ? fdopen(copy, "w") : NULL;
  double* factors = cpli_alloc(s->ctx, s->plan.n_factors, sizeof *factors);
  if (out == NULL || factors == NULL) {
    st = cpli_nomem(s->ctx);
    if (copy >= 0 && out == NULL) close(copy);
  } else {
    write_head(s, out);
    st = write_rows(s, j, factors, out);
  }
  errno = 0;
  const bool bad = out != NULL && (ferror(out) != 0) | (fclose(out) != 0);
  if (bad && st >= 0)
    st = cpli_fail_file(s->ctx, CPL_ERR_IO, path, "cannot be written: %s", strerror(errno));
  cpli_free(s->ctx, factors);
  if (st >= 0) return cpli_new_file_commit(&file);
  cpli_new_file_discard(&file);
  return st;
}

cpl_status cpli_study_write(const cpli_study* s, const char* path) {
  cpli_journal* j = NULL;
  cpl_status st = cpli_journal_open_read(s->ctx, s->def.journal, &j);
  if (st >= 0) st = write_csv(s, j, path);
  const cpl_status closed = cpli_journal_close(j);
  return st < 0 ? st : closed;
}
