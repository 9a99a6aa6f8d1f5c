// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The parts of the creation of a stepper with delay lines: memory, parts, line ends, description,
// processes. tlm.c has the operations of the stepper.
#pragma once

#include "tlm/tlm.h"

/// Fills m from the definition: parts, line ends, description, threads. Takes over all models and
/// steppers of the definition, also when it fails.
cpl_status cpli_tlm_build(cpli_tlm* m, const cpl_tlm_def* def, const cpli_tlm_layout* layout);

/// Allocates parts and line ends; in shared memory where parts run in processes of their own.
cpl_status cpli_tlm_allocate(cpli_tlm* m, const cpl_tlm_def* def);
void cpli_tlm_unshare(cpli_tlm* m);

/// Starts a process for every part; ends the processes and destroys what remains here.
cpl_status cpli_tlm_start_processes(cpli_tlm* m);
void cpli_tlm_join(cpli_tlm* m);

/// Executes a get or set of values in one part (tlm.c).
cpl_status cpli_tlm_forward(cpl_component* c, const cpli_access* run);
