// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The nodes are sorted topologically once; a refresh computes the rows of derivatives in that order
// (forward accumulation). I - gamma J is then factorised by dense LU, scaled only where no pivot is
// found otherwise.
#include "numeric/eliminate.h"

#include <assert.h>

#include "numeric/dense.h"

typedef struct item {  // a term, in the order of use
  int32_t column, value;
} item;

struct cpli_elimination {
  cpl_context* ctx;
  int32_t n_states, n;
  int32_t* order;  // unknowns: nodes in the order of computation, then the states
  int32_t* first;  // items of the unknown order[k]: first[k] to first[k + 1]
  item* items;
  double* rows;          // derivatives of each unknown by the states; of a state: of its derivative
  int32_t *begin, *end;  // of each row: the columns that may not be zero
  double* jacobian;  // the rows of the states in the layout of the matrix: by columns, in its order
  double* matrix;    // factors
  int32_t* pivot;
  int32_t*
      position;   // states in the order of the matrix: those with few partners first, to keep zeros
  double* right;  // right-hand side in that order
  double *row, *column;  // scaling of the rows and columns of the matrix
  bool scaled;
};

//------------------------------------ invariants ------------------------------------

#ifdef NDEBUG
#define check_elimination(e, n_terms, seen) ((void)0)
#else
// elimination invariants: 1 order[] has every node once, then the states in their order; 2 a node
// is computed before its value is read; 3 position[] is a permutation of the states. seen[n] is
// scratch memory.
static void check_elimination(const cpli_elimination* e, size_t n_terms, int32_t* seen) {
  int32_t n_nodes = e->n - e->n_states;
  memset(seen, 0, (size_t)e->n * sizeof *seen);
  for (int32_t k = 0; k < e->n; k++) {
    int32_t u = e->order[k];
    assert(k < n_nodes ? u >= e->n_states && u < e->n : u == k - n_nodes);
    assert(!seen[u]);
    for (int32_t i = e->first[k]; i < e->first[k + 1]; i++) {
      int32_t column = e->items[i].column;
      assert(column >= 0 && column < e->n && (column < e->n_states || seen[column]));
      assert((size_t)e->items[i].value < n_terms);
    }
    seen[u] = 1;
  }
  for (int32_t k = 0; k < e->n_states; k++) {
    assert(e->position[k] >= 0 && e->position[k] < e->n_states && seen[e->position[k]] == 1);
    seen[e->position[k]] = 2;
  }
}
#endif

//------------------------------------ make ------------------------------------

// Repeatedly takes unknowns without pending predecessors. Returns the number of nodes taken.
static int32_t order_nodes(cpli_elimination* e, const cpli_term* terms, size_t n_terms,
                           const int32_t* start, const int32_t* by_column, int32_t* waits) {
  int32_t n = 0;
  for (size_t i = 0; i < n_terms; i++) {
    if (terms[i].owner != -1 && terms[i].column >= e->n_states) waits[terms[i].row]++;
  }
  for (int32_t u = e->n_states; u < e->n; u++) {
    if (waits[u] == 0) e->order[n++] = u;
  }
  for (int32_t k = 0; k < n; k++) {
    int32_t u = e->order[k];
    for (int32_t i = start[u]; i < start[u + 1]; i++) {
      int32_t row = terms[by_column[i]].row;
      if (row >= e->n_states && --waits[row] == 0) e->order[n++] = row;
    }
  }
  return n;
}

// Indices of all terms but the diagonal, sorted by row or column.
static void sort_terms(const cpli_term* terms, size_t n_terms, bool by_row, int32_t n,
                       int32_t* start, int32_t* sorted) {
  memset(start, 0, ((size_t)n + 2) * sizeof *start);
  for (size_t i = 0; i < n_terms; i++) {
    if (terms[i].owner != -1) start[(by_row ? terms[i].row : terms[i].column) + 2]++;
  }
  for (int32_t i = 0; i < n; i++) start[i + 2] += start[i + 1];
  for (size_t i = 0; i < n_terms; i++) {
    if (terms[i].owner == -1) continue;
    sorted[start[(by_row ? terms[i].row : terms[i].column) + 1]++] = (int32_t)i;
  }
}

