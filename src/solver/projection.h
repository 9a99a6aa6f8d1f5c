// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Projection onto the constraints of a model: the shortest way in units of the tolerance
// (solver/normals.h), repeated until a step is a small part of it, or the model's own way.
#pragma once

#include "base/base.h"
#include "couplet/solver.h"

struct cpli_integrate;
struct cpli_normals;

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
/// The same as a correction, however long, and an error estimate of which what the projection
/// removes is a tenth of its size. Nullable: error
cpl_status cpli_projection_correct(struct cpli_integrate* s, double t, const double* x,
                                   double* correction, double* error);
/// Constraints at x, their gradients and which of them are independent.
/// Borrowed: *out until the next projection.
cpl_status cpli_projection_factor(struct cpli_integrate* s, double t, const double* x,
                                  const struct cpli_normals** out);
/// Whether x at t is due to be projected.
cpl_status cpli_projection_due(struct cpli_integrate* s, double t, const double* x, bool* due);
