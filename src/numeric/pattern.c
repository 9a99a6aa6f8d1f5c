// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Greedy colouring of the columns in their order (Curtis, Powell and Reid), by means of the
// transposed pattern.
#include "numeric/pattern.h"

#include <assert.h>
#include <stdlib.h>

//------------------------------------ invariants ------------------------------------

#ifdef NDEBUG
#define check_colours(p, first, column, taken) ((void)0)
#define check_order(p)                         ((void)0)
#else
void cpli_check_compressed(int32_t n_columns, const int32_t* first, const int32_t* row,
                           int32_t n_rows) {
  int32_t* last = calloc((size_t)n_rows + 1, sizeof *last);  // column that has a row, from 1
  assert(n_columns >= 0 && first[0] == 0);
  for (int32_t c = 0; c < n_columns; c++) {
    assert(first[c] <= first[c + 1]);
    for (int32_t e = first[c]; e < first[c + 1]; e++) {
      assert(row[e] >= 0 && row[e] < n_rows);
      if (last != NULL) assert(last[row[e]] != c + 1);
      if (last != NULL) last[row[e]] = c + 1;
    }
  }
  free(last);
}

static void check_order(const cpli_pattern* p) {
  cpli_check_compressed(p->n_columns, p->first, p->row, p->n_rows);
  assert(p->first[p->n_columns] == p->n_entries);
  for (int32_t c = 0; c < p->n_columns; c++) {
    for (int32_t e = p->first[c] + 1; e < p->first[c + 1]; e++) assert(p->row[e - 1] < p->row[e]);
  }
}

// colour invariant: columns that share a row have different colours. first[] and column[] are the
// transposed pattern; taken[] is scratch memory without values below -1.
static void check_colours(const cpli_pattern* p, const int32_t* first, const int32_t* column,
                          int32_t* taken) {
  for (int32_t r = 0; r < p->n_rows; r++) {
    for (int32_t k = first[r]; k < first[r + 1]; k++) {
      int32_t colour = p->colour[column[k]];
      assert(colour >= 0 && colour < p->n_colours);
      assert(taken[colour] != -2 - r);
      taken[colour] = -2 - r;
    }
  }
}
#endif

//------------------------------------ colouring ------------------------------------

// Greedy in the order of the columns. A search over all columns would be quadratic; instead the
// transposed pattern lists the columns of every row.
static cpl_status colour_columns(cpli_pattern* p) {
  cpl_status st = CPL_OK;
  int32_t* first = cpli_alloc(p->ctx, (size_t)p->n_rows + 2, sizeof *first);
  int32_t* column = cpli_alloc(p->ctx, (size_t)p->n_entries, sizeof *column);
  int32_t* taken = cpli_alloc(p->ctx, (size_t)p->n_columns + 1, sizeof *taken);
  if (first == NULL || column == NULL || taken == NULL) {
    st = cpli_nomem(p->ctx);
    goto done;
  }
  for (int32_t e = 0; e < p->n_entries; e++) first[p->row[e] + 2]++;
  for (int32_t r = 0; r < p->n_rows; r++) first[r + 2] += first[r + 1];
  for (int32_t c = 0; c < p->n_columns; c++) {
    for (int32_t e = p->first[c]; e < p->first[c + 1]; e++) column[first[p->row[e] + 1]++] = c;
  }
  for (int32_t c = 0; c < p->n_columns; c++) taken[c] = -1;
  for (int32_t c = 0; c < p->n_columns; c++) {
    for (int32_t e = p->first[c]; e < p->first[c + 1]; e++) {
      int32_t r = p->row[e];
      if (first[r + 1] - first[r] == p->n_columns) {  // a full row: every column has its own colour
        p->colour[c] = c;
        goto coloured;
      }
      for (int32_t k = first[r]; k < first[r + 1] && column[k] < c; k++)
        taken[p->colour[column[k]]] = c;
    }
    p->colour[c] = 0;
    while (taken[p->colour[c]] == c) p->colour[c]++;
  coloured:
    if (p->colour[c] >= p->n_colours) p->n_colours = p->colour[c] + 1;
  }
  check_colours(p, first, column, taken);
done:
  cpli_free(p->ctx, first);
  cpli_free(p->ctx, column);
  cpli_free(p->ctx, taken);
  return st;
}

static cpli_pattern* allocate(cpl_context* ctx, int32_t n_rows, int32_t n_columns) {
  cpli_pattern* p = cpli_alloc(ctx, 1, sizeof *p);
  if (p == NULL) return NULL;
  *p = (cpli_pattern){.ctx = ctx, .n_rows = n_rows, .n_columns = n_columns};
  p->first = cpli_alloc(ctx, (size_t)n_columns + 1, sizeof *p->first);
  p->colour = cpli_alloc(ctx, (size_t)n_columns, sizeof *p->colour);
  if (p->first != NULL && p->colour != NULL) return p;
  cpli_pattern_destroy(p);
  return NULL;
}

static cpl_status finish(cpli_pattern* p, cpl_status st, cpli_pattern** out) {
  if (st >= 0) st = colour_columns(p);
  if (st < 0) cpli_pattern_destroy(p);
  else *out = p;
  return st;
}

// Rows are visited in their order, so that they ascend within each column.
cpl_status cpli_pattern_of_rows(cpl_context* ctx, int32_t n_rows, int32_t n_columns,
                                const int32_t* first, const int32_t* column, const uint8_t* kind,
                                cpli_pattern** out) {
  *out = NULL;
  cpli_pattern* p = allocate(ctx, n_rows, n_columns);
  if (p == NULL) return cpli_nomem(ctx);
  p->n_entries = first[n_rows];
  p->row = cpli_alloc(ctx, (size_t)p->n_entries, sizeof *p->row);
  p->kind = cpli_alloc(ctx, (size_t)p->n_entries, sizeof *p->kind);
  if (p->row == NULL || p->kind == NULL) return finish(p, cpli_nomem(ctx), out);
  for (int32_t e = 0; e < p->n_entries; e++) {
    assert(column[e] >= 0 && column[e] < n_columns);
    p->first[column[e] + 1]++;
  }
  for (int32_t c = 0; c < n_columns; c++) p->first[c + 1] += p->first[c];
  for (int32_t r = 0; r < n_rows; r++) {
    for (int32_t e = first[r]; e < first[r + 1]; e++) {
      int32_t at = p->first[column[e]]++;
      p->row[at] = r;
      p->kind[at] = kind != NULL ? kind[e] : 0;
    }
  }
  for (int32_t c = n_columns; c > 0; c--) p->first[c] = p->first[c - 1];  // restore the begins
  p->first[0] = 0;
  check_order(p);
  return finish(p, CPL_OK, out);
}

void cpli_pattern_destroy(cpli_pattern* p) {
  if (p == NULL) return;
  cpli_free(p->ctx, p->first);
  cpli_free(p->ctx, p->row);
  cpli_free(p->ctx, p->kind);
  cpli_free(p->ctx, p->colour);
  cpli_free(p->ctx, p);
}

bool cpli_pattern_is_sparse(const cpli_pattern* p) {
  enum { SMALL = 40 };                   // columns: a dense matrix is as fast up to here
  static const double dense_from = 0.2;  // fraction of the entries
  double n = p->n_columns;
  return n >= SMALL && p->n_entries <= dense_from * n * n;
}
