// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// FMUs of systems with C sources: what they contain, that the sources alone compute the same, and
// which systems are refused.
#include <math.h>

#include "cli/command.h"
#include "format/zip.h"

//------------------------------------ a system ------------------------------------

// x' = (u - x) / T
static const char lag[] =
    "#include <couplet/model.h>\n"
    "#include \"common.h\"\n"
    "static const cpl_declaration states[] = {{\"x\"}, {0}};\n"
    "static const cpl_declaration inputs[] = {{\"u\", .unit = \"N\"}, {0}};\n"
    "static const cpl_declaration parameters[] = {{\"T\", .start = 0.4}, {0}};\n"
    "static int derivatives(const cpl_values* v, double* dx) {\n"
    "  dx[0] = rate(v->u[0], v->x[0], v->p[0]);\n"
    "  return CPL_MODEL_OK;\n}\n"
    "const cpl_model_def couplet_model = {.name = \"lag\", .states = states, .inputs = inputs,\n"
    "  .parameters = parameters, .derivatives = derivatives};\n";
static const char lag_header[] =
    "static double rate(double u, double x, double T) { return (u - x) / T; }\n";

// A mass that bounces, of the same file name, with another header of the same name.
static const char mass[] =
    "#include \"couplet/model.h\"\n"
    "#include \"inner/common.h\"\n"
    "static const cpl_declaration states[] = {{\"x\", .start = 0.7}, {\"v\"}, {0}};\n"
    "static const cpl_declaration inputs[] = {{\"F\"}, {0}};\n"
    "static const cpl_declaration outputs[] = {{\"twice\"}, {0}};\n"
    "static int derivatives(const cpl_values* v, double* dx) {\n"
    "  dx[0] = v->x[1];\n"
    "  dx[1] = v->u[0] - rate(v);\n"
    "  return CPL_MODEL_OK;\n}\n"
    "static int output_values(const cpl_values* v, double* y) {\n"
    "  y[0] = 2 * v->x[0];\n"
    "  return CPL_MODEL_OK;\n}\n"
    "const cpl_model_def couplet_model = {.name = \"mass\", .states = states, .inputs = inputs,\n"
    "  .outputs = outputs, .derivatives = derivatives, .output_values = output_values};\n";
static const char mass_header[] =
    "#include <couplet/model.h>\n"
    "static double rate(const cpl_values* v) { return 5 + 0.3 * v->x[1]; }\n";

// y = k u + d, at once
static const char gain[] =
    "#include <couplet/model.h>\n"
    "static const cpl_declaration inputs[] = {{\"u\"}, {0}};\n"
    "static const cpl_declaration outputs[] = {{\"y\"}, {0}};\n"
    "static const cpl_declaration parameters[] = {{\"k\", .start = 0.5}, {\"d\"}, {0}};\n"
    "static int output_values(const cpl_values* v, double* y) {\n"
    "  y[0] = v->p[0] * v->u[0] + v->p[1];\n"
    "  return CPL_MODEL_OK;\n}\n"
    "const cpl_model_def couplet_model = {.name = \"gain\", .inputs = inputs,\n"
    "  .outputs = outputs, .parameters = parameters, .output_values = output_values};\n";

// An algebraic loop (one.y = 0.5 two.y + d, two.y = 0.25 one.y) of one model used twice.
static const char inner[] =
    "couplet: 1\n"
    "name: loop\n"
    "models:\n"
    "  one: {c: gain.c}\n"
    "  two: {c: gain.c, start: {k: 0.25}}\n"
    "inputs:\n"
    "  w: {start: 0}\n"
    "connections: {one.u: 'two.y + 0.5 * w', two.u: one.y}\n"
    "outputs: {z: one.y}\n";

static const char outer[] =
    "couplet: 1\n"
    "name: parts\n"
    "models:\n"
    "  lag: {c: a/part.c}\n"
    "  mass: {c: b/part.c}\n"
    "  loop: {system: inner.yaml}\n"
    "parameters: {lift: 0.125}\n"
    "inputs:\n"
    "  pull: {file: pull.csv, column: pull}\n"
    "  stairs: {file: pull.csv, column: stairs, interpolation: hold}\n"
    "connections:\n"
    "  lag.u: pull\n"
    "  loop.w: stairs + sin(3 * time)\n"
    "  mass.F: loop.z * lift\n"
    "events:\n"
    "  floor: {when: mass.x < 0, set: {mass.v: -0.75 * mass.v}}\n"
    "record: [lag.x, loop.z, mass.x, mass.v, mass.twice]\n"
    "experiment: {start: 0, stop: 2.25, interval: 0.05, solver: rk4, step: 0.005}\n";

