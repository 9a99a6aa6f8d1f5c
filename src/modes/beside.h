// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "couplet/modes.h"
#include "master/merged.h"

void cpli_add_solver_stats(cpl_solver_stats* to, const cpl_solver_stats* from);

/// Steppers that have nothing to do with each other as one: each goes at its own pace, and an event
/// of one costs the others nothing. All can work ahead. They stand in the order of `merged`, and
/// belong to *out from here on, also when this function fails.
cpl_status cpli_beside(cpl_context* ctx, const char* name, cpl_stepper* const* parts, int32_t n,
                       cpli_merged* merged, cpl_stepper** out);

/// Counters of all parts together. Returns: false when it is something else.
bool cpli_beside_stats(const cpl_stepper* s, cpl_modes_stats* out);
