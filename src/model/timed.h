// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The duration of the calls of one model or stepper. Its tables of operations are replaced by some
// that read the clock before and after, transparently for its owner and its callers. The component
// then also has the counters in_calls_s and calls (cpl_component_inspect).
#pragma once

#include "couplet/interface.h"

cpl_status cpli_time_model(cpl_model* m);
cpl_status cpli_time_stepper(cpl_stepper* s);
