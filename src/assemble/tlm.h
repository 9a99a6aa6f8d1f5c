// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A system with delay lines. The ends of lines at models become components of the aggregate: their
// waves are input signals of it, their forces couplings. The aggregate is then split into
// independent subsystems, which together with the steppers are the parts of a tlm.
#pragma once

#include "assemble/assemble.h"
#include "couplet/tlm.h"

typedef struct cpli_tlm_setting {  // of a model
  const char* solver;              // Nullable
  cpli_source_loc solver_place;
  cpl_tlm_hold hold;
  int32_t substeps;
  bool given;
} cpli_tlm_setting;

/// For runs across machines: a hash of the files of the system.
uint64_t cpli_tlm_files(const cpli_built* b);

struct cpli_tlm_plan {
  cpli_arena arena;
  cpl_tlm_interface* interfaces;  // part: the model; variables of it
  int32_t n_interfaces;
  cpl_tlm_line* lines;
  int32_t n_lines;
  cpli_tlm_setting* settings;  // by model
  int32_t n_waves;             // signals of the aggregate
};

// A system with lines under construction: its parts and the routes into them.
typedef struct cpli_lines {
  cpli_built* b;
  cpli_members* d;
  cpl_model* inner;  // Nullable
  cpl_subsystems subsystems;
  cpl_tlm_part* parts;
  int32_t n_parts;
  int32_t* part_of_model;  // steppers
  int32_t* order;          // models in the description
  cpl_tlm_interface* interfaces;
  int32_t* first;
  cpl_route* refs;
} cpli_lines;

/// tlm_groups.c: combines connected parts into one part each.
cpl_status cpli_lines_join_connected(cpli_lines* l, const cpl_stepper_def* def);
