// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#include <libxml/parser.h>

#include "base/process.h"
#include "export/driver.h"
#include "format/file.h"

static const char* const examples[] = {"bouncing_ball", "van_der_pol", "sampler", "types"};

static void an_fmu_holds_what_it_should(void** state) {
  (void)state;
  for (size_t i = 0; i < CPLI_COUNT(examples); i++) {
    driver d;
    char model[256], name[256];
    cpli_zip* zip = NULL;
    snprintf(model, sizeof model, "examples/%s/%s.c", examples[i], examples[i]);
    driver_build(&d, model, examples[i]);
    CHECK_OK(d.ctx, cpli_zip_open(d.ctx, d.path, NULL, &zip));
    CHECK_STR(cpli_zip_name(zip, 0), "modelDescription.xml");
    CHECK(cpli_zip_has(zip, "documentation/index.html"));
    snprintf(name, sizeof name, "binaries/linux64/%s.so", examples[i]);
    CHECK(cpli_zip_has(zip, name));
    snprintf(name, sizeof name, "sources/%s.c", examples[i]);
    CHECK(cpli_zip_has(zip, name));
    CHECK(cpli_zip_has(zip, "sources/couplet_model.h"));
    cpli_zip_close(zip);
    driver_close(&d);
  }
}

static void the_same_model_gives_the_same_bytes(void** state) {
  (void)state;
  driver one, two;
  char *first = NULL, *second = NULL;
  size_t n = 0, m = 0;
  driver_build(&one, "examples/types/types.c", "first");
  sleep(2);  // the resolution of times in archives
  driver_build(&two, "examples/types/types.c", "second");
  CHECK_OK(one.ctx, cpli_file_read(one.ctx, one.path, 1 << 24, &first, &n));
  CHECK_OK(two.ctx, cpli_file_read(two.ctx, two.path, 1 << 24, &second, &m));
  CHECK_INT(n, m);
  CHECK(memcmp(first, second, n) == 0);
  free(first);
  free(second);
  driver_close(&one);
  driver_close(&two);
}

static void the_description_is_well_formed_and_escaped(void** state) {
  (void)state;
  driver d;
  driver_open(&d, "tests/export/stopper.c", "_2_stops___more");
  xmlDocPtr doc = xmlReadMemory(d.xml, (int)strlen(d.xml), "x.xml", NULL, XML_PARSE_NONET);
  assert_non_null(doc);
  xmlChar* name = xmlGetProp(xmlDocGetRootElement(doc), (const xmlChar*)"modelName");
  CHECK_STR((const char*)name, "2 stops & more");
  xmlFree(name);
  xmlFreeDoc(doc);
  xmlCleanupParser();
  CHECK_CONTAINS(d.xml, "modelIdentifier=\"_2_stops___more\"");
  CHECK_CONTAINS(d.xml, "description=\"&lt;&quot;quoted&quot; &amp; more&gt;\"");
  CHECK(strstr(d.xml, "completedIntegratorStepNotNeeded") == NULL);
  CHECK_CONTAINS(d.xml, "providesDirectionalDerivative=\"true\"");
  driver_close(&d);
}

static void the_description_tells_structure_and_units(void** state) {
  (void)state;
  driver d;
  driver_open(&d, "examples/bouncing_ball/bouncing_ball.c", "bouncing_ball");
  CHECK_CONTAINS(d.xml, "numberOfEventIndicators=\"1\"");
  CHECK_CONTAINS(d.xml, "providesDirectionalDerivative=\"true\"");
  CHECK_CONTAINS(d.xml, "<Unit name=\"m/s2\">\n      <BaseUnit m=\"1\" s=\"-2\"/>");
  CHECK_CONTAINS(d.xml, "derivative=\"3\"");
  CHECK_CONTAINS(d.xml, "<Unknown index=\"5\" dependencies=\"4\" dependenciesKind=\"constant\"/>");
  CHECK_CONTAINS(d.xml, "<Unknown index=\"6\" dependencies=\"\"/>");
  CHECK_CONTAINS(d.xml, "startTime=\"0\" stopTime=\"3\" tolerance=\"1e-8\" stepSize=\"0.01\"");
  driver_close(&d);
}

