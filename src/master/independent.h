// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "couplet/interface.h"
#include "master/merged.h"

// Route of a variable of the whole.
typedef struct cpli_independent_slot {
  int32_t part;
  uint32_t ref;
} cpli_independent_slot;

/// Combines independent steppers into one: each advances at its own pace, and an event of one costs
/// the others nothing. One that cannot work ahead keeps its own communication points; between them
/// its values are the last ones. The parts belong to *out from here on, also when this function
/// fails. Nullable: slots, by variable: the parts are in the order of `merged`
cpl_status cpli_independent(cpl_context* ctx, const char* name, cpl_stepper* const* parts,
                            int32_t n, cpli_shared_desc* merged, const cpli_independent_slot* slots,
                            cpl_stepper** out);

/// The part that cannot work ahead; NULL: there is none, or `s` is another kind of stepper.
const cpl_stepper* cpli_independent_coarse(const cpl_stepper* s);

/// The parts; count 0: `s` is another kind of stepper.
int32_t cpli_independent_count(const cpl_stepper* s);
const cpl_stepper* cpli_independent_part(const cpl_stepper* s, int32_t i);
