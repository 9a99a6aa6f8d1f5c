// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// --set: start values and parameters by name, of every type, with units and limits.
#include "command.h"

// All types, and names that look like something else.
static const char typed_model[] = MODEL(
    "typed",
    "static const char* const items[] = {\"off\", \"on\", \"half on\", NULL};\n"
    "static const cpl_declaration x[] = {{.name = \"x\", .start = 1, .unit = \"m\"}, {0}};\n"
    "static const cpl_declaration p[] = {\n"
    "    {.name = \"k\", .start = 1, .min = 0.5, .max = 2},\n"
    "    {.name = \"n\", .start = 3, .type = CPL_INTEGER, .min = 0, .max = 9},\n"
    "    {.name = \"b\", .type = CPL_BOOLEAN},\n"
    "    {.name = \"e\", .start = 1, .type = CPL_ENUMERATION, .items = items},\n"
    "    {.name = \"a=b\", .start = 7},\n"
    "    {.name = \"v\", .size = 2},\n"
    "    {0}};\n"
    "static const cpl_string_declaration s[] = {{.name = \"label\", .start = \"none\"}, {0}};\n"
    "static const cpl_declaration y[] = {{.name = \"y\"}, {0}};\n"
    "static int f(const cpl_values* v, double* dx) {\n"
    "  (void)v;\n"
    "  dx[0] = 0;\n"
    "  return 0;\n"
    "}\n"
    "static int g(const cpl_values* v, double* y_) {\n"
    "  y_[0] = v->x[0] + v->p[0];\n"
    "  return 0;\n"
    "}",
    ".states = x, .parameters = p, .strings = s, .outputs = y, .derivatives = f,\n"
    ".output_values = g");

// Units with conversions, which only FMUs have.
static const char units_xml[] =
    "<?xml version=\"1.0\"?>\n"
    "<fmiModelDescription fmiVersion=\"2.0\" modelName=\"units\" guid=\"{probe}\">\n"
    "<ModelExchange modelIdentifier=\"probe\"/>\n"
    "<UnitDefinitions>\n"
    "<Unit name=\"rad\"><BaseUnit rad=\"1\"/><DisplayUnit name=\"deg\" "
    "factor=\"57.29577951308232\"/></Unit>\n"
    "<Unit name=\"K\"><BaseUnit K=\"1\"/><DisplayUnit name=\"degF\" factor=\"1.8\" "
    "offset=\"-459.67\"/></Unit>\n"
    "<Unit name=\"degC\"><BaseUnit K=\"1\" offset=\"273.15\"/></Unit>\n"
    "<Unit name=\"mm\"><BaseUnit m=\"1\" factor=\"0.001\"/></Unit>\n"
    "</UnitDefinitions>\n"
    "<DefaultExperiment stopTime=\"0.1\"/>\n<ModelVariables>\n"
    "<ScalarVariable name=\"angle\" valueReference=\"0\" initial=\"exact\" causality=\"output\">"
    "<Real unit=\"rad\" start=\"0\" max=\"1\"/></ScalarVariable>\n"
    "<ScalarVariable name=\"T\" valueReference=\"1\" initial=\"exact\" causality=\"output\">"
    "<Real unit=\"K\" start=\"0\"/></ScalarVariable>\n"
    "<ScalarVariable name=\"der(angle)\" valueReference=\"2\"><Real "
    "derivative=\"1\"/></ScalarVariable>\n"
    "<ScalarVariable name=\"der(T)\" valueReference=\"3\"><Real "
    "derivative=\"2\"/></ScalarVariable>\n"
    "<ScalarVariable name=\"plain\" valueReference=\"4\" causality=\"parameter\" "
    "variability=\"fixed\"><Real start=\"4\"/></ScalarVariable>\n"
    "<ScalarVariable name=\"c\" valueReference=\"6\" causality=\"calculatedParameter\" "
    "variability=\"fixed\"><Real/></ScalarVariable>\n"
    "<ScalarVariable name=\"one\" valueReference=\"5\" variability=\"constant\"><Real "
    "start=\"1\"/></ScalarVariable>\n"
    "</ModelVariables>\n<ModelStructure>"
    "<Outputs><Unknown index=\"1\"/><Unknown index=\"2\"/></Outputs>"
    "<Derivatives><Unknown index=\"3\"/><Unknown index=\"4\"/></Derivatives></ModelStructure>\n"
    "</fmiModelDescription>\n";

