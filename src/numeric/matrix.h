// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Dense matrices by columns: products, orthonormal bases with pivoting, singular values.
#pragma once

#include "base/base.h"

/// C = A B, where A is n x k and B is k x m.
void cpli_multiply(int32_t n, int32_t k, int32_t m, const double* a, const double* b, double* c);
/// B = A', where A is n x m.
void cpli_transpose(int32_t n, int32_t m, const double* a, double* b);

/// An orthonormal basis q (n x rank) of the columns of a (n x m), the largest remaining one first,
/// until what remains of all is below `tolerance` times the largest, or the rank is `most`. `a` is
/// destroyed. r (Nullable): rank x m, by columns with `most` rows: q r is the original matrix.
int32_t cpli_basis(int32_t n, int32_t m, double* a, double tolerance, int32_t most, double* q,
                   double* r);

/// Singular values of a (n x m) by rotations of its columns (one-sided Jacobi method), which are
/// accurate in relation to each value: a becomes a v, whose columns are orthogonal, largest first;
/// sigma[m] are their lengths.
void cpli_singular_values(int32_t n, int32_t m, double* a, double* v, double* sigma);
