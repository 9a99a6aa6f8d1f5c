// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The dense part of fronts.c: columns of matrices in vectors of four numbers. All versions compute
// the same bits, since each number is computed by the same operations in the same order.
#pragma once

#include <stdint.h>

typedef struct cpli_front_kernels {
  /// Eliminates the first n of s rows and columns; what follows becomes the rest of the matrix.
  void (*eliminate)(double* a, int32_t s, int32_t n);
  /// y -= A x, A by columns: rows times n.
  void (*subtract)(double* y, const double* a, const double* x, int32_t rows, int32_t n);
  /// y -= A^T x, A by columns: rows times n.
  void (*subtract_transposed)(double* y, const double* a, const double* x, int32_t rows, int32_t n);
} cpli_front_kernels;

/// The fastest version that this processor has.
const cpli_front_kernels* cpli_front_kernels_find(void);
/// The version for all processors, for tests.
const cpli_front_kernels* cpli_front_kernels_plain(void);
