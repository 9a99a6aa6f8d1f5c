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

static const expectation expectations[] = {
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
      cmocka_unit_test(findings_come_in_order),
      cmocka_unit_test(survives_every_failed_allocation),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
