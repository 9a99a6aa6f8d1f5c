// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Statistics of a study, printed behind its summary.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "sweep.h"

//------------------------------------ memory ------------------------------------

static char** copies_of(const char* const* names, size_t n) {
  char** list = calloc(n + 1, sizeof *list);
  for (size_t i = 0; i < n && list != NULL; i++) {
    list[i] = strdup(names[i]);
    if (list[i] == NULL) return list;
  }
  return list;
}

static bool is_complete(char* const* list, size_t n) {
  for (size_t i = 0; list != NULL && i < n; i++)
    if (list[i] == NULL) return false;
  return list != NULL;
}

static cpl_status begin(study_results* r, cpl_context* ctx, const cpl_design* design,
                        const cpl_study_columns* columns) {
  r->n_factors = columns->n_factors;
  r->n_measures = columns->n_measures;
  r->n_cases = cpl_design_cases(design);
  r->factors = copies_of(columns->factors, r->n_factors);
  r->measures = copies_of(columns->measures, r->n_measures);
  r->values = calloc((size_t)r->n_cases * r->n_measures + 1, sizeof *r->values);
  const bool fine = is_complete(r->factors, r->n_factors) &&
                    is_complete(r->measures, r->n_measures) && r->values != NULL;
  return fine ? CPL_OK : cpl_fail(ctx, CPL_ERR_NOMEM, "out of memory");
}

cpl_status study_results_add(study_results* r, cpl_context* ctx, const cpl_design* design,
                             const cpl_study_columns* columns, const cpl_study_case* one) {
  cpl_status st = r->values == NULL ? begin(r, ctx, design, columns) : CPL_OK;
  for (size_t m = 0; m < r->n_measures && st >= 0; m++)
    r->values[(int64_t)m * r->n_cases + one->i] = one->measures != NULL ? one->measures[m] : NAN;
  return st;
}

static void free_names(char** list) {
  for (char** name = list; name != NULL && *name != NULL; name++) free(*name);
  free(list);
}

void study_results_free(study_results* r) {
  free_names(r->factors);
  free_names(r->measures);
  free(r->values);
  *r = (study_results){0};
}

//------------------------------------ summaries ------------------------------------

enum { N_QUANTILES = 5 };
static const double probabilities[N_QUANTILES] = {0.05, 0.25, 0.5, 0.75, 0.95};
static const char* const quantile_names[N_QUANTILES] = {"5 %", "25 %", "50 %", "75 %", "95 %"};

typedef struct summary {
  cpl_moments moments;
  double quantiles[N_QUANTILES];
} summary;

static const double* values_of(const study_results* r, size_t measure) {
  return r->values + (int64_t)measure * r->n_cases;
}

static cpl_status summarize(const study_results* r, cpl_context* ctx, size_t measure,
                            summary* out) {
  *out = (summary){0};
  const double* y = values_of(r, measure);
  for (int64_t i = 0; i < r->n_cases; i++) cpl_moments_add(&out->moments, y[i]);
  return cpl_quantiles(ctx, y, r->n_cases, probabilities, N_QUANTILES, out->quantiles);
}

//------------------------------------ print ------------------------------------

static void print_summaries(const study_results* r, cpl_context* ctx, FILE* out, int width) {
  fprintf(out, "\n%-*s %11s %11s %11s", width, "measure", "mean", "deviation", "least");
  for (size_t q = 0; q < N_QUANTILES; q++) fprintf(out, " %11s", quantile_names[q]);
  fprintf(out, " %11s\n", "greatest");
  for (size_t m = 0; m < r->n_measures; m++) {
    summary s;
    if (summarize(r, ctx, m, &s) < 0) return;
    cli_print_safe(out, r->measures[m]);
    fprintf(out, "%*s %11.5g %11.5g %11.5g", width - (int)strlen(r->measures[m]), "",
            s.moments.mean, cpl_moments_deviation(&s.moments), s.moments.least);
    for (size_t q = 0; q < N_QUANTILES; q++) fprintf(out, " %11.5g", s.quantiles[q]);
    fprintf(out, " %11.5g\n", s.moments.greatest);
  }
}

