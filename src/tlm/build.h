// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "tlm/tlm.h"

/// Fill m from the definition: parts, ends, description, threads. All models and steppers of the
/// definition belong to m afterwards, or are gone.
cpl_status cpli_tlm_build(cpli_tlm* m, const cpl_tlm_def* def, const cpli_tlm_layout* layout);

/// Parts and ends; in memory that processes share where they are to be parted.
cpl_status cpli_tlm_allocate(cpli_tlm* m, const cpl_tlm_def* def);
void cpli_tlm_unshare(cpli_tlm* m);

/// Put every part into a process of its own; and what is left of it here away again.
cpl_status cpli_tlm_start_processes(cpli_tlm* m);
void cpli_tlm_join(cpli_tlm* m);
