// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A rank that is not the coordinator: it has supervisors of its workers, and passes messages
// between them and the coordinator.
#pragma once

#include "study/cluster.h"
#include "study/executor.h"

/// The study as the ranks compare it.
cpli_hello cpli_hello_of(const cpli_cases* cases, int32_t workers);

/// Serve the coordinator until it ends the study. The failure of a worker is one of the
/// coordinator.
cpl_status cpli_relay_run(cpl_context* ctx, const cpli_cases* cases, const cpli_execution* how);
