// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#include "fmi/check.h"

#include "archive.h"
#include "descriptions.h"

static const char path[] = "checked.fmu";

// `library`: a file in binaries/linux64. Nullable.
static cpl_fmu* open_fmu(cpl_context* ctx, const char* xml, const char* library,
                         const char* source) {
  char binary[256], code[256];
  archive_entry entries[4] = {{.name = "modelDescription.xml", .text = xml}};
  int n = 1;
  snprintf(binary, sizeof binary, "binaries/%s/%s", cpli_fmu_platform(), library);
  snprintf(code, sizeof code, "sources/%s", source);
  if (library != NULL) entries[n++] = (archive_entry){.name = binary, .text = "x"};
  if (source != NULL) entries[n++] = (archive_entry){.name = code, .text = "x"};
  make_archive(path, entries);
  cpl_fmu_def def = cpl_default_fmu_def();
  def.path = path;
  cpl_source* src = NULL;
  CHECK_OK(ctx, cpl_fmu_open(ctx, &def, &src));
  return (cpl_fmu*)src;
}

typedef struct expectation {
  const char *xml, *rule, *text;
  int line;
} expectation;

#define X(attributes, inside) MD(VAR("x", "1", attributes, inside))
#define DER_OF_1              VAR("dx", "2", "", "<Real derivative=\"1\"/>")
#define LISTED(n)             "<Unknown index=\"" n "\"/>"

// FMI 3.0: the root in line 1, model exchange in line 2, the time in line 3, variables from line 4
// on.
#define MD3_KIND(kind, vars, structure)                                                      \
  "<fmiModelDescription fmiVersion=\"3.0\" modelName=\"m\" instantiationToken=\"t\">\n" kind \
  "\n<ModelVariables><Float64 name=\"time\" valueReference=\"0\" "                           \
  "causality=\"independent\"/>\n" vars "</ModelVariables><ModelStructure>" structure         \
  "</ModelStructure></fmiModelDescription>"
#define MD3_ME               "<ModelExchange modelIdentifier=\"m\"/>"
#define MD3(vars, structure) MD3_KIND(MD3_ME, vars, structure)
#define F64(name, ref, rest) "<Float64 name=\"" name "\" valueReference=\"" ref "\" " rest "/>\n"
#define CLOCK(rest)          "<Clock name=\"c\" valueReference=\"1\" causality=\"input\" " rest "/>\n"
#define MD1(rest, vars)                                                 \
  "<fmiModelDescription fmiVersion=\"1.0\" modelName=\"m\" guid=\"g\" " \
  "modelIdentifier=\"m\">\n" rest "\n<ModelVariables>\n" vars           \
  "</ModelVariables></fmiModelDescription>"
#define MD2_ME(attributes) \
  MD_ROOT "<ModelExchange modelIdentifier=\"m\" " attributes "/>\n" MD_VARS MD_REST

