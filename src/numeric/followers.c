// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// An unknown that another one follows stays, so that the order of elimination does not matter.
#include "numeric/followers.h"

#include <assert.h>

#include "numeric/pattern.h"

// While they are found: of each unknown.
typedef struct search {
  int32_t* entries;  // of its row
  int32_t* leader;   // the other one in a row with two entries; -1: none
  int32_t* place;    // in the rest; -1: eliminated first
  int32_t* mark;     // the last column of the rest with an entry in this row
  int32_t* next;     // list of followers of one leader
  int32_t* head;
} search;

static void list_rows(search* s, int32_t n, const int32_t* first, const int32_t* row) {
  for (int32_t j = 0; j < n; j++) {
    for (int32_t k = first[j]; k < first[j + 1]; k++) {
      s->entries[row[k]]++;
      if (row[k] != j) s->leader[row[k]] = j;
      else s->mark[j] = 1;  // it has its own entry
    }
  }
}

static void choose(search* s, int32_t n, cpli_followers* out) {
  for (int32_t i = 0; i < n; i++) s->head[i] = -1;
  for (int32_t i = 0; i < n; i++) {
    const int32_t leader = s->leader[i];
    const bool follows =
        s->entries[i] == 2 && s->mark[i] == 1 && s->head[i] < 0 && s->place[leader] == 0;
    if (!follows) continue;
    s->place[i] = -1;
    s->next[i] = s->head[leader];
    s->head[leader] = i;
    out->order[out->n++] = i;
  }
  for (int32_t i = 0; i < n; i++) {
    if (s->place[i] < 0) continue;
    s->place[i] = out->n_rest;
    out->order[out->n + out->n_rest++] = i;
  }
}

// Entries of a column in the rest, each once.
static void add_column(const search* s, cpli_followers* out, const int32_t* first,
                       const int32_t* row, int32_t of, int32_t column, int32_t* at) {
  for (int32_t k = first[of]; k < first[of + 1]; k++) {
    if (s->place[row[k]] < 0 || s->mark[row[k]] == column) continue;
    s->mark[row[k]] = column;
    out->row[(*at)++] = s->place[row[k]];
  }
}

// The columns of followers are added to those of their leaders.
static void make_rest(search* s, const int32_t* first, const int32_t* row, cpli_followers* out) {
  int32_t at = 0;
  for (int32_t i = 0; i < out->n + out->n_rest; i++) s->mark[i] = -1;
  for (int32_t c = 0; c < out->n_rest; c++) {
    const int32_t leader = out->order[out->n + c];
    out->first[c] = at;
    add_column(s, out, first, row, leader, c, &at);
    for (int32_t i = s->head[leader]; i >= 0; i = s->next[i]) {
      add_column(s, out, first, row, i, c, &at);
      out->filled += first[i + 1] - first[i] + 1;
    }
  }
  out->first[out->n_rest] = at;
  cpli_check_compressed(out->n_rest, out->first, out->row, out->n_rest);
}

cpl_status cpli_followers_find(cpl_context* ctx, int32_t n, const int32_t* first,
                               const int32_t* row, cpli_followers* out) {
  const size_t size = (size_t)n;
  *out = (cpli_followers){.n = 0};
  out->order = cpli_alloc(ctx, 2 * size + 1 + (size_t)first[n], sizeof *out->order);
  int32_t* room = cpli_alloc(ctx, 6 * size, sizeof *room);
  if (out->order == NULL || room == NULL) {
    cpli_free(ctx, room);
    return cpli_nomem(ctx);
  }
  out->first = out->order + size;
  out->row = out->first + size + 1;
  search s = {room,           room + size, room + 2 * size, room + 3 * size, room + 4 * size,
              room + 5 * size};
  for (int32_t i = 0; i < n; i++) s.leader[i] = -1;
  list_rows(&s, n, first, row);
  choose(&s, n, out);
  make_rest(&s, first, row, out);
  cpli_free(ctx, room);
  return CPL_OK;
}

void cpli_followers_free(cpl_context* ctx, cpli_followers* f) {
  cpli_free(ctx, f->order);
  *f = (cpli_followers){.n = 0};
}
