// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The rules of `couplet check --strict` for systems: what a file leaves to defaults.
#pragma once

#include "couplet/interface.h"

/// Reports one default that is used: the line in the file (0: none), the name of the rule, a text.
typedef void cpli_report_fn(void* user, int32_t line, const char* rule, const char* text);

/// Reports unconnected inputs, times and tolerances that are not given, and start values outside of
/// their ranges: of a model, or of a system with the systems in it.
void cpli_strict(const cpl_source* source, cpli_report_fn* function, void* user);
