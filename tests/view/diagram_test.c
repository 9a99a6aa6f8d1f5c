// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Pictures of systems as files; tests/browser/graph_test.mjs compares them with those of the page.
#include <libxml/parser.h>
#include <sys/stat.h>
#include <unistd.h>

#include "testing.h"
#include "view/view.h"

static const char two[] =
    "{\"title\": \"t\", \"nodes\": ["
    "{\"id\": 0, \"parent\": -1, \"kind\": \"model\", \"name\": \"</text><script>\\u0001\", "
    "\"sub\": \"\","
    " \"info\": [\"a\", \"b\"], \"ports\": [{\"id\": 0, \"side\": \"out\", \"name\": \"y\"}]},"
    "{\"id\": 1, \"parent\": -1, \"kind\": \"mode\", \"name\": \"m\", \"ports\": ["
    "{\"id\": 1, \"side\": \"in\", \"name\": \"u\"}]}],"
    "\"edges\": [{\"from\": [0, 0], \"to\": [1, 1], \"kind\": \"loop\", \"name\": \"x < 1\"},"
    "{\"from\": [1, -1], \"to\": [1, -1], \"kind\": \"transition\", \"name\": \"again\"}]}";

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

static void draws_boxes_and_lines(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  CHECK_OK(ctx, cpli_diagram_svg(ctx, "two.svg", two));
  char* svg = slurp("two.svg");
  CHECK(strncmp(svg, "<svg ", 5) == 0);
  CHECK(strstr(svg, "<script") == NULL);
  CHECK_CONTAINS(svg, "&lt;/text&gt;&lt;script&gt;\uFFFD");
  CHECK_CONTAINS(svg, "class=\"edge loop\"");
  CHECK_CONTAINS(svg, "x &lt; 1</text>");
  CHECK_CONTAINS(svg, "<title>a\nb</title>");
  xmlDoc* doc = xmlReadMemory(svg, (int)strlen(svg), "two.svg", NULL, XML_PARSE_NONET);
  CHECK(doc != NULL);
  xmlFreeDoc(doc);
  xmlCleanupParser();
  free(svg);
  cpl_context_destroy(ctx);
}

static void says_what_is_wrong(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  CHECK_INT(cpli_diagram_svg(ctx, "bad.svg", "{\"nodes\": 1"), CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(ctx), "bad.svg: could not be drawn: ");
  CHECK_INT(cpli_diagram_svg(ctx, "no/such/folder.svg", two), CPL_ERR_INPUT);
  cpl_context_destroy(ctx);
}

// Not every allocation: each attempt compiles elkjs anew. The engine collects garbage and tries
// once more, so that it may come to its end all the same.
static void survives_failed_allocations(void** state) {
  (void)state;
  static const long places[] = {0, 1, 2, 2000};
  int n_failed = 0;
  for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
    test_heap heap = {.fail_at = places[i]};
    cpl_context* ctx = test_context_with_heap(&heap);
    if (ctx != NULL) {
      const cpl_status st = cpli_diagram_svg(ctx, "heap.svg", two);
      CHECK(st == CPL_OK || st == CPL_ERR_NOMEM);
      n_failed += st < 0;
      cpl_context_destroy(ctx);
    }
    CHECK_INT(heap.live, 0);
  }
  CHECK(n_failed >= 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(draws_boxes_and_lines),
      cmocka_unit_test(says_what_is_wrong),
      cmocka_unit_test(survives_failed_allocations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
