// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// When Newton's method of loop.c does not find a way: KINSOL with its line search, from the last
// accepted values. It is slower and allocates, and is rarely needed.
#pragma once

#include "base/base.h"

/// Finds s with residual(user, s, r) = 0; `scale` is the usual size of each value. *s is the guess
/// and the result. Returns: CPL_OK, CPL_RETRY when there is no solution near, or a failure of the
/// residual.
cpl_status cpli_fallback_solve(cpl_context* ctx, int32_t n, double* s, const double* scale,
                               cpl_status (*residual)(void* user, const double* s, double* r),
                               void* user);
