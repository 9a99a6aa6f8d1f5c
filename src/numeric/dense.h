// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The conditioning of a small dense system.
#pragma once

#include "numeric/lu.h"

/// The amplification of errors of a matrix in the solution: the spectral radius of abs(M^-1) sizes,
/// which is independent of units; infinite when M is singular. M is factorised, sizes[n * n] are
/// the magnitudes of its entries before cancellation, nominal[n] those of the unknowns; work[n * n
/// + 3 n] is scratch.
double cpli_lu_growth(const double* m, const int32_t* pivot, int32_t n, const double* sizes,
                      const double* nominal, double* work);
