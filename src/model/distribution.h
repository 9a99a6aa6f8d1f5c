// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Models over ranks (couplet/ranks.h): all ranks open the same system, and number its sources in
// the same order. In rank 0 an instance is one of its own or a proxy of one in another rank, which
// finds the source by its number.
#pragma once

#include "couplet/ranks.h"

/// A source of a system that was just opened. In rank 0 *source becomes one whose instances are
/// spread over the ranks, and owns the one before; without ranks, and in the others, it stays.
cpl_status cpli_distribute(cpl_source** source);

/// The source behind one that is spread; NULL: it is another one.
const cpl_source* cpli_distributed_inner(const cpl_source* source);