static const expectation expectations[] = {
    // FMI 3.0
    {MD3(F64("a", "1", "causality=\"input\""), ""), "start", "a needs a start value", 4},
    {MD3(F64("a", "1", "") F64("b", "1", ""), ""), "reference", "b has the valueReference 1 of a",
     5},
    {MD3(F64("a", "1", "derivative=\"7\""), ""), "state", "no variable has that valueReference", 4},
    {MD3("", "<Output valueReference=\"9\"/>"), "reference", "belongs to no variable", 4},
    {MD3(F64("a", "1", "causality=\"output\""),
         "<Output valueReference=\"1\" dependencies=\"9\"/>"),
     "reference", "9 is no valueReference", 5},
    {MD3(F64("a", "1", "causality=\"output\""), ""), "structure", "a is missing in <Output>", 4},
    {MD3(F64("a", "1", "causality=\"output\""), "<Output valueReference=\"1\"/>"), "structure",
     "output a is missing in <InitialUnknown>", 4},
    {MD3(F64("a", "1", "causality=\"parameter\" variability=\"continuous\" start=\"1\""), ""),
     "variability", "does not go with", 4},
    {MD3(F64("a", "1", "causality=\"parameter\" initial=\"calculated\" start=\"1\""), ""),
     "initial", "is not allowed", 4},
    {MD3(F64("a", "1", "initial=\"exact\" start=\"1 2\""), ""), "start", "2 start values for 1", 4},
    {MD3("<Int8 name=\"i\" valueReference=\"1\" initial=\"exact\" start=\"128\"/>\n", ""), "value",
     "is no value of its type", 4},
    {MD3("<Binary name=\"b\" valueReference=\"1\" initial=\"exact\"><Start "
         "value=\"0\"/></Binary>\n",
         ""),
     "value", "hexadecimal", 4},
    {MD3("<Int32 name=\"n\" valueReference=\"1\" initial=\"exact\" start=\"2\"/>"
         "<Float64 name=\"a\" valueReference=\"2\"><Dimension valueReference=\"1\"/></Float64>\n",
         ""),
     "array", "must be a structural parameter or a constant", 4},
    {MD3("<Float64 name=\"a\" valueReference=\"2\"><Dimension start=\"0\"/></Float64>\n", ""),
     "array", "must be positive", 4},
    {MD3("<Float64 name=\"a\" valueReference=\"2\"><Dimension start=\"2\"/></Float64>"
         "<Float64 name=\"b\" valueReference=\"3\" derivative=\"2\"/>\n",
         ""),
     "state", "but has 1 elements, not 2", 4},
    {MD3(CLOCK(""), ""), "clock", "intervalVariability is missing", 4},
    {MD3(CLOCK("intervalVariability=\"fixed\""), ""), "clock", "needs intervalDecimal", 4},
    {MD3(CLOCK("intervalVariability=\"fixed\" intervalDecimal=\"-1\""), ""), "clock", "positive",
     4},
    {MD3(CLOCK("intervalVariability=\"triggered\" intervalDecimal=\"1\""), ""), "clock",
     "must have no interval", 4},
    {MD3(CLOCK("intervalVariability=\"constant\" intervalDecimal=\"1\" supportsFraction=\"true\""),
         ""),
     "clock", "needs intervalCounter and resolution", 4},
    {MD3(F64("a", "1", "clocks=\"0\""), ""), "clock", "0 is no valueReference of a Clock", 4},
    {MD3_KIND("<ModelExchange modelIdentifier=\"m\" canSerializeFMUState=\"true\"/>", "", ""),
     "flags", "set canGetAndSetFMUState", 2},
    {MD3_KIND(
         "<CoSimulation modelIdentifier=\"m\" canReturnEarlyAfterIntermediateUpdate=\"true\"/>", "",
         ""),
     "flags", "needs providesIntermediateUpdate", 2},
    {MD3_KIND("<CoSimulation modelIdentifier=\"m\" fixedInternalStepSize=\"0\"/>", "", ""), "value",
     "fixedInternalStepSize is not positive", 2},
    // FMI 1.0
    {MD1("", VAR("c", "1", "variability=\"constant\"", "<Real/>")), "start", "c needs a start", 4},
    {MD1("", VAR("i", "1", "variability=\"continuous\"", "<Integer/>")), "variability",
     "cannot be continuous", 4},
    {MD1("", VAR("y", "1", "causality=\"output\"",
                 "<Real/><DirectDependency><Name>u</Name></DirectDependency>")),
     "structure", "names u, which is no variable", 4},
    {MD1("", VAR("x", "1", "", "<Real min=\"2\" max=\"1\"/>")), "range", "min 2 is above max 1", 4},
    {MD1("", VAR("x", "1", "", "<Real start=\"3\" max=\"1\"/>")), "range", "start 3 is above max",
     4},
    {MD1("", VAR("x", "1", "", "<Real/><DirectDependency/>")), "structure", "is for outputs", 4},
    // FMI 2.0
    {MD2_ME("canSerializeFMUstate=\"true\""), "flags", "set canGetAndSetFMUstate", 2},
    {MD_ROOT "<ModelExchange modelIdentifier=\"m-1\"/>\n" MD_VARS MD_REST, "identifier",
     "no identifier of C", 2},
    {MD_STRUCTURE(VAR("u", "1", "causality=\"input\"", "<Real start=\"1\"/>")
                      VAR("v", "2", "causality=\"input\"", "<Real start=\"1\"/>")
                          VAR("y", "3", "causality=\"output\"", "<Real/>"),
                  "<Outputs><Unknown index=\"3\" dependencies=\"2 1\"/></Outputs>"),
     "structure", "not in ascending order", 6},
    {MD_STRUCTURE(VAR("z", "1", "", "<Real/>") VAR("y", "3", "causality=\"output\"", "<Real/>"),
                  "<Outputs><Unknown index=\"2\" dependencies=\"1\"/></Outputs>"),
     "structure", "z is neither an input nor a state", 5},
    {MD_ROOT MD_ME
     "<TypeDefinitions><SimpleType name=\"E\"><Enumeration><Item name=\"a\" value=\"1\"/>"
     "<Item name=\"b\" value=\"1\"/></Enumeration></SimpleType></TypeDefinitions>" MD_VARS MD_REST,
     "type", "items a and b of type E have the same value", 0},
    {X("", "<Real unit=\"furlong\"/>"), "unit", "furlong", 4},
    {X("causality=\"input\"", "<Real/>"), "start", "x needs a start value", 4},
    {X("causality=\"parameter\" variability=\"fixed\"", "<String/>"), "start", "needs a start", 4},
    {X("initial=\"exact\"", "<Real/>"), "start", "needs a start value", 4},
    {X("variability=\"constant\"", "<Real/>"), "start", "needs a start value", 4},
    {X("", "<Real start=\"1\"/>"), "start", "is calculated and must have no start", 4},
    {X("causality=\"independent\"", "<Real start=\"1\"/>"), "start", "must have no start", 4},
    {X("", "<Real min=\"2\" max=\"1\"/>"), "range", "min 2 is above max 1", 4},
    {X("initial=\"exact\"", "<Real start=\"0\" min=\"1\"/>"), "range", "start 0 is below min 1", 4},
    {X("initial=\"exact\"", "<Real start=\"2\" max=\"1\"/>"), "range", "start 2 is above max 1", 4},
    {X("", "<Real derivative=\"1\"/>"), "state", "derivative of itself", 4},
    {X("variability=\"discrete\"", "<Real reinit=\"true\"/>"), "state", "reinit", 4},
    {MD(VAR("a", "1", "causality=\"input\"", "<Real start=\"1\"/>")  //
        VAR("b", "1", "causality=\"input\"", "<Real start=\"1\"/>")),
     "alias", "b and a (line 4) share valueReference 1, but only one", 5},
    {MD(VAR("a", "1", "variability=\"constant\"", "<Real start=\"1\"/>")
            VAR("b", "1", "", "<Real/>")),
     "alias", "a constant can only be", 5},
    {MD(VAR("a", "1", "initial=\"exact\"", "<Real start=\"1\"/>")  //
        VAR("b", "1", "initial=\"exact\"", "<Real start=\"2\"/>")),
     "alias", "start values differ", 5},
    {MD(VAR("a", "1", "", "<Real unit=\"m\"/>") VAR("b", "1", "", "<Real unit=\"s\"/>")), "alias",
     "different units", 5},
    {MD(VAR("a", "1", "causality=\"independent\"", "<Real/>")  //
        VAR("b", "2", "causality=\"independent\"", "<Real/>")),
     "independent", "second", 5},
    {MD_STRUCTURE(VAR("x", "1", "", "<Real/>"), "<Derivatives>" LISTED("1") "</Derivatives>"),
     "state", "add the attribute derivative", 4},
    {MD_STRUCTURE(VAR("x", "1", "causality=\"input\"", "<Real start=\"0\"/>") DER_OF_1,
                  "<Derivatives>" LISTED("2") "</Derivatives>"),
     "state", "causality must be local or output", 4},
    {MD_STRUCTURE(VAR("x", "1", "variability=\"discrete\"", "<Real/>") DER_OF_1,
                  "<Derivatives>" LISTED("2") "</Derivatives>"),
     "state", "must be Real and continuous", 4},
    {MD_STRUCTURE(VAR("x", "1", "", "<Real/>") DER_OF_1,
                  "<Derivatives>" LISTED("2") LISTED("2") "</Derivatives>"),
     "state", "second derivative listed", 5},
    {MD_STRUCTURE(VAR("x", "1", "", "<Real/>") DER_OF_1,
                  "<Derivatives>" LISTED("2") "</Derivatives>"),
     "structure", "state x is missing in <InitialUnknowns>", 4},
    {MD_STRUCTURE(VAR("x", "1", "initial=\"exact\"", "<Real start=\"1\"/>") DER_OF_1,
                  "<Derivatives>" LISTED("2") "</Derivatives>"),
     "structure", "derivative dx is missing in <InitialUnknowns>", 5},
    {MD_STRUCTURE(VAR("y", "1", "causality=\"output\"", "<Real/>"),
                  "<Outputs>" LISTED("1") "</Outputs>"),
     "structure", "output y is missing in <InitialUnknowns>", 4},
    {X("", "<Real start=\"bad\"/>"), "value", "not a number", 4},  // noticed by the parser
};