static void fill_items(cpli_elimination* e, const cpli_term* terms, const int32_t* start,
                       const int32_t* by_row) {
  int32_t n = 0;
  for (int32_t k = 0; k < e->n; k++) {
    int32_t u = e->order[k];
    e->first[k] = n;
    for (int32_t i = start[u]; i < start[u + 1]; i++) {
      e->items[n++] = (item){terms[by_row[i]].column, by_row[i]};
    }
  }
  e->first[e->n] = n;
}

static bool allocate(cpli_elimination* e, size_t n_terms) {
  size_t states = (size_t)e->n_states, n = (size_t)e->n;
  e->order = cpli_alloc(e->ctx, n, sizeof *e->order);
  e->first = cpli_alloc(e->ctx, n + 1, sizeof *e->first);
  e->items = cpli_alloc(e->ctx, n_terms, sizeof *e->items);
  e->rows = cpli_alloc(e->ctx, n * states, sizeof *e->rows);
  e->begin = cpli_alloc(e->ctx, 2 * n, sizeof *e->begin);
  e->matrix = cpli_alloc(e->ctx, states * states, sizeof *e->matrix);
  e->jacobian = cpli_alloc(e->ctx, states * states, sizeof *e->jacobian);
  e->pivot = cpli_alloc(e->ctx, states, sizeof *e->pivot);
  e->position = cpli_alloc(e->ctx, states, sizeof *e->position);
  e->right = cpli_alloc(e->ctx, 3 * states, sizeof *e->right);
  if (e->position == NULL || e->right == NULL || e->begin == NULL) return false;
  e->end = e->begin + n;
  e->row = e->right + states;
  e->column = e->row + states;
  return e->order != NULL && e->first != NULL && e->items != NULL && e->rows != NULL &&
         e->matrix != NULL && e->jacobian != NULL && e->pivot != NULL;
}

// The inner loop, written for vectorisation.
static inline void add(double* restrict to, const double* restrict from, double times, size_t n) {
  for (size_t i = 0; i < n; i++) to[i] += times * from[i];
}

static void compute_rows(cpli_elimination* e, const double* values) {
  size_t width = (size_t)e->n_states;
  for (int32_t k = 0; k < e->n; k++) {
    const int32_t u = e->order[k];
    double* row = e->rows + (size_t)u * width;
    int32_t begin = e->n_states, end = 0;
    memset(row, 0, width * sizeof *row);
    for (int32_t i = e->first[k]; i < e->first[k + 1]; i++) {
      int32_t column = e->items[i].column;
      double value = values[e->items[i].value];
      int32_t from = column, to = column + 1;
      if (column < e->n_states) {
        row[column] += value;
      } else {
        const double* other = e->rows + (size_t)column * width;
        from = e->begin[column], to = e->end[column];
        if (from < to) add(row + from, other + from, value, (size_t)(to - from));
      }
      if (from < begin) begin = from;
      if (to > end) end = to;
    }
    e->begin[u] = begin;
    e->end[u] = end;
  }
}

// Sorts the states by the number of possible entries of their rows and columns of the Jacobian:
// with all values 1 nothing cancels.
static void place_states(cpli_elimination* e, double* ones, size_t n_terms) {
  int32_t n = e->n_states;
  int32_t* partners = e->pivot;  // not needed yet
  for (size_t i = 0; i < n_terms; i++) ones[i] = 1;
  compute_rows(e, ones);
  memset(partners, 0, (size_t)n * sizeof *partners);
  for (int32_t r = 0; r < n; r++) {
    for (int32_t c = 0; c < n; c++) {
      if (e->rows[(size_t)r * (size_t)n + (size_t)c] != 0) partners[r]++, partners[c]++;
    }
  }
  for (int32_t k = 0; k < n; k++) {  // insertion sort, which is stable
    int32_t at = k;
    for (; at > 0 && partners[e->position[at - 1]] > partners[k]; at--)
      e->position[at] = e->position[at - 1];
    e->position[at] = k;
  }
}

