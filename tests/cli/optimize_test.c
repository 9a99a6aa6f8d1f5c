// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// `couplet optimize`: what it prints and writes, measures of the file, and mistakes.
#include "command.h"

static const char model[] =
    "#include <couplet/model.h>\n"
    "static const cpl_declaration states[] = {{\"x\", .start = 2, .unit = \"m\", .output = true}, "
    "{0}};\n"
    "static const cpl_declaration parameters[] = {{\"k\", .start = 0.5, .unit = \"1/s\"}, {0}};\n"
    "static int slope(const cpl_values* v, double* dx) {\n"
    "  dx[0] = -v->p[0] * v->x[0];\n"
    "  return CPL_MODEL_OK;\n"
    "}\n"
    "const cpl_model_def couplet_model = {.name = \"decay\", .states = states,\n"
    "    .parameters = parameters, .derivatives = slope, .stop_time = 5};\n";

static void write_files(void) {
  write_text("decay.c", model);
  write_text("decay.yaml",
             "couplet: 1\n"
             "models: {m: {c: decay.c}}\n"
             "measures: {end: final(m.x), half: \"at(m.x, 1)\"}\n"
             "experiment: {stop: 5}\n");
}

static double number_of(const char* text, const char* key) {
  char quoted[200];
  double value = NAN;
  snprintf(quoted, sizeof quoted, "\"%s\": ", key);
  const char* at = strstr(text, quoted);
  if (at == NULL) fail_msg("there is no %s in %s", key, text);
  CHECK_INT(sscanf(at + strlen(quoted), "%lf", &value), 1);
  return value;
}

// 2 exp(-5 k) is largest for the smallest k that is down to 1 within a second: log(2).
static void an_optimum_is_printed_and_written(void** state) {
  (void)state;
  write_files();
  CHECK_CODE(0, "optimize", "decay.yaml", "--maximize", "end", "--subject-to", "half <= 1",
             "--vary", "m.k=2:0.1:5", "--write", "best.yaml");
  CHECK_STR(complained, "");
  CHECK_CONTAINS(printed, "decay.yaml: maximum found by ");
  CHECK_CONTAINS(printed, "half <= 1: met, at its limit");
  CHECK_CODE(0, "optimize", "best.yaml", "--minimize", "(limit - 0.5)^2", "--measure",
             "limit=final(m.x)", "--vary", "m.k=2:0.1:5", "--json");
  CHECK_STR(complained, "");
  CHECK_NEAR(number_of(strstr(printed, "\"m.k\""), "value"), log(4) / 5, 1e-4);
  CHECK(printed[0] == '{' && strcmp(printed + strlen(printed) - 2, "}\n") == 0);
  CHECK_CODE(0, "run", "best.yaml", "-o", "-", "--record", "m.x", "--stop", "1");
  double x = NAN;
  CHECK_INT(sscanf(strrchr(printed, ',') + 1, "%lf", &x), 1);
  CHECK_NEAR(x, 1, 1e-4);
}

static void mistakes_are_explained(void** state) {
  (void)state;
  write_files();
  CHECK_CODE(2, "optimize", "decay.yaml", "--vary", "m.k");
  CHECK_CONTAINS(complained, "there is nothing to optimize (--minimize, --maximize)");
  CHECK_CODE(2, "optimize", "decay.yaml", "--vary", "m.k", "--minimize", "end", "--maximize",
             "end");
  CHECK_CONTAINS(complained, "there is one objective");
  CHECK_CODE(2, "optimize", "decay.yaml", "--vary", "m.kk", "--minimize", "end");
  CHECK_CONTAINS(complained, "is it m.k");
  CHECK_CODE(2, "optimize", "decay.yaml", "--vary", "m.k", "--minimize", "ende");
  CHECK_CONTAINS(complained, "ende");
  CHECK_CODE(2, "optimize", "decay.yaml", "--vary", "m.k", "--minimize", "end", "--subject-to",
             "end");
  CHECK_CONTAINS(complained, "expected EXPR <= EXPR");
  CHECK_CODE(1, "optimize", "decay.yaml", "--vary", "m.k=1:0.1:2", "--minimize", "end",
             "--subject-to", "end >= 3");
  CHECK_CONTAINS(complained, "no values that meet all constraints were found");
  CHECK_CONTAINS(printed, "the best values of ");
  mkdir("broken", 0700);
  write_text("broken/libnlopt.so.0", "no library");
  write_text("broken/libnlopt.so.1", "no library");
  write_text("broken/libnlopt.so", "no library");
  setenv("LD_LIBRARY_PATH", "broken", 1);
  CHECK_CODE(2, "optimize", "decay.yaml", "--vary", "m.k", "--minimize", "end");
  unsetenv("LD_LIBRARY_PATH");
  CHECK_CONTAINS(complained, "optimization needs the library NLopt (Debian: libnlopt0)");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(an_optimum_is_printed_and_written),
      cmocka_unit_test(mistakes_are_explained),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
