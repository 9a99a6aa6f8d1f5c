// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#include "format/xml_tree.h"

#include "testing.h"

static cpli_xml_tree* read_tree(cpl_context* ctx, const char* text) {
  cpli_xml_tree* tree = NULL;
  CHECK_OK(ctx, cpli_xml_tree_read(ctx, "file.xml", text, strlen(text), &tree));
  return tree;
}

static void elements_have_name_spaces(void** state) {
  cpl_context* ctx = *state;
  cpli_xml_tree* tree = read_tree(ctx,
                                  "<!-- first -->\n<a:top xmlns:a='u:1' xmlns='u:2' a:x='1' x='2'>"
                                  "<in xmlns=''><y/></in>\n<in z='&#10;'/><!--c--> <a:in/></a:top>"
                                  "<!-- last -->");
  const cpli_xml_node* top = tree->root;
  CHECK_STR(top->name, "top");
  CHECK_STR(top->prefix, "a");
  CHECK_STR(top->uri, "u:1");
  CHECK_STR(cpli_xml_node_attribute(top, "x"), "2");
  CHECK(cpli_xml_node_attribute(top, "z") == NULL);
  CHECK_STR(top->attributes->uri, "u:1");
  CHECK_STR(tree->beginning->text, " first ");
  CHECK_STR(top->next->text, " last ");
  CHECK(cpli_xml_child(top, NULL, "in")->first->uri == NULL);
  const cpli_xml_node* in = cpli_xml_child(top, "u:2", "in");
  CHECK_STR(cpli_xml_node_attribute(in, "z"), "\n");
  CHECK_INT(in->line, 3);
  CHECK(cpli_xml_sibling(in) == NULL);
  CHECK(cpli_xml_child(top, "u:1", "in") == top->last);
  CHECK(top->last->prefixes == NULL && top->prefixes->next != NULL);
  CHECK(cpli_xml_child(top, "u:3", "in") == NULL);
  cpli_xml_tree_free(tree);
}

static void adjacent_texts_are_one(void** state) {
  cpl_context* ctx = *state;
  cpli_xml_tree* tree = read_tree(ctx, "<a> x&lt;<![CDATA[<&]]><?pi x?>&#x1F600;\r\n</a>");
  CHECK(tree->root->first == tree->root->last);
  CHECK_STR(tree->root->first->text, " x<<&\xf0\x9f\x98\x80\n");
  cpli_xml_tree_free(tree);
}

static void refuses_broken_documents(void** state) {
  cpl_context* ctx = *state;
  static const struct {
    const char *text, *message;
  } cases[] = {
      {"", "file.xml:1: the file is empty"},
      {"<a>\n<b></a>", "file.xml:2: "},
      {"<!DOCTYPE a [<!ENTITY e 'x'>]><a>&e;</a>", "document type declaration"},
      {"<a>&e;</a>", "file.xml:1: "},
      {"<a x='1' x='2'/>", "file.xml:1: "},
      {"<a/><b/>", "file.xml:1: "},
      {"<!-- only -->", "file.xml:1: "},
  };
  for (size_t i = 0; i < CPLI_COUNT(cases); i++) {
    cpli_xml_tree* tree = NULL;
    CHECK_INT(cpli_xml_tree_read(ctx, "file.xml", cases[i].text, strlen(cases[i].text), &tree),
              CPL_ERR_INPUT);
    CHECK(tree == NULL);
    CHECK_CONTAINS(cpl_context_error(ctx), cases[i].message);
  }
}

