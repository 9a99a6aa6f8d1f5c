// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#include "couplet/view.h"

#include <libxml/parser.h>
#include <sys/stat.h>
#include <unistd.h>

#include "page_text.h"
#include "testing.h"

enum { N = 1000 };
static double times[N], values[3 * N];
static const char* names[3] = {"ball.h", "ball.v", "on"};
static const char* units[3] = {"m", "m/s", NULL};

static cpl_table example(void) {
  for (int i = 0; i < N; i++) {
    times[i] = i * 0.01;
    values[i] = 1e-3 * sin(times[i]);
    values[N + i] = 30 * cos(times[i]);
    values[2 * N + i] = i > 500;
  }
  return (cpl_table){N, 3, names, units, times, values};
}

// The file as a string of the caller's.
static char* slurp(const char* path) {
  FILE* f = fopen(path, "rb");
  assert_non_null(f);
  struct stat info;
  stat(path, &info);
  char* text = calloc((size_t)info.st_size + 1, 1);
  assert_int_equal(fread(text, 1, (size_t)info.st_size, f), info.st_size);
  fclose(f);
  return text;
}

static size_t count(const char* text, const char* part) {
  size_t n = 0;
  for (; (text = strstr(text, part)) != NULL; text++) n++;
  return n;
}

static void draws_a_panel_for_each_unit(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  cpl_table t = example();
  cpl_view_def def = cpl_default_view_def();
  def.path = "page.svg";
  def.title = "a bouncing ball";
  CHECK_OK(ctx, cpl_view_write(ctx, &t, &def));
  char* page = slurp("page.svg");
  CHECK(strncmp(page, "<svg ", 5) == 0);
  CHECK_CONTAINS(page, "prefers-color-scheme:dark");
  CHECK_CONTAINS(page, ">a bouncing ball</text>");
  CHECK_CONTAINS(page, ">m/s</text>");
  CHECK_CONTAINS(page, ">-0.0005</text>");  // a tick without rounding dust
  CHECK_INT(count(page, "class=\"axis\""), 3);
  CHECK_INT(count(page, "</title></path>"), 3);
  free(page);

  static const char* const only[] = {"ball.*"};
  def.only = only;
  def.n_only = 1;
  CHECK_OK(ctx, cpl_view_write(ctx, &t, &def));
  page = slurp("page.svg");
  CHECK_INT(count(page, "</title></path>"), 2);
  free(page);
  cpl_context_destroy(ctx);
}

static void a_page_holds_every_number(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  cpl_table t = example();
  static const char* const texts[] = {"height above the ground", NULL, NULL};
  static const char* const only[] = {"ball.*"};
  const cpl_view_result other = {&t, "other.csv", NULL};
  cpl_view_def def = {.size = sizeof def,
                      .path = "page.html",
                      .title = "a bouncing ball",
                      .texts = texts,
                      .only = only,
                      .n_only = 1,
                      .across = "ball.h",
                      .up = "ball.v",
                      .report = "[{\"title\":\"</script>\"}]",
                      .others = &other,
                      .n_others = 1};
  CHECK_OK(ctx, cpl_view_write(ctx, &t, &def));
  char* page = slurp("page.html");
  CHECK(strncmp(page, "<!doctype html>", 15) == 0);
  CHECK_CONTAINS(page, "default-src 'none'; script-src 'sha256-");
  CHECK_CONTAINS(page, "connect-src 'none'");
  CHECK_CONTAINS(page, "<title>a bouncing ball</title>");
  char* json = between(page, "id=\"data\">", "</script>");
  CHECK_CONTAINS(json, "\"show\":[\"ball.h\",\"ball.v\"],\"xy\":[\"ball.h\",\"ball.v\"]");
  CHECK_CONTAINS(json, "\"name\":\"ball.h\",\"unit\":\"m\",\"text\":\"height above the ground\"");
  CHECK_CONTAINS(json, "{\"name\":\"on\",\"kind\":\"i8\"}");
  CHECK_CONTAINS(json, "\"report\":[{\"title\":\"\\u003c/script>\"}]");
  CHECK_CONTAINS(json, "{\"name\":\"other.csv\",\"rows\":1000");
  free(json);

  double back[N];
  char* text = between(page, "id=\"d1.1\">", "</script>");
  CHECK_INT(decoded(text, (unsigned char*)back), sizeof back);
  assert_memory_equal(back, values + N, sizeof back);
  free(text);
  text = between(page, "id=\"t0\">", "</script>");
  CHECK_INT(decoded(text, (unsigned char*)back), sizeof back);
  assert_memory_equal(back, times, sizeof back);
  free(text);
  text = between(page, "id=\"d0.2\">", "</script>");
  CHECK_INT(decoded(text, (unsigned char*)back), N);
  CHECK_INT(((char*)back)[500], 0);
  CHECK_INT(((char*)back)[501], 1);
  free(text);
  free(page);
  def.path = "page.svg";
  CHECK_INT(cpl_view_write(ctx, &t, &def), CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(ctx), "compared in a page");
  cpl_context_destroy(ctx);
}

