// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Files that are no FMUs, or not for us: one message that names file, place and cause, exit code 2,
// and nothing left behind.
#include "command.h"

#define XML(version, inside)                                            \
  "<?xml version=\"1.0\"?>\n<fmiModelDescription fmiVersion=\"" version \
  "\" modelName=\"m\" guid=\"{probe}\">\n" inside "\n</fmiModelDescription>\n"
#define ME_OF(identifier) "<ModelExchange modelIdentifier=\"" identifier "\"/>"
#define EMPTY             "<ModelVariables/><ModelStructure/>"

static char* probe_xml(void) {
  char path[4096];
  size_t size;
  snprintf(path, sizeof path, "%s/modelDescription.xml", getenv("COUPLET_PROBE"));
  return read_bytes(path, &size);
}

// An archive with that description and perhaps one more file.
static void make(const char* path, const char* xml, const char* name, const char* text) {
  make_archive(
      path, (archive_entry[]){
                {.name = "modelDescription.xml", .text = xml}, {.name = name, .text = text}, {0}});
}

static void not_an_fmu(void** state) {
  (void)state;
  CHECK_FAILS(2, "gone.fmu: No such file or directory", "run", "gone.fmu");
  write_text("text.fmu", "this is no archive");
  CHECK_FAILS_WITH(2, "text.fmu: not a zip archive", "run", "text.fmu");
  write_text("empty.fmu", "");
  CHECK_FAILS_WITH(2, "empty.fmu: ", "run", "empty.fmu");
  make_archive("other.fmu", (archive_entry[]){{.name = "readme.txt", .text = "hello"}, {0}});
  CHECK_FAILS(2, "other.fmu: not an FMU: no modelDescription.xml inside", "run", "other.fmu");
  if (getuid() != 0) {
    write_text("secret.fmu", "");
    chmod("secret.fmu", 0);
    CHECK_FAILS_WITH(2, "secret.fmu: Permission denied", "run", "secret.fmu");
  }
  CHECK_INT(system("rm -rf folder.fmu; mkdir folder.fmu"), 0);
  CHECK_FAILS(2, "folder.fmu: not an FMU: no modelDescription.xml inside", "run", "folder.fmu");
}

static void archives_cut_short(void** state) {
  (void)state;
  make_probe("whole.fmu", "probe", NULL);
  size_t size;
  char* bytes = read_bytes("whole.fmu", &size);
  for (size_t n = 0; n < size; n += size / 7) {
    write_bytes("part.fmu", bytes, n);
    CHECK_FAILS_WITH(2, "part.fmu: ", "run", "part.fmu");
  }
  // a flipped bit in the binary is found by its checksum
  bytes[size / 2] ^= 1;
  write_bytes("flipped.fmu", bytes, size);
  CHECK_FAILS_WITH(2, "flipped.fmu: binaries/linux64/probe.so", "run", "flipped.fmu");
  free(bytes);
}

static void malformed_descriptions(void** state) {
  (void)state;
  make("xml.fmu", XML("2.0", ME_OF("probe") "<oops"), "x", "x");
  CHECK_FAILS_WITH(2, "xml.fmu/modelDescription.xml:4: ", "run", "xml.fmu");
  make("none.fmu", "", "x", "x");
  CHECK_FAILS_WITH(2, "none.fmu/modelDescription.xml", "run", "none.fmu");
  make("root.fmu", "<html/>", "x", "x");
  CHECK_FAILS_WITH(2, "root.fmu/modelDescription.xml:1: ", "run", "root.fmu");
  make("kind.fmu", XML("2.0", EMPTY), "x", "x");
  CHECK_FAILS_WITH(2, "kind.fmu", "run", "kind.fmu");
  make("type.fmu",
       XML("2.0", ME_OF("probe") "<ModelVariables><ScalarVariable name=\"a\" "
                                 "valueReference=\"1\"/></ModelVariables><ModelStructure/>"),
       "x", "x");
  CHECK_FAILS_WITH(2, "type.fmu/modelDescription.xml:3: ", "run", "type.fmu");
}

