// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Co-simulation FMUs of other tools: inputs that move during a step, events that depend on them,
// optional functions that fail. The input of x' = -x + u is u = cos t: its slope is 0 at the start,
// where no polynomial is known yet.
#include "cli/command.h"

static const char variables2[] =
    "<ModelVariables>"
    "<ScalarVariable name=\"x\" valueReference=\"1\" causality=\"output\"><Real/></ScalarVariable>"
    "<ScalarVariable name=\"u\" valueReference=\"2\" causality=\"input\"><Real start=\"0\"/>"
    "</ScalarVariable>"
    "<ScalarVariable name=\"level\" valueReference=\"3\" causality=\"parameter\""
    " variability=\"fixed\"><Real start=\"1e300\"/></ScalarVariable>"
    "<ScalarVariable name=\"hit\" valueReference=\"4\" causality=\"output\"><Real/>"
    "</ScalarVariable></ModelVariables><ModelStructure><Outputs>"
    "<Unknown index=\"1\" dependencies=\"\"/><Unknown index=\"4\" dependencies=\"\"/></Outputs>"
    "</ModelStructure></fmiModelDescription>";

static const char variables3[] =
    "<ModelVariables>"
    "<Float64 name=\"time\" valueReference=\"0\" causality=\"independent\"/>"
    "<Float64 name=\"x\" valueReference=\"1\" causality=\"output\"/>"
    "<Float64 name=\"u\" valueReference=\"2\" causality=\"input\" start=\"0\""
    " intermediateUpdate=\"true\"/>"
    "<Float64 name=\"level\" valueReference=\"3\" causality=\"parameter\" variability=\"fixed\""
    " start=\"1e300\"/>"
    "<Float64 name=\"hit\" valueReference=\"4\" causality=\"output\" variability=\"discrete\"/>"
    "<Float64 name=\"w\" valueReference=\"5\" causality=\"input\" start=\"0\"/>"
    "</ModelVariables><ModelStructure><Output valueReference=\"1\" dependencies=\"\"/>"
    "<Output valueReference=\"4\" dependencies=\"\"/></ModelStructure></fmiModelDescription>";

static void make_foreign(const char* path, bool fmi3, const char* flags) {
  char file[4096], xml[8192];
  size_t size;
  snprintf(file, sizeof file, "%s/binaries/linux64/foreign.so", getenv("COUPLET_PROBE"));
  char* library = read_bytes(file, &size);
  snprintf(xml, sizeof xml,
           "<fmiModelDescription fmiVersion=\"%s\" modelName=\"foreign\" %s=\"g\">"
           "<CoSimulation modelIdentifier=\"foreign\" "
           "canHandleVariableCommunicationStepSize=\"true\" %s/>%s",
           fmi3 ? "3.0" : "2.0", fmi3 ? "instantiationToken" : "guid", flags,
           fmi3 ? variables3 : variables2);
  make_archive(path, (archive_entry[]){{.name = "modelDescription.xml", .text = xml},
                                       {.name = fmi3 ? "binaries/x86_64-linux/foreign.so"
                                                     : "binaries/linux64/foreign.so",
                                        .text = library,
                                        .size = size},
                                       {0}});
  free(library);
}

// A source of sin t and cos t that is stepped beside the FMU.
static void write_system(const char* fmu, const char* input, const char* wave, int order,
                         double step, const char* more) {
  char text[2048];
  write_text("wave.c", MODEL("wave",
                             "static const cpl_declaration x[] = {{.name = \"s\"}, {.name = "
                             "\"c\", .start = 1}, {0}};\n"
                             "static int f(const cpl_values* v, double* dx) {\n"
                             "  dx[0] = v->x[1];\n  dx[1] = -v->x[0];\n  return 0;\n}\n",
                             ".states = x, .derivatives = f, .tolerance = 1e-10"));
  snprintf(text, sizeof text,
           "couplet: 1\nmodels:\n  w: {c: wave.c, as: cs}\n  f: {fmu: %s%s}\n"
           "connections:\n  f.%s: w.%s\nmaster: {step: %.17g, order: %d}\n"
           "experiment: {stop: 2, rtol: 1e-10}\n",
           fmu, more, input, wave, step, order);
  write_text("s.yaml", text);
}

static double run_system(const char* value) {
  CHECK_CODE(0, "run", "s.yaml", "--record", value, "-o", "out.csv");
  return last_value("out.csv", 1);
}

static double exact(double t) { return (sin(t) + cos(t) - exp(-t)) / 2; }

static double error_of(const char* fmu, const char* input, int order, double step) {
  write_system(fmu, input, "c", order, step, "");
  return fabs(run_system("f.x") - exact(2));
}

