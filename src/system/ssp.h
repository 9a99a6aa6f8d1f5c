// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The translation of an SSP package into a definition. The whole hierarchy becomes one definition:
// every FMU is a model with its hierarchical name ("plant.motor"), every connector of a system is
// an output, an input or a parameter of the definition.
#pragma once

#include "ssp/ssp.h"
#include "system/definition.h"

/// Read a package or a system of one: see cpl_system_def_read_ssp().
/// Nullable: findings (NULL: the first error is the failure, and warnings are logged)
cpl_status cpli_def_read_ssp(cpl_context* ctx, const cpl_ssp_def* given,
                             const cpli_ssp_findings* findings, cpl_system_def** out);

/// The definition of a package that was read. It owns the package, also when it fails.
cpl_status cpli_def_of_ssp(cpli_ssp* ssp, const cpli_ssp_findings* findings, cpl_system_def** out);
