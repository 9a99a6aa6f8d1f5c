// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// How long the calls of one model or stepper take. Its table of operations is exchanged for one
// that looks at the clock before and after, so that whoever made it and whoever calls it need not
// know. Only for components that nobody recognises by their table: models, not what composers make.
#pragma once

#include "couplet/interface.h"

typedef struct cpli_timed cpli_timed;

/// Owned: *out by the component, which takes it along when it is destroyed.
cpl_status cpli_time_model(cpl_model* m, cpli_timed** out);
cpl_status cpli_time_stepper(cpl_stepper* s, cpli_timed** out);

double cpli_timed_seconds(const cpli_timed* t);
int64_t cpli_timed_calls(const cpli_timed* t);
