// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Reads a study for its page, and computes the statistics of its measures.
#include <math.h>

#include "format/source_loc.h"
#include "view/study.h"

const double cpli_shown_probabilities[CPLI_SHOWN_QUANTILES] = {0.05, 0.25, 0.5, 0.75, 0.95};

//------------------------------------ cases ------------------------------------

static cpl_status make_room(cpli_shown_study* s, const char* path, size_t most_values) {
  const cpli_study_facts* f = s->facts;
  const size_t scalars = f->n_factors + f->n_measures, values = f->n_curves * f->n_times;
  if (scalars > 0 && f->cases > CPLI_SHOWN_NUMBERS / (int64_t)scalars)
    return cpli_fail_file(s->ctx, CPL_ERR_INPUT, path,
                          "is too large for a page: %lld cases with %zu factors and measures are "
                          "more than %d numbers",
                          (long long)f->cases, scalars, (int)CPLI_SHOWN_NUMBERS);
  if (values > most_values)
    return cpli_fail_file(s->ctx, CPL_ERR_INPUT, path,
                          "is too large for a page: %zu curves at %zu times are more than %zu "
                          "numbers per case",
                          f->n_curves, f->n_times, most_values);
  const int64_t most = values > 0 ? (int64_t)(most_values / values) : f->cases;
  s->curve_step = (f->cases + most - 1) / most;
  s->curve_cases = (f->cases + s->curve_step - 1) / s->curve_step;
  s->columns = cpli_alloc(s->ctx, (size_t)f->cases, scalars * sizeof *s->columns);
  s->curves = cpli_alloc(s->ctx, (size_t)s->curve_cases, values * sizeof *s->curves);
  return s->columns != NULL && s->curves != NULL ? CPL_OK : cpli_nomem(s->ctx);
}

static cpl_status add_failure(cpli_shown_study* s, int64_t i, const char* reason) {
  if (!cpli_grow(s->ctx, (void**)&s->failures, &s->failures_cap, s->n_failures,
                 sizeof *s->failures))
    return cpli_nomem(s->ctx);
  s->reason_bytes += strlen(reason) + 1;
  const bool kept = s->reason_bytes <= CPLI_SHOWN_REASONS;
  const char* copy = kept ? cpli_arena_strdup(&s->arena, reason) : "";
  s->failures[s->n_failures++] = (cpli_shown_failure){i, copy};
  return copy != NULL ? CPL_OK : cpli_nomem(s->ctx);
}

static cpl_status read_case(cpli_shown_study* s, int64_t i) {
  const cpli_study_facts* f = s->facts;
  const size_t n = (size_t)f->cases, at = (size_t)i, n_times = f->n_times;
  cpli_study_case one;
  cpl_status st = cpli_netcdf_case(s->file, i, &one);
  if (st < 0) return st;
  for (size_t c = 0; c < f->n_factors; c++) s->columns[c * n + at] = one.factors[c];
  for (size_t c = 0; c < f->n_measures; c++)
    s->columns[(f->n_factors + c) * n + at] = one.measures[c];
  for (size_t c = 0; c < f->n_curves && i % s->curve_step == 0; c++) {
    const size_t row = c * (size_t)s->curve_cases + (size_t)(i / s->curve_step);
    memcpy(s->curves + row * n_times, one.curves + c * n_times, n_times * sizeof *s->curves);
  }
  return one.failure[0] != '\0' ? add_failure(s, i, one.failure) : CPL_OK;
}

static cpl_status read_cases(cpli_shown_study* s, const char* path, size_t most_values,
                             cpli_nc_process* process) {
  const int64_t block = cpli_study_block(s->facts);
  cpl_status st = make_room(s, path, most_values);
  for (int64_t i = 0; st >= 0 && i < s->facts->cases; i++) {
    st = read_case(s, i);
    if (st >= 0 && process != NULL && i % block == 0) cpli_nc_answered(process);
    if (st >= 0 && cpli_cancelled(s->ctx)) st = cpli_interrupted(s->ctx, path, (double)NAN);
  }
  if (st >= 0 && s->curve_step > 1)
    cpl_log(s->ctx, CPL_LOG_WARNING, "view",
            "%s: the page has curves of %lld of %lld cases only: of one in %lld", path,
            (long long)s->curve_cases, (long long)s->facts->cases, (long long)s->curve_step);
  return st;
}

//------------------------------------ statistics ------------------------------------

static cpl_status restore_design(cpli_shown_study* s) {
  const size_t n = (size_t)s->facts->cases, k = s->facts->n_factors;
  double* rows = cpli_alloc(s->ctx, n, k * sizeof *rows);
  if (rows == NULL) return cpli_nomem(s->ctx);
  for (size_t c = 0; c < k; c++) {
    for (size_t i = 0; i < n; i++) rows[i * k + c] = s->columns[c * n + i];
  }
  return cpli_design_restore(s->ctx, s->facts, rows, &s->design);
}

static cpl_status evaluate(cpli_shown_study* s, size_t measure) {
  cpli_shown_measure* m = &s->measures[measure];
  const int64_t n = s->facts->cases;
  const double* y = s->columns + (s->facts->n_factors + measure) * (size_t)n;
  for (int64_t i = 0; i < n; i++) cpl_moments_add(&m->moments, y[i]);
  cpl_status st =
      cpl_quantiles(s->ctx, y, n, cpli_shown_probabilities, CPLI_SHOWN_QUANTILES, m->quantiles);
  if (st >= 0) st = cpl_histogram_make(s->ctx, y, n, 0, &m->histogram);
  if (st >= 0 && s->design != NULL) st = cpl_influence_make(s->design, y, &m->influence);
  return st;
}

cpl_status cpli_shown_study_read(cpl_context* ctx, const char* path, size_t most_values,
                                 cpli_nc_process* process, cpli_shown_study* out) {
  *out = (cpli_shown_study){.ctx = ctx};
  cpli_arena_init(&out->arena, ctx);
  cpl_status st = cpli_netcdf_open(ctx, path, &out->file);
  if (st < 0) return st;
  out->facts = cpli_netcdf_facts(out->file);
  st = read_cases(out, path, most_values, process);
  if (st >= 0 && process != NULL) cpli_nc_finished(process);
  if (st >= 0 && out->facts->n_factors > 0) st = restore_design(out);
  out->measures = cpli_alloc(ctx, out->facts->n_measures, sizeof *out->measures);
  if (st >= 0 && out->measures == NULL) st = cpli_nomem(ctx);
  for (size_t i = 0; st >= 0 && i < out->facts->n_measures; i++) st = evaluate(out, i);
  return st;
}

void cpli_shown_study_free(cpli_shown_study* s) {
  for (size_t i = 0; s->measures != NULL && i < s->facts->n_measures; i++) {
    cpl_histogram_free(s->ctx, &s->measures[i].histogram);
    cpl_influence_free(s->ctx, &s->measures[i].influence);
  }
  cpli_free(s->ctx, s->measures);
  cpl_design_destroy(s->design);
  cpli_free(s->ctx, s->columns);
  cpli_free(s->ctx, s->curves);
  cpli_free(s->ctx, s->failures);
  cpli_arena_free(&s->arena);
  cpli_netcdf_close(s->file);
  *s = (cpli_shown_study){0};
}

const cpli_study_column* cpli_shown_column(const cpli_shown_study* s, size_t i) {
  const cpli_study_facts* f = s->facts;
  if (i < f->n_factors) return &f->factors[i];
  i -= f->n_factors;
  if (i < f->n_measures) return &f->measures[i];
  i -= f->n_measures;
  return i < f->n_curves ? &f->curves[i] : NULL;
}
