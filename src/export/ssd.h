// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The description of a system for an SSP package (SystemStructure.ssd).
#pragma once

#include "assemble/assemble.h"
#include "export/writer.h"

typedef struct cpli_ssd_def {
  const cpli_built* system;
  const char* name;
  /// The name of a file in the package. `kind`, the key of a model ("fmu", "c", "system"; NULL: a
  /// table), becomes that of the file in the package. `out` has PATH_MAX bytes.
  cpl_status (*file)(void* user, const char** kind, const cpli_located_text* path, char* out);
  void* user;
} cpli_ssd_def;

/// What the standard cannot express is added as an annotation (docs/ssp.md).
cpl_status cpli_ssd_write(cpli_writer* out, const cpli_ssd_def* def);