// Each column in the smallest type that holds it.
static void columns_are_packed_without_loss(void** state) {
  (void)state;
  static const char* many[] = {"a", "b", "c", "d", "e", "f", "g"};
  static const double time[] = {0, 1};
  static const double data[] = {1.5, 0.25, 0.1, 1, 127, -128, -0.0, 1, 7, 7, 100000, 0, NAN, NAN};
  static const char* const kinds[] = {"\"kind\":\"f32\"", "\"kind\":\"f64\"", "\"kind\":\"i8\"",
                                      "\"kind\":\"f32\"", "\"value\":7",      "\"kind\":\"i32\"",
                                      "\"value\":null"};
  cpl_context* ctx = test_context();
  cpl_table t = {2, 7, many, NULL, time, data};
  cpl_view_def def = {.size = sizeof def, .path = "kinds.html"};
  CHECK_OK(ctx, cpl_view_write(ctx, &t, &def));
  char* page = slurp("kinds.html");
  for (size_t i = 0; i < 7; i++) {
    char name[32];
    snprintf(name, sizeof name, "{\"name\":\"%s\",", many[i]);
    char* said = between(page, name, "}");
    CHECK_STR(said, kinds[i]);
    free(said);
  }
  free(page);
  cpl_context_destroy(ctx);
}

static void draws_one_column_over_another(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  cpl_table t = example();
  static const char* const only[] = {"on"};
  cpl_view_def def = {.size = sizeof def,
                      .path = "plane.svg",
                      .only = only,
                      .n_only = 1,
                      .across = "ball.h",
                      .up = "ball.v"};
  CHECK_OK(ctx, cpl_view_write(ctx, &t, &def));
  char* page = slurp("plane.svg");
  CHECK_CONTAINS(page, ">ball.h [m]</text>");
  CHECK_CONTAINS(page, ">ball.v [m/s]</text>");
  CHECK_INT(count(page, "class=\"axis\""), 2);
  free(page);

  // equal units: a circle stays round, its width in pixels is its height
  for (int i = 0; i < N; i++) values[i] = 30 * sin(times[i]);
  t.units = NULL;
  CHECK_OK(ctx, cpl_view_write(ctx, &t, &def));
  page = slurp("plane.svg");
  const char* d = strstr(page, "<path class=\"curve k0\" d=\"");
  assert_non_null(d);
  double x[2] = {1e9, 0}, y[2] = {1e9, 0}, at_x, at_y;
  for (d += 26; sscanf(d, "%*c%lf %lf", &at_x, &at_y) == 2;) {
    x[0] = fmin(x[0], at_x), x[1] = fmax(x[1], at_x);
    y[0] = fmin(y[0], at_y), y[1] = fmax(y[1], at_y);
    d += 1 + strcspn(d + 1, "LM\"");
  }
  CHECK(x[1] - x[0] > 300);
  CHECK_NEAR(x[1] - x[0], y[1] - y[0], 1.5);
  free(page);

  def.up = "ball.w";
  CHECK_INT(cpl_view_write(ctx, &t, &def), CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(ctx), "ball.v");
  cpl_context_destroy(ctx);
}

