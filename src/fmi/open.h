// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// What other rooms ask of an opened source, FMU or not.
#pragma once

#include "couplet/interface.h"

/// How a source makes steppers, for messages: "co-simulation" or "scheduled execution".
const char* cpli_source_steps(const cpl_source* src);
