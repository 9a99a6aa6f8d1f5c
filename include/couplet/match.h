// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Compares results with a reference, with tolerances for values and for shifts in time.
//
//   cpl_match_def def = cpl_default_match_def();
//   cpl_match_result r = cpl_match(reference, results, &def);
//   if (!r.matches) printf("%s differs\n", reference->names[r.worst]);
#pragma once

#include "couplet/table.h"

#ifdef __cplusplus
extern "C" {
#endif

/// When results match a reference. Start from cpl_default_match_def(), then change what you need.
typedef struct cpl_match_def {
  size_t size;   ///< set by cpl_default_match_def()
  double value;  ///< allowed distance, as a fraction of the range of the reference; 0.02
  double time;   ///< allowed shift in time, as a fraction of the run; 0.002
  double
      share;  ///< fraction of the points of the reference, and of the time, that must match; 0.99
  double shift;  ///< [s] added to the times of the reference; 0
  double stop;   ///< [s] later points of the reference are ignored; INFINITY
} cpl_match_def;

CPL_DEFAULTS(match_def)  ///< cpl_default_match_def()

typedef struct cpl_match_result {
  bool matches;
  ptrdiff_t worst;  ///< column of the reference with the most mismatches; -1: all match
  double off;       ///< fraction of its points, or of the time, that does not match
  bool missing;     ///< the results have no such column
  bool units;       ///< its unit cannot be converted to that of the results
  bool refused;     ///< the definition was not made by cpl_default_match_def()
} cpl_match_result;

/// Compare results with a reference in both directions: every column of the reference must be in
/// the results, the results must pass near the points of the reference, and stay near it between
/// them (with an allowance for the curvature of a coarse reference). Points of the reference that
/// are NaN are ignored; a NaN in the results near a point does not match it. Where both columns
/// have units the reference is converted. Neither table needs to pass cpl_table_check().
CPL_API cpl_match_result cpl_match(const cpl_table* reference, const cpl_table* results,
                                   const cpl_match_def* def);

#ifdef __cplusplus
}
#endif
