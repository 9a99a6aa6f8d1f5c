// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A global search for a solution of s = f(s), used where Newton's method with the derivatives of
// the models has failed. It needs values only. In this order: damped Newton with differences, for
// one unknown a search for a change of sign with bisection, continuation along the homotopy from a
// start point to the solution by arc length, and the same from other start points. It is slow and
// allocates, and is rarely needed.
#pragma once

#include "base/base.h"

typedef struct cpli_roots {
  int32_t n;
  void* user;
  /// f(s). CPL_RETRY: no value there.
  cpl_status (*image)(void* user, const double* s, double* f);
  const double* nominal;  // n: magnitudes of the values, used where they are zero
  bool near_only;         // a solution far from the start is rejected
  int32_t max_calls;      // of the function; 0: 50000
} cpli_roots;

/// *s is the start point and the result. A result is accurate to 1e-11 of its own magnitude, or to
/// the resolution of f. Returns: CPL_OK, CPL_RETRY when no solution is found (s is unchanged), or a
/// failure of the function.
cpl_status cpli_roots_solve(cpl_context* ctx, const cpli_roots* p, double* s);
