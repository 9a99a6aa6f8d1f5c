// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Makes designs and computes their cases.
#include "study/design.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>

#include "format/hash.h"
#include "format/scan.h"
#include "format/source_loc.h"
#include "study/factor.h"

static const char* const kinds[] = {
    [CPL_DESIGN_GRID] = "grid",         [CPL_DESIGN_RANDOM] = "random",
    [CPL_DESIGN_LHS] = "lhs",           [CPL_DESIGN_SOBOL] = "sobol",
    [CPL_DESIGN_TABLE] = "table",       [CPL_DESIGN_MORRIS] = "morris",
    [CPL_DESIGN_SALTELLI] = "saltelli",
};
enum { N_KINDS = CPLI_COUNT(kinds) };

const char* cpl_design_kind_text(cpl_design_kind kind) {
  return (size_t)kind < N_KINDS ? kinds[kind] : "unknown";
}

void cpl_init_design_def(cpl_design_def* def, size_t size) {
  const cpl_design_def all = {.size = sizeof all, .kind = CPL_DESIGN_GRID, .seed = 1, .levels = 4};
  cpli_init_def(def, size, &all, sizeof all);
}

//------------------------------------ checks ------------------------------------

static cpl_status check_names(cpl_context* ctx, const cpl_factor* factors, size_t n) {
  cpli_names seen = {0};
  cpl_status st = cpli_names_init(&seen, ctx, n);
  for (size_t i = 0; st >= 0 && i < n; i++) {
    const int32_t first = cpli_names_add(&seen, factors[i].name, (int32_t)i);
    if (first < 0) {
      st = cpli_nomem(ctx);
    } else if (first != (int32_t)i) {
      st = cpl_fail(ctx, CPL_ERR_INPUT, "%s is varied twice", factors[i].name);
    }
  }
  cpli_names_free(&seen);
  return st;
}

// Grids take values, samples take distributions.
static cpl_status check_kind(cpl_context* ctx, const cpl_factor* f, bool grid) {
  char text[256], a[CPLI_NUMBER_SIZE], b[CPLI_NUMBER_SIZE];
  cpl_factor_print(f, text, sizeof text);
  cpli_print_real(f->a, a), cpli_print_real(f->b, b);
  const bool log = f->kind == CPL_FACTOR_LOG_UNIFORM || f->kind == CPL_FACTOR_LOG_GRID;
  const bool range = f->kind == CPL_FACTOR_UNIFORM || log;
  if (grid && cpl_factor_levels(f) == 0) {
    return range ? cpl_fail(ctx, CPL_ERR_INPUT,
                            "%s: a grid needs the number of values: %s%s:%s:COUNT; without it the "
                            "range is a distribution, which needs a number of samples",
                            text, log ? "log:" : "", a, b)
                 : cpl_fail(ctx, CPL_ERR_INPUT,
                            "%s: a distribution needs a number of samples; a grid takes "
                            "FIRST:LAST:COUNT, log:FIRST:LAST:COUNT or a list of values",
                            text);
  }
  if (!grid && (f->kind == CPL_FACTOR_GRID || f->kind == CPL_FACTOR_LOG_GRID)) {
    return cpl_fail(ctx, CPL_ERR_INPUT,
                    "%s: samples take a range without a number of values: %s%s:%s", text,
                    log ? "log:" : "", a, b);
  }
  return CPL_OK;
}

static cpl_status check_factors(cpl_context* ctx, const cpl_design_def* def) {
  if (def->n_factors == 0 || def->factors == NULL)
    return cpl_fail(ctx, CPL_ERR_INPUT, "the design varies nothing: it has no factors");
  if (def->n_factors > INT32_MAX) return cpl_fail(ctx, CPL_ERR_INPUT, "too many factors");
  for (size_t i = 0; i < def->n_factors; i++) {
    const cpl_factor* f = &def->factors[i];
    cpl_status st = cpli_factor_check(ctx, f, f->name != NULL ? f->name : "factor");
    if (st >= 0) st = check_kind(ctx, f, def->kind == CPL_DESIGN_GRID);
    if (st < 0) return st;
  }
  return check_names(ctx, def->factors, def->n_factors);
}

