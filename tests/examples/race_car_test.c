// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The race car: its size, its way around the eight, and the coupled car against the same car in one
// piece.
#include "testing.h"

#define CAR "examples/race_car/"

// Runs "couplet ARGUMENTS"; what it says goes to out.txt.
CPL_PRINTF(1, 2) static void couplet(const char* fmt, ...) {
  char arguments[8192], command[16384];
  va_list args;
  va_start(args, fmt);
  vsnprintf(arguments, sizeof arguments, fmt, args);
  va_end(args);
  snprintf(command, sizeof command, "'%s' %s >out.txt", getenv("COUPLET"), arguments);
  if (system(command) != 0) fail_msg("failed: %s", command);
}

static cpl_table* result(cpl_context* ctx, const char* file) {
  cpl_table* t;
  CHECK_OK(ctx, cpl_results_read(ctx, file, &t));
  return t;
}

static const double* column(const cpl_table* t, const char* name) {
  ptrdiff_t c = cpl_table_find(t, name);
  if (c < 0) fail_msg("no column %s", name);
  return t->values + (size_t)c * t->n_rows;
}

// The largest distance between two cars at the times that both results have.
static double distance(cpl_context* ctx, const char* file_a, const char* x_a, const char* y_a,
                       const char* file_b, const char* x_b, const char* y_b) {
  cpl_table *a = result(ctx, file_a), *b = result(ctx, file_b);
  const double *ax = column(a, x_a), *ay = column(a, y_a), *bx = column(b, x_b),
               *by = column(b, y_b);
  double largest = 0;
  int met = 0;
  for (size_t i = 0, k = 0; i < a->n_rows; i++) {
    while (k < b->n_rows && b->time[k] < a->time[i]) k++;
    if (k == b->n_rows || b->time[k] != a->time[i]) continue;
    largest = fmax(largest, hypot(ax[i] - bx[k], ay[i] - by[k]));
    met++;
  }
  CHECK(met >= 1001);
  cpl_table_destroy(a);
  cpl_table_destroy(b);
  return largest;
}

static void the_car_has_the_size_of_the_documents(void** state) {
  cpl_context* ctx = *state;
  couplet("info --json '%s'", test_path(CAR "race_car.yaml"));
  const char* parts[] = {"chassis.c", "wheel.c", "monolithic.c"};
  const int states[] = {19, 7, 47}, indicators[] = {4, 10, 44};
  for (int i = 0; i < 3; i++) {
    cpl_source* source;
    char path[256];
    snprintf(path, sizeof path, CAR "%s", parts[i]);
    CHECK_OK(ctx, cpl_c_open(ctx, test_path(path), &source));
    CHECK_INT(source->desc->n_states, states[i]);
    CHECK_INT(source->desc->n_indicators, indicators[i]);
    source->ops->destroy(source);
  }

  FILE* f = fopen("out.txt", "rb");
  char line[512];
  int counted = 0;
  while (fgets(line, sizeof line, f) != NULL) {
    if (strstr(line, "\"event_indicators\": 44") != NULL) counted++;
  }
  fclose(f);
  CHECK_INT(counted, 1);

  int couplings = 0;
  bool connections = false;
  f = fopen(test_path(CAR "race_car.yaml"), "rb");
  while (fgets(line, sizeof line, f) != NULL) {
    if (line[0] != ' ') connections = strncmp(line, "connections:", 12) == 0;
    else if (connections) couplings++;
  }
  fclose(f);
  CHECK_INT(couplings, 4 * 43);
}

// Also that something happens on the way: wheels lift off, tyres slide and stops are hit.
static void it_drives_the_eight(void** state) {
  cpl_context* ctx = *state;
  couplet("run '%s' --record '*' -o all.csv", test_path(CAR "race_car.yaml"));
  cpl_table* t = result(ctx, "all.csv");
  const double *x = column(t, "chassis.x"), *y = column(t, "chassis.y"),
               *s = column(t, "chassis.path"), *v = column(t, "chassis.v");
  double fastest[2] = {0, 0};
  for (size_t i = 0; i < t->n_rows; i++) {
    double off = hypot(x[i] - 64 * sin(s[i]), y[i] - 24 * sin(2 * s[i]));
    if (!(off < 2.5)) fail_msg("%g m beside the track at t = %g", off, t->time[i]);
    fastest[t->time[i] > 10] = fmax(fastest[t->time[i] > 10], v[i]);
  }
  CHECK(s[t->n_rows - 1] > 2 * acos(-1.0));  // once around and further
  CHECK(fastest[0] > 20 && fastest[1] > fastest[0] + 5);

  const char* switches[] = {"fl.contact", "fr.bump",         "rl.rebound",      "rr.sliding",
                            "fr.hot",     "fl.duct",         "fr.released",     "rl.fast_in",
                            "rr.cold",    "chassis.braking", "chassis.traction"};
  for (size_t k = 0; k < sizeof switches / sizeof *switches; k++) {
    const double* w = column(t, switches[k]);
    bool changed = false;
    for (size_t i = 1; i < t->n_rows; i++) changed |= w[i] != w[0];
    if (!changed) fail_msg("%s never changes", switches[k]);
  }
  cpl_table_destroy(t);
}

static void coupled_and_monolithic_car_agree(void** state) {
  cpl_context* ctx = *state;
  couplet("run '%s' --interval 0.02 --rtol 1e-10 -o reference.csv", test_path(CAR "monolithic.c"));
  couplet("run '%s' -o coupled.csv", test_path(CAR "race_car.yaml"));
  couplet("run '%s' --interval 0.02 -o one.csv", test_path(CAR "monolithic.c"));
  const double error =
      distance(ctx, "coupled.csv", "chassis.x", "chassis.y", "reference.csv", "x", "y");
  const double alone = distance(ctx, "one.csv", "x", "y", "reference.csv", "x", "y");
  CHECK(error < 5e-4);             // metres after 397 m: 1.6e-4 was measured
  CHECK_NEAR(error, alone, 2e-6);  // 1 % of it: other iterations are looked at twice

  // the error follows the tolerance
  couplet("run '%s' --rtol 1e-8 --atol 1e-8 -o fine.csv", test_path(CAR "race_car.yaml"));
  const double fine =
      distance(ctx, "fine.csv", "chassis.x", "chassis.y", "reference.csv", "x", "y");
  CHECK(fine < 2e-5 && fine < error / 10);
}

static void the_car_of_fmus_is_the_same(void** state) {
  (void)state;
  couplet("build '%s' -o chassis.fmu", test_path(CAR "chassis.c"));
  couplet("build '%s' -o wheel.fmu", test_path(CAR "wheel.c"));
  couplet("check chassis.fmu wheel.fmu");
  char command[8192];
  snprintf(command, sizeof command, "cp '%s' .", test_path(CAR "race_car_fmu.yaml"));
  CHECK_INT(system(command), 0);
  couplet("run race_car_fmu.yaml -o fmu.csv");
  couplet("run '%s' -o c.csv", test_path(CAR "race_car.yaml"));
  CHECK_INT(system("cmp fmu.csv c.csv"), 0);  // to the last bit
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_car_has_the_size_of_the_documents),
      cmocka_unit_test(it_drives_the_eight),
      cmocka_unit_test(coupled_and_monolithic_car_agree),
      cmocka_unit_test(the_car_of_fmus_is_the_same),
  };
  return cmocka_run_group_tests(tests, make_context, drop_context);
}
