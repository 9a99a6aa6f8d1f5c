// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Components are found by union-find. Small or nearly full ones are factorised by
// numeric/manifold.c, large sparse ones by numeric/factors.c; constraints that depend on others up
// to the error of their gradients are left out of a step.
#include "solver/normals.h"

#include <math.h>

#include "model/serial.h"
#include "numeric/factors.h"
#include "numeric/manifold.h"

enum { SMALL = 24 };  // constraints up to which a component is solved with dense matrices
static const double max_filled = 0.5;  // density of sparse factors
static const double dependent = 1e-5;  // fraction of a gradient outside the span of the others
static const double noise = 10;  // multiple of it that the distance to the constraints explains,
static const double different = 0.03;  // and a fraction that it never explains

// The normal equations of a large component: rows are scaled to the length 1, so that the matrix is
// I + J with J off the diagonal, and a pivot is the squared fraction of a gradient outside the span
// of those before.
typedef struct sparse {
  cpli_pattern pattern;
  cpli_factors* factors;
  int32_t* pair;            // per entry and entry of the same state: position of their product
  int32_t *meet, *entry;    // per local state: first of its entries; their numbers
  int32_t* row;             // per entry: its constraint
  double *scaled, *normal;  // entries of the gradients; of J
  double *pivots, *y;       // per constraint
  bool* without;            // the constraint is left out
} sparse;

typedef struct cpli_component {
  size_t n_rows, n_columns, n_entries;
  int32_t *rows, *columns;  // constraints and states, both ascending
  int32_t *entries, *at;    // per row, concatenated: numbers of its entries, and their local states
  int32_t* begin;           // first entry per row
  cpli_manifold dense;
  sparse* sparse;   // replaces the dense one. Nullable.
  bool determined;  // the constraints to leave out are determined
  bool partial;     // some are left out
} component;

//------------------------------------ components ------------------------------------

static int32_t root(int32_t* of, int32_t i) {
  while (of[i] != i) i = of[i] = of[of[i]];
  return i;
}

// of[r]: the first constraint connected with constraint r.
static void connect(const cpli_normals* k, int32_t* of, int32_t* met_by) {
  for (size_t r = 0; r < k->active; r++) of[r] = (int32_t)r;
  for (size_t j = 0; j < k->n; j++) met_by[j] = -1;
  for (size_t r = 0; r < k->active; r++) {
    for (int32_t e = k->first[r]; e < k->first[r + 1]; e++) {
      int32_t* other = &met_by[k->column[e]];
      if (*other < 0) *other = (int32_t)r;
      int32_t a = root(of, *other), b = root(of, (int32_t)r);
      if (a < b) of[b] = a;
      else of[a] = b;
    }
  }
  for (size_t r = 0; r < k->active; r++) of[r] = root(of, (int32_t)r);
}

static cpl_status allocate(cpli_normals* k, component* p) {
  p->rows = cpli_arena_alloc(&k->arena, p->n_rows, sizeof(int32_t));
  p->columns = cpli_arena_alloc(&k->arena, p->n_columns, sizeof(int32_t));
  p->entries = cpli_arena_alloc(&k->arena, p->n_entries, sizeof(int32_t));
  p->at = cpli_arena_alloc(&k->arena, p->n_entries, sizeof(int32_t));
  p->begin = cpli_arena_alloc(&k->arena, p->n_rows + 1, sizeof(int32_t));
  bool room = p->rows != NULL && p->columns != NULL && p->entries != NULL && p->at != NULL &&
              p->begin != NULL;
  p->n_rows = p->n_columns = p->n_entries = 0;
  return room ? CPL_OK : cpli_nomem(k->ctx);
}