static cpl_status check_def(cpl_context* ctx, const cpl_design_def* def) {
  const bool sampled = def->kind != CPL_DESIGN_GRID && def->kind != CPL_DESIGN_TABLE;
  if ((size_t)def->kind >= N_KINDS) return cpl_fail(ctx, CPL_ERR_INPUT, "unknown kind of design");
  if (sampled && def->n < 1)
    return cpl_fail(ctx, CPL_ERR_INPUT, "the number of %s is %lld; at least one is needed",
                    def->kind == CPL_DESIGN_MORRIS     ? "trajectories"
                    : def->kind == CPL_DESIGN_SALTELLI ? "base points"
                                                       : "samples",
                    (long long)def->n);
  if (def->kind == CPL_DESIGN_MORRIS && (def->levels < 2 || def->levels > 1000 || def->levels % 2))
    return cpl_fail(ctx, CPL_ERR_INPUT, "the number of levels is even, from 2 to 1000, not %d",
                    def->levels);
  if (def->kind != CPL_DESIGN_TABLE) return check_factors(ctx, def);
  if (def->n_factors > 0)
    return cpl_fail(ctx, CPL_ERR_INPUT,
                    "%s: the columns of the table of cases are the factors; none can be added",
                    def->factors[0].name);
  if (def->table == NULL) return cpl_fail(ctx, CPL_ERR_INPUT, "the table of cases is missing");
  return CPL_OK;
}

// The number of cases, a product that may exceed any integer.
static cpl_status count_cases(cpl_design* d) {
  const cpl_design_def* def = &d->def;
  double cases = (double)def->n;
  switch (def->kind) {
    case CPL_DESIGN_GRID:
      cases = 1;
      for (size_t i = 0; i < def->n_factors; i++)
        cases *= (double)cpl_factor_levels(&d->factors[i]);
      break;
    case CPL_DESIGN_TABLE: cases = (double)d->cases; break;
    case CPL_DESIGN_MORRIS: cases *= (double)def->n_factors + 1; break;
    case CPL_DESIGN_SALTELLI: cases *= (double)def->n_factors + 2; break;
    default: break;
  }
  if (!(cases <= (double)CPL_MAX_CASES))
    return cpl_fail(d->ctx, CPL_ERR_INPUT, "the design has %.4g cases; at most %d are possible",
                    cases, CPL_MAX_CASES);
  d->cases = (int64_t)cases;
  return CPL_OK;
}

//------------------------------------ making ------------------------------------

static cpl_status copy_factors(cpl_design* d, const cpl_factor* factors, size_t n) {
  d->factors = cpli_alloc(d->ctx, n, sizeof *d->factors);
  if (d->factors == NULL) return cpli_nomem(d->ctx);
  d->def.factors = d->factors;
  d->def.n_factors = n;
  cpl_status st = CPL_OK;
  for (size_t i = 0; st >= 0 && i < n; i++)
    st = cpli_factor_copy(d->ctx, &factors[i], &d->factors[i]);
  return st;
}

static cpl_status read_table(cpl_design* d, const char* path) {
  cpli_columns columns = {0};
  d->def.table = cpli_strdup(d->ctx, path);
  cpl_status st =
      d->def.table != NULL ? cpli_columns_read(d->ctx, path, NULL, &columns) : cpli_nomem(d->ctx);
  cpl_factor* factors = NULL;
  if (st >= 0) {
    factors = cpli_alloc(d->ctx, columns.n, sizeof *factors);
    if (factors == NULL) st = cpli_nomem(d->ctx);
  }
  for (size_t i = 0; st >= 0 && i < columns.n; i++)
    factors[i] = (cpl_factor){.name = columns.names[i], .unit = columns.units[i]};
  if (st >= 0) st = copy_factors(d, factors, columns.n);
  if (st >= 0) {
    d->rows = columns.values;
    d->cases = columns.rows;
    columns.values = NULL;
  }
  cpli_free(d->ctx, factors);
  cpli_columns_free(&columns);
  return st;
}

static cpl_status make_grid(cpl_design* d) {
  const size_t n = d->def.n_factors;
  d->strides = cpli_alloc(d->ctx, n, sizeof *d->strides);
  if (d->strides == NULL) return cpli_nomem(d->ctx);
  int64_t stride = 1;
  for (size_t i = n; i-- > 0;) {
    d->strides[i] = stride;
    stride *= cpl_factor_levels(&d->factors[i]);
  }
  return CPL_OK;
}

