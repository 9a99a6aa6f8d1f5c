// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The sparsity pattern of a block of partial derivatives, taken from a model's structure, and a
// colouring of its columns: columns of one colour share no row, so one evaluation gives all of
// them.
#pragma once

#include "base/base.h"
#include "couplet/interface.h"

/// A variable and its aliases are one unknown: the first of them stands for all.
int32_t cpli_root_variable(const cpl_description* d, int32_t var);

/// Enters each row of a structure at its variable. Derivatives of FMI 1.0 are no variables and
/// have no place.
void cpli_note_rows(const cpl_description* d, const cpl_unknown* list, int32_t n,
                    const cpl_unknown** of);

typedef struct cpli_pattern {
  cpl_context* ctx;
  int32_t n_rows, n_columns, n_entries;
  int32_t* first;   // n_columns + 1: where each column begins in `row`
  int32_t* row;     // n_entries, ascending within a column
  uint8_t* kind;    // n_entries: cpl_dependency_kind, how the partial derivative varies
  int32_t* colour;  // n_columns
  int32_t n_colours;
} cpli_pattern;

/// rows: variables that are outputs or derivatives; columns: variables that are states or inputs.
/// A row whose dependencies are not known depends on every column.
cpl_status cpli_pattern_create(cpl_context* ctx, const cpl_description* desc, const int32_t* rows,
                               int32_t n_rows, const int32_t* columns, int32_t n_columns,
                               cpli_pattern** out);
/// Of rows that are given: row r has the columns column[first[r]] to column[first[r + 1] - 1].
cpl_status cpli_pattern_of_rows(cpl_context* ctx, int32_t n_rows, int32_t n_columns,
                                const int32_t* first, const int32_t* column, cpli_pattern** out);
void cpli_pattern_destroy(cpli_pattern* p);

/// Whether a dense matrix would be more work.
bool cpli_pattern_is_sparse(const cpli_pattern* p);
