// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// What names mean is a matter of the file they stand in: items of Enumerations and units. And maps
// of values on their way to parameters.
#include "ssp_packages.h"

#define ENUMERATION(name, slow, fast, halt)                                               \
  "<ssc:Enumeration name=\"" name "\"><ssc:Item name=\"slow\" value=\"" slow              \
  "\"/><ssc:Item name=\"fast\" value=\"" fast "\"/><ssc:Item name=\"halt\" value=\"" halt \
  "\"/></ssc:Enumeration>"
#define ITEMS(...)    "<ssd:Enumerations>" __VA_ARGS__ "</ssd:Enumerations>\n"
#define TYPE_OF(name) "<ssc:Enumeration name=\"" name "\"/>"
#define INTO(ac, b, bc) \
  "<ssd:Connection startConnector=\"" ac "\" endElement=\"" b "\" endConnector=\"" bc "\">"
#define MAP(kind, ...) \
  "<ssc:" kind "MappingTransformation>" __VA_ARGS__ "</ssc:" kind "MappingTransformation>"
#define ENTRY(from, to)  "<ssc:MapEntry source=\"" from "\" target=\"" to "\"/>"
#define CONNECTED        "</ssd:Connection>\n"
#define CONNECTIONS(...) "<ssd:Connections>" __VA_ARGS__ "</ssd:Connections>"
#define PARAMETERS                                                               \
  "<ssd:Component name=\"a\" source=\"block.fmu\"><ssd:Connectors>" CONNECTOR(   \
      "ki", "parameter", "<ssc:Integer/>") CONNECTOR("on", "parameter", "")      \
      CONNECTOR("mode", "parameter", TYPE_OF("own")) CONNECTOR("e", "input", "") \
          CONNECTOR("b", "input", "") "</ssd:Connectors></ssd:Component>"

// The set numbers the items in its own way; that of the connector counts.
static void items_are_those_of_the_connector(void** state) {
  (void)state;
  write_text(
      "items.ssd",
      SSD_BEGIN
      "<ssd:System name=\"root\"><ssd:Connectors>" CONNECTOR("speed", "input", TYPE_OF("turned"))
          CONNECTOR("mode", "parameter", TYPE_OF("turned")) "</ssd:Connectors>"
      "<ssd:ParameterBindings><ssd:ParameterBinding><ssd:ParameterValues>"
      "<ssv:ParameterSet version=\"1.0\" name=\"p\"><ssv:Parameters>" VALUE(
          "speed", "<ssv:Enumeration value=\"halt\" name=\"other\"/>")
          VALUE("mode", "<ssv:Enumeration value=\"fast\"/>") "</ssv:Parameters>"
      "<ssv:Enumerations>" ENUMERATION("other", "3", "1", "2") "</ssv:Enumerations>"
      "</ssv:ParameterSet></ssd:ParameterValues></ssd:ParameterBinding></ssd:ParameterBindings>"
      "<ssd:Elements>" PARAMETERS "</ssd:Elements>" CONNECTIONS(
          INTO("speed", "a", "e") CONNECTED INTO("mode", "a", "mode") CONNECTED) "</ssd:System>"
      ITEMS(ENUMERATION("turned", "2", "3", "1") ENUMERATION("own", "1", "2", "3"))
          EXPERIMENT SSD_END);
  ssp_run r = {.path = "items.ssd"};
  run_ssp(&r, NAMES("a.e", "a.mode"));
  CHECK_NEAR(r.values[0], 1, 0);
  CHECK_NEAR(r.values[1], 3, 0);
}