// (stratum + jitter) / n must stay inside its stratum when it is rounded: both share 51 bits.
static cpl_status make_lhs(cpl_design* d) {
  const size_t n = d->def.n_factors;
  d->permutations = cpli_alloc(d->ctx, n, sizeof *d->permutations);
  if (d->permutations == NULL) return cpli_nomem(d->ctx);
  for (size_t i = 0; i < n; i++)
    d->permutations[i] =
        cpli_permutation_make((uint64_t)d->cases, d->def.seed, cpli_stream(CPLI_STREAM_STRATA, i));
  d->jitter_bits = 50;
  for (int64_t cases = d->cases; cases > 1; cases = (cases + 1) / 2) d->jitter_bits--;
  return CPL_OK;
}

static cpl_status make_sobol(cpl_design* d) {
  const bool saltelli = d->def.kind == CPL_DESIGN_SALTELLI;
  const size_t n = d->def.n_factors * (saltelli ? 2 : 1);
  if (n > CPL_MAX_SOBOL)
    return cpl_fail(d->ctx, CPL_ERR_UNSUPPORTED, "%s designs have at most %d factors, not %zu",
                    saltelli ? "Saltelli's" : "Sobol'", CPL_MAX_SOBOL / (saltelli ? 2 : 1),
                    d->def.n_factors);
  d->sobol = cpli_alloc(d->ctx, n, sizeof *d->sobol);
  if (d->sobol == NULL) return cpli_nomem(d->ctx);
  for (size_t i = 0; i < n; i++) {
    cpli_sobol_directions(i, d->sobol[i].directions);
    d->sobol[i].shift = cpli_random_bits(d->def.seed, i, cpli_stream(CPLI_STREAM_SHIFT, 0)).part[0];
  }
  return CPL_OK;
}

// What decides the values: the kind, the seed, the factors with their numbers, the table.
static void make_hash(cpl_design* d) {
  cpli_hash h = cpli_hash_begin();
  const int64_t facts[] = {d->def.kind, d->cases, (int64_t)d->def.seed, d->def.levels,
                           (int64_t)d->def.n_factors};
  cpli_hash_add(&h, facts, sizeof facts);
  for (size_t i = 0; i < d->def.n_factors; i++) {
    const cpl_factor* f = &d->factors[i];
    const double numbers[] = {f->a, f->b, f->c, (double)f->n, f->kind};
    cpli_hash_add(&h, f->name, strlen(f->name) + 1);
    if (f->unit != NULL) cpli_hash_add(&h, f->unit, strlen(f->unit));
    cpli_hash_add(&h, "", 1);
    cpli_hash_add(&h, numbers, sizeof numbers);
    if (f->values != NULL) cpli_hash_add(&h, f->values, (size_t)f->n * sizeof *f->values);
  }
  if (d->rows != NULL)
    cpli_hash_add(&h, d->rows, (size_t)d->cases * d->def.n_factors * sizeof *d->rows);
  d->hash = h.part[0] ^ h.part[1];
}

cpl_status cpl_design_create(cpl_context* ctx, const cpl_design_def* given, cpl_design** out) {
  cpl_design_def def = cpl_default_design_def();
  *out = NULL;
  cpl_status st = cpli_read_def(ctx, "cpl_design_def", given, &def, sizeof def);
  if (st >= 0) st = check_def(ctx, &def);
  if (st < 0) return st;

  cpl_design* d = cpli_alloc(ctx, 1, sizeof *d);
  if (d == NULL) return cpli_nomem(ctx);
  d->ctx = ctx;
  d->def = def;
  d->def.factors = NULL;
  d->def.table = NULL;
  st = def.kind == CPL_DESIGN_TABLE ? read_table(d, def.table)
                                    : copy_factors(d, def.factors, def.n_factors);
  if (st >= 0) st = count_cases(d);
  if (st >= 0 && def.kind == CPL_DESIGN_GRID) st = make_grid(d);
  if (st >= 0 && def.kind == CPL_DESIGN_LHS) st = make_lhs(d);
  if (st >= 0 && (def.kind == CPL_DESIGN_SOBOL || def.kind == CPL_DESIGN_SALTELLI))
    st = make_sobol(d);
  if (st >= 0) make_hash(d);
  if (st < 0) {
    cpl_design_destroy(d);
  } else {
    *out = d;
  }
  return st;
}

