// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "couplet/jacobian.h"
#include "graph/pattern.h"

/// Where a block may be other than zero.
const cpli_pattern* cpli_jacobian_pattern(const cpl_jacobian* j);
