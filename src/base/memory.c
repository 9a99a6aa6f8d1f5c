// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Strings, growing arrays and arenas on top of the allocator of the context. An arena allocates
// blocks that double in size up to 256 KiB, and frees them all at once.
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/base.h"

char* cpli_strdup(cpl_context* ctx, const char* text) {
  size_t n = strlen(text) + 1;
  char* copy = cpli_realloc(ctx, NULL, n, 1);
  if (copy != NULL) memcpy(copy, text, n);
  return copy;
}

char* cpli_vprintf(cpl_context* ctx, const char* fmt, va_list args) {
  va_list again;
  va_copy(again, args);
  int n = vsnprintf(NULL, 0, fmt, args);
  char* text = n < 0 ? NULL : cpli_realloc(ctx, NULL, (size_t)n + 1, 1);
  if (text != NULL) vsnprintf(text, (size_t)n + 1, fmt, again);
  va_end(again);
  return text;
}

char* cpli_printf(cpl_context* ctx, const char* fmt, ...) {
  va_list args;
  va_start(args, fmt);
  char* text = cpli_vprintf(ctx, fmt, args);
  va_end(args);
  return text;
}

void cpli_sort(void* items, size_t n, size_t size, int (*compare)(const void*, const void*)) {
  const char* item = items;
  for (size_t i = 1; i < n; i++, item += size) {
    if (compare(item, item + size) <= 0) continue;
    qsort(items, n, size, compare);
    return;
  }
}

bool cpli_grow(cpl_context* ctx, void** items, size_t* cap, size_t count, size_t size) {
  assert(size > 0 && (*items != NULL || *cap == 0));
  if (count < *cap) return true;
  size_t bigger = *cap > 0 ? 2 * *cap : 16;
  assert(count < bigger);
  void* moved = cpli_realloc(ctx, *items, bigger, size);
  if (moved == NULL) return false;
  *items = moved;
  *cap = bigger;
  return true;
}

//------------------------------------ arena ------------------------------------

struct cpli_arena_block {
  struct cpli_arena_block* before;
  size_t used, size;
  _Alignas(max_align_t) unsigned char bytes[];
};

static_assert(offsetof(struct cpli_arena_block, bytes) % _Alignof(max_align_t) == 0 &&
                  offsetof(struct cpli_arena_block, bytes) == sizeof(struct cpli_arena_block),
              "bytes begin behind the head, aligned for every type");

void cpli_arena_init(cpli_arena* arena, cpl_context* ctx) {
  arena->ctx = ctx;
  arena->last = NULL;
}

void cpli_arena_free(cpli_arena* arena) {
  while (arena->last != NULL) {
    struct cpli_arena_block* before = arena->last->before;
    cpli_free(arena->ctx, arena->last);
    arena->last = before;
  }
}

static void* arena_bytes(cpli_arena* arena, size_t bytes, size_t align) {
  struct cpli_arena_block* b = arena->last;
  assert(arena->ctx != NULL && (align & (align - 1)) == 0);
  assert(b == NULL || b->used <= b->size);
  size_t start = b != NULL ? (b->used + align - 1) / align * align : 0;
  if (b == NULL || start > b->size || bytes > b->size - start) {
    size_t grown = b != NULL ? 2 * b->size : 1024;
    if (grown > 256 * 1024) grown = 256 * 1024;
    size_t size = bytes > grown ? bytes : grown;
    if (size > SIZE_MAX - sizeof *b) return NULL;
    b = cpli_realloc(arena->ctx, NULL, 1, sizeof *b + size);
    if (b == NULL) return NULL;
    b->before = arena->last;
    b->size = size;
    arena->last = b;
    start = 0;
  }
  b->used = start + bytes;
  assert(b->used <= b->size && start % align == 0);
  return b->bytes + start;
}

void* cpli_arena_alloc(cpli_arena* arena, size_t n, size_t size) {
  if (size != 0 && n > SIZE_MAX / size) return NULL;
  void* ptr = arena_bytes(arena, n * size, _Alignof(max_align_t));
  if (ptr != NULL) memset(ptr, 0, n * size);
  return ptr;
}

char* cpli_arena_strndup(cpli_arena* arena, const char* text, size_t len) {
  char* copy = arena_bytes(arena, len + 1, 1);
  if (copy == NULL) return NULL;
  memcpy(copy, text, len);
  copy[len] = '\0';
  return copy;
}

char* cpli_arena_strdup(cpli_arena* arena, const char* text) {
  return cpli_arena_strndup(arena, text, strlen(text));
}
