// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// couplet convert: a system and the package made of it, the system file made of that package, and
// the package written again give the same results, to the byte. Packages cannot refer to files
// outside.
#include "base/base.h"
#include "command.h"
#include "format/zip.h"

static void check_same(const char* a, const char* b) {
  char* first = strdup(text_of(a));
  assert_non_null(first);
  CHECK(strlen(first) > 100);
  CHECK_STR(text_of(b), first);
  free(first);
}

// Expressions, events, constraints, modes, delay lines, nested systems with steppers.
static void systems_come_back(void** state) {
  (void)state;
  static const char* const examples[] = {"two_masses/two_masses.yaml",
                                         "drift/energy.yaml",
                                         "breaking_pendulum/breaking_pendulum.yaml",
                                         "tlm_spring/tlm_spring.yaml",
                                         "ball_on_table/ball_on_table.yaml",
                                         "pendulum_on_cart/pendulum_on_cart.yaml",
                                         "two_mass_cosimulation/steppers.yaml"};
  use_folders();
  for (size_t i = 0; i < CPLI_COUNT(examples); i++) {
    char path[256];
    snprintf(path, sizeof path, "examples/%s", examples[i]);
    const char* file = test_path(path);
    CHECK_INT(COUPLET("run", file, "-q", "-o", "a.csv", "--stop", "1"), 0);
    CHECK_INT(COUPLET("convert", file, "-o", "one.ssp"), 0);
    CHECK_STR(printed, "one.ssp\n");
    CHECK_INT(COUPLET("run", "one.ssp", "-q", "-o", "b.csv", "--stop", "1"), 0);
    check_same("a.csv", "b.csv");
    CHECK_INT(COUPLET("convert", "one.ssp", "-q", "-o", "back.yaml"), 0);
    CHECK_INT(COUPLET("run", "back.yaml", "-q", "-o", "c.csv", "--stop", "1"), 0);
    check_same("a.csv", "c.csv");
    CHECK_INT(COUPLET("convert", "one.ssp", "-q", "-o", "two.ssp"), 0);
    CHECK_INT(COUPLET("run", "two.ssp", "-q", "-o", "d.csv", "--stop", "1"), 0);
    check_same("a.csv", "d.csv");
  }
  CHECK(is_empty("tmp"));
}

// Values, units and factors of a description survive as a system file.
static void packages_become_system_files(void** state) {
  (void)state;
  use_folders();
  CHECK_INT(system("rm -rf house && cp -r \"$COUPLET_SOURCE_DIR\"/examples/ssp_house house"), 0);
  CHECK_INT(COUPLET("build", "house/room.c", "-q", "-o", "house/house/resources/room.fmu"), 0);
  CHECK_INT(COUPLET("build", "house/heater.c", "-q", "-o", "house/house/resources/heater.fmu"), 0);
  CHECK_INT(COUPLET("run", "house/house", "-q", "-o", "a.csv"), 0);
  CHECK_INT(COUPLET("convert", "house/house", "-q", "-o", "house.yaml"), 0);
  CHECK_INT(COUPLET("run", "house.yaml", "-q", "-o", "b.csv"), 0);
  check_same("a.csv", "b.csv");
  CHECK_CONTAINS(text_of("house.yaml"), "fmu: house/house/resources/room.fmu");
  write_text("cold.ssv",
             "<ParameterSet xmlns='http://ssp-standard.org/SSP1/SystemStructureParameterValues' "
             "version='1.0' name='cold'><Parameters><Parameter name='gain'><Real value='0.125'/>"
             "</Parameter></Parameters></ParameterSet>");
  CHECK_INT(COUPLET("convert", "house/house", "-q", "-o", "cold.yaml", "--parameters", "cold.ssv"),
            0);
  CHECK_CONTAINS(text_of("cold.yaml"), "gain: 0.125");
  CHECK_INT(COUPLET("convert", "house/house", "-q", "-o", "house.ssp"), 0);
  CHECK_INT(COUPLET("convert", "house.ssp", "-q", "-o", "copied.yaml"), 0);
  CHECK_CONTAINS(text_of("copied.yaml"), "fmu: copied_files/room.fmu");
  CHECK_INT(COUPLET("run", "copied.yaml", "-q", "-o", "c.csv"), 0);
  check_same("a.csv", "c.csv");
}

// A package inside of a system file goes into the new package as it is, with its variants.
static void packages_stay_packages(void** state) {
  (void)state;
  static const char* const sources[] = {"house.ssp", "house.ssp#house", "house/house"};
  use_folders();
  for (size_t i = 0; i < CPLI_COUNT(sources); i++) {
    char text[256];
    snprintf(text, sizeof text,
             "couplet: 1\nmodels: {h: {system: \"%s\"}}\nexperiment: {stop: 100}\n", sources[i]);
    write_text("outer.yaml", text);
    CHECK_CODE(0, "run", "outer.yaml", "-q", "-o", "a.csv");
    CHECK_CODE(0, "convert", "outer.yaml", "-q", "-o", "outer.ssp");
    CHECK_CODE(0, "run", "outer.ssp", "-q", "-o", "b.csv");
    for (int column = 1; column <= 3; column++)  // its models are models of the whole then
      CHECK_NEAR(last_value("b.csv", column), last_value("a.csv", column), 1e-9);
    CHECK_NEAR(last_value("b.csv", 2), last_value("b.csv", 3) + 273.15, 1e-9);
  }
}

