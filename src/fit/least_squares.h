// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Nonlinear least squares with bounds: an active set around lmder() of cminpack, which minimizes
// over the parameters that are not held at a bound. Trial points are projected onto the bounds; a
// parameter that has reached one is held there while the gradient points outwards. The result
// satisfies the conditions of Karush, Kuhn and Tucker.
#pragma once

#include "base/base.h"

typedef struct cpli_least_squares {
  cpl_context* ctx;
  size_t m, n;  // residuals, parameters
  const double *least, *greatest;
  void* user;
  /// CPL_RETRY: not at this point. Any failure ends the search.
  cpl_status (*residuals)(void* user, const double* x, double* r);
  /// At a point whose residuals were computed: m rows, n columns, column after column.
  cpl_status (*jacobian)(void* user, const double* x, double* jacobian);
} cpli_least_squares;

/// Search from x, which lies within the bounds. *x is the best point so far, also after a failure.
/// held: of each parameter -1 or 1 where it is held at its least or greatest value.
/// *end: why the search ended. Returns: CPL_RETRY where it cannot begin at x.
cpl_status cpli_least_squares_solve(const cpli_least_squares* problem, double* x, int32_t* held,
                                    const char** end);
