// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A sparse matrix from entries in any order: they are collected as triplets and become compressed
// columns with ascending rows; entries at the same place are added.
#pragma once

#include "base/base.h"

typedef struct cpli_triplet {
  int32_t row, column;
  double value;
} cpli_triplet;

typedef struct cpli_triplets {
  cpl_context* ctx;  // set by the caller
  cpli_triplet* items;
  size_t n, cap;
} cpli_triplets;

typedef struct cpli_compressed {
  int32_t n;             // columns
  int32_t *first, *row;  // column j has the rows row[first[j]] to row[first[j + 1] - 1]
  double* entries;
} cpli_compressed;

cpl_status cpli_triplets_add(cpli_triplets* t, int32_t row, int32_t column, double value);
void cpli_triplets_free(cpli_triplets* t);

/// Rows and columns are below `rows` and `columns`.
/// Owned: the contents of *out by the caller, who calls cpli_compressed_free(), also after a
/// failure.
cpl_status cpli_triplets_compress(const cpli_triplets* t, int32_t rows, int32_t columns,
                                  cpli_compressed* out);
void cpli_compressed_free(cpl_context* ctx, cpli_compressed* c);
