// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Questions of other rooms about an opened source, whether or not it is an FMU.
#pragma once

#include "couplet/interface.h"

/// The kind of the steppers that a source makes, for messages: "co-simulation" or "scheduled
/// execution".
const char* cpli_source_steps(const cpl_source* src);
