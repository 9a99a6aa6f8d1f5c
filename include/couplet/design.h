// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Designs of experiments: which values the factors (varied parameters) have in each case of a
// study, and the statistics of the results. A design is frozen and small: any case is computed from
// its number, so that a million cases need no memory, and threads share one design.
//
//   cpl_factor factors[2] = {0};
//   cpl_design_def def = cpl_default_design_def();
//   def.kind = CPL_DESIGN_LHS;
//   def.n = 1000;
//   def.factors = factors;
//   def.n_factors = 2;
//   cpl_design* design = NULL;
//   cpl_status st = cpl_factor_read(ctx, "spring.k=normal:10:1", NULL, &factors[0]);
//   if (st >= 0) st = cpl_factor_read(ctx, "damper.d=0.1:0.5", NULL, &factors[1]);
//   if (st >= 0) st = cpl_design_create(ctx, &def, &design);
//   for (int64_t i = 0; st >= 0 && i < cpl_design_cases(design); i++) {
//     double values[2];
//     cpl_design_values(design, i, values);
//     ...
//   }
//   cpl_design_destroy(design);
//   for (int i = 0; i < 2; i++) cpl_factor_free(ctx, &factors[i]);
#pragma once

#include "couplet/base.h"

#ifdef __cplusplus
extern "C" {
#endif

//------------------------------------ factors ------------------------------------

typedef enum cpl_factor_kind {
  CPL_FACTOR_VALUE,        ///< a
  CPL_FACTOR_LIST,         ///< values[n]; samples take each with the same probability
  CPL_FACTOR_GRID,         ///< n values from a to b at equal distances
  CPL_FACTOR_LOG_GRID,     ///< n values from a to b with equal ratios
  CPL_FACTOR_UNIFORM,      ///< uniform between a and b
  CPL_FACTOR_LOG_UNIFORM,  ///< the logarithm is uniform; from a to b
  CPL_FACTOR_NORMAL,       ///< mean a, standard deviation b
  CPL_FACTOR_LOGNORMAL,    ///< the natural logarithm has mean a and standard deviation b
  CPL_FACTOR_TRIANGULAR,   ///< least a, mode b, greatest c
  CPL_FACTOR_SAMPLES,      ///< quantiles interpolated linearly between values[n], which increase
} cpl_factor_kind;

/// A parameter that is varied, with its values or its distribution.
typedef struct cpl_factor {
  const char* name;
  const char* unit;  ///< of all its numbers. Nullable: the parameter's own.
  cpl_factor_kind kind;
  double a, b, c;
  int64_t n;             ///< number of values on a grid, in a list, or of samples
  const double* values;  ///< of a list or of samples; NULL for other kinds
} cpl_factor;

/// Read a factor from its text, NAME=VALUES:
///
///   5                              one value
///   1,2,5   or   list:1,2,5        these values
///   FIRST:LAST:COUNT               a linear grid
///   log:FIRST:LAST:COUNT           a geometric grid
///   LEAST:GREATEST                 uniformly distributed; also uniform:LEAST:GREATEST
///   log:LEAST:GREATEST             its logarithm is uniformly distributed
///   normal:MEAN:DEVIATION
///   lognormal:MU:SIGMA             exp(normal:MU:SIGMA)
///   triangular:LEAST:MODE:GREATEST
///   table:FILE[:COLUMN]            the distribution of the numbers in a column of a CSV file,
///                                  which has the name of the factor unless COLUMN is given
///
/// A number may be followed by a unit ("20 degC:40 degC:5"); all units of a factor are the same.
/// true and false are 1 and 0. A name with "=", and a file or column with ":", stands in single
/// quotes, in which a single quote is written twice.
/// Owned:    *out by the caller, who calls cpl_factor_free(), not needed after a failure.
/// Nullable: folder, where files of tables are; NULL: the current one
/// Returns:  CPL_ERR_INPUT with the text and what is expected; *out is then empty.
CPL_API cpl_status cpl_factor_read(cpl_context* ctx, const char* text, const char* folder,
                                   cpl_factor* out);
/// Only for factors made by cpl_factor_read().
CPL_API void cpl_factor_free(cpl_context* ctx, cpl_factor* factor);  ///< Nullable: factor

/// The text of a factor, as cpl_factor_read() takes it. Samples of a table are written as
/// "table:" and their number, since the factor does not have the name of the file.
/// Returns: the length of the whole text; `out` has at most size - 1 bytes of it.
CPL_API size_t cpl_factor_print(const cpl_factor* factor, char* out, size_t size);

/// The number of values on a grid or in a list; 0: the factor has a distribution.
CPL_API int64_t cpl_factor_levels(const cpl_factor* factor);
/// The i-th of them, from 0.
CPL_API double cpl_factor_level(const cpl_factor* factor, int64_t i);

/// The value that is exceeded with probability 1 - p. For p = 0 and p = 1 the ends, which may be
/// infinite.
CPL_API double cpl_factor_quantile(const cpl_factor* factor, double p);

//------------------------------------ designs ------------------------------------

typedef enum cpl_design_kind {
  CPL_DESIGN_GRID,      ///< every combination of values; the first factor varies slowest
  CPL_DESIGN_RANDOM,    ///< n independent samples
  CPL_DESIGN_LHS,       ///< Latin hypercube: each factor has one sample in each n-th of its range
  CPL_DESIGN_SOBOL,     ///< the first n points of a Sobol' sequence with a random digital shift
  CPL_DESIGN_TABLE,     ///< the rows of a CSV file, whose columns are the factors
  CPL_DESIGN_MORRIS,    ///< n trajectories of one case more than there are factors
  CPL_DESIGN_SALTELLI,  ///< for Sobol' indices, of n base points: n * (factors + 2) cases
} cpl_design_kind;

enum {
  CPL_MAX_CASES = 1000000000,  ///< of a design
  CPL_MAX_SOBOL = 512,         ///< factors of CPL_DESIGN_SOBOL; half as many of CPL_DESIGN_SALTELLI
};

/// How to make a design. Start from cpl_default_design_def(), then change what you need.
typedef struct cpl_design_def {
  size_t size;                ///< set by cpl_default_design_def()
  cpl_design_kind kind;       ///< CPL_DESIGN_GRID
  const cpl_factor* factors;  ///< none for CPL_DESIGN_TABLE
  size_t n_factors;
  int64_t n;          ///< samples, trajectories or base points; 0 for grids and tables
  uint64_t seed;      ///< of everything random; 1
  const char* table;  ///< the file of CPL_DESIGN_TABLE. Nullable.
  int32_t levels;     ///< of CPL_DESIGN_MORRIS, an even number; 4
} cpl_design_def;

CPL_DEFAULTS(design_def)  ///< cpl_default_design_def()

typedef struct cpl_design cpl_design;

/// Check and freeze a design.
/// Owned:    *out by the caller, who calls cpl_design_destroy().
/// Borrowed: def and its factors, only during the call.
/// Returns:  CPL_ERR_INPUT with the cause; *out is then NULL.
CPL_API cpl_status cpl_design_create(cpl_context* ctx, const cpl_design_def* def, cpl_design** out);
CPL_API void cpl_design_destroy(cpl_design* design);  ///< Nullable: design

/// The definition of the design, with the factors of a table.
/// Borrowed: the result, as long as the design exists.
CPL_API const cpl_design_def* cpl_design_definition(const cpl_design* design);

/// The number of cases, at least 1.
CPL_API int64_t cpl_design_cases(const cpl_design* design);

/// The values of the factors in case i, from 0. They depend on the definition and i only.
/// Threads: any number at the same time.
CPL_API void cpl_design_values(const cpl_design* design, int64_t i, double* values);

/// A number that two designs share only if all their cases have the same values, names and units.
CPL_API uint64_t cpl_design_hash(const cpl_design* design);

/// "grid", "random", "lhs", "sobol", "table", "morris", "saltelli".
CPL_API const char* cpl_design_kind_text(cpl_design_kind kind);

//------------------------------------ statistics ------------------------------------

// Results are numbers, one per case. Those that are not finite (NaN for a case that failed) are
// missing: statistics leave them out and count them.

/// Moments of numbers that are added one by one; a zeroed one has none yet.
typedef struct cpl_moments {
  int64_t n, missing;
  double mean;     ///< 0 while n is 0
  double squares;  ///< sum of the squared distances from the mean
  double least, greatest;
} cpl_moments;

CPL_API void cpl_moments_add(cpl_moments* m, double y);
/// Add the numbers of other moments, as if they had been added one by one (up to rounding).
CPL_API void cpl_moments_merge(cpl_moments* m, const cpl_moments* other);
/// The standard deviation of a sample, with n - 1; NaN below two numbers.
CPL_API double cpl_moments_deviation(const cpl_moments* m);

/// Quantiles at n_p probabilities: with the m finite results in increasing order, from 0, the one
/// at p * (m - 1), interpolated linearly (type 7 of Hyndman and Fan, the default of NumPy and R).
/// NaN where all results are missing.
CPL_API cpl_status cpl_quantiles(cpl_context* ctx, const double* y, int64_t n, const double* p,
                                 size_t n_p, double* out);

/// Counts of results in intervals of equal width. Each has its left end; the last one both.
typedef struct cpl_histogram {
  size_t n_bins;    ///< 0: all results are missing
  double* edges;    ///< n_bins + 1
  int64_t* counts;  ///< n_bins
} cpl_histogram;

/// n_bins 0: as many as the rule of Freedman and Diaconis gives, from 1 to 200.
/// Owned: out by the caller, who calls cpl_histogram_free(), not needed after a failure.
CPL_API cpl_status cpl_histogram_make(cpl_context* ctx, const double* y, int64_t n, size_t n_bins,
                                      cpl_histogram* out);
CPL_API void cpl_histogram_free(cpl_context* ctx, cpl_histogram* histogram);

//------------------------------------ sensitivities ------------------------------------

// In all of these `y` has one result per case of the design, in the order of the cases.

/// The elementary effects of a factor: changes of the result by its moves, over their distance,
/// where the range from the lowest to the highest level is 1.
typedef struct cpl_morris_effect {
  double mean;       ///< mu
  double mean_abs;   ///< mu*, of the absolute effects: how much the factor matters
  double deviation;  ///< sigma: nonlinear, or interacting with others
} cpl_morris_effect;

/// For CPL_DESIGN_MORRIS. Trajectories with a missing result are left out.
/// Nullable: left_out, their number
/// Returns:  CPL_ERR_INPUT for another kind of design. Effects are NaN where all are left out.
CPL_API cpl_status cpl_morris_effects(const cpl_design* design, const double* y,
                                      cpl_morris_effect* effects, int64_t* left_out);

/// How to compute Sobol' indices. Start from cpl_default_sobol_def(), then change what you need.
typedef struct cpl_sobol_def {
  size_t size;        ///< set by cpl_default_sobol_def()
  int32_t resamples;  ///< of the bootstrap; 0: no intervals; 500
  double level;       ///< of confidence; 0.95
  uint64_t seed;      ///< of the bootstrap; 1
} cpl_sobol_def;

CPL_DEFAULTS(sobol_def)  ///< cpl_default_sobol_def()

/// Shares of the variance of the result. Intervals are quantiles of the bootstrap over base points.
typedef struct cpl_sobol_index {
  double first, first_low, first_high;  ///< due to the factor alone
  double total, total_low, total_high;  ///< due to the factor and its interactions
  int64_t n;                            ///< base points without a missing result
} cpl_sobol_index;

/// For CPL_DESIGN_SALTELLI: first-order indices by the estimator of Saltelli et al. (2010), total
/// ones by that of Jansen (1999), of results minus their mean.
/// Nullable: def
/// Returns:  CPL_ERR_INPUT for another kind of design. Indices are NaN where the variance is zero.
CPL_API cpl_status cpl_sobol_indices(const cpl_design* design, const double* y,
                                     const cpl_sobol_def* def, cpl_sobol_index* indices);

/// The importance of a factor from any cases.
typedef struct cpl_sensitivity {
  double regression;   ///< standardised coefficient of a linear regression on all factors
  double correlation;  ///< of the ranks (Spearman)
} cpl_sensitivity;

/// For all kinds of designs. Both are 0 for a factor that does not vary, and NaN where there are
/// too few results; the regression coefficient is NaN for a factor that is a linear combination of
/// earlier ones.
/// Nullable: r_squared, the share of the variance that the regression explains
CPL_API cpl_status cpl_sensitivities(const cpl_design* design, const double* y,
                                     cpl_sensitivity* out, double* r_squared);

/// The influence of all factors on a result, by the method that the design was made for.
typedef struct cpl_influence {
  const char* method;          ///< "sobol", "morris" or "regression"
  const char* const* columns;  ///< names of the numbers; "low" and "high" follow their value
  size_t n_columns;
  double* values;    ///< n_columns per factor
  double r_squared;  ///< of a regression; otherwise NaN
} cpl_influence;

/// Sobol' indices for CPL_DESIGN_SALTELLI, elementary effects for CPL_DESIGN_MORRIS, regression
/// coefficients and rank correlations for all others.
/// Owned: out by the caller, who calls cpl_influence_free(), not needed after a failure.
CPL_API cpl_status cpl_influence_make(const cpl_design* design, const double* y,
                                      cpl_influence* out);
CPL_API void cpl_influence_free(cpl_context* ctx, cpl_influence* influence);  ///< Nullable

#ifdef __cplusplus
}
#endif
