// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// What the FMU of a system says of it.
#pragma once

#include "couplet/export.h"
#include "export/description.h"

/// `desc` becomes the description for the model description: with outputs where the system declares
/// none. Everything is in the arena.
cpl_status cpli_system_facts(cpl_source* system, const cpl_build_def* def, cpli_arena* arena,
                             cpl_description* desc, cpli_fmu_facts* out);
