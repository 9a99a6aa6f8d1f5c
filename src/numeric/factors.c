// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Minimum degree ordering on the symmetrised pattern, whose adjacency lists are the structure of L
// and U, then left-looking LU without row exchanges.
#include "numeric/factors.h"

#include <assert.h>
#include <float.h>
#include <math.h>

// Steps are the unknowns in the order of their elimination. Step k has the steps below[first[k]] to
// below[first[k + 1]] in its column of L, and above[first_above[k]] ... in its column of U.
struct cpli_factors {
  cpl_context* ctx;
  const cpli_pattern* pattern;
  int32_t n;
  int32_t *order, *step;  // unknown of a step, step of an unknown
  int32_t *first, *below, *first_above, *above;
  double *lower, *upper, *pivot, *work;
};

#ifdef NDEBUG
#define check_factors(e, filled) ((void)0)
#else
// factors invariants: 1 order[] and step[] are inverse permutations; 2 a column of L has later
// steps only; 3 a column of U has earlier steps, ascending, since they are applied in this order;
// 4 L and U have the same number of entries.
static void check_factors(const cpli_factors* e, size_t filled) {
  assert(e->first[0] == 0 && e->first_above[0] == 0);
  for (int32_t k = 0; k < e->n; k++) {
    assert(e->order[k] >= 0 && e->order[k] < e->n && e->step[e->order[k]] == k);
    assert(e->first[k] <= e->first[k + 1] && e->first_above[k] <= e->first_above[k + 1]);
    for (int32_t i = e->first[k]; i < e->first[k + 1]; i++)
      assert(e->below[i] > k && e->below[i] < e->n);
    for (int32_t i = e->first_above[k]; i < e->first_above[k + 1]; i++) {
      assert(e->above[i] >= 0 && e->above[i] < k);
      assert(i == e->first_above[k] || e->above[i - 1] < e->above[i]);
    }
  }
  assert((size_t)e->first[e->n] == filled && (size_t)e->first_above[e->n] == filled);
}
#endif

//------------------------------------ order ------------------------------------

// Neighbours of an unknown that are not eliminated yet.
typedef struct list {
  int32_t* items;
  size_t n, cap;
} list;

// While the order is found: adjacency lists, and unknowns by their number of neighbours.
typedef struct graph {
  cpl_context* ctx;
  int32_t n;
  list* lists;
  int32_t *head, *next, *previous;  // lists of unknowns with equal degree; -1: none
  int32_t *mark, *order;
  size_t filled;
  double max_filled;  // fraction of all entries
  bool no_memory;
} graph;

static void chain(graph* g, int32_t v) {
  size_t degree = g->lists[v].n;
  g->previous[v] = -1;
  g->next[v] = g->head[degree];
  if (g->next[v] >= 0) g->previous[g->next[v]] = v;
  g->head[degree] = v;
}

static void unchain(graph* g, int32_t v) {
  if (g->previous[v] >= 0) g->next[g->previous[v]] = g->next[v];
  else g->head[g->lists[v].n] = g->next[v];
  if (g->next[v] >= 0) g->previous[g->next[v]] = g->previous[v];
}

static void append(graph* g, list* l, int32_t v) {
  if (!cpli_grow(g->ctx, (void**)&l->items, &l->cap, l->n, sizeof *l->items)) g->no_memory = true;
  else l->items[l->n++] = v;
}

// In both directions of a dependency; marks avoid duplicate entries.
static void take_neighbours(graph* g, const int32_t* first, const int32_t* row) {
  for (int32_t j = 0; j < g->n; j++) {
    for (int32_t k = first[j]; k < first[j + 1] && !g->no_memory; k++) {
      int32_t i = row[k];
      if (i == j) continue;
      append(g, &g->lists[j], i);
      append(g, &g->lists[i], j);
    }
  }
  for (int32_t v = 0; v < g->n; v++) g->mark[v] = -1;
  for (int32_t v = 0; v < g->n && !g->no_memory; v++) {
    list* l = &g->lists[v];
    size_t n = 0;
    for (size_t k = 0; k < l->n; k++) {
      if (g->mark[l->items[k]] == v) continue;
      g->mark[l->items[k]] = v;
      l->items[n++] = l->items[k];
    }
    l->n = n;
  }
}

// Neighbours of an eliminated unknown become neighbours of each other.
static void join(graph* g, int32_t gone, int32_t v, int32_t stamp) {
  list *l = &g->lists[v], *others = &g->lists[gone];
  size_t n = 0;
  unchain(g, v);
  for (size_t k = 0; k < l->n; k++) {
    if (l->items[k] == gone) continue;
    g->mark[l->items[k]] = stamp;
    l->items[n++] = l->items[k];
  }
  l->n = n;
  for (size_t k = 0; k < others->n && !g->no_memory; k++) {
    int32_t w = others->items[k];
    if (w != v && g->mark[w] != stamp) append(g, l, w);
  }
  chain(g, v);
}