// Halving the step: the error becomes smaller by 2 to the order of the method, which is one more
// than that of the polynomial.
static void check_order(const char* fmu, int order) {
  double coarse = error_of(fmu, "u", order, 0.1), fine = error_of(fmu, "u", order, 0.025);
  double seen = log2(coarse / fine) / 2;
  if (!(seen > order + 0.7)) fail_msg("%s: order %d converges with %g", fmu, order, seen);
}

static void follows_inputs(void** state) {
  (void)state;
  make_foreign("u3.fmu", true, "providesIntermediateUpdate=\"true\"");
  make_foreign("u2.fmu", false, "canInterpolateInputs=\"true\"");
  for (int order = 0; order <= 2; order++) {
    check_order("u3.fmu", order);
    CHECK(strstr(complained, "warning") == NULL);
  }
  check_order("u2.fmu", 1);
  CHECK(strstr(complained, "warning") == NULL);
}

// What cannot follow is named, and held at its mean: still better than at its beginning.
static void says_what_is_held(void** state) {
  (void)state;
  double begin = error_of("u3.fmu", "u", 0, 0.1);
  make_foreign("plain3.fmu", true, "");
  make_foreign("plain2.fmu", false, "");
  CHECK(error_of("plain3.fmu", "u", 1, 0.1) < 0.1 * begin);
  CHECK_CONTAINS(complained, "order: 1: models that take no curves of that order keep");
  CHECK_CONTAINS(complained, "f.u\n");
  CHECK(error_of("plain2.fmu", "u", 2, 0.1) < 0.1 * begin);
  CHECK_CONTAINS(complained, "order: 2: models that take no curves of that order keep");
  error_of("plain2.fmu", "u", 0, 0.1);
  CHECK(strstr(complained, "warning") == NULL);
  error_of("u2.fmu", "u", 2, 0.1);
  CHECK_CONTAINS(complained, "f.u (order 1)");

  // an input that intermediate updates do not take, and an FMU that never asks
  CHECK(error_of("u3.fmu", "w", 1, 0.1) < 0.1 * begin);
  setenv("FOREIGN_SILENT", "1", 1);
  CHECK(error_of("u3.fmu", "u", 1, 0.1) < 0.2 * begin);
  unsetenv("FOREIGN_SILENT");
  CHECK_CONTAINS(complained, "asked for no inputs");
  setenv("FOREIGN_REFUSES", "1", 1);
  CHECK(error_of("u3.fmu", "u", 1, 0.1) < 0.1 * begin);
  unsetenv("FOREIGN_REFUSES");
  CHECK_CONTAINS(complained, "an intermediate update of inputs, but the FMU refuses it");
  CHECK_CONTAINS(complained, "order: 1: models that take no curves of that order keep");
}

// sin t reaches 0.8 at 0.9273: the same in both versions, and located within the step.
static void finds_crossings(void** state) {
  (void)state;
  const double t = asin(0.8);
  make_foreign("e3.fmu", true,
               "providesIntermediateUpdate=\"true\" hasEventMode=\"true\" "
               "mightReturnEarlyFromDoStep=\"true\"");
  double hit3[2], hit2[2];
  for (int i = 0; i < 2; i++) {
    double step = i == 0 ? 0.1 : 0.02;
    write_system("e3.fmu", "u", "s", 2, step, ", start: {level: 0.8}");
    hit3[i] = run_system("f.hit");
    write_system("u2.fmu", "u", "s", 1, step, ", start: {level: 0.8}");
    hit2[i] = run_system("f.hit");
  }
  CHECK_NEAR(hit3[0], t, 1e-3);
  CHECK_NEAR(hit3[1], t, 1e-5);
  CHECK_NEAR(hit2[0], t, 1e-2);
  CHECK_NEAR(hit2[1], t, 5e-4);
}

// One warning, and the run goes on without the function.
static void optional_functions(void** state) {
  (void)state;
  setenv("FOREIGN_FAULT", "fmi2SetRealInputDerivatives", 1);
  CHECK(error_of("u2.fmu", "u", 1, 0.1) < 0.1);
  CHECK_CONTAINS(complained, "fmi2SetRealInputDerivatives at t=0.1 returned fmi2Error");
  CHECK(strstr(strstr(complained, "returned fmi2Error") + 1, "returned fmi2Error") == NULL);
  make_foreign("s2.fmu", false, "canGetAndSetFMUstate=\"true\"");
  setenv("FOREIGN_FAULT", "fmi2GetFMUstate", 1);
  double failing = error_of("s2.fmu", "u", 0, 0.1);
  CHECK_CONTAINS(complained,
                 "f is not rolled back from here on, since its state cannot be saved: ");
  CHECK_CONTAINS(complained, "fmi2GetFMUstate at t=0.1 returned fmi2Error");
  unsetenv("FOREIGN_FAULT");
  CHECK_NEAR(failing, error_of("s2.fmu", "u", 0, 0.1), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(follows_inputs),
      cmocka_unit_test(says_what_is_held),
      cmocka_unit_test(finds_crossings),
      cmocka_unit_test(optional_functions),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
