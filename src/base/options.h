// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Options of a context that are set after it was created.
#pragma once

#include "base/base.h"

/// Whether models in C that are opened with this context get no derivatives made of their source.
void cpli_use_differences(cpl_context* ctx, bool on);
bool cpli_uses_differences(const cpl_context* ctx);
