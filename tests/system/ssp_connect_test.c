// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Connections of SSP packages: units and transformations, directions, connectors of systems,
// dictionaries, arrays.
#include "ssp_packages.h"

// A system of two blocks and one connection between them, with other units of the two connectors.
#define TWO(unit_y, unit_u, more) \
  SSD_BEGIN "<ssd:System name=\"root\"><ssd:Elements>\n"                                      \
            "<ssd:Component name=\"a\" source=\"block.fmu\"><ssd:Connectors>" CONNECTOR(      \
                "y", "output", unit_y) "</ssd:Connectors>" BIND(NUMBER("u", "100")            \
                                                                    NUMBER("c", "100"))       \
  "</ssd:Component>\n<ssd:Component name=\"b\" source=\"block.fmu\"><ssd:Connectors>"         \
  CONNECTOR("u", "input", unit_u) "</ssd:Connectors></ssd:Component>\n"                       \
  "</ssd:Elements><ssd:Connections>" CONNECT("a", "y", "b", "u", more)                        \
  "</ssd:Connections></ssd:System>\n" UNITS EXPERIMENT SSD_END

static double two(const char* text) {
  ssp_run r = {.path = "two.ssd"};
  write_text("two.ssd", text);
  run_ssp(&r, NAMES("b.u", "a.y"));
  CHECK_NEAR(r.values[1], 300, 0);
  return r.values[0];
}

static void units_are_converted(void** state) {
  (void)state;
  CHECK_NEAR(two(TWO(REAL, REAL, "/>")), 300, 0);
  CHECK_NEAR(two(TWO(REAL_IN("K"), REAL_IN("celsius"), "/>")), 26.85, 1e-12);
  CHECK_NEAR(two(TWO(REAL, REAL_IN("celsius"), "/>")), 26.85, 1e-12);
  CHECK_NEAR(two(TWO(REAL_IN("celsius"), REAL, "/>")), 573.15, 1e-12);
  CHECK_NEAR(two(TWO(REAL_IN("K"), REAL_IN("mK"), "/>")), 3e5, 1e-9);
}

static void linear_transformations_come_after_units(void** state) {
  (void)state;
#define LINEAR "<ssc:LinearTransformation factor=\"2\" offset=\"1.5\"/></ssd:Connection>"
  CHECK_NEAR(two(TWO(REAL_IN("K"), REAL_IN("celsius"), ">" LINEAR)), 2 * 26.85 + 1.5, 1e-12);
  CHECK_NEAR(two(TWO(REAL_IN("K"), REAL_IN("celsius"), " suppressUnitConversion=\"true\">" LINEAR)),
             601.5, 1e-12);
  CHECK_NEAR(two(TWO(REAL_IN("K"), REAL_IN("celsius"), " suppressUnitConversion=\"true\"/>")), 300,
             0);
  CHECK_NEAR(two(TWO(REAL, REAL,
                     "><ssc:LinearTransformation factor=\"0\" offset=\"7\"/></ssd:Connection>")),
             7, 0);
}

//------------------------------------ maps ------------------------------------

#define MAPS(implementation, from, to, more) \
  SSD_BEGIN "<ssd:System name=\"root\"><ssd:Elements>\n"                                       \
            "<ssd:Component name=\"a\" source=\"block.fmu\"" implementation                    \
            "><ssd:Connectors>" BLOCK_CONNECTORS "</ssd:Connectors>" BIND(VALUE(               \
                "n", "<ssv:Integer value=\"4\"/>")) "</ssd:Component>\n" BLOCK("z")            \
  "</ssd:Elements><ssd:Connections>" CONNECT("z", to, "a", from, ">" more "</ssd:Connection>") \
  "</ssd:Connections></ssd:System>\n" SPEEDS EXPERIMENT SSD_END

static double mapped(const char* text, const char* name) {
  ssp_run r = {.path = "maps.ssd"};
  write_text("maps.ssd", text);
  run_ssp(&r, NAMES(name));
  return r.values[0];
}

