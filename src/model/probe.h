// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Isolated models in C are not called in this process before they run either: their properties are
// determined in a child.
#pragma once

#include "model/cmodel.h"

/// cpl_c_open() of a model whose instances are isolated: its functions are called in a child only,
/// and none of them may take longer than call_timeout [s]; 0: no limit.
cpl_status cpli_c_open_isolated(cpl_context* ctx, const char* path, double call_timeout,
                                cpl_source** out);

/// cpli_cmodel_host.call: crashes are caught, and the name of the function is published.
const char* cpli_probe_call(const char* function, void (*run)(void* user), void* user);
uint32_t cpli_probe_modes(void);
void cpli_probe_put_back(uint32_t modes);

/// cpli_cmodel_host.in_child: in a child.
cpl_status cpli_probe_isolated(cpli_cmodel* cm, cpli_probe_fn* work, void* user, void* result,
                               size_t size);
