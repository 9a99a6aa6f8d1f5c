// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The archive of an FMU that couplet builds: its documents are made of the facts, its other files
// were collected before. The same content gives the same bytes.
#pragma once

#include "export/description.h"
#include "export/sources.h"

typedef struct cpli_fmu_archive {
  cpl_context* ctx;
  cpli_fmu_facts facts;  // identifier and guid are those below
  char identifier[128];
  char guid[40];
  cpli_source_files sources, licenses, resources;  // in sources/, ...
  char* binary;                                    // for this platform
  size_t binary_size;
} cpli_fmu_archive;

void cpli_fmu_archive_init(cpli_fmu_archive* a, cpl_context* ctx);
void cpli_fmu_archive_free(cpli_fmu_archive* a);

/// Makes the identifier of a model's name.
void cpli_fmu_archive_name(cpli_fmu_archive* a, const char* name);
/// Makes the GUID: a hash of the description and of all files that were collected.
cpl_status cpli_fmu_archive_identify(cpli_fmu_archive* a);
/// Writes the archive. `output` Nullable: the identifier with .fmu in this folder. `written`
/// receives the path. Nullable
cpl_status cpli_fmu_archive_write(cpli_fmu_archive* a, const char* output, char* written,
                                  size_t size);

/// What an FMU of this version of FMI does not contain: in the names of sources.
const char* cpli_fmu_other_version(int fmi);
