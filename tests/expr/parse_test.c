// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#include "scope.h"

//------------------------------------ the language ------------------------------------

static void test_precedence(void** state) {
  (void)state;
  static const struct {
    const char* text;
    double value;
  } cases[] = {
      {"1 + 2*3", 7},
      {"(1 + 2)*3", 9},
      {"2 - 3 - 4", -5},
      {"16/4/2", 2},
      {"2^3^2", 512},
      {"(2^3)^2", 64},
      {"-2^2", -4},
      {"(-2)^2", 4},
      {"2^-1", 0.5},
      {"2^-2^2", 0.0625},
      {"2^-+-2", 4},
      {"--3", 3},
      {"+-+3", -3},
      {"3*-2", -6},
      {"3 - -2", 5},
      {"2*3^2", 18},
      {"-3*2", -6},
      {"10 - 2*3 + 4/2", 6},
      {"1e3", 1000},
      {"2.5e-3", 0.0025},
      {"1E+2", 100},
      {"pi", 3.141592653589793},
      {"-inf", -INFINITY},
      {"min(3, 1, 2)", 1},
      {"max(3, 1, 4, 2)", 4},
      {"if 1 < 2 then 3 else 4", 3},
      {"if 1 > 2 then 3 else if 2 > 3 then 4 else 5", 5},
      {"(if true then 1 else 2) + 1", 2},
      {"if true then 1 else 2 + 1", 1},
      {"if not true or true and false then 1 else 0", 0},
      {"if true or true and false then 1 else 0", 1},
      {"if not 1 == 2 then 1 else 0", 1},
      {"if not not true then 1 else 0", 1},
      {"if 1 + 1 == 2 and 3 != 4 then 1 else 0", 1},
      {"if true == false then 1 else 0", 0},
      {"pow(2, 10)", 1024},
      {"fmod(-7, 3)", -1},
      {"rem(7, -3)", 1},
      {"mod(-7, 3)", 2},
      {"mod(7, -3)", -2},
      {"\t1\n+\r\n 2 ", 3},
      {"sin (0) + 1", 1},
  };
  cpl_context* ctx = test_context();
  for (size_t i = 0; i < CPLI_COUNT(cases); i++) {
    double v = value_at(ctx, cases[i].text, 0, NULL);
    if (v != cases[i].value) fail_msg("%s = %.17g", cases[i].text, v);
  }
  cpl_context_destroy(ctx);
}

// The same with names, where nothing is folded.
static void test_precedence_of_names(void** state) {
  (void)state;
  const double v[] = {2, 3, 5, 7};  // a b c d
  static const struct {
    const char* text;
    double value;
  } cases[] = {
      {"a - b - c", -6},
      {"a/b/c", 2.0 / 3 / 5},
      {"a^b^(c - 3)", 512},
      {"-a^2", -4},
      {"-a^b", -8},
      {"a^-b", 0.125},
      {"a + b*c - d", 10},
      {"(a + b)*(c - d)", -10},
      {"a*-b + c", -1},
      {"if a < b and b < c then c else d", 5},
      {"if a > b or b > c then c else c + d", 12},
      {"a^1 + b^2 + c^-1", 2 + 9 + 0.2},
      {"max(a, b, c, d) - min(d, c, b, a)", 5},
  };
  cpl_context* ctx = test_context();
  for (size_t i = 0; i < CPLI_COUNT(cases); i++) {
    CHECK_NEAR(value_at(ctx, cases[i].text, 0, v), cases[i].value, 1e-14);
  }
  cpl_context_destroy(ctx);
}

static void test_names(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  cpli_expr* e = parse(ctx, "'m.der(h)' + 'v[1]'*left.y1 - 'm.''a b''' + 'v[1]' + x + min(x, min)");
  const int32_t* slots;
  CHECK_INT(cpli_expr_slots(e, &slots), 6);
  const int32_t expected[] = {105, 106, 103, 107, 100, 120};
  for (int i = 0; i < 6; i++) CHECK_INT(slots[i], expected[i]);
  cpli_expr_destroy(e);

  static const char* const whole[] = {"m.der(h)", " v[1]\n", "left.y1", "'m.der(h)'", "(x)", "min"};
  for (size_t i = 0; i < CPLI_COUNT(whole); i++) {
    e = parse(ctx, whole[i]);
    CHECK_INT(cpli_expr_slots(e, NULL), 1);
    cpli_expr_destroy(e);
  }
  e = parse(ctx, "x + 0");
  CHECK(!cpli_expr_is_constant(e) && !cpli_expr_uses_time(e));
  cpli_expr_destroy(e);
  e = parse(ctx, " time ");
  CHECK(!cpli_expr_is_constant(e) && cpli_expr_uses_time(e));
  cpli_expr_destroy(e);

  e = NULL;  // no scope: constants and time only
  CHECK_OK(ctx, cpli_expr_parse(ctx, test_place, "2*pi", NULL, &e));
  CHECK(cpli_expr_is_constant(e));
  cpli_expr_destroy(e);
  CHECK_INT(cpli_expr_parse(ctx, test_place, "2*q", NULL, &e), CPL_ERR_INPUT);
  CHECK(e == NULL);
  cpl_context_destroy(ctx);
}

