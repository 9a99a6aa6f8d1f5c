// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A composite model of the TLM framework (.xml) as a definition: sub-models, the fmi.config of
// each, which says by value references what its interfaces are, and connections.
#pragma once

#include "system/lines.h"

bool cpli_is_composite(const char* path);
/// Fill a definition, whose `file` is the composite model.
cpl_status cpli_composite_read(cpl_system_def* def);

/// The interfaces of one sub-model, from a file in the form of fmi.config.
cpl_status cpli_fmi_config_read(cpl_system_def* def, const char* path, const char* model,
                                cpli_interface* whole);