static void finds_what_breaks_the_rules(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  for (size_t i = 0; i < CPLI_COUNT(expectations); i++) {
    const expectation* e = &expectations[i];
    cpl_fmu* fmu = open_fmu(ctx, e->xml, "m.so", NULL);
    cpli_findings found;
    CHECK_OK(ctx, cpli_fmu_check(fmu, &found));
    size_t k = 0;
    while (k < found.count && (strcmp(found.items[k].rule, e->rule) != 0 ||
                               strstr(found.items[k].text, e->text) == NULL))
      k++;
    if (k == found.count) {
      fail_msg("case %zu: no \"%s\" [%s] among %zu findings; first: %s", i, e->text, e->rule,
               found.count, found.count > 0 ? found.items[0].text : "none");
    }
    CHECK_INT(found.items[k].line, e->line);
    CHECK_INT(found.items[k].severity, CPLI_WARNING);
    cpli_findings_free(&found);
    fmu->base.ops->destroy(&fmu->base);
  }
  cpl_context_destroy(ctx);
}

static void a_good_one_has_no_findings(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  cpl_fmu* fmu = open_fmu(
      ctx,
      MD_STRUCTURE(
          VAR("x", "1", "initial=\"exact\"", "<Real start=\"1\"/>") DER_OF_1,
          "<Derivatives>" LISTED("2") "</Derivatives>"
                                      "<InitialUnknowns>" LISTED("2") "</InitialUnknowns>"),
      "m.so", NULL);
  cpli_findings found;
  CHECK_OK(ctx, cpli_fmu_check(fmu, &found));
  if (found.count > 0) fail_msg("%s", found.items[0].text);
  cpli_findings_free(&found);
  fmu->base.ops->destroy(&fmu->base);
  cpl_context_destroy(ctx);
}