// Two files with an enumeration of one name; the map stands in the inner one.
static void enumerations_are_those_of_the_file(void** state) {
  (void)state;
  write_text("inner.ssd",
             SSD_BEGIN "<ssd:System name=\"inner\"><ssd:Connectors>" CONNECTOR(
                 "speed", "input", TYPE_OF("own")) "</ssd:Connectors><ssd:Elements>"
             "<ssd:Component name=\"a\" source=\"block.fmu\"><ssd:Connectors>" CONNECTOR(
                 "e", "input", TYPE_OF("own")) "</ssd:Connectors></ssd:Component></ssd:Elements>"
             CONNECTIONS(INTO("speed", "a", "e")
                             MAP("Enumeration", ENTRY("slow", "halt") ENTRY("fast", "slow")) CONNECTED)
             "</ssd:System>" ITEMS(ENUMERATION("own", "1", "2", "3")) EXPERIMENT SSD_END);
  write_text("outer.ssd",
             SSD_BEGIN "<ssd:System name=\"outer\">" BIND(
                 VALUE("p.speed", "<ssv:Enumeration value=\"fast\"/>")) "<ssd:Elements>"
             "<ssd:Component name=\"p\" source=\"inner.ssd\" "
             "type=\"application/x-ssp-definition\"><ssd:Connectors>" CONNECTOR(
                 "speed", "input", TYPE_OF("own")) "</ssd:Connectors></ssd:Component></ssd:Elements>"
             "</ssd:System>" ITEMS(ENUMERATION("own", "3", "1", "2")) EXPERIMENT SSD_END);
  ssp_run r = {.path = "outer.ssd"};
  run_ssp(&r, NAMES("p.a.e"));
  CHECK_NEAR(r.values[0], 1, 0);
}

// The type of a connector without one follows from the map; a parameter passes several maps.
static void maps_of_values(void** state) {
  (void)state;
  write_text(
      "maps.ssd",
      SSD_BEGIN "<ssd:System name=\"root\"><ssd:Connectors>" CONNECTOR("yes", "input", "") CONNECTOR(
          "n", "parameter", "<ssc:Integer/>") "</ssd:Connectors>" BIND(VALUE("yes", "<ssv:Boolean value=\"true\"/>")
                                                    VALUE("n", "<ssv:Integer value=\"4\"/>"))
      "<ssd:Elements><ssd:System name=\"p\"><ssd:Connectors>" CONNECTOR(
          "n", "parameter", "<ssc:Integer/>") CONNECTOR("yes", "input", "") "</ssd:Connectors>"
      "<ssd:Elements>" PARAMETERS "</ssd:Elements>" CONNECTIONS(
          INTO("n", "a", "ki") MAP("Integer", ENTRY("4", "1") ENTRY("9", "11")) CONNECTED
              INTO("yes", "a", "b") CONNECTED) "</ssd:System></ssd:Elements>"
      CONNECTIONS(INTO("n", "p", "n") MAP("Integer", ENTRY("4", "9")) CONNECTED INTO("yes", "p", "yes")
                      MAP("Boolean", ENTRY("true", "false") ENTRY("false", "true")) CONNECTED)
      "</ssd:System>" ITEMS(ENUMERATION("own", "1", "2", "3")) EXPERIMENT SSD_END);
  ssp_run r = {.path = "maps.ssd"};
  run_ssp(&r, NAMES("p.a.ki", "p.a.b"));
  CHECK_NEAR(r.values[0], 11, 0);
  CHECK_NEAR(r.values[1], 0, 0);
}

// An expression of the start values, not of comparisons that are all false: 0 is no item.
static void a_map_of_items_at_the_start(void** state) {
  (void)state;
  write_text("start.ssd",
             SSD_BEGIN "<ssd:System name=\"root\"><ssd:Connectors>" CONNECTOR(
                 "speed", "input", TYPE_OF("own")) "</ssd:Connectors>" BIND(
                 VALUE("speed", "<ssv:Enumeration value=\"halt\"/>")) "<ssd:Elements>" PARAMETERS
             "</ssd:Elements>" CONNECTIONS(INTO("speed", "a", "e")
                                               MAP("Integer", ENTRY("1", "2")) CONNECTED)
             "</ssd:System>" ITEMS(ENUMERATION("own", "1", "2", "3")) EXPERIMENT SSD_END);
  ssp_run r = {.path = "start.ssd"};
  run_ssp(&r, NAMES("a.e"));
  CHECK_NEAR(r.values[0], 3, 0);
}

#define TWO_KELVINS                                                        \
  "<ssd:Units><ssc:Unit name=\"K\"><ssc:BaseUnit K=\"1\" factor=\"0.25\" " \
  "offset=\"8\"/></ssc:Unit>"                                              \
  "</ssd:Units>\n"