static void maps_work_in_models_and_steppers(void** state) {
  (void)state;
#define CS " implementation=\"CoSimulation\""
#define ENTRIES                                                                        \
  "<ssc:IntegerMappingTransformation><ssc:MapEntry source=\"12\" target=\"-5\"/>"      \
  "<ssc:MapEntry source=\"1\" target=\"8\"/><ssc:MapEntry source=\"7\" target=\"9\"/>" \
  "</ssc:IntegerMappingTransformation>"
  // yn = 3*n: of a 12, of z 3
  CHECK_NEAR(mapped(MAPS("", "yn", "n", ENTRIES), "z.n"), -5, 0);
  CHECK_NEAR(mapped(MAPS(CS, "yn", "n", ENTRIES), "z.n"), -5, 0);
  CHECK_NEAR(mapped(MAPS("", "n", "yn", ENTRIES), "a.n"), 3, 0);  // no entry: unchanged
  CHECK_NEAR(mapped(MAPS(CS, "n", "yn", ENTRIES), "a.n"), 3, 0);
#define FLIP                                                                           \
  "<ssc:BooleanMappingTransformation><ssc:MapEntry source=\"true\" target=\"false\"/>" \
  "<ssc:MapEntry source=\"false\" target=\"true\"/></ssc:BooleanMappingTransformation>"
  CHECK_NEAR(mapped(MAPS("", "b", "yb", FLIP), "a.b"), 0, 0);
  CHECK_NEAR(mapped(MAPS(CS, "b", "yb", FLIP), "a.b"), 0, 0);
#define ONE_WAY                                                                        \
  "<ssc:BooleanMappingTransformation><ssc:MapEntry source=\"false\" target=\"true\"/>" \
  "</ssc:BooleanMappingTransformation>"
  CHECK_NEAR(mapped(MAPS("", "b", "yb", ONE_WAY), "a.b"), 1, 0);
#define FASTER                                                                            \
  "<ssc:EnumerationMappingTransformation><ssc:MapEntry source=\"fast\" target=\"halt\"/>" \
  "</ssc:EnumerationMappingTransformation>"
  CHECK_NEAR(mapped(MAPS("", "e", "ye", FASTER), "a.e"), 3, 0);
  CHECK_NEAR(mapped(MAPS(CS, "e", "ye", FASTER), "a.e"), 3, 0);
}

static void long_maps(void** state) {
  (void)state;
  static char text[200000], entries[100000];
  size_t n = 0;
  for (int i = 0; i < 700; i++)
    n += (size_t)snprintf(entries + n, sizeof entries - n,
                          "<ssc:MapEntry source=\"%d\" target=\"%d\"/>", (i * 389) % 700,
                          10 * ((i * 389) % 700) + 1);
  snprintf(
      text, sizeof text, "%s%s%s",
      SSD_BEGIN "<ssd:System name=\"root\"><ssd:Elements>" BLOCK("a")
          BLOCK("z") "</ssd:Elements><ssd:Connections>" CONNECT(
              "a", "yn", "z", "n", "><ssc:IntegerMappingTransformation>"),
      entries,
      "</ssc:IntegerMappingTransformation></ssd:Connection></ssd:Connections></ssd:System>" SPEEDS
          EXPERIMENT SSD_END);
  write_text("long.ssd", text);
  ssp_run r = {.path = "long.ssd", .starts = {{"a.n", "166"}}};
  run_ssp(&r, NAMES("z.n"));
  CHECK_NEAR(r.values[0], 10 * 498 + 1, 0);
}

//------------------------------------ systems ------------------------------------

// A value passes two systems inwards and one outwards, with units and scalings on its way. The
// connections have their ends in any order.
#define THROUGH(first, second)                                                             \
  SSD_BEGIN                                                                                \
  "<ssd:System name=\"root\"><ssd:Connectors>" CONNECTOR(                                  \
      "T", "input", REAL_IN("celsius")) CONNECTOR("out", "output", REAL_IN("mK"))          \
      CONNECTOR("k", "parameter", REAL) "</ssd:Connectors>" BIND(NUMBER("T", "10") NUMBER( \
          "k", "3")) "<ssd:Elements>\n" first second                                       \
                     "</ssd:Elements><ssd:Connections>"                                    \
                     "<ssd:Connection startConnector=\"T\" endElement=\"plant\" "          \
                     "endConnector=\"level\"/>"                                            \
                     "<ssd:Connection startElement=\"plant\" startConnector=\"gain\" "     \
                     "endConnector=\"k\"/>"                                                \
                     "<ssd:Connection startConnector=\"out\" endElement=\"plant\" "        \
                     "endConnector=\"y\"/>" CONNECT(                                       \
                         "z", "u", "plant", "y",                                           \
                         "/>") "</ssd:Connections></ssd:System>\n" UNITS SPEEDS EXPERIMENT SSD_END