// A connection with a factor and an offset, which SSP can express: no annotation has it.
static void factors_are_transformations(void** state) {
  (void)state;
  use_folders();
  write_text(
      "gain.c",
      "#include <couplet/model.h>\n"
      "static const cpl_declaration inputs[] = {{\"u\"}, {0}}, outputs[] = {{\"y\"}, {0}};\n"
      "static int give(const cpl_values* v, double* y) {\n"
      "  y[0] = v->u[0] + v->t;\n"
      "  return CPL_MODEL_OK;\n"
      "}\n"
      "const cpl_model_def couplet_model = {\n"
      "    .name = \"gain\", .inputs = inputs, .outputs = outputs, .output_values = give};\n");
  write_text("s.yaml",
             "couplet: 1\nmodels: {plant.a: {c: gain.c}, plant.b: {c: gain.c}}\n"
             "connections: {plant.b.u: {from: plant.a.y, factor: 3, offset: 0.5}}\n"
             "experiment: {stop: 2}\n");
  CHECK_INT(COUPLET("convert", "s.yaml", "-q", "-o", "s.ssp"), 0);
  cpl_context* ctx = test_context();
  cpli_zip* zip = NULL;
  char* ssd = NULL;
  size_t size;
  CHECK_OK(ctx, cpli_zip_open(ctx, "s.ssp", NULL, &zip));
  CHECK_OK(ctx, cpli_zip_read(zip, "SystemStructure.ssd", 1 << 20, &ssd, &size));
  CHECK_CONTAINS(ssd, "<ssc:LinearTransformation factor=\"3\" offset=\"0.5\"/>");
  CHECK(strstr(ssd, "org.couplet") == NULL);
  cpli_free(ctx, ssd);
  cpli_zip_close(zip);
  cpl_context_destroy(ctx);
  CHECK_INT(COUPLET("run", "s.ssp", "-q", "-o", "s.csv", "--record", "plant.b.y"), 0);
  CHECK_NEAR(last_value("s.csv", 1), 3 * 2 + 0.5 + 2, 1e-12);
}

static void refuse(const char* annotation, const char* message) {
  char ssd[2048];
  snprintf(ssd, sizeof ssd,
           "<SystemStructureDescription version=\"1.0\" name=\"s\" "
           "xmlns=\"http://ssp-standard.org/SSP1/SystemStructureDescription\" "
           "xmlns:ssc=\"http://ssp-standard.org/SSP1/SystemStructureCommon\">\n"
           "<System name=\"s\"/>\n<Annotations><ssc:Annotation type=\"org.couplet\">"
           "<system xmlns=\"urn:couplet:system\">\n%s</system></ssc:Annotation></Annotations>\n"
           "</SystemStructureDescription>\n",
           annotation);
  write_text("bad.ssd", ssd);
  CHECK_INT(COUPLET("run", "bad.ssd", "-q", "-o", "bad.csv"), 2);
  CHECK_CONTAINS(complained, message);
}

static void annotations_are_checked(void** state) {
  (void)state;
  use_folders();
  refuse("couplet: 1\nrecord: {a: b}\n", "record needs a list");
  refuse("couplet: 1\nmodels: {a: {c: a.c}}\n", "are in its description");
  refuse("couplet: 1\nstart: {a: {x: 1}}\n", "there is no component a");
  refuse("couplet: 1\nisolate: [b]\n", "there is no component b");
  refuse("couplet: 1\nmodes: {start: m, m: {models: {a: {c: ../a.c}}}}\n",
         "../a.c leads out of the package");
  refuse("couplet: 1\ninputs: {u: {file: /etc/hostname}}\n", "leads out of the package");
  refuse("couplet: 1\ninputs: {u: {file: x/../../y.csv}}\n", "leads out of the package");
  refuse("couplet: 1\nconnections: [\n", "bad.ssd:");
}

static void misuse_has_a_message(void** state) {
  (void)state;
  use_folders();
  const char* file = test_path("examples/two_masses/two_masses.yaml");
  CHECK_INT(COUPLET("convert", file), 2);
  CHECK_CONTAINS(complained, "-o FILE says what to write");
  CHECK_INT(COUPLET("convert", file, "-o", "x.zip"), 2);
  CHECK_CONTAINS(complained, "ends neither in .ssp nor in .yaml");
  CHECK_INT(COUPLET("convert", "missing.yaml", "-o", "x.ssp"), 2);
  CHECK_CONTAINS(complained, "missing.yaml");
  CHECK_INT(COUPLET("convert", file, "-o", "no/folder/x.ssp"), 2);
  CHECK_CONTAINS(complained, "no/folder/x.ssp");
  CHECK_INT(COUPLET("convert", file, "-o", "x.ssp", "--variant", "a"), 2);
  CHECK_CONTAINS(complained, "packages are written with all of theirs");
  CHECK(access("x.ssp", F_OK) != 0);
  CHECK(is_empty("tmp"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(systems_come_back),       cmocka_unit_test(packages_become_system_files),
      cmocka_unit_test(packages_stay_packages),  cmocka_unit_test(factors_are_transformations),
      cmocka_unit_test(annotations_are_checked), cmocka_unit_test(misuse_has_a_message),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
