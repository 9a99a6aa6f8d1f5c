// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// couplet sweep: every case against its closed form, for models in C, FMUs and systems; the same
// bytes for any number of workers and after interruptions; cases that fail; studies that cannot be.
#include <math.h>
#include <signal.h>
#include <sys/wait.h>

#include "base/base.h"
#include "sweep.h"

// x' = u - k x, from x0. It fails for k = 3, crashes for k = 4, and takes long for k = 5.
static const char decay[] =
    "#include <couplet/model.h>\n"
    "#include <unistd.h>\n"
    "static const cpl_declaration states[] = {{\"x\", .start = 1, .unit = \"m\", .output = true}, "
    "{0}};\n"
    "static const cpl_declaration inputs[] = {{\"u\"}, {0}};\n"
    "static const cpl_declaration parameters[] = {{\"k\", .start = 1, .min = 0, .max = 100},\n"
    "  {\"n\", .type = CPL_INTEGER, .start = 1}, {0}};\n"
    "static int f(const cpl_values* v, double* dx) {\n"
    "  if (v->p[0] == 3) return cpl_model_error(v, \"three is too much\");\n"
    "  if (v->p[0] == 4) *(volatile int*)0 = 1;\n"
    "  if (v->p[0] == 5) usleep(20000);\n"
    "  dx[0] = v->u[0] - v->p[0]*v->x[0];\n"
    "  return CPL_MODEL_OK;\n"
    "}\n"
    "const cpl_model_def couplet_model = {.name = \"decay\", .states = states, .inputs = inputs,\n"
    "  .parameters = parameters, .derivatives = f};\n";

static void write_models(void) {
  use_folders();
  write_text("decay.c", decay);
  write_text("pair.yaml",
             "couplet: 1\n"
             "models: {a: {c: decay.c}, b: {c: decay.c, start: {x: 0}}}\n"
             "parameters: {g: 2}\n"
             "connections: {b.u: g*a.x}\n"
             "measures: {end: final(b.x), area: integral(b.x), top: max(b.x)}\n"
             "study: {over: {a.k: 1:2:3, g: '1,4'}}\n"
             "experiment: {stop: 2, rtol: 1e-9}\n");
}

static void check_pair(const table* t, double tolerance) {
  for (size_t i = 0; i < t->n; i++) {
    const double k = t->values[i][0], g = t->values[i][1], T = 2;
    // b' = g exp(-k t) - b
    const bool equal = k == 1;
    const double end = equal ? g * T * exp(-T) : g * (exp(-k * T) - exp(-T)) / (1 - k);
    const double area =
        equal ? g * (1 - (1 + T) * exp(-T)) : g * ((1 - exp(-k * T)) / k - (1 - exp(-T))) / (1 - k);
    const double peak = equal ? 1 : log(k) / (k - 1);
    const double top = equal ? g * exp(-1) : g * (exp(-k * peak) - exp(-peak)) / (1 - k);
    CHECK_NEAR(t->values[i][2], end, tolerance);
    CHECK_NEAR(t->values[i][3], area, tolerance);
    CHECK_NEAR(t->values[i][4], top, tolerance);
    CHECK_STR(t->failure[i], "");
  }
}

static void a_study_in_a_file(void** state) {
  (void)state;
  write_models();
  CHECK_INT(COUPLET("sweep", "pair.yaml", "-o", "one.csv"), 0);
  CHECK_CONTAINS(printed, "6 cases");
  table t = read_table("one.csv");
  CHECK_STR(t.head, "a.k,g,end,area,top,failure");
  CHECK_INT(t.n, 6);
  CHECK_NEAR(t.values[1][0], 1, 0);
  CHECK_NEAR(t.values[1][1], 4, 0);
  CHECK_NEAR(t.values[2][0], 1.5, 0);
  check_pair(&t, 1e-7);
  // options come before the file; other solvers
  CHECK_INT(COUPLET("sweep", "pair.yaml", "--over", "a.k=log:0.5:2:9", "--over", "g=3", "--solver",
                    "radau", "-o", "two.csv"),
            0);
  t = read_table("two.csv");
  CHECK_INT(t.n, 9);
  check_pair(&t, 1e-7);
  CHECK(is_empty("tmp"));
}

