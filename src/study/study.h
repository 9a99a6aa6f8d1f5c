// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A study, as its files see it.
#pragma once

#include "study/runner.h"

typedef struct cpli_study {
  cpl_context* ctx;
  cpl_study_def def;  // completed from the system file
  cpli_arena arena;
  cpli_study_plan plan;
  const cpl_source* source;  // while the study is prepared
  const char* title;         // name of the model
  char* identity;            // by open_memstream()
  const char** factor_units;
  const char** curve_units;
  cpli_runner* runner;  // in a worker
} cpli_study;

void cpli_study_free(cpli_study* s);

//------------------------------------ identity.c ------------------------------------

/// Fill `identity`, while the source is open.
cpl_status cpli_study_identify(cpli_study* s);

//------------------------------------ write.c ------------------------------------

/// Whether results can be written to a file of this name: its ending, and a folder to write to.
cpl_status cpli_study_check_output(cpl_context* ctx, const char* path);
/// Call on_case of the definition with every case of the journal.
cpl_status cpli_study_visit(const cpli_study* s);
/// Write the results of the journal; the format follows the name.
cpl_status cpli_study_write(const cpli_study* s, const char* path);

//------------------------------------ write_netcdf.c ------------------------------------

enum { CPLI_MAX_FACTS = 16, CPLI_SEED_SIZE = 32 };

/// What was computed; nothing of when, where and by how many workers. Returns: the number of facts.
/// Borrowed: the study and `seed`, which receives the text of the seed.
size_t cpli_study_list_facts(const cpli_study* s, cpl_study_fact facts[CPLI_MAX_FACTS],
                             char seed[CPLI_SEED_SIZE]);
/// The same as a NetCDF file, with curves.
cpl_status cpli_study_write_netcdf(const cpli_study* s, const char* path);
