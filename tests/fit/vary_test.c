// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Texts of what is varied: what they mean, and what is wrong with those that are refused.
#include "testing.h"

static bool same(double a, double b) { return a == b || (isnan(a) && isnan(b)); }

static void texts_are_read(void** state) {
  cpl_context* ctx = *state;
  const struct {
    const char* text;
    cpl_vary expected;
  } good[] = {
      {"k", {"k", NULL, NAN, -INFINITY, INFINITY}},
      {"k=2", {"k", NULL, 2, -INFINITY, INFINITY}},
      {"left.m=1:0.5:2", {"left.m", NULL, 1, 0.5, 2}},
      {" k = -1e-3 : : 5 ", {"k", NULL, -1e-3, -INFINITY, 5}},
      {"k=::5", {"k", NULL, NAN, -INFINITY, 5}},
      {"k=:1:", {"k", NULL, NAN, 1, INFINITY}},
      {"T=20 degC:10 degC:40degC", {"T", "degC", 20, 10, 40}},
      {"T=20:10:40 degC", {"T", "degC", 20, 10, 40}},
  };
  for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
    const cpl_vary* e = &good[i].expected;
    cpl_vary v;
    CHECK_OK(ctx, cpl_vary_read(ctx, good[i].text, &v));
    CHECK_STR(v.name, e->name);
    CHECK_STR(v.unit != NULL ? v.unit : "", e->unit != NULL ? e->unit : "");
    CHECK(same(v.guess, e->guess) && same(v.least, e->least) && same(v.greatest, e->greatest));
    cpl_vary_free(ctx, &v);
  }
}

static void mistakes_are_explained(void** state) {
  cpl_context* ctx = *state;
  const struct {
    const char *text, *message;
  } bad[] = {
      {"", "there is no name"},
      {"=1", "there is no name"},
      {"k=a", "the guess is \"a\", not a finite number"},
      {"k=nan", "not a finite number"},
      {"k=1:2", "the greatest value is missing"},
      {"k=1:2:3:4", "more than NAME=GUESS:LEAST:GREATEST"},
      {"k=1:x:3", "the least value is \"x\""},
      {"k=1,5:0:3", "the guess is \"1,5\""},
      {"k=1 m:0 mm:3 m", "all its numbers have one unit, not m and mm"},
  };
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    cpl_vary v;
    CHECK_INT(cpl_vary_read(ctx, bad[i].text, &v), CPL_ERR_INPUT);
    CHECK_CONTAINS(cpl_context_error(ctx), bad[i].message);
    CHECK(v.name == NULL && v.unit == NULL);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(texts_are_read),
      cmocka_unit_test(mistakes_are_explained),
  };
  return cmocka_run_group_tests(tests, make_context, drop_context);
}
