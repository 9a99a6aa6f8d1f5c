// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// tlm.config, the file that the TLM framework writes for a sub-model: five lines with its name, the
// server, start, stop and maximum step.
#pragma once

#include "system/definition.h"

// What stands in a tlm.config; its texts live as long as the definition.
typedef struct cpli_tlm_config {
  cpli_source_loc loc;  // of the longest step
  cpli_located_text name;
  cpli_located_text server;  // host:port, checked
  double start, stop, max_step;
} cpli_tlm_config;

bool cpli_is_tlm_config(const char* path);
cpl_status cpli_tlm_config_read(cpl_system_def* def, const char* path, cpli_tlm_config* out);

/// Fill a definition, whose `file` is a tlm.config, with the sub-model in its folder.
cpl_status cpli_tlm_config_system(cpl_system_def* def);
