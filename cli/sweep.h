// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Statistics of a study: its measures in memory, and their summary as a table or as JSON.
#pragma once

#include "cli.h"
#include "format/json.h"

// A zeroed one is empty; it is printed only where cases were added.
typedef struct study_results {
  size_t n_factors, n_measures;
  char **factors, **measures;  // names
  double* values;              // of each measure one per case; NAN: the case failed
  int64_t n_cases;
} study_results;

cpl_status study_results_add(study_results* r, cpl_context* ctx, const cpl_design* design,
                             const cpl_study_columns* columns, const cpl_study_case* one);
void study_results_print(const study_results* r, cpl_context* ctx, const cpl_design* design,
                         FILE* out);
void study_results_json(const study_results* r, cpl_context* ctx, const cpl_design* design,
                        cpli_json* j);
void study_results_free(study_results* r);
