// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// One description of several components: their variables, prefixed with the names of the
// components. References are indices into it.
#pragma once

#include "base/base.h"
#include "couplet/master.h"
#include "model/shared_desc.h"

typedef struct cpli_merge_part {
  const char* name;
  const cpl_description* desc;
  bool plain;  // its variables keep their names; those whose names are taken are hidden
} cpli_merge_part;

/// Owned: *out by the caller, who calls cpli_shared_desc_release().
cpl_status cpli_merge(cpl_context* ctx, const char* name, const cpli_merge_part* parts,
                      int32_t n_parts, const cpl_master_link* links, int32_t n_links,
                      cpli_shared_desc** out);

/// reach.c: finds the inputs that outputs depend on. `first`: the first variable of each part.
cpl_status cpli_merged_reach(cpli_shared_desc* m, const cpli_merge_part* parts, int32_t n_parts,
                             const int32_t* first, const cpl_master_link* links, int32_t n_links);

/// cpl_master() with an existing description. The parts are in the order of their names, as they
/// are in `merged`. Nullable: merged
struct cpli_starter;
/// Start values of a master's definition. Borrowed: starter as long as it lives
void cpli_master_begin_with(cpl_stepper* master, struct cpli_starter* starter);

cpl_status cpli_master_create(cpl_context* ctx, const cpl_master_def* def, cpli_shared_desc* merged,
                              cpl_stepper** out);

/// lookup.c: the index of the master's variable for a variable of a part; -1: it is hidden there.
int32_t cpli_master_find(const cpl_stepper* master, const cpl_stepper* part, uint32_t ref,
                         uint8_t type);
