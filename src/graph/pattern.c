// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#include "graph/pattern.h"

int32_t cpli_root_variable(const cpl_description* d, int32_t var) {
  return d->vars[var].alias_of >= 0 ? d->vars[var].alias_of : var;
}

void cpli_note_rows(const cpl_description* d, const cpl_unknown* list, int32_t n,
                    const cpl_unknown** of) {
  for (int32_t i = 0; i < n; i++) {
    if (list[i].var >= 0) of[cpli_root_variable(d, list[i].var)] = &list[i];
  }
}

//------------------------------------ entries ------------------------------------

// A state by itself is one for ever; what is not known varies.
static uint8_t kind_of(const cpl_description* d, const cpl_unknown* u, bool all, int32_t k) {
  if (all) return CPL_DEPENDENT;
  if (u == NULL || k == u->count) return CPL_KIND_CONSTANT;
  return d->structure.kinds != NULL ? d->structure.kinds[u->first + k] : CPL_DEPENDENT;
}

// Walks all entries in order of rows. Without `fill` it only counts per column.
static void walk(const cpl_description* d, const cpl_unknown* const* of, const int32_t* column_of,
                 const bool* is_state, const int32_t* rows, cpli_pattern* p, int32_t* count,
                 int32_t* seen, bool fill) {
  for (int32_t r = 0; r < p->n_rows; r++) {
    const cpl_unknown* u = of[cpli_root_variable(d, rows[r])];
    // a state depends on itself, and if it is no output, on nothing else
    int32_t root = cpli_root_variable(d, rows[r]), own = column_of[root];
    bool all = u != NULL ? u->count < 0 : !is_state[root];
    int32_t count_of_deps = u != NULL ? u->count : 0;
    int32_t n = all ? p->n_columns : count_of_deps + 1;
    for (int32_t k = 0; k < n; k++) {
      int32_t c = all ? k
                  : k == count_of_deps
                      ? own
                      : column_of[cpli_root_variable(d, d->structure.deps[u->first + k])];
      if (c < 0 || seen[c] == r) continue;
      seen[c] = r;
      if (fill) {
        p->row[p->first[c] + count[c]] = r;
        p->kind[p->first[c] + count[c]] = kind_of(d, u, all, k);
      }
      count[c]++;
    }
  }
}

static cpl_status find_entries(cpli_pattern* p, const cpl_description* d, const int32_t* rows,
                               const int32_t* columns) {
  cpl_status st = CPL_OK;
  size_t n_vars = (size_t)d->n_vars;
  const cpl_unknown** of = cpli_alloc(p->ctx, n_vars, sizeof *of);
  int32_t* column_of = cpli_alloc(p->ctx, n_vars, sizeof *column_of);
  int32_t* count = cpli_alloc(p->ctx, 2 * (size_t)p->n_columns, sizeof *count);
  bool* is_state = cpli_alloc(p->ctx, n_vars, sizeof *is_state);
  if (of == NULL || column_of == NULL || count == NULL || is_state == NULL) {
    st = cpli_nomem(p->ctx);
    goto done;
  }
  int32_t* seen = count + p->n_columns;
  cpli_note_rows(d, d->structure.outputs, d->structure.n_outputs, of);
  cpli_note_rows(d, d->structure.derivatives, d->structure.n_derivatives, of);
  for (size_t i = 0; i < n_vars; i++) column_of[i] = -1;
  for (int32_t k = 0; k < d->n_states; k++) {
    if (d->states[k] >= 0) is_state[cpli_root_variable(d, d->states[k])] = true;
  }
  for (int32_t c = 0; c < p->n_columns; c++) column_of[cpli_root_variable(d, columns[c])] = c;

  for (int32_t c = 0; c < p->n_columns; c++) seen[c] = -1;
  walk(d, of, column_of, is_state, rows, p, count, seen, false);
  for (int32_t c = 0; c < p->n_columns; c++) {
    p->first[c + 1] = p->first[c] + count[c];
    count[c] = 0;
    seen[c] = -1;
  }
  p->n_entries = p->first[p->n_columns];
  p->row = cpli_alloc(p->ctx, (size_t)p->n_entries, sizeof *p->row);
  p->kind = cpli_alloc(p->ctx, (size_t)p->n_entries, sizeof *p->kind);
  if (p->row == NULL || p->kind == NULL) st = cpli_nomem(p->ctx);
  else walk(d, of, column_of, is_state, rows, p, count, seen, true);
done:
  cpli_free(p->ctx, of);
  cpli_free(p->ctx, column_of);
  cpli_free(p->ctx, is_state);
  cpli_free(p->ctx, count);
  return st;
}

//------------------------------------ colouring ------------------------------------

// Greedy in the order of the columns. used[r * 1] would be quadratic; instead every row lists,
// through the transposed pattern, the columns that meet in it.
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

cpl_status cpli_pattern_create(cpl_context* ctx, const cpl_description* desc, const int32_t* rows,
                               int32_t n_rows, const int32_t* columns, int32_t n_columns,
                               cpli_pattern** out) {
  *out = NULL;
  cpli_pattern* p = allocate(ctx, n_rows, n_columns);
  return p == NULL ? cpli_nomem(ctx) : finish(p, find_entries(p, desc, rows, columns), out);
}

// Rows are walked in their order, so that they ascend within each column.
cpl_status cpli_pattern_of_rows(cpl_context* ctx, int32_t n_rows, int32_t n_columns,
                                const int32_t* first, const int32_t* column, cpli_pattern** out) {
  *out = NULL;
  cpli_pattern* p = allocate(ctx, n_rows, n_columns);
  if (p == NULL) return cpli_nomem(ctx);
  p->n_entries = first[n_rows];
  p->row = cpli_alloc(ctx, (size_t)p->n_entries, sizeof *p->row);
  p->kind = cpli_alloc(ctx, (size_t)p->n_entries, sizeof *p->kind);
  if (p->row == NULL || p->kind == NULL) return finish(p, cpli_nomem(ctx), out);
  memset(p->kind, CPL_DEPENDENT, (size_t)p->n_entries);
  for (int32_t e = 0; e < p->n_entries; e++) p->first[column[e] + 1]++;
  for (int32_t c = 0; c < n_columns; c++) p->first[c + 1] += p->first[c];
  for (int32_t r = 0; r < n_rows; r++) {
    for (int32_t e = first[r]; e < first[r + 1]; e++) p->row[p->first[column[e]]++] = r;
  }
  for (int32_t c = n_columns; c > 0; c--) p->first[c] = p->first[c - 1];  // as it was
  p->first[0] = 0;
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
  enum { SMALL = 40 };                   // columns: a dense matrix is as fast below
  static const double dense_from = 0.2;  // part of the entries
  double n = p->n_columns;
  return n >= SMALL && p->n_entries <= dense_from * n * n;
}
