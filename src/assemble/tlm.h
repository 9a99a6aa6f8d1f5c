// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A system with delay lines. The ends of lines at models become part of the aggregate: their waves
// are input signals of it, their forces couplings. It is then taken apart where nothing but lines
// join it, and its pieces and the steppers are the parts of a tlm.
#pragma once

#include "assemble/assemble.h"
#include "couplet/tlm.h"

typedef struct cpli_tlm_setting {  // of a model
  const char* solver;              // Nullable
  cpli_place solver_place;
  cpl_tlm_hold hold;
  int32_t substeps;
  bool given;
} cpli_tlm_setting;

/// With runs across machines: a number that differs where a file of the system does.
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
