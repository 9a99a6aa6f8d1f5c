// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Step k eliminates column order[k] with the pivot in row pivot_row[k]. The rows that column k of
// the factors has are found by a search through the graph of L, which also gives the order in which
// the columns to the left of it are subtracted. Rows are scaled by their largest entries.
#include "numeric/left_looking.h"

#include <assert.h>
#include <math.h>

#include "numeric/factors.h"

static const double keep_diagonal = 1e-3;  // of the largest candidate: rows are not exchanged

// Columns of L have rows, those of U steps, both in the order of the elimination.
typedef struct columns {
  int32_t *first, *index;
  double* value;
  size_t n, cap_index, cap_value;
} columns;

struct cpli_left_looking {
  cpl_context* ctx;
  int32_t n;
  const int32_t *first, *row;
  int32_t* order;      // column of a step
  int32_t* pivot_row;  // row of a step
  int32_t* step;       // of a row; -1: it has no pivot yet
  columns lower, upper;
  double* pivot;  // by step
  double* scale;  // by row
  double* work;   // by row, zero between columns
  double* b;      // by step
  int32_t *found, *stack, *at, *mark;
  size_t filled;
  bool factored;
};

//------------------------------------ make ------------------------------------

static bool start_columns(cpli_left_looking* f, columns* c) {
  size_t n = (size_t)f->n, cap = f->filled + 4 * n;
  c->first = cpli_alloc(f->ctx, n + 1, sizeof *c->first);
  c->index = cpli_alloc(f->ctx, cap, sizeof *c->index);
  c->value = cpli_alloc(f->ctx, cap, sizeof *c->value);
  c->cap_index = c->cap_value = cap;
  return c->first != NULL && c->index != NULL && c->value != NULL;
}

static bool allocate(cpli_left_looking* f) {
  size_t n = (size_t)f->n;
  f->pivot_row = cpli_alloc(f->ctx, 6 * n, sizeof(int32_t));
  f->pivot = cpli_alloc(f->ctx, 4 * n, sizeof(double));
  if (f->pivot_row == NULL || f->pivot == NULL) return false;
  f->step = f->pivot_row + n;
  f->found = f->step + n;
  f->stack = f->found + n;
  f->at = f->stack + n;
  f->mark = f->at + n;
  f->scale = f->pivot + n;
  f->work = f->scale + n;
  f->b = f->work + n;
  return start_columns(f, &f->lower) && start_columns(f, &f->upper);
}

cpl_status cpli_left_looking_make(cpl_context* ctx, int32_t n, const int32_t* first,
                                  const int32_t* row, double max_filled, cpli_left_looking** out) {
  *out = NULL;
  cpli_left_looking* f = cpli_alloc(ctx, 1, sizeof *f);
  if (f == NULL) return cpli_nomem(ctx);
  *f = (cpli_left_looking){.ctx = ctx, .n = n, .first = first, .row = row};
  f->order = cpli_alloc(ctx, (size_t)n, sizeof *f->order);
  cpl_status st = f->order != NULL ? CPL_OK : cpli_nomem(ctx);
  bool sparse = false;
  if (st >= 0)
    st = cpli_minimum_degree(ctx, n, first, row, max_filled, f->order, &f->filled, &sparse);
  if (st >= 0 && sparse && !allocate(f)) st = cpli_nomem(ctx);
  if (st >= 0 && sparse) *out = f;
  else cpli_left_looking_destroy(f);
  return st;
}

void cpli_left_looking_destroy(cpli_left_looking* f) {
  if (f == NULL) return;
  void* all[] = {f->order,       f->pivot_row,   f->pivot,       f->lower.first, f->lower.index,
                 f->lower.value, f->upper.first, f->upper.index, f->upper.value};
  for (size_t i = 0; i < CPLI_COUNT(all); i++) cpli_free(f->ctx, all[i]);
  cpli_free(f->ctx, f);
}

double cpli_left_looking_fill(const cpli_left_looking* f) { return 2 * (double)f->filled + f->n; }

//------------------------------------ one column ------------------------------------