// A unit of the file that has the name of another one of the FMU.
static void units_are_those_of_the_file(void** state) {
  (void)state;
  write_text(
      "units.ssd",
      SSD_BEGIN "<ssd:System name=\"root\"><ssd:Connectors>" CONNECTOR("T", "input", REAL_IN("K"))
          CONNECTOR("y", "output", REAL_IN("K")) CONNECTOR("free", "input", REAL) "</ssd:Connectors>"
      "<ssd:ParameterBindings>" SET(NUMBER("T", "12"))
      "<ssd:ParameterBinding><ssd:ParameterValues><ssv:ParameterSet version=\"1.0\" name=\"p\">"
      "<ssv:Parameters>" VALUE("free", "<ssv:Real value=\"3\" unit=\"K\"/>") "</ssv:Parameters>"
      "<ssv:Units><ssc:Unit name=\"K\"><ssc:BaseUnit K=\"1\" factor=\"5\"/></ssc:Unit></ssv:Units>"
      "</ssv:ParameterSet></ssd:ParameterValues></ssd:ParameterBinding></ssd:ParameterBindings>"
      "<ssd:Elements>" BLOCK("a") BLOCK("b") "</ssd:Elements>" CONNECTIONS(
          INTO("T", "a", "u") CONNECTED INTO("free", "b", "u") CONNECTED
          "<ssd:Connection startElement=\"a\" startConnector=\"y\" endConnector=\"y\"/>")
      "</ssd:System>" SPEEDS TWO_KELVINS EXPERIMENT SSD_END);
  ssp_run r = {.path = "units.ssd"};
  run_ssp(&r, NAMES("a.u", "a.y", "y", "b.u"));
  const double expected[] = {11, 22, 56, 15};
  for (int i = 0; i < 4; i++) CHECK_NEAR(r.values[i], expected[i], 1e-12);
}

// An output of a component that nothing inside gives, with other units outside.
static void an_output_without_a_source(void** state) {
  (void)state;
  write_text("empty.ssd",
             SSD_BEGIN "<ssd:System name=\"empty\"><ssd:Connectors>" CONNECTOR(
                 "T", "output",
                 REAL_IN("celsius")) "</ssd:Connectors></ssd:System>" UNITS EXPERIMENT SSD_END);
  write_text("around.ssd",
             SSD_BEGIN "<ssd:System name=\"root\">" BIND(NUMBER("p.T", "26.85"))
             "<ssd:Elements>" BLOCK("a") "<ssd:Component name=\"p\" source=\"empty.ssd\" "
             "type=\"application/x-ssp-definition\"><ssd:Connectors>" CONNECTOR(
                 "T", "output", REAL_IN("mK")) "</ssd:Connectors></ssd:Component></ssd:Elements>"
             CONNECTIONS(CONNECT("a", "u", "p", "T", ">") CONNECTED) "</ssd:System>" SPEEDS UNITS
                 EXPERIMENT SSD_END);
  ssp_run r = {.path = "around.ssd"};
  run_ssp(&r, NAMES("a.u", "p.T"));
  CHECK_NEAR(r.values[0], 300, 1e-10);
  CHECK_NEAR(r.values[1], 26.85, 1e-12);
}

#define TWO_TARGETS(binding, more)                                                     \
  SSD_BEGIN "<ssd:System name=\"root\"><ssd:Connectors>" CONNECTOR("T", "input", REAL) \
      CONNECTOR("n", "input", "<ssc:Integer/>") "</ssd:Connectors>" BIND(              \
          binding) "<ssd:Elements>" BLOCK("a") BLOCK("b") more                         \
      "</ssd:Elements>" CONNECTIONS(INTO("T", "a", "u") CONNECTED INTO("T", "b", "u")  \
                                        CONNECTED) "</ssd:System>" SPEEDS EXPERIMENT SSD_END

