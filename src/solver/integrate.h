// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// For rooms that use steppers made by cpl_integrate().
#pragma once

#include "base/base.h"
#include "couplet/solver.h"

/// Statistics as counters, and back; counters that are not there leave their member unchanged.
void cpli_solver_inspect(const cpl_solver_stats* stats, cpl_inspection* out);
void cpli_solver_stats_read(const cpl_inspection* in, cpl_solver_stats* stats);
