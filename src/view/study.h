// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A study as its page shows it: all factors and measures, curves of as many cases as fit into a
// page, and what the library computes of the measures.
#pragma once

#include "study/netcdf.h"
#include "study/netcdf_process.h"
#include "view/view.h"

enum {
  CPLI_SHOWN_QUANTILES = 5,       // at cpli_shown_probabilities
  CPLI_SHOWN_NUMBERS = 16 << 20,  // factors and measures of all cases
  CPLI_SHOWN_CURVES = 16 << 20,   // values of all curves
  CPLI_SHOWN_REASONS = 4 << 20,   // bytes of the reasons of failed cases
};
extern const double cpli_shown_probabilities[CPLI_SHOWN_QUANTILES];

typedef struct cpli_shown_failure {
  int64_t i;
  const char* reason;  // "": not kept
} cpli_shown_failure;

typedef struct cpli_shown_measure {
  cpl_moments moments;
  double quantiles[CPLI_SHOWN_QUANTILES];
  cpl_histogram histogram;
  cpl_influence influence;  // values == NULL: there are no factors
} cpli_shown_measure;

typedef struct cpli_shown_study {
  cpl_context* ctx;
  cpli_netcdf* file;
  const cpli_study_facts* facts;
  double* columns;                  // factors, then measures: a value per case each
  double* curves;                   // of each curve n_times values per case that has them
  int64_t curve_step, curve_cases;  // every curve_step-th case, from 0
  cpli_shown_failure* failures;
  size_t n_failures, failures_cap, reason_bytes;
  cpli_arena arena;  // reasons
  cpl_design* design;
  cpli_shown_measure* measures;
} cpli_shown_study;

/// Read a file of a study, and compute statistics. Where curves have more than `most_values`
/// values, only every k-th case has them. A damaged file can crash the library, so that
/// cpli_nc_run() calls this; `process` is NULL elsewhere.
/// Owned:   out by the caller, who calls cpli_shown_study_free(), also after a failure.
/// Returns: CPL_ERR_INPUT for a file that is damaged, none of a study, or too large for a page.
cpl_status cpli_shown_study_read(cpl_context* ctx, const char* path, size_t most_values,
                                 cpli_nc_process* process, cpli_shown_study* out);
void cpli_shown_study_free(cpli_shown_study* s);

/// Factors, measures, then curves: the i-th; NULL: there are no more.
const cpli_study_column* cpli_shown_column(const cpli_shown_study* s, size_t i);
