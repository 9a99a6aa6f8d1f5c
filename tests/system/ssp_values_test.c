// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Parameter bindings of SSP packages: names, precedence, mappings, types; nested packages,
// variants.
#include <unistd.h>

#include "ssp_packages.h"
#include "system/definition.h"

#define SSV(values, more)                                                             \
  "<?xml version=\"1.0\"?><ssv:ParameterSet version=\"1.0\" name=\"set\" "            \
  "xmlns:ssc=\"http://ssp-standard.org/SSP1/SystemStructureCommon\" "                 \
  "xmlns:ssv=\"http://ssp-standard.org/SSP1/"                                         \
  "SystemStructureParameterValues\"><ssv:Parameters>" values "</ssv:Parameters>" more \
  "</ssv:ParameterSet>\n"
#define SSM(entries)                                                                    \
  "<?xml version=\"1.0\"?><ssm:ParameterMapping version=\"1.0\" "                       \
  "xmlns:ssc=\"http://ssp-standard.org/SSP1/SystemStructureCommon\" "                   \
  "xmlns:ssm=\"http://ssp-standard.org/SSP1/SystemStructureParameterMapping\">" entries \
  "</ssm:ParameterMapping>\n"
#define ROOT(bindings, elements)                                            \
  SSD_BEGIN "<ssd:System name=\"root\">" bindings "<ssd:Elements>" elements \
            "</ssd:Elements></ssd:System>" SPEEDS EXPERIMENT SSD_END
#define INNER(name, bindings, elements)                               \
  "<ssd:System name=\"" name "\">" bindings "<ssd:Elements>" elements \
  "</ssd:Elements></ssd:System>\n"

static void outer_and_later_bindings_count(void** state) {
  (void)state;
  write_text("order.ssd",
             ROOT(BIND(NUMBER("p.a.c", "7") NUMBER("nothing.here", "1")),
                  INNER("p",
                        "<ssd:ParameterBindings>" SET(NUMBER("a.k", "4") NUMBER("a.u", "4"))
                            SET(NUMBER("a.u", "5")) "</ssd:ParameterBindings>",
                        BLOCK_WITH("a", BIND(NUMBER("k", "3") NUMBER("c", "3") NUMBER("u", "3")
                                                 NUMBER("ki", "9"))))));
  ssp_run r = {.path = "order.ssd"};
  const char* const* names = NAMES("p.a.k", "p.a.u", "p.a.c", "p.a.ki", "p.a.y");
  run_ssp(&r, names);
  const double expected[] = {4, 5, 7, 9, 27};
  for (int i = 0; i < 5; i++) CHECK_NEAR(r.values[i], expected[i], 0);
  // a file of the user, and above all --set
  write_text("extra.ssv", SSV(NUMBER("p.a.k", "10") NUMBER("p.a.u", "10"), ""));
  r.parameters = "extra.ssv";
  r.starts[0] = (cpl_start){"root.p.a.u", "20"};
  run_ssp(&r, names);
  CHECK_NEAR(r.values[0], 10, 0);
  CHECK_NEAR(r.values[1], 20, 0);
  CHECK_NEAR(r.values[2], 7, 0);
}

static void prefixes_mappings_and_units(void** state) {
  (void)state;
  write_text("heat.ssv",
             SSV(VALUE("T", "<ssv:Real value=\"26.85\" unit=\"grad\"/>") NUMBER("raw", "5")
                     VALUE("count", "<ssv:Integer value=\"2\"/>"),
                 "<ssv:Units><ssc:Unit name=\"grad\"><ssc:BaseUnit K=\"1\" offset=\"273.15\"/>"
                 "</ssc:Unit></ssv:Units>"));
  write_text("heat.ssm",
             SSM("<ssm:MappingEntry source=\"T\" target=\"a.u\"/>"
                 "<ssm:MappingEntry source=\"T\" target=\"b.u\">"
                 "<ssc:LinearTransformation factor=\"2\" offset=\"1\"/></ssm:MappingEntry>"
                 "<ssm:MappingEntry source=\"T\" target=\"a.c\" suppressUnitConversion=\"true\">"
                 "<ssc:LinearTransformation factor=\"10\"/></ssm:MappingEntry>"
                 "<ssm:MappingEntry source=\"count\" target=\"b.ki\">"
                 "<ssc:IntegerMappingTransformation><ssc:MapEntry source=\"2\" target=\"6\"/>"
                 "</ssc:IntegerMappingTransformation></ssm:MappingEntry>"));
  write_text("heat.ssd", ROOT("<ssd:ParameterBindings><ssd:ParameterBinding source=\"heat.ssv\">"
                              "<ssd:ParameterMapping source=\"heat.ssm\"/></ssd:ParameterBinding>\n"
                              "<ssd:ParameterBinding prefix=\"b.\" source=\"small.ssv\"/>"
                              "</ssd:ParameterBindings>",
                              BLOCK("a") BLOCK("b")));
  write_text("small.ssv", SSV(NUMBER("k", "8") NUMBER("raw", "3"), ""));
  ssp_run r = {.path = "heat.ssd"};
  run_ssp(&r, NAMES("a.u", "b.u", "a.c", "b.ki", "b.k", "a.k"));
  const double expected[] = {300, 601, 268.5, 6, 8, 2};
  for (int i = 0; i < 6; i++) CHECK_NEAR(r.values[i], expected[i], 1e-12 * expected[i]);
}