// The first column is 2 t, and jumps at 1.6; 0.30000000000000004 is no text of few digits.
static const char pull[] =
    "time [s],pull "
    "[N],stairs\n0,0,-0\n0.8,1.6,0.30000000000000004\n1.6,3.2,1\n1.6,1,2\n3,1,-4e-3\n";

static void write_system(void) {
  mkdir("a", 0700);
  mkdir("b", 0700);
  mkdir("b/inner", 0700);
  write_text("a/part.c", lag);
  write_text("a/common.h", lag_header);
  write_text("b/part.c", mass);
  write_text("b/inner/common.h", mass_header);
  write_text("gain.c", gain);
  write_text("inner.yaml", inner);
  write_text("outer.yaml", outer);
  write_text("pull.csv", pull);
}

// Removes what stands below a folder of an archive.
static void remove_folder(const char* path, const char* folder) {
  int code = 0;
  zip_t* zip = zip_open(path, 0, &code);
  assert_non_null(zip);
  zip_int64_t n = zip_get_num_entries(zip, 0);
  int removed = 0;
  for (zip_int64_t i = 0; i < n; i++) {
    const char* name = zip_get_name(zip, (zip_uint64_t)i, 0);
    if (strncmp(name, folder, strlen(folder)) != 0) continue;
    CHECK_INT(zip_delete(zip, (zip_uint64_t)i), 0);
    removed++;
  }
  CHECK(removed > 0);
  CHECK_INT(zip_close(zip), 0);
}

// A compiler of C11 only. Optimisation takes most of the time, and changes no number.
static void compile_strictly(bool strict) {
  char path[4200], here[4096];
  if (!strict) {
    unsetenv("CC");
    return;
  }
  assert_non_null(getcwd(here, sizeof here));
  snprintf(path, sizeof path, "%s/compiler", here);
  write_text(path, "#!/bin/sh\nexec cc \"$@\" -O0 -std=c11 -pedantic-errors -Wl,-z,defs\n");
  CHECK_INT(chmod(path, 0700), 0);
  setenv("CC", path, 1);
}

// The answer of the first column's ramp: 2 (t - T + T exp(-t / T)).
static void check_ramp(const char* csv) {
  double T = 0.4;
  const char* at = strstr(text_of(csv), "\n1.5,");
  assert_non_null(at);
  double x = strtod(at + strlen("\n1.5,"), NULL);
  CHECK(fabs(x - 2 * (1.5 - T + T * exp(-1.5 / T))) < 1e-8);
}

static void the_sources_alone_give_the_same_bytes(void** state) {
  (void)state;
  write_system();
  CHECK_CODE(0, "run", "outer.yaml", "--one-solver", "-o", "system.csv");
  check_ramp("system.csv");
  CHECK(count_rows("system.csv") > 46);  // with events
  for (int fmi = 2; fmi <= 3; fmi++) {
    const char* version = fmi == 2 ? "2" : "3";
    CHECK_CODE(0, "build", "--sources", "--fmi", version, "outer.yaml", "-o", "whole.fmu");
    CHECK_CODE(0, "check", "whole.fmu");
    CHECK_CODE(0, "run", "--as", "me", "--solver", "rk4", "--step", "0.005", "--interval", "0.05",
               "whole.fmu", "-o", "binary.csv");
    remove_folder("whole.fmu", "binaries/");
    remove_folder("whole.fmu", "resources/");
    compile_strictly(true);
    CHECK_CODE(0, "run", "--as", "me", "--solver", "rk4", "--step", "0.005", "--interval", "0.05",
               "whole.fmu", "-o", "sources.csv");
    compile_strictly(false);
    check_same_files("sources.csv", "binary.csv");
    check_same_files("sources.csv", "system.csv");
  }
}

