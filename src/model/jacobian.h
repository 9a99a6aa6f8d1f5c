// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// For rooms that evaluate a Jacobian in every step: single entries of its pattern, and entries that
// stay constant in a run or between events.
#pragma once

#include "couplet/jacobian.h"
#include "model/sparsity.h"

/// Numbers of the run and of the interval between two events of a point; 0: constants may have
/// changed.
typedef struct cpli_since {
  int64_t run, event;
} cpli_since;

/// As cpl_jacobian_evaluate() or, with `entries`, as cpli_jacobian_entries(), but constant entries
/// (by their dependency's kind: in a run, or between events) are evaluated once and stay in `out`,
/// which must be the same in every call. From time to time they are verified: a model with wrong
/// declarations causes a warning and is no longer cached. Sets *changed when anything was
/// evaluated.
cpl_status cpli_jacobian_refresh(cpl_jacobian* j, const double* x, cpli_since since, bool entries,
                                 double* out, bool* changed);

/// As cpl_jacobian_evaluate(), but only the entries of the pattern: out[entry].
cpl_status cpli_jacobian_entries(cpl_jacobian* j, const double* x, double* out);

/// Another run: results do not depend on earlier ones. Nullable: j
void cpli_jacobian_forget(cpl_jacobian* j);

/// The sparsity pattern of a block.
const cpli_pattern* cpli_jacobian_pattern(const cpl_jacobian* j);

/// Lists what later evaluations depend on, for a history. Nullable: j
struct cpli_serial;
void cpli_serial_jacobian(struct cpli_serial* s, cpl_jacobian* j);