static char* kept(const char* path) { return strdup(text_of(path)); }

static void any_number_of_workers(void** state) {
  (void)state;
  write_models();
  char* first = NULL;
  static const char* const workers[] = {"1", "2", "5"};
  for (size_t i = 0; i < CPLI_COUNT(workers); i++) {
    CHECK_INT(
        COUPLET("sweep", "pair.yaml", "--over", "a.k=normal:1.5:0.1", "--over", "g=1:2", "--sample",
                "64", "--sobol", "--seed", "7", "-j", workers[i], "-q", "-o", "s.csv"),
        0);
    if (first == NULL) first = kept("s.csv");
    CHECK_STR(text_of("s.csv"), first);
  }
  const table t = read_table("s.csv");
  CHECK_INT(t.n, 64);
  check_pair(&t, 1e-6);
  free(first);
}

static void fmus(void** state) {
  (void)state;
  write_models();
  CHECK_INT(COUPLET("build", "decay.c", "-q", "-o", "decay.fmu"), 0);
  static const char* const kinds[] = {"me", "cs"};
  for (size_t i = 0; i < CPLI_COUNT(kinds); i++) {
    CHECK_INT(COUPLET("sweep", "decay.fmu", "--as", kinds[i], "--over", "k=0.5:2:4", "--over",
                      "x=1,2", "--stop", "1", "--rtol", "1e-8", "-m", "end=final(x)", "-m",
                      "half=time_when(x < 0.5)", "-q", "-o", "f.csv"),
              0);
    const table t = read_table("f.csv");
    CHECK_INT(t.n, 8);
    for (size_t r = 0; r < t.n; r++) {
      const double k = t.values[r][0], x = t.values[r][1], when = log(2 * x) / k;
      CHECK_NEAR(t.values[r][2], x * exp(-k), 1e-6);
      if (when > 1) CHECK(isnan(t.values[r][3]));
      else CHECK_NEAR(t.values[r][3], when, 1e-5);
    }
  }
  // an FMU of a system
  CHECK_INT(COUPLET("build", "pair.yaml", "-q", "-o", "pair.fmu"), 0);
  CHECK_INT(
      COUPLET("sweep", "pair.fmu", "--over", "a.k=1:2:3", "--over", "g=1,4", "-m", "end=final(b.x)",
              "-m", "area=integral(b.x)", "-m", "top=max(b.x)", "-q", "-o", "g.csv"),
      0);
  const table t = read_table("g.csv");
  CHECK_INT(t.n, 6);
  check_pair(&t, 1e-6);
  CHECK(is_empty("tmp"));
}

// Communication points of a master.
static void a_master(void** state) {
  (void)state;
  write_models();
  write_text("steps.yaml",
             "couplet: 1\n"
             "models: {a: {c: decay.c, as: cs}, b: {c: decay.c, as: cs, start: {x: 0}}}\n"
             "parameters: {g: 2}\n"
             "connections: {b.u: g*a.x}\n"
             "master: {algorithm: iterative, order: 2, step: 0.02}\n"
             "measures: {end: final(b.x), area: integral(b.x), top: max(b.x)}\n"
             "experiment: {stop: 2, rtol: 1e-9}\n");
  CHECK_INT(
      COUPLET("sweep", "steps.yaml", "--over", "a.k=1:2:3", "--over", "g=1,4", "-q", "-o", "s.csv"),
      0);
  const table t = read_table("s.csv");
  CHECK_INT(t.n, 6);
  check_pair(&t, 2e-4);
}

//------------------------------------ statistics ------------------------------------

