// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// `couplet info` and `couplet check`, as a user sees them.
#include <sys/wait.h>

#include "../fmi/descriptions.h"
#include "archive.h"
#include "fmi/fmu.h"

static char output[1 << 16];

// Runs couplet with these arguments; standard error joins the output. Returns the exit code.
static int couplet(const char* arguments) {
  char command[8192];
  snprintf(command, sizeof command, "'%s' %s 2>&1", getenv("COUPLET"), arguments);
  FILE* pipe = popen(command, "r");
  assert_non_null(pipe);
  size_t n = fread(output, 1, sizeof output - 1, pipe);
  output[n] = '\0';
  int status = pclose(pipe);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void make_fmu(const char* path, const char* xml, const char* identifier) {
  char binary[256];
  snprintf(binary, sizeof binary, "binaries/%s/%s%s", cpli_fmu_platform(), identifier,
           cpli_fmu_library_suffix());
  make_archive(
      path, (archive_entry[]){
                {.name = "modelDescription.xml", .text = xml}, {.name = binary, .text = "x"}, {0}});
}

static void info_shows_what_it_is(void** state) {
  (void)state;
  make_fmu("every.fmu", everything_xml, "every_me");
  CHECK_INT(couplet("info every.fmu"), 0);
  static const char* const lines[] = {
      "Every & thing\n  all of it\n",
      "kinds        model exchange, co-simulation\n",
      "experiment   start 1, stop 2.5, tolerance 0.0001, step 0.01\n",
      "log          logEvents, logAll\n",
      "variables    13 (1 input, 2 outputs, 3 parameters, 7 others)\n",
      "\nStates (2)\n  phi  Real  rad    0.5  angle\n  w    Real  rad/s  1\n",
      "\nInputs (1)\n  u  Real  degC  0\n",
      "gear   Enumeration       high\n",
      "title  String            <hi>\n",
      "  degC            = 1 K + 273.15\n",
      "  bar             = 100000 kg m^-1 s^-2\n",
      "    deg           = 57.29577951308232 * rad\n",
      "  save and restore states   yes             no\n",
  };
  for (size_t i = 0; i < CPLI_COUNT(lines); i++) CHECK_CONTAINS(output, lines[i]);
  CHECK(strstr(output, " \n") == NULL);
}

static void info_as_json(void** state) {
  (void)state;
  make_fmu("every.fmu", everything_xml, "every_me");
  CHECK_INT(couplet("info --json every.fmu"), 0);
  static const char* const parts[] = {
      "\"name\": \"Every & thing\"",
      "\"states\": [\n    \"phi\",\n    \"w\"\n  ]",
      "{\"name\": \"phi\", \"depends_on\": {\"phi\": \"constant\"}}",
      "\"start\": \"<hi>\"",
      "\"alias_of\": \"w\"",
  };
  for (size_t i = 0; i < CPLI_COUNT(parts); i++) CHECK_CONTAINS(output, parts[i]);
}

// The two masses have the same units, each of its own.
static void units_of_a_system_are_listed_once(void** state) {
  (void)state;
  char command[4096];
  const char* file = "examples/two_masses/two_masses.yaml";
  snprintf(command, sizeof command, "info '%s/%s'", getenv("COUPLET_SOURCE_DIR"), file);
  CHECK_INT(couplet(command), 0);
  const char* metre = strstr(output, "\n  m\n");
  CHECK(metre != NULL && strstr(metre + 1, "\n  m\n") == NULL);
  snprintf(command, sizeof command, "info --json '%s/%s'", getenv("COUPLET_SOURCE_DIR"), file);
  CHECK_INT(couplet(command), 0);
  metre = strstr(output, "{\"name\": \"m\"}");
  CHECK(metre != NULL && strstr(metre + 1, "{\"name\": \"m\"}") == NULL);
}

static void terminals_get_no_control_characters(void** state) {
  (void)state;
  make_fmu("evil.fmu",
           MD(VAR("a\xc2\x9b"
                  "31m",
                  "1", "causality=\"input\" description=\"b&#10;c&#127;\"", "<Real start=\"0\"/>")),
           "m");
  CHECK_INT(couplet("info evil.fmu"), 0);
  CHECK_CONTAINS(output, "a?31m  Real  0  b c?\n");
  CHECK_INT(couplet("check evil.fmu"), 0);
  CHECK(strstr(output, "\xc2\x9b") == NULL);
  // a name with a line end does not make a line of its own, in findings and in the log
  make_fmu("lines.fmu", MD(VAR("a&#10;couplet: error: b", "1", "causality=\"input\"", "<Real/>")),
           "m");
  CHECK_INT(couplet("check lines.fmu"), 0);
  CHECK_CONTAINS(output, "warning: a couplet: error: b needs a start value");
  CHECK_INT(couplet("info lines.fmu"), 0);
  CHECK(strstr(output, "\ncouplet: error") == NULL && strstr(output, "a\n") == NULL);
  make_fmu("twice.fmu", MD(VAR("a&#10;b", "1", "", "<Real/>") VAR("a&#10;b", "2", "", "<Real/>")),
           "m");
  CHECK_INT(couplet("info twice.fmu"), 0);
  CHECK_CONTAINS(output, "there are two variables named a b; ");
}

static void check_tells_lines_and_exits_2(void** state) {
  (void)state;
  make_fmu("good.fmu", MD(VAR("u", "1", "causality=\"input\"", "<Real start=\"0\"/>")), "m");
  CHECK_INT(couplet("check good.fmu"), 0);
  CHECK_STR(output, "good.fmu: no findings\n");
  make_fmu("warned.fmu", MD(VAR("u", "1", "causality=\"input\"", "<Real/>")), "m");
  CHECK_INT(couplet("check warned.fmu"), 0);
  CHECK_STR(output,
            "warned.fmu/modelDescription.xml:4: warning: u needs a start value: add start [start]\n"
            "warned.fmu: 0 errors, 1 warning\n");
  make_fmu("broken.fmu", MD(VAR("u", "-7", "", "<Real/>")), "m");
  CHECK_INT(couplet("check broken.fmu"), 2);
  CHECK_CONTAINS(output, "broken.fmu/modelDescription.xml:4: error: valueReference=\"-7\"");
  CHECK_CONTAINS(output, "broken.fmu: 1 error, 0 warnings\n");
  make_fmu("other.fmu", MD(""), "n");
  CHECK_INT(couplet("check other.fmu good.fmu"), 2);
  CHECK_CONTAINS(output, "other.fmu/modelDescription.xml:2: error: binaries/");
  CHECK_CONTAINS(output, "good.fmu: no findings\n");
  CHECK_INT(couplet("check --json warned.fmu"), 0);
  CHECK_CONTAINS(output,
                 "{\"severity\": \"warning\", \"line\": 4, \"rule\": \"start\", \"text\": ");
}

static void many_of_a_kind_are_cut_short(void** state) {
  (void)state;
  char* xml = NULL;
  size_t size = 0;
  FILE* out = open_memstream(&xml, &size);
  fputs(MD_ROOT MD_ME MD_VARS, out);
  for (int i = 0; i < 40; i++) {
    fprintf(out,
            "<ScalarVariable name=\"u%d\" valueReference=\"%d\" causality=\"input\"><Real/>"
            "</ScalarVariable>\n",
            i, i);
  }
  fputs(MD_REST, out);
  fclose(out);
  make_fmu("many.fmu", xml, "m");
  free(xml);
  CHECK_INT(couplet("check many.fmu"), 0);
  CHECK_CONTAINS(output, "... and 30 more of the same kinds (--all shows them)\n");
  CHECK_INT(couplet("check --all many.fmu"), 0);
  CHECK_CONTAINS(output, "u39 needs a start value");
  CHECK_INT(couplet("info many.fmu"), 0);
  CHECK_CONTAINS(output, "  ... and 10 more (--all shows them)\n");
  CHECK_INT(couplet("info --all many.fmu"), 0);
  CHECK_CONTAINS(output, "  u39  Real\n");
}

// A file of the corpus of the fuzz targets; a byte stands before it.
static const char* corpus(const char* name) {
  static char* kept[8];  // so that nothing is lost
  static int n;
  char path[256];
  size_t size;
  snprintf(path, sizeof path, "tests/fuzz/corpus/xml/%s", name);
  kept[n] = read_bytes(test_path(path), &size);
  return kept[n++] + 1;
}

static void info_of_fmi_3(void** state) {
  (void)state;
  const archive_entry entries[] = {
      {.name = "modelDescription.xml", .text = corpus("fmi3.xml")},
      {.name = "terminalsAndIcons/terminalsAndIcons.xml", .text = corpus("terminals.xml")},
      {.name = "sources/buildDescription.xml", .text = corpus("build.xml")},
      {.name = "extra/org.x/fmi-ls-manifest.xml", .text = corpus("layer.xml")},
      {0}};
  make_archive("three.fmu", entries);
  CHECK_INT(couplet("info three.fmu"), 0);
  static const char* const lines[] = {
      "kinds        model exchange, co-simulation, scheduled execution\n",
      "icon         yes\n",
      "  x[2]  Float64  rad/s  1\n",
      "  A[2,3]    Float32      0.5\n",
      "  flags[3]  Boolean      true\n",
      "  tick  input   constant, interval 0.1 s, shift 0.05 s, 2 variables\n",
      "  flange, Rotational, plug: phi, c, d\n    inner, bus\n",
      "  org.fmi-standard.fmi-ls-xcp  1.0.0     XCP\n",
      "  m, x86_64-linux, C99, gcc, -O2\n    files        all.c\n    definitions  A=1\n",
      "event mode                -               yes             -\n",
  };
  for (size_t i = 0; i < CPLI_COUNT(lines); i++) CHECK_CONTAINS(output, lines[i]);
  CHECK_INT(couplet("info --all three.fmu"), 0);
  CHECK_CONTAINS(output, "  A[2,3]  ");
  CHECK_CONTAINS(output, "  A[1,1]  ");
  CHECK_INT(couplet("info --json three.fmu"), 0);
  static const char* const parts[] = {"\"fmi_version\": \"3.0\"",    "\"scheduled_execution\": {",
                                      "\"sizes\": [2, 3]",           "\"interval_counter\": 100",
                                      "\"matching_rule\": \"plug\"", "\"width\": \"Int8\""};
  for (size_t i = 0; i < CPLI_COUNT(parts); i++) CHECK_CONTAINS(output, parts[i]);
}

static void info_of_fmi_1(void** state) {
  (void)state;
  make_fmu("one.fmu", corpus("fmi1.xml"), "m");
  CHECK_INT(couplet("info one.fmu"), 0);
  CHECK_CONTAINS(output, "format       FMI 1.0\n");
  CHECK_CONTAINS(output, "kinds        co-simulation\n");
  CHECK_CONTAINS(output, "states       2\n");
  CHECK_INT(couplet("check one.fmu"), 0);
  CHECK_CONTAINS(output, "no findings");
}

static void bad_files_exit_2(void** state) {
  (void)state;
  write_bytes("no.fmu", "no archive", 10);
  CHECK_INT(couplet("info no.fmu"), 2);
  CHECK_CONTAINS(output, "couplet: no.fmu: not a zip archive");
  CHECK_INT(couplet("info missing.fmu"), 2);
  CHECK_INT(couplet("check no.fmu"), 2);
  CHECK_CONTAINS(output, "no.fmu: error: not a zip archive");
  CHECK_INT(couplet("info"), 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(info_shows_what_it_is),
      cmocka_unit_test(info_as_json),
      cmocka_unit_test(units_of_a_system_are_listed_once),
      cmocka_unit_test(terminals_get_no_control_characters),
      cmocka_unit_test(check_tells_lines_and_exits_2),
      cmocka_unit_test(many_of_a_kind_are_cut_short),
      cmocka_unit_test(info_of_fmi_3),
      cmocka_unit_test(info_of_fmi_1),
      cmocka_unit_test(bad_files_exit_2),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