// of[]: from here on the number of the component; local[]: number of each state within its
// component.
static cpl_status fill(cpli_normals* k, int32_t* of, int32_t* owner, int32_t* local) {
  cpl_status st = CPL_OK;
  for (size_t r = 0; r < k->active; r++)
    of[r] = of[r] == (int32_t)r ? (int32_t)k->n_components++ : of[of[r]];
  k->components = cpli_arena_alloc(&k->arena, k->n_components, sizeof *k->components);
  if (k->components == NULL && k->n_components > 0) return cpli_nomem(k->ctx);
  for (size_t j = 0; j < k->n; j++) owner[j] = -1;
  for (size_t r = 0; r < k->active; r++) {
    component* p = &k->components[of[r]];
    p->n_rows++;
    p->n_entries += (size_t)(k->first[r + 1] - k->first[r]);
    for (int32_t e = k->first[r]; e < k->first[r + 1]; e++) {
      int32_t j = k->column[e];
      if (owner[j] < 0) p->n_columns++;
      owner[j] = of[r];
    }
  }
  for (size_t i = 0; i < k->n_components && st >= 0; i++) st = allocate(k, &k->components[i]);
  if (st < 0) return st;
  for (size_t j = 0; j < k->n; j++) {
    component* p = owner[j] >= 0 ? &k->components[owner[j]] : NULL;
    if (p == NULL) continue;
    local[j] = (int32_t)p->n_columns;
    p->columns[p->n_columns++] = (int32_t)j;
  }
  for (size_t r = 0; r < k->active; r++) {
    component* p = &k->components[of[r]];
    p->rows[p->n_rows++] = (int32_t)r;
    for (int32_t e = k->first[r]; e < k->first[r + 1]; e++) {
      p->at[p->n_entries] = local[k->column[e]];
      p->entries[p->n_entries++] = e;
    }
    p->begin[p->n_rows] = (int32_t)p->n_entries;
  }
  return CPL_OK;
}

//------------------------------------ sparse: structure ------------------------------------

// The entries of each state.
static bool list_states(cpli_normals* k, const component* p, sparse* s) {
  s->meet = cpli_arena_alloc(&k->arena, p->n_columns + 2, sizeof(int32_t));
  s->entry = cpli_arena_alloc(&k->arena, p->n_entries, sizeof(int32_t));
  s->row = cpli_arena_alloc(&k->arena, p->n_entries, sizeof(int32_t));
  if (s->meet == NULL || s->entry == NULL || s->row == NULL) return false;
  for (size_t e = 0; e < p->n_entries; e++) s->meet[p->at[e] + 2]++;
  for (size_t j = 0; j < p->n_columns; j++) s->meet[j + 2] += s->meet[j + 1];
  for (size_t r = 0; r < p->n_rows; r++) {
    for (int32_t e = p->begin[r]; e < p->begin[r + 1]; e++) {
      int32_t to = s->meet[p->at[e] + 1]++;
      s->entry[to] = e;
      s->row[to] = (int32_t)r;
    }
  }
  return true;
}

static double count_pairs(const component* p, const sparse* s) {
  double pairs = 0;
  for (size_t e = 0; e < p->n_entries; e++) pairs += s->meet[p->at[e] + 1] - s->meet[p->at[e]];
  return pairs;
}

// Per constraint: which others share its states. seen[] is the last position entered for each.
static int32_t find_neighbours(const component* p, sparse* s, int32_t* seen, bool fill_in) {
  int32_t n = 0, pair = 0;
  for (size_t r = 0; r < p->n_rows; r++) {
    int32_t begin = n;
    if (fill_in) s->pattern.first[r] = n;
    for (int32_t e = p->begin[r]; e < p->begin[r + 1]; e++) {
      for (int32_t i = s->meet[p->at[e]]; i < s->meet[p->at[e] + 1]; i++) {
        int32_t other = s->row[i];
        if (seen[other] < begin || seen[other] >= n) {
          seen[other] = n;
          if (fill_in) s->pattern.row[n] = other;
          n++;
        }
        if (fill_in) s->pair[pair++] = seen[other];
      }
    }
  }
  if (fill_in) s->pattern.first[p->n_rows] = n;
  return n;
}

