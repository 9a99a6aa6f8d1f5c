// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "tlm/tlm.h"

/// Whether all parts can be rolled back. Integrated ones can if their solver restarts in every
/// step.
bool cpli_tlm_saves(const cpli_tlm* m);

cpl_status cpli_tlm_save(cpl_component* c, cpl_snapshot* snapshot);
cpl_status cpli_tlm_restore(cpl_component* c, const cpl_snapshot* snapshot);
void cpli_tlm_forget(cpl_component* c, cpl_snapshot* snapshot);