static const char ishigami[] =
    "#include <couplet/model.h>\n"
    "#include <math.h>\n"
    "static const cpl_declaration states[] = {{\"t\"}, {0}}, outputs[] = {{\"y\"}, {0}};\n"
    "static const cpl_declaration parameters[] = {{\"a\"}, {\"b\"}, {\"c\"}, {0}};\n"
    "static int f(const cpl_values* v, double* dx) { (void)v; dx[0] = 1; return CPL_MODEL_OK; }\n"
    "static int g(const cpl_values* v, double* y) {\n"
    "  const double s = sin(v->p[0]);\n"
    "  y[0] = s + 7*pow(sin(v->p[1]), 2) + 0.1*pow(v->p[2], 4)*s;\n"
    "  return CPL_MODEL_OK;\n"
    "}\n"
    "const cpl_model_def couplet_model = {.name = \"ishigami\", .states = states,\n"
    "  .outputs = outputs, .parameters = parameters, .derivatives = f, .output_values = g};\n";

// The number behind a key, the n-th of its name from 0.
static double number_after(const char* text, const char* key, int n) {
  const char* at = text;
  for (int i = 0; i <= n && at != NULL; i++)
    at = strstr(at, key) != NULL ? strstr(at, key) + 1 : NULL;
  return at != NULL ? strtod(strchr(at, ':') + 1, NULL) : NAN;
}

// Ishigami's function with a = 7, b = 0.1 has these indices.
static void sobol_indices(void** state) {
  (void)state;
  use_folders();
  write_text("ishigami.c", ishigami);
  CHECK_INT(COUPLET("sweep", "ishigami.c", "--over", "a=-3.141592653589793:3.141592653589793",
                    "--over", "b=-3.141592653589793:3.141592653589793", "--over",
                    "c=-3.141592653589793:3.141592653589793", "--saltelli", "2048", "--stop", "0.1",
                    "--json", "-o", "sobol.csv"),
            0);
  const double pi4 = pow(M_PI, 4), first = 0.5 * pow(1 + 0.1 * pi4 / 5, 2), second = 49.0 / 8;
  const double both = 0.01 * pi4 * pi4 * (1.0 / 18 - 1.0 / 50), all = first + second + both;
  CHECK_NEAR(number_after(printed, "\"first\"", 0), first / all, 0.03);
  CHECK_NEAR(number_after(printed, "\"first\"", 1), second / all, 0.03);
  CHECK_NEAR(number_after(printed, "\"first\"", 2), 0, 0.03);
  CHECK_NEAR(number_after(printed, "\"total\"", 0), (first + both) / all, 0.03);
  CHECK_NEAR(number_after(printed, "\"total\"", 1), second / all, 0.03);
  CHECK_NEAR(number_after(printed, "\"total\"", 2), both / all, 0.03);
  CHECK_NEAR(number_after(printed, "\"mean\"", 0), 3.5, 0.05);
  CHECK_NEAR(number_after(printed, "\"deviation\"", 0), sqrt(all), 0.05);
}

// A linear result of normal factors is normal.
static void means_and_quantiles(void** state) {
  (void)state;
  write_models();
  CHECK_INT(COUPLET("sweep", "decay.c", "--over", "x=normal:2:0.5", "--set", "k=0", "--sample",
                    "4096", "--sobol", "--stop", "1", "-m", "y=3*final(x) - 1", "--stats", "--json",
                    "-o", "n.csv"),
            0);
  CHECK_NEAR(number_after(printed, "\"mean\"", 0), 5, 0.01);
  CHECK_NEAR(number_after(printed, "\"deviation\"", 0), 1.5, 0.01);
  CHECK_NEAR(number_after(printed, "\"5 %\"", 0), 5 - 1.5 * 1.6448536269514722, 0.02);
  CHECK_NEAR(number_after(printed, "\"95 %\"", 0), 5 + 1.5 * 1.6448536269514722, 0.02);
  CHECK_NEAR(number_after(printed, "\"regression\"", 0), 1, 1e-9);
  CHECK_INT(COUPLET("sweep", "pair.yaml", "--over", "a.k=1:2", "--over", "g=1:4", "--morris", "8",
                    "-o", "m.csv"),
            0);
  CHECK_CONTAINS(printed, "mu*");
}

//------------------------------------ NetCDF ------------------------------------

