// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Factors: checks, copies, and columns of numbers from CSV files, which are samples of a factor or
// the cases of a design.
#pragma once

#include "base/base.h"
#include "couplet/design.h"

/// Whether a factor can be used at all; `who` begins the message.
cpl_status cpli_factor_check(cpl_context* ctx, const cpl_factor* f, const char* who);

/// Owned: *out by the caller, who calls cpl_factor_free(), also after a failure.
cpl_status cpli_factor_copy(cpl_context* ctx, const cpl_factor* f, cpl_factor* out);

// The numbers of a CSV file: a header with names, optionally `name [unit]`, then rows. Values are
// finite; row after row.
typedef struct cpli_columns {
  cpli_arena arena;    // names and units
  const char** names;  // n
  const char** units;  // n; each may be NULL
  size_t n;
  int64_t rows;
  double* values;  // rows * n
} cpli_columns;

/// `column`: read this one only, other columns may have any content. Nullable: all of them.
/// Owned:   out by the caller, who calls cpli_columns_free(), also after a failure.
/// Returns: CPL_ERR_INPUT with file, line and column of what is wrong.
cpl_status cpli_columns_read(cpl_context* ctx, const char* path, const char* column,
                             cpli_columns* out);
void cpli_columns_free(cpli_columns* columns);
