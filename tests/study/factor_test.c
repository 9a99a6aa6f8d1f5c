// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Texts of factors: what they mean, and what is wrong with those that are refused.
#include "study/factor.h"

#include "study_designs.h"

static cpl_factor read_factor(cpl_context* ctx, const char* text) {
  cpl_factor f;
  CHECK_OK(ctx, cpl_factor_read(ctx, text, NULL, &f));
  return f;
}

static void texts_become_factors(void** state) {
  cpl_context* ctx = *state;
  const struct {
    const char* text;
    cpl_factor f;
    const char* printed;  // NULL: the text
  } good[] = {
      {"motor.J=0.005:0.02:4", {"motor.J", NULL, CPL_FACTOR_GRID, 0.005, 0.02, 0, 4}, NULL},
      {"k=10:1:4", {"k", NULL, CPL_FACTOR_GRID, 10, 1, 0, 4}, NULL},
      {"k=2:2:1", {"k", NULL, CPL_FACTOR_GRID, 2, 2, 0, 1}, NULL},
      {"k=log:1:100:20", {"k", NULL, CPL_FACTOR_LOG_GRID, 1, 100, 0, 20}, NULL},
      {"k=log:1:100", {"k", NULL, CPL_FACTOR_LOG_UNIFORM, 1, 100}, NULL},
      {"k=1:2", {"k", NULL, CPL_FACTOR_UNIFORM, 1, 2}, "k=uniform:1:2"},
      {"k=uniform:1:2", {"k", NULL, CPL_FACTOR_UNIFORM, 1, 2}, NULL},
      {"k=5", {"k", NULL, CPL_FACTOR_VALUE, 5}, NULL},
      {"k=-1e-3", {"k", NULL, CPL_FACTOR_VALUE, -1e-3}, "k=-0.001"},
      {"k=true", {"k", NULL, CPL_FACTOR_VALUE, 1}, "k=1"},
      {"k=normal:10:1", {"k", NULL, CPL_FACTOR_NORMAL, 10, 1}, NULL},
      {"k=lognormal:0:0.25", {"k", NULL, CPL_FACTOR_LOGNORMAL, 0, 0.25}, NULL},
      {"k=triangular:1:1:3", {"k", NULL, CPL_FACTOR_TRIANGULAR, 1, 1, 3}, NULL},
      {" k = normal : 10 : 1 ", {"k", NULL, CPL_FACTOR_NORMAL, 10, 1}, "k=normal:10:1"},
      {"a:b=1", {"a:b", NULL, CPL_FACTOR_VALUE, 1}, NULL},
      {"'a=b'=1", {"a=b", NULL, CPL_FACTOR_VALUE, 1}, NULL},
      {"'it''s'=1", {"it's", NULL, CPL_FACTOR_VALUE, 1}, NULL},
      {"'x y'.'z=1'=1", {"'x y'.'z=1'", NULL, CPL_FACTOR_VALUE, 1}, "'''x y''.''z=1'''=1"},
      {"T=20 degC", {"T", "degC", CPL_FACTOR_VALUE, 20}, NULL},
      {"T=20 degC:40 degC:5", {"T", "degC", CPL_FACTOR_GRID, 20, 40, 0, 5}, NULL},
      {"T=20:40 degC:5", {"T", "degC", CPL_FACTOR_GRID, 20, 40, 0, 5}, "T=20 degC:40 degC:5"},
      {"T=normal:20degC:1", {"T", "degC", CPL_FACTOR_NORMAL, 20, 1}, "T=normal:20 degC:1 degC"},
  };
  for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
    cpl_factor f = read_factor(ctx, good[i].text);
    const cpl_factor* e = &good[i].f;
    CHECK_STR(f.name, e->name);
    CHECK_STR(f.unit != NULL ? f.unit : "", e->unit != NULL ? e->unit : "");
    CHECK_INT(f.kind, e->kind);
    CHECK(f.a == e->a && f.b == e->b && f.c == e->c && f.n == e->n);
    char text[100];
    CHECK_INT(cpl_factor_print(&f, text, sizeof text), strlen(text));
    CHECK_STR(text, good[i].printed != NULL ? good[i].printed : good[i].text);
    cpl_factor again = read_factor(ctx, text);
    CHECK_STR(again.name, e->name);
    CHECK(again.kind == f.kind && again.a == f.a && again.b == f.b && again.n == f.n);
    cpl_factor_free(ctx, &again);
    cpl_factor_free(ctx, &f);
  }
}

