// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "couplet/jacobian.h"
#include "model/sparsity.h"

/// Numbers of the run and of the time between two events that a point belongs to; 0: constant ones
/// may have changed.
typedef struct cpli_since {
  int64_t run, event;
} cpli_since;

/// As cpl_jacobian_evaluate() or, with `entries`, as cpli_jacobian_entries(), but what is constant
/// (by its dependency's kind: in a run, or between events) is evaluated once and stays in `out`,
/// which must be the same in every call. Now and then it is evaluated all the same: a model whose
/// word is wrong is warned of, and nothing of it is kept any more. Sets *changed when anything was
/// evaluated.
cpl_status cpli_jacobian_refresh(cpl_jacobian* j, const double* x, cpli_since since, bool entries,
                                 double* out, bool* changed);

/// As cpl_jacobian_evaluate(), but only what is in the pattern: out[entry].
cpl_status cpli_jacobian_entries(cpl_jacobian* j, const double* x, double* out);

/// Where a block may be other than zero.
const cpli_pattern* cpli_jacobian_pattern(const cpl_jacobian* j);