static void test_types(void** state) {
  (void)state;
  static const struct {
    const char* text;
    cpl_type type;
  } cases[] = {
      {"1", CPL_INTEGER},
      {"1.0", CPL_REAL},
      {"1e0", CPL_REAL},
      {"i + j*2 - 1", CPL_INTEGER},
      {"i/j", CPL_REAL},
      {"i^2", CPL_REAL},
      {"i + x", CPL_REAL},
      {"-i", CPL_INTEGER},
      {"abs(i)", CPL_INTEGER},
      {"abs(x)", CPL_REAL},
      {"floor(x)", CPL_INTEGER},
      {"sign(x)", CPL_INTEGER},
      {"min(i, j, 3)", CPL_INTEGER},
      {"min(i, j, x)", CPL_REAL},
      {"mod(i, 2)", CPL_INTEGER},
      {"mod(x, 2)", CPL_REAL},
      {"x < y", CPL_BOOLEAN},
      {"on", CPL_BOOLEAN},
      {"not on", CPL_BOOLEAN},
      {"on and x < y", CPL_BOOLEAN},
      {"mode", CPL_INTEGER},
      {"mode == 2", CPL_BOOLEAN},
      {"if on then 1 else 2", CPL_INTEGER},
      {"if on then 1 else x", CPL_REAL},
      {"if on then off else true", CPL_BOOLEAN},
      {"sign(x) == 1", CPL_BOOLEAN},
      {"on != off", CPL_BOOLEAN},
      {"if true then 1 else 2.0", CPL_REAL},
      {"sin(i)", CPL_REAL},
      {"time", CPL_REAL},
  };
  cpl_context* ctx = test_context();
  for (size_t i = 0; i < CPLI_COUNT(cases); i++) {
    cpli_expr* e = parse(ctx, cases[i].text);
    if (cpli_expr_type(e) != cases[i].type) fail_msg("%s: %d", cases[i].text, cpli_expr_type(e));
    cpli_expr_destroy(e);
  }
  cpl_context_destroy(ctx);
}

// What can never be looked at leaves no dependency behind.
static void test_dead_branches(void** state) {
  (void)state;
  static const struct {
    const char* text;
    size_t slots, relations;
    double value;
  } cases[] = {
      {"if true then 2 else x", 0, 0, 2},
      {"if false then 2*x*(if y > 0 then 1 else 2) else 3", 0, 0, 3},
      {"if false and x > 0 then y else 4", 0, 0, 4},
      {"if true or x > 0 then 5 else y", 0, 0, 5},
      {"if 1 > 2 then time else 1 + 2", 0, 0, 3},
      {"if true and 2 > 1 then 7*(if false then y else 2) else x", 0, 0, 14},
      {"if on then 7 else 8", 1, 0, 7},
      {"if x > 0 then 7 else 8", 1, 1, 7},
      {"if x > 0 and (y > 0 or on) then 7 else 8", 3, 2, 7},
  };
  const double ones[] = {1, 1, 1};
  cpl_context* ctx = test_context();
  for (size_t i = 0; i < CPLI_COUNT(cases); i++) {
    cpli_expr* e = parse(ctx, cases[i].text);
    CHECK_INT(cpli_expr_slots(e, NULL), cases[i].slots);
    CHECK_INT(cpli_expr_relations(e), cases[i].relations);
    CHECK_INT(cpli_expr_is_constant(e), cases[i].slots == 0);
    cpli_expr_destroy(e);
    CHECK_NEAR(value_at(ctx, cases[i].text, 0, ones), cases[i].value, 0);
  }
  cpl_context_destroy(ctx);
}

//------------------------------------ errors ------------------------------------