#define PLANT \
  "<ssd:System name=\"plant\"><ssd:Connectors>" CONNECTOR("level", "input", REAL)                 \
      CONNECTOR("y", "output", REAL) CONNECTOR("gain", "parameter", REAL)                         \
  "</ssd:Connectors><ssd:Elements>" BLOCK("a")                                                    \
  "</ssd:Elements><ssd:Connections>"                                                              \
  "<ssd:Connection startElement=\"a\" startConnector=\"u\" endConnector=\"level\">"               \
  "<ssc:LinearTransformation factor=\"2\"/></ssd:Connection>"                                     \
  "<ssd:Connection startConnector=\"gain\" endElement=\"a\" endConnector=\"k\"/>"                 \
  "<ssd:Connection startConnector=\"y\" endElement=\"a\" endConnector=\"y\"/>"                    \
  "</ssd:Connections></ssd:System>\n"

static void values_pass_connectors_of_systems(void** state) {
  (void)state;
  write_text("through.ssd", THROUGH(PLANT, BLOCK("z")));
  ssp_run r = {.path = "through.ssd"};
  const char* const* names =
      NAMES("plant.a.u", "plant.a.y", "z.u", "out", "plant.y", "T", "plant.level", "plant.a.k");
  run_ssp(&r, names);
  CHECK_NEAR(r.values[0], 2 * 283.15, 1e-10);  // in K, then twice
  CHECK_NEAR(r.values[1], 3 * 2 * 283.15, 1e-9);
  CHECK_NEAR(r.values[2], 3 * 2 * 283.15, 1e-9);
  CHECK_NEAR(r.values[3], 3e3 * 2 * 283.15, 1e-6);
  CHECK_NEAR(r.values[4], 3 * 2 * 283.15, 1e-9);
  CHECK_NEAR(r.values[5], 10, 0);
  CHECK_NEAR(r.values[6], 10, 0);
  CHECK_NEAR(r.values[7], 3, 0);
  // parameters of systems can be set, also by names that begin with the root's
  r.starts[0] = (cpl_start){"root.k", "5"};
  r.starts[1] = (cpl_start){"T", "300 K"};
  run_ssp(&r, names);
  CHECK_NEAR(r.values[7], 5, 0);
  CHECK_NEAR(r.values[0], 600, 1e-10);
}

static void the_order_of_elements_is_irrelevant(void** state) {
  (void)state;
  const char* const* names = NAMES("plant.a.s", "out", "z.s");
  ssp_run a = {.path = "order1.ssd"}, b = {.path = "order2.ssd"};
  write_text(a.path, THROUGH(PLANT, BLOCK("z")));
  write_text(b.path, THROUGH(BLOCK("z"), PLANT));
  run_ssp(&a, names);
  run_ssp(&b, names);
  CHECK(memcmp(a.values, b.values, 3 * sizeof(double)) == 0);
  CHECK(a.values[2] > 100);
}

// Without a value the components keep their own.
static void undriven_connectors_keep_start_values(void** state) {
  (void)state;
  write_text("undriven.ssd",
             SSD_BEGIN "<ssd:System name=\"root\"><ssd:Connectors>" CONNECTOR("in", "input", REAL)
                 CONNECTOR("k", "parameter", REAL) CONNECTOR("i", "parameter", "<ssc:Integer/>")
             "</ssd:Connectors><ssd:Elements>" BLOCK_WITH("a", BIND(NUMBER("u", "6")))
             "</ssd:Elements><ssd:Connections>"
             "<ssd:Connection startConnector=\"in\" endElement=\"a\" endConnector=\"u\"/>"
             "<ssd:Connection startConnector=\"k\" endElement=\"a\" endConnector=\"k\"/>"
             "</ssd:Connections></ssd:System>" SPEEDS EXPERIMENT SSD_END);
  ssp_run r = {.path = "undriven.ssd"};
  run_ssp(&r, NAMES("a.u", "a.k", "a.y", "in"));
  CHECK_NEAR(r.values[0], 6, 0);
  CHECK_NEAR(r.values[1], 2, 0);
  CHECK_NEAR(r.values[2], 12, 0);
  CHECK_NEAR(r.values[3], 6, 0);
}