// Without a value the start values of the targets count; they cannot all do so where they differ.
static void connectors_without_a_value(void** state) {
  (void)state;
  ssp_run r = {.path = "targets.ssd"};
  write_text(r.path, TWO_TARGETS(NUMBER("a.u", "6") NUMBER("b.u", "6"), ""));
  run_ssp(&r, NAMES("a.u", "b.u"));
  CHECK_NEAR(r.values[0], 6, 0);
  CHECK_NEAR(r.values[1], 6, 0);
  CHECK_STR(r.log, "");
  write_text(r.path, TWO_TARGETS(NUMBER("b.u", "6"), ""));
  run_ssp(&r, NAMES("a.u", "b.u"));
  CHECK_CONTAINS(r.log,
                 "T has no value: unless it is given one it is 1, by the start value of a.u");
  CHECK_CONTAINS(r.log, "not its own start value 6");
  r.starts[0] = (cpl_start){"T", "9"};
  run_ssp(&r, NAMES("a.u", "b.u"));
  CHECK_NEAR(r.values[1], 9, 0);
}

// A map cannot be reversed: inside of a system the target keeps its start value.
static void maps_without_a_value(void** state) {
  (void)state;
  write_text("unmapped.ssd",
             SSD_BEGIN "<ssd:System name=\"root\"><ssd:Connectors>" CONNECTOR(
                 "speed", "input", TYPE_OF("speed")) "</ssd:Connectors><ssd:Elements>" BLOCK("a")
             "<ssd:System name=\"p\"><ssd:Connectors>" CONNECTOR("speed", "input", TYPE_OF("speed"))
             "</ssd:Connectors><ssd:Elements>" BLOCK_WITH("a", BIND(VALUE("e", "<ssv:Enumeration value=\"fast\"/>")))
             "</ssd:Elements>" CONNECTIONS(INTO("speed", "a", "e") MAP("Integer", ENTRY("1", "3"))
                                               CONNECTED) "</ssd:System></ssd:Elements>"
             CONNECTIONS(INTO("speed", "a", "e") MAP("Integer", ENTRY("0", "3")) CONNECTED)
             "</ssd:System>" SPEEDS EXPERIMENT SSD_END);
  ssp_run r = {.path = "unmapped.ssd"};
  run_ssp(&r, NAMES("p.a.e", "a.e"));
  CHECK_NEAR(r.values[0], 2, 0);
  CHECK_NEAR(r.values[1], 3, 0);
  CHECK_CONTAINS(r.log, "speed has neither a source nor a value: it is 0");
}

static void a_factor_of_zero(void** state) {
  (void)state;
#define CONSTANT(unit) \
  SSD_BEGIN "<ssd:System name=\"root\"><ssd:Connectors>" CONNECTOR("T", "input", REAL_IN("K"))    \
      "</ssd:Connectors><ssd:Elements><ssd:System name=\"p\"><ssd:Connectors>" CONNECTOR(          \
          "T", "input", REAL_IN("celsius")) "</ssd:Connectors><ssd:Elements>"                      \
      "<ssd:Component name=\"a\" source=\"block.fmu\"><ssd:Connectors>" CONNECTOR("u", "input",     \
                                                                                unit)             \
      "</ssd:Connectors></ssd:Component></ssd:Elements>" CONNECTIONS(INTO("T", "a", "u") CONNECTED) \
      "</ssd:System></ssd:Elements>" CONNECTIONS(                                                 \
          INTO("T", "p", "T") "<ssc:LinearTransformation factor=\"0\" offset=\"26.85\"/>" CONNECTED) \
      "</ssd:System>" UNITS EXPERIMENT SSD_END
  write_text("zero.ssd", CONSTANT(REAL_IN("K")));
  ssp_run r = {.path = "zero.ssd"};
  run_ssp(&r, NAMES("p.a.u"));
  CHECK_NEAR(r.values[0], 300, 1e-10);
  refuse_ssp(CONSTANT(REAL), "a factor 0 gives is in celsius", "p.a.u");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(items_are_those_of_the_connector),
      cmocka_unit_test(enumerations_are_those_of_the_file),
      cmocka_unit_test(maps_of_values),
      cmocka_unit_test(a_map_of_items_at_the_start),
      cmocka_unit_test(units_are_those_of_the_file),
      cmocka_unit_test(an_output_without_a_source),
      cmocka_unit_test(connectors_without_a_value),
      cmocka_unit_test(maps_without_a_value),
      cmocka_unit_test(a_factor_of_zero),
  };
  return cmocka_run_group_tests(tests, make_block, NULL);
}
