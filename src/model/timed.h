// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The duration of the calls of one model or stepper. Its table of operations is replaced by one
// that reads the clock before and after, transparently for its owner and its callers. Only for
// components that are not identified by their table: models, not those made by composers.
#pragma once

#include "couplet/interface.h"

typedef struct cpli_timed cpli_timed;

/// Owned: *out by the component, which destroys it together with itself.
cpl_status cpli_time_model(cpl_model* m, cpli_timed** out);
cpl_status cpli_time_stepper(cpl_stepper* s, cpli_timed** out);

double cpli_timed_seconds(const cpli_timed* t);
int64_t cpli_timed_calls(const cpli_timed* t);
