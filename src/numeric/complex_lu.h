// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Dense complex linear systems: LU factorisation with partial pivoting. A matrix is stored as two,
// the real part and the imaginary part, each by columns.
#pragma once

#include <stdbool.h>
#include <stddef.h>

/// Returns: false when the matrix is singular.
bool cpli_clu_factor(size_t n, double* re, double* im, size_t* pivot);
void cpli_clu_solve(size_t n, const double* re, const double* im, const size_t* pivot, double* b_re,
                    double* b_im);
