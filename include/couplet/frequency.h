// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The frequency response of a model at a point: the transfer function from an input to an output,
// from the sparse descriptor form, for models of any size; gain and phase margins.
//
//   cpl_frequency* f = NULL;
//   cpl_frequency_def def = cpl_default_frequency_def();
//   def.from = "u", def.to = "y";
//   cpl_status st = cpl_frequency_create(model, &def, &f);
//   for (int32_t i = 0; st >= 0 && i < f->n; i++)
//     printf("%g %g %g\n", f->points[i].omega, f->points[i].re, f->points[i].im);
//   cpl_frequency_destroy(f);
#pragma once

#include "couplet/interface.h"

#ifdef __cplusplus
extern "C" {
#endif

/// What to compute. Start from cpl_default_frequency_def(), then change what you need.
typedef struct cpl_frequency_def {
  size_t size;           ///< set by cpl_default_frequency_def()
  const char* from;      ///< a continuous Real input that nothing is connected to
  const char* to;        ///< a continuous Real variable
  double low, high;      ///< range [rad/s]; NAN: a decade beyond the eigenvalues
  int32_t per_decade;    ///< points, evenly on a logarithmic scale; more where the response bends
  const double* omegas;  ///< exactly these [rad/s], ascending, instead. Nullable
  int32_t n_omegas;
} cpl_frequency_def;

CPL_DEFAULTS(frequency_def)  ///< cpl_default_frequency_def()

typedef struct cpl_frequency_point {
  double omega;   ///< [rad/s]
  double re, im;  ///< the transfer function at j omega
  double phase;   ///< [deg], continuous from point to point; the first from -180 (excluded) to 180
} cpl_frequency_point;

/// Of the transfer function as an open loop that is closed by negative feedback, in the range.
typedef struct cpl_margins {
  double gain, gain_omega;  ///< the factor nearest to 1 that leads to instability, where the phase
                            ///< is -180 deg; NAN: there is no such point
  double phase, phase_omega;  ///< [deg], the smallest, where the gain is 1; NAN: likewise
  double delay;               ///< [s], the smallest dead time that uses up a phase margin; NAN
} cpl_margins;

typedef struct cpl_frequency {
  const cpl_frequency_point* points;  ///< ascending
  int32_t n;
  double at_zero;           ///< the transfer function at zero: the gain at rest; NAN: there is none
  double peak, peak_omega;  ///< the largest gain, also between points
  double bandwidth;         ///< [rad/s] where the gain is first 1/sqrt(2) of that at zero; NAN
  cpl_margins margins;
} cpl_frequency;

/// The response at the present point of a model (in continuous time, after initialisation), which
/// is restored. The model should be at rest there.
/// Owned:    *out by the caller, who calls cpl_frequency_destroy().
/// Returns:  CPL_ERR_INPUT when there is no such input or output, or the range is empty;
///           CPL_ERR_MODEL when the model cannot be linearised, or the response is infinite at a
///           frequency.
CPL_API cpl_status cpl_frequency_create(cpl_model* m, const cpl_frequency_def* def,
                                        cpl_frequency** out);
CPL_API void cpl_frequency_destroy(cpl_frequency* f);  ///< Nullable: f

#ifdef __cplusplus
}
#endif
