// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Collects the columns of each row from the dependencies, with aliases replaced by their variable;
// numeric/pattern.c sorts and colours them.
#include "model/sparsity.h"

int32_t cpli_root_variable(const cpl_description* d, int32_t var) {
  return d->vars[var].alias_of >= 0 ? d->vars[var].alias_of : var;
}

void cpli_note_rows(const cpl_description* d, const cpl_unknown* list, int32_t n,
                    const cpl_unknown** of) {
  for (int32_t i = 0; i < n; i++) {
    if (list[i].var >= 0) of[cpli_root_variable(d, list[i].var)] = &list[i];
  }
}

// The derivative of a state by itself is constant; unknown dependencies vary.
static uint8_t kind_of(const cpl_description* d, const cpl_unknown* u, bool all, int32_t k) {
  if (all) return CPL_KIND_DEPENDENT;
  if (u == NULL || k == u->count) return CPL_KIND_CONSTANT;
  return d->structure.kinds != NULL ? d->structure.kinds[u->first + k] : CPL_KIND_DEPENDENT;
}

// Rows of the pattern while they are found.
typedef struct rows {
  cpl_context* ctx;
  const cpl_description* desc;
  const cpl_unknown** of;  // row of the structure of each variable. Nullable.
  int32_t* column_of;      // of each variable; -1: none
  bool* is_state;
  int32_t *seen, *first;  // last row that has a column; begin of each row
  int32_t* column;
  uint8_t* kind;
  size_t n, cap_column, cap_kind;
} rows;

static bool add(rows* w, int32_t column, uint8_t kind) {
  if (!cpli_grow(w->ctx, (void**)&w->column, &w->cap_column, w->n, sizeof *w->column) ||
      !cpli_grow(w->ctx, (void**)&w->kind, &w->cap_kind, w->n, sizeof *w->kind))
    return false;
  w->column[w->n] = column;
  w->kind[w->n++] = kind;
  return true;
}

// A state depends on itself, and if it is no output, on nothing else.
static bool add_row(rows* w, int32_t r, int32_t var, int32_t n_columns) {
  const cpl_description* d = w->desc;
  int32_t root = cpli_root_variable(d, var);
  const cpl_unknown* u = w->of[root];
  bool all = u != NULL ? u->count < 0 : !w->is_state[root];
  int32_t n_deps = u != NULL ? u->count : 0, n = all ? n_columns : n_deps + 1;
  for (int32_t k = 0; k < n; k++) {
    int32_t c = all ? k
                : k == n_deps
                    ? w->column_of[root]
                    : w->column_of[cpli_root_variable(d, d->structure.deps[u->first + k])];
    if (c < 0 || w->seen[c] == r) continue;
    w->seen[c] = r;
    if (!add(w, c, kind_of(d, u, all, k))) return false;
  }
  return true;
}

static bool prepare(rows* w, int32_t n_rows, const int32_t* columns, int32_t n_columns) {
  const cpl_description* d = w->desc;
  size_t n_vars = (size_t)d->n_vars;
  w->of = cpli_alloc(w->ctx, n_vars, sizeof *w->of);
  w->column_of = cpli_alloc(w->ctx, n_vars, sizeof *w->column_of);
  w->is_state = cpli_alloc(w->ctx, n_vars, sizeof *w->is_state);
  w->seen = cpli_alloc(w->ctx, (size_t)n_columns, sizeof *w->seen);
  w->first = cpli_alloc(w->ctx, (size_t)n_rows + 1, sizeof *w->first);
  if (w->of == NULL || w->column_of == NULL || w->is_state == NULL || w->seen == NULL ||
      w->first == NULL)
    return false;
  cpli_note_rows(d, d->structure.outputs, d->structure.n_outputs, w->of);
  cpli_note_rows(d, d->structure.derivatives, d->structure.n_derivatives, w->of);
  for (int32_t k = 0; k < d->n_states; k++) {
    if (d->states[k] >= 0) w->is_state[cpli_root_variable(d, d->states[k])] = true;
  }
  for (size_t i = 0; i < n_vars; i++) w->column_of[i] = -1;
  for (int32_t c = 0; c < n_columns; c++) {
    w->column_of[cpli_root_variable(d, columns[c])] = c;
    w->seen[c] = -1;
  }
  return true;
}

cpl_status cpli_pattern_of_model(cpl_context* ctx, const cpl_description* desc, const int32_t* vars,
                                 int32_t n_rows, const int32_t* columns, int32_t n_columns,
                                 cpli_pattern** out) {
  rows w = {.ctx = ctx, .desc = desc};
  *out = NULL;
  bool fine = prepare(&w, n_rows, columns, n_columns);
  for (int32_t r = 0; r < n_rows && fine; r++) {
    fine = add_row(&w, r, vars[r], n_columns);
    w.first[r + 1] = (int32_t)w.n;
  }
  cpl_status st = fine
                      ? cpli_pattern_of_rows(ctx, n_rows, n_columns, w.first, w.column, w.kind, out)
                      : cpli_nomem(ctx);
  void* all[] = {w.of, w.column_of, w.is_state, w.seen, w.first, w.column, w.kind};
  for (size_t i = 0; i < CPLI_COUNT(all); i++) cpli_free(ctx, all[i]);
  return st;
}
