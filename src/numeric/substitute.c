// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Entries are in lists by row and by column while it is decided which nodes go. Every replacement
// is recorded as products of two entries that are added to a third; a refresh repeats them in this
// order.
#include "numeric/substitute.h"

#include <assert.h>

typedef struct product {  // value[to] += value[left] * value[right]
  int32_t to, left, right;
} product;

struct cpli_substitution {
  cpl_context* ctx;
  cpli_substituted rest;
  int32_t *place, *row, *column;
  int32_t* entry_of;  // of each term; -1: of the identity
  size_t n_terms;
  double* all;  // values of all entries
  size_t n_all;
  double* values;  // of those that are left
  int32_t* left;   // their numbers among all
  product* products;
  size_t n_products, cap_products;
};

//------------------------------------ lists ------------------------------------

enum { NONE = -1 };

// An entry in the doubly linked lists of its row and of its column.
typedef struct entry {
  int32_t row, column;
  int32_t in_row[2], in_column[2];  // previous and next
} entry;

typedef struct lists {
  cpli_substitution* s;
  int32_t n;
  entry* entries;
  size_t n_entries, cap;
  int32_t *row, *column;      // first entry of each
  int32_t *row_n, *column_n;  // number of entries
  int32_t *queue, head, tail, waiting;
  bool *may_go, *queued;
} lists;

static int32_t find(const lists* l, int32_t row, int32_t column) {
  if (l->row_n[row] <= l->column_n[column]) {
    for (int32_t e = l->row[row]; e != NONE; e = l->entries[e].in_row[1])
      if (l->entries[e].column == column) return e;
  } else {
    for (int32_t e = l->column[column]; e != NONE; e = l->entries[e].in_column[1])
      if (l->entries[e].row == row) return e;
  }
  return NONE;
}

// The entry at a position, made where there is none. NONE: out of memory.
static int32_t entry_at(lists* l, int32_t row, int32_t column) {
  int32_t e = find(l, row, column);
  if (e != NONE) return e;
  if (!cpli_grow(l->s->ctx, (void**)&l->entries, &l->cap, l->n_entries, sizeof *l->entries))
    return NONE;
  e = (int32_t)l->n_entries++;
  l->entries[e] = (entry){row, column, {NONE, l->row[row]}, {NONE, l->column[column]}};
  if (l->row[row] != NONE) l->entries[l->row[row]].in_row[0] = e;
  if (l->column[column] != NONE) l->entries[l->column[column]].in_column[0] = e;
  l->row[row] = l->column[column] = e;
  l->row_n[row]++;
  l->column_n[column]++;
  return e;
}

static void leave_column(lists* l, int32_t e) {
  const entry* k = &l->entries[e];
  if (k->in_column[0] != NONE) l->entries[k->in_column[0]].in_column[1] = k->in_column[1];
  else l->column[k->column] = k->in_column[1];
  if (k->in_column[1] != NONE) l->entries[k->in_column[1]].in_column[0] = k->in_column[0];
  l->column_n[k->column]--;
}

static void leave_row(lists* l, int32_t e) {
  const entry* k = &l->entries[e];
  if (k->in_row[0] != NONE) l->entries[k->in_row[0]].in_row[1] = k->in_row[1];
  else l->row[k->row] = k->in_row[1];
  if (k->in_row[1] != NONE) l->entries[k->in_row[1]].in_row[0] = k->in_row[0];
  l->row_n[k->row]--;
}

//------------------------------------ which go ------------------------------------

enum { MAX_PAIRS = 64 };  // readers times sources of a node for which fill-in is counted

// Whether replacing this unknown adds no more entries than it removes.
static bool pays(const lists* l, int32_t u) {
  int32_t readers = l->column_n[u], sources = l->row_n[u], added = 0;
  if (find(l, u, u) != NONE) return false;  // a loop
  if (readers <= 1 || sources <= 1) return true;
  if (readers > MAX_PAIRS || sources > MAX_PAIRS || readers * sources > MAX_PAIRS) return false;
  for (int32_t r = l->column[u]; r != NONE; r = l->entries[r].in_column[1])
    for (int32_t s = l->row[u]; s != NONE; s = l->entries[s].in_row[1])
      added += find(l, l->entries[r].row, l->entries[s].column) == NONE;
  return added <= readers + sources;
}

static void enqueue(lists* l, int32_t u) {
  if (!l->may_go[u] || l->queued[u]) return;
  l->queued[u] = true;
  l->queue[l->tail] = u;
  l->tail = l->tail + 1 < l->n ? l->tail + 1 : 0;
  l->waiting++;
}

static bool add_product(cpli_substitution* s, product p) {
  if (!cpli_grow(s->ctx, (void**)&s->products, &s->cap_products, s->n_products,
                 sizeof *s->products))
    return false;
  s->products[s->n_products++] = p;
  return true;
}

// Every row that reads u gets the entries of its row instead.
static bool replace(lists* l, int32_t u) {
  cpli_substitution* s = l->s;
  s->rest.n_removed += (size_t)l->column_n[u] + (size_t)l->row_n[u] + 1;
  for (int32_t r = l->column[u]; r != NONE; r = l->entries[r].in_column[1]) {
    for (int32_t k = l->row[u]; k != NONE; k = l->entries[k].in_row[1]) {
      int32_t to = entry_at(l, l->entries[r].row, l->entries[k].column);
      if (to == NONE || !add_product(s, (product){to, r, k})) return false;
    }
  }
  for (int32_t r = l->column[u]; r != NONE; r = l->entries[r].in_column[1]) {
    leave_row(l, r);
    enqueue(l, l->entries[r].row);
  }
  for (int32_t k = l->row[u]; k != NONE; k = l->entries[k].in_row[1]) {
    leave_column(l, k);
    enqueue(l, l->entries[k].column);
  }
  l->row[u] = l->column[u] = NONE;
  l->may_go[u] = false;
  s->place[u] = NONE;
  return true;
}