static bool find_pattern(cpli_normals* k, const component* p, sparse* s) {
  size_t m = p->n_rows;
  int32_t* seen = cpli_alloc(k->ctx, m, sizeof *seen);
  s->pair = cpli_arena_alloc(&k->arena, (size_t)count_pairs(p, s), sizeof(int32_t));
  s->pattern.first = cpli_arena_alloc(&k->arena, m + 1, sizeof(int32_t));
  if (seen == NULL || s->pair == NULL || s->pattern.first == NULL) {
    cpli_free(k->ctx, seen);
    return false;
  }
  for (size_t r = 0; r < m; r++) seen[r] = -1;
  int32_t n = find_neighbours(p, s, seen, false);
  s->pattern.n_rows = s->pattern.n_columns = (int32_t)m;
  s->pattern.n_entries = n;
  s->pattern.row = cpli_arena_alloc(&k->arena, (size_t)n, sizeof(int32_t));
  for (size_t r = 0; r < m; r++) seen[r] = -1;
  if (s->pattern.row != NULL) find_neighbours(p, s, seen, true);
  cpli_free(k->ctx, seen);
  return s->pattern.row != NULL;
}

// p->sparse stays NULL where the factors would be full.
static cpl_status make_sparse(cpli_normals* k, component* p) {
  size_t m = p->n_rows;
  sparse* s = cpli_arena_alloc(&k->arena, 1, sizeof *s);
  if (s == NULL || !list_states(k, p, s)) return cpli_nomem(k->ctx);
  if (count_pairs(p, s) > max_filled * (double)m * (double)m) return CPL_OK;
  s->scaled = cpli_arena_alloc(&k->arena, p->n_entries + 2 * m, sizeof(double));
  s->without = cpli_arena_alloc(&k->arena, m, sizeof *s->without);
  if (s->scaled == NULL || s->without == NULL || !find_pattern(k, p, s)) return cpli_nomem(k->ctx);
  s->pivots = s->scaled + p->n_entries;
  s->y = s->pivots + m;
  s->normal = cpli_arena_alloc(&k->arena, (size_t)s->pattern.n_entries, sizeof(double));
  if (s->normal == NULL) return cpli_nomem(k->ctx);
  cpl_status st = cpli_factors_make(k->ctx, &s->pattern, max_filled, &s->factors);
  if (st >= 0 && s->factors != NULL) p->sparse = s;
  return st;
}

//------------------------------------ sparse: numbers ------------------------------------

static void factor_sparse(cpli_normals* k, component* p) {
  sparse* s = p->sparse;
  int32_t pair = 0;
  for (size_t r = 0; r < p->n_rows; r++) {
    double size = k->size[p->rows[r]];
    for (int32_t e = p->begin[r]; e < p->begin[r + 1]; e++) {
      double length = k->entries[p->entries[e]] / k->weight[p->columns[p->at[e]]];
      s->scaled[e] = size > 0 ? length / size : 0;
    }
  }
  memset(s->normal, 0, (size_t)s->pattern.n_entries * sizeof(double));
  for (size_t r = 0; r < p->n_rows; r++) {
    for (int32_t e = p->begin[r]; e < p->begin[r + 1]; e++) {
      for (int32_t i = s->meet[p->at[e]]; i < s->meet[p->at[e] + 1]; i++)
        s->normal[s->pair[pair++]] += s->scaled[e] * s->scaled[s->entry[i]];
    }
    for (int32_t i = s->pattern.first[r]; i < s->pattern.first[r + 1]; i++)
      if (s->pattern.row[i] == (int32_t)r) s->normal[i] -= 1;
  }
  cpli_factors_find_rank(s->factors, s->normal, -1, dependent * dependent, NULL, s->pivots);
  for (size_t r = 0; r < p->n_rows; r++) k->left[p->rows[r]] = sqrt(s->pivots[r]);
}

// Adds to change, in units of the weights, the combination y of gradients.
static void combine(const component* p, const double* y, double* change) {
  const sparse* s = p->sparse;
  for (size_t j = 0; j < p->n_columns; j++) {
    double sum = 0;
    for (int32_t i = s->meet[j]; i < s->meet[j + 1]; i++)
      sum += s->scaled[s->entry[i]] * y[s->row[i]];
    change[j] += sum;
  }
}