static void all_types(void** state) {
  (void)state;
  write_text("types.ssd",
             SSD_BEGIN "<ssd:System name=\"root\"><ssd:Connectors>" CONNECTOR(
                 "on", "parameter", "<ssc:Boolean/>") CONNECTOR("text", "parameter",
                                                                "<ssc:String/>")
             "</ssd:Connectors>" BIND(VALUE("on", "<ssv:Boolean value=\"true\"/>") VALUE(
                 "text", "<ssv:String value=\"a, 'b'\"/>")) "<ssd:Elements>"
             "<ssd:Component name=\"a\" source=\"block3.fmu\"><ssd:Connectors>" CONNECTOR(
                 "on", "parameter", "<ssc:Boolean/>") CONNECTOR("label", "parameter",
                                                                "<ssc:String/>")
             "</ssd:Connectors>" BIND(
                 VALUE("ki", "<ssv:Integer value=\"-4\"/>")
                 VALUE("mode", "<ssv:Enumeration value=\"halt\" name=\"speed\"/>")
                 VALUE("b", "<ssv:Boolean value=\"1\"/>")
                 VALUE("a", "<ssv:Real value=\"1.5 2.5 3.5\"/><ssc:Dimension size=\"3\"/>"))
             "</ssd:Component></ssd:Elements><ssd:Connections>"
             "<ssd:Connection startConnector=\"on\" endElement=\"a\" endConnector=\"on\"/>"
             "<ssd:Connection startConnector=\"text\" endElement=\"a\" endConnector=\"label\"/>"
             "</ssd:Connections></ssd:System>" SPEEDS EXPERIMENT SSD_END);
  ssp_run r = {.path = "types.ssd"};
  run_ssp(&r, NAMES("a.ki", "a.mode", "a.b", "a.a[2]", "a.on", "a.yb"));
  const double expected[] = {-4, 3, 1, 2.5, 1, 0};
  for (int i = 0; i < 6; i++) CHECK_NEAR(r.values[i], expected[i], 0);
}

static void a_connection_beats_a_binding(void** state) {
  (void)state;
  write_text("beats.ssd",
             SSD_BEGIN "<ssd:System name=\"root\"><ssd:Connectors>" CONNECTOR("gain", "parameter",
                                                                            REAL)
             "</ssd:Connectors>" BIND(NUMBER("a.k", "50") NUMBER("gain", "0.5")) "<ssd:Elements>"
             BLOCK("a") "</ssd:Elements><ssd:Connections>"
             "<ssd:Connection startConnector=\"gain\" endElement=\"a\" endConnector=\"k\"/>"
             "</ssd:Connections></ssd:System>" SPEEDS EXPERIMENT SSD_END);
  ssp_run r = {.path = "beats.ssd"};
  run_ssp(&r, NAMES("a.k", "a.y", "gain"));
  CHECK_NEAR(r.values[0], 0.5, 0);
  CHECK_NEAR(r.values[1], 0.5, 0);
  CHECK_NEAR(r.values[2], 0.5, 0);
}

