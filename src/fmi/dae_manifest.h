// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The manifest of the layered standard FMI-LS-DAE (draft 0.0.1): which variables of an FMU
// of FMI 3.0 are algebraic, which are residuals, and how the form with them is turned on.
#pragma once

#include "fmi/fmu.h"

/// True when a layered standard of that name is this one.
bool cpli_is_dae_layer(const char* name);

/// Read the manifest, after the description. An error in it is a finding, and the reason why the
/// form cannot be used (desc.form_error); only a lack of memory is a failure.
cpl_status cpli_dae_manifest_parse(cpl_fmu* fmu, const char* name, const char* text, size_t size);
