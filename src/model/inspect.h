// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// For composers: the statistics of their components, and the recognition of a kind of component,
// also behind a proxy in the same process.
#pragma once

#include "couplet/component.h"

/// For inspect with a child: which component it is.
void cpli_inspection_child(cpl_inspection* out, cpl_component* child);

/// Add the counters of c to those in `out`.
void cpli_inspection_sum(cpl_inspection* out, const cpl_component* c);

/// The object behind c; NULL: it is of another kind, or in another process. `kind` is the constant
/// that its table has, since others may use the same text.
void* cpli_component_self(const cpl_component* c, const char* kind);