// Such variables cannot be told from each other: this is said, not guessed.
static void one_name_of_two_variables_is_refused(void** state) {
  (void)state;
  write_text("punned.ssd",
             SSD_BEGIN "<ssd:System name=\"root\">" BIND(NUMBER("p.q.u", "6")) "<ssd:Elements>"
             "<ssd:System name=\"p\"><ssd:Elements>" BLOCK("q") "</ssd:Elements></ssd:System>"
             "<ssd:System name=\"p.q\"><ssd:Connectors>" CONNECTOR("u", "input", REAL)
             "</ssd:Connectors><ssd:Elements>" BLOCK("z") "</ssd:Elements><ssd:Connections>"
             "<ssd:Connection startConnector=\"u\" endElement=\"z\" endConnector=\"u\"/>"
             "</ssd:Connections></ssd:System></ssd:Elements></ssd:System>" SPEEDS EXPERIMENT
                 SSD_END);
  ssp_run r = {.path = "punned.ssd"};
  const cpl_status st = try_ssp(&r, NAMES("p.q.u"));
  CHECK_INT(st, CPL_ERR_INPUT);
  CHECK_CONTAINS(r.log, "p.q");
}

//------------------------------------ packages ------------------------------------

#define NESTED(name, k) \
  SSD_BEGIN "<ssd:System name=\"" name "\"><ssd:Connectors>" CONNECTOR("in", "input", REAL)    \
      CONNECTOR("out", "output", REAL) "</ssd:Connectors>" BIND(NUMBER("a.k", k))              \
  "<ssd:Elements><ssd:Component name=\"a\" source=\"resources/block.fmu\"><ssd:Connectors>"    \
  BLOCK_CONNECTORS "</ssd:Connectors></ssd:Component></ssd:Elements><ssd:Connections>"         \
  "<ssd:Connection startConnector=\"in\" endElement=\"a\" endConnector=\"u\"/>"                \
  "<ssd:Connection startConnector=\"out\" endElement=\"a\" endConnector=\"y\"/>"               \
  "</ssd:Connections></ssd:System>" SPEEDS EXPERIMENT SSD_END

static void make_nested(const char* path) {
  size_t size;
  char* fmu = read_bytes("block.fmu", &size);
  const char* fast = NESTED("inner", "10");
  char other[8192];
  snprintf(other, sizeof other, "%s", fast);
  memcpy(strstr(other, "name=\"test\""), "name=\"fast\"", 11);
  make_archive(path, (archive_entry[]){{"SystemStructure.ssd", NESTED("inner", "5"), 0, 0, false},
                                       {"Fast.ssd", other, 0, 0, false},
                                       {"resources/block.fmu", fmu, size, 0, false},
                                       {0}});
  free(fmu);
}

static void packages_in_packages(void** state) {
  (void)state;
  make_nested("inner.ssp");
#define PACKAGE(name, source, bindings)                                                  \
  "<ssd:Component name=\"" name "\" type=\"application/x-ssp-package\" source=\"" source \
  "\"><ssd:Connectors>" CONNECTOR("in", "input", REAL)                                   \
      CONNECTOR("out", "output", REAL) "</ssd:Connectors>" bindings "</ssd:Component>\n"
  write_text("outer.ssd",
             SSD_BEGIN "<ssd:System name=\"root\"><ssd:Elements>"
             PACKAGE("one", "inner.ssp", "") PACKAGE("two", "inner.ssp#Fast.ssd", "")
             PACKAGE("three", "inner.ssp", BIND(NUMBER("a.k", "7") NUMBER("in", "2")))
             "<ssd:System name=\"twice\" id=\"pair\"><ssd:Elements>" BLOCK("a")
             "</ssd:Elements></ssd:System>"
             "<ssd:Component name=\"again\" type=\"application/x-ssp-definition\" source=\"#pair\">"
             BIND(NUMBER("a.u", "9")) "</ssd:Component></ssd:Elements><ssd:Connections>"
             CONNECT("one", "out", "two", "in", "/>") "</ssd:Connections></ssd:System>" SPEEDS
                 EXPERIMENT SSD_END);
  ssp_run r = {.path = "outer.ssd"};
  run_ssp(&r, NAMES("one.a.y", "two.a.y", "three.a.y", "twice.a.y", "again.a.y", "two.out"));
  const double expected[] = {5, 50, 14, 2, 18, 50};
  for (int i = 0; i < 6; i++) CHECK_NEAR(r.values[i], expected[i], 1e-12);
}

