// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Models in C that are wrong: what a modeller reads then.
#include "command.h"

#define STATE "static const cpl_declaration x[] = {{.name = \"x\", .start = 1}, {0}};\n"
#define DERIVATIVES(body) \
  "static int f(const cpl_values* v, double* dx) {\n  dx[0] = -v->x[0];\n" body "  return 0;\n}\n"
#define PLAIN  STATE DERIVATIVES("")
#define FIELDS ".states = x, .derivatives = f"

static void use(const char* text) {
  write_text("m.c", text);
  unlink("m.csv");
}

static void does_not_compile(void** state) {
  (void)state;
  use("#include <couplet/model.h>\nint f( { return }\n");
  CHECK_CODE(2, "run", "m.c");
  CHECK_CONTAINS(complained, "couplet: m.c could not be compiled:\n");
  CHECK_CONTAINS(complained, "m.c:2:8: error: ");
  CHECK_CODE(2, "info", "m.c");
  CHECK_CONTAINS(complained, "m.c:2:8: error: ");
  use("#include \"none.h\"\n");
  CHECK_CODE(2, "run", "m.c");
  CHECK_CONTAINS(complained, "none.h: No such file");
  setenv("CC", "no-such-compiler", 1);
  CHECK_CODE(2, "run", "m.c");
  CHECK_STR(complained,
            "couplet: m.c needs a C compiler: no-such-compiler could not be started: No such file "
            "or directory\n");
  unsetenv("CC");
}

static void is_no_model(void** state) {
  (void)state;
  use("int a;\n");
  CHECK_FAILS(2, "m.c: defines no `const cpl_model_def couplet_model`", "run", "m.c");
  use("int elsewhere(void);\nint f(void);\nint f(void) { return elsewhere(); }\n");
  CHECK_FAILS_WITH(2, "m.c: cannot be loaded: ", "run", "m.c");
  CHECK_CONTAINS(complained, "elsewhere");
  use(MODEL("", PLAIN, FIELDS));
  CHECK_FAILS_WITH(2, "m.c: ", "run", "m.c");
  use(MODEL("m", STATE, ".states = x"));
  CHECK_FAILS(2, "m.c: model m has states but no function `derivatives`", "run", "m.c");
  use(MODEL("m", PLAIN, FIELDS ", .n_indicators = 1"));
  CHECK_FAILS(2, "m.c: model m has indicators but no function `indicators`", "run", "m.c");
  use(MODEL("m", PLAIN "static const cpl_declaration p[] = {{.name = \"x\"}, {0}};\n",
            FIELDS ", .parameters = p"));
  CHECK_FAILS_WITH(2, "m.c: model m: variable x: ", "run", "m.c");
}

static void returns_an_error(void** state) {
  (void)state;
  use(MODEL(
      "m",
      STATE DERIVATIVES(
          "  if (v->t > 0.5) return cpl_model_error(v, \"x is %g\", v->x[0] > 0 ? 5.0 : 0);\n"),
      FIELDS));
  CHECK_FAILS_WITH(1, "m: derivatives at t=0.5", "run", "m.c");
  CHECK_CONTAINS(complained, " failed: x is 5\n");
  CHECK_NEAR(last_value("m.csv", 0), 0.5, 0.1);
  CHECK_NEAR(last_value("m.csv", 1), exp(-last_value("m.csv", 0)), 1e-5);
  // without a word
  use(MODEL("m", STATE DERIVATIVES("  if (v->t > 0.5) return CPL_MODEL_ERROR;\n"), FIELDS));
  CHECK_FAILS_WITH(1, "m: derivatives at t=0.5", "run", "m.c");
  // at once
  use(MODEL("m", STATE DERIVATIVES("  return CPL_MODEL_ERROR;\n"), FIELDS));
  CHECK_FAILS_WITH(1, "m: derivatives at t=0 failed", "run", "m.c");
  use(MODEL("m",
            PLAIN "static int i(const cpl_values* v, cpl_event_actions* a) {\n"
                  "  (void)a;\n  return cpl_model_error(v, \"no start\");\n}\n",
            FIELDS ", .initialize = i"));
  CHECK_FAILS(1, "m: initialize at t=0 failed: no start", "run", "m.c");
}

