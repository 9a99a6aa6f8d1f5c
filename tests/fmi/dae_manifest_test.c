// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Manifests of FMI-LS-DAE, good and bad ones, over a description with arrays.
#include "fmi/dae_manifest.h"
#include "archive.h"

static const char description[] =
    "<fmiModelDescription fmiVersion=\"3.0\" modelName=\"m\" instantiationToken=\"t\">"
    "<ModelExchange modelIdentifier=\"m\"/>"
    "<ModelVariables>"
    "<Float64 name=\"time\" valueReference=\"0\" causality=\"independent\"/>"
    "<Boolean name=\"dae\" valueReference=\"1\" causality=\"structuralParameter\" start=\"false\"/>"
    "<Boolean name=\"fixed\" valueReference=\"2\" causality=\"parameter\" start=\"false\"/>"
    "<Float64 name=\"x\" valueReference=\"3\" start=\"1\" initial=\"exact\"/>"
    "<Float64 name=\"dx\" valueReference=\"4\" derivative=\"3\"/>"
    "<Float64 name=\"z\" valueReference=\"5\"><Dimension start=\"2\"/></Float64>"
    "<Float64 name=\"w\" valueReference=\"6\" causality=\"output\"/>"
    "<Float64 name=\"g\" valueReference=\"7\"><Dimension start=\"2\"/></Float64>"
    "<Float64 name=\"h\" valueReference=\"8\"/>"
    "<Float64 name=\"h0\" valueReference=\"9\"/>"
    "<Float64 name=\"big\" valueReference=\"10\"/>"
    "<Float64 name=\"u\" valueReference=\"11\" causality=\"input\" start=\"0\"/>"
    "</ModelVariables>"
    "<ModelStructure><Output valueReference=\"6\"/>"
    "<ContinuousStateDerivative valueReference=\"4\" dependencies=\"3\"/>"
    "<InitialUnknown valueReference=\"6\"/><InitialUnknown valueReference=\"4\"/>"
    "</ModelStructure></fmiModelDescription>";

#define ROOT                                                  \
  "<fmiLayeredStandardManifest "                              \
  "xmlns:fmi-ls=\"http://fmi-standard.org/fmi-ls-manifest\" " \
  "fmi-ls:fmi-ls-name=\"org.fmi-standard.fmi-ls-dae\" "       \
  "fmi-ls:fmi-ls-version=\"0.0.1\" fmi-ls:fmi-ls-description=\"\">\n"
#define ENABLE "<EnableDAE valueReference=\"1\"/>\n"
#define ALGEBRAICS                                                \
  "<AlgebraicVariables><AlgebraicVariable valueReference=\"5\"/>" \
  "<AlgebraicVariable valueReference=\"6\" nominal=\"10\"/></AlgebraicVariables>\n"
#define DERIVATIVE "<ContinuousStateDerivative valueReference=\"4\" dependencies=\"3 5\"/>\n"
#define RESIDUALS                                                               \
  "<Residual><Formulation valueReference=\"7\" dependencies=\"5\"/></Residual>" \
  "<Residual><Formulation index=\"2\" valueReference=\"9\"/>"                   \
  "<Formulation index=\"1\" valueReference=\"8\" dependencies=\"3 6\"/></Residual>\n"
#define STRUCTURE(inside) "<ModelStructure>\n" inside "</ModelStructure>\n"
#define END               "</fmiLayeredStandardManifest>"
#define GOOD              ROOT ENABLE ALGEBRAICS STRUCTURE(DERIVATIVE RESIDUALS) END

static const char place[] = "extra/org.fmi-standard.fmi-ls-dae/fmi-ls-manifest.xml";

static cpl_fmu* open_at(cpl_context* ctx, const char* name, const char* manifest) {
  make_archive("m.fmu", (archive_entry[]){{.name = "modelDescription.xml", .text = description},
                                          {.name = name, .text = manifest},
                                          {0}});
  cpl_fmu_def def = cpl_default_fmu_def();
  def.path = "m.fmu";
  cpl_source* src = NULL;
  CHECK_OK(ctx, cpl_fmu_open(ctx, &def, &src));
  return (cpl_fmu*)src;
}

static void drop(cpl_fmu* fmu) { fmu->base.ops->destroy(&fmu->base); }

static const char* name_of(const cpl_fmu* fmu, int32_t var) { return fmu->desc.vars[var].name; }