static void names_cannot_become_markup(void** state) {
  (void)state;
  static const char* hostile[3] = {"</title></svg><script>alert(1)</script>",
                                   "\" onload=\"alert(1)\" x='", "bad\x01\xFF\xED\xA0\x80 bytes"};
  static const char* hostile_units[3] = {"<img src=x onerror=alert(1)>", "]]>&lt;", "\xC0\xAF"};
  cpl_context* ctx = test_context();
  cpl_table t = example();
  t.names = hostile;
  t.units = hostile_units;
  cpl_view_def def = {
      .size = sizeof def, .path = "hostile.svg", .title = "</style><script>1</script>"};
  CHECK_OK(ctx, cpl_view_write(ctx, &t, &def));
  char* page = slurp("hostile.svg");
  CHECK_INT(count(page, "<script"), 0);
  CHECK_INT(count(page, "<img"), 0);
  CHECK_INT(count(page, "\" onload"), 0);
  CHECK_INT(count(page, "</style>"), 1);
  CHECK_CONTAINS(page, "bad\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD bytes");
  xmlDoc* doc = xmlReadMemory(page, (int)strlen(page), "hostile.svg", NULL, XML_PARSE_NONET);
  CHECK(doc != NULL);  // well-formed in spite of everything
  xmlFreeDoc(doc);
  xmlCleanupParser();
  free(page);

  def.path = "hostile.html";
  def.title = "</title><script>1</script>";
  CHECK_OK(ctx, cpl_view_write(ctx, &t, &def));
  page = slurp("hostile.html");
  char* json = between(page, "id=\"data\">", "</script>");
  CHECK_INT(count(json, "<"), 0);
  CHECK_INT(count(json, ">"), 0);
  CHECK_CONTAINS(json, "\"\\u003c/title\\u003e\\u003c/svg");
  CHECK_CONTAINS(json, "bad\\u0001\\ufffd");
  CHECK_CONTAINS(page, "<title>&lt;/title&gt;&lt;script");
  free(json);
  free(page);
  cpl_context_destroy(ctx);
}

static void long_results_are_thinned_out(void** state) {
  (void)state;
  enum { MANY = 500000 };
  double* data = malloc(2 * MANY * sizeof *data);
  assert_non_null(data);
  for (int i = 0; i < MANY; i++) {
    data[i] = i * 1e-3;
    data[MANY + i] = i == 123456 ? 77 : sin(i * 0.5);  // one spike that must stay
  }
  cpl_table t = {MANY, 1, names, NULL, data, data + MANY};
  cpl_context* ctx = test_context();
  cpl_view_def def = {.size = sizeof def, .path = "long.svg"};
  CHECK_OK(ctx, cpl_view_write(ctx, &t, &def));
  char* page = slurp("long.svg");
  CHECK(strlen(page) < 100000);
  CHECK_CONTAINS(page, ">80</text>");
  free(page);
  free(data);
  cpl_context_destroy(ctx);
}

static void odd_tables_are_drawn_too(void** state) {
  (void)state;
  static const double time[] = {0, 1, 2, 3};
  static const double odd[][4] = {
      {NAN, NAN, NAN, NAN},         {1, NAN, INFINITY, 2}, {-1.7e308, 1.7e308, 0, 0}, {5, 5, 5, 5},
      {1e300, 1e300, 1e300, 1e300}, {5e-324, 0, 0, 0},     {1, 1 + 1e-15, 1, 1}};
  cpl_context* ctx = test_context();
  for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
    for (size_t rows = 0; rows <= 4; rows++) {
      cpl_table t = {rows, 1, names, NULL, time, odd[i]};
      cpl_view_def def = {.size = sizeof def, .path = "odd.svg"};
      CHECK_OK(ctx, cpl_view_write(ctx, &t, &def));
      char* page = slurp("odd.svg");
      for (const char* d = page; (d = strstr(d, " d=\"")) != NULL; d++) {
        CHECK(strncmp(d + 4, "Mnan", 4) != 0 && strncmp(d + 4, "M-inf", 5) != 0);
      }
      CHECK_INT(count(page, "nan"), 0);
      free(page);
    }
  }
  cpl_table empty = {0};
  cpl_view_def def = {.size = sizeof def, .path = "empty.html"};
  CHECK_OK(ctx, cpl_view_write(ctx, &empty, &def));
  def.path = "empty.svg";
  CHECK_OK(ctx, cpl_view_write(ctx, &empty, &def));
  cpl_context_destroy(ctx);
}

