// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// For rooms that have steppers made by cpl_integrate(). Saved states as bytes: their own part here,
// the model's by the model's own means, since only it knows what its snapshot holds.
#pragma once

#include "base/base.h"
#include "couplet/solver.h"

/// The stepper's own part: the number of bytes, written to `bytes` when it is not NULL.
size_t cpli_integrate_serialize(const cpl_stepper* s, const cpl_snapshot* snapshot,
                                unsigned char* bytes);
/// Make a snapshot of its own part; *used says how many of the bytes that were. The model's part is
/// still to be put into cpli_integrate_model_snapshot().
/// Returns: CPL_ERR_INPUT when there are too few bytes; *snapshot is to be forgotten even then.
cpl_status cpli_integrate_deserialize(cpl_stepper* s, const unsigned char* bytes, size_t size,
                                      cpl_snapshot* snapshot, size_t* used);
/// The model's snapshot inside one of the stepper.
cpl_snapshot* cpli_integrate_model_snapshot(const cpl_snapshot* snapshot);

/// What several steppers did, together.
void cpli_stats_add(cpl_solver_stats* to, const cpl_solver_stats* from);
