// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Saved states of a stepper with delay lines: those of its parts, their positions in their
// intervals, and the waves in transit.
#pragma once

#include "tlm/tlm.h"

/// Whether all parts can be rolled back. Integrated ones can if their solver restarts in every
/// step.
bool cpli_tlm_saves(const cpli_tlm* m);

cpl_status cpli_tlm_save(cpl_component* c, cpl_snapshot* snapshot);
cpl_status cpli_tlm_restore(cpl_component* c, const cpl_snapshot* snapshot);
void cpli_tlm_forget(cpl_component* c, cpl_snapshot* snapshot);
cpl_status cpli_tlm_to_bytes(cpl_component* c, const cpl_snapshot* snapshot, cpl_binary* bytes);
cpl_status cpli_tlm_from_bytes(cpl_component* c, const cpl_binary* bytes, cpl_snapshot* snapshot);
cpl_status cpli_tlm_get_history(cpl_component* c, cpl_binary* bytes, bool* complete);
cpl_status cpli_tlm_set_history(cpl_component* c, const cpl_binary* bytes);