static void check_good(const cpl_fmu* fmu) {
  const cpl_description* d = &fmu->desc;
  if (d->form_error != NULL) fail_msg("%s", d->form_error);
  CHECK(fmu->dae.present);
  CHECK_STR(name_of(fmu, fmu->dae.enable), "dae");
  CHECK_INT(d->n_algebraics, 3);
  CHECK_STR(name_of(fmu, d->algebraics[0]), "z[1]");
  CHECK_STR(name_of(fmu, d->algebraics[1]), "z[2]");
  CHECK_STR(name_of(fmu, d->algebraics[2]), "w");
  CHECK_INT(fmu->dae.nominals[1], -1);
  CHECK_STR(name_of(fmu, fmu->dae.nominals[2]), "big");
  CHECK_STR(name_of(fmu, d->residuals[1]), "g[2]");
  CHECK_STR(name_of(fmu, d->residuals[2]), "h");
  CHECK_INT(d->n_formulations, 1);
  CHECK_INT(d->n_constraints, 1);
  CHECK_STR(name_of(fmu, d->formulation_vars[0]), "h0");
  CHECK_INT(d->formulations[0].residual, 2);
  CHECK_INT(d->formulations[0].index, 2);
}

static void what_it_says_is_there(void** state) {
  cpl_fmu* fmu = open_at(*state, place, GOOD);
  const cpl_structure* s = fmu->desc.residual_structure;
  check_good(fmu);
  CHECK_INT(s->n_derivatives, 1);
  CHECK_INT(s->derivatives[0].count, 3);  // x, z[1], z[2]
  CHECK_STR(name_of(fmu, s->deps[s->derivatives[0].first + 2]), "z[2]");
  CHECK_INT(s->n_outputs, 3);
  CHECK_INT(s->outputs[1].count, 2);
  CHECK_STR(name_of(fmu, s->deps[s->outputs[2].first + 1]), "w");
  CHECK_INT(fmu->desc.structure.derivatives[0].count, 1);  // the other form has its own
  drop(fmu);
}

// Names, places, prefixes and additions that are about.
static void variants_are_understood(void** state) {
  static const char* const same[] = {
      // the name of the official FMU; a default name space
      "<fmiLayeredStandardManifest xmlns=\"http://fmi-standard.org/fmi-ls-manifest\" "
      "xmlns:f=\"http://fmi-standard.org/fmi-ls-manifest\" f:fmi-ls-name=\"fmi-ls-dae\" "
      "f:fmi-ls-version=\"\" f:fmi-ls-description=\"\">" ENABLE ALGEBRAICS STRUCTURE(
          DERIVATIVE RESIDUALS) END,
      // the root of the schema, elements with a prefix
      "<d:fmi-dae xmlns:d=\"urn:d\" xmlns:f=\"http://fmi-standard.org/fmi-ls-manifest\" "
      "f:fmi-ls-name=\"org.fmi-standard.fmi-ls-dae\" f:fmi-ls-version=\"1\" "
      "f:fmi-ls-description=\"\" d:isDaeFmu=\"true\">" ENABLE ALGEBRAICS STRUCTURE(
          DERIVATIVE RESIDUALS) "</d:fmi-dae>",
      // what is not known yet
      ROOT "<News valueReference=\"99\"><Formulation/></News>" ENABLE ALGEBRAICS STRUCTURE(
          "<Output valueReference=\"6\"/><ClockedState/>" DERIVATIVE
              RESIDUALS) "<Annotations/>" END,
  };
  for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
    cpl_fmu* fmu = open_at(*state, place, same[i]);
    check_good(fmu);
    drop(fmu);
  }
  cpl_fmu* fmu = open_at(*state, "extra/org.fmi-standard.fmi-ls-dae/fmi-ls-dae.xml", GOOD);
  check_good(fmu);
  drop(fmu);
  fmu = open_at(*state, "extra/org.fmi-standard.fmi-ls-bus/fmi-ls-manifest.xml",
                "<fmiLayeredStandardManifest fmi-ls-name=\"org.fmi-standard.fmi-ls-bus\">"
                "<EnableDAE/>" END);  // another standard's business
  CHECK(!fmu->dae.present && fmu->desc.form_error == NULL);
  drop(fmu);
}

static void a_form_without_another_is_noted(void** state) {
  cpl_fmu* fmu = open_at(*state, place, ROOT ALGEBRAICS STRUCTURE(DERIVATIVE RESIDUALS) END);
  CHECK(fmu->dae.present);
  CHECK_INT(fmu->dae.enable, -1);
  drop(fmu);
}

