// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Elimination tree and structure of the symmetrised pattern, columns of nearly equal structure
// merged to fronts, then one dense elimination per front in postorder: the rest of each is on top
// of a stack until its parent takes it.
#include "numeric/fronts.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "numeric/front_kernels.h"

// Steps first to first + n - 1 are eliminated together; n_below later steps have entries in their
// columns.
typedef struct front {
  int32_t first, n, n_below, n_children;
  int32_t below;        // where these begin in below[] and place_above[]
  int32_t first_entry;  // in entry[] and place[]
  size_t values;        // in values[]: n * n, then L and the transposed U with n_below * n each
} front;

struct cpli_fronts {
  cpl_context* ctx;
  int32_t n, n_fronts;
  int32_t *row_of, *column_of;  // of each step
  front* fronts;                // and one more that has the ends
  int32_t* below;               // steps, ascending in each front
  int32_t* place_above;         // their rows in the front of the parent
  int32_t *entry, *place;       // entries of the matrix by fronts, and where they are in these
  const int32_t *first, *row;   // the pattern
  int32_t* children;            // fronts on the stack
  double *values, *largest, *matrix, *stack, *work;
  const cpli_front_kernels* kernels;
};

#ifdef NDEBUG
#define check_fronts(f) ((void)0)
#else
// fronts invariants: 1 every step belongs to one front, in their order; 2 the steps below a front
// come after its own and ascend; 3 each of them is in the parent's front, in ascending places.
static void check_fronts(const cpli_fronts* f) {
  int32_t step = 0;
  for (int32_t k = 0; k < f->n_fronts; k++) {
    const front* x = &f->fronts[k];
    assert(x->first == step && x->n > 0 && x[1].below == x->below + x->n_below);
    step += x->n;
    for (int32_t i = x->below; i < x->below + x->n_below; i++) {
      assert(f->below[i] >= step && f->below[i] < f->n);
      assert(i == x->below ||
             (f->below[i - 1] < f->below[i] && f->place_above[i - 1] < f->place_above[i]));
    }
  }
  assert(step == f->n);
}
#endif

//------------------------------------ tree ------------------------------------

// Pairs of steps with an entry, and the tree that follows from them.
typedef struct tree {
  cpl_context* ctx;
  int32_t n;
  const int32_t *first, *row;
  int32_t *step_of_row, *step_of_column;
  int32_t *begin, *earlier;  // by the later step of each pair
  int32_t *parent, *ancestor, *order, *head, *next;
  int32_t *start, *later;  // the structure of each column of L
  size_t n_later, cap_later;
} tree;

static bool make_tree(tree* t) {
  const size_t n = (size_t)t->n, entries = (size_t)t->first[n];
  t->step_of_row = cpli_alloc(t->ctx, 9 * n + 2 + entries, sizeof *t->step_of_row);
  if (t->step_of_row == NULL) return false;
  t->step_of_column = t->step_of_row + n;
  t->begin = t->step_of_column + n;
  t->parent = t->begin + n + 1;
  t->ancestor = t->parent + n;
  t->order = t->ancestor + n;
  t->head = t->order + n;
  t->next = t->head + n;
  t->start = t->next + n;
  t->earlier = t->start + n + 1;
  return true;
}

static void free_tree(tree* t) {
  cpli_free(t->ctx, t->step_of_row);
  cpli_free(t->ctx, t->later);
}

static void list_pairs(tree* t) {
  memset(t->begin, 0, ((size_t)t->n + 1) * sizeof *t->begin);
  for (int32_t pass = 0; pass < 2; pass++) {
    for (int32_t j = 0; j < t->n; j++) {
      for (int32_t k = t->first[j]; k < t->first[j + 1]; k++) {
        const int32_t x = t->step_of_row[t->row[k]], y = t->step_of_column[j];
        if (x == y) continue;
        const int32_t high = x > y ? x : y, low = x > y ? y : x;
        if (pass == 0) t->begin[high]++;
        else t->earlier[--t->begin[high]] = low;
      }
    }
    for (int32_t i = 1; i < t->n && pass == 0; i++) t->begin[i] += t->begin[i - 1];
    if (pass == 0) t->begin[t->n] = t->n > 0 ? t->begin[t->n - 1] : 0;
  }
}

