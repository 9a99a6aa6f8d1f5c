// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A definition that is written to a file and read again is the same one: all sections, texts that
// YAML would take for something else, paths from other folders, and what only a program has.
#include <glob.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "system/definitions.h"
#include "system/write.h"

static char* contents(cpl_context* ctx, const char* path) {
  char* text = NULL;
  size_t n;
  CHECK_OK(ctx, cpli_file_read(ctx, path, 1 << 20, &text, &n));
  return text;
}

static void make_file(const char* path) {
  FILE* file = fopen(path, "wb");
  assert_non_null(file);
  fclose(file);
}

// Every key of every section, as it is written.
static const char all_sections[] =
    "couplet: 1\n"
    "name: \"a: system\"\n"
    "models:\n"
    "  left: {fmu: models/a.fmu, as: cs, isolate: true, start: {x: 1, name: \"#1, or\"}}\n"
    "  \"m[1]\": {c: m.c, start: {k: 2*1}}\n"
    "  \"m[2]\": {c: m.c, start: {k: 2*2}}\n"
    "parameters:\n"
    "  k: 10.0\n"
    "  d: 2*sqrt(k)/100\n"
    "inputs:\n"
    "  push: if time < 1 then sin(pi*time) else 0\n"
    "  road: {file: t.csv, column: height, interpolation: hold, unit: m}\n"
    "  u: {start: 20 degC, unit: K}\n"
    "connections:\n"
    "  left.F: -k*left.x - d*left.v + push\n"
    "  \"m[1].u\": {from: left.n, convert: true, convert-units: false}\n"
    "  \"m[2].u\": \"2*'left.der(x)' + max(k, 1)\"\n"
    "outputs:\n"
    "  y: left.x\n"
    "events:\n"
    "  wall: {when: left.x > 0.5, set: {left.v: -left.v}}\n"
    "  hit: {at: [1.0, 5*k], set: {left.v: 0}}\n"
    "constraints:\n"
    "  length: left.x^2 = 1\n"
    "  energy: left.v^2/2 = at start\n"
    "  zero: left.x - left.y\n"
    "interfaces:\n"
    "  left: {solver: cvode, hold: exact, origin: [0, 0, 1]}\n"
    "  left.end: {kind: translational, position: [left.x], speed: [left.v], force: [left.F], "
    "sign: -1}\n"
    "tlm:\n"
    "  - {from: left.end, to: left.end, delay: 1e-4, Zf: 100, alpha: 0.2, compensate: true}\n"
    "record:\n"
    "  - left.x\n"
    "  - \"m[*].u\"\n"
    "  - \"*\"\n"
    "measures:\n"
    "  peak: max(left.x)\n"
    "study: {over: {k: 1:2:3}, sample: 8, seed: 3}\n"
    "fit: {data: [{file: t.csv, start: {k: 1 m}, weight: 2}, {file: models/d.csv}], vary: {k: "
    "1:0:2, left.x: \"\"}, sigma: {left.x: 0.1}, loss: huber, scale: 3, confidence: 0.9}\n"
    "experiment: {start: -1, stop: 1e100, rtol: 1e-8, solver: radau, linear: direct}\n"
    "master: {algorithm: iterative, on-loop: iterate, step: 0.1, tolerance: 0.001, order: 0, "
    "iterations: 7, steps: {left: 0.01}, bonds: [{effort: left.F, flow: left.v}], "
    "output-derivatives: true}\n";

static const char modes[] =
    "couplet: 1\n"
    "parameters:\n"
    "  L: 2\n"
    "modes:\n"
    "  start: swinging\n"
    "  swinging:\n"
    "    models:\n"
    "      p: {c: m.c, start: {L: L}}\n"
    "    solver: {rtol: 1e-5, name: cvode}\n"
    "    leave:\n"
    "      - {when: p.f < 0, to: falling, set: {m.x: p.x}, entry: wait}\n"
    "      - {on: terminate, to: swinging}\n"
    "  falling:\n"
    "    models:\n"
    "      m: {fmu: models/a.fmu}\n"
    "    leave:\n"
    "      - {at: [1, 2], to: swinging, set: {p.x: m.x}}\n"
    "observe:\n"
    "  x: {swinging: p.x, falling: m.x}\n"
    "  y: time\n"
    "experiment: {stop: 3}\n";

static void make_files(void) {
  mkdir("in", 0700);
  mkdir("in/models", 0700);
  mkdir("other", 0700);
  mkdir("other/deep", 0700);
  make_file("in/models/a.fmu");
  make_file("in/m.c");
  make_file("in/t.csv");
  make_file("in/models/d.csv");
}

static void check_same(cpl_context* ctx, const char* text) {
  cpl_system_def *def = NULL, *again = NULL;
  CHECK_OK(ctx, read_as(ctx, "in/system.yaml", text, &def));
  CHECK_OK(ctx, cpl_system_def_write(def, "in/written.yaml"));
  char* written = contents(ctx, "in/written.yaml");
  CHECK_STR(written, text);
  CHECK_OK(ctx, cpl_system_def_read(ctx, "in/written.yaml", &again));
  dump a = {0}, b = {0};
  dump_definition(def, &a);
  dump_definition(again, &b);
  CHECK_STR(b.text, a.text);
  cpli_free(ctx, written);
  cpl_system_def_destroy(again);
  cpl_system_def_destroy(def);
}

static void test_sections(void** state) {
  check_same(*state, all_sections);
  check_same(*state, modes);
}

