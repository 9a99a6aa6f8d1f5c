// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Eigenvalues of real matrices. Dense ones: balanced, reduced to Hessenberg form by reflections,
// then Francis' double-shift QR iteration; all of them. Of a matrix that is only known by its
// products with vectors: Arnoldi's method with full orthogonalisation; the largest in magnitude.
#pragma once

#include "base/base.h"

/// All eigenvalues of a matrix stored by columns, which is destroyed. Of a conjugate pair the one
/// with the positive imaginary part comes first.
/// Returns: false when the iteration does not converge, or an entry is not finite.
bool cpli_eigenvalues(int32_t n, double* a, double* re, double* im);

/// The eigenvector of an eigenvalue of a dense matrix (and, with `left`, of the transposed matrix),
/// by inverse iteration; of length one. work[4 n n + 2 n], pivot[n].
void cpli_eigenvector(int32_t n, const double* a, double re, double im, bool left, double* v_re,
                      double* v_im, double* work, size_t* pivot);

/// A linear operator of vectors with n entries.
typedef struct cpli_operator {
  int32_t n;
  void* user;
  void (*apply)(void* user, const double* x, double* y);
} cpli_operator;

typedef struct cpli_ritz {
  int32_t n;            // converged eigenvalues, largest magnitude first; of a pair both
  double *re, *im;      // n
  double *v_re, *v_im;  // their vectors, one after the other, of length one
} cpli_ritz;

/// Up to `most` eigenvalues of the largest magnitude, and their vectors. Deterministic. Of a
/// multiple eigenvalue only one vector is certain to be found.
/// Owned: the contents of *out by the caller, who calls cpli_ritz_free(), also after a failure.
cpl_status cpli_arnoldi(cpl_context* ctx, const cpli_operator* op, int32_t most, cpli_ritz* out);
void cpli_ritz_free(cpl_context* ctx, cpli_ritz* r);