// The parent of a step is the first later one in its column of L; -1: there is none.
static void find_parents(tree* t) {
  for (int32_t i = 0; i < t->n; i++) {
    t->parent[i] = t->ancestor[i] = -1;
    for (int32_t k = t->begin[i]; k < t->begin[i + 1]; k++) {
      for (int32_t j = t->earlier[k], up; j >= 0 && j < i; j = up) {
        up = t->ancestor[j];
        t->ancestor[j] = i;
        if (up < 0) t->parent[j] = i;
      }
    }
  }
}

// Children before their parents, subtrees together.
static void find_order(tree* t) {
  int32_t at = 0;
  for (int32_t i = 0; i < t->n; i++) t->head[i] = -1;
  for (int32_t i = t->n - 1; i >= 0; i--) {
    if (t->parent[i] < 0) continue;
    t->next[i] = t->head[t->parent[i]];
    t->head[t->parent[i]] = i;
  }
  for (int32_t root = 0; root < t->n; root++) {
    if (t->parent[root] >= 0) continue;
    for (int32_t i = root; i >= 0;) {
      if (t->head[i] >= 0) {
        const int32_t child = t->head[i];
        t->head[i] = t->next[child];
        i = child;
      } else {
        t->order[at++] = i;
        i = i == root ? -1 : t->parent[i];
      }
    }
  }
}

// Renumbers the steps in that order.
static void take_order(tree* t, cpli_fronts* f, const int32_t* rows, const int32_t* columns) {
  for (int32_t k = 0; k < t->n; k++) {
    f->row_of[k] = rows[t->order[k]];
    f->column_of[k] = columns[t->order[k]];
    t->step_of_row[f->row_of[k]] = k;
    t->step_of_column[f->column_of[k]] = k;
  }
}

static int by_number(const void* x, const void* y) {
  const int32_t a = *(const int32_t*)x, b = *(const int32_t*)y;
  return a < b ? -1 : a > b;
}

// The structure of column j: its own entries and those of its children. mark[i] == j: there is i.
static bool add_later(tree* t, int32_t* mark, int32_t j, int32_t i) {
  if (i == j || mark[i] == j) return true;
  mark[i] = j;
  if (!cpli_grow(t->ctx, (void**)&t->later, &t->cap_later, t->n_later, sizeof *t->later))
    return false;
  t->later[t->n_later++] = i;
  return true;
}

// Returns: false when it has more than `most` entries, or out of memory (*out_of_memory).
static bool find_structure(tree* t, double most, bool* out_of_memory) {
  int32_t *mark = t->ancestor, *head = t->head, *next = t->next, *other = t->order;
  bool fine = true;
  // pairs by the earlier step: begin of each in `other`, whose lists reuse those of the children
  int32_t* by_earlier =
      cpli_alloc(t->ctx, (size_t)t->begin[t->n] + (size_t)t->n + 1, sizeof *other);
  *out_of_memory = by_earlier == NULL;
  if (by_earlier == NULL) return false;
  int32_t* first = by_earlier + t->begin[t->n];
  for (int32_t k = 0; k < t->begin[t->n]; k++) first[t->earlier[k] + 1]++;
  for (int32_t j = 0; j < t->n; j++) first[j + 1] += first[j];
  memcpy(other, first, (size_t)t->n * sizeof *other);
  for (int32_t i = 0; i < t->n; i++)
    for (int32_t k = t->begin[i]; k < t->begin[i + 1]; k++) by_earlier[other[t->earlier[k]]++] = i;
  for (int32_t i = 0; i < t->n; i++) mark[i] = head[i] = -1;
  for (int32_t j = 0; j < t->n && fine; j++) {
    t->start[j] = (int32_t)t->n_later;
    for (int32_t k = first[j]; k < first[j + 1] && fine; k++)
      fine = add_later(t, mark, j, by_earlier[k]);
    for (int32_t c = head[j]; c >= 0 && fine; c = next[c])
      for (int32_t k = t->start[c]; k < t->start[c + 1] && fine; k++)
        fine = add_later(t, mark, j, t->later[k]);
    if (t->parent[j] >= 0) next[j] = head[t->parent[j]], head[t->parent[j]] = j;
    *out_of_memory = !fine;
    fine = fine && 2 * (double)t->n_later <= most;
    t->start[j + 1] = (int32_t)t->n_later;
  }
  cpli_free(t->ctx, by_earlier);
  return fine;
}

