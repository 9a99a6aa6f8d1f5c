// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#include "format/xml.h"

#include "testing.h"

// Writes what it hears: "<a x=1 ...>" and "</a>".
typedef struct heard {
  char text[4096];
  size_t n;
  int stop_after;  // elements; 0: never
  int elements;
} heard;

static void note(heard* h, const char* fmt, const char* a, const char* b) {
  h->n += (size_t)snprintf(h->text + h->n, sizeof h->text - h->n, fmt, a, b);
  if (h->n >= sizeof h->text) h->n = sizeof h->text - 1;
}

static cpl_status hear_begin(void* user, cpli_xml* xml, const char* element) {
  heard* h = user;
  note(h, "<%s", element, "");
  const char* x = cpli_xml_attribute(xml, "x");
  if (x != NULL) note(h, " x=%s", x, "");
  for (const char* name; (name = cpli_xml_unused_attribute(xml)) != NULL;)
    note(h, " ?%s", name, "");
  char line[32];
  snprintf(line, sizeof line, " %d>", cpli_xml_line(xml));
  note(h, "%s", line, "");
  return ++h->elements == h->stop_after ? CPL_ERR_MODEL : CPL_OK;
}

static cpl_status hear_end(void* user, cpli_xml* xml, const char* element) {
  (void)xml;
  note(user, "</%s>", element, "");
  return CPL_OK;
}

static const cpli_xml_handler handler = {.begin = hear_begin, .end = hear_end};

static cpl_status parse(cpl_context* ctx, const char* text, heard* h) {
  return cpli_xml_parse(ctx, "file.xml", text, strlen(text), &handler, h);
}

static void walks_in_order(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  heard h = {0};
  CHECK_OK(ctx, parse(ctx,
                      "<?xml version=\"1.0\"?>\n<a x=\"1\">\n <!-- c --><b x=\"&lt;&#65;&amp;\" "
                      "n:y=\"2\" z=\"\"/>text</a>",
                      &h));
  CHECK_STR(h.text, "<a x=1 2><b x=<A& ?z 3></b></a>");
  cpl_context_destroy(ctx);
}

static void understands_other_encodings(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  heard h = {0};
  CHECK_OK(ctx, parse(ctx, "<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><a x=\"\xb0\"/>", &h));
  CHECK_STR(h.text, "<a x=\xc2\xb0 1></a>");
  h = (heard){0};
  CHECK_OK(ctx, parse(ctx, "<?xml version='1.0' encoding='Windows-1252'?>\n<a x='\x80'/>", &h));
  CHECK_STR(h.text, "<a x=\xe2\x82\xac 2></a>");
  h = (heard){0};
  CHECK_INT(parse(ctx, "<?xml version='1.0' encoding='no-such-code'?>\n<a/>", &h), CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(ctx), "file.xml:1: the encoding no-such-code");
  cpl_context_destroy(ctx);
}

// With a mark of the byte order and without one, in both orders.
static void understands_two_bytes_per_character(void** state) {
  (void)state;
  static const char text[] = "<?xml version='1.0' encoding='UTF-16'?>\n<a x='1'/>";
  cpl_context* ctx = test_context();
  for (int way = 0; way < 4; way++) {
    const int high = way % 2;  // which byte of a pair is the first
    char bytes[2 * sizeof text] = {0};
    size_t n = 0;
    if (way < 2) {
      bytes[high] = '\xff';
      bytes[1 - high] = '\xfe';
      n = 2;
    }
    for (const char* c = text; *c != '\0'; c++, n += 2) bytes[n + (size_t)high] = *c;
    heard h = {0};
    CHECK_OK(ctx, cpli_xml_parse(ctx, "file.xml", bytes, n, &handler, &h));
    CHECK_STR(h.text, "<a x=1 2></a>");
    h = (heard){0};
    CHECK_INT(cpli_xml_parse(ctx, "file.xml", bytes, n - 1, &handler, &h), CPL_ERR_INPUT);
  }
  heard h = {0};  // some tools declare it and write single bytes
  CHECK_OK(ctx, parse(ctx, text, &h));
  CHECK_STR(h.text, "<a x=1 2></a>");
  cpl_context_destroy(ctx);
}

