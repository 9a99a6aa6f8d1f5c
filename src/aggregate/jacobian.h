// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "couplet/jacobian.h"
#include "graph/pattern.h"

/// Numbers of the run and of the time between two events that a point belongs to; 0: constant ones
/// may have changed.
typedef struct cpli_since {
  int64_t run, event;
} cpli_since;

/// As cpl_jacobian_evaluate(), but entries that are constant (by their dependency's kind: in a run,
/// or between events) are evaluated once and stay in `out`, which must be the same in every call.
/// Now and then they are evaluated all the same: a model whose word is wrong is warned of, and
/// nothing of it is kept any more. Sets *changed when anything was evaluated.
cpl_status cpli_jacobian_refresh(cpl_jacobian* j, const double* x, cpli_since since, double* out,
                                 bool* changed);

/// As cpl_jacobian_evaluate(), but `out` has only the entries of the pattern, in its order.
cpl_status cpli_jacobian_entries(cpl_jacobian* j, const double* x, double* out);

/// Where a block may be other than zero.
const cpli_pattern* cpli_jacobian_pattern(const cpl_jacobian* j);
