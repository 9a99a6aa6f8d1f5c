// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The folder of files that are kept for the next run.
#pragma once

#include "base/base.h"

/// $XDG_CACHE_HOME/couplet, ~/.cache/couplet, or a folder of this user in the temporary folder; it
/// is made where it is missing. Fails where others can write to it.
cpl_status cpli_cache_folder(cpl_context* ctx, char* out, size_t size);
