// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Event updates in the order of the data flow: update_plan.c makes the order, updates.c executes
// it.
#pragma once

#include "aggregate/aggregate.h"

// First operations on values, then updates of components that are independent of each other.
typedef struct cpli_update_step {
  size_t end_op;     // in values->ops
  int32_t end_part;  // in components
} cpli_update_step;

typedef struct cpli_updates {
  cpl_context* ctx;
  cpli_eval_plan* values;  // a loop has its index in the plan for events, which owns the loop
  int64_t* done;           // per operation: the number of the last change it has processed
  cpli_update_step* steps;
  size_t n_steps, cap_steps;
  int32_t *parts, n_parts;
  bool* jumping;  // per node: it is discrete, or computed from a discrete one
} cpli_updates;

/// The order for a plan for events; `values` are the edges between its nodes.
cpl_status cpli_updates_make(cpli_aggregate* a, const cpli_eval_plan* events,
                             const cpli_graph* values, cpli_updates** out);
void cpli_updates_destroy(cpli_updates* u);  // Nullable

/// An event begins: every component has an update before it is over.
void cpli_updates_begin(cpli_aggregate* a);
/// Strings and binaries over all couplings.
cpl_status cpli_updates_carry_texts(cpli_aggregate* a);
/// One round: components that are due, with the current values, then in the order of the data flow
/// those whose inputs changed. It ends early when a component changes its structure.
cpl_status cpli_updates_round(cpli_aggregate* a, cpl_event_info* info);
/// Whether a component needs another update because of its inputs.
cpl_status cpli_updates_open(cpli_aggregate* a, bool* open);
/// The message of an event iteration that does not end.
cpl_status cpli_updates_endless(cpli_aggregate* a);