static void test_errors(void** state) {
  (void)state;
  static const struct {
    const char *text, *message;
  } cases[] = {
      {"", "12:10: an expression is missing"},
      {"  ", "12:10: an expression is missing"},
      {"1 +", "12:13: expected a value, but the text ends here"},
      {"1 + * 2", "12:14: expected a value instead of \"*\""},
      {"(1 + 2", "12:16: expected an operator or ), but the text ends here"},
      {"1 + 2)", "12:15: there is no ( for this )"},
      {"2 x", "12:12: expected an operator instead of \"x\""},
      {"2x", "12:11: expected an operator instead of \"x\""},
      {"x, y", "12:11: expected an operator instead of \",\""},
      {"k*lft.y1", "12:12: unknown name \"lft.y1\" (did you mean left.y1?)"},
      {"k*'m.der(x)'", "12:12: unknown name \"m.der(x)\" (did you mean m.der(h)?)"},
      {"1 + tim", "12:14: unknown name \"tim\" (did you mean time"},
      {"zzzzzzz", "12:10: unknown name \"zzzzzzz\""},
      {"x +\n  quux", "13:3: unknown name \"quux\""},
      {"'\xc3\xa4' + x", "12:10: unknown name \"\xc3\xa4\""},
      {"x + '\xc3\xa4\xc3\xb6' + q9q9q9", "12:14: unknown name"},
      {"'m.der(h)' + \xc3\xa4", "12:23: unexpected \xc3\xa4: names with such letters"},
      {"sn(x)", "12:10: unknown function \"sn\" (did you mean sin"},
      {"1 + sin", "12:14: sin is a function: write sin(...)"},
      {"x(2)", "12:10: x is no function"},
      {"2*m.der(h)", "12:12: a name with brackets stands in single quotes: 'm.der(h)'"},
      {"2*der(h)", "12:12: a name with brackets stands in single quotes: 'der(h)'"},
      {"2*v[1]", "12:12: a name with brackets stands in single quotes: 'v[1]'"},
      {"2*x[1, 2]", "12:12: a name with brackets stands in single quotes: 'x[1, 2]'"},
      {"sin(x, y)", "12:10: sin takes one argument"},
      {"sin()", "12:14: expected a value instead of \")\""},
      {"atan2(x)", "12:10: atan2 takes two arguments"},
      {"atan2(x, y, k)", "12:10: atan2 takes two arguments"},
      {"1 + min(x)", "12:14: min takes two or more arguments"},
      {"min(x, y", "12:18: expected a comma or ), but the text ends here"},
      {"sin x", "12:10: sin is a function: write sin(...)"},
      {"x == 1", "12:12: == compares Integers or Booleans; Reals are compared with < <= > >="},
      {"i != 1.0", "12:12: != compares Integers or Booleans"},
      {"on == 1", "12:13: == compares a Boolean with a number"},
      {"on < off", "12:10: < takes numbers, this is a Boolean: write if ... then 1 else 0"},
      {"1 + on", "12:14: + takes numbers, this is a Boolean"},
      {"2*(x > y)", "12:12: * takes numbers, this is a Boolean"},
      {"on^2", "12:10: ^ takes numbers"},
      {"2^on", "12:12: ^ takes numbers"},
      {"-on", "12:11: a sign takes numbers"},
      {"sin(on)", "12:14: sin takes numbers, this is a Boolean"},
      {"not x", "12:14: not takes Booleans, this is a Real"},
      {"on and i", "12:17: and takes Booleans, this is an Integer"},
      {"x or on", "12:10: or takes Booleans, this is a Real"},
      {"if x then 1 else 2", "12:13: if takes Booleans, this is a Real"},
      {"if on then 1", "12:22: expected else, but the text ends here"},
      {"if on 1 else 2", "12:16: expected then instead of \"1\""},
      {"if on then 1 else off", "12:28: then gives a number, else a Boolean"},
      {"1 + if on then 1 else 2", "12:14: inside an operation, if stands in parentheses"},
      {"1 + not on", "12:14: inside an operation, not stands in parentheses"},
      {"x < y < k", "12:16: comparisons do not chain"},
      {"x = 1", "12:12: unexpected =: compare with =="},
      {"on && off", "12:13: unexpected &: write and"},
      {"on || off", "12:13: unexpected |: write or"},
      {"!on", "12:10: unexpected !: write not"},
      {"i % 2", "12:12: unexpected %: write mod(a, b)"},
      {"x**2", "12:11: unexpected **: write ^"},
      {"on ? 1 : 2", "12:13: unexpected ?: write if c then a else b"},
      {"\"x\"", "12:10: unexpected \": names stand in single quotes"},
      {"x # y", "12:12: unexpected #"},
      {"x + \x01", "12:14: unexpected character 0x01"},
      {".5", "12:10: a number has digits on both sides of its point"},
      {"1.", "12:10: a number has digits on both sides of its point"},
      {"1.2.3", "12:13: a number has one point"},
      {"1 + 1e999", "12:14: the number 1e999 is too large"},
      {"left.", "12:15: a name goes on after its point with a letter"},
      {"left.'y1'", "12:15: a name goes on after its point with a letter"},
      {"'left.y1", "12:10: the single quote is not closed"},
      {"1 + ''", "12:14: there is no name between the quotes"},
      {"2*label", "12:12: label is a String, which no expression can use"},
      {"label", "12:10: label is a String, which no expression can use"},
      {"then", "12:10: expected a value instead of \"then\""},
  };
  cpl_context* ctx = test_context();
  for (size_t i = 0; i < CPLI_COUNT(cases); i++) {
    cpli_expr* e = NULL;
    char message[300];
    snprintf(message, sizeof message, "system.yaml:%s", cases[i].message);
    cpl_status st = cpli_expr_parse(ctx, test_place, cases[i].text, &test_scope, &e);
    if (st != CPL_ERR_INPUT || e != NULL) fail_msg("\"%s\" was taken", cases[i].text);
    if (strncmp(cpl_context_error(ctx), message, strlen(message)) != 0) {
      fail_msg("\"%s\":\n%s, expected\n%s", cases[i].text, cpl_context_error(ctx), message);
    }
  }
  cpli_expr* e;
  cpli_source_loc nowhere = {.file = NULL, .line = 1, .column = 1};
  cpli_expr_parse(ctx, nowhere, "1 + q9q9q9", &test_scope, &e);
  CHECK_STR(cpl_context_error(ctx), "unknown name \"q9q9q9\", in \"1 + q9q9q9\"");
  cpli_source_loc whole = {.file = "system.yaml"};
  cpli_expr_parse(ctx, whole, "1 + q9q9q9", &test_scope, &e);
  CHECK_STR(cpl_context_error(ctx), "system.yaml: unknown name \"q9q9q9\"");
  cpl_context_destroy(ctx);
}

