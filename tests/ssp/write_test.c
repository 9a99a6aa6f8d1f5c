// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Packages that were written are read as the same ones, down to the last comment.
#include "format/zip.h"
#include "packages.h"

// Both archives have the same files: XML of the same tree, everything else of the same bytes.
static void check_same_archives(cpl_context* ctx, const char* a, const char* b) {
  cpli_zip *x = NULL, *y = NULL;
  CHECK_OK(ctx, cpli_zip_open(ctx, a, NULL, &x));
  CHECK_OK(ctx, cpli_zip_open(ctx, b, NULL, &y));
  CHECK_INT(cpli_zip_count(x), cpli_zip_count(y));
  for (size_t i = 0; i < cpli_zip_count(x); i++) {
    const char* name = cpli_zip_name(x, i);
    const char* dot = strrchr(name, '.');
    char *p = NULL, *q = NULL;
    size_t n, m;
    CHECK_OK(ctx, cpli_zip_read(x, name, 1 << 30, &p, &n));
    CHECK_OK(ctx, cpli_zip_read(y, name, 1 << 30, &q, &m));
    if (dot != NULL && strncmp(dot, ".ss", 3) == 0 && strcmp(dot, ".ssp") != 0) {
      cpli_xml_tree *s = NULL, *t = NULL;
      CHECK_OK(ctx, cpli_xml_tree_read(ctx, name, p, n, &s));
      CHECK_OK(ctx, cpli_xml_tree_read(ctx, name, q, m, &t));
      if (!cpli_xml_node_equal(s->root, t->root)) fail_msg("%s:\n%s\n%s", name, p, q);
      CHECK((s->beginning == NULL) == (t->beginning == NULL));
      if (s->beginning != NULL) CHECK_STR(s->beginning->text, t->beginning->text);
      cpli_xml_tree_free(s);
      cpli_xml_tree_free(t);
    } else {
      CHECK_INT(n, m);
      CHECK(memcmp(p, q, n) == 0);
    }
    cpli_free(ctx, p);
    cpli_free(ctx, q);
  }
  cpli_zip_close(x);
  cpli_zip_close(y);
}

// Both describe the same system, as far as it can be seen.
static void check_same_elements(const cpli_ssp_element* a, const cpli_ssp_element* b) {  // NOLINT
  CHECK_STR(a->name, b->name);
  CHECK_INT(a->kind, b->kind);
  CHECK_INT(a->n_connectors, b->n_connectors);
  CHECK_INT(a->n_bindings, b->n_bindings);
  CHECK_INT(a->n_connections, b->n_connections);
  CHECK_INT(a->n_dictionaries, b->n_dictionaries);
  CHECK_INT(a->total, b->total);
  CHECK(cpli_xml_node_equal(a->node, b->node));
  for (size_t i = 0; i < a->n_bindings; i++)
    CHECK_INT(a->bindings[i].set->n_parameters, b->bindings[i].set->n_parameters);
  for (size_t i = 0; i < a->n_elements; i++) check_same_elements(&a->elements[i], &b->elements[i]);
}

static void check_round_trip(cpl_context* ctx, const char* path) {
  cpli_ssp *first = NULL, *second = NULL;
  CHECK_OK(ctx, cpli_ssp_open(ctx, path, NULL, NULL, &first));
  CHECK_OK(ctx, cpli_ssp_write(first, "copy.ssp"));
  CHECK_OK(ctx, cpli_ssp_open(ctx, "copy.ssp", NULL, NULL, &second));
  check_same_elements(first->system, second->system);
  CHECK_INT(first->n_variants, second->n_variants);
  CHECK_STR(first->name, second->name);
  CHECK_OK(ctx, cpli_ssp_write(second, "twice.ssp"));
  cpli_ssp_close(first);
  cpli_ssp_close(second);
  size_t n, m;
  char *p = read_bytes("copy.ssp", &n), *q = read_bytes("twice.ssp", &m);
  CHECK(n == m && memcmp(p, q, n) == 0);
  free(p);
  free(q);
}

static void everything_survives(void** state) {
  cpl_context* ctx = *state;
  make_everything("all.ssp");
  check_round_trip(ctx, "all.ssp");
  check_same_archives(ctx, "all.ssp", "copy.ssp");

  // over itself
  cpli_ssp* ssp = open_fine(ctx, "all.ssp");
  CHECK_OK(ctx, cpli_ssp_write(ssp, "all.ssp"));
  cpli_ssp_close(ssp);
  check_same_archives(ctx, "all.ssp", "copy.ssp");
}

static void folders_are_packed(void** state) {
  cpl_context* ctx = *state;
  make_folder("pack");
  make_folder("pack/resources");
  write_text("pack/SystemStructure.ssd",
             SYSTEM(BINDING("source='resources/a.ssv'", "")
                        ELEMENTS("<ssd:Component name='m' source='resources/m.fmu'/>")));
  write_text("pack/B.ssd", SSD_NAMED("b", "<!-- c --><ssd:System name='B'/>"));
  write_text("pack/resources/a.ssv", SSV(""));
  write_text("pack/resources/m.fmu", "any");
  write_text("pack/resources/icon.png", "any");
  check_round_trip(ctx, "pack");
  cpli_zip* zip = NULL;
  CHECK_OK(ctx, cpli_zip_open(ctx, "copy.ssp", NULL, &zip));
  CHECK_INT(cpli_zip_count(zip), 5);
  CHECK(cpli_zip_has(zip, "resources/icon.png") && cpli_zip_has(zip, "B.ssd"));
  cpli_zip_close(zip);
}