static void solve_sparse(cpli_normals* k, component* p, const double* residuals, double* change) {
  sparse* s = p->sparse;
  for (size_t r = 0; r < p->n_rows; r++) {
    double size = k->size[p->rows[r]];
    s->y[r] = size > 0 ? -residuals[p->rows[r]] / size : 0;
  }
  cpli_factors_solve(s->factors, s->y, s->y);
  memset(change, 0, p->n_columns * sizeof *change);
  combine(p, s->y, change);
}

// Marks constraints with a remaining fraction below `min`.
static bool mark(const cpli_normals* k, component* p, double min) {
  bool any = false;
  for (size_t r = 0; r < p->n_rows; r++) {
    double left = k->left[p->rows[r]];
    p->sparse->without[r] = left > 0 && left < min;
    any = any || p->sparse->without[r];
  }
  return any;
}

static void factor_rest(component* p) {
  sparse* s = p->sparse;
  cpli_factors_find_rank(s->factors, s->normal, -1, dependent * dependent, s->without, s->pivots);
}

// Gradients that almost depend on others differ from them by as much as they turned along the
// projection; those that clearly differ give its length.
static void determine(cpli_normals* k, component* p, const double* residuals, double* change) {
  p->determined = true;
  if (!mark(k, p, different)) return;
  double length2 = 0;
  factor_rest(p);
  solve_sparse(k, p, residuals, change);
  for (size_t j = 0; j < p->n_columns; j++) length2 += change[j] * change[j];
  p->partial = mark(k, p, fmin(different, noise * k->turn * sqrt(length2)));
  factor_rest(p);
}

static void remove_sparse(component* p, double share, double* e) {
  sparse* s = p->sparse;
  for (size_t r = 0; r < p->n_rows; r++) {
    double sum = 0;
    for (int32_t i = p->begin[r]; i < p->begin[r + 1]; i++) sum += s->scaled[i] * e[p->at[i]];
    s->y[r] = -share * sum;
  }
  cpli_factors_solve(s->factors, s->y, s->y);
  combine(p, s->y, e);
}

//------------------------------------ all ------------------------------------

static void factor_dense(cpli_normals* k, component* p) {
  cpli_manifold* d = &p->dense;
  d->turn = k->turn;
  for (size_t j = 0; j < p->n_columns; j++) d->weight[j] = k->weight[p->columns[j]];
  memset(d->gradients, 0, p->n_rows * p->n_columns * sizeof(double));
  for (size_t r = 0; r < p->n_rows; r++) {
    for (int32_t e = p->begin[r]; e < p->begin[r + 1]; e++)
      d->gradients[r * p->n_columns + (size_t)p->at[e]] = k->entries[p->entries[e]];
  }
  cpli_manifold_factor(d);
  for (size_t r = 0; r < p->n_rows; r++)
    k->left[p->rows[d->order[r]]] = r < d->rank ? d->left[r] : 0;
}

void cpli_normals_factor(cpli_normals* k) {
  for (size_t r = 0; r < k->active; r++) {
    double sum = 0;
    for (int32_t e = k->first[r]; e < k->first[r + 1]; e++) {
      double length = k->entries[e] / k->weight[k->column[e]];
      sum += length * length;
    }
    k->size[r] = sqrt(sum);
  }
  for (size_t i = 0; i < k->n_components; i++) {
    component* p = &k->components[i];
    p->determined = p->partial = false;
    if (p->sparse != NULL) factor_sparse(k, p);
    else factor_dense(k, p);
  }
}

static void step_dense(component* p, const double* residuals, double* change) {
  double* c = change + p->n_columns;
  for (size_t r = 0; r < p->n_rows; r++) c[r] = residuals[p->rows[r]];
  cpli_manifold_step(&p->dense, c, change);
  p->determined = true;
  p->partial = p->dense.used < p->dense.rank;
  for (size_t j = 0; j < p->n_columns; j++) change[j] *= p->dense.weight[j];
}