//------------------------------------ limits ------------------------------------

static char* repeat(const char* before, size_t n, const char* middle, const char* after) {
  char* text = calloc(1, n * (strlen(before) + strlen(after)) + strlen(middle) + 1);
  assert_non_null(text);
  char* at = text;
  for (size_t i = 0; i < n; i++) at = stpcpy(at, before);
  at = stpcpy(at, middle);
  for (size_t i = 0; i < n; i++) at = stpcpy(at, after);
  return text;
}

static void test_nesting(void** state) {
  (void)state;
  static const struct {
    const char *before, *middle, *after;
    bool limited;
  } cases[] = {
      {"(", "x", ")", true},
      {"x^", "x", "", true},
      {"sin(", "x", ")", true},
      {"if on then ", "1", " else 2", true},
      {"if x > 0 then 1 else ", "2", "", true},
      {"-", "x", "", false},
      {"not ", "on", "", false},
      {"1 + ", "x", "", false},
      {"x*(y - ", "1", ")", true},
  };
  cpl_context* ctx = test_context();
  for (size_t i = 0; i < CPLI_COUNT(cases); i++) {
    for (size_t n = 1; n <= 100000; n *= 10) {
      cpli_expr* e = NULL;
      char* text = repeat(cases[i].before, n, cases[i].middle, cases[i].after);
      cpl_status st = cpli_expr_parse(ctx, test_place, text, &test_scope, &e);
      free(text);
      cpli_expr_destroy(e);
      if (n <= 100) CHECK_OK(ctx, st);
      if (n < 1000 || !cases[i].limited) continue;
      CHECK_INT(st, CPL_ERR_INPUT);
      CHECK_CONTAINS(cpl_context_error(ctx), "nested more than 200 deep");
    }
  }
  cpl_context_destroy(ctx);
}

static void test_length(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  const double x = 2;
  char* text = repeat("x + ", 8000, "x", "");
  CHECK_NEAR(value_at(ctx, text, 0, &x), 16002, 0);
  cpli_expr* e = parse(ctx, text);
  double gradient;
  CHECK_OK(ctx, cpli_expr_gradient(e, ctx, 0, &x, NULL, NULL, &gradient, NULL));
  CHECK_NEAR(gradient, 8001, 0);
  cpli_expr_destroy(e);
  free(text);
  text = repeat("x*sin(1 + x) + ", 4000, "x", "");
  CHECK_INT(cpli_expr_parse(ctx, test_place, text, &test_scope, &e), CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(ctx), "the expression is too long");
  free(text);
  cpl_context_destroy(ctx);
}

