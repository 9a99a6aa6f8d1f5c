// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A binary heap of indices with the position of each, so that one element is moved up or down in
// place.
#include "base/heap.h"

#include <assert.h>

#ifdef NDEBUG
#define check_place(h, at) ((void)0)
#else
static void check_place(const cpli_heap* h, int32_t at) {
  assert(at >= 0 && at < h->n);
  assert(h->order[at] >= 0 && h->order[at] < h->n);
  assert(h->position[h->order[at]] == at);
  if (at > 0) assert(!h->before(h->user, h->order[at], h->order[(at - 1) / 2]));
}

void cpli_check_heap(const cpli_heap* h) {
  enum { SMALL = 32 };
  for (int32_t at = 0; at < h->n && at < SMALL; at++) check_place(h, at);
}
#endif

static void put(cpli_heap* h, int32_t at, int32_t i) {
  h->order[at] = i;
  h->position[i] = at;
}

void cpli_heap_init(cpli_heap* h, int32_t* memory, int32_t n,
                    bool (*before)(const void* user, int32_t i, int32_t k), const void* user) {
  assert(n >= 0 && before != NULL);
  *h = (cpli_heap){n, memory, memory + n, before, user};
  for (int32_t i = 0; i < n; i++) put(h, i, i);
}

static void sink(cpli_heap* h, int32_t at) {
  int32_t i = h->order[at];
  for (int32_t child; (child = 2 * at + 1) < h->n; at = child) {
    if (child + 1 < h->n && h->before(h->user, h->order[child + 1], h->order[child])) child++;
    if (!h->before(h->user, h->order[child], i)) break;
    put(h, at, h->order[child]);
  }
  put(h, at, i);
}

void cpli_heap_sort_in(cpli_heap* h, int32_t i) {
  assert(i >= 0 && i < h->n);
  int32_t at = h->position[i];
  for (; at > 0 && h->before(h->user, i, h->order[(at - 1) / 2]); at = (at - 1) / 2)
    put(h, at, h->order[(at - 1) / 2]);
  put(h, at, i);
  sink(h, at);
  check_place(h, h->position[i]);
}

void cpli_heap_sort(cpli_heap* h) {
  for (int32_t at = h->n / 2; at-- > 0;) sink(h, at);
  for (int32_t at = 0; at < h->n; at++) check_place(h, at);
}