//------------------------------------ fronts ------------------------------------

static double size_of(double n, double below) { return n * (n + 2 * below); }

static int32_t n_later(const tree* t, int32_t step) { return t->start[step + 1] - t->start[step]; }

// Whether a front of n steps may have this share of zeros: small ones cost more than they compute.
static bool may_have(double n, double zeros) {
  return n <= 4 || zeros < (n <= 16 ? 0.5 : n <= 48 ? 0.1 : 0.05);
}

// Columns of equal structure, then those whose merging adds few zeros. ends[k]: last step of front
// k; filled: its entries that are not zero.
static int32_t find_fronts(const tree* t, int32_t* ends, double* filled) {
  int32_t n = 0;
  for (int32_t j = 0; j < t->n; j++) {
    double own = size_of(1, n_later(t, j));
    ends[n] = j;
    filled[n] = own;
    while (n > 0) {
      const int32_t last = ends[n - 1], begin = n > 1 ? ends[n - 2] + 1 : 0;
      if (t->parent[last] <= last || t->parent[last] > j) break;
      const double steps = j - begin + 1, all = size_of(steps, n_later(t, j));
      const double both = filled[n - 1] + filled[n];
      if (!may_have(steps, 1 - both / all)) break;
      n--;
      ends[n] = j;
      filled[n] = both;
    }
    n++;
  }
  return n;
}

static void take_fronts(cpli_fronts* f, const tree* t, const int32_t* ends, int32_t* front_of) {
  int32_t below = 0;
  size_t values = 0;
  for (int32_t k = 0; k < f->n_fronts; k++) {
    const int32_t first = k > 0 ? ends[k - 1] + 1 : 0, n = ends[k] - first + 1;
    const int32_t m = n_later(t, ends[k]);
    f->fronts[k] = (front){.first = first, .n = n, .n_below = m, .below = below, .values = values};
    if (m > 0) memcpy(f->below + below, t->later + t->start[ends[k]], (size_t)m * sizeof *f->below);
    qsort(f->below + below, (size_t)m, sizeof *f->below, by_number);
    for (int32_t i = first; i <= ends[k]; i++) front_of[i] = k;
    below += m;
    values += (size_t)n * ((size_t)n + 2 * (size_t)m);
  }
  f->fronts[f->n_fronts] = (front){.first = f->n, .below = below, .values = values};
}

// The row of a step in a front, which has it.
static int32_t place_in(const cpli_fronts* f, const front* x, int32_t step) {
  if (step < x->first + x->n) return step - x->first;
  int32_t low = x->below, high = x->below + x->n_below;
  while (high - low > 1) {
    const int32_t middle = low + (high - low) / 2;
    if (f->below[middle] <= step) low = middle;
    else high = middle;
  }
  assert(f->below[low] == step);
  return x->n + low - x->below;
}