//------------------------------------ dictionaries ------------------------------------

// A signal is written in one system and read in another one and in the root.
static void dictionaries_join_systems(void** state) {
  (void)state;
#define REFERENCE(kind)                                                                            \
  "<ssd:SignalDictionaryReference name=\"bus\" dictionary=\"signals\"><ssd:Connectors>" CONNECTOR( \
      "temp", kind, REAL) "</ssd:Connectors></ssd:SignalDictionaryReference>\n"
  write_text("bus.ssb",
             "<?xml version=\"1.0\"?><ssb:SignalDictionary version=\"2.0\" "
             "xmlns:ssc=\"http://ssp-standard.org/SSP1/SystemStructureCommon\" "
             "xmlns:ssb=\"http://ssp-standard.org/SSP1/SystemStructureSignalDictionary\">"
             "<ssb:DictionaryEntry name=\"temp\"><ssc:Real unit=\"celsius\"/></ssb:DictionaryEntry>"
             "<ssb:Units><ssc:Unit name=\"celsius\"><ssc:BaseUnit K=\"1\" offset=\"273.15\"/>"
             "</ssc:Unit></ssb:Units></ssb:SignalDictionary>");
  write_text(
      "bus.ssd",
      SSD_BEGIN
      "<ssd:System name=\"root\"><ssd:Elements>"
      "<ssd:System name=\"writer\"><ssd:Elements>" BLOCK_WITH("a", BIND(NUMBER("u", "150")))
          REFERENCE("inout") "</ssd:Elements><ssd:Connections>" CONNECT("bus", "temp", "a", "y",
                                                                        "/>")
      "</ssd:Connections></ssd:System>\n"
      "<ssd:System name=\"reader\"><ssd:Connectors>" CONNECTOR("T", "output", REAL)
      "</ssd:Connectors><ssd:Elements>" BLOCK("b") REFERENCE("output")
      "</ssd:Elements><ssd:Connections>" CONNECT("b", "u", "bus", "temp", "/>")
      "<ssd:Connection startElement=\"bus\" startConnector=\"temp\" endConnector=\"T\"/>"
      "</ssd:Connections></ssd:System></ssd:Elements>"
      "<ssd:SignalDictionaries><ssd:SignalDictionary name=\"signals\" source=\"bus.ssb\"/>"
      "</ssd:SignalDictionaries></ssd:System>" SPEEDS EXPERIMENT SSD_END);
  ssp_run r = {.path = "bus.ssd"};
  run_ssp(&r, NAMES("reader.b.u", "reader.T"));
  CHECK_NEAR(r.values[0], 300, 1e-10);
  CHECK_NEAR(r.values[1], 26.85, 1e-10);
}

// The reference on the other side gets the value from a free input of the whole.
static void two_writers_of_a_signal(void** state) {
  (void)state;
  refuse_ssp(SSD_BEGIN
             "<ssd:System name=\"root\"><ssd:Elements>" BLOCK("a") BLOCK("b")
                 REFERENCE("input") "</ssd:Elements><ssd:Connections>"
             CONNECT("bus", "temp", "a", "y", "/>\n") CONNECT("bus", "temp", "b", "y", "/>")
             "</ssd:Connections><ssd:SignalDictionaries><ssd:SignalDictionary name=\"signals\">"
             "<ssb:SignalDictionary version=\"2.0\"><ssb:DictionaryEntry name=\"temp\"><ssc:Real/>"
             "</ssb:DictionaryEntry></ssb:SignalDictionary></ssd:SignalDictionary>"
             "</ssd:SignalDictionaries></ssd:System>" SPEEDS EXPERIMENT SSD_END,
             "bus.temp has two sources, a.y and b.y", "refused.ssd:3");
}

//------------------------------------ arrays ------------------------------------

#define ARRAY(size) REAL "<ssc:Dimension size=\"" size "\"/>"
#define ARRAY_BLOCK(name)                                                         \
  "<ssd:Component name=\"" name                                                   \
  "\" source=\"block3.fmu\"><ssd:Connectors>" CONNECTOR("v", "input", ARRAY("3")) \
      CONNECTOR("w", "output", ARRAY("3")) "</ssd:Connectors></ssd:Component>\n"