void cpli_normals_step(cpli_normals* k, const double* residuals, double* change) {
  memset(change, 0, k->n * sizeof *change);
  for (size_t i = 0; i < k->n_components; i++) {
    component* p = &k->components[i];
    if (p->sparse != NULL && !p->determined) determine(k, p, residuals, k->room);
    if (p->sparse != NULL) solve_sparse(k, p, residuals, k->room);
    else step_dense(p, residuals, k->room);
    for (size_t j = 0; j < p->n_columns; j++)
      change[p->columns[j]] = k->room[j] / k->weight[p->columns[j]];
  }
}

void cpli_normals_remove(cpli_normals* k, double share, double* error) {
  double* e = k->room;
  for (size_t i = 0; i < k->n_components; i++) {
    component* p = &k->components[i];
    bool scaled = p->sparse != NULL;
    for (size_t j = 0; j < p->n_columns; j++)
      e[j] = error[p->columns[j]] * (scaled ? k->weight[p->columns[j]] : 1);
    if (scaled) remove_sparse(p, share, e);
    else cpli_manifold_remove(&p->dense, share, e);
    for (size_t j = 0; j < p->n_columns; j++)
      error[p->columns[j]] = e[j] / (scaled ? k->weight[p->columns[j]] : 1);
  }
}

bool cpli_normals_left_some(const cpli_normals* k) {
  for (size_t i = 0; i < k->n_components; i++)
    if (k->components[i].partial) return true;
  return false;
}

double cpli_normals_norm(const cpli_normals* k, const double* change) {
  double sum = 0;
  for (size_t i = 0; i < k->n; i++) sum += change[i] * k->weight[i] * (change[i] * k->weight[i]);
  return k->n > 0 ? sqrt(sum / (double)k->n) : 0;
}

//------------------------------------ life ------------------------------------

static void forget_shape(cpli_normals* k) {
  for (size_t i = 0; k->components != NULL && i < k->n_components; i++) {
    component* p = &k->components[i];
    if (p->sparse != NULL) cpli_factors_destroy(p->sparse->factors);
    cpli_manifold_free(&p->dense);
  }
  k->components = NULL;
  k->n_components = 0;
  k->active = 0;
  k->first = k->column = NULL;
  cpli_arena_free(&k->arena);
  cpli_arena_init(&k->arena, k->ctx);
}

static cpl_status make_component(cpli_normals* k, component* p) {
  cpl_status st = p->n_rows > SMALL ? make_sparse(k, p) : CPL_OK;
  if (st >= 0 && p->sparse == NULL)
    st = cpli_manifold_init(&p->dense, k->ctx, p->n_columns, p->n_rows);
  return st;
}

static cpl_status make_components(cpli_normals* k) {
  cpl_status st = CPL_OK;
  int32_t* of = cpli_alloc(k->ctx, k->active + 2 * k->n, sizeof *of);
  if (of == NULL) return cpli_nomem(k->ctx);
  connect(k, of, of + k->active);
  st = fill(k, of, of + k->active, of + k->active + k->n);
  cpli_free(k->ctx, of);
  for (size_t i = 0; i < k->n_components && st >= 0; i++) st = make_component(k, &k->components[i]);
  return st;
}

static bool is_same(const cpli_normals* k, size_t active, const int32_t* first,
                    const int32_t* column) {
  if (k->first == NULL || active != k->active) return false;
  if (first == NULL) return (size_t)k->first[active] == active * k->n;
  return memcmp(first, k->first, (active + 1) * sizeof *first) == 0 &&
         memcmp(column, k->column, (size_t)first[active] * sizeof *column) == 0;
}