static void divides_by_zero(void** state) {
  (void)state;
  use(MODEL(
      "m",
      "static volatile int zero;\n" STATE DERIVATIVES("  if (v->t > 0.5) dx[0] = 1000 / zero;\n"),
      FIELDS));
  CHECK_FAILS_WITH(1, "m: derivatives at t=0.5", "run", "m.c");
  CHECK_CONTAINS(complained, " crashed (SIGFPE: division by zero or the like)\n");
  CHECK_NEAR(last_value("m.csv", 0), 0.5, 0.1);
  // in floating point the derivative is infinite, and stays so
  use(MODEL("m", STATE DERIVATIVES("  if (v->t > 0.5) dx[0] = 1 / (v->x[0] - v->x[0]);\n"),
            FIELDS));
  CHECK_FAILS_WITH(1, "der(x) is inf at t=0.5", "run", "m.c");
  use(MODEL("m", STATE DERIVATIVES("  if (v->t > 0.5) dx[0] = NAN;\n"), FIELDS));
  CHECK_FAILS_WITH(1, "m: the solver cannot go on at t=0.5", "run", "m.c");
  CHECK_CONTAINS(complained, "der(x) is nan at t=0.5");
  CHECK_NEAR(last_value("m.csv", 0), 0.5, 0.1);
  static const char* const fixed[] = {"rk4", "euler"};
  for (int i = 0; i < 2; i++) {
    CHECK_FAILS_WITH(1, "der(x) is nan at t=0.5", "run", "m.c", "--solver", fixed[i]);
  }
}

static void crashes(void** state) {
  (void)state;
  use(MODEL("m", "#include <stdlib.h>\n" STATE DERIVATIVES("  if (v->t > 0.5) abort();\n"),
            FIELDS));
  CHECK_FAILS_WITH(1, "m: derivatives at t=0.5", "run", "m.c");
  CHECK_CONTAINS(complained, " crashed (SIGABRT");
  use(MODEL(
      "m",
      "static volatile int deep[1];\n"
      "static int sink(volatile int* p) {\n"
      "  volatile int here[256];\n  here[0] = p[0] + 1;\n  return sink(here) + here[0];\n}\n" STATE
          DERIVATIVES("  if (v->t > 0.5) dx[0] = sink(deep);\n"),
      FIELDS));
  CHECK_FAILS_WITH(1, "m: derivatives at t=0.5", "run", "m.c");
  CHECK_CONTAINS(complained, " crashed (SIGSEGV");
  CHECK_NEAR(last_value("m.csv", 0), 0.5, 0.1);
  // each function of a model
  static const char* const functions[][2] = {
      {"static int g(const cpl_values* v, double* y_) {\n  y_[0] = *(double*)(v->t > 0.5 ? nowhere "
       ": (void*)v->x);\n  return 0;\n}\n"
       "static const cpl_declaration y[] = {{.name = \"y\"}, {0}};\n",
       "output_values at t=0.5"},
      {"static int z(const cpl_values* v, double* z_) {\n  z_[0] = *(double*)(v->t > 0.5 ? nowhere "
       ": (void*)v->x);\n  return 0;\n}\n",
       "indicators at t=0.5"},
      {"static int i(const cpl_values* v, cpl_event_actions* a) {\n  a->x[0] = *(double*)nowhere + "
       "v->t;\n  return 0;\n}\n",
       "initialize at t=0 crashed"},
      {"static int c(const cpl_values* v, bool* e) {\n  *e = *(double*)(v->t > 0.5 ? nowhere : "
       "(void*)v->x) < 0;\n  return 0;\n}\n",
       "completed_step at t=0.5"},
  };
  static const char* const fields[] = {".outputs = y, .output_values = g",
                                       ".n_indicators = 1, .indicators = z", ".initialize = i",
                                       ".completed_step = c"};
  for (int i = 0; i < 4; i++) {
    char text[4096];
    snprintf(text, sizeof text,
             "#include <couplet/model.h>\nstatic void* volatile nowhere;\n%s%sconst cpl_model_def "
             "couplet_model = {.name = \"m\", %s, %s};\n",
             PLAIN, functions[i][0], FIELDS, fields[i]);
    use(text);
    CHECK_FAILS_WITH(1, functions[i][1], "run", "m.c");
    CHECK_CONTAINS(complained, "crashed (SIGSEGV");
  }
}

