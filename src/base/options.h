// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Options of a context that are set after it was created.
#pragma once

#include "base/base.h"

/// What cpl_context_use_differences() was called with.
bool cpli_uses_differences(const cpl_context* ctx);
