// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Values inside the solver's last step, without going there: states are read from the dense output
// of the method, and the model is evaluated for other variables only.
#pragma once

#include "base/base.h"
#include "couplet/solver.h"

typedef struct cpli_sampler cpli_sampler;

/// For these Reals of a stepper; proxies of it are allowed. *out is NULL for steppers that do not
/// consist of one model of constant structure and its solver.
/// Owned:    *out by the caller, who calls cpli_sampler_destroy().
/// Borrowed: the stepper, while values are read.
cpl_status cpli_sampler_create(cpl_stepper* s, const uint32_t* refs, size_t n, cpli_sampler** out);
void cpli_sampler_destroy(cpli_sampler* sampler);  // Nullable: sampler

/// Reads all variables at n increasing times: n rows. The stepper stays where it is.
/// Returns: CPL_RETRY when the times are not inside the solver's last step, or the model could not
///          be evaluated there; the stepper has to go there then.
cpl_status cpli_sampler_read(cpli_sampler* sampler, const double* t, size_t n, double* values);

/// Takes the solver's next step towards t_limit, unless it is ahead of its output time already;
/// t_end is the time that is wanted next. *until: the end of that step, or the output time where
/// the stepper has to be stepped itself. Values at times before *until can be read.
cpl_status cpli_sampler_ahead(cpli_sampler* sampler, double t_end, double t_limit, double* until);