static void wrong_versions(void** state) {
  (void)state;
  static const char* const versions[] = {"4.0", "banana"};
  static const char* const xmls[] = {XML("4.0", ""), XML("banana", "")};
  for (int i = 0; i < 2; i++) {
    make("version.fmu", xmls[i], "x", "x");
    CHECK_FAILS_WITH(2, "version.fmu/modelDescription.xml:2: ", "run", "version.fmu");
    CHECK_CONTAINS(complained, versions[i]);
    CHECK_CONTAINS(complained, "2.0");
    CHECK_CODE(2, "check", "version.fmu");
    CHECK_CONTAINS(printed, "version.fmu/modelDescription.xml:2: error: ");
    CHECK_CODE(2, "info", "version.fmu");
  }
}

// Kinds that are described but cannot be run say what they need.
static void kinds_that_cannot_be_run(void** state) {
  (void)state;
  make("scheduled.fmu",
       "<fmiModelDescription fmiVersion=\"3.0\" modelName=\"s\" instantiationToken=\"t\">"
       "<ScheduledExecution modelIdentifier=\"s\"/></fmiModelDescription>",
       "x", "x");
  CHECK_FAILS_WITH(2, "no binary for this platform", "run", "scheduled.fmu", "--log-level",
                   "error");
  CHECK_FAILS_WITH(2, "only scheduled execution in it", "run", "scheduled.fmu", "--as", "me",
                   "--log-level", "error");
  CHECK_CODE(2, "linearize", "scheduled.fmu");
  CHECK_CONTAINS(complained, "only scheduled execution in it");
  CHECK_CODE(0, "info", "scheduled.fmu");
  CHECK_CONTAINS(printed, "scheduled execution");
  make("tool.fmu",
       "<fmiModelDescription fmiVersion=\"1.0\" modelName=\"t\" guid=\"g\" modelIdentifier=\"t\">"
       "<Implementation><CoSimulation_Tool><Capabilities/><Model entryPoint=\"fmu://x\" "
       "manualStart=\"false\" type=\"x\"/></CoSimulation_Tool></Implementation>"
       "</fmiModelDescription>",
       "x", "x");
  CHECK_FAILS_WITH(2, "needs its tool", "run", "tool.fmu", "--log-level", "error");
  CHECK_CODE(0, "info", "tool.fmu");
  CHECK_CONTAINS(printed, "co-simulation inside its tool");
}

static void binaries_that_are_missing(void** state) {
  (void)state;
  char* xml = probe_xml();
  make("mac.fmu", xml, "binaries/darwin64/probe.dylib", "x");
  CHECK_FAILS(2,
              "mac.fmu: no binary for this platform (linux64) and no source code; there are "
              "binaries for: darwin64",
              "run", "mac.fmu");
  CHECK_CODE(0, "info", "mac.fmu");
  CHECK_CODE(2, "check", "mac.fmu");
  make("nothing.fmu", xml, "x", "x");
  CHECK_FAILS_WITH(2, "nothing.fmu: no binary for this platform (linux64)", "run", "nothing.fmu");
  make("named.fmu", xml, "binaries/linux64/other.so", "x");
  CHECK_FAILS(2, "named.fmu: binaries/linux64/probe.so is missing", "run", "named.fmu");
  make("noelf.fmu", xml, "binaries/linux64/probe.so", "this is no library");
  CHECK_FAILS_WITH(2,
                   "noelf.fmu: cannot load binaries/linux64/probe.so, it is not a library for this "
                   "machine",
                   "run", "noelf.fmu");
  free(xml);
}

static void symbols_that_are_missing(void** state) {
  (void)state;
  make_probe("broken.fmu", "probe_broken", NULL);
  CHECK_FAILS_WITH(2,
                   "broken.fmu: binaries/linux64/probe.so does not export what a model exchange "
                   "FMU needs: fmi2",
                   "run", "broken.fmu");
  // what is optional may be missing
  make_probe("bare.fmu", "probe_bare", NULL);
  CHECK_CODE(0, "run", "bare.fmu", "--record", "x1");
}

