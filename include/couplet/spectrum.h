// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The eigenvalues of a model at a point: whether it is stable there, its time constants, and which
// states take part in them.
//
//   cpl_spectrum* s = NULL;
//   cpl_status st = cpl_spectrum_create(model, NULL, &s);
//   if (st >= 0) printf("slowest: %g 1/s\n", s->modes[0].re);
//   cpl_spectrum_destroy(s);
#pragma once

#include "couplet/interface.h"

#ifdef __cplusplus
extern "C" {
#endif

/// How to compute them. Start from cpl_default_spectrum_def(), then change what you need.
typedef struct cpl_spectrum_def {
  size_t size;      ///< set by cpl_default_spectrum_def()
  int32_t largest;  ///< models of up to that many states: all eigenvalues, by the QR iteration
  int32_t nearest;  ///< larger ones: so many next to zero, and those furthest to the right, by
                    ///< Arnoldi's method; a multiple eigenvalue may occur once only
} cpl_spectrum_def;

CPL_DEFAULTS(spectrum_def)  ///< cpl_default_spectrum_def()

/// The part of a state in the motion that belongs to an eigenvalue.
typedef struct cpl_participation {
  int32_t state;  ///< its number
  double share;   ///< 0 to 1; of all states together 1
} cpl_participation;

/// An eigenvalue and its motion; of a conjugate pair there is one, with the positive imaginary
/// part.
typedef struct cpl_eigen_mode {
  double re, im;                    ///< [1/s]
  const cpl_participation* states;  ///< the largest shares, at most five
  int32_t n_states;
} cpl_eigen_mode;

typedef enum cpl_stability {
  CPL_STABLE,    ///< all real parts are negative
  CPL_UNSTABLE,  ///< one is positive
  CPL_MARGINAL,  ///< neither: one is zero, to the accuracy of the derivatives
} cpl_stability;

CPL_API const char* cpl_stability_name(cpl_stability stability);  ///< "stable", ...

typedef struct cpl_spectrum {
  cpl_stability stability;  ///< of the linearised model; with `complete` false: as far as computed
  bool complete;            ///< all eigenvalues were computed
  int32_t n_constrained;    ///< motions that constraints exclude, which are not counted
  const cpl_eigen_mode* modes;  ///< slowest first: in the order of their magnitudes
  int32_t n_modes;
} cpl_spectrum;

/// The eigenvalues of a model at its present point (in continuous time, after initialisation),
/// which is restored. An eigenvalue counts as zero when its motion leaves the derivatives at the
/// rounding errors of their terms.
/// Owned:    *out by the caller, who calls cpl_spectrum_destroy().
/// Nullable: def
CPL_API cpl_status cpl_spectrum_create(cpl_model* m, const cpl_spectrum_def* def,
                                       cpl_spectrum** out);
CPL_API void cpl_spectrum_destroy(cpl_spectrum* s);  ///< Nullable: s

#ifdef __cplusplus
}
#endif
