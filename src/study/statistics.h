// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Statistics of results, of which some are missing.
#pragma once

#include "base/base.h"
#include "couplet/design.h"

/// The finite ones of n results in increasing order.
/// Owned: *out by the caller, who calls cpli_free(), also after a failure.
cpl_status cpli_sorted(cpl_context* ctx, const double* y, int64_t n, double** out, int64_t* count);
