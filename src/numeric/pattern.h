// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The sparsity pattern of a matrix of partial derivatives, and a colouring of its columns: columns
// of one colour share no row, so one evaluation gives all of them.
#pragma once

#include "base/base.h"

typedef struct cpli_pattern {
  cpl_context* ctx;
  int32_t n_rows, n_columns, n_entries;
  int32_t* first;   // n_columns + 1: begin of each column in `row`
  int32_t* row;     // n_entries, ascending within a column
  uint8_t* kind;    // n_entries: how the partial derivative varies
  int32_t* colour;  // n_columns
  int32_t n_colours;
} cpli_pattern;

/// Row r has the columns column[first[r]] to column[first[r + 1] - 1], each once, with these kinds.
/// Nullable: kind; all are 0.
cpl_status cpli_pattern_of_rows(cpl_context* ctx, int32_t n_rows, int32_t n_columns,
                                const int32_t* first, const int32_t* column, const uint8_t* kind,
                                cpli_pattern** out);
void cpli_pattern_destroy(cpli_pattern* p);

// compressed invariants: 1 first[] begins with 0 and never descends; 2 rows are in range, and each
// occurs once in a column.
#ifdef NDEBUG
#define cpli_check_compressed(n_columns, first, row, n_rows) ((void)0)
#else
void cpli_check_compressed(int32_t n_columns, const int32_t* first, const int32_t* row,
                           int32_t n_rows);
#endif

/// Whether a dense matrix would cost more.
bool cpli_pattern_is_sparse(const cpli_pattern* p);