// The connectors of a component have other units than those inside of it.
static void units_at_both_sides_of_a_component(void** state) {
  (void)state;
#define SIDES(unit) \
  CONNECTOR("in", "input", REAL_IN(unit)) CONNECTOR("out", "output", REAL_IN(unit))
#define DEFINITION(name, bindings)                          \
  "<ssd:Component name=\"" name                             \
  "\" type=\"application/x-ssp-definition\" "               \
  "source=\"inside.ssd\"><ssd:Connectors>" SIDES("celsius") \
      CONNECTOR("same", "output", REAL) "</ssd:Connectors>" bindings "</ssd:Component>\n"
  write_text("inside.ssd",
             SSD_BEGIN "<ssd:System name=\"inside\"><ssd:Connectors>" SIDES("K")
                 CONNECTOR("same", "output", REAL) "</ssd:Connectors><ssd:Elements>" BLOCK("a")
             "</ssd:Elements><ssd:Connections>"
             "<ssd:Connection startConnector=\"in\" endElement=\"a\" endConnector=\"u\"/>"
             "<ssd:Connection startConnector=\"in\" endConnector=\"same\"/>"
             "<ssd:Connection startConnector=\"out\" endElement=\"a\" endConnector=\"y\"/>"
             "</ssd:Connections></ssd:System>" UNITS SPEEDS EXPERIMENT SSD_END);
  write_text(
      "outside.ssd",
      SSD_BEGIN "<ssd:System name=\"root\"><ssd:Elements>" BLOCK_WITH("s", BIND(NUMBER("u", "150")))
          BLOCK("z") DEFINITION("p", "")
              DEFINITION("q", BIND(NUMBER("in", "20"))) "</ssd:Elements><ssd:Connections>" CONNECT(
                  "p", "in", "s", "y", "/>")
                  CONNECT("p", "out", "z", "u",
                          "/>") "</ssd:Connections></ssd:System>" UNITS SPEEDS EXPERIMENT SSD_END);
  ssp_run r = {.path = "outside.ssd"};
  run_ssp(&r, NAMES("p.in", "p.a.u", "p.out", "z.u", "q.a.u", "q.in", "p.same"));
  const double expected[] = {26.85, 300, 326.85, 600, 20, 20, 300};
  for (int i = 0; i < 7; i++) CHECK_NEAR(r.values[i], expected[i], 1e-10);
}

static void variants_are_chosen_by_name_and_file(void** state) {
  (void)state;
  make_nested("variants.ssp");
  ssp_run r = {.path = "variants.ssp"};
  run_ssp(&r, NAMES("out"));
  CHECK_NEAR(r.values[0], 5, 0);
  r.variant = "fast";
  run_ssp(&r, NAMES("out"));
  CHECK_NEAR(r.values[0], 10, 0);
  r = (ssp_run){.path = "variants.ssp#fast"};
  run_ssp(&r, NAMES("out"));
  CHECK_NEAR(r.values[0], 10, 0);
  r = (ssp_run){.path = "variants.ssp#Fast.ssd"};
  run_ssp(&r, NAMES("out"));
  CHECK_NEAR(r.values[0], 10, 0);
}

static void a_package_in_a_system_file(void** state) {
  (void)state;
  make_nested("part.ssp");
  write_text("whole.yaml",
             "couplet: 1\nmodels:\n  p: {system: part.ssp}\n  q: {system: 'part.ssp#fast'}\n"
             "inputs: {u: 1 + time}\nconnections: {p.in: u, q.in: p.out}\n"
             "experiment: {stop: 1}\n");
  ssp_run r = {.path = "whole.yaml"};
  run_ssp(&r, NAMES("q.out", "q.a.y", "p.a.k"));
  CHECK_NEAR(r.values[0], 100, 1e-9);
  CHECK_NEAR(r.values[1], 100, 1e-9);
  CHECK_NEAR(r.values[2], 5, 0);
}

// A parameter set inside of an FMU.
static void sets_inside_of_components(void** state) {
  (void)state;
  const char* set = SSV(NUMBER("k", "12"), "");
  size_t size;
  char* bytes = read_bytes("block.fmu", &size);
  write_bytes("full.fmu", bytes, size);
  free(bytes);
  int code = 0;
  zip_t* zip = zip_open("full.fmu", 0, &code);
  assert_non_null(zip);
  zip_source_t* source = zip_source_buffer(zip, set, strlen(set), 0);
  CHECK(zip_file_add(zip, "resources/own.ssv", source, ZIP_FL_ENC_UTF_8) >= 0);
  CHECK_INT(zip_close(zip), 0);
  write_text("full.ssd",
             ROOT("",
                  "<ssd:Component name=\"a\" source=\"full.fmu\"><ssd:ParameterBindings>"
                  "<ssd:ParameterBinding source=\"resources/own.ssv\" "
                  "sourceBase=\"component\"/></ssd:ParameterBindings></ssd:Component>"));
  ssp_run r = {.path = "full.ssd"};
  run_ssp(&r, NAMES("a.y"));
  CHECK_NEAR(r.values[0], 12, 0);
}

