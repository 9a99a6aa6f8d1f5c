// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A priority queue: the numbers 0 to n - 1, the first one by `before` on top. When the key of one
// of them has changed, it is sorted in again, at a cost of the logarithm of n.
#pragma once

#include "base/base.h"

// heap invariants: 1 order[] and position[] are inverse permutations of 0 to n - 1; 2 no number
// comes before the one above it. The second one holds whenever the first number is read.
typedef struct cpli_heap {
  int32_t n;
  int32_t *order, *position;  // order[0] is the first; position of each
  bool (*before)(const void* user, int32_t i, int32_t k);
  const void* user;
} cpli_heap;

/// Borrowed: memory, for 2 n numbers.
void cpli_heap_init(cpli_heap* h, int32_t* memory, int32_t n,
                    bool (*before)(const void* user, int32_t i, int32_t k), const void* user);
void cpli_heap_sort(cpli_heap* h);                // all of them
void cpli_heap_sort_in(cpli_heap* h, int32_t i);  // this one has changed

/// Asserts the invariants, of large heaps near the top only: this is done before every step.
#ifdef NDEBUG
#define cpli_check_heap(h) ((void)0)
#else
void cpli_check_heap(const cpli_heap* h);
#endif

static inline int32_t cpli_heap_first(const cpli_heap* h) {
  cpli_check_heap(h);
  return h->order[0];
}