static void the_same_system_gives_the_same_bytes(void** state) {
  (void)state;
  write_system();
  CHECK_CODE(0, "build", "--sources", "outer.yaml", "-o", "first.fmu");
  CHECK_CODE(0, "build", "--sources", "outer.yaml", "-o", "second.fmu");
  check_same_files("first.fmu", "second.fmu");
}

//------------------------------------ the files ------------------------------------

// Of the standard of 2011, without its optional parts.
static bool is_standard(const char* header, size_t len) {
  static const char* const known[] = {"assert.h", "ctype.h", "errno.h",  "float.h",  "limits.h",
                                      "locale.h", "math.h",  "stdarg.h", "stddef.h", "stdbool.h",
                                      "stdint.h", "stdio.h", "stdlib.h", "string.h", "stdalign.h"};
  for (size_t i = 0; i < CPLI_COUNT(known); i++) {
    if (strlen(known[i]) == len && strncmp(known[i], header, len) == 0) return true;
  }
  return false;
}

static void check_includes(const char* name, const char* text) {
  static const char begin[] = "\n#include <";
  bool threads = false;  // inside of #ifdef CPL_THREADS
  for (const char* line = text; line != NULL; line = strchr(line + 1, '\n')) {
    if (strncmp(line, "\n#ifdef CPL_THREADS", 19) == 0) threads = true;
    if (strncmp(line, "\n#endif", 7) == 0 || strncmp(line, "\n#else", 6) == 0) threads = false;
    if (threads || strncmp(line, begin, strlen(begin)) != 0) continue;
    const char* header = line + strlen(begin);
    size_t len = strcspn(header, ">");
    if (!is_standard(header, len)) fail_msg("%s includes <%.*s>", name, (int)len, header);
  }
}

static void sources_include_only_what_the_standard_has(void** state) {
  (void)state;
  write_system();
  cpl_context* ctx = test_context();
  cpli_zip* zip = NULL;
  CHECK_CODE(0, "build", "--sources", "--fmi", "3", "outer.yaml", "-o", "whole.fmu");
  CHECK_OK(ctx, cpli_zip_open(ctx, "whole.fmu", NULL, &zip));
  CHECK(cpli_zip_has(zip, "sources/buildDescription.xml"));
  CHECK(cpli_zip_has(zip, "sources/fmi3Functions.h"));
  size_t n = 0;
  for (size_t i = 0; i < cpli_zip_count(zip); i++) {
    const char* name = cpli_zip_name(zip, i);
    char* text = NULL;
    size_t size = 0;
    if (strncmp(name, "sources/", 8) != 0) continue;
    CHECK(strstr(name, "fmi2") == NULL);
    CHECK_OK(ctx, cpli_zip_read(zip, name, 1 << 24, &text, &size));
    check_includes(name, text);
    free(text);
    n++;
  }
  CHECK(n > 50 && n < 200);
  cpli_zip_close(zip);
  cpl_context_destroy(ctx);
}

//------------------------------------ names ------------------------------------

static const char with_helper[] =
    "#include <couplet/model.h>\n"
    "double %s(double x);\n"
    "double %s(double x) { return -x; }\n"
    "static const cpl_declaration states[] = {{\"x\", .start = 1}, {0}};\n"
    "static int derivatives(const cpl_values* v, double* dx) {\n"
    "  dx[0] = %s(v->x[0]);\n"
    "  return CPL_MODEL_OK;\n}\n"
    "const cpl_model_def couplet_model = {.name = \"m\", .states = states,\n"
    "  .derivatives = derivatives};\n";

static void write_helper(const char* path, const char* name) {
  char text[2048];
  snprintf(text, sizeof text, with_helper, name, name, name);
  write_text(path, text);
}

static void write_pair(void) {
  write_text("pair.yaml",
             "couplet: 1\nmodels:\n  p: {c: first.c}\n  q: {c: second.c}\n  r: {c: first.c}\n"
             "experiment: {stop: 1}\n");
}