//------------------------------------ steps ------------------------------------

// Two blocks in a ring exchange values by co-simulation: s1' = 2*s2 - s1, s2' = 2*s1 - s2.
#define RING(annotations) \
  SSD_BEGIN "<ssd:System name=\"root\"><ssd:Elements>"                                             \
            "<ssd:Component name=\"a\" source=\"block.fmu\" implementation=\"CoSimulation\">"      \
            "<ssd:Connectors>" CONNECTOR("u", "input", "") CONNECTOR("s", "output", "")            \
  "</ssd:Connectors>" BIND(NUMBER("s", "1")) "</ssd:Component>"                                    \
  "<ssd:Component name=\"b\" source=\"block.fmu\" implementation=\"CoSimulation\">"                \
  "<ssd:Connectors>" CONNECTOR("u", "input", "") CONNECTOR("s", "output", "")                      \
  "</ssd:Connectors></ssd:Component></ssd:Elements><ssd:Connections>"                              \
  CONNECT("a", "s", "b", "u", "/>") CONNECT("b", "s", "a", "u", "/>")                              \
  "</ssd:Connections>" annotations "</ssd:System>" EXPERIMENT SSD_END

static double ring_error(const char* text, double step) {
  write_text("ring.ssd", text);
  ssp_run r = {.path = "ring.ssd", .step = step};
  run_ssp(&r, NAMES("a.s"));
  return fabs(r.values[0] - (exp(1) + exp(-3)) / 2);
}

static void steps_follow_hints_or_the_tolerance(void** state) {
  (void)state;
#define HINT(type, text) \
  "<ssd:Annotations><ssc:Annotation type=\"" type "\">" text "</ssc:Annotation></ssd:Annotations>"
  const char* plain = RING("");
  CHECK(ring_error(plain, 0) < 1e-4);
  const double coarse = ring_error(plain, 0.1);
  CHECK(coarse > 1e-2);
  const char* hinted =
      RING(HINT("org.openmodelica",
                "<x:Annotations xmlns:x=\"oms\"><x:FixedStepMaster stepSize=\"0.1\"/>"
                "</x:Annotations>"));
  CHECK_NEAR(ring_error(hinted, 0), coarse, 1e-12);
  CHECK(ring_error(hinted, 0.01) < 0.3 * coarse);
  CHECK_NEAR(ring_error(RING(HINT("com.opensimulationplatform",
                                  "<o:Algorithm xmlns:o=\"osp\"><o:FixedStepAlgorithm "
                                  "baseStepSize=\"0.1\"/></o:Algorithm>")),
                        0),
             coarse, 1e-12);
  CHECK(ring_error(RING(HINT("org.example", "<x xmlns=\"y\" stepSize=\"1\"/>")), 0) < 1e-4);
}

static cpl_system_def* with_hints(cpl_context* ctx, const char* on_component, const char* hints) {
  char text[4096];
  cpl_system_def* def = NULL;
  snprintf(text, sizeof text,
           SSD_BEGIN
           "<ssd:System name=\"root\"><ssd:Elements>"
           "<ssd:Component name=\"slow\" source=\"hinted.fmu\">%s</ssd:Component>"
           "<ssd:Component name=\"fast\" source=\"hinted.fmu\"/></ssd:Elements></ssd:System>"
           "<ssd:Annotations>%s</ssd:Annotations></ssd:SystemStructureDescription>",
           on_component, hints);
  write_text("hinted.fmu", "");  // it is not opened
  write_text("hinted.ssd", text);
  CHECK_OK(ctx, cpl_system_def_read(ctx, "hinted.ssd", &def));
  return def;
}

#define ANNOTATION(type, content)                                     \
  "<ssc:Annotation type=\"" type "\"><h:Hints xmlns:h=\"h\">" content \
  "</h:Hints></"                                                      \
  "ssc:Annotation>"