static void a_single_file_becomes_a_package(void** state) {
  cpl_context* ctx = *state;
  write_text("main.ssd", SYSTEM(BINDING("source='a.ssv'", "")
                                    ELEMENTS("<ssd:Component name='m' source='m.fmu'/>"
                                             "<ssd:Component name='n' source='m.fmu'/>"
                                             "<ssd:Component name='s' source='sub.ssd' "
                                             "type='application/x-ssp-definition'/>")));
  write_text("sub.ssd", SSD_NAMED("sub", "<ssd:System name='S'/>"));
  write_text("a.ssv", SSV(""));
  write_text("m.fmu", "any");
  write_text("unused.fmu", "any");
  cpli_ssp* ssp = open_fine(ctx, "main.ssd");
  CHECK_OK(ctx, cpli_ssp_write(ssp, "copy.ssp"));
  cpli_ssp_close(ssp);
  cpli_zip* zip = NULL;
  CHECK_OK(ctx, cpli_zip_open(ctx, "copy.ssp", NULL, &zip));
  CHECK_INT(cpli_zip_count(zip), 4);
  CHECK(cpli_zip_has(zip, "SystemStructure.ssd") && cpli_zip_has(zip, "m.fmu"));
  cpli_zip_close(zip);
  ssp = open_fine(ctx, "copy.ssp");
  CHECK_STR(ssp->system->elements[2].inner->name, "S");
  cpli_ssp_close(ssp);

  make_folder("deep");
  write_text("deep/main.ssd", SYSTEM(ELEMENTS("<ssd:Component name='m' source='../m.fmu'/>")));
  ssp = open_fine(ctx, "deep/main.ssd");
  remove("copy.ssp");
  CHECK_INT(cpli_ssp_write(ssp, "copy.ssp"), CPL_ERR_INPUT);
  CHECK_STR(cpl_context_error(ctx),
            "deep/main.ssd: refers to ../m.fmu, which is outside its folder: a package cannot "
            "contain it");
  CHECK(access("copy.ssp", F_OK) != 0);
  cpli_ssp_close(ssp);
}

//------------------------------------ property ------------------------------------

typedef struct generator {
  uint64_t random;
  char text[65536];
  size_t n;
} generator;

static unsigned draw(generator* g, unsigned below) {
  g->random = g->random * 6364136223846793005u + 1442695040888963407u;
  return (unsigned)(g->random >> 33) % below;
}

CPL_PRINTF(2, 3) static void put(generator* g, const char* fmt, ...) {
  va_list args;
  va_start(args, fmt);
  g->n += (size_t)vsnprintf(g->text + g->n, sizeof g->text - g->n, fmt, args);
  va_end(args);
  CHECK(g->n < sizeof g->text);
}

static const char* odd_text(generator* g) {
  static const char* const texts[] = {"a&#10;b", "&lt;&amp;&gt;", "&quot;",   "\xf0\x9f\x98\x80",
                                      "x y",     "&#9;",          "\xc3\xa9", "[1,2]",
                                      ".",       "&#13;"};
  return texts[draw(g, CPLI_COUNT(texts))];
}

static void put_system(generator* g, int depth, const char* name) {  // NOLINT(misc-no-recursion)
  put(g, "<ssd:System name=\"%s\" description=\"%s\">", name, odd_text(g));
  const unsigned n = 1 + draw(g, 3);
  put(g, "<ssd:Connectors>");
  for (unsigned i = 0; i < n; i++)
    put(g, "<ssd:Connector name=\"c%u%s\" kind=\"%s\"/>", i, odd_text(g),
        draw(g, 2) == 0 ? "input" : "output");
  put(g, "</ssd:Connectors>");
  if (draw(g, 2) == 0)
    put(g,
        "<ssd:ParameterBindings><ssd:ParameterBinding prefix=\"%s\" source=\"p.ssv\"/>"
        "</ssd:ParameterBindings>",
        odd_text(g));
  if (depth < 3) {
    put(g, "<ssd:Elements>");
    for (unsigned i = draw(g, 3); i > 0; i--) {
      char inner[32];
      snprintf(inner, sizeof inner, "s%u", i);
      put_system(g, depth + 1, inner);
    }
    put(g, "<ssd:Component name=\"m\" source=\"m.fmu\"/><!-- %u -->", draw(g, 100));
    put(g, "</ssd:Elements>");
  }
  if (draw(g, 2) == 0)
    put(g,
        "<ssd:GraphicalElements><ssd:Note x1=\"0\" y1=\"0\" x2=\"1\" y2=\"1\" text=\"%s\"/>"
        "</ssd:GraphicalElements>",
        odd_text(g));
  put(g,
      "<ssd:Annotations><ssc:Annotation type=\"x\">%s<o:A xmlns:o=\"u:%s\" xml:lang=\"de\"><B/>"
      "</o:A></ssc:Annotation></ssd:Annotations></ssd:System>",
      odd_text(g), odd_text(g));
}

static void random_packages_survive(void** state) {
  cpl_context* ctx = *state;
  static generator g;
  for (uint64_t seed = 1; seed <= 30; seed++) {
    g.random = seed;
    g.n = 0;
    put(&g, "<ssd:SystemStructureDescription version='2.0' name=\"%s\"" SPACES ">", odd_text(&g));
    put_system(&g, 0, "root");
    put(&g, "</ssd:SystemStructureDescription>");
    make_ssp(g.text, "p.ssv", SSV(""));
    check_round_trip(ctx, "t.ssp");
    check_same_archives(ctx, "t.ssp", "copy.ssp");
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(everything_survives),
      cmocka_unit_test(folders_are_packed),
      cmocka_unit_test(a_single_file_becomes_a_package),
      cmocka_unit_test(random_packages_survive),
  };
  return cmocka_run_group_tests(tests, make_context, drop_context);
}
