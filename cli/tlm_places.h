// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "cli.h"
#include "format/json.h"

// Where the interfaces of a system are at the start, for people, or as a member of what `json` has
// open. Nullable: json. A failure says how they do not fit together.
cpl_status tlm_places(cpl_context* ctx, cpl_source* source, FILE* out, cpli_json* json);