static bool append(cpli_left_looking* f, columns* c, int32_t index, double value) {
  if (!cpli_grow(f->ctx, (void**)&c->index, &c->cap_index, c->n, sizeof *c->index) ||
      !cpli_grow(f->ctx, (void**)&c->value, &c->cap_value, c->n, sizeof *c->value))
    return false;
  c->index[c->n] = index;
  c->value[c->n++] = value;
  return true;
}

static void find_scales(cpli_left_looking* f, const double* entries) {
  for (int32_t i = 0; i < f->n; i++) f->scale[i] = 0;
  for (int32_t k = 0; k < f->first[f->n]; k++)
    f->scale[f->row[k]] = fmax(f->scale[f->row[k]], fabs(entries[k]));
  for (int32_t i = 0; i < f->n; i++) f->scale[i] = f->scale[i] > 0 ? 1 / f->scale[i] : 1;
}

static void scatter(cpli_left_looking* f, int32_t column, const double* entries) {
  for (int32_t k = f->first[column]; k < f->first[column + 1]; k++)
    f->work[f->row[k]] += f->scale[f->row[k]] * entries[k];
}

static int32_t first_below(const cpli_left_looking* f, int32_t row) {
  return f->step[row] >= 0 ? f->lower.first[f->step[row]] : 0;
}

static int32_t end_below(const cpli_left_looking* f, int32_t row) {
  return f->step[row] >= 0 ? f->lower.first[f->step[row] + 1] : 0;
}

// Rows that are reached from one, each before those it leads to, are put in front of found[top].
static int32_t search(cpli_left_looking* f, int32_t from, int32_t stamp, int32_t top) {
  int32_t depth = 0;
  f->stack[0] = from;
  f->at[0] = first_below(f, from);
  f->mark[from] = stamp;
  while (depth >= 0) {
    int32_t row = f->stack[depth], end = end_below(f, row);
    while (f->at[depth] < end && f->mark[f->lower.index[f->at[depth]]] == stamp) f->at[depth]++;
    if (f->at[depth] == end) {
      f->found[--top] = row;
      depth--;
      continue;
    }
    int32_t next = f->lower.index[f->at[depth]];
    f->mark[next] = stamp;
    f->stack[++depth] = next;
    f->at[depth] = first_below(f, next);
  }
  return top;
}

// found[top] to found[n - 1] are the rows of a column.
static int32_t rows_of(cpli_left_looking* f, int32_t k) {
  int32_t top = f->n, column = f->order[k];
  for (int32_t i = f->first[column]; i < f->first[column + 1]; i++)
    if (f->mark[f->row[i]] != k) top = search(f, f->row[i], k, top);
  return top;
}

static void subtract(cpli_left_looking* f, int32_t step, double u) {
  const columns* l = &f->lower;
  for (int32_t i = l->first[step]; i < l->first[step + 1]; i++)
    f->work[l->index[i]] -= l->value[i] * u;
}

// The row of the pivot of column k; -1: none.
static int32_t choose(const cpli_left_looking* f, int32_t k, int32_t top) {
  double largest = 0;
  int32_t best = -1, diagonal = f->order[k];
  for (int32_t i = top; i < f->n; i++) {
    double size = fabs(f->work[f->found[i]]);
    if (f->step[f->found[i]] >= 0 || !(size > largest)) continue;
    largest = size;
    best = f->found[i];
  }
  bool kept = best >= 0 && f->step[diagonal] < 0 && f->mark[diagonal] == k &&
              fabs(f->work[diagonal]) >= keep_diagonal * largest;
  return kept ? diagonal : best;
}

//------------------------------------ factorisation ------------------------------------

// Column k of both factors; false: out of memory, or *singular.
static bool factor_column(cpli_left_looking* f, int32_t k, const double* entries, bool* singular) {
  int32_t top = rows_of(f, k);
  bool fits = true;
  scatter(f, f->order[k], entries);
  for (int32_t i = top; i < f->n; i++) {
    int32_t step = f->step[f->found[i]];
    if (step < 0) continue;
    double u = f->work[f->found[i]];
    fits = fits && append(f, &f->upper, step, u);
    if (u != 0) subtract(f, step, u);
  }
  int32_t row = choose(f, k, top);
  *singular = row < 0;
  double pivot = row >= 0 ? f->work[row] : 1;
  for (int32_t i = top; i < f->n; i++) {
    int32_t at = f->found[i];
    if (f->step[at] < 0 && at != row) fits = fits && append(f, &f->lower, at, f->work[at] / pivot);
    f->work[at] = 0;
  }
  if (row < 0 || !fits) return false;
  f->step[row] = k;
  f->pivot_row[k] = row;
  f->pivot[k] = pivot;
  f->lower.first[k + 1] = (int32_t)f->lower.n;
  f->upper.first[k + 1] = (int32_t)f->upper.n;
  return true;
}

