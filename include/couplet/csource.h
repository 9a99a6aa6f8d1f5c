// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "couplet/interface.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Open a model written in C (couplet/model.h): compile it with the system's compiler ($CC or cc;
/// once, a cache in $XDG_CACHE_HOME/couplet keyed by content keeps the result) and load it. Owned:
/// *out by the caller, who calls cpl_source_destroy() after all instances are gone.
CPL_API cpl_status cpl_c_open(cpl_context* ctx, const char* path, cpl_source** out);

/// A model whose definition is part of the calling program.
/// Borrowed: def for the life of *out.
CPL_API cpl_status cpl_c_define(cpl_context* ctx, const cpl_model_def* def, cpl_source** out);

#ifdef __cplusplus
}
#endif
