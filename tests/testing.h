// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// What every test needs: cmocka, a context that logs to memory, a heap that fails on demand.
#pragma once

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// cmocka wants the above before it

#include <cmocka.h>

#include "couplet/couplet.h"

#define CHECK(condition)                                                     \
  do {                                                                       \
    if (!(condition)) fail_msg("%s:%d: %s", __FILE__, __LINE__, #condition); \
  } while (0)
#define CHECK_OK(ctx, call)                                                             \
  do {                                                                                  \
    cpl_status st_ = (call);                                                            \
    if (st_ < 0)                                                                        \
      fail_msg("%s:%d: %s: %s (%s)", __FILE__, __LINE__, #call, cpl_context_error(ctx), \
               cpl_status_text(st_));                                                   \
  } while (0)
#define CHECK_NEAR(value, expected, tolerance)                                              \
  do {                                                                                      \
    double v_ = (value), e_ = (expected), tol_ = (tolerance);                               \
    if (!(fabs(v_ - e_) <= tol_))                                                           \
      fail_msg("%s:%d: %s = %.17g, expected %.17g, off by %.3g > %.3g", __FILE__, __LINE__, \
               #value, v_, e_, fabs(v_ - e_), tol_);                                        \
  } while (0)
#define CHECK_INT(value, expected)                                                                 \
  do {                                                                                             \
    long long v_ = (long long)(value), e_ = (long long)(expected);                                 \
    if (v_ != e_) fail_msg("%s:%d: %s = %lld, expected %lld", __FILE__, __LINE__, #value, v_, e_); \
  } while (0)
#define CHECK_STR(value, expected)                                                         \
  do {                                                                                     \
    const char *v_ = (value), *e_ = (expected);                                            \
    if (strcmp(v_, e_) != 0)                                                               \
      fail_msg("%s:%d: %s = \"%s\", expected \"%s\"", __FILE__, __LINE__, #value, v_, e_); \
  } while (0)
#define CHECK_CONTAINS(text, part)                                                   \
  do {                                                                               \
    const char *t_ = (text), *p_ = (part);                                           \
    if (strstr(t_, p_) == NULL)                                                      \
      fail_msg("%s:%d: \"%s\" does not contain \"%s\"", __FILE__, __LINE__, t_, p_); \
  } while (0)

// A heap that counts live blocks and fails the allocation number fail_at (0-based; -1: never).
typedef struct test_heap {
  long fail_at, calls, live;
} test_heap;

static inline void* heap_realloc(void* user, void* ptr, size_t size) {
  test_heap* heap = user;
  if (size == 0) {
    if (ptr != NULL) heap->live--;
    free(ptr);
    return NULL;
  }
  if (heap->calls++ == heap->fail_at) return NULL;
  void* moved = realloc(ptr, size);
  if (ptr == NULL && moved != NULL) heap->live++;
  return moved;
}

static inline cpl_context* test_context(void) {
  cpl_context* ctx = cpl_context_create(NULL);
  assert_non_null(ctx);
  return ctx;
}

// The state of a group of tests (cmocka_run_group_tests).
static inline int make_context(void** state) {
  *state = test_context();
  return 0;
}

static inline int drop_context(void** state) {
  cpl_context_destroy(*state);
  return 0;
}

static inline cpl_context* test_context_with_heap(test_heap* heap) {
  cpl_context_def def = cpl_default_context_def();
  def.realloc = heap_realloc;
  def.user = heap;
  return cpl_context_create(&def);
}

// A path below the project's folder; static storage, good until the fourth call after.
static inline const char* test_path(const char* relative) {
  static char paths[4][4096];
  static int next;
  char* path = paths[next++ % 4];
  snprintf(path, sizeof paths[0], "%s/%s", getenv("COUPLET_SOURCE_DIR"), relative);
  return path;
}
