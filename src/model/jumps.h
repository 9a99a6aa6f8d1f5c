// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A difference quotient taken across a jump of the function is the height of the jump divided by
// the increment: some 1e8, and not a derivative. With it Newton's corrections vanish and count as
// converged, while the residual is unchanged. Such entries of a Jacobian are found here (they are
// much larger than before, and the function does not follow them to the other side of the point)
// and replaced by the quotient of the side without the jump.
#pragma once

#include "numeric/pattern.h"

typedef struct cpli_jumps cpli_jumps;

/// A Jacobian that was just evaluated, and a function to evaluate its rows elsewhere.
typedef struct cpli_jump_probe {
  void* user;
  /// The rows at the point with each column moved by shift[column].
  cpl_status (*rows)(void* user, const double* shift, double* values);
  const double* h;     // increments, of all columns
  const double* base;  // the rows at the point
  double* out;         // the Jacobian: entries of the pattern, or by columns
  bool entries;
  size_t height;  // of a column of `out`, where it is not entries only
} cpli_jump_probe;

cpl_status cpli_jumps_make(cpl_context* ctx, const cpli_pattern* pattern, cpli_jumps** out);
void cpli_jumps_destroy(cpli_jumps* k);
void cpli_jumps_forget(cpli_jumps* k);  // earlier Jacobians. Nullable
/// What is known of earlier Jacobians: n numbers. Nullable: k
double* cpli_jumps_memory(cpli_jumps* k, size_t* n);

/// Whether an entry is much larger than before, so that a correction may be necessary. h and base
/// are not needed for this.
bool cpli_jumps_grown(cpli_jumps* k, const cpli_jump_probe* q);

/// Corrects entries taken across a jump. The rows are evaluated once, and once more per colour with
/// an entry to correct; the caller returns the model to its point.
cpl_status cpli_jumps_mend(cpli_jumps* k, const cpli_jump_probe* q);