static void lists(void** state) {
  cpl_context* ctx = *state;
  const char* texts[] = {"k=1,2,5", "k=list:1,2,5", "k= 1 , 2 m, 5"};
  for (int i = 0; i < 3; i++) {
    cpl_factor f = read_factor(ctx, texts[i]);
    CHECK_INT(f.kind, CPL_FACTOR_LIST);
    CHECK_INT(f.n, 3);
    CHECK(f.values[0] == 1 && f.values[1] == 2 && f.values[2] == 5);
    char text[8];
    CHECK_INT(cpl_factor_print(&f, text, sizeof text), i == 2 ? 18 : 12);
    CHECK_STR(text, i == 2 ? "k=list:" : "k=list:");
    cpl_factor_free(ctx, &f);
  }
  cpl_factor f = read_factor(ctx, "on=true,false");
  CHECK(f.n == 2 && f.values[0] == 1 && f.values[1] == 0);
  cpl_factor_free(ctx, &f);
  f = read_factor(ctx, "on=list:7");
  CHECK(f.kind == CPL_FACTOR_LIST && f.n == 1 && f.values[0] == 7);
  cpl_factor_free(ctx, &f);
}

static void samples_of_a_table(void** state) {
  cpl_context* ctx = *state;
  write_file("samples.csv", "name,k [N/m],other\na,3,x\nb,1,\nc,2,nan\n");
  cpl_factor f = read_factor(ctx, "k=table:samples.csv");
  CHECK_INT(f.kind, CPL_FACTOR_SAMPLES);
  CHECK_STR(f.unit, "N/m");
  CHECK(f.n == 3 && f.values[0] == 1 && f.values[1] == 2 && f.values[2] == 3);
  char text[40];
  cpl_factor_print(&f, text, sizeof text);
  CHECK_STR(text, "k=table:3");
  cpl_factor_free(ctx, &f);

  f = read_factor(ctx, "spring.c=table:samples.csv:k");
  CHECK_STR(f.name, "spring.c");
  CHECK_INT(f.n, 3);
  cpl_factor_free(ctx, &f);

  write_file("a:b.csv", "x:y\n1\n2\n");
  f = read_factor(ctx, "k=table:'a:b.csv':'x:y'");
  CHECK_INT(f.n, 2);
  cpl_factor_free(ctx, &f);

  CHECK_OK(ctx, cpl_factor_read(ctx, "k=table:samples.csv", ".", &f));
  cpl_factor_free(ctx, &f);
  CHECK_INT(cpl_factor_read(ctx, "k=table:samples.csv", "nowhere", &f), CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(ctx), "nowhere/samples.csv");
}