#define EVENT(body)                                                                          \
  "static int z(const cpl_values* v, double* z_) {\n  z_[0] = 0.5 - v->t;\n  return 0;\n}\n" \
  "static int e(const cpl_values* v, cpl_event_actions* a) {\n" body "  return 0;\n}\n"
#define EVENT_FIELDS FIELDS ", .n_indicators = 1, .indicators = z, .event = e"

static void loops_in_events(void** state) {
  (void)state;
  use(MODEL("m", PLAIN EVENT("  a->again = v->t > 0.4;\n"), EVENT_FIELDS));
  CHECK_FAILS_WITH(1, "m: the event at t=0.5", "run", "m.c");
  CHECK_CONTAINS(complained, "does not settle: 1000 updates, and the model asks for another");
  CHECK_NEAR(last_value("m.csv", 0), 0.5, 0.01);
  use(MODEL("m", PLAIN EVENT("  if (v->t > 0.4) a->next_time = v->t - 0.1;\n"), EVENT_FIELDS));
  CHECK_FAILS_WITH(1, "m: event at t=0.5", "run", "m.c");
  CHECK_CONTAINS(complained, "asks for a time event at 0.4");
  CHECK_CONTAINS(complained, "which is not later\n");
  use(MODEL("m", PLAIN EVENT("  if (v->t > 0.4) a->next_time = nextafter(v->t, 9);\n"),
            EVENT_FIELDS));
  CHECK_FAILS_WITH(1, "m: chattering: ", "run", "m.c");
  use(MODEL("m",
            PLAIN EVENT("  (void)v;\n  return cpl_model_error(v, \"not now%s\", a->again ? \"\" : "
                        "\"!\");\n"),
            EVENT_FIELDS));
  CHECK_CODE(1, "run", "m.c");
  CHECK_CONTAINS(complained, "not now!");
}

// A compiled model is found again, a changed one is compiled again.
static void cache(void** state) {
  (void)state;
  use(MODEL("m", PLAIN, FIELDS));
  CHECK_CODE(0, "run", "m.c");
  double before = last_value("m.csv", 1);
  CHECK_CODE(0, "run", "m.c");
  CHECK_NEAR(last_value("m.csv", 1), before, 0);
  use(MODEL("m", STATE DERIVATIVES("  dx[0] = 0;\n"), FIELDS));
  CHECK_CODE(0, "run", "m.c");
  CHECK_NEAR(last_value("m.csv", 1), 1, 0);
}

// A rod of 200 nodes: inside of an FMU as outside the solver uses that each knows two others.
static const char rod_model[] =
    MODEL("rod",
          "static const cpl_declaration x[] = {{.name = \"T\", .start = 1, .size = 200}, {0}};\n"
          "static int f(const cpl_values* v, double* dx) {\n"
          "  for (int i = 0; i < 200; i++) {\n"
          "    double left = i > 0 ? v->x[i - 1] : sin(v->t), right = i < 199 ? v->x[i + 1] : 0;\n"
          "    dx[i] = 100 * (left - 2 * v->x[i] + right) - v->x[i] * v->x[i];\n"
          "  }\n"
          "  return 0;\n"
          "}",
          ".states = x, .derivatives = f, .stop_time = 2, .tolerance = 1e-7");

static void many_states(void** state) {
  (void)state;
  static const char* const versions[] = {"2", "3"};
  write_text("rod.c", rod_model);
  CHECK_CODE(0, "run", "rod.c", "--rtol", "1e-9", "--record", "T[2]", "-o", "exact.csv");
  for (int i = 0; i < 2; i++) {
    CHECK_CODE(0, "build", "rod.c", "--fmi", versions[i], "-o", "rod.fmu");
    CHECK_CODE(0, "run", "rod.fmu", "--as", "cs", "--record", "T[2]", "-o", "cs.csv");
    CHECK_NEAR(last_value("cs.csv", 1), last_value("exact.csv", 1), 1e-5);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(does_not_compile),
      cmocka_unit_test(is_no_model),
      cmocka_unit_test(returns_an_error),
      cmocka_unit_test(divides_by_zero),
      cmocka_unit_test(crashes),
      cmocka_unit_test(loops_in_events),
      cmocka_unit_test(cache),
      cmocka_unit_test(many_states),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
