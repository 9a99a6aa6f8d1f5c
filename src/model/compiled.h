// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The cache of compiled models. Any number of processes and threads may use it at the same time,
// also from containers in which all have the same process id.
#pragma once

#include "base/options.h"
#include "couplet/interface.h"

/// The shared object of a model in C: from the cache, or compiled now and put there.
/// Owned:   *out, its path, by the caller, who calls cpli_free().
/// Returns: CPL_ERR_INPUT when the model cannot be compiled, or other users can write to the cache.
cpl_status cpli_compiled(cpl_context* ctx, const char* path, char** out);

/// Where the derivatives of an opened model come from, as a text: "exact, ..." or "differences: "
/// with the reason. NULL: it is no model in C.
/// Borrowed: the text, from the source.
const char* cpli_c_derivatives(const cpl_source* source);

/// The text of the tangent functions of a model (tangent/tangent.h), to be compiled behind its
/// source.
/// Owned: *out by the caller, who calls cpli_free().
cpl_status cpli_compiled_tangent(cpl_context* ctx, const char* path, char** out);
