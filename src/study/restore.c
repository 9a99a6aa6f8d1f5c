// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The design of a study from its file, for the indices of its results. The values of the factors
// are those of the file; they must be those of the kind of design that the file names.
#include <math.h>
#include <stdlib.h>

#include "study/design.h"
#include "study/factor.h"
#include "study/netcdf.h"

static const cpl_study_fact* find_fact(const cpli_study_facts* facts, const char* name) {
  for (size_t i = 0; i < facts->n_facts; i++) {
    if (strcmp(facts->facts[i].name, name) == 0) return &facts->facts[i];
  }
  return NULL;
}

static cpl_design_kind kind_of(const cpli_study_facts* facts) {
  const cpl_study_fact* fact = find_fact(facts, "design");
  for (int kind = CPL_DESIGN_GRID; kind <= CPL_DESIGN_SALTELLI; kind++) {
    if (fact != NULL && fact->text != NULL &&
        strcmp(fact->text, cpl_design_kind_text((cpl_design_kind)kind)) == 0)
      return (cpl_design_kind)kind;
  }
  return CPL_DESIGN_TABLE;
}

// A base point: A, then A with one factor of B each, then B.
static bool is_saltelli(const cpl_design* d) {
  const int64_t k = (int64_t)d->def.n_factors, length = k + 2;
  if (d->cases % length != 0) return false;
  for (int64_t i = 0; i < d->cases; i++) {
    const int64_t a = i / length * length, b = a + k + 1, matrix = i % length;
    for (int64_t f = 0; f < k; f++) {
      const int64_t from = matrix == k + 1 || matrix == f + 1 ? b : a;
      if (d->rows[i * k + f] != d->rows[from * k + f]) return false;
    }
  }
  return true;
}

// Each factor changes with its own move only. (It need not change: a list may repeat a value.)
static bool is_morris(const cpl_design* d) {
  const int64_t k = (int64_t)d->def.n_factors, length = k + 1;
  const int32_t levels = d->def.levels;
  if (d->cases % length != 0 || levels < 2 || levels > 1000 || levels % 2 != 0) return false;
  for (int64_t t = 0; t < d->cases / length; t++) {
    const cpli_trajectory trajectory = cpli_trajectory_of(d, t);
    for (int64_t f = 0; f < k; f++) {
      const int64_t moves_at = cpli_trajectory_move(&trajectory, (size_t)f).step;
      for (int64_t step = 1; step < length; step++) {
        const double* row = d->rows + (t * length + step) * k;
        if (step != moves_at && row[f] != row[f - k]) return false;
      }
    }
  }
  return true;
}

// Keeps the kind of design only where the cases agree with it.
static void check_kind(cpl_design* d) {
  const int64_t k = (int64_t)d->def.n_factors;
  const bool fine = d->def.kind == CPL_DESIGN_SALTELLI ? is_saltelli(d)
                    : d->def.kind == CPL_DESIGN_MORRIS ? is_morris(d)
                                                       : true;
  if (!fine) {
    cpl_log(d->ctx, CPL_LOG_WARNING, "study",
            "the cases are not those of a design of kind %s: the influence of factors is that of "
            "a regression",
            cpl_design_kind_text(d->def.kind));
    d->def.kind = CPL_DESIGN_TABLE;
  }
  d->def.n = d->def.kind == CPL_DESIGN_SALTELLI ? d->cases / (k + 2)
             : d->def.kind == CPL_DESIGN_MORRIS ? d->cases / (k + 1)
             : d->def.kind == CPL_DESIGN_GRID || d->def.kind == CPL_DESIGN_TABLE ? 0
                                                                                 : d->cases;
}

static cpl_status copy_names(cpl_design* d, const cpli_study_facts* facts) {
  const size_t n = facts->n_factors;
  d->factors = cpli_alloc(d->ctx, n, sizeof *d->factors);
  if (d->factors == NULL) return cpli_nomem(d->ctx);
  d->def.factors = d->factors;
  d->def.n_factors = n;
  cpl_status st = CPL_OK;
  for (size_t i = 0; st >= 0 && i < n; i++) {
    const cpl_factor named = {.name = facts->factors[i].name, .unit = facts->factors[i].unit};
    st = cpli_factor_copy(d->ctx, &named, &d->factors[i]);
  }
  return st;
}

cpl_status cpli_design_restore(cpl_context* ctx, const cpli_study_facts* facts, double* rows,
                               cpl_design** out) {
  const cpl_study_fact *seed = find_fact(facts, "seed"), *levels = find_fact(facts, "levels");
  *out = NULL;
  cpl_design* d = cpli_alloc(ctx, 1, sizeof *d);
  if (d == NULL) {
    cpli_free(ctx, rows);
    return cpli_nomem(ctx);
  }
  d->ctx = ctx;
  d->def = cpl_default_design_def();
  d->def.kind = kind_of(facts);
  d->rows = rows;
  d->cases = facts->cases;
  if (seed != NULL && seed->text != NULL) d->def.seed = strtoull(seed->text, NULL, 10);
  if (levels != NULL && levels->text == NULL && levels->number >= 0 && levels->number <= 1000)
    d->def.levels = (int32_t)levels->number;
  cpl_status st = copy_names(d, facts);
  if (st < 0) {
    cpl_design_destroy(d);
    return st;
  }
  check_kind(d);
  *out = d;
  return CPL_OK;
}
