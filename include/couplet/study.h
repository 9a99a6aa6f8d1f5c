// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Studies: many cases of one experiment, on all processors and on clusters. Factors (parameters and
// start values) vary over the cases as a design says (couplet/design.h); of each case measures are
// recorded, such as max(left.x), and curves.
//
//   cpl_study_def def = cpl_default_study_def();
//   def.experiment = &settings;  // the file, its solver, times
//   def.design = design;
//   def.measures = &(cpl_measure_def){.name = "highest", .text = "max(left.x)"}, def.n_measures =
//   1; def.output = "study.csv"; cpl_study_summary summary; cpl_status st = cpl_study_run(ctx,
//   &def, &summary);
#pragma once

#include "couplet/experiment.h"

#ifdef __cplusplus
extern "C" {
#endif

/// A number that describes a run: an expression over reductions, max(abs(left.x))/final(k).
typedef struct cpl_measure_def {
  const char* name;
  const char* text;
  const char* file;      ///< where it is written, for messages. Nullable
  int32_t line, column;  ///< of the text, from 1
} cpl_measure_def;

#ifdef __cplusplus
}
#endif