cpl_status cpli_elimination_make(cpl_context* ctx, int32_t n_states, int32_t n,
                                 const cpli_term* terms, size_t n_terms, cpli_elimination** out) {
  *out = NULL;
  cpl_status st = CPL_OK;
  int32_t *start = NULL, *sorted = NULL, *waits = NULL;
  double* ones = NULL;
  cpli_elimination* e = cpli_alloc(ctx, 1, sizeof *e);
  if (e == NULL) return cpli_nomem(ctx);
  *e = (cpli_elimination){.ctx = ctx, .n_states = n_states, .n = n};
  start = cpli_alloc(ctx, (size_t)n + 2, sizeof *start);
  sorted = cpli_alloc(ctx, n_terms, sizeof *sorted);
  waits = cpli_alloc(ctx, (size_t)n, sizeof *waits);
  ones = cpli_alloc(ctx, n_terms, sizeof *ones);
  if (ones == NULL || start == NULL || sorted == NULL || waits == NULL || !allocate(e, n_terms)) {
    st = cpli_nomem(ctx);
    goto done;
  }
  sort_terms(terms, n_terms, false, n, start, sorted);
  if (order_nodes(e, terms, n_terms, start, sorted, waits) < n - n_states) goto done;
  for (int32_t k = 0; k < n_states; k++) e->order[n - n_states + k] = k;
  sort_terms(terms, n_terms, true, n, start, sorted);
  fill_items(e, terms, start, sorted);
  place_states(e, ones, n_terms);
  check_elimination(e, n_terms, waits);
  *out = e;
  e = NULL;
done:
  cpli_elimination_destroy(e);
  cpli_free(ctx, start);
  cpli_free(ctx, sorted);
  cpli_free(ctx, waits);
  cpli_free(ctx, ones);
  return st;
}

void cpli_elimination_destroy(cpli_elimination* e) {
  if (e == NULL) return;
  cpli_free(e->ctx, e->order);
  cpli_free(e->ctx, e->first);
  cpli_free(e->ctx, e->items);
  cpli_free(e->ctx, e->rows);
  cpli_free(e->ctx, e->begin);
  cpli_free(e->ctx, e->matrix);
  cpli_free(e->ctx, e->jacobian);
  cpli_free(e->ctx, e->pivot);
  cpli_free(e->ctx, e->position);
  cpli_free(e->ctx, e->right);
  cpli_free(e->ctx, e);
}

//------------------------------------ use ------------------------------------

void cpli_elimination_refresh(cpli_elimination* e, const double* values) {
  size_t n = (size_t)e->n_states;
  compute_rows(e, values);
  for (size_t r = 0; r < n; r++) {
    const double* row = e->rows + (size_t)e->position[r] * n;
    for (size_t c = 0; c < n; c++) e->jacobian[c * n + r] = row[e->position[c]];
  }
}

// to = I - gamma times from
static inline void shift(double* restrict to, const double* restrict from, double gamma, size_t n) {
  for (size_t i = 0; i < n * n; i++) to[i] = 0 - gamma * from[i];
  for (size_t i = 0; i < n; i++) to[i * n + i] = 1 - gamma * from[i * n + i];
}

// States of very different magnitudes cause pivots that look like rounding errors; scaling to one
// avoids that.
int32_t cpli_elimination_factor(cpli_elimination* e, double gamma) {
  shift(e->matrix, e->jacobian, gamma, (size_t)e->n_states);
  int32_t bad = cpli_lu_factor(e->matrix, e->pivot, e->n_states);
  e->scaled = bad >= 0;
  if (e->scaled) {
    shift(e->matrix, e->jacobian, gamma, (size_t)e->n_states);
    cpli_lu_equilibrate(e->matrix, e->n_states, e->row, e->column);
    bad = cpli_lu_factor(e->matrix, e->pivot, e->n_states);
  }
  return bad >= 0 ? e->position[bad] : -1;
}

void cpli_elimination_solve(cpli_elimination* e, const double* r, double* dx) {
  for (int32_t k = 0; k < e->n_states; k++) e->right[k] = r[e->position[k]];
  for (int32_t k = 0; k < e->n_states && e->scaled; k++) e->right[k] *= e->row[k];
  cpli_lu_solve(e->matrix, e->pivot, e->n_states, e->right);
  for (int32_t k = 0; k < e->n_states && e->scaled; k++) e->right[k] *= e->column[k];
  for (int32_t k = 0; k < e->n_states; k++) dx[e->position[k]] = e->right[k];
}
