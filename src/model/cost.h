// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// What a call of a model costs, measured before the run: an instance with its own start values, in
// a forked child, where it can do no harm to those of the run.
#pragma once

#include "couplet/interface.h"

/// Of a model: its time, states, derivatives and outputs; of a stepper: a step. The shortest of
/// several. Returns: [s]; NAN: unknown, since the model fails, or takes too long to begin.
double cpli_cost_of(cpl_source* source, bool is_model);
