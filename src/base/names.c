// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Functions on names: a hash map with open addressing (FNV-1a, linear probing), suggestions for
// misspelt names by edit distance, and patterns with * and ?.
#include <assert.h>
#include <ctype.h>
#include <stdio.h>

#include "base/base.h"

//------------------------------------ map ------------------------------------

static uint32_t hash(const char* key) {
  uint64_t h = 1469598103934665603u;  // FNV-1a
  for (; *key != '\0'; key++) h = (h ^ (unsigned char)*key) * 1099511628211u;
  return (uint32_t)(h ^ (h >> 32));
}

static cpli_name* place_of(const cpli_names* names, const char* key, uint32_t h) {
  size_t mask = names->cap - 1;
  for (size_t i = h & mask;; i = (i + 1) & mask) {
    cpli_name* item = &names->items[i];
    if (item->key == NULL || (item->hash == h && strcmp(item->key, key) == 0)) return item;
  }
}

cpl_status cpli_names_init(cpli_names* names, cpl_context* ctx, size_t expected) {
  size_t cap = 16;
  while (cap < 2 * expected) cap *= 2;
  *names = (cpli_names){.ctx = ctx, .cap = cap};
  names->items = cpli_alloc(ctx, cap, sizeof *names->items);
  if (names->items != NULL) return CPL_OK;
  *names = (cpli_names){0};
  return cpli_nomem(ctx);
}

void cpli_names_free(cpli_names* names) {
  if (names->ctx == NULL) return;
  cpli_free(names->ctx, names->items);
  *names = (cpli_names){0};
}

#ifdef NDEBUG
#define check_names(names) ((void)0)
#else
// names invariants: 1 the capacity is a power of two; 2 at least half of the places are free, so
// that a search ends; 3 every key is found where it is; 4 no value is negative, since -1 means that
// there is no such key.
static void check_names(const cpli_names* names) {
  size_t count = 0;
  assert(names->cap > 0 && (names->cap & (names->cap - 1)) == 0);
  for (size_t i = 0; i < names->cap; i++) {
    const cpli_name* item = &names->items[i];
    if (item->key == NULL) continue;
    count++;
    assert(item->hash == hash(item->key) && place_of(names, item->key, item->hash) == item);
    assert(item->value >= 0);
  }
  assert(count == names->count && 2 * count <= names->cap);
}
#endif

static bool names_double(cpli_names* names) {
  cpli_names bigger;
  if (cpli_names_init(&bigger, names->ctx, names->cap) < 0) return false;
  size_t mask = bigger.cap - 1;
  for (size_t i = 0; i < names->cap; i++) {
    if (names->items[i].key == NULL) continue;
    size_t k = names->items[i].hash & mask;
    while (bigger.items[k].key != NULL) k = (k + 1) & mask;
    bigger.items[k] = names->items[i];
  }
  bigger.count = names->count;
  cpli_names_free(names);
  *names = bigger;
  check_names(names);
  return true;
}

int32_t cpli_names_add(cpli_names* names, const char* key, int32_t value) {
  if (2 * (names->count + 1) > names->cap && !names_double(names)) return CPL_ERR_NOMEM;
  uint32_t h = hash(key);
  cpli_name* item = place_of(names, key, h);
  if (item->key != NULL) return item->value;
  assert(value >= 0 && 2 * (names->count + 1) <= names->cap);
  *item = (cpli_name){key, h, value};
  names->count++;
  return value;
}

int32_t cpli_names_find(const cpli_names* names, const char* key) {
  if (names->cap == 0) return -1;
  const cpli_name* item = place_of(names, key, hash(key));
  return item->key != NULL ? item->value : -1;
}

int32_t cpli_find_text(const char* const* texts, size_t n, const char* text) {
  for (size_t i = 0; i < n; i++) {
    if (texts[i] != NULL && strcmp(texts[i], text) == 0) return (int32_t)i;
  }
  return -1;
}

//------------------------------------ nearest ------------------------------------

enum { LONGEST = 128 };  // longer names are compared by their first characters

// Edit distance in halves: another letter 2, the same letter in another case 1.
static int distance(const char* a, const char* b, int limit) {
  size_t n = strlen(a), m = strlen(b);
  if (n > LONGEST) n = LONGEST;
  if (m > LONGEST) m = LONGEST;
  int row[LONGEST + 1];
  for (size_t j = 0; j <= m; j++) row[j] = (int)(2 * j);
  for (size_t i = 1; i <= n; i++) {
    int diagonal = row[0], best = row[0] = (int)(2 * i);
    for (size_t j = 1; j <= m; j++) {
      int same = a[i - 1] == b[j - 1]                                                   ? 0
                 : tolower((unsigned char)a[i - 1]) == tolower((unsigned char)b[j - 1]) ? 1
                                                                                        : 2;
      int cost = diagonal + same;
      diagonal = row[j];
      if (row[j] + 2 < cost) cost = row[j] + 2;
      if (row[j - 1] + 2 < cost) cost = row[j - 1] + 2;
      row[j] = cost;
      if (cost < best) best = cost;
    }
    if (best > limit) return limit + 1;
  }
  return row[m];
}

// An element of an array, of which only the name was given.
static bool is_element(const char* name, const char* candidate) {
  size_t n = strlen(name);
  return n > 0 && strncmp(name, candidate, n) == 0 && candidate[n] == '[';
}

size_t cpli_nearest_few(const char* name, const char* (*at)(const void* user, size_t i),
                        const void* user, size_t n, const char* best[CPLI_NEAREST]) {
  int cost[CPLI_NEAREST];
  int limit = (int)(2 * (1 + strlen(name) / 3));  // a third of the letters may differ
  size_t found = 0;
  for (size_t i = 0; i < n; i++) {
    const char* candidate = at(user, i);
    if (candidate[0] == '\0') continue;
    int d = is_element(name, candidate) ? 0 : distance(name, candidate, limit);
    if (d > limit) continue;
    size_t k = found < CPLI_NEAREST ? found++ : CPLI_NEAREST;
    while (k > 0 && d < cost[k - 1]) {
      if (k < CPLI_NEAREST) best[k] = best[k - 1], cost[k] = cost[k - 1];
      k--;
    }
    if (k < CPLI_NEAREST) best[k] = candidate, cost[k] = d;
  }
  return found;
}

void cpli_nearest(const char* name, const char* (*at)(const void* user, size_t i), const void* user,
                  size_t n, char* out, size_t out_size) {
  const char* best[CPLI_NEAREST];
  size_t found = cpli_nearest_few(name, at, user, n, best), used = 0;
  out[0] = '\0';
  for (size_t k = 0; k < found && used < out_size; k++) {
    const char* glue = k == 0 ? "" : k + 1 == found ? " or " : ", ";
    int len = snprintf(out + used, out_size - used, "%s%s", glue, best[k]);
    used += len > 0 ? (size_t)len : 0;
  }
}

//------------------------------------ glob ------------------------------------

bool cpli_glob(const char* pattern, const char* text) {
  const char *star = NULL, *resume = NULL;
  while (*text != '\0') {
    if (*pattern == '*') {
      star = pattern++;
      resume = text;
    } else if (*pattern == '?' || *pattern == *text) {
      pattern++;
      text++;
    } else if (star != NULL) {
      pattern = star + 1;
      text = ++resume;
    } else {
      return false;
    }
  }
  while (*pattern == '*') pattern++;
  return *pattern == '\0';
}
