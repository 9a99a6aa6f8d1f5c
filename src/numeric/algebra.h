// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Algebraic variables z from as many residuals 0 = g(z): Newton's method, damped by the size of the
// next correction, which is independent of the scaling of the residuals. They are solved when a
// correction is 1e-13 of each value's own magnitude, or when the rest is rounding. The
// factorisation is reused as long as it converges. Compiled into exported FMUs, too.
#pragma once

#include "base/base.h"

typedef struct cpli_algebra {
  size_t n;
  void* user;
  cpl_status (*residuals)(void* user, const double* z, double* g);
  /// The linear system dg/dz step = g, at the point of the last call of residuals(). Nullable,
  /// both: differences, and a dense matrix.
  cpl_status (*factor)(void* user);
  cpl_status (*solve)(void* user, const double* g, double* step);
  double* nominal;  // n: magnitudes of the variables; set by the caller
  double relevant;  // values below this fraction of their nominal count as zero; 0: none does

  bool ready;   // a factorisation exists
  int32_t bad;  // after CPL_RETRY: the variable the residuals do not determine, or -1
  // private
  cpl_context* ctx;
  double *g, *g_next, *step, *next, *z_next, *matrix;
  double *row, *column;  // scaling of the matrix: cpli_lu_equilibrate()
  bool own_increments;   // differences are relative to the values, not their nominals
  int32_t* pivot;
} cpli_algebra;

/// After n and the functions have been set.
/// Owned: the contents by the caller, who calls cpli_algebra_free(), also after a failure.
cpl_status cpli_algebra_init(cpli_algebra* a, cpl_context* ctx);
void cpli_algebra_free(cpli_algebra* a);

/// From a guess to the solution, to rounding accuracy; residuals() was called for it last.
/// CPL_RETRY: there is none nearby.
cpl_status cpli_algebra_solve(cpli_algebra* a, double* z);
/// step = (dg/dz)^-1 g with the current factorisation.
cpl_status cpli_algebra_apply(cpli_algebra* a, const double* g, double* step);
