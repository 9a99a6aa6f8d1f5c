// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The section `fit` of a system file, which completes the definition of a fit: parameters and data
// that the caller has given replace those of the file, standard deviations are added by their
// names, and single values have priority.
#pragma once

#include "couplet/fit.h"
#include "system/definition.h"

typedef struct cpli_fit_section {
  cpl_context* ctx;
  const cpli_fit_texts* texts;     // Nullable: there is none
  cpl_vary* vary;                  // those of the file; NULL: the caller has given others
  cpl_fit_data* data;              // likewise
  cpl_start* starts;               // of all data
  cpl_fit_sigma* sigmas;           // of the caller, then of the file
  size_t n_vary, n_own;            // vary that are read; sigmas of the caller
  const cpli_source_loc** places;  // of the sigmas of the file
} cpli_fit_section;

/// `def` then has what both say; its arrays are borrowed from the caller and from the section.
/// Owned: the contents by the caller, who calls cpli_fit_section_free(), also after a failure.
/// Nullable: file
cpl_status cpli_fit_section_read(cpli_fit_section* s, cpl_context* ctx, const cpl_system_def* file,
                                 cpl_fit_def* def);
void cpli_fit_section_free(cpli_fit_section* s);

/// Where a failure of these data, or of this standard deviation, is, if the file has them: returns
/// st, with the place before its message.
cpl_status cpli_fit_section_in_data(const cpli_fit_section* s, cpl_status st, size_t data);
cpl_status cpli_fit_section_in_sigma(const cpli_fit_section* s, cpl_status st, size_t sigma);

/// Read what varies from its name and GUESS:LEAST:GREATEST, which may be empty.
/// Owned: *out by the caller, who calls cpl_vary_free(), not needed after a failure.
cpl_status cpli_vary_read(cpl_context* ctx, const char* name, const char* numbers, cpl_vary* out);