// As a whole, elements in another order, and through a connector that is put together.
static void arrays_and_their_elements(void** state) {
  (void)state;
  write_text("arrays.ssd",
             SSD_BEGIN "<ssd:System name=\"root\"><ssd:Connectors>" CONNECTOR("in", "input",
                                                                            ARRAY("3"))
                 CONNECTOR("out", "output", ARRAY("3")) "</ssd:Connectors>" BIND(VALUE(
                     "in", "<ssv:Real value=\"10 20 30\"/><ssc:Dimension size=\"3\"/>"))
             "<ssd:Elements>" ARRAY_BLOCK("a") ARRAY_BLOCK("b") ARRAY_BLOCK("c")
             "</ssd:Elements><ssd:Connections>"
             "<ssd:Connection startConnector=\"in\" endElement=\"a\" endConnector=\"v\"/>"
             CONNECT("a", "w", "b", "v", "/>")
             CONNECT("b", "w", "c", "v", " startIndices=\"3\" endIndices=\"1\"/>")
             CONNECT("b", "w", "c", "v", " startIndices=\"1\" endIndices=\"3\"/>")
             "<ssd:Connection startElement=\"c\" startConnector=\"w\" endConnector=\"out\"/>"
             "</ssd:Connections></ssd:System>" EXPERIMENT SSD_END);
  ssp_run r = {.path = "arrays.ssd"};
  run_ssp(&r, NAMES("in[2]", "b.v[2]", "c.v[1]", "c.v[2]", "c.v[3]", "out[1]", "out[3]"));
  const double expected[] = {20, 40, 120, 0, 40, 240, 80};
  for (int i = 0; i < 7; i++) CHECK_NEAR(r.values[i], expected[i], 0);
}

//------------------------------------ names ------------------------------------

static void names_with_blanks_dots_and_brackets(void** state) {
  (void)state;
  write_text("names.ssd", SSD_BEGIN
             "<ssd:System name=\"root\"><ssd:Elements>" BLOCK("left.front wheel [1]") BLOCK_WITH(
                 "b", BIND(NUMBER(
                          "my par[1].x",
                          "11"))) "</ssd:Elements><ssd:Connections>" CONNECT("left.front wheel [1]",
                                                                             "yn", "b", "n",
                                                                             ">" ENTRIES
                                                                             "</ssd:Connection>")
                 CONNECT("b", "y", "left.front wheel [1]", "u",
                         "/>") "</ssd:Connections></ssd:System>" SPEEDS EXPERIMENT SSD_END);
  ssp_run r = {.path = "names.ssd", .starts = {{"left.front wheel [1].n", "4"}}};
  run_ssp(&r, NAMES("b.n", "left.front wheel [1].u", "b.my par[1].x"));
  CHECK_NEAR(r.values[0], -5, 0);
  CHECK_NEAR(r.values[1], 2, 0);
  CHECK_NEAR(r.values[2], 11, 0);
}

static void two_elements_of_one_name(void** state) {
  (void)state;
  refuse_ssp(SSD_BEGIN "<ssd:System name=\"root\"><ssd:Elements>" BLOCK("p.a")
             "<ssd:System name=\"p\"><ssd:Elements>" BLOCK("a")
             "</ssd:Elements></ssd:System></ssd:Elements></ssd:System>" SPEEDS EXPERIMENT SSD_END,
             "\"p.a\" stands twice", "first at refused.ssd:");
  refuse_ssp(SSD_BEGIN "<ssd:System name=\"root\"><ssd:Elements>" BLOCK("p")
                 BLOCK("p.a") "</ssd:Elements></ssd:System>" SPEEDS EXPERIMENT SSD_END,
             "names of variables of \"p.a\" and of \"p\"", "could be the same");
}

//------------------------------------ refused ------------------------------------

