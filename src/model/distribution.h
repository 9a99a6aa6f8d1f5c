// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Models over ranks (couplet/ranks.h): all ranks open the same system, and number its sources in
// the same order. In rank 0 an instance is one of its own or a proxy of one in another rank, which
// finds the source by its number. Rank 0 decides where instances live, by the cost of their calls
// (model/spread.h), which the ranks measure.
#pragma once

#include "couplet/ranks.h"

/// A source of a system that was just opened. In rank 0 *source becomes one whose instances are
/// spread over the ranks, and owns the one before; without ranks, and in the others, it stays.
cpl_status cpli_distribute(cpl_source** source);

/// An instance that is made next, of a source of a system.
typedef struct cpli_next_instance {
  cpl_source* source;
  bool is_model;
} cpli_next_instance;

/// Decides where instances live: they are made after this, in this order. Costs are measured where
/// they make a difference: not where each instance gets a rank of its own, or all are of one kind
/// and the only ones (`outermost`). No effect without ranks, and in the others.
cpl_status cpli_distribution_plan(cpl_context* ctx, const cpli_next_instance* wanted, size_t n,
                                  bool outermost);

/// Whether this process is a rank that serves: it opens sources, and has no instances of its own.
bool cpli_distribution_serves(cpl_context* ctx);

/// The source behind one that is spread; NULL: it is another one.
const cpl_source* cpli_distributed_inner(const cpl_source* source);
