// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Newton's iteration for integrators of SUNDIALS that accept a step when the correction is small
// (CVODE). A correction is also small when the Jacobian is far too large: it is old, or it was
// evaluated where the function is locally steep. Nothing is corrected then, the estimated error is
// almost zero, and the steps grow. So where a residual above the tolerance leads to a much smaller
// correction, one more iteration shows whether the residual follows it; if not, the Jacobian is
// evaluated again, or the step is shortened. Stiff equations have such corrections in every step,
// so only ratios larger than those confirmed before are checked.
#pragma once

#include <sundials/sundials_nonlinearsolver.h>

#include "model/serial.h"
#include "solver/solver.h"

/// NULL: no memory. SUNNonlinSolFree() destroys it.
SUNNonlinearSolver cpli_sun_newton(cpl_context* ctx, N_Vector like, SUNContext sun);
/// What the next solution depends on, for the history of the integrator.
void cpli_sun_newton_list(SUNNonlinearSolver nls, cpli_serial* s);