cpl_status cpli_normals_shape(cpli_normals* k, size_t active, const int32_t* first,
                              const int32_t* column) {
  if (is_same(k, active, first, column)) return CPL_OK;
  forget_shape(k);
  size_t n = first != NULL ? (size_t)first[active] : active * k->n;
  int32_t* rows = cpli_arena_alloc(&k->arena, active + 1 + n, sizeof *rows);
  // a model without sparsity pattern may write more rows than are active
  k->entries =
      cpli_arena_alloc(&k->arena, first != NULL ? n + 1 : k->max * k->n, sizeof *k->entries);
  if (rows == NULL || k->entries == NULL) return cpli_nomem(k->ctx);
  for (size_t r = 0; r <= active; r++) rows[r] = first != NULL ? first[r] : (int32_t)(r * k->n);
  int32_t* columns = rows + active + 1;
  for (size_t e = 0; e < n; e++) columns[e] = first != NULL ? column[e] : (int32_t)(e % k->n);
  k->active = active;
  k->first = rows;
  k->column = columns;
  return make_components(k);
}

static cpl_status shape_as_seen(cpli_normals* k, size_t active) {
  size_t n = 0, at = 0;
  for (size_t i = 0; i < active * k->n; i++) n += k->seen[i];
  int32_t* first = cpli_alloc(k->ctx, active + 1 + n, sizeof *first);
  if (first == NULL) return cpli_nomem(k->ctx);
  int32_t* column = first + active + 1;
  for (size_t r = 0; r < active; r++) {
    for (size_t j = 0; j < k->n; j++)
      if (k->seen[r * k->n + j]) column[at++] = (int32_t)j;
    first[r + 1] = (int32_t)at;
  }
  cpl_status st = cpli_normals_shape(k, active, first, column);
  cpli_free(k->ctx, first);
  return st;
}

cpl_status cpli_normals_take(cpli_normals* k, size_t active, const double* matrix) {
  bool more = k->seen == NULL || k->active != active;
  if (k->seen == NULL) k->seen = cpli_alloc(k->ctx, k->max * k->n, sizeof *k->seen);
  if (k->seen == NULL) return cpli_nomem(k->ctx);
  for (size_t i = 0; i < active * k->n; i++) {
    if (matrix[i] == 0 || k->seen[i]) continue;
    k->seen[i] = more = true;
  }
  cpl_status st = more ? shape_as_seen(k, active) : CPL_OK;
  for (size_t r = 0; r < active && st >= 0; r++) {
    for (int32_t e = k->first[r]; e < k->first[r + 1]; e++)
      k->entries[e] = matrix[r * k->n + (size_t)k->column[e]];
  }
  return st;
}

void cpli_normals_forget(cpli_normals* k) {
  memset(k->size, 0, k->max * sizeof *k->size);
  if (k->seen != NULL) memset(k->seen, 0, k->max * k->n * sizeof *k->seen);
}

void cpli_normals_list(cpli_normals* k, cpli_serial* s) {
  bool seen = k->seen != NULL;
  cpli_serial_reals(s, k->size, k->max);
  cpli_serial_bool(s, &seen);
  if (!seen || s->st < 0) return;
  int32_t active = (int32_t)k->active;
  cpli_serial_int(s, &active, 0, (int32_t)k->max);
  if (k->seen == NULL) k->seen = cpli_alloc(k->ctx, k->max * k->n, sizeof *k->seen);
  if (k->seen == NULL) cpli_serial_nomem(s);
  for (size_t i = 0; i < k->max * k->n && s->st >= 0; i++) cpli_serial_bool(s, &k->seen[i]);
  if (s->st < 0 || !cpli_serial_reads(s)) return;
  if (shape_as_seen(k, (size_t)active) < 0) cpli_serial_nomem(s);
}

cpl_status cpli_normals_init(cpli_normals* k, cpl_context* ctx, size_t n, size_t max) {
  *k = (cpli_normals){.ctx = ctx, .n = n, .max = max};
  cpli_arena_init(&k->arena, ctx);
  k->weight = cpli_alloc(ctx, 2 * n + 3 * max, sizeof(double));
  if (k->weight == NULL) return cpli_nomem(ctx);
  k->size = k->weight + n;
  k->left = k->size + max;
  k->room = k->left + max;  // n and the residuals of a component
  return CPL_OK;
}

void cpli_normals_free(cpli_normals* k) {
  if (k->ctx == NULL) return;
  forget_shape(k);
  cpli_free(k->ctx, k->seen);
  cpli_free(k->ctx, k->weight);
}
