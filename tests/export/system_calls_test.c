// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// FMUs of systems as another tool calls them: start values of the model description are those that
// an instance has, a tolerance or a reset changes no value, and saved states lead to the same bits
// in another instance. All models are x' = k (u - x), with known solutions.
#include <math.h>

#include "../cli/command.h"
#include "driver.h"

static const char lag[] = MODEL(
    "lag",
    "static const cpl_declaration x[] = {{.name = \"x\", .start = 7}, {0}};\n"
    "static const cpl_declaration u[] = {{.name = \"u\"}, {0}}, y[] = {{.name = \"y\"}, {0}};\n"
    "static const cpl_declaration p[] = {{.name = \"k\", .start = 9}, {0}};\n"
    "static int f(const cpl_values* v, double* dx) {\n"
    "  dx[0] = v->p[0] * (v->u[0] - v->x[0]);\n"
    "  return 0;\n"
    "}\n"
    "static int g(const cpl_values* v, double* out) {\n"
    "  out[0] = v->x[0];\n"
    "  return 0;\n"
    "}",
    ".states = x, .inputs = u, .outputs = y, .parameters = p, .derivatives = f, .output_values = "
    "g");

// Signals of the system are needed, so that its expressions are a part of their own. `as` of each.
static const char text[] =
    "couplet: 1\nname: %s\nmodels:\n"
    "  one: {c: lag.c, as: %s, start: {x: 1.5, k: 0.5}}\n"
    "  two: {c: lag.c, as: %s, start: {x: -2, k: 0.25}}\n"
    "parameters: {level: 3}\ninputs: {high: 4, low: {start: -1}}\n"
    "connections: {one.u: high, two.u: level + low}\nexperiment: {stop: 4, rtol: 1e-8}\n";

enum { N = 40 };
static const double h = 0.0625;

static double exact(double x0, double k, double u, double t) { return u + (x0 - u) * exp(-k * t); }

static void open_text(driver* d, const char* yaml) {
  use_folders();
  write_text("lag.c", lag);
  write_text("system.yaml", yaml);
  driver_build_file(d, "system.yaml", "system");
  driver_extract(d);
}

static void open_system(driver* d, const char* name, const char* as) {
  char yaml[2048];
  snprintf(yaml, sizeof yaml, text, name, as, as);
  open_text(d, yaml);
}

static fmi2Component instance(driver* d, fmi2Type type, const char* name) {
  static const fmi2CallbackFunctions callbacks = {NULL, calloc, free, NULL, NULL};
  char uri[4200];
  snprintf(uri, sizeof uri, "file://%s/resources", d->folder);
  fmi2Component c = d->fmi2Instantiate(name, type, d->guid, uri, &callbacks, fmi2False, fmi2True);
  assert_non_null(c);
  return c;
}

// Every start value of the description is the one that the instance has.
static void check_starts(driver* d, fmi2Component c) {
  static const struct {
    const char* name;
    double start;
  } all[] = {{"one.x", 1.5},  {"one.k", 0.5}, {"two.x", -2},
             {"two.k", 0.25}, {"level", 3},   {"low", -1}};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    char pattern[64];
    double said = NAN;
    snprintf(pattern, sizeof pattern, "name=\"%s\"", all[i].name);
    const char* at = strstr(d->xml, pattern);
    const char* start = at != NULL ? strstr(at, " start=\"") : NULL;
    CHECK(start != NULL && start < strstr(at, "</ScalarVariable>"));
    CHECK_INT(sscanf(start + 8, "%lf", &said), 1);
    CHECK_NEAR(said, all[i].start, 0);
    CHECK_NEAR(driver_real(d, c, all[i].name), all[i].start, 0);
  }
}

static void initialize(driver* d, fmi2Component c, double tolerance) {
  CHECK_FMI(d->fmi2SetupExperiment(c, tolerance > 0, tolerance, 0, fmi2False, 0), fmi2OK);
  CHECK_FMI(d->fmi2EnterInitializationMode(c), fmi2OK);
  CHECK_FMI(d->fmi2ExitInitializationMode(c), fmi2OK);
}