static void expect_binary(cpl_context* ctx, const char* library, const char* source,
                          cpli_severity severity, const char* text) {
  cpl_fmu* fmu = open_fmu(ctx, MD(""), library, source);
  cpli_findings found;
  CHECK_OK(ctx, cpli_fmu_check(fmu, &found));
  CHECK_INT(found.count, 1);
  CHECK_STR(found.items[0].rule, "binary");
  CHECK_INT(found.items[0].severity, severity);
  CHECK_INT(found.items[0].line, 2);
  CHECK_CONTAINS(found.items[0].text, text);
  cpli_findings_free(&found);
  fmu->base.ops->destroy(&fmu->base);
}

static void looks_for_the_binary(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  expect_binary(ctx, NULL, NULL, CPLI_ERROR, "there are no sources");
  expect_binary(ctx, NULL, "all.c", CPLI_WARNING, "compiled from sources");
  expect_binary(ctx, "other.so", NULL, CPLI_ERROR, "modelIdentifier and the name");
  cpl_context_destroy(ctx);
}

//------------------------------------ files ------------------------------------

// An FMU 3.0 with companions; `binary`: bytes of its library.
static void make_companions(const char* binary, size_t size) {
  char name[256];
  snprintf(name, sizeof name, "binaries/%s/m.so", cpli_fmu_platform_tuple());
  const archive_entry entries[] = {
      {.name = "modelDescription.xml",
       .text = MD3_KIND("<ModelExchange modelIdentifier=\"m\" canGetAndSetFMUState=\"true\"/>", "",
                        "")},
      {.name = "terminalsAndIcons/terminalsAndIcons.xml",
       .text = "<fmiTerminalsAndIcons><Terminals><Terminal name=\"t\" matchingRule=\"bus\">"
               "<TerminalMemberVariable variableName=\"nothing\" variableKind=\"signal\"/>"
               "<TerminalGraphicalRepresentation iconBaseName=\"pin\"/></Terminal></Terminals>"
               "</fmiTerminalsAndIcons>"},
      {.name = "sources/buildDescription.xml",
       .text = "<fmiBuildDescription><BuildConfiguration modelIdentifier=\"m\"><SourceFileSet>"
               "<SourceFile name=\"missing.c\"/><SourceFile name=\"../../outside.c\"/>"
               "<PreprocessorDefinition name=\"A\" value=\"1\"/><IncludeDirectory name=\"inc\"/>"
               "</SourceFileSet></BuildConfiguration></fmiBuildDescription>"},
      {.name = "extra/org.x/fmi-ls-manifest.xml", .text = "<broken"},
      {.name = name, .text = binary, .size = size},
      {.name = NULL},
  };
  make_archive(path, entries);
}

static bool is_found(const cpli_findings* found, const char* rule, const char* text) {
  for (size_t i = 0; i < found->count; i++) {
    const cpli_finding* f = &found->items[i];
    if (strcmp(f->rule, rule) == 0 && strstr(f->text, text) != NULL) return true;
  }
  return false;
}