// In the order of the numbers, and again where a replacement has changed the counts.
static bool replace_all(lists* l) {
  for (int32_t u = 0; u < l->n; u++) enqueue(l, u);
  for (; l->waiting > 0; l->waiting--) {
    int32_t u = l->queue[l->head];
    l->head = l->head + 1 < l->n ? l->head + 1 : 0;
    l->queued[u] = false;
    if (pays(l, u) && !replace(l, u)) return false;
  }
  return true;
}

//------------------------------------ make ------------------------------------

static bool allocate_lists(lists* l) {
  cpl_context* ctx = l->s->ctx;
  size_t n = (size_t)l->n;
  l->row = cpli_alloc(ctx, 5 * n, sizeof *l->row);
  l->may_go = cpli_alloc(ctx, 2 * n, sizeof *l->may_go);
  if (l->row == NULL || l->may_go == NULL) return false;
  l->column = l->row + n;
  l->row_n = l->column + n;
  l->column_n = l->row_n + n;
  l->queue = l->column_n + n;
  l->queued = l->may_go + n;
  for (size_t i = 0; i < 2 * n; i++) l->row[i] = NONE;
  return true;
}

static bool take_terms(lists* l, const cpli_term* terms) {
  cpli_substitution* s = l->s;
  for (size_t i = 0; i < s->n_terms; i++) {
    s->entry_of[i] = NONE;
    if (terms[i].owner == -1) continue;
    s->entry_of[i] = entry_at(l, terms[i].row, terms[i].column);
    if (s->entry_of[i] == NONE) return false;
  }
  return true;
}

static bool take_rest(lists* l) {
  cpli_substitution* s = l->s;
  size_t n = 0;
  for (int32_t u = 0; u < l->n; u++) {
    if (s->place[u] != NONE) s->place[u] = s->rest.n++;
  }
  for (size_t e = 0; e < l->n_entries; e++)
    n += s->place[l->entries[e].row] != NONE && s->place[l->entries[e].column] != NONE;
  s->n_all = l->n_entries;
  s->all = cpli_alloc(s->ctx, s->n_all + n, sizeof *s->all);
  s->row = cpli_alloc(s->ctx, 3 * n, sizeof *s->row);
  if (s->all == NULL || s->row == NULL) return false;
  s->values = s->all + s->n_all;
  s->column = s->row + n;
  s->left = s->column + n;
  n = 0;
  for (size_t e = 0; e < l->n_entries; e++) {
    int32_t row = s->place[l->entries[e].row], column = s->place[l->entries[e].column];
    if (row == NONE || column == NONE) continue;
    s->row[n] = row;
    s->column[n] = column;
    s->left[n++] = (int32_t)e;
  }
  s->rest.n_entries = n;
  s->rest.place = s->place;
  s->rest.row = s->row;
  s->rest.column = s->column;
  s->rest.values = s->values;
  return true;
}

cpl_status cpli_substitution_make(cpl_context* ctx, int32_t n, const cpli_term* terms,
                                  size_t n_terms, const bool* may_go, cpli_substitution** out) {
  cpli_substitution* s = *out = cpli_alloc(ctx, 1, sizeof *s);
  if (s == NULL) return cpli_nomem(ctx);
  *s = (cpli_substitution){.ctx = ctx, .n_terms = n_terms};
  lists l = {.s = s, .n = n};
  s->place = cpli_alloc(ctx, (size_t)n, sizeof *s->place);
  s->entry_of = cpli_alloc(ctx, n_terms, sizeof *s->entry_of);
  bool fine = s->place != NULL && s->entry_of != NULL && allocate_lists(&l);
  if (fine) memcpy(l.may_go, may_go, (size_t)n * sizeof *may_go);
  fine = fine && take_terms(&l, terms) && replace_all(&l) && take_rest(&l);
  cpli_free(ctx, l.entries);
  cpli_free(ctx, l.row);
  cpli_free(ctx, l.may_go);
  return fine ? CPL_OK : cpli_nomem(ctx);
}

void cpli_substitution_destroy(cpli_substitution* s) {
  if (s == NULL) return;
  cpli_free(s->ctx, s->place);
  cpli_free(s->ctx, s->entry_of);
  cpli_free(s->ctx, s->row);
  cpli_free(s->ctx, s->all);
  cpli_free(s->ctx, s->products);
  cpli_free(s->ctx, s);
}

//------------------------------------ use ------------------------------------

const cpli_substituted* cpli_substitution_rest(const cpli_substitution* s) { return &s->rest; }

void cpli_substitution_refresh(cpli_substitution* s, const double* values) {
  double* all = s->all;
  memset(all, 0, s->n_all * sizeof *all);
  for (size_t i = 0; i < s->n_terms; i++) {
    if (s->entry_of[i] != NONE) all[s->entry_of[i]] += values[i];
  }
  for (size_t i = 0; i < s->n_products; i++) {
    const product* p = &s->products[i];
    all[p->to] += all[p->left] * all[p->right];
  }
  for (size_t i = 0; i < s->rest.n_entries; i++) s->values[i] = all[s->left[i]];
}