#define ONE(ref) "<AlgebraicVariables><AlgebraicVariable valueReference=\"" ref "\"/>"
#define BODY(inside)                       \
  ROOT ENABLE ALGEBRAICS STRUCTURE(inside) \
  END

static void mistakes_are_named_with_their_place(void** state) {
  static const struct {
    const char *text, *message;
  } cases[] = {
      {ROOT "<EnableDAE valueReference=\"77\"/>" ALGEBRAICS STRUCTURE(DERIVATIVE RESIDUALS) END,
       "manifest.xml:2: EnableDAE: there is no variable with value reference 77"},
      {ROOT "<EnableDAE valueReference=\"2\"/>" ALGEBRAICS STRUCTURE(DERIVATIVE RESIDUALS) END,
       "EnableDAE: fixed is no structural parameter of type Boolean"},
      {ROOT "<EnableDAE/>" ALGEBRAICS STRUCTURE(DERIVATIVE RESIDUALS) END,
       "<EnableDAE> has no valueReference"},
      {ROOT ENABLE ONE("55") "</AlgebraicVariables>" STRUCTURE(DERIVATIVE RESIDUALS) END,
       "manifest.xml:3: AlgebraicVariable: there is no variable with value reference 55"},
      {ROOT ENABLE ONE("x") "</AlgebraicVariables>" STRUCTURE(DERIVATIVE RESIDUALS) END,
       "valueReference=\"x\" of <AlgebraicVariable> is no value reference"},
      {ROOT ENABLE ONE("3") "</AlgebraicVariables>" STRUCTURE(DERIVATIVE RESIDUALS) END,
       "AlgebraicVariable x is a state"},
      {ROOT ENABLE ONE("4") "</AlgebraicVariables>" STRUCTURE(DERIVATIVE RESIDUALS) END,
       "AlgebraicVariable dx is a derivative"},
      {ROOT ENABLE ONE("11") "</AlgebraicVariables>" STRUCTURE(DERIVATIVE RESIDUALS) END,
       "AlgebraicVariable u is neither local nor an output"},
      {ROOT ENABLE ONE("1") "</AlgebraicVariables>" STRUCTURE(DERIVATIVE RESIDUALS) END,
       "AlgebraicVariable dae is no Float64"},
      {ROOT ENABLE
           ONE("6") "<AlgebraicVariable valueReference=\"6\"/></AlgebraicVariables>" STRUCTURE(
               DERIVATIVE RESIDUALS) END,
       "AlgebraicVariable w is there twice"},
      {ROOT ENABLE ONE("6") "</AlgebraicVariables>" STRUCTURE(DERIVATIVE RESIDUALS) END,
       "3 residuals for 1 algebraic variables: there must be as many of both"},
      {BODY(DERIVATIVE "<Residual><Formulation valueReference=\"70\"/></Residual>"),
       "Formulation: there is no variable with value reference 70"},
      {BODY(DERIVATIVE "<Residual/>"), "<Residual> number 1 has no <Formulation>"},
      {BODY(DERIVATIVE "<Residual><Formulation index=\"2\" valueReference=\"8\"/></Residual>"),
       "the residual is given with index 2 only: it has to be differentiated"},
      {BODY(DERIVATIVE "<Residual><Formulation index=\"0\" valueReference=\"8\"/></Residual>"),
       "index=\"0\" is no number from 1 to 100"},
      {BODY(DERIVATIVE "<Residual><Formulation index=\"1\" valueReference=\"8\"/>"
                       "<Formulation index=\"1\" valueReference=\"9\"/></Residual>"),
       "two formulations of one <Residual> have index 1"},
      {BODY(DERIVATIVE "<Residual><Formulation index=\"2\" valueReference=\"8\"/>"
                       "<Formulation index=\"1\" valueReference=\"7\"/></Residual>"),
       "formulations of one <Residual> have different sizes"},
      {BODY(DERIVATIVE "<Residual><Formulation valueReference=\"8\" dependencies=\"3 66\"/>"
                       "</Residual>" RESIDUALS),
       "dependencies: there is no variable with value reference 66"},
      {BODY(DERIVATIVE "<Residual><Formulation valueReference=\"8\" dependencies=\"3 y\"/>"
                       "</Residual>" RESIDUALS),
       "dependencies: \"y\" is no value reference"},
      {BODY(RESIDUALS), "there is no <ContinuousStateDerivative>"},
      {BODY("<ContinuousStateDerivative valueReference=\"8\"/>" RESIDUALS),
       "h is not the derivative that modelDescription.xml has at this position"},
      {BODY(DERIVATIVE DERIVATIVE RESIDUALS), "dx is not the derivative"},
      {BODY(DERIVATIVE RESIDUALS "<EventIndicator valueReference=\"8\"/>"),
       "1 event indicators are named, and modelDescription.xml has 0"},
      {ROOT ENABLE ALGEBRAICS END, "there is no <ModelStructure>"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    cpl_fmu* fmu = open_at(*state, place, cases[i].text);
    CHECK(!fmu->dae.present && fmu->desc.n_algebraics == 0 && fmu->desc.n_constraints == 0);
    if (fmu->desc.form_error == NULL) fail_msg("no error: %s", cases[i].message);
    CHECK_CONTAINS(fmu->desc.form_error, cases[i].message);
    CHECK_INT(fmu->findings.count, 1);
    CHECK_INT(fmu->findings.items[0].severity, CPLI_ERROR);
    drop(fmu);
  }
}

static void what_no_residual_determines_is_a_finding(void** state) {
  cpl_fmu* fmu =
      open_at(*state, place,
              BODY(DERIVATIVE
                   "<Residual><Formulation valueReference=\"7\" dependencies=\"5\"/></Residual>"
                   "<Residual><Formulation valueReference=\"8\" dependencies=\"3\"/></Residual>"));
  CHECK(fmu->dae.present);
  CHECK_INT(fmu->findings.count, 1);
  CHECK_CONTAINS(fmu->findings.items[0].text, "no residual depends on the algebraic variable w");
  drop(fmu);
}

static void broken_xml_is_a_finding(void** state) {
  cpl_fmu* fmu = open_at(*state, place, ROOT ENABLE "<AlgebraicVariables>");
  CHECK(!fmu->dae.present && fmu->desc.form_error != NULL);
  CHECK_INT(fmu->findings.count, 1);
  drop(fmu);
}

// Every byte gone, doubled or another one: an answer of some kind, and nothing worse.
static void mutations_do_no_harm(void** state) {
  static const char good[] = GOOD;
  static const char others[] = "0 <\"/9x";
  cpl_fmu* fmu = open_at(*state, place, good);
  size_t n = sizeof good - 1, usable = 0;
  char* text = malloc(n + 2);
  for (size_t i = 0; i < n; i++) {
    for (size_t k = 0; k < sizeof others + 1; k++) {
      size_t tail = k == 0 ? i + 1 : k == 1 ? i : i + 1, at = i;
      memcpy(text, good, i);
      if (k == 1) text[at++] = good[i];
      if (k > 1) text[at++] = others[k - 2];
      memcpy(text + at, good + tail, n - tail + 1);
      CHECK_OK(*state, cpli_dae_manifest_parse(fmu, place, text, strlen(text)));
      usable += fmu->desc.n_algebraics == 3;
    }
  }
  CHECK(usable > n / 20);  // descriptions and the like
  free(text);
  drop(fmu);
}

static void every_failed_allocation_is_survived(void** state) {
  (void)state;
  for (long n = 0;; n++) {
    test_heap heap = {.fail_at = n};
    cpl_context_def on_heap = cpl_default_context_def();
    on_heap.realloc = heap_realloc;
    on_heap.user = &heap;
    cpl_context* ctx = cpl_context_create(&on_heap);
    cpl_source* src = NULL;
    cpl_fmu_def def = cpl_default_fmu_def();
    def.path = "good.fmu";
    if (n == 0) {
      make_archive("good.fmu",
                   (archive_entry[]){{.name = "modelDescription.xml", .text = description},
                                     {.name = place, .text = GOOD},
                                     {0}});
    }
    cpl_status st = ctx != NULL ? cpl_fmu_open(ctx, &def, &src) : CPL_ERR_NOMEM;
    bool good = st == CPL_OK && ((cpl_fmu*)src)->dae.present;
    if (src != NULL) src->ops->destroy(src);
    if (ctx != NULL) cpl_context_destroy(ctx);
    CHECK_INT(heap.live, 0);
    if (good) break;
    CHECK_INT(st, CPL_ERR_NOMEM);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_it_says_is_there),
      cmocka_unit_test(variants_are_understood),
      cmocka_unit_test(a_form_without_another_is_noted),
      cmocka_unit_test(mistakes_are_named_with_their_place),
      cmocka_unit_test(what_no_residual_determines_is_a_finding),
      cmocka_unit_test(broken_xml_is_a_finding),
      cmocka_unit_test(mutations_do_no_harm),
      cmocka_unit_test(every_failed_allocation_is_survived),
  };
  return cmocka_run_group_tests(tests, make_context, drop_context);
}