void cpl_design_destroy(cpl_design* d) {
  if (d == NULL) return;
  for (size_t i = 0; d->factors != NULL && i < d->def.n_factors; i++)
    cpl_factor_free(d->ctx, &d->factors[i]);
  cpli_free(d->ctx, d->factors);
  cpli_free(d->ctx, (char*)d->def.table);
  cpli_free(d->ctx, d->strides);
  cpli_free(d->ctx, d->permutations);
  cpli_free(d->ctx, d->rows);
  cpli_free(d->ctx, d->sobol);
  cpli_free(d->ctx, d);
}

const cpl_design_def* cpl_design_definition(const cpl_design* d) { return &d->def; }
int64_t cpl_design_cases(const cpl_design* d) { return d->cases; }
uint64_t cpl_design_hash(const cpl_design* d) { return d->hash; }

//------------------------------------ cases ------------------------------------

static double lhs_point(const cpl_design* d, int64_t i, size_t factor) {
  const uint64_t stratum = cpli_permute(&d->permutations[factor], (uint64_t)i);
  const uint64_t bits =
      cpli_random_bits(d->def.seed, (uint64_t)i, cpli_stream(CPLI_STREAM_JITTER, factor)).part[0];
  const double inside = ldexp((double)(bits >> (64 - d->jitter_bits)) + 0.5, -d->jitter_bits);
  return ((double)stratum + inside) / (double)d->cases;
}

static double sobol_point(const cpl_design* d, int64_t i, size_t dimension) {
  const cpli_sobol_dimension* s = &d->sobol[dimension];
  return cpli_sobol_shifted(s->directions, s->shift, (uint64_t)i);
}

static double saltelli_point(const cpl_design* d, int64_t i, size_t factor) {
  const int64_t k = (int64_t)d->def.n_factors, matrix = i % (k + 2);
  const bool of_b = matrix == k + 1 || matrix == (int64_t)factor + 1;
  return sobol_point(d, i / (k + 2), of_b ? (size_t)k + factor : factor);
}

// The coordinate of a factor in the unit cube.
static double point(const cpl_design* d, int64_t i, size_t factor) {
  switch (d->def.kind) {
    case CPL_DESIGN_LHS: return lhs_point(d, i, factor);
    case CPL_DESIGN_SOBOL: return sobol_point(d, i, factor);
    case CPL_DESIGN_SALTELLI: return saltelli_point(d, i, factor);
    default:
      return cpli_unit_interval(
          cpli_random_bits(d->def.seed, (uint64_t)i, cpli_stream(CPLI_STREAM_SAMPLE, factor))
              .part[0]);
  }
}

double cpli_design_value(const cpl_design* d, int64_t i, size_t f) {
  const cpl_factor* factor = &d->factors[f];
  if (d->rows != NULL) return d->rows[(size_t)i * d->def.n_factors + f];
  switch (d->def.kind) {
    case CPL_DESIGN_GRID:
      return cpl_factor_level(factor, i / d->strides[f] % cpl_factor_levels(factor));
    case CPL_DESIGN_MORRIS: {
      const int64_t length = (int64_t)d->def.n_factors + 1;
      const cpli_trajectory t = cpli_trajectory_of(d, i / length);
      return cpli_trajectory_value(&t, i % length, f);
    }
    default: return cpl_factor_quantile(factor, point(d, i, f));
  }
}

void cpl_design_values(const cpl_design* d, int64_t i, double* values) {
  const size_t n = d->def.n_factors;
  assert(i >= 0 && i < d->cases);
  if (d->def.kind == CPL_DESIGN_MORRIS && d->rows == NULL) {  // the order of moves is made once
    const cpli_trajectory t = cpli_trajectory_of(d, i / ((int64_t)n + 1));
    for (size_t f = 0; f < n; f++) values[f] = cpli_trajectory_value(&t, i % ((int64_t)n + 1), f);
  } else {
    for (size_t f = 0; f < n; f++) values[f] = cpli_design_value(d, i, f);
  }
}
