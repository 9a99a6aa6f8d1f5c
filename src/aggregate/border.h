// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Constraints in the linear system of the integrator: as many rows and unknowns behind those of the
// aggregate, so that one sparse factorisation serves all. With A the aggregate's own system,
//     [ A   gamma B ] [ dx ]   [ r ]
//     [ C           ] [ dm ] = [ c ]
#pragma once

#include "base/base.h"
#include "couplet/interface.h"

typedef struct cpli_border {
  size_t n;               // constraints
  size_t n_shaped;        // the first so many have entries
  const int32_t* first;   // n_shaped + 1: where each begins in the arrays below
  const int32_t* column;  // the state an entry belongs to
  const double* rows;     // C
  const double* columns;  // B
  const bool* taken;      // n: of others the row is dm = c
} cpli_border;

/// For newton_setup() and newton_solve() from now on, whose vectors then have n more values. The
/// system is analysed anew where the shape is another one than the last time.
/// Borrowed: what b points to, until the next call.
/// Nullable: b; rows are dm = c until it is set again.
/// Returns:  CPL_ERR_UNSUPPORTED (without a message): m is no aggregate.
cpl_status cpli_newton_border(cpl_model* m, const cpli_border* b);