// Unknowns with the fewest neighbours are eliminated first; the list of an unknown is then its
// column of L. Gives up at too much fill-in.
static bool find_order(graph* g) {
  size_t max = (size_t)(g->max_filled * (double)g->n * (double)g->n);
  int32_t stamp = g->n;
  for (int32_t i = 0; i <= g->n; i++) g->head[i] = -1;
  for (int32_t v = 0; v < g->n; v++) chain(g, v);
  for (int32_t k = 0, degree = 0; k < g->n; k++) {
    degree = degree > 0 ? degree - 1
                        : 0;  // an elimination lowers the degree of each neighbour by one at most
    while (g->head[degree] < 0) degree++;
    int32_t v = g->head[degree];
    unchain(g, v);
    g->order[k] = v;
    g->filled += g->lists[v].n;
    if (2 * g->filled > max) return false;
    for (size_t i = 0; i < g->lists[v].n && !g->no_memory; i++)
      join(g, v, g->lists[v].items[i], stamp++);
    if (g->no_memory) return false;
  }
  return true;
}

//------------------------------------ structure ------------------------------------

static bool allocate(cpli_factors* e, size_t filled) {
  size_t n = (size_t)e->n;
  e->step = cpli_alloc(e->ctx, 3 * n + 2 + 2 * filled, sizeof(int32_t));
  e->lower = cpli_alloc(e->ctx, 2 * filled + 2 * n, sizeof(double));
  if (e->step == NULL || e->lower == NULL) return false;
  e->first = e->step + n;
  e->first_above = e->first + n + 1;
  e->below = e->first_above + n + 1;
  e->above = e->below + filled;
  e->upper = e->lower + filled;
  e->pivot = e->upper + filled;
  e->work = e->pivot + n;
  return true;
}

// Columns of L come from the lists; those of U are the transposed rows of L, in the order of steps.
static void take_structure(cpli_factors* e, const graph* g) {
  int32_t n = e->n, at = 0;
  for (int32_t k = 0; k < n; k++) e->step[e->order[k]] = k;
  for (int32_t k = 0; k < n; k++) {
    const list* l = &g->lists[e->order[k]];
    e->first[k] = at;
    for (size_t i = 0; i < l->n; i++) {
      int32_t r = e->step[l->items[i]];
      e->below[at++] = r;
      e->first_above[r + 1]++;
    }
  }
  e->first[n] = at;
  for (int32_t k = 0; k < n; k++) e->first_above[k + 1] += e->first_above[k];
  for (int32_t k = 0; k < n; k++) {
    for (int32_t i = e->first[k]; i < e->first[k + 1]; i++)
      e->above[e->first_above[e->below[i]]++] = k;
  }
  for (int32_t k = n; k > 0; k--) e->first_above[k] = e->first_above[k - 1];  // restore the begins
  e->first_above[0] = 0;
}

static void free_graph(graph* g) {
  for (int32_t v = 0; g->lists != NULL && v < g->n; v++) cpli_free(g->ctx, g->lists[v].items);
  cpli_free(g->ctx, g->lists);
  cpli_free(g->ctx, g->head);
}

static bool make_graph(graph* g) {
  size_t n = (size_t)g->n;
  g->lists = cpli_alloc(g->ctx, n, sizeof *g->lists);
  g->head = cpli_alloc(g->ctx, 4 * n + 1, sizeof *g->head);
  if (g->lists == NULL || g->head == NULL) return false;
  g->next = g->head + n + 1;
  g->previous = g->next + n;
  g->mark = g->previous + n;
  return true;
}

cpl_status cpli_factors_make(cpl_context* ctx, const cpli_pattern* pattern, double max_filled,
                             cpli_factors** out) {
  assert(pattern->n_rows == pattern->n_columns);
  graph g = {.ctx = ctx, .n = pattern->n_columns, .max_filled = max_filled};
  cpli_factors* e = cpli_alloc(ctx, 1, sizeof *e);
  *out = NULL;
  if (e == NULL) return cpli_nomem(ctx);
  *e = (cpli_factors){.ctx = ctx, .pattern = pattern, .n = g.n};
  e->order = g.order = cpli_alloc(ctx, (size_t)g.n, sizeof *g.order);
  bool fine = e->order != NULL && make_graph(&g), sparse = false;
  if (fine) take_neighbours(&g, pattern->first, pattern->row);
  if (fine && !g.no_memory) sparse = find_order(&g);
  fine = fine && !g.no_memory;
  if (fine && sparse) fine = allocate(e, g.filled);
  if (fine && sparse) {
    take_structure(e, &g);
    check_factors(e, g.filled);
    *out = e;
  } else {
    cpli_factors_destroy(e);
  }
  free_graph(&g);
  return fine ? CPL_OK : cpli_nomem(ctx);
}