// Which number of a hint becomes which number of the definition.
static void hints_are_taken(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  cpl_system_def* def =
      with_hints(ctx, "",
                 ANNOTATION("org.openmodelica",
                            "<h:VariableStepMaster minimumStepSize=\"0.001\" "
                            "maximumStepSize=\"0.25\" relativeTolerance=\"3e-5\"/>"));
  CHECK_NEAR(def->cosimulation.step, 0.25, 0);
  CHECK_NEAR(def->cosimulation.min_step, 0.001, 0);
  CHECK_NEAR(def->cosimulation.tolerance, 3e-5, 0);
  CHECK(def->cosimulation.given && !def->cosimulation.automatic);
  cpl_system_def_destroy(def);
  def = with_hints(
      ctx, "",
      ANNOTATION("org.openmodelica", "<h:VariableStepSolver relativeTolerance=\"2e-7\"/>"));
  CHECK_NEAR(def->experiment.values.rtol, 2e-7, 0);
  CHECK(!def->cosimulation.given && def->cosimulation.automatic);
  cpl_system_def_destroy(def);
  def = with_hints(
      ctx,
      "<ssd:Annotations>" ANNOTATION("com.opensimulationplatform",
                                     "<h:StepSizeHint value=\"0.3\"/>") "</ssd:Annotations>",
      ANNOTATION("com.opensimulationplatform", "<h:FixedStepAlgorithm baseStepSize=\"0.1\"/>"));
  CHECK_NEAR(def->cosimulation.step, 0.1, 0);
  CHECK_INT(def->cosimulation.n_steps, 1);
  CHECK_STR(def->cosimulation.steps[0].name.text, "slow");
  CHECK_NEAR(strtod(def->cosimulation.steps[0].value.text, NULL), 0.3, 1e-15);
  cpl_system_def_destroy(def);
  def = with_hints(ctx, "", ANNOTATION("org.example", "<h:FixedStepMaster stepSize=\"0.1\"/>"));
  CHECK(!def->cosimulation.given && def->cosimulation.automatic);
  cpl_system_def_destroy(def);
  cpl_context_destroy(ctx);
}

// The definition of a package with everything in it, made with less and less memory missing.
static void survives_every_failed_allocation(void** state) {
  (void)state;
  make_nested("memory.ssp");
  write_text("memory.ssd",
             SSD_BEGIN "<ssd:System name=\"root\"><ssd:Connectors>" CONNECTOR("in", "input", REAL)
                 CONNECTOR("gain", "parameter", REAL) CONNECTOR("T", "output", REAL)
             "</ssd:Connectors>" BIND(NUMBER("in", "1") NUMBER("gain", "2") NUMBER("a.c", "3"))
             "<ssd:Elements>" BLOCK("a") BLOCK("b") PACKAGE("p", "memory.ssp", "")
             "</ssd:Elements><ssd:Connections>"
             "<ssd:Connection startConnector=\"in\" endElement=\"a\" endConnector=\"u\"/>"
             "<ssd:Connection startConnector=\"gain\" endElement=\"a\" endConnector=\"k\"/>"
             "<ssd:Connection startConnector=\"T\" endElement=\"p\" endConnector=\"out\"/>"
             CONNECT("a", "yn", "b", "n",
                     "><ssc:IntegerMappingTransformation><ssc:MapEntry source=\"1\" target=\"2\"/>"
                     "</ssc:IntegerMappingTransformation></ssd:Connection>")
             CONNECT("a", "y", "p", "in",
                     "><ssc:LinearTransformation factor=\"2\"/></ssd:Connection>")
             "</ssd:Connections></ssd:System>" SPEEDS EXPERIMENT SSD_END);
  cpl_status st = CPL_ERR_NOMEM;
  for (long n = 0; st != CPL_OK; n++) {
    test_heap heap = {.fail_at = n};
    cpl_context* ctx = test_context_with_heap(&heap);
    cpl_system_def* def = NULL;
    st = ctx != NULL ? cpl_system_def_read(ctx, "memory.ssd", &def) : CPL_ERR_NOMEM;
    if (st < 0 && st != CPL_ERR_NOMEM) fail_msg("%ld: %s", n, cpl_context_error(ctx));
    cpl_system_def_destroy(def);
    cpl_context_destroy(ctx);
    CHECK_INT(heap.live, 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(outer_and_later_bindings_count),
      cmocka_unit_test(prefixes_mappings_and_units),
      cmocka_unit_test(all_types),
      cmocka_unit_test(a_connection_beats_a_binding),
      cmocka_unit_test(one_name_of_two_variables_is_refused),
      cmocka_unit_test(packages_in_packages),
      cmocka_unit_test(units_at_both_sides_of_a_component),
      cmocka_unit_test(variants_are_chosen_by_name_and_file),
      cmocka_unit_test(a_package_in_a_system_file),
      cmocka_unit_test(sets_inside_of_components),
      cmocka_unit_test(steps_follow_hints_or_the_tolerance),
      cmocka_unit_test(hints_are_taken),
      cmocka_unit_test(survives_every_failed_allocation),
  };
  return cmocka_run_group_tests(tests, make_block, NULL);
}