// Read by another program.
static void a_netcdf_file(void** state) {
  (void)state;
  write_models();
  CHECK_INT(COUPLET("sweep", "decay.c", "--over", "k=1,2,3", "--over", "x=1,4", "--stop", "1",
                    "--interval", "0.25", "--rtol", "1e-9", "-m", "end=final(x)", "--curve", "x",
                    "-q", "-o", "s.nc"),
            0);
  // the same content for any number of workers
  CHECK_INT(COUPLET("sweep", "decay.c", "--over", "k=1,2,3", "--over", "x=1,4", "--stop", "1",
                    "--interval", "0.25", "--rtol", "1e-9", "-m", "end=final(x)", "--curve", "x",
                    "-j", "1", "-q", "-o", "t.nc"),
            0);
  CHECK_INT(system("ncdump -n s -p 17 s.nc > s.txt && ncdump -n s -p 17 t.nc > t.txt && "
                   "cmp s.txt t.txt"),
            0);
  CHECK_INT(system("ncdump -h s.nc > head.txt && ncdump -p 17 -v x_2 s.nc > data.txt"), 0);
  CHECK_CONTAINS(text_of("head.txt"), "case = 6");
  CHECK_CONTAINS(text_of("head.txt"), "time = 5");
  CHECK_CONTAINS(text_of("head.txt"), "end:units = \"m\"");
  CHECK_CONTAINS(text_of("head.txt"), "grid_shape = 3LL, 2LL");
  char* text = strstr((char*)text_of("data.txt"), "data:");
  assert_non_null(text);
  text = strchr(text, '=') + 1;
  for (int i = 0; i < 6; i++) {
    const double k = 1 + i / 2, x = i % 2 == 0 ? 1 : 4;
    for (int t = 0; t < 5; t++) {
      char* end = text;
      const double value = strtod(text, &end);
      if (k == 3) CHECK(end == text || isnan(value));  // ncdump writes _ or NaN
      else CHECK_NEAR(value, x * exp(-k * 0.25 * t), 1e-6);
      text = strpbrk(end, ",;") + 1;
    }
  }
}

// couplet sweep --view, couplet view study.nc, and what cannot be shown.
static void a_page(void** state) {
  (void)state;
  write_models();
  CHECK_INT(COUPLET("sweep", "pair.yaml", "--view"), 0);
  CHECK_CONTAINS(printed, " -> pair-study.nc, pair-study.html\n");
  CHECK_CONTAINS(text_of("pair-study.html"), "\"cases\":6,");
  CHECK_INT(COUPLET("sweep", "pair.yaml", "--view", "--json", "-o", "a.csv", "-o", "a.nc"), 0);
  CHECK_CONTAINS(printed, "\"page\": \"a.html\"");
  CHECK_INT(COUPLET("sweep", "pair.yaml", "--view", "-o", "a.csv"), 2);
  CHECK_CONTAINS(complained, "--view: a page is made of the study's NetCDF file: -o FILE.nc");
  CHECK_INT(COUPLET("view", "a.nc", "--only", "a*", "--xy", "a.k,end", "-o", "b.html"), 0);
  CHECK_STR(printed, "");
  CHECK_CONTAINS(text_of("b.html"), "\"show\":[\"a.k\",\"area\"],\"xy\":[\"a.k\",\"end\"]");
  CHECK_INT(COUPLET("view", "a.csv"), 2);
  CHECK_CONTAINS(complained, "a.csv: is the table of a study");
  CHECK_INT(COUPLET("view", "a.nc", "pair-study.nc"), 2);
  CHECK_CONTAINS(complained, "a page shows one study");
  CHECK_INT(COUPLET("view", "a.nc", "--xy", "a.k"), 2);
  CHECK_CONTAINS(complained, "--xy wants two factors or measures");
  write_text("text.nc", "this is no NetCDF\n");
  CHECK_INT(COUPLET("view", "text.nc"), 2);
  CHECK_CONTAINS(complained, "text.nc: cannot be read as NetCDF");
  // of another program
  CHECK_INT(system("printf 'netcdf o { dimensions: n = 3; variables: double n(n); data: n = 1, 2, "
                   "3; }' > o.cdl && ncgen -4 -o o.nc o.cdl"),
            0);
  CHECK_INT(COUPLET("view", "o.nc"), 2);
  CHECK_CONTAINS(complained, "o.nc: is no file of a study: there is no dimension \"case\"");
  CHECK_INT(system("sed -e 's/n = 3/case = UNLIMITED/;s/n(n)/k(case)/;s/n = 1, 2, 3;//' o.cdl > "
                   "e.cdl && ncgen -4 -o e.nc e.cdl"),
            0);
  CHECK_INT(COUPLET("view", "e.nc"), 2);
  CHECK_CONTAINS(complained, "e.nc: is no file of a study: it has 0 cases");
  CHECK(is_empty("tmp"));
}

