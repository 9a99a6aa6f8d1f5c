// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "couplet/table.h"

#ifdef __cplusplus
extern "C" {
#endif

/// When results count as equal to a reference. Start from cpl_default_match_def(), then change what
/// you need.
typedef struct cpl_match_def {
  double value;  ///< distance allowed, as a part of the range of the reference; 0.02
  double time;   ///< shift in time allowed, as a part of the run; 0.002
  double share;  ///< of the points of the reference, and of the time, that must agree; 0.99
  double shift;  ///< [s] by which the reference runs ahead: its t belongs to t + shift here; 0
  double stop;   ///< [s] later points of the reference are not asked for; INFINITY
} cpl_match_def;

CPL_API cpl_match_def cpl_default_match_def(void);

typedef struct cpl_match_result {
  bool matches;
  ptrdiff_t worst;  ///< column of the reference with the most points off; -1: all are fine
  double off;       ///< the part of its points that are off, or of the time in which results are
  bool missing;     ///< the results have no such column
  bool units;       ///< its unit cannot be converted to that of the results
} cpl_match_result;

/// Compare results with a reference in both directions: every column of the reference must be in
/// the results, the results must pass near the points of the reference, and stay near it between
/// them (where nobody knows a coarse reference, the bend of its points is allowed for). A point of
/// the reference that is NaN counts for nothing, a NaN in the results near a point does not match
/// it. Where both columns have units the reference is converted. Neither table needs to pass
/// cpl_table_check().
CPL_API cpl_match_result cpl_match(const cpl_table* reference, const cpl_table* results,
                                   const cpl_match_def* def);

#ifdef __cplusplus
}
#endif
