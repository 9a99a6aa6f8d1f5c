// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Small dense linear systems: LU with partial pivoting, stored by columns.
#pragma once

#include "base/base.h"

/// Factorise in place. Returns -1, or the column in which no pivot was found (the matrix is
/// singular to rounding, relative to that column).
int32_t cpli_lu_factor(double* matrix, int32_t* pivot, int32_t n);
void cpli_lu_solve(const double* matrix, const int32_t* pivot, int32_t n, double* b);

/// Scale a matrix in place by powers of two until its rows and columns have magnitude one: it
/// becomes diag(row) matrix diag(column), so that pivots and singularity do not depend on units.
/// The solution of the original system is column[i] * x[i], where x solves the scaled one for
/// row[i] * b[i].
void cpli_lu_equilibrate(double* matrix, int32_t n, double* row, double* column);