static void steps(driver* d, fmi2Component c, int from, double values[N][2], double low) {
  for (int i = from; i < N; i++) {
    CHECK_FMI(d->fmi2DoStep(c, i * h, h, fmi2True), fmi2OK);
    values[i][0] = driver_real(d, c, "one.x");
    values[i][1] = driver_real(d, c, "two.x");
    CHECK_NEAR(values[i][0], exact(1.5, 0.5, 4, (i + 1) * h), 1e-5);
    CHECK_NEAR(values[i][1], exact(-2, 0.25, 3 + low, (i + 1) * h), 1e-5);
    CHECK_NEAR(driver_real(d, c, "high"), 4, 0);
    CHECK_NEAR(driver_real(d, c, "low"), low, 0);
  }
}

static void check_same(double a[N][2], double b[N][2], int from) {
  CHECK(memcmp(a[from], b[from], (size_t)(N - from) * sizeof *a) == 0);
}

static void check_calls(const char* system, const char* as, const char* name) {
  driver d;
  double first[N][2], again[N][2];
  open_system(&d, system, as);
  fmi2Component c = instance(&d, fmi2CoSimulation, name);
  check_starts(&d, c);
  initialize(&d, c, 1e-8);
  steps(&d, c, 0, first, -1);
  // a reset, and other values
  CHECK_FMI(d.fmi2Terminate(c), fmi2OK);
  CHECK_FMI(d.fmi2Reset(c), fmi2OK);
  check_starts(&d, c);
  CHECK_FMI(driver_set_real(&d, c, "low", 2.5), fmi2OK);
  initialize(&d, c, 0);
  steps(&d, c, 0, again, 2.5);
  CHECK_FMI(d.fmi2Reset(c), fmi2OK);
  initialize(&d, c, 1e-8);
  // saved in the middle, and restored here and in another instance, as bytes
  fmi2FMUstate state = NULL, other_state = NULL;
  size_t size = 0;
  for (int i = 0; i < N / 2; i++) CHECK_FMI(d.fmi2DoStep(c, i * h, h, fmi2True), fmi2OK);
  CHECK_FMI(d.fmi2GetFMUstate(c, &state), fmi2OK);
  steps(&d, c, N / 2, again, -1);
  check_same(first, again, N / 2);
  CHECK_FMI(d.fmi2SetFMUstate(c, state), fmi2OK);
  steps(&d, c, N / 2, again, -1);
  check_same(first, again, N / 2);
  CHECK_FMI(d.fmi2SerializedFMUstateSize(c, state, &size), fmi2OK);
  char* bytes = malloc(size);
  CHECK_FMI(d.fmi2SerializeFMUstate(c, state, bytes, size), fmi2OK);
  CHECK_FMI(d.fmi2FreeFMUstate(c, &state), fmi2OK);
  d.fmi2FreeInstance(c);
  c = instance(&d, fmi2CoSimulation, "other");
  initialize(&d, c, 1e-8);
  CHECK_FMI(d.fmi2DeSerializeFMUstate(c, bytes, size, &other_state), fmi2OK);
  CHECK_FMI(d.fmi2SetFMUstate(c, other_state), fmi2OK);
  steps(&d, c, N / 2, again, -1);
  check_same(first, again, N / 2);
  CHECK_FMI(d.fmi2FreeFMUstate(c, &other_state), fmi2OK);
  d.fmi2FreeInstance(c);
  free(bytes);
  driver_close(&d);
}

// Names of systems and instances before and after those of the models, in the order of names.
static void calls(void** state) {
  (void)state;
  check_calls("a system", "me", "z");
  check_calls("a system", "cs", "z");
  check_calls("the system", "cs", "a");
  check_calls("pair", "cs", "pair");
}

//------------------------------------ values that follow ------------------------------------

static const char following[] =
    "couplet: 1\nname: following\nparameters: {a: 0.5, b: 2*a, t: b + 1}\nmodels:\n"
    "  one: {c: lag.c, as: %s, start: {x: b, k: a}}\n  two: {c: lag.c, start: {x: 1, k: 0}}\n"
    "connections: {one.u: 0*two.x, two.u: 0}\nevents: {kick: {at: t, set: {two.x: 5}}}\n"
    "experiment: {stop: 4, rtol: 1e-8}\n";

