// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Projection onto the constraints of a model: the shortest displacement in units of the tolerance
// (solver/normals.h), repeated until a step is a small fraction of it, or the model's own
// projection.
#pragma once

#include "base/base.h"
#include "couplet/solver.h"

struct cpli_integrate;
struct cpli_normals;

/// NULL in s->projection, with CPL_OK: no projection is needed.
cpl_status cpli_projection_make(struct cpli_integrate* s);
void cpli_projection_destroy(struct cpli_integrate* s);

/// At the start and after an event: determine the active constraints and project s->x.
cpl_status cpli_projection_begin(struct cpli_integrate* s);
/// After a restored state: determine the active constraints.
cpl_status cpli_projection_recount(struct cpli_integrate* s);
/// Projects x at t where that is due. CPL_RETRY: not possible, or not within `limit` in units of
/// the tolerance.
cpl_status cpli_projection_apply(struct cpli_integrate* s, double t, double* x, double limit);
/// The same as a correction of any length, with an error estimate in which the component removed by
/// the projection is reduced to a tenth. Nullable: error
cpl_status cpli_projection_correct(struct cpli_integrate* s, double t, const double* x,
                                   double* correction, double* error);
/// Constraints at x, their gradients and which of them are independent.
/// Borrowed: *out until the next projection.
cpl_status cpli_projection_factor(struct cpli_integrate* s, double t, const double* x,
                                  const struct cpli_normals** out);
/// What earlier projections have left.
void cpli_projection_forget(struct cpli_integrate* s);
/// For the history.
struct cpli_serial;
void cpli_projection_list(struct cpli_integrate* s, struct cpli_serial* serial);
/// Whether a projection of x at t is due.
cpl_status cpli_projection_due(struct cpli_integrate* s, double t, const double* x, bool* due);
