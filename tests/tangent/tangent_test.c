// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Texts of models that are damaged, deeply nested or for which there is no memory.
#include "tangent/tangent.h"

#include "testing.h"

// Any text gives an answer.
static void damaged_texts_end(void** state) {
  static const char* const texts[] = {
      "",
      "{",
      "((((",
      "const cpl_model_def couplet_model = {",
      "struct a { struct a b; int",
      "int f(int a, { }",
      "typedef int t; t t(t) { t: t(t); }",
      "# 1 \"",
      "\"",
      "'",
      "struct cpl_values { double *x; }; const struct cpl_model_def couplet_model = {.derivatives "
      "= "
      "f}; int f(struct cpl_values* v, double* dx) { dx[0] = v->x[0"};
  for (size_t i = 0; i < CPLI_COUNT(texts); i++) {
    cpli_tangent_text out;
    CHECK_OK(*state, cpli_tangent_make(*state, texts[i], strlen(texts[i]), &out));
    assert_false(out.any);
    CHECK_CONTAINS(out.text, ".why = \"differences: ");
    cpli_free(*state, out.text);
  }
  char* deep = calloc(100001, 1);
  cpli_tangent_text out;
  memset(deep, '(', 100000);
  memcpy(deep, "int f(void) {", 13);
  CHECK_OK(*state, cpli_tangent_make(*state, deep, 100000, &out));
  cpli_free(*state, out.text);
  free(deep);
}

// The time of compilers grows with the square of the length of a function.
static void functions_may_be_too_long(void** state) {
  static const char head[] =
      "typedef struct cpl_values { const double* x; } cpl_values;\n"
      "static int f(const cpl_values* v, double* dx) { double a = 0;\n",
                    line[] = "a = a * v->x[0] + v->x[1];\n",
                    end[] =
                        "dx[0] = a; return 0; }\n"
                        "const struct cpl_model_def couplet_model = {.derivatives = f};\n";
  char* text = calloc(sizeof head + 20000 * sizeof line + sizeof end, 1);
  assert_non_null(text);
  for (int n = 100; n <= 20000; n *= 200) {
    cpli_tangent_text out;
    char* at = text + sprintf(text, "%s", head);
    for (int i = 0; i < n; i++) at += sprintf(at, "%s", line);
    strcpy(at, end);
    CHECK_OK(*state, cpli_tangent_make(*state, text, strlen(text), &out));
    CHECK_INT(out.any, n == 100);
    if (n > 100) CHECK_CONTAINS(out.text, "f(), which is too long, in");
    cpli_free(*state, out.text);
  }
  free(text);
}

static void every_failed_allocation_is_survived(void** state) {
  static const char text[] =
      "typedef struct cpl_values { const double* x; } cpl_values;\n"
      "static double g(double a) { return a * a; }\n"
      "static int f(const cpl_values* v, double* dx) { double a[2] = {g(v->x[0]), 1};\n"
      "  for (int i = 0; i < 2; i++) dx[i] = a[i]; return 0; }\n"
      "const struct cpl_model_def couplet_model = {.derivatives = f};\n";
  (void)state;
  for (long n = 0;; n++) {
    test_heap heap = {.fail_at = -1};
    cpl_context* ctx = test_context_with_heap(&heap);
    cpli_tangent_text out = {NULL, false};
    heap.fail_at = heap.calls + n;
    cpl_status st = cpli_tangent_make(ctx, text, sizeof text - 1, &out);
    heap.fail_at = -1;
    assert_true(st == CPL_OK ? out.any : out.text == NULL);
    cpli_free(ctx, out.text);
    cpl_context_destroy(ctx);
    CHECK_INT(heap.live, 0);
    if (st == CPL_OK) break;
    CHECK_INT(st, CPL_ERR_NOMEM);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(damaged_texts_end),
      cmocka_unit_test(functions_may_be_too_long),
      cmocka_unit_test(every_failed_allocation_is_survived),
  };
  return cmocka_run_group_tests(tests, make_context, drop_context);
}
