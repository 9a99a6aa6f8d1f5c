// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The poses of interfaces of a system with delay lines, for `couplet tlm inspect`.
#pragma once

#include "cli.h"
#include "format/json.h"

// Prints the poses of the interfaces of a system at the start, as text or as a member of the open
// object of `json`. Nullable: json. A failure reports misaligned ports.
cpl_status tlm_poses(cpl_context* ctx, cpl_source* source, FILE* out, cpli_json* json);
