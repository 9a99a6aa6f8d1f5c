// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The finite transmission zeros of x' = A x + B u, y = C x + D u: complex numbers at which the
// matrix [A - s I, B; C, D] loses rank. The system is reduced by orthogonal transformations, first
// its outputs, then its inputs, until D is square and regular; the zeros are the eigenvalues of
// A - B D^-1 C then (A. Emami-Naeini and P. Van Dooren, "Computation of zeros of linear
// multivariable systems", 1982).
#pragma once

#include "base/base.h"

/// Matrices by columns: A n x n, B n x m, C p x n, D p x m. *count zeros are written to re and im,
/// which have room for n. *rank: that of the transfer function; 0: it is zero everywhere.
cpl_status cpli_zeros(cpl_context* ctx, int32_t n, int32_t m, int32_t p, const double* a,
                      const double* b, const double* c, const double* d, int32_t* rank,
                      int32_t* count, double* re, double* im);