static void place_below(cpli_fronts* f, const int32_t* front_of) {
  for (int32_t k = 0; k < f->n_fronts; k++) {
    const front* x = &f->fronts[k];
    if (x->n_below == 0) continue;
    front* parent = &f->fronts[front_of[f->below[x->below]]];
    parent->n_children++;
    for (int32_t i = x->below; i < x->below + x->n_below; i++)
      f->place_above[i] = place_in(f, parent, f->below[i]);
  }
}

static void place_entries(cpli_fronts* f, const tree* t, const int32_t* front_of, int32_t* next) {
  for (int32_t pass = 0; pass < 2; pass++) {
    for (int32_t j = 0; j < f->n; j++) {
      for (int32_t k = f->first[j]; k < f->first[j + 1]; k++) {
        const int32_t x = t->step_of_row[f->row[k]], y = t->step_of_column[j];
        const int32_t owner = front_of[x < y ? x : y];
        front* own = &f->fronts[owner];
        if (pass == 0) {
          own[1].first_entry++;
          continue;
        }
        const int32_t at = next[owner]++, size = own->n + own->n_below;
        f->entry[at] = k;
        f->place[at] = place_in(f, own, x) + place_in(f, own, y) * size;
      }
    }
    for (int32_t k = 0; k < f->n_fronts && pass == 0; k++) {
      f->fronts[k + 1].first_entry += f->fronts[k].first_entry;
      next[k] = f->fronts[k].first_entry;
    }
  }
}

// Room for the largest front, for the stack at its highest and for the numbers.
static cpl_status allocate(cpli_fronts* f) {
  size_t largest = 0, height = 0, highest = 0, below = 0;
  int32_t n = 0;
  for (int32_t k = 0; k < f->n_fronts; k++) {
    const front* x = &f->fronts[k];
    const size_t m = (size_t)x->n_below, size = m + (size_t)x->n;
    for (int32_t i = 0; i < x->n_children; i++) {
      const size_t rest = (size_t)f->fronts[f->children[--n]].n_below;
      height -= rest * rest;
    }
    if (m > 0) f->children[n++] = k;
    height += m * m;
    highest = height > highest ? height : highest;
    largest = size * size > largest ? size * size : largest;
    below = m > below ? m : below;
  }
  f->values = cpli_alloc(f->ctx, f->fronts[f->n_fronts].values, sizeof *f->values);
  f->matrix = cpli_alloc(f->ctx, largest, sizeof *f->matrix);
  f->stack = cpli_alloc(f->ctx, highest, sizeof *f->stack);
  f->largest = cpli_alloc(f->ctx, 2 * (size_t)f->n + below, sizeof *f->largest);
  if (f->values == NULL || f->matrix == NULL || f->stack == NULL || f->largest == NULL)
    return cpli_nomem(f->ctx);
  f->work = f->largest + f->n;
  return CPL_OK;
}

static cpl_status make_fronts(cpli_fronts* f, tree* t, double most) {
  const size_t n = (size_t)f->n, entries = (size_t)f->first[n];
  double* filled = cpli_alloc(f->ctx, n, sizeof *filled);
  if (filled == NULL) return cpli_nomem(f->ctx);
  int32_t *ends = t->head, *front_of = t->next;
  f->n_fronts = find_fronts(t, ends, filled);
  cpli_free(f->ctx, filled);
  size_t below = 0;
  double all = 0;
  for (int32_t k = 0, first = 0; k < f->n_fronts; first = ends[k++] + 1) {
    below += (size_t)n_later(t, ends[k]);
    all += size_of(ends[k] - first + 1, n_later(t, ends[k]));
  }
  if (all > 1.5 * most) return CPL_RETRY;
  f->fronts = cpli_alloc(f->ctx, (size_t)f->n_fronts + 1, sizeof *f->fronts);
  f->below = cpli_alloc(f->ctx, 2 * below + 2 * entries + n, sizeof *f->below);
  if (f->fronts == NULL || f->below == NULL) return cpli_nomem(f->ctx);
  f->place_above = f->below + below;
  f->entry = f->place_above + below;
  f->place = f->entry + entries;
  f->children = f->place + entries;
  take_fronts(f, t, ends, front_of);
  place_below(f, front_of);
  place_entries(f, t, front_of, t->order);
  check_fronts(f);
  return allocate(f);
}