static char* output_of(cpl_context* ctx, const char* const* argv) {
  char* output = NULL;
  int code = 0;
  CHECK_OK(ctx, cpli_run_program(ctx, argv, &output, &code));
  if (code != 0) fail_msg("%s: %s", argv[0], output);
  return output;
}

static void only_fmi_functions_are_exported(void** state) {
  (void)state;
  driver d;
  char library[4096];
  driver_open(&d, "examples/van_der_pol/van_der_pol.c", "van_der_pol");
#define X(name, flags) \
  if (d.name == NULL) fail_msg("%s is missing", #name);
  CPLI_FMI2_FUNCTIONS(X)
#undef X
  snprintf(library, sizeof library, "%s/binaries/linux64/van_der_pol.so", d.folder);
  const char* argv[] = {"nm", "-D", "--defined-only", "--format=posix", library, NULL};
  char* symbols = output_of(d.ctx, argv);
  int n = 0, known = 0;
  for (char* line = strtok(symbols, "\n"); line != NULL; line = strtok(NULL, "\n"), n++) {
    line[strcspn(line, " ")] = '\0';
#define X(name, flags) known += strcmp(line, #name) == 0;
    CPLI_FMI2_FUNCTIONS(X)
#undef X
    if (known != n + 1) fail_msg("%s is exported", line);
  }
  free(symbols);
  driver_close(&d);
}

// The sources alone, with FMI headers and nothing else, become a model exchange FMU.
static void sources_compile_alone(const char* model, const char* name, const char* standard) {
  driver d, s = {0};
  char command[8192], library[4096];
  driver_open(&d, model, name);
  snprintf(library, sizeof library, "%s/alone.so", d.folder);
  snprintf(command, sizeof command,
           "cd '%s/sources' && cc %s -Wall -Werror -Wno-format-truncation -shared -fPIC "
           "-I. -I'%s' -o ../alone.so "
           "*.c -lm -Wl,-z,defs",
           d.folder, standard, test_path("src/fmi/headers"));
  const char* argv[] = {"sh", "-c", command, NULL};
  free(output_of(d.ctx, argv));
  memcpy(s.guid, d.guid, sizeof s.guid);
  driver_load(&s, library);
  heard h = {0};
  fmi2CallbackFunctions callbacks = {log_to_heard, calloc, free, NULL, &h};
  CHECK(s.fmi2Instantiate("cs", fmi2CoSimulation, s.guid, "", &callbacks, 0, 0) == NULL);
  CHECK_CONTAINS(h.text, "model exchange only");
  fmi2Component c = driver_start(&s, fmi2ModelExchange, &h, 0);
  fmi2EventInfo info;
  CHECK_FMI(s.fmi2NewDiscreteStates(c, &info), fmi2OK);
  CHECK_FMI(s.fmi2EnterContinuousTimeMode(c), fmi2OK);
  s.fmi2FreeInstance(c);
  dlclose(s.library);
  driver_close(&d);
}

static void sources_are_enough_for_model_exchange(void** state) {
  (void)state;
  sources_compile_alone("examples/types/types.c", "types", "");
  sources_compile_alone("examples/bouncing_ball/bouncing_ball.c", "bouncing_ball", "-std=c11");
  sources_compile_alone("tests/export/stopper.c", "_2_stops___more", "-std=c11");
}

static void copy_file(cpl_context* ctx, const char* from, const char* to) {
  char* text = NULL;
  size_t size = 0;
  CHECK_OK(ctx, cpli_file_read(ctx, from, 1 << 20, &text, &size));
  CHECK_OK(ctx, cpli_file_make(ctx, to, text, size));
  cpli_free(ctx, text);
}

// Archives, and other systems, do not have every name that a file can have here.
static void names_of_sources_are_portable(void** state) {
  (void)state;
  static const struct {
    const char *name, *inside;
  } cases[] = {{"new\nline.c", "new_line.c"},       {"\x1b[1m\x7f.c", "_[1m_.c"},
               {"a:b\\c*?.c", "a_b_c__.c"},         {"bad\xff\xc3.c", "bad__.c"},
               {"\xc3\xbc'x\".c", "\xc3\xbc'x_.c"}, {"-o @a%s.c", "-o @a%s.c"}};
  for (size_t i = 0; i < CPLI_COUNT(cases); i++) {
    cpl_context* ctx = test_context();
    cpl_build_def def = cpl_default_build_def();
    char inside[64];
    cpli_zip* zip = NULL;
    copy_file(ctx, test_path("examples/van_der_pol/van_der_pol.c"), cases[i].name);
    def.model = cases[i].name;
    def.output = "portable.fmu";
    def.fmi_version = 2 + (int)(i % 2);
    CHECK_OK(ctx, cpl_fmu_build(ctx, &def, NULL, 0));
    snprintf(inside, sizeof inside, "sources/%s", cases[i].inside);
    CHECK_OK(ctx, cpli_zip_open(ctx, "portable.fmu", NULL, &zip));
    CHECK(cpli_zip_has(zip, inside));
    cpli_zip_close(zip);
    unlink(cases[i].name);
    cpl_context_destroy(ctx);
  }
}

// No source of the model takes the place of one that every FMU has.
static void names_of_the_runtime_are_refused(void** state) {
  (void)state;
  static const char* const names[] = {"base_memory.c", "fmu_config.c"};
  cpl_context* ctx = test_context();
  for (size_t i = 0; i < CPLI_COUNT(names); i++) {
    cpl_build_def def = cpl_default_build_def();
    copy_file(ctx, test_path("examples/van_der_pol/van_der_pol.c"), names[i]);
    def.model = names[i];
    def.output = "taken.fmu";
    CHECK_INT(cpl_fmu_build(ctx, &def, NULL, 0), CPL_ERR_INPUT);
    CHECK_CONTAINS(cpl_context_error(ctx), names[i]);
    CHECK(access("taken.fmu", F_OK) != 0);
    unlink(names[i]);
  }
  cpl_context_destroy(ctx);
}

static void failures_are_explained(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  cpl_build_def def = cpl_default_build_def();
  def.output = "never.fmu";
  def.model = "missing.c";
  CHECK_INT(cpl_fmu_build(ctx, &def, NULL, 0), CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(ctx), "missing.c");
  FILE* f = fopen("broken.c", "w");
  fputs("#include <couplet/model.h>\nint broken(\n", f);
  fclose(f);
  def.model = "broken.c";
  CHECK_INT(cpl_fmu_build(ctx, &def, NULL, 0), CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(ctx), "could not be compiled");
  CHECK(access("never.fmu", F_OK) != 0);
  def.model = test_path("examples/types/types.c");
  def.output = "no/such/folder/types.fmu";
  CHECK_INT(cpl_fmu_build(ctx, &def, NULL, 0), CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(ctx), "no/such/folder");
  unlink("broken.c");
  cpl_context_destroy(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(an_fmu_holds_what_it_should),
      cmocka_unit_test(the_same_model_gives_the_same_bytes),
      cmocka_unit_test(the_description_is_well_formed_and_escaped),
      cmocka_unit_test(the_description_tells_structure_and_units),
      cmocka_unit_test(only_fmi_functions_are_exported),
      cmocka_unit_test(sources_are_enough_for_model_exchange),
      cmocka_unit_test(names_of_sources_are_portable),
      cmocka_unit_test(names_of_the_runtime_are_refused),
      cmocka_unit_test(failures_are_explained),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
