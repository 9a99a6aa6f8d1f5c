// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The checkpoints of couplet run: --checkpoint, --resume and --start-from.
#pragma once

#include "couplet/couplet.h"

struct session;

typedef struct run_states {
  cpl_checkpoint* from;  // of --resume or --start-from. Nullable
  cpl_checkpoints_def def;
  struct {
    cpl_results_mark mark;
    char path[4096];
  } results;              // bytes of a checkpoint: how far they are in which file
  cpl_results_mark mark;  // of `from`
  char path[4096];        // where its results are
} run_states;

/// Reads the file of --resume or --start-from, and the time between checkpoints.
cpl_status run_states_read(struct session* s);
/// When the experiment is known: whether it is that of the checkpoint.
cpl_status run_states_begin(struct session* s);
/// Results go on in the file of the interrupted run.
void run_states_results(const struct session* s, cpl_results_def* def);
