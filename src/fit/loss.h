// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// How residuals count. The sum of rho(r^2) is the sum of squares of f(r) = sign(r) sqrt(rho(r^2)),
// so that robust fits are least squares, too.
#pragma once

#include "couplet/fit.h"

/// The scale c that is used where none is given.
double cpli_loss_scale(cpl_loss kind);
/// f(r), and its derivative.
double cpli_loss_residual(cpl_loss kind, double c, double r, double* slope);
/// psi(r) = d(rho/2)/dr, and its derivative.
double cpli_loss_influence(cpl_loss kind, double c, double r, double* slope);