// Paths lead from the folder of the new file to the same files.
static void test_paths(void** state) {
  cpl_context* ctx = *state;
  static const struct {
    const char *file, *expected;
  } cases[] = {{"other/deep/s.yaml", "{fmu: ../../in/models/a.fmu}"},
               {"other/s.yaml", "{fmu: ../in/models/a.fmu}"},
               {"s.yaml", "{fmu: in/models/a.fmu}"},
               {"in/models/s.yaml", "{fmu: a.fmu}"},
               {"inx/s.yaml", "{fmu: ../in/models/a.fmu}"},
               {"in/models/a/s.yaml", "{fmu: ../a.fmu}"}};
  mkdir("inx", 0700);
  mkdir("in/models/a", 0700);
  cpl_system_def* def = NULL;
  CHECK_OK(ctx,
           read_as(ctx, "in/system.yaml", "couplet: 1\nmodels: {a: {fmu: models/a.fmu}}\n", &def));
  for (size_t i = 0; i < CPLI_COUNT(cases); i++) {
    CHECK_OK(ctx, cpl_system_def_write(def, cases[i].file));
    char* text = contents(ctx, cases[i].file);
    CHECK_CONTAINS(text, cases[i].expected);
    cpli_free(ctx, text);
  }
  CHECK_INT(cpl_system_def_write(def, "nowhere/s.yaml"), CPL_ERR_INPUT);
  unlink("in/models/a.fmu");
  CHECK_INT(cpl_system_def_write(def, "s.yaml"), CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(ctx), "a.fmu");
  make_file("in/models/a.fmu");
  cpl_system_def_destroy(def);
}

// Texts of any characters come back.
static void test_texts(void** state) {
  cpl_context* ctx = *state;
  static const char* const texts[] = {"~",      "null", "true", "a: b", "a:b", "#",       "a #b",
                                      "- x",    "-x",   "'q'",  "\"",   "\\n", "(a)-(b)", "&a",
                                      "*a",     "!t",   "[1]",  "{a}",  "%",   "@x",      "`",
                                      "\u00b5", "x:",   "? y",  "| z",  "> z", "---",     "..."};
  for (size_t i = 0; i < CPLI_COUNT(texts); i++) {
    cpl_system_def *def = NULL, *again = NULL;
    cpl_assignment start = {"text", texts[i]};
    cpl_member_def m = cpl_default_member_def();
    m.name = "m", m.kind = CPL_MEMBER_FMU, m.path = "in/models/a.fmu";
    m.starts = &start, m.n_starts = 1;
    CHECK_OK(ctx, cpl_system_def_create(ctx, &def));
    CHECK_OK(ctx, cpl_system_def_add_model(def, &m));
    CHECK_OK(ctx, cpl_system_def_add_record(def, texts[i]));
    CHECK_OK(ctx, cpl_system_def_write(def, "t.yaml"));
    CHECK_OK(ctx, cpl_system_def_read(ctx, "t.yaml", &again));
    CHECK_STR(again->models[0].starts[0].value.text, texts[i]);
    CHECK_STR(again->record[0].text, texts[i]);
    cpl_system_def_destroy(again);
    cpl_system_def_destroy(def);
  }
}

static void test_examples(void** state) {
  cpl_context* ctx = *state;
  glob_t found;
  assert_int_equal(glob(test_path("examples/*/*.yaml"), 0, NULL, &found), 0);
  CHECK(found.gl_pathc > 20);
  for (size_t i = 0; i < found.gl_pathc; i++) {
    cpl_system_def *def = NULL, *again = NULL;
    CHECK_OK(ctx, cpl_system_def_read(ctx, found.gl_pathv[i], &def));
    cpl_status st = cpl_system_def_write(def, "e.yaml");
    if (st < 0) {  // FMUs of examples are built by their tests
      CHECK_CONTAINS(cpl_context_error(ctx), "No such file");
      cpl_system_def_destroy(def);
      continue;
    }
    CHECK_OK(ctx, cpl_system_def_read(ctx, "e.yaml", &again));
    CHECK_OK(ctx, cpl_system_def_write(again, "f.yaml"));
    char *one = contents(ctx, "e.yaml"), *two = contents(ctx, "f.yaml");
    CHECK_STR(two, one);
    cpli_free(ctx, one);
    cpli_free(ctx, two);
    cpl_system_def_destroy(again);
    cpl_system_def_destroy(def);
  }
  globfree(&found);
}

static double zero(void* user, double t) {
  (void)user, (void)t;
  return 0;
}

// What a program gives cannot be written.
static void test_programs(void** state) {
  cpl_context* ctx = *state;
  cpl_system_def* def = NULL;
  cpl_input_def in = cpl_default_input_def();
  in.name = "u", in.value = zero;
  CHECK_OK(ctx, cpl_system_def_create(ctx, &def));
  CHECK_OK(ctx, cpl_system_def_add_input(def, &in));
  CHECK_INT(cpl_system_def_write(def, "p.yaml"), CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(ctx), "u cannot be written to a system file");
  CHECK(access("p.yaml", F_OK) != 0);
  cpl_system_def_destroy(def);
}

int main(void) {
  make_files();
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_sections), cmocka_unit_test(test_paths),
                                     cmocka_unit_test(test_texts), cmocka_unit_test(test_examples),
                                     cmocka_unit_test(test_programs)};
  return cmocka_run_group_tests(tests, make_context, drop_context);
}
