// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Singular values of a tall dense matrix with few columns, by one-sided Jacobi rotations, which
// find small ones as accurately as large ones where the columns have similar norms.
#pragma once

#include "base/base.h"

/// a: m rows, n <= m columns, column after column; overwritten by its left singular vectors times
/// the singular values. s: the n values, largest first. v: n by n, column after column: the right
/// singular vectors. Not finite where a is not.
void cpli_singular_values(size_t m, size_t n, double* a, double* s, double* v);