static void wrong_texts_are_refused(void** state) {
  cpl_context* ctx = *state;
  write_file("bad.csv", "k,K,one\n1,2,x\nnan,,x\n");
  write_file("single.csv", "k\n1\n");
  write_file("twice.csv", "k,k\n1,1\n");
  write_file("empty.csv", "k\n");
  const struct {
    const char *text, *message;
  } wrong[] = {
      {"k", "k: write it as NAME=VALUES"},
      {"=1", "there is no name"},
      {"'k=1", "quote is not closed"},
      {"k=", "there are no values"},
      {"k=1:2:0", "k=1:2:0: the range is empty: it has 0 values"},
      {"k=1:2:-3", "empty: it has -3"},
      {"k=1:2:2.5", "\"2.5\", not a whole number"},
      {"k=1:2:many", "\"many\", not a whole number"},
      {"k=1:2:", "number of values is missing"},
      {"k=1:2:1e300", "too many"},
      {"k=1:2:3:4", "a range is FIRST:LAST:COUNT"},
      {"k=1:2:3:4:5:6:7:8:9", "too many parts"},
      {"k=1:2:1", "one value cannot be both"},
      {"k=2:2:3", "all values of the range would be 2"},
      {"k=:2:3", "the first value is missing"},
      {"k=nan:2:3", "the first value is \"nan\", not a finite number"},
      {"k=1:inf:3", "the last value is \"inf\", not a finite number"},
      {"k=1e999", "\"1e999\", not a"},
      {"k=1:x:3", "the last value is \"x\", not a number"},
      {"k=log:0:1:3", "positive, not 0"},
      {"k=log:1:-1:3", "positive, not -1"},
      {"k=log:-1:1", "positive, not -1"},
      {"k=log:1", "write it as k=log:FIRST:LAST:COUNT"},
      {"k=uniform:2:1", "the least value is not below the greatest, 1"},
      {"k=1:1", "the least value is not below the greatest, 1"},
      {"k=normal:10:0", "the deviation is positive, not 0"},
      {"k=normal:10:-1", "positive, not -1"},
      {"k=normal:10", "write it as k=normal:MEAN:DEVIATION"},
      {"k=normal:10:1:2", "write it as k=normal:MEAN:DEVIATION"},
      {"k=normal:1e308:1e308", "exceed the largest number"},
      {"k=lognormal:1:100", "exceed the largest number"},
      {"k=lognormal:1:", "its deviation is missing"},
      {"k=triangular:3:2:1", "not below the greatest"},
      {"k=triangular:1:5:3", "the mode 5 is not between"},
      {"k=list:", "value 1 is missing"},
      {"k=1,,2", "value 2 is missing"},
      {"k=1,x", "value 2 is \"x\", not a number"},
      {"k=norml:1:2", "did you mean normal"},
      {"k=gaus:1:2", "neither a number nor list"},
      {"k=hello", "neither a number"},
      {"k=log:1:10':3", "there is no unit ':3: quotes and colons are not part of units"},
      {"T=20 degC:300 K:3", "one unit, not degC and K"},
      {"k=table:", "the file is missing"},
      {"k=table:none.csv", "none.csv"},
      {"q=table:bad.csv", "there is no column \"q\""},
      {"k=table:bad.csv", "bad.csv:3:1: k is not finite"},
      {"K=table:bad.csv", "bad.csv:3:5: K has no value here"},
      {"k=table:bad.csv:one", "\"x\" is not a number"},
      {"k=table:single.csv", "one sample"},
      {"k=table:twice.csv", "there are 2 columns \"k\""},
      {"k=table:empty.csv", "no rows"},
  };
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    cpl_factor f;
    if (cpl_factor_read(ctx, wrong[i].text, NULL, &f) != CPL_ERR_INPUT)
      fail_msg("%s is accepted", wrong[i].text);
    CHECK_CONTAINS(cpl_context_error(ctx), wrong[i].message);
    CHECK_CONTAINS(cpl_context_error(ctx), wrong[i].text);
    CHECK(f.name == NULL && f.values == NULL);
  }
}

static void memory_may_fail_at_any_time(void** state) {
  (void)state;
  write_file("samples.csv", "k [m]\n3\n1\n");
  const char* texts[] = {"k=1,2 m,3", "k=table:samples.csv", "T=normal:20 degC:1"};
  for (size_t i = 0; i < 3; i++) {
    for (long n = 0;; n++) {
      test_heap heap = {.fail_at = -1};
      cpl_context* ctx = test_context_with_heap(&heap);
      heap.fail_at = heap.calls + n;
      long live = heap.live;
      cpl_factor f;
      cpl_status st = cpl_factor_read(ctx, texts[i], NULL, &f);
      if (st >= 0) cpl_factor_free(ctx, &f);
      if (st >= 0 || st != CPL_ERR_NOMEM) CHECK_INT(st, CPL_OK);
      if (st >= 0) CHECK_INT(heap.live, live);
      cpl_context_destroy(ctx);
      CHECK_INT(heap.live, 0);
      if (st >= 0) break;
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(texts_become_factors),        cmocka_unit_test(lists),
      cmocka_unit_test(samples_of_a_table),          cmocka_unit_test(wrong_texts_are_refused),
      cmocka_unit_test(memory_may_fail_at_any_time),
  };
  return cmocka_run_group_tests(tests, make_context, drop_context);
}
