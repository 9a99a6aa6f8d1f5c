// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Two counting sorts, by row and then (stable) by column.
#include "numeric/triplets.h"

#include <assert.h>

cpl_status cpli_triplets_add(cpli_triplets* t, int32_t row, int32_t column, double value) {
  if (!cpli_grow(t->ctx, (void**)&t->items, &t->cap, t->n, sizeof *t->items))
    return cpli_nomem(t->ctx);
  t->items[t->n++] = (cpli_triplet){row, column, value};
  return CPL_OK;
}

void cpli_triplets_free(cpli_triplets* t) {
  cpli_free(t->ctx, t->items);
  *t = (cpli_triplets){.ctx = t->ctx};
}

// The order of all triplets: sorted[] by column, within it by row. start: scratch.
static void sort(const cpli_triplets* t, size_t rows, size_t columns, int32_t* start,
                 int32_t* by_row, int32_t* sorted) {
  for (size_t i = 0; i < t->n; i++) start[t->items[i].row + 2]++;
  for (size_t i = 0; i < rows; i++) start[i + 2] += start[i + 1];
  for (size_t i = 0; i < t->n; i++) by_row[start[t->items[i].row + 1]++] = (int32_t)i;
  memset(start, 0, (columns + 2) * sizeof *start);
  for (size_t i = 0; i < t->n; i++) start[t->items[i].column + 2]++;
  for (size_t i = 0; i < columns; i++) start[i + 2] += start[i + 1];
  for (size_t i = 0; i < t->n; i++) sorted[start[t->items[by_row[i]].column + 1]++] = by_row[i];
}

cpl_status cpli_triplets_compress(const cpli_triplets* t, int32_t rows, int32_t columns,
                                  cpli_compressed* out) {
  cpl_context* ctx = t->ctx;
  size_t longest = (size_t)(rows > columns ? rows : columns);
  int32_t* start = cpli_alloc(ctx, longest + 2, sizeof *start);
  int32_t* order = cpli_alloc(ctx, 2 * t->n, sizeof *order);
  *out = (cpli_compressed){.n = columns};
  out->first = cpli_alloc(ctx, (size_t)columns + 1, sizeof *out->first);
  out->row = cpli_alloc(ctx, t->n, sizeof *out->row);
  out->entries = cpli_alloc(ctx, t->n, sizeof *out->entries);
  bool fine = start != NULL && order != NULL && out->first != NULL && out->row != NULL &&
              out->entries != NULL;
  if (fine) {
    int32_t *sorted = order + t->n, n = 0, column = -1, row = -1;
    sort(t, (size_t)rows, (size_t)columns, start, order, sorted);
    for (size_t i = 0; i < t->n; i++) {
      const cpli_triplet* item = &t->items[sorted[i]];
      assert(item->row >= 0 && item->row < rows && item->column >= 0 && item->column < columns);
      while (column < item->column) out->first[++column] = n, row = -1;
      if (item->row != row) out->row[n++] = row = item->row;
      out->entries[n - 1] += item->value;
    }
    while (column < columns) out->first[++column] = n;
  }
  cpli_free(ctx, start);
  cpli_free(ctx, order);
  return fine ? CPL_OK : cpli_nomem(ctx);
}

void cpli_compressed_free(cpl_context* ctx, cpli_compressed* c) {
  cpli_free(ctx, c->first);
  cpli_free(ctx, c->row);
  cpli_free(ctx, c->entries);
  *c = (cpli_compressed){0};
}
