// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Independent steppers as one stepper: each advances at its own pace, and an event of one costs the
// others nothing. They are the subsystems of a model with a solver each (subsystems.c), or the
// parts of a system without connections.
#pragma once

#include "couplet/solver.h"
#include "model/shared_desc.h"
#include "model/starter.h"

typedef struct cpli_independent_def {
  const char* name;
  cpl_stepper* const* steppers;
  int32_t n;
  cpli_shared_desc* desc;   // Nullable: the description of `whole`
  const cpl_route* routes;  // by variable, copied. Nullable: those of `desc`, or `subsystems`
  // of a model that was split
  cpl_model* whole;                  // destroyed after the steppers. Nullable
  const cpl_subsystems* subsystems;  // its routes, which live as long as it. Nullable
  cpli_starter* starter;             // borrowed. Nullable
  /// Discards the history of a stepper at the beginning of each step. Nullable
  cpl_status (*restart)(cpl_stepper* s);
} cpli_independent_def;

/// A stepper that cannot work ahead keeps its own communication points; between them its values are
/// the last ones. The steppers and `whole` belong to *out from here on, also when this function
/// fails.
cpl_status cpli_independent(cpl_context* ctx, const cpli_independent_def* def, cpl_stepper** out);

/// The first stepper that cannot work ahead; NULL: there is none, or `c` is another kind of
/// component.
const cpl_component* cpli_independent_coarse(const cpl_component* c);