static void looks_into_files(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  size_t size;
  char library[4096];  // some library of FMI 2.0: it has none of the functions of FMI 3.0
  snprintf(library, sizeof library, "%s/binaries/linux64/probe.so", getenv("COUPLET_PROBE"));
  char* bytes = read_bytes(library, &size);
  make_companions(bytes, size);
  free(bytes);
  cpl_fmu_def def = cpl_default_fmu_def();
  def.path = path;
  cpl_source* src = NULL;
  CHECK_OK(ctx, cpl_fmu_open(ctx, &def, &src));
  cpl_fmu* fmu = (cpl_fmu*)src;
  CHECK_INT(fmu->me.n_source_files, 1);  // for the compiler
  CHECK_STR(fmu->me.definitions.items[0], "A=1");
  CHECK_STR(fmu->me.include_dirs.items[0], "inc");
  cpli_findings found;
  CHECK_OK(ctx, cpli_fmu_check(fmu, &found));
  CHECK(is_found(&found, "symbols", "does not export fmi3SetTime"));
  CHECK(is_found(&found, "symbols", "does not export fmi3GetFMUState, although the flags say"));
  CHECK(!is_found(&found, "symbols", "fmi3SerializeFMUState"));
  CHECK(is_found(&found, "file", "sources/missing.c is listed but not there"));
  CHECK(is_found(&found, "file", "pin.png"));
  CHECK(is_found(&found, "terminal", "nothing, which is no variable"));
  CHECK(is_found(&found, "build", "outside.c"));
  CHECK(is_found(&found, "companion", "fmi-ls-manifest.xml"));
  cpli_findings_free(&found);
  src->ops->destroy(src);
  cpl_context_destroy(ctx);
}

// The probe exports all its flags speak of.
static void a_whole_library_has_no_findings(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  cpl_fmu_def def = cpl_default_fmu_def();
  def.path = getenv("COUPLET_PROBE");
  cpl_source* src = NULL;
  CHECK_OK(ctx, cpl_fmu_open(ctx, &def, &src));
  cpli_findings found;
  CHECK_OK(ctx, cpli_fmu_check((cpl_fmu*)src, &found));
  for (size_t i = 0; i < found.count; i++)
    if (strcmp(found.items[i].rule, "symbols") == 0) fail_msg("%s", found.items[i].text);
  cpli_findings_free(&found);
  src->ops->destroy(src);
  cpl_context_destroy(ctx);
}

static void findings_come_in_order(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  cpli_findings f;
  cpli_findings_init(&f, ctx);
  cpli_findings_add(&f, CPLI_WARNING, 5, "a", "first of %d", 5);
  cpli_findings_add(&f, CPLI_WARNING, 2, "a", "second");
  cpli_findings_add(&f, CPLI_WARNING, 5, "a", "third");
  cpli_findings_sort(&f);
  CHECK_STR(f.items[0].text, "second");
  CHECK_STR(f.items[1].text, "first of 5");
  CHECK_STR(f.items[2].text, "third");
  cpli_findings_free(&f);
  cpl_context_destroy(ctx);
}

static void survives_every_failed_allocation(void** state) {
  (void)state;
  cpl_context* own = test_context();
  cpl_fmu* keep = open_fmu(own, X("causality=\"input\"", "<Real start=\"bad\"/>"), NULL, NULL);
  keep->base.ops->destroy(&keep->base);
  cpl_context_destroy(own);
  for (long n = 0;; n++) {
    test_heap heap = {.fail_at = n};
    cpl_context* ctx = test_context_with_heap(&heap);
    cpl_status st = CPL_ERR_NOMEM;
    if (ctx != NULL) {
      cpl_fmu_def def = cpl_default_fmu_def();
      def.path = path;
      cpl_source* src = NULL;
      st = cpl_fmu_open(ctx, &def, &src);
      if (st >= 0) {
        cpli_findings found;
        st = cpli_fmu_check((cpl_fmu*)src, &found);
        cpli_findings_free(&found);
        src->ops->destroy(src);
      }
      cpl_context_destroy(ctx);
    }
    CHECK_INT(heap.live, 0);
    if (st == CPL_OK) break;
    CHECK_INT(st, CPL_ERR_NOMEM);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(finds_what_breaks_the_rules),
      cmocka_unit_test(a_good_one_has_no_findings),
      cmocka_unit_test(looks_for_the_binary),
      cmocka_unit_test(looks_into_files),
      cmocka_unit_test(a_whole_library_has_no_findings),
      cmocka_unit_test(findings_come_in_order),
      cmocka_unit_test(survives_every_failed_allocation),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
