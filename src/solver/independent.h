// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Independent steppers as one stepper: each advances at its own pace, and an event of one costs the
// others nothing. They are the subsystems of a model with a solver each (subsystems.c), or the
// parts of a system without connections.
#pragma once

#include "couplet/solver.h"
#include "model/shared_desc.h"

typedef struct cpli_independent_def {
  const char* name;
  const char* kind;  // static
  cpl_stepper* const* steppers;
  int32_t n;
  cpli_shared_desc* desc;   // Nullable: the description of `whole`
  const cpl_route* routes;  // by variable, copied. Nullable: those of `desc`, or `subsystems`
  // of a model that was split
  cpl_model* whole;                  // destroyed after the steppers. Nullable
  const cpl_subsystems* subsystems;  // its routes, which live as long as it. Nullable
  /// Discards the history of a stepper at the beginning of each step. Nullable
  cpl_status (*restart)(cpl_stepper* s);
} cpli_independent_def;

/// A stepper that cannot work ahead keeps its own communication points; between them its values are
/// the last ones. The steppers and `whole` belong to *out from here on, also when this function
/// fails.
cpl_status cpli_independent(cpl_context* ctx, const cpli_independent_def* def, cpl_stepper** out);

/// The first stepper that cannot work ahead; NULL: there is none, or `s` is another kind of
/// stepper.
const cpl_stepper* cpli_independent_coarse(const cpl_stepper* s);

/// The steppers; count 0: `s` is another kind of stepper.
int32_t cpli_independent_count(const cpl_stepper* s);
const cpl_stepper* cpli_independent_at(const cpl_stepper* s, int32_t i);
/// The sum over the subsystems of a model. NULL: `s` is made of something else.
const cpl_solver_stats* cpli_independent_stats(const cpl_stepper* s);
