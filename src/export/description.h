// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// What others read of an exported FMU: modelDescription.xml for machines, a page for people.
#pragma once

#include "couplet/interface.h"
#include "export/writer.h"

typedef struct cpli_fmu_facts {
  const cpl_description* desc;
  cpl_capabilities can;  // of the model
  const char* identifier;
  const char* guid;
  const char* const* source_files;  // for model exchange
  size_t n_source_files;
} cpli_fmu_facts;

/// modelDescription.xml of FMI 2.0.
cpl_status cpli_write_description(cpli_writer* w, const cpli_fmu_facts* facts);
/// documentation/index.html.
cpl_status cpli_write_page(cpli_writer* w, const cpli_fmu_facts* facts);
