// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Sparse linear systems with a fixed pattern, real and complex: factorised by KLU, or where it is
// not installed, and in FMUs, by left_looking.h.
#pragma once

#include "base/base.h"

typedef struct cpli_sparse cpli_sparse;

/// For matrices whose column j has the rows row[first[j]] to row[first[j + 1] - 1], each once,
/// in any order; with `by_rows` it is row j, and these are its columns.
/// Owned:    *out by the caller, who calls cpli_sparse_destroy(), also after a failure.
/// Borrowed: first and row, as long as *out lives.
cpl_status cpli_sparse_make(cpl_context* ctx, int32_t n, const int32_t* first, const int32_t* row,
                            bool by_rows, cpli_sparse** out);
void cpli_sparse_destroy(cpli_sparse* s);  // Nullable: s

/// The number of entries of the factors.
double cpli_sparse_fill(const cpli_sparse* s);
/// Whether the last real factors are those of fronts.h.
bool cpli_sparse_has_fronts(const cpli_sparse* s);

/// Entries are in the order of the pattern. Pivots of the previous factorisation are reused as long
/// as the matrix stays well conditioned with them.
/// Returns: false when the matrix is singular.
bool cpli_sparse_factor(cpli_sparse* s, const double* entries);
/// The next factorisation chooses its pivots anew, so that it does not depend on earlier ones.
void cpli_sparse_forget(cpli_sparse* s);
/// After a failure: the column without a pivot; -1: unknown.
int32_t cpli_sparse_singular(const cpli_sparse* s);
void cpli_sparse_solve(cpli_sparse* s, double* b);

/// The same for complex matrices and vectors: real and imaginary parts one after the other. Not for
/// patterns by rows.
bool cpli_sparse_factor_complex(cpli_sparse* s, const double* entries);
void cpli_sparse_solve_complex(cpli_sparse* s, double* b);

/// What the factors of a matrix depend on beside its entries.
typedef struct cpli_sparse_pivots {
  double* chosen;  // the entries for which pivots were chosen
  size_t n;        // numbers
  bool has;        // there are factors
  bool reused;     // of later entries, with these pivots
  bool* anew;      // the next ones will not be reused
} cpli_sparse_pivots;

/// Of real or of complex matrices, as a history of the run; NULL: out of memory.
cpli_sparse_pivots* cpli_sparse_history(cpli_sparse* s, bool is_complex);
/// After it was set: the factors of the last entries, to the same bits. False: there are none.
bool cpli_sparse_repeat(cpli_sparse* s, bool is_complex, const double* last);
