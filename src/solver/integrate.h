// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// For rooms that use steppers made by cpl_integrate(). Saved states as bytes: the stepper's data
// here, the model's by the model itself, since only the model can serialise its snapshot.
#pragma once

#include "base/base.h"
#include "couplet/solver.h"

/// The stepper's own data: the number of bytes, written to `bytes` when it is not NULL.
size_t cpli_integrate_serialize(const cpl_stepper* s, const cpl_snapshot* snapshot,
                                unsigned char* bytes);
/// Make a snapshot of the stepper's own data; *used: how many bytes were consumed. The model's data
/// must still be put into cpli_integrate_model_snapshot().
/// Returns: CPL_ERR_INPUT when there are too few bytes; *snapshot must be destroyed even then.
cpl_status cpli_integrate_deserialize(cpl_stepper* s, const unsigned char* bytes, size_t size,
                                      cpl_snapshot* snapshot, size_t* used);
/// The model's snapshot inside one of the stepper.
cpl_snapshot* cpli_integrate_model_snapshot(const cpl_snapshot* snapshot);

/// Statistics as counters, and back; counters that are not there leave their member unchanged.
void cpli_solver_inspect(const cpl_solver_stats* stats, cpl_inspection* out);
void cpli_solver_stats_read(const cpl_inspection* in, cpl_solver_stats* stats);
