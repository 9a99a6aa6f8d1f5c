// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The file of a study, as NetCDF-4. Dimensions are `case` and, with curves, `time`. Every factor
// and measure is a variable of (case), every curve one of (case, time), all in double precision;
// `failure` has a text per case, empty for those that succeeded. Names that NetCDF does not allow
// are changed (a '/' becomes '.'), and names that occur twice get a number; the attribute
// `couplet_name` has the name as it is in couplet, `couplet_role` is factor, measure or curve.
#pragma once

#include "base/base.h"
#include "couplet/study.h"

typedef struct cpli_study_column {
  const char* name;
  const char* unit;         // Nullable: none
  const char* description;  // Nullable: none
} cpli_study_column;

typedef struct cpli_study_facts {
  int64_t cases;
  const cpli_study_column *factors, *measures, *curves;
  size_t n_factors, n_measures, n_curves;
  const double* times;  // of all curves [s]; n_times
  size_t n_times;
  const int64_t* shape;  // of a grid: the number of values per factor; NULL: no grid
  const cpl_study_fact* facts;
  size_t n_facts;
} cpli_study_facts;

typedef struct cpli_study_case {
  const double* factors;
  const double* measures;
  const double* curves;  // curve after curve, n_times each
  const char* failure;   // "": none
} cpli_study_case;

/// Gives case i; called with increasing i, in a forked process (its memory is a copy; positions of
/// open files are shared). What `out` points to must stay until the next call.
typedef cpl_status cpli_study_case_fn(void* user, int64_t i, cpli_study_case* out);

/// Write the file, which appears whole or not at all, with memory for a block of cases only.
/// Returns: CPL_ERR_UNSUPPORTED without the library, CPL_ERR_INPUT when no file can be made there,
///          CPL_ERR_IO when writing fails, CPL_ERR_CANCELLED, or what `next` returns.
cpl_status cpli_netcdf_write(cpl_context* ctx, const char* path, const cpli_study_facts* facts,
                             cpli_study_case_fn* next, void* user);

//------------------------------------ reading ------------------------------------

typedef struct cpli_netcdf cpli_netcdf;

/// Owned:   *out by the caller, who calls cpli_netcdf_close().
/// Returns: CPL_ERR_INPUT when it is no file of a study; *out is then NULL.
cpl_status cpli_netcdf_open(cpl_context* ctx, const char* path, cpli_netcdf** out);
void cpli_netcdf_close(cpli_netcdf* file);  // Nullable: file

/// Borrowed: the result, as long as the file is open.
const cpli_study_facts* cpli_netcdf_facts(const cpli_netcdf* file);

/// Read case i. Cases are read in blocks: increasing numbers are fast.
/// Borrowed: what `out` points to, until the next call.
cpl_status cpli_netcdf_case(cpli_netcdf* file, int64_t i, cpli_study_case* out);

/// The design of a study from its file, for the indices of its results. A file whose cases do not
/// belong to the kind of design that it names has a warning and CPL_DESIGN_TABLE.
/// Owned: rows (the values of the factors, case after case) move to the design, also after a
///        failure; *out by the caller, who calls cpl_design_destroy().
cpl_status cpli_design_restore(cpl_context* ctx, const cpli_study_facts* facts, double* rows,
                               cpl_design** out);

//------------------------------------ blocks ------------------------------------

enum { CPLI_STUDY_BLOCK = 4 << 20 };  // bytes of a block of cases, at least one case

/// The number of cases in a block.
int64_t cpli_study_block(const cpli_study_facts* facts);