static void many_columns_are_cut(void** state) {
  (void)state;
  enum { MANY = 100 };
  static char text[MANY][80];
  static const char* many[MANY];
  static double data[MANY * 2];
  static const double time[2] = {0, 1};
  for (int i = 0; i < MANY; i++) {
    snprintf(text[i], sizeof text[i], "a.rather.long.name.of.a.variable.inside.a.system[%d]", i);
    many[i] = text[i];
    data[2 * i] = i;
  }
  cpl_table t = {2, MANY, many, NULL, time, data};
  cpl_context* ctx = test_context();
  cpl_view_def def = {.size = sizeof def, .path = "many.svg"};
  CHECK_OK(ctx, cpl_view_write(ctx, &t, &def));
  char* page = slurp("many.svg");
  CHECK_INT(count(page, "</title></path>"), 64);
  CHECK_CONTAINS(page, "35 more columns are not shown");  // one of 100 is constant
  CHECK_CONTAINS(page, "\u2026");
  free(page);
  cpl_context_destroy(ctx);
}

static void says_what_is_wrong(void** state) {
  (void)state;
  static const char* const only[] = {"on", "ball.w"};
  cpl_context* ctx = test_context();
  cpl_table t = example();
  cpl_view_def def = {.size = sizeof def, .path = "x.html", .only = only, .n_only = 2};
  CHECK_INT(cpl_view_write(ctx, &t, &def), CPL_ERR_INPUT);
  CHECK_STR(cpl_context_error(ctx), "no column matches \"ball.w\" (is it ball.h or ball.v?)");
  def = (cpl_view_def){.size = sizeof(cpl_view_def), .path = "page.pdf"};
  CHECK_INT(cpl_view_write(ctx, &t, &def), CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(ctx), "end in .html or .svg");
  def.path = "no/such/folder.html";
  CHECK_INT(cpl_view_write(ctx, &t, &def), CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(ctx), "No such file or directory");
  unlink("full.html");
  assert_int_equal(symlink("/dev/full", "full.html"), 0);
  def.path = "full.html";
  CHECK_INT(cpl_view_write(ctx, &t, &def), CPL_ERR_IO);
  CHECK_CONTAINS(cpl_context_error(ctx), "No space left on device");
  cpl_context_destroy(ctx);
}

static void survives_failed_allocations(void** state) {
  (void)state;
  cpl_table t = example();
  for (long n = 0;; n++) {
    test_heap heap = {.fail_at = n};
    cpl_context* ctx = test_context_with_heap(&heap);
    cpl_status st = CPL_ERR_NOMEM;
    if (ctx != NULL) {
      cpl_view_def def = {.size = sizeof def, .path = "heap.html"};
      st = cpl_view_write(ctx, &t, &def);
      def.path = "heap.svg";
      if (st >= 0) st = cpl_view_write(ctx, &t, &def);
      cpl_context_destroy(ctx);
    }
    CHECK_INT(heap.live, 0);
    if (st == CPL_OK) break;
    CHECK_INT(st, CPL_ERR_NOMEM);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_page_holds_every_number),
      cmocka_unit_test(columns_are_packed_without_loss),
      cmocka_unit_test(draws_one_column_over_another),
      cmocka_unit_test(draws_a_panel_for_each_unit),
      cmocka_unit_test(names_cannot_become_markup),
      cmocka_unit_test(long_results_are_thinned_out),
      cmocka_unit_test(odd_tables_are_drawn_too),
      cmocka_unit_test(many_columns_are_cut),
      cmocka_unit_test(says_what_is_wrong),
      cmocka_unit_test(survives_failed_allocations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
