// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Projection onto the constraints of a model. With weights w = 1/(rtol |x| + atol), W = diag(w),
// residuals c and D = dc/dx, the step is S = -W^-2 D' (D W^-2 D')^-1 c, the shortest in units of
// the tolerance, repeated until it is a small part of it; an error estimate e becomes
// (I - W^-2 D' (D W^-2 D')^-1 D) e. Both come from an orthonormal basis of the columns of W^-1 D',
// found with pivoting, so that constraints that depend on each other do no harm.
#pragma once

#include "base/base.h"
#include "couplet/solver.h"

struct cpli_integrate;

/// NULL in s->projection, with CPL_OK: there is nothing to project.
cpl_status cpli_projection_make(struct cpli_integrate* s);
void cpli_projection_destroy(struct cpli_integrate* s);

/// At the start and after an event: which constraints are active, and s->x onto them.
cpl_status cpli_projection_begin(struct cpli_integrate* s);
/// After a restored state: which are active.
cpl_status cpli_projection_recount(struct cpli_integrate* s);
/// x at t onto the constraints where that is due. CPL_RETRY: it cannot be, or not within `limit` in
/// units of the tolerance.
cpl_status cpli_projection_apply(struct cpli_integrate* s, double t, double* x, double limit);
/// The same as a correction, and an error estimate without what it removes. Nullable: error
cpl_status cpli_projection_correct(struct cpli_integrate* s, double t, const double* x,
                                   double* correction, double* error);
/// Whether x at t is due to be projected.
cpl_status cpli_projection_due(struct cpli_integrate* s, double t, const double* x, bool* due);
