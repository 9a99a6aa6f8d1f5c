// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The influence of the factors on a result as one table, by the method that the design was made
// for.
#include <math.h>

#include "study/design.h"

static const char* const sobol_columns[] = {"first", "low", "high", "total", "low", "high"};
static const char* const morris_columns[] = {"mu*", "mu", "sigma"};
static const char* const regression_columns[] = {"regression", "rank correlation"};

static cpl_status begin(const cpl_design* d, const char* method, const char* const* columns,
                        size_t n, cpl_influence* out) {
  out->method = method;
  out->columns = columns;
  out->n_columns = n;
  out->values = cpli_alloc(d->ctx, d->def.n_factors, n * sizeof *out->values);
  return out->values != NULL ? CPL_OK : cpli_nomem(d->ctx);
}

static cpl_status take_sobol(const cpl_design* d, const double* y, cpl_influence* out) {
  const size_t n = CPLI_COUNT(sobol_columns);
  cpl_status st = begin(d, "sobol", sobol_columns, n, out);
  cpl_sobol_index* list = cpli_alloc(d->ctx, d->def.n_factors, sizeof *list);
  if (st >= 0) st = list != NULL ? cpl_sobol_indices(d, y, NULL, list) : cpli_nomem(d->ctx);
  for (size_t i = 0; i < d->def.n_factors && st >= 0; i++) {
    const double row[] = {list[i].first, list[i].first_low, list[i].first_high,
                          list[i].total, list[i].total_low, list[i].total_high};
    memcpy(out->values + n * i, row, sizeof row);
  }
  cpli_free(d->ctx, list);
  return st;
}

static cpl_status take_morris(const cpl_design* d, const double* y, cpl_influence* out) {
  const size_t n = CPLI_COUNT(morris_columns);
  cpl_status st = begin(d, "morris", morris_columns, n, out);
  cpl_morris_effect* list = cpli_alloc(d->ctx, d->def.n_factors, sizeof *list);
  if (st >= 0) st = list != NULL ? cpl_morris_effects(d, y, list, NULL) : cpli_nomem(d->ctx);
  for (size_t i = 0; i < d->def.n_factors && st >= 0; i++) {
    const double row[] = {list[i].mean_abs, list[i].mean, list[i].deviation};
    memcpy(out->values + n * i, row, sizeof row);
  }
  cpli_free(d->ctx, list);
  return st;
}

static cpl_status take_regression(const cpl_design* d, const double* y, cpl_influence* out) {
  const size_t n = CPLI_COUNT(regression_columns);
  cpl_status st = begin(d, "regression", regression_columns, n, out);
  cpl_sensitivity* list = cpli_alloc(d->ctx, d->def.n_factors, sizeof *list);
  if (st >= 0)
    st = list != NULL ? cpl_sensitivities(d, y, list, &out->r_squared) : cpli_nomem(d->ctx);
  for (size_t i = 0; i < d->def.n_factors && st >= 0; i++) {
    out->values[n * i] = list[i].regression;
    out->values[n * i + 1] = list[i].correlation;
  }
  cpli_free(d->ctx, list);
  return st;
}

cpl_status cpl_influence_make(const cpl_design* d, const double* y, cpl_influence* out) {
  *out = (cpl_influence){.r_squared = (double)NAN};
  cpl_status st = d->def.kind == CPL_DESIGN_SALTELLI ? take_sobol(d, y, out)
                  : d->def.kind == CPL_DESIGN_MORRIS ? take_morris(d, y, out)
                                                     : take_regression(d, y, out);
  if (st < 0) cpl_influence_free(d->ctx, out);
  return st;
}

void cpl_influence_free(cpl_context* ctx, cpl_influence* influence) {
  if (influence == NULL) return;
  cpli_free(ctx, influence->values);
  *influence = (cpl_influence){0};
}
