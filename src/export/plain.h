// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The definition of a built system as a plain system file: units and transformations of the
// connectors of a package become factors and offsets, and values get the units of their variables.
#pragma once

#include "assemble/assemble.h"
#include "system/write.h"

/// Owned: *text by the caller, who calls free().
cpl_status cpli_plain_text(const cpli_built* system, const cpli_write_def* how, char** text,
                           size_t* size);
