// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Rules beyond the schema: what the standard asks of a description and of the files around it. The
// parser has noticed some of it already; this looks at the rest, which needs the whole FMU.
#pragma once

#include "fmi/fmu.h"

/// All findings about an FMU, those of the parser included, sorted by line.
/// Owned:    *out by the caller, who calls cpli_findings_free(), also after a failure.
cpl_status cpli_fmu_check(const cpl_fmu* fmu, cpli_findings* out);

/// check_files.c: what the description says of files.
void cpli_check_files(const cpl_fmu* fmu, cpli_findings* out);
