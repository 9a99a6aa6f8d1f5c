// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Balanced reduction: x' = A x + B u, y = C x + D u with fewer states. Poles with negative real
// parts belong to a part that is balanced; its states with the smallest Hankel singular values are
// replaced by their values at rest, so that the gain at zero frequency is exact (Y. Liu and B.
// Anderson, "Singular perturbation approximation of balanced systems", 1989). All other poles are
// kept. Both parts, and the Gramians of the first, come from the matrix sign function (P. Benner
// and E. S. Quintana-Orti, "Solving stable generalized Lyapunov equations with the matrix sign
// function", 1999), in the form of factors, so that small singular values are accurate.
#pragma once

#include "base/base.h"

/// Matrices by columns: A n x n, B n x m, C p x n, D p x m. The last `extra` of the m columns of B
/// and D are transformed like the others, but have no influence on what is kept.
typedef struct cpli_state_space {
  int32_t n, m, p, extra;
  double *a, *b, *c, *d;
} cpli_state_space;

typedef struct cpli_balanced {
  cpli_state_space s;  // the reduced system
  int32_t kept;        // poles that are not balanced: their real parts are not negative
  int32_t n_hankel;    // singular values of the balanced part, largest first
  double* hankel;
  double bound;  // of the error of the transfer function: twice the sum of those left out
} cpli_balanced;

/// Reduces to `order` states, or to fewer where the others have no influence at all.
/// Owned:   the contents of *out by the caller, who calls cpli_balanced_free(), also after a
///          failure.
/// Returns: CPL_ERR_INPUT when more than `order` poles have to be kept, CPL_ERR_MODEL when the
///          parts cannot be separated.
cpl_status cpli_reduce(cpl_context* ctx, const cpli_state_space* s, int32_t order,
                       cpli_balanced* out);
void cpli_balanced_free(cpl_context* ctx, cpli_balanced* r);