// From the present state of an instance that is initialised with a and b.
static void check_following(driver* d, fmi2Component c, double a, double b) {
  CHECK_NEAR(driver_real(d, c, "a"), a, 0);
  CHECK_NEAR(driver_real(d, c, "b"), b, 0);
  CHECK_NEAR(driver_real(d, c, "t"), b + 1, 0);
  for (int i = 0; i < 3 / h; i++) {
    CHECK_FMI(d->fmi2DoStep(c, i * h, h, fmi2True), fmi2OK);
    const double t = (i + 1) * h;
    CHECK_NEAR(driver_real(d, c, "one.x"), b * exp(-a * t), 1e-5);
    if (fabs(t - (b + 1)) > h) CHECK_NEAR(driver_real(d, c, "two.x"), t > b + 1 ? 5 : 1, 1e-9);
  }
}

static void check_attribute(const driver* d, const char* name, const char* attribute) {
  char pattern[64];
  snprintf(pattern, sizeof pattern, "name=\"%s\"", name);
  const char *at = strstr(d->xml, pattern), *found = at != NULL ? strstr(at, attribute) : NULL;
  CHECK(found != NULL && found < strstr(at, "</ScalarVariable>"));
}

// An importer sets parameters before the initialisation or in it: what depends on them follows.
static void values_follow_from_parameters(void** state) {
  (void)state;
  for (int k = 0; k < 2; k++) {
    driver d;
    char yaml[1024];
    const double a = 0.75, b = 1.25;
    fmi2FMUstate saved = NULL;
    snprintf(yaml, sizeof yaml, following, k == 0 ? "me" : "cs");
    open_text(&d, yaml);
    check_attribute(&d, "a", "causality=\"parameter\"");
    check_attribute(&d, "b", "causality=\"calculatedParameter\"");
    check_attribute(&d, "b", "initial=\"approx\"");
    check_attribute(&d, "one.k", "causality=\"calculatedParameter\"");
    check_attribute(&d, "one.x", "initial=\"approx\"");
    fmi2Component c = instance(&d, fmi2CoSimulation, "c");
    initialize(&d, c, 0);
    check_following(&d, c, 0.5, 1);
    CHECK_FMI(d.fmi2Reset(c), fmi2OK);
    CHECK_FMI(driver_set_real(&d, c, "a", a), fmi2OK);
    CHECK_FMI(d.fmi2GetFMUstate(c, &saved), fmi2OK);
    initialize(&d, c, 1e-9);
    check_following(&d, c, a, 2 * a);
    CHECK_FMI(d.fmi2SetFMUstate(c, saved), fmi2OK);
    CHECK_FMI(driver_set_real(&d, c, "b", b), fmi2OK);
    initialize(&d, c, 1e-9);
    check_following(&d, c, a, b);
    CHECK_FMI(d.fmi2SetFMUstate(c, saved), fmi2OK);
    initialize(&d, c, 1e-9);
    check_following(&d, c, a, 2 * a);
    CHECK_FMI(d.fmi2FreeFMUstate(c, &saved), fmi2OK);
    CHECK_FMI(d.fmi2Reset(c), fmi2OK);
    CHECK_FMI(d.fmi2SetupExperiment(c, fmi2False, 0, 0, fmi2False, 0), fmi2OK);
    CHECK_FMI(d.fmi2EnterInitializationMode(c), fmi2OK);
    CHECK_FMI(driver_set_real(&d, c, "a", a), fmi2OK);
    CHECK_NEAR(driver_real(&d, c, "b"), 2 * a, 0);
    CHECK_FMI(d.fmi2ExitInitializationMode(c), fmi2OK);
    check_following(&d, c, a, 2 * a);
    d.fmi2FreeInstance(c);
    driver_close(&d);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(calls),
                                     cmocka_unit_test(values_follow_from_parameters)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