static void binaries_that_fail_to_load(void** state) {
  (void)state;
  make_probe("start.fmu", "probe_badstart", NULL);
  CHECK_FAILS_WITH(2, "its start-up code crashed (SIGABRT", "run", "start.fmu");
  make_probe("end.fmu", "probe_badend", NULL);
  CHECK_CODE(0, "run", "end.fmu", "-o", "end.csv");
  CHECK_CONTAINS(complained, "the clean-up code of probe.so crashed");
  CHECK(last_value("end.csv", 0) > 0);
  make_probe("family.fmu", "probe_family", NULL);
  CHECK_FAILS_WITH(2, "it needs the library probe_sibling.so, which is not installed", "run",
                   "family.fmu");
}

static void sources_that_do_not_compile(void** state) {
  (void)state;
  make("source.fmu",
       XML("2.0",
           "<ModelExchange modelIdentifier=\"probe\"><SourceFiles><File "
           "name=\"a.c\"/></SourceFiles></ModelExchange>" EMPTY),
       "sources/a.c", "int f( { return }\n");
  CHECK_CODE(2, "run", "source.fmu");
  CHECK_CONTAINS(complained, "couplet: source.fmu: ");
  CHECK_CONTAINS(complained, "could not be compiled:\n");
  CHECK_CONTAINS(complained, "a.c:1:");  // the compiler's own words
  make("lost.fmu",
       XML("2.0",
           "<ModelExchange modelIdentifier=\"probe\"><SourceFiles><File "
           "name=\"b.c\"/></SourceFiles></ModelExchange>" EMPTY),
       "sources/a.c", "int a;\n");
  CHECK_CODE(2, "run", "lost.fmu");
  CHECK_CONTAINS(complained, "b.c");
}

// Nothing gets out of the temporary folder.
static void hostile_archives(void** state) {
  (void)state;
  char* xml = probe_xml();
  static const char* const names[] = {"../escaped.txt", "binaries/../../escaped.txt",
                                      "/tmp/escaped.txt", "resources/..\\..\\escaped.txt"};
  for (int i = 0; i < 4; i++) {
    make("evil.fmu", xml, names[i], "gotcha");
    CHECK_FAILS_WITH(2, "evil.fmu: ", "run", "evil.fmu");
    CHECK(access("escaped.txt", F_OK) != 0 && access("tmp/escaped.txt", F_OK) != 0);
    CHECK(access("/tmp/escaped.txt", F_OK) != 0);
  }
  make_archive("link.fmu",
               (archive_entry[]){
                   {.name = "modelDescription.xml", .text = xml},
                   {.name = "resources/link", .text = "/etc/passwd", .unix_mode = S_IFLNK | 0777},
                   {0}});
  CHECK_FAILS_WITH(2, "link.fmu: ", "run", "link.fmu");
  make_archive(
      "secret.fmu",
      (archive_entry[]){{.name = "modelDescription.xml", .text = xml, .encrypted = true}, {0}});
  CHECK_FAILS_WITH(2, "secret.fmu: ", "run", "secret.fmu");
  make_archive("both.fmu", (archive_entry[]){{.name = "modelDescription.xml", .text = xml},
                                             {.name = "resources/a/b", .text = "inside"},
                                             {.name = "resources/a", .text = "a file"},
                                             {0}});
  CHECK_FAILS_WITH(2, "(resources/a/b) lies in a folder that is a file of the archive, too", "run",
                   "both.fmu");
  CHECK_CODE(2, "check", "both.fmu");
  free(xml);
}

static const char* const verbs[] = {"info", "check"};

