// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Models that count how often their input rises and falls past a threshold, in loops that a master
// iterates. The values of a loop agree within its tolerance only, while a crossing is located to
// rounding: a crossing that is undone and repeated at the same instant would be counted twice, and
// one that values before convergence show would cut steps without end. The inputs are known in
// closed form, and so are the numbers of their crossings.
#include "examples/running.h"

static const char tally[] =
    "#include <couplet/model.h>\n"
    "static const cpl_declaration states[] = {{\"x\", .start = 1, .output = true}, {0}};\n"
    "static const cpl_declaration inputs[] = {{\"u\"}, {0}};\n"
    "static const cpl_declaration parameters[] = {{\"a\", .start = 1}, {\"c\"}, {0}};\n"
    "static const cpl_declaration discrete[] = {{\"up\", .output = true}, "
    "{\"down\", .output = true}, {0}};\n"
    "static int f(const cpl_values* v, double* dx) {\n"
    "  dx[0] = -v->p[0] * v->x[0];\n  return 0;\n}\n"
    "static int z(const cpl_values* v, double* z) {\n"
    "  z[0] = v->u[0] - v->p[1];\n  return 0;\n}\n"
    "static int e(const cpl_values* v, cpl_event_actions* a) {\n"
    "  if (a->crossed[0] > 0) a->w[0] = v->w[0] + 1;\n"
    "  if (a->crossed[0] < 0) a->w[1] = v->w[1] + 1;\n  return 0;\n}\n"
    "const cpl_model_def couplet_model = {.name = \"tally\", .states = states, .inputs = inputs, "
    ".parameters = parameters, .discrete = discrete, .n_indicators = 1, .derivatives = f, "
    ".indicators = z, .event = e};\n";

static const char swing[] =
    "#include <couplet/model.h>\n"
    "static const cpl_declaration states[] = {{\"x\", .start = 1, .output = true}, {\"v\"}, {0}};\n"
    "static const cpl_declaration inputs[] = {{\"u\"}, {0}};\n"
    "static int f(const cpl_values* v, double* dx) {\n"
    "  dx[0] = v->x[1];\n  dx[1] = -12.25 * v->x[0] + 0 * v->u[0];\n  return 0;\n}\n"
    "const cpl_model_def couplet_model = {.name = \"swing\", .states = states, .inputs = inputs, "
    ".derivatives = f};\n";

enum { N = 7 };
static const double stop = 5;

// u = 0.8 cos(3.5 t) + gain exp(-rate t) against a threshold
typedef struct watcher {
  double rate, threshold, gain;
} watcher;

static watcher make_watcher(int set, int i) {
  return (watcher){.rate = 0.25 + 0.19 * i + 0.013 * set,
                   .threshold = -0.47 + 0.151 * i - 0.017 * set,
                   .gain = (i % 2 == 0 ? 0.9 : -0.7) + 0.04 * i};
}

static void count(const watcher* w, int* up, int* down) {
  enum { SAMPLES = 50000 };
  bool before = true;
  *up = *down = 0;
  for (int k = 0; k <= SAMPLES; k++) {
    double t = stop * k / SAMPLES;
    bool above = 0.8 * cos(3.5 * t) + w->gain * exp(-w->rate * t) > w->threshold;
    if (k > 0 && above != before) ++*(above ? up : down);
    before = above;
  }
}

static void put(const char* path, const char* text) {
  FILE* f = fopen(path, "w");
  assert_non_null(f);
  CHECK(fputs(text, f) >= 0);
  CHECK_INT(fclose(f), 0);
}

static int make_files(void** state) {
  put("tally.c", tally);
  put("swing.c", swing);
  return make_context(state);
}

static void write_system(int set, const char* source, const char* master) {
  FILE* f = fopen("s.yaml", "w");
  assert_non_null(f);
  fprintf(f,
          "couplet: 1\nexperiment: {stop: %g, interval: 0.5, rtol: 1e-7}\n"
          "models:\n  q: {c: swing.c, as: cs}\n",
          stop);
  for (int i = 0; i < N; i++) {
    watcher w = make_watcher(set, i);
    fprintf(f, "  k%d: {%s, as: cs, start: {a: %.17g, c: %.17g}}\n", i, source, w.rate,
            w.threshold);
  }
  fprintf(f, "connections:\n  q.u: k0.x\n");
  for (int i = 0; i < N; i++)
    fprintf(f, "  k%d.u: 0.8*q.x + (%.17g)*k%d.x\n", i, make_watcher(set, i).gain, i);
  fprintf(f, "master: %s\n", master);
  CHECK_INT(fclose(f), 0);
}

static void check_counts(cpl_context* ctx, int set, const char* source, const char* master) {
  write_system(set, source, master);
  must_do("run s.yaml -o out.csv");
  cpl_table* t = read_table(ctx, "out.csv");
  for (int i = 0; i < N; i++) {
    watcher w = make_watcher(set, i);
    int up, down;
    char name[20];
    count(&w, &up, &down);
    snprintf(name, sizeof name, "k%d.up", i);
    CHECK_NEAR(column(t, name)[t->n_rows - 1], up, 0);
    snprintf(name, sizeof name, "k%d.down", i);
    CHECK_NEAR(column(t, name)[t->n_rows - 1], down, 0);
  }
  cpl_table_destroy(t);
}

static const char* const masters[] = {
    "{algorithm: iterative, order: 1, step: 0.05}",
    "{algorithm: iterative, order: 2, step: 0.05}",
    "{algorithm: iterative, order: 1, step: 0.05, tolerance: 1e-3}",
    "{algorithm: iterative, order: 2, step: 0.05, tolerance: 1e-3}",
};

static void crossings_are_counted_once(void** state) {
  for (int set = 0; set < 8; set++) check_counts(*state, set, "c: tally.c", masters[set % 4]);
}

static void others_count_them_once_as_well(void** state) {
  static const char* const algorithms[] = {"determinate", "jacobi", "gauss-seidel"};
  for (int i = 0; i < 3; i++) {
    char master[100];
    snprintf(master, sizeof master, "{algorithm: %s, order: 1, step: 0.05}", algorithms[i]);
    check_counts(*state, i, "c: tally.c", master);
  }
}

static void so_do_fmus(void** state) {
  must_do("build -q --fmi 2 tally.c -o two.fmu");
  must_do("build -q --fmi 3 tally.c -o three.fmu");
  for (int set = 1; set < 3; set++) {
    check_counts(*state, set, "fmu: two.fmu", masters[set]);
    check_counts(*state, set, "fmu: three.fmu", masters[set]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(crossings_are_counted_once),
      cmocka_unit_test(others_count_them_once_as_well),
      cmocka_unit_test(so_do_fmus),
  };
  return cmocka_run_group_tests(tests, make_files, drop_context);
}
