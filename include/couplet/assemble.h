// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// From the definition of a system to what can be simulated: the models are opened, and the
// composers make one of them.
#pragma once

#include "couplet/interface.h"
#include "couplet/system.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Build a system: open its models, find the names in its texts, aggregate.
/// Owned:    *out by the caller, who destroys it through its ops after all instances are gone.
/// Borrowed: def as long as *out lives.
/// Returns:  CPL_ERR_INPUT with file, line and column of what is wrong.
CPL_API cpl_status cpl_system_build(cpl_context* ctx, const cpl_system_def* def, cpl_source** out);

/// Read a system file and build it. *out owns the definition.
CPL_API cpl_status cpl_system_open(cpl_context* ctx, const char* path, cpl_source** out);

/// The definition a system was built from; NULL: the source is no system.
CPL_API const cpl_system_def* cpl_system_definition(const cpl_source* source);

/// What the definition says should be recorded. Returns how many; writes at most `n` of them.
CPL_API size_t cpl_system_record(const cpl_system_def* def, const char** out, size_t n);

#ifdef __cplusplus
}
#endif
