// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The smaller XML files next to modelDescription.xml: terminals, how to compile the sources, and
// which layered standards are followed. An FMU can be simulated without them; so an error in
// them is a finding, and only a lack of memory is a failure.
#pragma once

#include "fmi/fmu.h"

/// True when `name`, a path inside an archive, is such a file.
bool cpli_is_companion(const char* name);

/// Read one of them and add its contents, `text`, to the FMU.
cpl_status cpli_companion_parse(cpl_fmu* fmu, const char* name, const char* text, size_t size);

/// Call it after all are read: selects the sources, definitions and folders of each kind.
void cpli_companions_done(cpl_fmu* fmu);