static int set_up(void** state) {
  (void)state;
  write_text("typed.c", typed_model);
  make_probe("probe.fmu", "probe", NULL);
  make_probe("units.fmu", "probe", units_xml);
  return 0;
}

// The first row after --set NAME=VALUE, with that variable recorded.
static const char* first_value(const char* file, const char* name, const char* set) {
  static char row[256];
  CHECK_CODE(0, "run", file, "--set", set, "--record", name, "-o", "-");
  const char* at = strstr(printed, "\n0,");
  assert_non_null(at);
  snprintf(row, sizeof row, "%.*s", (int)strcspn(at + 3, "\n"), at + 3);
  return row;
}

static void every_type(void** state) {
  (void)state;
  CHECK_STR(first_value("typed.c", "k", "k=1.25"), "1.25");
  CHECK_STR(first_value("typed.c", "k", "k=12.5e-1"), "1.25");
  CHECK_STR(first_value("typed.c", "x", "x= -3"), "-3");
  CHECK_STR(first_value("typed.c", "n", "n=8"), "8");
  CHECK_STR(first_value("typed.c", "b", "b=true"), "1");
  CHECK_STR(first_value("typed.c", "b", "b=0"), "0");
  CHECK_STR(first_value("typed.c", "e", "e=on"), "2");
  CHECK_STR(first_value("typed.c", "e", "e=half on"), "3");
  CHECK_STR(first_value("typed.c", "e", "e=2"), "2");
  CHECK_STR(first_value("typed.c", "label", "label=a, \"b\""), "\"a, \"\"b\"\"\"");
  CHECK_STR(first_value("typed.c", "label", "label="), "\"\"");
  CHECK_STR(first_value("typed.c", "label", "label=x=y"), "\"x=y\"");
  CHECK_STR(first_value("typed.c", "v[2]", "v[2]=5"), "5");
  CHECK_STR(first_value("typed.c", "a=b", "a=b=9"), "9");
  CHECK_STR(first_value("probe.fmu", "x1", "x1=0.5"), "0.5");
  CHECK_STR(first_value("probe.fmu", "n", "n=50"), "50");
  CHECK_STR(first_value("probe.fmu", "mode", "mode=two"), "2");
  CHECK_STR(first_value("probe.fmu", "flag", "flag=true"), "1");
  CHECK_STR(first_value("probe.fmu", "label", "label=hello"), "\"hello\"");
}

static void repeated(void** state) {
  (void)state;
  CHECK_CODE(0, "run", "typed.c", "--set", "k=2", "--set=x=4", "--set", "k=0.5", "-o", "-");
  CHECK_CONTAINS(printed, "\n0,4,4.5\n");  // the last one wins
}

static void units(void** state) {
  (void)state;
  CHECK_STR(first_value("typed.c", "x", "x=2 m"), "2");
  CHECK_NEAR(atof(first_value("units.fmu", "angle", "angle=30 deg")), acos(-1) / 6, 1e-15);
  CHECK_NEAR(atof(first_value("units.fmu", "angle", "angle=30deg")), acos(-1) / 6, 1e-15);
  CHECK_STR(first_value("units.fmu", "angle", "angle=0.5 rad"), "0.5");
  CHECK_NEAR(atof(first_value("units.fmu", "T", "T=20 degC")), 293.15, 1e-12);
  CHECK_NEAR(atof(first_value("units.fmu", "T", "T=212 degF")), 373.15, 1e-10);
  CHECK_FAILS(2,
              "units: angle cannot be set to \"30 gon\": its unit is rad, and there is no "
              "conversion from \"gon\"",
              "run", "units.fmu", "--set", "angle=30 gon");
  CHECK_FAILS(2,
              "units: angle cannot be set to \"3 mm\": its unit is rad, and there is no "
              "conversion from \"mm\"",
              "run", "units.fmu", "--set", "angle=3 mm");
  CHECK_FAILS(2, "units: plain cannot be set to \"3 mm\": it has no unit", "run", "units.fmu",
              "--set", "plain=3 mm");
  // limits hold in the variable's own unit
  CHECK_FAILS(2, "units: angle cannot be set to \"90 deg\": its maximum is 1 rad", "run",
              "units.fmu", "--set", "angle=90 deg");
}

