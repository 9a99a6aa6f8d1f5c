// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The smaller XML files next to modelDescription.xml: terminals, how to compile the sources, and
// which layered standards are followed. An FMU can be simulated without them; so what is wrong with
// them is a finding, and only a lack of memory is a failure.
#pragma once

#include "fmi/fmu.h"

/// Whether `name`, as in an archive, is such a file.
bool cpli_is_companion(const char* name);

/// Read one of them and add what it says to the FMU. `text` is its contents.
cpl_status cpli_companion_parse(cpl_fmu* fmu, const char* name, const char* text, size_t size);

/// When all are read: which sources, definitions and folders each kind is compiled with.
void cpli_companions_done(cpl_fmu* fmu);
