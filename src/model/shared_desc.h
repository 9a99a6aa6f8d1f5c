// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The description of a component that consists of others. It is shared by all instances and may
// outlive them: it has a reference count. Descriptions of components are added one after the other,
// with shifted indices; a reference into the whole is the index of a variable.
#pragma once

#include "base/base.h"
#include "couplet/interface.h"

typedef struct cpli_shared_desc {
  cpl_context* ctx;
  int32_t refs;
  cpli_arena arena;
  cpli_names names;
  cpl_description desc;
  cpl_route* routes;  // of each variable. Nullable: the component has its own table
} cpli_shared_desc;

/// Numbers of what descriptions have, or where one begins in the whole.
typedef struct cpli_desc_counts {
  int32_t vars, units, types, states, arrays;
} cpli_desc_counts;

/// Makes an empty description. size: of a struct that begins with a cpli_shared_desc.
/// Owned: *out by the caller, who calls cpli_shared_desc_release(). NULL: out of memory, recorded.
void* cpli_shared_desc_create(cpl_context* ctx, const char* name, const char* kind, size_t size);
cpli_shared_desc* cpli_shared_desc_retain(cpli_shared_desc* d);  // increments the reference count
void cpli_shared_desc_release(cpli_shared_desc* d);              // Nullable

/// Adds the numbers of a description.
cpli_desc_counts cpli_desc_counts_add(cpli_desc_counts at, const cpl_description* d);
/// Memory and names for so many variables, units, types and states.
cpl_status cpli_shared_desc_reserve(cpli_shared_desc* d, const cpli_desc_counts* n);
/// "prefix.name". NULL: out of memory.
const char* cpli_shared_desc_join(cpli_shared_desc* d, const char* prefix, const char* name);
/// A variable of a component whose description begins at `at`.
cpl_variable cpli_shifted_variable(const cpl_description* from, int32_t var,
                                   const cpli_desc_counts* at);
/// Adds everything but the variables of a component. Names of arrays get the prefix; "": none.
cpl_status cpli_shared_desc_add(cpli_shared_desc* d, const cpl_description* from,
                                const char* prefix, const cpli_desc_counts* at);

/// What a composition of steppers can do when each of them must be able to: `can` of those before,
/// and `one`.
void cpli_capabilities_of_both(cpl_capabilities* can, const cpl_capabilities* one);
