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

#ifdef __cplusplus
}
#endif