cpl_status cpli_minimum_degree(cpl_context* ctx, int32_t n, const int32_t* first,
                               const int32_t* row, double max_filled, int32_t* order,
                               size_t* filled, bool* sparse) {
  graph g = {.ctx = ctx, .n = n, .max_filled = max_filled, .order = order};
  bool fine = make_graph(&g);
  *sparse = false;
  if (fine) take_neighbours(&g, first, row);
  if (fine && !g.no_memory) *sparse = find_order(&g);
  *filled = g.filled;
  free_graph(&g);
  return fine && !g.no_memory ? CPL_OK : cpli_nomem(ctx);
}

void cpli_factors_destroy(cpli_factors* e) {
  if (e == NULL) return;
  cpli_free(e->ctx, e->order);
  cpli_free(e->ctx, e->step);
  cpli_free(e->ctx, e->lower);
  cpli_free(e->ctx, e);
}

//------------------------------------ numbers ------------------------------------

// Column `k` of I - gamma J into work. Returns the larger of the terms of its diagonal.
static double scatter(cpli_factors* e, int32_t k, const double* jac, double gamma) {
  int32_t c = e->order[k];
  const cpli_pattern* p = e->pattern;
  double max = 1;
  e->work[k] = 1;
  for (int32_t i = p->first[c]; i < p->first[c + 1]; i++) {
    double entry = gamma * jac[i];
    e->work[e->step[p->row[i]]] -= entry;
    if (p->row[i] == c) max = fmax(max, fabs(entry));
  }
  return max;
}

// Column k into work, minus the columns of L to the left of it. Returns the largest term of its
// diagonal: other entries have other units and are no measure of a pivot.
static double reduce(cpli_factors* e, int32_t k, const double* jac, double gamma) {
  double* w = e->work;
  double max = scatter(e, k, jac, gamma);
  for (int32_t i = e->first_above[k]; i < e->first_above[k + 1]; i++) {
    int32_t j = e->above[i];
    double u = e->upper[i] = w[j];
    w[j] = 0;
    if (u == 0) continue;
    for (int32_t l = e->first[j]; l < e->first[j + 1]; l++) {
      double part = e->lower[l] * u;
      w[e->below[l]] -= part;
      if (e->below[l] == k) max = fmax(max, fabs(part));
    }
  }
  return max;
}

// Moves column k of L out of work. An infinite pivot makes it zero.
static void divide(cpli_factors* e, int32_t k, double pivot) {
  double* w = e->work;
  e->pivot[k] = pivot;
  w[k] = 0;
  for (int32_t l = e->first[k]; l < e->first[k + 1]; l++) {
    e->lower[l] = w[e->below[l]] / pivot;
    w[e->below[l]] = 0;
  }
}

bool cpli_factors_find(cpli_factors* e, const double* jac, double gamma) {
  memset(e->work, 0, (size_t)e->n * sizeof *e->work);
  for (int32_t k = 0; k < e->n; k++) {
    double max = reduce(e, k, jac, gamma), pivot = e->work[k];
    if (!(fabs(pivot) > 16 * DBL_EPSILON * max)) return false;
    divide(e, k, pivot);
  }
  return true;
}

void cpli_factors_find_rank(cpli_factors* e, const double* jac, double gamma, double min,
                            const bool* without, double* pivots) {
  memset(e->work, 0, (size_t)e->n * sizeof *e->work);
  for (int32_t k = 0; k < e->n; k++) {
    reduce(e, k, jac, gamma);
    double pivot = e->work[k];
    bool kept = pivot > min && (without == NULL || !without[e->order[k]]);
    pivots[e->order[k]] = kept ? pivot : 0;
    divide(e, k, kept ? pivot : INFINITY);
  }
}

void cpli_factors_solve(cpli_factors* e, const double* b, double* x) {
  double* w = e->work;
  for (int32_t k = 0; k < e->n; k++) w[k] = b[e->order[k]];
  for (int32_t k = 0; k < e->n; k++) {
    for (int32_t l = e->first[k]; l < e->first[k + 1]; l++) w[e->below[l]] -= e->lower[l] * w[k];
  }
  for (int32_t k = e->n - 1; k >= 0; k--) {
    w[k] /= e->pivot[k];
    for (int32_t i = e->first_above[k]; i < e->first_above[k + 1]; i++)
      w[e->above[i]] -= e->upper[i] * w[k];
  }
  for (int32_t k = 0; k < e->n; k++) x[e->order[k]] = w[k];
}
