// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Poles and zeros of a linearisation, and one with fewer states.
//
//   cpl_linear* l = NULL;
//   cpl_root* poles = NULL;
//   int32_t n = 0;
//   cpl_linearize_def def = cpl_default_linearize_def();
//   cpl_status st = cpl_linearize(model, &def, &l);
//   if (st >= 0) st = cpl_linear_poles(ctx, l, &poles, &n);
//   if (st >= 0 && n > 0) printf("%g %+gi\n", poles[0].re, poles[0].im);
//   cpl_roots_free(ctx, poles);
//   cpl_linear_destroy(l);
#pragma once

#include "couplet/linearize.h"

#ifdef __cplusplus
extern "C" {
#endif

/// A complex number; conjugate pairs stand one after the other, the one with the positive imaginary
/// part first.
typedef struct cpl_root {
  double re, im;  ///< [1/s]
} cpl_root;

/// The eigenvalues of A, in the order of their magnitudes.
/// Owned: *out by the caller, who calls cpl_roots_free().
CPL_API cpl_status cpl_linear_poles(cpl_context* ctx, const cpl_linear* l, cpl_root** out,
                                    int32_t* n);
/// The finite transmission zeros: complex numbers s at which [A - s I, B; C, D] loses rank, in the
/// order of their magnitudes. *rank (Nullable): the rank of the transfer function; 0: it is zero
/// everywhere.
/// Owned: *out by the caller, who calls cpl_roots_free().
CPL_API cpl_status cpl_linear_zeros(cpl_context* ctx, const cpl_linear* l, cpl_root** out,
                                    int32_t* n, int32_t* rank);
CPL_API void cpl_roots_free(cpl_context* ctx, cpl_root* roots);  ///< Nullable: roots

/// A linearisation with fewer states; see cpl_linear_reduce().
typedef struct cpl_reduced {
  /// Inputs and outputs are those of the original; states are named r1, r2, ... and zero at the
  /// point; dx and y are those of the reduced equations there.
  const cpl_linear* linear;
  int32_t n_kept, n_decaying;  ///< poles that do not decay, all of which are kept; the others
  int32_t n_hankel;            ///< Hankel singular values of the rest, largest first
  const double* hankel;  ///< how much a state of the balanced rest matters, in units of the outputs
  double bound;          ///< the largest possible change of the transfer function, at any frequency
} cpl_reduced;

/// Reduce to `order` states, or to fewer where the others have no influence. The rest is balanced,
/// and the states with the smallest singular values are taken at rest, so that the gain at zero
/// frequency is exact. With several inputs or outputs their units decide which of them matter most.
/// Owned:   *out by the caller, who calls cpl_reduced_destroy().
/// Returns: CPL_ERR_INPUT when `order` is not below the number of states, or below that of the
///          poles that do not decay; CPL_ERR_MODEL when the poles cannot be separated.
CPL_API cpl_status cpl_linear_reduce(cpl_context* ctx, const cpl_linear* l, int32_t order,
                                     cpl_reduced** out);
CPL_API void cpl_reduced_destroy(cpl_reduced* r);  ///< Nullable: r

#ifdef __cplusplus
}
#endif