static cpl_status find(cpli_fronts* f, tree* t, const int32_t* rows, const int32_t* columns,
                       double max_filled) {
  bool out_of_memory = false;
  if (!make_tree(t)) return cpli_nomem(f->ctx);
  for (int32_t k = 0; k < t->n; k++) t->step_of_row[rows[k]] = t->step_of_column[columns[k]] = k;
  list_pairs(t);
  find_parents(t);
  find_order(t);
  take_order(t, f, rows, columns);
  list_pairs(t);
  find_parents(t);
  if (find_structure(t, max_filled, &out_of_memory)) return make_fronts(f, t, max_filled);
  return out_of_memory ? cpli_nomem(f->ctx) : CPL_RETRY;
}

cpl_status cpli_fronts_make(cpl_context* ctx, int32_t n, const int32_t* first, const int32_t* row,
                            const int32_t* rows, const int32_t* columns, double max_filled,
                            cpli_fronts** out) {
  tree t = {.ctx = ctx, .n = n, .first = first, .row = row};
  cpli_fronts* f = *out = cpli_alloc(ctx, 1, sizeof *f);
  if (f == NULL) return cpli_nomem(ctx);
  *f = (cpli_fronts){.ctx = ctx, .n = n, .first = first, .row = row};
  f->kernels = cpli_front_kernels_find();
  f->row_of = cpli_alloc(ctx, 2 * (size_t)n, sizeof *f->row_of);
  f->column_of = f->row_of != NULL ? f->row_of + n : NULL;
  cpl_status st = f->row_of != NULL ? find(f, &t, rows, columns, max_filled) : cpli_nomem(ctx);
  free_tree(&t);
  if (st == CPL_OK) return CPL_OK;
  cpli_fronts_destroy(f);
  *out = NULL;
  return st == CPL_RETRY ? CPL_OK : st;
}

void cpli_fronts_destroy(cpli_fronts* f) {
  if (f == NULL) return;
  void* all[] = {f->row_of, f->fronts, f->below, f->values, f->largest, f->matrix, f->stack};
  for (size_t i = 0; i < CPLI_COUNT(all); i++) cpli_free(f->ctx, all[i]);
  cpli_free(f->ctx, f);
}

//------------------------------------ numbers ------------------------------------

static void find_largest(cpli_fronts* f, const double* entries) {
  for (int32_t i = 0; i < f->n; i++) f->largest[i] = 0;
  for (int32_t k = 0; k < f->first[f->n]; k++)
    f->largest[f->row[k]] = fmax(f->largest[f->row[k]], fabs(entries[k]));
}

// Adds the rest of a child, with m rows and columns, to the front of its parent.
static void add_rest(double* a, int32_t size, const double* rest, const int32_t* place, int32_t m) {
  for (int32_t j = 0; j < m; j++, rest += m) {
    double* column = a + (size_t)place[j] * (size_t)size;
    for (int32_t i = 0; i < m; i++) column[place[i]] += rest[i];
  }
}

// Moves L and U, and the rest of the front to the stack.
static void take_factors(const cpli_fronts* f, const front* x, double* rest) {
  const size_t n = (size_t)x->n, m = (size_t)x->n_below, size = n + m;
  const double* a = f->matrix;
  double *own = f->values + x->values, *lower = own + n * n, *upper = lower + m * n;
  for (size_t j = 0; j < n; j++) {
    memcpy(own + j * n, a + j * size, n * sizeof *a);
    memcpy(lower + j * m, a + j * size + n, m * sizeof *a);
  }
  for (size_t c = 0; c < m; c++) {
    const double* column = a + (n + c) * size;
    for (size_t j = 0; j < n; j++) upper[j * m + c] = column[j];
    memcpy(rest + c * m, column + n, m * sizeof *a);
  }
}