//------------------------------------ failures ------------------------------------

static void cases_that_fail(void** state) {
  (void)state;
  write_models();
  CHECK_INT(COUPLET("sweep", "decay.c", "--over", "k=1:5:5", "--stop", "1", "--case-timeout", "1",
                    "-m", "end=final(x)", "-o", "s.csv"),
            0);
  CHECK_CONTAINS(printed, "3 failed");
  const table t = read_table("s.csv");
  CHECK_INT(t.n, 5);
  for (size_t i = 0; i < 2; i++) {
    CHECK_NEAR(t.values[i][1], exp(-t.values[i][0]), 1e-4);
    CHECK_STR(t.failure[i], "");
  }
  CHECK(isnan(t.values[2][1]) && isnan(t.values[3][1]) && isnan(t.values[4][1]));
  CHECK_CONTAINS(t.failure[2], "three is too much");
  CHECK_CONTAINS(t.failure[3], "SIGSEGV");
  CHECK_CONTAINS(t.failure[4], "1 s");
  // values that the model does not take
  CHECK_INT(COUPLET("sweep", "decay.c", "--over", "k=1,200", "--stop", "1", "-q", "-o", "s.csv"),
            0);
  CHECK_CONTAINS(read_table("s.csv").failure[1], "its maximum is 100");
  CHECK_INT(COUPLET("sweep", "decay.c", "--over", "n=1,1.5", "--stop", "1", "-q", "-o", "s.csv"),
            0);
  CHECK_CONTAINS(read_table("s.csv").failure[1], "no integer");
  CHECK(is_empty("tmp"));
}

// The results of before are kept.
static void studies_that_cannot_be(void** state) {
  (void)state;
  write_models();
  write_text("s.csv", "yesterday\n");
  write_text("bad.csv", "k,x\n1,2\n3,NaN\n");
  static const struct {
    const char* options[6];
    const char* message;
  } bad[] = {
      {{"--over", "kk=1:2:3"}, "k"},
      {{"--over", "k=1:2:0"}, "k=1:2:0"},
      {{"--over", "k=1:2:1000000", "--over", "x=1:2:1000000"}, "1e+12"},
      {{"--over", "k=1,2", "--over", "k=3,4"}, "k"},
      {{"--over", "k=normal:1:0", "--sample", "3"}, "k=normal:1:0"},
      {{"--over", "k=normal:1:1"}, "k"},
      {{"--table", "bad.csv"}, "bad.csv:3:"},
      {{"--over", "k=1,2", "-m", "e=final(y)"}, "y"},
      {{"--over", "k=1,2", "-m", "k=final(x)"}, "another one"},
      {{"--over", "k=1,2", "--curve", "x"}, "NetCDF"},
      {{"--over", "x=1 s:2 s:3"}, "its unit is m"},
      {{"--over", "k=1,2", "--lhs", "--sobol", "--sample", "3"}, "one design"},
      {{NULL}, "nothing varies"},
      {{"--over", "k=1,2", "--stop", "-1"}, "-1"},
      {{"--over", "k=1,2", "--set", "k=1"}, "k is varied, and set to 1"},
      {{"--over", "k=1,2", "-m", "e=finall(x)"}, "did you mean final?"},
      {{"--over", "kk=1,2"}, "there is no variable \"kk\" (is it k"},
      {{"--over", "k=1,1e400"}, "1e400"},
  };
  for (size_t i = 0; i < CPLI_COUNT(bad); i++) {
    const char* const* o = bad[i].options;
    const char* args[12] = {"sweep", "decay.c", "-o", "s.csv"};
    size_t n = 4;
    for (size_t k = 0; k < 6 && o[k] != NULL; k++) args[n++] = o[k];
    const int code = run_couplet(args);
    if (code != 2 || strstr(complained, bad[i].message) == NULL) printf("%zu: %s", i, complained);
    CHECK_INT(code, 2);
    CHECK_CONTAINS(complained, bad[i].message);
    CHECK_STR(text_of("s.csv"), "yesterday\n");
  }
  CHECK_INT(COUPLET("sweep", "decay.c", "--over", "k=1,2", "-o", "s.txt"), 2);
  CHECK_CONTAINS(complained, ".csv or .nc");
  CHECK_INT(COUPLET("sweep", "decay.c", "--over", "k=1,2", "-o", "none/s.csv"), 2);
}

