// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// An FMU of a whole system.
#pragma once

#include "base/base.h"
#include "couplet/export.h"

/// cpl_fmu_build() of a system file or package.
cpl_status cpli_system_fmu_build(cpl_context* ctx, const cpl_build_def* def, char* output,
                                 size_t size);
