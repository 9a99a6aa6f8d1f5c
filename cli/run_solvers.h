// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The option --solver, for all models of a run or for single ones.
#pragma once

#include "cli.h"

// The values of --solver: one for all models, and those of single models.
typedef struct run_solvers {
  const char* all;           // Nullable
  cpl_model_solver* models;  // their names are owned
  int32_t n;
} run_solvers;

// The items are NAME or MODEL=NAME. *out is freed by the caller, also after a failure.
cpl_status run_solvers_read(cpl_context* ctx, const cli_list* items, run_solvers* out);
void run_solvers_free(run_solvers* s);