// Numbers and sizes that nobody means: refused before they cost anything.
static void limits_of_descriptions(void** state) {
  (void)state;
  static const char many[] = XML("2.0", ME_OF("m") EMPTY);
  char text[8192];
  snprintf(text, sizeof text, "%.*s numberOfEventIndicators=\"2147483647\"%s",
           (int)(strstr(many, " guid=") - many), many, strstr(many, " guid="));
  make("many.fmu", text, "x", "x");
  make("cycle.fmu",
       XML("2.0",
           ME_OF("m") "<ModelVariables>\n"
                      "<ScalarVariable name=\"a\" valueReference=\"1\"><Real derivative=\"3\"/>"
                      "</ScalarVariable>\n"
                      "<ScalarVariable name=\"b\" valueReference=\"2\"><Real derivative=\"1\"/>"
                      "</ScalarVariable>\n"
                      "<ScalarVariable name=\"c\" valueReference=\"3\"><Real derivative=\"2\"/>"
                      "</ScalarVariable>\n"
                      "</ModelVariables><ModelStructure/>"),
       "x", "x");
  size_t n = 0, size = 4u << 20;
  char* attributes = malloc(size);
  assert_non_null(attributes);
  n += (size_t)snprintf(attributes + n, size - n, "<fmiModelDescription fmiVersion=\"2.0\"\n");
  for (int i = 0; i < 200000; i++) n += (size_t)snprintf(attributes + n, size - n, "a%d=''\n", i);
  snprintf(attributes + n, size - n, "/>");
  make("attributes.fmu", attributes, "x", "x");
  free(attributes);
  size = (256u << 20) + 1;
  char* blanks = malloc(size + 1);
  assert_non_null(blanks);
  memset(blanks, ' ', size);
  blanks[size] = '\0';
  make("blanks.fmu", blanks, "x", "x");
  free(blanks);
  for (int i = 0; i < 2; i++) {
    CHECK_CODE(2, verbs[i], "many.fmu");
    CHECK(strstr(i == 0 ? complained : printed, "numberOfEventIndicators") != NULL);
    CHECK_CODE(2, verbs[i], "cycle.fmu");
    CHECK(strstr(i == 0 ? complained : printed, "is a derivative of itself, through ") != NULL);
    CHECK_CODE(2, verbs[i], "attributes.fmu");
    CHECK(strstr(i == 0 ? complained : printed, "more than 64 attributes") != NULL);
    CHECK_CODE(2, verbs[i], "blanks.fmu");
    CHECK(strstr(i == 0 ? complained : printed, "modelDescription.xml") != NULL);
  }
}

static void hostile_descriptions(void** state) {
  (void)state;
  make("file.fmu",
       "<?xml version=\"1.0\"?>\n<!DOCTYPE f [<!ENTITY x SYSTEM \"file:///etc/passwd\">]>\n"
       "<fmiModelDescription fmiVersion=\"2.0\" modelName=\"&x;\" guid=\"g\"/>",
       "x", "x");
  CHECK_FAILS_WITH(2, "file.fmu/modelDescription.xml:", "run", "file.fmu");
  CHECK(strstr(complained, "root:") == NULL);
  make("laughs.fmu",
       "<?xml version=\"1.0\"?>\n<!DOCTYPE f [<!ENTITY a \"ha\"><!ENTITY b \"&a;&a;&a;&a;\">\n"
       "<!ENTITY c \"&b;&b;&b;&b;\"><!ENTITY d \"&c;&c;&c;&c;\">]>\n"
       "<fmiModelDescription fmiVersion=\"2.0\" modelName=\"&d;\" guid=\"g\"/>",
       "x", "x");
  CHECK_FAILS_WITH(2, "laughs.fmu/modelDescription.xml:", "run", "laughs.fmu");
}

// Many files are checked in one go; the worst decides.
static void check_of_several(void** state) {
  (void)state;
  make_probe("probe.fmu", "probe", NULL);
  write_text("text.fmu", "this is no archive");
  CHECK_CODE(0, "check", "probe.fmu");
  CHECK_CODE(2, "check", "probe.fmu", "text.fmu", "gone.fmu");
  CHECK_CONTAINS(printed, "text.fmu: error: not a zip archive");
  CHECK_CONTAINS(printed, "gone.fmu: error: No such file or directory");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(not_an_fmu),
      cmocka_unit_test(archives_cut_short),
      cmocka_unit_test(malformed_descriptions),
      cmocka_unit_test(wrong_versions),
      cmocka_unit_test(kinds_that_cannot_be_run),
      cmocka_unit_test(binaries_that_are_missing),
      cmocka_unit_test(symbols_that_are_missing),
      cmocka_unit_test(binaries_that_fail_to_load),
      cmocka_unit_test(sources_that_do_not_compile),
      cmocka_unit_test(hostile_archives),
      cmocka_unit_test(limits_of_descriptions),
      cmocka_unit_test(hostile_descriptions),
      cmocka_unit_test(check_of_several),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
