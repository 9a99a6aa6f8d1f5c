// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#include "base/base.h"
#include "testing.h"

static const char* candidate(const void* user, size_t i) { return ((const char* const*)user)[i]; }

static void finds_what_was_added(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  cpli_names names;
  CHECK_OK(ctx, cpli_names_init(&names, ctx, 0));
  static char keys[1000][8];
  for (int i = 0; i < 1000; i++) {
    snprintf(keys[i], sizeof keys[i], "v%d", i);
    CHECK_INT(cpli_names_add(&names, keys[i], i), i);
  }
  CHECK_INT(cpli_names_add(&names, "v7", 5000), 7);  // already there
  for (int i = 0; i < 1000; i++) CHECK_INT(cpli_names_find(&names, keys[i]), i);
  CHECK_INT(cpli_names_find(&names, "w"), -1);
  cpli_names_free(&names);
  cpl_context_destroy(ctx);
}

static void offers_the_nearest(void** state) {
  (void)state;
  const char* all[] = {"mass", "Mass", "length", "angle", "masse", "gravity"};
  char out[128];
  cpli_nearest("mas", candidate, all, 6, out, sizeof out);
  CHECK_STR(out, "mass, Mass or masse");
  const char* few[] = {"", "k", ""};
  cpli_nearest("b", candidate, few, 3, out, sizeof out);
  CHECK_STR(out, "k");
  cpli_nearest("zzzzzz", candidate, all, 6, out, sizeof out);
  CHECK_STR(out, "");
  const char* array[] = {"k", "speed[1]", "speed[2]", "y"};
  cpli_nearest("speed", candidate, array, 4, out, sizeof out);
  CHECK_STR(out, "speed[1] or speed[2]");
}

static void globs_take_brackets_literally(void** state) {
  (void)state;
  CHECK(cpli_glob("x[*]", "x[12]"));
  CHECK(cpli_glob("*.v", "left.v"));
  CHECK(cpli_glob("a?c*", "abc"));
  CHECK(!cpli_glob("x[1]", "x1"));
  CHECK(!cpli_glob("*.v", "left.vx"));
}

static void arena_survives_failed_allocations(void** state) {
  (void)state;
  for (long n = 0;; n++) {
    test_heap heap = {.fail_at = n};
    cpl_context* ctx = test_context_with_heap(&heap);
    bool whole = ctx != NULL;
    if (ctx != NULL) {
      cpli_arena arena;
      cpli_arena_init(&arena, ctx);
      for (int i = 0; i < 1000 && whole; i++)
        whole = cpli_arena_strdup(&arena, "some text") != NULL;
      cpli_arena_free(&arena);
      cpl_context_destroy(ctx);
    }
    CHECK_INT(heap.live, 0);
    if (whole) break;
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(finds_what_was_added),
      cmocka_unit_test(offers_the_nearest),
      cmocka_unit_test(globs_take_brackets_literally),
      cmocka_unit_test(arena_survives_failed_allocations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