static const char* const seeds[] = {
    "k*((left.y1 - a + w) - (right.y1 - b - w))",
    "if x > 0 and not (y <= 1 or on) then sqrt(x)/y else mod('m.der(h)', 2.5e-3)^2",
    "min(max(x, y, k), floor(time*10), sign('v[1]')) + atan2(x, -y^-2)",
    "if i == 2 then if off then 1 else hypot(x, 3) else pow(x, 1.5) - rem(x, y)",
};

// Mutated texts, evaluated when they parse: no crash, no leak, and failures say something.
static void test_hostile(void** state) {
  (void)state;
  static const char alphabet[] = "()+-*/^<>=!'.,[] 0123456789exyonif\n\t\x01\x80\xff&|%\"";
  static const char* const words[] = {"if ", " then ", " else ", " and ", " or ", "not ", "time",
                                      "inf", "sqrt(",  "mod(",   "1e308", "x",    "'",    "on"};
  test_heap heap = {.fail_at = -1};
  cpl_context* ctx = test_context_with_heap(&heap);
  uint64_t s = 88172645463325252u;
  int parsed = 0;
  for (int n = 0; n < 40000; n++) {
    char text[512];
    snprintf(text, sizeof text, "%s", seeds[next_random(&s) % CPLI_COUNT(seeds)]);
    for (uint64_t m = 1 + next_random(&s) % 4; m > 0; m--) {
      size_t len = strlen(text), at = next_random(&s) % (len + 1);
      uint64_t what = next_random(&s) % 4;
      const char* word = words[next_random(&s) % CPLI_COUNT(words)];
      if (what == 0 && at < len) text[at] = alphabet[next_random(&s) % (sizeof alphabet - 1)];
      if (what == 1 && at < len) memmove(text + at, text + at + 1, len - at);
      if (what == 2 && len + strlen(word) < sizeof text) {
        memmove(text + at + strlen(word), text + at, len - at + 1);
        memcpy(text + at, word, strlen(word));
      }
      if (what == 3) text[at] = '\0';
    }
    cpli_expr* e = NULL;
    long before = heap.live;
    cpl_status st = cpli_expr_parse(ctx, test_place, text, &test_scope, &e);
    if (st < 0) {
      CHECK_INT(st, CPL_ERR_INPUT);
      CHECK_CONTAINS(cpl_context_error(ctx), "system.yaml:1");
      CHECK(e == NULL);
    } else {
      double values[32], gradient[32], frozen[32] = {0}, z[32], v;
      CHECK(cpli_expr_slots(e, NULL) <= 32 && cpli_expr_relations(e) <= 32);
      for (int i = 0; i < 32; i++) values[i] = random_between(&s, -3, 3);
      CHECK(cpli_expr_value(e, ctx, 1, values, NULL, &v) >= 0);
      CHECK(cpli_expr_settle(e, ctx, 1, values, frozen) >= 0);
      CHECK(cpli_expr_gradient(e, ctx, 1, values, frozen, &v, gradient, NULL) >= 0);
      CHECK(cpli_expr_indicators(e, ctx, 1, values, frozen, z) >= 0);
      cpli_expr_linearity(e, NULL);
      parsed++;
    }
    cpli_expr_destroy(e);
    CHECK_INT(heap.live, before);
  }
  CHECK(parsed > 1000);
  cpl_context_destroy(ctx);
  CHECK_INT(heap.live, 0);
}

static void test_every_failed_allocation(void** state) {
  (void)state;
  for (size_t i = 0; i < CPLI_COUNT(seeds); i++) {
    for (long n = 1;; n++) {  // 0 is the context
      test_heap heap = {.fail_at = n};
      cpl_context* ctx = test_context_with_heap(&heap);
      cpli_expr* e = NULL;
      cpl_status st = cpli_expr_parse(ctx, test_place, seeds[i], &test_scope, &e);
      CHECK((st == CPL_OK) == (e != NULL));
      cpli_expr_destroy(e);
      CHECK_INT(heap.live, 1);
      cpl_context_destroy(ctx);
      if (st == CPL_OK) break;
      CHECK_INT(st, CPL_ERR_NOMEM);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_precedence),    cmocka_unit_test(test_precedence_of_names),
      cmocka_unit_test(test_names),         cmocka_unit_test(test_types),
      cmocka_unit_test(test_dead_branches), cmocka_unit_test(test_errors),
      cmocka_unit_test(test_nesting),       cmocka_unit_test(test_length),
      cmocka_unit_test(test_hostile),       cmocka_unit_test(test_every_failed_allocation),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