static void comparison_sees_every_difference(void** state) {
  cpl_context* ctx = *state;
  static const char* const texts[] = {
      "<a/>",
      "<b/>",
      "<a xmlns='u'/>",
      "<a x='1'/>",
      "<a x='2'/>",
      "<a y='1'/>",
      "<a x='1' y='1'/>",
      "<a>t</a>",
      "<a>u</a>",
      "<a><!--t--></a>",
      "<a><b/></a>",
      "<a><b/><b/></a>",
      "<p:a/>",
      "<q:a/>",
      "<a p:x='1'/>",
      "<a><b/>t</a>",
      "<a>t<b/></a>",
      "<a xmlns:p='u' p:x='1'/>",
      "<a xmlns:p='v' p:x='1'/>",
  };
  for (size_t i = 0; i < CPLI_COUNT(texts); i++) {
    for (size_t k = 0; k < CPLI_COUNT(texts); k++) {
      cpli_xml_tree *a = read_tree(ctx, texts[i]), *b = read_tree(ctx, texts[k]);
      CHECK_INT(cpli_xml_node_equal(a->root, b->root), i == k);
      cpli_xml_tree_free(a);
      cpli_xml_tree_free(b);
    }
  }
  cpli_xml_tree* a = read_tree(ctx, "<p:a xmlns:p='u' x='1' y='2'/>");
  cpli_xml_tree* b = read_tree(ctx, "<a xmlns='u' y='2' x='1'/>");
  CHECK(cpli_xml_node_equal(a->root, b->root));
  cpli_xml_tree_free(a);
  cpli_xml_tree_free(b);
}

//------------------------------------ property ------------------------------------

// Random documents, written by a generator that shares nothing with the writer: references in all
// notations, quotes of both kinds, name spaces declared anywhere.
typedef struct generator {
  uint64_t random;
  char text[65536];
  size_t n;
} generator;

static unsigned draw(generator* g, unsigned below) {
  g->random = g->random * 6364136223846793005u + 1442695040888963407u;
  return (unsigned)(g->random >> 33) % below;
}

static void put(generator* g, const char* text) {
  size_t len = strlen(text);
  CHECK(g->n + len < sizeof g->text);
  memcpy(g->text + g->n, text, len + 1);
  g->n += len;
}

static void put_characters(generator* g, char quote) {
  static const char* const pieces[] = {
      "a",
      "b c",
      "&#10;",
      "&#9;",
      "&#13;",
      "\n",
      "\t",
      "&quot;",
      "&apos;",
      "&lt;",
      "&gt;",
      "&amp;",
      "&#38;",
      "]]&gt;",
      "\u00e9",
      "\u2028",
      "&#x85;",
      "&#x10FFFD;",
      "\xf0\x9f\x98\x80",
      "&#x1F600;",
      "  ",
      "-- ",
      "&#60;x",
      "\r\n",
      "\xc2\x85",
  };
  for (unsigned n = draw(g, 6); n > 0; n--) put(g, pieces[draw(g, CPLI_COUNT(pieces))]);
  if (quote != 0 && draw(g, 3) == 0) put(g, quote == '"' ? "'" : "\"");
}

static void put_element(generator* g, int depth) {  // NOLINT(misc-no-recursion)
  static const char* const names[] = {"s:Unit", "x", "o:FixedStep", "Annotation", "s:y"};
  static const char* const attributes[] = {"name",     "o:name",    "s:name",
                                           "xml:lang", "xml:space", "v"};
  static const char* const declared[] = {"xmlns='u:default'", "xmlns=''", "xmlns:o='u:other'",
                                         "xmlns:new='u:&amp;&#10;'"};
  const char* name = names[draw(g, CPLI_COUNT(names))];
  put(g, "<");
  put(g, name);
  if (draw(g, 4) == 0) put(g, "\n "), put(g, declared[draw(g, CPLI_COUNT(declared))]);
  for (unsigned i = 0; i < CPLI_COUNT(attributes); i++) {
    if (draw(g, 4) != 0) continue;
    const char quote[] = {draw(g, 2) == 0 ? '"' : '\'', '\0'};
    put(g, " ");
    put(g, attributes[i]);
    put(g, "=");
    put(g, quote);
    put_characters(g, quote[0]);
    put(g, quote);
  }
  if (draw(g, 4) == 0) {
    put(g, "/>");
    return;
  }
  put(g, ">");
  for (unsigned n = depth < 6 ? draw(g, 5) : 0; n > 0; n--) {
    switch (draw(g, 5)) {
      case 0: put_characters(g, 0); break;
      case 1: put(g, "<!-- a\n<b> & - c -->"); break;
      case 2: put(g, "<![CDATA[<&>]] ]]>"); break;
      default: put_element(g, depth + 1); break;
    }
  }
  put(g, "</");
  put(g, name);
  put(g, ">");
}

