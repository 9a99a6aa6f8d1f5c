// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// How well a small dense system can be solved.
#pragma once

#include "numeric/lu.h"

/// How much the errors of a matrix grow in the solution: the spectral radius of |M^-1| sizes, which
/// no choice of units changes; infinite when M is singular. M is factorised, sizes[n * n] are those
/// of its entries before anything cancelled in them, nominal[n] those of the unknowns; work[n * n +
/// 3 n] is scratch.
double cpli_lu_growth(const double* m, const int32_t* pivot, int32_t n, const double* sizes,
                      const double* nominal, double* work);