// Pivots become their reciprocals.
static void take_pivots(const cpli_fronts* f, const front* x, double* least, double* most) {
  double* own = f->values + x->values;
  for (int32_t j = 0; j < x->n; j++) {
    double* pivot = own + (size_t)j * ((size_t)x->n + 1);
    const double size = fabs(*pivot) / f->largest[f->row_of[x->first + j]];
    *pivot = 1 / *pivot;
    *least = size >= *least ? *least : size;  // also where it is no number
    *most = size <= *most ? *most : size;
  }
}

double cpli_fronts_factor(cpli_fronts* f, const double* entries) {
  double *top = f->stack, least = INFINITY, most = 0;
  int32_t n = 0;
  find_largest(f, entries);
  for (int32_t k = 0; k < f->n_fronts; k++) {
    const front* x = &f->fronts[k];
    const int32_t size = x->n + x->n_below;
    memset(f->matrix, 0, (size_t)size * (size_t)size * sizeof *f->matrix);
    for (int32_t i = x->first_entry; i < x[1].first_entry; i++)
      f->matrix[f->place[i]] = entries[f->entry[i]];
    for (int32_t i = 0; i < x->n_children; i++) {
      const front* child = &f->fronts[f->children[--n]];
      top -= (size_t)child->n_below * (size_t)child->n_below;
      add_rest(f->matrix, size, top, f->place_above + child->below, child->n_below);
    }
    f->kernels->eliminate(f->matrix, size, x->n);
    take_factors(f, x, top);
    take_pivots(f, x, &least, &most);
    if (x->n_below > 0) f->children[n++] = k;
    top += (size_t)x->n_below * (size_t)x->n_below;
  }
  const double ratio = least / most;
  return ratio > 0 && ratio <= 1 ? ratio : 0;
}

//------------------------------------ solution ------------------------------------

static void forward(const cpli_fronts* f, const front* x, double* b, double* room) {
  const size_t n = (size_t)x->n, m = (size_t)x->n_below;
  const double *own = f->values + x->values, *lower = own + n * n;
  double* y = b + x->first;
  for (size_t j = 0; j + 1 < n; j++) {
    for (size_t i = j + 1; i < n; i++) y[i] -= own[j * n + i] * y[j];
  }
  const int32_t* below = f->below + x->below;
  for (size_t i = 0; i < m; i++) room[i] = b[below[i]];
  f->kernels->subtract(room, lower, y, x->n_below, x->n);
  for (size_t i = 0; i < m; i++) b[below[i]] = room[i];
}

static void backward(const cpli_fronts* f, const front* x, double* b, double* room) {
  const size_t n = (size_t)x->n, m = (size_t)x->n_below;
  const double *own = f->values + x->values, *upper = own + n * n + m * n;
  const int32_t* below = f->below + x->below;
  double* y = b + x->first;
  for (size_t i = 0; i < m; i++) room[i] = b[below[i]];
  f->kernels->subtract_transposed(y, upper, room, x->n_below, x->n);
  for (size_t j = n; j-- > 0;) {
    y[j] *= own[j * n + j];
    for (size_t i = 0; i < j; i++) y[i] -= own[j * n + i] * y[j];
  }
}

void cpli_fronts_solve(cpli_fronts* f, double* b) {
  double *y = f->work, *room = f->work + f->n;
  for (int32_t k = 0; k < f->n; k++) y[k] = b[f->row_of[k]];
  for (int32_t k = 0; k < f->n_fronts; k++) forward(f, &f->fronts[k], y, room);
  for (int32_t k = f->n_fronts - 1; k >= 0; k--) backward(f, &f->fronts[k], y, room);
  for (int32_t k = 0; k < f->n; k++) b[f->column_of[k]] = y[k];
}