static void limits(void** state) {
  (void)state;
  CHECK_FAILS(2, "typed: k cannot be set to \"2.5\": its maximum is 2", "run", "typed.c", "--set",
              "k=2.5");
  CHECK_FAILS(2, "typed: k cannot be set to \"0.25\": its minimum is 0.5", "run", "typed.c",
              "--set", "k=0.25");
  CHECK_CODE(0, "run", "typed.c", "--set", "k=0.5");
  CHECK_FAILS(2, "typed: n cannot be set to \"10\": its maximum is 9", "run", "typed.c", "--set",
              "n=10");
  CHECK_FAILS(2, "typed: e cannot be set to \"4\": it is one of off, on, half on", "run", "typed.c",
              "--set", "e=4");
}

static void values_that_are_none(void** state) {
  (void)state;
  CHECK_FAILS(2, "typed: k cannot be set to \"\": this is not a number", "run", "typed.c", "--set",
              "k=");
  CHECK_FAILS(2, "typed: k cannot be set to \"one\": this is not a number", "run", "typed.c",
              "--set", "k=one");
  CHECK_FAILS(2, "typed: k cannot be set to \"nan\": this is not a finite number", "run", "typed.c",
              "--set", "k=nan");
  CHECK_FAILS(2, "typed: k cannot be set to \"1e999\": this is not a finite number", "run",
              "typed.c", "--set", "k=1e999");
  CHECK_FAILS(2, "typed: k cannot be set to \"1,5\": this is not a number (decimals have a point)",
              "run", "typed.c", "--set", "k=1,5");
  CHECK_FAILS(2, "typed: n cannot be set to \"2.5\": this is not an integer", "run", "typed.c",
              "--set", "n=2.5");
  CHECK_FAILS(2, "typed: b cannot be set to \"yes\": a Boolean is true or false", "run", "typed.c",
              "--set", "b=yes");
  CHECK_FAILS(2, "typed: e cannot be set to \"of\": it is one of off, on, half on", "run",
              "typed.c", "--set", "e=of");
  CHECK_FAILS(2, "probe: n cannot be set to 3000000000: FMI 2.0 has integers of 32 bits only",
              "run", "probe.fmu", "--set", "n=3e9");
}

static void names_that_are_none(void** state) {
  (void)state;
  CHECK_FAILS(2, "--set k: write it as name=value", "run", "typed.c", "--set", "k");
  CHECK_FAILS_WITH(2, "typed: there is no variable \"labl\" (is it label?)", "run", "typed.c",
                   "--set", "labl=1");
  CHECK_FAILS_WITH(2, "there is no variable \"\"", "run", "typed.c", "--set", "=1");
  CHECK_FAILS(2, "typed: y cannot be set to \"1\": the model computes it", "run", "typed.c",
              "--set", "y=1");
  CHECK_FAILS(2, "typed: der(x) cannot be set to \"1\": the model computes it", "run", "typed.c",
              "--set", "der(x)=1");
  CHECK_FAILS(2, "units: c cannot be set to \"1\": the model computes it", "run", "units.fmu",
              "--set", "c=1");
  CHECK_FAILS(2, "units: one cannot be set to \"2\": it is a constant", "run", "units.fmu", "--set",
              "one=2");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_type),
      cmocka_unit_test(repeated),
      cmocka_unit_test(units),
      cmocka_unit_test(limits),
      cmocka_unit_test(values_that_are_none),
      cmocka_unit_test(names_that_are_none),
  };
  return cmocka_run_group_tests(tests, set_up, NULL);
}