int32_t cpli_left_looking_factor(cpli_left_looking* f, const double* entries) {
  bool singular = false;
  f->factored = false;
  f->lower.n = f->upper.n = 0;
  f->lower.first[0] = f->upper.first[0] = 0;
  for (int32_t i = 0; i < f->n; i++) f->step[i] = f->mark[i] = -1, f->work[i] = 0;
  find_scales(f, entries);
  for (int32_t k = 0; k < f->n; k++)
    if (!factor_column(f, k, entries, &singular)) return singular ? f->order[k] : INT32_MAX;
  f->factored = true;
  return -1;
}

double cpli_left_looking_refactor(cpli_left_looking* f, const double* entries) {
  double smallest = INFINITY, largest = 0;
  if (!f->factored) return 0;
  find_scales(f, entries);
  for (int32_t k = 0; k < f->n; k++) {
    columns *l = &f->lower, *u = &f->upper;
    scatter(f, f->order[k], entries);
    for (int32_t i = u->first[k]; i < u->first[k + 1]; i++) {
      double* w = &f->work[f->pivot_row[u->index[i]]];
      u->value[i] = *w;
      *w = 0;
      if (u->value[i] != 0) subtract(f, u->index[i], u->value[i]);
    }
    double pivot = f->pivot[k] = f->work[f->pivot_row[k]];
    f->work[f->pivot_row[k]] = 0;
    for (int32_t i = l->first[k]; i < l->first[k + 1]; i++) {
      l->value[i] = f->work[l->index[i]] / pivot;
      f->work[l->index[i]] = 0;
    }
    smallest = fmin(smallest, fabs(pivot));
    largest = fmax(largest, fabs(pivot));
  }
  bool fine = smallest > 0 && isfinite(largest);
  if (!fine) f->factored = false;
  return fine ? smallest / largest : 0;
}

//------------------------------------ solution ------------------------------------

void cpli_left_looking_solve(cpli_left_looking* f, double* b) {
  const columns *l = &f->lower, *u = &f->upper;
  assert(f->factored);
  for (int32_t i = 0; i < f->n; i++) b[i] *= f->scale[i];
  for (int32_t k = 0; k < f->n; k++) {
    double y = f->b[k] = b[f->pivot_row[k]];
    for (int32_t i = l->first[k]; i < l->first[k + 1]; i++) b[l->index[i]] -= l->value[i] * y;
  }
  for (int32_t k = f->n - 1; k >= 0; k--) {
    double x = f->b[k] /= f->pivot[k];
    for (int32_t i = u->first[k]; i < u->first[k + 1]; i++) f->b[u->index[i]] -= u->value[i] * x;
  }
  for (int32_t k = 0; k < f->n; k++) b[f->order[k]] = f->b[k];
}

void cpli_left_looking_solve_transposed(cpli_left_looking* f, double* b) {
  const columns *l = &f->lower, *u = &f->upper;
  assert(f->factored);
  for (int32_t k = 0; k < f->n; k++) {
    double y = b[f->order[k]];
    for (int32_t i = u->first[k]; i < u->first[k + 1]; i++) y -= u->value[i] * f->b[u->index[i]];
    f->b[k] = y / f->pivot[k];
  }
  for (int32_t k = f->n - 1; k >= 0; k--) {
    double x = f->b[k];
    for (int32_t i = l->first[k]; i < l->first[k + 1]; i++) x -= l->value[i] * b[l->index[i]];
    b[f->pivot_row[k]] = x;
  }
  for (int32_t i = 0; i < f->n; i++) b[i] *= f->scale[i];
}
