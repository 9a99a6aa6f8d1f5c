// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Makes a sparse linear system smaller before it is factorised: a node whose row says that it is a
// sum over other unknowns is replaced by that sum wherever it is read (a Schur complement with
// pivots of 1). Which nodes go is decided once, by the number of entries that each replacement adds
// and removes; those of loops and of wide couplings stay.
#pragma once

#include "numeric/eliminate.h"

typedef struct cpli_substitution cpli_substitution;

/// What is left: entries without the identity, of rows and columns numbered by `place`.
typedef struct cpli_substituted {
  int32_t n;             // unknowns that stay
  const int32_t* place;  // of every unknown among them; -1: it has gone
  size_t n_entries;      // each position occurs once
  const int32_t *row, *column;
  const double* values;  // after a refresh
  size_t n_removed;      // entries of the rows and columns that have gone
} cpli_substituted;

/// For n unknowns; those with may_go have a row "unknown = sum of the terms", all terms being on
/// the right side. Terms of the identity (owner -1) are skipped.
/// Owned:    *out by the caller, who calls cpli_substitution_destroy(), also after a failure.
/// Borrowed: terms and may_go only during the call.
cpl_status cpli_substitution_make(cpl_context* ctx, int32_t n, const cpli_term* terms,
                                  size_t n_terms, const bool* may_go, cpli_substitution** out);
void cpli_substitution_destroy(cpli_substitution* s);  // Nullable: s

const cpli_substituted* cpli_substitution_rest(const cpli_substitution* s);
/// From the values of all terms.
void cpli_substitution_refresh(cpli_substitution* s, const double* values);