//------------------------------------ interruptions ------------------------------------

// Kills the command, and with it all workers, until --resume has brought it to its end.
static void killed_and_resumed(void** state) {
  (void)state;
  write_models();
  const char* const all[] = {"sweep",    "decay.c",  "--over", "k=0:2:40", "--over",
                             "x=1:2:40", "--stop",   "20",     "-q",       "-o",
                             "r.csv",    "--resume", NULL};
  CHECK_INT(COUPLET("sweep", "decay.c", "--over", "k=0:2:40", "--over", "x=1:2:40", "--stop", "20",
                    "-q", "-o", "whole.csv"),
            0);
  int code = -1, kills = 0;
  for (unsigned wait = 3000; code != 0 && kills < 200; wait = wait * 17 / 16) {
    const pid_t pid = start_couplet(all, -1, -1);
    usleep(wait);
    kill(pid, SIGKILL);
    code = end_of(pid);
    kills += code != 0;
    if (access("r.csv", F_OK) == 0) break;  // perhaps killed when all but its end was done
  }
  CHECK(kills < 200);
  char* whole = kept("whole.csv");
  CHECK_STR(text_of("r.csv"), whole);
  free(whole);
  CHECK(code != 0 || access("r.csv.journal", F_OK) != 0);
}

static void an_interrupted_study_is_not_overwritten(void** state) {
  (void)state;
  write_models();
  const char* const slow[] = {"sweep", "decay.c", "--over", "k=1,2,5,6", "--stop", "50",
                              "-j",    "1",       "-q",     "-o",        "i.csv",  NULL};
  int code = 0;
  for (int tries = 0; tries < 8 && code != 2; tries++) {  // until the first case is done in time
    unlink("i.csv");
    const pid_t pid = start_couplet(slow, -1, -1);
    for (int i = 0; i < 2000 && access("i.csv.journal", F_OK) != 0; i++) usleep(10000);
    for (int i = 0; i < 1 << tries; i++) usleep(500000);
    kill(pid, SIGINT);
    CHECK_INT(end_of(pid), 1);
    CHECK(access("i.csv", F_OK) != 0);
    code = COUPLET("sweep", "decay.c", "--over", "k=1,2", "-o", "i.csv");
  }
  CHECK_INT(code, 2);
  CHECK_CONTAINS(complained, "--resume");
  CHECK_INT(COUPLET("sweep", "decay.c", "--over", "k=1,2", "--resume", "-o", "i.csv"), 2);
  CHECK_CONTAINS(complained, "another study");
  CHECK_INT(COUPLET("sweep", "decay.c", "--over", "k=1,2", "--restart", "-q", "-o", "i.csv"), 0);
  CHECK_INT(read_table("i.csv").n, 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_study_in_a_file),
      cmocka_unit_test(any_number_of_workers),
      cmocka_unit_test(fmus),
      cmocka_unit_test(a_master),
      cmocka_unit_test(sobol_indices),
      cmocka_unit_test(means_and_quantiles),
      cmocka_unit_test(a_netcdf_file),
      cmocka_unit_test(a_page),
      cmocka_unit_test(cases_that_fail),
      cmocka_unit_test(studies_that_cannot_be),
      cmocka_unit_test(killed_and_resumed),
      cmocka_unit_test(an_interrupted_study_is_not_overwritten),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
