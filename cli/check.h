// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Checks of `couplet check` that step a model.
#pragma once

#include "cli.h"

struct cpli_findings;

// Steps, goes back and steps again; what differs is a finding.
cpl_status check_rollback(cpl_context* ctx, cpl_source* source, struct cpli_findings* findings);
