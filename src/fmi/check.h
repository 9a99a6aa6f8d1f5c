// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Checks an FMU against rules of the standard that the schema cannot express. The parser checks
// single elements; the rules here need the whole description and the files of the FMU.
#pragma once

#include "fmi/fmu.h"

/// All findings about an FMU, those of the parser included, sorted by line.
/// Owned:    *out by the caller, who calls cpli_findings_free(), also after a failure.
cpl_status cpli_fmu_check(const cpl_fmu* fmu, cpli_findings* out);

/// check_files.c: compare the files of the FMU with those that the description names.
void cpli_check_files(const cpl_fmu* fmu, cpli_findings* out);