// Also the prefixes survive, since texts in annotations may use them.
static void check_same_prefixes(const cpli_xml_node* a, const cpli_xml_node* b) {  // NOLINT
  CHECK((a->prefix == NULL) == (b->prefix == NULL));
  if (a->prefix != NULL) CHECK_STR(a->prefix, b->prefix);
  const cpli_xml_attr *x = a->prefixes, *y = b->prefixes;
  for (; x != NULL && y != NULL; x = x->next, y = y->next) {
    CHECK((x->name == NULL) == (y->name == NULL));
    if (x->name != NULL) CHECK_STR(x->name, y->name);
    CHECK_STR(x->value, y->value);
  }
  CHECK(x == NULL && y == NULL);
  const cpli_xml_node *p = a->first, *q = b->first;
  for (; p != NULL && q != NULL; p = p->next, q = q->next) check_same_prefixes(p, q);
}

static void written_documents_are_read_as_the_same(void** state) {
  cpl_context* ctx = *state;
  static generator g;
  for (uint64_t seed = 1; seed <= 2000; seed++) {
    g.random = seed;
    g.n = 0;
    put(&g, "<?xml version='1.0'?><!--b-->\n<s:top xmlns:s='u:ssp' xmlns:o='u:o' xmlns='u:d'>");
    for (int i = 0; i < 3; i++) put_element(&g, 0);
    put(&g, "</s:top>");
    cpli_xml_tree* tree = read_tree(ctx, g.text);
    char *written = NULL, *twice = NULL;
    size_t size, size_twice;
    CHECK_OK(ctx, cpli_xml_tree_write(tree, &written, &size));
    CHECK_INT(strlen(written), size);
    cpli_xml_tree* again = read_tree(ctx, written);
    if (!cpli_xml_node_equal(tree->root, again->root))
      fail_msg("seed %d:\n%s\n%s", (int)seed, g.text, written);
    check_same_prefixes(tree->root, again->root);
    CHECK_STR(again->beginning->text, "b");
    CHECK_OK(ctx, cpli_xml_tree_write(again, &twice, &size_twice));
    CHECK_STR(twice, written);
    cpli_free(ctx, written);
    cpli_free(ctx, twice);
    cpli_xml_tree_free(tree);
    cpli_xml_tree_free(again);
  }
}

static void survives_every_failed_allocation(void** state) {
  (void)state;
  for (long n = 0;; n++) {
    test_heap heap = {.fail_at = -1};
    cpl_context* ctx = test_context_with_heap(&heap);
    cpli_xml_tree* tree = NULL;
    char* written = NULL;
    size_t size;
    heap.fail_at = heap.calls + n;
    const char* text = "<p:a xmlns:p='u'>t<b x='1'/><!--c--></p:a>";
    cpl_status st = cpli_xml_tree_read(ctx, "f", text, strlen(text), &tree);
    if (st >= 0) st = cpli_xml_tree_write(tree, &written, &size);
    cpli_free(ctx, written);
    cpli_xml_tree_free(tree);
    cpl_context_destroy(ctx);
    CHECK_INT(heap.live, 0);
    if (st >= 0) break;
    CHECK_INT(st, CPL_ERR_NOMEM);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(elements_have_name_spaces),
      cmocka_unit_test(adjacent_texts_are_one),
      cmocka_unit_test(refuses_broken_documents),
      cmocka_unit_test(comparison_sees_every_difference),
      cmocka_unit_test(written_documents_are_read_as_the_same),
      cmocka_unit_test(survives_every_failed_allocation),
  };
  return cmocka_run_group_tests(tests, make_context, drop_context);
}
