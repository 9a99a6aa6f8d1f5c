// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The cache of compiled models. Any number of processes and threads may use it at the same time,
// also from containers in which all have the same process id.
#pragma once

#include "base/base.h"

/// The shared object of a model in C: from the cache, or compiled now and put there.
/// Owned:   *out, its path, by the caller, who calls cpli_free().
/// Returns: CPL_ERR_INPUT when the model cannot be compiled, or other users can write to the cache.
cpl_status cpli_compiled(cpl_context* ctx, const char* path, char** out);