static void wrong_connections_are_refused(void** state) {
  (void)state;
#define SYSTEM(elements, connections)                           \
  SSD_BEGIN "<ssd:System name=\"root\"><ssd:Elements>" elements \
            "</ssd:Elements><ssd:Connections>" connections      \
            "</ssd:Connections></ssd:System>" SPEEDS EXPERIMENT SSD_END
  refuse_ssp(SYSTEM(BLOCK("a") BLOCK("b"),
                    CONNECT("a", "y", "b", "u", "/>") CONNECT("b", "u", "b", "s", "/>")),
             "b.u has two sources, a.y and b.s", "the first connection is at refused.ssd");
  refuse_ssp(SYSTEM(BLOCK("a") BLOCK("b"), CONNECT("a", "y", "b", "y", "/>")), "both are sources",
             "a.y (output) and b.y (output)");
  refuse_ssp(SYSTEM(BLOCK("a") BLOCK("b"), CONNECT("a", "u", "b", "u", "/>")), "both need a source",
             "declared at refused.ssd:");
  refuse_ssp(
      SYSTEM("<ssd:System name=\"p\"><ssd:Connectors>" CONNECTOR("in", "input", REAL) CONNECTOR(
                 "out", "output",
                 REAL) "</ssd:Connectors><ssd:Connections><ssd:Connection startConnector=\"in\" "
                       "endConnector=\"out\"/></ssd:Connections></ssd:System>" BLOCK("a"),
             CONNECT("p", "out", "p", "in", "/>") CONNECT("p", "out", "a", "u", "/>")),
      "connected in a circle", "a.u");
  refuse_ssp(SYSTEM(BLOCK("a") BLOCK("b"),
                    CONNECT("a", "yn", "b", "n",
                            "><ssc:LinearTransformation factor=\"2\"/></ssd:Connection>")),
             "", "");
  refuse_ssp(TWO(REAL_IN("K"), REAL_IN("m"), "/>"), "refused.ssd:", "K");
}

static void components_that_cannot_run(void** state) {
  (void)state;
#define ONE(attributes) SYSTEM("<ssd:Component name=\"a\" " attributes "/>", "")
  refuse_ssp(ONE("source=\"x.mo\" type=\"text/x-modelica; path=A.B\""), "Modelica", "export");
  refuse_ssp(ONE("source=\"block.fmu\" implementation=\"ScheduledExecution\""),
             "there is no scheduled execution in it", "refused.ssd:8");
}

// An architecture without implementations: outputs keep their values.
static void components_without_source(void** state) {
  (void)state;
  write_text(
      "empty.ssd",
      SYSTEM("<ssd:Component name=\"a\"><ssd:Connectors>" CONNECTOR(
                 "y", "output",
                 REAL) "</ssd:Connectors>" BIND(NUMBER("y", "2.5")) "</ssd:Component>" BLOCK("b"),
             CONNECT("a", "y", "b", "u", "/>")));
  ssp_run r = {.path = "empty.ssd"};
  run_ssp(&r, NAMES("b.u"));
  CHECK_NEAR(r.values[0], 2.5, 0);
  CHECK_CONTAINS(r.log, "component a has no source");
}

// The state of both follows u = 1: s = 2*(1 - exp(-1)), to the tolerance.
static void implementations(void** state) {
  (void)state;
  const char* const kinds[] = {"ModelExchange", "CoSimulation", "any"};
  for (int i = 0; i < 3; i++) {
    char text[4096];
    snprintf(text, sizeof text, "%s%s%s",
             SSD_BEGIN
             "<ssd:System name=\"root\"><ssd:Elements>"
             "<ssd:Component name=\"a\" source=\"block.fmu\" implementation=\"",
             kinds[i], "\"/></ssd:Elements></ssd:System>" EXPERIMENT SSD_END);
    write_text("kind.ssd", text);
    ssp_run r = {.path = "kind.ssd"};
    run_ssp(&r, NAMES("a.s"));
    CHECK_NEAR(r.values[0], 2 * (1 - exp(-1)), 1e-4);
    CHECK_NEAR(r.stop, 1, 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(units_are_converted),
      cmocka_unit_test(linear_transformations_come_after_units),
      cmocka_unit_test(maps_work_in_models_and_steppers),
      cmocka_unit_test(long_maps),
      cmocka_unit_test(values_pass_connectors_of_systems),
      cmocka_unit_test(the_order_of_elements_is_irrelevant),
      cmocka_unit_test(undriven_connectors_keep_start_values),
      cmocka_unit_test(dictionaries_join_systems),
      cmocka_unit_test(two_writers_of_a_signal),
      cmocka_unit_test(arrays_and_their_elements),
      cmocka_unit_test(names_with_blanks_dots_and_brackets),
      cmocka_unit_test(two_elements_of_one_name),
      cmocka_unit_test(wrong_connections_are_refused),
      cmocka_unit_test(components_that_cannot_run),
      cmocka_unit_test(components_without_source),
      cmocka_unit_test(implementations),
  };
  return cmocka_run_group_tests(tests, make_block, NULL);
}
