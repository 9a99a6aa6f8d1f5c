// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Interface for callers that build line ends into models themselves.
#pragma once

#include "base/base.h"
#include "couplet/aggregate.h"
#include "couplet/tlm.h"
#include "master/merged.h"

//------------------------------------ ends.c ------------------------------------

/// The force of a line as a coupling of the model: out->function computes sign (c - sigma z v).
cpl_status cpli_force_function(cpli_arena* arena, cpl_port wave, cpl_port speed, double sigma,
                               double z, double sign, cpl_function* out);
/// Impedance of a component, compensated for alpha; sigma of a kind.
double cpli_line_z(const cpl_tlm_line* line, int32_t component);
double cpli_kind_sigma(cpl_tlm_kind kind);
int32_t cpli_kind_width(cpl_tlm_kind kind);

//------------------------------------ fingerprint.c ------------------------------------

#define CPLI_HASH_BEGIN UINT64_C(0xcbf29ce484222325)
/// FNV-1a: detects mistakes, not manipulation.
uint64_t cpli_hash(uint64_t h, const void* data, size_t n);

//------------------------------------ tlm.c ------------------------------------

/// cpl_tlm() for a model and a description that are split already: parts are the subsystems, in
/// their order, then others; `first` and `refs` are the routes of the variables of `merged`.
/// `whole` is destroyed after the parts, also when this fails. The arrays are copied.
typedef struct cpli_tlm_layout {
  cpli_shared_desc* merged;
  cpl_model* whole;
  const int32_t* first;
  const cpl_route* refs;
  cpli_starter* starter;  // borrowed. Nullable
} cpli_tlm_layout;

cpl_status cpli_tlm_create(cpl_context* ctx, const cpl_tlm_def* def, const cpli_tlm_layout* layout,
                           cpl_stepper** out);