static void malformed_documents_have_a_line(void** state) {
  (void)state;
  static const struct {
    const char *text, *message;
  } cases[] = {
      {"<a>\n<b>\n</a>", "file.xml:3:"},
      {"<a>\n<b x=1/></a>", "file.xml:2:"},
      {"<a x=\"1\"\n x=\"2\"/>", "file.xml:2:"},
      {"<a>", "file.xml:1:"},
      {"", "file.xml:1: the file is empty"},
      {"no xml", "file.xml:1:"},
      {"<a/><b/>", "file.xml:1:"},
      {"<a>\n&unknown;</a>", "file.xml:2:"},
      {"<a x=\"\xff\"/>", "file.xml:1:"},
      {"<a x=\"&#27;\"/>", "file.xml:1:"},
  };
  cpl_context* ctx = test_context();
  for (size_t i = 0; i < CPLI_COUNT(cases); i++) {
    heard h = {0};
    CHECK_INT(parse(ctx, cases[i].text, &h), CPL_ERR_INPUT);
    CHECK_CONTAINS(cpl_context_error(ctx), cases[i].message);
  }
  cpl_context_destroy(ctx);
}

static void entities_are_refused(void** state) {
  (void)state;
  static const char* const cases[] = {
      // every level ten times the one before
      "<!DOCTYPE a [<!ENTITY e0 \"ha\"><!ENTITY e1 \"&e0;&e0;&e0;&e0;&e0;&e0;&e0;&e0;&e0;&e0;\">"
      "<!ENTITY e2 \"&e1;&e1;&e1;&e1;&e1;&e1;&e1;&e1;&e1;&e1;\">]>\n<a x=\"&e2;\">&e2;</a>",
      "<!DOCTYPE a [<!ENTITY e SYSTEM \"file:///etc/passwd\">]>\n<a>&e;</a>",
      "<!DOCTYPE a SYSTEM \"http://localhost:1/a.dtd\">\n<a/>",
      "<!DOCTYPE a PUBLIC \"-//X//Y\" \"file:///etc/passwd\" [ <!ENTITY % p SYSTEM \"x\"> %p; "
      "]><a/>",
  };
  cpl_context* ctx = test_context();
  for (size_t i = 0; i < CPLI_COUNT(cases); i++) {
    heard h = {0};
    CHECK_INT(parse(ctx, cases[i], &h), CPL_ERR_INPUT);
    CHECK_CONTAINS(cpl_context_error(ctx), "DOCTYPE");
    CHECK_INT(h.elements, 0);
  }
  cpl_context_destroy(ctx);
}

static void depth_is_limited(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  enum { DEPTH = 100000 };
  char* text = malloc(3 * DEPTH);
  for (int i = 0; i < DEPTH; i++) memcpy(text + 3 * i, "<a>", 3);
  heard h = {0};
  CHECK_INT(cpli_xml_parse(ctx, "file.xml", text, 3 * DEPTH, &handler, &h), CPL_ERR_INPUT);
  CHECK(h.elements < 1000);
  free(text);
  cpl_context_destroy(ctx);
}

static void a_handler_can_stop(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  heard h = {.stop_after = 2};
  CHECK_INT(parse(ctx, "<a><b/><c/></a>", &h), CPL_ERR_MODEL);
  CHECK_STR(h.text, "<a 1><b 1>");
  cpl_context_destroy(ctx);
}

static void survives_every_failed_allocation(void** state) {
  (void)state;
  for (long n = 0;; n++) {
    test_heap heap = {.fail_at = n};
    cpl_context* ctx = test_context_with_heap(&heap);
    heard h = {0};
    cpl_status st =
        ctx != NULL ? parse(ctx, "<a x=\"1\"><b x=\"a longer text\"/></a>", &h) : CPL_ERR_NOMEM;
    cpl_context_destroy(ctx);
    CHECK_INT(heap.live, 0);
    if (st == CPL_OK) break;
    CHECK_INT(st, CPL_ERR_NOMEM);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(walks_in_order),
      cmocka_unit_test(understands_other_encodings),
      cmocka_unit_test(understands_two_bytes_per_character),
      cmocka_unit_test(malformed_documents_have_a_line),
      cmocka_unit_test(entities_are_refused),
      cmocka_unit_test(depth_is_limited),
      cmocka_unit_test(a_handler_can_stop),
      cmocka_unit_test(survives_every_failed_allocation),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