static void print_influence(const study_results* r, const cpl_influence* in, const char* measure,
                            FILE* out, int width) {
  fputs("\ninfluence on ", out);
  cli_print_safe(out, measure);
  if (!isnan(in->r_squared)) fprintf(out, " (linear: R2 = %.3f)", in->r_squared);
  fprintf(out, "\n%*s", width, "");
  for (size_t c = 0; c < in->n_columns; c++) fprintf(out, " %16s", in->columns[c]);
  fputc('\n', out);
  for (size_t f = 0; f < r->n_factors; f++) {
    cli_print_safe(out, r->factors[f]);
    fprintf(out, "%*s", width - (int)strlen(r->factors[f]), "");
    for (size_t c = 0; c < in->n_columns; c++)
      fprintf(out, " %16.4g", in->values[f * in->n_columns + c]);
    fputc('\n', out);
  }
}

static int width_of(char* const* names, size_t n) {
  size_t width = 8;
  for (size_t i = 0; i < n; i++) width = strlen(names[i]) > width ? strlen(names[i]) : width;
  return (int)width;
}

void study_results_print(const study_results* r, cpl_context* ctx, const cpl_design* design,
                         FILE* out) {
  if (r->values == NULL) return;
  print_summaries(r, ctx, out, width_of(r->measures, r->n_measures));
  for (size_t m = 0; m < r->n_measures; m++) {
    cpl_influence in;
    if (cpl_influence_make(design, values_of(r, m), &in) < 0) continue;
    print_influence(r, &in, r->measures[m], out, width_of(r->factors, r->n_factors));
    cpl_influence_free(ctx, &in);
  }
}

//------------------------------------ JSON ------------------------------------

static void json_influence(const study_results* r, const cpl_influence* in, cpli_json* j) {
  cpli_json_object(j, "influence");
  for (size_t f = 0; f < r->n_factors; f++) {
    cpli_json_object(j, r->factors[f]);
    for (size_t c = 0; c < in->n_columns; c++) {
      // the ends of an interval follow their value
      char key[64];
      const bool end = strcmp(in->columns[c], "low") == 0 || strcmp(in->columns[c], "high") == 0;
      snprintf(key, sizeof key, "%s%s%s", end ? in->columns[c / 3 * 3] : "", end ? "_" : "",
               in->columns[c]);
      cpli_json_real(j, key, in->values[f * in->n_columns + c]);
    }
    cpli_json_close(j, '}');
  }
  cpli_json_close(j, '}');
  if (!isnan(in->r_squared)) cpli_json_real(j, "r_squared", in->r_squared);
}

void study_results_json(const study_results* r, cpl_context* ctx, const cpl_design* design,
                        cpli_json* j) {
  if (r->values == NULL) return;
  cpli_json_object(j, "measures");
  for (size_t m = 0; m < r->n_measures; m++) {
    summary s;
    cpl_influence in;
    if (summarize(r, ctx, m, &s) < 0) break;
    cpli_json_object(j, r->measures[m]);
    cpli_json_integer(j, "n", s.moments.n);
    cpli_json_real(j, "mean", s.moments.mean);
    cpli_json_real(j, "deviation", cpl_moments_deviation(&s.moments));
    cpli_json_real(j, "least", s.moments.least);
    cpli_json_real(j, "greatest", s.moments.greatest);
    cpli_json_object(j, "quantiles");
    for (size_t q = 0; q < N_QUANTILES; q++) cpli_json_real(j, quantile_names[q], s.quantiles[q]);
    cpli_json_close(j, '}');
    if (cpl_influence_make(design, values_of(r, m), &in) >= 0) {
      json_influence(r, &in, j);
      cpl_influence_free(ctx, &in);
    }
    cpli_json_close(j, '}');
  }
  cpli_json_close(j, '}');
}
