// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The covariance of parameters from the derivatives of the residuals at the solution, and the
// directions in which the data do not determine them.
#pragma once

#include "couplet/fit.h"

typedef struct cpli_covariance {
  cpl_context* ctx;
  size_t n;                       // parameters
  double* matrix;                 // n by n, before the variance of the residuals is applied; 0 in
                                  // rows and columns of parameters that are held
  bool* undetermined;             // of each parameter
  cpl_fit_direction* directions;  // with parts and texts
  size_t n_directions;
} cpli_covariance;

/// jacobian: m rows, n columns, column after column, in units of the standard deviations.
/// noise: relative errors of the derivatives. Parameters are left out where held[j] is not 0.
/// Owned: the contents of *out by the caller, who calls cpli_covariance_free(), also after a
/// failure.
cpl_status cpli_covariance_make(cpl_context* ctx, const double* jacobian, size_t m,
                                const cpl_varied* parameters, const int32_t* held, size_t n,
                                double noise, cpli_covariance* out);
void cpli_covariance_free(cpli_covariance* c);