static void two_models_with_the_same_name_inside_are_refused(void** state) {
  (void)state;
  write_pair();
  write_helper("first.c", "decay");
  write_helper("second.c", "growth");
  CHECK_CODE(0, "build", "--sources", "pair.yaml", "-o", "pair.fmu");
  write_helper("second.c", "decay");
  CHECK_CODE(0, "build", "pair.yaml", "-o", "pair.fmu");  // libraries of their own
  CHECK(COUPLET("build", "--sources", "pair.yaml", "-o", "other.fmu") != 0);
  CHECK_CONTAINS(complained, "first.c");
  CHECK_CONTAINS(complained, "second.c");
  CHECK_CONTAINS(complained, "both define decay");
  CHECK(access("other.fmu", F_OK) != 0);
  write_helper("second.c", "cpl_fail");
  CHECK(COUPLET("build", "--sources", "pair.yaml", "-o", "other.fmu") != 0);
  CHECK_CONTAINS(complained, "second.c defines cpl_fail");
}

static void a_header_that_is_not_included_is_reported(void** state) {
  (void)state;
  mkdir("below", 0700);
  write_text("outside.h", "static const double rate = -2;\n");
  write_text("below/model.c",
             "#include <couplet/model.h>\n#include \"../outside.h\"\n"
             "static const cpl_declaration states[] = {{\"x\", .start = 1}, {0}};\n"
             "static int derivatives(const cpl_values* v, double* dx) {\n"
             "  dx[0] = rate * v->x[0];\n  return CPL_MODEL_OK;\n}\n"
             "const cpl_model_def couplet_model = {.name = \"m\", .states = states,\n"
             "  .derivatives = derivatives};\n");
  write_text("below.yaml", "couplet: 1\nmodels: {p: {c: below/model.c}}\nexperiment: {stop: 1}\n");
  CHECK(COUPLET("build", "--sources", "below.yaml", "-o", "below.fmu") != 0);
  CHECK_CONTAINS(complained, "outside.h");
  CHECK_CONTAINS(complained, "below/model.c");
}

//------------------------------------ members ------------------------------------

static void check_refused(const char* text, const char* what) {
  write_text("refused.yaml", text);
  CHECK(COUPLET("build", "--sources", "refused.yaml", "-o", "refused.fmu") != 0);
  CHECK_CONTAINS(complained, what);
  CHECK_CONTAINS(complained, "as sources");
  CHECK(access("refused.fmu", F_OK) != 0);
}

static void what_needs_more_than_models_in_c_is_refused(void** state) {
  (void)state;
  write_system();
  CHECK_CODE(0, "build", "gain.c", "-o", "gain.fmu");
  check_refused(
      "couplet: 1\nmodels:\n  a: {c: gain.c}\n  b: {fmu: gain.fmu}\n  d: {fmu: gain.fmu}\n",
      "model b is an FMU");
  check_refused("couplet: 1\nmodels:\n  a: {c: gain.c}\n  b: {c: gain.c, as: cs}\n",
                "model b is coupled by co-simulation");
  check_refused("couplet: 1\nmodels:\n  a: {c: gain.c, isolate: true}\n",
                "model a runs in a process of its own");
  check_refused(
      "couplet: 1\nmodes:\n  start: early\n"
      "  early:\n    models: {m: {c: a/part.c}}\n    leave: [{when: time > 1, to: late}]\n"
      "  late:\n    models: {m: {c: a/part.c}}\n",
      "modes (early)");
  write_text("nested.yaml", "couplet: 1\nmodels: {deep: {fmu: gain.fmu}}\n");
  check_refused("couplet: 1\nmodels:\n  a: {c: gain.c}\n  b: {system: nested.yaml}\n",
                "model b.deep is an FMU");
}

static void delay_lines_are_refused(void** state) {
  (void)state;
  CHECK(COUPLET("build", "--sources", test_path("examples/tlm_spring/tlm_spring.yaml"), "-o",
                "refused.fmu") != 0);
  CHECK_CONTAINS(complained, "delay line");
  CHECK_CONTAINS(complained, "as sources");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_sources_alone_give_the_same_bytes),
      cmocka_unit_test(the_same_system_gives_the_same_bytes),
      cmocka_unit_test(sources_include_only_what_the_standard_has),
      cmocka_unit_test(two_models_with_the_same_name_inside_are_refused),
      cmocka_unit_test(a_header_that_is_not_included_is_reported),
      cmocka_unit_test(what_needs_more_than_models_in_c_is_refused),
      cmocka_unit_test(delay_lines_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
