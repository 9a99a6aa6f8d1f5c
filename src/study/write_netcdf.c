// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The results of a study as a NetCDF file, from its journal.
#include <math.h>
#include <stdio.h>

#include "format/source_loc.h"
#include "study/journal.h"
#include "study/netcdf.h"
#include "study/study.h"

typedef struct source {
  const cpli_study* study;
  cpli_journal* journal;
  double* factors;
  double* missing;  // the values of a case that failed
} source;

static cpl_status next_case(void* user, int64_t i, cpli_study_case* out) {
  source* from = user;
  const cpli_study* s = from->study;
  cpli_case_result one;
  cpl_status st = cpli_journal_next(from->journal, &one);
  if (st < 0) return st;
  if (one.i != i)
    return cpli_fail_file(s->ctx, CPL_ERR_IO, s->def.journal, "case %lld is missing in it",
                          (long long)i);
  cpl_design_values(s->def.design, i, from->factors);
  const double* values = one.values != NULL ? one.values : from->missing;
  *out = (cpli_study_case){.factors = from->factors,
                           .measures = values,
                           .curves = values + s->def.n_measures,
                           .failure = one.failure != NULL ? one.failure : ""};
  return CPL_OK;
}

static const char* file_name(const cpli_study* s) {
  const char* path = s->plan.settings.path;
  const char* slash = path != NULL ? strrchr(path, '/') : NULL;
  return slash != NULL ? slash + 1 : path != NULL ? path : s->title;
}

size_t cpli_study_list_facts(const cpli_study* s, cpl_study_fact facts[CPLI_MAX_FACTS],
                             char seed[CPLI_SEED_SIZE]) {
  const cpl_design_def* d = cpl_design_definition(s->def.design);
  const cpl_experiment_def* e = s->plan.settings.experiment;
  size_t n = 0;
  snprintf(seed, CPLI_SEED_SIZE, "%llu", (unsigned long long)d->seed);
  facts[n++] = (cpl_study_fact){.name = "title", .text = s->title};
  facts[n++] = (cpl_study_fact){.name = "couplet_version", .text = CPL_VERSION};
  facts[n++] = (cpl_study_fact){.name = "file", .text = file_name(s)};
  facts[n++] = (cpl_study_fact){.name = "design", .text = cpl_design_kind_text(d->kind)};
  facts[n++] = (cpl_study_fact){.name = "seed", .text = seed};
  if (d->kind == CPL_DESIGN_MORRIS)
    facts[n++] = (cpl_study_fact){.name = "levels", .number = d->levels};
  facts[n++] = (cpl_study_fact){.name = "start_time", .number = s->plan.start};
  facts[n++] = (cpl_study_fact){.name = "stop_time", .number = s->plan.stop};
  facts[n++] = (cpl_study_fact){.name = "study", .text = s->identity};
  if (e != NULL && e->solver != NULL)
    facts[n++] = (cpl_study_fact){.name = "solver", .text = e->solver};
  if (e != NULL && !isnan(e->rtol))
    facts[n++] = (cpl_study_fact){.name = "relative_tolerance", .number = e->rtol};
  return n;
}

// Columns: factors, measures, curves.
static void fill_columns(const cpli_study* s, cpli_study_column* columns) {
  const cpl_design_def* d = cpl_design_definition(s->def.design);
  for (size_t i = 0; i < d->n_factors; i++)
    *columns++ = (cpli_study_column){.name = d->factors[i].name, .unit = s->factor_units[i]};
  for (size_t i = 0; i < s->def.n_measures; i++)
    *columns++ = (cpli_study_column){.name = s->def.measures[i].name,
                                     .unit = s->plan.measures->list[i].unit,
                                     .description = s->def.measures[i].text};
  for (size_t i = 0; i < s->def.n_curves; i++)
    *columns++ = (cpli_study_column){.name = s->def.curves[i], .unit = s->curve_units[i]};
}

static void fill_shape(const cpli_study* s, int64_t* shape) {
  const cpl_design_def* d = cpl_design_definition(s->def.design);
  for (size_t i = 0; i < d->n_factors; i++) shape[i] = cpl_factor_levels(&d->factors[i]);
}

cpl_status cpli_study_write_netcdf(const cpli_study* s, const char* path) {
  const cpl_design_def* d = cpl_design_definition(s->def.design);
  const size_t n = d->n_factors, values = cpli_study_values(&s->plan);
  const size_t n_columns = n + s->def.n_measures + s->def.n_curves;
  cpl_study_fact facts[CPLI_MAX_FACTS];
  char seed[CPLI_SEED_SIZE];
  source from = {.study = s,
                 .factors = cpli_alloc(s->ctx, n, sizeof(double)),
                 .missing = cpli_alloc(s->ctx, values, sizeof(double))};
  cpli_study_column* columns = cpli_alloc(s->ctx, n_columns, sizeof *columns);
  int64_t* shape = cpli_alloc(s->ctx, n, sizeof *shape);
  cpl_status st = CPL_OK;
  if (from.factors == NULL || from.missing == NULL || columns == NULL || shape == NULL)
    st = cpli_nomem(s->ctx);
  if (st >= 0) st = cpli_journal_open_read(s->ctx, s->def.journal, &from.journal);
  if (st >= 0) {
    for (size_t i = 0; i < values; i++) from.missing[i] = NAN;
    fill_columns(s, columns);
    fill_shape(s, shape);
    const cpli_study_facts all = {.cases = cpl_design_cases(s->def.design),
                                  .factors = columns,
                                  .n_factors = n,
                                  .measures = columns + n,
                                  .n_measures = s->def.n_measures,
                                  .curves = columns + n + s->def.n_measures,
                                  .n_curves = s->def.n_curves,
                                  .times = s->plan.times,
                                  .n_times = s->plan.n_times,
                                  .shape = d->kind == CPL_DESIGN_GRID ? shape : NULL,
                                  .facts = facts,
                                  .n_facts = cpli_study_list_facts(s, facts, seed)};
    st = cpli_netcdf_write(s->ctx, path, &all, next_case, &from);
  }
  const cpl_status closed = cpli_journal_close(from.journal);
  cpli_free(s->ctx, from.factors);
  cpli_free(s->ctx, from.missing);
  cpli_free(s->ctx, columns);
  cpli_free(s->ctx, shape);
  return st < 0 ? st : closed;
}
