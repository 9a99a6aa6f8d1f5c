// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The sources in an FMU of a system of models in C, for platforms that it has no binary for: the
// runtime and the code of systems and aggregates, the models, and what the binary reads from
// resources/ as constants. They are for model exchange.
#pragma once

#include "assemble/assemble.h"
#include "export/archive.h"
#include "export/plan.h"

// A file of the system, and its name below resources/.
typedef struct cpli_packed_file {
  const char *path, *name;
} cpli_packed_file;

typedef struct cpli_system_sources {
  cpl_context* ctx;
  const char* data;       // couplet's data folder
  const char* folder;     // temporary
  cpli_fmu_archive* fmu;  // receives the sources
  const cpli_plan* plan;
  const cpl_source* const* models;  // of each source of the plan
  const cpli_packed_file* files;    // with the tables
  size_t n_files;
} cpli_system_sources;

/// Fails when the system cannot be exported as sources, with the name of the first member that
/// prevents it.
cpl_status cpli_system_sources_check(const cpli_built* system);

/// Adds the runtime and the models to the archive. Fails when two models define the same name, or
/// one does not compile.
/// Order: after the facts of the archive are known.
cpl_status cpli_system_sources_collect(const cpli_system_sources* s);

/// Lists the files to be compiled in the facts of the archive.
/// Owned: *list by the caller, who calls cpli_free() after the archive is written.
cpl_status cpli_system_sources_list(const cpli_system_sources* s, const char*** list);

/// Adds the plan and the tables, and the description of the build.
/// Order: after all others, when the plan is complete.
cpl_status cpli_system_sources_finish(const cpli_system_sources* s, const cpli_image* plan);
